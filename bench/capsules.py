"""Capsules at the largest plan: a vault of 36,000, filled past the API, then listed, searched and saved to."""

import hashlib
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from bench import fill, tables, talk
from bench.client import Client, timed
from bench.figures import Figure, Json, Options, count, percentile
from bench.floor import Server, running
from bench.talk import SEED
from keepstone.engine.terms import terms
from keepstone.model.capsule import size_of
from keepstone.model.ids import new_id

WHOLE, FEW = 36_000, 3_000
SEED_SIZE = 300  # capsules through the API, whose vectors the others are made from
ROUNDS = 200
PATH = "/v1/memory/capsules"
ME, BARE = "GET /v1/me, p50", "bare durable insert of the row, p50"
TAGS = ("auth", "budget", "trip", "people", "code", "health", "food", "reading")
KINDS = ("note", "note", "decision", "thought", "answer")
SETTLED = ("memories", "memory_versions", *tables.KEPT)


@dataclass(frozen=True)
class Written:
    """A capsule as somebody would write one: about 300 bytes, which is what the plan reckons with."""

    id: str
    title: str
    content: str
    kind: str
    tags: list[str]
    at: datetime


def measure(options: Options) -> Json:
    size = FEW if options.quick else WHOLE
    with running(options.models) as server:
        print(f"  {count(size)} capsules", flush=True)
        found = [fill_vault(server, size)]
        found += figures(server, size)
    return {"figures": [figure.shown() for figure in found]}


def written(size: int, name: str = "") -> Iterator[Written]:
    """So many, over two years up to now, the same at every run but for ids and times."""
    chosen = random.Random(f"{SEED}{name}")
    said = [text for _, text in talk.turns()]
    begin = datetime.now(UTC) - timedelta(days=730)
    for number in range(size):
        parts = chosen.sample(said, 3)
        yield Written(
            id=new_id("cap"),
            title=f"{parts[0][:60]} {name}{number}",
            content=" ".join(parts)[:400],
            kind=chosen.choice(KINDS),
            tags=chosen.sample(TAGS, chosen.randint(0, 3)),
            at=begin + timedelta(days=730) * number / size,
        )


def body(capsule: Written) -> Json:
    return {"title": capsule.title, "content_md": capsule.content, "kind": capsule.kind, "tags": capsule.tags}


def fill_vault(server: Server, size: int) -> Figure:
    """The first few through the API, the others past it; until the index of meanings and the map are made."""
    client = server.client()
    for capsule in written(SEED_SIZE, "seed"):
        client.post(PATH, body(capsule))
    server.settle()
    with tables.connect(server) as conn:
        row = conn.execute(
            "SELECT account, space FROM spaces WHERE kind = 'vault' AND owner = (SELECT min(owner) FROM spaces"
            " WHERE kind = 'vault')"
        ).fetchone()
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
        # The seed's map is too young to be made anew.
        conn.execute("UPDATE constellations SET made_at = made_at - interval '1 hour'")
        begun = time.perf_counter()
        client.post(PATH, {"content_md": "One more, so that the job looks at the vault."})
        _wait(conn, "SELECT 1 FROM constellations WHERE space = %s AND capsules > %s", space, size - 1)
        mapped = time.perf_counter() - begun
        _rest(conn)
    client.close()
    return Figure(f"index and map of {count(size)} capsules, made in the background", mapped, "s", at=size)


