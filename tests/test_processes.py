"""A server of several processes: each connection goes to one of them, and nobody can tell which. Whichever ends."""

import asyncio
import errno
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from keepstone.access import operator, plans, sessions
from keepstone.errors import Unavailable
from keepstone.machine import fitting_processes, usable_memory, usable_processors
from keepstone.model.plan import Plan
from keepstone.postgres.cluster import open_cluster
from keepstone.postgres.processes import processes_in
from keepstone.postgres.supervisor import Supervisor
from keepstone.processes import Family, Greeting, replacement
from keepstone.providers.embedders import Embedders
from keepstone.providers.remote import describe_embedders
from keepstone.runtime import Seat, open_migrated
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.tallies import SharedMemory
from keepstone.throttle import SHARED_SIZE
from live import Guest, Live, receive
from upstream import ScriptedUpstream, chunks, completion, streamed


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


class Line:
    """A connection that stays open, and so stays with one process of the server."""

    def __init__(self, server: Live, auth: dict[str, str] | None = None) -> None:
        address = httpx.URL(server.url)
        self._auth = server.auth if auth is None else auth
        self._http = http.client.HTTPConnection(address.host, address.port or 80, timeout=30)
        self._http.connect()
        self.port = self._http.sock.getsockname()[1]
        self.pid = self._process_of(server)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> http.client.HTTPResponse:
        content = None if body is None else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {**self._auth, "Content-Type": "application/json", **named}
        self._http.request(method, path, content, {name: value for name, value in given.items() if value})
        return self._http.getresponse()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        answer = self.send(method, path, body, **headers)
        read = answer.read()
        return answer.status, json.loads(read) if read[:1] in b"{[" and read else read

    def close(self) -> None:
        self._http.close()

    def _process_of(self, server: Live) -> int:
        """Which one took it: none, until one has."""
        while True:
            for process in processes_of(server):
                if any(each.raddr and each.raddr.port == self.port for each in process.net_connections("tcp")):
                    return process.pid
            time.sleep(0.01)


def processes_of(server: Live) -> list[psutil.Process]:
    first = psutil.Process(server.process.pid)
    return [first, *(child for child in first.children() if child.name() != "postgres")]


def further(server: Live) -> psutil.Process:
    (child,) = processes_of(server)[1:]
    return child


def count(server: Live, name: str, **labels: str) -> float:
    """The sum of a metric over what has these labels."""
    shown = httpx.get(server.url + "/metrics").text
    lines = [line for line in shown.splitlines() if re.match(rf"{name}(\{{| )", line)]
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if all(part in line for part in wanted))


def all_serve(server: Live) -> bool:
    return count(server, "keepstone_processes") == 2


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    yield made
    made.stop()


def started(model: ScriptedUpstream, home: Path | None = None, **environ: str) -> Live:
    server = Live(
        home, KEEPSTONE_PROCESSES="2", KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=model.url,
        KEEPSTONE_LLM_API_KEY="sk", KEEPSTONE_LLM_MODEL="m-1", **environ,
    )  # fmt: skip
    until(lambda: all_serve(server))
    return server


@pytest.fixture(scope="module")
def server(model: ScriptedUpstream) -> Generator[Live]:
    made = started(model)
    yield made
    made.stop()
    assert not any('"unhandled"' in line for line in made.log)


@pytest.fixture
async def guest(server: Live, tmp_path: Path) -> Guest:
    return await receive(server, tmp_path / "guest")


@pytest.fixture
def both(server: Live, guest: Guest) -> Generator[tuple[Line, Line]]:
    """A line to each process, with the key of somebody who is new."""
    lines = [Line(server, guest.auth) for _ in range(2)]
    assert len({line.pid for line in lines}) == 2, "connections are shared out evenly"
    yield lines[0], lines[1]
    for line in lines:
        line.close()


@asynccontextmanager
async def beside(server: Live) -> AsyncGenerator[Services]:
    conninfo = Supervisor(open_cluster(server.home)).conninfo
    async with open_migrated(Settings(home=server.home, database_pool=2), conninfo) as services:
        yield services


# --------------------------------------------------------------------------------------------------- one port, two ends


