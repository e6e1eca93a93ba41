"""The page about the Python client does what it says: its examples run from top to bottom on a real server."""

import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from live import Live
from test_client import OPERATIONS
from upstream import ScriptedUpstream, chunks, completion, streamed

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "client.md").read_text()


@pytest.fixture(scope="module")
def server() -> Generator[Live]:
    model = ScriptedUpstream()
    model.otherwise = lambda request: (
        streamed(*chunks("At nine.")) if b'"stream"' in request.body else completion("[1]")
    )
    made = Live(
        KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=model.url, KEEPSTONE_LLM_API_KEY="sk",
        KEEPSTONE_LLM_MODEL="small", KEEPSTONE_WORKER="off", KEEPSTONE_INJECT_RELEVANCE="0.01",
    )  # fmt: skip
    yield made
    made.stop()
    model.stop()


def test_every_example_of_the_page_prints_what_it_says(server: Live) -> None:
    script = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    announced = re.findall(r"print\(.*# → (.*)$", script, re.MULTILINE)
    assert len(announced) > 15
    script = script.replace("http://127.0.0.1:8420", server.url).replace("ck_…", server.key)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**server.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    rest = done.stdout
    for line in announced:
        assert line in rest, f"{line!r} was not printed, or not in this place:\n{done.stdout}"
        rest = rest.split(line, 1)[1]


def test_every_resource_is_on_the_page() -> None:
    for name in {label.split(".")[0] for label in OPERATIONS}:
        assert f"`{name}`" in PAGE
