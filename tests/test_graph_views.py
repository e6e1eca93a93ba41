"""A graph as a whole: what it counts, its picture, what of it no longer holds, and the edges of a node in pages."""

from datetime import UTC, datetime, timedelta

import httpx

from conftest import World
from graphs import make_graph, relate, store
from workspaces import call

LONG_AGO = (datetime.now(UTC) - timedelta(days=40)).isoformat()
BETWEEN = (datetime.now(UTC) - timedelta(days=20)).isoformat().replace("+00:00", "Z")


async def test_counts_and_picture_tell_what_holds_now_and_what_held_then(
    client: httpx.AsyncClient, world: World
) -> None:
    auth, graph = world.owner.auth, await make_graph(client, world.owner.auth)
    path = f"/graphs/{graph}"
    old = await store(client, auth, "The office is in Porto", graph=graph, node_type="fact", valid_from=LONG_AGO)
    hub = await store(client, auth, "Rui runs the office", graph=graph, node_type="person", valid_from=LONG_AGO)
    new = await store(client, auth, "The office is in Faro", graph=graph, node_type="fact", supersedes=[old["id"]])
    gone = await store(client, auth, "Nobody reads this", graph=graph)
    await relate(client, auth, hub["id"], new["id"], "runs", graph=graph)
    await relate(client, auth, hub["id"], gone["id"], "wrote", graph=graph)
    await call(client, auth, "DELETE", f"{path}/nodes/{gone['id']}", expect=204)

    now = await call(client, auth, "GET", f"{path}/counts")
    assert (now["nodes"], now["superseded"], now["edges"]) == (2, 1, 2)
    assert now["edge_types"] == {"runs": 1, "supersedes": 1}
    assert {(each["node_type"], each["holding"], each["superseded"]) for each in now["node_types"]} == {
        ("fact", 1, 1), ("person", 1, 0),
    }  # fmt: skip
    then = await call(client, auth, "GET", f"{path}/counts?as_of={BETWEEN}")
    assert (then["nodes"], then["superseded"], then["edges"], then["since"]) == (2, 0, 0, now["since"])

    drawn = await call(client, auth, "GET", f"{path}/picture")
    assert [node["id"] for node in drawn["nodes"]] == [new["id"], hub["id"]], "those with the most edges first"
    assert [edge["edge_type"] for edge in drawn["edges"]] == ["runs"]
    whole = await call(client, auth, "GET", f"{path}/picture?superseded=true")
    assert {node["id"]: node["superseded_by"] for node in whole["nodes"]}[old["id"]] == new["id"]
    assert {edge["edge_type"] for edge in whole["edges"]} == {"runs", "supersedes"}
    before = await call(client, auth, "GET", f"{path}/picture?as_of={BETWEEN}")
    assert {node["id"] for node in before["nodes"]} == {old["id"], hub["id"]}
    first = await call(client, auth, "GET", f"{path}/picture?limit=1")
    assert (len(first["nodes"]), first["edges"], first["more"]) == (1, [], True)
    assert len((await call(client, auth, "GET", f"{path}/nodes?superseded=true"))["items"]) == 3
    assert (await call(client, auth, "GET", f"{path}/edges?as_of={BETWEEN}"))["items"] == []


async def test_the_edges_of_a_node_come_in_pages_with_the_other_end(client: httpx.AsyncClient, world: World) -> None:
    auth, graph = world.owner.auth, await make_graph(client, world.owner.auth)
    hub = (await store(client, auth, "The harbour", graph=graph))["id"]
    others = [(await store(client, auth, f"Ship number {place}", graph=graph))["id"] for place in range(5)]
    edges = [(await relate(client, auth, other, hub, "lies_in", graph=graph))["id"] for other in others]
    await call(client, auth, "DELETE", f"/graphs/{graph}/edges/{edges[0]}", expect=204)
    path = f"/graphs/{graph}/nodes/{hub}/edges"
    first = await call(client, auth, "GET", path, params={"limit": 2})
    rest = await call(client, auth, "GET", path, params={"limit": 2, "cursor": first["next_cursor"]})
    found = [(each["edge"]["id"], each["node"]["id"]) for each in first["items"] + rest["items"]]
    assert found == list(zip(edges, others, strict=True))[:0:-1]
    assert not rest["has_more"]
    ended = await call(client, auth, "GET", path, params={"ended": True})
    assert [each["edge"]["id"] for each in ended["items"]] == edges[::-1]
    await call(client, world.stranger.auth, "GET", path, expect=404)
