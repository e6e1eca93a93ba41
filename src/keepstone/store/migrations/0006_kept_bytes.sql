-- What a memory takes of its user's capacity is more than its text: metadata and earlier versions count too, and so do
-- stores, scopes and what is kept for entities.

ALTER TABLE memories
    ADD COLUMN version_bytes bigint NOT NULL DEFAULT 0,   -- of its earlier versions
    ADD COLUMN kept_bytes    bigint NOT NULL DEFAULT 0;   -- all that counts, see Kind.kept

-- The owner's sum is asked for with every write of somebody whose plan has a limit.
CREATE INDEX spaces_by_owner ON spaces (account, owner) WHERE owner IS NOT NULL;

UPDATE memories m SET version_bytes = v.bytes
  FROM (SELECT v.account, v.memory_id, sum(octet_length(v.title) + octet_length(v.content)) AS bytes
          FROM memory_versions v JOIN memories m ON m.account = v.account AND m.id = v.memory_id
         WHERE v.version < m.version GROUP BY 1, 2) v
 WHERE m.account = v.account AND m.id = v.memory_id;
UPDATE memories SET kept_bytes = size_bytes + CASE WHEN kind IN ('capsule', 'item', 'entity') THEN greatest(0,
    version_bytes + CASE WHEN metadata = '{}' THEN 0 ELSE octet_length(metadata::text) END
    - CASE WHEN kind = 'capsule' THEN 8192 ELSE 0 END) ELSE 0 END;
UPDATE spaces s SET size_bytes =
    coalesce((SELECT sum(m.kept_bytes) FROM memories m
               WHERE m.account = s.account AND m.space = s.space AND m.deleted_at IS NULL AND m.cold_at IS NULL), 0)
    + CASE WHEN s.kind = 'scope' THEN coalesce(
          (SELECT sum(octet_length(m.speaker) + octet_length(m.text)
                      + CASE WHEN m.metadata = '{}' THEN 0 ELSE octet_length(m.metadata::text) END)
             FROM messages m WHERE m.account = s.account AND m.space = s.space), 0) ELSE 0 END;
