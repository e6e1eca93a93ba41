"""What the pages about stores and adapters show works as it stands there."""

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from live import Live
from upstream import Answer, Received, ScriptedUpstream, response, says, wants, whole

DOCS = Path(__file__).parent.parent / "docs"
ADAPTERS = ["LangGraph", "Anthropic's memory tool", "OpenAI Agents SDK", "Pydantic AI", "LlamaIndex"]


@pytest.fixture(scope="module")
def upstream() -> Generator[ScriptedUpstream]:
    server = ScriptedUpstream()
    server.otherwise = answer
    yield server
    server.stop()


def answer(request: Received) -> Answer:
    """A model that takes note of everything: with the tool that it has, and then in a word."""
    tools = {str(tool.get("name")) for tool in request.json.get("tools") or []}
    told = str(request.json.get("input") or request.json.get("messages"))
    if request.path.startswith("/v1/messages"):
        used: dict[str, Any] = {"command": "create", "path": "/memories/tea.md", "file_text": "No sugar"}
        call = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": used}
        done = "tool_result" in told
        return whole(
            {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "content": [{"type": "text", "text": "Noted."} if done else call],
                "stop_reason": "end_turn" if done else "tool_use", "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        )  # fmt: skip
    if "remember" in tools and "function_call_output" not in told:
        return response(wants("remember", "c1", text="Never eats peanuts"))
    return response(says("Noted."))


def blocks(page: str, heading: str | None) -> tuple[str, str]:
    """The code under a heading, or the first of the page, and what it prints."""
    text = (DOCS / page).read_text()
    section = text if heading is None else text.split(f"\n## {heading}\n", 1)[1]
    code, rest = section.split("```python\n", 1)[1].split("```", 1)
    return code, rest.split("```text\n", 1)[1].split("```", 1)[0]


def run(code: str, live: Live, upstream: ScriptedUpstream) -> str:
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("KEEPSTONE_", "OPENAI_"))},
        "KEEPSTONE_URL": live.url,
        "KEEPSTONE_API_KEY": live.key,
        "OPENAI_BASE_URL": upstream.url,
        "OPENAI_API_KEY": "none",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "ANTHROPIC_BASE_URL": upstream.url.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": "none",
    }
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("heading", ADAPTERS)
def test_the_example_of_each_adapter_prints_what_the_page_says(
    heading: str, live: Live, upstream: ScriptedUpstream
) -> None:
    code, printed = blocks("adapters.md", heading)
    shown = run(code, live, upstream)
    # What is recalled comes between marks, with its time.
    assert printed.strip() in shown if heading == "LlamaIndex" else printed == shown


def test_every_adapter_has_an_example() -> None:
    page = (DOCS / "adapters.md").read_text()
    assert [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")] == ADAPTERS


def test_the_example_of_stores_prints_what_the_page_says(live: Live, upstream: ScriptedUpstream) -> None:
    code, printed = blocks("stores.md", None)
    assert run(code, live, upstream) == printed
