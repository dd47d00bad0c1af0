-- Unresolved is asked by the outcome, so that no database looks through all unresolved decisions.
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
    AND decisions.outcome IS NULL
RETURNING decisions.seq
