"""A graph of 100,000 nodes, filled past the API, then recalled from under filters that hardly anything passes, that
some pass and that most pass.
"""

import hashlib
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb

from bench import fill, tables, talk
from bench.client import Client, timed
from bench.figures import Figure, Json, Options, count, percentile
from bench.floor import Server, running
from bench.talk import SEED
from keepstone.engine.terms import terms
from keepstone.model.ids import new_id

WHOLE, FEW = 100_000, 3_000
SEED_SIZE = 300  # nodes through the API, whose vectors the others are made from
ROUNDS = 200
PATH, MCP = "/v1/graphs/default", "/v1/graph/mcp"
ME, BARE = "GET /v1/me, p50", "bare durable insert of the row, p50"
WANTED = "≤ 25 ms"
TEAMS = ("backend", "platform", "web", "mobile", "data", "design", "sales", "support")
QUARTERS = tuple(f"Q{quarter}-{year}" for year in (2025, 2026) for quarter in (1, 2, 3, 4))
TYPES = ("fact",) * 6 + ("decision", "preference", "person", "project")
SETTLED = ("memories", "memory_versions", *tables.KEPT)


@dataclass(frozen=True)
class Written:
    """A node as an agent would keep one: a sentence or two."""

    id: str
    content: str
    node_type: str
    metadata: dict[str, Any]
    at: datetime


def measure(options: Options) -> Json:
    size = FEW if options.quick else WHOLE
    with running(options.models) as server:
        print(f"  {count(size)} nodes", flush=True)
        fill_graph(server, size)
        found = figures(server, size)
    return {"figures": [figure.shown() for figure in found]}


def written(size: int, name: str = "") -> Iterator[Written]:
    """So many, over two years up to now, the same at every run but for ids and times."""
    chosen = random.Random(f"{SEED}{name}")
    said = [text for _, text in talk.turns()]
    begin = datetime.now(UTC) - timedelta(days=730)
    for number in range(size):
        metadata: dict[str, Any] = {
            "team": chosen.choice(TEAMS),
            "quarter": chosen.choice(QUARTERS),
            "source": "chat" if chosen.random() < 0.9 else "document",
            "ticket": f"T-{name}{number}",
        }
        yield Written(
            id=new_id("node"),
            content=f"{chosen.choice(said)} {chosen.choice(said)}"[:300] + f" ({name}{number})",
            node_type=chosen.choice(TYPES),
            metadata=metadata,
            at=begin + timedelta(days=730) * number / size,
        )


def body(node: Written) -> Json:
    return {"content": node.content, "node_type": node.node_type, "metadata": node.metadata}


def fill_graph(server: Server, size: int) -> None:
    """The first few through the API, the others past it; until the index of meanings is made."""
    client = server.client()
    for node in written(SEED_SIZE, "seed"):
        client.post(f"{PATH}/nodes", body(node))
    client.close()
    server.settle()
    with tables.connect(server) as conn:
        row = conn.execute("SELECT account, space FROM spaces WHERE kind = 'graph' AND part_of IS NULL").fetchone()
        assert row is not None
        account, space = row
        seed = fill.seed_in(conn, account, space, SEED_SIZE)
        noise = fill.noise()
        every = list(written(size - SEED_SIZE))
        for start in range(0, len(every), fill.BATCH):
            with conn.transaction():
                numbers = _copy(conn, account, space, every[start : start + fill.BATCH])
                fill.copy_vectors(conn, account, space, numbers, seed, noise)
        for table in SETTLED:
            conn.execute(f"VACUUM (ANALYZE) {table}")  # pyright: ignore[reportArgumentType, reportCallIssue]
        client = server.client()
        client.post(f"{PATH}/nodes", {"content": "One more, so that the job looks at the graph."})
        client.close()
        server.settle()
        _rest(conn)


def _copy(conn: tables.Connection, account: int, space: int, some: Sequence[Written]) -> list[int]:
    query = "SELECT nextval(pg_get_serial_sequence('passages', 'passage')) FROM generate_series(1, %s)"
    numbers = [row[0] for row in conn.execute(query, [len(some)])]
    counted = [Counter(terms(one.content)) for one in some]
    sizes = [len(one.content.encode()) for one in some]
    fill.copy_rows(
        conn,
        "COPY memories (account, space, id, kind, type, content, metadata, content_hash, size_bytes, valid_from,"
        " created_at, updated_at) FROM STDIN",
        (
            (account, space, one.id, "node", one.node_type, one.content, Jsonb(one.metadata),
             hashlib.sha256(one.content.encode()).digest(), size, one.at, one.at, one.at)
            for one, size in zip(some, sizes, strict=True)
        ),
    )  # fmt: skip
    fill.copy_rows(
        conn,
        "COPY memory_versions (account, space, memory_id, version, change, content, metadata, visibility) FROM STDIN",
        ((account, space, one.id, 1, "created", one.content, Jsonb(one.metadata), "private") for one in some),
    )
    fill.copy_rows(
        conn,
        "COPY passages (account, space, passage, source_kind, source_id, at, text, terms, term_count, pending)"
        " FROM STDIN",
        (
            (account, space, number, "memory", one.id, one.at, one.content, list(words), words.total(), False)
            for number, one, words in zip(numbers, some, counted, strict=True)
        ),
    )
    fill.copy_rows(
        conn,
        "COPY terms (account, space, term, passage, frequency, length) FROM STDIN",
        (
            (account, space, term, number, frequency, words.total())
            for number, words in zip(numbers, counted, strict=True)
            for term, frequency in words.items()
        ),
    )
    conn.execute(
        "UPDATE spaces SET passages = passages + %s, term_total = term_total + %s, memory_count = memory_count + %s,"
        " size_bytes = size_bytes + %s, version = version + 1, revision = revision + 1 WHERE space = %s",
        [len(some), sum(words.total() for words in counted), len(some), sum(sizes), space],
    )
    return numbers


