"""The guides do what they say: commands, configurations and programs run as they stand, on a real server."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from live import Live
from node import CLIENT, check_types, install_client, run_program
from servers import LocalServer
from test_claude_code import PLUGIN, added, prompted
from test_claude_code import run as run_hook
from test_open_webui import SOURCE, Imitated, asking, over, person
from upstream import Answer, Received, ScriptedUpstream, asks, chunks, completion, response, says, streamed

ROOT = Path(__file__).parent.parent
GUIDES = (ROOT / "docs" / "guides.md").read_text()
HINDSIGHT = (ROOT / "docs" / "from-hindsight.md").read_text()
GUIDED = (
    "Claude Desktop",
    "Claude Code",
    "Cursor",
    "Open WebUI",
    "A program with the OpenAI SDK",
    "LangGraph",
    "The Agents SDK",
    "TypeScript",
    "Vercel AI SDK",
    "Coming from mem0",
    "Coming from Hindsight",
)
FERRY = "ferry leaves at nine"
# What would install or start something only notes how it was called, a line of JSON each.
NOTED = """
set -eu -o pipefail
note() { "$PYTHON" -c 'import json, sys; print(json.dumps(sys.argv[1:]))' "$@" >> noted; }
make() { note make "${KEEPSTONE_LLM_PROVIDER-}" "$@"; }
pip() { note pip "$@"; }
npm() { note npm "$@"; }
claude() { note claude "$@"; }
keepstone() { "$PYTHON" -m keepstone "$@"; }
"""


# ------------------------------------------------------------------------------------------------------ what it runs on


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    made.otherwise = answer
    yield made
    made.stop()


def answer(request: Received) -> Answer:
    """A model that saves what it is asked to, and knows of the ferry if something before the last question says so."""
    body = request.json
    if request.path == "/v1/responses":
        *before, _ = body["input"]
        return response(says("At nine." if FERRY in json.dumps(before) else "Noted."))
    *before, last = body["messages"]
    if last["role"] == "tool":
        return completion("Noted.")
    if "remember" in str(last["content"]):
        return completion(None, asks("x_save_memory", "call_1", content=f"The {FERRY} from pier 3."))
    said = "At nine." if FERRY in json.dumps(before) else "I don't know."
    return streamed(*chunks(said)) if body.get("stream") else completion(said)


@pytest.fixture(scope="module")
def server(model: ScriptedUpstream) -> Generator[Live]:
    made = Live(
        KEEPSTONE_LLM_PROVIDER="openai",
        KEEPSTONE_LLM_BASE_URL=model.url,
        KEEPSTONE_LLM_API_KEY="sk",
        KEEPSTONE_WORKER="off",
    )
    yield made
    made.stop()


@pytest.fixture(scope="module")
def bank() -> Generator[LocalServer]:
    made = LocalServer(hindsight)
    yield made
    made.stop()


def fact(number: int, text: str, kind: str = "world", **more: Any) -> dict[str, Any]:
    """As Hindsight lists one."""
    return {
        "id": f"00000000-0000-4000-8000-{number:012}", "text": text, "context": "", "date": "2026-05-02T18:00:00+00:00",
        "fact_type": kind, "document_id": "chat-7", "mentioned_at": "2026-05-02T18:00:00+00:00",
        "occurred_start": None, "occurred_end": None, "entities": "", "chunk_id": None, "proof_count": 1, "tags": [],
        "metadata": None, "state": "valid", **more,
    }  # fmt: skip


FACTS = [
    fact(0, "Alice moved to Lisbon.", entities="Alice, Lisbon", tags=["home"], metadata={"channel": "web"}),
    fact(1, "Alice has a ferry card.", "experience", context="small talk", occurred_start="2026-04-01T00:00:00+00:00"),
    fact(2, "Alice is at home in Lisbon.", "observation"),
    *(fact(number, f"Pier {number} is closed.") for number in range(3, 130)),
]


def hindsight(path: str, body: bytes) -> tuple[int, bytes]:
    """What Hindsight's API answers to the calls of the page."""
    place = urlsplit(path)
    told = json.loads(body) if body else {}
    match place.path.removeprefix("/v1/default/banks/alice"):
        case "/memories/list":
            asked = {name: int(value) for name, (value,) in parse_qs(place.query).items()}
            rows = FACTS[asked["offset"] :][: asked["limit"]]
            found: dict[str, Any] = {"items": rows, "total": len(FACTS), **asked}
        case "/memories":
            (item,) = told["items"]
            assert (item["document_id"], item["metadata"]) == ("chat-7", {"channel": "web"})
            found = {"success": True, "bank_id": "alice", "items_count": 1, "async": False}
        case "/memories/recall":
            found = {"results": [{"id": FACTS[0]["id"], "text": FACTS[0]["text"]}]}
        case "/reflect":
            found = {"text": "It is."}
        case _:
            return 404, b"{}"
    return 200, json.dumps(found).encode()


