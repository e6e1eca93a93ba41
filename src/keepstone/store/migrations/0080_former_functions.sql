-- contract 2: called by nobody but functions of version 0.1.0, and by calls of those that are under way when others replace them.
DROP FUNCTION IF EXISTS note_first_wording(messages), used_bytes(int, text), key_spaces(keys), lacks_factor(users),
    passes(jsonb, jsonb), require_room(bigint);
