-- Vectors that know what was said before: who spoke just before in a session, and who next, is found at once.
CREATE INDEX passages_in_session ON passages (account, space, session, at, passage);
DROP INDEX passages_by_session;

-- While a set is filled beside the one that serves: how far that has come, and about how many passages are left.
ALTER TABLE vector_sets ADD COLUMN reached_space bigint NOT NULL DEFAULT 0,
                        ADD COLUMN reached_passage bigint NOT NULL DEFAULT 0,
                        ADD COLUMN lacking bigint NOT NULL DEFAULT 0,
                        ADD COLUMN retired_at timestamptz;
-- What takes or tells one thing more comes with the other functions, which a fresh database has not yet.
DROP FUNCTION IF EXISTS await_vectors_of(text);
DROP FUNCTION IF EXISTS filled_spaces();
