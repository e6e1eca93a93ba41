-- The whole schema, grouped by noun.
--
-- The account leads every key, unique constraint and foreign key, so that the schema can be distributed by account.
-- It is a number here, because every row and every index entry carries it; `accounts.id` is its public name.

-- === What the running transaction may touch ==========================================================================

-- Each fails when the transaction did not say so: there is no default.
CREATE FUNCTION scope_account() RETURNS int
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN current_setting('keepstone.account')::int;

CREATE FUNCTION scope_spaces() RETURNS bigint[]
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN current_setting('keepstone.spaces')::bigint[];

CREATE FUNCTION scope_visibilities() RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN current_setting('keepstone.visibilities')::text[];

-- === Plans and accounts ==============================================================================================

-- Plans that the operator edits. Of the whole server, so it names no account. Null is no limit.
CREATE TABLE plans (
    name                text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    capacity_bytes      bigint CHECK (capacity_bytes >= 0),   -- of each user
    monthly_queries     bigint CHECK (monthly_queries >= 0),  -- these and the rest: of the account
    monthly_credits     bigint CHECK (monthly_credits >= 0),  -- what the balance is raised to each month; null: not
    key_per_minute      int CHECK (key_per_minute > 0),       -- requests with one credential
    account_per_minute  int CHECK (account_per_minute > 0),   -- requests of all of the account's
    position            int NOT NULL DEFAULT 0,
    price               text CHECK (length(price) BETWEEN 1 AND 40)   -- as it is shown; null: not for sale
);
INSERT INTO plans (name, capacity_bytes, position, price) VALUES
    ('free', 5 * 1024 * 1024, 1, '$0'), ('pro', 50 * 1024 * 1024, 2, '$10/mo'), ('max', 300 * 1024 * 1024, 3, '$40/mo'),
    ('unlimited', NULL, 4, NULL);

CREATE SEQUENCE account_numbers AS int;

CREATE TABLE accounts (
    account       int PRIMARY KEY,
    id            text COLLATE "C" NOT NULL,
    name          text NOT NULL,
    plan          text NOT NULL,
    credits       bigint,                     -- null: not counted
    refilled_for  date,                       -- the month for which the plan has raised the credits
    timezone      text NOT NULL DEFAULT 'UTC',   -- whose days and weeks are summed up
    created_at    timestamptz NOT NULL DEFAULT now(),
    UNIQUE (account, id)
);
CREATE INDEX accounts_by_id ON accounts (id);

-- === People, and what lets them in ===================================================================================

CREATE TABLE users (
    account        int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id             text COLLATE "C" NOT NULL,
    email          text NOT NULL,             -- lower case; one user has it on the whole server, see account_of
    name           text NOT NULL DEFAULT '',
    role           text NOT NULL DEFAULT 'member' CHECK (role IN ('owner', 'member')),
    is_admin       boolean NOT NULL DEFAULT false,
    password_hash  text,
    quota_bytes    bigint CHECK (quota_bytes >= 0),   -- null: as the plan says
    timezone       text NOT NULL DEFAULT 'UTC',
    language       text NOT NULL DEFAULT 'en',
    cold_tier      boolean NOT NULL DEFAULT false,    -- a full plan moves what was not read for longest out of the way
    weekly_digest  boolean NOT NULL DEFAULT false,    -- the week is told by e-mail
    subject        text,                      -- who this is to a foreign issuer of JWTs
    created_at     timestamptz NOT NULL DEFAULT now(),
    last_login_at  timestamptz,
    erased_at      timestamptz,               -- gone for everybody; a job removes what is left
    PRIMARY KEY (account, id),
    UNIQUE (account, email),
    UNIQUE (account, subject)
);
CREATE INDEX users_by_email ON users (email);
CREATE INDEX users_by_subject ON users (subject) WHERE subject IS NOT NULL;

