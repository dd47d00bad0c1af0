INSERT INTO keys (key_id, digest, name, roles, model, created, revoked)
VALUES (:key_id, :digest, :name, :roles, :model, :created, :revoked)
ON CONFLICT (key_id) DO UPDATE SET name = excluded.name
WHERE keys.digest = excluded.digest AND keys.name = excluded.name AND keys.roles = excluded.roles
RETURNING key_id
