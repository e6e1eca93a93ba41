-- The few questions that have no account yet, or concern all of them. Each runs as the owner of the tables, past
-- row-level security, and so answers with a number or a bare record, never with memory.

-- The plan of that name; whoever is on one that does not exist is on `free`. Runs as whoever asks: all may read plans.
CREATE OR REPLACE FUNCTION plan_named(wanted text) RETURNS SETOF plans
    LANGUAGE sql STABLE ROWS 1
AS $$
    SELECT * FROM plans WHERE name IN (wanted, 'free') ORDER BY name = wanted DESC LIMIT 1
$$;

-- The spaces that a key is limited to, with their parts; null is no limit, and none is none. What it names is a kind and
-- a name; what belongs to somebody counts when it is the key's user, and for a service key whoever it is.
CREATE OR REPLACE FUNCTION key_spaces(k keys) RETURNS bigint[]
    LANGUAGE sql STABLE
AS $$
    SELECT CASE WHEN k.spaces IS NOT NULL THEN ARRAY(
        SELECT p.space
          FROM unnest(k.spaces) named
          JOIN spaces s ON s.account = k.account AND s.kind = split_part(named, ':', 1)
                       AND s.name = substr(named, strpos(named, ':') + 1)
                       AND (s.owner IS NULL OR k.user_id IS NULL OR s.owner = k.user_id)
          JOIN spaces p ON p.account = s.account AND (p.space = s.space OR p.part_of = s.space)) END
$$;

-- Whether an owner or admin signs in by a password alone.
CREATE OR REPLACE FUNCTION lacks_factor(u users) RETURNS boolean
    LANGUAGE sql STABLE
AS $$
    SELECT (u.role = 'owner' OR u.is_admin)
       AND NOT EXISTS (SELECT FROM second_factors f
                        WHERE f.account = u.account AND f.user_id = u.id AND f.confirmed_at IS NOT NULL)
$$;

