INSERT INTO keys (key_id, digest, name, roles, model, created, revoked)
VALUES (:key_id, :digest, :name, :roles, :model, :created, :revoked)
