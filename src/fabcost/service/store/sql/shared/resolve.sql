-- CASE hides a condition from planners, which may else start from it and not from the keys.
UPDATE decisions
SET
    resolved = batch.resolved,
    outcome = batch.outcome,
    value = batch.value,
    label = batch.label,
    lsn = batch.lsn
FROM batch
WHERE
    decisions.model = batch.model
    AND decisions.decision = batch.decision
    AND CASE WHEN decisions.outcome IS NULL THEN TRUE ELSE FALSE END
RETURNING decisions.seq
