"""The roles that the server logs in as can become nobody else and call only what they need."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from capsules import rows
from keepstone.errors import KeepstoneError
from keepstone.services import Services
from keepstone.store.db import APP_ROLE, WORKER_ROLE, Database
from keepstone.store.roles import ROLES, role_conninfo

# Each function of the schema, and who may call it. Whoever adds one decides here and in 20_access.sql.
CALLABLE = {
    "scope_account": {APP_ROLE},
    "scope_spaces": {APP_ROLE},
    "scope_visibilities": {APP_ROLE},
    "plan_named": {APP_ROLE},
    "room_of": {APP_ROLE},
    "enter_scope": {APP_ROLE},
    "enter_vault": {APP_ROLE},
    "own_account": {APP_ROLE},
    "forget_jobs": {APP_ROLE},
    "on_purpose": set[str](),
    "is_distributed": set[str](),
    "place_fact": set[str](),
    "access_to": set[str](),
    "stale_access": set[str](),
    "renew_access": set[str](),
    "passing_nodes": {APP_ROLE},
    "entity_places": {APP_ROLE},
    "credential_holder": {APP_ROLE},
    "token_holder": {APP_ROLE},
    "subject_holder": {APP_ROLE},
    "account_of": {APP_ROLE},
    "has_users": {APP_ROLE},
    "count_guess": {APP_ROLE},
    "forgive_guesses": {APP_ROLE},
    "take_turn": {APP_ROLE},
    "give_turn_back": {APP_ROLE},
    "has_passages": {APP_ROLE},
    "pending_embeddings": {APP_ROLE},
    "filling_models": {APP_ROLE},
    "provider_revision": {APP_ROLE},
    "take_over": {APP_ROLE},
    "account_standing": {APP_ROLE},
    "charge": {APP_ROLE},
    "survey_talk": {APP_ROLE},
    "append_talk": {APP_ROLE},
    "reword_message": {APP_ROLE},
    "trash_message": {APP_ROLE},
    "restore_message": {APP_ROLE},
    "erase_traces": {APP_ROLE},
    "all_users": {WORKER_ROLE},
    "all_audit": {WORKER_ROLE},
    "purge_audit": {WORKER_ROLE},
    "purge_traces": {WORKER_ROLE},
    "put_plan": {WORKER_ROLE},
    "read_provider_settings": {WORKER_ROLE},
    "put_provider_settings": {WORKER_ROLE},
    "usage_of_accounts": {WORKER_ROLE},
    "kept_by_accounts": set[str](),
    "find_query": {WORKER_ROLE},
    "await_vectors_of": {WORKER_ROLE},
    "filled_spaces": {WORKER_ROLE},
    "serving_models": {WORKER_ROLE},
    "accounts_served_by": {WORKER_ROLE},
    "delete_retired_vectors": {WORKER_ROLE},
    "pending_spaces": {WORKER_ROLE},
    "unfound_chats": {WORKER_ROLE},
    "rooms_to_sum_up": {WORKER_ROLE},
    "expired_items": {WORKER_ROLE},
    "digest_receivers": {WORKER_ROLE},
    "unused_indexes": {WORKER_ROLE},
    "purge_memories": {WORKER_ROLE},
    "purge_workspaces": {WORKER_ROLE},
    "purge_entities": {WORKER_ROLE},
    "purge_statements": {WORKER_ROLE},
    "forget_expired_logins": {WORKER_ROLE},
    "forget_space_changes": {WORKER_ROLE},
    "expire_imports": {WORKER_ROLE},
    "empty_spaces": set[str](),
    "require_room": set[str](),
    "note_first_wording": set[str](),
}

CLIMBING = [
    "SET ROLE {owner}",
    "SET SESSION AUTHORIZATION {owner}",
    "SET ROLE {other}",
    "GRANT {owner} TO {self}",
    "ALTER ROLE {self} SUPERUSER",
    "ALTER ROLE {self} BYPASSRLS",
    "CREATE ROLE somebody",
    "ALTER TABLE keepstone.messages DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE keepstone.messages NO FORCE ROW LEVEL SECURITY",
    "ALTER TABLE keepstone.messages OWNER TO {self}",
    "DROP POLICY scope ON keepstone.messages",
    "CREATE POLICY all_of_it ON keepstone.messages USING (true)",
    "TRUNCATE keepstone.messages",
    "DROP TABLE keepstone.messages",
    "CREATE TABLE keepstone.mine (x int)",
    "CREATE TABLE public.mine (x int)",
    "CREATE SCHEMA mine",
    "DROP EXTENSION vector CASCADE",
    "CREATE FUNCTION keepstone.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE OR REPLACE FUNCTION keepstone.has_users() RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    "ALTER FUNCTION keepstone.has_users() SECURITY INVOKER",
    "CREATE TRIGGER mine BEFORE INSERT ON keepstone.messages"
    " EXECUTE FUNCTION keepstone.procrastinate_notify_queue_job_inserted_v1()",
    "COPY (SELECT 1) TO PROGRAM 'cat'",
    "COPY (SELECT 1) TO '/tmp/keepstone-climbs'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_read_binary_file('PG_VERSION')",
    "SELECT pg_ls_dir('.')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT rolpassword FROM pg_authid",
    "ALTER SYSTEM SET log_statement = 'all'",
    "SELECT pg_reload_conf()",
    "SET session_replication_role = replica",
    "LOAD 'auto_explain'",
    "SELECT * FROM keepstone.all_users(NULL, NULL, NULL, NULL, 10)",
    "SELECT keepstone.empty_spaces(1, '{{1}}')",
]


@asynccontextmanager
async def logged_in(database: str, role: str) -> AsyncGenerator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(role_conninfo(database, role), autocommit=True) as conn:
        yield conn


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_of_the_server_can_become_nobody_and_change_nothing_of_the_database(
    database: str, services: Services, role: str
) -> None:
    owner = str(conninfo_to_dict(database)["user"])
    other = next(name for name in ROLES if name != role)
    async with logged_in(database, role) as conn:
        for statement in CLIMBING:
            if role == WORKER_ROLE and "all_users" in statement:
                continue  # the operator's, see above
            text: Any = statement.format(owner=owner, other=other, self=role)
            with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedFile)):
                await conn.execute(text)
        for way_back in ("RESET ROLE", "RESET SESSION AUTHORIZATION", "SET ROLE NONE", "DISCARD ALL"):
            await conn.execute(way_back)
            row = await (await conn.execute("SELECT session_user::text, current_user::text")).fetchone()
            assert row == (role, role), way_back


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_of_the_server_is_in_no_other_and_owns_nothing(
    database: str, services: Services, role: str
) -> None:
    may = "rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication"
    assert await rows(database, f"SELECT {may} FROM pg_roles WHERE rolname = %s", [role]) == [(False,)]
    member = "SELECT 1 FROM pg_auth_members WHERE member = %s::regrole"
    assert await rows(database, member, [role]) == []
    for owned in ("pg_class WHERE relowner", "pg_proc WHERE proowner", "pg_namespace WHERE nspowner"):
        assert await rows(database, f"SELECT 1 FROM {owned} = %s::regrole", [role]) == []


async def test_the_connections_of_requests_and_of_the_queue_log_in_as_these(services: Services) -> None:
    asked = "SELECT session_user::text"
    async with services.db.unscoped() as conn:
        assert await (await conn.execute(asked)).fetchone() == (APP_ROLE,)
    async with services.db.of_server() as conn:
        assert await (await conn.execute(asked)).fetchone() == (WORKER_ROLE,)


async def test_who_may_call_a_function_is_decided(database: str, services: Services) -> None:
    """What the queue's package and the extension bring is theirs: the worker needs the former, requests the latter."""
    listed = await rows(
        database,
        """
        SELECT p.proname, p.prosecdef, has_function_privilege('public', p.oid, 'EXECUTE'),
               ARRAY(SELECT r.rolname::text FROM pg_roles r
                      WHERE r.rolname = ANY (%s) AND has_function_privilege(r.oid, p.oid, 'EXECUTE')),
               coalesce(array_to_string(p.proconfig, ','), '')
          FROM pg_proc p
         WHERE p.pronamespace = 'keepstone'::regnamespace AND p.proname NOT LIKE 'procrastinate%%'
           AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
        """,
        [list(ROLES)],
    )
    found = {name: set(callers) for name, _, _, callers, _ in listed}
    assert found == CALLABLE, "a new function: decide in 20_access.sql who may call it, and write it down here"
    assert [name for name, _, public, _, _ in listed if public] == []
    loose = [name for name, definer, _, _, config in listed if definer and "search_path=keepstone" not in config]
    assert loose == [], "a function that runs as the owner has to say where it looks for names"
    for_everybody = await rows(
        database,
        "SELECT proname FROM pg_proc WHERE pronamespace = 'keepstone'::regnamespace"
        " AND has_function_privilege('public', oid, 'EXECUTE')",
    )
    assert for_everybody == []


async def test_a_database_that_is_away_is_told_to_the_operator_as_to_everybody() -> None:
    away = Database("host=127.0.0.1 port=1", owner="", worker="host=127.0.0.1 port=1")
    with pytest.raises(KeepstoneError, match="not answering"):
        async with away.of_server():
            pass
