SELECT key_id, digest, name, roles, model, created, revoked FROM keys ORDER BY created, key_id
