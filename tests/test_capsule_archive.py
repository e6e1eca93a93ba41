"""Capsules merged, taken elsewhere and read back: nothing is lost, nothing comes twice."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from capsules import CAPSULES, OVERHEAD, at, delete, get, ids, keep, post, rows
from conftest import World
from keepstone.access import operator
from keepstone.services import Services

NOW = datetime.now(UTC)
OLGA = "olga@example.org"


async def merge(client: httpx.AsyncClient, world: World, into: str, *others: str) -> httpx.Response:
    return await client.post(f"{CAPSULES}/merge", headers=world.owner.auth, json={"ids": list(others), "into": into})


async def history(client: httpx.AsyncClient, world: World, capsule_id: str) -> list[Any]:
    return (await get(client, world.owner.auth, f"{CAPSULES}/{capsule_id}/history"))["items"]


async def test_merging_keeps_every_word_every_tag_and_both_histories(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    one = await keep(client, auth, "The ferry leaves at nine.", title="Ferry", tags=["trip", "sea"])
    two = await keep(client, auth, "Tickets are at the harbour.", title="Tickets", tags=["sea", "money"])
    await client.patch(f"{CAPSULES}/{two['id']}", headers=auth, json={"content_md": "Tickets cost 12 euros."})
    three = await keep(client, auth, "ferry leaves at nine", title="Said already")
    answer = await merge(client, world, one["id"], two["id"], three["id"], one["id"])
    assert answer.status_code == 200
    merged = answer.json()
    assert merged["id"] == one["id"]
    assert merged["title"] == "Ferry"
    assert merged["tags"] == ["trip", "sea", "money"]
    assert "The ferry leaves at nine." in merged["content_md"]
    assert "Tickets cost 12 euros." in merged["content_md"]
    assert merged["content_md"].count("ferry leaves at nine") == 1, "what was said already is not said again"
    assert await ids(client, auth) == [one["id"]]
    assert set(await ids(client, auth, "/v1/memory/trash")) == {two["id"], three["id"]}
    assert [version["change"] for version in await history(client, world, one["id"])] == ["updated", "created"]
    assert [version["change"] for version in await history(client, world, two["id"])] == [
        "merged", "updated", "created"
    ]  # fmt: skip
    assert await ids(client, auth, q="tickets") == [one["id"]]
    used = await get(client, auth, "/v1/memory/usage")
    assert (used["count"], used["bytes_used"], used["in_trash"]) == (1, merged["size_bytes"], 2)
    back = await post(client, auth, f"{CAPSULES}/{two['id']}/restore")
    assert back["content_md"] == "Tickets cost 12 euros."


async def test_merging_needs_at_least_two_that_are_there_or_nothing_changes(
    client: httpx.AsyncClient, world: World
) -> None:
    one = await keep(client, world.owner.auth, "one")
    two = await keep(client, world.owner.auth, "two")
    gone = await keep(client, world.owner.auth, "gone")
    await delete(client, world.owner.auth, gone["id"])
    assert (await merge(client, world, one["id"], one["id"])).status_code == 400
    for other in (gone["id"], "cap_" + "0" * 24):
        assert (await merge(client, world, one["id"], two["id"], other)).status_code == 404
        assert (await merge(client, world, other, one["id"])).status_code == 404
    assert (await merge(client, world, "nonsense", one["id"])).status_code == 422
    assert (await merge(client, world, one["id"])).status_code == 422
    assert set(await ids(client, world.owner.auth)) == {one["id"], two["id"]}
    assert len(await history(client, world, one["id"])) == 1


async def test_merging_makes_room_so_a_full_plan_does_not_hinder_it(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    one = await keep(client, world.owner.auth, "x" * 3000, title="One")
    two = await keep(client, world.owner.auth, "y" * 3000, title="Two")
    await operator.set_allowance(services, OLGA, quota_bytes=one["size_bytes"] + two["size_bytes"])
    merged = await merge(client, world, one["id"], two["id"])
    assert merged.status_code == 200
    used = await get(client, world.owner.auth, "/v1/memory/usage")
    assert used["bytes_used"] == merged.json()["size_bytes"] < 2 * (OVERHEAD + 3003)


async def test_merging_more_than_a_capsule_holds_is_refused_and_changes_nothing(
    client: httpx.AsyncClient, world: World
) -> None:
    one = await keep(client, world.owner.auth, "x" * 500_000, title="One")
    two = await keep(client, world.owner.auth, "y" * 500_000, title="Two")
    three = await keep(client, world.owner.auth, "z" * 400_000, title="Three")
    assert (await merge(client, world, one["id"], two["id"])).status_code == 422
    assert (await merge(client, world, one["id"], two["id"], three["id"])).status_code == 413
    assert len(await ids(client, world.owner.auth)) == 3


async def test_merging_at_once_never_loses_a_text(client: httpx.AsyncClient, world: World) -> None:
    made = [(await keep(client, world.owner.auth, f"word{number}"))["id"] for number in range(6)]
    answers = await asyncio.gather(*(merge(client, world, made[0], other) for other in made[1:]))
    assert [answer.status_code for answer in answers] == [200] * 5
    (only,) = (await get(client, world.owner.auth, CAPSULES))["items"]
    assert only["id"] == made[0]
    assert all(f"word{number}" in only["content_md"] for number in range(6))


async def exported(client: httpx.AsyncClient, auth: dict[str, str]) -> Any:
    answer = await client.get("/v1/memory/export", headers=auth)
    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    return json.loads(answer.text)


async def test_the_archive_has_everything_and_no_secret(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    made = await keep(
        client, auth, "We use **Clerk** 选型", title="Clerk", kind="decision", tags=["auth"], metadata={"n": [1, None]},
        source={"chat_id": "c", "message_id": "m"},
    )  # fmt: skip
    await client.patch(f"{CAPSULES}/{made['id']}", headers=auth, json={"tags": ["auth", "done"]})
    await keep(client, world.member.auth, "somebody else's")
    archive = await exported(client, auth)
    assert archive["format"] == "keepstone-archive"
    assert archive["account"]["id"] == world.owner.principal.account_id
    assert archive["user"]["email"] == OLGA
    (capsule,) = archive["capsules"]
    for name in ("id", "title", "content_md", "kind", "metadata", "source", "created_at"):
        assert capsule[name] == made[name]
    assert capsule["tags"] == ["auth", "done"]
    assert [version["tags"] for version in capsule["history"]] == [["auth", "done"], ["auth"]]
    (key,) = archive["api_keys"]
    assert key["id"] == world.owner.key_id
    text = json.dumps(archive)
    assert world.owner.key not in text
    assert world.owner.key.removeprefix("ck_")[12:] not in text
    assert "somebody else" not in text


async def test_a_large_archive_comes_piece_by_piece(client: httpx.AsyncClient, world: World) -> None:
    made = [(await keep(client, world.owner.auth, f"number {number}"))["id"] for number in range(230)]
    pieces = 0
    text = ""
    async with client.stream("GET", "/v1/memory/export", headers=world.owner.auth) as answer:
        async for piece in answer.aiter_text():
            pieces, text = pieces + 1, text + piece
    assert pieces >= 1
    assert sorted(one["id"] for one in json.loads(text)["capsules"]) == sorted(made)


async def restored(client: httpx.AsyncClient, auth: dict[str, str], archive: Any) -> tuple[int, int]:
    done = await post(client, auth, "/v1/memory/import", archive)
    return done["imported"], done["skipped"]


@pytest.fixture
async def archive(services: Services, world: World) -> Any:
    """Three capsules of Olga's, one of them changed."""
    async with at(services, NOW - timedelta(days=50)) as client:
        first = await keep(client, world.owner.auth, "The ferry leaves at nine", tags=["trip"], metadata={"a": 1})
        await keep(client, world.owner.auth, "Tickets at the harbour", title="Tickets", kind="answer")
        await keep(client, world.owner.auth, "Bring a coat", source={"chat_id": "c9"})
        path = f"{CAPSULES}/{first['id']}"
        await client.patch(path, headers=world.owner.auth, json={"content_md": "The ferry leaves at ten"})
        return await exported(client, world.owner.auth)


