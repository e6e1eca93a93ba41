-- What concerns all accounts at once: the operator's, the jobs', and a number or yes and no for whoever looks whether the
-- server is well. Each runs as the owner of the tables, past row-level security, and answers with numbers, ids or bare
-- records, never with memory.
--
-- On a distributed Postgres these run on the coordinator, which knows no joins across accounts and changes what it found
-- account by account.

-- Has this server any user yet?
CREATE OR REPLACE FUNCTION has_users() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT EXISTS (SELECT 1 FROM users)
$$;

-- For the operator: who is here, in the order in which they came, and how much they keep. No memory, no secret. Null is
-- everybody: `beginning` is that of their address, `wanted` an id, `came` and `last` whom the page before ended with.
CREATE OR REPLACE FUNCTION all_users(beginning text, wanted text, came timestamptz, last text, most int)
    RETURNS TABLE (account_id text, plan text, credits bigint, user_id text, email text, role text,
                   is_admin boolean, quota_bytes bigint, capacity_bytes bigint, used_bytes bigint,
                   created_at timestamptz, last_login_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT a.id, a.plan, a.credits, u.id, u.email, u.role, u.is_admin, u.quota_bytes,
           coalesce(u.quota_bytes, CASE WHEN p.name IS NULL THEN f.capacity_bytes ELSE p.capacity_bytes END),
           (SELECT coalesce(sum(s.size_bytes), 0)::bigint FROM spaces s
             WHERE s.account = u.account AND s.owner = u.id AND s.kind IN ('vault', 'store', 'scope', 'entity')),
           u.created_at, u.last_login_at
      FROM users u
      JOIN accounts a USING (account)
      JOIN plans f ON f.name = 'free'
      LEFT JOIN plans p ON p.name = a.plan
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
    SELECT on_purpose();
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
    SELECT on_purpose();
    SELECT coalesce(max(revision), 0) FROM provider_settings
$$;

-- For the operator: the providers. The keys in them are sealed.
CREATE OR REPLACE FUNCTION read_provider_settings() RETURNS TABLE (revision bigint, document jsonb)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT p.revision, p.document FROM provider_settings p
$$;

-- For the operator: other providers, if nobody changed them since that revision. Returns the new one, else nothing.
CREATE OR REPLACE FUNCTION put_provider_settings(after bigint, wanted jsonb) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    INSERT INTO provider_settings AS p (revision, document)
    SELECT 1, wanted WHERE after = 0 OR EXISTS (SELECT 1 FROM provider_settings)
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
    SELECT on_purpose();
    SELECT a.id, a.plan, a.credits, count(l.call_id), coalesce(sum(l.queries), 0)::bigint,
           coalesce(sum(l.credits), 0)::bigint, coalesce(sum(l.tokens_in), 0)::bigint,
           coalesce(sum(l.tokens_out), 0)::bigint
      FROM accounts a LEFT JOIN usage_ledger l ON l.account = a.account AND l.at >= since AND l.at < until
     GROUP BY a.account
     ORDER BY a.account
$$;

-- For the operator: how much each account keeps, the largest first, or one of them.
CREATE OR REPLACE FUNCTION kept_by_accounts(wanted text, most int)
    RETURNS TABLE (account int, account_id text, name text, bytes bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT a.account, a.id, a.name, coalesce(sum(s.size_bytes), 0)::bigint
      FROM accounts a LEFT JOIN spaces s ON s.account = a.account
     WHERE wanted IS NULL OR a.id = wanted
     GROUP BY a.account, a.id, a.name
     ORDER BY 4 DESC, a.account
     LIMIT most
$$;

-- For the operator: who did what, in every account or in one, the newest first. No text, no secret. Null is everything;
-- `before` and `last` are what the page before ended with.
CREATE OR REPLACE FUNCTION all_audit(of_account text, of_user text, of_action text, of_object text, since timestamptz,
                                     until timestamptz, before timestamptz, last text, most int)
    RETURNS TABLE (account int, account_id text, id text, at timestamptz, user_id text, via text, credential_id text,
                   action text, object_id text, details jsonb)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
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

-- What did a query do? For the operator; numbers only.
CREATE OR REPLACE FUNCTION find_query(wanted text)
    RETURNS TABLE (id text, account_id text, at timestamptz, user_id text, credential_id text, graph_id text,
                   filters text[], max_results int, min_relevance real, returned int, total int, best real,
                   degraded text, milliseconds real)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT q.id, a.id, q.at, q.user_id, q.credential_id, q.graph_id, q.filters, q.max_results, q.min_relevance,
           q.returned, q.total, q.best, q.degraded, q.milliseconds
      FROM queries q JOIN accounts a USING (account) WHERE q.id = wanted
$$;

-- Who wants the week by e-mail?
CREATE OR REPLACE FUNCTION digest_receivers() RETURNS TABLE (account int, user_id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT account, id FROM users WHERE weekly_digest AND erased_at IS NULL
$$;

-- Is there anything to find?
CREATE OR REPLACE FUNCTION has_passages() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT EXISTS (SELECT 1 FROM passages)
$$;

-- How many passages can't be found by meaning yet?
CREATE OR REPLACE FUNCTION pending_embeddings() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT count(*) FROM passages WHERE pending
$$;

-- Where are they? Numbers only.
CREATE OR REPLACE FUNCTION pending_spaces() RETURNS TABLE (account int, space bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT DISTINCT account, space FROM passages WHERE pending
$$;

-- In which chats was more said than can be found? Ids only.
CREATE OR REPLACE FUNCTION unfound_chats() RETURNS TABLE (account int, space bigint, id text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT c.account, c.space, c.id FROM chats c WHERE c.unfound AND c.deleted_at IS NULL LIMIT 1000
$$;

-- Where is anything at all, and how much? Numbers only.
CREATE OR REPLACE FUNCTION filled_spaces() RETURNS TABLE (account int, space bigint, passages bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT s.account, s.space, s.passages FROM spaces s WHERE s.passages > 0
$$;

-- Where may a summary have to be made? With whether a session is over there: a message after which nobody spoke for so
-- long, or none at all any more. Whether a day or a week is over depends on the time zone. Numbers and times only.
CREATE OR REPLACE FUNCTION rooms_to_sum_up(now timestamptz, silence interval)
    RETURNS TABLE (account int, space bigint, session_over boolean, days_from timestamptz, weeks_from timestamptz,
                   timezone text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT r.account, r.space,
           r.dirty_from IS NOT NULL
           AND (NOT EXISTS (SELECT 1 FROM messages m
                             WHERE m.account = r.account AND m.space = r.space AND m.at >= r.dirty_from)
                OR EXISTS (SELECT 1 FROM messages m
                            WHERE m.account = r.account AND m.space = r.space AND m.at >= r.dirty_from
                              AND m.at <= now - silence
                              AND NOT EXISTS (SELECT 1 FROM messages n
                                               WHERE n.account = r.account AND n.space = r.space
                                                 AND n.at > m.at AND n.at < m.at + silence))),
           r.days_from, r.weeks_from, a.timezone
      FROM rooms r JOIN spaces s USING (account, space) JOIN accounts a USING (account)
     WHERE s.deleted_at IS NULL
       AND (r.dirty_from IS NOT NULL OR r.days_from IS NOT NULL OR r.weeks_from IS NOT NULL)
$$;

-- Filters are conditions of the statements that have them.

-- Where are items whose time is over? Numbers only.
CREATE OR REPLACE FUNCTION expired_items(by_then timestamptz) RETURNS TABLE (account int, space bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT DISTINCT account, space FROM memories WHERE kind = 'item' AND valid_to <= by_then
$$;

-- Which accounts are searched by one of these models, and not by that one yet? Numbers only.
CREATE OR REPLACE FUNCTION accounts_served_by(models text[], but_not text) RETURNS SETOF int
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT account FROM vector_sets WHERE state = 'serving'
     GROUP BY account HAVING bool_or(model = ANY (models)) AND NOT bool_or(model = but_not)
     ORDER BY account
$$;

-- What has no vector of this model yet waits for one from now on. Returns how many passages that are. Where one of the
-- former models serves that it takes the place of, none wait: its set is filled beside that one. Where none does, it
-- serves from now on, also a set that was retired.
CREATE OR REPLACE FUNCTION await_vectors_of(wanted text, former text[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    served int[];
    one record;
    went bigint;
BEGIN
    PERFORM * FROM on_purpose();
    served := ARRAY(SELECT accounts_served_by(former, wanted));
    FOR one IN UPDATE vector_sets s
                  SET reached_space = 0, reached_passage = 0,
                      state = CASE WHEN s.account = ANY (served) THEN 'filling' ELSE 'serving' END
                WHERE s.model = wanted AND (s.state = 'retired' OR s.state = 'filling' AND s.account <> ALL (served))
               RETURNING s.account, s.vector_set LOOP
        UPDATE vector_sets s
           SET lacking = (SELECT coalesce(sum(p.passages), 0) FROM spaces p WHERE p.account = one.account)
         WHERE s.account = one.account AND s.vector_set = one.vector_set;
    END LOOP;
    UPDATE passages p SET pending = true
     WHERE NOT p.pending AND p.account <> ALL (served)
       AND NOT EXISTS (SELECT 1 FROM vector_sets s JOIN vectors v ON v.account = s.account AND v.vector_set = s.vector_set
                        WHERE s.account = p.account AND s.model = wanted
                          AND v.space = p.space AND v.passage = p.passage);
    GET DIAGNOSTICS went = ROW_COUNT;
    RETURN went;
END $$;

-- By which models is anybody searched?
CREATE OR REPLACE FUNCTION serving_models() RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT DISTINCT model FROM vector_sets WHERE state = 'serving'
$$;

-- Of which models are vectors being made beside those that serve, in how many accounts, and how many are left?
CREATE OR REPLACE FUNCTION filling_models() RETURNS TABLE (model text, accounts bigint, lacking bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT on_purpose();
    SELECT s.model, count(*), sum(s.lacking)::bigint FROM vector_sets s WHERE s.state = 'filling' GROUP BY 1 ORDER BY 1
$$;

-- Some of the vectors of sets that were retired, in this account or (null) in all: not before a minute has passed, when
-- nobody still searches by them who began before. Returns how many rows went.
CREATE OR REPLACE FUNCTION delete_retired_vectors(of_account int, most int) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    one record;
    went bigint := 0;
    number bigint;
BEGIN
    PERFORM * FROM on_purpose();
    FOR one IN SELECT s.account, s.vector_set FROM vector_sets s
                WHERE s.state = 'retired' AND s.retired_at < now() - interval '1 minute'
                  AND s.account = coalesce(of_account, s.account)
                ORDER BY s.account, s.vector_set LOOP
        -- Held, so that it is not brought back meanwhile.
        PERFORM 1 FROM vector_sets s WHERE s.account = one.account AND s.vector_set = one.vector_set
                                       AND s.state = 'retired' FOR SHARE;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM vectors v
         WHERE v.account = one.account
           AND (v.space, v.vector_set, v.passage) IN (
               SELECT i.space, i.vector_set, i.passage FROM spaces p
                CROSS JOIN LATERAL (SELECT n.space, n.vector_set, n.passage FROM vectors n
                                     WHERE n.account = one.account AND n.space = p.space
                                       AND n.vector_set = one.vector_set LIMIT most) i
                WHERE p.account = one.account LIMIT most);
        GET DIAGNOSTICS number = ROW_COUNT;
        went := went + number;
        DELETE FROM token_vectors v
         WHERE v.account = one.account
           AND (v.space, v.vector_set, v.passage) IN (
               SELECT i.space, i.vector_set, i.passage FROM spaces p
                CROSS JOIN LATERAL (SELECT n.space, n.vector_set, n.passage FROM token_vectors n
                                     WHERE n.account = one.account AND n.space = p.space
                                       AND n.vector_set = one.vector_set LIMIT most) i
                WHERE p.account = one.account LIMIT most);
        GET DIAGNOSTICS number = ROW_COUNT;
        went := went + number;
        EXIT WHEN went >= most;
    END LOOP;
    RETURN went;
END $$;

-- The indexes of meanings whose spaces are gone, or whose vectors were retired a minute ago.
CREATE OR REPLACE FUNCTION unused_indexes() RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    named text[];
    used text[];
BEGIN
    PERFORM * FROM on_purpose();
    SELECT coalesce(array_agg(x.indexname::text), '{}') INTO named FROM pg_indexes x
     WHERE x.schemaname = 'keepstone' AND x.tablename = 'vectors' AND x.indexname ~ '^near_\d+_\d+$';
    SELECT coalesce(array_agg('near_' || s.space || '_' || v.vector_set), '{}') INTO used
      FROM spaces s JOIN vector_sets v ON v.account = s.account
     WHERE s.space = ANY (ARRAY(SELECT split_part(n, '_', 2)::bigint FROM unnest(named) n))
       AND (v.state <> 'retired' OR v.retired_at >= now() - interval '1 minute');
    RETURN QUERY SELECT n FROM unnest(named) n WHERE n <> ALL (used);
END $$;

-- Lines of the audit trail that are older than that. Returns how many went.
CREATE OR REPLACE FUNCTION purge_audit(days int) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    went bigint;
BEGIN
    PERFORM * FROM on_purpose();
    DELETE FROM audit l WHERE l.at < now() - make_interval(days => days);
    GET DIAGNOSTICS went = ROW_COUNT;
    RETURN went;
END $$;

-- Traces that are older than that, and those that quote what is about to be purged: what has lain in the trash for that
-- many days. Returns how many went.
CREATE OR REPLACE FUNCTION purge_traces(days int, trash_days int) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    went bigint;
    number bigint;
    one record;
BEGIN
    PERFORM * FROM on_purpose();
    DELETE FROM traces t WHERE t.at < now() - make_interval(days => days);
    GET DIAGNOSTICS went = ROW_COUNT;
    FOR one IN SELECT p.account, array_agg(p.id) AS ids
                 FROM (SELECT m.account, m.id FROM memories m
                        WHERE m.deleted_at < now() - make_interval(days => trash_days)
                       UNION ALL
                       SELECT d.account, d.id FROM documents d
                        WHERE d.deleted_at < now() - make_interval(days => trash_days)) p
                GROUP BY p.account LOOP
        DELETE FROM traces t WHERE t.account = one.account AND t.sources && one.ids;
        GET DIAGNOSTICS number = ROW_COUNT;
        went := went + number;
    END LOOP;
    RETURN went;
END $$;

-- What has lain in the trash or the cold tier for that many days goes for good, with all that hangs on it and a line in
-- the audit trail for each. Returns how many went.
CREATE OR REPLACE FUNCTION purge_memories(days int) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    here int;
    gone text[];
    actions text[];
    went bigint := 0;
BEGIN
    PERFORM * FROM on_purpose();
    FOR here IN SELECT DISTINCT m.account FROM memories m
                 WHERE coalesce(m.deleted_at, m.cold_at) < now() - make_interval(days => days) LOOP
        WITH away AS (
            DELETE FROM memories m
             WHERE m.account = here AND coalesce(m.deleted_at, m.cold_at) < now() - make_interval(days => days)
            RETURNING m.id, m.kind)
        SELECT coalesce(array_agg(a.id), '{}'),
               coalesce(array_agg(CASE WHEN a.kind IN ('chat', 'entity', 'semantic') THEN 'memory' ELSE a.kind END
                                  || '.purge'), '{}')
          INTO gone, actions FROM away a;
        INSERT INTO audit (account, id, via, action, object_id)
        SELECT here, 'aud_' || substr(md5(gen_random_uuid()::text), 1, 24), 'job', g.action, g.id
          FROM unnest(actions, gone) AS g (action, id)
        ON CONFLICT DO NOTHING;
        went := went + cardinality(gone);
    END LOOP;
    RETURN went;
END $$;

-- The same for statements, of all accounts. What is left says that one was taken back, so that whoever reads the message
-- again does not make it again; its words, and whom it was about, are gone.
CREATE OR REPLACE FUNCTION purge_statements(days int) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    here int;
    gone text[];
    actions text[];
    went bigint := 0;
BEGIN
    PERFORM * FROM on_purpose();
    FOR here IN SELECT DISTINCT t.account FROM statements t
                 WHERE t.deleted_at < now() - make_interval(days => days) AND NOT t.purged LOOP
        WITH away AS (
            UPDATE statements t SET subject = '', key = '', text = '', purged = true
             WHERE t.account = here AND t.deleted_at < now() - make_interval(days => days) AND NOT t.purged
            RETURNING t.id)
        SELECT coalesce(array_agg(a.id), '{}'), coalesce(array_agg('statement.purge'::text), '{}')
          INTO gone, actions FROM away a;
        DELETE FROM statement_versions v WHERE v.account = here AND v.statement_id = ANY (gone);
        INSERT INTO audit (account, id, via, action, object_id)
        SELECT here, 'aud_' || substr(md5(gen_random_uuid()::text), 1, 24), 'job', g.action, g.id
          FROM unnest(actions, gone) AS g (action, id)
        ON CONFLICT DO NOTHING;
        went := went + cardinality(gone);
    END LOOP;
    RETURN went;
END $$;

-- The same for chats, files, artifacts, messages of rooms, whole workspaces, rooms, graphs and projects and what
-- was asked of these, and for kept tool calls after a day. Returns how many.
CREATE OR REPLACE FUNCTION purge_workspaces(days int) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    here int;
    late constant timestamptz := now() - make_interval(days => days);
    going bigint[];
    inside bigint[];
    gone text[];
    actions text[];
    more text[];
    went bigint := 0;
BEGIN
    PERFORM * FROM on_purpose();
    DELETE FROM tool_calls c WHERE c.created_at < now() - interval '1 day';
    DELETE FROM provider_responses r WHERE r.created_at < now() - interval '90 days';  -- providers keep them for a month
    DELETE FROM queries q WHERE q.at < late;
    FOR here IN SELECT DISTINCT account FROM (
                    SELECT d.account FROM documents d WHERE d.deleted_at < late
                    UNION ALL
                    SELECT c.account FROM chats c WHERE c.deleted_at < late
                    UNION ALL
                    SELECT m.account FROM trashed_messages m WHERE m.deleted_at < late
                    UNION ALL
                    SELECT s.account FROM spaces s
                     WHERE s.kind IN ('workspace', 'room', 'graph', 'project') AND s.part_of IS NULL
                       AND s.deleted_at < late) AS places LOOP
        WITH away AS (DELETE FROM documents d WHERE d.account = here AND d.deleted_at < late RETURNING d.id, d.kind)
        SELECT coalesce(array_agg(a.id), '{}'), coalesce(array_agg(a.kind || '.purge'), '{}') INTO gone, actions
          FROM away a;
        WITH away AS (DELETE FROM chats c WHERE c.account = here AND c.deleted_at < late RETURNING c.id)
        SELECT coalesce(array_agg(a.id), '{}') INTO more FROM away a;
        DELETE FROM messages m WHERE m.account = here AND m.thread_id = ANY (more);
        DELETE FROM summaries s WHERE s.account = here AND s.thread_id = ANY (more);
        DELETE FROM distillations d WHERE d.account = here AND d.chat_id = ANY (more);
        gone := gone || more;
        actions := actions || array_fill('chat.purge'::text, ARRAY[cardinality(more)]);
        WITH away AS (DELETE FROM trashed_messages m WHERE m.account = here AND m.deleted_at < late RETURNING m.id)
        SELECT coalesce(array_agg(a.id), '{}') INTO more FROM away a;
        DELETE FROM message_versions v WHERE v.account = here AND v.message_id = ANY (more);
        gone := gone || more;
        actions := actions || array_fill('message.purge'::text, ARRAY[cardinality(more)]);
        SELECT coalesce(array_agg(s.space), '{}') INTO going FROM spaces s
         WHERE s.account = here AND s.kind IN ('workspace', 'room', 'graph', 'project') AND s.part_of IS NULL
           AND s.deleted_at < late;
        -- What was in a project stays where it is, and in none.
        SELECT coalesce(array_agg(s.name), '{}') INTO more FROM spaces s
         WHERE s.account = here AND s.space = ANY (going) AND s.kind = 'project';
        UPDATE rooms r SET project_id = NULL WHERE r.account = here AND r.project_id = ANY (more);
        UPDATE memories m SET project_id = NULL WHERE m.account = here AND m.project_id = ANY (more);
        SELECT coalesce(array_agg(p.space), '{}') INTO inside FROM spaces p
         WHERE p.account = here AND p.part_of = ANY (going);
        PERFORM empty_spaces(here, going || inside);
        WITH away AS (DELETE FROM spaces s WHERE s.account = here AND s.space = ANY (going) RETURNING s.name, s.kind)
        SELECT gone || coalesce(array_agg(a.name), '{}'), actions || coalesce(array_agg(a.kind || '.purge'), '{}')
          INTO gone, actions FROM away a;
        INSERT INTO audit (account, id, via, action, object_id)
        SELECT here, 'aud_' || substr(md5(gen_random_uuid()::text), 1, 24), 'job', g.action, g.id
          FROM unnest(actions, gone) AS g (action, id)
        ON CONFLICT DO NOTHING;
        went := went + cardinality(gone);
    END LOOP;
    RETURN went;
END $$;

-- Once the last memory of an entity has left the trash, nothing says any more that there was one. The count is in the
-- row itself: whoever adds to it meanwhile has changed that, and is seen.
CREATE OR REPLACE FUNCTION purge_entities() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    here int;
    went bigint := 0;
    number bigint;
BEGIN
    PERFORM * FROM on_purpose();
    FOR here IN SELECT DISTINCT s.account FROM spaces s
                 WHERE s.kind = 'entity' AND s.memory_count = 0
                   AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.account = s.account AND m.space = s.space) LOOP
        DELETE FROM spaces s
         WHERE s.account = here AND s.kind = 'entity' AND s.memory_count = 0
           AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.account = here AND m.space = s.space);
        GET DIAGNOSTICS number = ROW_COUNT;
        went := went + number;
    END LOOP;
    RETURN went;
END $$;

-- Sessions, one-time links and invite links that are over. Returns how many went.
CREATE OR REPLACE FUNCTION forget_expired_logins() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    went bigint := 0;
    number bigint;
BEGIN
    PERFORM * FROM on_purpose();
    DELETE FROM sessions s WHERE s.expires_at < now();
    GET DIAGNOSTICS number = ROW_COUNT;
    went := went + number;
    DELETE FROM one_time_links l WHERE l.expires_at < now();
    GET DIAGNOSTICS number = ROW_COUNT;
    went := went + number;
    DELETE FROM invite_links l WHERE l.expires_at < now() - interval '7 days';
    GET DIAGNOSTICS number = ROW_COUNT;
    went := went + number;
    DELETE FROM guesses g WHERE g.at < now() - interval '1 hour';
    GET DIAGNOSTICS number = ROW_COUNT;
    RETURN went + number;
END $$;

-- Which passages changed, as far as it is long ago. Returns how many lines went.
CREATE OR REPLACE FUNCTION forget_space_changes() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    went bigint;
BEGIN
    PERFORM * FROM on_purpose();
    DELETE FROM space_changes c WHERE c.at < now() - interval '1 hour';
    GET DIAGNOSTICS went = ROW_COUNT;
    RETURN went;
END $$;

-- Uploads that nobody could bring in within a week fail, and their bytes go; after three months nothing is told any more
-- about an import that is over. Returns how many failed.
CREATE OR REPLACE FUNCTION expire_imports() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    here int;
    went bigint := 0;
    number bigint;
BEGIN
    PERFORM * FROM on_purpose();
    FOR here IN SELECT DISTINCT i.account FROM imports i
                 WHERE i.state IN ('waiting', 'running') AND i.created_at < now() - interval '7 days' LOOP
        WITH late AS (
            UPDATE imports i SET state = 'failed', error_code = 'expired', finished_at = now(),
                                 error = 'It could not be brought in within a week: upload it again.'
             WHERE i.account = here AND i.state IN ('waiting', 'running')
               AND i.created_at < now() - interval '7 days'
            RETURNING i.id),
        freed AS (DELETE FROM import_parts p WHERE p.account = here AND p.import_id IN (SELECT l.id FROM late l))
        SELECT count(*) INTO number FROM late;
        went := went + number;
    END LOOP;
    DELETE FROM imports i WHERE i.finished_at < now() - interval '90 days';
    RETURN went;
END $$;
