"""Everything that somebody has goes out as one archive, streams, and comes back without loss, also elsewhere."""

import io
import json
import re
import zipfile
from datetime import UTC, datetime
from typing import Any

import httpx

from capsules import get, rows
from conftest import Person, World
from keepstone.importers.archive import PARTS
from keepstone.jobs.worker import run_until_empty
from keepstone.memory import (
    archive_out,
    archive_zip,
    capsules,
    chats,
    facts,
    graphs,
    participants,
    rooms,
    scopes,
    workspaces,
)
from keepstone.memory.rooms import NewMessage
from keepstone.model.capsule import NewCapsule
from keepstone.model.ids import new_id, random_text
from keepstone.model.message import Message
from keepstone.relay import turn as turns
from keepstone.services import Services
from keepstone.store.archives import COLUMNS, LEFT_BEHIND
from leaks import keep, note, put, share, talk

ID = re.compile(
    r"(?<![a-z])(acct|usr|cap|mem|node|edge|msg|chat|ws|proj|graph|room|thr|fact|sum|lmk|doc|art|item)_[a-z0-9]{24}"
)
# Derived anew, or the time of the import.
DERIVED = {"recorded_at", "people", "ended_by"}


async def exported(client: httpx.AsyncClient, person: Person, form: str = "json") -> zipfile.ZipFile:
    answer = await client.get("/v1/export", headers=person.auth, params={"format": form})
    assert answer.status_code == 200, answer.text
    return zipfile.ZipFile(io.BytesIO(answer.content))


def told(archive: zipfile.ZipFile) -> dict[str, list[str]]:
    """What it holds, by part, without what differs between two accounts: the ids, and in what order they are."""
    held: dict[str, list[str]] = {}
    for name in archive.namelist():
        if name.endswith(".jsonl"):
            lines = [json.loads(line) for line in archive.read(name).decode().splitlines()]
            plain = [json.dumps(without(line), sort_keys=True, ensure_ascii=False) for line in lines]
            held[name] = sorted(ID.sub(r"\1", line) for line in plain)
        elif name.startswith("files/"):
            held.setdefault("files", []).append(archive.read(name).decode())
            held["files"].sort()
    return held


THEIR_OWN = {"vault", "profile", "global"}  # which everybody has from the beginning


def without(value: Any) -> Any:
    if isinstance(value, dict):
        if value.get("record") == "space" and (value["kind"] in THEIR_OWN or value.get("default")):
            value = value | {"created_at": ""}
        return {key: without(item) for key, item in value.items() if key not in DERIVED}
    return [without(item) for item in value] if isinstance(value, list) else value


async def fill(services: Services, olga: Person) -> dict[str, str]:
    """Something of every kind, there and in the trash."""
    turn = Message(
        id=new_id("msg"), speaker="olga", text="My favourite colour is blue.", client_id="one",
        at=datetime(2024, 5, 6, tzinfo=UTC),
    )  # fmt: skip
    await scopes.ingest(services, olga.principal, "team", [turn])
    bare = Message(id=new_id("msg"), speaker="max", text="Mine is red.", at=datetime(2024, 5, 7, tzinfo=UTC))
    await scopes.ingest(services, olga.principal, "team", [bare])
    kept = await keep(services, olga) | await share(services, olga) | await put(services, olga)
    kept |= await talk(services, olga, kept["project_id"]) | await note(services, olga)
    await facts.put(services, olga.principal, "project", kept["project_id"], "budget", "1.10")
    await facts.put(services, olga.principal, "project", kept["project_id"], "budget", "12345678901234567890.5")
    await facts.put(services, olga.principal, "global", "global", "motto", '"on we go"')
    return kept


async def bring(client: httpx.AsyncClient, services: Services, person: Person, archive: bytes) -> dict[str, Any]:
    answer = await client.post("/v1/imports", headers=person.auth, content=archive, params={"name": "all.zip"})
    assert answer.status_code == 202, answer.text
    assert answer.json()["source"] == "keepstone"
    await run_until_empty(services)
    done = await get(client, person.auth, f"/v1/imports/{answer.json()['id']}")
    assert done["state"] == "done", done
    return done


def packed(archive: zipfile.ZipFile) -> bytes:
    assert isinstance(archive.fp, io.BytesIO)
    return archive.fp.getvalue()


