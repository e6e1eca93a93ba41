"""The numbers of a space's passages, to be kept in memory: times, lengths, terms, vectors. No texts.

They come as bytes that the database has put together, so that a million of them pass without an object for each. Texts
that only have to be equal or not (sources, sessions, speakers) come as numbers. Read a slice at a time, by the number
of the passage, or just the passages that are named.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, LiteralString

import numpy as np
from numpy.typing import NDArray

from keepstone.store.db import Connection, fetch_rows

Records = NDArray[Any]
Bytes = NDArray[np.uint8]

# As the database sends them.
PASSAGE = np.dtype(
    [
        ("passage", ">i8"), ("at", ">i8"), ("source", ">i8"), ("session", ">i8"), ("speaker", ">i8"),
        ("answers", ">i8"), ("chars", ">i4"), ("length", ">i4"), ("flags", ">i2"),
    ]
)  # fmt: skip
FOREIGN, WHOLE = 1, 2  # in an English model's eyes; whether it begins its source
VISIBLE = {"public": 4, "shared": 8, "private": 16}
_POSTING = np.dtype([("passage", ">i8"), ("frequency", ">i2")])
_COUNTED = np.dtype([("passage", ">i8"), ("bytes", ">i4")])

_SLICE: LiteralString = "AND passage > %(last)s ORDER BY passage LIMIT %(most)s"
_THESE: LiteralString = "AND passage = ANY(%(passages)s)"
# Hashes of 64 bits: two sources of a space are never taken for one. Of a document each passage stands for itself.
_PASSAGES: LiteralString = """
    SELECT string_agg(
               int8send(passage) || int8send((extract(epoch FROM at) * 1000000)::bigint)
               || int8send(hashtextextended(
                      source_kind || CASE WHEN source_kind = 'document' THEN part || ' ' ELSE '' END || source_id, 0))
               || int8send(coalesce(hashtextextended(session, 0), 0))
               || int8send(coalesce(hashtextextended(speaker, 0), 0))
               || int8send(coalesce(hashtextextended(source_kind || answers, 0), 0))
               || int4send(char_length(text)) || int4send(term_count)
               || int2send((foreign_text::int + 2 * (part = 0)::int
                            + CASE visibility WHEN 'public' THEN 4 WHEN 'shared' THEN 8 ELSE 16 END)::int2),
               '' ORDER BY passage)
"""


async def passages(
    conn: Connection, space: int, *, after: int = 0, most: int = 0, these: Sequence[int] | None = None
) -> Records:
    """Of these, or of the next behind that one, in order."""
    part: LiteralString = _SLICE if these is None else _THESE
    query: LiteralString = f"""
        {_PASSAGES}
          FROM (SELECT * FROM passages WHERE account = %(account)s AND space = %(space)s {part}) AS p
    """
    return np.frombuffer(await _bytes(conn, query, space, after, most, these), dtype=PASSAGE)


async def vectors(
    conn: Connection, space: int, vector_set: int, *, after: int = 0, most: int = 0, these: Sequence[int] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The passages that have one in the set, and their pooled vectors, a row each."""
    part: LiteralString = _SLICE if these is None else _THESE
    query: LiteralString = f"""
        SELECT string_agg(int8send(passage) || halfvec_send(embedding), '' ORDER BY passage)
          FROM (SELECT passage, embedding FROM vectors
                 WHERE account = %(account)s AND space = %(space)s AND vector_set = %(set)s {part}) AS v
    """
    sent = await _bytes(conn, query, space, after, most, these, vector_set)
    if not sent:
        return np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.float32)
    dimension = int.from_bytes(sent[8:10], "big")
    rows = np.frombuffer(sent, dtype=[("passage", ">i8"), ("head", ">i4"), ("values", ">f2", (dimension,))])
    return rows["passage"].astype(np.int64), rows["values"].astype(np.float32)


async def tokens(
    conn: Connection, space: int, vector_set: int, *, after: int = 0, most: int = 0, these: Sequence[int] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64], Bytes]:
    """The passages that have token vectors in the set, how many bytes each, and those bytes one after the other."""
    part: LiteralString = _SLICE if these is None else _THESE
    query: LiteralString = f"""
        SELECT string_agg(int8send(passage) || int4send(length(tokens)), '' ORDER BY passage),
               string_agg(tokens, '' ORDER BY passage)
          FROM (SELECT passage, tokens FROM token_vectors
                 WHERE account = %(account)s AND space = %(space)s AND vector_set = %(set)s {part}) AS t
    """
    [(counts, packed)] = await _rows(conn, query, space, after, most, these, vector_set)
    counted = np.frombuffer(counts or b"", dtype=_COUNTED)
    return (
        counted["passage"].astype(np.int64),
        counted["bytes"].astype(np.int64),
        np.frombuffer(packed or b"", dtype=np.uint8),
    )


