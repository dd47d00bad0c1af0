-- Decisions, the log that the learners read, and its cache.

-- name: existing_decisions
SELECT d.model, d.decision
FROM batch CROSS JOIN decisions AS d
WHERE d.model = batch.model AND d.decision = batch.decision

-- name: find_decisions
SELECT {stored}
FROM batch CROSS JOIN decisions AS d
WHERE d.model = batch.model AND d.decision = batch.decision

-- name: activate
-- CASE hides a condition from planners, which may else start from it and not from the keys.
UPDATE decisions SET active = TRUE
FROM batch
WHERE
    decisions.model = batch.model
    AND decisions.decision = batch.decision
    AND CASE WHEN decisions.active THEN FALSE ELSE decisions.outcome IS NULL END
RETURNING decisions.seq

-- name: resolve
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

-- name: pending
SELECT COUNT(*) FROM decisions WHERE resolved IS NULL AND model = :model

-- name: recent
SELECT {stored}
FROM decisions AS d
WHERE d.model = :model AND d.seq < :before
ORDER BY d.seq DESC
LIMIT :limit

-- name: history
SELECT {stored}
FROM decisions AS d
WHERE d.model = :model AND d.seq > :after
ORDER BY d.seq
LIMIT :limit

-- name: log
SELECT lsn, features, label, item, made, value
FROM decisions
WHERE model = :model AND lsn > :after AND lsn <= :to
ORDER BY lsn
LIMIT :limit

-- name: put_snapshot
INSERT INTO snapshots (model, lsn, made, content) VALUES (:model, :lsn, :made, :content)
ON CONFLICT (model, lsn) DO UPDATE SET made = excluded.made, content = excluded.content

-- name: drop_old_snapshots
DELETE FROM snapshots
WHERE
    model = :model
    AND lsn NOT IN (
        SELECT lsn FROM snapshots WHERE model = :model AND lsn <= :lsn ORDER BY lsn DESC LIMIT 2
    )

-- name: snapshot_numbers
SELECT lsn FROM snapshots WHERE model = :model ORDER BY lsn DESC

-- name: snapshot
SELECT content FROM snapshots WHERE model = :model AND lsn = :lsn
