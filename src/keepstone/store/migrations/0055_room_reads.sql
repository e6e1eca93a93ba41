-- How far each of those in a room has read it, by the number of a message: what is unread follows them, not a browser.
CREATE TABLE room_reads (
    account  int NOT NULL DEFAULT scope_account(),
    space    bigint NOT NULL,
    user_id  text COLLATE "C" NOT NULL,
    seq      bigint NOT NULL,
    PRIMARY KEY (account, space, user_id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE,
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE
);
CREATE INDEX room_reads_by_user ON room_reads (account, user_id);
-- What was said before there were marks counts as read.
INSERT INTO room_reads (account, space, user_id, seq)
SELECT m.account, m.space, m.user_id, r.last_seq FROM members m JOIN rooms r USING (account, space);
