-- What was said in rooms and direct messages can be corrected: every wording is kept, and what was deleted lies in the
-- trash. Only functions change any of this (12_corrections.sql), and never what was said in a scope or a chat.
ALTER TABLE messages
    ADD COLUMN version    int NOT NULL DEFAULT 1,
    ADD COLUMN edited_at  timestamptz,                     -- when it got its present wording; null: as it was said
    ADD COLUMN reread     boolean NOT NULL DEFAULT false;  -- to be read for memories once more
CREATE INDEX messages_to_reread ON messages (account, space, seq) WHERE reread;

-- The wordings of a message that was changed, deleted or restored, the first among them. No foreign key to the message,
-- which may be in the trash.
CREATE TABLE message_versions (
    account      int NOT NULL DEFAULT scope_account(),
    space        bigint NOT NULL,
    message_id   text COLLATE "C" NOT NULL,
    version      int NOT NULL,
    change       text NOT NULL,               -- created, updated, deleted, restored
    text         text NOT NULL,
    attachments  jsonb NOT NULL DEFAULT '[]',
    visibility   text NOT NULL CHECK (visibility IN ('public', 'shared', 'private')),
    worded_by    text COLLATE "C",            -- whose words it is
    changed_by   text COLLATE "C",
    changed_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, message_id, version),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX message_versions_of_space ON message_versions (account, space);

-- Messages of rooms that were deleted, whole, for 30 days. Elsewhere than the others: whoever reads what was said can't
-- forget to leave them out.
CREATE TABLE trashed_messages (
    account       int NOT NULL DEFAULT scope_account(),
    space         bigint NOT NULL,
    id            text COLLATE "C" NOT NULL,
    seq           bigint NOT NULL,
    client_id     text,
    speaker       text NOT NULL,
    user_id       text COLLATE "C",
    agent         text,
    sent_by       text COLLATE "C",
    text          text NOT NULL,
    at            timestamptz NOT NULL,
    recorded_at   timestamptz NOT NULL,
    thread_id     text COLLATE "C",
    visibility    text NOT NULL CHECK (visibility IN ('public', 'shared', 'private')),
    attachments   jsonb NOT NULL,
    version       int NOT NULL,
    edited_at     timestamptz,
    reread        boolean NOT NULL,
    deleted_at    timestamptz NOT NULL,
    deleted_by    text COLLATE "C",
    -- Memories that held again when those of this message went, and what each had been superseded by.
    revived       text[] NOT NULL DEFAULT '{}',
    revived_from  text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (account, id),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX trashed_messages_by_time ON trashed_messages (account, space, deleted_at DESC, id DESC);

-- What was taken from a message follows it.
CREATE INDEX memories_by_message ON memories (account, source_message_id) WHERE source_message_id IS NOT NULL;
