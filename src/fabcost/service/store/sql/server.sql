-- The server that may write, the latest time, and the version of the tables.

-- name: waits_after
SELECT 1 WHERE
    EXISTS (SELECT 1 FROM feedback WHERE status = 'parked' AND received > :moment)
    OR (
        SELECT COUNT(*) FROM (
            SELECT 1 FROM decisions
            WHERE resolved IS NULL AND deadline > :moment AND made > :moment
            ORDER BY deadline DESC
            LIMIT 1
        ) AS later
    ) > 0

-- name: reset_time
UPDATE server SET latest = :moment

-- name: version
SELECT program, version FROM schema_version

-- name: create_version
CREATE TABLE schema_version (program TEXT NOT NULL, version INTEGER NOT NULL)

-- name: insert_version
INSERT INTO schema_version (program, version) VALUES ('fabcost', 0)

-- name: set_version
UPDATE schema_version SET version = :version
