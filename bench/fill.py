"""Fills spaces past the API, as the owner of the database: what would take hours to embed takes minutes.

Owns all SQL of the bench that writes memory. Messages and terms are as `ingest` makes them, one passage for each;
vectors are those of real turns with a little noise from a fixed seed. Only what it needs is named, so other columns
keep their defaults.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

import numpy as np
import numpy.typing as npt

from bench.tables import KEPT, Connection, Vectors, space_of
from bench.talk import SEED, SESSION
from keepstone.engine.language.calendar import date_words
from keepstone.engine.terms import terms
from keepstone.model.ids import new_id

NOISE = 0.5  # as long as half of the vector itself
BATCH = 5_000


@dataclass(frozen=True)
class Seed:
    """The vectors of real turns, by vector set, and their packed tokens, all in the order of the passages."""

    pooled: dict[int, Vectors]
    tokens: dict[int, list[bytes]]


@dataclass(frozen=True)
class Row:
    """A message and its one passage."""

    id: str
    passage: int
    turn: dict[str, Any]
    session: str
    frequencies: dict[str, int]

    @property
    def length(self) -> int:
        return sum(self.frequencies.values())


def seed_of(conn: Connection, scope_id: str, size: int) -> Seed:
    """The vectors of a scope's first passages."""
    return seed_in(conn, *space_of(conn, scope_id), size)


def seed_in(conn: Connection, account: int, space: int, size: int) -> Seed:
    """The same of any space."""
    sets = [row[0] for row in conn.execute("SELECT vector_set FROM vector_sets WHERE account = %s", [account])]
    pooled: dict[int, Vectors] = {}
    tokens: dict[int, list[bytes]] = {}
    for number in sets:
        wanted = [account, space, number, size]
        where: LiteralString = "WHERE account = %s AND space = %s AND vector_set = %s ORDER BY passage LIMIT %s"
        vectors = conn.execute("SELECT embedding::real[] FROM vectors " + where, wanted).fetchall()
        pooled[number] = np.array([row[0] for row in vectors], dtype=np.float32)
        packed = [row[0] for row in conn.execute("SELECT tokens FROM token_vectors " + where, wanted)]
        if packed:
            tokens[number] = packed
    return Seed(pooled, tokens)


def fill(conn: Connection, scope_id: str, transcript: Sequence[dict[str, Any]], seed: Seed) -> int:
    """The transcript as a new scope of the first user's. Returns its space."""
    row = conn.execute(
        """
        INSERT INTO spaces (account, kind, name, owner)
        SELECT account, 'scope', %s, id FROM users ORDER BY created_at LIMIT 1 RETURNING account, space
        """,
        [scope_id],
    ).fetchone()
    assert row is not None
    account, space = row
    chance = noise()
    for start in range(0, len(transcript), BATCH):
        rows = _rows(conn, transcript[start : start + BATCH])
        with conn.transaction():
            _copy_messages(conn, account, space, rows)
            copy_vectors(conn, account, space, [each.passage for each in rows], seed, chance)
    conn.execute(
        "UPDATE spaces SET version = version + 1,"  # without saying what changed: all of it
        " people_read = (SELECT max(seq) FROM messages WHERE space = %s) WHERE space = %s",
        [space, space],
    )
    return space


def noise() -> np.random.Generator:
    return np.random.default_rng(SEED)


def _rows(conn: Connection, transcript: Sequence[dict[str, Any]]) -> list[Row]:
    query = "SELECT nextval(pg_get_serial_sequence('passages', 'passage')) FROM generate_series(1, %s)"
    numbers = [row[0] for row in conn.execute(query, [len(transcript)])]
    found: list[Row] = []
    session = ""
    for place, (passage, turn) in enumerate(zip(numbers, transcript, strict=True)):
        own = new_id("msg")
        session = session if place % SESSION else own
        words = [*terms(f"{turn['speaker']}: {turn['text']}"), *terms(date_words(datetime.fromisoformat(turn["ts"])))]
        found.append(Row(own, passage, turn, session, dict(Counter(words))))
    return found


