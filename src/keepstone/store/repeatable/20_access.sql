-- Who may touch what. The server logs in as keepstone_app: it owns nothing, and row-level security holds it to the
-- account, the spaces and the visibilities that its transaction named. The queue is fetched as keepstone_worker, which
-- sees jobs and no memory. Policies compare columns with settings and hold no sub-select, which a distributed Postgres
-- would refuse.
--
-- The owner is held as well. It gets past in the functions that others call (10_functions.sql), and where it says
-- `SET keepstone.owner = 'on'`: never by mistake.

CREATE OR REPLACE FUNCTION is_distributed(relation oid) RETURNS boolean
    LANGUAGE plpgsql STABLE
AS $$
DECLARE
    found boolean := false;
BEGIN
    IF to_regclass('pg_dist_partition') IS NOT NULL THEN
        EXECUTE 'SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = $1)' INTO found USING relation;
    END IF;
    RETURN found;
END $$;

GRANT USAGE ON SCHEMA keepstone TO keepstone_app, keepstone_worker;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA keepstone TO keepstone_app, keepstone_worker;

-- What is said of who may touch a table: its policies and rights, as statements in their order. `renew_access` runs them,
-- one table in a transaction of its own, as they lock it; and only where they differ from those that it ran last, which
-- the comment of the policy `owner` knows. So a new version holds up no table of which it has nothing new to say.
CREATE OR REPLACE FUNCTION access_to(relation text) RETURNS text[]
    LANGUAGE plpgsql STABLE
AS $$
DECLARE
    in_account constant text := 'account = current_setting(''keepstone.account'')::int';
    in_space constant text := in_account || ' AND space = ANY (current_setting(''keepstone.spaces'')::bigint[])';
    -- No index leads with the visibility, so this is asked for every row: as text, it takes half the time of an array.
    in_sight constant text := in_space || ' AND strpos(current_setting(''keepstone.visibilities''), visibility) > 0';
    -- The spaces that a key is limited to; empty is no limit. A part has the readers of the space that it is part of.
    within constant text := 'nullif(current_setting(''keepstone.within'', true), '''')::bigint[]';
    in_reach constant text := format('coalesce(space = ANY (%s), true)', within);
    reached constant text := in_account || ' AND ' || in_reach;
    part_reached constant text :=
        in_account || format(' AND (%s OR coalesce(part_of = ANY (%s), false))', in_reach, within);
    rules constant jsonb := jsonb_build_object(
        -- the account's own records
        'accounts', in_account, 'users', in_account, 'keys', in_account, 'sessions', in_account,
        'one_time_links', in_account, 'invite_links', in_account, 'second_factors', in_account, 'audit', in_account, 'usage_ledger', in_account, 'queries', in_account,
        'vector_sets', in_account, 'usage_months', in_account, 'billing_events', in_account,
        -- a user's own: every statement names them
        'imports', in_account, 'import_parts', in_account, 'import_arrivals', in_account,
        'provider_responses', in_account,
        -- the places: needed to work out a read scope
        'spaces', part_reached, 'members', reached, 'invitations', reached, 'agents', in_account, 'rooms', reached,
        'room_agents', reached, 'room_reads', reached, 'entities', reached,
        -- what is kept in a place
        'messages', in_sight, 'message_versions', in_sight, 'trashed_messages', in_sight,
        'memories', in_sight, 'memory_versions', in_sight, 'facts', in_sight, 'summaries', in_sight,
        'statements', in_sight, 'statement_versions', in_sight, 'documents', in_sight, 'document_versions', in_sight,
        'passages', in_sight, 'chats', in_space, 'threads', in_space, 'distillations', in_space, 'tool_calls', in_space,
        -- numbers and words that mean something only together with a row above
        'edges', in_space, 'terms', in_space, 'vectors', in_space, 'token_vectors', in_space,
        'constellations', in_space, 'revisions', in_space, 'space_changes', in_space,
        -- what of several places was handed out to somebody: theirs alone
        'traces', in_account || ' AND current_setting(''keepstone.reader'', true) = ANY (readers)'
    );
    of_queue constant text[] := ARRAY['procrastinate_jobs', 'procrastinate_events', 'procrastinate_periodic_defers',
                                      'procrastinate_workers', 'job_faults', 'servers'];
    on_purpose constant text := 'CURRENT_USER <> SESSION_USER OR current_setting(''keepstone.owner'', true) = ''on''';
    owner constant text := (SELECT quote_ident(pg_get_userbyid(c.relowner)) FROM pg_class c
                             WHERE c.oid = to_regclass(format('keepstone.%I', relation)));
    said text[] := '{}';
