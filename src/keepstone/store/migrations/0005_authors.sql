-- Whose words stand where several people write, so that they can be erased with them.
--
-- Each names a user and has no foreign key: it says who wrote a text, not who may read it. What was there before is
-- filled in out of the audit trail as far as that knows.

ALTER TABLE accounts ADD COLUMN named_by text COLLATE "C";    -- whose words the name is
ALTER TABLE spaces ADD COLUMN named_by text COLLATE "C";      -- whose words the title is
ALTER TABLE chats ADD COLUMN named_by text COLLATE "C";       -- likewise
ALTER TABLE threads ADD COLUMN named_by text COLLATE "C";     -- likewise
ALTER TABLE agents ADD COLUMN changed_by text COLLATE "C";    -- who last changed its name or instructions
ALTER TABLE edges ADD COLUMN created_by text COLLATE "C";
ALTER TABLE messages ADD COLUMN sent_by text COLLATE "C";     -- of what an agent or a model said: at whose request
ALTER TABLE tool_calls ADD COLUMN user_id text COLLATE "C";   -- in whose turn

CREATE TABLE authors AS
    SELECT DISTINCT ON (account, object_id, thing) account, object_id, thing, user_id
      FROM (SELECT account, object_id, at, user_id,
                   CASE WHEN action IN ('workspace.create', 'workspace.rename', 'room.create', 'room.rename',
                                        'project.create', 'graph.create') THEN 'space'
                        WHEN action IN ('chat.create', 'chat.rename') THEN 'chat'
                        WHEN action = 'thread.open' THEN 'thread'
                        WHEN action IN ('agent.create', 'agent.update') THEN 'agent'
                        WHEN action = 'edge.create' THEN 'edge'
                        WHEN action = 'account.update' THEN 'account' END AS thing
              FROM audit) told
     WHERE thing IS NOT NULL AND user_id IS NOT NULL
     ORDER BY account, object_id, thing, at DESC;

UPDATE spaces s SET named_by = a.user_id FROM authors a
 WHERE a.account = s.account AND a.object_id = s.name AND a.thing = 'space' AND s.title <> '';
UPDATE chats c SET named_by = coalesce((SELECT a.user_id FROM authors a
                                         WHERE a.account = c.account AND a.object_id = c.id AND a.thing = 'chat'),
                                       c.created_by);
UPDATE threads t SET named_by = a.user_id FROM authors a
 WHERE a.account = t.account AND a.object_id = t.id AND a.thing = 'thread';
UPDATE agents g SET changed_by = a.user_id FROM authors a
 WHERE a.account = g.account AND a.object_id = g.slug AND a.thing = 'agent';
UPDATE edges e SET created_by = a.user_id FROM authors a
 WHERE a.account = e.account AND a.object_id = e.id AND a.thing = 'edge';
-- An account is called after its first user, until somebody calls it otherwise.
UPDATE accounts c SET named_by = coalesce((SELECT a.user_id FROM authors a
                                            WHERE a.account = c.account AND a.thing = 'account'),
                                          (SELECT u.id FROM users u WHERE u.account = c.account
                                            ORDER BY u.created_at, u.id LIMIT 1));
DROP TABLE authors;
-- Nobody noted who let an agent speak, but it mostly answers whoever spoke before it in that chat, thread or room.
UPDATE messages m SET sent_by = b.user_id
  FROM (SELECT account, id, first_value(user_id) OVER (PARTITION BY account, space, thread_id, run ORDER BY seq) AS user_id
          FROM (SELECT account, space, id, seq, thread_id, user_id,
                       count(user_id) OVER (PARTITION BY account, space, thread_id ORDER BY seq) AS run
                  FROM messages WHERE user_id IS NOT NULL OR agent IS NOT NULL OR role IS NOT NULL) said) b
 WHERE b.account = m.account AND b.id = m.id AND m.user_id IS NULL AND b.user_id IS NOT NULL;

-- It gives more back than before; the functions are made anew after this.
DROP FUNCTION IF EXISTS erase_traces(text);
