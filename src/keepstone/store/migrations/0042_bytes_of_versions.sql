-- The metadata of earlier versions takes room as their text does, and counts as it does.
UPDATE memories m SET version_bytes = v.bytes
  FROM (SELECT v.account, v.memory_id,
               sum(octet_length(v.title) + octet_length(v.content)
                   + CASE WHEN v.metadata = '{}' THEN 0 ELSE octet_length(v.metadata::text) END) AS bytes
          FROM memory_versions v JOIN memories m ON m.account = v.account AND m.id = v.memory_id
         WHERE v.version < m.version GROUP BY 1, 2) v
 WHERE m.account = v.account AND m.id = v.memory_id AND m.version_bytes <> v.bytes;
WITH grown AS (
    SELECT account, space, id, kept_bytes AS was,
           size_bytes + greatest(0, version_bytes + CASE WHEN metadata = '{}' THEN 0 ELSE octet_length(metadata::text) END
                                    - CASE WHEN kind = 'capsule' THEN 8192 ELSE 0 END) AS now
      FROM memories WHERE kind IN ('capsule', 'item', 'entity') AND deleted_at IS NULL AND cold_at IS NULL
), counted AS (
    UPDATE memories m SET kept_bytes = g.now FROM grown g
     WHERE m.account = g.account AND m.id = g.id AND g.now <> g.was
)
UPDATE spaces s SET size_bytes = s.size_bytes + g.more
  FROM (SELECT account, space, sum(now - was) AS more FROM grown GROUP BY 1, 2) g
 WHERE s.account = g.account AND s.space = g.space AND g.more <> 0;
