-- The standing wishes of a workspace are looked up before every turn, and are few among its memories.
CREATE INDEX standing_wishes ON memories (account, space, created_at DESC, id DESC)
    WHERE kind = 'chat' AND metadata @> '{"standing": true}' AND deleted_at IS NULL;
