"""The page about rooms does what it says: its commands run from top to bottom on a real server."""

import re
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from cairn.app import make_routes
from leaks import routes_of
from live import Live
from test_capsules_doc import CURL

PAGE = Path(__file__).parent.parent / "docs" / "rooms.md"


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def expected() -> list[tuple[str, int | None]]:
    """Every call of the page with the status that it announces, in order; None is a success."""
    calls = re.split(r"(?=\bcurl )", "\n".join(blocks()))[1:]
    found = [(call, re.search(r"# → (\d+)", call)) for call in calls]
    return [(call, int(told[1]) if told else None) for call, told in found]


@pytest.fixture(scope="module")
def server() -> Generator[Live]:
    """One of its own: the page adds somebody to the account, and changes its time zone."""
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
    assert len(codes) == len(wanted) > 40
    for code, (call, told) in zip(codes, wanted, strict=True):
        assert (code == told) if told else (200 <= code < 300), f"{code}: {call}"
    for shown in (
        "Our API gateway runs on port 8443.", '"superseded_by":"lmk_', '"value":12345678901234567890.10',
        '"name":"Max"', '"ts":"2026-05-04T09:30:00Z"', '"layer":"working"', "the window has 300",
    ):  # fmt: skip
        assert shown in done.stdout, shown


def test_every_kind_of_route_of_rooms_is_on_the_page() -> None:
    text = "\n".join(blocks())
    for label, _, _ in routes_of(make_routes()):
        method, path = label.split(" ", 1)
        if re.match(r"/v1/(rooms|dms|agents|facts|profiles)\b", path) and method != "GET":
            pattern = re.sub(r"\\\{\w+\\\}", "[^/ ]+", re.escape(path))
            wanted = rf"curl (-X {method} )?\S*{pattern}[\" ]"
            if "PATCH" not in label and label not in {"DELETE /v1/agents/{slug}", "POST /v1/dms/{slug}/landmarks"}:
                assert re.search(wanted, text), label
