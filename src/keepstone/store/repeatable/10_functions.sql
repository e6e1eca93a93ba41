-- Questions that have no account yet, and what is asked within one in a single call. Those with SECURITY DEFINER run as the
-- owner of the tables, past row-level security, and so answer with a number or a bare record, never with memory. What
-- concerns all accounts at once stands in 11_server.sql.
--
-- On a distributed Postgres (docs/operations.md) a function whose first parameter is `of_account` runs where that account
-- lies (`store/distribute.py` says which); any other runs on the coordinator. So that both work, a query does not call
-- functions that query tables, names the account of every table, and selects something wherever it asks for existence.

-- From here on the transaction reaches what is said here, and a statement of it may take so many seconds; null leaves that
-- as it was. Each is set by a statement of its own: of what is set so, a distributed Postgres tells its other nodes.
CREATE OR REPLACE FUNCTION enter_scope(of_account int, within text, places text, seen text, reader text, seconds int)
    RETURNS void
    LANGUAGE plpgsql
AS $$
BEGIN
    IF seconds IS NOT NULL THEN
        EXECUTE 'SET LOCAL statement_timeout = ' || quote_literal(seconds || 's');
    END IF;
    EXECUTE 'SET LOCAL keepstone.account = ' || quote_literal(of_account);
    EXECUTE 'SET LOCAL keepstone.within = ' || quote_literal(within);
    EXECUTE 'SET LOCAL keepstone.spaces = ' || quote_literal(places);
    EXECUTE 'SET LOCAL keepstone.visibilities = ' || quote_literal(seen);
    IF reader IS NOT NULL THEN
        EXECUTE 'SET LOCAL keepstone.reader = ' || quote_literal(reader);
    END IF;
END $$;

-- What follows is meant for all accounts. Called from within, by functions that run as the owner: other nodes see the owner
-- alone, and not who called. It is called with FROM, without which Citus overlooks that this is part of a transaction.
CREATE OR REPLACE FUNCTION on_purpose() RETURNS void
    LANGUAGE plpgsql
AS $$
BEGIN
    EXECUTE 'SET LOCAL keepstone.owner = ''on''';
END $$;

