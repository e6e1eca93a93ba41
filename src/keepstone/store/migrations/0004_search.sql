-- What a turn was said in answer to is as near to it as what was said just before.
ALTER TABLE passages ADD COLUMN answers text COLLATE "C";   -- the source, of the same kind
CREATE INDEX passages_by_answered ON passages (account, space, answers) WHERE answers IS NOT NULL;

-- What an English model can't read is searched by another one, and need not be looked for among all the rest.
ALTER TABLE passages ADD COLUMN foreign_text boolean NOT NULL DEFAULT false;
UPDATE passages SET foreign_text = true WHERE text ~ '[\u0370-\u1dff\u2e80-\ud7ff\uf900-\ufaff]';
CREATE INDEX passages_foreign ON passages (account, space, passage) WHERE foreign_text;

-- Large spaces get an index of meanings of their own, made by a job, for each set of vectors. One index over all spaces
-- would return almost nothing under the filter for one of them.
ALTER TABLE spaces ADD COLUMN indexed_sets smallint[] NOT NULL DEFAULT '{}';

-- A job that will read what is new in the space is on its way: what comes meanwhile needs no other.
ALTER TABLE spaces ADD COLUMN awaits_reading boolean NOT NULL DEFAULT false;
