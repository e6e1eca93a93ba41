"""Migrations: forward, one at a time, repeatable, and a fresh database equals an upgraded one."""

import asyncio
from dataclasses import replace

import psycopg
import pytest
from bench import citus
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from conftest import Server
from keepstone.errors import Misconfigured
from keepstone.store import migrate as module
from keepstone.store.db import APP_ROLE, WORKER_ROLE
from keepstone.store.migrate import migrate, migrations, pending
from keepstone.store.requirements import check_pgvector_version, check_server_version
from keepstone.store.roles import login_fault, role_conninfo, role_password
from schema import RECORDED, describe

ONCE = [migration.name for migration in migrations() if not migration.repeatable]


# What only one Postgres has: a cluster's plans are of one account each.
_ALONE = " SET {plan_cache_mode=force_generic_plan}"


def recorded() -> str:
    """The schema as it has to be, here."""
    text = RECORDED.read_text()
    return text.replace(_ALONE, "") if citus.PROGRAMS else text


async def applied(conninfo: str) -> dict[str, str]:
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        return dict(await (await conn.execute("SELECT name, sha256 FROM keepstone.migrations")).fetchall())


async def test_a_second_run_changes_nothing(empty_database: str) -> None:
    assert set(ONCE) <= set(await migrate(empty_database))
    before = await describe(empty_database)
    assert await migrate(empty_database) == []
    assert await describe(empty_database) == before


async def test_ten_processes_may_start_at_once(empty_database: str) -> None:
    runs = await asyncio.gather(*(migrate(empty_database) for _ in range(10)))
    assert sorted(map(bool, runs)) == [False] * 9 + [True], "one did the work, nine found it done"


async def test_a_fresh_schema_is_the_recorded_one(empty_database: str) -> None:
    await migrate(empty_database)
    assert await describe(empty_database) == recorded(), "`make schema` records a new one"


@pytest.mark.parametrize("upto", ONCE)
async def test_a_fresh_schema_equals_an_upgraded_one(empty_database: str, upto: str) -> None:
    await migrate(empty_database, upto=upto)
    async with await psycopg.AsyncConnection.connect(empty_database) as conn:
        await conn.execute("SET search_path = keepstone; SET keepstone.owner = 'on'")
        await conn.execute("INSERT INTO accounts (account, id, name, plan) VALUES (1, 'acct_a', 'a', 'free')")
        await conn.execute("INSERT INTO users (account, id, email) VALUES (1, 'usr_a', 'a@example.org')")
    await migrate(empty_database)
    assert await describe(empty_database) == recorded()
    async with await psycopg.AsyncConnection.connect(empty_database) as conn:
        await conn.execute("SET keepstone.owner = 'on'")
        assert await (await conn.execute("SELECT count(*) FROM keepstone.users")).fetchone() == (1,)


async def test_a_repeatable_one_runs_again_when_its_text_changed(empty_database: str) -> None:
    await migrate(empty_database)
    async with await psycopg.AsyncConnection.connect(empty_database) as conn:
        await conn.execute("SET keepstone.owner = 'on'")
        await conn.execute("DROP FUNCTION keepstone.has_users()")
        await conn.execute(
            'UPDATE keepstone.schema_level SET repeatable = repeatable || \'{"10_functions.sql": "older"}\''
        )
    async with await psycopg.AsyncConnection.connect(empty_database) as conn:
        assert await pending(conn) == ["10_functions.sql"]
    again = [migration.name for migration in migrations() if migration.repeatable]
    assert await migrate(empty_database) == again
    async with await psycopg.AsyncConnection.connect(empty_database) as conn:
        assert await (await conn.execute("SELECT keepstone.has_users()")).fetchone() == (False,)


