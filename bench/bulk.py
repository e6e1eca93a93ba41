"""Fills the spaces of many people past the API, with the rows that the server would have written.

Of what a person has, most are messages of their scope, the rest capsules of their vault and nodes of the default graph.
A passage says a text of the pool and two made-up words, of which there are 65,536; the last one of each space has a
word of its own besides, by which it is looked for afterwards. Terms, lengths, sizes and hashes are made by the server's
own functions; vectors are those of the pool's text, moved a little, and its tokens; so the made-up words can be found
by their letters, and change no meaning. The counters of a space are counted from its rows. Two processes copy at once.

What a read of the talk would note of people (`statements`) is left out, and what is filled counts as read.
"""

import json
import multiprocessing
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, LiteralString

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg import sql

from bench import fill
from bench.crowd import SCOPE, Person
from bench.pool import Pool, speaker_of, vocabulary
from bench.talk import SEED, SESSION
from keepstone.engine.language.calendar import date_words
from keepstone.engine.terms import terms
from keepstone.memory.capsules import CAPSULES
from keepstone.memory.nodes import NODES
from keepstone.model.capsule import Capsule
from keepstone.model.graph import Node
from keepstone.model.memory import Memory

Connection = psycopg.Connection[Any]
Ints = npt.NDArray[np.int64]

BATCH = 10_000  # passages in a transaction
NOISES = 4_096
COPIERS = 2
VAULT, GRAPH = 0.08, 0.04  # of what a person has; the rest is talk
LARGEST_VAULT, LARGEST_GRAPH = 5_000, 20_000
DAYS = 730
TYPES = ("fact", "fact", "fact", "decision", "preference")
_COPIED: dict[str, LiteralString] = {
    "messages": "COPY messages (account, space, id, client_id, speaker, text, at) FROM STDIN",
    "memories": "COPY memories (account, space, id, kind, type, title, content, metadata, user_id, source_type,"
    " content_hash, size_bytes, kept_bytes, valid_from, created_at, updated_at, accessed_at) FROM STDIN",
    "memory_versions": "COPY memory_versions (account, space, memory_id, version, change, title, type, content,"
    " metadata, visibility, changed_by, changed_at) FROM STDIN",
    "passages": "COPY passages (account, space, passage, source_kind, source_id, speaker, at, session, text, terms,"
    " term_count, pending) FROM STDIN",
    "terms": "COPY terms (account, space, term, passage, frequency, length) FROM STDIN",
}
_SPACES = """
    SELECT s.account, s.space, s.kind, s.owner FROM spaces s
     WHERE s.part_of IS NULL AND s.account = ANY(%s)
       AND (s.kind = 'scope' AND s.name = %s OR s.kind = 'vault'
            OR s.kind = 'graph' AND s.metadata @> '{"default": true}')
"""
# As the server counts them, from what is there.
COUNTS: dict[str, LiteralString] = {
    "passages": """
        SELECT account, space, count(*) AS passages, sum(term_count) AS term_total FROM passages GROUP BY 1, 2
    """,
    "talk": """
        SELECT account, space, count(*) AS message_count, max(seq) AS people_read,
               sum(octet_length(speaker) + octet_length(text)
                   + CASE WHEN metadata = '{}' THEN 0 ELSE octet_length(metadata::text) END) AS size_bytes
          FROM messages GROUP BY 1, 2
    """,
    "memories": """
        SELECT account, space, count(*) AS memory_count, sum(kept_bytes) AS size_bytes FROM memories
         WHERE deleted_at IS NULL AND cold_at IS NULL GROUP BY 1, 2
    """,
}
_COUNTED = {
    "passages": ("passages = c.passages, term_total = c.term_total, version = version + 1", ""),
    "talk": (
        "message_count = c.message_count, people_read = c.people_read, size_bytes = c.size_bytes, changed_at = now(),"
        " revision = revision + 1",
        "AND s.kind = 'scope'",
    ),
    "memories": (
        "memory_count = c.memory_count, size_bytes = c.size_bytes, changed_at = now(), revision = revision + 1",
        "AND s.kind IN ('vault', 'graph')",
    ),
}

_COLUMNS = {
    "passages": ("passages", "term_total"),
    "talk": ("message_count", "size_bytes", "people_read"),
    "memories": ("memory_count", "size_bytes"),
}


@dataclass(frozen=True)
class Part:
    """What one space gets: so many passages, the first with this number."""

    account: int
    space: int
    kind: str
    user: str
    models: dict[str, int]  # the account's vector set of each
    first: int
    size: int

    @property
    def marker(self) -> str:
        return marker(self.account, self.kind)


