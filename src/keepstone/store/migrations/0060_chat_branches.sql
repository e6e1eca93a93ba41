-- A question can be worded anew and an answer asked for again, and what stood there stays: each message of a chat says
-- what it follows (the chat itself, for the first), and whether it stands aside of the branch that is read and gone on
-- with. Chats are listed by their last activity; two that were asked the same in a quorum know of each other.
ALTER TABLE messages ADD COLUMN follows text COLLATE "C",
                     ADD COLUMN aside boolean NOT NULL DEFAULT false;
UPDATE messages m SET follows = b.follows
  FROM (SELECT account, id, coalesce(lag(id) OVER (PARTITION BY account, thread_id ORDER BY seq), thread_id) AS follows
          FROM messages WHERE starts_with(thread_id, 'chat_')) b
 WHERE m.account = b.account AND m.id = b.id;
ALTER TABLE chats ADD COLUMN kind text NOT NULL DEFAULT 'chat' CHECK (kind IN ('chat', 'quorum')),
                  ADD COLUMN beside text COLLATE "C";
CREATE INDEX chats_by_activity ON chats (account, space, updated_at DESC, id DESC);