def test_connections_are_shared_out_evenly_and_what_ended_counts_no_more(server: Live) -> None:
    lines = [Line(server) for _ in range(6)]
    pids = [line.pid for line in lines]
    assert sorted(pids.count(pid) for pid in set(pids)) == [3, 3]
    gone = pids[0]
    for line in lines:
        if line.pid == gone:
            line.close()
    served: set[int] = set()
    for _ in range(3):  # the other still has its three
        until(lambda: all(len(process.net_connections("tcp")) <= 4 for process in processes_of(server)))
        again = Line(server)
        served.add(again.pid)
        lines.append(again)
    assert served == {gone}
    for line in lines:
        line.close()


def test_either_is_alive_ready_and_measures_all(server: Live, both: tuple[Line, Line]) -> None:
    before = count(server, "keepstone_request_seconds_count", route="/v1/me")
    for line in both * 5:
        assert line.ask("GET", "/v1/me")[0] == 200
    for line in both:
        assert line.ask("GET", "/healthz")[0] == 200
        status, ready = line.ask("GET", "/readyz")
        assert (status, ready["status"], ready["worker"]["ok"]) == (200, "ready", True)
        shown = line.ask("GET", "/metrics")[1].decode()
        counted = re.findall(r'keepstone_request_seconds_count\{.*route="/v1/me".*\} (\S+)', shown)
        assert sum(map(float, counted)) == before + 10
        assert "keepstone_processes 2.0" in shown
        assert shown.count("# TYPE keepstone_request_seconds histogram") == 1


# ------------------------------------------------------------------------------------------ what holds across processes


def test_a_provider_that_is_set_in_one_process_is_used_by_all(server: Live, both: tuple[Line, Line]) -> None:
    other = ScriptedUpstream()
    try:
        other.otherwise = lambda request: completion("from elsewhere")
        provider = {"name": "other", "kind": "openai", "base_url": other.url, "models": ["elsewhere"], "key": "k" * 20}
        made = httpx.put(f"{server.url}/v1/settings/providers", headers=server.auth, json={"providers": [provider]})
        assert made.status_code == 200
        asked = {"model": "elsewhere", "messages": [{"role": "user", "content": "hi"}]}

        def answers(line: Line) -> bool:
            status, said = line.ask("POST", "/v1/chat/completions", asked, X_Keepstone_Memory="off")
            return status == 200 and said["choices"][0]["message"]["content"] == "from elsewhere"

        for line in both:
            until(lambda line=line: answers(line))
        httpx.put(f"{server.url}/v1/settings/providers", headers=server.auth, json={"providers": []})
    finally:
        other.stop()


async def test_a_plans_requests_a_minute_are_those_of_all_processes(
    server: Live, guest: Guest, both: tuple[Line, Line]
) -> None:
    async with beside(server) as services:
        await plans.put_plan(services, Plan(name="slow", key_per_minute=6, account_per_minute=None))
        await operator.set_allowance(services, guest.email, plan="slow")
    statuses = [line.ask("GET", "/v1/me")[0] for line in both * 4]
    assert statuses == [200] * 6 + [429] * 2


def test_wrong_passwords_slow_down_whoever_guesses_in_either(guest: Guest, both: tuple[Line, Line]) -> None:
    guess = {"email": guest.email, "password": "certainly not this"}
    statuses = [line.ask("POST", "/auth/login", guess, Authorization="")[0] for line in both * 3]
    assert statuses == [401] * 5 + [429]
    assert both[0].ask("POST", "/auth/login", guess, Authorization="")[0] == 429


async def test_a_link_opens_once_however_many_are_asked_at_the_same_time(
    server: Live, guest: Guest, both: tuple[Line, Line]
) -> None:
    async with beside(server) as services:
        _, user = await operator.principal_for(services, guest.email)
        token = await sessions.make_link(services, user)
    with ThreadPoolExecutor(2) as threads:
        statuses = list(threads.map(lambda line: line.ask("GET", f"/auth/once/{token}")[0], both))
    assert sorted(statuses) == [303, 404]


def test_a_session_that_one_ends_is_over_in_the_other(guest: Guest, both: tuple[Line, Line]) -> None:
    cookie = {"Cookie": f"keepstone_session={guest.session}", "Authorization": ""}
    one, other = both
    assert one.ask("GET", "/v1/me", **cookie)[0] == other.ask("GET", "/v1/me", **cookie)[0] == 200
    assert other.ask("POST", "/auth/logout", **cookie)[0] in {200, 204, 303}
    assert one.ask("GET", "/v1/me", **cookie)[0] == other.ask("GET", "/v1/me", **cookie)[0] == 401
    key = one.ask("POST", "/v1/keys", {"name": "short-lived"})[1]
    theirs = {"Authorization": f"Bearer {key['key']}"}
    assert other.ask("GET", "/v1/me", **theirs)[0] == 200
    assert other.ask("DELETE", f"/v1/keys/{key['id']}")[0] == 204
    assert one.ask("GET", "/v1/me", **theirs)[0] == 401


