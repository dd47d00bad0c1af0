CREATE TABLE keys (
    key_id TEXT NOT NULL PRIMARY KEY,
    digest TEXT NOT NULL,
    name TEXT NOT NULL,
    roles TEXT NOT NULL,
    model TEXT,
    created REAL NOT NULL,
    revoked REAL
) STRICT;
