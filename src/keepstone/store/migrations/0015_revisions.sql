-- Which later message takes the place of what an earlier one says, as far as a model hears it. By numbers of passages:
-- whoever sees both in a search sees the later one first.
CREATE TABLE revisions (
    account   int NOT NULL DEFAULT scope_account(),
    space     bigint NOT NULL,
    older     bigint NOT NULL,
    newer     bigint NOT NULL,
    certainty real NOT NULL,
    PRIMARY KEY (account, space, older, newer),
    FOREIGN KEY (account, space, older) REFERENCES passages (account, space, passage) ON DELETE CASCADE,
    FOREIGN KEY (account, space, newer) REFERENCES passages (account, space, passage) ON DELETE CASCADE
);
CREATE INDEX revisions_by_newer ON revisions (account, space, newer);
