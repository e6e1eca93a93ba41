"""The pages of the documentation do what they say: what they show runs from top to bottom on a real server."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

import exports
import talk_exports
from commands import DOCS, as_guest, commands, run_page
from keepstone.app import make_routes
from leaks import routes_of
from live import Guest, Live, receive
from servers import LocalServer
from test_client import OPERATIONS
from upstream import ScriptedUpstream, chunks, completion, streamed

# Of each page of calls: how many there are at least, and what they print.
CALLS: dict[str, tuple[int, tuple[str, ...]]] = {
    "capsules": (30, ('"snippet":"The <mark>ferry</mark>', '"upgrade_url"', '"degraded":"literal"')),
    "graphs": (
        35, ('"total":2', '"existing":true', '"degraded":"terms"', '"change":"updated"', '"milliseconds"'),
    ),
    "projects": (
        25, ('"role":"viewer"', '"value":1200.50', '"name":"Trip to Hven"', '"project":null', '"project":{"id":"proj_'),
    ),
    "rooms": (
        40,
        (
            "Our API gateway runs on port 8443.", '"superseded_by":"lmk_', '"value":12345678901234567890.10',
            '"name":"Max"', '"ts":"2026-05-04T09:30:00Z"', '"layer":"working"', "the window has 300",
        ),
    ),
    "scopes": (4, ('"ingested":2', "I finally moved to Lisbon last week.", "ferry to the island")),
    "traces": (12, ('"left_out":"over_limit"', '"kind":"composition"', '"trace_id":"trc_', "leaves at nine")),
    "workspaces": (
        60,
        (
            '"deduplicated":true', '"deduplicated":false', '"change":"updated"', '"heading":"Timetable"',
            "<mark>pier</mark>", '"type":"document"', '"role":"viewer"', '"degraded":"terms"',
            "The ferry leaves at nine from pier 3.",
        ),
    ),
}  # fmt: skip
# What of the API each of them speaks of.
ROUTES = {
    "capsules": (
        "merge", "curate", "title", "related", "tags", "timeline", "constellation", "digest", "history", "trash",
        "restore", "delete-all", "usage", "cold", "recover", "export", "import", "projects", "x_console",
    ),
    "projects": ("projects", "members", "memories", "facts/project", "rooms", "restore", "capsules"),
    "graphs": ("nodes", "edges", "recall", "neighbors", "history", "restore", "graphs", "queries"),
    "workspaces": (
        "workspaces", "chats", "messages", "memory", "memories", "history", "restore", "rerun-extraction",
        "extractions", "search", "files", "chunks", "content", "artifacts", "revert", "members", "chat/api",
    ),
}  # fmt: skip
MEMORY = {
    "id": exports.key("doc"), "memory": "Ada likes numbers.", "user_id": "ada", "created_at": "2025-01-01T00:00:00Z",
}  # fmt: skip


def code(page: str) -> str:
    """The Python of a page."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```", (DOCS / f"{page}.md").read_text(), re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedUpstream]:
    upstream = ScriptedUpstream()
    yield upstream
    upstream.stop()


@pytest.fixture(scope="module")
def server(model: ScriptedUpstream) -> Generator[Live]:
    """In front of a language model. No jobs: they would ask the same model, in between."""
    made = Live(
        KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=model.url, KEEPSTONE_LLM_API_KEY="sk",
        KEEPSTONE_LLM_MODEL="small", KEEPSTONE_WORKER="off", KEEPSTONE_INJECT_RELEVANCE="0.01",
    )  # fmt: skip
    yield made
    made.stop()


@pytest.fixture
async def asking(server: Live, tmp_path: Path) -> Guest:
    """Somebody on the server that has a language model."""
    return await receive(server, tmp_path / "asking")


@pytest.mark.parametrize("page", CALLS)
def test_every_call_of_a_page_answers_as_it_says(page: str, guest: Guest, tmp_path: Path) -> None:
    calls, prints = CALLS[page]
    printed = run_page(DOCS / f"{page}.md", guest, tmp_path, more_than=calls)
    for text in prints:
        assert text in printed, text
    if page == "capsules":
        assert "keepstone-archive" in (tmp_path / "capsules.json").read_text()


@pytest.mark.parametrize(("page", "route"), [(page, route) for page in ROUTES for route in ROUTES[page]])
def test_every_route_is_on_its_page(page: str, route: str) -> None:
    assert f"/{route}" in (DOCS / f"{page}.md").read_text()


