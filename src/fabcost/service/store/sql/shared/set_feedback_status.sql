-- CASE hides a condition from planners, which may else start from it and not from the keys.
UPDATE feedback SET status = batch.status
FROM batch
WHERE
    feedback.model = batch.model
    AND feedback.decision = batch.decision
    AND feedback.key = batch.key
    AND CASE WHEN feedback.status = 'parked' THEN TRUE ELSE FALSE END
