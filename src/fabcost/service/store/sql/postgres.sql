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

-- name: take_over
WITH
ended AS (UPDATE replicas SET stamp = ''),
epochs AS (UPDATE server SET epoch = epoch + 1, stamp = :stamp RETURNING epoch),
joined AS (
    INSERT INTO replicas (stamp, counted, seen)
    SELECT :stamp, COALESCE(MAX(seq), 0), EXTRACT(EPOCH FROM now()) FROM decisions
    RETURNING number
)
SELECT epochs.epoch, joined.number FROM epochs CROSS JOIN joined

-- name: join
WITH
epochs AS (SELECT epoch FROM server FOR NO KEY UPDATE),
joined AS (
    INSERT INTO replicas (stamp, counted, seen)
    SELECT :stamp, COALESCE(MAX(seq), 0), EXTRACT(EPOCH FROM now()) FROM decisions
    RETURNING number
)
SELECT epochs.epoch, joined.number FROM epochs CROSS JOIN joined

-- name: epoch
SELECT s.epoch, s.stamp, r.stamp FROM server AS s LEFT JOIN replicas AS r ON r.number = :own

-- name: epoch_for_writing
SELECT s.epoch, s.stamp, r.stamp
FROM server AS s LEFT JOIN replicas AS r ON r.number = :own
FOR NO KEY UPDATE OF s

-- name: leave_stamp
-- Others are told of it, if there may be others and it is something to them.
WITH own AS (
    UPDATE replicas SET stamp = :stamp, seen = EXTRACT(EPOCH FROM now()) WHERE number = :own
)
UPDATE server SET stamp = :stamp, latest = CASE WHEN latest < :time THEN :time ELSE latest END
RETURNING CASE WHEN :tells THEN pg_notify('fabcost', (:own)::text)::text END

-- name: latest_time
SELECT MAX(written.latest) FROM (
    SELECT latest FROM server
    UNION ALL
    SELECT COALESCE(MAX(made), 0.0) FROM decisions
    WHERE seq > (SELECT COALESCE(MAX(counted), 0) FROM replicas)
) AS written

-- name: be_alive
SELECT pg_advisory_lock(7021958, (:own)::int)

-- name: end_former
-- A connection of this server that broke, which the database may not have noticed.
SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE
    locktype = 'advisory' AND granted AND pid <> pg_backend_pid()
    AND classid = 7021958 AND objid = (:own)::int AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())

-- name: lead
SELECT pg_try_advisory_lock(7021959)

-- name: end_hung
-- The connection that leads, of a server that asked for nothing for so long.
SELECT pg_terminate_backend(a.pid)
FROM pg_locks AS l INNER JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE
    l.locktype = 'advisory' AND l.granted
    AND l.classid = 0 AND l.objid = 7021959 AND l.objsubid = 1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND a.state LIKE 'idle%%' AND a.state_change < clock_timestamp() - make_interval(secs => :seconds)

-- name: replicas
SELECT number FROM replicas ORDER BY number

-- name: dead_replicas
SELECT number FROM replicas
WHERE CASE WHEN number = :own THEN FALSE ELSE pg_try_advisory_xact_lock(7021958, number::int) END

-- name: forget_replicas
-- After a day; what they decided is counted.
DELETE FROM replicas
WHERE number = ANY (ARRAY(SELECT json_array_elements_text((:numbers)::json)::bigint))
    AND seen < EXTRACT(EPOCH FROM now()) - 86400

-- name: uncounted
SELECT {stored}
FROM replicas AS r CROSS JOIN decisions AS d
WHERE r.number = ANY (ARRAY(SELECT json_array_elements_text((:numbers)::json)::bigint))
    AND d.seq > r.counted AND d.writer = r.number
ORDER BY d.seq

-- name: mark_counted
UPDATE replicas SET counted = (SELECT COALESCE(MAX(seq), 0) FROM decisions)
WHERE number = ANY (ARRAY(SELECT json_array_elements_text((:numbers)::json)::bigint))

-- name: insert_decisions
INSERT INTO decisions ({decision}, writer)
SELECT {decision}, writer
FROM batch WHERE TRUE ORDER BY place
ON CONFLICT DO NOTHING

-- name: append_decisions
-- Each server holds its own row: they do not wait for each other.
INSERT INTO decisions ({decision}, writer)
SELECT {decision}, writer
FROM batch CROSS JOIN (
    SELECT stamp AS current FROM replicas
    WHERE number = (SELECT writer FROM batch LIMIT 1)
    FOR NO KEY UPDATE
) AS held
WHERE batch.stamp = held.current ORDER BY place
ON CONFLICT DO NOTHING

-- name: due
SELECT {stored}
FROM decisions AS d
WHERE d.resolved IS NULL AND d.deadline <= :now
    AND d.model <> ALL (ARRAY(SELECT json_array_elements_text(:without::json)))
ORDER BY d.deadline, d.seq
LIMIT :limit

-- name: delete_feedback
DELETE FROM feedback USING batch
WHERE feedback.model = batch.model AND feedback.decision = batch.decision

-- name: delete_decisions
DELETE FROM decisions USING batch
WHERE decisions.model = batch.model AND decisions.decision = batch.decision
