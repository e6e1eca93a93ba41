"""The whole thing as a process: first start, crashes, stopping, and a Postgres of one's own."""

import contextlib
import json
import os
import pty
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from keepstone.access.firstrun import Welcome
from keepstone.cli.server import announce
from keepstone.postgres.processes import processes_in
from keepstone.postgres.programs import wheel_programs
from keepstone.settings import Settings
from live import Live

ROOT = Path(__file__).parent.parent


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port)).close()
    except ConnectionError:
        return False
    return True


def ready(url: str) -> bool:
    try:
        return httpx.get(url + "/readyz", timeout=10).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def server() -> Generator[Live]:
    made = Live()
    yield made
    made.stop(signal.SIGKILL)


def test_the_first_start_makes_an_owner_a_key_and_a_link(server: Live) -> None:
    until(lambda: ready(server.url))
    until(lambda: any("Sign in, once:" in line for line in server.log))
    assert stat.S_IMODE((server.home / "owner-key").stat().st_mode) == 0o600
    assert stat.S_IMODE(server.home.stat().st_mode) == 0o700
    me = httpx.get(server.url + "/v1/me", headers=server.auth).json()
    assert me["user"]["is_admin"] is True
    assert me["account"]["plan"] == "unlimited"
    link_file = server.home / "login-link"
    assert stat.S_IMODE(link_file.stat().st_mode) == 0o600
    shown = "".join(server.log)
    assert str(link_file) in shown
    assert "/auth/once/" not in shown, "what is printed here is kept: it is no terminal"
    link = link_file.read_text().strip()
    with httpx.Client(follow_redirects=True) as browser:
        page = browser.get(link)
        assert page.url.path == "/dashboard/recall"
        assert browser.get(page.url.join("/v1/me")).json()["user"]["email"] == "owner@localhost"
        assert httpx.get(link).status_code == 404
    server.stop()