@dataclass
class _Rows:
    """What is copied next."""

    lines: dict[str, list[str]] = field(default_factory=lambda: {table: list[str]() for table in _COPIED})
    places: list[tuple[Part, Ints, Ints]] = field(default_factory=list[tuple[Part, Ints, Ints]])
    size: int = 0


def marker(account: int, kind: str) -> str:
    """A word that only the last passage of this space has."""
    return f"marked{kind}{account}"


def connect(conninfo: str) -> Connection:
    conn = psycopg.connect(conninfo, autocommit=True)
    conn.execute("SET search_path = keepstone, public, extensions")
    conn.execute("SET keepstone.owner = 'on'")
    conn.execute("SET synchronous_commit = off")
    return conn


def fill_spaces(conninfo: str, people: Sequence[Person], passages: int, pool: Pool) -> int:
    """So many in all. Returns how many it became, as each person has at least one in every space."""
    with connect(conninfo) as conn:
        parts = _parts(conn, people, passages)
        total = sum(part.size for part in parts)
    if total <= BATCH:
        _copy(conninfo, parts, pool, SEED)
    else:
        _copy_together(conninfo, parts, pool)
    with connect(conninfo) as conn:
        for counted, query in COUNTS.items():
            changes, where = _COUNTED[counted]
            statement = (
                f"UPDATE spaces s SET {changes} FROM ({query}) c WHERE c.account = s.account AND c.space = s.space"
            )
            conn.execute(f"{statement} {where}".encode())
    return total


def _copy_together(conninfo: str, parts: Sequence[Part], pool: Pool) -> None:
    context = multiprocessing.get_context("spawn")
    copiers = [
        context.Process(target=_copy, args=(conninfo, parts[number::COPIERS], pool, SEED + number))
        for number in range(COPIERS)
    ]
    for copier in copiers:
        copier.start()
    for copier in copiers:
        copier.join()
    if any(copier.exitcode for copier in copiers):
        raise RuntimeError("the spaces could not be filled; see above")


def settle(conninfo: str) -> None:
    """As autovacuum would leave it after a while."""
    with connect(conninfo) as conn:
        for table in (*_COPIED, "vectors", "token_vectors", "spaces"):
            conn.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(table)))


def unlike(conninfo: str) -> list[Any]:
    """Spaces whose counters are not what is there: none, after any write of the server and after a fill."""
    found: list[Any] = []
    with connect(conninfo) as conn:
        for counted, query in COUNTS.items():
            _, where = _COUNTED[counted]
            same = " AND ".join(f"s.{column} = c.{column}" for column in _COLUMNS[counted])
            found += conn.execute(
                f"SELECT s.kind, s.account, s.space, '{counted}' FROM spaces s JOIN ({query}) c"
                f" ON c.account = s.account AND c.space = s.space WHERE NOT ({same}) {where}".encode()
            ).fetchall()
    return found


def planted(conn: Connection, part_kind: str, account: int) -> str:
    """The text with the word of its own in this person's space."""
    table, column = ("messages", "text") if part_kind == "scope" else ("memories", "content")
    row = conn.execute(
        f"SELECT {column} FROM {table} WHERE account = %s AND {column} LIKE %s".encode(),
        [account, f"% {marker(account, part_kind)}."],
    ).fetchone()
    assert row is not None, f"nothing was filled into the {part_kind} of account {account}"
    return row[0]


def _parts(conn: Connection, people: Sequence[Person], passages: int) -> list[Part]:
    shares = {person.account: person.share for person in people}
    accounts = list(shares)
    sets: dict[int, dict[str, int]] = {}
    for account, number, model in conn.execute(
        "SELECT account, vector_set, model FROM vector_sets WHERE account = ANY(%s) AND state = 'serving'", [accounts]
    ):
        sets.setdefault(account, {})[model] = number
    wanted: list[tuple[int, int, str, str, int]] = []
    rows = conn.execute(_SPACES, [accounts, SCOPE]).fetchall()
    users = {account: owner for account, _, kind, owner in rows if kind == "vault"}
    for account, space, kind, _ in rows:
        whole = shares[account] * passages
        vault, graph = min(VAULT * whole, LARGEST_VAULT), min(GRAPH * whole, LARGEST_GRAPH)
        size = {"vault": vault, "graph": graph}.get(kind, whole - vault - graph)
        wanted.append((account, space, kind, users[account], max(1, round(size))))
    wanted.sort(key=lambda each: -each[4])
    total = sum(each[4] for each in wanted)
    numbers = "pg_get_serial_sequence('keepstone.passages', 'passage')"
    row = conn.execute(f"SELECT setval({numbers}, nextval({numbers}) + {total}) - {total}".encode()).fetchone()
    assert row is not None
    ends = np.cumsum([each[4] for each in wanted]).tolist()
    return [
        Part(account, space, kind, user, sets[account], row[0] + end - size, size)
        for (account, space, kind, user, size), end in zip(wanted, ends, strict=True)
    ]


