UPDATE models SET catalogue_version = :version WHERE model = :model
