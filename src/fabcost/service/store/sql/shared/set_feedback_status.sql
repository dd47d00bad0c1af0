-- LIKE, so that SQLite finds the rows by their decision and not by their status.
UPDATE feedback SET status = batch.status
FROM batch
WHERE
    feedback.model = batch.model
    AND feedback.decision = batch.decision
    AND feedback.status LIKE 'parked'
