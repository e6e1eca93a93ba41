-- The index: every message, memory, summary and document, cut into passages, each with its terms and its vectors.
-- Search knows these tables and spaces, and nothing of what surfaces call things.

CREATE TABLE passages (
    account      int NOT NULL DEFAULT scope_account(),
    space        bigint NOT NULL,
    passage      bigint GENERATED ALWAYS AS IDENTITY,
    source_kind  text NOT NULL CHECK (source_kind IN ('message', 'memory', 'summary', 'document')),
    source_id    text COLLATE "C" NOT NULL,
    part         int NOT NULL DEFAULT 0,
    speaker      text,
    at           timestamptz,
    place        jsonb,                       -- where in its source: page, heading, offset
    visibility   text NOT NULL DEFAULT 'private' CHECK (visibility IN ('public', 'shared', 'private')),
    text         text NOT NULL,
    term_count   int NOT NULL,
    pending      boolean NOT NULL DEFAULT true,   -- not every vector is there yet
    PRIMARY KEY (account, space, passage),
    UNIQUE (account, source_kind, source_id, part),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX passages_pending ON passages (account, passage) WHERE pending;

CREATE TABLE terms (
    account    int NOT NULL DEFAULT scope_account(),
    space      bigint NOT NULL,
    term       text COLLATE "C" NOT NULL,
    passage    bigint NOT NULL,
    frequency  smallint NOT NULL,
    PRIMARY KEY (account, space, term, passage),
    FOREIGN KEY (account, space, passage) REFERENCES passages (account, space, passage) ON DELETE CASCADE
);
CREATE INDEX terms_of_passage ON terms (account, space, passage);

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
-- dimension; up to about 4,000 a vector stays in its row. An index for one large space casts to its own dimension.
CREATE TABLE vectors (
    account     int NOT NULL DEFAULT scope_account(),
    space       bigint NOT NULL,
    vector_set  smallint NOT NULL,
    passage     bigint NOT NULL,
    embedding   halfvec NOT NULL,
    PRIMARY KEY (account, space, vector_set, passage),
    FOREIGN KEY (account, vector_set) REFERENCES vector_sets (account, vector_set) ON DELETE CASCADE,
    FOREIGN KEY (account, space, passage) REFERENCES passages (account, space, passage) ON DELETE CASCADE
);
ALTER TABLE vectors ALTER COLUMN embedding SET STORAGE MAIN;
CREATE INDEX vectors_of_passage ON vectors (account, space, passage);