BEGIN
    IF rules ? relation THEN
        said := ARRAY[
            'DROP POLICY IF EXISTS scope ON %1$I',
            format('CREATE POLICY scope ON %%1$I TO keepstone_app USING (%s) WITH CHECK (%s)', rules ->> relation,
                   rules ->> relation),
            'REVOKE ALL ON %1$I FROM keepstone_app, keepstone_worker',
            'GRANT SELECT, INSERT, UPDATE, DELETE ON %1$I TO keepstone_app'];
    -- The queue belongs to procrastinate, and which servers are there is nobody's else either.
    ELSIF relation = ANY (of_queue) THEN
        said := ARRAY[
            'DROP POLICY IF EXISTS queue ON %1$I',
            'CREATE POLICY queue ON %1$I TO keepstone_worker USING (true) WITH CHECK (true)',
            'GRANT SELECT, INSERT, UPDATE, DELETE ON %1$I TO keepstone_worker',
            'REVOKE ALL ON %1$I FROM keepstone_app'];
    END IF;

    -- What is written once stays: not even a fault in the server can change it.
    IF relation IN ('audit', 'usage_ledger', 'billing_events', 'traces') THEN
        said := said || ARRAY['REVOKE UPDATE, DELETE ON %1$I FROM keepstone_app'];
    END IF;
    said := said || CASE relation
        WHEN 'usage_months' THEN ARRAY['REVOKE DELETE ON %1$I FROM keepstone_app']
        -- The traces of an account are written together, whoever asked.
        WHEN 'traces' THEN ARRAY[
            'DROP POLICY IF EXISTS noted ON %1$I',
            'CREATE POLICY noted ON %1$I FOR INSERT TO keepstone_app'
            ' WITH CHECK (account = current_setting(''keepstone.account'')::int)']
        -- What was said in a room is corrected by functions alone (12_corrections.sql). A chat moves to another
        -- workspace; it was read once more; it stands aside of the branch that is gone on with.
        WHEN 'messages' THEN ARRAY[
            'REVOKE UPDATE, DELETE ON %1$I FROM keepstone_app',
            'GRANT UPDATE (space, reread, follows, aside) ON %1$I TO keepstone_app']
        WHEN 'message_versions' THEN ARRAY['REVOKE INSERT, UPDATE, DELETE ON %1$I FROM keepstone_app']
        WHEN 'trashed_messages' THEN ARRAY['REVOKE INSERT, UPDATE, DELETE ON %1$I FROM keepstone_app']
        -- A passage that changes, or is for other readers, is deleted and made anew: that sees to whoever spoke next, too.
        WHEN 'passages' THEN ARRAY[
            'REVOKE UPDATE ON %1$I FROM keepstone_app',
            'GRANT UPDATE (pending) ON %1$I TO keepstone_app']
        -- A job names its account in its arguments; the server can add and see its own.
        WHEN 'procrastinate_jobs' THEN ARRAY[
            'DROP POLICY IF EXISTS scope ON %1$I',
            'CREATE POLICY scope ON %1$I TO keepstone_app'
            ' USING ((args ->> ''account'')::int = current_setting(''keepstone.account'')::int)'
            ' WITH CHECK ((args ->> ''account'')::int = current_setting(''keepstone.account'')::int)',
            'GRANT SELECT, INSERT ON %1$I TO keepstone_app']
        WHEN 'procrastinate_events' THEN ARRAY[
            'DROP POLICY IF EXISTS scope ON %1$I',
            'CREATE POLICY scope ON %1$I FOR INSERT TO keepstone_app WITH CHECK (true)',
            'GRANT INSERT ON %1$I TO keepstone_app']
        -- Plans are the server's and not an account's. To change one is for `put_plan`.
        WHEN 'plans' THEN ARRAY[
            'DROP POLICY IF EXISTS readable ON %1$I',
            'CREATE POLICY readable ON %1$I FOR SELECT TO keepstone_app USING (true)',
            'GRANT SELECT ON %1$I TO keepstone_app']
        -- The providers are the server's: nobody reads or changes them but through the three functions for that.
        WHEN 'provider_settings' THEN ARRAY['REVOKE ALL ON %1$I FROM keepstone_app, keepstone_worker']
        -- And so is who guessed wrong.
        WHEN 'guesses' THEN ARRAY['REVOKE ALL ON %1$I FROM keepstone_app, keepstone_worker']
        ELSE '{}'::text[]
    END;
    -- Anybody may know how new the schema is.
    IF relation IN ('migrations', 'schema_level') THEN
        said := said || ARRAY[
            'DROP POLICY IF EXISTS readable ON %1$I',
            'CREATE POLICY readable ON %1$I FOR SELECT USING (true)',
            'GRANT SELECT ON %1$I TO keepstone_app, keepstone_worker'];
    END IF;

    -- On every table, whoever made it: row-level security for all, the owner included. But not on tables that are
    -- distributed: Citus copies as their owner what lies there, and drops what it has copied.
    said := said || ARRAY['ALTER TABLE %1$I ENABLE ROW LEVEL SECURITY'];
    IF NOT is_distributed(to_regclass(format('keepstone.%I', relation))) THEN
        said := said || ARRAY['ALTER TABLE %1$I FORCE ROW LEVEL SECURITY'];
    END IF;
    RETURN said || ARRAY[
        'DROP POLICY IF EXISTS owner ON %1$I',
        format('CREATE POLICY owner ON %%1$I TO %s USING (%s)', replace(owner, '%', '%%'), on_purpose)];
