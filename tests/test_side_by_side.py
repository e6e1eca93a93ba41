"""Version N and the one before it on one database: what each may start on, what it leaves alone, and that nobody who
works meanwhile waits for a migration.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import psycopg
import pytest
from psycopg.types.json import Jsonb

from conftest import HASHER
from keepstone.errors import Misconfigured
from keepstone.runtime import open_services
from keepstone.settings import Settings
from keepstone.store import migrate as module
from keepstone.store.migrate import is_past, migrate, migrations, pending, unfinished
from keepstone.store.steps import LEVEL, parse
from keepstone.surfaces.rest.health import readiness
from test_releases import RELEASES, of_one_postgres, restore

ONCE = [one for one in migrations() if not one.repeatable]
REPEATABLE = [one for one in migrations() if one.repeatable]
Connection = psycopg.AsyncConnection


@asynccontextmanager
async def connected(database: str) -> AsyncGenerator[Connection]:
    async with await Connection.connect(database, autocommit=True, options="-c search_path=keepstone,public") as conn:
        yield conn


async def value(database: str, query: str) -> object:
    async with connected(database) as conn:
        row = await (await conn.execute(query.encode())).fetchone()
    return row and row[0]


@pytest.fixture
def with_migrations(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """This Keepstone with more of them."""

    def give(*texts: str) -> None:
        more = [parse(f"{number:04}_more.sql", text) for number, text in enumerate(texts, 9000)]
        monkeypatch.setattr(module, "migrations", lambda: [*ONCE, *more, *REPEATABLE])

    return give


async def become_newer(database: str, *, serves_since: int = LEVEL) -> None:
    """As the next version leaves it."""
    async with connected(database) as conn:
        await conn.execute("CREATE TABLE hereafter (id int)")
        await conn.execute("INSERT INTO migrations (name, sha256) VALUES ('9999_hereafter.sql', '')")
        await conn.execute(
            "CREATE OR REPLACE FUNCTION has_users() RETURNS boolean LANGUAGE sql AS 'SELECT NULL::boolean'"
        )
        await conn.execute(
            "UPDATE schema_level SET level = %s, serves_since = %s, repeatable = %s",
            [LEVEL + 1, serves_since, Jsonb({"10_functions.sql": "of the next version"})],
        )


async def test_an_older_server_starts_on_what_a_newer_one_has_expanded_and_leaves_it_as_it_is(
    database: str, settings: Settings
) -> None:
    await become_newer(database)
    assert await migrate(database) == []
    async with connected(database) as conn:
        assert await pending(conn) == []
        assert await unfinished(conn) == []
    assert await value(database, "SELECT has_users()") is None, "the functions are still those of the newer one"
    async with open_services(settings, database, HASHER) as services:
        assert (await readiness(services)).database.ok


async def test_an_older_server_is_refused_once_what_it_needs_was_removed_and_one_that_runs_is_not_ready(
    database: str, settings: Settings
) -> None:
    async with open_services(settings, database, HASHER) as services:
        await become_newer(database, serves_since=LEVEL + 1)
        told = await readiness(services)
        assert told.status == "not_ready"
        assert "start that one" in told.database.status
    async with connected(database) as conn:
        assert await is_past(conn)
    with pytest.raises(Misconfigured, match=f"from schema level {LEVEL + 1} on, and this one has {LEVEL}"):
        await migrate(database)


async def test_a_newer_server_that_was_cut_off_in_the_middle_is_known_as_newer_from_its_first_step(
    database: str, with_migrations: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_migrations("-- expand: one\nCREATE TABLE one (id int)", "-- expand: two\nSELECT 1 / 0")
    with pytest.raises(psycopg.errors.DivisionByZero):
        await migrate(database)
    async with connected(database) as conn:
        await conn.execute("UPDATE schema_level SET level = %s", [LEVEL + 1])
    monkeypatch.undo()
    assert await migrate(database) == [], "what it has done so far disturbs no older one"
    async with connected(database) as conn:
        await conn.execute("UPDATE schema_level SET level = %s", [LEVEL])
    with_migrations("-- expand: one\nCREATE TABLE one (id int)", "-- expand: two\nCREATE TABLE two (id int)")
    assert await migrate(database) == ["9001_more.sql"], "and it goes on where it was"


async def test_what_the_version_before_needs_is_removed_when_the_operator_says_so(
    database: str, empty_database: str, with_migrations: Callable[..., None]
) -> None:
    expand = "-- expand: a place for it\nCREATE TABLE place (id int)"
    contract = f"-- contract {LEVEL}: nobody asks for it\nDROP TABLE rooms_to_leave"
    async with connected(database) as conn:
        await conn.execute("CREATE TABLE rooms_to_leave (id int)")
        await conn.execute("UPDATE schema_level SET serves_since = 1")  # as where the version before was at work
    with_migrations(expand, contract)
    assert await migrate(database) == ["9000_more.sql"]
    async with connected(database) as conn:
        assert await pending(conn) == [], "a server is ready without"
        assert await unfinished(conn) == ["9001_more.sql"]
    assert await value(database, "SELECT serves_since FROM schema_level") == 1
    assert await migrate(database, finish=True) == ["9001_more.sql"]
    assert await value(database, "SELECT to_regclass('rooms_to_leave')") is None
    assert await value(database, "SELECT serves_since FROM schema_level") == LEVEL
    # Where nothing is there yet, nobody of the version before is.
    with_migrations("-- expand: x\nCREATE TABLE rooms_to_leave (id int)", contract)
    assert "9001_more.sql" in await migrate(empty_database)


async def test_what_the_version_before_the_last_needed_is_removed_at_the_start(
    database: str, with_migrations: Callable[..., None]
) -> None:
    with_migrations(f"-- contract {LEVEL - 1}: long gone\nDROP FUNCTION plan_named(text)")
    assert await migrate(database) == ["9000_more.sql"]


CONCURRENT = (
    "-- expand, concurrently: users by name\n"
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS users_by_name ON keepstone.users (account, name)"
)
IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('users_by_name')"


async def test_an_index_is_made_while_others_write_and_wait_and_migrate(
    database: str, with_migrations: Callable[..., None]
) -> None:
    with_migrations(CONCURRENT)
    async with connected(database) as writer:
        async with writer.transaction():
            await writer.execute("INSERT INTO accounts (account, id, name, plan) VALUES (1, 'acct_a', 'a', 'free')")
            await writer.execute("INSERT INTO users (account, id, email) VALUES (1, 'usr_a', 'a@example.org')")
            runs = [asyncio.create_task(migrate(database)) for _ in range(3)]
            async with connected(database) as conn:
                waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE"
                await until(conn, f"{waits} '%CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'")
            await writer.execute("INSERT INTO users (account, id, email) VALUES (1, 'usr_b', 'b@example.org')")
        assert sorted(await asyncio.gather(*runs)) == [[], [], ["9000_more.sql"]]
    assert await value(database, IS_VALID) is True


async def test_an_index_that_was_cut_off_is_made_anew(database: str, with_migrations: Callable[..., None]) -> None:
    async with connected(database) as conn:
        await conn.execute("INSERT INTO accounts (account, id, name, plan) VALUES (1, 'acct_a', 'a', 'free')")
        for number in range(2):
            await conn.execute(
                "INSERT INTO users (account, id, email, name) VALUES (1, %s, %s, 'Ada')",
                [f"usr_{number}", f"{number}@a"],
            )
        with pytest.raises(psycopg.errors.UniqueViolation):
            await conn.execute("CREATE UNIQUE INDEX CONCURRENTLY users_by_name ON users (account, name)")
    assert await value(database, IS_VALID) is False, "what Postgres leaves behind"
    with_migrations(CONCURRENT)
    assert await migrate(database) == ["9000_more.sql"]
    assert await value(database, IS_VALID) is True


async def test_an_empty_database_gets_the_same_in_its_one_transaction(
    empty_database: str, with_migrations: Callable[..., None]
) -> None:
    with_migrations(CONCURRENT)
    assert "9000_more.sql" in await migrate(empty_database)
    assert await value(empty_database, IS_VALID) is True


async def test_rows_are_filled_a_batch_at_a_time(database: str, with_migrations: Callable[..., None]) -> None:
    async with connected(database) as conn:
        await conn.execute("CREATE TABLE batches (id int, filled bigint)")
        await conn.execute("INSERT INTO batches SELECT generate_series(1, 5)")
    with_migrations(
        "-- expand, in batches: fills it\nUPDATE batches SET filled = txid_current()"
        " WHERE id IN (SELECT id FROM batches WHERE filled IS NULL LIMIT 2)"
    )
    assert await migrate(database) == ["9000_more.sql"]
    sizes = "SELECT array_agg(n ORDER BY n) FROM (SELECT count(*) AS n FROM batches GROUP BY filled)"
    assert await value(database, sizes) == [1, 2, 2]


AUDITED = """
    INSERT INTO audit (account, id, via, action) SELECT account, gen_random_uuid(), 'cli', 'test' FROM accounts
