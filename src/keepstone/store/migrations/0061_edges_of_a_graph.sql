-- The edges of a graph are listed in their order and counted without a look at those of other graphs.
CREATE INDEX edges_of_space ON edges (account, space, created_at DESC, id DESC) WHERE deleted_at IS NULL;
