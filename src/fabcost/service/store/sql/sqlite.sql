-- What SQLite says in its own way.

-- name: tables
SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name

-- name: columns
SELECT name, FALSE FROM pragma_table_info(:table) ORDER BY cid

-- name: begin
BEGIN IMMEDIATE

-- name: lock_migrations
SELECT 1

-- name: epoch_for_writing
SELECT epoch, stamp FROM server

-- name: append_decisions
INSERT INTO decisions ({decision})
SELECT {decision}
FROM batch CROSS JOIN (SELECT stamp AS current FROM server) AS held
WHERE batch.stamp = held.current ORDER BY place
ON CONFLICT DO NOTHING

-- name: due
SELECT {stored}
FROM decisions AS d
WHERE d.resolved IS NULL AND d.deadline <= :now
    AND d.model NOT IN (SELECT value FROM json_each(:without))
ORDER BY d.deadline, d.seq
LIMIT :limit

-- name: delete_decisions
DELETE FROM decisions WHERE (model, decision) IN (SELECT model, decision FROM batch)

-- name: pending
SELECT COUNT(*) FROM decisions INDEXED BY decisions_unresolved WHERE resolved IS NULL AND model = :model

-- name: drop_parked
DELETE FROM feedback INDEXED BY feedback_parked
WHERE status = 'parked' AND received < :before
RETURNING model, decision

-- name: feedback_counts
SELECT status, COUNT(*)
FROM feedback INDEXED BY feedback_by_status
WHERE model = :model
GROUP BY status
ORDER BY status
