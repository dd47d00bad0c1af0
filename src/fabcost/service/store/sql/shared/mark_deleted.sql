UPDATE models SET deleted = 1 WHERE model = :model
