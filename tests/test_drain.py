"""A server that is told to stop says so first, goes on for as long as its balancer needs, and hangs up on nobody who
has asked for something.
"""

import http.client
import json
import signal
import socket
from collections.abc import Generator
from contextlib import suppress

import httpx
import pytest

from live import Live
from test_processes import Line, processes_of, refuses, until

LONG = "600"  # seconds that no test waits for


@pytest.fixture
def patient() -> Generator[Live]:
    """A server of two processes that would go on for as long as any balancer takes."""
    server = Live(KEEPSTONE_DRAIN_SECONDS=LONG, KEEPSTONE_PROCESSES="2")
    yield server
    with suppress(ProcessLookupError):
        server.stop(signal.SIGINT)


def readiness(server: Live) -> tuple[int, str]:
    answer = httpx.get(server.url + "/readyz")
    return answer.status_code, answer.json()["status"]


def lines_to_all(server: Live) -> list[Line]:
    lines: list[Line] = []
    while len({line.pid for line in lines}) < len(processes_of(server)):
        lines.append(Line(server))
    return lines


def test_whoever_is_told_to_stop_is_not_ready_any_more_and_goes_on_until_it_is_told_again(patient: Live) -> None:
    until(lambda: len(processes_of(patient)) == 2)
    lines = lines_to_all(patient)
    assert {line.ask("GET", "/readyz")[0] for line in lines} == {200}
    patient.process.send_signal(signal.SIGTERM)
    until(lambda: readiness(patient) == (503, "draining"))
    for line in lines_to_all(patient):
        assert line.ask("GET", "/readyz")[1]["status"] == "draining", "whichever process is asked"
    for line in lines:
        kept = line.send("POST", "/v1/memory/capsules", {"content_md": f"kept by {line.pid} on its way out"})
        assert kept.status == 201
        assert kept.headers["Connection"] == "close", "the client comes back on another connection, to another server"
        assert json.loads(kept.read())["content_md"].endswith("on its way out")
        assert line.ask("GET", "/healthz")[0] == 200, "which may also be this one"
    assert patient.process.poll() is None
    patient.process.send_signal(signal.SIGTERM)
    assert patient.process.wait(timeout=60) == 0
    assert not any('"error"' in line for line in patient.log)


def test_a_process_that_takes_anothers_place_meanwhile_is_not_ready_either(patient: Live) -> None:
    patient.process.send_signal(signal.SIGTERM)
    until(lambda: readiness(patient)[1] == "draining")
    (first, other) = processes_of(patient)
    other.kill()
    until(lambda: len({first, other, *processes_of(patient)}) == 3)
    for line in lines_to_all(patient):
        assert line.ask("GET", "/readyz")[1]["status"] == "draining"
    patient.process.send_signal(signal.SIGTERM)
    assert patient.process.wait(timeout=60) == 0


def test_ctrl_c_closes_the_port_at_once(patient: Live) -> None:
    patient.process.send_signal(signal.SIGINT)
    assert patient.process.wait(timeout=60) == 0


def test_when_the_time_is_over_the_port_is_closed_and_the_server_ends() -> None:
    server = Live(KEEPSTONE_DRAIN_SECONDS="1")
    server.process.send_signal(signal.SIGTERM)
    until(lambda: refuses(server))
    assert server.stop() == 0


@pytest.fixture
def server() -> Generator[Live]:
    """One that closes its port as soon as it is told."""
    running = Live()
    yield running
    running.process.send_signal(signal.SIGCONT)
    running.stop()


def test_what_a_client_sent_before_it_could_know_is_answered(server: Live) -> None:
    idle, asking = Line(server), Line(server)
    assert idle.ask("GET", "/healthz")[0] == asking.ask("GET", "/healthz")[0] == 200
    server.process.send_signal(signal.SIGSTOP)
    new = socket.create_connection((httpx.URL(server.url).host, httpx.URL(server.url).port or 80))
    new.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert asking._http.sock is not None
    asking._http.request("GET", "/healthz")
    server.process.send_signal(signal.SIGTERM)
    server.process.send_signal(signal.SIGCONT)
    answer = asking._http.getresponse()
    assert answer.status == 200, "on a connection that was open"
    with new:
        let_in = http.client.HTTPResponse(new)
        let_in.begin()
        assert let_in.status == 200, "on one that the kernel had let in"
    assert idle._http.sock is not None
    assert idle._http.sock.recv(1) == b"", "who has asked nothing is hung up on in order, not cut off"
    idle.close()
    asking.close()
    assert server.process.wait(timeout=60) == 0
