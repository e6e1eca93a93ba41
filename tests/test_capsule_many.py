"""Many capsules: a list begun anywhere, counted, changed together; a merge taken back; tags for a text."""

from datetime import UTC, datetime
from typing import Any

import httpx

from capsules import CAPSULES, get, ids, keep, post
from conftest import World


async def test_a_list_begins_anywhere_and_its_months_kinds_tags_and_projects_are_counted(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    project = (await client.post("/v1/projects", headers=auth, json={"name": "Islands"})).json()["id"]
    for number in range(7):
        more: dict[str, Any] = {"project_id": project} if number == 0 else {}
        await keep(client, auth, f"note {number}", tags=["all", "even" if number % 2 == 0 else "odd"],
                   kind="recipe" if number == 6 else "note", **more)  # fmt: skip
    every = await ids(client, auth)
    assert await ids(client, auth, skip=3) == every[3:]
    assert await ids(client, auth, skip=2, limit=2) == every[2:4]
    assert await ids(client, auth, skip=7) == []
    assert await ids(client, auth, tag=["all", "odd"], skip=1) == [every[3], every[5]]

    async def counts(by: str, **wanted: Any) -> dict[str, int]:
        found = await get(client, auth, f"{CAPSULES}/counts", by=by, **wanted)
        return {one["value"]: one["count"] for one in found["items"]}

    whole = await get(client, auth, f"{CAPSULES}/ids", tag="odd")
    assert whole["ids"] == [every[1], every[3], every[5]]
    assert await counts("month") == {f"{datetime.now(UTC):%Y-%m}": 7}
    assert await counts("kind") == {"note": 6, "recipe": 1}
    assert await counts("tag", tag=["all", "odd"]) == {"all": 3, "odd": 3}
    assert await counts("project") == {project: 1, "none": 6}
    assert await counts("kind", project_id=project) == {"note": 1}
    await client.delete(f"{CAPSULES}/{every[0]}", headers=auth)
    assert await counts("kind") == {"note": 6}, "counted anew after a change"


async def test_many_are_tagged_moved_deleted_and_restored_together(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    project = (await client.post("/v1/projects", headers=auth, json={"name": "Islands"})).json()["id"]
    made = [(await keep(client, auth, f"note {number}", tags=["old"]))["id"] for number in range(3)]
    foreign = await keep(client, world.member.auth, "mine", tags=["old"])
    chosen = [*made, foreign["id"]]
    body = {"ids": chosen, "add_tags": ["new"], "remove_tags": ["old"], "kind": "recipe", "project_id": project}
    before = (await post(client, auth, f"{CAPSULES}/change", body))["items"]
    assert {one["id"] for one in before} == set(made), "another's is not there"
    assert {(one["kind"], tuple(one["tags"]), one["project_id"]) for one in before} == {("note", ("old",), None)}
    after = await get(client, auth, f"{CAPSULES}/{made[0]}")
    assert (after["kind"], after["tags"], after["project"]["name"]) == ("recipe", ["new"], "Islands")
    assert (await post(client, auth, f"{CAPSULES}/change", body))["items"] == []
    assert (await get(client, world.member.auth, f"{CAPSULES}/{foreign['id']}"))["tags"] == ["old"]

    assert await post(client, auth, f"{CAPSULES}/delete", {"ids": chosen}) == {"deleted": 3}
    assert await ids(client, auth) == []
    assert await ids(client, world.member.auth) == [foreign["id"]]
    assert await post(client, auth, f"{CAPSULES}/restore", {"ids": chosen}) == {"restored": 3}
    assert set(await ids(client, auth)) == set(made)
    assert await post(client, auth, f"{CAPSULES}/restore", {"ids": chosen}) == {"restored": 0}


async def test_a_merge_is_taken_back_even_after_more_was_written(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    one = await keep(client, auth, "The ferry leaves at nine.", title="Ferry", tags=["trip"], metadata={"a": 1})
    two = await keep(client, auth, "Tickets cost 12 euros.", title="Tickets", tags=["money"], metadata={"b": 2})
    three = await keep(client, auth, "Dogs travel free.", title="Dogs")
    for other in (two, three):
        merged = await post(client, auth, f"{CAPSULES}/merge", {"ids": [other["id"]], "into": one["id"]})
    assert merged["tags"] == ["trip", "money"]
    history = (await get(client, auth, f"{CAPSULES}/{one['id']}/history"))["items"]
    assert [[part["title"] for part in version["merged"]] for version in history] == [["Dogs"], ["Tickets"], []]
    unmerge = f"{CAPSULES}/{one['id']}/unmerge"
    refused = await client.post(unmerge, headers=world.member.auth, json={"version": 3})
    assert refused.status_code == 404
    back = await post(client, auth, unmerge, {"version": 3})
    assert "Dogs" not in back["content_md"]
    assert "12 euros" in back["content_md"]
    await client.patch(f"{CAPSULES}/{one['id']}", headers=auth, json={"title": "The ferry"})
    back = await post(client, auth, unmerge, {"version": 2})
    assert (back["title"], back["content_md"]) == ("Ferry", "The ferry leaves at nine.")
    assert (back["tags"], back["metadata"]) == (["trip"], {"a": 1})
    assert set(await ids(client, auth)) == {one["id"], two["id"], three["id"]}
    assert (await client.post(unmerge, headers=auth, json={"version": 2})).status_code == 404
    changes = [version["change"] for version in (await get(client, auth, f"{CAPSULES}/{one['id']}/history"))["items"]]
    assert changes == ["unmerged", "updated", "unmerged", "updated", "updated", "created"]


async def test_tags_are_suggested_for_a_text(client: httpx.AsyncClient, world: World) -> None:
    found = await post(client, world.owner.auth, f"{CAPSULES}/alike", {"content_md": "The harbour ferry. The harbour."})
    assert found["similar"] == []
    assert "harbour" in " ".join(found["tags"])
    assert await ids(client, world.owner.auth) == [], "nothing is kept"
