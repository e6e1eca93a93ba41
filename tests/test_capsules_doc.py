"""The page about capsules does what it says: its commands run from top to bottom on a real server."""

import re
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from live import Live

PAGE = Path(__file__).parent.parent / "docs" / "capsules.md"
# Each call notes its status and gives the body on; what the page shows stays as it is.
CURL = """
set -eu -o pipefail
curl() {
  command curl -sS -o "$NOTES/body" -w '%{http_code}\\n' "$@" >> "$NOTES/codes"
  cat "$NOTES/body"
}
"""


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
    """One of its own: the page changes the owner's quota and deletes everything."""
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
    assert len(codes) == len(wanted) > 30
    for code, (call, told) in zip(codes, wanted, strict=True):
        assert (code == told) if told else (200 <= code < 300), f"{code}: {call}"
    assert '"snippet":"The <mark>ferry</mark>' in done.stdout
    assert '"upgrade_url"' in done.stdout
    assert '"degraded":"literal"' in done.stdout
    assert "cairn-archive" in (tmp_path / "capsules.json").read_text()


def test_every_route_of_capsules_is_on_the_page() -> None:
    text = PAGE.read_text()
    for name in (
        "merge", "curate", "title", "related", "tags", "timeline", "constellation", "digest", "history", "trash",
        "restore", "delete-all", "usage", "cold", "recover", "export", "import", "projects", "x_console",
    ):  # fmt: skip
        assert f"/{name}" in text
