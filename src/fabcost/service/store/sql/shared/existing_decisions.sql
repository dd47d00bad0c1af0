SELECT d.model, d.decision
FROM batch CROSS JOIN decisions AS d
WHERE d.model = batch.model AND d.decision = batch.decision
