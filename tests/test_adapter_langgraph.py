"""LangGraph's store interface on Keepstone, with the real package: held to what its own in-memory store does."""

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

import httpx
import pytest
from fastapi import FastAPI
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from adapters import URL, apart, awaited, waiting
from conftest import World
from keepstone.app import make_app
from keepstone.providers.embedder import Embedder
from keepstone.providers.embedders import Embedders
from keepstone.services import Services
from keepstone_client import AsyncKeepstone, Invalid, TooLarge
from keepstone_client.adapters.langgraph import KeepstoneStore

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def models(models: tuple[Embedder, ...]) -> tuple[Embedder, ...]:
    """The one for English."""
    return models[:1]


@pytest.fixture
async def store(app: FastAPI, world: World) -> AsyncGenerator[KeepstoneStore]:
    async with awaited(app, world.owner.key) as client:
        yield KeepstoneStore(async_client=client)


@pytest.fixture
async def reading(services: Services, world: World, models: tuple[Embedder, ...]) -> AsyncGenerator[KeepstoneStore]:
    """On a server that knows what words mean."""
    async with awaited(make_app(replace(services, embedders=Embedders(models))), world.owner.key) as client:
        yield KeepstoneStore(async_client=client)


def keys(found: Any) -> list[str]:
    return sorted(one.key for one in found)


# --------------------------------------------------------------------------------------- as the framework's own do


async def fill(store: BaseStore) -> None:
    await store.aput(("users", "alice"), "profile", {"name": "Alice", "age": 30, "city": "Oslo"})
    await store.aput(("users", "bob"), "profile", {"name": "Bob", "age": 41, "meta": {"vip": True, "level": 3}})
    await store.aput(("users", "bob", "notes"), "one", {"name": "note", "age": 1})
    await store.aput(("docs",), "readme", {"name": "Readme"})


@pytest.mark.parametrize(
    ("prefix", "wanted"),
    [
        ((), None),
        (("users",), None),
        (("users", "bob"), None),
        (("use",), None),
        ((), {"name": "Alice"}),
        (("users",), {"age": {"$gt": 30}}),
        (("users",), {"age": {"$gte": 30, "$lt": 41}}),
        (("users",), {"age": {"$lte": 30}}),
        (("users",), {"age": {"$ne": 30}}),
        (("users",), {"name": {"$eq": "Bob"}}),
        (("users",), {"meta": {"vip": True}}),
        (("users",), {"meta": {"level": {"$gt": 2}}}),
        ((), {"name": "Alice", "age": 31}),
        ((), {"missing": None}),
    ],
)
async def test_a_search_finds_what_the_in_memory_store_finds(
    store: KeepstoneStore, prefix: tuple[str, ...], wanted: dict[str, Any] | None
) -> None:
    reference = InMemoryStore()
    await fill(reference)
    expected = {(one.namespace, one.key): one.value for one in await reference.asearch(prefix, filter=wanted)}
    await fill(store)
    found = await store.asearch(prefix, filter=wanted)
    assert {(one.namespace, one.key): one.value for one in found} == expected


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"prefix": ("users",)},
        {"suffix": ("notes",)},
        {"prefix": ("*", "bob")},
        {"suffix": ("bob", "*")},
        {"prefix": ("users",), "suffix": ("bob",)},
        {"max_depth": 1},
        {"max_depth": 2, "prefix": ("users",)},
        {"limit": 2},
        {"limit": 2, "offset": 1},
        {"prefix": ("nobody",)},
    ],
)
async def test_namespaces_are_those_of_the_in_memory_store(store: KeepstoneStore, asked: dict[str, Any]) -> None:
    reference = InMemoryStore()
    await fill(reference)
    await fill(store)
    assert await store.alist_namespaces(**asked) == await reference.alist_namespaces(**asked)


@pytest.mark.parametrize(
    "conditions",
    [
        [("prefix", ("users",)), ("prefix", ("*", "bob"))],
        [("prefix", ("users", "*")), ("prefix", ("users", "bob", "notes"))],
        [("prefix", ("users",)), ("prefix", ("docs",))],
        [("suffix", ("bob", "*")), ("suffix", ("notes",))],
        [("suffix", ("bob",)), ("suffix", ("alice",))],
        [("prefix", ("users",)), ("suffix", ("notes",)), ("prefix", ("*", "bob")), ("suffix", ("bob", "*"))],
    ],
)
async def test_several_conditions_of_a_kind_hold_together(store: KeepstoneStore, conditions: list[Any]) -> None:
    reference = InMemoryStore()
    await fill(reference)
    await fill(store)
    op = ListNamespacesOp(match_conditions=tuple(MatchCondition(kind, path) for kind, path in conditions))
    assert await store.abatch([op]) == await reference.abatch([op])
    assert await store.abatch([op, GetOp(("docs",), "none")]) == await reference.abatch([op, GetOp(("docs",), "none")])


