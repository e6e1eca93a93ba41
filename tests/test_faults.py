"""What a fault of the database is called: only a connection that is gone is "not answering"."""

import math
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from keepstone.errors import DiskFull, KeepstoneError, TooLarge, Unavailable
from keepstone.model.principal import ReadScope
from keepstone.services import Services
from keepstone.store.db import Database


@pytest.mark.parametrize(
    ("state", "kind", "code"),
    [
        ("08006", Unavailable, "unavailable"),
        ("57P01", Unavailable, "unavailable"),
        ("57P03", Unavailable, "unavailable"),
        ("53300", Unavailable, "database_busy"),
        ("53200", Unavailable, "out_of_memory"),
        ("53100", DiskFull, "disk_full"),
        ("40001", Unavailable, "collision"),
        ("40P01", Unavailable, "collision"),
        ("55P03", Unavailable, "collision"),
        ("58030", Unavailable, "database_fault"),
        ("54000", TooLarge, "too_large"),
    ],
)
async def test_each_kind_of_fault_has_its_own_reason(
    services: Services, state: str, kind: type[KeepstoneError], code: str
) -> None:
    with pytest.raises(kind) as raised:
        async with services.db.transaction(ReadScope(account=1)) as conn:
            await conn.execute(f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END $$".encode())
    assert raised.value.code == code


async def test_what_takes_too_long_says_so_and_the_next_is_served(services: Services) -> None:
    with pytest.raises(Unavailable, match="took too long"):
        async with services.db.transaction(ReadScope(account=1)) as conn:
            await conn.execute(b"SET LOCAL statement_timeout = '10ms'; SELECT pg_sleep(60)")
    async with services.db.transaction(ReadScope(account=1)) as conn:
        assert await (await conn.execute("SELECT 1")).fetchone() == (1,)


async def test_an_entry_too_long_for_an_index_is_the_callers_and_no_outage(services: Services) -> None:
    with pytest.raises(TooLarge, match="make it shorter"):
        async with services.db.transaction(ReadScope(account=1)) as conn:
            await conn.execute(
                b"CREATE TEMP TABLE names (name text UNIQUE);"
                b"INSERT INTO names SELECT string_agg(md5(n::text), '') FROM generate_series(1, 300) n"
            )


async def test_a_connection_that_is_gone_is_not_answering(services: Services) -> None:
    with pytest.raises(Unavailable, match="not answering") as raised:
        async with services.db.transaction(ReadScope(account=1)) as conn:
            await conn.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert raised.value.retry_after == 1


async def test_a_connection_that_was_ended_while_nobody_used_it_is_not_felt(services: Services) -> None:
    async with services.db.transaction(ReadScope(account=1)) as conn:
        number = conn.info.backend_pid
    async with services.db.as_owner() as owner:
        await owner.execute("SELECT pg_terminate_backend(%(number)s::int, 5000)", {"number": number})
    async with services.db.transaction(ReadScope(account=1)) as conn:
        assert conn.info.backend_pid != number


async def test_a_connection_that_was_just_used_is_not_asked_whether_it_lives(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    check = AsyncConnectionPool.check_connection

    async def counted(conn: Any) -> None:
        asked.append(conn)
        await check(conn)

    monkeypatch.setattr(AsyncConnectionPool, "check_connection", counted)
    async with services.db.unscoped() as conn:
        conn.checked_at = -math.inf
    asked.clear()
    async with services.db.unscoped() as conn:
        assert asked == [conn], "nobody has heard of it for long"
    for _ in range(5):
        async with services.db.unscoped():
            pass
    assert asked == [conn]


async def test_a_connection_that_goes_while_a_job_is_added_is_not_answering_either(services: Services) -> None:
    async def add_a_job() -> None:
        async with services.db.transaction(ReadScope(account=1)) as conn:
            number = conn.info.backend_pid
            async with services.db.as_owner() as owner:
                await owner.execute("SELECT pg_terminate_backend(%(number)s::int, 5000)", {"number": number})
            await services.queue.add(conn, "map_vault", account=1, space=1)

    with pytest.raises(Unavailable, match="not answering"):
        await add_a_job()


async def test_a_mistake_of_ours_stays_what_it_is(services: Services) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        async with services.db.transaction(ReadScope(account=1)) as conn:
            await conn.execute("SELECT 1 / 0")


async def test_no_connection_left_is_no_outage(database: str) -> None:
    db = Database(database, owner=database, size=1, wait_seconds=0.1)
    await db.open()
    try:
        async with db.unscoped():
            with pytest.raises(Unavailable, match="in use"):
                async with db.unscoped():
                    pass
    finally:
        await db.close()
