"""The databases: one protocol, SQLite and PostgreSQL."""
