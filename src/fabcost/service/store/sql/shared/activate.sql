-- Unresolved is asked by the outcome, so that no database looks through all unresolved decisions.
UPDATE decisions SET active = TRUE
FROM batch
WHERE
    decisions.model = batch.model
    AND decisions.decision = batch.decision
    AND NOT decisions.active
    AND decisions.outcome IS NULL
RETURNING decisions.seq
