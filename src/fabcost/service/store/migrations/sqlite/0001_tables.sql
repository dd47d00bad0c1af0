CREATE TABLE server (
    place INTEGER PRIMARY KEY CHECK (place = 1),
    epoch INTEGER NOT NULL,
    latest REAL NOT NULL
) STRICT;

INSERT INTO server (place, epoch, latest) VALUES (1, 0, 0.0);

CREATE TABLE models (
    model TEXT NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL,
    created REAL NOT NULL,
    edited REAL NOT NULL,
    head_lsn INTEGER NOT NULL,
    catalogue_version INTEGER NOT NULL,
    base BLOB
) STRICT;

CREATE TABLE steps (
    model TEXT NOT NULL REFERENCES models ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    step TEXT NOT NULL,
    PRIMARY KEY (model, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE items (
    model TEXT NOT NULL REFERENCES models ON DELETE CASCADE,
    item TEXT NOT NULL,
    place INTEGER NOT NULL,
    features TEXT NOT NULL,
    PRIMARY KEY (model, item)
) STRICT;

CREATE INDEX items_by_place ON items (model, place);

CREATE TABLE decisions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL REFERENCES models ON DELETE CASCADE,
    decision TEXT NOT NULL,
    made REAL NOT NULL,
    deadline REAL NOT NULL,
    arm TEXT NOT NULL,
    item TEXT NOT NULL,
    active INTEGER NOT NULL,
    learns INTEGER NOT NULL,
    features TEXT NOT NULL,
    record TEXT NOT NULL,
    resolved REAL,
    outcome TEXT,
    value REAL,
    label INTEGER,
    lsn INTEGER,
    UNIQUE (model, decision),
    CHECK ((resolved IS NULL) = (outcome IS NULL)),
    CHECK (lsn IS NULL OR (resolved IS NOT NULL AND label IS NOT NULL))
) STRICT;

CREATE INDEX decisions_by_seq ON decisions (model, seq);
CREATE UNIQUE INDEX decisions_by_lsn ON decisions (model, lsn) WHERE lsn IS NOT NULL;
CREATE INDEX decisions_unresolved ON decisions (deadline, seq, model) WHERE resolved IS NULL;

CREATE TABLE feedback (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL REFERENCES models ON DELETE CASCADE,
    decision TEXT NOT NULL,
    key TEXT NOT NULL,
    value REAL NOT NULL,
    received REAL NOT NULL,
    status TEXT NOT NULL,
    UNIQUE (model, decision, key)
) STRICT;

CREATE INDEX feedback_by_status ON feedback (status, model);

CREATE TABLE snapshots (
    model TEXT NOT NULL REFERENCES models ON DELETE CASCADE,
    lsn INTEGER NOT NULL,
    made REAL NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (model, lsn)
) STRICT;

CREATE TABLE counts (
    model TEXT NOT NULL REFERENCES models ON DELETE CASCADE,
    start REAL NOT NULL,
    arm TEXT NOT NULL,
    decisions INTEGER NOT NULL,
    impressions INTEGER NOT NULL,
    clicks INTEGER NOT NULL,
    log_loss REAL NOT NULL,
    entropy REAL NOT NULL,
    PRIMARY KEY (model, start, arm)
) STRICT, WITHOUT ROWID;

CREATE TABLE calibration (
    model TEXT NOT NULL REFERENCES models ON DELETE CASCADE,
    bin INTEGER NOT NULL,
    impressions INTEGER NOT NULL,
    predicted REAL NOT NULL,
    clicks INTEGER NOT NULL,
    PRIMARY KEY (model, bin)
) STRICT, WITHOUT ROWID;

CREATE TABLE tallies (
    model TEXT NOT NULL REFERENCES models ON DELETE CASCADE,
    item TEXT NOT NULL,
    decisions INTEGER NOT NULL,
    impressions INTEGER NOT NULL,
    clicks INTEGER NOT NULL,
    PRIMARY KEY (model, item)
) STRICT, WITHOUT ROWID;