-- Whose is this credential, while it is good? `prefix` is the part of it that is not secret; the caller compares the
-- hash. `stale`: its last use is worth writing down again. With it come the requests a minute that the plan allows.
CREATE OR REPLACE FUNCTION credential_holder(kind text, wanted text)
    RETURNS TABLE (account int, account_id text, credential_id text, user_id text, role text, is_admin boolean,
                   key_per_minute int, account_per_minute int, secret_hash bytea, stale boolean,
                   permission text, surfaces text[], spaces bigint[], expires_at timestamptz, lacks_factor boolean,
                   timezone text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT a.account, a.id, k.id, u.id, coalesce(u.role, 'member'), coalesce(u.is_admin, false),
           p.key_per_minute, p.account_per_minute, k.secret_hash,
           coalesce(k.last_used_at < now() - interval '1 minute', true),
           k.permission, k.surfaces, key_spaces(k), k.expires_at, false, a.timezone
      FROM keys k
      JOIN accounts a USING (account)
     CROSS JOIN LATERAL plan_named(a.plan) p
      LEFT JOIN users u ON u.account = k.account AND u.id = k.user_id
     WHERE kind = 'key' AND k.prefix = wanted
       AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
       AND (k.user_id IS NULL OR u.erased_at IS NULL)
    UNION ALL
    SELECT a.account, a.id, s.id, u.id, u.role, u.is_admin, p.key_per_minute, p.account_per_minute, s.secret_hash,
           s.last_used_at < now() - interval '1 minute', 'write', NULL, NULL, NULL, lacks_factor(u),
           a.timezone
      FROM sessions s
      JOIN accounts a USING (account)
     CROSS JOIN LATERAL plan_named(a.plan) p
      JOIN users u ON u.account = s.account AND u.id = s.user_id
     WHERE kind = 'session' AND s.prefix = wanted AND s.expires_at > now() AND u.erased_at IS NULL
$$;

-- The user of a token that we signed ourselves, as long as the credential it was minted with is good. `acting`: that
-- was a service key, which named them.
CREATE OR REPLACE FUNCTION token_holder(wanted_user text, minted_with text)
    RETURNS TABLE (account int, account_id text, credential_id text, user_id text, role text, is_admin boolean,
                   key_per_minute int, account_per_minute int, permission text, surfaces text[], spaces bigint[],
                   expires_at timestamptz, lacks_factor boolean, acting boolean, timezone text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT a.account, a.id, minted_with, u.id, u.role, u.is_admin, p.key_per_minute, p.account_per_minute,
           c.permission, c.surfaces, c.spaces, c.expires_at, c.lacks_factor, c.acting, a.timezone
      FROM users u JOIN accounts a USING (account) CROSS JOIN LATERAL plan_named(a.plan) p
     CROSS JOIN LATERAL (
        SELECT k.permission, k.surfaces, key_spaces(k) AS spaces, k.expires_at, false AS lacks_factor,
               k.user_id IS NULL AS acting
          FROM keys k
         WHERE k.account = u.account AND k.id = minted_with AND k.revoked_at IS NULL
           AND (k.expires_at IS NULL OR k.expires_at > now()) AND (k.user_id IS NULL OR k.user_id = u.id)
        UNION ALL
        SELECT 'write', NULL, NULL, NULL, lacks_factor(u), false FROM sessions s
         WHERE s.account = u.account AND s.id = minted_with AND s.user_id = u.id AND s.expires_at > now()) c
     WHERE u.id = wanted_user AND u.erased_at IS NULL
$$;

-- Somebody whom a foreign issuer vouches for: by the subject that is noted; else, as long as none is, by their address.
CREATE OR REPLACE FUNCTION subject_holder(issuer text, wanted text, address text)
    RETURNS TABLE (account int, account_id text, credential_id text, user_id text, role text, is_admin boolean,
                   key_per_minute int, account_per_minute int, by_subject boolean, bound boolean, accepted boolean,
                   timezone text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT a.account, a.id, NULL::text, u.id, u.role, u.is_admin, p.key_per_minute, p.account_per_minute,
           u.subject IS NOT NULL, u.subject_issuer IS NOT NULL, u.accepted_at IS NOT NULL, a.timezone
      FROM users u JOIN accounts a USING (account) CROSS JOIN LATERAL plan_named(a.plan) p
     WHERE u.erased_at IS NULL
       AND (u.subject = wanted AND coalesce(u.subject_issuer, issuer) = issuer
            OR u.subject IS NULL AND address <> '' AND u.email = address)
     ORDER BY u.subject IS NULL
     LIMIT 1
$$;

-- Which account do this link, address or id belong to? And which is the first admin's?
CREATE OR REPLACE FUNCTION account_of(kind text, value text) RETURNS int
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT CASE kind
        WHEN 'link'    THEN (SELECT account FROM one_time_links WHERE prefix = value)
        WHEN 'invite'  THEN (SELECT account FROM invite_links WHERE prefix = value)
        WHEN 'email'   THEN (SELECT account FROM users WHERE email = value)
        WHEN 'subject' THEN (SELECT account FROM users WHERE subject = value)
        WHEN 'user'    THEN (SELECT account FROM users WHERE id = value)
        WHEN 'account' THEN (SELECT account FROM accounts WHERE id = value)
        WHEN 'admin'   THEN (SELECT account FROM users WHERE is_admin AND erased_at IS NULL
                              ORDER BY created_at, id LIMIT 1)
    END
$$;

-- Has this server any user yet?
CREATE OR REPLACE FUNCTION has_users() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT EXISTS (SELECT FROM users)
$$;

-- What somebody keeps that counts: capsules, stores, scopes, and what mem0's clients keep for entities of theirs.
CREATE OR REPLACE FUNCTION used_bytes(of_account int, wanted text) RETURNS bigint
    LANGUAGE sql STABLE
AS $$
    SELECT coalesce(sum(s.size_bytes), 0)::bigint FROM spaces s
     WHERE s.account = of_account AND s.owner = wanted AND s.kind IN ('vault', 'store', 'scope', 'entity')
$$;

-- How much somebody of the transaction's account may keep (null: no limit) and how much they do. As the owner, because a
-- key that is limited to some spaces sees no others. Where there is a limit, whoever comes next waits for this one.
CREATE OR REPLACE FUNCTION room_of(wanted text) RETURNS TABLE (allowed bigint, used bigint, cold_tier boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
DECLARE
    here constant int := scope_account();
BEGIN
    SELECT coalesce(u.quota_bytes, p.capacity_bytes), u.cold_tier INTO allowed, cold_tier
      FROM users u JOIN accounts a USING (account) CROSS JOIN LATERAL plan_named(a.plan) p
     WHERE u.account = here AND u.id = wanted;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF allowed IS NOT NULL THEN
        PERFORM FROM users u WHERE u.account = here AND u.id = wanted FOR NO KEY UPDATE;
    END IF;
    used := used_bytes(here, wanted);
    RETURN NEXT;
END $$;

-- Where an account stands in a month, and whether one of these calls was paid. Runs as whoever asks, in its own account.
CREATE OR REPLACE FUNCTION account_standing(of_account int, of_month date, calls text[])
    RETURNS TABLE (credits bigint, monthly_queries bigint, monthly_credits bigint, monthly_tokens bigint,
                   refill_due boolean, queries bigint, spent bigint, tokens_in bigint, tokens_out bigint, known boolean)
    LANGUAGE sql STABLE ROWS 1
AS $$
    SELECT a.credits, p.monthly_queries, p.monthly_credits, p.monthly_tokens,
           p.monthly_credits IS NOT NULL AND coalesce(a.refilled_for < of_month, true),
           coalesce(m.queries, 0), coalesce(m.credits, 0), coalesce(m.tokens_in, 0), coalesce(m.tokens_out, 0),
           EXISTS (SELECT 1 FROM usage_ledger l WHERE l.account = of_account AND l.call_id = ANY (calls))
      FROM accounts a
     CROSS JOIN LATERAL plan_named(a.plan) p
      LEFT JOIN usage_months m ON m.account = a.account AND m.month = of_month
     WHERE a.account = of_account
$$;

-- Appends messages, in their order, to the space of that name; nothing where there is none. Nobody else adds to it until
-- the transaction ends, which from here on reaches what is in it. Says which of them are new if not all are (a client's id
-- that is there changes nothing), who last spoke before, and how much the user may keep. Runs as whoever asks.
CREATE OR REPLACE FUNCTION append_talk(of_account int, seen text, of_kind text, named text, owned_by text, ids text[],
                                       client_ids text[], speakers text[], texts text[], times timestamptz[],
                                       replies text[], details jsonb[], readers text, of_user text)
    RETURNS TABLE (space bigint, indexing_scheduled boolean, new_ids text[], last_at timestamptz, session text,
                   allowed bigint, used bigint, cold_tier boolean)
    LANGUAGE plpgsql ROWS 1
AS $$
#variable_conflict use_column
DECLARE
    here bigint;
    scheduled boolean;
BEGIN
    -- Any owner or none is no condition that an index serves.
    IF owned_by IS NULL THEN
        SELECT s.space, s.indexing_scheduled INTO here, scheduled FROM spaces s
         WHERE s.account = of_account AND s.kind = of_kind AND s.name = named AND s.owner IS NULL FOR NO KEY UPDATE;
    ELSE
        SELECT s.space, s.indexing_scheduled INTO here, scheduled FROM spaces s
         WHERE s.account = of_account AND s.kind = of_kind AND s.name = named AND s.owner = owned_by FOR NO KEY UPDATE;
    END IF;
    IF here IS NULL THEN
        RETURN;
    END IF;
    PERFORM set_config('keepstone.spaces', '{' || here || '}', true), set_config('keepstone.visibilities', seen, true);
    RETURN QUERY
        WITH stored AS (
            INSERT INTO messages (account, space, id, client_id, speaker, text, at, reply_to, metadata, visibility)
            SELECT of_account, here, *, readers
              FROM unnest(ids, client_ids, speakers, texts, times, replies, details)
            ON CONFLICT (account, space, client_id) DO NOTHING
            RETURNING id
        )
        SELECT here, scheduled, n.ids, l.at, l.session, r.allowed, r.used, r.cold_tier
          FROM (SELECT CASE WHEN count(*) < cardinality(ids) THEN coalesce(array_agg(id), '{}') END, count(*)
                  FROM stored) AS n (ids, number)
          LEFT JOIN LATERAL (
            SELECT p.at, p.session FROM passages p
             WHERE p.account = of_account AND p.space = here AND p.session IS NOT NULL
             ORDER BY p.at DESC, p.passage DESC LIMIT 1) l ON true
          LEFT JOIN LATERAL room_of(of_user) r ON n.number > 0;
END $$;

-- What has to be known before talk is searched, in one message instead of a transaction: the space of that name, how
-- large it is and which vectors there are, of whom something is known there, and where the account stands. Nothing where
-- there is no such space. Runs as whoever asks, and enters the scope that it is given until it ends: row-level security
-- holds it to that.
CREATE OR REPLACE FUNCTION survey_talk(of_account int, within text, seen text, of_kind text, named text, owned_by text,
                                       of_month date, calls text[])
    RETURNS TABLE (space bigint, passages bigint, term_total bigint, foreign_text boolean, indexed_sets smallint[],
                   version bigint, sets jsonb, subjects text[], credits bigint, monthly_queries bigint,
                   monthly_credits bigint, monthly_tokens bigint, refill_due boolean, queries bigint, spent bigint,
                   tokens_in bigint, tokens_out bigint, known boolean)
    LANGUAGE plpgsql ROWS 1 SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    here bigint;
BEGIN
    PERFORM set_config('keepstone.account', of_account::text, true), set_config('keepstone.within', within, true),
            set_config('keepstone.visibilities', seen, true);
    -- Any owner or none is no condition that an index serves.
    IF owned_by IS NULL THEN
        SELECT s.space INTO here FROM spaces s
         WHERE s.account = of_account AND s.kind = of_kind AND s.name = named AND s.owner IS NULL;
    ELSE
        SELECT s.space INTO here FROM spaces s
         WHERE s.account = of_account AND s.kind = of_kind AND s.name = named AND s.owner = owned_by;
    END IF;
    IF here IS NULL THEN
        RETURN;
    END IF;
    PERFORM set_config('keepstone.spaces', '{' || here || '}', true);
    RETURN QUERY
        SELECT s.space, s.passages, s.term_total, s.foreign_text, s.indexed_sets, s.version,
               (SELECT coalesce(jsonb_object_agg(v.model, v.vector_set), '{}') FROM vector_sets v
                 WHERE v.account = of_account AND v.state = 'serving'),
               -- From one to the next through the index: there may be many statements of each.
               ARRAY(WITH RECURSIVE noted (subject) AS (
                         (SELECT t.subject FROM statements t
                           WHERE t.account = of_account AND t.space = here AND t.deleted_at IS NULL
                           ORDER BY t.subject LIMIT 1)
                         UNION ALL
                         SELECT (SELECT t.subject FROM statements t
                                  WHERE t.account = of_account AND t.space = here AND t.subject > noted.subject
                                    AND t.deleted_at IS NULL
                                  ORDER BY t.subject LIMIT 1)
                           FROM noted WHERE noted.subject IS NOT NULL)
                     SELECT subject FROM noted WHERE subject IS NOT NULL LIMIT 1000),
               a.credits, a.monthly_queries, a.monthly_credits, a.monthly_tokens, a.refill_due, a.queries, a.spent,
               a.tokens_in, a.tokens_out, a.known
          FROM spaces s CROSS JOIN account_standing(of_account, of_month, calls) a
         WHERE s.account = of_account AND s.space = here AND s.deleted_at IS NULL;
END $$;

-- For the operator: who is here, in the order in which they came, and how much they keep. No memory, no secret. Null is
-- everybody: `beginning` is that of their address, `wanted` an id, `came` and `last` whom the page before ended with.
CREATE OR REPLACE FUNCTION all_users(beginning text, wanted text, came timestamptz, last text, most int)
    RETURNS TABLE (account_id text, plan text, credits bigint, user_id text, email text, role text,
                   is_admin boolean, quota_bytes bigint, capacity_bytes bigint, used_bytes bigint,
                   created_at timestamptz, last_login_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT a.id, a.plan, a.credits, u.id, u.email, u.role, u.is_admin, u.quota_bytes,
           coalesce(u.quota_bytes, p.capacity_bytes), used_bytes(u.account, u.id), u.created_at, u.last_login_at
      FROM users u
      JOIN accounts a USING (account)
     CROSS JOIN LATERAL plan_named(a.plan) p
     WHERE u.erased_at IS NULL
       AND (beginning IS NULL OR starts_with(u.email, beginning))
       AND (wanted IS NULL OR u.id = wanted)
       AND (came IS NULL OR (u.created_at, u.id) > (came, last))
     ORDER BY u.created_at, u.id
     LIMIT most
$$;

-- For the operator: a plan, made or made anew.
CREATE OR REPLACE FUNCTION put_plan(wanted text, capacity bigint, queries bigint, credits bigint, tokens bigint,
                                    by_key int, by_account int, place int, shown_price text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    INSERT INTO plans (name, capacity_bytes, monthly_queries, monthly_credits, monthly_tokens, key_per_minute,
                       account_per_minute, position, price)
    VALUES (wanted, capacity, queries, credits, tokens, by_key, by_account, place, shown_price)
    ON CONFLICT (name) DO UPDATE
       SET capacity_bytes = excluded.capacity_bytes, monthly_queries = excluded.monthly_queries,
           monthly_credits = excluded.monthly_credits, monthly_tokens = excluded.monthly_tokens,
           key_per_minute = excluded.key_per_minute, account_per_minute = excluded.account_per_minute,
           position = excluded.position, price = excluded.price
$$;

-- How often the operator has changed the providers: every process looks whether they are others.
CREATE OR REPLACE FUNCTION provider_revision() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT coalesce(max(revision), 0) FROM provider_settings
$$;

-- For the operator: the providers. The keys in them are sealed.
CREATE OR REPLACE FUNCTION read_provider_settings() RETURNS TABLE (revision bigint, document jsonb)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT p.revision, p.document FROM provider_settings p
$$;

-- For the operator: other providers, if nobody changed them since that revision. Returns the new one, else nothing.
CREATE OR REPLACE FUNCTION put_provider_settings(after bigint, wanted jsonb) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    INSERT INTO provider_settings AS p (revision, document)
    SELECT 1, wanted WHERE after = 0 OR EXISTS (SELECT FROM provider_settings)
    ON CONFLICT (the_only) DO UPDATE SET revision = p.revision + 1, document = excluded.document, changed_at = now()
     WHERE p.revision = after
    RETURNING p.revision
$$;

-- For the operator: what each account used in between. Numbers only.
CREATE OR REPLACE FUNCTION usage_of_accounts(since timestamptz, until timestamptz)
    RETURNS TABLE (account_id text, plan text, credits_left bigint, calls bigint, queries bigint, credits bigint,
                   tokens_in bigint, tokens_out bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT a.id, a.plan, a.credits, count(l.call_id), coalesce(sum(l.queries), 0)::bigint,
           coalesce(sum(l.credits), 0)::bigint, coalesce(sum(l.tokens_in), 0)::bigint,
           coalesce(sum(l.tokens_out), 0)::bigint
      FROM accounts a LEFT JOIN usage_ledger l ON l.account = a.account AND l.at >= since AND l.at < until
     GROUP BY a.account
     ORDER BY a.account
$$;

-- For the operator: who did what, in every account or in one, the newest first. No text, no secret. Null is everything;
-- `before` and `last` are what the page before ended with.
CREATE OR REPLACE FUNCTION all_audit(of_account text, of_user text, of_action text, of_object text, since timestamptz,
                                     until timestamptz, before timestamptz, last text, most int)
    RETURNS TABLE (account int, account_id text, id text, at timestamptz, user_id text, via text, credential_id text,
                   action text, object_id text, details jsonb)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT l.account, a.id, l.id, l.at, l.user_id, l.via, l.credential_id, l.action, l.object_id, l.details
      FROM audit l JOIN accounts a USING (account)
     WHERE (of_account IS NULL OR a.id = of_account) AND (of_user IS NULL OR l.user_id = of_user)
       AND (of_action IS NULL OR l.action = of_action OR starts_with(l.action, of_action || '.'))
       AND (of_object IS NULL OR l.object_id = of_object)
       AND (since IS NULL OR l.at >= since) AND (until IS NULL OR l.at < until)
       AND (before IS NULL OR (l.at, l.id) < (before, last))
     ORDER BY l.at DESC, l.id DESC
     LIMIT most
$$;

-- Lines of the audit trail that are older than that. Returns how many went.
CREATE OR REPLACE FUNCTION purge_audit(days int) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    WITH gone AS (DELETE FROM audit WHERE at < now() - make_interval(days => days) RETURNING 1)
    SELECT count(*) FROM gone
$$;

-- Traces that are older than that, and those that quote what is about to be purged: what has lain in the trash for that
-- many days. Returns how many went.
CREATE OR REPLACE FUNCTION purge_traces(days int, trash_days int) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    WITH old AS (DELETE FROM traces WHERE at < now() - make_interval(days => days) RETURNING 1),
    purged AS (
        SELECT account, array_agg(id) AS ids
          FROM (SELECT account, id FROM memories WHERE deleted_at < now() - make_interval(days => trash_days)
                UNION ALL
                SELECT account, id FROM documents WHERE deleted_at < now() - make_interval(days => trash_days)) p
         GROUP BY account),
    quoting AS (
        DELETE FROM traces t USING purged p
         WHERE t.account = p.account AND t.sources && p.ids AND t.at >= now() - make_interval(days => days)
        RETURNING 1)
    SELECT (SELECT count(*) FROM old) + (SELECT count(*) FROM quoting)
$$;

-- Is there anything to find?
CREATE OR REPLACE FUNCTION has_passages() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT EXISTS (SELECT FROM passages)
$$;

-- How many passages can't be found by meaning yet?
CREATE OR REPLACE FUNCTION pending_embeddings() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT count(*) FROM passages WHERE pending
$$;

-- Where are they? Numbers only.
CREATE OR REPLACE FUNCTION pending_spaces() RETURNS TABLE (account int, space bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT DISTINCT account, space FROM passages WHERE pending
$$;

-- In which chats was more said than can be found? Ids only.
CREATE OR REPLACE FUNCTION unfound_chats() RETURNS TABLE (account int, space bigint, id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT c.account, c.space, c.id FROM chats c WHERE c.unfound AND c.deleted_at IS NULL LIMIT 1000
$$;

-- Where is anything at all, and how much? Numbers only.
CREATE OR REPLACE FUNCTION filled_spaces() RETURNS TABLE (account int, space bigint, passages bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT s.account, s.space, s.passages FROM spaces s WHERE s.passages > 0
$$;

-- Which accounts are searched by one of these models, and not by that one yet? Numbers only.
CREATE OR REPLACE FUNCTION accounts_served_by(models text[], but_not text) RETURNS SETOF int
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT account FROM vector_sets WHERE state = 'serving'
     GROUP BY account HAVING bool_or(model = ANY (models)) AND NOT bool_or(model = but_not)
     ORDER BY account
$$;

-- What has no vector of this model yet waits for one from now on. Returns how many passages that are. Where one of the
-- former models serves that it takes the place of, none wait: its set is filled beside that one. Where none does, it
-- serves from now on, also a set that was retired.
CREATE OR REPLACE FUNCTION await_vectors_of(wanted text, former text[]) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    UPDATE vector_sets s
       SET reached_space = 0, reached_passage = 0,
           lacking = (SELECT coalesce(sum(p.passages), 0) FROM spaces p WHERE p.account = s.account),
           state = CASE WHEN s.account IN (SELECT accounts_served_by(former, wanted)) THEN 'filling' ELSE 'serving' END
     WHERE s.model = wanted
       AND (s.state = 'retired' OR s.state = 'filling' AND s.account NOT IN (SELECT accounts_served_by(former, wanted)));
    WITH marked AS (
        UPDATE passages p SET pending = true
         WHERE NOT p.pending
           AND p.account NOT IN (SELECT accounts_served_by(former, wanted))
           AND NOT EXISTS (SELECT FROM vector_sets s JOIN vectors v USING (account, vector_set)
                            WHERE s.account = p.account AND s.model = wanted
                              AND v.space = p.space AND v.passage = p.passage)
        RETURNING 1)
    SELECT count(*) FROM marked
$$;

-- By which models is anybody searched?
CREATE OR REPLACE FUNCTION serving_models() RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT DISTINCT model FROM vector_sets WHERE state = 'serving'
$$;

-- Of which models are vectors being made beside those that serve, in how many accounts, and how many are left?
CREATE OR REPLACE FUNCTION filling_models() RETURNS TABLE (model text, accounts bigint, lacking bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT s.model, count(*), sum(s.lacking)::bigint FROM vector_sets s WHERE s.state = 'filling' GROUP BY 1 ORDER BY 1
$$;

-- One model takes the place of others in the transaction's account, if all that these know is there and large spaces have
-- their index; else nothing changes, but that the rest is looked for from the beginning. As the owner, because it
-- concerns every space of the account. Returns whether it did.
CREATE OR REPLACE FUNCTION take_over(wanted text, former text[], large bigint, widest int) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
DECLARE
    here constant int := scope_account();
    new vector_sets;
    old smallint[];
BEGIN
    PERFORM FROM vector_sets s WHERE s.account = here ORDER BY s.vector_set FOR NO KEY UPDATE;
    SELECT * INTO new FROM vector_sets s WHERE s.account = here AND s.model = wanted AND s.state = 'filling';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF new.dimension <= widest AND EXISTS (SELECT FROM spaces s WHERE s.account = here AND s.passages >= large
                                                                  AND new.vector_set <> ALL (s.indexed_sets)) THEN
        RETURN false;
    END IF;
    IF EXISTS (SELECT FROM vectors o
                WHERE o.account = here
                  AND o.vector_set IN (SELECT s.vector_set FROM vector_sets s
                                        WHERE s.account = here AND s.state = 'serving' AND s.model = ANY (former))
                  -- Each is looked up by its key: OFFSET 0 keeps it so.
                  AND NOT EXISTS (SELECT FROM vectors n WHERE n.account = here AND n.space = o.space
                                     AND n.vector_set = new.vector_set AND n.passage = o.passage OFFSET 0))
    THEN
        UPDATE vector_sets s SET reached_space = 0, reached_passage = 0
         WHERE s.account = here AND s.vector_set = new.vector_set;
        RETURN false;
    END IF;
    WITH retired AS (
        UPDATE vector_sets s SET state = 'retired', retired_at = now()
         WHERE s.account = here AND s.vector_set <> new.vector_set
           AND (s.state = 'filling' OR s.state = 'serving' AND s.model = ANY (former))
        RETURNING s.vector_set)
    SELECT coalesce(array_agg(r.vector_set), '{}') INTO old FROM retired r;
    UPDATE vector_sets s SET state = 'serving', lacking = 0 WHERE s.account = here AND s.vector_set = new.vector_set;
    UPDATE spaces s SET indexed_sets = ARRAY(SELECT i FROM unnest(s.indexed_sets) i WHERE i <> ALL (old))
     WHERE s.account = here AND s.indexed_sets && old;
    RETURN true;
END $$;

-- Some of the vectors of sets that were retired, in this account or (null) in all: not before a minute has passed, when
-- nobody still searches by them who began before. Returns how many rows went.
CREATE OR REPLACE FUNCTION delete_retired_vectors(of_account int, most int) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    WITH sets AS MATERIALIZED (
        -- Held, so that none of them is brought back meanwhile.
        SELECT account, vector_set FROM vector_sets
         WHERE state = 'retired' AND retired_at < now() - interval '1 minute'
           AND account = coalesce(of_account, account) FOR SHARE),
    places AS MATERIALIZED (
        SELECT s.account, p.space, s.vector_set FROM sets s JOIN spaces p USING (account)),
    gone AS (
        DELETE FROM vectors WHERE ctid = ANY (ARRAY(
            SELECT v.row FROM places p CROSS JOIN LATERAL (
                SELECT i.ctid AS row FROM vectors i
                 WHERE i.account = p.account AND i.space = p.space AND i.vector_set = p.vector_set LIMIT most) v
             LIMIT most))
        RETURNING 1),
    gone_tokens AS (
        DELETE FROM token_vectors WHERE ctid = ANY (ARRAY(
            SELECT v.row FROM places p CROSS JOIN LATERAL (
                SELECT i.ctid AS row FROM token_vectors i
                 WHERE i.account = p.account AND i.space = p.space AND i.vector_set = p.vector_set LIMIT most) v
             LIMIT most))
        RETURNING 1)
    SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM gone_tokens)
$$;

-- What search knows of spaces that are about to go; the rest goes with their rows. Runs as whoever asks.
CREATE OR REPLACE FUNCTION empty_spaces(of_account int, those bigint[]) RETURNS void
    LANGUAGE sql
AS $$
    DELETE FROM terms WHERE account = of_account AND space = ANY (those);
    DELETE FROM vectors WHERE account = of_account AND space = ANY (those);
    DELETE FROM token_vectors WHERE account = of_account AND space = ANY (those)
$$;

-- What has lain in the trash or the cold tier for that many days goes for good, with all that hangs on it and a line in
-- the audit trail for each. Returns how many went.
CREATE OR REPLACE FUNCTION purge_memories(days int) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM memories
         WHERE coalesce(deleted_at, cold_at) < now() - make_interval(days => days)
        RETURNING account, id, kind),
    noted AS (
        INSERT INTO audit (account, id, via, action, object_id)
        SELECT account, 'aud_' || substr(md5(gen_random_uuid()::text), 1, 24), 'job',
               CASE WHEN kind IN ('chat', 'entity', 'semantic') THEN 'memory' ELSE kind END || '.purge', id
          FROM gone)
    SELECT count(*) FROM gone
$$;

-- The same for statements, of all accounts. What is left says that one was taken back, so that whoever reads the message
-- again does not make it again; its words, and whom it was about, are gone.
CREATE OR REPLACE FUNCTION purge_statements(days int) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    WITH gone AS (
        UPDATE statements SET subject = '', key = '', text = '', purged = true
         WHERE deleted_at < now() - make_interval(days => days) AND NOT purged
        RETURNING account, id),
    forgotten AS (
        DELETE FROM statement_versions v USING gone g WHERE v.account = g.account AND v.statement_id = g.id),
    noted AS (
        INSERT INTO audit (account, id, via, action, object_id)
        SELECT account, 'aud_' || substr(md5(gen_random_uuid()::text), 1, 24), 'job', 'statement.purge', id FROM gone)
    SELECT count(*) FROM gone
$$;

-- The same for chats, files, artifacts, messages of rooms, whole workspaces, rooms, graphs and projects and what
-- was asked of these, and for kept tool calls after a day. Returns how many.
CREATE OR REPLACE FUNCTION purge_workspaces(days int) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    WITH old_calls AS (
        DELETE FROM tool_calls WHERE created_at < now() - interval '1 day'),
    old_responses AS (  -- providers keep them for a month
        DELETE FROM provider_responses WHERE created_at < now() - interval '90 days'),
    old_queries AS (
        DELETE FROM queries WHERE at < now() - make_interval(days => days)),
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
    gone_messages AS (
        DELETE FROM trashed_messages WHERE deleted_at < now() - make_interval(days => days)
        RETURNING account, id, 'message.purge' AS action),
    unworded AS (
        DELETE FROM message_versions v USING gone_messages m WHERE v.account = m.account AND v.message_id = m.id),
    old_spaces AS MATERIALIZED (
        SELECT account, space, kind, name FROM spaces
         WHERE kind IN ('workspace', 'room', 'graph', 'project') AND part_of IS NULL
           AND deleted_at < now() - make_interval(days => days)),
    -- What was in a project stays where it is, and in none.
    without_project AS (
        UPDATE rooms r SET project_id = NULL FROM old_spaces o
         WHERE o.kind = 'project' AND r.account = o.account AND r.project_id = o.name),
    capsules_without AS (
        UPDATE memories m SET project_id = NULL FROM old_spaces o
         WHERE o.kind = 'project' AND m.account = o.account AND m.project_id = o.name),
    emptied AS MATERIALIZED (
        SELECT empty_spaces(o.account, array_agg(o.space) || array_agg(p.space) FILTER (WHERE p.space IS NOT NULL))
          FROM old_spaces o LEFT JOIN spaces p ON p.account = o.account AND p.part_of = o.space
         GROUP BY o.account),
    gone_spaces AS (
        DELETE FROM spaces s USING old_spaces o
         WHERE s.account = o.account AND s.space = o.space AND (SELECT count(*) FROM emptied) >= 0
        RETURNING s.account, s.name AS id, s.kind || '.purge' AS action),
    gone AS (SELECT * FROM gone_documents UNION ALL SELECT * FROM gone_chats UNION ALL SELECT * FROM gone_messages
             UNION ALL SELECT * FROM gone_spaces),
    noted AS (
        INSERT INTO audit (account, id, via, action, object_id)
        SELECT account, 'aud_' || substr(md5(gen_random_uuid()::text), 1, 24), 'job', action, id FROM gone)
    SELECT count(*) FROM gone
$$;

-- The indexes of meanings whose spaces are gone, or whose vectors were retired a minute ago.
CREATE OR REPLACE FUNCTION unused_indexes() RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT indexname::text FROM pg_indexes
     WHERE schemaname = 'keepstone' AND tablename = 'vectors' AND indexname ~ '^near_\d+_\d+$'
       AND NOT EXISTS (SELECT FROM spaces s JOIN vector_sets v USING (account)
                        WHERE s.space = split_part(indexname, '_', 2)::bigint
                          AND v.vector_set = split_part(indexname, '_', 3)::smallint
                          AND (v.state <> 'retired' OR v.retired_at >= now() - interval '1 minute'))
$$;

-- Where may a summary have to be made? With whether a session is over there: a message after which nobody spoke for so
-- long, or none at all any more. Whether a day or a week is over depends on the time zone. Numbers and times only.
CREATE OR REPLACE FUNCTION rooms_to_sum_up(now timestamptz, silence interval)
    RETURNS TABLE (account int, space bigint, session_over boolean, days_from timestamptz, weeks_from timestamptz,
                   timezone text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT r.account, r.space,
           r.dirty_from IS NOT NULL
           AND (NOT EXISTS (SELECT FROM messages m
                             WHERE m.account = r.account AND m.space = r.space AND m.at >= r.dirty_from)
                OR EXISTS (SELECT FROM messages m
                            WHERE m.account = r.account AND m.space = r.space AND m.at >= r.dirty_from
                              AND m.at <= now - silence
                              AND NOT EXISTS (SELECT FROM messages n
                                               WHERE n.account = r.account AND n.space = r.space
                                                 AND n.at > m.at AND n.at < m.at + silence))),
           r.days_from, r.weeks_from, a.timezone
      FROM rooms r JOIN spaces s USING (account, space) JOIN accounts a USING (account)
     WHERE s.deleted_at IS NULL
       AND (r.dirty_from IS NOT NULL OR r.days_from IS NOT NULL OR r.weeks_from IS NOT NULL)
$$;

-- The passages of the nodes of a graph that pass a filter; null when those are more than `most` nodes. As the owner,
-- because the policies keep `@>` off its index; so it holds itself to what the transaction reaches. Numbers only.
CREATE OR REPLACE FUNCTION passing_nodes(graph bigint, wanted_type text, wanted jsonb, since timestamptz,
                                         until timestamptz, as_of timestamptz, most bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
DECLARE
    ids text[];
    found bigint[];
BEGIN
    IF graph <> ALL (scope_spaces()) THEN
        RETURN '{}';
    END IF;
    -- Executed, so that it is planned for what is given, and for nothing else.
    EXECUTE $query$
        SELECT array_agg(id) FROM (
            SELECT m.id FROM memories m
             WHERE m.account = $1 AND m.space = $2 AND m.kind = 'node' AND m.deleted_at IS NULL
               AND CASE WHEN $3 IS NULL THEN m.valid_to IS NULL
                        ELSE m.valid_from <= $3 AND (m.valid_to IS NULL OR m.valid_to > $3) END
               AND ($4 IS NULL OR m.type = $4)
               AND ($5 IS NULL OR m.metadata @> $5)
               AND ($6 IS NULL AND $7 IS NULL
                    OR m.created_at >= coalesce($6, '-infinity') AND m.created_at <= coalesce($7, 'infinity')
                    OR m.updated_at >= coalesce($6, '-infinity') AND m.updated_at <= coalesce($7, 'infinity'))
             LIMIT $8 + 1) AS passing
        $query$ INTO ids
        USING scope_account(), graph, as_of, wanted_type, wanted, since, until, most;
    IF cardinality(ids) > most THEN
        RETURN NULL;
    END IF;
    SELECT coalesce(array_agg(p.passage), '{}') INTO found FROM passages p
     WHERE p.account = scope_account() AND p.source_kind = 'memory' AND p.source_id = ANY (ids)
       AND p.space = ANY (scope_spaces()) AND p.visibility = ANY (scope_visibilities());
    RETURN found;
END $$;

-- What did a query do? For the operator; numbers only.
CREATE OR REPLACE FUNCTION find_query(wanted text)
    RETURNS TABLE (id text, account_id text, at timestamptz, user_id text, credential_id text, graph_id text,
                   filters text[], max_results int, min_relevance real, returned int, total int, best real,
                   degraded text, milliseconds real)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT q.id, a.id, q.at, q.user_id, q.credential_id, q.graph_id, q.filters, q.max_results, q.min_relevance,
           q.returned, q.total, q.best, q.degraded, q.milliseconds
      FROM queries q JOIN accounts a USING (account) WHERE q.id = wanted
$$;

-- Who wants the week by e-mail?
CREATE OR REPLACE FUNCTION digest_receivers() RETURNS TABLE (account int, user_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT account, id FROM users WHERE weekly_digest AND erased_at IS NULL
$$;

-- Sessions, one-time links and invite links that are over. Returns how many went.
CREATE OR REPLACE FUNCTION forget_expired_logins() RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    WITH gone_sessions AS (DELETE FROM sessions WHERE expires_at < now() RETURNING 1),
         gone_links AS (DELETE FROM one_time_links WHERE expires_at < now() RETURNING 1),
         gone_invites AS (DELETE FROM invite_links WHERE expires_at < now() - interval '7 days' RETURNING 1)
    SELECT (SELECT count(*) FROM gone_sessions) + (SELECT count(*) FROM gone_links) + (SELECT count(*) FROM gone_invites)
$$;

-- Uploads that nobody could bring in within a week fail, and their bytes go; after three months nothing is told any more
-- about an import that is over. Returns how many failed.
CREATE OR REPLACE FUNCTION expire_imports() RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    WITH late AS (
        UPDATE imports SET state = 'failed', error_code = 'expired', finished_at = now(),
                           error = 'It could not be brought in within a week: upload it again.'
         WHERE state IN ('waiting', 'running') AND created_at < now() - interval '7 days'
        RETURNING account, id),
    freed AS (DELETE FROM import_parts p USING late WHERE p.account = late.account AND p.import_id = late.id),
    gone AS (DELETE FROM imports WHERE finished_at < now() - interval '90 days')
    SELECT count(*) FROM late
$$;

-- Which passages changed, as far as it is long ago. Returns how many lines went.
CREATE OR REPLACE FUNCTION forget_space_changes() RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    WITH gone AS (DELETE FROM space_changes WHERE at < now() - interval '1 hour' RETURNING 1)
    SELECT count(*) FROM gone
$$;

-- Filters are conditions of the statements that have them.
DROP FUNCTION IF EXISTS passes(jsonb, jsonb);

-- Where are items whose time is over? Numbers only.
CREATE OR REPLACE FUNCTION expired_items(by_then timestamptz) RETURNS TABLE (account int, space bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT DISTINCT account, space FROM memories WHERE kind = 'item' AND valid_to <= by_then
$$;

-- Memories of entities are asked for by their ids alone: in which space of the account each of them lies. Numbers only;
-- whether the caller may go there is asked next.
CREATE OR REPLACE FUNCTION entity_places(ids text[]) RETURNS TABLE (memory_id text, space bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT m.id, m.space FROM memories m
     WHERE m.account = scope_account() AND m.kind = 'entity' AND m.id = ANY (ids)
$$;

-- Once the last memory of an entity has left the trash, nothing says any more that there was one. The count is in the
-- row itself: whoever adds to it meanwhile has changed that, and is seen.
CREATE OR REPLACE FUNCTION purge_entities() RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM spaces s
         WHERE s.kind = 'entity' AND s.memory_count = 0
           AND NOT EXISTS (SELECT FROM memories m WHERE m.account = s.account AND m.space = s.space)
        RETURNING 1)
    SELECT count(*) FROM gone
$$;
