SET LOCAL statement_timeout = 0;

CREATE INDEX decisions_in_order ON decisions (seq);
