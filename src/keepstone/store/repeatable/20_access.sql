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

DO $$
DECLARE
    name text;
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
BEGIN
    FOR name IN SELECT jsonb_object_keys(rules) LOOP
        EXECUTE format('DROP POLICY IF EXISTS scope ON %I', name);
        EXECUTE format('CREATE POLICY scope ON %I TO keepstone_app USING (%s) WITH CHECK (%s)',
                       name, rules ->> name, rules ->> name);
        EXECUTE format('REVOKE ALL ON %I FROM keepstone_app, keepstone_worker', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO keepstone_app', name);
    END LOOP;
END $$;

-- The traces of an account are written together, whoever asked.
DROP POLICY IF EXISTS noted ON traces;
CREATE POLICY noted ON traces FOR INSERT TO keepstone_app
    WITH CHECK (account = current_setting('keepstone.account')::int);

-- What is written once stays: not even a fault in the server can change it.
REVOKE UPDATE, DELETE ON audit, usage_ledger, billing_events FROM keepstone_app;
REVOKE DELETE ON usage_months FROM keepstone_app;
REVOKE UPDATE, DELETE ON traces FROM keepstone_app;
-- What was said in a room is corrected by functions alone (12_corrections.sql).
REVOKE UPDATE, DELETE ON messages FROM keepstone_app;
-- A chat moves to another workspace; it was read once more; it stands aside of the branch that is gone on with.
GRANT UPDATE (space, reread, follows, aside) ON messages TO keepstone_app;
REVOKE INSERT, UPDATE, DELETE ON message_versions, trashed_messages FROM keepstone_app;
-- A passage that changes, or is for other readers, is deleted and made anew: that sees to whoever spoke next, too.
REVOKE UPDATE ON passages FROM keepstone_app;
GRANT UPDATE (pending) ON passages TO keepstone_app;

-- The queue belongs to procrastinate, and which servers are there is nobody's else either. A job names its account in its arguments; the server can add and see its own.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['procrastinate_jobs', 'procrastinate_events', 'procrastinate_periodic_defers',
                                'procrastinate_workers', 'job_faults', 'servers'] LOOP
        EXECUTE format('DROP POLICY IF EXISTS queue ON %I', name);
        EXECUTE format('CREATE POLICY queue ON %I TO keepstone_worker USING (true) WITH CHECK (true)', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO keepstone_worker', name);
        EXECUTE format('REVOKE ALL ON %I FROM keepstone_app', name);
    END LOOP;
END $$;
DROP POLICY IF EXISTS scope ON procrastinate_jobs;
CREATE POLICY scope ON procrastinate_jobs TO keepstone_app
    USING ((args ->> 'account')::int = current_setting('keepstone.account')::int)
    WITH CHECK ((args ->> 'account')::int = current_setting('keepstone.account')::int);
GRANT SELECT, INSERT ON procrastinate_jobs TO keepstone_app;
DROP POLICY IF EXISTS scope ON procrastinate_events;
CREATE POLICY scope ON procrastinate_events FOR INSERT TO keepstone_app WITH CHECK (true);
GRANT INSERT ON procrastinate_events TO keepstone_app;

-- Plans are the server's and not an account's. To change one is for `put_plan`.
DROP POLICY IF EXISTS readable ON plans;
CREATE POLICY readable ON plans FOR SELECT TO keepstone_app USING (true);
GRANT SELECT ON plans TO keepstone_app;

-- The providers are the server's: nobody reads or changes them but through the three functions for that.
REVOKE ALL ON provider_settings FROM keepstone_app, keepstone_worker;
-- And so is who guessed wrong.
REVOKE ALL ON guesses FROM keepstone_app, keepstone_worker;

-- Anybody may know how new the schema is.
DROP POLICY IF EXISTS readable ON migrations;
CREATE POLICY readable ON migrations FOR SELECT USING (true);
GRANT SELECT ON migrations TO keepstone_app, keepstone_worker;

-- On every table, whoever made it: row-level security for all, the owner included. But not on tables that are
-- distributed: Citus copies as their owner what lies there, and drops what it has copied.
DO $$
DECLARE
    name text;
    on_purpose constant text := 'CURRENT_USER <> SESSION_USER OR current_setting(''keepstone.owner'', true) = ''on''';
BEGIN
    FOR name IN SELECT relname FROM pg_class
                 WHERE relnamespace = 'keepstone'::regnamespace AND relkind IN ('r', 'p') LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        IF NOT is_distributed(name::regclass) THEN
            EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        END IF;
        EXECUTE format('DROP POLICY IF EXISTS owner ON %I', name);
        EXECUTE format('CREATE POLICY owner ON %I TO CURRENT_USER USING (%s)', name, on_purpose);
    END LOOP;
END $$;
