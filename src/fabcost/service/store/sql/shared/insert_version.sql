INSERT INTO schema_version (program, version) VALUES ('fabcost', 0)
