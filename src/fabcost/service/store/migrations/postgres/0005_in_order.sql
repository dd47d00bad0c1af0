CREATE INDEX decisions_in_order ON decisions (seq);
