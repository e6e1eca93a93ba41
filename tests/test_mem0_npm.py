"""The npm package `mem0ai` against this server, in Node: every call of its client, and what the page shows of it."""

import re
from pathlib import Path

from live import Guest
from node_packages import NPM, run_module

PAGE = Path(__file__).parent.parent / "docs" / "from-mem0.md"


def environ(guest: Guest, **more: str) -> dict[str, str]:
    """Of a program that reports to nobody."""
    return guest.environ | {"KEEPSTONE_API_KEY": guest.key, "MEM0_API_KEY": guest.key, "MEM0_TELEMETRY": "false"} | more


def test_every_call_of_the_npm_client_works(guest: Guest) -> None:
    script = NPM / "every_call.mjs"
    done = run_module(script.read_text(), environ(guest, EVERY_CALL=str(script)))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "29 methods\n"


def test_the_page_does_in_javascript_what_it_says(guest: Guest) -> None:
    (script,) = re.findall(r"^```js\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    done = run_module(script.replace("http://127.0.0.1:8420", guest.url), environ(guest))
    assert done.returncode == 0, done.stderr
    promised = re.findall(r"console\.log\(.*\); // → (.*)", script)
    assert len(promised) > 3
    assert done.stdout.splitlines() == promised
