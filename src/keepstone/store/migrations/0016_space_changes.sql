-- Whoever keeps the numbers of a space in memory learns from these which passages to look at again: each write that
-- changes what can be found in a space counts its version up, and names the passages that came, went, or have other
-- vectors. A version without its line is one that was forgotten: then all of the space is read anew.
ALTER TABLE spaces ADD COLUMN version bigint NOT NULL DEFAULT 0;
CREATE TABLE space_changes (
    account  int NOT NULL DEFAULT scope_account(),
    space    bigint NOT NULL,
    version  bigint NOT NULL,
    passages bigint[] NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, space, version),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX space_changes_by_time ON space_changes (at);
