SELECT model, start, arm, decisions, impressions, clicks, log_loss, entropy
FROM counts
WHERE model = :model AND start >= :since
ORDER BY start, arm
