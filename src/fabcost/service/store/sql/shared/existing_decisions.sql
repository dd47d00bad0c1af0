SELECT decisions.model, decisions.decision
FROM batch
INNER JOIN decisions
    ON decisions.model = batch.model AND decisions.decision = batch.decision
