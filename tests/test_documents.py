"""Files and artifacts: read when they are uploaded, found by their parts with page and heading, kept in versions."""

import asyncio
import io
import zipfile
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import docx
import httpx
import pytest

from capsules import at, audited, rows
from conftest import World, http
from keepstone.app import make_app
from keepstone.jobs.worker import run_until_empty
from keepstone.services import Services
from workspaces import artifact, call, everything, found, keep, let_in, make_workspace, upload

NOW = datetime.now(UTC)
TXT = "Fähren fahren täglich. The ferry leaves at nine.\n".encode()
MARKDOWN = b"# Island\n\nIt is small.\n\n## Ferry\n\nThe ferry leaves at nine.\n\n## Bakery\n\nIt opens at six.\n"
PAGE = (
    b"<html><head><title>x</title><script>alert('evil')</script></head><body><h1>Island</h1><h2>Ferry</h2>"
    b"<p>The ferry leaves at nine.</p></body></html>"
)
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def word_file() -> bytes:
    made, file = docx.Document(), io.BytesIO()
    made.add_heading("Island", 1)
    made.add_heading("Ferry", 2)
    made.add_paragraph("The ferry leaves at nine.")
    made.save(file)
    return file.getvalue()


def pdf(*pages: str) -> bytes:
    """By hand: one line of text a page."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids: list[bytes] = []
    for text in pages:
        content = b"BT /F1 12 Tf 72 700 Td (%s) Tj ET" % text.encode("latin-1")
        kids.append(b"%d 0 R" % (len(objects) + 1))
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>"
            % (len(objects) + 2)
        )
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(content), content))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(pages), b" ".join(kids))
    made, offsets = bytearray(b"%PDF-1.4\n"), list[int]()
    for number, one in enumerate(objects, 1):
        offsets.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    made += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return bytes(made + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, table))


FILES: dict[str, tuple[bytes, str, dict[str, Any]]] = {
    "notes.txt": (TXT, "text/plain", {}),
    "notes.md": (MARKDOWN, "text/markdown", {"heading": "Island > Ferry"}),
    "notes.html": (PAGE, "text/html", {"heading": "Island > Ferry"}),
    "notes.pdf": (pdf("It is small.", "The ferry leaves at nine."), "application/pdf", {"page": 2}),
    "notes.docx": (word_file(), DOCX, {"heading": "Island > Ferry"}),
}


@pytest.fixture
async def workspace(client: httpx.AsyncClient, world: World) -> str:
    return await make_workspace(client, world.owner.auth)


# ------------------------------------------------------------------------------------------------------------- uploaded


@pytest.mark.parametrize("name", FILES)
async def test_each_kind_is_read_found_by_its_place_and_comes_back_as_it_was(
    client: httpx.AsyncClient, world: World, workspace: str, name: str
) -> None:
    auth, (data, media_type, place) = world.owner.auth, FILES[name]
    made = await upload(client, auth, workspace, name, data)
    assert made["id"].startswith("doc_")
    assert (made["name"], made["media_type"], made["size_bytes"], made["version"]) == (name, media_type, len(data), 1)
    assert (made["workspace_id"], made["created_by"]) == (workspace, world.owner.user.id)
    assert made["chunks"] >= 1
    path = f"/workspaces/{workspace}/files/{made['id']}"
    assert await call(client, auth, "GET", path) == made
    assert (await call(client, auth, "GET", f"/workspaces/{workspace}/files"))["items"] == [made]

    (hit,) = (await call(client, auth, "GET", f"/workspaces/{workspace}/search?q=ferry+leaves&limit=1"))["items"]
    assert (hit["type"], hit["id"], hit["title"], hit["category"]) == ("document", made["id"], name, None)
    assert "The ferry leaves at nine." in hit["text"]
    assert "<mark>ferry</mark>" in hit["snippet"]
    assert 0 < hit["relevance"] <= 1
    assert place.items() <= hit["place"].items()
    assert hit["place"]["start"] < hit["place"]["end"]

    chunks = await call(client, auth, "GET", f"{path}/chunks")
    assert [one["part"] for one in chunks["items"]] == list(range(made["chunks"]))
    assert chunks["next_part"] is None
    assert any("The ferry leaves at nine." in one["text"] for one in chunks["items"])
    assert "evil" not in str(chunks)

    answer = await client.get(f"/v1{path}/content", headers=auth)
    assert answer.content == data
    assert answer.headers["content-type"].split(";")[0] == media_type
    assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd.txt", "passwd.txt"), ("C:\\Users\\max\\notes.txt", "notes.txt"), ("a b;c.txt", "a b;c.txt"),
        ("行程 🏝.txt", "行程 🏝.txt"), ("<script>.txt", "<script>.txt"), ("no ending", "no ending"),
    ],
)  # fmt: skip
async def test_any_name_is_kept_and_none_leads_elsewhere(
    client: httpx.AsyncClient, world: World, workspace: str, given: str, kept: str
) -> None:
    made = await upload(client, world.owner.auth, workspace, given, TXT, "text/plain")
    assert made["name"] == kept
    path = f"/v1/workspaces/{workspace}/files/{made['id']}/content"
    header = (await client.get(path, headers=world.owner.auth)).headers["content-disposition"]
    assert header.isascii()
    assert not set('"<>;\\ ') & set(header.removeprefix("attachment; "))


@pytest.mark.parametrize(
    ("name", "data", "status"),
    [
        ("empty.txt", b"", 422),
        ("blank.txt", b" \n\n ", 422),
        ("picture.png", b"\x89PNG\r\n\x1a\n", 422),
        ("program.exe", b"MZ\x90\0", 422),
        ("table.xlsx", b"PK\x03\x04", 422),
        ("table.xls", bytes.fromhex("d0cf11e0a1b11ae1"), 422),
        ("talk.pptx", b"not a zip", 422),
        ("mail.eml", b"not a mail", 422),
        ("old.doc", bytes.fromhex("d0cf11e0a1b11ae1"), 422),
        ("fake.pdf", b"not a pdf", 422),
        ("broken.pdf", b"%PDF-1.4 and then nothing", 422),
        ("broken.docx", b"PK\x03\x04 and then nothing", 422),
        ("pdf.txt", b"%PDF-1.4", 422),
        ("nul.txt", b"a\0b", 422),
        ("scanned.pdf", pdf(""), 422),
        ("x" * 252 + ".txt", TXT, 422),
        ("", TXT, 422),
        ("large.txt", b"word " * 4_000_001, 413),
    ],
)
async def test_what_cant_be_read_is_refused_and_leaves_nothing(
    client: httpx.AsyncClient, world: World, workspace: str, database: str, name: str, data: bytes, status: int
) -> None:
    files = {"file": (name, data, "application/octet-stream")}
    answer = await client.post(f"/v1/workspaces/{workspace}/files", headers=world.owner.auth, files=files)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"].endswith(".")
    for table in ("documents", "document_versions", "passages", "terms", "procrastinate_jobs"):
        assert await rows(database, f"SELECT 1 FROM {table}") == [], table
    assert await audited(client, world.owner.auth, "file.create") == []


async def test_a_zip_of_another_kind_and_a_bomb_are_refused(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    for members in ({"a.txt": b"text"}, {"[Content_Types].xml": b"<x/>", "word/document.xml": b"0" * 50_000_000}):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        await upload(client, world.owner.auth, workspace, "a.docx", file.getvalue(), expect=422)


@pytest.mark.parametrize(
    "options", [{}, {"json": {"file": "x"}}, {"data": {"file": "text"}}, {"files": {"other": b"x"}}]
)
async def test_a_request_without_a_file_is_refused(
    client: httpx.AsyncClient, world: World, workspace: str, options: Any
) -> None:
    answer = await client.post(f"/v1/workspaces/{workspace}/files", headers=world.owner.auth, **options)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "VALIDATION_ERROR"


async def test_the_very_same_file_again_is_the_one_that_is_there(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth = world.owner.auth
    first = await upload(client, auth, workspace, "notes.txt", TXT)
    assert await upload(client, auth, workspace, "notes.txt", TXT) == first
    assert (await upload(client, auth, workspace, "other.txt", TXT))["id"] != first["id"]
    other = await make_workspace(client, auth)
    assert (await upload(client, auth, other, "notes.txt", TXT))["id"] != first["id"]
    await call(client, auth, "DELETE", f"/workspaces/{workspace}/files/{first['id']}", expect=204)
    assert (await upload(client, auth, workspace, "notes.txt", TXT))["id"] != first["id"], "the other is in the trash"


async def test_uploaded_again_under_its_name_it_is_another_version_and_the_old_one_is_no_longer_found(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth = world.owner.auth
    files, versions = f"/workspaces/{workspace}/files", []
    for data, status in ((b"The ferry leaves at nine.", 201), (b"The boat sails at ten.", 201), (b"Bread.", 201)):
        one = {"file": ("notes.txt", data, "text/plain")}
        versions.append(await call(client, auth, "POST", files, files=one, expect=status))
        same = await call(client, auth, "POST", files, files=one, expect=200)
        assert same == versions[-1] | {"change": "unchanged"}
    assert [(one["version"], one["change"]) for one in versions] == [(1, "created"), (2, "updated"), (3, "updated")]
    assert len({one["id"] for one in versions}) == 1
    path = f"{files}/{versions[0]['id']}"
    assert [one["size_bytes"] for one in (await call(client, auth, "GET", files))["items"]] == [6]
    assert await found(client, auth, workspace, "ferry nine") == []
    assert await found(client, auth, workspace, "boat ten") == []
    assert await found(client, auth, workspace, "bread") == [versions[0]["id"]]
    history = (await call(client, auth, "GET", f"{path}/history"))["items"]
    assert [(one["version"], one["change"]) for one in history] == [(3, "updated"), (2, "updated"), (1, "created")]
    for version, text in ((1, b"The ferry leaves at nine."), (2, b"The boat sails at ten."), (3, b"Bread.")):
        assert (await client.get(f"/v1{path}/content?version={version}", headers=auth)).content == text
    await call(client, auth, "GET", f"{path}/content?version=4", expect=404)

    back = await call(client, auth, "POST", f"{path}/revert?version=1")
    assert (back["version"], back["size_bytes"]) == (4, 25)
    assert (await client.get(f"/v1{path}/content", headers=auth)).content == b"The ferry leaves at nine."
    assert await found(client, auth, workspace, "ferry nine") == [back["id"]]
    assert await found(client, auth, workspace, "bread") == []
    await call(client, auth, "POST", f"{path}/revert?version=9", expect=404)
    assert len(await audited(client, auth, "file.update")) == 3
    await call(client, auth, "DELETE", path, expect=204)
    await call(client, auth, "POST", f"{path}/restore")
    assert (await client.get(f"/v1{path}/content", headers=auth)).content == b"The ferry leaves at nine."


async def test_versions_uploaded_at_once_are_one_file_with_one_history(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth = world.owner.auth
    made = await asyncio.gather(*(upload(client, auth, workspace, "a.txt", b"Round %d" % n) for n in range(8)))
    assert len({one["id"] for one in made}) == 1
    history = (await call(client, auth, "GET", f"/workspaces/{workspace}/files/{made[0]['id']}/history"))["items"]
    assert [one["version"] for one in history] == list(range(8, 0, -1))
    path = f"/v1/workspaces/{workspace}/files/{made[0]['id']}/content"
    (hit,) = (await call(client, auth, "GET", f"/workspaces/{workspace}/search?q=round"))["items"]
    assert hit["text"].encode() == (await client.get(path, headers=auth)).content, "what is found is what is there"


async def test_what_another_has_uploaded_a_member_does_not_replace_and_an_editor_does(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth, theirs = world.owner.auth, world.member.auth
    first = await upload(client, auth, workspace, "a.txt", b"The ferry leaves at nine.")
    await let_in(client, auth, workspace, world.member, "member")
    refused = await call(
        client, theirs, "POST", f"/workspaces/{workspace}/files", files={"file": ("a.txt", b"No.")}, expect=403
    )
    assert "choose another name" in refused["error"]["message"]
    await call(client, theirs, "POST", f"/workspaces/{workspace}/files/{first['id']}/revert?version=1", expect=403)
    await let_in(client, auth, workspace, world.member, "editor")
    second = await upload(client, theirs, workspace, "a.txt", b"The ferry leaves at ten.")
    assert (second["id"], second["version"], second["created_by"]) == (first["id"], 2, world.owner.user.id)


async def test_the_same_file_ten_times_at_once_is_kept_once(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth = world.owner.auth
    made = await asyncio.gather(*(upload(client, auth, workspace, "notes.html", PAGE) for _ in range(10)))
    assert len({one["id"] for one in made}) == 1
    assert len(await everything(client, auth, f"/workspaces/{workspace}/files", 50)) == 1


async def test_a_long_file_is_read_in_parts_that_cover_it(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth = world.owner.auth
    text = "\n\n".join(
        f"## Chapter {n}\n\nIn chapter {n} the number {n * 37} is named. " + "Filler. " * 120 for n in range(60)
    )
    made = await upload(client, auth, workspace, "book.md", text.encode())
    path = f"/workspaces/{workspace}/files/{made['id']}/chunks"
    seen: list[Any] = []
    beyond = -1
    while True:
        page = await call(client, auth, "GET", path, params={"beyond": beyond, "limit": 25})
        seen += page["items"]
        if page["next_part"] is None:
            break
        beyond = page["next_part"]
    assert [one["part"] for one in seen] == list(range(made["chunks"]))
    assert len(seen) > 60
    for one in seen:
        assert one["place"]["end"] - one["place"]["start"] == len(one["text"])
    (hit,) = (await call(client, auth, "GET", f"/workspaces/{workspace}/search?q=number+1591&limit=1"))["items"]
    assert hit["place"]["heading"] == "Chapter 43"
    for query in ({"beyond": -2}, {"limit": 0}, {"limit": 201}, {"beyond": "x"}):
        await call(client, auth, "GET", path, params=query, expect=422)


async def test_a_part_is_found_by_the_name_of_its_file_and_its_heading(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth = world.owner.auth
    text = (
        f"# Ferry\n\nIt leaves at nine. {'It is red. ' * 20}\n\n# Bakery\n\nIt opens at six. {'Bread is good. ' * 20}"
    )
    made = await upload(client, auth, workspace, "lighthouse.md", text.encode())
    await upload(client, auth, workspace, "other.txt", b"Something else altogether.")
    assert await found(client, auth, workspace, "lighthouse", limit=1) == [made["id"]]
    (hit,) = (await call(client, auth, "GET", f"/workspaces/{workspace}/search?q=bakery&limit=1"))["items"]
    assert hit["place"]["heading"] == "Bakery"
    assert "It opens at six." in hit["text"]


# ------------------------------------------------------------------------------------------------------- put away, back


async def test_a_deleted_file_is_nowhere_and_comes_back_as_it_was(
    client: httpx.AsyncClient, world: World, workspace: str, database: str
) -> None:
    auth = world.owner.auth
    made = await upload(client, auth, workspace, "notes.docx", FILES["notes.docx"][0])
    path = f"/workspaces/{workspace}/files/{made['id']}"
    await call(client, auth, "POST", f"{path}/restore", expect=404)
    await call(client, auth, "DELETE", path, expect=204)
    for below in ("", "/content", "/chunks"):
        await call(client, auth, "GET", f"{path}{below}", expect=404)
    await call(client, auth, "DELETE", path, expect=404)
    assert await found(client, auth, workspace, "ferry") == []
    assert await rows(database, "SELECT 1 FROM passages UNION ALL SELECT 1 FROM terms") == []
    assert (await call(client, auth, "GET", f"/workspaces/{workspace}/files"))["items"] == []
    (gone,) = (await call(client, auth, "GET", f"/workspaces/{workspace}/files?deleted=true"))["items"]
    assert gone["id"] == made["id"]
    back = await call(client, auth, "POST", f"{path}/restore")
    assert (back["id"], back["chunks"], back["deleted_at"]) == (made["id"], made["chunks"], None)
    (hit,) = (await call(client, auth, "GET", f"/workspaces/{workspace}/search?q=ferry+leaves&limit=1"))["items"]
    assert hit["place"]["heading"] == "Island > Ferry"
    assert (await client.get(f"/v1{path}/content", headers=auth)).content == FILES["notes.docx"][0]
    history = (await call(client, auth, "GET", f"{path}/history"))["items"]
    assert [(one["version"], one["change"]) for one in history] == [(3, "restored"), (2, "deleted"), (1, "created")]
    for action in ("create", "delete", "restore"):
        assert [line["object_id"] for line in await audited(client, auth, f"file.{action}")] == [made["id"]]


async def test_whoever_deletes_and_restores_at_once_gets_an_answer_and_one_history(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth, made = world.owner.auth, await artifact(client, world.owner.auth, workspace, "Version 0")
    path = f"/v1/workspaces/{workspace}/artifacts/{made['id']}"
    codes = [
        answer.status_code
        for answer in await asyncio.gather(
            *(client.patch(path, headers=auth, json={"content": f"Version {n}"}) for n in range(1, 6)),
            *(client.delete(path, headers=auth) for _ in range(3)),
            *(client.post(f"{path}/restore", headers=auth) for _ in range(3)),
            *(client.patch(path, headers=auth, json={"name": f"{n}.md"}) for n in range(3)),
        )
    ]
    assert set(codes) <= {200, 204, 404}, codes
    history = (await call(client, auth, "GET", f"{path}/history"))["items"]
    assert [one["version"] for one in history] == list(range(len(history), 0, -1))
    assert len(history) == 1 + sum(code in {200, 204} for code in codes)
    if (await client.get(path, headers=auth)).status_code == 404:
        await call(client, auth, "POST", f"{path}/restore")
    now = await call(client, auth, "GET", path)
    (hit,) = (await call(client, auth, "GET", f"/workspaces/{workspace}/search?q=version"))["items"]
    assert hit["text"] == now["content"], "what is found is what is there"


async def test_renamed_while_its_text_changes_it_is_found_by_the_text_it_has(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth, made = world.owner.auth, await artifact(client, world.owner.auth, workspace, "Round none")
    path = f"/v1/workspaces/{workspace}/artifacts/{made['id']}"
    for number in range(10):
        await asyncio.gather(
            *(client.patch(path, headers=auth, json={"content": f"Round {number}{one}"}) for one in "ab"),
            *(client.patch(path, headers=auth, json={"name": f"{number}{one}.md"}) for one in "ab"),
        )
        (hit,) = (await call(client, auth, "GET", f"/workspaces/{workspace}/search?q=round"))["items"]
        now = await call(client, auth, "GET", path)
        assert (hit["text"], hit["title"]) == (now["content"], now["name"])


@pytest.mark.parametrize("kind", ["files", "artifacts"])
async def test_after_thirty_days_it_does_not_come_back(
    client: httpx.AsyncClient, services: Services, world: World, workspace: str, kind: str
) -> None:
    auth = world.owner.auth
    made = await (
        upload(client, auth, workspace, "a.txt", TXT) if kind == "files" else artifact(client, auth, workspace, "A")
    )
    path = f"/workspaces/{workspace}/{kind}/{made['id']}"
    await call(client, auth, "DELETE", path, expect=204)
    async with at(services, NOW + timedelta(days=31)) as later:
        await call(later, auth, "POST", f"{path}/restore", expect=404)


# ------------------------------------------------------------------------------------------------------------ artifacts


async def test_an_artifact_keeps_every_version_and_can_go_back(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth = world.owner.auth
    made = await artifact(client, auth, workspace, "The ferry leaves at nine.")
    assert made["id"].startswith("art_")
    assert (made["name"], made["media_type"], made["version"]) == ("plan.md", "text/markdown", 1)
    assert (made["content"], made["size_bytes"], made["chunks"]) == ("The ferry leaves at nine.", 25, 1)
    path = f"/workspaces/{workspace}/artifacts/{made['id']}"
    assert await call(client, auth, "GET", path) == made
    second = await call(client, auth, "PATCH", path, json={"content": "The bus stops at noon. 🚌", "name": "bus.md"})
    assert (second["version"], second["name"], second["content"]) == (2, "bus.md", "The bus stops at noon. 🚌")
    assert second["size_bytes"] == len("The bus stops at noon. 🚌".encode())
    assert second["updated_at"] > second["created_at"] == made["created_at"]
    assert await found(client, auth, workspace, "bus") == [made["id"]]
    assert await found(client, auth, workspace, "ferry") == []
    third = await call(client, auth, "PATCH", path, json={"media_type": "text/x-python"})
    assert (third["version"], third["media_type"], third["content"]) == (
        3,
        "text/x-python",
        "The bus stops at noon. 🚌",
    )
    old = await call(client, auth, "GET", f"{path}?version=1")
    assert (old["content"], old["name"], old["version"], old["size_bytes"]) == (
        "The ferry leaves at nine.", "plan.md", 1, 25,
    )  # fmt: skip
    back = await call(client, auth, "POST", f"{path}/revert?version=1")
    assert (back["version"], back["content"], back["name"]) == (4, "The ferry leaves at nine.", "plan.md")
    assert back["media_type"] == "text/markdown"
    assert await found(client, auth, workspace, "ferry") == [made["id"]]
    history = (await call(client, auth, "GET", f"{path}/history"))["items"]
    assert [(one["version"], one["change"], one["name"]) for one in history] == [
        (4, "reverted", "plan.md"), (3, "updated", "bus.md"), (2, "updated", "bus.md"), (1, "created", "plan.md"),
    ]  # fmt: skip
    for version in (5, 1_000_000):
        await call(client, auth, "GET", f"{path}?version={version}", expect=404)
        await call(client, auth, "POST", f"{path}/revert?version={version}", expect=404)
    for query in ("", "?version=0", "?version=x"):
        await call(client, auth, "POST", f"{path}/revert{query}", expect=422)


async def test_a_deleted_artifact_comes_back_with_its_text(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth, made = world.owner.auth, await artifact(client, world.owner.auth, workspace, "The ferry leaves at nine.")
    path = f"/workspaces/{workspace}/artifacts/{made['id']}"
    await call(client, auth, "DELETE", path, expect=204)
    for method, below, body in (
        ("GET", "", None),
        ("PATCH", "", {"content": "x"}),
        ("POST", "/revert?version=1", None),
    ):
        await call(client, auth, method, f"{path}{below}", json=body, expect=404)
    assert await found(client, auth, workspace, "ferry") == []
    await call(client, auth, "POST", f"{path}/restore")
    assert (await call(client, auth, "GET", path))["content"] == "The ferry leaves at nine."
    assert await found(client, auth, workspace, "ferry") == [made["id"]]


@pytest.mark.parametrize(
    "body",
    [
        {"name": "a"}, {"content": "x"}, {"name": "", "content": "x"}, {"name": "x" * 256, "content": "x"},
        {"name": "a", "content": "a\0b"}, {"name": "a", "content": 7}, {"name": "a", "content": "x", "media_type": "x"},
        {"name": "a", "content": "x", "media_type": "text/html; charset=x"}, {"name": "a\0", "content": "x"},
        {"name": "a", "content": "x" * (1024 * 1024 + 1)}, {"name": "a", "content": "€" * 400_000},
    ],
)  # fmt: skip
async def test_an_artifact_that_cant_be_is_refused(
    client: httpx.AsyncClient, world: World, workspace: str, body: Any
) -> None:
    path = f"/workspaces/{workspace}/artifacts"
    await call(client, world.owner.auth, "POST", path, json=body, expect=422)
    assert (await call(client, world.owner.auth, "GET", path))["items"] == []


async def test_an_artifact_may_be_empty_or_a_megabyte(client: httpx.AsyncClient, world: World, workspace: str) -> None:
    auth = world.owner.auth
    empty = await artifact(client, auth, workspace, "")
    assert (empty["content"], empty["chunks"]) == ("", 0)
    large = ("The ferry leaves. " * 60_000)[: 1024 * 1024 - 9] + " elephant"
    made = await artifact(client, auth, workspace, large)
    assert await found(client, auth, workspace, "elephant", limit=1) == [made["id"]]
    path = f"/workspaces/{workspace}/artifacts/{empty['id']}"
    assert (await call(client, auth, "PATCH", path, json={"content": "Now a kayak."}))["chunks"] == 1
    assert (await call(client, auth, "PATCH", path, json={"content": ""}))["chunks"] == 0
    assert await found(client, auth, workspace, "kayak") == []


async def test_files_and_artifacts_are_not_taken_for_each_other(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth = world.owner.auth
    paper, made = await upload(client, auth, workspace, "a.txt", TXT), await artifact(client, auth, workspace, "A")
    other = await make_workspace(client, auth)
    for path in (
        f"/workspaces/{workspace}/files/{made['id']}", f"/workspaces/{workspace}/artifacts/{paper['id']}",
        f"/workspaces/{other}/files/{paper['id']}", f"/workspaces/{other}/artifacts/{made['id']}",
        f"/workspaces/{other}/files/{paper['id']}/content", f"/workspaces/{other}/files/{paper['id']}/history",
        f"/workspaces/{workspace}/files/doc_{'a' * 24}", f"/workspaces/{workspace}/files/{paper['id'][:-1]}",
    ):  # fmt: skip
        await call(client, auth, "GET", path, expect=404)


async def test_lists_come_in_pages_that_stay_right(client: httpx.AsyncClient, world: World, workspace: str) -> None:
    auth, path = world.owner.auth, f"/workspaces/{workspace}/artifacts"
    made = [(await artifact(client, auth, workspace, f"Number {n}"))["id"] for n in range(7)]
    assert await everything(client, auth, path, 3) == made[::-1]
    first = await call(client, auth, "GET", f"{path}?limit=3")
    await call(client, auth, "DELETE", f"{path}/{made[4]}", expect=204)
    await call(client, auth, "PATCH", f"{path}/{made[2]}", json={"content": "Another"})
    await artifact(client, auth, workspace, "Newer than all")
    rest = await call(client, auth, "GET", path, params={"cursor": first["next_cursor"]})
    assert [one["id"] for one in rest["items"]] == [made[n] for n in (3, 2, 1, 0)]


# --------------------------------------------------------------------------------------------------- one search for all


@pytest.fixture
async def wise(knowing: Services) -> AsyncGenerator[httpx.AsyncClient]:
    async with http(make_app(knowing)) as opened:
        yield opened


async def test_one_search_finds_memories_documents_and_artifacts_by_meaning(
    wise: httpx.AsyncClient, knowing: Services, services: Services, world: World, workspace: str
) -> None:
    auth = world.owner.auth
    lease = pdf(
        "The rent of 900 euros is due on the first of each month and is paid by transfer. Heating and water are "
        "settled once a year.",
        "Either party may end this agreement in writing with three months notice. The keys are then handed back, and "
        "the rooms are left swept.",
        "Repairs are reported to the landlord without delay. The tenant paints the walls every five years, in a light "
        "colour, at their own cost.",
    )
    paper = await upload(wise, auth, workspace, "lease.pdf", lease)
    memory = await keep(wise, auth, workspace, "We adopted a puppy from the shelter.", category="fact")
    plan = await artifact(wise, auth, workspace, "Step 1: rent a van. Step 2: move the piano.", "moving.md")
    services.embedders.active = knowing.embedders.active
    await run_until_empty(services)
    services.embedders.active = ()

    async def first(query: str, **params: Any) -> Any:
        page = await call(wise, auth, "GET", f"/workspaces/{workspace}/search", params={"q": query, **params})
        assert page["degraded"] is None
        return page["items"][0] if page["items"] else None

    hit = await first("How can the contract be terminated?")
    assert (hit["id"], hit["type"], hit["place"]["page"]) == (paper["id"], "document", 2)
    hit = await first("Which dog do they have?")
    assert (hit["id"], hit["type"], hit["category"], hit["place"]) == (memory["id"], "memory", "fact", None)
    hit = await first("How do we get the piano to the new flat?")
    assert (hit["id"], hit["type"], hit["title"]) == (plan["id"], "artifact", "moving.md")
    hit = await first("Who paints the walls?", type="document")
    assert (hit["id"], hit["place"]["page"]) == (paper["id"], 3)
    both = await call(
        wise, auth, "GET", f"/workspaces/{workspace}/search", params={"q": "dog", "type": ["memory", "artifact"]}
    )
    assert {one["type"] for one in both["items"]} <= {"memory", "artifact"}


async def test_what_is_found_comes_in_pages_and_belongs_to_this_workspace_alone(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth, other = world.owner.auth, await make_workspace(client, world.owner.auth)
    for number in range(4):
        await keep(client, auth, workspace, f"Ferry number {number}")
        await upload(client, auth, workspace, f"{number}.txt", f"Ferry timetable {number}".encode())
        await artifact(client, auth, workspace, f"Ferry plan {number}")
    hidden = await keep(client, auth, other, "Ferry of the others")
    whole = await found(client, auth, workspace, "ferry", limit=50)
    assert len(whole) == len(set(whole)) == 12
    assert hidden["id"] not in whole
    parts = [
        one
        for offset in (0, 5, 10, 15)
        for one in await found(client, auth, workspace, "ferry", limit=5, offset=offset)
    ]
    assert sorted(parts) == sorted(whole)
    assert await found(client, auth, workspace, "zeppelin") == []
    for params in (
        {"q": ""},
        {"q": "x" * 8001},
        {"q": "x", "limit": 51},
        {"q": "x", "offset": -1},
        {"q": "x", "type": "all"},
        {},
    ):
        await call(client, auth, "GET", f"/workspaces/{workspace}/search", params=params, expect=422)
    await call(client, auth, "GET", f"/workspaces/{workspace}/search?q=a%00b", expect=422)


async def test_what_is_shown_of_a_result_is_escaped(client: httpx.AsyncClient, world: World, workspace: str) -> None:
    await artifact(client, world.owner.auth, workspace, "<script>alert(1)</script> the ferry & co")
    (hit,) = (await call(client, world.owner.auth, "GET", f"/workspaces/{workspace}/search?q=ferry"))["items"]
    assert "<script>" not in hit["snippet"]
    assert "&lt;script&gt;" in hit["snippet"]
    assert "<script>" in hit["text"], "the text is as it is"


# --------------------------------------------------------------------------------------------------------------- rights


async def test_a_member_reads_all_adds_their_own_and_changes_nothing_of_others(
    client: httpx.AsyncClient, world: World, workspace: str
) -> None:
    auth, theirs = world.owner.auth, world.member.auth
    paper, made = await upload(client, auth, workspace, "a.txt", TXT), await artifact(client, auth, workspace, "A")
    await let_in(client, auth, workspace, world.member, "member")
    assert (await call(client, theirs, "GET", f"/workspaces/{workspace}/files/{paper['id']}"))["id"] == paper["id"]
    assert (await upload(client, theirs, workspace, "a.txt", TXT))["id"] == paper["id"], "the same is known"
    own = await upload(client, theirs, workspace, "b.txt", b"Of a member")
    assert own["created_by"] == world.member.user.id
    await call(client, theirs, "DELETE", f"/workspaces/{workspace}/files/{paper['id']}", expect=403)
    await call(
        client, theirs, "PATCH", f"/workspaces/{workspace}/artifacts/{made['id']}", json={"content": "B"}, expect=403
    )
    await call(client, theirs, "DELETE", f"/workspaces/{workspace}/files/{own['id']}", expect=204)
    await let_in(client, auth, workspace, world.member, "editor")
    changed = await call(
        client, theirs, "PATCH", f"/workspaces/{workspace}/artifacts/{made['id']}", json={"content": "B"}
    )
    assert (changed["content"], changed["created_by"]) == ("B", world.owner.user.id)
    (latest, *_) = (await call(client, auth, "GET", f"/workspaces/{workspace}/artifacts/{made['id']}/history"))["items"]
    assert latest["changed_by"] == world.member.user.id


async def test_what_may_not_be_added_is_not_even_read(
    services: Services, world: World, workspace: str, client: httpx.AsyncClient
) -> None:
    """Parsing costs a process: it is not started for somebody who may not upload."""

    class Unread:
        async def parse(self, data: bytes, name: str, media_type: str | None) -> Any:
            raise AssertionError("it was read")

    careful: Any = replace(services, parser=Unread())  # pyright: ignore[reportArgumentType]
    await let_in(client, world.owner.auth, workspace, world.member, "viewer")
    async with http(make_app(careful)) as other:
        await upload(other, world.member.auth, workspace, "a.pdf", FILES["notes.pdf"][0], expect=403)
        await upload(other, world.stranger.auth, workspace, "a.pdf", FILES["notes.pdf"][0], expect=404)
