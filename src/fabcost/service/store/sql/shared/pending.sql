SELECT COUNT(*) FROM decisions WHERE resolved IS NULL AND model = :model
