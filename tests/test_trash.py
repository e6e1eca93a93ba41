"""The trash lists what the caller can bring back and nothing else, of every kind; a change of nothing is none; and
nobody says anything that is yet to come.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from capsules import rows
from conftest import World, http
from graphs import make_graph, store
from keepstone.app import make_app
from keepstone.services import Services
from rooms import make_agent, make_room
from workspaces import Auth, artifact, call, keep, let_in, make_chat, make_workspace, upload


async def throw_away(client: httpx.AsyncClient, auth: Auth) -> dict[str, tuple[str, str]]:
    """One of every kind in the trash: by its name where it is listed, and where it is brought back."""
    place = await make_workspace(client, auth)
    gone_place = await make_workspace(client, auth, "Sunk")
    graph = await make_graph(client, auth)
    gone_graph = await make_graph(client, auth, "Sunk")
    capsule = await call(client, auth, "POST", "/memory/capsules", json={"content_md": "The ferry."}, expect=201)
    node = (await store(client, auth, "The ferry leaves at nine.", graph=graph))["id"]
    memory = (await keep(client, auth, place, "The ferry leaves at nine."))["id"]
    chat = await make_chat(client, auth, place)
    file = (await upload(client, auth, place, "ferry.txt", b"The ferry leaves at nine.", "text/plain"))["id"]
    paper = (await artifact(client, auth, place, "The ferry leaves at nine."))["id"]
    await make_agent(client, auth, "scout")
    room = await make_room(client, auth, agents=["scout"])
    within = f"/workspaces/{place}"
    things = {
        f"/memory/capsules/{capsule['id']}": "/memory/trash",
        f"/graphs/{gone_graph}": "/graphs?deleted=true",
        f"/graphs/{graph}/nodes/{node}": f"/graphs/{graph}/nodes?deleted=true",
        f"/workspaces/{gone_place}": "/workspaces?deleted=true",
        f"/chats/{chat}": "/chats?deleted=true",
        f"{within}/memories/{memory}": f"{within}/memories?deleted=true",
        f"{within}/files/{file}": f"{within}/files?deleted=true",
        f"{within}/artifacts/{paper}": f"{within}/artifacts?deleted=true",
        f"/rooms/{room}": "/rooms?deleted=true",
    }
    for path in things:
        await call(client, auth, "DELETE", path, expect=204)
    return {path.rpartition("/")[2]: (listed, f"{path}/restore") for path, listed in things.items()}


async def listed_ids(client: httpx.AsyncClient, auth: Auth, path: str) -> list[str]:
    return [one["id"] for one in (await call(client, auth, "GET", path))["items"]]


async def test_what_is_listed_in_the_trash_can_be_restored(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    for thing, (listed, restore) in (await throw_away(client, auth)).items():
        assert await listed_ids(client, auth, listed) == [thing], listed
        await call(client, auth, "POST", restore)
        assert await listed_ids(client, auth, listed) == [], listed


async def test_after_30_days_it_is_listed_no_more_though_no_job_has_come_yet(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.owner.auth
    things = await throw_away(client, auth)
    later = replace(services, clock=lambda: datetime.now(UTC) + timedelta(days=31))
    async with http(make_app(later)) as then:
        for listed, restore in things.values():
            assert await listed_ids(then, auth, listed) == [], listed
            await call(then, auth, "POST", restore, expect=404)
        assert (await call(then, auth, "GET", "/memory/usage"))["in_trash"] == 0


async def test_items_and_memories_of_entities_are_listed_for_30_days_too(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.owner.auth
    item = {"namespace": ["a"], "key": "k"}
    await call(client, auth, "PUT", "/stores/notes/items", json={**item, "value": {"n": 1}})
    await call(client, auth, "DELETE", "/stores/notes/items", params=item, expect=204)
    new = {"messages": [{"role": "user", "content": "I like tea"}], "user_id": "ann", "infer": False}
    kept = (await call(client, auth, "POST", "/v3/memories/add/", json=new))["results"][0]["id"]
    await call(client, auth, "DELETE", f"/memories/{kept}/")
    later = replace(services, clock=lambda: datetime.now(UTC) + timedelta(days=31))
    whose = {"filters": {"user_id": "ann"}}
    async with http(make_app(later)) as then:
        for at, items, memories in ((client, 1, 1), (then, 0, 0)):
            assert len(await listed_ids(at, auth, "/stores/notes/trash")) == items
            trash = await at.post("/v3/memories/trash/", headers=auth, json=whose)
            assert len(trash.json()["results"]) == memories
        await call(then, auth, "POST", "/stores/notes/items/restore", json=item, expect=404)
        await call(then, auth, "POST", f"/memories/{kept}/restore/", expect=404)


async def test_the_cold_tier_lists_what_can_be_recovered(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    auth = world.owner.auth
    await call(client, auth, "POST", "/memory/capsules", json={"content_md": "The ferry."}, expect=201)
    await rows(database, "UPDATE memories SET cold_at = now() - interval '29 days' RETURNING 1")
    assert len(await listed_ids(client, auth, "/memory/cold")) == 1
    later = replace(services, clock=lambda: datetime.now(UTC) + timedelta(days=2))
    async with http(make_app(later)) as then:
        assert await listed_ids(then, auth, "/memory/cold") == []


async def test_who_may_not_restore_it_has_it_not_in_their_trash(client: httpx.AsyncClient, world: World) -> None:
    olga, max_ = world.owner.auth, world.member.auth
    place = await make_workspace(client, olga)
    await let_in(client, olga, place, world.member, "member")
    graph = await make_graph(client, olga)
    gone_graph = await make_graph(client, olga, "Sunk")
    within = f"/workspaces/{place}"

    async def one_of_each(auth: Auth, words: str) -> dict[str, str]:
        return {
            f"/graphs/{graph}/nodes/{(await store(client, auth, f'{words} nodes', graph=graph))['id']}": (
                f"/graphs/{graph}/nodes?deleted=true"
            ),
            f"/chats/{await make_chat(client, auth, place)}": f"/chats?deleted=true&workspace_id={place}",
            f"{within}/memories/{(await keep(client, auth, place, f'{words} memories'))['id']}": (
                f"{within}/memories?deleted=true"
            ),
            f"{within}/artifacts/{(await artifact(client, auth, place, words, f'{words}.md'))['id']}": (
                f"{within}/artifacts?deleted=true"
            ),
        }

    hers, his = await one_of_each(olga, "apples"), await one_of_each(max_, "pears")
    for auth, things in ((olga, hers), (max_, his)):
        for path in things:
            await call(client, auth, "DELETE", path, expect=204)
    await call(client, olga, "DELETE", f"/graphs/{gone_graph}", expect=204)
    for mine, its in zip(hers, his, strict=True):
        listed = hers[mine]
        both = {path.rpartition("/")[2] for path in (mine, its)}
        assert set(await listed_ids(client, olga, listed)) == both
        assert await listed_ids(client, max_, listed) == [its.rpartition("/")[2]]
        await call(client, max_, "POST", f"{mine}/restore", expect=403)
    assert await listed_ids(client, max_, "/graphs?deleted=true") == []
    await let_in(client, olga, place, world.member, "viewer")
    for path, listed in his.items():
        if path.startswith(within):
            assert await listed_ids(client, max_, listed) == []
            await call(client, max_, "POST", f"{path}/restore", expect=403)


# ------------------------------------------------------------------------------------------------ changes of nothing


async def test_a_change_of_nothing_makes_no_version_and_no_line(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    place = await make_workspace(client, auth)
    made = {"content_md": "The ferry.", "title": "Ferry", "tags": ["sea"], "metadata": {"a": 1}}
    capsule = (await call(client, auth, "POST", "/memory/capsules", json=made, expect=201))["id"]
    node = (await store(client, auth, "The ferry leaves at nine.", node_type="fact"))["id"]
    memory = (await keep(client, auth, place, "The ferry leaves at nine."))["id"]
    paper = (await artifact(client, auth, place, "The ferry leaves at nine."))["id"]
    chat = await make_chat(client, auth, place)
    await make_agent(client, auth, "scout")
    new = {"messages": [{"role": "user", "content": "I like tea"}], "user_id": "ann", "infer": False}
    kept = (await call(client, auth, "POST", "/v3/memories/add/", json=new))["results"][0]["id"]
    columns = "SELECT id, version, updated_at FROM"
    state = f"{columns} memories UNION ALL {columns} documents ORDER BY 1"
    before = await rows(database, state)
    versions = "SELECT (SELECT count(*) FROM memory_versions), (SELECT count(*) FROM document_versions)"
    counted, lines = await rows(database, versions), await rows(database, "SELECT count(*) FROM audit")
    for path, bodies in {
        f"/memory/capsules/{capsule}": ({}, {"title": "Ferry"}, {"tags": ["sea"], "metadata": {"a": 1}}),
        f"/graphs/default/nodes/{node}": ({}, {"node_type": "fact"}, {"content": "The ferry leaves at nine."}),
        f"/workspaces/{place}/memories/{memory}": ({"content": "The ferry leaves at nine."},),
        f"/workspaces/{place}/artifacts/{paper}": ({}, {"name": "plan.md"}, {"content": "The ferry leaves at nine."}),
        f"/chats/{chat}": ({},),
        "/agents/scout": ({},),
        "/me": ({},),
        "/account": ({},),
        f"/users/{world.owner.user.id}": ({},),
    }.items():
        for body in bodies:
            await call(client, auth, "PATCH", path, json=body)
    await call(client, auth, "PUT", f"/v1/memories/{kept}/", json={"text": "I like tea"})
    assert await rows(database, state) == before
    assert await rows(database, versions) == counted
    assert await rows(database, "SELECT count(*) FROM audit") == lines
    for path in (f"/workspaces/{place}/memories/{memory}", f"/workspaces/{place}"):
        await call(client, auth, "PATCH", path, json={}, expect=422)


# --------------------------------------------------------------------------------------------------- what is to come


@pytest.mark.parametrize("ahead", [timedelta(hours=25), timedelta(days=400)])
async def test_nobody_says_anything_that_is_yet_to_come(
    client: httpx.AsyncClient, services: Services, world: World, database: str, ahead: timedelta
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth, "scout")
    room = await make_room(client, auth, agents=["scout"])
    moment = services.clock() + ahead
    then = moment.isoformat()
    turns = [{"speaker": "Anna", "text": "Hello"}, {"speaker": "Anna", "text": "Hello", "ts": then}]
    said = {"user": world.owner.user.id, "text": "Hello", "ts": then}
    new = {"messages": [{"role": "user", "content": "I like tea"}], "user_id": "ann", "infer": False}
    for path, body, at in (
        ("/ingest", {"scope_id": "team", "transcript": turns}, "body.transcript.1.ts"),
        ("/recall", {"scope_id": "team", "message": turns[1]}, "body.message.ts"),
        (f"/rooms/{room}/messages", said, "body.ts"),
        ("/dms/scout/messages", {name: said[name] for name in ("text", "ts")}, "body.ts"),
        ("/v3/memories/add/", {**new, "timestamp": int(moment.timestamp())}, "body.timestamp"),
    ):
        answer = await client.post(path if path.startswith("/v3") else f"/v1{path}", headers=auth, json=body)
        assert answer.status_code == 422, (path, answer.text)
        error: Any = answer.json()["error"]
        assert "more than a day in the future" in error["message"]
        assert error["details"][0]["path"] == at
    assert await rows(database, "SELECT 1 FROM messages") == []
    assert await rows(database, "SELECT 1 FROM memories") == []


async def test_a_clock_that_is_wrong_by_hours_is_no_fault(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    then = (services.clock() + timedelta(hours=23)).isoformat()
    body = {"scope_id": "team", "transcript": [{"speaker": "Anna", "text": "Hello", "ts": then}]}
    await call(client, world.owner.auth, "POST", "/ingest", json=body, expect=202)
