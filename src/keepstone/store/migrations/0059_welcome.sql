-- A link with which somebody new comes into an account, and how far each user is with the welcome of the dashboard.
CREATE TABLE invite_links (
    account      int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id           text COLLATE "C" NOT NULL,
    prefix       text COLLATE "C" NOT NULL,  -- the part that is not secret: finds the row
    secret_hash  bytea NOT NULL,
    email        text,                       -- for whom it is; null: for whoever has it
    role         text NOT NULL CHECK (role IN ('owner', 'member')),
    created_by   text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (account, id),
    UNIQUE (account, prefix),
    FOREIGN KEY (account, created_by) REFERENCES users (account, id) ON DELETE CASCADE
);
CREATE INDEX invite_links_by_prefix ON invite_links (prefix);
CREATE INDEX invite_links_by_maker ON invite_links (account, created_by);

ALTER TABLE users ADD COLUMN timezone_chosen boolean NOT NULL DEFAULT false;  -- or taken from their first browser
UPDATE users SET timezone_chosen = true WHERE timezone <> 'UTC';
ALTER TABLE users ADD COLUMN welcome smallint NOT NULL DEFAULT 0 CHECK (welcome BETWEEN 0 AND 3);  -- steps behind them