def test_a_retry_is_answered_with_the_first_answer_whichever_gets_it(
    both: tuple[Line, Line], model: ScriptedUpstream
) -> None:
    transcript = [{"id": "m1", "speaker": "Anna", "text": "The ferry leaves at nine.", "ts": "2026-05-01T12:00:00Z"}]
    assert both[0].ask("POST", "/v1/ingest", {"scope_id": "trip", "transcript": transcript})[0] == 202
    question = {"scope_id": "trip", "question": "When does the ferry leave?"}

    def asked(line: Line, name: str) -> tuple[int, Any]:
        return line.ask("POST", "/v1/ask", question, X_Request_Id=name)

    model.script()
    model.otherwise = lambda request: completion(f"At nine [1]. {len(model.received)}", late=0.3)
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda line: asked(line, "retry-at-once"), both))
    assert len(model.received) == 1
    assert answers[0] == answers[1]
    assert answers[0][0] == 200
    for first, second in (both, reversed(both)):  # one after the other, whichever began
        name = f"retry-begun-by-{first.pid}"
        assert asked(first, name) == asked(second, name) == asked(first, name)
    assert len(model.received) == 3
    assert asked(both[1], "another-request")[0] == 200
    assert len(model.received) == 4


def test_what_was_said_to_one_is_remembered_by_the_other(both: tuple[Line, Line]) -> None:
    one, other = both
    room = one.ask("POST", "/v1/rooms", {"name": "kitchen"})[1]["id"]
    for number, line in enumerate((one, other, one)):
        assert line.ask("POST", f"/v1/rooms/{room}/messages", {"text": f"the kettle boils {number}"})[0] in {200, 201}
    heard = [[message["text"] for message in line.ask("GET", f"/v1/rooms/{room}/working")[1]["items"]] for line in both]
    assert heard[0] == heard[1] == [f"the kettle boils {number}" for number in range(3)]


# -------------------------------------------------------------------------------------------------------------- the end


def test_a_further_process_that_is_killed_is_replaced_and_requests_go_on(server: Live, guest: Guest) -> None:
    lines = [Line(server, guest.auth) for _ in range(4)]
    victim = further(server)
    before = count(server, "keepstone_request_seconds_count")
    for line in lines:
        assert line.ask("GET", "/v1/me")[0] == 200
    counted = count(server, "keepstone_request_seconds_count")
    assert counted >= before + 4
    victim.kill()
    for line in lines:  # those of the other process don't even notice
        if line.pid != victim.pid:
            assert line.ask("GET", "/v1/me")[0] == 200
        line.close()
    for _ in range(5):
        assert httpx.get(server.url + "/v1/me", headers=guest.auth).status_code == 200
    until(lambda: all_serve(server))
    assert count(server, "keepstone_request_seconds_count") >= counted, (
        "a sum that falls would be taken for a new start"
    )
    fresh = [Line(server, guest.auth) for _ in range(2)]
    assert {line.pid for line in fresh} == {process.pid for process in processes_of(server)}
    assert victim.pid not in {line.pid for line in fresh}
    for line in fresh:
        assert line.ask("GET", "/v1/me")[0] == 200
        line.close()


def test_one_that_is_told_to_end_finishes_what_it_has_and_is_replaced(
    server: Live, guest: Guest, both: tuple[Line, Line], model: ScriptedUpstream
) -> None:
    leaving = further(server)
    line = next(line for line in both if line.pid == leaving.pid)
    model.script(streamed(*chunks("one two three four"), pause=0.3))
    turn = {"model": "m-1", "stream": True, "messages": [{"role": "user", "content": "count"}]}
    answer = line.send("POST", "/v1/chat/completions", turn)
    assert answer.status == 200
    leaving.terminate()
    rest = answer.read()
    assert b"four" in rest
    assert b"[DONE]" in rest
    until(lambda: not leaving.is_running() or leaving.status() == psutil.STATUS_ZOMBIE)
    until(lambda: all_serve(server))
    assert further(server).pid != leaving.pid


