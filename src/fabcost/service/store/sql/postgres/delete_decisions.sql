DELETE FROM decisions USING batch
WHERE decisions.model = batch.model AND decisions.decision = batch.decision
