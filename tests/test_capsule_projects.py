"""Projects hold capsules apart; somebody else's is not there."""

import httpx
import pytest

from capsules import CAPSULES, get, ids, keep
from conftest import World


async def project(client: httpx.AsyncClient, auth: dict[str, str], name: str) -> str:
    answer = await client.post("/v1/projects", headers=auth, json={"name": name})
    assert answer.status_code == 201
    assert answer.json()["name"] == name
    assert answer.json()["created_at"].endswith("Z")
    return answer.json()["id"]


async def test_a_project_is_seen_by_who_is_in_it(client: httpx.AsyncClient, world: World) -> None:
    made = [await project(client, world.owner.auth, f"Project {number}") for number in range(5)]
    first = await get(client, world.owner.auth, "/v1/projects", limit=3)
    second = await get(client, world.owner.auth, "/v1/projects", limit=3, cursor=first["next_cursor"])
    assert [item["id"] for item in (*first["items"], *second["items"])] == made[::-1]
    for auth in (world.member.auth, world.stranger.auth):
        assert await ids(client, auth, "/v1/projects") == []
    for body in ({}, {"name": ""}, {"name": "x" * 256}, {"name": "a\0"}, {"name": "a", "members": []}):
        assert (await client.post("/v1/projects", headers=world.owner.auth, json=body)).status_code == 422
    assert await project(client, world.owner.auth, "Project 0") not in made, "a name may come twice"


@pytest.mark.parametrize("mode", ["literal", "semantic", "hybrid"])
async def test_a_capsule_of_one_project_is_not_found_in_another(
    client: httpx.AsyncClient, world: World, mode: str
) -> None:
    auth = world.owner.auth
    home, work = await project(client, auth, "Home"), await project(client, auth, "Work")
    made = {
        place: await keep(client, auth, "The ferry leaves at nine", title="Ferry", project_id=place)
        for place in (home, work, None)
    }
    assert len({one["id"] for one in made.values()}) == 3, "the same text in three places is three capsules"
    assert made[home]["project_id"] == home
    assert await ids(client, auth, project_id=home) == [made[home]["id"]]
    assert await ids(client, auth, q="ferry", mode=mode, project_id=work) == [made[work]["id"]]
    assert len(await ids(client, auth, q="ferry")) == 3
    moved = await client.patch(f"{CAPSULES}/{made[None]['id']}", headers=auth, json={"project_id": home})
    assert moved.status_code == 409, "there it is already"
    await client.patch(f"{CAPSULES}/{made[None]['id']}", headers=auth, json={"content_md": "Other", "project_id": home})
    assert len(await ids(client, auth, project_id=home)) == 2
    out = await client.patch(f"{CAPSULES}/{made[work]['id']}", headers=auth, json={"project_id": None})
    assert out.json()["project_id"] is None
    assert await ids(client, auth, project_id=work) == []


async def test_somebody_elses_project_is_not_there(client: httpx.AsyncClient, world: World) -> None:
    theirs = await project(client, world.owner.auth, "Secret")
    for auth in (world.member.auth, world.stranger.auth):
        mine = await keep(client, auth, "mine")
        for place in (theirs, "proj_" + "0" * 24):
            body = {"content_md": "into it", "project_id": place}
            assert (await client.post(CAPSULES, headers=auth, json=body)).status_code == 404
            change = {"project_id": place}
            assert (await client.patch(f"{CAPSULES}/{mine['id']}", headers=auth, json=change)).status_code == 404
            for mode in ("literal", "semantic"):
                params = {"project_id": place, "q": "x", "mode": mode}
                assert (await client.get(CAPSULES, headers=auth, params=params)).status_code == 404
            assert (await client.get(CAPSULES, headers=auth, params={"project_id": place})).status_code == 404
            params = {"project_id": place, "text": "x"}
            assert (await client.get(f"{CAPSULES}/related", headers=auth, params=params)).status_code == 404
        assert await ids(client, auth) == [mine["id"]]
