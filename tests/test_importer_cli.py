"""`keepstone import` and `keepstone export` as their users run them: another process, a real server, and kill -9
on the way.
"""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest

import exports
import talk_exports
from capsules import rows
from live import Guest, Live, url_of
from servers import LocalServer

TALKS, MESSAGES = 200, 2000


class Deadly:
    """Stands before a server and kills whoever calls it, at the call of its choice, before or after passing it on."""

    def __init__(self, server: Live, call: int, *, passes_on: bool) -> None:
        self._server, self._call, self._passes_on = server, call, passes_on
        self._ingested = 0
        self.victim: subprocess.Popen[str] | None = None
        self.door = LocalServer(self._answer)

    def _answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        self._ingested += path == "/v1/ingest"
        now = path == "/v1/ingest" and self._ingested == self._call
        if now and not self._passes_on:
            self._kill()
            return 503, b"{}"
        headers = self._server.auth | {"Content-Type": "application/json"}
        answer = httpx.request("POST" if body else "GET", self._server.url + path, content=body, headers=headers)
        if now:
            self._kill()
        return answer.status_code, answer.content

    def _kill(self) -> None:
        assert self.victim
        self.victim.kill()
        self.victim.wait()

    def run(self, *words: str) -> int:
        """The command, until it is killed."""
        environ = self._server.environ | {"KEEPSTONE_URL": self.door.url, "KEEPSTONE_API_KEY": self._server.key}
        self.victim = subprocess.Popen(
            [sys.executable, "-m", "keepstone", *words],
            env=environ,
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        code = self.victim.wait()
        self.door.stop()
        return code


async def test_killed_at_the_worst_moments_it_goes_on_and_every_message_is_there_once(
    database: str, tmp_path: Path
) -> None:
    export = exports.chatgpt_zip(tmp_path / "export.zip", TALKS, shards=3)
    server = Live(KEEPSTONE_DATABASE_URL=url_of(database))
    try:
        # A call has a thousand messages. Stored, not answered; not even sent on; stored to the last, not answered.
        for call, passes_on, stored in ((1, True, 1000), (2, False, 1000), (1, True, 2000)):
            assert Deadly(server, call, passes_on=passes_on).run("import", "chatgpt", str(export)) == -9
            assert await rows(database, "SELECT count(*) FROM messages") == [(stored,)]
        done = imported(server, "chatgpt", str(export), "--report", str(tmp_path / "report.json"))
        assert done["read"] == {"conversations": TALKS, "messages": MESSAGES}
        assert (done["written"], done["already_there"]) == ({"messages": 0}, {"messages": MESSAGES})
        assert done["left_out"][0]["count"] == TALKS
        counted = await rows(
            database,
            "SELECT count(*), count(DISTINCT client_id), count(DISTINCT metadata->>'session_id') FROM messages",
        )
        assert counted == [(MESSAGES, MESSAGES, TALKS)]
        again = imported(server, "chatgpt", str(export), "--report", str(tmp_path / "report.json"))
        assert (again["written"], again["already_there"]) == ({}, {"messages": MESSAGES})
    finally:
        server.stop()


def imported(server: Live | Guest, *words: str) -> dict[str, Any]:
    done = server_cli(server, "import", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(Path(words[words.index("--report") + 1]).read_text())


def server_cli(server: Live | Guest, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A command of another user on another machine: it has the address and the key, and a home of its own."""
    where = server.environ | {"KEEPSTONE_URL": server.url, "KEEPSTONE_API_KEY": server.key} | environ
    return subprocess.run(
        [sys.executable, "-m", "keepstone", *words], env=where, capture_output=True, text=True, check=False
    )


def test_a_dry_run_needs_no_server_and_tells_what_it_would_leave_out(tmp_path: Path) -> None:
    export = exports.chatgpt_zip(tmp_path / "export.zip", 3)
    environ = {**os.environ, "KEEPSTONE_HOME": str(tmp_path / "home"), "KEEPSTONE_URL": "http://127.0.0.1:1"}
    done = subprocess.run(
        [sys.executable, "-m", "keepstone", "import", "chatgpt", str(export), "--dry-run"],
        env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "3 conversations, 30 messages" in done.stdout
    assert "3  on a branch that was not gone on with, such as About the ferry to Naxos" in done.stdout
    assert "dry run" in done.stdout
    assert not (tmp_path / "home").exists()


def test_a_vault_goes_in_and_comes_out_as_markdown_and_as_json(guest: Guest, tmp_path: Path) -> None:
    vault = exports.vault(tmp_path / "vault")
    done = server_cli(guest, "import", "markdown", str(vault))
    assert done.returncode == 0, done.stderr
    assert "written:       5 notes" in done.stdout
    assert "no Markdown, such as Daily/photo.png" in done.stdout
    out = server_cli(guest, "export", "--format", "markdown", str(tmp_path / "out"))
    assert out.stdout == f"5 files are in {tmp_path / 'out'}.\n"
    assert len(list((tmp_path / "out" / "capsules").glob("*.md"))) == 5
    assert server_cli(guest, "export", str(tmp_path / "out.zip")).returncode == 0
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        lines = archive.read("capsules.jsonl").splitlines()
    assert [json.loads(line)["record"] for line in lines] == ["space", *["memory"] * 5]
    back = server_cli(guest, "import", "keepstone", str(tmp_path / "out.zip"))
    assert back.returncode == 0, back.stderr
    assert "5 capsules" in next(line for line in back.stdout.splitlines() if line.startswith("there already:"))
    again = server_cli(guest, "import", "markdown", str(vault), "--again")
    assert "there already: 5 notes" in again.stdout


def test_group_talk_and_a_workspace_that_is_not_there_yet(guest: Guest, tmp_path: Path) -> None:
    export = talk_exports.slack_zip(tmp_path / "slack.zip")
    done = server_cli(guest, "import", "slack", str(export))
    assert done.returncode == 0, done.stderr
    assert "written:       7 messages" in done.stdout
    chat = tmp_path / "WhatsApp Chat with Crew.txt"
    chat.write_text(talk_exports.UNSURE)
    done = server_cli(guest, "import", "whatsapp", str(chat), "--into", "workspace:Crew talk")
    assert "written:       1 notes" in done.stdout
    assert "they are read with the day first. If that is wrong, import it with dates=mdy." in done.stdout
    taken = server_cli(guest, "import", "chatgpt", str(export), "--dry-run")
    assert taken.returncode == 1
    assert "This looks like a Slack export: run keepstone import slack." in taken.stderr
    headers = {"Authorization": f"Bearer {guest.key}"}
    scopes = httpx.get(f"{guest.url}/v1/scopes", headers=headers).json()["items"]
    assert {one["scope_id"] for one in scopes} >= {"slack:general", "slack:Ada (ada), Ben Ito"}
    made = httpx.get(f"{guest.url}/v1/workspaces", headers=headers).json()["items"]
    assert "Crew talk" in {one["name"] for one in made}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("import", "myspace", "x"), "There is no source 'myspace'"),
        (("import", "chatgpt", "nothing.zip"), "There is no nothing.zip"),
        (("import", "chatgpt", "x", "--into", "nowhere"), "--into is"),
        (("import", "whatsapp", "x", "--dates", "ymd"), "--dates is dmy"),
        (("export", "--format", "pdf", "x"), "--format is json or markdown"),
    ],
)
def test_what_is_asked_for_wrongly_is_told_in_a_line(guest: Guest, words: tuple[str, ...], told: str) -> None:
    done = server_cli(guest, *words)
    assert done.returncode == 1
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_wrong_key_is_told_and_nothing_is_noted(guest: Guest, tmp_path: Path) -> None:
    export = exports.chatgpt_zip(tmp_path / "export.zip", 1)
    done = server_cli(
        guest, "import", "chatgpt", str(export), KEEPSTONE_API_KEY="ck_wrong", KEEPSTONE_HOME=str(tmp_path / "home")
    )
    assert done.returncode == 1
    assert "again to go on" in done.stderr
    assert not (tmp_path / "home" / "imports").exists()
