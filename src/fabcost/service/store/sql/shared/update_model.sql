UPDATE models SET settings = :settings, edited = :edited WHERE model = :model RETURNING model
