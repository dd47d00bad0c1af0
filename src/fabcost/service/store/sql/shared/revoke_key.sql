UPDATE keys SET revoked = :now
WHERE key_id = :key_id AND (revoked IS NULL OR revoked = :now) RETURNING key_id
