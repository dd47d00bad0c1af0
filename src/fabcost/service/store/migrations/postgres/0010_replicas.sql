CREATE TABLE replicas (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stamp TEXT NOT NULL,
    counted BIGINT NOT NULL,
    seen DOUBLE PRECISION NOT NULL
);

INSERT INTO replicas (number, stamp, counted, seen) OVERRIDING SYSTEM VALUE
SELECT 0, '', counted, 0.0 FROM server;

ALTER TABLE decisions ADD COLUMN writer BIGINT;

UPDATE decisions SET writer = 0 WHERE seq > (SELECT counted FROM server);
