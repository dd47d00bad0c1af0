ALTER TABLE counts ADD COLUMN rewards DOUBLE PRECISION NOT NULL DEFAULT 0;

UPDATE counts SET rewards = clicks;

ALTER TABLE calibration ADD COLUMN rewards DOUBLE PRECISION NOT NULL DEFAULT 0;

UPDATE calibration SET rewards = clicks;

ALTER TABLE tallies ADD COLUMN rewards DOUBLE PRECISION NOT NULL DEFAULT 0;

UPDATE tallies SET rewards = clicks;
