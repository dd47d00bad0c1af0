-- Feedback as it came.

-- name: insert_feedback
INSERT INTO feedback (model, decision, key, value, received, status)
SELECT model, decision, key, value, received, status FROM batch WHERE TRUE ORDER BY place
ON CONFLICT DO NOTHING

-- name: find_feedback
SELECT f.model, f.decision, f.key, f.value, f.received, f.status
FROM batch CROSS JOIN feedback AS f
WHERE f.model = batch.model AND f.decision = batch.decision
ORDER BY f.seq

-- name: set_feedback_status
-- CASE hides a condition from planners, which may else start from it and not from the keys.
UPDATE feedback SET status = batch.status
FROM batch
WHERE
    feedback.model = batch.model
    AND feedback.decision = batch.decision
    AND feedback.key = batch.key
    AND CASE WHEN feedback.status = 'parked' THEN TRUE ELSE FALSE END

-- name: answered
SELECT f.model, f.decision, f.key, f.status, f.value
FROM batch CROSS JOIN feedback AS f
WHERE f.model = batch.model AND f.decision = batch.decision AND f.key = batch.key

-- name: kept_feedback
-- The limit is KEPT_FEEDBACK in store.py: no more rows are read, however many there are.
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

-- name: drop_parked
DELETE FROM feedback WHERE status = 'parked' AND received < :before RETURNING model, decision

-- name: still_parked
-- CASE hides a condition from planners, which may else start from it and not from the keys.
SELECT DISTINCT f.model, f.decision
FROM batch CROSS JOIN feedback AS f
WHERE
    f.model = batch.model
    AND f.decision = batch.decision
    AND CASE WHEN f.status = 'parked' THEN TRUE ELSE FALSE END

-- name: parked
SELECT model, decision FROM feedback WHERE status = 'parked'

-- name: feedback_counts
SELECT status, COUNT(*) FROM feedback WHERE model = :model GROUP BY status ORDER BY status