def test_the_server_stops_in_the_middle_of_streams_without_cutting_them_off(model: ScriptedUpstream) -> None:
    server = started(model)
    lines = [Line(server) for _ in range(2)]
    assert len({line.pid for line in lines}) == 2
    turn = {"model": "m-1", "stream": True, "messages": [{"role": "user", "content": "count"}]}
    model.script(*[streamed(*chunks("one two three four"), pause=0.3)] * 2)
    answers = [line.send("POST", "/v1/chat/completions", turn) for line in lines]
    family = processes_of(server)
    server.process.send_signal(signal.SIGTERM)
    rest: list[bytes] = []
    readers = [threading.Thread(target=lambda answer=answer: rest.append(answer.read())) for answer in answers]
    for reader in readers:
        reader.start()
    until(lambda: refuses(server))
    for reader in readers:
        reader.join()
    for line in lines:
        line.close()
    assert all(b"four" in read and b"[DONE]" in read for read in rest)
    data = server.home / "postgres" / "data"
    assert server.process.wait(timeout=30) == 0
    assert not any(process.is_running() for process in family[1:])
    assert processes_in(data) == []
    server.stop()
    assert not any('"error"' in line for line in server.log)


def refuses(server: Live) -> bool:
    address = httpx.URL(server.url)
    with closing(socket.socket()) as trying:
        return trying.connect_ex((address.host, address.port or 80)) == errno.ECONNREFUSED


def test_with_the_first_all_end_at_once_and_the_next_start_has_everything(model: ScriptedUpstream) -> None:
    home = Path(tempfile.mkdtemp(prefix="keepstone-live-"))
    try:
        server = started(model, home)
        made = httpx.post(server.url + "/v1/keys", headers=server.auth, json={"name": "before"}).json()
        lines = [Line(server) for _ in range(2)]
        child = further(server)
        os.kill(child.pid, signal.SIGSTOP)  # also one that does nothing any more
        server.process.kill()
        server.process.wait(timeout=30)
        until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
        until(lambda: refuses(server))
        until(lambda: processes_in(home / "postgres" / "data") == [])
        for line in lines:
            line.close()
        server.stop()
        again = started(model, home)
        for _ in range(4):
            assert httpx.get(again.url + f"/v1/keys/{made['id']}", headers=again.auth).status_code == 200
        assert again.stop() == 0
    finally:
        shutil.rmtree(home)


async def test_a_process_that_never_starts_ends_the_server_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    memory = SharedMemory(SHARED_SIZE)

    async def answer(*_: object) -> None:
        pass

    family = Family([replacement(memory)], memory, answer)
    greeting = Greeting(
        version="1", settings=Settings(home=Path("/nowhere")), processes=2, embedders=describe_embedders(Embedders())
    )
    family.start(lambda: greeting, lambda _: None)
    with pytest.raises(Unavailable, match=r"ended 5 times in a row while it started.*KEEPSTONE_PROCESSES=1"):
        await asyncio.wait_for(family.failed, 30)
    await family.end(1)


# ----------------------------------------------------------------------------------------- how many, and what each gets


def test_the_processors_and_the_memory_that_may_be_used_are_counted(tmp_path: Path) -> None:
    here = len(os.sched_getaffinity(0))
    membership = tmp_path / "membership"
    membership.write_text("0::/system/keepstone\n")
    assert usable_processors(tmp_path, membership) == here, "nothing limits it"
    own = tmp_path / "system" / "keepstone"
    own.mkdir(parents=True)
    (own / "cpu.max").write_text("max 100000\n")
    (own / "memory.max").write_text("max\n")
    (own.parent / "cpu.max").write_text("150000 100000\n")
    (own.parent / "memory.max").write_text("300000000\n")
    assert usable_processors(tmp_path, membership) == 1, "that of the group above holds too"
    assert usable_memory(tmp_path, membership) == 300_000_000
    assert 1 <= fitting_processes() <= here


def test_what_a_server_may_take_is_shared_out(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, database_pool=11, max_connections=101, max_bodies_bytes=1000)
    assert Seat().share(settings) == settings
    first = Seat(of=3).share(settings)
    assert (first.database_pool, first.max_connections, first.max_bodies_bytes) == (5, 35, 334)
    small = Seat(of=3).share(Settings(home=tmp_path, database_pool=2, max_connections=1))
    assert small.database_pool == 2, "fewer can't work"
    assert small.max_connections == 1
