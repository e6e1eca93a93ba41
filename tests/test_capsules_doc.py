"""The page about capsules does what it says: its commands run from top to bottom on a real server."""

from collections.abc import Generator
from pathlib import Path

import pytest

from commands import DOCS, run_page
from live import Live

PAGE = DOCS / "capsules.md"


@pytest.fixture(scope="module")
def server() -> Generator[Live]:
    """One of its own: the page changes the owner's quota and deletes everything."""
    made = Live()
    yield made
    made.stop()


def test_every_command_of_the_page_answers_as_it_says(server: Live, tmp_path: Path) -> None:
    printed = run_page(PAGE, server, tmp_path, more_than=30)
    assert '"snippet":"The <mark>ferry</mark>' in printed
    assert '"upgrade_url"' in printed
    assert '"degraded":"literal"' in printed
    assert "keepstone-archive" in (tmp_path / "capsules.json").read_text()


def test_every_route_of_capsules_is_on_the_page() -> None:
    text = PAGE.read_text()
    for name in (
        "merge", "curate", "title", "related", "tags", "timeline", "constellation", "digest", "history", "trash",
        "restore", "delete-all", "usage", "cold", "recover", "export", "import", "projects", "x_console",
    ):  # fmt: skip
        assert f"/{name}" in text