END $$;

CREATE OR REPLACE FUNCTION stale_access() RETURNS SETOF text
    LANGUAGE sql STABLE
AS $$
    SELECT c.relname::text
      FROM pg_class c LEFT JOIN pg_policy p ON p.polrelid = c.oid AND p.polname = 'owner'
     WHERE c.relnamespace = 'keepstone'::regnamespace AND c.relkind IN ('r', 'p')
       AND obj_description(p.oid, 'pg_policy') IS DISTINCT FROM md5(access_to(c.relname::text)::text)
     ORDER BY c.oid
$$;

CREATE OR REPLACE FUNCTION renew_access(relation text) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    said constant text[] := access_to(relation);
    statement text;
BEGIN
    FOREACH statement IN ARRAY said LOOP
        EXECUTE format(statement, relation);
    END LOOP;
    EXECUTE format('COMMENT ON POLICY owner ON %I IS %L', relation, md5(said::text));
END $$;

-- Who may call what. What stands in neither list nobody can call but the owner, and `empty_spaces` and triggers are only
-- called from within. What concerns all accounts is the worker's: the pool that answers requests can't call it.
DO $$
DECLARE
    one record;
    asked_by_requests constant text[] := ARRAY[
        'scope_account', 'scope_spaces', 'scope_visibilities', 'enter_scope', 'enter_vault', 'own_account', 'room_of', 'passing_nodes',
        'entity_places', 'account_standing', 'charge', 'survey_talk', 'append_talk',
        -- before an account is known
        'credential_holder', 'token_holder', 'subject_holder', 'account_of', 'has_users',
        'count_guess', 'forgive_guesses', 'take_turn', 'give_turn_back',
        -- a number or yes and no, for /readyz and the start
        'has_passages', 'pending_embeddings', 'filling_models', 'provider_revision',
        -- in the transaction's account
        'take_over',
        -- held to a room that the transaction reaches
        'reword_message', 'trash_message', 'restore_message',
        -- held to a user of the transaction's account who is marked as erased
        'erase_traces', 'forget_jobs',
        -- of the version before (18_former.sql)
        'plan_named'];
    of_server constant text[] := ARRAY[
        -- the operator's
        'all_users', 'all_audit', 'put_plan', 'read_provider_settings', 'put_provider_settings', 'usage_of_accounts',
        'find_query', 'await_vectors_of', 'filled_spaces',
        'serving_models', 'accounts_served_by', 'delete_retired_vectors',
        -- the jobs'
        'pending_spaces', 'unfound_chats', 'rooms_to_sum_up', 'expired_items', 'digest_receivers', 'unused_indexes',
        'purge_memories', 'purge_workspaces', 'purge_entities', 'purge_statements', 'purge_audit', 'purge_traces',
        'forget_expired_logins', 'forget_space_changes', 'expire_imports'];
BEGIN
    FOR one IN SELECT p.oid::regprocedure AS signature, p.proname AS name,
                      EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.classid = 'pg_proc'::regclass
                                                        AND d.deptype = 'e') AS of_extension
                 FROM pg_proc p WHERE p.pronamespace = 'keepstone'::regnamespace LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC, keepstone_app, keepstone_worker', one.signature);
        IF one.of_extension OR one.name = ANY (asked_by_requests) OR one.name LIKE 'procrastinate\_defer\_jobs%' THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO keepstone_app', one.signature);
        END IF;
        IF one.name = ANY (of_server) OR one.name LIKE 'procrastinate\_%' THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO keepstone_worker', one.signature);
        END IF;
    END LOOP;
END $$;
