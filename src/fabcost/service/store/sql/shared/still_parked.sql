-- CASE hides a condition from planners, which may else start from it and not from the keys.
SELECT DISTINCT f.model, f.decision
FROM batch CROSS JOIN feedback AS f
WHERE
    f.model = batch.model
    AND f.decision = batch.decision
    AND CASE WHEN f.status = 'parked' THEN TRUE ELSE FALSE END
