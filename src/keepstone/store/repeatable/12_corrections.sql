-- Correcting what was said in rooms and direct messages. keepstone_app may not change or remove messages; these do it for
-- it, as the owner of the tables, and see to it themselves that the place is a room that the transaction reaches: what
-- was said in a scope or a chat stays as it was said, whatever the code says. Each writes the version down. The caller
-- holds the room.

-- Called from within: stops whoever means anything else.
CREATE OR REPLACE FUNCTION require_room(of_account int, place bigint) RETURNS void
    LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM own_account(of_account);
    IF place <> ALL (scope_spaces())
       OR NOT EXISTS (SELECT 1 FROM spaces s WHERE s.account = of_account AND s.space = place
                                             AND s.kind IN ('room', 'dm') AND s.part_of IS NULL) THEN
        RAISE insufficient_privilege
            USING MESSAGE = 'only what was said in a room of the read scope can be corrected';
    END IF;
END $$;

-- Called from within: how this message was first said, if nobody noted that yet.
CREATE OR REPLACE FUNCTION note_first_wording(m record) RETURNS void
    LANGUAGE plpgsql
AS $$
BEGIN
    IF m.version = 1 THEN
        INSERT INTO message_versions (account, space, message_id, version, change, text, attachments, visibility,
                                      worded_by, changed_by, changed_at)
        VALUES (m.account, m.space, m.id, 1, 'created', m.text, m.attachments, m.visibility,
                coalesce(m.user_id, m.sent_by), coalesce(m.user_id, m.sent_by), m.recorded_at)
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

-- Another wording, or other attachments. False when there is no such message there. What an agent said, it says at the
-- request of whoever reworded it from now on. What it said of people goes.
CREATE OR REPLACE FUNCTION reword_message(of_account int, place bigint, wanted text, new_text text,
                                          new_attachments jsonb, by_user text, moment timestamptz) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
DECLARE
    was messages;
BEGIN
    PERFORM require_room(of_account, place);
    SELECT * INTO was FROM messages m
     WHERE m.account = of_account AND m.space = place AND m.id = wanted AND m.visibility = ANY (scope_visibilities())
       FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM note_first_wording(was);
    UPDATE messages m
       SET text = new_text, attachments = new_attachments, version = was.version + 1, edited_at = moment,
           reread = was.reread OR was.text <> new_text,
           sent_by = CASE WHEN was.agent IS NULL THEN was.sent_by ELSE by_user END
     WHERE m.account = of_account AND m.id = wanted;
    INSERT INTO message_versions (account, space, message_id, version, change, text, attachments, visibility, worded_by,
                                  changed_by, changed_at)
    VALUES (of_account, place, wanted, was.version + 1, 'updated', new_text, new_attachments, was.visibility, by_user, by_user,
            moment);
    DELETE FROM statements s WHERE s.account = of_account AND s.message_id = wanted;
    RETURN true;
END $$;

-- Into the trash, with what its going has let hold again. False when there is no such message there.
CREATE OR REPLACE FUNCTION trash_message(of_account int, place bigint, wanted text, by_user text, moment timestamptz,
                                         held_again text[], held_instead text[]) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
DECLARE
    was messages;
BEGIN
    PERFORM require_room(of_account, place);
    DELETE FROM messages m
     WHERE m.account = of_account AND m.space = place AND m.id = wanted AND m.visibility = ANY (scope_visibilities())
    RETURNING * INTO was;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM note_first_wording(was);
    INSERT INTO trashed_messages (account, space, id, seq, client_id, speaker, user_id, agent, sent_by, text, at,
                                  recorded_at, thread_id, visibility, attachments, version, edited_at, reread,
                                  deleted_at, deleted_by, revived, revived_from)
    SELECT of_account, place, was.id, was.seq, was.client_id, was.speaker, was.user_id, was.agent, was.sent_by, was.text,
           was.at, was.recorded_at, was.thread_id, was.visibility, was.attachments, was.version + 1, was.edited_at,
           was.reread OR was.seq > r.takeaways_seq, moment, by_user, held_again, held_instead
      FROM rooms r WHERE r.account = of_account AND r.space = place;
    INSERT INTO message_versions (account, space, message_id, version, change, text, attachments, visibility, worded_by,
                                  changed_by, changed_at)
    VALUES (of_account, place, wanted, was.version + 1, 'deleted', was.text, was.attachments, was.visibility,
            coalesce(was.user_id, was.sent_by), by_user, moment);
    RETURN true;
END $$;

-- Out of the trash, where it was. False when there is no such message in it.
CREATE OR REPLACE FUNCTION restore_message(of_account int, place bigint, wanted text, by_user text, moment timestamptz)
    RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
DECLARE
    was trashed_messages;
BEGIN
    PERFORM require_room(of_account, place);
    DELETE FROM trashed_messages t
     WHERE t.account = of_account AND t.space = place AND t.id = wanted AND t.visibility = ANY (scope_visibilities())
    RETURNING * INTO was;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO messages (account, space, id, seq, client_id, speaker, user_id, agent, sent_by, text, at, recorded_at,
                          thread_id, visibility, attachments, version, edited_at, reread)
    OVERRIDING SYSTEM VALUE
    VALUES (of_account, place, was.id, was.seq, was.client_id, was.speaker, was.user_id, was.agent, was.sent_by, was.text,
            was.at, was.recorded_at, was.thread_id, was.visibility, was.attachments, was.version + 1, was.edited_at,
            was.reread);
    INSERT INTO message_versions (account, space, message_id, version, change, text, attachments, visibility, worded_by,
                                  changed_by, changed_at)
    VALUES (of_account, place, wanted, was.version + 1, 'restored', was.text, was.attachments, was.visibility,
            coalesce(was.user_id, was.sent_by), by_user, moment);
    RETURN true;
END $$;
