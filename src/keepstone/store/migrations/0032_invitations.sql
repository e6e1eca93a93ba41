-- Nobody is put into a room without a say: whom somebody names is invited, and in it once they accept. Until then they
-- are in no row of `members`, so nothing that goes by who is in a room reads anything of theirs.
CREATE TABLE invitations (
    account     int NOT NULL DEFAULT scope_account(),
    id          text COLLATE "C" NOT NULL,
    space       bigint NOT NULL,
    user_id     text COLLATE "C" NOT NULL,    -- who is invited
    invited_by  text COLLATE "C" NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, id),
    UNIQUE (account, space, user_id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE,
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE,
    FOREIGN KEY (account, invited_by) REFERENCES users (account, id) ON DELETE CASCADE
);
CREATE INDEX invitations_by_user ON invitations (account, user_id);
CREATE INDEX invitations_by_inviter ON invitations (account, invited_by);