async def test_a_batch_gives_what_the_in_memory_store_gives(store: KeepstoneStore) -> None:
    """What it reads is what was there before it; of two puts of a key the last holds; None deletes."""
    ops = [
        PutOp(("users", "alice"), "profile", {"name": "first"}),
        GetOp(("users", "alice"), "profile"),
        PutOp(("users", "alice"), "profile", {"name": "last"}),
        PutOp(("docs",), "readme", None),
        PutOp(("docs",), "never", None),
        SearchOp(("docs",)),
        GetOp(("users", "nobody"), "profile"),
        ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("docs",)),)),
    ]

    def shown(results: list[Any]) -> list[Any]:
        return [
            [(getattr(item, "key", item), getattr(item, "value", None)) for item in one]
            if isinstance(one, list)
            else one and one.value
            for one in results
        ]

    reference = InMemoryStore()
    for one in (reference, store):
        await fill(one)
    assert shown(await store.abatch(ops)) == shown(await reference.abatch(ops))
    after = [GetOp(("users", "alice"), "profile"), GetOp(("docs",), "readme")]
    assert shown(await store.abatch(after)) == shown(await reference.abatch(after)) == [{"name": "last"}, None]
    assert await store.abatch([]) == []


# ----------------------------------------------------------------------------------------------- many at the same time


class Counting(httpx.AsyncBaseTransport):
    """Says how many operations each request brought."""

    def __init__(self, app: FastAPI) -> None:
        self._inner = httpx.ASGITransport(app, client=("127.0.0.1", 50000))
        self.sizes: list[int] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.sizes.append(len(json.loads(await request.aread())["operations"]))
        return await self._inner.handle_async_request(request)


@pytest.fixture
async def counted(app: FastAPI, world: World) -> AsyncGenerator[tuple[KeepstoneStore, Counting]]:
    transport = Counting(app)
    async with AsyncKeepstone(base_url=URL, api_key=world.owner.key, transport=transport) as client:
        yield KeepstoneStore(async_client=client), transport


async def test_what_is_awaited_at_once_is_done_in_few_requests_with_the_answers_of_one_by_one(
    counted: tuple[KeepstoneStore, Counting],
) -> None:
    store, transport = counted
    await asyncio.gather(*(store.aput(("a", str(n % 2)), f"k{n}", {"n": n}) for n in range(150)))
    assert transport.sizes == [100, 50], "so many as are found by meaning as soon as they are answered"
    transport.sizes.clear()
    asked = [store.aget(("a", str(n % 2)), f"k{n % 150}") for n in range(3000)]
    others: list[Coroutine[Any, Any, Any]] = [
        store.aget(("a",), "none"), store.asearch(("a", "1"), filter={"n": 3}), store.alist_namespaces(prefix=("a",)),
        store.aput(("a", "0"), "k0", {"n": "first"}), store.aput(("a", "0"), "k0", {"n": "last"}),
        store.adelete(("a", "1"), "k1"),
    ]  # fmt: skip
    found, (none, listed, spaces, *_) = await asyncio.gather(asyncio.gather(*asked), asyncio.gather(*others))
    assert [one and one.value["n"] for one in found] == [n % 150 for n in range(3000)], "as it was before"
    assert (none, [one.key for one in listed], spaces) == (None, ["k3"], [("a", "0"), ("a", "1")])
    assert transport.sizes == [150 + 3 + 2], "what is the same is asked for once, of several puts of a key the last"
    after = await asyncio.gather(store.aget(("a", "0"), "k0"), store.aget(("a", "1"), "k1"))
    assert [one and one.value["n"] for one in after] == ["last", None]


