CREATE TABLE keys (
    key_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    digest TEXT NOT NULL,
    name TEXT NOT NULL,
    roles TEXT NOT NULL,
    model TEXT COLLATE "C",
    created DOUBLE PRECISION NOT NULL,
    revoked DOUBLE PRECISION
);
