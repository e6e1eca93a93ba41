-- Whose the responses are that a provider keeps: behind its one key they would be everybody's who has their id.
CREATE TABLE provider_responses (
    account        int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id             text COLLATE "C" NOT NULL,  -- the provider's
    user_id        text COLLATE "C",           -- null: the account itself asked, with a service key
    credential_id  text COLLATE "C",           -- of the key it was asked with
    provider       text COLLATE "C" NOT NULL,  -- where that was set
    created_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, id),
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE
);
CREATE INDEX provider_responses_by_user ON provider_responses (account, user_id);