# --------------------------------------------------------------------------------------------------- the rows


def _copy(conninfo: str, parts: Sequence[Part], pool: Pool, seed: int) -> None:
    """In a process of its own."""
    chance = np.random.default_rng(seed)
    makers = _Maker(pool, chance)
    with connect(conninfo) as conn:
        rows = _Rows()
        for part in parts:
            for start in range(0, part.size, BATCH):
                makers.add(rows, part, start, min(BATCH, part.size - start))
                if rows.size >= BATCH:
                    _send(conn, rows, makers)
                    rows = _Rows()
        _send(conn, rows, makers)


def _send(conn: Connection, rows: _Rows, makers: "_Maker") -> None:
    if not rows.size:
        return
    with conn.transaction():
        for table, lines in rows.lines.items():
            if lines:
                with conn.cursor() as cursor, cursor.copy(_COPIED[table]) as copy:
                    copy.write("".join(lines).encode())
        for name in makers.pool.pooled:
            _copy_binary(conn, "vectors", "embedding", makers.vectors(rows, name))
        for name in makers.pool.tokens:
            _copy_binary(conn, "token_vectors", "tokens", makers.tokens(rows, name))


def _copy_binary(conn: Connection, table: LiteralString, column: LiteralString, rows: bytes) -> None:
    statement = f"COPY {table} (account, space, vector_set, passage, {column}) FROM STDIN (FORMAT binary)"
    with conn.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(fill.BINARY_HEAD + rows + fill.BINARY_END)


class _Maker:
    """Makes rows out of the pool."""

    def __init__(self, pool: Pool, chance: np.random.Generator) -> None:
        self.pool, self.chance = pool, chance
        self._words = vocabulary()
        chance.shuffle(self._words)
        rare = 1.0 / np.arange(20, len(self._words) + 20)
        self._rare = np.cumsum(rare / rare.sum())
        self._noise = {
            name: chance.normal(0, fill.NOISE / real.shape[1] ** 0.5, (NOISES, real.shape[1])).astype(np.float32)
            for name, real in pool.pooled.items()
        }

    def add(self, rows: _Rows, part: Part, start: int, size: int) -> None:
        chosen = self.chance.integers(0, len(self.pool.texts), size)
        rare = np.searchsorted(self._rare, self.chance.random((size, 2))).clip(max=len(self._words) - 1)
        numbers = np.arange(part.first + start, part.first + start + size)
        last = start + size == part.size
        for offset, (place, words) in enumerate(zip(chosen.tolist(), rare.tolist(), strict=True)):
            behind = [self._words[word] for word in words]
            if last and offset == size - 1:
                behind.append(part.marker)
            self._row(rows.lines, part, start + offset, place, behind)
        rows.places.append((part, numbers, chosen))
        rows.size += size

    def _row(self, lines: dict[str, list[str]], part: Part, place: int, said: int, behind: list[str]) -> None:
        number = part.first + place
        text = f"{self.pool.texts[said]} {' '.join(behind).capitalize()}."
        at = _at(part, place)
        extra = [term for word in behind for term in _terms_of(word)]
        if part.kind == "scope":
            source, kind, speaker = _name("msg", number), "message", speaker_of(said)
            found = [*_terms_of(f"{speaker}: {self.pool.texts[said]}"), *extra, *_date_terms(at.toordinal())]
            session = _name("msg", part.first + place - place % SESSION)
            lines["messages"].append(
                f"{part.account}\t{part.space}\t{source}\tm{number}\t{speaker}\t{_escaped(text)}\t{at}\n"
            )
        else:
            memory = _memory(part, number, text, at)
            source, kind, speaker, session = memory.id, "memory", r"\N", r"\N"
            found = [*_terms_of(self.pool.texts[said]), *extra]
            _add_memory(lines, part, memory)
        frequencies: dict[str, int] = {}
        for term in found:
            frequencies[term] = frequencies.get(term, 0) + 1
        listed = ",".join(map(_quoted, frequencies))
        lines["passages"].append(
            f"{part.account}\t{part.space}\t{number}\t{kind}\t{source}\t{speaker}\t{at}\t{session}\t{_escaped(text)}\t"
            f"{{{listed}}}\t{len(found)}\tf\n"
        )
        head, tail = f"{part.account}\t{part.space}\t", f"\t{len(found)}\n"
        lines["terms"] += [f"{head}{_escaped(term)}\t{number}\t{count}{tail}" for term, count in frequencies.items()]

    def vectors(self, rows: _Rows, name: str) -> bytes:
        """Of those in accounts that have this model, moved a little."""
        made: list[bytes] = []
        real, noise = self.pool.pooled[name], self._noise[name]
        for part, numbers, chosen in rows.places:
            if name in part.models:
                moved = real[chosen] + noise[self.chance.integers(0, NOISES, len(chosen))]
                moved /= np.linalg.norm(moved, axis=1, keepdims=True)
                made.append(fill.binary_rows(part.account, part.space, part.models[name], numbers, moved))
        return b"".join(made)

    def tokens(self, rows: _Rows, name: str) -> bytes:
        packed = self.pool.tokens[name]
        return b"".join(
            struct.pack(">hiiiqihiqi", 5, 4, part.account, 8, part.space, 2, part.models[name], 8, number,
                        len(packed[place])) + packed[place]
            for part, numbers, chosen in rows.places if name in part.models
            for number, place in zip(numbers.tolist(), chosen.tolist(), strict=True)
        )  # fmt: skip


