SELECT program, version FROM schema_version
