INSERT INTO decisions
    (model, decision, made, deadline, arm, item, active, learns, features, record)
SELECT model, decision, made, deadline, arm, item, active, learns, features, record
FROM batch CROSS JOIN (SELECT stamp AS current FROM server FOR NO KEY UPDATE) AS held
WHERE batch.stamp = held.current ORDER BY place
ON CONFLICT DO NOTHING
