-- Spaces, and what is kept in them: messages word for word, and what was distilled from them.

-- A place with its own readers. `name` is what its surface calls it: a user's id for a vault or a profile, the id of
-- a workspace, graph, room or project, the caller's own scope_id for a scope.
CREATE TABLE spaces (
    account     int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    space       bigint GENERATED ALWAYS AS IDENTITY,
    kind        text NOT NULL CHECK (kind IN
                ('vault', 'workspace', 'graph', 'scope', 'room', 'dm', 'profile', 'project', 'global')),
    owner       text COLLATE "C",             -- the user whose it is; null: the account's or its members'
    name        text NOT NULL,
    title       text NOT NULL DEFAULT '',
    metadata    jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    deleted_at  timestamptz,
    PRIMARY KEY (account, space),
    UNIQUE NULLS NOT DISTINCT (account, kind, owner, name),
    FOREIGN KEY (account, owner) REFERENCES users (account, id) ON DELETE CASCADE
);

CREATE TABLE members (
    account   int NOT NULL DEFAULT scope_account(),
    space     bigint NOT NULL,
    user_id   text COLLATE "C" NOT NULL,
    role      text NOT NULL DEFAULT 'member' CHECK (role IN ('owner', 'editor', 'member', 'viewer')),
    added_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, space, user_id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE,
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE
);
CREATE INDEX members_by_user ON members (account, user_id);

