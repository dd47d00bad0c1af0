CREATE TABLE server (
    place BIGINT PRIMARY KEY CHECK (place = 1),
    epoch BIGINT NOT NULL,
    latest DOUBLE PRECISION NOT NULL
);

INSERT INTO server (place, epoch, latest) VALUES (1, 0, 0.0);

CREATE TABLE models (
    model TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    edited DOUBLE PRECISION NOT NULL,
    head_lsn BIGINT NOT NULL,
    catalogue_version BIGINT NOT NULL,
    base BYTEA
);

CREATE TABLE steps (
    model TEXT COLLATE "C" NOT NULL REFERENCES models ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    step TEXT NOT NULL,
    PRIMARY KEY (model, seq)
);

CREATE TABLE items (
    model TEXT COLLATE "C" NOT NULL REFERENCES models ON DELETE CASCADE,
    item TEXT COLLATE "C" NOT NULL,
    place BIGINT NOT NULL,
    features TEXT NOT NULL,
    PRIMARY KEY (model, item)
);

CREATE INDEX items_by_place ON items (model, place);

CREATE TABLE decisions (
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    model TEXT COLLATE "C" NOT NULL REFERENCES models ON DELETE CASCADE,
    decision TEXT COLLATE "C" NOT NULL,
    made DOUBLE PRECISION NOT NULL,
    deadline DOUBLE PRECISION NOT NULL,
    arm TEXT COLLATE "C" NOT NULL,
    item TEXT COLLATE "C" NOT NULL,
    active BOOLEAN NOT NULL,
    learns BOOLEAN NOT NULL,
    features TEXT NOT NULL,
    record TEXT NOT NULL,
    resolved DOUBLE PRECISION,
    outcome TEXT,
    value DOUBLE PRECISION,
    label BIGINT,
    lsn BIGINT,
    PRIMARY KEY (model, decision),
    CHECK ((resolved IS NULL) = (outcome IS NULL)),
    CHECK (lsn IS NULL OR (resolved IS NOT NULL AND label IS NOT NULL))
);

CREATE INDEX decisions_by_seq ON decisions (model, seq);
CREATE UNIQUE INDEX decisions_by_lsn ON decisions (model, lsn) WHERE lsn IS NOT NULL;
CREATE INDEX decisions_unresolved ON decisions (deadline, seq, model) WHERE resolved IS NULL;

CREATE TABLE feedback (
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    model TEXT COLLATE "C" NOT NULL REFERENCES models ON DELETE CASCADE,
    decision TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    received DOUBLE PRECISION NOT NULL,
    status TEXT NOT NULL,
    PRIMARY KEY (model, decision, key)
);

CREATE INDEX feedback_by_status ON feedback (status, model);

CREATE TABLE snapshots (
    model TEXT COLLATE "C" NOT NULL REFERENCES models ON DELETE CASCADE,
    lsn BIGINT NOT NULL,
    made DOUBLE PRECISION NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (model, lsn)
);

CREATE TABLE counts (
    model TEXT COLLATE "C" NOT NULL REFERENCES models ON DELETE CASCADE,
    start DOUBLE PRECISION NOT NULL,
    arm TEXT COLLATE "C" NOT NULL,
    decisions BIGINT NOT NULL,
    impressions BIGINT NOT NULL,
    clicks BIGINT NOT NULL,
    log_loss DOUBLE PRECISION NOT NULL,
    entropy DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (model, start, arm)
);

CREATE TABLE calibration (
    model TEXT COLLATE "C" NOT NULL REFERENCES models ON DELETE CASCADE,
    bin BIGINT NOT NULL,
    impressions BIGINT NOT NULL,
    predicted DOUBLE PRECISION NOT NULL,
    clicks BIGINT NOT NULL,
    PRIMARY KEY (model, bin)
);

CREATE TABLE tallies (
    model TEXT COLLATE "C" NOT NULL REFERENCES models ON DELETE CASCADE,
    item TEXT COLLATE "C" NOT NULL,
    decisions BIGINT NOT NULL,
    impressions BIGINT NOT NULL,
    clicks BIGINT NOT NULL,
    PRIMARY KEY (model, item)
);
