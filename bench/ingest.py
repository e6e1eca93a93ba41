"""How soon what is said is stored and can be found: a backlog all at once, and one message at a time."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from bench import tables, talk
from bench.baseline import FLOOR, FloorServer
from bench.client import Client, timed
from bench.figures import MEDIUM, Figure, Options, count, percentile
from bench.floor import Server
from bench.talk import scope_of
from keepstone.providers.embedder import Embedder
from keepstone.providers.encoder import Encoder
from keepstone.providers.manifest import BUILTIN
from keepstone.providers.use import Use

SINGLE = 60  # messages one by one
POLL = 0.002
INSERT = (
    "INSERT INTO bench_messages (account, space, id, client_id, speaker, text, at) VALUES (%s, %s, %s, %s, %s, %s, %s)"
)


def backlog(server: Server, size: int, options: Options) -> list[Figure]:
    """A transcript all at once: how soon it is stored, and how soon all of it can be found by meaning."""
    client = server.client()
    transcript = talk.transcript(size, talk.turns())
    rows = bare_rate(server, transcript)
    begun = time.perf_counter()
    client.post("/v1/ingest", {"scope_id": scope_of(size), "transcript": transcript})
    stored = time.perf_counter() - begun
    server.settle()
    searchable = time.perf_counter() - begun
    client.close()
    own = asyncio.run(embedding_rate([f"{turn['speaker']}: {turn['text']}" for turn in transcript[:2000]], options))
    what = f"{count(size)} messages"
    return [
        Figure(
            f"ingest of {what} in one call, stored", size / stored, "messages/s", "bare inserts in one transaction",
            rows, wanted="≥ 8,000" if size == MEDIUM else "", key="ingest.stored", at=size,
        ),
        Figure(
            f"backlog of {what}, searchable by meaning", size / searchable, "messages/s", "the embedders alone", own,
            wanted="≥ 300" if size == MEDIUM else "", key="ingest.searchable", at=size,
        ),
    ]  # fmt: skip


def bare_rate(server: Server, transcript: Sequence[dict[str, Any]]) -> float:
    """Rows a second of the messages alone, in one transaction."""
    with tables.connect(server) as conn:
        _insert_of(conn)
        begun = time.perf_counter()
        with conn.transaction(), conn.cursor() as cursor:
            cursor.executemany(INSERT, [_row(0, 0, said) for said in transcript])
        seconds = time.perf_counter() - begun
        conn.execute("DROP TABLE bench_messages")
    return len(transcript) / seconds


async def embedding_rate(texts: Sequence[str], options: Options) -> float:
    """Texts a second of both built-in models, one after the other, in this process; each after the one before it."""
    embedders: list[Embedder] = [Encoder(BUILTIN), Use(options.models)]
    before = ["", *texts[:-1]]
    try:
        for embedder in embedders:
            await embedder.embed(texts[:64])
        begun = time.perf_counter()
        for embedder in embedders:
            await embedder.embed(texts, before)
        return len(texts) / (time.perf_counter() - begun)
    finally:
        for embedder in embedders:
            embedder.close()


def single(server: Server, size: int, floor: FloorServer) -> list[Figure]:
    """One message at a time, each when the one before is embedded: until it is stored, recalled, has its vectors."""
    conn = tables.connect(server)
    client = server.client()
    account, space = tables.space_of(conn, scope_of(size))
    seconds: dict[str, list[float]] = {"stored": [], "recalled": [], "vectors": [], "row": [], "add": [], "found": []}
    _insert_of(conn)
    for number, turn in enumerate(talk.transcript(SINGLE, talk.turns(), name="single")):
        mark = f"zq{number}x"  # a word that nobody else says
        said = turn | {"text": f"{turn['text']} {mark}"}
        begun = time.perf_counter()
        client.post("/v1/ingest", {"scope_id": scope_of(size), "transcript": [said]})
        seconds["stored"].append(time.perf_counter() - begun)
        # In turn the one and the other: asking takes time from embedding.
        if number % 2:
            while not _found(client, size, mark, said["id"]):
                time.sleep(POLL)
            seconds["recalled"].append(time.perf_counter() - begun)
            server.settle()
        else:
            while _waiting(conn, account, space):
                time.sleep(POLL)
            seconds["vectors"].append(time.perf_counter() - begun)
        seconds["row"] += timed([lambda said=said: conn.execute(INSERT, _row(account, space, said))], warm_up=0)
    floor_client = floor.client()
    for number in range(10):
        begun = time.perf_counter()
        floor_client.post("/add", {"texts": [f"Anna: I lost my umbrella number {number} on the ferry."]})
        seconds["add"].append(time.perf_counter() - begun)
        floor_client.post("/search", {"text": "Who lost an umbrella?", "limit": 10})
        seconds["found"].append(time.perf_counter() - begun)
    conn.execute("DROP TABLE bench_messages")
    conn.close()
    client.close()
    floor_client.close()
    return _single_figures(size, {key: [1000 * each for each in found[3:]] for key, found in seconds.items()})


def _found(client: Client, size: int, mark: str, own_id: str) -> bool:
    found = client.post("/v1/recall", talk.recall_body(scope_of(size), f"Who said {mark}?"))
    return any(item["id"] == own_id for item in found["evidence"])


def _waiting(conn: tables.Connection, account: int, space: int) -> bool:
    query = "SELECT 1 FROM passages WHERE account = %s AND space = %s AND pending LIMIT 1"
    return conn.execute(query, [account, space]).fetchone() is not None


def _insert_of(conn: tables.Connection) -> None:
    """A table like that of messages, with its indexes: the same row costs there what it must cost."""
    conn.execute("DROP TABLE IF EXISTS bench_messages")
    conn.execute("CREATE TABLE bench_messages (LIKE messages INCLUDING ALL)")


def _row(account: int, space: int, said: dict[str, Any]) -> list[Any]:
    return [account, space, f"msg_{said['id']}", said["id"], said["speaker"], said["text"], said["ts"]]


def _single_figures(size: int, found: dict[str, list[float]]) -> list[Figure]:
    where = f"into {count(size)} passages"
    p50 = {key: percentile(values, 50) for key, values in found.items()}
    bare = "bare durable insert of the row, p50"
    return [
        Figure(f"ingest of one message {where}, p50", p50["stored"], "ms", bare, p50["row"],
               wanted="≤ 3.5 ms", key="ingest.p50", at=size),
        Figure(f"ingest of one message {where}, p95", percentile(found["stored"], 95), "ms", bare, p50["row"],
               key="ingest.p95", at=size),
        Figure(f"the same, p50; the floor embeds at once and keeps nothing on disk, {where}", p50["stored"], "ms",
               FLOOR, p50["add"], at=size),
        Figure(f"from ingest to recalled among the first ten, both calls, {where}, p50", p50["recalled"], "ms",
               FLOOR, p50["found"], key="ingest.recalled", at=size),
        Figure(f"from ingest to its vectors, {where}, p50", p50["vectors"], "ms",
               FLOOR, p50["found"], key="ingest.vectors", at=size),
    ]  # fmt: skip