CREATE TABLE keys (
    account       int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id            text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C",           -- null: a service key
    created_by    text COLLATE "C",
    name          text NOT NULL,
    prefix        text COLLATE "C" NOT NULL,  -- the part that is not secret: finds the row
    secret_hash   bytea NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz,
    last_used_at  timestamptz,
    revoked_at    timestamptz,
    PRIMARY KEY (account, id),
    UNIQUE (account, prefix),
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE
);
CREATE INDEX keys_by_prefix ON keys (prefix);
CREATE INDEX keys_of_user ON keys (account, user_id);

CREATE TABLE sessions (
    account       int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id            text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    prefix        text COLLATE "C" NOT NULL,
    secret_hash   bytea NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    last_used_at  timestamptz NOT NULL DEFAULT now(),
    address       text,
    user_agent    text,
    PRIMARY KEY (account, id),
    UNIQUE (account, prefix),
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE
);
CREATE INDEX sessions_by_prefix ON sessions (prefix);
CREATE INDEX sessions_of_user ON sessions (account, user_id);

CREATE TABLE one_time_links (
    account      int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    prefix       text COLLATE "C" NOT NULL,
    secret_hash  bytea NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (account, prefix),
    FOREIGN KEY (account, user_id) REFERENCES users (account, id) ON DELETE CASCADE
);
CREATE INDEX one_time_links_by_prefix ON one_time_links (prefix);

-- === What was done and used ==========================================================================================

-- Who did what, when, to what. Never what it said.
CREATE TABLE audit (
    account        int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id             text COLLATE "C" NOT NULL,
    at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    user_id        text COLLATE "C",
    via            text NOT NULL,
    credential_id  text COLLATE "C",
    action         text NOT NULL,
    object_id      text COLLATE "C",
    details        jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (account, id)
);
CREATE INDEX audit_by_time ON audit (account, at DESC, id DESC);

-- Every billable call once, whatever is retried: `call_id` is the caller's request.
CREATE TABLE usage_ledger (
    account        int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    call_id        text COLLATE "C" NOT NULL,
    at             timestamptz NOT NULL DEFAULT now(),
    user_id        text COLLATE "C",
    credential_id  text COLLATE "C",
    action         text NOT NULL,
    queries        int NOT NULL DEFAULT 0,
    credits        bigint NOT NULL DEFAULT 0,
    tokens_in      bigint NOT NULL DEFAULT 0,
    tokens_out     bigint NOT NULL DEFAULT 0,
    details        jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (account, call_id)
);
CREATE INDEX usage_ledger_by_time ON usage_ledger (account, at);

-- The sums of the ledger by calendar month (UTC), written together with its lines: a limit is looked up, not counted.
CREATE TABLE usage_months (
    account     int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    month       date NOT NULL,
    queries     bigint NOT NULL DEFAULT 0,
    credits     bigint NOT NULL DEFAULT 0,
    tokens_in   bigint NOT NULL DEFAULT 0,
    tokens_out  bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (account, month)
) WITH (fillfactor = 50);  -- changed with every call, so there is room for the next version beside it

-- What a payment system told us: each event once.
CREATE TABLE billing_events (
    account  int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id       text COLLATE "C" NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, id)
);

-- What a recall did, for whoever looks into it later: numbers and names of filters, never a text.
CREATE TABLE queries (
    account        int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    id             text COLLATE "C" NOT NULL,
    at             timestamptz NOT NULL DEFAULT now(),
    user_id        text COLLATE "C",
    credential_id  text COLLATE "C",
    graph_id       text COLLATE "C" NOT NULL,
    filters        text[] NOT NULL,
    max_results    int NOT NULL,
    min_relevance  real NOT NULL,
    returned       int NOT NULL,
    total          int NOT NULL,
    best           real,
    degraded       text,
    milliseconds   real NOT NULL,
    PRIMARY KEY (account, id)
);
CREATE INDEX queries_by_time ON queries (account, at);

-- === Spaces ==========================================================================================================

