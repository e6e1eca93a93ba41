-- What somebody uploads to have it imported: the job, its bytes until it is over, and what has arrived of each source.

-- One upload on its way in. All of it is its user's and goes with them.
CREATE TABLE imports (
    account      int NOT NULL DEFAULT scope_account(),
    id           text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    source       text NOT NULL,
    name         text NOT NULL,               -- of the file
    size_bytes   bigint NOT NULL,
    options      jsonb NOT NULL,              -- where to, and how it is read
    dry_run      boolean NOT NULL,
    state        text NOT NULL DEFAULT 'waiting'
                 CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
    report       jsonb NOT NULL DEFAULT '{}',
    read_bytes   bigint NOT NULL DEFAULT 0,   -- of what is in it, which is more than a zip's own size
    total_bytes  bigint NOT NULL DEFAULT 0,
    error_code   text,
    error        text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    started_at   timestamptz,
    finished_at  timestamptz,
    PRIMARY KEY (account, id),
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE
);
CREATE INDEX imports_of_user ON imports (account, user_id, created_at DESC, id DESC);

-- Its bytes, in the database so that whichever process has the job can read them. Gone when it is over.
CREATE TABLE import_parts (
    account    int NOT NULL DEFAULT scope_account(),
    import_id  text COLLATE "C" NOT NULL,
    part       int NOT NULL,
    data       bytea NOT NULL,
    PRIMARY KEY (account, import_id, part),
    FOREIGN KEY (account, import_id) REFERENCES imports (account, id) ON DELETE CASCADE
);
ALTER TABLE import_parts ALTER COLUMN data SET STORAGE EXTERNAL;  -- mostly compressed already

-- What has arrived from a source in a place, by hashes alone: the same again is known, and what was deleted here since
-- does not come back.
CREATE TABLE import_arrivals (
    account  int NOT NULL DEFAULT scope_account(),
    user_id  text COLLATE "C" NOT NULL,
    journal  bytea NOT NULL,                  -- of source and place
    key      bytea NOT NULL,
    digest   bytea NOT NULL,
    PRIMARY KEY (account, user_id, journal, key),
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE
);
