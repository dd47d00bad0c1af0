SELECT f.model, f.decision, f.key, f.status
FROM batch CROSS JOIN feedback AS f
WHERE f.model = batch.model AND f.decision = batch.decision AND f.key = batch.key
