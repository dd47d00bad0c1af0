UPDATE keys SET revoked = :now WHERE model = :model AND revoked IS NULL
