SET LOCAL statement_timeout = 0;

CREATE INDEX feedback_parked ON feedback (received) WHERE status = 'parked';

ALTER TABLE models ADD COLUMN deleted BIGINT NOT NULL DEFAULT 0;

ALTER TABLE items ADD COLUMN since BIGINT NOT NULL DEFAULT 0;

CREATE TABLE past_items (
    model TEXT COLLATE "C" NOT NULL REFERENCES models ON DELETE CASCADE,
    place BIGINT NOT NULL,
    item TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (model, place, since)
);
