-- All that can be found in a space was put away at once: its passages are gone, and what hung on them is removed by a
-- job, or by whoever next adds to the space.
ALTER TABLE spaces ADD COLUMN leftover boolean NOT NULL DEFAULT false;
