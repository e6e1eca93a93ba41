-- Accounts, the people in them, and what lets them in.
--
-- The account leads every key, unique constraint and foreign key, so that the schema can be distributed by account.
-- It is a number here, because every row and every index entry carries it; `accounts.id` is its public name.

-- What the running transaction may touch. Each fails when the transaction did not say so: there is no default.
CREATE FUNCTION scope_account() RETURNS int
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN current_setting('keepstone.account')::int;

CREATE FUNCTION scope_spaces() RETURNS bigint[]
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN current_setting('keepstone.spaces')::bigint[];

CREATE FUNCTION scope_visibilities() RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN current_setting('keepstone.visibilities')::text[];

CREATE SEQUENCE account_numbers AS int;

CREATE TABLE accounts (
    account     int PRIMARY KEY,
    id          text COLLATE "C" NOT NULL,
    name        text NOT NULL,
    plan        text NOT NULL,
    credits     bigint,                       -- null: not counted
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (account, id)
);
CREATE INDEX accounts_by_id ON accounts (id);

CREATE TABLE users (
    account        int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id             text COLLATE "C" NOT NULL,
    email          text NOT NULL,             -- lower case; one user has it on the whole server, see account_of
    name           text NOT NULL DEFAULT '',
    role           text NOT NULL DEFAULT 'member' CHECK (role IN ('owner', 'member')),
    is_admin       boolean NOT NULL DEFAULT false,
    password_hash  text,
    quota_bytes    bigint CHECK (quota_bytes >= 0),   -- null: as the plan says
    timezone       text NOT NULL DEFAULT 'UTC',
    language       text NOT NULL DEFAULT 'en',
    subject        text,                      -- who this is to a foreign issuer of JWTs
    created_at     timestamptz NOT NULL DEFAULT now(),
    last_login_at  timestamptz,
    erased_at      timestamptz,               -- gone for everybody; a job removes what is left
    PRIMARY KEY (account, id),
    UNIQUE (account, email),
    UNIQUE (account, subject)
);
CREATE INDEX users_by_email ON users (email);
CREATE INDEX users_by_subject ON users (subject) WHERE subject IS NOT NULL;

CREATE TABLE keys (
    account       int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id            text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C",           -- null: a service key
    created_by    text COLLATE "C",
    name          text NOT NULL,
    prefix        text COLLATE "C" NOT NULL,  -- the part that is not secret: finds the row
    secret_hash   bytea NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz,
    last_used_at  timestamptz,
    revoked_at    timestamptz,
    PRIMARY KEY (account, id),
    UNIQUE (account, prefix),
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE
);
CREATE INDEX keys_by_prefix ON keys (prefix);
CREATE INDEX keys_of_user ON keys (account, user_id);

CREATE TABLE sessions (
    account       int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id            text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    prefix        text COLLATE "C" NOT NULL,
    secret_hash   bytea NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    last_used_at  timestamptz NOT NULL DEFAULT now(),
    address       text,
    user_agent    text,
    PRIMARY KEY (account, id),
    UNIQUE (account, prefix),
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE
);
CREATE INDEX sessions_by_prefix ON sessions (prefix);
CREATE INDEX sessions_of_user ON sessions (account, user_id);

CREATE TABLE one_time_links (
    account      int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    prefix       text COLLATE "C" NOT NULL,
    secret_hash  bytea NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (account, prefix),
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE
);
CREATE INDEX one_time_links_by_prefix ON one_time_links (prefix);

-- Who did what, when, to what. Never what it said.
CREATE TABLE audit (
    account        int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id             text COLLATE "C" NOT NULL,
    at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    user_id        text COLLATE "C",
    via            text NOT NULL,
    credential_id  text COLLATE "C",
    action         text NOT NULL,
    object_id      text COLLATE "C",
    details        jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (account, id)
);
CREATE INDEX audit_by_time ON audit (account, at DESC, id DESC);

-- Every billable call once, whatever is retried: `call_id` is the caller's request.
CREATE TABLE usage_ledger (
    account        int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    call_id        text COLLATE "C" NOT NULL,
    at             timestamptz NOT NULL DEFAULT now(),
    user_id        text COLLATE "C",
    credential_id  text COLLATE "C",
    action         text NOT NULL,
    credits        bigint NOT NULL DEFAULT 0,
    tokens_in      bigint NOT NULL DEFAULT 0,
    tokens_out     bigint NOT NULL DEFAULT 0,
    details        jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (account, call_id)
);
CREATE INDEX usage_ledger_by_time ON usage_ledger (account, at);
