"""`/v1/imports`: what is uploaded is brought in by a job, once, whatever happens on the way, and only for its user."""

import io
import json
import sqlite3
import struct
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

import exports
import talk_exports
from capsules import get, ids, rows
from conftest import Person, World, http
from keepstone.access import operator, users
from keepstone.app import make_app
from keepstone.jobs.tasks import expire_imports
from keepstone.jobs.worker import run_until_empty
from keepstone.memory import imports
from keepstone.memory.imports import AT_ONCE
from keepstone.providers.rates import Rates
from keepstone.services import Services

IMPORTS = "/v1/imports"


async def upload(
    client: httpx.AsyncClient, person: Person, data: bytes, name: str = "export", **params: Any
) -> dict[str, Any]:
    answer = await client.post(IMPORTS, headers=person.auth, content=data, params={"name": name, **params})
    assert answer.status_code == 202, answer.text
    return answer.json()


async def brought(
    client: httpx.AsyncClient, services: Services, person: Person, data: bytes, name: str = "export", **params: Any
) -> dict[str, Any]:
    made = await upload(client, person, data, name, **params)
    await run_until_empty(services)
    return await get(client, person.auth, f"{IMPORTS}/{made['id']}")


def packed(files: dict[str, Any]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return held.getvalue()


def lines(*texts: str) -> bytes:
    return b"".join(
        json.dumps({"speaker": "Ada", "text": text, "ts": f"2024-03-0{n % 9 + 1}T10:00:00Z", "id": n}).encode() + b"\n"
        for n, text in enumerate(texts)
    )


async def test_a_chatgpt_export_is_found_out_brought_in_and_recalled_with_its_times(
    client: httpx.AsyncClient, services: Services, world: World, database: str, tmp_path: Path
) -> None:
    data = exports.chatgpt_zip(tmp_path / "export.zip", 3).read_bytes()
    made = await upload(client, world.member, data, "export.zip")
    assert (made["state"], made["source"], made["dry_run"]) == ("waiting", "chatgpt", False)
    await run_until_empty(services)
    done = await get(client, world.member.auth, f"{IMPORTS}/{made['id']}")
    assert done["state"] == "done"
    assert done["read"] == {"conversations": 3, "messages": 30}
    assert done["written"] == {"messages": 30}
    assert done["left_out"][0]["count"] == 3
    assert done["left_out"][0]["examples"][0].startswith("About the ferry")
    assert done["read_bytes"] == done["total_bytes"] > 0
    assert await rows(database, "SELECT count(*) FROM import_parts") == [(0,)]
    assert await rows(database, "SELECT count(*) FROM messages WHERE at < now() - interval '30 days'") == [(30,)]
    assert list((services.settings.home / "uploads").iterdir()) == []


async def test_a_dry_run_says_what_would_come_and_writes_nothing(
    client: httpx.AsyncClient, services: Services, world: World, database: str, tmp_path: Path
) -> None:
    data = exports.chatgpt_zip(tmp_path / "export.zip", 2).read_bytes()
    done = await brought(client, services, world.owner, data, dry_run=True)
    assert (done["state"], done["dry_run"]) == ("done", True)
    assert done["read"] == {"conversations": 2, "messages": 20}
    assert done["written"] == {}
    assert await rows(database, "SELECT count(*) FROM messages") == [(0,)]


CLAUDE = exports.claude_conversation(1, exports.claude_message("t", 1, "human", exports.said("hello")))
SOURCES: dict[str, Any] = {
    "claude": lambda path: exports.claude_zip(path / "c.zip", [CLAUDE], [], []).read_bytes(),
    "openwebui": lambda _: json.dumps(talk_exports.openwebui_chats() + talk_exports.OPENWEBUI_MEMORIES).encode(),
    "slack": lambda path: talk_exports.slack_zip(path / "slack.zip").read_bytes(),
    "whatsapp": lambda _: talk_exports.IOS_GERMAN.encode(),
    "letta": lambda path: exports.agent_file(path / "agent.af").read_bytes(),
    "openmemory": lambda path: exports.openmemory_sqlite(path / "o.db").read_bytes(),
    "markdown": lambda _: packed({"Vault/a.md": "# A\n\nabout #boats", "Vault/Deep/b.md": "b", "Vault/x.png": b"png"}),
    "jsonl": lambda _: lines("one", "two"),
    "mem0": lambda _: json.dumps(
        {"results": [{"id": "m1", "memory": "Likes tea", "user_id": "ada", "created_at": "2023-01-02T03:04:05Z"}]}
    ).encode(),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
async def test_every_source_is_known_by_what_is_in_it_and_comes_in(
    client: httpx.AsyncClient, services: Services, world: World, tmp_path: Path, source: str
) -> None:
    done = await brought(client, services, world.member, SOURCES[source](tmp_path), "upload")
    assert (done["state"], done["source"], done["error"]) == ("done", source, None)
    assert sum(done["written"].values()) > 0
    (tmp_path / "again").mkdir()
    again = await brought(client, services, world.member, SOURCES[source](tmp_path / "again"), "upload")
    assert sum(again["written"].values()) == 0, "the second time everything is there"


async def test_an_archive_comes_back_with_its_times_and_its_project(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.owner.auth
    project = (await client.post("/v1/projects", headers=auth, json={"name": "House"})).json()["id"]
    body = {"title": "Roof", "content_md": "The roof leaks.", "project_id": project}
    await client.post("/v1/memory/capsules", headers=auth, json=body)
    archive = (await client.get("/v1/memory/export", headers=auth)).content
    done = await brought(client, services, world.member, archive, "archive.json")
    assert (done["source"], done["written"]) == ("keepstone", {"notes": 1})
    [own] = (await get(client, world.member.auth, "/v1/projects"))["items"]
    assert own["name"] == "House"
    [capsule] = (await get(client, world.member.auth, "/v1/memory/capsules"))["items"]
    assert capsule["project_id"] == own["id"]
    assert capsule["created_at"] == json.loads(archive)["capsules"][0]["created_at"]


async def test_what_goes_into_a_workspace_keeps_its_time_of_origin(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth, long = world.owner.auth, "long " * 20_000
    memories = [
        {"id": "a", "memory": "Ada likes tea.", "created_at": "2023-01-02T03:04:05Z"},
        {"id": "b", "memory": long, "created_at": "2022-01-02T03:04:05Z"},
    ]
    done = await brought(client, services, world.owner, json.dumps(memories).encode(), into="workspace")
    assert done["written"] == {"notes": 2}, done
    [place] = (await get(client, auth, "/v1/workspaces"))["items"]
    [memory] = (await get(client, auth, f"/v1/workspaces/{place['id']}/memories"))["items"]
    assert memory["created_at"] == "2023-01-02T03:04:05Z"
    [file] = (await get(client, auth, f"/v1/workspaces/{place['id']}/files"))["items"]
    assert file["created_at"] == "2022-01-02T03:04:05Z"


async def test_a_form_is_taken_as_well_and_its_fields_count(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    answer = await client.post(
        IMPORTS, headers=world.owner.auth, files={"file": ("talk.jsonl", lines("hello"))},
        data={"dry_run": "true", "into": "scope:team"},
    )  # fmt: skip
    assert answer.status_code == 202, answer.text
    made = answer.json()
    assert (made["name"], made["dry_run"], made["into"], made["source"]) == ("talk.jsonl", True, "scope:team", "jsonl")
    wrong = await client.post(
        IMPORTS, headers=world.owner.auth, files={"file": ("talk.jsonl", b"x")}, data={"dryrun": "true"}
    )
    assert wrong.status_code == 422
    assert wrong.json()["error"]["details"][0]["path"] == "query.dryrun"
    await run_until_empty(services)


def bomb() -> bytes:
    return packed({"conversations.json": b"[" + b" " * (90 * 1024 * 1024) + b"]"})


def crowded() -> bytes:
    """A zip that says of its table of contents that it is huge."""
    data = packed({"a.md": "x"})
    at = data.rindex(b"PK\5\6") + 12
    return data[:at] + struct.pack("<L", 200 * 1024 * 1024) + data[at + 4 :]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "looks like a picture"),
        (b"%PDF-1.7 ...", "looks like a PDF"),
        (b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'aaaa'>]><x>&a;</x>", "What kind of file is this?"),
        (b"[" * 100_000, "can't be read|nested|What kind"),
        (bomb(), "far more than an export"),
        (crowded(), "more files than an export"),
        (packed({"conversations.json": [{"mapping": {}}]})[:-30], "What kind of file is this?"),
    ],
)
async def test_the_wrong_kind_of_file_is_told_at_once_and_leaves_nothing(
    client: httpx.AsyncClient, services: Services, world: World, database: str, data: bytes, told: str
) -> None:
    answer = await client.post(IMPORTS, headers=world.owner.auth, content=data, params={"name": "export.zip"})
    assert answer.status_code in {400, 422}, answer.text
    assert any(word in answer.json()["error"]["message"] for word in told.split("|")), answer.text
    assert await rows(database, "SELECT count(*) FROM imports") == [(0,)]
    assert list((services.settings.home / "uploads").iterdir()) == []


@pytest.mark.parametrize("source", ["chatgpt", "claude", "letta", "openmemory", "markdown", "keepstone", "mem0"])
async def test_a_file_of_another_source_fails_with_a_reason_and_is_not_tried_again(
    client: httpx.AsyncClient, services: Services, world: World, database: str, source: str
) -> None:
    done = await brought(client, services, world.owner, b"\x00\x01 no such thing", "x.bin", source=source)
    assert done["state"] == "failed"
    assert done["error"]["message"]
    assert await services.queue.counts() == {"todo": 0, "doing": 0, "failed": 0}
    assert await rows(database, "SELECT count(*) FROM import_parts") == [(0,)]


async def test_a_file_of_another_source_is_refused_at_once_and_named(
    client: httpx.AsyncClient, services: Services, world: World, database: str, tmp_path: Path
) -> None:
    data = SOURCES["claude"](tmp_path)
    answer = await client.post(IMPORTS, headers=world.owner.auth, content=data, params={"source": "chatgpt"})
    assert answer.status_code == 400
    fault = answer.json()["error"]
    assert fault["message"] == "This looks like a Claude export: use source=claude."
    assert fault["details"] == {"looks_like": "claude"}
    assert await rows(database, "SELECT count(*) FROM imports") == [(0,)]


async def test_the_times_of_a_group_are_those_of_its_readers_clock_and_a_guess_is_told(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.member.auth
    await client.patch("/v1/me", headers=auth, json={"timezone": "Asia/Shanghai"})
    data, name = talk_exports.UNSURE.encode(), "WhatsApp Chat with Crew.txt"
    tried = await brought(client, services, world.member, data, name, dry_run=True)
    assert tried["samples"][0]["text"] == "Ada: one\nBen: two"
    assert "dates=mdy" in tried["remarks"][0]
    done = await brought(client, services, world.member, data, name, dates="mdy", into="")
    assert (done["state"], done["remarks"], done["written"]) == ("done", [], {"messages": 2})
    said = (await get(client, auth, "/v1/scopes/whatsapp:Crew/messages"))["items"]
    assert [(one["speaker"], one["ts"]) for one in said] == [
        ("Ada", "2024-03-04T06:05:00Z"), ("Ben", "2024-03-04T06:06:00Z"),
    ]  # fmt: skip


async def test_a_workspace_that_is_named_is_made(client: httpx.AsyncClient, services: Services, world: World) -> None:
    for written in ({"notes": 2}, {}):
        done = await brought(client, services, world.owner, packed({"a.md": "one", "b.md": "two"}), "notes.zip",
                             into="workspace:Notes")  # fmt: skip
        assert (done["state"], done["written"]) == ("done", written)
    made = (await get(client, world.owner.auth, "/v1/workspaces"))["items"]
    assert [one["name"] for one in made].count("Notes") == 1


async def test_names_in_a_zip_lead_nowhere(client: httpx.AsyncClient, services: Services, world: World) -> None:
    data = packed({"../../../../tmp/evil.md": "evil", "/etc/passwd.md": "root", "ok.md": "fine"})
    done = await brought(client, services, world.owner, data, "../../../x/../vault.zip")
    assert done["name"] == "vault.zip"
    assert done["written"] == {"notes": 2}
    assert not Path("/tmp/evil.md").exists()
    assert not list(services.settings.home.rglob("*.md"))


async def test_a_stranger_file_of_sqlite_runs_nothing_of_its_own(
    client: httpx.AsyncClient, services: Services, world: World, tmp_path: Path
) -> None:
    path = exports.openmemory_sqlite(tmp_path / "o.db")
    with sqlite3.connect(path) as conn:
        conn.execute("DROP TABLE memories")
        conn.execute("CREATE VIEW memories AS SELECT 1 AS id, load_extension('x') AS content, 'active' AS state")
    done = await brought(client, services, world.owner, path.read_bytes())
    assert done["state"] == "failed"
    assert "OpenMemory" in done["error"]["message"]


async def test_it_is_cancelled_before_it_began(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    made = await upload(client, world.owner, lines("hello"))
    answer = await client.delete(f"{IMPORTS}/{made['id']}", headers=world.owner.auth)
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert await rows(database, "SELECT count(*) FROM import_parts") == [(0,)]
    await run_until_empty(services)
    assert await rows(database, "SELECT count(*) FROM messages") == [(0,)]
    assert (await client.delete(f"{IMPORTS}/{made['id']}", headers=world.owner.auth)).json()["state"] == "cancelled"


class Interrupting(Rates):
    """Does something at the second write of an import."""

    def __init__(self, do: Any) -> None:
        self._do, self._writes = do, 0

    async def take(self, account: int, limits: Any) -> float:
        self._writes += 1
        if self._writes == 2:
            await self._do()
        return 0.0


async def test_what_was_brought_in_until_it_was_cancelled_stays_and_is_said(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    made = await upload(client, world.owner, lines(*map(str, range(2600))))
    await rows(database, "UPDATE imports SET options = options || '{\"by_key\": 1000}' RETURNING 1")

    async def cancel() -> None:
        await imports.cancel(services, world.owner.principal, made["id"])

    noisy = replace(services, rates=Interrupting(cancel))
    await imports.run(noisy, world.owner.user.account, world.owner.user.id, made["id"], tell_every=0)
    now = await get(client, world.owner.auth, f"{IMPORTS}/{made['id']}")
    assert now["state"] == "cancelled"
    stored = await rows(database, "SELECT count(*) FROM messages")
    assert stored == [(now["written"]["messages"],)]
    assert 0 < stored[0][0] < 2600


async def test_a_job_that_is_cut_off_goes_on_and_everything_is_there_once(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    made = await upload(client, world.owner, lines(*map(str, range(2600))))
    await rows(database, "UPDATE imports SET options = options || '{\"by_key\": 1000}' RETURNING 1")

    class Killed(BaseException):
        pass

    async def kill() -> None:
        raise Killed

    noisy = replace(services, rates=Interrupting(kill))
    with pytest.raises(Killed):
        await imports.run(noisy, world.owner.user.account, world.owner.user.id, made["id"])
    assert (await rows(database, "SELECT count(*) FROM messages"))[0][0] > 0
    assert (await get(client, world.owner.auth, f"{IMPORTS}/{made['id']}"))["state"] == "running"
    await run_until_empty(services)
    done = await get(client, world.owner.auth, f"{IMPORTS}/{made['id']}")
    assert done["state"] == "done"
    assert done["written"]["messages"] + done["already_there"]["messages"] == 2600
    assert await rows(database, "SELECT count(*), count(DISTINCT client_id) FROM messages") == [(2600, 2600)]


async def test_what_was_deleted_here_does_not_come_back_and_what_changed_there_is_a_version(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.owner.auth
    await brought(client, services, world.owner, packed({"a.md": "first", "b.md": "stays"}), into="capsules")
    kept = (await get(client, auth, "/v1/memory/capsules"))["items"]
    by_text = {capsule["content_md"]: capsule["id"] for capsule in kept}
    await client.delete(f"/v1/memory/capsules/{by_text['stays']}", headers=auth)
    done = await brought(client, services, world.owner, packed({"a.md": "second", "b.md": "stays"}), into="capsules")
    assert done["written"] == {"changed notes": 1}
    assert [one["content_md"] for one in (await get(client, auth, "/v1/memory/capsules"))["items"]] == ["second"]
    history = await get(client, auth, f"/v1/memory/capsules/{by_text['first']}/history")
    assert [one["content_md"] for one in history["items"]] == ["second", "first"]


async def test_a_full_quota_ends_it_with_what_fits_and_says_so(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    await operator.set_quota(services, world.owner.user.id, 30_000)
    data = packed({f"{n}.md": f"note {n} " + "x" * 4000 for n in range(9)})
    done = await brought(client, services, world.owner, data)
    assert done["state"] == "failed"
    assert done["error"]["code"] == "quota_exceeded"
    assert len(await ids(client, world.owner.auth)) == done["written"]["notes"] == 2


async def test_only_a_few_wait_at_once_and_only_a_file_of_a_size_is_taken(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    for _ in range(AT_ONCE):
        await upload(client, world.owner, lines("hello"))
    answer = await client.post(IMPORTS, headers=world.owner.auth, content=lines("hello"))
    assert answer.status_code == 409
    await upload(client, world.member, lines("hello"))
    small = replace(services, settings=replace(services.settings, max_import_bytes=10_000, max_body_bytes=1_000))
    async with http(make_app(small)) as other:
        answer = await other.post(IMPORTS, headers=world.stranger.auth, content=lines(*["x" * 100] * 20))
        assert answer.status_code == 202, "the limit of other bodies does not hold"
        bodies: tuple[dict[str, Any], ...] = ({"content": b"x" * 20_000}, {"files": {"file": ("x", b"x" * 20_000)}})
        for body in bodies:
            answer = await other.post(IMPORTS, headers=world.stranger.auth, **body)
            assert answer.status_code == 413
            assert "KEEPSTONE_MAX_IMPORT_BYTES" in answer.json()["error"]["message"]


async def test_nobody_else_sees_or_cancels_it(client: httpx.AsyncClient, world: World) -> None:
    made = await upload(client, world.member, lines("secret"), "secret.jsonl")
    for person in (world.owner, world.stranger):
        for method in ("GET", "DELETE"):
            answer = await client.request(method, f"{IMPORTS}/{made['id']}", headers=person.auth)
            assert answer.status_code == 404
        assert (await get(client, person.auth, IMPORTS))["items"] == []
    [own] = (await get(client, world.member.auth, IMPORTS))["items"]
    assert own["state"] == "waiting"


async def test_an_import_goes_with_its_user(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    await brought(client, services, world.member, lines("hello"))
    await upload(client, world.member, lines("hello again"))
    await users.erase_user(services, world.owner.principal, world.member.user.id)
    await run_until_empty(services)
    for table in ("imports", "import_parts", "import_arrivals"):
        assert await rows(database, f"SELECT count(*) FROM {table}") == [(0,)], table


async def test_an_upload_that_nobody_could_bring_in_is_forgotten(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    made = await upload(client, world.owner, lines("hello"))
    await rows(database, "UPDATE imports SET created_at = now() - interval '8 days' RETURNING 1")
    await expire_imports(services)
    now = await get(client, world.owner.auth, f"{IMPORTS}/{made['id']}")
    assert (now["state"], now["error"]["code"]) == ("failed", "expired")
    assert await rows(database, "SELECT count(*) FROM import_parts") == [(0,)]


async def test_no_text_stands_in_the_jobs_or_the_audit_trail(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    await upload(client, world.owner, lines("sesame"), "sesame.jsonl", into="scope:sesame")
    told = await rows(database, "SELECT args::text FROM procrastinate_jobs")
    told += await rows(database, "SELECT details::text FROM audit")
    await run_until_empty(services)
    told += await rows(database, "SELECT details::text FROM audit")
    assert not any("sesame" in text for (text,) in told)
