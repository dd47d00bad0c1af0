CREATE INDEX feedback_parked ON feedback (received) WHERE status = 'parked';

ALTER TABLE models ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;
