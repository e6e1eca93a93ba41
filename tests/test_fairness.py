"""One account can't take the database: statements, transactions at once and filters have bounds, and what nobody waits
for any more is stopped.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from conftest import World
from keepstone.access.readscope import account_scope
from keepstone.errors import RateLimited, Unavailable
from keepstone.services import Services
from keepstone.store.db import APP_ROLE, Database, fetch_value, take_time
from keepstone.store.roles import role_conninfo
from locks import hold, until_waiting


@pytest.fixture
async def small(database: str, services: Services) -> AsyncGenerator[Database]:
    """Four connections, two of them for one account."""
    db = Database(
        role_conninfo(database, APP_ROLE), owner=database, size=4, wait_seconds=0.2, statement_seconds=1
    )  # fmt: skip
    await db.open()
    yield db
    await db.close()


async def test_a_statement_that_takes_too_long_is_stopped_unless_it_may(small: Database, world: World) -> None:
    scope = account_scope(world.owner.principal)
    with pytest.raises(Unavailable) as refused:
        async with small.transaction(scope) as conn:
            await conn.execute("SELECT pg_sleep(60)")
    assert refused.value.code == "timeout"
    async with small.transaction(scope) as conn:
        assert await fetch_value(conn, "SHOW statement_timeout") == "1s"
        await take_time(conn)
        assert await fetch_value(conn, "SHOW statement_timeout") == "0"
    async with small.transaction(scope) as conn:
        assert await fetch_value(conn, "SHOW statement_timeout") == "1s", "that held for the one transaction"


async def test_one_account_leaves_connections_for_others(small: Database, world: World) -> None:
    scope, other = account_scope(world.owner.principal), account_scope(world.stranger.principal)
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(small.transaction(scope))
        with pytest.raises(RateLimited) as refused:
            async with small.transaction(scope):
                pass
        assert refused.value.retry_after
        async with small.transaction(other) as conn:
            assert await fetch_value(conn, "SELECT 1") == 1
    async with small.transaction(scope) as conn:
        assert await fetch_value(conn, "SELECT 1") == 1, "and then it has its turn"


async def test_whoever_waits_for_a_turn_gets_it(database: str, services: Services, world: World) -> None:
    db = Database(role_conninfo(database, APP_ROLE), owner=database, size=2, wait_seconds=30)
    await db.open()
    under_way = most = 0

    async def ask() -> None:
        nonlocal under_way, most
        async with db.transaction(account_scope(world.owner.principal)) as conn:
            under_way += 1
            most = max(most, under_way)
            await fetch_value(conn, "SELECT 1")
            under_way -= 1

    await asyncio.gather(*(ask() for _ in range(50)))
    await db.close()
    assert most == 1


async def test_a_request_whose_client_has_gone_is_cancelled_with_its_statement(
    client: httpx.AsyncClient, app: FastAPI, world: World, database: str
) -> None:
    body = {"scope_id": "team", "transcript": [{"speaker": "Ben", "text": "The ferry leaves at nine."}]}
    assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202
    auth, gone = world.owner.auth, asyncio.Event()
    answered: list[str] = []

    async def call() -> None:
        given = iter([{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}])

        async def receive() -> Mapping[str, object]:
            message = next(given, None)
            if message is None:
                await gone.wait()
                return {"type": "http.disconnect"}
            return message

        async def send(message: dict[str, object]) -> None:
            answered.append(str(message["type"]))

        headers = {"host": "localhost", "content-type": "application/json", "content-length": "1000"}
        scope = {
            "type": "http", "http_version": "1.1", "method": "POST", "path": "/v1/ingest", "raw_path": b"/v1/ingest",
            "root_path": "", "query_string": b"", "scheme": "http", "client": ("127.0.0.1", 1),
            "server": ("localhost", 1),
            "headers": [(name.lower().encode(), value.encode()) for name, value in {**headers, **auth}.items()],
        }  # fmt: skip
        await app(scope, receive, send)  # pyright: ignore[reportArgumentType]

    async with (
        await psycopg.AsyncConnection.connect(database) as holder,
        await psycopg.AsyncConnection.connect(database, autocommit=True) as watcher,
    ):
        await holder.execute("SET keepstone.owner = 'on'")
        await hold(holder, "spaces")
        request = asyncio.create_task(call())
        await until_waiting(watcher, 1)
        gone.set()
        await asyncio.wait_for(request, 20)
        await until_waiting(watcher, 0)
        assert answered == []
        await holder.rollback()
    assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202


async def test_a_filter_that_would_read_every_text_many_times_is_refused(
    client: httpx.AsyncClient, world: World
) -> None:
    for each in ({"memory": {"icontains": "tea"}}, {"metadata": {"note": {"contains": "tea"}}}):
        for count, status in ((10, 200), (11, 400), (190, 400)):
            filters = {"AND": [{"user_id": "anna"}, {"OR": [each] * count}]}
            answer = await client.post("/v3/memories/", headers=world.owner.auth, json={"filters": filters})
            assert answer.status_code == status, answer.text
            assert status == 200 or "ask for less" in answer.text