def copy_rows(conn: Connection, statement: LiteralString, rows: Iterable[Sequence[Any]]) -> None:
    with conn.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _copy_messages(conn: Connection, account: int, space: int, rows: Sequence[Row]) -> None:
    copy_rows(
        conn,
        "COPY messages (account, space, id, client_id, speaker, text, at) FROM STDIN",
        ((account, space, r.id, r.turn["id"], r.turn["speaker"], r.turn["text"], r.turn["ts"]) for r in rows),
    )
    copy_rows(
        conn,
        "COPY passages (account, space, passage, source_kind, source_id, speaker, at, session, text, terms, term_count,"
        " pending) FROM STDIN",
        (
            (account, space, r.passage, "message", r.id, r.turn["speaker"], r.turn["ts"], r.session, r.turn["text"],
             list(r.frequencies), r.length, False)
            for r in rows
        ),
    )  # fmt: skip
    copy_rows(
        conn,
        "COPY terms (account, space, term, passage, frequency, length) FROM STDIN",
        (
            (account, space, term, r.passage, frequency, r.length)
            for r in rows
            for term, frequency in r.frequencies.items()
        ),
    )
    conn.execute(
        "UPDATE spaces SET passages = passages + %s, term_total = term_total + %s WHERE space = %s",
        [len(rows), sum(r.length for r in rows), space],
    )


def copy_vectors(
    conn: Connection, account: int, space: int, numbers: Sequence[int], seed: Seed, noise: np.random.Generator
) -> None:
    """For each of these passages those of a real turn, moved a little."""
    chosen = noise.integers(0, min(len(each) for each in seed.pooled.values()), len(numbers))
    for vector_set, real in seed.pooled.items():
        rows = binary_rows(account, space, vector_set, numbers, moved(real, chosen, noise))
        statement = "COPY vectors (account, space, vector_set, passage, embedding) FROM STDIN (FORMAT binary)"
        with conn.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(BINARY_HEAD + rows + BINARY_END)
    for vector_set, packed in seed.tokens.items():
        copy_rows(
            conn,
            "COPY token_vectors (account, space, vector_set, passage, tokens) FROM STDIN",
            (
                (account, space, vector_set, number, packed[place % len(packed)])
                for number, place in zip(numbers, chosen.tolist(), strict=True)
            ),
        )


# Postgres' own form of rows to be copied: hundreds of millions of numbers as text would take the longest of all.
BINARY_HEAD, BINARY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"


def binary_rows(
    account: int, space: int, vector_set: int, numbers: Sequence[int] | npt.NDArray[np.int64], vectors: Vectors
) -> bytes:
    """Rows of the table of vectors: how many fields, then the length and the bytes of each."""
    dimension = vectors.shape[1]
    rows = np.zeros(
        len(numbers),
        [("fields", ">i2"), ("a", ">i4"), ("account", ">i4"), ("b", ">i4"), ("space", ">i8"), ("c", ">i4"),
         ("vector_set", ">i2"), ("d", ">i4"), ("passage", ">i8"), ("e", ">i4"), ("dimension", ">i2"), ("none", ">i2"),
         ("embedding", ">f2", (dimension,))],
    )  # fmt: skip
    lengths = {"a": 4, "b": 8, "c": 2, "d": 8, "e": 4 + 2 * dimension}
    same = {"fields": 5, "account": account, "space": space, "vector_set": vector_set, "dimension": dimension}
    for name, value in {**lengths, **same, "passage": numbers, "embedding": vectors}.items():
        rows[name] = value
    return rows.tobytes()


