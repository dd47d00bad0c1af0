INSERT INTO counts (model, start, arm, decisions, impressions, clicks, log_loss, entropy)
SELECT
    model, start, arm, SUM(decisions), SUM(impressions), SUM(clicks), SUM(log_loss), SUM(entropy)
FROM batch WHERE TRUE GROUP BY model, start, arm
ON CONFLICT (model, start, arm) DO UPDATE SET
    decisions = counts.decisions + excluded.decisions,
    impressions = counts.impressions + excluded.impressions,
    clicks = counts.clicks + excluded.clicks,
    log_loss = counts.log_loss + excluded.log_loss,
    entropy = counts.entropy + excluded.entropy
