"""Stores: values under namespaces and keys, with history, filters, a time to live, and search by meaning."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from capsules import at, audited, rows
from conftest import World, http
from graphs import read
from keepstone.access.readscope import account_scope, space_scope
from keepstone.app import make_app
from keepstone.errors import Conflict
from keepstone.jobs import tasks
from keepstone.jobs.worker import run_until_empty
from keepstone.memory import stores
from keepstone.model.item import FoundItems, Put, Search, texts_of
from keepstone.services import Services
from keepstone.store import spaces
from workspaces import Auth, call

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ALICE = {"name": "Alice", "age": 30, "city": "Oslo", "tags": ["a", "b"], "address": {"zip": "0150"}}


@pytest.fixture
async def reader(knowing: Services) -> AsyncGenerator[httpx.AsyncClient]:
    """A client of a server that knows what words mean."""
    async with http(make_app(knowing)) as opened:
        yield opened


async def put(client: httpx.AsyncClient, auth: Auth, key: str, value: Any, *namespace: str, **more: Any) -> Any:
    store, expect = more.pop("store", "notes"), more.pop("expect", 200)
    body = {"namespace": list(namespace), "key": key, "value": value, **more}
    return await call(client, auth, "PUT", f"/stores/{store}/items", json=body, expect=expect)


async def get(client: httpx.AsyncClient, auth: Auth, key: str, *namespace: str, **more: Any) -> Any:
    store, expect = more.pop("store", "notes"), more.pop("expect", 200)
    params = {"namespace": list(namespace), "key": key, **more}
    return await call(client, auth, "GET", f"/stores/{store}/items", params=params, expect=expect)


async def remove(client: httpx.AsyncClient, auth: Auth, key: str, *namespace: str, **more: Any) -> Any:
    expect = more.pop("expect", 204)
    params = {"namespace": list(namespace), "key": key, **more}
    return await call(client, auth, "DELETE", "/stores/notes/items", params=params, expect=expect)


async def search(client: httpx.AsyncClient, auth: Auth, *prefix: str, **more: Any) -> list[str]:
    """The keys of what was found, in its order."""
    body = {"namespace_prefix": list(prefix), **more}
    found = await call(client, auth, "POST", "/stores/notes/search", json=body)
    return [one["key"] for one in found["items"]]


async def history(client: httpx.AsyncClient, auth: Auth, key: str, *namespace: str, **more: Any) -> Any:
    params = {"namespace": list(namespace), "key": key, **more}
    return await call(client, auth, "GET", "/stores/notes/items/history", params=params)


async def namespaces(client: httpx.AsyncClient, auth: Auth, **body: Any) -> list[list[str]]:
    return (await call(client, auth, "POST", "/stores/notes/namespaces", json=body))["namespaces"]


# ------------------------------------------------------------------------------------------------- keep and get


async def test_a_value_comes_back_as_it_was_put_with_its_keys_in_their_order(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    value = {"zebra": 1, "a": [1.5, None, True, {"ü": "ünïcode 🪨"}], "m": {}, "big": 12345678901234567890}
    made = await put(client, auth, "k", value, "users", "alice")
    found = await get(client, auth, "k", "users", "alice")
    assert found == made
    assert list(found["value"].items()) == list(value.items())
    assert (found["namespace"], found["key"], found["version"]) == (["users", "alice"], "k", 1)
    assert found["created_at"] == found["updated_at"]


async def test_the_same_key_in_another_namespace_or_store_is_another_item(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    for number, where in enumerate([(), ("a",), ("a", "b"), ("ab",)]):
        await put(client, auth, "k", {"n": number}, *where)
    await put(client, auth, "k", {"n": 9}, store="other")
    assert [(await get(client, auth, "k", *where))["value"]["n"] for where in [(), ("a",), ("a", "b"), ("ab",)]] == [
        0, 1, 2, 3,
    ]  # fmt: skip
    await get(client, auth, "k", "b", expect=404)
    await get(client, auth, "k", store="third", expect=404)


async def test_a_second_put_is_another_version_and_the_first_stays_readable(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    first = await put(client, auth, "k", {"n": 1})
    second = await put(client, auth, "k", {"n": 2})
    assert (second["id"], second["version"], second["created_at"]) == (first["id"], 2, first["created_at"])
    told = (await history(client, auth, "k"))["items"]
    assert [(one["version"], one["change"], one["value"]) for one in told] == [
        (2, "updated", {"n": 2}), (1, "created", {"n": 1}),
    ]  # fmt: skip
    assert {one["changed_by"] for one in told} == {world.owner.user.id}


async def test_a_long_history_comes_in_pages(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    for number in range(5):
        await put(client, auth, "k", {"n": number})
    first = await history(client, auth, "k", limit=3)
    rest = await history(client, auth, "k", limit=3, cursor=first["next_cursor"])
    assert [one["version"] for one in first["items"] + rest["items"]] == [5, 4, 3, 2, 1]
    assert rest["next_cursor"] is None


async def test_a_put_over_another_version_than_the_one_named_is_refused(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    await put(client, auth, "k", {"n": 1}, if_version=1, expect=409)
    await put(client, auth, "k", {"n": 1}, if_version=0)
    await put(client, auth, "k", {"n": 2}, if_version=1)
    refused = await put(client, auth, "k", {"n": 3}, if_version=1, expect=409)
    assert refused["error"]["code"] == "version_conflict"
    assert refused["error"]["details"] == {"version": 2}
    await put(client, auth, "k", {"n": 3}, if_version=0, expect=409)
    await remove(client, auth, "k", if_version=1, expect=409)
    assert (await get(client, auth, "k"))["value"] == {"n": 2}
    await remove(client, auth, "k", if_version=2)
    await put(client, auth, "k", {"n": 4}, if_version=0)


async def test_first_puts_of_the_same_key_at_once_give_one_item_with_all_versions(
    services: Services, world: World, database: str
) -> None:
    async def one(number: int) -> Any:
        return await stores.put(
            services, world.owner.principal, "notes", Put(namespace=[], key="k", value={"n": number})
        )

    made = await asyncio.gather(*(one(number) for number in range(8)))
    assert len({item.id for item in made}) == 1
    assert sorted(item.version for item in made) == list(range(1, 9))
    [(number,)] = await rows(database, "SELECT count(*) FROM memories WHERE kind = 'item'")
    [(kept,)] = await rows(database, "SELECT memory_count FROM spaces WHERE kind = 'store'")
    assert (number, kept) == (1, 1)


async def test_of_two_writers_who_read_the_same_version_one_is_told(services: Services, world: World) -> None:
    me = world.owner.principal
    await stores.put(services, me, "notes", Put(namespace=[], key="k", value={"n": 0}))

    async def add() -> bool:
        try:
            await stores.put(services, me, "notes", Put(namespace=[], key="k", value={"n": 1}, if_version=1))
        except Conflict:
            return False
        return True

    assert sorted(await asyncio.gather(*(add() for _ in range(5)))) == [False] * 4 + [True]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"key": "", "value": {}}, "body.key"),
        ({"key": "k", "value": [1]}, "body.value"),
        ({"key": "k"}, "body.value"),
        ({"key": "k", "value": {}, "namespace": [""]}, "body.namespace.0"),
        ({"key": "k", "value": {}, "namespace": ["a\x1fb"]}, "namespace"),
        ({"key": "k", "value": {}, "namespace": ["ä" * 250] * 5}, "namespace"),
        ({"key": "k", "value": {}, "index": ["a["]}, "index"),
        ({"key": "k", "value": {}, "ttl_seconds": 0}, "body.ttl_seconds"),
        ({"key": "k", "value": {}, "wish": 1}, "body.wish"),
    ],
)
async def test_a_put_with_a_fault_says_where_and_stores_nothing(
    client: httpx.AsyncClient, world: World, database: str, body: Any, path: str
) -> None:
    refused = await call(client, world.owner.auth, "PUT", "/stores/notes/items", json=body, expect=422)
    assert refused["error"]["details"][0]["path"] == path
    assert await rows(database, "SELECT 1 FROM spaces WHERE kind = 'store'") == []


async def test_a_path_that_names_a_field_twice_leads_to_it_once(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    value: Any = "lighthouse"
    for _ in range(40):
        value = {"a": value}
    await put(client, auth, "k", value, index=["{a,a}" * 40, *["a." * 39 + "a"] * 20])
    assert await search(client, auth, query="lighthouse") == ["k"]


async def test_paths_that_name_the_same_text_again_and_again_are_refused(
    client: httpx.AsyncClient, world: World
) -> None:
    value: Any = {"a": "harbour " * 6_000, "b": "gull " * 6_000}
    for _ in range(60):
        value = {"n": value}
    paths = [".".join(["n"] * depth) for depth in range(1, 33)]
    refused = await put(client, world.owner.auth, "k", {"n": value, "m": "x" * 500_000}, index=paths, expect=422)
    assert refused["error"]["details"][0]["path"] == "index"
    assert "name each part once" in refused["error"]["message"]


async def test_what_is_too_large_or_too_deep_is_refused(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    deep: Any = {}
    for _ in range(120):
        deep = {"a": deep}
    await put(client, auth, "k", deep, expect=422)
    refused = await put(client, auth, "k", {"a": "x" * 1_100_000}, expect=413)
    assert refused["error"]["code"] == "item_too_large"


@pytest.mark.parametrize("name", ["Notes", "a.b", "x" * 64, "a%20b"])
async def test_a_store_has_a_plain_name(client: httpx.AsyncClient, world: World, name: str) -> None:
    await put(client, world.owner.auth, "k", {}, store=name, expect=422)


# ----------------------------------------------------------------------------------------- delete and restore


async def test_a_deleted_item_is_gone_lies_in_the_trash_and_can_be_restored(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    made = await put(client, auth, "k", {"text": "the ferry"}, "a")
    await remove(client, auth, "k", "a")
    await get(client, auth, "k", "a", expect=404)
    await remove(client, auth, "k", "a", expect=404)
    assert await search(client, auth) == await search(client, auth, query="ferry") == []
    assert await namespaces(client, auth) == []
    [trashed] = (await call(client, auth, "GET", "/stores/notes/trash"))["items"]
    assert (trashed["key"], trashed["namespace"], trashed["deleted_at"] is not None) == ("k", ["a"], True)
    back = await call(client, auth, "POST", "/stores/notes/items/restore", json={"namespace": ["a"], "key": "k"})
    assert (back["value"], back["version"], back["created_at"]) == ({"text": "the ferry"}, 3, made["created_at"])
    assert await search(client, auth, query="ferry") == ["k"]
    changes = [one["change"] for one in (await history(client, auth, "k", "a"))["items"]]
    assert changes == ["restored", "deleted", "created"]
    assert (await call(client, auth, "GET", "/stores/notes/trash"))["items"] == []


async def test_an_earlier_version_can_be_gone_back_to(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    for number in range(1, 4):
        await put(client, auth, "k", {"n": number})
    at_once = {"key": "k", "version": 1}
    refused = await call(client, auth, "POST", "/stores/notes/items/restore", json={"key": "k"}, expect=409)
    assert "name the version" in refused["error"]["message"]
    await call(client, auth, "POST", "/stores/notes/items/restore", json={"key": "k", "version": 9}, expect=404)
    await call(client, auth, "POST", "/stores/notes/items/restore", json=at_once | {"if_version": 2}, expect=409)
    back = await call(client, auth, "POST", "/stores/notes/items/restore", json=at_once | {"if_version": 3})
    assert (back["value"], back["version"]) == ({"n": 1}, 4)
    assert len((await history(client, auth, "k"))["items"]) == 4


async def test_what_was_long_in_the_trash_is_purged(services: Services, world: World, database: str) -> None:
    auth = world.owner.auth
    async with http(make_app(services)) as client:
        await put(client, auth, "k", {"text": "the ferry"})
        await remove(client, auth, "k")
        await rows(
            database,
            "UPDATE memories SET deleted_at = now() - interval '31 days' WHERE deleted_at IS NOT NULL RETURNING 1",
        )
        await tasks.purge_memories(services)
        assert await rows(database, "SELECT 1 FROM memories UNION ALL SELECT 1 FROM memory_versions") == []
        assert (await call(client, auth, "GET", "/stores/notes/trash"))["items"] == []
        await put(client, auth, "k", {"text": "anew"}, if_version=0)


async def test_every_write_is_in_the_audit_trail(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    made = await put(client, auth, "k", {})
    await remove(client, auth, "k")
    await call(client, auth, "POST", "/stores/notes/items/restore", json={"key": "k"})
    for action in ("item.put", "item.delete", "item.restore"):
        [line] = await audited(client, auth, action)
        assert line["object_id"] == made["id"]


# ------------------------------------------------------------------------------------------------- time to live


async def test_an_item_is_gone_when_its_time_is_over_and_a_job_removes_it(
    services: Services, world: World, database: str
) -> None:
    auth = world.owner.auth
    async with at(services, NOW) as client:
        made = await put(client, auth, "k", {"text": "the ferry"}, ttl_seconds=60)
        await put(client, auth, "stays", {"text": "the ferry too"})
        assert datetime.fromisoformat(made["expires_at"]) == NOW + timedelta(seconds=60)
    async with at(services, NOW + timedelta(seconds=60)) as client:
        await get(client, auth, "k", expect=404)
        await call(client, auth, "GET", "/stores/notes/items/history", params={"key": "k"}, expect=404)
        await call(client, auth, "POST", "/stores/notes/items/restore", json={"key": "k", "version": 1}, expect=404)
        await remove(client, auth, "k", expect=404)
        assert await search(client, auth) == await search(client, auth, query="ferry", limit=1) == ["stays"]
    await tasks.purge_expired_items(replace(services, clock=lambda: NOW + timedelta(seconds=59)))
    assert len(await rows(database, "SELECT 1 FROM memories")) == 2
    await tasks.purge_expired_items(replace(services, clock=lambda: NOW + timedelta(seconds=60)))
    assert await rows(database, "SELECT key FROM memories") == [("stays",)]
    assert await rows(database, "SELECT count(*) FROM passages") == [(1,)]
    kept = await rows(database, "SELECT memory_count, size_bytes, passages FROM spaces WHERE kind = 'store'")
    assert kept == [(1, len('{"text": "the ferry too"}'), 1)]
    gone = await rows(database, "SELECT object_id FROM audit WHERE action = 'item.expire'")
    assert gone == [(made["id"],)]


async def test_what_is_read_lasts_as_long_again_unless_it_is_only_looked_at(services: Services, world: World) -> None:
    auth = world.owner.auth

    def after(seconds: int) -> Any:
        return at(services, NOW + timedelta(seconds=seconds))

    async with after(0) as client:
        for key in ("get", "search", "meaning", "left"):
            await put(client, auth, key, {"text": f"ferry {key}"}, key, ttl_seconds=60)
    async with after(50) as client:
        await get(client, auth, "get", "get")
        await search(client, auth, "search")
        await search(client, auth, "meaning", query="ferry")
        await get(client, auth, "left", "left", refresh_ttl=False)
        await search(client, auth, "left", refresh_ttl=False)
        await search(client, auth, "left", query="ferry", refresh_ttl=False)
    async with after(100) as client:
        assert sorted(await search(client, auth)) == ["get", "meaning", "search"]


async def test_a_put_over_what_is_over_begins_anew(services: Services, world: World) -> None:
    auth = world.owner.auth
    async with at(services, NOW) as client:
        await put(client, auth, "k", {"n": 1}, ttl_seconds=1)
    async with at(services, NOW + timedelta(hours=1)) as client:
        made = await put(client, auth, "k", {"n": 2}, if_version=0)
        assert (made["version"], made["expires_at"]) == (1, None)
        assert [one["value"] for one in (await history(client, auth, "k"))["items"]] == [{"n": 2}]


# ------------------------------------------------------------------------------------------------------- search


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({"name": "Alice"}, "a"),
        ({"age": 30.0}, "a"),
        ({"age": {"$gt": 30}}, "b"),
        ({"age": {"$gte": 30, "$lt": 40}}, "a"),
        ({"age": {"$lte": 30}}, "a"),
        ({"age": {"$ne": 30}}, "bc"),
        ({"age": {"$gt": "3"}}, "c"),
        ({"city": {"$gte": "P"}}, "b"),
        ({"city": {"$eq": None}}, "c"),
        ({"tags": ["a", "b"]}, "a"),
        ({"address": {"zip": "0150"}}, "a"),
        ({"address": {"zip": {"$ne": "0150"}}}, "bc"),
        ({"address": {"$eq": {"zip": "0150"}}}, "a"),
        ({"a.b": 1}, "c"),
        ({"a.b": 2}, "b"),
        ({"address.zip": "0150"}, "a"),
        ({"address.zip": {"$ne": "0150"}}, "bc"),
        ({"name": "Alice", "age": 31}, ""),
    ],
)
async def test_a_filter_looks_at_the_fields_of_the_value(
    client: httpx.AsyncClient, world: World, wanted: Any, keys: str
) -> None:
    auth = world.owner.auth
    await put(client, auth, "a", ALICE)
    await put(client, auth, "b", {"name": "Bob", "age": 41, "city": "Paris", "a": {"b": 2}})
    await put(client, auth, "c", {"name": "Carla", "age": "old", "a.b": 1, "a": {"b": 2}})
    assert "".join(sorted(await search(client, auth, filter=wanted))) == keys
    assert "".join(sorted(await search(client, auth, filter=wanted, query="Alice Bob Carla"))) == keys


@pytest.mark.parametrize("wanted", [{"$gt": 1}, {"a": {"$like": "x"}}, {"a": {"$gt": [1]}}, {"a": {"$gt": 1, "b": 2}}])
async def test_a_filter_that_cant_be_read_says_so(client: httpx.AsyncClient, world: World, wanted: Any) -> None:
    body = {"filter": wanted}
    refused = await call(client, world.owner.auth, "POST", "/stores/notes/search", json=body, expect=422)
    assert refused["error"]["details"][0]["path"] == "filter"


async def test_a_search_sees_what_is_below_its_prefix_changed_last_first(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    for key, where in {"1": ("a",), "2": ("a", "b"), "3": ("ab",), "4": ("a", "b", "c"), "5": ()}.items():
        await put(client, auth, key, {"text": f"ferry {key}"}, *where)
    await put(client, auth, "1", {"text": "ferry again"}, "a")
    assert await search(client, auth) == ["1", "5", "4", "3", "2"]
    assert await search(client, auth, limit=2, offset=1) == ["5", "4"]
    assert await search(client, auth, "a") == ["1", "4", "2"]
    assert await search(client, auth, "a", "b") == ["4", "2"]
    assert sorted(await search(client, auth, "a", query="ferry")) == ["1", "2", "4"]
    assert await search(client, auth, "b") == []


async def test_items_are_found_by_what_they_mean_at_once(reader: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    await put(reader, auth, "pizza", {"text": "I love eating pizza with mushrooms"}, "food")
    await put(reader, auth, "car", {"text": "My vehicle broke down on the motorway"}, "car")
    await put(reader, auth, "dog", {"text": "The puppy chewed on my shoes"}, "pets")
    body = {"query": "What is my favourite Italian dish?"}
    found = await call(reader, auth, "POST", "/stores/notes/search", json=body)
    assert found["items"][0]["key"] == "pizza"
    assert found["degraded"] is None
    scores = [one["score"] for one in found["items"]]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[0] <= 1
    assert (await search(reader, auth, query="trouble with the automobile"))[0] == "car"
    assert await search(reader, auth, "pets", query="trouble with the automobile") == ["dog"]
    first = await search(reader, auth, query="animals", limit=1)
    assert [*first, *await search(reader, auth, query="animals", limit=2, offset=1)] == await search(
        reader, auth, query="animals"
    )


async def test_what_an_item_says_now_is_searched_and_not_what_it_said(reader: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    await put(reader, auth, "k", {"text": "bananas"})
    await put(reader, auth, "k", {"text": "submarines"})
    assert await search(reader, auth, query="bananas", min_relevance=0.5) == []
    assert await search(reader, auth, query="submarines") == ["k"]


async def test_only_the_fields_that_are_named_are_searched(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    value = {"title": "harbour", "notes": [{"text": "lighthouse"}, {"text": "seagull"}], "secret": "treasure"}
    await put(client, auth, "all", value, "all")
    await put(client, auth, "none", value, "none", index=False)
    await put(client, auth, "some", value, "some", index=["title", "notes[*].text"])
    assert sorted(await search(client, auth, query="treasure")) == ["all"]
    assert sorted(await search(client, auth, query="seagull")) == ["all", "some"]
    assert await search(client, auth, "none", query="seagull") == []
    assert await search(client, auth, "none") == ["none"]
    await put(client, auth, "some", value, "some", index=["secret"])
    assert sorted(await search(client, auth, query="treasure")) == ["all", "some"]
    assert await search(client, auth, query="seagull") == ["all"]


def test_a_path_leads_to_texts() -> None:
    value = {"a": {"b": "one", "c": "two"}, "list": [{"t": "three"}, {"t": "four"}], "n": 5, "yes": True}
    assert texts_of(value, ["a.b"]) == ["one"]
    assert texts_of(value, ["list[*].t"]) == ["three", "four"]
    assert texts_of(value, ["list[-1].t", "list[7].t"]) == ["four"]
    assert texts_of(value, ["a.*"]) == ["one", "two"]
    assert texts_of(value, ["a.{b,c}"]) == ["one", "two"]
    assert texts_of(value, ["n", "yes", "missing", "a.b.c"]) == ["5"]
    assert texts_of(value, ["$"]) == texts_of(value, None) == ["b: one\nc: two\nt: three\nt: four\nn: 5"]
    assert texts_of({"text": "alone"}, None) == ["alone"]
    assert texts_of(value, False) == []


async def test_under_a_filter_that_many_pass_the_nearest_that_do_are_found(
    knowing: Services, services: Services, world: World
) -> None:
    me = world.owner.principal
    puts = [Put(namespace=["n"], key=f"{n}", value={"text": f"boat number {n}", "odd": n % 2}) for n in range(60)]
    await stores.run(knowing, me, "notes", puts)
    await read(knowing, services)
    asked = Search(query="boat number 7", filter={"odd": 1}, limit=30)
    [found] = await stores.run(knowing, me, "notes", [asked], few=5)
    assert isinstance(found, FoundItems)
    assert len(found.items) == 30
    assert {one.item.value["odd"] for one in found.items} == {1}
    assert found.items[0].item.key == "7"


async def test_an_empty_store_and_a_filter_that_nothing_passes_are_not_degraded(
    reader: httpx.AsyncClient, client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    await put(reader, auth, "alice", ALICE, "users")
    for caller in (reader, client):
        for body in ({"namespace_prefix": ["nobody"]}, {"filter": {"city": "Rome"}}):
            found = await call(caller, auth, "POST", "/stores/notes/search", json={"query": "Who lives there?", **body})
            assert (found["items"], found["degraded"]) == ([], None)
    await remove(reader, auth, "alice", "users")
    found = await call(client, auth, "POST", "/stores/notes/search", json={"query": "Alice"})
    assert (found["items"], found["degraded"]) == ([], None)


async def test_every_path_and_every_item_of_a_batch_is_found_by_meaning_as_soon_as_it_is_put(
    reader: httpx.AsyncClient, world: World
) -> None:
    """No job has run."""
    auth = world.owner.auth
    long = "The weather was as it always is on that coast, and nobody minded. " * 700
    value = {"title": long, "dish": "I love pizza", "parts": [{"t": "a stone"}, {"t": "My car broke down"}]}
    await put(reader, auth, "paths", value, "paths", index=["title", "dish", "parts[*].t"])
    operations = [{"op": "put", "key": f"{n}", "value": {"text": f"stone {n}"}} for n in range(60)]
    operations.insert(30, {"op": "put", "key": "dish", "value": {"text": "I love pizza"}})
    await call(reader, auth, "POST", "/stores/notes/batch", json={"operations": operations})
    for query in ("favourite Italian meal", "trouble with an automobile"):
        assert await search(reader, auth, "paths", query=query) == ["paths"], query
    assert (await search(reader, auth, query="favourite Italian meal", limit=2)) == ["dish", "paths"]


async def test_what_a_call_brings_beyond_a_moments_work_is_read_by_a_job_and_counted_until_then(
    knowing: Services, services: Services, reader: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    operations = [{"op": "put", "key": f"{n}", "value": {"text": f"stone {n}"}} for n in range(130)]
    operations.append({"op": "put", "key": "dish", "value": {"text": "I love pizza"}})
    await call(reader, auth, "POST", "/stores/notes/batch", json={"operations": operations})
    assert await rows(database, "SELECT count(*) FROM vectors") == [(100,)]
    assert (await reader.get("/readyz")).json()["pending_embeddings"] == 131
    await read(knowing, services)
    assert (await search(reader, auth, query="favourite Italian meal"))[0] == "dish"
    assert (await reader.get("/readyz")).json()["pending_embeddings"] == 0


# --------------------------------------------------------------------------------------------------- namespaces


async def test_namespaces_are_listed_by_prefix_suffix_and_depth(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    for where in (("a", "b", "c"), ("a", "b", "d"), ("a", "x"), ("e", "b", "c"), ("e",), ()):
        await put(client, auth, "k", {}, *where)
    every = [[], ["a", "b", "c"], ["a", "b", "d"], ["a", "x"], ["e"], ["e", "b", "c"]]
    assert await namespaces(client, auth) == every
    assert await namespaces(client, auth, prefix=["a"]) == every[1:4]
    assert await namespaces(client, auth, suffix=["c"]) == [["a", "b", "c"], ["e", "b", "c"]]
    assert await namespaces(client, auth, prefix=["*", "b"]) == [every[1], every[2], every[5]]
    assert await namespaces(client, auth, prefix=["a"], suffix=["b", "*"]) == every[1:3]
    assert await namespaces(client, auth, max_depth=2) == [[], ["a", "b"], ["a", "x"], ["e"], ["e", "b"]]
    assert await namespaces(client, auth, limit=2, offset=1) == every[1:3]
    assert await namespaces(client, auth, prefix=["nobody"]) == []


# -------------------------------------------------------------------------------------------------------- batch


async def test_a_batch_is_done_in_its_order(client: httpx.AsyncClient, world: World) -> None:
    at_k = {"namespace": ["a"], "key": "k"}
    operations = [
        {"op": "get", **at_k},
        {"op": "put", **at_k, "value": {"text": "ferry"}},
        {"op": "get", **at_k},
        {"op": "search", "query": "ferry"},
        {"op": "namespaces"},
        {"op": "delete", **at_k},
        {"op": "delete", **at_k},
        {"op": "search"},
    ]
    body = {"operations": operations}
    results = (await call(client, world.owner.auth, "POST", "/stores/notes/batch", json=body))["results"]
    assert results[0]["item"] is None
    assert results[1]["item"] == results[2]["item"]
    assert [one["key"] for one in results[3]["items"]] == ["k"]
    assert results[4]["namespaces"] == [["a"]]
    assert results[5]["item"]["version"] == 2
    assert results[6]["item"] is None
    assert results[7]["items"] == []


async def test_what_a_batch_put_last_is_listed_first(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    operations = [{"op": "put", "key": key, "value": {}} for key in "dacb"]
    await call(client, auth, "POST", "/stores/notes/batch", json={"operations": operations})
    assert await search(client, auth) == list("bcad")


async def test_a_batch_that_puts_the_same_key_again_keeps_every_version(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    said = ["ferry", "train", "ferry", "plane"]
    operations: list[Any] = [{"op": "put", "key": "k", "value": {"text": text}} for text in said]
    operations.insert(2, {"op": "search", "query": "train"})
    operations.insert(4, {"op": "delete", "key": "k", "if_version": 3})
    results = (await call(client, auth, "POST", "/stores/notes/batch", json={"operations": operations}))["results"]
    assert [one["key"] for one in results[2]["items"]] == ["k"]
    told = (await history(client, auth, "k"))["items"]
    assert [(one["version"], one["change"], one["value"]["text"]) for one in reversed(told)] == [
        (1, "created", "ferry"), (2, "updated", "train"), (3, "updated", "ferry"), (4, "deleted", "ferry"),
        (5, "created", "plane"),
    ]  # fmt: skip
    assert await search(client, auth, query="ferry train plane") == ["k"]
    assert await rows(database, "SELECT text FROM passages") == [("plane",)]
    kept = await rows(database, "SELECT memory_count, size_bytes, passages FROM spaces WHERE kind = 'store'")
    assert kept == [(1, 5 * len('{"text": "plane"}'), 1)], "earlier versions count too"


async def test_a_batch_of_which_one_cant_be_done_does_nothing(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    await put(client, auth, "there", {"n": 1})
    operations = [
        {"op": "put", "key": "new", "value": {}},
        {"op": "delete", "key": "there"},
        {"op": "put", "key": "other", "value": {}, "if_version": 3},
    ]
    refused = await call(client, auth, "POST", "/stores/notes/batch", json={"operations": operations}, expect=409)
    assert refused["error"]["details"] == {"version": 0, "operation": 2}
    assert await search(client, auth) == ["there"]


async def test_what_is_asked_of_a_store_that_is_not_there_finds_nothing_and_makes_none(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    operations = [{"op": "get", "key": "k"}, {"op": "search"}, {"op": "namespaces"}, {"op": "delete", "key": "k"}]
    results = (await call(client, auth, "POST", "/stores/notes/batch", json={"operations": operations}))["results"]
    empty = {"item": None, "items": None, "namespaces": None, "degraded": None}
    assert results == [empty, empty | {"items": []}, empty | {"namespaces": []}, empty]
    assert (await call(client, auth, "GET", "/stores/notes/trash"))["items"] == []
    assert await rows(database, "SELECT 1 FROM spaces WHERE kind = 'store'") == []


# ------------------------------------------------------------------------------------------------------- whose


async def test_a_store_is_its_users_and_a_service_key_has_one_of_the_accounts(
    client: httpx.AsyncClient, world: World
) -> None:
    people = [world.owner.auth, world.member.auth, world.stranger.auth, world.service_auth]
    for number, auth in enumerate(people):
        await put(client, auth, "k", {"n": number})
    for number, auth in enumerate(people):
        assert (await get(client, auth, "k"))["value"] == {"n": number}
        [shown] = (await call(client, auth, "GET", "/stores"))["items"]
        assert (shown["name"], shown["item_count"], shown["size_bytes"]) == ("notes", 1, 8)
    for_max = world.service_auth | {"X-Keepstone-User": "max@example.org"}
    assert (await get(client, for_max, "k"))["value"] == {"n": 1}


async def test_with_its_user_a_store_is_erased(services: Services, world: World, database: str) -> None:
    async with http(make_app(services)) as client:
        await put(client, world.member.auth, "k", {"text": "ferry"})
        await put(client, world.owner.auth, "k", {"text": "ferry"})
        await call(client, world.owner.auth, "DELETE", f"/users/{world.member.user.id}", expect=(200, 202, 204))
    await run_until_empty(services)
    assert await rows(database, "SELECT owner FROM spaces WHERE kind = 'store'") == [(world.owner.user.id,)]
    assert await rows(database, "SELECT count(*) FROM memories") == [(1,)]


async def test_the_index_of_namespaces_is_used_past_row_level_security(
    services: Services, world: World, database: str
) -> None:
    """A prefix of many thousand items must not read them all."""
    me = world.owner.principal
    await stores.put(services, me, "notes", Put(namespace=["a"], key="k", value={}))
    async with services.db.transaction(account_scope(me.account)) as conn:
        space = await spaces.find(conn, kind="store", name="notes", owner=me.user_id)
    await rows(
        database,
        """INSERT INTO memories (account, space, id, kind, path, key, content, address, content_hash, size_bytes)
           SELECT account, space, 'item_' || n, 'item', 'x' || (n %% 500) || chr(31), 'k', '{}', n::text::bytea, '', 2
             FROM memories, generate_series(1, 20000) AS n WHERE space = %s RETURNING 1""",
        [space],
    )
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as owner:
        await owner.execute("ANALYZE keepstone.memories")
    async with services.db.transaction(space_scope(me, space or 0)) as conn:
        plan = await (
            await conn.execute(
                "EXPLAIN SELECT id FROM memories m WHERE m.space = %s AND m.kind = 'item' AND m.deleted_at IS NULL"
                " AND m.path >= %s AND m.path < %s || chr(1114111)",
                [space, "x7\x1f", "x7\x1f"],
            )
        ).fetchall()
    assert "items_by_path" in str(plan)
