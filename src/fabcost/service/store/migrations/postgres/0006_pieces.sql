SET LOCAL statement_timeout = 0;

CREATE INDEX feedback_parked ON feedback (received) WHERE status = 'parked';

ALTER TABLE models ADD COLUMN deleted BIGINT NOT NULL DEFAULT 0;