async def test_what_is_refused_is_refused_to_whoever_asked_for_it(counted: tuple[KeepstoneStore, Counting]) -> None:
    store, _ = counted
    results = await asyncio.gather(
        *(store.aput(("a",), f"k{n}", {"n": n}) for n in range(20)),
        store.aput(("a",), "x" * 2000, {}),
        store.aput(("a",), "large", {"text": "x" * 1024 * 1024}),
        store.aput(("a",), "bytes", {"file": b"x"}),
        store.aput(("a.b",), "dot", {}),
        store.asearch(("a",), limit=100_000),
        store.aget(("a",), "none"),
        return_exceptions=True,
    )
    assert results[:20] == [None] * 20
    refused = [Invalid, TooLarge, TypeError, InvalidNamespaceError, Invalid, type(None)]
    assert [type(one) for one in results[20:]] == refused
    assert len(await store.asearch(("a",), limit=100)) == 20


async def test_who_goes_away_holds_up_nobody_and_a_batch_of_ones_own_is_one_transaction(
    counted: tuple[KeepstoneStore, Counting],
) -> None:
    store, transport = counted
    tasks = [asyncio.create_task(store.aput(("a",), f"k{n}", {"n": n})) for n in range(10)]
    await asyncio.sleep(0)
    tasks[3].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in results].count(asyncio.CancelledError) == 1
    assert len(await store.asearch(("a",), limit=100)) == 9
    transport.sizes.clear()
    await store.abatch([PutOp(("b",), f"k{n}", {"n": n}) for n in range(200)])
    assert transport.sizes == [200]
    with pytest.raises(Invalid):
        await store.abatch([PutOp(("c",), "k", {}), PutOp(("c",), "x" * 2000, {})])
    assert await store.asearch(("c",)) == []


def test_a_store_is_used_in_one_event_loop_after_the_other_and_not_after_its_client_is_closed() -> None:
    client = AsyncKeepstone(
        base_url=URL,
        transport=httpx.MockTransport(
            lambda asked: httpx.Response(200, json={"results": [{} for _ in json.loads(asked.content)["operations"]]})
        ),
    )
    store = KeepstoneStore(async_client=client)

    async def work() -> list[Any]:
        return await asyncio.gather(*(store.aput(("a",), f"k{n}", {}) for n in range(10)))

    assert asyncio.run(work()) == asyncio.run(work()) == [None] * 10
    with pytest.raises(asyncio.InvalidStateError, match="async methods"):
        store.get(("a",), "k")
    asyncio.run(client.close())
    with pytest.raises(RuntimeError, match="closed"):
        asyncio.run(work())


@pytest.mark.filterwarnings("ignore::UnicodeWarning")
async def test_odd_characters_end_no_run(store: KeepstoneStore) -> None:
    await store.aput(("a\ud800",), "k\ud800", {"te\0xt": "ferry\0 \udfff"})
    [found] = await store.asearch(("a\ud800",), filter={"te\0xt": "ferry\0 \udfff"}, query="ferry\0")
    assert (found.namespace, found.key, found.value) == (("a\ufffd",), "k\ufffd", {"te\ufffdxt": "ferry\ufffd \ufffd"})
    assert await store.aget(("a\ud800",), "k\ud800") is not None
    assert await store.alist_namespaces(prefix=("a\ud800",)) == [("a\ufffd",)]


# ------------------------------------------------------------------------------------------------------ the rest


async def test_an_item_has_its_times_and_a_delete_is_quiet(store: KeepstoneStore) -> None:
    assert await store.aget(("a",), "k") is None
    await store.adelete(("a",), "k")
    await store.aput(("a",), "k", {"n": 1})
    first = await store.aget(("a",), "k")
    await store.aput(("a",), "k", {"n": 2})
    second = await store.aget(("a",), "k")
    assert first is not None
    assert second is not None
    assert (second.namespace, second.key, second.value) == (("a",), "k", {"n": 2})
    assert second.created_at == first.created_at == first.updated_at < second.updated_at
    await store.adelete(("a",), "k")
    assert await store.aget(("a",), "k") is None


async def test_what_waits_and_what_is_awaited_are_the_same_store(app: FastAPI, world: World) -> None:
    client = waiting(app, world.owner.key)
    store = KeepstoneStore(client)

    def work() -> list[Any]:
        store.put(("a",), "k", {"text": "ferry"})
        store.put(("a",), "gone", {"text": "ferry"})
        store.delete(("a",), "gone")
        found = store.get(("a",), "k")
        assert found is not None
        return [found.value, keys(store.search(("a",), query="ferry")), store.list_namespaces()]

    assert await apart(work) == [{"text": "ferry"}, ["k"], [("a",)]]
    in_thread = await store.aget(("a",), "k")
    async with awaited(app, world.owner.key) as other:
        of_loop = KeepstoneStore(async_client=other)
        assert await of_loop.aget(("a",), "k") == in_thread
        with pytest.raises(asyncio.InvalidStateError, match="async methods"):
            of_loop.get(("a",), "k")
        assert await apart(of_loop.get, ("a",), "k") == in_thread, "from a thread beside the loop, as a node that waits"
        assert await KeepstoneStore(async_client=other, name="other").aget(("a",), "k") is None
    client.close()