# ---------------------------------------------------------------------------------------------------- how it is read


def section(page: str, heading: str) -> str:
    return page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def environ(server: Live, folder: Path, **more: str) -> dict[str, str]:
    """Of a user's terminal: what the page sets, and nothing that would leave this machine."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("KEEPSTONE_", "OPENAI_", "HINDSIGHT_"))
    }
    return kept | {
        "PYTHON": sys.executable, "PYTHONPATH": ":".join(path for path in sys.path if path),
        "KEEPSTONE_HOME": str(server.home), "KEEPSTONE_URL": server.url, "KEEPSTONE_API_KEY": server.key,
        "OPENAI_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0"), **more,
    }  # fmt: skip


def run(program: str, folder: Path, settings: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=folder, env=settings
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shell(lines: list[str], server: Live, folder: Path) -> tuple[str, list[list[str]]]:
    """What the commands printed, and those that were only noted."""
    script = "\n".join([NOTED, *lines]).replace("http://127.0.0.1:8420", server.url)
    script = script.replace("~/.keepstone", shlex.quote(str(server.home))).replace("YOUR_KEY", server.key)
    done = subprocess.run(
        ["bash"], input=script, capture_output=True, text=True, check=False, cwd=folder, env=environ(server, folder)
    )
    assert done.returncode == 0, done.stderr
    noted = folder / "noted"
    return done.stdout, [json.loads(line) for line in noted.read_text().splitlines()] if noted.exists() else []


async def use(started: Any, **arguments: Any) -> dict[str, Any]:
    async with Client(started) as client:
        assert next(tool.name for tool in (await client.list_tools()).tools) == "conductor_ask"
        done = await client.call_tool("conductor_ask", arguments)
    assert not done.is_error
    assert done.structured_content is not None
    return done.structured_content


async def search_at(url: str, headers: dict[str, str]) -> list[str]:
    async with httpx2.AsyncClient(headers=headers) as web:
        found = await use(streamable_http_client(url, http_client=web), mode="search_memory", query="ferry to Naxos")
    return [hit["title"] for hit in found["hits"]]


# ----------------------------------------------------------------------------------------------------------- the guides


def test_the_page_has_a_guide_for_each_program() -> None:
    headings = re.findall(r"^## (.*)$", GUIDES, re.MULTILINE)
    assert headings == ["Before each", *GUIDED]
    for heading in GUIDED:
        anchor = heading.lower().replace(" ", "-")
        assert f"](#{anchor})" in GUIDES
        assert blocks(section(GUIDES, heading), "(?:python|json|ts)")


async def test_every_configuration_reaches_the_same_memory_and_every_command_works(
    server: Live, tmp_path: Path
) -> None:
    printed, noted = shell(blocks(section(GUIDES, "Before each"), "sh"), server, tmp_path)
    assert "owner@localhost" in printed
    assert noted == [["make", "", "serve"]]
    (key,) = re.findall(r"ck_\w+$", printed.strip())

    def configurations(heading: str) -> list[dict[str, Any]]:
        text = section(GUIDES, heading).replace("http://127.0.0.1:8420", server.url)
        text = text.replace("YOUR_KEY", key).replace("${KEEPSTONE_API_KEY}", key)
        return [json.loads(block)["mcpServers"]["keepstone"] for block in blocks(text, "json")]

    own, remote = configurations("Claude Desktop")
    assert own["command"] == "/path/to/keepstone/.venv/bin/keepstone"
    assert remote["command"] == "npx"
    assert remote["args"][:2] == ["-y", "mcp-remote"]
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "keepstone", *own["args"]], env=environ(server, tmp_path) | own["env"]
    )
    saved = await use(command, mode="save_memory", content_md="We take the ferry to Naxos.", tags=["travel"])
    title = saved["capsule"]["title"]

    flag, header = remote["args"][3:]
    assert flag == "--header"
    assert await search_at(remote["args"][2], dict([header.split(": ", 1)])) == [title]
    for heading in ("Claude Code", "Cursor"):
        (address,) = configurations(heading)
        assert address.get("type", "http") == "http"
        assert await search_at(address["url"], address["headers"]) == [title]

    folder = tmp_path / "code"
    folder.mkdir()
    _, ((name, *words), added_from, installed) = shell(blocks(section(GUIDES, "Claude Code"), "sh"), server, folder)
    assert (name, words[:5]) == ("claude", ["mcp", "add", "--transport", "http", "keepstone"])
    url, flag, header = words[5:]
    assert flag == "--header"
    assert await search_at(url, dict([header.split(": ", 1)])) == [title]

    assert added_from == ["claude", "plugin", "marketplace", "add", "/path/to/keepstone"]
    shop = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())
    (plugin,) = shop["plugins"]
    assert (ROOT / plugin["source"]).samefile(PLUGIN)
    assert installed[:4] == ["claude", "plugin", "install", f"{plugin['name']}@{shop['name']}"]
    chosen = dict(choice.split("=", 1) for choice in installed[5::2])
    assert chosen.keys() < json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())["userConfig"].keys()
    options = {f"CLAUDE_PLUGIN_OPTION_{option.upper()}": value for option, value in chosen.items()}
    assert title in added(run_hook(prompted(folder, "The ferry to Naxos"), "", "", **options))

    listed, _ = shell(blocks(section(GUIDES, "Cursor"), "sh"), server, tmp_path)
    assert [one["title"] for one in json.loads(listed)["items"]] == [title]


async def test_open_webui_remembers_what_the_page_says(server: Live, tmp_path: Path) -> None:
    text = section(GUIDES, "Open WebUI")
    assert (ROOT / "clients/open-webui/keepstone_filter.py").samefile(SOURCE)
    assert "`clients/open-webui/keepstone_filter.py`" in text
    printed, _ = shell(blocks(text, "sh"), server, tmp_path)
    (key,) = re.findall(r"ck_\w+$", printed.strip())
    (valves,) = blocks(text, "json")
    chats = Imitated(json.loads(valves.replace("http://127.0.0.1:8420", server.url).replace("YOUR_KEY", key)))
    said, asked, told = (
        re.sub(r"\s+", " ", words) for words in re.findall(r'"(My ferry[^"]*|When[^"]*|Looked[^"]*)"', text)
    )
    owner = person("Ann") | {"email": "owner@localhost"}
    await chats.call("outlet", owner, over("chat-1", said, "Noted."), {"chat_id": "chat-1"})
    body, shown = await chats.call("inlet", owner, asking(text=asked), {"chat_id": "chat-2"})
    assert shown == [told]
    assert said in body["messages"][0]["content"]


def test_what_is_installed_and_started_exists(server: Live, tmp_path: Path) -> None:
    headings = ("A program with the OpenAI SDK", "LangGraph", "The Agents SDK", "TypeScript", "Vercel AI SDK")
    _, noted = shell(
        [line for heading in headings for line in blocks(section(GUIDES, heading), "sh")], server, tmp_path
    )
    assert noted[0] == ["make", "openai", "serve"]
    extras = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name, verb, what in noted[1:3]:
        assert (name, verb) == ("pip", "install")
        folder, extra = what.removesuffix("]").split("[")
        assert (ROOT / folder / "pyproject.toml").exists()
        assert extra in extras
    assert noted[3] == ["make", "", "typescript"]
    described = json.loads((CLIENT / "package.json").read_text())
    ours = f"/path/to/keepstone/dist/{described['name']}-{described['version']}.tgz"
    assert noted[4:] == [["npm", "install", ours], ["npm", "install", ours, "ai", "@ai-sdk/openai-compatible"]]
    assert {"ai", "@ai-sdk/openai-compatible"} <= set(described["devDependencies"])


@pytest.mark.parametrize("heading", GUIDED[GUIDED.index("A program with the OpenAI SDK") :])
def test_the_program_of_each_guide_prints_what_the_page_says(
    heading: str, server: Live, model: ScriptedUpstream, tmp_path: Path
) -> None:
    text = section(GUIDES, heading)
    (program,), (printed,) = blocks(text, "(?:python|ts)"), blocks(text, "text")
    if "```ts" in text:
        install_client(tmp_path)
        check_types({"program": program}, tmp_path)
        settings = {"KEEPSTONE_URL": server.url, "KEEPSTONE_API_KEY": server.key, "OPENAI_BASE_URL": model.url}
        assert run_program(program, tmp_path, settings) == printed
        return
    # Only the Agents SDK speaks to its provider by itself: what would pass Keepstone by otherwise fails.
    beside = {"OPENAI_BASE_URL": model.url} if heading == "The Agents SDK" else {}
    assert run(program, tmp_path, environ(server, tmp_path, **beside)) == printed


# ------------------------------------------------------------------------------------------------ coming from Hindsight


def test_the_program_as_it_is_with_keepstone_prints_what_the_page_says(server: Live, tmp_path: Path) -> None:
    _, after = blocks(section(HINDSIGHT, "Before and after"), "python")
    (printed,) = blocks(HINDSIGHT, "text")
    assert run(after, tmp_path, environ(server, tmp_path)) == printed


def test_the_program_as_it_was_with_hindsight_is_one_of_its_client(
    server: Live, bank: LocalServer, tmp_path: Path
) -> None:
    before, _ = blocks(section(HINDSIGHT, "Before and after"), "python")
    shown = run(before, tmp_path, environ(server, tmp_path, HINDSIGHT_URL=bank.url))
    assert shown == "Alice moved to Lisbon.\nIt is.\n"


def test_a_bank_comes_over_with_what_the_page_says_and_once(server: Live, bank: LocalServer, tmp_path: Path) -> None:
    text = section(HINDSIGHT, "Bringing a bank over")
    (program,) = blocks(text, "python")
    assert run(program, tmp_path, environ(server, tmp_path, HINDSIGHT_URL=bank.url)) == "129 facts\n"
    commands = [block.replace("alice", "bank") for block in blocks(text, "sh")]
    (tmp_path / "alice.jsonl").rename(tmp_path / "bank.jsonl")
    printed, _ = shell(commands, server, tmp_path)
    assert re.findall(r"^written: +(.*)$", printed, re.MULTILINE)[-1] == "129 messages"
    assert "Alice moved to Lisbon." in printed
    again = "keepstone import jsonl bank.jsonl --into scope:bank"
    assert again in commands[0]
    printed, _ = shell([again], server, tmp_path)
    assert re.findall(r"^written: +(.*)$", printed, re.MULTILINE) == ["nothing"]
    recalled, _ = shell(['keepstone recall bank "Who has a ferry card?" --json'], server, tmp_path)
    found = json.loads(recalled)["evidence"][0]
    assert (found["speaker"], found["text"]) == ("Hindsight", "Alice has a ferry card.")
    assert found["ts"].startswith("2026-05-02T18:00:00")
    assert found["metadata"]["session_id"] == "chat-7"
    assert found["metadata"]["fact_type"] == "experience"
    assert found["metadata"]["context"] == "small talk"
    assert found["metadata"]["occurred_start"] == "2026-04-01T00:00:00+00:00"
