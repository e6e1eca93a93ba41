"""The page about workspaces does what it says: its commands run from top to bottom on a real server."""

from collections.abc import Generator
from pathlib import Path

import pytest

from commands import DOCS, run_page
from live import Live

PAGE = DOCS / "workspaces.md"


@pytest.fixture(scope="module")
def server() -> Generator[Live]:
    """One of its own: the page adds somebody to the account, and gives its owner a password."""
    made = Live()
    yield made
    made.stop()


def test_every_command_of_the_page_answers_as_it_says(server: Live, tmp_path: Path) -> None:
    printed = run_page(PAGE, server, tmp_path, more_than=60)
    for shown in (
        '"deduplicated":true', '"deduplicated":false', '"change":"updated"', '"heading":"Timetable"',
        "<mark>pier</mark>", '"type":"document"', '"role":"viewer"', '"degraded":"terms"',
        "The ferry leaves at nine from pier 3.",
    ):  # fmt: skip
        assert shown in printed, shown


def test_every_kind_of_route_of_workspaces_is_on_the_page() -> None:
    text = PAGE.read_text()
    for name in (
        "workspaces", "chats", "messages", "memory", "memories", "history", "restore", "rerun-extraction",
        "extractions", "search", "files", "chunks", "content", "artifacts", "revert", "members", "chat/api",
    ):  # fmt: skip
        assert f"/{name}" in text
