"""The filter for Open WebUI: run as Open WebUI runs it, and with `KEEPSTONE_TEST_OPEN_WEBUI` by itself."""

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from importlib.metadata import Distribution
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import httpx
import pytest

from keepstone import __version__
from live import Guest, Live, receive
from servers import LocalServer

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "clients" / "open-webui" / "keepstone_filter.py"
OPEN_WEBUI = "0.12.4"
# What is imported for its plugins and its database, of some hundred packages that it needs.
ITS_OWN = {
    "aiocache", "aiohttp", "aiosqlite", "alembic", "argon2-cffi", "authlib", "bcrypt", "beautifulsoup4",
    "cryptography", "fastapi", "httpx", "loguru", "markdown", "orjson", "pillow", "pyjwt", "python-mimeparse",
    "python-socketio", "pytz", "redis", "requests", "sqlalchemy", "uvicorn",
}  # fmt: skip
MARKED = re.compile(r'<recalled-memory note="[^"]*" mark="(\w+)">\n(.*)\n\1</recalled-memory>', re.DOTALL)
NUMBERS = count(1)
QUESTION = "When does my ferry to Naxos leave?"
ANSWER = "Yours leaves at nine, from pier 3."

Json = dict[str, Any]


def person(name: str) -> Json:
    """Of Open WebUI; nobody else on a server has the address."""
    number = next(NUMBERS)
    return {"id": f"0a51c1e8-{number}", "name": name, "email": f"{name.lower()}@open-webui-{number}.example"}


ANN, BEN, CLEO = person("Ann"), person("Ben"), person("Cleo")


class OpenWebUI(Protocol):
    """One with the filter and nothing else."""

    async def call(self, kind: str, user: Json, body: Json, metadata: Json, **chosen: Any) -> tuple[Json, list[str]]:
        """What became of the body, and what the chat was told."""
        ...

    def stop(self) -> None: ...


class Imitated:
    """What `open_webui.utils` does, in a few lines: for every day."""

    def __init__(self, valves: Json) -> None:
        module = ModuleType("function_keepstone")
        exec(SOURCE.read_text(), module.__dict__)
        self._filter = module.__dict__["Filter"]()
        self._filter.valves = self._filter.Valves(**valves)

    async def call(self, kind: str, user: Json, body: Json, metadata: Json, **chosen: Any) -> tuple[Json, list[str]]:
        events: list[Json] = []

        async def emit(event: Json) -> None:
            events.append(event)

        handler = getattr(self._filter, kind)
        given = {
            "__event_emitter__": emit, "__user__": {**user, "valves": self._filter.UserValves(**chosen)},
            "__metadata__": metadata, "__id__": "keepstone", "__model__": {}, "__chat_id__": metadata.get("chat_id"),
        }  # fmt: skip
        wanted = {name: value for name, value in given.items() if name in inspect.signature(handler).parameters}
        return await handler(body=body, **wanted), told(events)

    def stop(self) -> None:
        pass


class Real:
    """The package, in an environment and with a database of its own: tests/open_webui_filters.py."""

    def __init__(self, valves: Json) -> None:
        self._data = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [open_webui(), ROOT / "tests/open_webui_filters.py", SOURCE, json.dumps(valves)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self._data.name,
            env={
                "PATH": os.environ["PATH"], "HOME": self._data.name, "DATA_DIR": self._data.name, "OFFLINE_MODE": "1",
                "WEBUI_SECRET_KEY": "of this test", "FROM_INIT_PY": "true", "VECTOR_DB": "qdrant",
            },
        )  # fmt: skip

    async def call(self, kind: str, user: Json, body: Json, metadata: Json, **chosen: Any) -> tuple[Json, list[str]]:
        assert self._process.stdin
        assert self._process.stdout
        asked = {"kind": kind, "user": user, "chosen": chosen, "body": body, "metadata": metadata}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:  # beside what it logs
            if line.startswith("@"):
                done = json.loads(line[1:])
                return done["body"], told(done["events"])
        raise AssertionError("Open WebUI ended")

    def stop(self) -> None:
        with self._process:
            self._process.terminate()
        self._data.cleanup()


def open_webui() -> Path:
    """A Python that has it, with the versions that it names of what of its needs is imported here."""
    folder = Path(tempfile.gettempdir(), f"keepstone-test-open-webui-{OPEN_WEBUI}")
    python = folder / "bin" / "python"
    uv = [sys.executable, "-m", "uv"]
    if not (folder / "ready").exists():
        subprocess.run([*uv, "venv", "--clear", "-p", "3.11", folder], check=True)
        install = [*uv, "pip", "install", "-p", python]
        subprocess.run([*install, "--no-deps", f"open-webui=={OPEN_WEBUI}"], check=True)
        (found,) = (folder / "lib").glob("python*/site-packages/open_webui-*.dist-info")
        needs = [need for need in Distribution.at(found).requires or () if "extra ==" not in need]
        wanted = [need for need in needs if re.split(r"[\[=]", need)[0] in ITS_OWN]
        subprocess.run([*install, *wanted, "typer"], check=True)  # which others of its needs bring along
        (folder / "ready").touch()
    return python


