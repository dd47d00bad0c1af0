SELECT f.model, f.decision, f.key, f.value, f.received, f.status
FROM batch CROSS JOIN feedback AS f
WHERE f.model = batch.model AND f.decision = batch.decision
ORDER BY f.seq
