-- Vectors that know what was said before: who spoke just before in a session, and who next, is found at once.
CREATE INDEX passages_in_session ON passages (account, space, session, at, passage);
DROP INDEX passages_by_session;
