"""What sources yield arrives once, whatever happens on the way, and only where its owner may write."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from fastapi import FastAPI

from capsules import CAPSULES, OVERHEAD, delete, get, ids, keep, rows
from conftest import Person, World
from keepstone.access import operator
from keepstone.errors import Invalid, NotFound, QuotaExceeded, Unauthenticated, Unavailable
from keepstone.importers.delivery import Delivery, Into, bring, capsule_id
from keepstone.importers.export import export_json, export_markdown
from keepstone.importers.items import Conversation, ImportedTurn, Item, Note, Reading, SourceProject
from keepstone.importers.journal import Journal
from keepstone.importers.report import Report
from keepstone.importers.server import RETRIES, RemoteServer
from keepstone.importers.sources import SOURCES
from keepstone.services import Services
from keepstone_client import AsyncKeepstone


@pytest.fixture
async def downloads(app: FastAPI) -> AsyncGenerator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app, client=("127.0.0.1", 50000), raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8420") as client:
        yield client


@pytest.fixture
def calls(app: FastAPI) -> httpx.ASGITransport:
    return httpx.ASGITransport(app, client=("127.0.0.1", 50000), raise_app_exceptions=False)


def remote(transport: httpx.AsyncBaseTransport, key: str) -> RemoteServer:
    return RemoteServer(
        AsyncKeepstone(base_url="http://127.0.0.1:8420", api_key=key, transport=transport, retries=RETRIES)
    )


async def run(
    calls: httpx.AsyncBaseTransport,
    person: Person,
    items: list[Item],
    *,
    into: str | None = None,
    source: str = "jsonl",
    journal: Journal | None = None,
    project_id: str | None = None,
) -> Report:
    report = Report()
    delivery = Delivery(
        server=remote(calls, person.key),
        journal=journal or Journal(None),
        report=report,
        source=source,
        whose=person.user.id,
        into=Into.parse(into),
        project_id=project_id,
    )
    await bring(items, delivery, report, lambda: None)
    return report


def talk(name: str, *texts: str) -> Conversation:
    turns = [
        ImportedTurn(
            id=f"{name}:{number}",
            speaker="Ada",
            text=words,
            at=datetime(2025, 1, 1, 10, number % 60, tzinfo=UTC),
            reply_to=f"{name}:{number - 1}" if number else None,
            metadata={"session_id": name},
        )
        for number, words in enumerate(texts)
    ]
    return Conversation(id=name, title=name, turns=turns)


def note(name: str, words: str, **more: Any) -> Note:
    return Note(id=name, title=name, content_md=words, **more)


async def test_what_was_said_is_recalled_from_one_scope_with_its_time_and_order(
    calls: httpx.ASGITransport, client: httpx.AsyncClient, world: World, database: str
) -> None:
    items: list[Item] = [talk("one", "The ferry leaves at nine.", "Really?"), talk("two", "Sourdough needs a day.")]
    report = await run(calls, world.owner, items, source="chatgpt")
    assert report.written == {"messages": 3}
    body = {"scope_id": "chatgpt", "message": {"speaker": "Ada", "text": "When does the ferry leave?"}}
    found = (await client.post("/v1/recall", headers=world.owner.auth, json=body)).json()["evidence"]
    assert found[0]["text"] == "The ferry leaves at nine."
    assert (found[0]["ts"], found[0]["id"]) == ("2025-01-01T10:00:00Z", "one:0")
    sessions = await rows(database, "SELECT session, count(*) FROM passages GROUP BY session ORDER BY session")
    assert sessions == [("named:one", 2), ("named:two", 1)]
    body["scope_id"] = "chatgpt"
    theirs = (await client.post("/v1/recall", headers=world.member.auth, json=body)).json()["evidence"]
    assert theirs == [], "a scope is its user's"


async def test_a_second_import_writes_nothing_with_and_without_the_journal(
    calls: httpx.ASGITransport, world: World, database: str
) -> None:
    items: list[Item] = [talk("one", "first", "second"), note("n", "a note"), talk("two", *map(str, range(2500)))]
    journal = Journal(None)
    first = await run(calls, world.owner, items, journal=journal)
    assert first.written == {"messages": 2502, "notes": 1}
    for again in (journal, None):
        report = await run(calls, world.owner, items, journal=again)
        assert report.written.total() == 0
        assert report.already_there == {"messages": 2502, "notes": 1}
    assert await rows(database, "SELECT count(*), count(DISTINCT client_id) FROM messages") == [(2502, 2502)]


async def test_a_conversation_that_went_on_gets_what_is_new(calls: httpx.ASGITransport, world: World) -> None:
    journal = Journal(None)
    await run(calls, world.owner, [talk("one", "first")], journal=journal)
    report = await run(calls, world.owner, [talk("one", "first", "second")], journal=journal)
    assert (report.written["messages"], report.already_there["messages"]) == (1, 1)


async def test_a_note_keeps_its_times_tags_and_kind_and_is_found(
    calls: httpx.ASGITransport, client: httpx.AsyncClient, world: World
) -> None:
    made, changed = datetime(2020, 5, 1, tzinfo=UTC), datetime(2021, 5, 1, tzinfo=UTC)
    one = note(
        "n", "The roof leaks.", kind="memory", tags=["house"], created_at=made, updated_at=changed, metadata={"a": 1}
    )
    await run(calls, world.owner, [one])
    (kept,) = (await get(client, world.owner.auth, CAPSULES, q="roof"))["items"]
    assert kept["id"] == capsule_id(world.owner.user.id, "jsonl", "n")
    assert (kept["kind"], kept["tags"], kept["metadata"]) == ("memory", ["house"], {"a": 1})
    assert (kept["created_at"], kept["updated_at"]) == ("2020-05-01T00:00:00Z", "2021-05-01T00:00:00Z")


async def test_two_people_of_an_account_import_the_same_each_for_themselves(
    calls: httpx.ASGITransport, client: httpx.AsyncClient, world: World
) -> None:
    for person in (world.owner, world.member, world.stranger):
        report = await run(calls, person, [note("n", "the same")])
        assert report.written == {"notes": 1}
        assert await ids(client, person.auth) == [capsule_id(person.user.id, "jsonl", "n")]


async def test_a_note_that_changed_there_is_a_new_version_here_and_one_deleted_here_stays_deleted(
    calls: httpx.ASGITransport, client: httpx.AsyncClient, world: World
) -> None:
    journal = Journal(None)
    await run(calls, world.owner, [note("a", "first"), note("b", "gone")], journal=journal)
    a, b = (capsule_id(world.owner.user.id, "jsonl", name) for name in "ab")
    await delete(client, world.owner.auth, b)
    report = await run(calls, world.owner, [note("a", "second"), note("b", "gone")], journal=journal)
    assert report.written == {"changed notes": 1}
    assert await ids(client, world.owner.auth) == [a]
    history = (await get(client, world.owner.auth, f"{CAPSULES}/{a}/history"))["items"]
    assert [version["content_md"] for version in history] == ["second", "first"]
    report = await run(calls, world.owner, [note("b", "changed")], journal=journal)
    assert report.left_out == {"changed there, deleted here": 1}


async def test_what_the_server_refuses_is_left_out_alone(
    calls: httpx.ASGITransport, client: httpx.AsyncClient, world: World
) -> None:
    long = "x" * 300
    bad = ImportedTurn(id="bad", speaker=long, text="nobody has such a name", at=None)
    items: list[Item] = [
        talk("one", *map(str, range(20))),
        Conversation(id="b", title="b", turns=[bad]),
        talk("two", "end"),
    ]
    items += [note(f"n{number}", f"note {number}", kind=long if number == 3 else "note") for number in range(7)]
    report = await run(calls, world.owner, items)
    assert report.written == {"messages": 21, "notes": 6}
    assert report.left_out.total() == 2
    assert [what for reason, (what,) in report.examples.items() if reason.startswith("refused")] == ["bad", "n3"]
    assert len(await ids(client, world.owner.auth)) == 6


async def test_a_full_plan_takes_what_fits_stops_and_goes_on_when_there_is_room(
    calls: httpx.ASGITransport, client: httpx.AsyncClient, services: Services, world: World
) -> None:
    items: list[Item] = [note(f"n{number}", f"note {number}") for number in range(20)]
    await operator.set_allowance(services, "olga@example.org", quota_bytes=12 * (OVERHEAD + 20))
    journal = Journal(None)
    with pytest.raises(QuotaExceeded, match="again to go on"):
        await run(calls, world.owner, items, journal=journal)
    assert len(await ids(client, world.owner.auth)) == 12
    await operator.set_allowance(services, "olga@example.org", quota_bytes=100 * OVERHEAD)
    report = await run(calls, world.owner, items, journal=journal)
    assert (report.written["notes"], report.already_there["notes"]) == (8, 12)
    assert len(await ids(client, world.owner.auth)) == 20


async def test_conversations_can_go_into_capsules_or_into_a_workspace(
    calls: httpx.ASGITransport, client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    one = talk("ferries", "When does it leave?", "At nine.")
    await run(calls, world.owner, [one], into="capsules")
    (kept,) = (await get(client, auth, CAPSULES))["items"]
    assert kept["title"] == "ferries"
    assert (
        kept["content_md"]
        == "**Ada** (2025-01-01 10:00):\n\nWhen does it leave?\n\n**Ada** (2025-01-01 10:01):\n\nAt nine."
    )
    made = (await client.post("/v1/workspaces", headers=auth, json={"name": "History"})).json()
    items: list[Item] = [one, note("long", "A long story. " * 6000), note("short", "Tea is better than coffee.")]
    for into in ("workspace:History", f"workspace:{made['id']}"):
        report = await run(calls, world.owner, items, into=into)
        assert report.left_out.total() == 0
    listed = (await get(client, auth, f"/v1/workspaces/{made['id']}/memories"))["items"]
    assert sorted(memory["content"][:7] for memory in listed) == ["**Ada**", "Tea is "]
    (file,) = (await get(client, auth, f"/v1/workspaces/{made['id']}/files"))["items"]
    assert file["name"] == "long.md"
    with pytest.raises(NotFound):
        await run(calls, world.stranger, items, into=f"workspace:{made['id']}")
    await run(calls, world.owner, [note("default", "In the default one.")], into="workspace")


async def test_a_workspace_that_is_named_is_made_once_when_it_is_not_there(
    calls: httpx.ASGITransport, client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    for written in (1, 0):
        report = await run(calls, world.owner, [note("tea", "Tea is better than coffee.")], into="workspace:Notes")
        assert report.written["notes"] == written
    (made,) = [one for one in (await get(client, auth, "/v1/workspaces"))["items"] if one["name"] == "Notes"]
    (memory,) = (await get(client, auth, f"/v1/workspaces/{made['id']}/memories"))["items"]
    assert memory["content"] == "Tea is better than coffee."
    with pytest.raises(Invalid):
        await run(calls, world.owner, [note("tea", "Tea.")], into=f"workspace:{'x' * 300}")


async def test_what_came_from_a_project_goes_into_one_of_its_name(
    calls: httpx.ASGITransport, client: httpx.AsyncClient, world: World
) -> None:
    house = SourceProject(id="p1", name="House")
    talked = replace(talk("roof", "The roof leaks."), project=house)
    items: list[Item] = [note("roof", "The roof leaks.", project=house), note("tea", "Tea."), talked]
    for written in (3, 0):
        report = await run(calls, world.owner, items, into="capsules")
        assert report.written["notes"] == written
    (project,) = (await get(client, world.owner.auth, "/v1/projects"))["items"]
    assert project["name"] == "House"
    assert len(await ids(client, world.owner.auth, project_id=project["id"])) == 2
    assert len(await ids(client, world.owner.auth)) == 3


async def test_what_a_group_said_goes_into_a_scope_of_its_own(
    calls: httpx.ASGITransport, client: httpx.AsyncClient, world: World
) -> None:
    items: list[Item] = [
        replace(talk(name, f"{name} asks about the ferry", f"{name} knows"), scope=f"slack:{name}")
        for name in ("general", "harbour", "general")
    ]
    await run(calls, world.owner, [*items, talk("alone", "I ask about the ferry.")])
    scopes = (await get(client, world.owner.auth, "/v1/scopes"))["items"]
    assert {one["scope_id"]: one["messages"] for one in scopes} == {"slack:general": 2, "slack:harbour": 2, "jsonl": 1}
    await run(calls, world.owner, items, into="scope:all")
    scopes = (await get(client, world.owner.auth, "/v1/scopes"))["items"]
    assert {one["scope_id"]: one["messages"] for one in scopes}["all"] == 4


async def test_a_scope_or_a_project_of_ones_choice(
    calls: httpx.ASGITransport, client: httpx.AsyncClient, world: World
) -> None:
    project = (await client.post("/v1/projects", headers=world.owner.auth, json={"name": "Home"})).json()["id"]
    await run(
        calls, world.owner, [talk("one", "hello ferry"), note("n", "kept")], into="scope:mine", project_id=project
    )
    body = {"scope_id": "mine", "message": {"speaker": "Ada", "text": "ferry"}}
    assert len((await client.post("/v1/recall", headers=world.owner.auth, json=body)).json()["evidence"]) == 1
    assert len(await ids(client, world.owner.auth, project_id=project)) == 1
    with pytest.raises(NotFound, match="no such project"):
        await run(calls, world.stranger, [note("n", "kept")], project_id=project)
    assert await ids(client, world.stranger.auth) == [], "somebody else's project"
    for wrong in ("nowhere", "scopes:x"):
        with pytest.raises(Invalid):
            Into.parse(wrong)


async def test_a_wrong_key_stops_at_once(calls: httpx.ASGITransport, world: World) -> None:
    report = Report()
    server = remote(calls, "ck_" + "0" * 52)
    delivery = Delivery(server=server, journal=Journal(None), report=report, source="jsonl", whose="x")
    with pytest.raises(Unauthenticated):
        await bring([talk("one", "hello")], delivery, report, lambda: None)


async def test_a_server_that_is_busy_is_waited_for_and_one_that_is_gone_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = [
        httpx.Response(429, headers={"Retry-After": "7"}, json={"error": {"code": "rate_limited", "message": "later"}}),
        httpx.Response(503, json={}),
        httpx.Response(202, json={"ingested": 1}),
    ]
    waited: list[float] = []

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    def answer(_request: httpx.Request) -> httpx.Response:
        if not answers:
            raise httpx.ConnectError("gone")
        return answers.pop(0)

    monkeypatch.setattr(asyncio, "sleep", pause)
    server = remote(httpx.MockTransport(answer), "k")
    assert await server.ingest("s", []) == 1
    assert waited[0] >= 7
    with pytest.raises(Unavailable, match="again to go on"):
        await server.ingest("s", [])


# ---------------------------------------------------------------------------------------- export and back again


async def fill(client: httpx.AsyncClient, world: World) -> None:
    """Everything that an archive has: versions, tags, kinds, times, a project, odd characters, trash."""
    auth = world.owner.auth
    project = (await client.post("/v1/projects", headers=auth, json={"name": "Häuser: alt"})).json()["id"]
    changed = await keep(
        client, auth, "first\r\n---\ntext", title='A "title": with #signs', kind="decision", tags=["a b", "c"]
    )
    odd = "---\nkeepstone: 1\n---\n\u2028\u0085 \x0c 🙂 選型\n\n\n"
    await client.patch(f"{CAPSULES}/{changed['id']}", headers=auth, json={"content_md": odd, "tags": ["d"]})
    await keep(
        client,
        auth,
        "\n leading and trailing \n",
        metadata={"n": [1, 1e16, 0.1, None, {"k: v": "\u2029"}]},
        project_id=project,
    )
    await keep(client, auth, "from a chat", source={"chat_id": "c", "message_id": "m"})
    gone = await keep(client, auth, "in the trash", tags=["old"])
    await delete(client, auth, gone["id"])


async def archive_of(client: httpx.AsyncClient, auth: dict[str, str]) -> dict[str, Any]:
    return json.loads((await client.get("/v1/memory/export", headers=auth)).text)


def comparable(archive: dict[str, Any], *, without: set[str] = frozenset()) -> list[Any]:  # pyright: ignore[reportArgumentType]
    every = [*archive["capsules"], *archive["put_away"]]
    names = {project["id"]: project["name"] for project in archive["projects"]}
    return sorted(
        (
            {key: value for key, value in one.items() if key not in without | {"project_id", "accessed_at"}}
            | {"project": names.get(one["project_id"])}
            for one in every
        ),
        key=lambda one: one["content_md"],
    )


@pytest.mark.parametrize("form", ["json", "markdown"])
async def test_what_was_exported_comes_back_without_loss_to_another_account(
    calls: httpx.ASGITransport,
    downloads: httpx2.AsyncClient,
    client: httpx.AsyncClient,
    world: World,
    database: str,
    tmp_path: Path,
    form: str,
) -> None:
    await fill(client, world)
    before = await archive_of(client, world.owner.auth)
    assert [one["content_md"] for one in before["put_away"]] == ["in the trash"]
    path = tmp_path / "out"
    if form == "json":
        path = path.with_suffix(".json")
        path.write_text(json.dumps(before))
        items = list(SOURCES["keepstone"](Reading(path=str(path))))
    else:
        assert await export_markdown(downloads, world.owner.key, path) == 4
        assert (path / "capsules" / "trash").is_dir()
        items = list(SOURCES["markdown"](Reading(path=str(path))))
    assert len(items) == 4
    for written in ({"notes": 4}, {}):
        report = await run(calls, world.stranger, items, source="keepstone")
        assert report.left_out == {}
        assert +report.written == written
    after = await archive_of(client, world.stranger.auth)
    assert comparable(after) == comparable(before)
    assert [one["name"] for one in after["projects"]] == ["Häuser: alt"]
    assert len(await ids(client, world.stranger.auth, "/v1/memory/trash")) == 1
    restored = await client.post(f"{CAPSULES}/{after['put_away'][0]['id']}/restore", headers=world.stranger.auth)
    assert restored.json()["content_md"] == "in the trash"


async def test_an_exported_file_that_was_edited_is_taken_as_it_is_now(
    calls: httpx.ASGITransport, downloads: httpx2.AsyncClient, client: httpx.AsyncClient, world: World, tmp_path: Path
) -> None:
    await keep(client, world.owner.auth, "The roof leaks.", title="Roof", tags=["house"])
    await export_markdown(downloads, world.owner.key, tmp_path / "out")
    (file,) = (tmp_path / "out" / "capsules").glob("roof-*.md")
    words = (
        file.read_text()
        .replace("The roof leaks.", "The roof is mended.")
        .replace('tags: ["house"]', "tags:\n  - house\n  - done")
    )
    file.write_text(words)
    items = list(SOURCES["markdown"](Reading(path=str(tmp_path / "out"))))
    await run(calls, world.stranger, items, source="markdown")
    (kept,) = (await get(client, world.stranger.auth, CAPSULES))["items"]
    assert (kept["content_md"], kept["tags"]) == ("The roof is mended.", ["house", "done"])


async def test_what_is_long_gone_or_not_yet_is_not_brought_into_the_trash(
    client: httpx.AsyncClient, world: World
) -> None:
    one = {
        "id": "cap_" + "a" * 24,
        "title": "t",
        "content_md": "c",
        "kind": "note",
        "tags": [],
        "created_at": "2020-01-01T00:00:00Z",
        "updated_at": "2020-01-01T00:00:00Z",
        "accessed_at": "2020-01-01T00:00:00Z",
    }
    for since in ("2020-02-01T00:00:00Z", "2999-01-01T00:00:00Z", None):
        body = {"format": "keepstone-archive", "version": 1, "capsules": [], "put_away": [one | {"deleted_at": since}]}
        done = await client.post("/v1/memory/import", headers=world.owner.auth, json=body)
        assert done.json() == {"imported": 0, "skipped": 1}
    assert await ids(client, world.owner.auth, "/v1/memory/trash") == []


async def test_an_export_never_overwrites_a_folder_and_leaves_nothing_half(
    downloads: httpx2.AsyncClient, world: World, tmp_path: Path
) -> None:
    tmp_path = tmp_path / "exports"
    (tmp_path / "mine").mkdir(parents=True)
    (tmp_path / "mine" / "precious.md").write_text("mine")
    with pytest.raises(Exception, match="not empty"):
        await export_markdown(downloads, world.owner.key, tmp_path / "mine")
    with pytest.raises(Unauthenticated):
        await export_json(downloads, "ck_wrong", tmp_path / "out.json")
    with pytest.raises(Unauthenticated):
        await export_markdown(downloads, "ck_wrong", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


async def test_a_journal_is_there_after_its_process_is_gone(tmp_path: Path) -> None:
    first = Journal(tmp_path / "imports" / "x.sqlite")
    await first.note([("a", "1"), ("b", "2")])
    second = Journal(tmp_path / "imports" / "x.sqlite")
    assert (second.digest("a"), second.digest("c")) == ("1", None)
    first.close()
    second.close()