def told(events: list[Json]) -> list[str]:
    assert all(event["type"] == "status" and event["data"]["done"] for event in events)
    return [event["data"]["description"] for event in events]


real = pytest.param(
    Real,
    marks=pytest.mark.skipif(
        "KEEPSTONE_TEST_OPEN_WEBUI" not in os.environ,
        reason="fetches 160 MB from PyPI once: set KEEPSTONE_TEST_OPEN_WEBUI=1",
    ),
)
either = pytest.mark.parametrize("made", [Imitated, real])


@pytest.fixture
async def owner(dashboard: Live, tmp_path: Path) -> Guest:
    return await receive(dashboard, tmp_path / "owner")


@pytest.fixture
def api(owner: Guest) -> Generator[httpx.Client]:
    with httpx.Client(base_url=owner.url, headers=owner.auth, timeout=30) as client:
        yield client


def valves(owner: Guest, key: str = "", **more: Any) -> Json:
    return {"url": owner.url + "/", "api_key": key or owner.key, "timeout": 60, **more}


def service_key(api: httpx.Client, *users: Json) -> str:
    """Of an account in which these people are."""
    for user in users:
        own = {"email": user["email"], "name": user["name"]}
        api.post("/v1/users", json=own).raise_for_status()
    made = api.post("/v1/keys", json={"name": "Open WebUI", "service": True})
    return made.raise_for_status().json()["key"]


def asking(*messages: Json, text: Any = QUESTION) -> Json:
    return {"model": "m-1", "stream": True, "messages": [*messages, {"role": "user", "content": text}]}


def over(chat: str, said: str = "My ferry to Naxos leaves at nine, from pier 3.", answer: str = ANSWER) -> Json:
    """What an outlet gets: the whole chat, with what was said before."""
    at = int(time.time())
    return {
        "model": "m-1", "chat_id": chat, "session_id": "s-1", "id": f"{chat}-4", "filter_ids": [],
        "messages": [
            {"id": f"{chat}-1", "role": "user", "content": "Hello!", "timestamp": at - 60},
            {"id": f"{chat}-2", "role": "assistant", "content": "Hello, what can I do?", "timestamp": at - 59},
            {"id": f"{chat}-3", "role": "user", "content": said, "timestamp": at - 1},
            {"id": f"{chat}-4", "role": "assistant", "content": answer, "timestamp": at},
        ],
    }  # fmt: skip


