-- A key can be limited: to reading, to some surfaces, to some spaces.
ALTER TABLE keys
    ADD COLUMN permission text NOT NULL DEFAULT 'write' CHECK (permission IN ('read', 'write')),
    ADD COLUMN surfaces   text[],             -- null: all
    ADD COLUMN spaces     text[];             -- null: all; else each a kind, a colon and a name, see key_spaces

-- They answer more from now on (10_functions.sql), and what a function gives can't be changed in place.
DROP FUNCTION IF EXISTS credential_holder(text, text);
DROP FUNCTION IF EXISTS token_holder(text, text);