-- A place with its own readers. `name` is what its surface calls it: a user's id for a vault or a profile, the id of
-- a workspace, graph, room or project, the caller's own scope_id for a scope. Whoever adds to a space holds its row, so
-- what is added has an order.
CREATE TABLE spaces (
    account         int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    space           bigint GENERATED ALWAYS AS IDENTITY,
    kind            text NOT NULL CHECK (kind IN
                    ('vault', 'workspace', 'library', 'graph', 'scope', 'room', 'dm', 'profile', 'project', 'global',
                     'entity', 'store')),
    owner           text COLLATE "C",         -- the user whose it is; null: the account's or its members'
    part_of         bigint,                   -- the space whose readers are its readers, see `library` below
    name            text NOT NULL,
    title           text NOT NULL DEFAULT '',
    metadata        jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now(),
    deleted_at      timestamptz,
    -- What it takes of its user's capacity.
    size_bytes      bigint NOT NULL DEFAULT 0,
    memory_count    bigint NOT NULL DEFAULT 0,
    changed_at      timestamptz NOT NULL DEFAULT now(),     -- when a memory in it was last kept, changed or put away
    -- What BM25 needs to know.
    passages        bigint NOT NULL DEFAULT 0,
    term_total      bigint NOT NULL DEFAULT 0,
    foreign_text    boolean NOT NULL DEFAULT false,         -- some of it an English model can't read
    indexed_sets    smallint[] NOT NULL DEFAULT '{}',       -- sets of vectors with an index of its own, see `vectors`
    indexing_scheduled  boolean NOT NULL DEFAULT false,     -- a job that will index what is new in it is on its way
    people_read     bigint NOT NULL DEFAULT 0,              -- up to which message's seq it was read for statements
    PRIMARY KEY (account, space),
    UNIQUE NULLS NOT DISTINCT (account, kind, owner, name),
    FOREIGN KEY (account, owner) REFERENCES users (account, id) ON DELETE CASCADE,
    FOREIGN KEY (account, part_of) REFERENCES spaces (account, space) ON DELETE CASCADE
);
-- A library is part of a workspace and holds its files and artifacts, apart from the memories, which are searched with
-- every turn, however large it grows. What an agent remembers of a room is part of the room.
CREATE INDEX spaces_by_part ON spaces (account, part_of) WHERE part_of IS NOT NULL;
-- A workspace with an owner is that user's default one: chats without a workspace lie there. Any other is its members'.
CREATE UNIQUE INDEX default_workspaces ON spaces (account, owner) WHERE kind = 'workspace';
CREATE UNIQUE INDEX default_graphs ON spaces (account) WHERE kind = 'graph' AND metadata @> '{"default": true}';

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

