-- Traces: what was asked of which spaces, what was found, what was left out, and what was handed out. For a few days.
CREATE TABLE traces (
    account       int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id            text COLLATE "C" NOT NULL,
    at            timestamptz NOT NULL,
    kind          text NOT NULL CHECK (kind IN ('recall', 'search', 'ask', 'injection', 'composition')),
    surface       text NOT NULL,               -- the route that it came by
    user_id       text COLLATE "C",            -- who asked; null: a service key that named nobody
    readers       text[] NOT NULL,             -- who could read all of it then: users, or the account by its id
    people        text[] NOT NULL DEFAULT '{}',  -- users who are named in it, or whose words are quoted
    space         bigint,                      -- where it was asked; null: nowhere yet
    spaces        bigint[] NOT NULL DEFAULT '{}',  -- all that it was made of
    sources       text[] NOT NULL DEFAULT '{}',  -- ids of all that is quoted in it
    tokens        int NOT NULL,
    milliseconds  real NOT NULL,
    content       jsonb NOT NULL,
    PRIMARY KEY (account, id),
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE,
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX traces_by_asker ON traces (account, user_id, at, id);
CREATE INDEX traces_by_space ON traces (account, space, at, id);
