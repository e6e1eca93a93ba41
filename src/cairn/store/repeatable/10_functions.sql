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
        SELECT account, 'aud_' || substr(md5(gen_random_uuid()::text), 1, 24), 'job', kind || '.purge', id FROM gone)
    SELECT count(*) FROM gone
$$;

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
