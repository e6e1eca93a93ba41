-- Counts up with every memory that is kept, changed or put away in a space: what was made of all of them holds until then.
ALTER TABLE spaces ADD COLUMN revision bigint NOT NULL DEFAULT 0;
