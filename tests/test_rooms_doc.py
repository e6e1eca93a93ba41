"""The page about rooms does what it says: its commands run from top to bottom on a real server."""

import re
from collections.abc import Generator
from pathlib import Path

import pytest

from commands import DOCS, commands, run_page
from keepstone.app import make_routes
from leaks import routes_of
from live import Live

PAGE = DOCS / "rooms.md"


@pytest.fixture(scope="module")
def server() -> Generator[Live]:
    """One of its own: the page adds somebody to the account, and changes its time zone."""
    made = Live()
    yield made
    made.stop()


def test_every_command_of_the_page_answers_as_it_says(server: Live, tmp_path: Path) -> None:
    printed = run_page(PAGE, server, tmp_path, more_than=40)
    for shown in (
        "Our API gateway runs on port 8443.", '"superseded_by":"lmk_', '"value":12345678901234567890.10',
        '"name":"Max"', '"ts":"2026-05-04T09:30:00Z"', '"layer":"working"', "the window has 300",
    ):  # fmt: skip
        assert shown in printed, shown


def test_every_kind_of_route_of_rooms_is_on_the_page() -> None:
    text = commands(PAGE)
    for label, _, _ in routes_of(make_routes()):
        method, path = label.split(" ", 1)
        if re.match(r"/v1/(rooms|dms|agents|facts|profiles)\b", path) and method != "GET":
            pattern = re.sub(r"\\\{\w+\\\}", "[^/ ]+", re.escape(path))
            wanted = rf"curl (-X {method} )?\S*{pattern}[\" ]"
            if "PATCH" not in label and label not in {"DELETE /v1/agents/{slug}", "POST /v1/dms/{slug}/landmarks"}:
                assert re.search(wanted, text), label
