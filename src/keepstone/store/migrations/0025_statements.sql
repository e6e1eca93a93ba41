-- What is known of people can be corrected: a statement has an id, versions and a trash. And a scope counts what was said.
ALTER TABLE spaces ADD COLUMN message_count bigint NOT NULL DEFAULT 0;   -- of a scope
UPDATE spaces s SET message_count = m.number
  FROM (SELECT account, space, count(*) AS number FROM messages GROUP BY 1, 2) m
 WHERE m.account = s.account AND m.space = s.space AND s.kind = 'scope';

-- Only scopes are asked for them. Elsewhere they were a by-product that nobody could see or correct.
DELETE FROM statements t USING spaces s WHERE s.account = t.account AND s.space = t.space AND s.kind <> 'scope';

ALTER TABLE statements
    ADD COLUMN id text COLLATE "C" NOT NULL DEFAULT 'stmt_' || left(translate(gen_random_uuid()::text, '-', ''), 24),
    ADD COLUMN version int NOT NULL DEFAULT 1,
    ADD COLUMN deleted_at timestamptz,
    ADD COLUMN purged boolean NOT NULL DEFAULT false,     -- its words are gone; that it was taken back is still known
    ADD CONSTRAINT statements_by_id UNIQUE (account, id);
ALTER TABLE statements ALTER COLUMN id DROP DEFAULT;
CREATE INDEX statements_by_time ON statements (account, space, at, id);
CREATE INDEX statements_taken_back ON statements (account, space, deleted_at, id) WHERE deleted_at IS NOT NULL;

-- Of a statement that was changed: what it said after each change, and under 1 what was read out of the message.
CREATE TABLE statement_versions (
    account       int NOT NULL DEFAULT scope_account(),
    space         bigint NOT NULL,
    statement_id  text COLLATE "C" NOT NULL,
    version       int NOT NULL,
    change        text NOT NULL,
    subject       text NOT NULL,
    text          text NOT NULL,
    visibility    text NOT NULL CHECK (visibility IN ('public', 'shared', 'private')),
    changed_by    text COLLATE "C",
    changed_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, statement_id, version),
    FOREIGN KEY (account, statement_id) REFERENCES statements (account, id) ON DELETE CASCADE
);
