SELECT model, item, decisions, impressions, clicks
FROM tallies
WHERE model = :model
ORDER BY decisions DESC, item
LIMIT :limit
