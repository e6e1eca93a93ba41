-- From a node to its passages, thousands at a time, without a look at the texts.
CREATE INDEX passages_of_memories ON passages (account, source_id) INCLUDE (space, passage, visibility)
    WHERE source_kind = 'memory';