def _copy(conn: tables.Connection, account: int, space: int, some: Sequence[Written]) -> list[int]:
    query = "SELECT nextval(pg_get_serial_sequence('passages', 'passage')) FROM generate_series(1, %s)"
    numbers = [row[0] for row in conn.execute(query, [len(some)])]
    texts = [f"{one.title}\n\n{one.content}" for one in some]
    counted = [Counter(terms(text)) for text in texts]
    sizes = [size_of(one.title, one.content) for one in some]
    fill.copy_rows(
        conn,
        "COPY memories (account, space, id, kind, type, title, content, tags, content_hash, size_bytes, created_at,"
        " updated_at, accessed_at) FROM STDIN",
        (
            (account, space, one.id, "capsule", one.kind, one.title, one.content, one.tags,
             hashlib.sha256(text.encode()).digest(), size, one.at, one.at, one.at)
            for one, text, size in zip(some, texts, sizes, strict=True)
        ),
    )  # fmt: skip
    fill.copy_rows(
        conn,
        "COPY memory_versions (account, space, memory_id, version, change, title, content, tags, visibility)"
        " FROM STDIN",
        ((account, space, one.id, 1, "created", one.title, one.content, one.tags, "private") for one in some),
    )
    fill.copy_rows(
        conn,
        "COPY passages (account, space, passage, source_kind, source_id, at, text, terms, term_count, pending)"
        " FROM STDIN",
        (
            (account, space, number, "memory", one.id, one.at, text, list(words), words.total(), False)
            for number, one, text, words in zip(numbers, some, texts, counted, strict=True)
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


def _wait(conn: tables.Connection, query: str, *values: Any, patience: float = 1800) -> None:
    end = time.monotonic() + patience
    while conn.execute(query.encode(), values).fetchone() is None:
        if time.monotonic() > end:
            raise RuntimeError(f"it did not happen: {query}")
        time.sleep(0.5)


def _rest(conn: tables.Connection) -> None:
    """Until no job is left: they would share the processors with what is measured."""
    jobs = "SELECT 1 WHERE NOT EXISTS (SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing'))"
    _wait(conn, jobs)


def figures(server: Server, size: int) -> list[Figure]:
    client = server.client()
    me = 1000 * percentile(timed([lambda: client.get("/v1/me")] * ROUNDS), 50)
    asked = talk.questions(ROUNDS)
    words = [" ".join(sorted(set(terms(each)), key=len)[-2:]) for each in asked]
    calls: dict[str, tuple[list[Callable[[], Any]], str]] = {
        "list, 50 a page": (list(_pages(client)), "< 15 ms"),
        "list of one tag": ([_get(client, f"?tag={TAGS[n % len(TAGS)]}") for n in range(ROUNDS)], ""),
        "literal search": ([_get(client, f"?limit=10&q={quote(each)}") for each in words], ""),
        "literal search of a common word": ([_get(client, "?limit=10&q=really")] * ROUNDS, "≤ 20 ms"),
        "hybrid search": ([_get(client, f"?limit=10&mode=hybrid&q={quote(each)}") for each in asked], "< 60 ms"),
        "semantic search": ([_get(client, f"?limit=10&mode=semantic&q={quote(each)}") for each in asked], ""),
        "hybrid search of one tag": (
            [_get(client, f"?limit=10&mode=hybrid&tag=auth&q={quote(each)}") for each in asked[:60]], "≤ 30 ms",
        ),
        "related": ([_get(client, f"/related?text={quote(each)}") for each in asked], ""),
        "tags": ([_get(client, "/tags")] * 20, ""),
        "timeline by month": ([_get(client, "/timeline?bucket=month")] * 20, "≤ 25 ms"),
        # Its bytes: to make something of four megabytes of JSON is the client's work.
        "map": ([lambda: client.answer("GET", f"{PATH}/constellation")] * 20, "≤ 25 ms"),
    }  # fmt: skip
    found: list[Figure] = []
    for name, (each, wanted) in calls.items():
        seconds = timed(each)
        where = f"{name}, {count(size)} capsules"
        key = f"capsules.{name.split(',')[0].replace(' ', '-')}"
        found.append(Figure(f"{where}, p50", 1000 * percentile(seconds, 50), "ms", ME, me, wanted, f"{key}.p50", size))
        found.append(Figure(f"{where}, p95", 1000 * percentile(seconds, 95), "ms", ME, me, key=f"{key}.p95", at=size))
    found += _saving(server, client, size)
    begun = time.perf_counter()
    client.post(f"{PATH}/delete-all", {"confirm": "delete-all"})
    found.append(
        Figure(f"delete-all, {count(size)} capsules", time.perf_counter() - begun, "s", wanted="≤ 2 s", at=size)
    )
    client.close()
    return found


def _get(client: Client, rest: str) -> Callable[[], Any]:
    return lambda: client.get(PATH + rest)


def _pages(client: Client) -> Iterator[Callable[[], Any]]:
    """One page after the other."""
    cursor = ""

    def one() -> None:
        nonlocal cursor
        cursor = client.get(f"{PATH}?limit=50{cursor and '&cursor='}{cursor}")["next_cursor"] or ""

    for _ in range(ROUNDS):
        yield one


def _saving(server: Server, client: Client, size: int) -> list[Figure]:
    """Acknowledged is durable: each beside a bare insert of the same row."""
    own: list[float] = []
    bare: list[float] = []
    with tables.connect(server) as conn:
        conn.execute("CREATE TABLE bench_memories (LIKE memories INCLUDING ALL)")
        for capsule in written(ROUNDS, "new"):
            own += timed([lambda one=capsule: client.post(PATH, body(one))], warm_up=0)
            server.settle()  # what is read in the background meanwhile is not what is measured
            row = [
                new_id("cap"),
                capsule.title,
                capsule.content,
                capsule.tags,
                hashlib.sha256(capsule.id.encode()).digest(),
            ]
            bare += timed([lambda row=row: conn.execute(_INSERT, row)], warm_up=0)
        conn.execute("DROP TABLE bench_memories")
    base = 1000 * percentile(bare[10:], 50)
    return [
        Figure(f"save acknowledged, {count(size)} capsules, p{per_cent}", 1000 * percentile(own[10:], per_cent), "ms",
               BARE, base, wanted, f"capsules.save.p{per_cent}", size)
        for per_cent, wanted in ((50, "≤ 12 ms"), (95, ""))
    ]  # fmt: skip


_INSERT = (
    "INSERT INTO bench_memories (account, space, id, kind, title, content, tags, content_hash, size_bytes)"
    " VALUES (1, 1, %s, 'capsule', %s, %s, %s, %s, 1)"
)