async def test_a_migration_that_fails_leaves_nothing_half_done(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [replace(migrations()[0], text=migrations()[0].text + "; SELECT 1/0;")]
    with monkeypatch.context() as patched:
        patched.setattr(module, "migrations", lambda: broken)
        with pytest.raises(psycopg.errors.DivisionByZero):
            await migrate(empty_database)
    async with await psycopg.AsyncConnection.connect(empty_database) as conn:
        assert await (await conn.execute("SELECT to_regnamespace('keepstone')")).fetchone() == (None,)
    assert set(ONCE) <= set(await migrate(empty_database)), "and the next run starts clean"


async def test_a_killed_run_does_not_lock_the_next_out(empty_database: str) -> None:
    holder = await psycopg.AsyncConnection.connect(empty_database, autocommit=True)
    await holder.execute("SELECT pg_advisory_lock(%s)", [module._LOCK])
    waiting = asyncio.create_task(migrate(empty_database))
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as conn:
        await conn.execute("SELECT pg_terminate_backend(%s::int)", [holder.info.backend_pid])
    assert set(ONCE) <= set(await waiting)
    await holder.close()


async def test_a_database_from_a_newer_keepstone_is_refused(empty_database: str) -> None:
    await migrate(empty_database)
    async with await psycopg.AsyncConnection.connect(empty_database) as conn:
        await conn.execute("SET keepstone.owner = 'on'")
        await conn.execute("INSERT INTO keepstone.migrations (name, sha256) VALUES ('9999_future.sql', '')")
    with pytest.raises(Misconfigured, match="newer Keepstone"):
        await migrate(empty_database)


def worker_password(password: str | None) -> bytes:
    return f"ALTER ROLE keepstone_worker PASSWORD '{password}'".encode()


@pytest.mark.skipif(bool(citus.PROGRAMS), reason="makes databases and roles that only one Postgres knows")
async def test_a_user_without_rights_is_told_what_to_run(postgres: Server, empty_database: str) -> None:
    name = str(conninfo_to_dict(empty_database)["dbname"])
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as conn:
        await conn.execute("CREATE ROLE plain LOGIN PASSWORD 'plain'")
        await conn.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO plain").format(sql.Identifier(name)))
        try:
            plain = make_conninfo(empty_database, user="plain", password="plain")
            with pytest.raises(Misconfigured, match="CREATE EXTENSION vector"):
                await migrate(plain)
            await conn.execute("CREATE EXTENSION vector")
            with pytest.raises(Misconfigured, match=r"ALTER ROLE .* CREATEROLE; or make them yourself"):
                await migrate(plain)
            by_hand = role_conninfo(empty_database, APP_ROLE)
            await conn.execute(worker_password(role_password(empty_database, APP_ROLE)))
            await migrate(plain, roles_url=by_hand)
            assert set(ONCE) <= set(await applied(empty_database)), "an ordinary user beside the two roles is enough"
            # Its own tables hold it, unless it says that it means all accounts; the functions answer all the same.
            async with (
                await psycopg.AsyncConnection.connect(plain) as owner,
                await psycopg.AsyncConnection.connect(role_conninfo(plain, APP_ROLE, by_hand)) as app,
            ):
                fill = "INSERT INTO keepstone.accounts (account, id, name, plan) VALUES (1, 'acct_a', 'a', 'free')"
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    await owner.execute(fill)
                await owner.rollback()
                await owner.execute("SET keepstone.owner = 'on'")
                await owner.execute(fill)
                await owner.execute("RESET keepstone.owner")
                assert await (await owner.execute("SELECT count(*) FROM keepstone.accounts")).fetchone() == (0,)
                await owner.commit()
                known = await (await app.execute("SELECT account_of('account', 'acct_a')")).fetchone()
                assert known == (1,)
        finally:
            await conn.execute(worker_password(role_password(empty_database, WORKER_ROLE)))
            await conn.execute("DROP OWNED BY plain CASCADE")
            await conn.execute("DROP ROLE plain")


@pytest.mark.skipif(bool(citus.PROGRAMS), reason="the owner of the embedded Postgres has no such name there")
async def test_the_roles_log_in_with_passwords_derived_from_the_owners(empty_database: str) -> None:
    await migrate(empty_database)
    for role in (APP_ROLE, WORKER_ROLE):
        own = role_conninfo(empty_database, role)
        assert own == role_conninfo(empty_database, role), "every server finds the same"
        assert conninfo_to_dict(own)["user"] == role
        async with await psycopg.AsyncConnection.connect(own) as conn:
            state = await conn.execute("SELECT session_user::text, current_setting('TimeZone')")
            assert await state.fetchone() == (role, "UTC")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await conn.execute("SET ROLE keepstone")
    passwords = {conninfo_to_dict(role_conninfo(empty_database, role))["password"] for role in (APP_ROLE, WORKER_ROLE)}
    assert len(passwords) == 2
    assert conninfo_to_dict(empty_database)["password"] not in passwords


async def test_a_role_that_was_changed_can_log_in_again_after_a_start(empty_database: str) -> None:
    await migrate(empty_database)
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as conn:
        await conn.execute("ALTER ROLE keepstone_worker NOLOGIN")
    assert await login_fault(role_conninfo(empty_database, WORKER_ROLE), WORKER_ROLE) is not None
    assert await migrate(empty_database) == []
    assert await login_fault(role_conninfo(empty_database, WORKER_ROLE), WORKER_ROLE) is None


@pytest.mark.skipif(bool(citus.PROGRAMS), reason="the owner there makes nobody a superuser")
async def test_whoever_no_policy_holds_is_refused(empty_database: str) -> None:
    """What requests see would be all that there is: as the owner, a superuser, or a role that may more."""
    await migrate(empty_database)
    with pytest.raises(
        Misconfigured, match=r"keepstone_app can't work: whoever logs in as it is keepstone, whom row-l"
    ):
        await migrate(empty_database, roles_url=empty_database)
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as conn:
        for more, less in (("SUPERUSER", "NOSUPERUSER"), ("BYPASSRLS", "NOBYPASSRLS")):
            await conn.execute(f"ALTER ROLE keepstone_worker {more}".encode())
            try:
                with pytest.raises(
                    Misconfigured, match=r"keepstone_worker can't work: row-level security does not hold"
                ):
                    await migrate(empty_database)
            finally:
                await conn.execute(f"ALTER ROLE keepstone_worker {less}".encode())
        await conn.execute("GRANT keepstone_worker TO keepstone_app")
        try:
            with pytest.raises(Misconfigured, match="or be a member of another role"):
                await migrate(empty_database)
        finally:
            await conn.execute("REVOKE keepstone_worker FROM keepstone_app")
        await conn.execute("CREATE TABLE keepstone.of_the_app (x int)")
        await conn.execute("ALTER TABLE keepstone.of_the_app OWNER TO keepstone_app")
        with pytest.raises(Misconfigured, match="own tables of Keepstone's"):
            await migrate(empty_database)
        await conn.execute("DROP TABLE keepstone.of_the_app")
    assert await migrate(empty_database) == []


def test_a_connection_string_without_a_password_changes_the_user_alone() -> None:
    bare = "postgresql://memo@db.example/keepstone"
    assert conninfo_to_dict(role_conninfo(bare, APP_ROLE)) == {
        "user": "keepstone_app", "host": "db.example", "dbname": "keepstone"
    }  # fmt: skip
    whole = "postgresql://memo:secret@db.example/keepstone"
    derived = conninfo_to_dict(role_conninfo(whole, APP_ROLE))["password"]
    for given, password in (("", derived), (":another", "another")):
        pooled = f"postgresql://keepstone_app{given}@pool.example:6543/keepstone"
        assert conninfo_to_dict(role_conninfo(whole, APP_ROLE, pooled))["password"] == password
    pooled = "postgresql://keepstone_app.ref:secret@pool.example:6543/keepstone"
    assert conninfo_to_dict(role_conninfo(bare, WORKER_ROLE, pooled)) == {
        "user": "keepstone_worker.ref", "password": "secret", "host": "pool.example", "port": "6543",
        "dbname": "keepstone",
    }  # fmt: skip


async def test_a_database_in_another_encoding_is_refused(postgres: Server) -> None:
    async with await psycopg.AsyncConnection.connect(postgres.conninfo, autocommit=True) as conn:
        await conn.execute(
            "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0"
        )
    with pytest.raises(Misconfigured, match="Keepstone needs UTF8"):
        await migrate(postgres.database("ascii"))
    await postgres.drop("ascii")


def test_an_old_server_or_extension_is_a_clear_error() -> None:
    with pytest.raises(Misconfigured, match=r"version 14; Keepstone needs 15 or newer"):
        check_server_version(140011)
    # Of Postgres's own repository: Debian 12 has no package of it, and that of Ubuntu 24.04 is too old.
    with pytest.raises(Misconfigured, match=r"pgdg/apt\.postgresql\.org\.sh -y`.* install postgresql-15-pgvector`"):
        check_pgvector_version(None, server=150018)
    with pytest.raises(Misconfigured, match=r"0\.6\.0; Keepstone needs 0\.7 .*postgresql-16-pgvector`.* UPDATE"):
        check_pgvector_version("0.6.0", server=160003)
    check_server_version(150000)
    check_pgvector_version("0.7.0", server=150000)
    check_pgvector_version("0.10.1", server=150000)
