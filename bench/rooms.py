"""Rooms: the composer in a room of 100,000 messages, filled past the API with all that would hang on them by then.

An agent has remembered something of every twentieth message; every session, day and week has its summary. Their vectors
are those of real turns, moved a little.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

from bench import fill, tables, talk
from bench.client import Client, timed
from bench.figures import Figure, Json, Options, count, percentile
from bench.floor import Server, running
from bench.talk import SESSION
from keepstone.engine.terms import terms
from keepstone.model.ids import new_id

WHOLE, FEW = 100_000, 5_000
SEED_SIZE = 300  # memories through the API, whose vectors the others are made from
LANDMARKS = 10
ROUNDS = 200
AGENT = "scout"
ME, BARE = "GET /v1/me, p50", "bare durable insert of the row, p50"
SETTLED = ("messages", "memories", "summaries", *tables.KEPT)


@dataclass(frozen=True)
class Place:
    """The room that is measured: its id, and where it and what its agent remembers of it lie."""

    id: str
    account: int
    space: int
    part: int
    user: str


@dataclass(frozen=True)
class Note:
    """A memory or a summary, and its one passage."""

    id: str
    kind: str
    text: str
    at: datetime
    until: datetime


def measure(options: Options) -> Json:
    size = FEW if options.quick else WHOLE
    with running(options.models) as server:
        print(f"  {count(size)} messages", flush=True)
        place = fill_room(server, size)
        found = figures(server, place, size)
    return {"figures": [figure.shown() for figure in found]}


def fill_room(server: Server, size: int) -> Place:
    client = server.client()
    me = client.get("/v1/me")["user"]["id"]
    client.post("/v1/agents", {"slug": AGENT, "name": "Scout", "instructions": "You help this team. Be brief."})
    room = client.post("/v1/rooms", {"name": "Bench", "agents": [AGENT]})["id"]
    for _, text in talk.turns()[:SEED_SIZE]:
        # Said twice, it is there already: nothing that a fault would be.
        client.answer("POST", f"/v1/profiles/{me}/memories", json.dumps({"text": text, "supersede": "off"}).encode())
    for number in range(LANDMARKS):
        mark = {"text": f"We decided to keep plan {number} until June.", "supersede": "off"}
        client.post(f"/v1/rooms/{room}/landmarks", mark)
    client.post(f"/v1/rooms/{room}/messages", {"text": "We decided to begin with 3 boats."})
    server.settle()
    with tables.connect(server) as conn:
        _rest(conn)
        place = _place(conn, room, me)
        profile = _one(conn, "SELECT space FROM spaces WHERE kind = 'profile' AND name = %s AND part_of IS NULL", me)
        seed = fill.seed_in(conn, place.account, profile, SEED_SIZE)
        said = _until_now(talk.transcript(size, talk.turns()))
        _copy_messages(conn, place, said)
        chance = fill.noise()
        for where, notes in ((place.part, list(_memories(said))), (place.space, list(_summaries(said)))):
            for start in range(0, len(notes), fill.BATCH):
                with conn.transaction():
                    numbers = _copy_notes(conn, place, where, notes[start : start + fill.BATCH])
                    fill.copy_vectors(conn, place.account, where, numbers, seed, chance)
        for table in SETTLED:
            conn.execute(f"VACUUM (ANALYZE) {table}")  # pyright: ignore[reportArgumentType, reportCallIssue]
        # What has grown large gets its index from the job that looks at it next.
        client.post(f"/v1/rooms/{room}/messages", {"text": "We decided to end with 4 boats."})
        server.settle()
        _rest(conn)
    client.close()
    return place


def _place(conn: tables.Connection, room: str, user: str) -> Place:
    account, space = conn.execute("SELECT account, space FROM spaces WHERE name = %s", [room]).fetchone() or (0, 0)
    return Place(room, account, space, _one(conn, "SELECT space FROM spaces WHERE part_of = %s", space), user)


def _one(conn: tables.Connection, query: LiteralString, *values: Any) -> Any:
    row = conn.execute(query, values).fetchone()
    assert row is not None, query
    return row[0]


def _copy_messages(conn: tables.Connection, place: Place, said: Sequence[dict[str, Any]]) -> None:
    with conn.transaction():
        fill.copy_rows(
            conn,
            "COPY messages (account, space, id, speaker, user_id, text, at, visibility) FROM STDIN",
            (
                (place.account, place.space, new_id("msg"), one["speaker"], place.user, one["text"], one["ts"],
                 "public")
                for one in said
            ),
        )  # fmt: skip
        conn.execute(
            """
            UPDATE rooms SET dirty_from = NULL, days_from = NULL, weeks_from = NULL,
                   last_seq = (SELECT max(seq) FROM messages m WHERE m.space = rooms.space),
                   takeaways_seq = (SELECT max(seq) FROM messages m WHERE m.space = rooms.space)
             WHERE space = %s
            """,
            [place.space],
        )


def _until_now(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, but the last of it was said two hours ago."""
    moved = datetime.now(UTC) - timedelta(hours=2) - datetime.fromisoformat(said[-1]["ts"])
    return [one | {"ts": (datetime.fromisoformat(one["ts"]) + moved).isoformat()} for one in said]


