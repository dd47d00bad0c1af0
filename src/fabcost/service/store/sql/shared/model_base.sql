SELECT base FROM models WHERE model = :model