"""


async def until(conn: Connection, query: str) -> None:
    async with asyncio.timeout(60):
        while (await (await conn.execute(query.encode())).fetchone()) != (1,):
            await asyncio.sleep(0.02)


@of_one_postgres
@pytest.mark.parametrize("version", RELEASES)
async def test_a_release_is_upgraded_while_somebody_reads_for_long_and_others_write(
    version: str, empty_database: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A transaction that lasts holds the migration up. Who writes waits for neither."""
    await restore(version, empty_database)
    known = {one.name for one in migrations()}
    before = await recorded(empty_database, known)
    over, written = asyncio.Event(), {"users": 0, "audit": 0}

    async def write(table: str, statement: str) -> None:
        async with connected(empty_database) as conn:
            await conn.execute("SET lock_timeout = '5s'")
            while not over.is_set():
                await conn.execute(statement.encode())
                written[table] += 1

    def steps_back() -> int:
        return sum("steps back" in record.message for record in caplog.records)

    async def watched(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(120):
            while not condition():
                for writer in writers:
                    assert not writer.done() or writer.result()
                await asyncio.sleep(0.02)

    writers = [
        asyncio.create_task(write("users", "UPDATE users SET name = name")),
        asyncio.create_task(write("audit", AUDITED)),
    ]
    try:
        with caplog.at_level(logging.WARNING, logger=module.__name__):
            async with connected(empty_database) as reader:
                async with reader.transaction():
                    await reader.execute("SELECT count(*) FROM users, audit, messages")
                    upgrade = asyncio.create_task(migrate(empty_database))
                    for number in range(1, 4):
                        await watched(lambda number=number: steps_back() >= number)
                        seen = dict(written)
                        await watched(lambda seen=seen: all(written[table] > seen[table] for table in written))
                    assert not upgrade.done()
                assert await upgrade
    finally:
        over.set()
        await asyncio.gather(*writers)
    async with connected(empty_database) as conn:
        assert await pending(conn) == []
    after = await recorded(empty_database, known)
    assert {name: after[name] for name in before} == before, "a server of that version goes on: all it knows is there"


async def recorded(database: str, known: set[str]) -> dict[str, str]:
    """What a server of version 0.1.0 compares with its own files to know whether it is ready."""
    async with connected(database) as conn:
        rows = await (await conn.execute("SELECT name, sha256 FROM migrations")).fetchall()
    return {name: digest for name, digest in rows if name in known}