def _memories(said: Sequence[dict[str, Any]]) -> Iterator[Note]:
    """One of every twentieth message."""
    for one in said[::SESSION]:
        at = datetime.fromisoformat(one["ts"])
        yield Note(new_id("mem"), "memory", one["text"], at, at)


def _summaries(said: Sequence[dict[str, Any]]) -> Iterator[Note]:
    """Of sessions, days and weeks: each a few lines of what was said in it."""
    begun = datetime.fromisoformat(said[0]["ts"]).replace(hour=0, minute=0)
    days: dict[int, list[str]] = {}
    for start in range(0, len(said), SESSION):
        session = said[start : start + SESSION]
        lines = [f"{one['speaker']}: {one['text']}"[:200] for one in session[::4]]
        first, last = (datetime.fromisoformat(session[place]["ts"]) for place in (0, -1))
        yield Note(new_id("sum"), "session", "\n".join(lines), first, last)
        days.setdefault((first - begun).days, []).append(lines[0])
    weeks: dict[int, list[str]] = {}
    for day, lines in days.items():
        at = begun + timedelta(days=day)
        yield Note(new_id("sum"), "day", "\n".join(lines), at, at + timedelta(days=1))
        weeks.setdefault(day // 7, []).append(lines[0])
    for week, lines in weeks.items():
        at = begun + timedelta(weeks=week)
        yield Note(new_id("sum"), "week", "\n".join(lines), at, at + timedelta(weeks=1))


def _copy_notes(conn: tables.Connection, place: Place, space: int, notes: Sequence[Note]) -> list[int]:
    query = "SELECT nextval(pg_get_serial_sequence('passages', 'passage')) FROM generate_series(1, %s)"
    numbers = [row[0] for row in conn.execute(query, [len(notes)])]
    fill.copy_rows(
        conn,
        "COPY memories (account, space, id, kind, type, content, visibility, user_id, agent, run_id, content_hash,"
        " size_bytes, created_at) FROM STDIN",
        (
            (place.account, space, one.id, "semantic", "fact", one.text, "public", place.user, AGENT,
             f"room:{place.id}", hashlib.sha256(one.id.encode()).digest(), len(one.text), one.at)
            for one in notes if one.kind == "memory"
        ),
    )  # fmt: skip
    fill.copy_rows(
        conn,
        "COPY summaries (account, space, id, tier, content, starts_at, ends_at, message_count, visibility) FROM STDIN",
        (
            (place.account, space, one.id, one.kind, one.text, one.at, one.until, SESSION, "public")
            for one in notes if one.kind != "memory"
        ),
    )  # fmt: skip
    counted = [Counter(terms(one.text)) for one in notes]
    fill.copy_rows(
        conn,
        "COPY passages (account, space, passage, source_kind, source_id, at, visibility, text, terms, term_count,"
        " pending) FROM STDIN",
        (
            (place.account, space, number, "memory" if one.kind == "memory" else "summary", one.id, one.at, "public",
             one.text, list(words), words.total(), False)
            for number, one, words in zip(numbers, notes, counted, strict=True)
        ),
    )  # fmt: skip
    fill.copy_rows(
        conn,
        "COPY terms (account, space, term, passage, frequency, length) FROM STDIN",
        (
            (place.account, space, term, number, frequency, words.total())
            for number, words in zip(numbers, counted, strict=True)
            for term, frequency in words.items()
        ),
    )
    conn.execute(
        "UPDATE spaces SET passages = passages + %s, term_total = term_total + %s, version = version + 1"
        " WHERE space = %s",
        [len(notes), sum(words.total() for words in counted), space],
    )
    return numbers


def _rest(conn: tables.Connection, patience: float = 1800) -> None:
    """Until no job is left: they would share the processors with what is measured."""
    end = time.monotonic() + patience
    while conn.execute("SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing')").fetchone() is not None:
        if time.monotonic() > end:
            raise RuntimeError("jobs are still waiting")
        time.sleep(0.5)


def figures(server: Server, place: Place, size: int) -> list[Figure]:
    client = server.client()
    asked = talk.questions(ROUNDS)
    path = f"/v1/rooms/{place.id}"
    composed = client.post(f"{path}/compose", _body(asked[0]))
    assert len(composed["sections"][1]["ids"]) == 40, "the prompt has the last forty messages"
    calls: dict[str, tuple[list[Callable[[], Any]], str]] = {
        "compose": ([_composing(client, f"{path}/compose", _body(each)) for each in asked], "≤ 20 ms"),
        "compose a direct message": (
            [_composing(client, f"/v1/dms/{AGENT}/compose", {"message": {"text": each}}) for each in asked], "",
        ),
        "working memory": ([lambda: client.get(f"{path}/working")] * ROUNDS, ""),
        "messages, 50 a page": ([lambda: client.get(f"{path}/messages")] * ROUNDS, ""),
    }  # fmt: skip
    found: list[Figure] = []
    for name, (each, wanted) in calls.items():
        seconds, me = _beside(client, each)
        where = f"{name}, {count(size)} messages"
        key = f"rooms.{name.split(',')[0].replace(' ', '-')}"
        found.append(Figure(f"{where}, p50", 1000 * percentile(seconds, 50), "ms", ME, me, wanted, f"{key}.p50", size))
        found.append(Figure(f"{where}, p95", 1000 * percentile(seconds, 95), "ms", ME, me, key=f"{key}.p95", at=size))
    found += _saying(server, client, place, size)
    client.close()
    return found


def _beside(client: Client, calls: Sequence[Callable[[], Any]]) -> tuple[list[float], float]:
    """How long each took, and how long `GET /v1/me` takes in between, in milliseconds: the machine may be busy."""
    bare: list[float] = []

    def me() -> None:
        bare.extend(timed([lambda: client.get("/v1/me")], warm_up=0))

    seconds: list[float] = []
    for call in calls:
        me()
        seconds += timed([call], warm_up=0)
    return seconds[10:], 1000 * percentile(bare[10:], 50)


def _body(text: str) -> Json:
    return {"agent": AGENT, "message": {"text": text}}


def _composing(client: Client, path: str, body: Json) -> Callable[[], Any]:
    return lambda: client.post(path, body)


def _saying(server: Server, client: Client, place: Place, size: int) -> list[Figure]:
    """Acknowledged is durable: each beside a bare insert of the same row."""
    own: list[float] = []
    bare: list[float] = []
    with tables.connect(server) as conn:
        conn.execute("CREATE TABLE bench_messages (LIKE messages INCLUDING ALL)")
        for _, text in talk.turns()[:ROUNDS]:
            path = f"/v1/rooms/{place.id}/messages"
            own += timed([lambda text=text, path=path: client.post(path, {"text": text})], warm_up=0)
            row = [place.account, place.space, new_id("msg"), place.user, text]
            bare += timed([lambda row=row: conn.execute(_INSERT, row)], warm_up=0)
        conn.execute("DROP TABLE bench_messages")
    base = 1000 * percentile(bare[10:], 50)
    return [
        Figure(f"message acknowledged, {count(size)} messages, p{per_cent}", 1000 * percentile(own[10:], per_cent),
               "ms", BARE, base, wanted, f"rooms.say.p{per_cent}", size)
        for per_cent, wanted in ((50, "< 20 ms"), (95, ""))
    ]  # fmt: skip


_INSERT = (
    "INSERT INTO bench_messages (account, space, id, speaker, user_id, text, at)"
    " OVERRIDING SYSTEM VALUE VALUES (%s, %s, %s, 'olga', %s, %s, now())"
)
