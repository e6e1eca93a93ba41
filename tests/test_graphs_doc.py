"""The page about graphs does what it says: its commands run from top to bottom on a real server."""

import re
import subprocess
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest

from live import Live
from test_capsules_doc import CURL

PAGE = Path(__file__).parent.parent / "docs" / "graphs.md"


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def expected() -> list[tuple[str, int | None]]:
    """Every call of the page with the status that it announces, in order; None is a success."""
    whole = "\n".join(blocks()).replace("\\\n", " ")
    calls = re.split(r"(?=\bcurl )", whole)[1:]
    found = [(call, re.search(r"# → (\d+)", call)) for call in calls]
    return [(call, int(told[1]) if told else None) for call, told in found]


@pytest.fixture(scope="module")
def server() -> Generator[Live]:
    """One of its own: the page speaks of the owner's default graph."""
    made = Live()
    yield made
    made.stop()


def test_every_command_of_the_page_answers_as_it_says(server: Live, tmp_path: Path) -> None:
    script = CURL + "\n".join(blocks())
    script = script.replace("http://127.0.0.1:8420", server.url).replace("~/.cairn", str(server.home))
    done = subprocess.run(
        ["bash"],
        input=script,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**server.environ, "NOTES": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    codes = [int(line) for line in (tmp_path / "codes").read_text().split()]
    wanted = expected()
    assert len(codes) == len(wanted) > 35
    for code, (call, told) in zip(codes, wanted, strict=True):
        assert (code == told) if told else (200 <= code < 300), f"{code}: {call}"
    assert '"total":2' in done.stdout
    assert '"existing":true' in done.stdout
    assert '"degraded":"terms"' in done.stdout
    assert '"change":"updated"' in done.stdout
    assert '"milliseconds"' in done.stdout


def test_the_command_shows_what_a_query_did(server: Live, tmp_path: Path) -> None:
    asked = httpx.post(f"{server.url}/v1/graphs/default/recall", headers=server.auth, json={"query": "anything"}).json()
    shown = server.cli("query", asked["query_id"], "--json")
    assert shown.returncode == 0, shown.stderr
    assert f'"id": "{asked["query_id"]}"' in shown.stdout
    missing = server.cli("query", "qry_" + "a" * 24)
    assert (missing.returncode, "no such query" in missing.stderr) == (1, True)


def test_every_route_of_graphs_is_on_the_page() -> None:
    text = PAGE.read_text()
    for name in ("nodes", "edges", "recall", "neighbors", "history", "restore", "graphs", "queries"):
        assert f"/{name}" in text