def _at(part: Part, place: int) -> datetime:
    """In sessions, a minute between turns, over two years until yesterday."""
    sessions = -(-part.size // SESSION)
    begun = _today() - timedelta(days=DAYS + 1)
    return begun + timedelta(days=DAYS * (place // SESSION) / sessions, minutes=place % SESSION)


@cache
def _today() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


@cache
def _terms_of(text: str) -> tuple[str, ...]:
    """Of a text of the pool, which is said again and again, or of a made-up word."""
    return tuple(terms(text))


@cache
def _date_terms(day: int) -> tuple[str, ...]:
    return tuple(terms(date_words(datetime.fromordinal(day))))


def _name(prefix: str, number: int) -> str:
    """An id of the server's form, scattered as its own are."""
    return f"{prefix}_{number * 0x9E3779B97F4A7C15F39CC060 % 2**96:024x}"


def _memory(part: Part, number: int, text: str, at: datetime) -> Memory:
    given: dict[str, Any] = {"content": text, "space": part.space}
    times = dict.fromkeys(("created_at", "updated_at", "accessed_at", "valid_from"), at)
    if part.kind == "vault":
        return CAPSULES.complete(Capsule(id=_name("cap", number), title=text[:60], type="note", **given, **times))
    metadata = {"team": f"team{number % 8}", "ticket": f"T-{number}"}
    return NODES.complete(
        Node(id=_name("node", number), type=TYPES[number % len(TYPES)], metadata=metadata, source_type="model",
             user_id=part.user, **given, **times)
    )  # fmt: skip


def _add_memory(lines: dict[str, list[str]], part: Part, memory: Memory) -> None:
    kind = "capsule" if part.kind == "vault" else "node"
    content, title, told = _escaped(memory.content), _escaped(memory.title), _json(memory.metadata)
    user, at = memory.user_id or r"\N", memory.created_at
    lines["memories"].append(
        f"{part.account}\t{part.space}\t{memory.id}\t{kind}\t{memory.type}\t{title}\t{content}\t{told}\t{user}\t"
        f"{memory.source_type}\t\\\\x{memory.content_hash.hex()}\t{memory.size_bytes}\t{memory.kept_bytes}\t{at}\t{at}\t{at}\t{at}\n"
    )
    lines["memory_versions"].append(
        f"{part.account}\t{part.space}\t{memory.id}\t1\tcreated\t{title}\t{memory.type}\t{content}\t{told}\tprivate\t"
        f"{user}\t{at}\n"
    )


def _json(value: dict[str, Any]) -> str:
    return _escaped(json.dumps(value))


def _escaped(text: str) -> str:
    """As COPY reads it."""
    if _SPECIAL.search(text):
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return text


_SPECIAL = re.compile(r"[\\\t\n\r]")
_PLAIN = re.compile(r"\w+")


def _quoted(term: str) -> str:
    """In an array, which COPY reads."""
    if _PLAIN.fullmatch(term) and term != "null":
        return term
    return _escaped('"' + term.replace("\\", "\\\\").replace('"', '\\"') + '"')
