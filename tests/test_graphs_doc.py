"""The page about graphs does what it says: its commands run from top to bottom on a real server."""

from collections.abc import Generator
from pathlib import Path

import httpx
import pytest

from commands import DOCS, run_page
from live import Live

PAGE = DOCS / "graphs.md"


@pytest.fixture(scope="module")
def server() -> Generator[Live]:
    """One of its own: the page speaks of the owner's default graph."""
    made = Live()
    yield made
    made.stop()


def test_every_command_of_the_page_answers_as_it_says(server: Live, tmp_path: Path) -> None:
    printed = run_page(PAGE, server, tmp_path, more_than=35)
    assert '"total":2' in printed
    assert '"existing":true' in printed
    assert '"degraded":"terms"' in printed
    assert '"change":"updated"' in printed
    assert '"milliseconds"' in printed


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
