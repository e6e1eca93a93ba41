"""Everything that somebody has goes out as one archive, streams, and comes back without loss, also elsewhere."""

import io
import json
import re
import zipfile
from datetime import UTC, datetime
from typing import Any

import httpx

from capsules import get
from conftest import Person, World
from keepstone.jobs.worker import run_until_empty
from keepstone.memory import (
    facts,
    scopes,
)
from keepstone.model.ids import new_id
from keepstone.model.message import Message
from keepstone.services import Services
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
