-- The limit is KEPT_FEEDBACK in feedback_tables.py: no more rows are read, however many there are.
SELECT
    batch.model,
    batch.decision,
    (
        SELECT COUNT(*) FROM (
            SELECT 1 FROM feedback AS f
            WHERE f.model = batch.model AND f.decision = batch.decision
            LIMIT 100
        ) AS few
    )
FROM batch
