-- Capsules: memories of the kind `capsule` in a user's vault.

-- What a space takes of its user's capacity. Whoever changes it holds the space's row.
ALTER TABLE spaces ADD COLUMN size_bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE spaces ADD COLUMN memory_count bigint NOT NULL DEFAULT 0;

-- Out of the way since the plan was full; can be brought back for 30 days.
ALTER TABLE memories ADD COLUMN cold_at timestamptz;
DROP INDEX memories_by_time;
CREATE INDEX memories_by_time ON memories (account, space, kind, created_at DESC, id DESC)
    WHERE deleted_at IS NULL AND cold_at IS NULL;
CREATE INDEX memories_by_use ON memories (account, space, kind, accessed_at, id)
    WHERE deleted_at IS NULL AND cold_at IS NULL;
CREATE INDEX memories_by_tag ON memories USING gin (tags) WHERE deleted_at IS NULL AND cold_at IS NULL;
CREATE INDEX memories_cold ON memories (account, cold_at) WHERE cold_at IS NOT NULL;
-- The same capsule saved twice at once is stored once. Memories of other kinds may say the same.
DROP INDEX memories_by_hash;
CREATE INDEX memories_by_hash ON memories (account, space, kind, content_hash)
    WHERE kind <> 'capsule' AND deleted_at IS NULL;
CREATE UNIQUE INDEX capsules_by_hash ON memories (account, space, content_hash)
    WHERE kind = 'capsule' AND deleted_at IS NULL AND cold_at IS NULL;

-- What happens when the plan is full: refuse, or move what was not read for longest out of the way. And whether the
-- week is told by e-mail.
ALTER TABLE users ADD COLUMN cold_tier boolean NOT NULL DEFAULT false;
ALTER TABLE users ADD COLUMN weekly_digest boolean NOT NULL DEFAULT false;

-- The map of a vault: where each capsule lies, and the clusters with their labels. Made by a job.
CREATE TABLE constellations (
    account   int NOT NULL DEFAULT scope_account(),
    space     bigint NOT NULL,
    made_at   timestamptz NOT NULL DEFAULT now(),
    capsules  bigint NOT NULL,                -- how many are on it
    points    jsonb NOT NULL,                 -- [{id, x, y, cluster}]
    clusters  jsonb NOT NULL,                 -- [{cluster, label, x, y, count}]
    PRIMARY KEY (account, space),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
