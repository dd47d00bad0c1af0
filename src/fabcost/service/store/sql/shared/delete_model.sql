DELETE FROM models WHERE model = :model
