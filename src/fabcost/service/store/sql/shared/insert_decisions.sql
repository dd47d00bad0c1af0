INSERT INTO decisions
    (model, decision, made, deadline, arm, item, active, learns, features, record)
SELECT model, decision, made, deadline, arm, item, active, learns, features, record
FROM batch WHERE TRUE ORDER BY place
ON CONFLICT DO NOTHING