def _rest(conn: tables.Connection, patience: float = 1800) -> None:
    """Until no job is left: they would share the processors with what is measured."""
    jobs = "SELECT 1 FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
    end = time.monotonic() + patience
    while conn.execute(jobs).fetchone() is not None:
        if time.monotonic() > end:
            raise RuntimeError("the jobs don't end")
        time.sleep(0.5)


def filters() -> Mapping[str, Json]:
    """By how much passes: of 100,000 nodes about 156, 3,600, 54,000, and one."""
    year = (datetime.now(UTC) - timedelta(days=365)).isoformat()
    ever = (datetime.now(UTC) - timedelta(days=740)).isoformat()
    return {
        "recall": {},
        "recall, all filters, 0.08 % pass": {
            "node_type": "decision",
            "metadata_filter": {"team": "backend", "quarter": "Q3-2026"},
            "time_range": {"start": year},
        },
        "recall, all filters, 3.4 % pass": {
            "node_type": "fact",
            "metadata_filter": {"team": "backend", "source": "chat"},
            "time_range": {"start": year},
        },
        "recall, all filters, 54 % pass": {
            "node_type": "fact",
            "metadata_filter": {"source": "chat"},
            "time_range": {"start": ever},
        },
        "recall of one ticket": {"metadata_filter": {"ticket": "T-77"}},
        "recall of a type, 10 % pass": {"node_type": "decision"},
        "recall as of a year ago": {"as_of": year},
    }


def figures(server: Server, size: int) -> list[Figure]:
    client = server.client()
    me = 1000 * percentile(timed([lambda: client.get("/v1/me")] * ROUNDS), 50)
    asked = talk.questions(ROUNDS)
    found: list[Figure] = []

    def add(name: str, calls: Sequence[Callable[[], Any]], wanted: str = "") -> None:
        seconds = timed(calls)
        key = f"graphs.{name.replace(',', '').replace(' ', '-')}"
        where = f"{name}, {count(size)} nodes"
        found.append(Figure(f"{where}, p50", 1000 * percentile(seconds, 50), "ms", ME, me, wanted, f"{key}.p50", size))
        found.append(Figure(f"{where}, p95", 1000 * percentile(seconds, 95), "ms", ME, me, key=f"{key}.p95", at=size))
        print(f"  {found[-2].name}: {found[-2].value:.1f} ms", flush=True)

    for name, narrowed in filters().items():
        add(name, [_recall(client, text, narrowed) for text in asked], WANTED)
    narrowed = filters()["recall, all filters, 0.08 % pass"]
    add("memory_recall over MCP, all filters, 0.08 % pass", [_tool(client, text, narrowed) for text in asked])
    add("list of a type", [lambda: client.get(f"{PATH}/nodes?node_type=decision")] * ROUNDS)
    found += _storing(server, client, size)
    client.close()
    return found


def _recall(client: Client, text: str, narrowed: Json) -> Callable[[], Any]:
    return lambda: client.post(f"{PATH}/recall", {"query": text, **narrowed})


def _tool(client: Client, text: str, narrowed: Json) -> Callable[[], Any]:
    params = {"name": "memory_recall", "arguments": {"query": text, **narrowed}}
    return lambda: client.post(MCP, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def _storing(server: Server, client: Client, size: int) -> list[Figure]:
    """Acknowledged is durable: each beside a bare insert of the same row."""
    own: list[float] = []
    bare: list[float] = []
    with tables.connect(server) as conn:
        conn.execute("CREATE TABLE bench_memories (LIKE memories INCLUDING ALL)")
        for node in written(ROUNDS, "new"):
            own += timed([lambda one=node: client.post(f"{PATH}/nodes", body(one))], warm_up=0)
            server.settle()  # what is read in the background meanwhile is not what is measured
            row = [new_id("node"), node.content, Jsonb(node.metadata), hashlib.sha256(node.id.encode()).digest()]
            bare += timed([lambda row=row: conn.execute(_INSERT, row)], warm_up=0)
        conn.execute("DROP TABLE bench_memories")
    base = 1000 * percentile(bare[10:], 50)
    return [
        Figure(f"store acknowledged, {count(size)} nodes, p{per_cent}", 1000 * percentile(own[10:], per_cent), "ms",
               BARE, base, "", f"graphs.store.p{per_cent}", size)
        for per_cent in (50, 95)
    ]  # fmt: skip


_INSERT = (
    "INSERT INTO bench_memories (account, space, id, kind, content, metadata, content_hash, size_bytes)"
    " VALUES (1, 1, %s, 'node', %s, %s, %s, 1)"
)