async def test_reading_back_what_is_there_changes_nothing(
    client: httpx.AsyncClient, world: World, archive: Any
) -> None:
    for _ in range(2):
        assert await restored(client, world.owner.auth, archive) == (0, 3)
    again = await exported(client, world.owner.auth)
    assert again["capsules"] == archive["capsules"]


@pytest.mark.parametrize("who", ["member", "stranger"])
async def test_an_archive_can_be_read_by_another_user_and_in_another_account(
    client: httpx.AsyncClient, world: World, archive: Any, who: str
) -> None:
    person = getattr(world, who)
    assert await restored(client, person.auth, archive) == (3, 0)
    assert await restored(client, person.auth, archive) == (0, 3), "a second time nothing comes twice"
    theirs = (await exported(client, person.auth))["capsules"]
    volatile = {"id", "accessed_at"}
    plain = [{key: value for key, value in one.items() if key not in volatile} for one in theirs]
    meant = [{key: value for key, value in one.items() if key not in volatile} for one in archive["capsules"]]
    assert sorted(plain, key=str) == sorted(meant, key=str)
    assert len(await ids(client, person.auth, q="ferry ten")) == 1
    used = await get(client, person.auth, "/v1/memory/usage")
    assert (used["count"], used["bytes_used"]) == (3, sum(len(one["title"].encode()) + len(one["content_md"].encode())
                                                        + OVERHEAD for one in theirs))  # fmt: skip
    mine = await exported(client, world.owner.auth)
    assert mine["capsules"] == archive["capsules"], "and the owner's own is as it was"


