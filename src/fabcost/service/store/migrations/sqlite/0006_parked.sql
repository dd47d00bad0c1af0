CREATE INDEX feedback_parked ON feedback (received) WHERE status = 'parked';