-- Whose is this credential, while it is good? `wanted` is the part of it that is not secret; the caller compares the
-- hash. `stale`: its last use is worth writing down again. With it come the requests a minute that the plan allows, and
-- the spaces that a key is limited to, with their parts; null is no limit, and none is none. What a key names is a kind and
-- a name; what belongs to somebody counts when it is the key's user, and for a service key whoever it is.
CREATE OR REPLACE FUNCTION credential_holder(of_account int, kind text, wanted text)
    RETURNS TABLE (account int, account_id text, credential_id text, user_id text, role text, is_admin boolean,
                   key_per_minute int, account_per_minute int, secret_hash bytea, stale boolean,
                   permission text, surfaces text[], spaces bigint[], expires_at timestamptz, lacks_factor boolean,
                   timezone text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM * FROM on_purpose();
    IF kind = 'key' THEN
        RETURN QUERY
            SELECT a.account, a.id, k.id, u.id, coalesce(u.role, 'member'), coalesce(u.is_admin, false),
                   p.key_per_minute, p.account_per_minute, k.secret_hash,
                   coalesce(k.last_used_at < now() - interval '1 minute', true),
                   k.permission, k.surfaces,
                   CASE WHEN k.spaces IS NOT NULL THEN ARRAY(
                       SELECT q.space
                         FROM unnest(k.spaces) named
                         JOIN spaces s ON s.account = of_account AND s.kind = split_part(named, ':', 1)
                                      AND s.name = substr(named, strpos(named, ':') + 1)
                                      AND (s.owner IS NULL OR k.user_id IS NULL OR s.owner = k.user_id)
                         JOIN spaces q ON q.account = of_account AND (q.space = s.space OR q.part_of = s.space)) END,
                   k.expires_at, false, a.timezone
              FROM keys k
              JOIN accounts a ON a.account = of_account
             CROSS JOIN LATERAL (SELECT * FROM plans n WHERE n.name IN (a.plan, 'free')
                                  ORDER BY n.name = a.plan DESC LIMIT 1) p
              LEFT JOIN users u ON u.account = of_account AND u.id = k.user_id
             WHERE k.account = of_account AND k.prefix = wanted
               AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
               AND (k.user_id IS NULL OR u.erased_at IS NULL);
    ELSE
        RETURN QUERY
            SELECT a.account, a.id, s.id, u.id, u.role, u.is_admin, p.key_per_minute, p.account_per_minute, s.secret_hash,
                   s.last_used_at < now() - interval '1 minute', 'write', NULL::text[], NULL::bigint[],
                   NULL::timestamptz,
                   (u.role = 'owner' OR u.is_admin)
                   AND NOT EXISTS (SELECT 1 FROM second_factors f WHERE f.account = of_account AND f.user_id = u.id
                                                                    AND f.confirmed_at IS NOT NULL),
                   a.timezone
              FROM sessions s
              JOIN accounts a ON a.account = of_account
             CROSS JOIN LATERAL (SELECT * FROM plans n WHERE n.name IN (a.plan, 'free')
                                  ORDER BY n.name = a.plan DESC LIMIT 1) p
              JOIN users u ON u.account = of_account AND u.id = s.user_id
             WHERE s.account = of_account AND s.prefix = wanted AND s.expires_at > now() AND u.erased_at IS NULL;
    END IF;
END $$;

-- The user of a token that we signed ourselves, as long as the credential it was minted with is good. `acting`: that
-- was a service key, which named them.
CREATE OR REPLACE FUNCTION token_holder(of_account int, wanted_user text, minted_with text)
    RETURNS TABLE (account int, account_id text, credential_id text, user_id text, role text, is_admin boolean,
                   key_per_minute int, account_per_minute int, permission text, surfaces text[], spaces bigint[],
                   expires_at timestamptz, lacks_factor boolean, acting boolean, timezone text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM * FROM on_purpose();
    RETURN QUERY
        SELECT a.account, a.id, minted_with, u.id, u.role, u.is_admin, p.key_per_minute, p.account_per_minute,
               CASE WHEN k.id IS NULL THEN 'write' ELSE k.permission END, k.surfaces,
               CASE WHEN k.spaces IS NOT NULL THEN ARRAY(
                   SELECT q.space
                     FROM unnest(k.spaces) named
                     JOIN spaces s ON s.account = of_account AND s.kind = split_part(named, ':', 1)
                                  AND s.name = substr(named, strpos(named, ':') + 1)
                                  AND (s.owner IS NULL OR k.user_id IS NULL OR s.owner = k.user_id)
                     JOIN spaces q ON q.account = of_account AND (q.space = s.space OR q.part_of = s.space)) END,
               k.expires_at,
               k.id IS NULL AND (u.role = 'owner' OR u.is_admin)
               AND NOT EXISTS (SELECT 1 FROM second_factors f WHERE f.account = of_account AND f.user_id = u.id
                                                                AND f.confirmed_at IS NOT NULL),
               k.id IS NOT NULL AND k.user_id IS NULL, a.timezone
          FROM users u
          JOIN accounts a ON a.account = of_account
         CROSS JOIN LATERAL (SELECT * FROM plans n WHERE n.name IN (a.plan, 'free')
                              ORDER BY n.name = a.plan DESC LIMIT 1) p
          LEFT JOIN keys k ON k.account = of_account AND k.id = minted_with AND k.revoked_at IS NULL
                          AND (k.expires_at IS NULL OR k.expires_at > now())
                          AND (k.user_id IS NULL OR k.user_id = u.id)
          LEFT JOIN sessions s ON s.account = of_account AND s.id = minted_with AND s.user_id = u.id
                              AND s.expires_at > now()
         WHERE u.account = of_account AND u.id = wanted_user AND u.erased_at IS NULL
           AND (k.id IS NOT NULL OR s.id IS NOT NULL);
END $$;

-- Somebody whom a foreign issuer vouches for: by the subject that is noted; else, as long as none is, by their address.
CREATE OR REPLACE FUNCTION subject_holder(issuer text, wanted text, address text)
    RETURNS TABLE (account int, account_id text, credential_id text, user_id text, role text, is_admin boolean,
                   key_per_minute int, account_per_minute int, by_subject boolean, bound boolean, accepted boolean,
                   timezone text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    here int;
    known text;
BEGIN
    PERFORM * FROM on_purpose();
    SELECT u.account, u.id INTO here, known FROM users u
     WHERE u.erased_at IS NULL AND u.subject = wanted AND coalesce(u.subject_issuer, issuer) = issuer;
    IF here IS NULL AND address <> '' THEN
        SELECT u.account, u.id INTO here, known FROM users u
         WHERE u.erased_at IS NULL AND u.subject IS NULL AND u.email = address;
    END IF;
    IF here IS NULL THEN
        RETURN;
    END IF;
    -- Compared once more: on a cluster each of these statements sees what was noted until then.
    RETURN QUERY
        SELECT a.account, a.id, NULL::text, u.id, u.role, u.is_admin, p.key_per_minute, p.account_per_minute,
               u.subject IS NOT DISTINCT FROM wanted,
               u.subject IS NOT DISTINCT FROM wanted AND u.subject_issuer IS NOT NULL,
               u.accepted_at IS NOT NULL, a.timezone
          FROM users u
          JOIN accounts a ON a.account = here
         CROSS JOIN LATERAL (SELECT * FROM plans n WHERE n.name IN (a.plan, 'free')
                              ORDER BY n.name = a.plan DESC LIMIT 1) p
         WHERE u.account = here AND u.id = known;
END $$;

-- Which account do this credential, link, address or id belong to? And which is the first admin's?
CREATE OR REPLACE FUNCTION account_of(kind text, value text) RETURNS int
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
DECLARE
    found int;
BEGIN
    PERFORM * FROM on_purpose();
    CASE kind
        WHEN 'key'     THEN SELECT t.account INTO found FROM keys t WHERE t.prefix = value;
        WHEN 'session' THEN SELECT t.account INTO found FROM sessions t WHERE t.prefix = value;
        WHEN 'link'    THEN SELECT t.account INTO found FROM one_time_links t WHERE t.prefix = value;
        WHEN 'invite'  THEN SELECT t.account INTO found FROM invite_links t WHERE t.prefix = value;
        WHEN 'email'   THEN SELECT t.account INTO found FROM users t WHERE t.email = value;
        WHEN 'subject' THEN SELECT t.account INTO found FROM users t WHERE t.subject = value;
        WHEN 'user'    THEN SELECT t.account INTO found FROM users t WHERE t.id = value;
        WHEN 'account' THEN SELECT t.account INTO found FROM accounts t WHERE t.id = value;
        WHEN 'admin'   THEN SELECT t.account INTO found FROM users t WHERE t.is_admin AND t.erased_at IS NULL
                             ORDER BY t.created_at, t.id LIMIT 1;
    END CASE;
    RETURN found;
END $$;

-- Called from within: the account that is named is that of the transaction.
CREATE OR REPLACE FUNCTION own_account(of_account int) RETURNS void
    LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF of_account IS DISTINCT FROM scope_account() THEN
        RAISE insufficient_privilege USING MESSAGE = 'this is not the account of the read scope';
    END IF;
END $$;

-- From here on the transaction reaches what is in this user's vault, all of it. Nothing where there is none. With `hold`
-- nobody else changes it until the transaction ends. Runs as whoever asks.
CREATE OR REPLACE FUNCTION enter_vault(for_account int, of_user text, hold boolean)
    RETURNS TABLE (space bigint, size_bytes bigint, memory_count bigint, revision bigint, leftover boolean)
    LANGUAGE plpgsql ROWS 1
AS $$
#variable_conflict use_column
BEGIN
    IF hold THEN
        SELECT s.space, s.size_bytes, s.memory_count, s.revision, s.leftover
          INTO space, size_bytes, memory_count, revision, leftover FROM spaces s
         WHERE s.account = for_account AND s.kind = 'vault' AND s.owner = of_user AND s.name = of_user
           FOR NO KEY UPDATE;
    ELSE
        SELECT s.space, s.size_bytes, s.memory_count, s.revision, s.leftover
          INTO space, size_bytes, memory_count, revision, leftover FROM spaces s
         WHERE s.account = for_account AND s.kind = 'vault' AND s.owner = of_user AND s.name = of_user;
    END IF;
    IF FOUND THEN
        EXECUTE 'SET LOCAL keepstone.spaces = ' || quote_literal('{' || space || '}');
        EXECUTE 'SET LOCAL keepstone.visibilities = ''{public,shared,private}''';
        RETURN NEXT;
    END IF;
END $$;

-- How much somebody of the transaction's account may keep (null: no limit) and how much they do: capsules, stores, scopes,
-- and what mem0's clients keep for entities of theirs. As the owner, because a key that is limited to some spaces sees no
-- others. Where there is a limit, whoever comes next waits for this one.
CREATE OR REPLACE FUNCTION room_of(of_account int, wanted text)
    RETURNS TABLE (allowed bigint, used bigint, cold_tier boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    its_plan text;
BEGIN
    PERFORM own_account(of_account);
    SELECT u.quota_bytes, u.cold_tier, a.plan INTO allowed, cold_tier, its_plan
      FROM users u JOIN accounts a ON a.account = of_account WHERE u.account = of_account AND u.id = wanted;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF allowed IS NULL THEN
        SELECT n.capacity_bytes INTO allowed FROM plans n WHERE n.name IN (its_plan, 'free')
         ORDER BY n.name = its_plan DESC LIMIT 1;
    END IF;
    IF allowed IS NOT NULL THEN
        PERFORM 1 FROM users u WHERE u.account = of_account AND u.id = wanted FOR NO KEY UPDATE;
    END IF;
    SELECT coalesce(sum(s.size_bytes), 0)::bigint INTO used FROM spaces s
     WHERE s.account = of_account AND s.owner = wanted AND s.kind IN ('vault', 'store', 'scope', 'entity');
    RETURN NEXT;
END $$;

-- Where an account stands in a month, and whether one of these calls was paid. Runs as whoever asks, in its own account.
CREATE OR REPLACE FUNCTION account_standing(of_account int, of_month date, calls text[])
    RETURNS TABLE (credits bigint, monthly_queries bigint, monthly_credits bigint, monthly_tokens bigint,
                   refill_due boolean, queries bigint, spent bigint, tokens_in bigint, tokens_out bigint, known boolean)
    LANGUAGE plpgsql STABLE ROWS 1
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        SELECT a.credits, p.monthly_queries, p.monthly_credits, p.monthly_tokens,
               p.monthly_credits IS NOT NULL AND coalesce(a.refilled_for < of_month, true),
               coalesce(m.queries, 0), coalesce(m.credits, 0), coalesce(m.tokens_in, 0), coalesce(m.tokens_out, 0),
               EXISTS (SELECT 1 FROM usage_ledger l WHERE l.account = of_account AND l.call_id = ANY (calls))
          FROM accounts a
         CROSS JOIN LATERAL (SELECT * FROM plans n WHERE n.name IN (a.plan, 'free')
                              ORDER BY n.name = a.plan DESC LIMIT 1) p
          LEFT JOIN usage_months m ON m.account = of_account AND m.month = of_month
         WHERE a.account = of_account;
END $$;

-- Writes a line of the ledger, takes its credits and adds to the month; nothing where the call has its line already, or
-- one by the name `unless`. Of two calls at once the second waits for the first at the account, or at the month, and then
-- sees what it left: the account comes first, so no two can wait for each other. Runs as whoever asks.
CREATE OR REPLACE FUNCTION charge(of_account int, of_month date, call text, unless text, made_at timestamptz, by_user text,
                                  by_credential text, of_action text, cost_queries bigint, cost_credits bigint,
                                  cost_in bigint, cost_out bigint, details jsonb)
    RETURNS TABLE (new boolean, paid boolean, within boolean)
    LANGUAGE plpgsql ROWS 1
AS $$
#variable_conflict use_column
DECLARE
    stands record;
    most bigint;
    counted bigint;
BEGIN
    SELECT a.credits, a.plan INTO stands FROM accounts a WHERE a.account = of_account;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT 1 FROM usage_ledger l WHERE l.account = of_account AND l.call_id = unless) THEN
        RETURN QUERY SELECT false, true, true;
        RETURN;
    END IF;
    INSERT INTO usage_ledger (account, call_id, at, user_id, credential_id, action, queries, credits, tokens_in,
                              tokens_out, details)
         VALUES (of_account, call, made_at, by_user, by_credential, of_action, cost_queries, cost_credits, cost_in,
                 cost_out, charge.details)
    ON CONFLICT (account, call_id) DO NOTHING;
    IF NOT FOUND THEN
        RETURN QUERY SELECT false, true, true;
        RETURN;
    END IF;
    paid := cost_credits = 0 OR stands.credits IS NULL;
    IF NOT paid THEN
        UPDATE accounts a SET credits = a.credits - cost_credits
         WHERE a.account = of_account AND a.credits >= cost_credits;
        paid := FOUND;
    END IF;
    INSERT INTO usage_months AS m (account, month, queries, credits, tokens_in, tokens_out)
         VALUES (of_account, of_month, cost_queries, cost_credits, cost_in, cost_out)
    ON CONFLICT (account, month) DO UPDATE
       SET queries = m.queries + excluded.queries, credits = m.credits + excluded.credits,
           tokens_in = m.tokens_in + excluded.tokens_in, tokens_out = m.tokens_out + excluded.tokens_out
    RETURNING m.queries INTO counted;
    IF cost_queries > 0 THEN
        SELECT n.monthly_queries INTO most FROM plans n WHERE n.name IN (stands.plan, 'free')
         ORDER BY n.name = stands.plan DESC LIMIT 1;
    END IF;
    RETURN QUERY SELECT true, paid, most IS NULL OR counted <= most;
END $$;

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
    stored text[];
    room record;
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
    EXECUTE 'SET LOCAL keepstone.spaces = ' || quote_literal('{' || here || '}');
    EXECUTE 'SET LOCAL keepstone.visibilities = ' || quote_literal(seen);
    WITH new AS (
        INSERT INTO messages (account, space, id, client_id, speaker, text, at, reply_to, metadata, visibility)
        SELECT of_account, here, *, readers
          FROM unnest(ids, client_ids, speakers, texts, times, replies, details)
        ON CONFLICT (account, space, client_id) DO NOTHING
        RETURNING id
    )
    SELECT coalesce(array_agg(n.id), '{}') INTO stored FROM new n;
    SELECT p.at, p.session INTO last_at, session FROM passages p
     WHERE p.account = of_account AND p.space = here AND p.session IS NOT NULL
     ORDER BY p.at DESC, p.passage DESC LIMIT 1;
    IF cardinality(stored) > 0 THEN
        SELECT * INTO room FROM room_of(of_account, of_user);
        allowed := room.allowed;
        used := room.used;
        cold_tier := room.cold_tier;
    END IF;
    space := here;
    indexing_scheduled := scheduled;
    new_ids := CASE WHEN cardinality(stored) < cardinality(ids) THEN stored END;
    RETURN NEXT;
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
    LANGUAGE plpgsql ROWS 1
AS $$
#variable_conflict use_column
DECLARE
    here bigint;
    stands record;
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
    SELECT * INTO stands FROM account_standing(of_account, of_month, calls);
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
               stands.credits, stands.monthly_queries, stands.monthly_credits, stands.monthly_tokens, stands.refill_due, stands.queries, stands.spent,
               stands.tokens_in, stands.tokens_out, stands.known
          FROM spaces s
         WHERE s.account = of_account AND s.space = here AND s.deleted_at IS NULL;
END $$;

-- Its plans are made once for all accounts. On Citus a plan is of one (store/distribute.py).
DO $$
BEGIN
    IF to_regclass('pg_dist_partition') IS NULL THEN
        ALTER FUNCTION survey_talk SET plan_cache_mode = force_generic_plan;
    END IF;
END $$;

-- One model takes the place of others in the transaction's account, if all that these know is there and large spaces have
-- their index; else nothing changes, but that the rest is looked for from the beginning. As the owner, because it
-- concerns every space of the account. Returns whether it did.
CREATE OR REPLACE FUNCTION take_over(of_account int, wanted text, former text[], large bigint, widest int) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
DECLARE
    new vector_sets;
    old smallint[];
BEGIN
    PERFORM own_account(of_account);
    PERFORM 1 FROM vector_sets s WHERE s.account = of_account ORDER BY s.vector_set FOR NO KEY UPDATE;
    SELECT * INTO new FROM vector_sets s WHERE s.account = of_account AND s.model = wanted AND s.state = 'filling';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF new.dimension <= widest AND EXISTS (SELECT 1 FROM spaces s WHERE s.account = of_account AND s.passages >= large
                                                                  AND new.vector_set <> ALL (s.indexed_sets)) THEN
        RETURN false;
    END IF;
    IF EXISTS (SELECT 1 FROM vectors o
                WHERE o.account = of_account
                  AND o.vector_set IN (SELECT s.vector_set FROM vector_sets s
                                        WHERE s.account = of_account AND s.state = 'serving' AND s.model = ANY (former))
                  -- Each is looked up by its key: OFFSET 0 keeps it so.
                  AND NOT EXISTS (SELECT 1 FROM vectors n WHERE n.account = of_account AND n.space = o.space
                                     AND n.vector_set = new.vector_set AND n.passage = o.passage OFFSET 0))
    THEN
        UPDATE vector_sets s SET reached_space = 0, reached_passage = 0
         WHERE s.account = of_account AND s.vector_set = new.vector_set;
        RETURN false;
    END IF;
    WITH retired AS (
        UPDATE vector_sets s SET state = 'retired', retired_at = now()
         WHERE s.account = of_account AND s.vector_set <> new.vector_set
           AND (s.state = 'filling' OR s.state = 'serving' AND s.model = ANY (former))
        RETURNING s.vector_set)
    SELECT coalesce(array_agg(r.vector_set), '{}') INTO old FROM retired r;
    UPDATE vector_sets s SET state = 'serving', lacking = 0 WHERE s.account = of_account AND s.vector_set = new.vector_set;
    UPDATE spaces s SET indexed_sets = ARRAY(SELECT i FROM unnest(s.indexed_sets) i WHERE i <> ALL (old))
     WHERE s.account = of_account AND s.indexed_sets && old;
    RETURN true;
END $$;

-- What search knows of spaces that are about to go; the rest goes with their rows. Runs as whoever asks.
CREATE OR REPLACE FUNCTION empty_spaces(of_account int, those bigint[]) RETURNS void
    LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM terms t WHERE t.account = of_account AND t.space = ANY (those);
    DELETE FROM vectors v WHERE v.account = of_account AND v.space = ANY (those);
    DELETE FROM token_vectors v WHERE v.account = of_account AND v.space = ANY (those);
END $$;

-- The passages of the nodes of a graph that pass a filter; null when those are more than `most` nodes. As the owner,
-- because the policies keep `@>` off its index; so it holds itself to what the transaction reaches. Numbers only.
CREATE OR REPLACE FUNCTION passing_nodes(of_account int, graph bigint, wanted_type text, wanted jsonb, since timestamptz,
                                         until timestamptz, as_of timestamptz, most bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
DECLARE
    ids text[];
    found bigint[];
BEGIN
    PERFORM own_account(of_account);
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
        USING of_account, graph, as_of, wanted_type, wanted, since, until, most;
    IF cardinality(ids) > most THEN
        RETURN NULL;
    END IF;
    SELECT coalesce(array_agg(p.passage), '{}') INTO found FROM passages p
     WHERE p.account = of_account AND p.source_kind = 'memory' AND p.source_id = ANY (ids)
       AND p.space = ANY (scope_spaces()) AND p.visibility = ANY (scope_visibilities());
    RETURN found;
END $$;

-- Memories of entities are asked for by their ids alone: in which space of the account each of them lies. Numbers only;
-- whether the caller may go there is asked next.
CREATE OR REPLACE FUNCTION entity_places(of_account int, ids text[]) RETURNS TABLE (memory_id text, space bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM own_account(of_account);
    RETURN QUERY SELECT m.id, m.space FROM memories m
                  WHERE m.account = of_account AND m.kind = 'entity' AND m.id = ANY (ids);
END $$;

-- Who guesses a password or a code, on whichever server: `names` are digests. One more failure under each of them; or nothing,
-- where one has to wait for so many seconds. Failures of 15 minutes ago are none; `free` of them cost nothing, each further
-- one doubles the wait, up to 5 minutes. A crash may forget the last of them.
CREATE OR REPLACE FUNCTION count_guess(names bytea[], free int[], asked_at timestamptz) RETURNS double precision
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
DECLARE
    wait double precision;
    one bytea;
BEGIN
    PERFORM * FROM on_purpose();
    EXECUTE 'SET LOCAL synchronous_commit = off';
    FOR held IN 0..1 LOOP  -- whoever has to wait finds out without waiting for others
        IF held = 1 THEN
            FOR one IN SELECT n FROM unnest(names) n ORDER BY n LOOP  -- in order, so that two never wait for each other
                INSERT INTO guesses (name, at) VALUES (one, asked_at) ON CONFLICT (name) DO UPDATE SET at = guesses.at;
            END LOOP;
        END IF;
        SELECT max(least(300, extract(epoch FROM g.at - asked_at)
                              + least(300, 2.0 ^ least(g.failures - f.free, 60)))) INTO wait
          FROM unnest(names, free) AS f (name, free)
          JOIN guesses g ON g.name = f.name
         WHERE g.at > asked_at - interval '15 minutes' AND g.failures >= greatest(f.free, 1);
        IF wait > 0 THEN
            RETURN wait;
        END IF;
    END LOOP;
    UPDATE guesses g SET at = asked_at,
           failures = CASE WHEN g.at > asked_at - interval '15 minutes' THEN g.failures ELSE 0 END + 1
     WHERE g.name = ANY (names);
    RETURN 0;
END $$;

-- Who showed that they knew: all failures under some names, and one under others, of a place that many share.
CREATE OR REPLACE FUNCTION forgive_guesses(names bytea[], one_of bytea[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
BEGIN
    PERFORM * FROM on_purpose();
    EXECUTE 'SET LOCAL synchronous_commit = off';
    PERFORM 1 FROM guesses g WHERE g.name = ANY (names || one_of) ORDER BY g.name FOR UPDATE;
    UPDATE guesses g SET failures = CASE WHEN g.name = ANY (names) THEN 0 ELSE greatest(g.failures - 1, 0) END
     WHERE g.name = ANY (names || one_of);
END $$;

-- So many a minute may try under this name, all at once or one after the other: nothing, or the seconds until it is the
-- caller's turn. Kept is when all turns will be free again.
CREATE OR REPLACE FUNCTION take_turn(wanted bytea, per_minute int, asked_at timestamptz) RETURNS double precision
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
DECLARE
    free_at timestamptz;
    wait double precision;
BEGIN
    PERFORM * FROM on_purpose();
    EXECUTE 'SET LOCAL synchronous_commit = off';
    INSERT INTO guesses AS g (name, at) VALUES (wanted, asked_at)
    ON CONFLICT (name) DO UPDATE SET at = greatest(g.at, asked_at)
    RETURNING at INTO free_at;
    wait := extract(epoch FROM free_at - asked_at) - 60 + 60.0 / per_minute;
    IF wait > 0.000001 THEN
        RETURN wait;
    END IF;
    UPDATE guesses SET at = free_at + make_interval(secs => 60.0 / per_minute) WHERE name = wanted;
    RETURN 0;
END $$;

CREATE OR REPLACE FUNCTION give_turn_back(wanted bytea, per_minute int) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
BEGIN
    PERFORM * FROM on_purpose();
    UPDATE guesses SET at = at - make_interval(secs => 60.0 / per_minute) WHERE name = wanted;
END $$;
