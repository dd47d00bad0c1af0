CREATE INDEX feedback_parked ON feedback (received) WHERE status = 'parked';

ALTER TABLE models ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;

ALTER TABLE items ADD COLUMN since INTEGER NOT NULL DEFAULT 0;

CREATE TABLE past_items (
    model TEXT NOT NULL REFERENCES models ON DELETE CASCADE,
    place INTEGER NOT NULL,
    item TEXT NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (model, place, since)
) STRICT, WITHOUT ROWID;
