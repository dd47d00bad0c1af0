INSERT INTO feedback (model, decision, key, value, received, status)
SELECT model, decision, key, value, received, status FROM batch WHERE TRUE ORDER BY place
ON CONFLICT DO NOTHING
