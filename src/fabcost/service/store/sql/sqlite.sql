-- What SQLite says in its own way.

-- name: tables
SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name

-- name: columns
SELECT name, FALSE FROM pragma_table_info(:table) ORDER BY cid

-- name: begin
BEGIN IMMEDIATE

-- name: lock_migrations
SELECT 1

-- name: take_over
UPDATE server SET epoch = epoch + 1, stamp = :stamp RETURNING epoch, 0

-- name: epoch
SELECT epoch, stamp, stamp FROM server

-- name: epoch_for_writing
SELECT epoch, stamp, stamp FROM server

-- name: leave_stamp
UPDATE server SET stamp = :stamp, latest = CASE WHEN latest < :time THEN :time ELSE latest END

-- name: latest_time
SELECT MAX(written.latest) FROM (
    SELECT latest FROM server
    UNION ALL
    SELECT COALESCE(MAX(made), 0.0) FROM decisions WHERE seq > (SELECT counted FROM server)
) AS written

-- name: uncounted
SELECT {stored}
FROM decisions AS d
WHERE d.seq > (SELECT counted FROM server)
ORDER BY d.seq

-- name: mark_counted
UPDATE server SET counted = (SELECT COALESCE(MAX(seq), 0) FROM decisions)

-- name: insert_decisions
INSERT INTO decisions ({decision})
SELECT {decision}
FROM batch WHERE TRUE ORDER BY place
ON CONFLICT DO NOTHING

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

-- name: delete_feedback
DELETE FROM feedback WHERE (model, decision) IN (SELECT model, decision FROM batch)

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
