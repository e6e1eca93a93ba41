-- Rooms: people and agents, what each agent remembers of each place, and what stands for what was said.

ALTER TABLE accounts ADD COLUMN timezone text NOT NULL DEFAULT 'UTC';   -- whose days and weeks are summed up

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
    gleaned_seq  bigint NOT NULL DEFAULT 0,   -- up to which message it was read for facts
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

-- One summary of a window holds at a time.
CREATE UNIQUE INDEX summaries_that_hold ON summaries (account, space, tier, starts_at)
    WHERE superseded_at IS NULL AND tier IN ('session', 'day', 'week');
CREATE INDEX landmarks_of_space ON memories (account, space, created_at)
    WHERE kind = 'landmark' AND deleted_at IS NULL AND superseded_by IS NULL;