def wait_for_meaning(api: httpx.Client) -> None:
    deadline = time.monotonic() + 60
    while api.get("/readyz").json()["pending_embeddings"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@either
async def test_each_user_is_remembered_in_other_chats_and_by_nobody_else(
    made: type[Imitated | Real], owner: Guest, api: httpx.Client
) -> None:
    ann, ben = person("Ann"), person("Ben")
    chats: OpenWebUI = made(valves(owner, service_key(api, ann, ben)))
    hidden = '<details type="reasoning" done="true"><summary>Thought</summary>\nSECRET\n</details>\n'
    try:
        for _ in range(2):  # a repeat changes nothing
            turn = over("chat-1", answer=hidden + ANSWER)
            assert await chats.call("outlet", ann, turn, {"chat_id": "chat-1"}) == (turn, [])
        wait_for_meaning(api)
        ask = {"chat_id": "chat-2", "message_id": "m-1"}
        body, said = await chats.call("inlet", ann, asking(), ask)
        assert re.fullmatch(r"Looked up (1 memory|2 memories)", said[0])
        system, question = body["messages"]
        assert question == {"role": "user", "content": QUESTION}
        ((_, quoted),) = MARKED.findall(system["content"])
        assert "] Ann: My ferry to Naxos leaves at nine, from pier 3." in quoted
        assert "SECRET" not in quoted

        told_before = {"role": "system", "content": "You are brief."}
        parts = [{"type": "image_url", "image_url": {"url": "data:"}}, {"type": "text", "text": QUESTION}]
        body, _ = await chats.call("inlet", ann, asking(told_before, text=parts), ask)
        assert body["messages"][0]["content"] == f"You are brief.\n\n{system['content']}"
        assert body["messages"][1]["content"] == parts

        for user, chat, question in (
            (ben, "chat-3", QUESTION),
            (ann, "chat-1", QUESTION),  # where it stands anyway
            (ann, "channel:1", QUESTION),  # where others read
            (ann, "chat-2", "Bake me a sourdough bread."),
        ):
            assert await chats.call("inlet", user, asking(text=question), {"chat_id": chat}) == (
                asking(text=question), [],
            )  # fmt: skip
        assert await chats.call("inlet", ann, asking(), {**ask, "task": "title_generation"}) == (asking(), [])
        assert await chats.call("inlet", ann, asking(), ask, recall=False) == (asking(), [])
        body, _ = await chats.call("inlet", ann, asking(), {"chat_id": "temporary:1"})
        assert "pier 3" in body["messages"][0]["content"]
    finally:
        chats.stop()
    as_ann = {"X-Keepstone-User": ann["email"], "Authorization": f"Bearer {service_key(api)}"}
    (scope,) = httpx.get(f"{owner.url}/v1/scopes", headers=as_ann).json()["items"]
    assert (scope["scope_id"], scope["messages"]) == (f"open-webui/{ann['id']}", 2)
    assert api.get("/v1/scopes").json()["items"] == []


@either
async def test_users_of_one_key_have_memories_of_their_own(
    made: type[Imitated | Real], owner: Guest, api: httpx.Client
) -> None:
    chats: OpenWebUI = made(valves(owner))
    try:
        quiet = {"keep": False}
        for chat, chosen in (("temporary:1", {}), ("local:1", {}), ("channel:1", {}), ("", {}), ("chat-1", quiet)):
            await chats.call("outlet", ANN, over(chat), {"chat_id": chat}, **chosen)
        assert api.get("/v1/scopes").json()["items"] == []
        await chats.call("outlet", ANN, over("chat-1"), {"chat_id": "chat-1"})
        wait_for_meaning(api)
        body, _ = await chats.call("inlet", ANN, asking(), {"chat_id": "chat-2"})
        assert "pier 3" in body["messages"][0]["content"]
        twin = {**CLEO, "name": ANN["name"]}
        assert await chats.call("inlet", twin, asking(), {"chat_id": "chat-3"}) == (asking(), [])

        # What was recalled and is said again is nobody's words.
        recalled = body["messages"][0]["content"]
        await chats.call("outlet", BEN, over("chat-4", said="Please repeat.", answer=recalled), {"chat_id": "chat-4"})
        wait_for_meaning(api)
        assert await chats.call("inlet", BEN, asking(), {"chat_id": "chat-5"}) == (asking(), [])
    finally:
        chats.stop()


@either
async def test_memory_that_fails_never_breaks_a_chat_and_says_why(
    made: type[Imitated | Real], owner: Guest, api: httpx.Client
) -> None:
    released = threading.Event()

    def answer(path: str, body: bytes) -> tuple[int, bytes]:
        if path.startswith("/slow"):
            released.wait()
        return (500 if path.startswith("/broken") else 200), b"[]"

    other = LocalServer(answer)
    own = valves(owner)
    troubles = {
        "Keepstone can't be reached": own | {"url": "http://127.0.0.1:1"},
        "there is no key of Keepstone": own | {"api_key": ""},
        "Keepstone refuses the key": own | {"api_key": "ck_other"},
        "Keepstone knows nobody by your e-mail address": own | {"api_key": service_key(api)},
        "Keepstone answered with 500": own | {"url": f"{other.url}/broken"},
        "Keepstone's answer was not understood": own | {"url": f"{other.url}/strange"},
        "Keepstone took longer than 0.2 seconds": own | {"url": f"{other.url}/slow", "timeout": 0.2},
    }
    if made is Real:  # which takes half a minute to start
        troubles = dict([next(iter(troubles.items()))])
    try:
        for why, chosen in troubles.items():
            chats: OpenWebUI = made(chosen)
            body, said = await chats.call("inlet", ANN, asking(), {"chat_id": "chat-2"})
            assert (body, said[0][: len(why) + 23]) == (asking(), f"Nothing was looked up: {why}")
            turn = over("chat-1")
            after, said = await chats.call("outlet", ANN, turn, {"chat_id": "chat-1"})
            assert (after, said[0][: len(why) + 24]) == (turn, f"This turn was not kept: {why}")
            chats.stop()
        silent = made(own | {"url": "http://127.0.0.1:1", "show_status": False})
        assert await silent.call("inlet", ANN, asking(), {"chat_id": "chat-2"}) == (asking(), [])
        silent.stop()
    finally:
        released.set()
        other.stop()


def test_what_open_webui_reads_of_it_is_true() -> None:
    first, *lines = SOURCE.read_text().splitlines()
    assert first == '"""'
    said = dict(line.split(": ", 1) for line in lines[: lines.index('"""')])
    assert said["version"] == __version__
    assert said["required_open_webui_version"] == OPEN_WEBUI
    assert "requirements" not in said  # or Open WebUI runs pip