async def postings(
    conn: Connection, space: int, *, these: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int16]]:
    """Of these passages the terms, as numbers, with the passage and how often it has each."""
    return _numbered(
        await fetch_rows(
            conn,
            """
            SELECT t.term, string_agg(int8send(p.passage) || int2send(t.frequency), '')
              FROM passages p CROSS JOIN LATERAL unnest(p.terms) AS word
             CROSS JOIN LATERAL (SELECT i.term, i.frequency FROM terms i
                                  WHERE i.account = %(account)s AND i.space = %(space)s
                                    AND i.term = word COLLATE "C" AND i.passage = p.passage OFFSET 0) t
             WHERE p.account = %(account)s AND p.space = %(space)s AND p.passage = ANY(%(passages)s)
             GROUP BY t.term
            """,
            {"space": space, "passages": list(these)},
            binary=True,
        )
    )


async def all_postings(
    conn: Connection, space: int, *, after: str, most: int
) -> tuple[str | None, tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int16]]]:
    """The same for all passages, so many of the terms behind that one; and the last of these, None at the end."""
    rows = await fetch_rows(
        conn,
        """
        SELECT term, string_agg(int8send(passage) || int2send(frequency), '') FROM terms
         WHERE account = %(account)s AND space = %(space)s AND term > %(after)s
         GROUP BY term ORDER BY term LIMIT %(most)s
        """,
        {"space": space, "after": after, "most": most},
        binary=True,
    )
    return rows[-1][0] if len(rows) == most else None, _numbered(rows)


async def speakers(conn: Connection, space: int, these: Sequence[int] | None) -> dict[int, str]:
    """Who speaks in these passages, or in all, by the number that stands for them."""
    rows = await fetch_rows(
        conn,
        """
        SELECT hashtextextended(s.speaker, 0), s.speaker
          FROM (SELECT DISTINCT speaker FROM passages
                 WHERE account = %(account)s AND space = %(space)s AND speaker IS NOT NULL
                   AND (%(these)s::bigint[] IS NULL OR passage = ANY(%(these)s))) s
        """,
        {"space": space, "these": None if these is None else list(these)},
    )
    return dict(rows)


async def revisions(conn: Connection, space: int, older: Sequence[int] | None) -> NDArray[np.int64]:
    """What is revised by what, of these passages or of all: a pair each."""
    rows = await fetch_rows(
        conn,
        """
        SELECT older, newer FROM revisions
         WHERE account = %(account)s AND space = %(space)s
           AND (%(older)s::bigint[] IS NULL OR older = ANY(%(older)s))
        """,
        {"space": space, "older": None if older is None else list(older)},
        binary=True,
    )
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def number_of(term: str) -> int:
    """By which a term is known. Other than the database's own hash it costs no query."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "big", signed=True)


def _numbered(
    rows: Sequence[tuple[str, bytes]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int16]]:
    sent = np.frombuffer(b"".join(row[1] for row in rows), dtype=_POSTING)
    counts = [len(row[1]) // _POSTING.itemsize for row in rows]
    numbers = np.repeat(np.array([number_of(row[0]) for row in rows], dtype=np.int64), counts)
    return numbers, sent["passage"].astype(np.int64), sent["frequency"].astype(np.int16)


async def _bytes(
    conn: Connection, query: LiteralString, space: int, after: int, most: int, these: Sequence[int] | None,
    vector_set: int = 0,
) -> bytes:  # fmt: skip
    [(sent,)] = await _rows(conn, query, space, after, most, these, vector_set)
    return sent or b""


async def _rows(
    conn: Connection, query: LiteralString, space: int, after: int, most: int, these: Sequence[int] | None,
    vector_set: int,
) -> list[Any]:  # fmt: skip
    wanted = {"space": space, "last": after, "most": most, "set": vector_set}
    return await fetch_rows(
        conn, query, wanted if these is None else wanted | {"passages": list(these)}, binary=True
    )  # fmt: skip
