-- Workspaces: chats that share their memories, files and artifacts.

-- A space may be part of another, whose readers are its readers: the library of a workspace, where its files and
-- artifacts are. Apart from the memories, which are searched with every turn, however large it grows.
ALTER TABLE spaces DROP CONSTRAINT spaces_kind_check;
ALTER TABLE spaces ADD CONSTRAINT spaces_kind_check CHECK (kind IN
    ('vault', 'workspace', 'library', 'graph', 'scope', 'room', 'dm', 'profile', 'project', 'global'));
ALTER TABLE spaces ADD COLUMN part_of bigint;
ALTER TABLE spaces ADD FOREIGN KEY (account, part_of) REFERENCES spaces (account, space) ON DELETE CASCADE;
CREATE INDEX spaces_by_part ON spaces (account, part_of) WHERE part_of IS NOT NULL;

-- A workspace with an owner is that user's default one: chats without a workspace lie there. Any other is its members'.
CREATE UNIQUE INDEX default_workspaces ON spaces (account, owner) WHERE kind = 'workspace';

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

-- In a chat a message has a role, and its chat as its thread. It is never rewritten, but moves with its chat.
ALTER TABLE messages ADD COLUMN role text CHECK (role IN ('user', 'assistant'));

CREATE INDEX memories_by_chat ON memories (account, source_chat_id, created_at DESC) WHERE kind = 'chat';

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