async def test_what_was_imported_and_is_kept_again_is_stored_once(client: httpx.AsyncClient, world: World) -> None:
    made = await keep(client, world.owner.auth, "The ferry leaves at nine")
    archive = await exported(client, world.owner.auth)
    assert await restored(client, world.member.auth, archive) == (1, 0)
    again = await keep(client, world.member.auth, "The ferry leaves at nine")
    assert again["title"] == made["title"]
    assert (await get(client, world.member.auth, "/v1/memory/usage"))["count"] == 1


async def test_what_was_deleted_comes_back_from_an_archive(
    client: httpx.AsyncClient, world: World, archive: Any
) -> None:
    await post(client, world.owner.auth, f"{CAPSULES}/delete-all", {"confirm": "delete-all"})
    assert await restored(client, world.owner.auth, archive) == (3, 0)
    assert await restored(client, world.owner.auth, archive) == (0, 3)
    found = (await get(client, world.owner.auth, CAPSULES))["items"]
    assert sorted(one["content_md"] for one in found) == [
        "Bring a coat", "The ferry leaves at ten", "Tickets at the harbour"
    ]  # fmt: skip


async def test_an_archive_that_does_not_fit_is_refused_whole(
    client: httpx.AsyncClient, services: Services, world: World, archive: Any, database: str
) -> None:
    await operator.set_allowance(services, "stan@elsewhere.example", quota_bytes=3 * OVERHEAD)
    answer = await client.post("/v1/memory/import", headers=world.stranger.auth, json=archive)
    assert answer.status_code == 429
    assert answer.json()["error"]["upgrade_url"]
    assert await ids(client, world.stranger.auth) == []
    assert (await get(client, world.stranger.auth, "/v1/memory/usage"))["bytes_used"] == 0
    assert len(await rows(database, "SELECT * FROM memories")) == 3


async def test_an_archive_into_a_full_vault_with_a_cold_tier_stays_within_the_plan(
    client: httpx.AsyncClient, services: Services, world: World, archive: Any
) -> None:
    auth = world.stranger.auth
    for number in range(3):
        await keep(client, auth, f"here already {number}", title=f"{number}")
    await client.patch("/v1/me", headers=auth, json={"cold_tier": True})
    await operator.set_allowance(services, "stan@elsewhere.example", quota_bytes=4 * OVERHEAD)
    assert await restored(client, auth, archive) == (3, 0)
    used = await get(client, auth, "/v1/memory/usage")
    listed = (await get(client, auth, CAPSULES))["items"]
    assert used["count"] == len(listed) == 3
    assert used["bytes_used"] == sum(item["size_bytes"] for item in listed) <= 4 * OVERHEAD
    assert used["in_cold"] == 3


async def test_what_was_in_somebody_elses_project_comes_into_a_new_one_of_that_name(
    client: httpx.AsyncClient, world: World, archive: Any
) -> None:
    project = (await client.post("/v1/projects", headers=world.owner.auth, json={"name": "Home"})).json()["id"]
    archive["capsules"][0]["project_id"] = project
    archive["projects"] = [{"id": project, "name": "Home"}]
    for _ in range(2):
        answer = await client.post("/v1/memory/import", headers=world.member.auth, json=archive)
        assert answer.status_code == 200
    [own] = (await get(client, world.member.auth, "/v1/projects"))["items"]
    assert own["name"] == "Home"
    assert own["id"] != project
    assert len(await ids(client, world.member.auth, project_id=own["id"])) == 1
    assert await ids(client, world.owner.auth, project_id=project) == [], "nothing came into theirs"


async def test_a_project_of_which_nothing_is_known_is_made_too(
    client: httpx.AsyncClient, world: World, archive: Any
) -> None:
    archive["capsules"][0]["project_id"] = "proj_" + "a" * 24
    answer = await client.post("/v1/memory/import", headers=world.member.auth, json=archive)
    assert answer.status_code == 200
    [own] = (await get(client, world.member.auth, "/v1/projects"))["items"]
    assert own["name"] == "Imported aaaaaa"


@pytest.mark.parametrize(
    "change",
    [
        {"id": "cap_1"}, {"title": ""}, {"content_md": ""}, {"content_md": "a\0"}, {"kind": None},
        {"created_at": "now"}, {"version": 0}, {"version": 2**31}, {"size_bytes": 1}, {"metadata": {"\0": 1}},
        {"history": [{"version": 2**40, "change": "x", "title": "", "content_md": "", "tags": [], "metadata": {},
                      "changed_at": "2026-01-01T00:00:00Z"}]},
    ],
)  # fmt: skip
async def test_an_archive_with_a_fault_stores_nothing(
    client: httpx.AsyncClient, world: World, archive: Any, change: dict[str, Any]
) -> None:
    archive["capsules"][1] |= change
    answer = await client.post("/v1/memory/import", headers=world.stranger.auth, json=archive)
    assert answer.status_code == 422
    assert answer.json()["error"]["details"][0]["path"].startswith("body.capsules.1")
    assert await ids(client, world.stranger.auth) == []


