"""How long a recall takes through HTTP, with one client and with several, beside the floor with as many."""

import json
from pathlib import Path

import numpy as np

from bench import tables, talk
from bench.baseline import FLOOR, FloorServer
from bench.client import together
from bench.figures import ACCOUNT, HUGE, LARGE, MEDIUM, SMALL, Figure, Options, count, percentile
from bench.floor import Server
from bench.talk import scope_of

CLIENTS = (1, 2, 4, 8, 16, 32)
WANTED = {SMALL: "≤ 7 ms", MEDIUM: "≤ 9 ms", LARGE: "≤ 15 ms", HUGE: "≤ 40 ms"}  # one client, p50
WANTED_RATE = {MEDIUM: "≥ 200"}  # eight clients
ROUNDS = 300


def start_floor(server: Server, size: int, folder: Path, models: Path) -> FloorServer:
    """The floor with the texts and vectors of the same space."""
    conn = tables.connect(server)
    texts, vectors = tables.export(conn, scope_of(size))
    conn.close()
    (folder / "texts.json").write_text(json.dumps(texts))
    np.save(folder / "vectors.npy", vectors)
    floor = FloorServer(models)
    floor.client().post("/load", {"folder": str(folder)})
    return floor


def latencies(server: Server, size: int, floor: FloorServer, options: Options) -> list[Figure]:
    """Latencies with one client and with several, each beside the floor's with as many."""
    rounds = ROUNDS // 2 if options.quick else ROUNDS
    found: list[Figure] = []
    for clients in CLIENTS:
        asked = talk.questions(max(rounds, 8 * clients))
        own, own_rate = together(
            server.client, "/v1/recall", [talk.recall_body(scope_of(size), each) for each in asked], clients
        )
        theirs, their_rate = together(floor.client, "/search", [{"text": e, "limit": 10} for e in asked], clients)
        what = f"recall, {count(size)} passages, {clients} client{'s' if clients > 1 else ''}"
        for per_cent in (50, 95, 99):
            wanted = WANTED.get(size, "") if (clients, per_cent) == (1, 50) else ""
            own_ms, their_ms = (1000 * percentile(each, per_cent) for each in (own, theirs))
            key = f"recall.{clients}.p{per_cent}"
            found.append(Figure(f"{what}, p{per_cent}", own_ms, "ms", FLOOR, their_ms, wanted, key, size))
        wanted = WANTED_RATE.get(size, "") if clients == 8 else ""
        key = f"recall.{clients}.rate"
        found.append(Figure(what, own_rate, "requests/s", FLOOR, their_rate, wanted, key, size))
    return found


def in_full_account(server: Server, before: float, total: int, options: Options) -> list[Figure]:
    """The space of ten thousand again, now that the account holds a hundred times as much."""
    asked = talk.questions(ROUNDS // 2 if options.quick else ROUNDS)
    bodies = [talk.recall_body(scope_of(MEDIUM), each) for each in asked]
    own, _ = together(server.client, "/v1/recall", bodies, 1)
    what = f"recall, {count(MEDIUM)} passages in an account of {total / 1e6:.2g} M, 1 client"
    alone = "the same space before the account was filled, p50"
    return [
        Figure(f"{what}, p50", 1000 * percentile(own, 50), "ms", alone, before, "ratio ≤ 3",
               key="recall.account.p50", at=ACCOUNT),
        Figure(f"{what}, p95", 1000 * percentile(own, 95), "ms", alone, before, at=ACCOUNT),
        Figure(f"{what}, p99", 1000 * percentile(own, 99), "ms", alone, before, at=ACCOUNT),
    ]  # fmt: skip