def moved(real: Vectors, chosen: npt.NDArray[np.int64], noise: np.random.Generator) -> Vectors:
    """The chosen vectors with noise, of unit length again."""
    found = real[chosen] + noise.normal(0, NOISE / real.shape[1] ** 0.5, (len(chosen), real.shape[1]))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def grow(conn: Connection, scope_id: str, size: int) -> None:
    """A space that was filled, made so large with its own rows: the same texts, said earlier and earlier, and as the
    noise of each vector itself, turned by some places.
    """
    account, space = space_of(conn, scope_id)
    first, last, base = conn.execute(
        "SELECT min(passage), max(passage), count(*) FROM passages WHERE account = %s AND space = %s", [account, space]
    ).fetchone() or (0, 0, 0)
    step = last - first + 1
    whole = "embedding::vector"  # with half the digits, small numbers would become too small
    turned = f"subvector({whole}, {{by}} + 1, vector_dims(embedding) - {{by}}) || subvector({whole}, 1, {{by}})"
    weakened = f"array_fill({NOISE}::real, ARRAY[vector_dims(embedding)])::vector"
    within = f"passage BETWEEN {first} AND {last}"
    for number in range(1, -(-size // base)):
        renamed = f"'msg_' || substr(md5('{number}' || {{column}}), 1, 24)"
        changed: dict[str, str | None] = {
            "seq": None,
            "passage": f"passage + {step * number}",
            "client_id": f"client_id || '-{number}'",
            "at": f"at - interval '{number} years'",
            "embedding": f"l2_normalize({whole} + ({turned.format(by=7 * number)}) * {weakened})::halfvec",
            **{each: renamed.format(column=each) for each in ("id", "source_id", "session", "answers")},
        }
        for table in ("messages", "passages", "terms", "vectors", "token_vectors"):
            these = within if table != "messages" else "client_id NOT LIKE '%-%'"
            _clone_rows(conn, table, account, space, changed, these)
    conn.execute(
        """
        UPDATE spaces SET passages = s.passages, term_total = s.terms, version = version + 1,
               people_read = (SELECT max(seq) FROM messages WHERE account = %(account)s AND space = %(space)s)
          FROM (SELECT count(*) AS passages, sum(term_count) AS terms FROM passages
                 WHERE account = %(account)s AND space = %(space)s) AS s
         WHERE spaces.account = %(account)s AND spaces.space = %(space)s
        """,
        {"account": account, "space": space},
    )
    _use_up(conn, last + step * (-(-size // base) - 1))


def clone(conn: Connection, scope_id: str, copies: int) -> None:
    """The same space again and again, as other scopes of the account: they are there and are never asked."""
    account, space = space_of(conn, scope_id)
    step = (conn.execute("SELECT max(passage) FROM passages").fetchone() or (0,))[0]
    for number in range(1, copies + 1):
        name = f"'{scope_id}-{number}'"
        new = _clone_rows(conn, "spaces", account, space, {"name": name, "space": None, "indexed_sets": "'{}'"})
        renamed = "'msg_' || substr(md5('{number}' || {column}), 1, 24)"
        for table in KEPT:
            changed = {
                "space": str(new),
                "seq": None,
                "passage": f"passage + {step * number}",
                **{
                    each: renamed.format(number=number, column=each)
                    for each in ("id", "source_id", "message_id", "answers")
                },
            }
            _clone_rows(conn, table, account, space, changed)
    _use_up(conn, step * (copies + 1))


def _use_up(conn: Connection, passage: int) -> None:
    """The next passage that is made gets a higher number."""
    conn.execute("SELECT setval(pg_get_serial_sequence('passages', 'passage'), %s)", [passage])


def _clone_rows(
    conn: Connection, table: str, account: int, space: int, changed: dict[str, str | None], these: str = "true"
) -> int:
    """Copies the rows of a space with some columns changed, and others (None) made anew. Returns the new space."""
    query = "SELECT column_name FROM information_schema.columns WHERE table_schema = 'keepstone' AND table_name = %s"
    columns = [row[0] for row in conn.execute(query, [table]) if changed.get(row[0], "") is not None]
    values = [changed.get(column) or column for column in columns]
    last = "RETURNING space" if table == "spaces" else ""
    statement = (
        f"INSERT INTO {table} ({', '.join(columns)}) OVERRIDING SYSTEM VALUE"
        f" SELECT {', '.join(values)} FROM {table} WHERE account = {account} AND space = {space} AND {these} {last}"
    )
    done = conn.execute(statement.encode())
    return done.fetchone()[0] if last else 0  # pyright: ignore[reportOptionalSubscript]
