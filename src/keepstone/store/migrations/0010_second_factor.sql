-- A second step at sign-in: a code that an app makes every 30 seconds out of a secret (RFC 6238).
CREATE TABLE second_factors (
    account       int NOT NULL DEFAULT scope_account(),
    user_id       text COLLATE "C" NOT NULL,
    secret        bytea NOT NULL,                     -- encrypted with a key that is not in the database
    created_at    timestamptz NOT NULL DEFAULT now(),
    confirmed_at  timestamptz,                        -- null: not asked for yet
    last_step     bigint NOT NULL DEFAULT 0,          -- of the last code that was taken: none counts twice
    recovery      bytea[] NOT NULL DEFAULT '{}',      -- hashes of the codes that are left for when the app is gone
    PRIMARY KEY (account, user_id),
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE
);

-- They answer more from now on (10_functions.sql).
DROP FUNCTION IF EXISTS credential_holder(text, text);
DROP FUNCTION IF EXISTS token_holder(text, text);
