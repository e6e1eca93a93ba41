-- What servers of the version before call and those of this one don't: both work on one database while one takes the
-- place of the other (docs/operations.md). Each is the present function in its former shape. They go with the next version.

CREATE OR REPLACE FUNCTION plan_named(wanted text) RETURNS SETOF plans
    LANGUAGE sql STABLE ROWS 1
AS $$
    SELECT * FROM plans WHERE name IN (wanted, 'free') ORDER BY name = wanted DESC LIMIT 1
$$;

CREATE OR REPLACE FUNCTION credential_holder(kind text, wanted text)
    RETURNS TABLE (account int, account_id text, credential_id text, user_id text, role text, is_admin boolean,
                   key_per_minute int, account_per_minute int, secret_hash bytea, stale boolean,
                   permission text, surfaces text[], spaces bigint[], expires_at timestamptz, lacks_factor boolean,
                   timezone text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT * FROM credential_holder(account_of(kind, wanted), kind, wanted)
$$;

CREATE OR REPLACE FUNCTION token_holder(wanted_user text, minted_with text)
    RETURNS TABLE (account int, account_id text, credential_id text, user_id text, role text, is_admin boolean,
                   key_per_minute int, account_per_minute int, permission text, surfaces text[], spaces bigint[],
                   expires_at timestamptz, lacks_factor boolean, acting boolean, timezone text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT * FROM token_holder(account_of('user', wanted_user), wanted_user, minted_with)
$$;

CREATE OR REPLACE FUNCTION room_of(wanted text) RETURNS TABLE (allowed bigint, used bigint, cold_tier boolean)
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT * FROM room_of(scope_account(), wanted)
$$;

CREATE OR REPLACE FUNCTION take_over(wanted text, former text[], large bigint, widest int) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT take_over(scope_account(), wanted, former, large, widest)
$$;

CREATE OR REPLACE FUNCTION passing_nodes(graph bigint, wanted_type text, wanted jsonb, since timestamptz,
                                         until timestamptz, as_of timestamptz, most bigint) RETURNS bigint[]
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT passing_nodes(scope_account(), graph, wanted_type, wanted, since, until, as_of, most)
$$;

CREATE OR REPLACE FUNCTION entity_places(ids text[]) RETURNS TABLE (memory_id text, space bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT * FROM entity_places(scope_account(), ids)
$$;

CREATE OR REPLACE FUNCTION reword_message(place bigint, wanted text, new_text text, new_attachments jsonb, by_user text,
                                          moment timestamptz) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT reword_message(scope_account(), place, wanted, new_text, new_attachments, by_user, moment)
$$;

CREATE OR REPLACE FUNCTION trash_message(place bigint, wanted text, by_user text, moment timestamptz, held_again text[],
                                         held_instead text[]) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT trash_message(scope_account(), place, wanted, by_user, moment, held_again, held_instead)
$$;

CREATE OR REPLACE FUNCTION restore_message(place bigint, wanted text, by_user text, moment timestamptz) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
    SELECT restore_message(scope_account(), place, wanted, by_user, moment)
$$;

CREATE OR REPLACE FUNCTION erase_traces(wanted text) RETURNS TABLE (place bigint, what text, id text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepstone, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    one record;
    gone bigint[];
BEGIN
    FOR one IN SELECT * FROM erase_traces(scope_account(), wanted) LOOP
        IF one.what = 'gone' THEN
            gone := gone || one.place;
        ELSE
            place := one.place;
            what := one.what;
            id := one.id;
            RETURN NEXT;
        END IF;
    END LOOP;
    PERFORM forget_jobs(scope_account(), wanted, coalesce(gone, '{}'));
END $$;
