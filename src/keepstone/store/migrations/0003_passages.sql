-- The index: every message, memory, summary and document, cut into passages, each with its terms and its vectors.
-- Search knows these tables and spaces, and nothing of what surfaces call things.

-- BM25 needs to know how large a space is. Whoever adds to a space holds its row, so what is added has an order.
ALTER TABLE spaces ADD COLUMN passages bigint NOT NULL DEFAULT 0;
ALTER TABLE spaces ADD COLUMN term_total bigint NOT NULL DEFAULT 0;
ALTER TABLE spaces ADD COLUMN foreign_text boolean NOT NULL DEFAULT false;  -- some of it an English model can't read

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
    place        jsonb,                       -- where in its source: page, heading, offset
    visibility   text NOT NULL DEFAULT 'private' CHECK (visibility IN ('public', 'shared', 'private')),
    text         text NOT NULL,
    terms        text[] NOT NULL,             -- each once: finds the rows in `terms` again
    term_count   int NOT NULL,
    pending      boolean NOT NULL DEFAULT true,   -- not every vector is there yet
    PRIMARY KEY (account, space, passage),
    UNIQUE (account, source_kind, source_id, part),
    FOREIGN KEY (account, space) REFERENCES spaces (account, space) ON DELETE CASCADE
);
CREATE INDEX passages_by_time ON passages (account, space, at, passage);
CREATE INDEX passages_by_session ON passages (account, space, session, passage);
CREATE INDEX passages_pending ON passages (account, space, passage) WHERE pending;

-- The postings. No foreign key: it would cost more than the row; `forget_passages` takes its place.
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
-- dimension; up to about 4,000 a vector stays in its row. An index for one large space casts to its own dimension.
CREATE TABLE vectors (
    account     int NOT NULL DEFAULT scope_account(),
    space       bigint NOT NULL,
    vector_set  smallint NOT NULL,
    passage     bigint NOT NULL,
    embedding   halfvec NOT NULL,
    PRIMARY KEY (account, space, vector_set, passage),
    FOREIGN KEY (account, vector_set) REFERENCES vector_sets (account, vector_set) ON DELETE CASCADE
);
ALTER TABLE vectors ALTER COLUMN embedding SET STORAGE MAIN;

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

-- What a message says of whom. The newest of a subject and key holds; the older ones stay readable.
ALTER TABLE spaces ADD COLUMN people_read bigint NOT NULL DEFAULT 0;   -- up to which message, by its seq
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

-- What hangs on a passage goes with it, whoever deletes it and however: runs as the owner of the tables.
CREATE FUNCTION forget_passages() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
BEGIN
    DELETE FROM terms t USING gone g CROSS JOIN LATERAL unnest(g.terms) AS term
     WHERE t.account = g.account AND t.space = g.space AND t.term = term.term AND t.passage = g.passage;
    DELETE FROM vectors v USING gone g
     WHERE v.account = g.account AND v.space = g.space AND v.passage = g.passage;
    DELETE FROM token_vectors v USING gone g
     WHERE v.account = g.account AND v.space = g.space AND v.passage = g.passage;
    UPDATE spaces s SET passages = s.passages - g.number, term_total = s.term_total - g.total
      FROM (SELECT account, space, count(*) AS number, sum(term_count) AS total FROM gone GROUP BY 1, 2) g
     WHERE s.account = g.account AND s.space = g.space;
    RETURN NULL;
END $$;
CREATE TRIGGER forget_passages AFTER DELETE ON passages
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forget_passages();
