-- A version says of what kind its memory was and which project it was in. Of those that were made before, nobody noted
-- it: they get what the memory is now, so that whose words a version has (15_erasure.sql) stays as it was.
ALTER TABLE memory_versions
    ADD COLUMN type       text NOT NULL DEFAULT '',
    ADD COLUMN project_id text COLLATE "C";

UPDATE memory_versions v SET type = m.type, project_id = m.project_id
  FROM memories m
 WHERE m.account = v.account AND m.id = v.memory_id AND (m.type <> '' OR m.project_id IS NOT NULL);
