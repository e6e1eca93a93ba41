"""One search over everything: each kind is found by its name and by its words, and by nobody whose it is not."""

from typing import Any

import httpx

import graphs
import rooms
import workspaces
from capsules import keep
from conftest import World
from keepstone.jobs.worker import run_until_empty
from keepstone.services import Services

Auth = dict[str, str]


async def look(client: httpx.AsyncClient, auth: Auth, q: str, **params: Any) -> dict[str, list[Any]]:
    answer = await client.get("/v1/find", headers=auth, params={"q": q, **params})
    assert answer.status_code == 200, answer.text
    return {group["kind"]: group["items"] for group in answer.json()["groups"]}


async def fill(client: httpx.AsyncClient, services: Services, world: World) -> dict[str, str]:
    """Something of every kind that speaks of a ferry; ids by what they are."""
    mine = world.owner.auth
    place = await workspaces.make_workspace(client, mine, "Island")
    chat = await workspaces.make_chat(client, mine, place, "Crossing over")
    await workspaces.say(services, world.owner, chat, "When does the ferry leave?", reply="At nine.")
    await rooms.make_agent(client, mine, "scout", name="Ferryman")
    room = await rooms.make_room(client, mine, name="Harbour", agents=["scout"])
    await rooms.say(client, mine, room, "The ferry is late again.")
    scope = {"scope_id": "pier/9", "transcript": [{"speaker": "Ada", "text": "The ferry has two decks."}]}
    await client.post("/v1/ingest", headers=mine, json=scope)
    added = {
        "messages": [{"role": "user", "content": "I take the ferry on Mondays."}],
        "user_id": "ada",
        "infer": False,
    }
    await client.post("/v3/memories/add/", headers=mine, json=added)
    made = {
        "place": place, "chat": chat, "room": room,
        "capsule": (await keep(client, mine, "It sails at nine.", title="The ferry to the island"))["id"],
        "memory": (await workspaces.keep(client, mine, place, "Ada prefers the ferry to the bridge."))["id"],
        "file": (await workspaces.upload(client, mine, place, "ferry-times.txt", b"Nine, twelve and four."))["id"],
        "artifact": (await workspaces.artifact(client, mine, place, "Board the ferry early."))["id"],
        "node": (await graphs.store(client, mine, "The ferry is operated by the port."))["id"],
    }  # fmt: skip
    await run_until_empty(services)
    return made


async def test_each_kind_is_found_with_the_way_to_it(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    mine, made = world.owner.auth, await fill(client, services, world)
    found = await look(client, mine, "ferr", limit=20)
    assert set(found) == {"capsule", "chat", "memory", "document", "room", "node", "scope"}
    assert list(found)[:2] == ["document", "room"], "what is called so comes first"
    assert [one["id"] for one in found["capsule"]] == [made["capsule"]]
    assert "<mark>ferry</mark>" in found["capsule"][0]["snippet"]
    [chat] = found["chat"]
    assert (chat["id"], chat["title"], chat["where"]["name"]) == (made["chat"], "Crossing over", "Island")
    assert chat["where"]["message_id"].startswith("msg_")
    assert {one["id"] for one in found["document"]} == {made["file"], made["artifact"]}
    assert found["document"][0]["id"] == made["file"], "a name counts more than a text"
    places = {one["where"]["place"]: one for one in found["memory"]}
    assert places["workspace"]["id"] == made["memory"]
    assert places["workspace"]["where"]["workspace_id"] == made["place"]
    assert places["entity"]["where"]["entity"]["user_id"] == "ada"
    assert [one["id"] for one in found["node"]] == [made["node"]]
    assert found["node"][0]["where"]["graph_id"].startswith("graph_")
    assert [(one["id"], one["where"]["agent"]) for one in found["room"]] == [("scout", "scout")], (
        "nobody has talked yet"
    )
    assert (places["room"]["where"]["room_id"], places["room"]["where"]["name"]) == (made["room"], "Harbour")
    [scope] = found["scope"]
    assert (scope["id"], scope["where"]["scope_id"], scope["where"]["name"]) == ("pier/9", "pier/9", "pier/9")
    assert {"room": [made["room"]]} == {
        kind: [one["id"] for one in items] for kind, items in (await look(client, mine, "h")).items()
    }, "one letter is the beginning of a name"
    assert "scope" in await look(client, mine, "pier 9")


async def test_where_there_is_nothing_nothing_is_found_and_nothing_is_charged_or_traced(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    mine, made = world.owner.auth, await fill(client, services, world)
    before = (await client.get("/v1/usage", headers=mine)).json()
    for nothing in ("zeppelin", "xq", "", "  ", "%", "ferry zeppelin"):
        assert await look(client, mine, nothing) == {}, nothing
    assert (await client.delete(f"/v1/memory/capsules/{made['capsule']}", headers=mine)).status_code == 204
    assert "capsule" not in await look(client, mine, "ferry")
    assert (await client.get("/v1/usage", headers=mine)).json()["month"] == before["month"]
    assert (await client.get("/v1/traces", headers=mine)).json()["items"] == []


async def test_others_find_nothing_of_it_and_a_limited_key_finds_what_it_reaches(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    mine, made = world.owner.auth, await fill(client, services, world)
    assert await look(client, world.stranger.auth, "ferry") == {}
    assert set(await look(client, world.member.auth, "ferry")) == {"node", "room"}, "graphs and agents are all people's"
    assert set(await look(client, world.service_auth, "ferry")) == {"node"}

    async def key(**limits: Any) -> Auth:
        answer = await client.post("/v1/keys", headers=mine, json={"name": "limited", **limits})
        return {"Authorization": f"Bearer {answer.json()['key']}"}

    assert set(await look(client, await key(surfaces=["graphs"]), "ferry")) == {"node"}
    assert set(await look(client, await key(surfaces=["account"]), "ferry")) == set()
    within = await look(client, await key(spaces=[made["room"]]), "ferry")
    assert {kind: {one["where"]["room_id"] for one in items} for kind, items in within.items()} == {
        kind: {made["room"]} for kind in within
    }
    assert "memory" in within
    assert "room" not in await look(client, world.member.auth, "harbour")
    await rooms.let_in(client, mine, world.member, made["room"])
    assert made["room"] in {one["id"] for one in (await look(client, world.member.auth, "harbour"))["room"]}