def test_the_tour_of_the_readme_finds_by_meaning_as_soon_as_the_server_says_that_it_runs() -> None:
    """Pasted at once into a server that has never run, without a network."""
    server = Live(
        KEEPSTONE_EMBEDDINGS_PROVIDER="builtin", PIP_NO_INDEX="1", PIP_FIND_LINKS="", PIP_CONFIG_FILE=os.devnull
    )
    (tour,) = re.findall(r"^```sh\n(AUTH=.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    script = tour.replace("http://127.0.0.1:8420", server.url).replace("~/.keepstone", str(server.home))
    try:
        done = subprocess.run(["bash", "-eu"], input=script, capture_output=True, text=True, check=True)
        ready, ingested, recalled, asked, capsule, searched, made = all_json(done.stdout)
        assert ready["status"] == "ready"
        assert ingested["ingested"] == 2
        assert recalled["degraded"] is None
        assert [item["speaker"] for item in recalled["evidence"]] == ["Ben", "Anna"]
        assert "puppy Luna" in recalled["evidence"][0]["text"], "no word of the question stands there"
        assert recalled["evidence"][0]["relevance"] > 0.5 > recalled["evidence"][1]["relevance"]
        assert "Lisbon" in asked["answer"]
        assert searched["degraded"] is None
        assert [item["id"] for item in searched["items"]] == [capsule["id"]]
        assert made["key"].startswith("ck_")
        with httpx.Client(base_url=server.url) as client:
            until(lambda: client.get("/readyz").json()["pending_embeddings"] == 0)
            missing = "ok; the multilingual model is missing: `keepstone models` says why"
            until(lambda: client.get("/readyz").json()["embedder"]["status"] == missing)
    finally:
        server.stop(signal.SIGKILL)


def all_json(text: str) -> list[Any]:
    """The values that stand there one after the other."""
    decoder, values = json.JSONDecoder(), list[Any]()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        values.append(value)
        text = text[end:]
    return values


def test_a_later_start_makes_no_second_owner_and_no_link_once_signed_in() -> None:
    home = Path(tempfile.mkdtemp(prefix="keepstone-live-"))
    try:
        first = Live(home)
        key = first.key
        link_file = home / "login-link"
        until(link_file.exists)
        link = link_file.read_text().strip()
        assert first.stop() == 0
        second = Live(home)
        until(lambda: any("Sign in, once:" in line for line in second.log))
        assert second.key == key
        assert httpx.get(second.url + "/auth/once/" + link.rsplit("/", 1)[1]).status_code == 404, "a newer one counts"
        newer = link_file.read_text().strip()
        assert httpx.get(newer).status_code == 303
        assert second.stop() == 0
        third = Live(home)
        assert httpx.get(third.url + "/v1/me", headers=third.auth).status_code == 200
        assert third.stop() == 0
        assert "Sign in, once:" not in "".join(third.log)
        assert not link_file.exists()
        assert len(json.loads(third.cli("users", "list", "--json").stdout)) == 1
    finally:
        shutil.rmtree(home)


def test_stopping_is_graceful_and_leaves_no_process_behind(server: Live) -> None:
    data = server.home / "postgres" / "data"
    assert processes_in(data)
    assert server.stop() == 0
    assert processes_in(data) == []
    assert not any("error" in line for line in server.log)


def test_a_request_under_way_is_answered_before_the_server_stops(server: Live) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as slow:
        body = b'{"email": "nobody@example.org", "password": "12345678"}'
        head = (
            f"POST /auth/login HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n"
        )
        slow.sendall(head.encode())
        assert slow.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n", "the server has begun to read it"
        slow.sendall(body[:10])
        server.process.send_signal(signal.SIGTERM)
        until(lambda: not listens(host, int(port)))
        slow.sendall(body[10:])
        answer = b""
        while piece := slow.recv(65536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 401")
    assert server.process.wait(timeout=30) == 0


def test_after_kill_9_of_postgres_keepstone_brings_it_back_and_nothing_is_lost(server: Live) -> None:
    made = httpx.post(server.url + "/v1/keys", headers=server.auth, json={"name": "before"}).json()
    postmaster = int((server.home / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(postmaster, signal.SIGKILL)
    statuses: set[int] = set()

    def answers() -> bool:
        answer = httpx.get(server.url + f"/v1/keys/{made['id']}", headers=server.auth, timeout=20)
        statuses.add(answer.status_code)
        return answer.status_code == 200

    until(answers)
    assert statuses <= {200, 503}
    until(lambda: ready(server.url))
    assert "keepstone_postgres_restarts 1.0" in httpx.get(server.url + "/metrics").text


def test_after_kill_9_of_keepstone_postgres_ends_and_the_next_start_has_everything() -> None:
    home = Path(tempfile.mkdtemp(prefix="keepstone-live-"))
    try:
        first = Live(home)
        made = httpx.post(first.url + "/v1/keys", headers=first.auth, json={"name": "before"}).json()
        first.process.kill()
        first.stop()
        until(lambda: processes_in(home / "postgres" / "data") == [])
        second = Live(home)
        assert httpx.get(second.url + f"/v1/keys/{made['id']}", headers=second.auth).status_code == 200
        until(lambda: ready(second.url))
        assert second.stop() == 0
    finally:
        shutil.rmtree(home)


def test_a_worker_apart_does_the_servers_jobs() -> None:
    server = Live(KEEPSTONE_WORKER="off")
    try:
        assert httpx.get(server.url + "/readyz").json()["worker"]["ok"] is False
        worker = subprocess.Popen(
            [sys.executable, "-m", "keepstone", "worker"],
            env=server.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        until(lambda: ready(server.url))
        server.cli("users", "create", "gone@example.org", "--account", account_of(server))
        server.cli("users", "erase", "gone@example.org", "--yes")
        until(lambda: json.loads(server.cli("jobs", "--json").stdout) == [])
        worker.terminate()
        assert worker.wait(timeout=30) == 0
        assert worker.stdout is not None
        worker.stdout.close()
    finally:
        server.stop()


def account_of(server: Live) -> str:
    return httpx.get(server.url + "/v1/me", headers=server.auth).json()["account"]["id"]


class Foreign:
    """A Postgres that somebody else runs: version 16, from the same wheel, on a socket of its own."""

    def __init__(self, folder: Path, *, vector: bool) -> None:
        uid = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
        folder.chmod(0o755)
        shutil.copytree(wheel_programs().root.with_name("pginstall"), folder / "pg")
        shutil.copytree(wheel_programs().libraries, folder / "libs")
        if not vector:
            (folder / "pg/share/postgresql/extension/vector.control").unlink()
        place = folder / "cluster"
        place.mkdir(mode=0o700)
        (place / "password").write_text("secret")
        if uid is not None:
            for path in (place, place / "password"):
                os.chown(path, uid, uid)
        as_them: dict[str, Any] = {
            "user": uid,
            "group": uid,
            "extra_groups": None if uid is None else [],
            "cwd": "/",
            "env": {"LD_LIBRARY_PATH": str(folder / "libs")},
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        initdb = [
            folder / "pg/bin/initdb",
            "-D",
            place / "data",
            "-U",
            "keepstone",
            "-A",
            "scram-sha-256",
            "-E",
            "UTF8",
        ]
        subprocess.run([*initdb, "--pwfile", place / "password"], check=True, **as_them)
        server = [folder / "pg/bin/postgres", "-D", place / "data", "-c", "listen_addresses=", "-k", place]
        self.process = subprocess.Popen(server, **as_them)
        self.url = f"postgresql://keepstone:secret@/postgres?host={place}"
        until(self._answers)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=30)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url).close()
        except psycopg.OperationalError:
            return False
        return True


@pytest.fixture
def folder() -> Generator[Path]:
    made = Path(tempfile.mkdtemp(prefix="keepstone-pg16-"))
    yield made
    shutil.rmtree(made)


def test_a_postgres_of_ones_own_works_through_the_same_code(folder: Path) -> None:
    foreign = Foreign(folder, vector=True)
    try:
        server = Live(KEEPSTONE_DATABASE_URL=foreign.url)
        try:
            until(lambda: ready(server.url))
            assert httpx.get(server.url + "/readyz").json()["database"]["details"]["server_version"].startswith("16")
            assert httpx.get(server.url + "/v1/me", headers=server.auth).status_code == 200
            assert not (server.home / "postgres").exists()
            told = json.loads(server.cli("doctor", "--json").stdout)
            assert told["ok"] is True, told
        finally:
            assert server.stop() == 0
        with psycopg.connect(foreign.url) as conn:
            assert conn.execute("SELECT count(*) FROM keepstone.users").fetchone() == (1,)
    finally:
        foreign.stop()


def test_without_pgvector_the_error_says_what_to_install(folder: Path) -> None:
    foreign = Foreign(folder, vector=False)
    try:
        with pytest.raises(AssertionError, match="postgresql-16-pgvector"):
            Live(KEEPSTONE_DATABASE_URL=foreign.url)
    finally:
        foreign.stop()


def test_somebody_at_a_terminal_is_shown_the_link_itself(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    link = "http://127.0.0.1:8420/auth/once/cl_secret"
    with os.fdopen(theirs, "w") as terminal, contextlib.redirect_stdout(terminal):
        announce(Settings(home=tmp_path), Welcome(key_file=None, link=link))
    with os.fdopen(ours, "rb", buffering=0) as screen:
        assert link in screen.read(10_000).decode()
    assert not (tmp_path / "login-link").exists()
