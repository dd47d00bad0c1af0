CREATE TABLE schema_version (program TEXT NOT NULL, version INTEGER NOT NULL)
