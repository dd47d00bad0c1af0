-- CASE hides a condition from planners, which may else start from it and not from the keys.
UPDATE decisions SET active = TRUE
FROM batch
WHERE
    decisions.model = batch.model
    AND decisions.decision = batch.decision
    AND CASE WHEN decisions.active THEN FALSE ELSE decisions.outcome IS NULL END
RETURNING decisions.seq
