"""Migrations: forward, one at a time, repeatable, and a fresh database equals an upgraded one."""

import asyncio
from dataclasses import replace

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from conftest import Server
from keepstone.errors import Misconfigured
from keepstone.store import migrate as module
from keepstone.store.migrate import migrate, migrations, pending
from keepstone.store.requirements import check_pgvector_version, check_server_version
from schema import RECORDED, describe

ONCE = [migration.name for migration in migrations() if not migration.repeatable]


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


async def test_a_fresh_schema_is_the_recorded_one(postgres: Server) -> None:
    assert await describe(postgres.database("migrated")) == RECORDED.read_text(), "`make schema` records a new one"


@pytest.mark.parametrize("upto", ONCE)
async def test_a_fresh_schema_equals_an_upgraded_one(postgres: Server, empty_database: str, upto: str) -> None:
    await migrate(empty_database, upto=upto)
    async with await psycopg.AsyncConnection.connect(empty_database) as conn:
        await conn.execute("SET search_path = keepstone")
        await conn.execute("INSERT INTO accounts (account, id, name, plan) VALUES (1, 'acct_a', 'a', 'free')")
        await conn.execute("INSERT INTO users (account, id, email) VALUES (1, 'usr_a', 'a@example.org')")
    await migrate(empty_database)
    assert await describe(empty_database) == await describe(postgres.database("migrated"))
    async with await psycopg.AsyncConnection.connect(empty_database) as conn:
        assert await (await conn.execute("SELECT count(*) FROM keepstone.users")).fetchone() == (1,)


async def test_a_repeatable_one_runs_again_when_its_text_changed(empty_database: str) -> None:
    await migrate(empty_database)
    async with await psycopg.AsyncConnection.connect(empty_database) as conn:
        await conn.execute("DROP FUNCTION keepstone.has_users()")
        await conn.execute("UPDATE keepstone.migrations SET sha256 = 'older' WHERE name = '10_functions.sql'")
    async with await psycopg.AsyncConnection.connect(empty_database) as conn:
        assert await pending(conn) == ["10_functions.sql"]
    assert await migrate(empty_database) == ["10_functions.sql", "20_access.sql"]
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
    assert await applied(empty_database) == {}
    assert set(ONCE) <= set(await migrate(empty_database)), "and the next run starts clean"


async def test_a_killed_run_does_not_lock_the_next_out(empty_database: str) -> None:
    holder = await psycopg.AsyncConnection.connect(empty_database, autocommit=True)
    await holder.execute("SELECT pg_advisory_lock(%s)", [module._LOCK])
    waiting = asyncio.create_task(migrate(empty_database))
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as conn:
        await conn.execute("SELECT pg_terminate_backend(%s)", [holder.info.backend_pid])
    assert set(ONCE) <= set(await waiting)
    await holder.close()


async def test_a_database_from_a_newer_keepstone_is_refused(empty_database: str) -> None:
    await migrate(empty_database)
    async with await psycopg.AsyncConnection.connect(empty_database) as conn:
        await conn.execute("INSERT INTO keepstone.migrations (name, sha256) VALUES ('9999_future.sql', '')")
    with pytest.raises(Misconfigured, match="newer Keepstone"):
        await migrate(empty_database)


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
            with pytest.raises(Misconfigured, match="GRANT keepstone_app, keepstone_worker TO"):
                await migrate(plain)
            await conn.execute("GRANT keepstone_app, keepstone_worker TO plain")
            assert set(ONCE) <= set(await migrate(plain)), "an ordinary user with the two roles is enough"
        finally:
            await conn.execute("DROP OWNED BY plain CASCADE")
            await conn.execute("DROP ROLE plain")


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
    with pytest.raises(Misconfigured, match="apt install postgresql-16-pgvector"):
        check_pgvector_version(None, server=160003)
    with pytest.raises(Misconfigured, match=r"pgvector 0\.6\.2; Keepstone needs 0\.7"):
        check_pgvector_version("0.6.2", server=160003)
    check_server_version(150000)
    check_pgvector_version("0.7.0", server=150000)
    check_pgvector_version("0.10.1", server=150000)