-- Whose memories a space of that kind holds. Columns and not JSON, because only what compares columns can use an index
-- under row-level security.
CREATE TABLE entities (
    account     int NOT NULL DEFAULT scope_account(),
    space       bigint NOT NULL,
    user_id     text COLLATE "C",             -- the caller's own ids, and no user of ours
    agent_id    text COLLATE "C",
    app_id      text COLLATE "C",
    run_id      text COLLATE "C",
    PRIMARY KEY (account, space),
    CHECK (num_nonnulls(user_id, agent_id, app_id, run_id) > 0),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX entities_by_user ON entities (account, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX entities_by_agent ON entities (account, agent_id) WHERE agent_id IS NOT NULL;
CREATE INDEX entities_by_app ON entities (account, app_id) WHERE app_id IS NOT NULL;
CREATE INDEX entities_by_run ON entities (account, run_id) WHERE run_id IS NOT NULL;

-- === What was said ===================================================================================================

-- What somebody said. Never rewritten, but moves with its chat, which is its thread.
CREATE TABLE messages (
    account      int NOT NULL DEFAULT scope_account(),
    space        bigint NOT NULL,
    id           text COLLATE "C" NOT NULL,
    seq          bigint GENERATED ALWAYS AS IDENTITY,
    client_id    text,                        -- the caller's own id: the same again changes nothing
    speaker      text NOT NULL,
    role         text CHECK (role IN ('user', 'assistant')),   -- in a chat
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

-- What a message says of whom. The newest of a subject and key holds; the older ones stay readable.
CREATE TABLE statements (
    account     int NOT NULL DEFAULT scope_account(),
    space       bigint NOT NULL,
    message_id  text COLLATE "C" NOT NULL,
    part        int NOT NULL,
    subject     text NOT NULL,
    kind        text NOT NULL,
    key         text NOT NULL,
    text        text NOT NULL,
    at          timestamptz NOT NULL,
    visibility  text NOT NULL CHECK (visibility IN ('public', 'shared', 'private')),
    PRIMARY KEY (account, message_id, part),
    FOREIGN KEY (account, message_id) REFERENCES messages (account, id) ON DELETE CASCADE
);
CREATE INDEX statements_by_subject ON statements (account, space, subject, key, at DESC);

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
-- One summary of a window holds at a time.
CREATE UNIQUE INDEX summaries_that_hold ON summaries (account, space, tier, starts_at)
    WHERE superseded_at IS NULL AND tier IN ('session', 'day', 'week');

-- === What is remembered ==============================================================================================

-- What was distilled: a capsule, a chat memory, a node, a landmark, what agents remember of rooms (semantic) or what is
-- remembered for an entity, an item of a store.
CREATE TABLE memories (
    account            int NOT NULL DEFAULT scope_account(),
    space              bigint NOT NULL,
    id                 text COLLATE "C" NOT NULL,
    kind               text NOT NULL,         -- capsule, chat, node, landmark, semantic, entity, item
    type               text NOT NULL DEFAULT '',            -- within its kind: decision, preference, a node's type
    title              text NOT NULL DEFAULT '',
    content            text NOT NULL,         -- of an item: its value as JSON
    summary            text,
    tags               text[] NOT NULL DEFAULT '{}',
    metadata           jsonb NOT NULL DEFAULT '{}',
    visibility         text NOT NULL DEFAULT 'private' CHECK (visibility IN ('public', 'shared', 'private')),
    user_id            text COLLATE "C",
    agent              text,                  -- the agent that remembers it; `*` for all
    run_id             text NOT NULL DEFAULT '',            -- the room, direct messages, profile or project it is of
    project_id         text COLLATE "C",
    source_type        text NOT NULL DEFAULT 'user',        -- who or what kept it: user, model, message, auto_research
    source_chat_id     text COLLATE "C",
    source_message_id  text COLLATE "C",
    role               text,                  -- of whoever said what it was taken from
    actor              text,                  -- and their name
    immutable          boolean NOT NULL DEFAULT false,
    path               text COLLATE "C",      -- of an item: the labels of its namespace, each followed by U+001F
    key                text,                  -- of an item
    address            bytea,                 -- of an item: stands for its namespace and key
    content_hash       bytea NOT NULL,        -- the same for what says the same, as its kind sees it
    size_bytes         bigint NOT NULL,
    version            int NOT NULL DEFAULT 1,
    superseded_by      text COLLATE "C",
    valid_from         timestamptz NOT NULL DEFAULT now(),
    valid_to           timestamptz,           -- until when it holds, or is kept
    created_at         timestamptz NOT NULL DEFAULT now(),
    updated_at         timestamptz NOT NULL DEFAULT now(),
    accessed_at        timestamptz NOT NULL DEFAULT now(),
    deleted_at         timestamptz,
    cold_at            timestamptz,           -- out of the way since the plan was full; can be brought back for 30 days
    PRIMARY KEY (account, id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX memories_by_time ON memories (account, space, kind, created_at DESC, id DESC)
    WHERE deleted_at IS NULL AND cold_at IS NULL;
CREATE INDEX memories_by_use ON memories (account, space, kind, accessed_at, id)
    WHERE deleted_at IS NULL AND cold_at IS NULL;
CREATE INDEX memories_by_tag ON memories USING gin (tags) WHERE deleted_at IS NULL AND cold_at IS NULL;
CREATE INDEX memories_by_hash ON memories (account, space, kind, content_hash) WHERE deleted_at IS NULL;
CREATE INDEX memories_in_trash ON memories (account, deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX memories_cold ON memories (account, cold_at) WHERE cold_at IS NOT NULL;
-- The same capsule saved twice at once is stored once. Memories of other kinds may say the same.
CREATE UNIQUE INDEX capsules_by_hash ON memories (account, space, content_hash, md5(title))
    WHERE kind = 'capsule' AND deleted_at IS NULL AND cold_at IS NULL;
CREATE INDEX memories_by_chat ON memories (account, source_chat_id, created_at DESC) WHERE kind = 'chat';
CREATE INDEX landmarks_of_space ON memories (account, space, created_at)
    WHERE kind = 'landmark' AND deleted_at IS NULL AND superseded_by IS NULL;
CREATE INDEX nodes_by_type ON memories (account, space, type, created_at DESC, id DESC)
    WHERE kind = 'node' AND deleted_at IS NULL;
CREATE INDEX nodes_by_metadata ON memories USING gin (metadata jsonb_path_ops)
    WHERE kind = 'node' AND deleted_at IS NULL;
CREATE INDEX memories_that_expire ON memories (account, space, valid_to)
    WHERE kind = 'entity' AND valid_to IS NOT NULL;
CREATE UNIQUE INDEX items_by_address ON memories (account, space, address) WHERE kind = 'item';
CREATE INDEX items_by_path ON memories (account, space, path) WHERE kind = 'item' AND deleted_at IS NULL;
CREATE INDEX items_by_expiry ON memories (account, space, valid_to) WHERE kind = 'item' AND valid_to IS NOT NULL;

CREATE TABLE memory_versions (
    account     int NOT NULL DEFAULT scope_account(),
    space       bigint NOT NULL,
    memory_id   text COLLATE "C" NOT NULL,
    version     int NOT NULL,
    change      text NOT NULL,                -- created, updated, deleted, restored, merged, superseded
    title       text NOT NULL DEFAULT '',
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

-- A fact names its scope; the space in which it lies, and so its readers, follow from that. The server says it
-- (`store/facts.py`); this is for an INSERT by hand, which does not, and for which nothing else could do it.
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
CREATE TRIGGER place_fact BEFORE INSERT ON facts FOR EACH ROW WHEN (NEW.space IS NULL)
    EXECUTE FUNCTION place_fact();

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

-- === Chats and documents =============================================================================================

CREATE TABLE chats (
    account     int NOT NULL DEFAULT scope_account(),
    space       bigint NOT NULL,              -- its workspace
    id          text COLLATE "C" NOT NULL,
    title       text NOT NULL DEFAULT '',
    created_by  text COLLATE "C",
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    deleted_at  timestamptz,
    PRIMARY KEY (account, id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX chats_by_time ON chats (account, space, created_at DESC, id DESC);

-- What is to be read for memories once more, after the fact: a message or a summary, never a text of its own.
CREATE TABLE distillations (
    account      int NOT NULL DEFAULT scope_account(),
    space        bigint NOT NULL,
    distillation bigint GENERATED ALWAYS AS IDENTITY,
    kind         text NOT NULL CHECK (kind IN ('tool', 'deep_think', 'research', 'compaction')),
    chat_id      text COLLATE "C" NOT NULL,
    source_id    text COLLATE "C" NOT NULL,   -- the message, or with a compaction the summary
    user_id      text COLLATE "C",            -- in whose turn
    state        text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done')),
    attempts     int NOT NULL DEFAULT 0,
    memory_ids   text[] NOT NULL DEFAULT '{}',
    created_at   timestamptz NOT NULL DEFAULT now(),
    done_at      timestamptz,
    PRIMARY KEY (account, distillation),
    UNIQUE (account, kind, source_id),        -- a turn with three tools is read once
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX distillations_by_time ON distillations (account, space, created_at DESC);

-- Our tools that a model called beside the client's own. The client never sees them; when it comes back with its
-- results, they take their place again. What was found is looked up anew, so it is not kept here.
CREATE TABLE tool_calls (
    account      int NOT NULL DEFAULT scope_account(),
    space        bigint NOT NULL,
    client_call  text COLLATE "C" NOT NULL,   -- the client's call that they stood beside
    id           text COLLATE "C" NOT NULL,
    position     int NOT NULL,
    name         text NOT NULL,
    arguments    text NOT NULL,
    memory_id    text COLLATE "C",            -- what was saved
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, space, client_call, id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX tool_calls_by_time ON tool_calls (created_at);

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

-- Every version of a file or an artifact, with the bytes that were uploaded.
CREATE TABLE document_versions (
    account      int NOT NULL DEFAULT scope_account(),
    space        bigint NOT NULL,
    document_id  text COLLATE "C" NOT NULL,
    version      int NOT NULL,
    change       text NOT NULL,               -- created, updated, reverted, deleted, restored
    name         text NOT NULL,
    media_type   text NOT NULL,
    content      text NOT NULL,
    original     bytea,                       -- null: the content is all there is
    size_bytes   bigint NOT NULL,
    visibility   text NOT NULL DEFAULT 'private' CHECK (visibility IN ('public', 'shared', 'private')),
    changed_by   text COLLATE "C",
    changed_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, document_id, version),
    FOREIGN KEY (account, document_id) REFERENCES documents (account, id) ON DELETE CASCADE
);
ALTER TABLE document_versions ALTER COLUMN original SET STORAGE EXTERNAL;  -- mostly compressed already

-- === Rooms ===========================================================================================================

CREATE TABLE agents (
    account         int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    slug            text COLLATE "C" NOT NULL,
    name            text NOT NULL,
    context_window  int NOT NULL CHECK (context_window > 0),
    instructions    text NOT NULL DEFAULT '',
    created_by      text COLLATE "C",
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    deleted_at      timestamptz,
    PRIMARY KEY (account, slug)
);

-- A place where people talk with agents: a room, or with one agent alone. What each agent remembers of it lies in a
-- part of its own (`spaces.part_of`), so that one never reads another's.
CREATE TABLE rooms (
    account      int NOT NULL DEFAULT scope_account(),
    space        bigint NOT NULL,
    project_id   text COLLATE "C",
    last_at      timestamptz,                 -- when somebody last spoke
    last_seq     bigint NOT NULL DEFAULT 0,   -- of the message that came last
    takeaways_seq bigint NOT NULL DEFAULT 0,   -- up to which message it was read for facts
    -- From here on summaries have to be made anew: of sessions, of days, of weeks.
    dirty_from   timestamptz,
    days_from    timestamptz,
    weeks_from   timestamptz,
    PRIMARY KEY (account, space),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX rooms_dirty ON rooms (account)
    WHERE dirty_from IS NOT NULL OR days_from IS NOT NULL OR weeks_from IS NOT NULL;

CREATE TABLE room_agents (
    account   int NOT NULL DEFAULT scope_account(),
    space     bigint NOT NULL,
    agent     text COLLATE "C" NOT NULL,
    added_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, space, agent),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE,
    FOREIGN KEY (account, agent) REFERENCES agents (account, slug) ON DELETE CASCADE
);

CREATE TABLE threads (
    account        int NOT NULL DEFAULT scope_account(),
    space          bigint NOT NULL,
    id             text COLLATE "C" NOT NULL,
    title          text NOT NULL DEFAULT '',
    message_count  int NOT NULL DEFAULT 0,
    opened_at      timestamptz NOT NULL,
    closed_at      timestamptz,
    PRIMARY KEY (account, id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX threads_of_space ON threads (account, space, opened_at DESC);

-- === The index =======================================================================================================

-- Every message, memory, summary and document, cut into passages, each with its terms and its vectors. Search knows
-- these tables and spaces, and nothing of what surfaces call things.

CREATE TABLE passages (
    account      int NOT NULL DEFAULT scope_account(),
    space        bigint NOT NULL,
    passage      bigint GENERATED ALWAYS AS IDENTITY,
    source_kind  text NOT NULL CHECK (source_kind IN ('message', 'memory', 'summary', 'document')),
    source_id    text COLLATE "C" NOT NULL,
    part         int NOT NULL DEFAULT 0,      -- a long source has several
    speaker      text,
    at           timestamptz NOT NULL,
    session      text COLLATE "C",            -- what was said without an hour's silence between
    answers      text COLLATE "C",            -- the source, of the same kind, that it was said in answer to
    place        jsonb,                       -- where in its source: page, heading, offset
    visibility   text NOT NULL DEFAULT 'private' CHECK (visibility IN ('public', 'shared', 'private')),
    text         text NOT NULL,
    terms        text[] NOT NULL,             -- each once: finds the rows in `terms` again
    term_count   int NOT NULL,
    foreign_text boolean NOT NULL DEFAULT false,  -- an English model can't read it: searched by another one
    pending      boolean NOT NULL DEFAULT true,   -- not every vector is there yet
    PRIMARY KEY (account, space, passage),
    UNIQUE (account, source_kind, source_id, part),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX passages_by_time ON passages (account, space, at, passage);
CREATE INDEX passages_by_session ON passages (account, space, session, passage);
CREATE INDEX passages_by_answered ON passages (account, space, answers) WHERE answers IS NOT NULL;
CREATE INDEX passages_foreign ON passages (account, space, passage) WHERE foreign_text;
CREATE INDEX passages_pending ON passages (account, space, passage) WHERE pending;
-- From a node to its passages, thousands at a time, without a look at the texts.
CREATE INDEX passages_of_memories ON passages (account, source_id) INCLUDE (space, passage, visibility)
    WHERE source_kind = 'memory';

-- The postings. No foreign key, here and below: it would cost more than the row. Whoever removes passages removes what
-- hangs on them (`store/passages.py`), and whoever removes spaces empties them first (`empty_spaces`).
CREATE TABLE terms (
    account    int NOT NULL DEFAULT scope_account(),
    space      bigint NOT NULL,
    term       text COLLATE "C" NOT NULL,
    passage    bigint NOT NULL,
    frequency  smallint NOT NULL,
    length     smallint NOT NULL,             -- terms of the whole passage
    PRIMARY KEY (account, space, term, passage) INCLUDE (frequency, length)
);

-- An embedding model in use. Several stand side by side while one takes over from another, and for good when each
-- sees what the other can't.
CREATE TABLE vector_sets (
    account     int NOT NULL DEFAULT scope_account() REFERENCES accounts ON DELETE CASCADE,
    vector_set  smallint NOT NULL,
    model       text NOT NULL,
    dimension   int NOT NULL CHECK (dimension BETWEEN 1 AND 16000),
    state       text NOT NULL DEFAULT 'filling' CHECK (state IN ('filling', 'serving', 'retired')),
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, vector_set),
    UNIQUE (account, model, dimension)
);

-- Narrow and inline, because reading vectors out of line makes exact search four times slower. The column takes any
-- dimension; up to about 4,000 a vector stays in its row. A large space
-- gets an index of its own for each set, made by a job, which casts to that dimension: one index over all spaces would
-- return almost nothing under the filter for one of them.
CREATE TABLE vectors (
    account     int NOT NULL DEFAULT scope_account(),
    space       bigint NOT NULL,
    vector_set  smallint NOT NULL,
    passage     bigint NOT NULL,
    embedding   halfvec NOT NULL,
    PRIMARY KEY (account, space, vector_set, passage),
    FOREIGN KEY (account, vector_set) REFERENCES vector_sets (account, vector_set) ON DELETE CASCADE
);
ALTER TABLE vectors ALTER COLUMN embedding SET STORAGE MAIN;  -- CREATE TABLE takes it from Postgres 16 on

-- One bit a dimension and token, for late interaction on the few passages that came near.
CREATE TABLE token_vectors (
    account     int NOT NULL DEFAULT scope_account(),
    space       bigint NOT NULL,
    vector_set  smallint NOT NULL,
    passage     bigint NOT NULL,
    tokens      bytea NOT NULL,
    PRIMARY KEY (account, space, vector_set, passage),
    FOREIGN KEY (account, vector_set) REFERENCES vector_sets (account, vector_set) ON DELETE CASCADE
);
ALTER TABLE token_vectors ALTER COLUMN tokens SET STORAGE MAIN;

-- === The queue =======================================================================================================

-- The class of the exception that a job ended with last, never its message. Of the queue, so it names no account.
CREATE TABLE job_faults (
    job    bigint PRIMARY KEY,
    error  text NOT NULL CHECK (length(error) <= 100),
    at     timestamptz NOT NULL DEFAULT now()
);