@pytest.mark.parametrize("body", [{}, {"format": "other", "version": 1, "capsules": []}, {"capsules": []}, []])
async def test_what_is_no_archive_is_refused(client: httpx.AsyncClient, world: World, body: Any) -> None:
    assert (await client.post("/v1/memory/import", headers=world.owner.auth, json=body)).status_code == 422


async def test_too_large_in_an_archive_is_too_large(client: httpx.AsyncClient, world: World, archive: Any) -> None:
    for size, status in ((1024 * 1024 + 1, 413), (800 * 1024 + 1, 422)):
        archive["capsules"][0]["content_md"] = "x" * size
        answer = await client.post("/v1/memory/import", headers=world.stranger.auth, json=archive)
        assert answer.status_code == status
    assert await ids(client, world.stranger.auth) == []


async def test_merging_keeps_metadata_and_sources_and_says_nothing_twice(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    one = await keep(
        client, auth, "We use Clerk for login. It costs 25 dollars a month.", title="Login",
        metadata={"team": "web", "n": 1},
    )  # fmt: skip
    two = await keep(
        client, auth, "We use Clerk for the login! Olga decided that.\n\n- It costs 25 dollars a month\n- Max agreed",
        title="Clerk", metadata={"team": "infra", "links": ["a"], "n": 1},
        source={"chat_id": "chat-1", "message_id": "m-2"},
    )  # fmt: skip
    three = await keep(
        client, auth, "It costs 35 dollars a month.", title="Price", metadata={"links": ["b"], "seen": True},
        source={"chat_id": "chat-2", "message_id": None},
    )  # fmt: skip
    merged = (await merge(client, world, one["id"], two["id"], three["id"])).json()
    assert merged["metadata"] == {
        "team": "web", "n": 1, "links": ["a"], "seen": True, "sources": [{"chat_id": "chat-2"}],
        "merged": {two["id"]: {"team": "infra"}, three["id"]: {"links": ["b"]}},
    }  # fmt: skip
    assert merged["source"] == {"chat_id": "chat-1", "message_id": "m-2"}
    text = merged["content_md"]
    assert text.startswith(one["content_md"]), "what it said itself stays as it is"
    assert (text.count("Clerk"), text.count("25 dollars")) == (1, 1), text
    for new in ("Olga decided that.", "- Max agreed", "It costs 35 dollars a month."):
        assert new in text
    four = await keep(client, auth, "```\nprint('Olga decided that.')\n```", title="Code", metadata={"merged": "yes"})
    again = (await merge(client, world, one["id"], four["id"])).json()
    assert again["content_md"] == text + "\n\n---\n\n" + four["content_md"], "code is no sentence"
    assert again["metadata"]["merged"] == merged["metadata"]["merged"] | {four["id"]: {"merged": "yes"}}
    back = await post(client, auth, f"{CAPSULES}/{two['id']}/restore")
    assert back["content_md"] == two["content_md"]


async def test_the_history_says_of_what_kind_and_in_which_project_it_was_and_comes_back_with_an_archive(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    project = (await client.post("/v1/projects", headers=auth, json={"name": "Move"})).json()["id"]
    made = await keep(client, auth, "Take the piano", kind="thought")
    path = f"{CAPSULES}/{made['id']}"
    await client.patch(path, headers=auth, json={"kind": "decision", "project_id": project})
    await client.patch(path, headers=auth, json={"project_id": None})
    told = [("decision", None), ("decision", project), ("thought", None)]
    versions = await history(client, world, made["id"])
    assert [(one["kind"], one["project_id"]) for one in versions] == told
    archive = (await client.get("/v1/memory/export", headers=auth)).json()
    assert [(one["kind"], one["project_id"]) for one in archive["capsules"][0]["history"]] == told
    older = json.loads(json.dumps(archive))
    for version in older["capsules"][0]["history"]:
        del version["kind"], version["project_id"]
    for given, expected in ((archive, told), (older, [("decision", None)] * 3)):
        await post(client, auth, f"{CAPSULES}/delete-all", {"confirm": "delete-all"})
        assert (await client.post("/v1/memory/import", headers=auth, json=given)).json()["imported"] == 1
        (again,) = await ids(client, auth)
        kept = [version for version in await history(client, world, again) if version["change"] != "imported"]
        assert [(one["kind"], one["project_id"]) for one in kept] == expected
