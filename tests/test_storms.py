"""The runs that attack, fuzz and kill a server: what they send arrives, and what they find is judged rightly."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Generator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from bench import fuzz
from bench.client import Client
from bench.crash import Tally
from bench.hold import judge, storm
from bench.hold.attacks import raw, texts, wires
from bench.hold.beside import Account, Beside, Sample
from bench.hold.judge import NEVER, Phase, Reply
from bench.writes import PARTS, SURFACES, Answer, Write, halves, missing, prepare

from live import Guest

QUIET = Phase("quiet", seconds={"list": [0.010] * 20}, alive=[0.002] * 20)
BUSY = '{"error":{"code":"busy","message":"Too much is going on for this account."}}'
DATABASE = '{"error":{"code":"unavailable","message":"The database is not answering; try again."}}'


def meeting(**what: object) -> Phase:
    return replace(QUIET, name="storm", statuses=Counter(), attack=Counter(), **what)  # pyright: ignore[reportArgumentType]


# ---------------------------------------------------------------------------------------------------- what is promised


def test_a_phase_as_quiet_as_before_breaks_nothing() -> None:
    assert judge.verdict([QUIET, meeting(), meeting(seconds={"list": [0.050] * 20})], []) == []


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        (meeting(seconds={"list": [0.010] * 18 + [0.051] * 2}), "p95 51 ms is more than 5 × the quiet 10 ms"),
        (meeting(seconds={"list": [0.010] * 18 + [NEVER] * 2}), "p95 never"),
        (meeting(seconds={}), "never served"),
        (meeting(alive=[0.002] * 50 + [0.2]), "/healthz took up to 200 ms, 1 of 51"),
        (meeting(replies=[Reply("GET /v1/me", 500, "{}")] * 3), "GET /v1/me answered 500, 3 times"),
        (meeting(replies=[Reply("GET /v1/me", 503, "busy")]), "answered 503"),
        (meeting(replies=[Reply("GET /v1/me", 503, DATABASE)]), "database is not answering"),
        (meeting(replies=[Reply("POST /v1/ingest", 507, BUSY)]), "answered 507"),
        (meeting(replies=[Reply("beside, list", 0, "TimeoutError")]), "answered nothing"),
    ],
)
def test_each_promise_that_is_broken_is_named(phase: Phase, said: str) -> None:
    (fault,) = judge.verdict([QUIET, phase], [])
    assert fault.startswith("storm: ")
    assert said in fault


def test_a_true_reason_is_allowed_and_a_killed_server_is_silent() -> None:
    assert not judge.broken(meeting(replies=[Reply("POST /v1/recall", 503, BUSY)]), QUIET)
    full = meeting(full=True, replies=[Reply("POST /v1/ingest", 507, BUSY)])
    assert judge.broken(full, QUIET) == ["nothing was refused although the disk was nearly full"]
    full.statuses[507] += 1
    assert not judge.broken(full, QUIET)
    away = [Reply("beside, list", 0, "ConnectionRefusedError"), Reply("beside, list", 503, DATABASE)]
    assert not judge.broken(meeting(kills=True, seconds={}, replies=away), QUIET)


def test_what_is_lost_is_named_and_the_table_has_a_line_for_each_phase() -> None:
    assert judge.verdict([QUIET], ["rooms word1"]) == ["acknowledged and lost: rooms word1"]
    lines = judge.table([QUIET, meeting(seconds={"list": [0.020] * 20})])
    assert len(lines) == 4
    assert lines[-1].startswith("| storm | 20 | 20 ms | 20 ms | 2.0 | 2 ms | 2 ms |")


def test_only_what_was_answered_counts_while_the_server_is_killed() -> None:
    met = raw.Met()
    samples = [
        Sample("list", 0.0, 0.01, 200),
        Sample("list", 0.0, NEVER, 0, "ConnectionRefusedError"),
        Sample("/healthz", 0.0, 0.5, 0),
    ]
    killed = storm.filled(Phase("kills", kills=True), samples, met)
    assert (killed.seconds, killed.alive, killed.statuses) == ({"list": [0.01]}, [], {200: 1, 0: 1})
    full = storm.filled(Phase("full", full=True), [*samples[:1], Sample("keep: rooms", 0.0, NEVER, 507, BUSY)], met)
    assert (full.seconds, [reply.status for reply in full.replies]) == ({"list": [0.01]}, [507])
    attacked = storm.filled(Phase("storm"), samples, met)
    assert (attacked.seconds, attacked.alive) == ({"list": [0.01, NEVER]}, [0.5])


# ----------------------------------------------------------------------------------------------------- on a real server


def reach(guest: Guest) -> Account:
    return Account(guest.url, guest.key)


@pytest.fixture
def client(guest: Guest) -> Generator[Client]:
    client = reach(guest).client()
    yield client
    client.close()


def test_each_surface_gives_back_what_it_acknowledged_and_misses_what_is_lost(client: Client) -> None:
    places = prepare(client, "ferries")
    for name, surface in SURFACES.items():
        tally, sent = Tally(), Write(name, f"{name}1")
        tally.take(sent, surface.send(client, places, sent))
        assert not tally.faults
        (kept,) = tally.acknowledged
        assert missing(client, places, [kept]) == set()
        other = replace(kept, word=f"{name}2", id=kept.id)
        assert missing(client, places, [other]) == {other}, name
        assert halves(client, places, [kept, other]) == set()


def test_a_part_of_a_write_is_told_from_the_whole(client: Client) -> None:
    places = prepare(client, "halves")
    write = Write("stores", "half1")
    item = {"namespace": [write.word], "key": "0", "value": {"text": write.text}}
    for _ in range(PARTS - 1):
        client.answer("PUT", f"/v1/stores/{places.run}/items", json.dumps(item).encode())
    assert halves(client, places, [write]) == missing(client, places, [write]) == {write}


def test_who_works_beside_an_attack_is_served_and_measured(guest: Guest, client: Client) -> None:
    places = prepare(client, "beside")
    target = raw.Target(guest.url, guest.key, places.workspace, places.room, places.graph)
    beside, met = Beside(reach(guest), places, chat=False), raw.Met()
    beside.start()
    samples: list[Sample] = []
    while not any(sample.write for sample in samples) or not any(sample.doing == "/healthz" for sample in samples):
        raw.fire(target, [raw.shot(target, "GET", "/v1/me"), raw.shot(target, "GET", "/v1/me", key=False)],
                 time.monotonic() + 0.2, met)  # fmt: skip
        samples += beside.drain()
    samples += beside.stop()
    phase = storm.filled(Phase("storm"), samples, met)
    assert set(phase.statuses) <= {200, 201, 202}
    assert {200, 401} == set(phase.attack)
    assert judge.faults(phase) == []
    assert phase.alive
    writes = [sample.write for sample in samples if sample.write]
    assert writes
    assert missing(client, places, writes) == set()


def test_an_attacker_sends_what_is_hostile_and_survives_being_hung_up_on(guest: Guest) -> None:
    target = raw.Target(guest.url, guest.key, "ws", "room", "graph")
    kinds = texts.texts(target)
    assert len(kinds) == 9 * len(texts.NEAR_MISSES)
    assert max(len(each.data) for each in kinds) < 4 << 20

    class HangsUp(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_error(413)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), HangsUp)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    met = raw.Met()
    early = replace(target, url=f"http://127.0.0.1:{server.server_port}")
    raw.once(early, raw.shot(early, "POST", "/", wires.lists(), key=False), met)
    server.shutdown()
    thread.join()
    server.server_close()
    assert sum(met.statuses.values()) == 1
    assert set(met.statuses) <= {0, 413}, "early answers are lost where the network drops them with the connection"


def test_a_piece_of_fuzzing_sends_its_cases_and_gives_the_same_again(guest: Guest, tmp_path: Path) -> None:
    sender = fuzz.Sender(fuzz.Person(guest.url, guest.key, guest.session))
    outcomes = [fuzz.work(sender, fuzz.Piece("GET /v1/rooms/{room_id}/messages", 0, 12)) for _ in range(2)]
    assert outcomes[0].statuses == outcomes[1].statuses
    assert outcomes[0].statuses[200], "a room that is there was asked for"
    assert outcomes[0].cases >= 6
    assert outcomes[0].findings == []
    log = tmp_path / "log"
    outcomes[0].findings.append(fuzz.Finding("GET /", 500, '{"request_id":"1"}', "curl"))
    fuzz.keep(log, outcomes[0])
    assert fuzz.read_log(log) == [outcomes[0]]
    assert [line.split("\n")[0] for line in fuzz.kinds(outcomes[0].findings * 2)] == ["GET /: 500, 2 times"]


def test_an_answer_that_no_kill_explains_is_a_fault() -> None:
    tally, write = Tally(), Write("rooms", "word1")
    tally.take(write, Answer(503, b"{}"))
    assert not tally.broken
    tally.take(write, Answer(500, b"{}"))
    assert tally.broken
    assert tally.faults == ["rooms: 500 {}"]


def test_every_operation_but_the_end_of_ones_own_session_is_fuzzed() -> None:
    first = [piece for piece, _ in zip(fuzz.pieces(fuzz.operations()), range(len(fuzz.operations())), strict=False)]
    assert {piece.label for piece in first} == set(fuzz.operations())
    assert not fuzz.LEFT_OUT & {piece.label for piece in first}


def test_an_extreme_value_takes_one_place_however_deep() -> None:
    for number in range(50):
        sent = {"a": {"b": ["c", {"d": "e"}]}, "f": "g"}
        fuzz.spoil(sent, random.Random(number))
        assert sent != {"a": {"b": ["c", {"d": "e"}]}, "f": "g"}
        assert sent.keys() == {"a", "f"}
    for nothing in ({}, [], "text", None):
        fuzz.spoil(nothing, random.Random(1))
