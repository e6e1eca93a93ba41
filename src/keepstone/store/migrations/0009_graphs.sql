-- Graphs: typed nodes with any metadata, and what was asked of them.

CREATE UNIQUE INDEX default_graphs ON spaces (account) WHERE kind = 'graph' AND metadata @> '{"default": true}';
CREATE INDEX nodes_by_type ON memories (account, space, type, created_at DESC, id DESC)
    WHERE kind = 'node' AND deleted_at IS NULL;
CREATE INDEX nodes_by_metadata ON memories USING gin (metadata jsonb_path_ops)
    WHERE kind = 'node' AND deleted_at IS NULL;

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
