-- Memories kept for a user, an agent, an app or a run that the caller names: each combination of them is a space.

ALTER TABLE spaces DROP CONSTRAINT spaces_kind_check;
ALTER TABLE spaces ADD CONSTRAINT spaces_kind_check CHECK (kind IN
    ('vault', 'workspace', 'library', 'graph', 'scope', 'room', 'dm', 'profile', 'project', 'global', 'entity'));

-- Whose memories a space of that kind holds. Columns and not JSON, because only what compares columns can use an index
-- under row-level security.
CREATE TABLE entities (
    account     int NOT NULL DEFAULT scope_account(),
    space       bigint NOT NULL,
    user_id     text COLLATE "C",             -- the caller's own ids, and no user of ours
    agent_id    text COLLATE "C",
    app_id      text COLLATE "C",
    run_id      text COLLATE "C",
    changed_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, space),
    CHECK (num_nonnulls(user_id, agent_id, app_id, run_id) > 0),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX entities_by_user ON entities (account, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX entities_by_agent ON entities (account, agent_id) WHERE agent_id IS NOT NULL;
CREATE INDEX entities_by_app ON entities (account, app_id) WHERE app_id IS NOT NULL;
CREATE INDEX entities_by_run ON entities (account, run_id) WHERE run_id IS NOT NULL;

CREATE INDEX memories_that_expire ON memories (account, space, valid_to)
    WHERE kind = 'entity' AND valid_to IS NOT NULL;
