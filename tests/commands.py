"""A page of the documentation whose commands are run, from top to bottom, on a real server."""

import re
import subprocess
from pathlib import Path

from live import Guest

DOCS = Path(__file__).parent.parent / "docs"
# Each call notes its status and gives the body on; what the page shows stays as it is.
_CURL = """
set -eu -o pipefail
curl() {
  command curl -sS -o "$NOTES/body" -w '%{http_code}\\n' "$@" >> "$NOTES/codes"
  cat "$NOTES/body"
}
"""


def commands(page: Path) -> str:
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE))


def as_guest(script: str, guest: Guest) -> str:
    """On the guest's server, with their key; and whoever a page adds has an address that no other page takes."""
    changes = {
        "http://127.0.0.1:8420": guest.url,
        "~/.keepstone": str(guest.home),
        "owner@localhost": guest.email,
        "@example.org": "@" + guest.email.partition("@")[2],
    }
    for written, meant in changes.items():
        script = script.replace(written, meant)
    return script


def run_page(page: Path, guest: Guest, folder: Path, *, more_than: int) -> str:
    """What its commands printed. Each call answered with the status that the page announces, else with success; and
    there were more calls than that.
    """
    script = _CURL + as_guest(commands(page), guest)
    environ = {**guest.environ, "NOTES": str(folder)}
    done = subprocess.run(
        ["bash"], input=script, capture_output=True, text=True, check=False, cwd=folder, env=environ
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    codes = [int(line) for line in (folder / "codes").read_text().split()]
    wanted = _announced(page)
    assert len(codes) == len(wanted) > more_than
    for code, (call, told) in zip(codes, wanted, strict=True):
        assert (code == told) if told else (200 <= code < 300), f"{code}: {call}"
    return done.stdout


def _announced(page: Path) -> list[tuple[str, int | None]]:
    """Every call with the status that stands behind it, in order; None is a success."""
    calls = re.split(r"(?=\bcurl )", commands(page).replace("\\\n", " "))[1:]
    found = [(call, re.search(r"# → (\d+)", call)) for call in calls]
    return [(call, int(told[1]) if told else None) for call, told in found]
