"""Scopes on one real server: quality through HTTP, then speed, memory and disk at one size after the other."""

import shutil
import time
from pathlib import Path

from bench import fill, ingest, recall, tables, talk, through
from bench.baseline import FLOOR, FloorServer
from bench.figures import ACCOUNT, HUGE, LARGE, MEDIUM, Figure, Json, Options, count, scratch
from bench.floor import Server, running
from bench.talk import scope_of

BASE = 50_000  # rows that the largest space is made from
SEED_SIZE = 1_400  # real turns whose vectors the synthetic ones are made from


def measure(options: Options) -> Json:
    folder = scratch()
    found: list[Figure] = []
    try:
        with running(options.models) as server:
            warm_up(server)
            for size in sorted(size for size in options.sizes if size < HUGE):
                print(f"  {count(size)} passages", flush=True)
                found += one_size(server, size, folder, options)
            if ACCOUNT in options.sizes and MEDIUM in options.sizes:
                print(f"  an account of {count(ACCOUNT)}", flush=True)
                found += full_account(server, found, options)
        if HUGE in options.sizes:
            print(f"  one space of {count(HUGE)}", flush=True)
            with running(options.models) as server:
                found += huge_space(server, folder, options)
        # On a server of its own, so that the sizes above are what they say.
        with running(options.models) as server:
            print("  quality through HTTP", flush=True)
            found += through.measure(server, options)
    finally:
        shutil.rmtree(folder)
    return {"figures": [figure.shown() for figure in found]}


def warm_up(server: Server) -> None:
    """The embedders load with the first message."""
    client = server.client()
    client.post("/v1/ingest", {"scope_id": "warm-up", "transcript": talk.transcript(10, talk.turns())})
    client.close()
    server.settle()


def one_size(server: Server, size: int, folder: Path, options: Options) -> list[Figure]:
    """A space of this size, made through the API where that takes minutes, and past it where it would take hours."""
    conn = tables.connect(server)
    held, kept = server.memory(), tables.disk(conn)
    found: list[Figure] = []
    if size < LARGE:
        found += ingest.backlog(server, size, options)
    else:
        fill_space(server, conn, size)
    server.rest()
    tables.settle(conn)
    floor = recall.start_floor(server, size, folder, options.models)
    try:
        found += recall.latencies(server, size, floor, options)
        found += footprint(server, conn, floor, size, held, kept)
        found += ingest.single(server, size, floor)
    finally:
        floor.stop()
        conn.close()
    return found


def huge_space(server: Server, folder: Path, options: Options) -> list[Figure]:
    """On a server of its own: how long a recall takes there, and the first one, which has to get everything ready.
    Nothing is said in it: an index of its own would be made for longer than all of this takes.
    """
    with tables.connect(server) as conn:
        held, kept = server.memory(), tables.disk(conn)
        fill_rows(server, conn, HUGE, BASE)
        fill.grow(conn, scope_of(HUGE), HUGE)
        server.rest()
        tables.settle(conn)
        client = server.client()
        begun = time.perf_counter()
        client.post("/v1/recall", talk.recall_body(scope_of(HUGE), talk.questions(1)[0]))
        first = time.perf_counter() - begun
        client.close()
        floor = recall.start_floor(server, HUGE, folder, options.models)
        try:
            return [
                *recall.latencies(server, HUGE, floor, options),
                Figure(f"recall, {count(HUGE)} passages, the first one", first, "s", key="recall.first", at=HUGE),
                *footprint(server, conn, floor, HUGE, held, kept),
            ]
        finally:
            floor.stop()


def fill_space(server: Server, conn: tables.Connection, size: int) -> None:
    space = fill_rows(server, conn, size, size)
    tables.settle(conn)
    tables.prepare_large_space(server, space)


def fill_rows(server: Server, conn: tables.Connection, size: int, rows: int) -> int:
    """So many rows in the scope of this size. Returns its space."""
    turns = talk.turns()
    scope_id = f"bench-seed-{size}"
    client = server.client()
    client.post("/v1/ingest", {"scope_id": scope_id, "transcript": talk.transcript(SEED_SIZE, turns)})
    client.close()
    server.settle()
    return fill.fill(conn, scope_of(size), talk.transcript(rows, turns), fill.seed_of(conn, scope_id, SEED_SIZE))


def footprint(
    server: Server, conn: tables.Connection, floor: FloorServer, size: int, held: float, kept: int
) -> list[Figure]:
    """What this size took, beside the floor's whole process and beside the bare text."""
    account, space = tables.space_of(conn, scope_of(size))
    query = "SELECT sum(octet_length(text)) FROM messages WHERE account = %s AND space = %s"
    text = (conn.execute(query, [account, space]).fetchone() or (0,))[0]
    disk = (tables.disk(conn) - kept) / size
    found = [
        Figure(f"memory at {count(size)} passages, Postgres included", server.memory(), "MB", FLOOR, floor.memory(),
               key="memory", at=size),
        Figure(f"disk, {count(size)} passages", disk / 1024, "KB/passage", "the text alone", text / size / 1024,
               key="disk", at=size),
    ]  # fmt: skip
    if size >= MEDIUM:  # with fewer it is what the embedders need to work, and says nothing of passages
        more = 1024 * (server.memory() - held) / size
        found.append(Figure(f"memory more than before, {count(size)} passages", more, "KB/passage", at=size))
    return found


def full_account(server: Server, found: list[Figure], options: Options) -> list[Figure]:
    """Ninety-nine more spaces of ten thousand in the same account; the first one is asked again."""
    before = next(figure.value for figure in found if figure.key == "recall.1.p50" and figure.at == MEDIUM)
    with tables.connect(server) as conn:
        fill.clone(conn, scope_of(MEDIUM), (ACCOUNT - MEDIUM) // MEDIUM)
        tables.settle(conn)
        total = int((conn.execute("SELECT sum(passages) FROM spaces").fetchone() or (0,))[0])
        disk = tables.disk(conn) / total
    return [
        *recall.in_full_account(server, before, total, options),
        Figure("memory with the account full, Postgres included", server.memory(), "MB", at=ACCOUNT),
        Figure("disk with the account full", disk / 1024, "KB/passage", at=ACCOUNT),
    ]