async def test_everything_comes_back_without_loss_in_another_account(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    await fill(services, world.owner)
    await run_until_empty(services)
    first = await exported(client, world.owner)
    done = await bring(client, services, world.stranger, packed(first))
    assert done["left_out"] == []
    second = await exported(client, world.stranger)
    before, after = told(first), told(second)
    assert before.keys() == after.keys()
    for name in before:
        assert after[name] == before[name], name
    again = await bring(client, services, world.stranger, packed(first))
    assert sum(again["written"].values()) == 0, again["written"]
    assert told(await exported(client, world.stranger)) == after


async def test_what_comes_back_to_whom_it_was_taken_from_changes_nothing(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    me = world.member.principal
    await capsules.create(services, me, NewCapsule(title="Roof", content_md="The roof leaks."))
    chat = await chats.create(services, me, title="Roofs", workspace_id=None)
    turn = await turns.open_turn(services, me, workspace_id=None, chat_id=chat.id, said="Which roof?", inject=False)
    await turns.close_turn(services, me, turn, reply="The old one.", model="m", tools=[])
    room = (await rooms.create(services, me, name="Hall", project_id=None, participants=[], agents=[])).room.id
    await rooms.say(services, me, room, NewMessage(text="Hello."))
    gone = await capsules.create(services, me, NewCapsule(title="Door", content_md="The door sticks."))
    before = await exported(client, world.member)
    await capsules.delete(services, me, gone.capsule.id)
    done = await bring(client, services, world.member, packed(before))
    assert sum(done["written"].values()) == 0, done["written"]
    after = await exported(client, world.member)
    assert names_in(after) == names_in(before)
    [door] = [one for one in records(after, "capsules.jsonl") if one.get("title") == "Door"]
    assert door["deleted_at"] is not None, "what was deleted since stays so"


def records(archive: zipfile.ZipFile, name: str) -> list[Any]:
    return [json.loads(line) for line in archive.read(name).decode().splitlines()]


def names_in(archive: zipfile.ZipFile) -> set[str]:
    return {match[0] for name in archive.namelist() for match in ID.finditer(archive.read(name).decode())}


async def test_an_archive_has_what_one_may_see_and_others_words_under_their_names(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    olga, max_ = world.owner, world.member
    room = (await rooms.create(services, olga.principal, name="Hall", project_id=None, participants=[], agents=[])).room
    alone = (await rooms.create(services, olga.principal, name="Den", project_id=None, participants=[], agents=[])).room
    await rooms.say(services, olga.principal, room.id, NewMessage(text="Said in the hall."))
    await rooms.say(services, olga.principal, alone.id, NewMessage(text="Said in the den."))
    await participants.join(services, olga.principal, room.id, max_.user.id)
    await rooms.say(services, max_.principal, room.id, NewMessage(text="I come."))  # so he accepts
    await capsules.create(services, olga.principal, NewCapsule(title="Hers", content_md="A secret of hers."))
    place = await workspaces.create(services, olga.principal, name="Hers alone")
    thrown = await workspaces.create(services, olga.principal, name="Thrown away")
    await workspaces.put_member(services, olga.principal, thrown.id, max_.user.id, "member")
    await workspaces.delete(services, olga.principal, thrown.id)
    archive = await exported(client, max_)
    text = "".join(archive.read(name).decode() for name in archive.namelist())
    assert "Said in the hall." in text
    for secret in (
        "Said in the den.",
        "A secret of hers.",
        alone.id,
        place.id,
        thrown.id,
        olga.user.id,
        olga.user.email,
    ):
        assert secret not in text, secret
    await bring(client, services, world.stranger, packed(archive))
    [hall] = (await get(client, world.stranger.auth, "/v1/rooms"))["items"]
    assert [one["user_id"] for one in hall["participants"]] == [world.stranger.user.id]
    said, came = (await get(client, world.stranger.auth, f"/v1/rooms/{hall['id']}/messages"))["items"]
    assert (said["text"], said["user"]) == ("Said in the hall.", None)
    assert came["text"] == "I come."
    theirs = await exported(client, world.stranger)
    message, _ = [one for one in records(theirs, "rooms.jsonl") if one["record"] == "message"]
    assert message["speaker"] == "olga"


async def test_it_streams_and_holds_no_more_than_a_page(services: Services, world: World) -> None:
    me = world.owner.principal
    texts = [random_text(60_000) for _ in range(120)]
    for at in range(0, len(texts), 40):
        said = [
            Message(id=new_id("msg"), speaker="olga", text=text, at=datetime(2024, 5, 6, tzinfo=UTC))
            for text in texts[at : at + 40]
        ]
        await scopes.ingest(services, me, "long", said)
    sizes = [len(piece) async for piece in archive_zip.export(services, me, "json")]
    assert sum(sizes) > 4_000_000
    assert len(sizes) > 8
    assert max(sizes) < 1_000_000


async def test_markdown_is_pages_that_a_person_can_read(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    me = world.owner.principal
    made = await capsules.create(services, me, NewCapsule(title="Roof", content_md="The roof leaks."))
    await capsules.update(services, me, made.capsule.id, {"content_md": "The roof is mended."})
    chat = await chats.create(services, me, title="About roofs", workspace_id=None)
    turn = await turns.open_turn(services, me, workspace_id=None, chat_id=chat.id, said="Which roof?", inject=False)
    await turns.close_turn(services, me, turn, reply="The old one.", model="m", tools=[])
    [place] = (await get(client, world.owner.auth, "/v1/workspaces"))["items"]
    await client.post(
        f"/v1/workspaces/{place['id']}/files", headers=world.owner.auth, files={"file": ("../Plan 1.txt", b"a plan")}
    )
    await facts.put(services, me, "user", world.owner.user.id, "size", "42")
    graph = (await graphs.create_graph(services, me, name="Houses")).id
    await graphs.store_node(services, me, graph, content="A house has a roof.", node_type="note", metadata={})
    archive = await exported(client, world.owner, "markdown")
    pages = {re.sub(r"-[a-z0-9]{8}(?=[./]|$)", "", name): archive.read(name).decode() for name in archive.namelist()}
    assert pages["capsules/roof.md"].endswith("The roof is mended.")
    assert '"content_md": "The roof leaks."' in pages["capsules/roof.md"]
    said = pages["workspaces/default/messages.md"]
    assert said.startswith("# What was said\n\n## About roofs\n\n**")
    assert said.index("Which roof?") < said.index("The old one.")
    assert pages["workspaces/default/files/plan-1.txt"] == "a plan"
    assert "- **size**: `42`" in pages["profile/facts.md"]
    assert "A house has a roof." in pages["graphs/houses/memories/a-house-has-a-roof.md"]


HOSTILE = [
    {"record": "space", "kind": "vault", "id": "x", "created_at": "2024-01-01T00:00:00Z"},
    {"record": "memory", "id": "cap_" + "a" * 24},
    {"record": "memory", "id": "' OR 1=1", "kind": "capsule", "content": "x"},
    {"record": "space", "kind": "kingdom", "id": "x", "created_at": "2024-01-01T00:00:00Z"},
    {"record": "message", "id": 7},
    {"record": "part", "of": "../../etc"},
    {"record": "fact", "id": "fact_" + "a" * 24, "scope_kind": "global", "key": "k", "value": "no json",
     "valid_from": "2024-01-01T00:00:00Z", "recorded_at": "2024-01-01T00:00:00Z"},
    {"record": "weather"},
    {"nothing": 1},
]  # fmt: skip


async def test_what_is_wrong_in_an_archive_is_left_out_with_its_place(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("archive.json", json.dumps({"format": "keepstone-archive", "version": 2, "user": {"id": "u"}}))
        archive.writestr("capsules.jsonl", "\n".join(json.dumps(one) for one in HOSTILE) + "\n{broken\n")
    done = await bring(client, services, world.owner, held.getvalue())
    assert sum(done["written"].values()) == 0
    places = [place for left in done["left_out"] for place in left["examples"]]
    assert "capsules.jsonl:2" in places
    assert "capsules.jsonl:10" in places
    assert await rows(database, "SELECT count(*) FROM memories") == [(0,)]
    newer = io.BytesIO()
    with zipfile.ZipFile(newer, "w") as archive:
        archive.writestr("archive.json", json.dumps({"format": "keepstone-archive", "version": 3}))
    answer = await client.post("/v1/imports", headers=world.owner.auth, content=newer.getvalue())
    await run_until_empty(services)
    told = await get(client, world.owner.auth, f"/v1/imports/{answer.json()['id']}")
    assert (told["state"], "newer version" in told["error"]["message"]) == ("failed", True)


async def test_every_column_travels_or_is_left_behind_on_purpose(database: str) -> None:
    for table, columns in COLUMNS.items():
        there = await rows(
            database,
            f"SELECT attname FROM pg_attribute WHERE attrelid = 'keepstone.{table}'::regclass AND attnum > 0"
            " AND NOT attisdropped",
        )
        known = {*columns.split(", "), *LEFT_BEHIND[table].split(", ")}
        assert {name for (name,) in there} == known, f"{table}: say in store/archives.py what becomes of a new column"
    assert tuple(archive_out.PARTS.values()) == PARTS