async def test_a_namespace_that_the_framework_forbids_is_refused(store: KeepstoneStore) -> None:
    for bad in ((), ("a.b",), ("",), ("langgraph", "x")):
        with pytest.raises(InvalidNamespaceError):
            await store.aput(bad, "k", {})
    with pytest.raises(InvalidNamespaceError):
        await store.abatch([GetOp(("a.b",), "k")])


async def test_items_are_found_by_meaning_the_best_first(reading: KeepstoneStore) -> None:
    await reading.aput(("m",), "food", {"text": "I love eating pizza with mushrooms"})
    await reading.aput(("m",), "car", {"text": "My vehicle broke down on the motorway"})
    found = await reading.asearch(("m",), query="What is my favourite Italian dish?")
    assert found[0].key == "food"
    assert found[0].score is not None
    assert found[0].score > (found[1].score or 0)
    assert [one.score for one in await reading.asearch(("m",))] == [None, None]
    assert keys(await reading.asearch(("m",), query="automobile", filter={"text": {"$ne": "x"}}, limit=1)) == ["car"]


async def test_the_index_argument_says_what_is_searched(app: FastAPI, world: World) -> None:
    async with awaited(app, world.owner.key) as client:
        store = KeepstoneStore(async_client=client, fields=["title"])
        value = {"title": "harbour", "body": "lighthouse", "parts": [{"t": "seagull"}, {"t": "anchor"}]}
        await store.aput(("a",), "default", value)
        await store.aput(("a",), "parts", value, index=["parts[*].t"])
        await store.aput(("a",), "never", value, index=False)
        assert keys(await store.asearch(("a",), query="harbour")) == ["default"]
        assert keys(await store.asearch(("a",), query="anchor")) == ["parts"]
        assert keys(await store.asearch(("a",), query="lighthouse")) == []
        assert keys(await store.asearch(("a",))) == ["default", "never", "parts"]


async def test_a_ttl_is_in_minutes_and_reading_refreshes_it(services: Services, world: World) -> None:
    clock = {"at": NOW}
    app = make_app(replace(services, clock=lambda: clock["at"]))
    async with awaited(app, world.owner.key) as client:
        store = KeepstoneStore(async_client=client)
        for key in ("read", "peeked"):
            await store.aput(("a",), key, {}, ttl=1)
        await store.aput(("a",), "kept", {}, ttl=None)
        clock["at"] = NOW + timedelta(seconds=50)
        assert await store.aget(("a",), "read") is not None
        assert await store.aget(("a",), "peeked", refresh_ttl=False) is not None
        clock["at"] = NOW + timedelta(seconds=70)
        assert keys(await store.asearch(("a",))) == ["kept", "read"]
        configured = KeepstoneStore(async_client=client, ttl={"default_ttl": 1, "refresh_on_read": False})
        await configured.aput(("b",), "default", {})
        await configured.aput(("b",), "for ever", {}, ttl=None)
        clock["at"] += timedelta(seconds=50)
        assert len(await configured.asearch(("b",))) == 2
        clock["at"] += timedelta(seconds=50)
        assert keys(await configured.asearch(("b",))) == ["for ever"]


async def test_what_the_server_refuses_is_raised(store: KeepstoneStore) -> None:
    with pytest.raises(Invalid, match="limit"):
        await store.asearch(("a",), limit=100_000)


class State(TypedDict):
    said: str
    known: list[str]


async def test_a_graph_remembers_from_one_thread_to_the_next(store: KeepstoneStore) -> None:
    async def remember(state: State, *, store: BaseStore) -> dict[str, Any]:
        known = await store.asearch(("users", "alice"))
        await store.aput(("users", "alice"), str(len(known)), {"text": state["said"]})
        return {"known": [one.value["text"] for one in known]}

    builder = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", END)
    graph = builder.compile(store=store)
    first = await graph.ainvoke({"said": "I like ferries", "known": []})
    second = await graph.ainvoke({"said": "And trains", "known": []})
    assert (first["known"], second["known"]) == ([], ["I like ferries"])
