SELECT COUNT(*) FROM decisions INDEXED BY decisions_unresolved WHERE resolved IS NULL AND model = :model
