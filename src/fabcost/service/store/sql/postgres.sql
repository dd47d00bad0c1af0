-- What PostgreSQL says in its own way.

-- name: tables
SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename

-- name: columns
SELECT column_name, data_type = 'boolean' FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = :table
ORDER BY ordinal_position

-- name: begin
BEGIN

-- name: lock_migrations
SELECT pg_advisory_xact_lock(7021957)

-- name: epoch_for_writing
SELECT epoch, stamp FROM server FOR NO KEY UPDATE

-- name: append_decisions
INSERT INTO decisions ({decision})
SELECT {decision}
FROM batch CROSS JOIN (SELECT stamp AS current FROM server FOR NO KEY UPDATE) AS held
WHERE batch.stamp = held.current ORDER BY place
ON CONFLICT DO NOTHING

-- name: due
SELECT {stored}
FROM decisions AS d
WHERE d.resolved IS NULL AND d.deadline <= :now
    AND d.model <> ALL (ARRAY(SELECT json_array_elements_text(:without::json)))
ORDER BY d.deadline, d.seq
LIMIT :limit

-- name: delete_decisions
DELETE FROM decisions USING batch
WHERE decisions.model = batch.model AND decisions.decision = batch.decision
