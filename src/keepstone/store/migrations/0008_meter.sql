-- The meter: plans that the operator edits, what each account used in a month, and what a payment system told.

-- Of the whole server, so it names no account. Null is no limit.
CREATE TABLE plans (
    name                text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    capacity_bytes      bigint CHECK (capacity_bytes >= 0),   -- of each user
    monthly_queries     bigint CHECK (monthly_queries >= 0),  -- these and the rest: of the account
    monthly_credits     bigint CHECK (monthly_credits >= 0),  -- what the balance is raised to each month; null: it is not
    key_per_minute      int CHECK (key_per_minute > 0),       -- requests with one credential
    account_per_minute  int CHECK (account_per_minute > 0),   -- requests of all of the account's
    position            int NOT NULL DEFAULT 0
);
INSERT INTO plans (name, capacity_bytes, position) VALUES
    ('free', 5 * 1024 * 1024, 1), ('pro', 50 * 1024 * 1024, 2), ('max', 300 * 1024 * 1024, 3), ('unlimited', NULL, 4);

ALTER TABLE accounts ADD COLUMN refilled_for date;  -- the month for which the plan has raised the credits
ALTER TABLE usage_ledger ADD COLUMN queries int NOT NULL DEFAULT 0;

-- The sums of the ledger by calendar month (UTC), written together with its lines: a limit is looked up, not counted.
CREATE TABLE usage_months (
    account     int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    month       date NOT NULL,
    queries     bigint NOT NULL DEFAULT 0,
    credits     bigint NOT NULL DEFAULT 0,
    tokens_in   bigint NOT NULL DEFAULT 0,
    tokens_out  bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (account, month)
) WITH (fillfactor = 50);  -- changed with every call, so there is room for the next version beside it
INSERT INTO usage_months (account, month, credits, tokens_in, tokens_out)
SELECT account, date_trunc('month', at AT TIME ZONE 'UTC')::date, sum(credits), sum(tokens_in), sum(tokens_out)
  FROM usage_ledger GROUP BY 1, 2;

-- What a payment system told us: each event once.
CREATE TABLE billing_events (
    account  int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id       text COLLATE "C" NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, id)
);

-- They answer with more columns from here on, which can't be changed in place.
DROP FUNCTION IF EXISTS credential_holder(text, text), token_holder(text, text), subject_holder(text, text);
