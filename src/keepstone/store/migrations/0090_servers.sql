-- expand: what several servers on one database know together: how often somebody guessed wrong, and which of them are there.

-- Names are digests with a key: nobody reads an address out of them. A name has failures, or a time at which as many turns
-- as there are will be free again.
CREATE TABLE guesses (
    name     bytea PRIMARY KEY,
    failures int NOT NULL DEFAULT 0,
    at       timestamptz NOT NULL
);
CREATE INDEX guesses_by_time ON guesses (at);

-- `secret` is a fingerprint: two that differ refuse each other's tokens.
CREATE TABLE servers (
    id      text COLLATE "C" PRIMARY KEY,
    serves  boolean NOT NULL,
    secret  bytea NOT NULL,
    redis   boolean NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT now()
);
