-- What was said in chats can be found. It is searched beside files and memories and apart from both, so a workspace has
-- another part for it; and a chat knows up to which message it can be found, and whether more was said since.
INSERT INTO spaces (account, kind, name, part_of, deleted_at)
SELECT account, 'library', name || '/talk', space, deleted_at FROM spaces WHERE kind = 'workspace';
ALTER TABLE chats ADD COLUMN found_up_to bigint NOT NULL DEFAULT 0,
                  ADD COLUMN unfound boolean NOT NULL DEFAULT true;
CREATE INDEX chats_unfound ON chats (account, id) WHERE unfound;
