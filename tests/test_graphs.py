"""Graphs: what is kept in them, what holds, and how it hangs together; over REST."""

import asyncio
import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from capsules import audited, rows
from conftest import World, http
from graphs import FIRST, SECOND, clocked, found, make_graph, neighbors, read, recall, relate, store
from keepstone.app import make_app
from keepstone.jobs import tasks
from keepstone.model.graph import NodeFilter
from keepstone.model.principal import ReadScope, Visibility
from keepstone.services import Services
from keepstone.store.graphs import passages_of
from workspaces import call, everything

DAY = timedelta(days=1)
NOW = datetime.now(UTC)
MARCH, APRIL = "The deadline is 1 March", "The deadline is 1 April"


@pytest.fixture
async def reader(knowing: Services) -> AsyncGenerator[httpx.AsyncClient]:
    """A client of a server that knows what words mean."""
    async with http(make_app(knowing)) as opened:
        yield opened


# ------------------------------------------------------------------------------------------------------ graphs


async def test_an_account_has_a_default_graph_and_can_make_others(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    default = await call(client, auth, "GET", "/graphs/default")
    assert (default["is_default"], default["node_count"]) == (True, 0)
    other = await make_graph(client, auth)
    await store(client, auth, "In the other one", graph=other)
    listed = (await call(client, auth, "GET", "/graphs"))["items"]
    assert [(one["id"], one["is_default"], one["node_count"]) for one in listed] == [
        (other, False, 1), (default["id"], True, 0),
    ]  # fmt: skip
    assert (await call(client, auth, "GET", f"/graphs/{default['id']}"))["name"] == "Default"
    assert len(await audited(client, auth, "graph.create")) == 1


async def test_whoever_comes_first_however_many_there_is_one_default_graph(services: Services, world: World) -> None:
    async with http(make_app(services)) as client:
        made = await asyncio.gather(
            *(store(client, world.owner.auth, f"Fact number {number}") for number in range(8)),
            *(call(client, world.member.auth, "GET", "/graphs/default") for _ in range(4)),
            call(client, world.member.auth, "GET", "/graphs"),
        )
        assert len({one["graph_id"] for one in made[:8]} | {one["id"] for one in made[8:12]}) == 1
        assert (await call(client, world.owner.auth, "GET", "/graphs/default"))["node_count"] == 8
        assert len((await call(client, world.owner.auth, "GET", "/graphs"))["items"]) == 1


async def test_a_graph_goes_to_the_trash_with_all_its_nodes_and_comes_back(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    graph = await make_graph(client, auth)
    node = await store(client, auth, "Walruses sing", graph=graph)
    await call(client, auth, "DELETE", f"/graphs/{graph}", expect=204)
    for method, path, body in (
        ("GET", f"/graphs/{graph}", None),
        ("DELETE", f"/graphs/{graph}", None),
        ("GET", f"/graphs/{graph}/nodes/{node['id']}", None),
        ("POST", f"/graphs/{graph}/nodes", {"content": "x"}),
        ("POST", f"/graphs/{graph}/recall", {"query": "walruses"}),
    ):
        assert (await call(client, auth, method, path, json=body, expect=404))["error"]["code"] == "GRAPH_NOT_FOUND"
    assert [one["id"] for one in (await call(client, auth, "GET", "/graphs?deleted=true"))["items"]] == [graph]
    assert (await call(client, auth, "POST", f"/graphs/{graph}/restore"))["node_count"] == 1
    assert await found(client, auth, "walruses", graph=graph) == [node["id"]]
    await call(client, auth, "POST", f"/graphs/{graph}/restore", expect=404)


async def test_the_default_graph_stays(client: httpx.AsyncClient, world: World) -> None:
    default = await call(client, world.owner.auth, "GET", "/graphs/default")
    for name in ("default", default["id"]):
        refused = await call(client, world.owner.auth, "DELETE", f"/graphs/{name}", expect=409)
        assert refused["error"]["code"] == "conflict"


async def test_after_a_month_in_the_trash_a_graph_and_a_node_are_gone_with_all_that_made_them_findable(
    client: httpx.AsyncClient, console: httpx.AsyncClient, world: World, services: Services, database: str
) -> None:
    auth = world.owner.auth
    graph = await make_graph(client, auth)
    await store(client, auth, "Walruses sing", graph=graph)
    kept = await store(client, auth, "Penguins march")
    gone = await store(client, auth, "Seals bark")
    await relate(client, auth, kept["id"], gone["id"])
    asked = (await recall(client, auth, "penguins"))["query_id"]
    await call(client, auth, "DELETE", f"/graphs/{graph}", expect=204)
    await call(client, auth, "DELETE", f"/graphs/default/nodes/{gone['id']}", expect=204)
    for table in ("spaces", "memories"):
        await rows(
            database,
            f"UPDATE {table} SET deleted_at = now() - interval '31 days' WHERE deleted_at IS NOT NULL RETURNING 1",
        )
    await rows(database, "UPDATE queries SET at = now() - interval '31 days' RETURNING 1")
    await tasks.purge_memories(services)
    assert await rows(database, "SELECT id FROM memories") == [(kept["id"],)]
    assert await rows(database, "SELECT DISTINCT source_id FROM passages") == [(kept["id"],)]
    assert await rows(database, "SELECT count(*) FROM terms WHERE term IN ('walrus', 'seal')") == [(0,)]
    assert await rows(database, "SELECT 1 FROM edges UNION SELECT 1 FROM queries") == []
    assert await rows(database, "SELECT 1 FROM spaces WHERE name LIKE %s", [f"{graph}%"]) == []
    assert (await console.get(f"/x_console/api/queries/{asked}")).status_code == 404


# ------------------------------------------------------------------------------------------------------- nodes


async def test_a_node_is_given_back_as_it_was_stored(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    metadata: Any = {"team": "backend", "n": 1.5, "big": 12345678901234567890, "ok": True, "none": None,
                "nested": {"list": [1, "zwei", {"三": []}]}, "": "an empty key"}  # fmt: skip
    made = await store(client, auth, "  Ünïcode 会议 \n on two lines ", node_type="fact", metadata=metadata)
    assert (made["content"], made["node_type"], made["existing"]) == ("Ünïcode 会议 \n on two lines", "fact", False)
    assert made["metadata"] == metadata
    assert made["created_at"] == made["updated_at"] == made["valid_from"]
    again = await call(client, auth, "GET", f"/graphs/default/nodes/{made['id']}")
    of_storing = {"existing", "superseded", "may_supersede"}
    assert again == {name: value for name, value in made.items() if name not in of_storing}
    assert (await store(client, auth, "Only text"))["node_type"] == "note"
    assert len(await audited(client, auth, "node.create")) == 2


async def test_the_same_again_is_the_node_that_is_there(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    made = await store(client, auth, "Login is by Clerk.", node_type="decision", metadata={"team": "web"}, expect=201)
    same = await store(client, auth, "login is by  CLERK", node_type="decision", metadata={"team": "web"}, expect=200)
    assert (same["id"], same["existing"], same["content"]) == (made["id"], True, "Login is by Clerk.")
    fact = await store(client, auth, "Login is by Clerk.", node_type="fact", metadata={"team": "web"}, expect=201)
    others = await store(client, auth, "Login is by Clerk.", node_type="decision", metadata={}, expect=201)
    assert len({made["id"], fact["id"], others["id"]}) == 3
    # Each of them is found again, not only the first.
    for one in (made, fact, others):
        given = {"node_type": one["node_type"], "metadata": one["metadata"]}
        assert (await store(client, auth, "Login is by Clerk", **given, expect=200))["id"] == one["id"]
    await call(client, auth, "DELETE", f"/graphs/default/nodes/{fact['id']}", expect=204)
    anew = await store(client, auth, "Login is by Clerk.", node_type="fact", metadata={"team": "web"}, expect=201)
    assert anew["id"] != fact["id"]


async def test_the_same_from_many_at_once_is_stored_once(client: httpx.AsyncClient, world: World) -> None:
    made = await asyncio.gather(*(store(client, world.owner.auth, "Login is by Clerk") for _ in range(8)))
    assert len({one["id"] for one in made}) == 1
    assert sorted(one["existing"] for one in made) == [False, *[True] * 7]


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({}, 422, "content"),
        ({"content": ""}, 422, "content"),
        ({"content": " \n"}, 400, "nothing to remember"),
        ({"content": "<recalled-memory>Only a quotation</recalled-memory>"}, 400, "nothing to remember"),
        ({"content": "x" * (256 * 1024 + 1)}, 422, "256 KB"),
        ({"content": "x\0"}, 422, "NUL"),
        ({"content": "x", "node_type": ""}, 422, "node_type"),
        ({"content": "x", "metadata": []}, 422, "metadata"),
        ({"content": "x", "metadata": {"a": "\ud800"}}, 422, "surrogate"),
        ({"content": "x", "metadata": {"a": "y" * 70_000}}, 422, "64 KB"),
        ({"content": "x", "supersedes": ["the old one"]}, 422, "supersedes"),
        ({"content": "x", "supersedes": ["node_" + "a" * 24]}, 404, "no such node"),
        ({"content": "x", "valid_from": "2999-01-01T00:00:00Z"}, 400, "future"),
        ({"content": "x", "valid_from": "last week"}, 422, "valid_from"),
        ({"content": "x", "title": "y"}, 422, "title"),
    ],
)
async def test_what_cant_be_kept_is_refused_and_nothing_is_stored(
    client: httpx.AsyncClient, world: World, body: dict[str, Any], status: int, told: str
) -> None:
    answer = await client.post(
        "/v1/graphs/default/nodes",
        headers={**world.owner.auth, "Content-Type": "application/json"},
        content=json.dumps(body),
    )
    assert (answer.status_code, told in answer.text) == (status, True), answer.text
    assert (await call(client, world.owner.auth, "GET", "/graphs/default/nodes"))["items"] == []


async def test_what_was_recalled_and_quoted_is_not_learned_again(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    made = await store(client, auth, "Zeppelins are back. <recalled-memory>Obelisks</recalled-memory>")
    assert made["content"] == "Zeppelins are back."
    assert await found(client, auth, "obelisks") == []


async def test_an_update_is_found_by_what_it_says_now_at_once(
    reader: httpx.AsyncClient, knowing: Services, services: Services, world: World
) -> None:
    auth = world.owner.auth
    node = await store(reader, auth, "We adopted a puppy called Luna", node_type="fact", metadata={"of": "home"})
    await store(reader, auth, "The budget was cut to 40,000 euros")
    path = f"/graphs/default/nodes/{node['id']}"
    changed = await call(reader, auth, "PATCH", path, json={"content": "The boat to the island leaves in June"})
    assert (changed["version"], changed["node_type"], changed["metadata"]) == (2, "fact", {"of": "home"})
    assert changed["updated_at"] > changed["created_at"]
    for _ in range(2):
        assert (await found(reader, auth, "When does the ship sail?"))[0] == node["id"]
        assert (await recall(reader, auth, "Which pet did they get?"))["results"] == []
        await read(knowing, services)
    assert await rows_of(reader, auth, "puppy") == []


async def rows_of(client: httpx.AsyncClient, auth: dict[str, str], word: str) -> list[str]:
    return [one["id"] for one in (await recall(client, auth, word))["results"]]


async def test_what_is_left_out_of_a_change_stays_and_metadata_is_replaced_whole(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    node = await store(client, auth, "Walruses sing", node_type="fact", metadata={"a": 1, "b": 2})
    path = f"/graphs/default/nodes/{node['id']}"
    assert (await call(client, auth, "PATCH", path, json={}))["version"] == 1
    assert (await call(client, auth, "PATCH", path, json={"metadata": {"a": 1, "b": 2}}))["version"] == 1
    assert (await call(client, auth, "PATCH", path, json={"metadata": {"c": 3}}))["metadata"] == {"c": 3}
    assert (await call(client, auth, "PATCH", path, json={"node_type": "song"}))["content"] == "Walruses sing"
    assert (await call(client, auth, "PATCH", path, json={"content": "Walruses dive deep"}))["node_type"] == "song"
    await call(client, auth, "PATCH", path, json={"content": "<recalled-memory>no</recalled-memory>"}, expect=400)
    versions = (await call(client, auth, "GET", f"{path}/history"))["items"]
    assert [(one["version"], one["change"], one["content"], one["metadata"]) for one in versions] == [
        (4, "updated", "Walruses dive deep", {"c": 3}),
        (3, "updated", "Walruses sing", {"c": 3}),
        (2, "updated", "Walruses sing", {"c": 3}),
        (1, "created", "Walruses sing", {"a": 1, "b": 2}),
    ]
    assert [one["node_type"] for one in versions] == ["song", "song", "fact", "fact"]
    assert {one["changed_by"] for one in versions} == {world.owner.user.id}
    counted = await rows(database, "SELECT memory_count, size_bytes FROM spaces WHERE memory_count > 0")
    assert counted == [(1, len("Walruses dive deep"))]


async def test_of_two_changes_at_once_none_is_lost(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    node = await store(client, auth, "Walruses sing")
    path = f"/graphs/default/nodes/{node['id']}"
    changes = [{"content": "Walruses dive"}, {"node_type": "fact"}, {"metadata": {"a": 1}}]
    await asyncio.gather(*(call(client, auth, "PATCH", path, json=change) for change in changes))
    after = await call(client, auth, "GET", path)
    assert (after["version"], after["content"], after["node_type"], after["metadata"]) == (
        4, "Walruses dive", "fact", {"a": 1},
    )  # fmt: skip


async def test_a_forgotten_node_is_nowhere_but_in_the_trash_and_comes_back_whole(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    node = await store(client, auth, "Walruses sing")
    other = await store(client, auth, "Walruses dive")
    edge = await relate(client, auth, other["id"], node["id"])
    path = f"/graphs/default/nodes/{node['id']}"
    await call(client, auth, "DELETE", path, expect=204)
    for method, where in (("GET", path), ("DELETE", path), ("PATCH", path), ("GET", f"{path}/neighbors")):
        await call(client, auth, method, where, json={} if method == "PATCH" else None, expect=404)
    assert await found(client, auth, "walruses") == [other["id"]]
    assert await neighbors(client, auth, other["id"]) == {}
    assert await everything(client, auth, "/graphs/default/nodes", 10) == [other["id"]]
    assert await everything(client, auth, "/graphs/default/nodes", 10, deleted=True) == [node["id"]]
    assert (await call(client, auth, "GET", "/graphs/default"))["node_count"] == 1
    assert (await call(client, auth, "GET", f"{path}/history"))["items"][0]["change"] == "deleted"
    back = await call(client, auth, "POST", f"{path}/restore")
    assert (back["content"], back["deleted_at"]) == ("Walruses sing", None)
    assert set(await found(client, auth, "walruses")) == {node["id"], other["id"]}
    assert await neighbors(client, auth, other["id"]) == {node["id"]: 1}
    assert (await call(client, auth, "GET", "/graphs/default/edges"))["items"][0]["id"] == edge["id"]
    await call(client, auth, "POST", f"{path}/restore", expect=404)
    assert await rows(database, "SELECT memory_count, size_bytes, passages FROM spaces WHERE passages > 0") == [
        (2, 26, 2)
    ]


async def test_nodes_are_listed_by_pages_under_all_filters(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    wanted: list[str] = []
    for number in range(7):
        given: dict[str, Any] = {"node_type": "fact", "metadata": {"team": "backend", "n": number}}
        wanted.insert(0, (await store(client, auth, f"Fact {number}", **given))["id"])
    await store(client, auth, "Fact of others", node_type="fact", metadata={"team": "web"})
    await store(client, auth, "Fact of another type", node_type="note", metadata={"team": "backend"})
    path, team = "/graphs/default/nodes", '{"team": "backend"}'
    assert await everything(client, auth, path, 3, node_type="fact", metadata_filter=team) == wanted
    assert len(await everything(client, auth, path, 2)) == 9
    begin = (await call(client, auth, "GET", f"{path}/{wanted[2]}"))["created_at"]
    assert await everything(client, auth, path, 2, node_type="fact", metadata_filter=team, start=begin) == wanted[:3]
    assert await everything(client, auth, path, 2, node_type="fact", metadata_filter=team, end=begin) == wanted[2:]
    for wrong in ("team", "[1]", '"x"', "{", '{"a": "\\u0000"}', "[" * 5000):
        refused = await call(client, auth, "GET", path, params={"metadata_filter": wrong}, expect=422)
        assert refused["error"]["details"][0]["path"] == "query.metadata_filter"


# ------------------------------------------------------------------------------------------------------- edges


async def test_an_edge_holds_in_its_time_and_until_it_is_ended(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    one, two, three = [(await store(client, auth, f"Service {name}"))["id"] for name in "abc"]
    edge = await relate(client, auth, one, two, metadata={"how": "http"}, valid_from=NOW - 10 * DAY)
    assert (edge["edge_type"], edge["metadata"], edge["valid_to"]) == ("depends_on", {"how": "http"}, None)
    past = await relate(client, auth, one, three, valid_from=NOW - 10 * DAY, valid_to=NOW - 5 * DAY)
    assert await neighbors(client, auth, one) == {two: 1}
    assert set(await neighbors(client, auth, one, as_of=NOW - 7 * DAY)) == {two, three}
    assert await neighbors(client, auth, one, as_of=NOW - 11 * DAY) == {}
    assert (await relate(client, auth, one, two))["id"] == edge["id"]  # the same again
    await call(client, auth, "DELETE", f"/graphs/default/edges/{edge['id']}", expect=204)
    assert await neighbors(client, auth, one) == {}
    assert await neighbors(client, auth, one, as_of=NOW - DAY) == {two: 1}
    listed = (await call(client, auth, "GET", "/graphs/default/edges"))["items"]
    assert [each["id"] for each in listed] == [past["id"], edge["id"]]
    assert listed[1]["valid_to"] is not None
    assert (await relate(client, auth, one, two))["id"] != edge["id"]
    assert await everything(client, auth, "/graphs/default/edges", 1) == [
        each["id"] for each in (await call(client, auth, "GET", "/graphs/default/edges"))["items"]
    ]


async def test_an_edge_needs_two_nodes_of_one_graph_and_times_in_order(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    one, two = [(await store(client, auth, f"Service {name}"))["id"] for name in "ab"]
    other = await make_graph(client, auth)
    elsewhere = (await store(client, auth, "Service c", graph=other))["id"]
    await relate(client, auth, one, one, expect=400)
    await relate(client, auth, one, two, valid_from=NOW, valid_to=NOW - DAY, expect=400)
    await relate(client, auth, one, elsewhere, expect=404)
    await relate(client, auth, one, two, graph=other, expect=404)
    await relate(client, auth, one, "node_" + "a" * 24, expect=404)
    await relate(client, auth, one, "two", expect=422)
    await relate(client, auth, one, two, "", expect=422)
    edge = await relate(client, auth, one, two)
    await call(client, auth, "DELETE", f"/graphs/{other}/edges/{edge['id']}", expect=404)
    await call(client, auth, "GET", f"/graphs/{other}/nodes/{one}", expect=404)
    await call(client, auth, "GET", f"/graphs/{other}/nodes/{one}/neighbors", expect=404)
    await call(client, auth, "GET", f"/graphs/{other}/nodes/{one}/history", expect=404)
    assert await neighbors(client, auth, one) == {two: 1}


async def test_neighbours_by_depth_direction_and_type_the_nearest_first(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    a, b, c, d, e = [(await store(client, auth, f"Service {name}"))["id"] for name in "abcde"]
    await relate(client, auth, a, b)
    await relate(client, auth, b, c)
    await relate(client, auth, c, d)
    await relate(client, auth, e, a, "part_of")
    await relate(client, auth, c, a, "part_of")  # a ring: nothing is reached twice
    assert await neighbors(client, auth, a) == {c: 1, e: 1, b: 1}
    assert await neighbors(client, auth, a, depth=2) == {c: 1, e: 1, b: 1, d: 2}
    assert await neighbors(client, auth, a, depth=2, direction="out") == {b: 1, c: 2}
    assert await neighbors(client, auth, a, depth=2, direction="in") == {c: 1, e: 1, b: 2}
    assert await neighbors(client, auth, a, depth=2, edge_type="depends_on") == {b: 1, c: 2}
    assert await neighbors(client, auth, a, edge_type="part_of", direction="in") == {c: 1, e: 1}
    assert await neighbors(client, auth, a, edge_type="part_of", direction="out") == {}
    assert await neighbors(client, auth, a, edge_type="nothing") == {}
    for wrong in ({"depth": 0}, {"depth": 3}, {"direction": "up"}, {"as_of": "then"}):
        await call(client, auth, "GET", f"/graphs/default/nodes/{a}/neighbors", params=wrong, expect=422)


async def test_of_a_node_with_very_many_neighbours_a_hundred_are_shown(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    hub, leaf = [(await store(client, auth, f"Service {name}"))["id"] for name in "ab"]
    await relate(client, auth, hub, leaf)
    ((account, space),) = await rows(database, "SELECT account, space FROM memories WHERE id = %(hub)s", {"hub": hub})
    await rows(
        database,
        """
        WITH made AS (
            INSERT INTO memories (account, space, id, kind, type, content, content_hash, size_bytes)
            SELECT %(account)s, %(space)s, 'node_' || lpad(n::text, 24, '0'), 'node', 'note', n::text, '\\x', 1
              FROM generate_series(1, 300) n RETURNING account, space, id)
        INSERT INTO edges (account, space, id, from_id, to_id, type)
        SELECT account, space, 'edge_' || substr(id, 6), %(hub)s, id, 'depends_on' FROM made RETURNING 1
        """,
        {"hub": hub, "account": account, "space": space},
    )
    assert len(await neighbors(client, auth, hub)) == 100
    assert len(await neighbors(client, auth, leaf, depth=2)) == 100


# -------------------------------------------------------------------------------------------------- what holds


async def test_what_a_node_names_no_longer_holds_but_did(services: Services, world: World) -> None:
    auth = world.owner.auth
    async with clocked(services, NOW - 10 * DAY) as client:
        old = await store(client, auth, "The ferry leaves at nine", node_type="fact")
    async with clocked(services, NOW - 5 * DAY) as client:
        new = await store(client, auth, "The ferry leaves at noon", node_type="fact", supersedes=[old["id"]])
        assert new["superseded"] == [old["id"]]
    async with clocked(services, NOW) as client:
        assert await found(client, auth, "ferry") == [new["id"]]
        assert await found(client, auth, "ferry", as_of=NOW - 7 * DAY) == [old["id"]]
        assert await found(client, auth, "ferry", as_of=NOW - 2 * DAY) == [new["id"]]
        assert await found(client, auth, "ferry", as_of=NOW - 20 * DAY) == []
        assert await everything(client, auth, "/graphs/default/nodes", 5) == [new["id"]]
        then = (NOW - 7 * DAY).isoformat()
        assert await everything(client, auth, "/graphs/default/nodes", 5, as_of=then) == [old["id"]]
        shown = await call(client, auth, "GET", f"/graphs/default/nodes/{old['id']}")
        assert (shown["superseded_by"], shown["valid_to"]) == (new["id"], new["valid_from"])
        assert await neighbors(client, auth, new["id"], edge_type="supersedes") == {old["id"]: 1}
        changes = (await call(client, auth, "GET", f"/graphs/default/nodes/{old['id']}/history"))["items"]
        assert [one["change"] for one in changes] == ["superseded", "created"]
        # In the history it can be corrected, forgotten and restored like any other.
        path = f"/graphs/default/nodes/{old['id']}"
        await call(client, auth, "PATCH", path, json={"content": "The ferry left at eight"})
        assert await found(client, auth, "eight", as_of=NOW - 7 * DAY) == [old["id"]]
        await call(client, auth, "DELETE", path, expect=204)
        assert await found(client, auth, "eight", as_of=NOW - 7 * DAY) == []
        await call(client, auth, "POST", f"{path}/restore")
        assert await found(client, auth, "eight", as_of=NOW - 7 * DAY) == [old["id"]]
        assert await found(client, auth, "eight") == []
    assert len(await audited_by(services, auth, "node.supersede")) == 1


async def audited_by(services: Services, auth: dict[str, str], action: str) -> list[Any]:
    async with http(make_app(services)) as client:
        return await audited(client, auth, action)


async def test_superseding_can_be_repeated_without_harm(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    old = (await store(client, auth, "The ferry leaves at nine"))["id"]
    new = (await store(client, auth, "The ferry leaves at noon", supersedes=[old]))["id"]
    again = await store(client, auth, "The ferry leaves at noon", supersedes=[old, new], expect=200)
    assert (again["id"], again["superseded"]) == (new, [])
    newest = await store(client, auth, "The ferry leaves at ten", supersedes=[old, new, new])
    assert newest["superseded"] == [new]
    assert await found(client, auth, "ferry") == [newest["id"]]
    shown = await call(client, auth, "GET", f"/graphs/default/nodes/{old}")
    assert (shown["superseded_by"], shown["version"]) == (new, 2)


async def test_an_edge_supersedes_too_and_ending_it_undoes_that(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    old = (await store(client, auth, "The ferry leaves at nine"))["id"]
    new = (await store(client, auth, "Ferry times have changed, see the harbour"))["id"]
    edge = await relate(client, auth, new, old, "supersedes", metadata={"why": "timetable"})
    assert edge["metadata"] == {"why": "timetable"}
    assert await found(client, auth, "ferry") == [new]
    await relate(client, auth, old, new, "supersedes", expect=409)  # or nothing would hold
    assert (await relate(client, auth, new, old, "supersedes"))["id"] == edge["id"]
    await call(client, auth, "DELETE", f"/graphs/default/edges/{edge['id']}", expect=204)
    assert set(await found(client, auth, "ferry")) == {old, new}
    back = await call(client, auth, "GET", f"/graphs/default/nodes/{old}")
    assert (back["valid_to"], back["superseded_by"], back["version"]) == (None, None, 3)
    assert await neighbors(client, auth, new) == {}
    await relate(client, auth, old, new, "supersedes")
    assert await found(client, auth, "ferry") == [old]


async def test_what_two_edges_supersede_holds_again_when_both_are_ended(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    old, new, other = [(await store(client, auth, text))["id"] for text in ("One", "Two", "Three")]
    first = await relate(client, auth, new, old, "supersedes")
    second = await relate(client, auth, other, old, "supersedes")
    path = f"/graphs/default/nodes/{old}"
    await call(client, auth, "DELETE", f"/graphs/default/edges/{first['id']}", expect=204)
    node = await call(client, auth, "GET", path)
    assert (node["superseded_by"], node["valid_to"] is None) == (other, False), "the other edge holds"
    await call(client, auth, "DELETE", f"/graphs/default/edges/{second['id']}", expect=204)
    node = await call(client, auth, "GET", path)
    assert (node["superseded_by"], node["valid_to"]) == (None, None)


async def test_ending_an_edge_again_changes_nothing(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    old, new = [(await store(client, auth, text))["id"] for text in ("One", "Two")]
    first = await relate(client, auth, new, old, "supersedes")
    await call(client, auth, "DELETE", f"/graphs/default/edges/{first['id']}", expect=204)
    await relate(client, auth, new, old, "supersedes")
    await call(client, auth, "DELETE", f"/graphs/default/edges/{first['id']}", expect=204)
    node = await call(client, auth, "GET", f"/graphs/default/nodes/{old}")
    assert node["superseded_by"] == new, "the newer edge holds"


async def test_something_said_of_the_past_does_not_end_what_came_after(services: Services, world: World) -> None:
    auth = world.owner.auth
    async with clocked(services, NOW) as client:
        now = await store(client, auth, "Anna leads the backend team", valid_from=NOW - 10 * DAY)
        past = await store(client, auth, "Ben led the backend team", valid_from=NOW - 30 * DAY)
        assert (now["superseded"], past["superseded"]) == ([], [])
        assert await found(client, auth, "backend team", as_of=NOW - 20 * DAY) == [past["id"]]
        await relate(client, auth, now["id"], past["id"], "supersedes")
        assert await found(client, auth, "backend team") == [now["id"]]
        ended = await call(client, auth, "GET", f"/graphs/default/nodes/{past['id']}")
        assert ended["valid_to"] == now["valid_from"]


async def test_a_contradiction_supersedes_by_itself(
    reader: httpx.AsyncClient, knowing: Services, services: Services, world: World
) -> None:
    auth = world.owner.auth
    metadata = {"team": "web"}
    old = await store(reader, auth, "We decided to use Auth0 for the login", node_type="decision", metadata=metadata)
    await read(knowing, services)
    new = await store(
        reader, auth, "We no longer use Auth0 for the login, we use Clerk", node_type="decision", metadata=metadata
    )
    assert new["superseded"] == [old["id"]]
    assert old["id"] not in await found(reader, auth, "Which login provider do we use?")
    await read(knowing, services)
    then = datetime.fromisoformat(old["created_at"]) + (
        datetime.fromisoformat(new["created_at"]) - datetime.fromisoformat(old["created_at"])
    ) / 2  # fmt: skip
    assert await found(reader, auth, "Which login provider do we use?", as_of=then) == [old["id"]]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (FIRST, SECOND),
        (SECOND, FIRST),
        # Another type, another team, another quarter: said of something else.
        ({**FIRST, "content": MARCH}, {**FIRST, "content": APRIL, "node_type": "fact"}),
        ({**FIRST, "content": MARCH}, {**SECOND, "content": APRIL}),
        ({"content": "Anna likes tea"}, {"content": "Ben likes tea"}),
        ({"content": "The office in Berlin opens at nine"}, {"content": "The office in Paris opens at ten"}),
        ({"content": "Sarah prefers email over phone calls"}, {"content": "Sarah prefers tea over coffee"}),
    ],
)  # fmt: skip
async def test_siblings_hold_side_by_side(
    reader: httpx.AsyncClient, knowing: Services, services: Services, world: World, first: Any, second: Any
) -> None:
    auth = world.owner.auth
    one = await store(reader, auth, **first)
    await read(knowing, services)
    two = await store(reader, auth, **second)
    assert two["superseded"] == []
    assert set(await found(reader, auth, first["content"])) == {one["id"], two["id"]}


# ------------------------------------------------------------------------------------------------------- whose


async def test_graphs_are_the_accounts_and_nobody_elses(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    graph = await make_graph(client, auth)
    node = (await store(client, auth, "Walruses sing", graph=graph))["id"]
    other = (await store(client, auth, "Walruses dive", graph=graph))["id"]
    edge = (await relate(client, auth, node, other, graph=graph))["id"]
    for mine in (world.member.auth, world.service_auth):
        assert set(await found(client, mine, "walruses", graph=graph)) == {node, other}
    assert (await store(client, world.service_auth, "Kept by a robot"))["existing"] is False
    path = f"/graphs/{graph}"
    stranger = world.stranger.auth
    for method, where, body in (
        ("GET", path, None),
        ("DELETE", path, None),
        ("POST", f"{path}/restore", None),
        ("POST", f"{path}/nodes", {"content": "x"}),
        ("GET", f"{path}/nodes", None),
        ("GET", f"{path}/nodes/{node}", None),
        ("PATCH", f"{path}/nodes/{node}", {"content": "x"}),
        ("DELETE", f"{path}/nodes/{node}", None),
        ("POST", f"{path}/nodes/{node}/restore", None),
        ("GET", f"{path}/nodes/{node}/history", None),
        ("GET", f"{path}/nodes/{node}/neighbors", None),
        ("POST", f"{path}/edges", {"from_id": node, "to_id": other, "edge_type": "x"}),
        ("GET", f"{path}/edges", None),
        ("DELETE", f"{path}/edges/{edge}", None),
        ("POST", f"{path}/recall", {"query": "walruses"}),
        ("GET", f"/graphs/default/nodes/{node}", None),
        ("PATCH", f"/graphs/default/nodes/{node}", {"content": "x"}),
        ("DELETE", f"/graphs/default/edges/{edge}", None),
    ):
        await call(client, stranger, method, where, json=body, expect=404)
    own = await store(client, stranger, "Mine alone")
    await relate(client, stranger, own["id"], node, expect=404)
    await store(client, stranger, "x", supersedes=[node], expect=404)
    assert await found(client, stranger, "walruses") == []
    assert await neighbors(client, auth, node, graph=graph) == {other: 1}


async def test_the_operator_sees_what_a_query_did_and_no_text(
    client: httpx.AsyncClient, console: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    await store(client, auth, "Walruses sing", node_type="fact", metadata={"team": "sea"})
    asked = await recall(
        client, auth, "walruses", node_type="fact", metadata_filter={"team": "sea"}, max_results=3, min_relevance=0.1
    )
    answer = await console.get(f"/x_console/api/queries/{asked['query_id']}")
    noted = answer.json()
    assert (noted["filters"], noted["max_results"], noted["min_relevance"]) == (
        ["node_type", "metadata_filter"],
        3,
        0.1,
    )
    assert (noted["returned"], noted["total"], noted["degraded"]) == (1, 1, "terms")
    assert (noted["user_id"], noted["account_id"]) == (world.owner.user.id, world.owner.principal.account_id)
    assert noted["best"] == pytest.approx(asked["results"][0]["relevance"], abs=1e-4)
    assert noted["milliseconds"] > 0
    assert "alrus" not in answer.text
    assert "sea" not in answer.text
    assert (await console.get("/x_console/api/queries/qry_" + "a" * 24)).status_code == 404


async def test_from_elsewhere_only_an_admin_looks_into_queries(services: Services, world: World) -> None:
    async with http(make_app(services), address="192.0.2.7") as client:
        asked = (await recall(client, world.owner.auth, "walruses"))["query_id"]
        assert (await client.get(f"/x_console/api/queries/{asked}")).status_code == 401
        answer = await client.get(f"/x_console/api/queries/{asked}", headers=world.owner.auth)
        assert answer.status_code == 403


async def test_the_function_that_filters_past_the_policies_holds_itself_to_the_transactions_reach(
    client: httpx.AsyncClient, world: World, services: Services, database: str
) -> None:
    await store(client, world.owner.auth, "Walruses sing", node_type="fact")
    ((account, space),) = await rows(database, "SELECT account, space FROM memories")
    other = await make_graph(client, world.owner.auth)
    ((elsewhere,),) = await rows(database, "SELECT space FROM spaces WHERE name = %s", [other])
    everything_seen: tuple[Visibility, ...] = ("public", "shared", "private")

    async def asked(account: int, spaces: tuple[int, ...], visibilities: tuple[Visibility, ...]) -> int:
        scope = ReadScope(account=account, spaces=spaces, visibilities=visibilities)
        async with services.db.transaction(scope) as conn:
            return len(await passages_of(conn, space, NodeFilter(node_type="fact"), most=10) or [])

    assert await asked(account, (space,), everything_seen) == 1
    assert await asked(account, (), everything_seen) == 0
    assert await asked(account, (elsewhere,), everything_seen) == 0
    assert await asked(account, (space,), ("public",)) == 0
    assert await asked(world.stranger.principal.account, (space,), everything_seen) == 0
    async with services.db.unscoped() as conn:
        with pytest.raises(psycopg.Error):
            await passages_of(conn, space, NodeFilter(), most=10)
