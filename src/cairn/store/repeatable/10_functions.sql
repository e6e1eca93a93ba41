-- The few questions that have no account yet, or concern all of them. Each runs as the owner of the tables, past
-- row-level security, and so answers with a number or a bare record, never with memory.

-- Whose is this credential, while it is good? `prefix` is the part of it that is not secret; the caller compares the
-- hash. `stale`: its last use is worth writing down again.
CREATE OR REPLACE FUNCTION credential_holder(kind text, wanted text)
    RETURNS TABLE (account int, account_id text, credential_id text, user_id text, role text, is_admin boolean,
                   secret_hash bytea, stale boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    SELECT a.account, a.id, k.id, u.id, coalesce(u.role, 'member'), coalesce(u.is_admin, false), k.secret_hash,
           coalesce(k.last_used_at < now() - interval '1 minute', true)
      FROM keys k
      JOIN accounts a USING (account)
      LEFT JOIN users u ON u.account = k.account AND u.id = k.user_id
     WHERE kind = 'key' AND k.prefix = wanted
       AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
       AND (k.user_id IS NULL OR u.erased_at IS NULL)
    UNION ALL
    SELECT a.account, a.id, s.id, u.id, u.role, u.is_admin, s.secret_hash,
           s.last_used_at < now() - interval '1 minute'
      FROM sessions s
      JOIN accounts a USING (account)
      JOIN users u ON u.account = s.account AND u.id = s.user_id
     WHERE kind = 'session' AND s.prefix = wanted AND s.expires_at > now() AND u.erased_at IS NULL
$$;

-- The user of a token that we signed ourselves, as long as the credential it was minted with is good.
CREATE OR REPLACE FUNCTION token_holder(wanted_user text, minted_with text)
    RETURNS TABLE (account int, account_id text, credential_id text, user_id text, role text, is_admin boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    SELECT a.account, a.id, minted_with, u.id, u.role, u.is_admin
      FROM users u JOIN accounts a USING (account)
     WHERE u.id = wanted_user AND u.erased_at IS NULL
       AND (EXISTS (SELECT FROM keys k
                     WHERE k.account = u.account AND k.id = minted_with AND k.revoked_at IS NULL
                       AND (k.expires_at IS NULL OR k.expires_at > now())
                       AND (k.user_id IS NULL OR k.user_id = u.id))
         OR EXISTS (SELECT FROM sessions s
                     WHERE s.account = u.account AND s.id = minted_with AND s.user_id = u.id
                       AND s.expires_at > now()))
$$;

-- Somebody whom a foreign issuer vouches for: by the subject that the operator noted, else by their address.
CREATE OR REPLACE FUNCTION subject_holder(wanted text, address text)
    RETURNS TABLE (account int, account_id text, credential_id text, user_id text, role text, is_admin boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    SELECT a.account, a.id, NULL::text, u.id, u.role, u.is_admin
      FROM users u JOIN accounts a USING (account)
     WHERE (u.subject = wanted OR (address <> '' AND u.email = address)) AND u.erased_at IS NULL
     ORDER BY u.subject IS NOT DISTINCT FROM wanted DESC
     LIMIT 1
$$;

-- Which account do this link, address or id belong to?
CREATE OR REPLACE FUNCTION account_of(kind text, value text) RETURNS int
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    SELECT CASE kind
        WHEN 'link'    THEN (SELECT account FROM one_time_links WHERE prefix = value)
        WHEN 'email'   THEN (SELECT account FROM users WHERE email = value)
        WHEN 'subject' THEN (SELECT account FROM users WHERE subject = value)
        WHEN 'user'    THEN (SELECT account FROM users WHERE id = value)
        WHEN 'account' THEN (SELECT account FROM accounts WHERE id = value)
    END
$$;

-- Has this server any user yet?
CREATE OR REPLACE FUNCTION has_users() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    SELECT EXISTS (SELECT FROM users)
$$;

-- For the operator: who is here, in the order in which they came. No memory, no secret.
CREATE OR REPLACE FUNCTION all_users()
    RETURNS TABLE (account_id text, plan text, credits bigint, user_id text, email text, role text,
                   is_admin boolean, quota_bytes bigint, created_at timestamptz, last_login_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    SELECT a.id, a.plan, a.credits, u.id, u.email, u.role, u.is_admin, u.quota_bytes, u.created_at, u.last_login_at
      FROM users u JOIN accounts a USING (account)
     WHERE u.erased_at IS NULL
     ORDER BY u.created_at, u.id
$$;

-- Is there anything to find?
CREATE OR REPLACE FUNCTION has_passages() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    SELECT EXISTS (SELECT FROM passages)
$$;

-- How many passages can't be found by meaning yet?
CREATE OR REPLACE FUNCTION pending_embeddings() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    SELECT count(*) FROM passages WHERE pending
$$;

-- Where are they? Numbers only.
CREATE OR REPLACE FUNCTION pending_spaces() RETURNS TABLE (account int, space bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    SELECT DISTINCT account, space FROM passages WHERE pending
$$;

-- Where is anything at all? Numbers only.
CREATE OR REPLACE FUNCTION filled_spaces() RETURNS TABLE (account int, space bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    SELECT account, space FROM spaces WHERE passages > 0
$$;

-- What has no vector of this model yet waits for one from now on. Returns how many passages that are.
CREATE OR REPLACE FUNCTION await_vectors_of(wanted text) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    WITH marked AS (
        UPDATE passages p SET pending = true
         WHERE NOT p.pending
           AND NOT EXISTS (SELECT FROM vector_sets s JOIN vectors v USING (account, vector_set)
                            WHERE s.account = p.account AND s.model = wanted
                              AND v.space = p.space AND v.passage = p.passage)
        RETURNING 1)
    SELECT count(*) FROM marked
$$;

-- What has lain in the trash or the cold tier for that many days goes for good, with all that hangs on it and a line in
-- the audit trail for each. Returns how many went.
CREATE OR REPLACE FUNCTION purge_memories(days int) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM memories
         WHERE coalesce(deleted_at, cold_at) < now() - make_interval(days => days)
        RETURNING account, id, kind),
    noted AS (
        INSERT INTO audit (account, id, via, action, object_id)
        SELECT account, 'aud_' || substr(md5(gen_random_uuid()::text), 1, 24), 'job',
               CASE kind WHEN 'chat' THEN 'memory' ELSE kind END || '.purge', id
          FROM gone)
    SELECT count(*) FROM gone
$$;

-- The same for chats, files, artifacts and whole workspaces, and for kept tool calls after a day. Returns how many.
CREATE OR REPLACE FUNCTION purge_workspaces(days int) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    WITH old_calls AS (
        DELETE FROM tool_calls WHERE created_at < now() - interval '1 day'),
    gone_documents AS (
        DELETE FROM documents WHERE deleted_at < now() - make_interval(days => days)
        RETURNING account, id, kind || '.purge' AS action),
    gone_chats AS (
        DELETE FROM chats WHERE deleted_at < now() - make_interval(days => days)
        RETURNING account, id, 'chat.purge' AS action),
    unsaid AS (
        DELETE FROM messages m USING gone_chats c WHERE m.account = c.account AND m.thread_id = c.id),
    unsummed AS (
        DELETE FROM summaries s USING gone_chats c WHERE s.account = c.account AND s.thread_id = c.id),
    unread AS (
        DELETE FROM distillations d USING gone_chats c WHERE d.account = c.account AND d.chat_id = c.id),
    gone_spaces AS (
        DELETE FROM spaces WHERE kind = 'workspace' AND deleted_at < now() - make_interval(days => days)
        RETURNING account, name AS id, 'workspace.purge' AS action),
    gone AS (SELECT * FROM gone_documents UNION ALL SELECT * FROM gone_chats UNION ALL SELECT * FROM gone_spaces),
    noted AS (
        INSERT INTO audit (account, id, via, action, object_id)
        SELECT account, 'aud_' || substr(md5(gen_random_uuid()::text), 1, 24), 'job', action, id FROM gone)
    SELECT count(*) FROM gone
$$;

-- What somebody who is being erased left in places that others share: what they said, saved and uploaded, and places
-- in which nobody else is. Where they were the only owner, whoever is longest there takes over.
CREATE OR REPLACE FUNCTION erase_traces(wanted text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
DECLARE
    here constant int := scope_account();
BEGIN
    IF NOT EXISTS (SELECT FROM users WHERE account = here AND id = wanted AND erased_at IS NOT NULL) THEN
        RETURN;
    END IF;
    DELETE FROM spaces s USING members m
     WHERE s.account = here AND m.account = here AND m.space = s.space AND m.user_id = wanted
       AND s.kind IN ('workspace', 'project')
       AND NOT EXISTS (SELECT FROM members o WHERE o.account = here AND o.space = s.space AND o.user_id <> wanted);
    UPDATE members m SET role = 'owner'
      FROM (SELECT DISTINCT ON (o.space) o.space, o.user_id FROM members o
             WHERE o.account = here AND o.user_id <> wanted
               AND EXISTS (SELECT FROM members e
                            WHERE e.account = here AND e.space = o.space AND e.user_id = wanted AND e.role = 'owner')
               AND NOT EXISTS (SELECT FROM members e
                                WHERE e.account = here AND e.space = o.space AND e.user_id <> wanted
                                  AND e.role = 'owner')
             ORDER BY o.space, array_position(ARRAY['editor', 'member', 'viewer'], o.role), o.added_at) heir
     WHERE m.account = here AND m.space = heir.space AND m.user_id = heir.user_id;
    -- What stands for the beginning of a chat may hold their words too.
    DELETE FROM summaries WHERE account = here
       AND thread_id IN (SELECT id FROM chats WHERE account = here AND created_by = wanted
                         UNION SELECT thread_id FROM messages WHERE account = here AND user_id = wanted);
    DELETE FROM messages WHERE account = here
       AND (user_id = wanted OR thread_id IN (SELECT id FROM chats WHERE account = here AND created_by = wanted));
    DELETE FROM distillations WHERE account = here
       AND (user_id = wanted OR chat_id IN (SELECT id FROM chats WHERE account = here AND created_by = wanted));
    DELETE FROM chats WHERE account = here AND created_by = wanted;
    DELETE FROM passages p USING memories m
     WHERE p.account = here AND m.account = here AND m.user_id = wanted
       AND p.source_kind = 'memory' AND p.source_id = m.id;
    UPDATE spaces s SET memory_count = s.memory_count - g.number, size_bytes = s.size_bytes - g.size
      FROM (SELECT space, count(*) AS number, sum(size_bytes) AS size FROM memories
             WHERE account = here AND user_id = wanted AND deleted_at IS NULL AND cold_at IS NULL GROUP BY 1) g
     WHERE s.account = here AND s.space = g.space;
    DELETE FROM memories WHERE account = here AND user_id = wanted;
    DELETE FROM passages p USING documents d
     WHERE p.account = here AND d.account = here AND d.created_by = wanted
       AND p.source_kind = 'document' AND p.source_id = d.id;
    DELETE FROM documents WHERE account = here AND created_by = wanted;
END $$;

-- What hangs on a passage goes with it (the trigger is in 0003). The words are written out first: joined any earlier, a
-- vault of tens of thousands would be read once for each of its passages.
CREATE OR REPLACE FUNCTION forget_passages() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
BEGIN
    WITH said AS MATERIALIZED (
        SELECT g.account, g.space, word, g.passage FROM gone g CROSS JOIN LATERAL unnest(g.terms) AS word)
    DELETE FROM terms t USING said s
     WHERE t.account = s.account AND t.space = s.space AND t.term = s.word AND t.passage = s.passage;
    DELETE FROM vectors v USING gone g
     WHERE v.account = g.account AND v.space = g.space AND v.passage = g.passage;
    DELETE FROM token_vectors v USING gone g
     WHERE v.account = g.account AND v.space = g.space AND v.passage = g.passage;
    UPDATE spaces s SET passages = s.passages - g.number, term_total = s.term_total - g.total
      FROM (SELECT account, space, count(*) AS number, sum(term_count) AS total FROM gone GROUP BY 1, 2) g
     WHERE s.account = g.account AND s.space = g.space;
    RETURN NULL;
END $$;

-- Who wants the week by e-mail?
CREATE OR REPLACE FUNCTION digest_receivers() RETURNS TABLE (account int, user_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    SELECT account, id FROM users WHERE weekly_digest AND erased_at IS NULL
$$;

-- Sessions and one-time links that are over. Returns how many went.
CREATE OR REPLACE FUNCTION forget_expired_logins() RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = cairn, pg_temp
AS $$
    WITH gone_sessions AS (DELETE FROM sessions WHERE expires_at < now() RETURNING 1),
         gone_links AS (DELETE FROM one_time_links WHERE expires_at < now() RETURNING 1)
    SELECT (SELECT count(*) FROM gone_sessions) + (SELECT count(*) FROM gone_links)
$$;
