"""Projects: renamed, shared, deleted and brought back; what is in them, and for whom."""

from typing import Any

import httpx
import pytest

from capsules import CAPSULES, audited, get, ids, keep, rows
from conftest import Person, World, make_person
from keepstone.jobs.tasks import purge_memories
from keepstone.services import Services
from rooms import compose, let_in, make_agent, make_room, prompt, remember
from workspaces import Auth, call


@pytest.fixture
async def tina(services: Services, world: World) -> Person:
    return await make_person(services, "tina@example.org", account=world.owner.user.account)


async def make_project(client: httpx.AsyncClient, auth: Auth, name: str = "Trip", **members: Person) -> str:
    """With these, by the role that they have."""
    made = (await call(client, auth, "POST", "/projects", json={"name": name}, expect=201))["id"]
    for role, person in members.items():
        body = {"user": person.user.id, "role": role}
        await call(client, auth, "PUT", f"/projects/{made}/members", json=body)
    return made


async def known(client: httpx.AsyncClient, auth: Auth, project: str) -> list[str]:
    return [one["text"] for one in (await call(client, auth, "GET", f"/projects/{project}/memories"))["items"]]


# ----------------------------------------------------------------------------------------------------- the project


async def test_a_project_is_read_renamed_deleted_and_brought_back(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    made = await call(client, auth, "POST", "/projects", json={"name": "Trip"}, expect=201)
    path = f"/projects/{made['id']}"
    assert (made["role"], made["deleted_at"]) == ("owner", None)
    assert await call(client, auth, "GET", path) == made
    renamed = await call(client, auth, "PATCH", path, json={"name": "Journey"})
    assert (renamed["name"], renamed["id"]) == ("Journey", made["id"])
    await call(client, auth, "DELETE", path, expect=204)
    for method, below in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/members"), ("GET", "/memories")):
        await call(client, auth, method, path + below, expect=404, json={"name": "x"} if method == "PATCH" else None)
    assert (await call(client, auth, "GET", "/projects"))["items"] == []
    [away] = (await call(client, auth, "GET", "/projects?deleted=true"))["items"]
    assert (away["id"], away["deleted_at"] is not None) == (made["id"], True)
    assert await call(client, auth, "POST", f"{path}/restore") == renamed
    await call(client, auth, "POST", f"{path}/restore", expect=404)
    for what in ("create", "rename", "delete", "restore"):
        assert len(await audited(client, auth, f"project.{what}")) == 1
    for body in ({}, {"name": ""}, {"name": None}, {"colour": "red"}):
        await call(client, auth, "PATCH", path, json=body, expect=422)


async def test_after_30_days_a_deleted_project_is_gone_and_what_was_in_it_stays(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth)
    project = await make_project(client, auth)
    capsule = await keep(client, auth, "The ferry leaves at nine", project_id=project)
    room = await make_room(client, auth, project_id=project)
    await remember(client, auth, project, "The trip goes to Hven.")
    await call(client, auth, "PUT", f"/facts/project/{project}/budget", json={"value": 1000})
    await call(client, auth, "DELETE", f"/projects/{project}", expect=204)
    long_ago = "UPDATE keepstone.spaces SET deleted_at = now() - interval '31 days' WHERE name = %s RETURNING 1"
    await rows(database, long_ago, [project])
    await call(client, auth, "POST", f"/projects/{project}/restore", expect=404)
    await purge_memories(services)
    assert len(await audited(client, auth, "project.purge")) == 1
    assert await rows(database, "SELECT 1 FROM keepstone.spaces WHERE name = %s", [project]) == []
    for table in ("rooms", "memories"):
        assert await rows(database, f"SELECT 1 FROM keepstone.{table} WHERE project_id = %s", [project]) == []
    assert await rows(database, "SELECT 1 FROM keepstone.facts WHERE scope_id = %s", [project]) == []
    assert (await get(client, auth, f"{CAPSULES}/{capsule['id']}"))["project_id"] is None
    assert (await call(client, auth, "GET", f"/rooms/{room}"))["project_id"] is None


# -------------------------------------------------------------------------------------------------------- members


async def test_members_are_let_in_given_roles_and_sent_away(
    client: httpx.AsyncClient, world: World, tina: Person
) -> None:
    auth = world.owner.auth
    project = await make_project(client, auth)
    path = f"/projects/{project}/members"
    members = await call(client, auth, "PUT", path, json={"user": "Max@example.org", "role": "editor"})
    assert {one["user_id"]: one["role"] for one in members["items"]} == {
        world.owner.user.id: "owner", world.member.user.id: "editor",
    }  # fmt: skip
    assert (await call(client, world.member.auth, "GET", f"/projects/{project}"))["role"] == "editor"
    assert await call(client, world.member.auth, "GET", path) == members
    await call(client, world.member.auth, "PUT", path, json={"user": tina.user.id}, expect=403)
    await call(client, auth, "PUT", path, json={"user": "nobody@example.org"}, expect=404)
    await call(client, auth, "PUT", path, json={"user": "stan@elsewhere.example"}, expect=404)
    await call(client, auth, "PUT", path, json={"user": tina.user.id, "role": "king"}, expect=422)
    await call(client, auth, "DELETE", f"{path}/{world.owner.user.id}", expect=409)
    await call(client, auth, "PUT", path, json={"user": world.owner.user.id, "role": "viewer"}, expect=409)
    await call(client, auth, "DELETE", f"{path}/{tina.user.id}", expect=404)
    await call(client, world.member.auth, "DELETE", f"{path}/{world.owner.user.id}", expect=403)
    await call(client, world.member.auth, "DELETE", f"{path}/{world.member.user.id}", expect=204)
    await call(client, world.member.auth, "GET", f"/projects/{project}", expect=404)
    assert [len(await audited(client, auth, f"project.{what}")) for what in ("member", "leave")] == [1, 1]


async def test_each_role_may_what_it_says(
    client: httpx.AsyncClient, services: Services, world: World, tina: Person
) -> None:
    auth = world.owner.auth
    rita = await make_person(services, "rita@example.org", account=world.owner.user.account)
    project = await make_project(client, auth, viewer=world.member, member=tina, editor=rita)
    await remember(client, auth, project, "The trip goes to Hven.")
    fact = f"/facts/project/{project}/budget"
    await call(client, auth, "PUT", fact, json={"value": 1000})
    for person, adds, changes in ((world.member, 403, 403), (tina, 200, 403), (rita, 200, 200)):
        assert await known(client, person.auth, project) != []
        assert (await call(client, person.auth, "GET", fact))["value"] in (1000, 2000)
        body = {"value": 1}
        own = f"/facts/project/{project}/of_{person.user.name}"
        await call(client, person.auth, "PUT", own, json=body, expect=adds)
        await call(client, person.auth, "PUT", fact, json={"value": 2000}, expect=changes)
        text = {"text": f"{person.user.name} brings the map of the island."}
        path = f"/projects/{project}/memories"
        await call(client, person.auth, "POST", path, json=text, expect=201 if adds == 200 else adds)
        await call(client, person.auth, "PATCH", f"/projects/{project}", json={"name": "x"}, expect=403)
        await call(client, person.auth, "DELETE", f"/projects/{project}", expect=403)
        room = {"name": "In it", "project_id": project}
        await call(client, person.auth, "POST", "/rooms", json=room, expect=201 if adds == 200 else adds)
    await call(client, tina.auth, "DELETE", fact, expect=403)
    await call(client, tina.auth, "DELETE", f"/facts/project/{project}/of_tina", expect=204)
    await call(client, rita.auth, "DELETE", fact, expect=204)


async def test_what_is_known_of_a_project_is_its_members_and_nobody_elses_on_no_way(
    client: httpx.AsyncClient, world: World, tina: Person
) -> None:
    """Tina is in a room of the project, and not in the project."""
    auth = world.owner.auth
    await make_agent(client, auth)
    project = await make_project(client, auth, member=world.member)
    await remember(client, auth, project, "The trip goes to Hven.")
    await call(client, auth, "PUT", f"/facts/project/{project}/budget", json={"value": "a thousand"})
    room = await make_room(client, auth, world.member, tina, project_id=project)
    for person in (world.owner, world.member):
        composed = await compose(client, person.auth, room, "Where does the trip go?")
        assert f"project:{project}" in composed["filter"]["run_ids"]
        assert "Hven" in prompt(composed)
        assert "a thousand" in prompt(composed)
    for auth_ in (tina.auth, world.service_auth | {"X-Keepstone-User": tina.user.id}):
        composed = await compose(client, auth_, room, "Where does the trip go?")
        assert f"project:{project}" not in composed["filter"]["run_ids"]
        assert "Hven" not in prompt(composed)
        assert "a thousand" not in prompt(composed)
        for path in ("", "/members", "/memories"):
            await call(client, auth_, "GET", f"/projects/{project}{path}", expect=404)
        await call(client, auth_, "GET", f"/facts?scope_kind=project&scope_id={project}", expect=404)
        await compose(client, auth_, "scout", "Where?", project_id=project, expect=404)
    await call(client, auth, "DELETE", f"/projects/{project}/members/{world.member.user.id}", expect=204)
    composed = await compose(client, world.member.auth, room, "Where does the trip go?")
    assert "Hven" not in prompt(composed), "who left reads nothing more"


# ------------------------------------------------------------------------------------------------ what is in projects


async def test_a_room_is_moved_into_a_project_and_out_by_its_owner(
    client: httpx.AsyncClient, world: World, tina: Person
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth)
    project = await make_project(client, auth, member=world.member)
    secret = await make_project(client, tina.auth, "Secret")
    room = await make_room(client, auth, world.member)
    path = f"/rooms/{room}"
    await call(client, world.member.auth, "PATCH", path, json={"project_id": project}, expect=403)
    await call(client, auth, "PATCH", path, json={"project_id": secret}, expect=404)
    await call(client, auth, "PATCH", path, json={"project_id": "proj_x"}, expect=422)
    moved = await call(client, auth, "PATCH", path, json={"project_id": project})
    assert (moved["project_id"], moved["name"]) == (project, "Island")
    assert (await call(client, auth, "PATCH", path, json={"name": "Isle"}))["project_id"] == project
    await remember(client, auth, project, "The trip goes to Hven.")
    assert "Hven" in prompt(await compose(client, auth, room, "Where does the trip go?"))
    out = await call(client, auth, "PATCH", path, json={"project_id": None})
    assert (out["project_id"], out["name"]) == (None, "Isle")
    assert "Hven" not in prompt(await compose(client, auth, room, "Where does the trip go?"))
    assert await call(client, auth, "PATCH", path, json={}) == out | {"last_at": out["last_at"]}
    assert [len(await audited(client, auth, f"room.{what}")) for what in ("move", "rename")] == [2, 1]


async def test_rooms_and_capsules_of_a_deleted_project_stay_without_it_and_come_back_to_it(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth)
    project = await make_project(client, auth)
    room = await make_room(client, auth, project_id=project)
    capsule = await keep(client, auth, "The ferry leaves at nine", project_id=project)
    await remember(client, auth, project, "The trip goes to Hven.")
    await call(client, auth, "PUT", f"/facts/project/{project}/budget", json={"value": 1000})

    async def places() -> tuple[Any, Any]:
        found = await get(client, auth, f"{CAPSULES}/{capsule['id']}")
        assert found["project"] == ({"id": found["project_id"], "name": "Trip"} if found["project_id"] else None)
        return (await call(client, auth, "GET", f"/rooms/{room}"))["project_id"], found["project_id"]

    assert await places() == (project, project)
    await call(client, auth, "DELETE", f"/projects/{project}", expect=204)
    assert await places() == (None, None)
    assert await ids(client, auth, project_id="none") == [capsule["id"]]
    composed = await compose(client, auth, room, "Where does the trip go?")
    assert "Hven" not in prompt(composed)
    assert f"project:{project}" not in composed["filter"]["run_ids"]
    await call(client, auth, "GET", f"/facts/project/{project}/budget", expect=404)
    changed = await client.patch(f"{CAPSULES}/{capsule['id']}", headers=auth, json={"tags": ["ferry"]})
    assert changed.json()["project"] is None
    await call(client, auth, "POST", f"/projects/{project}/restore")
    assert await places() == (project, project)
    assert "Hven" in prompt(await compose(client, auth, room, "Where does the trip go?"))
    assert (await call(client, auth, "GET", f"/facts/project/{project}/budget"))["value"] == 1000


async def test_a_capsule_is_in_a_project_while_its_owner_is(client: httpx.AsyncClient, world: World) -> None:
    project = await make_project(client, world.owner.auth, "Trip", member=world.member)
    mine = await keep(client, world.member.auth, "The ferry leaves at nine", project_id=project)
    assert mine["project"] == {"id": project, "name": "Trip"}
    assert await ids(client, world.owner.auth) == [], "a project shares no capsules"
    await call(client, world.owner.auth, "DELETE", f"/projects/{project}/members/{world.member.user.id}", expect=204)
    await call(client, world.owner.auth, "PATCH", f"/projects/{project}", json={"name": "Of others"})
    found = await get(client, world.member.auth, f"{CAPSULES}/{mine['id']}")
    assert (found["project"], found["project_id"]) == (None, None)
    archive = await get(client, world.member.auth, "/v1/memory/export")
    assert [one["project_id"] for one in archive["capsules"]] == [None]


@pytest.mark.parametrize("mode", ["literal", "semantic", "hybrid"])
async def test_a_search_of_everything_says_which_project_a_hit_is_from_and_can_leave_projects_out(
    client: httpx.AsyncClient, world: World, mode: str
) -> None:
    auth = world.owner.auth
    project = await make_project(client, auth, "Trip")
    inside = await keep(client, auth, "The ferry to Hven leaves at nine", project_id=project)
    outside = await keep(client, auth, "The ferry to Hven is called Sirius")
    assert (inside["project"], outside["project"]) == ({"id": project, "name": "Trip"}, None)
    asked = {"q": "ferry Hven", "mode": mode}
    hits = {one["id"]: one["project"] for one in (await get(client, auth, CAPSULES, **asked))["items"]}
    assert hits == {inside["id"]: {"id": project, "name": "Trip"}, outside["id"]: None}
    assert await ids(client, auth, **asked, project_id="none") == [outside["id"]]
    assert await ids(client, auth, **asked, project_id=project) == [inside["id"]]
    assert await ids(client, auth, project_id="none") == [outside["id"]]
    await call(client, auth, "DELETE", f"/projects/{project}", expect=204)
    assert set(await ids(client, auth, **asked, project_id="none")) == {inside["id"], outside["id"]}
    related = await get(client, auth, f"{CAPSULES}/related", text="ferry to Hven", project_id="none", min_relevance=0)
    assert {one["id"] for one in related["items"]} == {inside["id"], outside["id"]}
    await call(client, auth, "POST", f"/projects/{project}/restore")
    assert await ids(client, auth, **asked, project_id="none") == [outside["id"]]
    refused = await client.get(CAPSULES, headers=auth, params={"project_id": "all"})
    assert refused.status_code == 422


async def test_a_tool_sees_the_project_of_a_hit_and_can_leave_projects_out(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    project = await make_project(client, auth, "Trip")

    async def ask(**arguments: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "conductor_ask", "arguments": arguments}}  # fmt: skip
        answer = await client.post("/v1/mcp", headers=auth, json=body)
        result = answer.json()["result"]
        assert not result["isError"], result
        return result

    saved = await ask(mode="save_memory", content_md="The ferry to Hven leaves at nine", project_id=project)
    inside = saved["structuredContent"]["capsule"]
    assert inside["project"] == {"id": project, "name": "Trip"}
    saved = await ask(mode="save_memory", content_md="The ferry to Hven is called Sirius", project_id="none")
    outside = saved["structuredContent"]["capsule"]
    found = await ask(mode="search_memory", query="ferry to Hven")
    hits = {one["id"]: one["project"] for one in found["structuredContent"]["hits"]}
    assert hits == {inside["id"]: {"id": project, "name": "Trip"}, outside["id"]: None}
    assert "project: Trip" in found["content"][0]["text"]
    found = await ask(mode="search_memory", query="ferry to Hven", project_id="none")
    assert [one["id"] for one in found["structuredContent"]["hits"]] == [outside["id"]]
    moved = await ask(mode="update_memory", id=inside["id"], project_id="none")
    assert moved["structuredContent"]["capsule"]["project_id"] is None


async def test_the_last_member_of_a_project_who_is_let_into_a_room_later_reads_it_there(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth)
    project = await make_project(client, auth, owner=world.member)
    room = await make_room(client, auth, project_id=project)
    await remember(client, auth, project, "The trip goes to Hven.")
    await call(client, auth, "DELETE", f"/projects/{project}/members/{world.owner.user.id}", expect=204)
    assert "Hven" not in prompt(await compose(client, auth, room, "Where does the trip go?"))
    await let_in(client, auth, world.member, room)
    assert "Hven" in prompt(await compose(client, world.member.auth, room, "Where does the trip go?"))
