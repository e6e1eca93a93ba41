-- Stores: memories of the kind `item` under a namespace and a key, in spaces of the kind `store`.

ALTER TABLE spaces DROP CONSTRAINT spaces_kind_check;
ALTER TABLE spaces ADD CONSTRAINT spaces_kind_check CHECK (kind IN
    ('vault', 'workspace', 'library', 'graph', 'scope', 'room', 'dm', 'profile', 'project', 'global', 'entity', 'store'));

-- The labels of an item's namespace, each followed by U+001F: what lies below it begins with it. Its key is the title,
-- its content the value as JSON, `content_hash` stands for namespace and key, and it expires at `valid_to`.
ALTER TABLE memories ADD COLUMN namespace text COLLATE "C";
CREATE UNIQUE INDEX items_by_address ON memories (account, space, content_hash) WHERE kind = 'item';
CREATE INDEX items_by_namespace ON memories (account, space, namespace) WHERE kind = 'item' AND deleted_at IS NULL;
CREATE INDEX items_by_expiry ON memories (account, space, valid_to) WHERE kind = 'item' AND valid_to IS NOT NULL;