-- What somebody said. Never rewritten.
CREATE TABLE messages (
    account      int NOT NULL DEFAULT scope_account(),
    space        bigint NOT NULL,
    id           text COLLATE "C" NOT NULL,
    seq          bigint GENERATED ALWAYS AS IDENTITY,
    client_id    text,                        -- the caller's own id: the same again changes nothing
    speaker      text NOT NULL,
    user_id      text COLLATE "C",
    agent        text,
    text         text NOT NULL,
    at           timestamptz NOT NULL,        -- when it was said
    recorded_at  timestamptz NOT NULL DEFAULT now(),
    thread_id    text COLLATE "C",
    reply_to     text,
    visibility   text NOT NULL DEFAULT 'private' CHECK (visibility IN ('public', 'shared', 'private')),
    attachments  jsonb NOT NULL DEFAULT '[]',
    metadata     jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (account, id),
    UNIQUE (account, space, client_id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX messages_by_time ON messages (account, space, at, seq);
CREATE INDEX messages_by_thread ON messages (account, thread_id, seq) WHERE thread_id IS NOT NULL;

-- What was distilled: a capsule, a chat memory, a node, a landmark.
CREATE TABLE memories (
    account            int NOT NULL DEFAULT scope_account(),
    space              bigint NOT NULL,
    id                 text COLLATE "C" NOT NULL,
    kind               text NOT NULL,         -- capsule, chat, node, landmark, semantic
    type               text,                  -- within its kind: decision, preference, a node's type
    title              text,
    content            text NOT NULL,
    summary            text,
    tags               text[] NOT NULL DEFAULT '{}',
    metadata           jsonb NOT NULL DEFAULT '{}',
    visibility         text NOT NULL DEFAULT 'private' CHECK (visibility IN ('public', 'shared', 'private')),
    user_id            text COLLATE "C",
    agent              text,
    run_id             text,
    project_id         text COLLATE "C",
    source_type        text,
    source_chat_id     text COLLATE "C",
    source_message_id  text COLLATE "C",
    content_hash       bytea NOT NULL,
    size_bytes         bigint NOT NULL,
    version            int NOT NULL DEFAULT 1,
    superseded_by      text COLLATE "C",
    valid_from         timestamptz NOT NULL DEFAULT now(),
    valid_to           timestamptz,
    created_at         timestamptz NOT NULL DEFAULT now(),
    updated_at         timestamptz NOT NULL DEFAULT now(),
    accessed_at        timestamptz NOT NULL DEFAULT now(),
    deleted_at         timestamptz,
    PRIMARY KEY (account, id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX memories_by_time ON memories (account, space, kind, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX memories_by_hash ON memories (account, space, kind, content_hash) WHERE deleted_at IS NULL;
CREATE INDEX memories_in_trash ON memories (account, deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE memory_versions (
    account     int NOT NULL DEFAULT scope_account(),
    space       bigint NOT NULL,
    memory_id   text COLLATE "C" NOT NULL,
    version     int NOT NULL,
    change      text NOT NULL,                -- created, updated, deleted, restored, merged, superseded
    title       text,
    content     text NOT NULL,
    summary     text,
    tags        text[] NOT NULL DEFAULT '{}',
    metadata    jsonb NOT NULL DEFAULT '{}',
    visibility  text NOT NULL CHECK (visibility IN ('public', 'shared', 'private')),
    changed_by  text COLLATE "C",
    changed_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, memory_id, version),
    FOREIGN KEY (account, memory_id) REFERENCES memories (account, id) ON DELETE CASCADE
);

-- A typed relation between two memories, with the time in which it holds.
CREATE TABLE edges (
    account     int NOT NULL DEFAULT scope_account(),
    space       bigint NOT NULL,
    id          text COLLATE "C" NOT NULL,
    from_id     text COLLATE "C" NOT NULL,
    to_id       text COLLATE "C" NOT NULL,
    type        text NOT NULL,
    metadata    jsonb NOT NULL DEFAULT '{}',
    valid_from  timestamptz NOT NULL DEFAULT now(),
    valid_to    timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now(),
    deleted_at  timestamptz,
    PRIMARY KEY (account, id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE,
    FOREIGN KEY (account, from_id) REFERENCES memories (account, id) ON DELETE CASCADE,
    FOREIGN KEY (account, to_id) REFERENCES memories (account, id) ON DELETE CASCADE
);
CREATE INDEX edges_from ON edges (account, from_id, type);
CREATE INDEX edges_to ON edges (account, to_id, type);

-- Exact typed values on two time axes: when it was true (valid_*), and when we knew (recorded_at, superseded_at).
-- A value is never changed in place.
CREATE TABLE facts (
    account        int NOT NULL DEFAULT scope_account(),
    space          bigint NOT NULL,
    id             text COLLATE "C" NOT NULL
                   DEFAULT 'fact_' || substr(md5(gen_random_uuid()::text), 1, 24),
    scope_kind     text NOT NULL CHECK (scope_kind IN ('user', 'project', 'room', 'global')),
    scope_id       text COLLATE "C" NOT NULL,
    key            text NOT NULL,
    value          jsonb NOT NULL,
    visibility     text NOT NULL DEFAULT 'shared' CHECK (visibility IN ('public', 'shared', 'private')),
    valid_from     timestamptz NOT NULL DEFAULT now(),
    valid_to       timestamptz,
    recorded_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    superseded_at  timestamptz,
    recorded_by    text COLLATE "C",
    source_id      text COLLATE "C",          -- the message it was taken from
    PRIMARY KEY (account, id),
    CHECK (valid_to IS NULL OR valid_to >= valid_from),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX facts_by_key ON facts (account, scope_kind, scope_id, key, recorded_at DESC);

-- A fact names its scope; the space in which it lies, and so its readers, follow from that.
CREATE FUNCTION place_fact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT s.space INTO NEW.space
      FROM spaces s
     WHERE s.account = NEW.account
       AND s.kind = CASE NEW.scope_kind WHEN 'user' THEN 'profile' ELSE NEW.scope_kind END
       AND s.name = NEW.scope_id
       AND s.deleted_at IS NULL;
    IF NEW.space IS NULL THEN
        RAISE EXCEPTION 'no % with this id', NEW.scope_kind USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER place_fact BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION place_fact();

-- Stands for a window of messages; built from the tier below.
CREATE TABLE summaries (
    account        int NOT NULL DEFAULT scope_account(),
    space          bigint NOT NULL,
    id             text COLLATE "C" NOT NULL,
    tier           text NOT NULL CHECK (tier IN ('thread', 'session', 'day', 'week', 'compaction')),
    thread_id      text COLLATE "C",
    content        text NOT NULL,
    starts_at      timestamptz NOT NULL,
    ends_at        timestamptz NOT NULL,
    message_count  int NOT NULL,
    source_ids     text[] NOT NULL DEFAULT '{}',
    visibility     text NOT NULL DEFAULT 'private' CHECK (visibility IN ('public', 'shared', 'private')),
    created_at     timestamptz NOT NULL DEFAULT now(),
    superseded_at  timestamptz,
    PRIMARY KEY (account, id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX summaries_by_time ON summaries (account, space, tier, starts_at);

-- Files and artifacts; their text is searched as passages.
CREATE TABLE documents (
    account     int NOT NULL DEFAULT scope_account(),
    space       bigint NOT NULL,
    id          text COLLATE "C" NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('file', 'artifact')),
    name        text NOT NULL,
    media_type  text NOT NULL,
    version     int NOT NULL DEFAULT 1,
    content     text NOT NULL,
    size_bytes  bigint NOT NULL,
    sha256      bytea NOT NULL,
    visibility  text NOT NULL DEFAULT 'private' CHECK (visibility IN ('public', 'shared', 'private')),
    metadata    jsonb NOT NULL DEFAULT '{}',
    created_by  text COLLATE "C",
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    deleted_at  timestamptz,
    PRIMARY KEY (account, id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX documents_of_space ON documents (account, space, created_at DESC);