def test_every_call_that_changes_rooms_is_on_their_page() -> None:
    text = commands(DOCS / "rooms.md")
    for label, _, _ in routes_of(make_routes()):
        method, path = label.split(" ", 1)
        if re.match(r"/v1/(rooms|invitations|dms|agents|facts|profiles)\b", path) and method != "GET":
            pattern = re.sub(r"\\\{\w+\\\}", "[^/ ]+", re.escape(path))
            wanted = rf"curl (-X {method} )?\S*{pattern}[\" ]"
            elsewhere = path.endswith("/revive") and "/rooms/{room_id}/landmarks/" not in path  # one verb for all
            elsewhere |= bool(re.match(r"/v1/(dms/\{slug\}/\w+|rooms/\{room_id\}/memories)/\{", path))
            known = {"DELETE /v1/agents/{slug}", "POST /v1/dms/{slug}/landmarks"}
            if "PATCH" not in label and label not in known and not elsewhere:
                assert re.search(wanted, text), label


def test_every_command_of_the_page_about_imports_works(guest: Guest, tmp_path: Path) -> None:
    exports.chatgpt_zip(tmp_path / "chatgpt-export.zip", 4)
    talk = exports.claude_conversation(1, exports.claude_message("t", 1, "human", exports.said("Hello.")))
    exports.claude_zip(tmp_path / "claude-export.zip", [talk], [], [])
    talk_exports.slack_zip(tmp_path / "slack-export.zip")
    (tmp_path / "WhatsApp Chat with Family.txt").write_text(talk_exports.IOS_GERMAN)
    exports.vault(tmp_path / "Vault")
    exports.openmemory_sqlite(tmp_path / "openmemory.db")
    exports.agent_file(tmp_path / "agent.af")
    (tmp_path / "talk.jsonl").write_text('{"speaker": "Ada", "text": "hello"}\n')
    mem0 = LocalServer(lambda _path, _body: (200, json.dumps({"results": [MEMORY]}).encode()))
    start = f'set -eu -o pipefail\nkeepstone() {{ "{sys.executable}" -m keepstone "$@"; }}\n'
    script = start + as_guest(commands(DOCS / "import.md"), guest).replace("https://api.mem0.ai", mem0.url)
    try:
        done = subprocess.run(
            ["bash"], input=script, capture_output=True, text=True, check=False, cwd=tmp_path, env=guest.environ
        )
    finally:
        mem0.stop()
    assert done.returncode == 0, done.stderr
    assert "ferry to Naxos" in done.stdout
    written = re.findall(r"^written: +(.*)$", done.stdout, re.MULTILINE)
    assert written == [
        "40 messages", "1 messages", "7 messages", "5 notes", "nothing", "5 messages", "1 notes", "2 notes",
        "4 messages, 3 notes", "1 messages", "nothing",
    ]  # fmt: skip
    assert len(list((tmp_path / "pages" / "capsules").glob("*.md"))) == 11


def test_every_example_of_the_client_prints_what_its_page_says(asking: Guest, model: ScriptedUpstream) -> None:
    model.script()
    model.otherwise = lambda request: (
        streamed(*chunks("At nine.")) if b'"stream"' in request.body else completion("[1]")
    )
    prints_what_it_says(code("client"), asking)


def test_without_a_language_model_the_page_of_the_client_says_where_it_wants_one(guest: Guest) -> None:
    script = code("client")
    before, answered, after = re.split(
        r"^(try:\n    with keepstone\.chats\.say.*?)(?=^except)", script, flags=re.DOTALL | re.MULTILINE
    )
    after = after.replace("# no_language_model, where the server has none", "# → no_language_model")
    prints_what_it_says(before + answered.replace("# →", "#") + after, guest)


def prints_what_it_says(script: str, guest: Guest) -> None:
    script = as_guest(script, guest).replace("ck_…", guest.key)
    announced = re.findall(r"print\(.*# → (.*)$", script, re.MULTILINE)
    assert len(announced) > 15
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", "-c", script],
        capture_output=True, text=True, check=False, env={**guest.environ, "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rest = done.stdout
    for line in announced:
        assert line in rest, f"{line!r} was not printed, or not in this place:\n{done.stdout}"
        rest = rest.split(line, 1)[1]


def test_every_resource_is_on_the_page_about_the_client() -> None:
    text = (DOCS / "client.md").read_text()
    for name in {label.split(".")[0] for label in OPERATIONS}:
        assert f"`{name}`" in text


def test_the_program_on_the_page_about_the_proxy_runs_as_it_stands(asking: Guest, model: ScriptedUpstream) -> None:
    model.script(completion("hello"), streamed(*chunks("and goodbye")))
    (program,) = re.findall(r"```python\n(.*?)```", (DOCS / "proxy.md").read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "KEEPSTONE_URL": asking.url, "KEEPSTONE_API_KEY": asking.key},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "hello\nand goodbye"
    assert [request.path for request in model.received] == ["/v1/chat/completions"] * 2
    assert "x_save_memory" in model.received[0].body.decode()
