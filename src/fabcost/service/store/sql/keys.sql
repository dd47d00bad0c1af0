-- API keys.

-- name: keys
-- All columns, since the last, rate, is not there before version 9.
SELECT * FROM keys ORDER BY created, key_id

-- name: insert_key
INSERT INTO keys (key_id, digest, name, roles, model, created, revoked, rate)
VALUES (:key_id, :digest, :name, :roles, :model, :created, :revoked, :rate)
ON CONFLICT (key_id) DO UPDATE SET name = excluded.name
WHERE keys.digest = excluded.digest AND keys.name = excluded.name AND keys.roles = excluded.roles
RETURNING key_id

-- name: revoke_key
UPDATE keys SET revoked = :now
WHERE key_id = :key_id AND (revoked IS NULL OR revoked = :now) RETURNING key_id

-- name: revoke_keys_of
UPDATE keys SET revoked = :now WHERE model = :model AND revoked IS NULL
