"""Capsules: what is kept on purpose comes back as it was, changes with a history, and goes through the trash."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from capsules import CAPSULES, OVERHEAD, at, audited, delete, get, ids, keep, post, rows
from conftest import World, http
from fakes import FakeModel
from keepstone.access import users
from keepstone.app import make_app
from keepstone.jobs.worker import run_until_empty
from keepstone.services import Services
from keepstone.store import leftovers
from statements import sent

NOW = datetime.now(UTC)
CLERK = "We use Clerk instead of writing our own login, because nobody here wants to run it."


async def test_a_capsule_comes_back_as_it_was_saved(client: httpx.AsyncClient, world: World) -> None:
    body = {
        "title": "Clerk 选型决策",
        "content_md": "决定用 **Clerk** 而非自建，因为…\n\n- 成本\n- 时间",
        "kind": "decision",
        "tags": ["auth", "decision"],
        "source": {"chat_id": "chat-7", "message_id": "m-12"},
        "metadata": {"importance": 3, "by": {"name": "Olga"}},
    }
    answer = await client.post(CAPSULES, headers=world.owner.auth, json=body)
    assert answer.status_code == 201
    made = answer.json()
    for name, value in body.items():
        assert made[name] == value
    assert made["id"].startswith("cap_")
    assert made["size_bytes"] == len(str(body["title"]).encode()) + len(str(body["content_md"]).encode()) + OVERHEAD
    for name in ("created_at", "updated_at", "accessed_at"):
        assert made[name].endswith("Z")
    assert made["similar"] == []
    read = await get(client, world.owner.auth, f"{CAPSULES}/{made['id']}")
    assert {**read, "similar": [], "moved_to_cold": []} == made


async def test_only_the_text_is_needed_and_a_title_is_made_from_it(client: httpx.AsyncClient, world: World) -> None:
    made = await keep(client, world.owner.auth, CLERK)
    assert made["kind"] == "note"
    assert made["tags"] == []
    assert made["metadata"] == {}
    assert made["source"] is None
    assert made["project_id"] is None
    assert "Clerk" in made["title"]
    assert made["title"] in CLERK


@pytest.mark.parametrize("content", ["   \n", "!!!", "```\n```", "🎉", "<br>", "---"])
async def test_what_has_no_words_has_a_title_too(client: httpx.AsyncClient, world: World, content: str) -> None:
    made = await keep(client, world.owner.auth, content)
    assert made["title"].strip()
    assert made["content_md"] == content


@pytest.mark.parametrize(("says", "title"), [("Why we chose Clerk", "Why we chose Clerk"), (None, "")])
async def test_a_language_model_makes_the_title_and_may_be_down(
    services: Services, world: World, says: str | None, title: str
) -> None:
    asking = replace(services, llm=FakeModel(says))
    async with http(make_app(asking)) as client:
        made = await keep(client, world.owner.auth, CLERK)
        named = await post(client, world.owner.auth, f"{CAPSULES}/title", {"content_md": CLERK})
    assert made["title"] == (title or made["title"])
    assert made["title"] == named["title"]
    assert made["title"]


@pytest.mark.parametrize("kind", ["decision", "thought", "answer", "note", "recipe", "会议"])
async def test_any_kind_is_kept_and_can_be_asked_for(client: httpx.AsyncClient, world: World, kind: str) -> None:
    made = await keep(client, world.owner.auth, f"of the kind {kind}", kind=kind)
    await keep(client, world.owner.auth, "of another", kind="other")
    assert await ids(client, world.owner.auth, kind=kind) == [made["id"]]


async def test_tags_stand_once_each_in_their_order(client: httpx.AsyncClient, world: World) -> None:
    made = await keep(client, world.owner.auth, CLERK, tags=["b", " a ", "b", "a"])
    assert made["tags"] == ["b", "a"]


async def test_exactly_the_same_twice_is_stored_once(client: httpx.AsyncClient, world: World) -> None:
    first = await keep(client, world.owner.auth, CLERK, title="Clerk")
    again = await keep(client, world.owner.auth, CLERK, title="Clerk", tags=["late"])
    assert again["id"] == first["id"]
    other = await keep(client, world.owner.auth, CLERK, title="Another title")
    assert other["id"] != first["id"]
    assert (await get(client, world.owner.auth, "/v1/memory/usage"))["count"] == 2


async def test_the_same_without_a_title_is_stored_once_wherever_it_has_been_meanwhile(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    project = (await client.post("/v1/projects", headers=auth, json={"name": "Harbour"})).json()["id"]
    first = await keep(client, auth, CLERK)
    for project_id in (project, None):
        answer = await client.patch(f"{CAPSULES}/{first['id']}", headers=auth, json={"project_id": project_id})
        assert answer.status_code == 200
    assert (await keep(client, auth, CLERK))["id"] == first["id"]
    await client.patch(f"{CAPSULES}/{first['id']}", headers=auth, json={"title": "A better one"})
    assert (await keep(client, auth, CLERK))["id"] == first["id"], "whatever title it has"
    assert (await keep(client, auth, CLERK, title="Another"))["id"] != first["id"]


async def test_exactly_the_same_at_once_is_stored_once(client: httpx.AsyncClient, world: World) -> None:
    made = await asyncio.gather(*(keep(client, world.owner.auth, CLERK) for _ in range(10)))
    assert len({one["id"] for one in made}) == 1
    used = await get(client, world.owner.auth, "/v1/memory/usage")
    assert (used["count"], used["bytes_used"]) == (1, made[0]["size_bytes"])


async def test_the_list_is_the_newest_first_in_pages_that_stay_right_while_rows_come_and_go(
    services: Services, world: World
) -> None:
    made: list[str] = []
    for number in range(12):
        # Three at a time in the same instant: the id decides then.
        async with at(services, NOW - timedelta(hours=1) + timedelta(minutes=number // 3)) as client:
            made.append((await keep(client, world.owner.auth, f"number {number}"))["id"])
    async with at(services, NOW) as client:
        whole = await ids(client, world.owner.auth)
        assert sorted(whole) == sorted(made)
        assert whole[:3] == sorted(made[9:], reverse=True)
        first = await get(client, world.owner.auth, CAPSULES, limit=5)
        assert first["has_more"] is True
        seen = [item["id"] for item in first["items"]]
        await keep(client, world.owner.auth, "newer than all")
        await delete(client, world.owner.auth, seen[-1])
        await delete(client, world.owner.auth, whole[6])
        second = await get(client, world.owner.auth, CAPSULES, limit=5, cursor=first["next_cursor"])
        third = await get(client, world.owner.auth, CAPSULES, limit=5, cursor=second["next_cursor"])
        rest = [item["id"] for item in (*second["items"], *third["items"])]
        assert seen + rest == [one for one in whole if one != whole[6]]
        assert third["next_cursor"] is None
        assert third["has_more"] is False


async def test_filters_hold_together(services: Services, world: World) -> None:
    async with at(services, NOW - timedelta(days=10)) as client:
        old = await keep(client, world.owner.auth, "old", tags=["auth"], kind="decision")
    async with at(services, NOW) as client:
        new = await keep(client, world.owner.auth, "new", tags=["auth", "web"], kind="decision")
        await keep(client, world.owner.auth, "other", tags=["web"])
        middle = (NOW - timedelta(days=5)).isoformat()
        auth = world.owner.auth
        assert await ids(client, auth, tag="auth") == [new["id"], old["id"]]
        assert await ids(client, auth, tag="auth", kind="decision", to=middle) == [old["id"]]
        assert await ids(client, auth, **{"tag": "auth", "from": middle}) == [new["id"]]
        assert await ids(client, auth, tag="web", kind="decision") == [new["id"]]
        assert await ids(client, auth, tag="aut") == []
        exact = old["created_at"]
        assert await ids(client, auth, **{"from": exact, "to": middle}) == [old["id"]]
        assert await ids(client, auth, to=exact) == [], "`to` is the first moment that is not meant"


async def test_a_change_keeps_what_it_was_in_the_history(client: httpx.AsyncClient, world: World) -> None:
    made = await keep(client, world.owner.auth, CLERK, title="Login", tags=["auth"], metadata={"n": 1})
    path = f"{CAPSULES}/{made['id']}"
    longer = CLERK + " That was in March."
    changed = await client.patch(path, headers=world.owner.auth, json={"content_md": longer, "tags": ["auth", "login"]})
    assert changed.status_code == 200
    assert changed.json()["content_md"] == longer
    assert changed.json()["title"] == "Login"
    assert changed.json()["version"] == 2
    assert changed.json()["size_bytes"] == made["size_bytes"] + len(longer) - len(CLERK)
    assert (await get(client, world.owner.auth, path))["tags"] == ["auth", "login"]
    versions = (await get(client, world.owner.auth, f"{path}/history"))["items"]
    assert [(one["version"], one["change"]) for one in versions] == [(2, "updated"), (1, "created")]
    assert versions[1]["content_md"] == CLERK
    assert versions[1]["tags"] == ["auth"]
    assert versions[1]["metadata"] == {"n": 1}
    assert versions[0]["content_md"] == longer
    assert versions[0]["changed_by"] == world.owner.user.id
    assert (await get(client, world.owner.auth, "/v1/memory/usage"))["bytes_used"] == changed.json()["size_bytes"]


async def test_what_was_changed_is_found_by_its_new_words_and_no_longer_by_the_old(
    client: httpx.AsyncClient, world: World
) -> None:
    made = await keep(client, world.owner.auth, "The meeting is in Lisbon", title="Meeting")
    await client.patch(f"{CAPSULES}/{made['id']}", headers=world.owner.auth, json={"content_md": "It is in Porto"})
    assert await ids(client, world.owner.auth, q="porto") == [made["id"]]
    assert await ids(client, world.owner.auth, q="lisbon") == []
    await client.patch(f"{CAPSULES}/{made['id']}", headers=world.owner.auth, json={"title": "Assembly"})
    assert await ids(client, world.owner.auth, q="assembly porto") == [made["id"]]
    assert await ids(client, world.owner.auth, q="meeting") == []


async def test_changes_of_different_fields_at_once_are_all_kept(client: httpx.AsyncClient, world: World) -> None:
    made = await keep(client, world.owner.auth, CLERK, title="Login")
    path = f"{CAPSULES}/{made['id']}"
    changes = [{"title": "New"}, {"tags": ["x"]}, {"kind": "decision"}, {"metadata": {"a": 1}}, {"content_md": "Short"}]
    answers = await asyncio.gather(*(client.patch(path, headers=world.owner.auth, json=one) for one in changes))
    assert [answer.status_code for answer in answers] == [200] * 5
    after = await get(client, world.owner.auth, path)
    for one in changes:
        assert one.items() <= after.items()
    assert len((await get(client, world.owner.auth, f"{path}/history"))["items"]) == 6
    used = await get(client, world.owner.auth, "/v1/memory/usage")
    assert used["bytes_used"] == after["size_bytes"] == len("New") + len("Short") + OVERHEAD
    assert await ids(client, world.owner.auth, q="new short") == [made["id"]]


async def test_a_change_that_would_make_two_the_same_is_refused(client: httpx.AsyncClient, world: World) -> None:
    one = await keep(client, world.owner.auth, "the text", title="One")
    two = await keep(client, world.owner.auth, "the text", title="Two")
    answer = await client.patch(f"{CAPSULES}/{two['id']}", headers=world.owner.auth, json={"title": "One"})
    assert answer.status_code == 409
    assert one["id"] in answer.json()["error"]["message"]


async def test_deleting_puts_a_capsule_into_the_trash_and_nothing_else(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    turn = {"speaker": "olga", "text": "We use Clerk", "id": "m-1"}
    await client.post("/v1/ingest", headers=auth, json={"scope_id": "team", "transcript": [turn]})
    gone = await keep(client, auth, CLERK, source={"chat_id": "team", "message_id": "m-1"})
    stays = await keep(client, auth, "Clerk again, but this one stays")
    await delete(client, auth, gone["id"])
    assert await ids(client, auth) == [stays["id"]]
    assert await ids(client, auth, q="clerk") == [stays["id"]]
    assert (await client.get(f"{CAPSULES}/{gone['id']}", headers=auth)).status_code == 404
    assert (await client.delete(f"{CAPSULES}/{gone['id']}", headers=auth)).status_code == 404
    assert (await client.patch(f"{CAPSULES}/{gone['id']}", headers=auth, json={"kind": "x"})).status_code == 404
    trash = (await get(client, auth, "/v1/memory/trash"))["items"]
    assert [item["id"] for item in trash] == [gone["id"]]
    assert trash[0]["deleted_at"].endswith("Z")
    assert len((await get(client, auth, f"{CAPSULES}/{gone['id']}/history"))["items"]) == 2
    used = await get(client, auth, "/v1/memory/usage")
    of_scope = len("olga") + len("We use Clerk")
    assert (used["count"], used["bytes_used"], used["in_trash"]) == (1, stays["size_bytes"] + of_scope, 1)
    body = {"scope_id": "team", "message": {"speaker": "max", "text": "Do we use Clerk?"}}
    said = (await client.post("/v1/recall", headers=auth, json=body)).json()["evidence"]
    assert [item["text"] for item in said] == ["We use Clerk"], "the conversation is still there"


async def test_a_capsule_comes_back_out_of_the_trash_as_it_was(client: httpx.AsyncClient, world: World) -> None:
    made = await keep(client, world.owner.auth, CLERK, title="Login", tags=["auth"], kind="decision", metadata={"n": 1})
    await delete(client, world.owner.auth, made["id"])
    back = await post(client, world.owner.auth, f"{CAPSULES}/{made['id']}/restore")
    for name in ("title", "content_md", "kind", "tags", "metadata", "created_at", "size_bytes"):
        assert back[name] == made[name]
    assert back["deleted_at"] is None
    assert await ids(client, world.owner.auth, q="clerk") == [made["id"]]
    assert await ids(client, world.owner.auth, "/v1/memory/trash") == []
    used = await get(client, world.owner.auth, "/v1/memory/usage")
    assert (used["count"], used["bytes_used"], used["in_trash"]) == (1, made["size_bytes"], 0)
    changes = [
        one["change"] for one in (await get(client, world.owner.auth, f"{CAPSULES}/{made['id']}/history"))["items"]
    ]
    assert changes == ["restored", "deleted", "created"]
    again = await client.post(f"{CAPSULES}/{made['id']}/restore", headers=world.owner.auth)
    assert again.status_code == 404, "it is not in the trash any more"


async def test_what_was_saved_again_meanwhile_is_not_brought_back_beside_it(
    client: httpx.AsyncClient, world: World
) -> None:
    made = await keep(client, world.owner.auth, CLERK)
    await delete(client, world.owner.auth, made["id"])
    again = await keep(client, world.owner.auth, CLERK)
    assert again["id"] != made["id"]
    answer = await client.post(f"{CAPSULES}/{made['id']}/restore", headers=world.owner.auth)
    assert answer.status_code == 409
    assert await ids(client, world.owner.auth) == [again["id"]]


async def test_the_trash_has_pages_and_the_last_deleted_comes_first(services: Services, world: World) -> None:
    made: list[str] = []
    for number in range(5):
        async with at(services, NOW + timedelta(minutes=number)) as client:
            made.append((await keep(client, world.owner.auth, f"number {number}"))["id"])
    for number in (3, 0, 4, 1, 2):
        async with at(services, NOW + timedelta(hours=number)) as client:
            await delete(client, world.owner.auth, made[number])
    async with at(services, NOW) as client:
        first = await get(client, world.owner.auth, "/v1/memory/trash", limit=3)
        second = await get(client, world.owner.auth, "/v1/memory/trash", limit=3, cursor=first["next_cursor"])
    assert [item["id"] for item in (*first["items"], *second["items"])] == made[::-1]
    assert second["has_more"] is False


async def test_after_thirty_days_it_is_gone_for_good(services: Services, world: World, database: str) -> None:
    auth = world.owner.auth
    async with at(services, NOW - timedelta(days=31)) as client:
        old = await keep(client, auth, "An aardvark sleeps in the orangery", title="Aardvark")
        await client.patch(f"{CAPSULES}/{old['id']}", headers=auth, json={"content_md": "Two aardvarks sleep there"})
        await delete(client, auth, old["id"])
    async with at(services, NOW - timedelta(days=29)) as client:
        recent = await keep(client, auth, "A zebra stands in the garden", title="Zebra")
        stays = await keep(client, auth, "A quokka smiles", title="Quokka")
        await delete(client, auth, recent["id"])
    async with at(services, NOW) as client:
        assert (await client.post(f"{CAPSULES}/{old['id']}/restore", headers=auth)).status_code == 404
        await services.queue.app.configure_task("purge_memories").defer_async(timestamp=0)
        await run_until_empty(services)
        assert await ids(client, auth, "/v1/memory/trash") == [recent["id"]]
        assert (await client.get(f"{CAPSULES}/{old['id']}/history", headers=auth)).status_code == 404
        await post(client, auth, f"{CAPSULES}/{recent['id']}/restore")
        assert await ids(client, auth) == [recent["id"], stays["id"]] or await ids(client, auth) == [
            stays["id"],
            recent["id"],
        ]
        (line,) = await audited(client, auth, "capsule.purge")
    assert line["object_id"] == old["id"]
    everything = await everywhere(database)
    assert old["id"] in everything.pop("audit"), "that it was there is still known"
    for table, text in everything.items():
        assert "aardvark" not in text.lower(), table
        assert old["id"] not in text, table
    assert "zebra" in everything["memories"].lower()


async def test_what_is_put_away_leaves_no_passage_term_or_vector(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    made = await keep(client, world.owner.auth, "An aardvark sleeps in the orangery")
    assert (await rows(database, "SELECT count(*) FROM terms"))[0][0] > 0
    await delete(client, world.owner.auth, made["id"])
    for table in ("passages", "terms", "vectors", "token_vectors"):
        assert await rows(database, f"SELECT * FROM {table}") == [], table
    assert await rows(database, "SELECT passages, term_total FROM spaces WHERE kind = 'vault' AND passages > 0") == []


async def everywhere(database: str) -> dict[str, str]:
    """All rows of each table as text."""
    names = await rows(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'keepstone'")
    return {
        name: "\n".join(row[0] for row in await rows(database, f"SELECT t::text FROM {name} t")) for (name,) in names
    }


async def test_everything_goes_into_the_trash_only_when_confirmed(client: httpx.AsyncClient, world: World) -> None:
    made = {(await keep(client, world.owner.auth, f"number {number}"))["id"] for number in range(4)}
    theirs = await keep(client, world.member.auth, "somebody else's")
    for body in ({}, {"confirm": "yes"}, {"confirm": True}, None):
        answer = await client.post(f"{CAPSULES}/delete-all", headers=world.owner.auth, json=body)
        assert answer.status_code == 422
    assert len(await ids(client, world.owner.auth)) == 4
    done = await post(client, world.owner.auth, f"{CAPSULES}/delete-all", {"confirm": "delete-all"})
    assert done == {"deleted": 4}
    assert await ids(client, world.owner.auth) == []
    assert set(await ids(client, world.owner.auth, "/v1/memory/trash")) == made
    assert await ids(client, world.member.auth) == [theirs["id"]]
    used = await get(client, world.owner.auth, "/v1/memory/usage")
    assert (used["count"], used["bytes_used"], used["in_trash"]) == (0, 0, 4)
    await post(client, world.owner.auth, f"{CAPSULES}/{made.pop()}/restore")
    assert (await post(client, world.owner.auth, f"{CAPSULES}/delete-all", {"confirm": "delete-all"}))["deleted"] == 1
    assert len(await audited(client, world.owner.auth, "capsule.delete_all")) == 2


async def test_of_a_vault_that_is_emptied_nothing_can_be_found_and_the_rest_goes_in_slices(
    client: httpx.AsyncClient, services: Services, world: World, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth, left = world.owner.auth, "SELECT count(*) FROM terms JOIN spaces USING (account, space) WHERE leftover"
    monkeypatch.setattr(leftovers, "SLICE", 3)

    async def emptied(few: int) -> list[str]:
        made = [(await keep(client, auth, f"ferry number {number}"))["id"] for number in range(few)]
        with sent() as statements:
            await post(client, auth, f"{CAPSULES}/delete-all", {"confirm": "delete-all"})
        counts.append(len(statements))
        assert await rows(database, "SELECT 1 FROM passages JOIN spaces USING (account, space) WHERE leftover") == []
        assert (await rows(database, left))[0][0] > few
        assert await ids(client, auth, q="ferry") == []
        assert await ids(client, auth, q="ferry", mode="hybrid") == []
        return made

    counts = list[int]()
    await emptied(2)
    first, *_ = await emptied(9)
    assert counts[0] == counts[1], "as many statements for nine capsules as for two"
    await post(client, auth, f"{CAPSULES}/{first}/restore")
    assert await rows(database, "SELECT 1 FROM spaces WHERE leftover") == [], "who adds to it clears it first"
    assert await ids(client, auth, q="ferry") == [first]
    held = "SELECT count(DISTINCT t.passage), min(s.passages) FROM terms t JOIN spaces s USING (account, space)"
    assert await rows(database, held) == [(1, 1)]
    await emptied(4)
    await run_until_empty(services)
    assert await rows(database, "SELECT 1 FROM terms") == [], "a job clears what nobody else has"
    assert await rows(database, "SELECT 1 FROM spaces WHERE leftover") == []
    new = await keep(client, auth, "another ferry")
    assert await ids(client, auth, q="ferry") == [new["id"]]


async def test_nobody_else_finds_reads_or_changes_a_capsule(client: httpx.AsyncClient, world: World) -> None:
    made = await keep(client, world.owner.auth, CLERK)
    path = f"{CAPSULES}/{made['id']}"
    for auth in (world.member.auth, world.stranger.auth):
        assert await ids(client, auth) == []
        assert await ids(client, auth, q="clerk") == []
        assert await ids(client, auth, "/v1/memory/trash") == []
        for method, where in (
            ("GET", path), ("DELETE", path), ("GET", f"{path}/history"), ("POST", f"{path}/restore"),
            ("POST", f"{path}/recover"),
        ):  # fmt: skip
            assert (await client.request(method, where, headers=auth)).status_code == 404
        assert (await client.patch(path, headers=auth, json={"title": "mine"})).status_code == 404
        body = {"ids": [made["id"]], "into": made["id"]}
        mine = await keep(client, auth, "my own")
        for merged in ({"ids": [made["id"]], "into": mine["id"]}, {"ids": [mine["id"]], "into": made["id"]}):
            assert (await client.post(f"{CAPSULES}/merge", headers=auth, json=body | merged)).status_code == 404
        assert await ids(client, auth) == [mine["id"]]
    assert (await client.get(path)).status_code == 401
    assert (await get(client, world.owner.auth, path))["content_md"] == CLERK


async def test_a_service_key_keeps_for_the_user_it_names_and_for_nobody_else(
    client: httpx.AsyncClient, world: World
) -> None:
    named = {**world.service_auth, "X-Keepstone-User": "max@example.org"}
    made = await keep(client, named, "kept by a robot for Max")
    assert await ids(client, world.member.auth) == [made["id"]]
    assert await ids(client, world.owner.auth) == []
    for path in (CAPSULES, f"{CAPSULES}/{made['id']}", "/v1/memory/usage", "/v1/memory/export", "/v1/projects"):
        answer = await client.get(path, headers=world.service_auth)
        assert answer.status_code == 403
        assert "X-Keepstone-User" in answer.json()["error"]["message"]
    answer = await client.post(CAPSULES, headers=world.service_auth, json={"content_md": "for whom?"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "body.content_md"),
        ({"content_md": ""}, "body.content_md"),
        ({"content_md": 7}, "body.content_md"),
        ({"content_md": "a\0b"}, "body"),
        ({"content_md": "half \ud83d"}, "body"),
        ({"content_md": "x", "title": "\ude00"}, "body"),
        ({"content_md": "x", "title": ""}, "body.title"),
        ({"content_md": "x", "title": "t" * 501}, "body.title"),
        ({"content_md": "x", "metadata": {"k\0": 1}}, "body"),
        ({"content_md": "x", "metadata": {"k": ["\0"]}}, "body"),
        ({"content_md": "x", "metadata": []}, "body.metadata"),
        ({"content_md": "x", "tags": [f"t{n}" for n in range(51)]}, "body.tags"),
        ({"content_md": "x", "tags": ["t" * 101]}, "body.tags.0"),
        ({"content_md": "x", "tags": [""]}, "body.tags.0"),
        ({"content_md": "x", "tags": "auth"}, "body.tags"),
        ({"content_md": "x", "kind": ""}, "body.kind"),
        ({"content_md": "x", "kind": "k" * 51}, "body.kind"),
        ({"content_md": "x", "project_id": "proj_1"}, "body.project_id"),
        ({"content_md": "x", "source": {"chat": "c"}}, "body.source.chat"),
        ({"content_md": "x", "owner": "olga"}, "body.owner"),
    ],
)
async def test_a_bad_body_is_refused_with_the_place_of_its_fault_and_nothing_is_stored(
    client: httpx.AsyncClient, world: World, database: str, body: dict[str, Any], path: str
) -> None:
    content = json.dumps(body).encode()  # httpx would not even send half a surrogate pair
    headers = {**world.owner.auth, "Content-Type": "application/json"}
    answer = await client.post(CAPSULES, headers=headers, content=content)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "VALIDATION_ERROR"
    assert answer.json()["error"]["details"][0]["path"] == path
    assert await rows(database, "SELECT * FROM memories") == []
    made = await keep(client, world.owner.auth, CLERK)
    if body.keys() - {"content_md", "source"}:
        changed = await client.patch(f"{CAPSULES}/{made['id']}", headers=headers, content=content)
        assert changed.status_code == 422
        assert (await get(client, world.owner.auth, f"{CAPSULES}/{made['id']}"))["version"] == 1


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
async def test_a_number_that_is_none_is_refused(
    client: httpx.AsyncClient, world: World, database: str, number: bytes
) -> None:
    headers = {**world.owner.auth, "Content-Type": "application/json"}
    body = b'{"content_md": "x", "metadata": {"n": %s}}' % number
    assert (await client.post(CAPSULES, headers=headers, content=body)).status_code == 422
    assert await rows(database, "SELECT * FROM memories") == []


@pytest.mark.parametrize(
    "params",
    [
        {"limit": 0}, {"limit": 201}, {"limit": "x"}, {"cursor": "nonsense"}, {"mode": "psychic"},
        {"from": "yesterday"}, {"to": "2026-13-01"}, {"project_id": "proj_x"}, {"q": "x" * 2001}, {"q": "a\0b"},
        {"tag": "a\0b"}, {"kind": "\0"},
    ],
)  # fmt: skip
async def test_a_bad_query_is_refused(client: httpx.AsyncClient, world: World, params: dict[str, Any]) -> None:
    assert (await client.get(CAPSULES, headers=world.owner.auth, params=params)).status_code == 422


async def test_an_id_of_another_form_is_no_address(client: httpx.AsyncClient, world: World) -> None:
    for name in ("cap_1", "mem_" + "a" * 24, "cap_" + "A" * 24, "nothing"):
        assert (await client.get(f"{CAPSULES}/{name}", headers=world.owner.auth)).status_code == 404


async def test_audit_lines_say_what_was_done_and_nothing_of_what_was_written(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    made = await keep(client, auth, "An aardvark sleeps in the orangery", tags=["aardvark"], metadata={"aardvark": 1})
    other = await keep(client, auth, "Another aardvark")
    path = f"{CAPSULES}/{made['id']}"
    await client.patch(path, headers=auth, json={"title": "Aardvark", "tags": ["aardvarks"]})
    await delete(client, auth, made["id"])
    await post(client, auth, f"{path}/restore")
    await post(client, auth, f"{CAPSULES}/merge", {"ids": [other["id"]], "into": made["id"]})
    await client.get("/v1/memory/export", headers=auth)
    await post(client, auth, f"{CAPSULES}/delete-all", {"confirm": "delete-all"})
    lines = await rows(database, "SELECT action, object_id, user_id, details::text FROM audit")
    of_it = {action for action, object_id, _, _ in lines if object_id == made["id"]}
    assert of_it == {"capsule.create", "capsule.update", "capsule.deleted", "capsule.restored", "capsule.merge"}
    actions = {action for action, _, user_id, _ in lines if user_id == world.owner.user.id}
    assert actions >= {"capsule.merged", "capsule.export", "capsule.delete_all"}
    assert "aardvark" not in str(lines).lower()
    jobs = await rows(database, "SELECT args::text FROM procrastinate_jobs")
    assert "aardvark" not in str(jobs).lower()


async def test_erasing_a_user_erases_their_capsules(services: Services, world: World, database: str) -> None:
    async with at(services, NOW) as client:
        made = await keep(client, world.member.auth, "An aardvark sleeps in the orangery")
        await delete(client, world.member.auth, (await keep(client, world.member.auth, "Another aardvark"))["id"])
        await keep(client, world.owner.auth, "A zebra")
        await users.erase_user(services, world.owner.principal, world.member.user.id)
        await run_until_empty(services)
    for table, text in (await everywhere(database)).items():
        assert "aardvark" not in text.lower(), table
        assert table == "audit" or made["id"] not in text, table
    assert len(await rows(database, "SELECT * FROM memories")) == 1


async def test_a_change_that_changes_nothing_makes_no_version(client: httpx.AsyncClient, world: World) -> None:
    made = await keep(client, world.owner.auth, "The ferry leaves at nine.", tags=["trip"])
    for body in ({}, {"tags": ["trip"]}, {"title": made["title"]}):
        answer = await client.patch(f"{CAPSULES}/{made['id']}", headers=world.owner.auth, json=body)
        assert (answer.status_code, answer.json()["version"]) == (200, 1)


async def test_a_save_takes_a_bounded_number_of_statements(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    await keep(client, auth, "The first of all.")
    with sent() as statements:
        await keep(client, auth, "Another one, with tags.", tags=["a", "b", "c"])
    assert len(statements) <= 13, statements
    assert len([each for each in statements if "enter_vault" in each]) == 1, "found, held and entered at once"
