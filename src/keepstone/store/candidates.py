"""What a search begins with: the passages that share the question's terms or are near in meaning, and what stands
beside them.

Every query names its spaces, and row-level security names them again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString, NamedTuple

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from keepstone.store.arrays import bigints
from keepstone.store.db import Connection, fetch_column, fetch_dict, fetch_rows, fetch_value
from keepstone.store.vectors import literal

Vector = NDArray[np.float32]

WIDEST = 1_000  # that pgvector searches an index
EF_SEARCH = 200  # how widely an index of meanings is searched: four times what is taken, so that little is missed


class SpaceVersion(NamedTuple):
    """A space as it was surveyed: what is kept of it in memory must be no older."""

    space: int
    version: int
    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The searched spaces together: how large they are, which vectors there are, and which of them have an index."""

    passages: int
    term_total: int
    foreign_text: bool
    sets: dict[str, int]  # by model
    indexed: frozenset[tuple[int, int]]  # space and set
    versions: tuple["SpaceVersion", ...] = ()

    @property
    def average(self) -> float:
        """How many terms a passage has."""
        return self.term_total / max(self.passages, 1)


NOTHING = Survey(passages=0, term_total=0, foreign_text=False, sets={}, indexed=frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrow:
    """Only what had been said by then, and only these passages."""

    until: datetime | None = None
    passages: list[int] | None = None


EVERYTHING = Narrow()

# Hundreds of these are made for each question: tuples, because frozen dataclasses take milliseconds for that.


class Near(NamedTuple):
    """How near a passage is to the question, and its token vectors, packed."""

    similarity: float
    tokens: bytes | None


class PlacedPassage(NamedTuple):
    """A passage with the source that it answers, and what was said just before and after it."""

    passage: int
    space: int
    source_kind: str
    source_id: str
    part: int
    speaker: str | None
    at: datetime
    session: str | None
    chars: int
    answers: str | None
    foreign_text: bool
    before: int | None
    after: int | None


async def survey(conn: Connection, spaces: Sequence[int]) -> Survey:
    return surveyed(await fetch_rows(conn, _SURVEY.format(where=_THESE), {"spaces": list(spaces)}))


async def find_and_survey(conn: Connection, *, kind: str, name: str, owner: str | None) -> tuple[int, Survey] | None:
    """One space by its name, if it is there."""
    # Any owner or none is no condition that an index serves.
    where = _THIS.format(owned=sql.SQL("owner IS NULL" if owner is None else "owner = %(owner)s"))
    rows = await fetch_rows(conn, _SURVEY.format(where=where), {"kind": kind, "name": name, "owner": owner})
    return (rows[0][0], surveyed(rows)) if rows else None


_SURVEY = sql.SQL(
    """
    SELECT space, passages, term_total, foreign_text, indexed_sets, version,
           (SELECT coalesce(jsonb_object_agg(model, vector_set), '{{}}') FROM vector_sets
             WHERE account = %(account)s AND state = 'serving')
      FROM spaces WHERE account = %(account)s AND {where} AND deleted_at IS NULL
    """
)
_THESE = sql.SQL("space = ANY(%(spaces)s)")
_THIS = sql.SQL("kind = %(kind)s AND name = %(name)s AND {owned}")


def surveyed(rows: Sequence[tuple[int, int, int, bool, list[int], int, dict[str, int]]]) -> Survey:
    return Survey(
        passages=sum(row[1] for row in rows),
        term_total=sum(row[2] for row in rows),
        foreign_text=any(row[3] for row in rows),
        sets=rows[0][6] if rows else {},
        indexed=frozenset((row[0], number) for row in rows for number in row[4]),
        versions=tuple(SpaceVersion(row[0], row[5], row[1]) for row in rows),
    )


async def document_frequencies(conn: Connection, spaces: Sequence[int], terms: Sequence[str]) -> dict[str, int]:
    """In how many passages of these spaces each of the terms stands."""
    return await fetch_dict(
        conn,
        """
        SELECT term, count(*) FROM terms
         WHERE account = %(account)s AND space = ANY(%(spaces)s) AND term = ANY(%(terms)s) GROUP BY term
        """,
        {"spaces": list(spaces), "terms": list(terms)},
    )


async def by_terms(
    conn: Connection,
    spaces: Sequence[int],
    weights: Mapping[str, float],
    *,
    average: float,
    limit: int,
    narrow: Narrow = EVERYTHING,
) -> list[int]:
    """The passages with the best BM25 (k1 1.2, b .75) for terms of these weights, best first."""
    if not weights:
        return []
    return await fetch_column(
        conn,
        sql.SQL(_SCORES + "ORDER BY score DESC, t.passage LIMIT %(limit)s").format(within=_within("t", narrow)),
        _weighed(spaces, weights, average) | {"limit": limit, "until": narrow.until, "only": narrow.passages},
    )


async def scores(
    conn: Connection, spaces: Sequence[int], weights: Mapping[str, float], passages: Sequence[int], *, average: float
) -> dict[int, float]:
    """The BM25 of just these passages; none for what has none of the terms."""
    if not weights:
        return {}
    return await fetch_dict(
        conn,
        sql.SQL(_SCORES).format(within=sql.SQL("AND t.passage = ANY(%(passages)s)")),
        _weighed(spaces, weights, average) | {"passages": list(passages)},
    )


_SCORES: LiteralString = """
    SELECT t.passage,
           sum(w.weight * t.frequency * 2.2::float8
               / (t.frequency + 0.3::float8 + t.length * (0.9::float8 / %(average)s::float8))) AS score
      FROM unnest(%(terms)s::text[], %(weights)s::float8[]) AS w (term, weight)
      -- The offset keeps the planner from reading all postings of the space instead of those of each term.
      CROSS JOIN LATERAL (SELECT t.passage, t.frequency, t.length FROM terms t
                           WHERE t.account = %(account)s AND t.space = ANY(%(spaces)s) AND t.term = w.term {within}
                          OFFSET 0) AS t
     GROUP BY t.passage
"""


def _weighed(spaces: Sequence[int], weights: Mapping[str, float], average: float) -> dict[str, object]:
    return {
        "spaces": list(spaces),
        "terms": list(weights),
        "weights": list(weights.values()),
        "average": max(average, 1.0),
    }


async def by_vector(
    conn: Connection,
    spaces: Sequence[int],
    vector_set: int,
    vector: Vector,
    *,
    limit: int,
    indexed: frozenset[tuple[int, int]] = frozenset(),
    narrow: Narrow = EVERYTHING,
    only_foreign: bool = False,
) -> dict[int, float]:
    """The passages nearest in meaning. Spaces with an index of their own are asked through it; the others are read
    through, as everything is under a filter: an index would lose most of what is left.
    """
    if only_foreign:
        return await _by_scan(conn, spaces, vector_set, vector, limit, narrow, only_foreign=True)
    large = [space for space in spaces if (space, vector_set) in indexed and narrow == EVERYTHING]
    small = [space for space in spaces if space not in large]
    nearest = await _by_scan(conn, small, vector_set, vector, limit, narrow)
    for space in large:
        nearest |= await _by_index(conn, space, vector_set, vector, limit)
    return dict(sorted(nearest.items(), key=lambda item: -item[1])[:limit])


_NEAREST = sql.SQL(
    """
    SELECT passage, -distance FROM (
        SELECT v.passage, (v.embedding <#> %(vector)s::halfvec) + 0 AS distance
          FROM {vectors}
         ORDER BY distance
         LIMIT %(limit)s) AS nearest
    """
)
_ALL = sql.SQL(
    "vectors v WHERE v.account = %(account)s AND v.space = ANY(%(spaces)s) AND v.vector_set = %(set)s {within}"
)
_FOREIGN = sql.SQL(
    """
    passages p
      JOIN vectors v ON v.account = p.account AND v.space = p.space AND v.passage = p.passage AND v.vector_set = %(set)s
     WHERE p.account = %(account)s AND p.space = ANY(%(spaces)s) AND p.foreign_text
       AND (%(until)s::timestamptz IS NULL OR p.at <= %(until)s)
       AND (%(only)s::bigint[] IS NULL OR p.passage = ANY(%(only)s))
    """
)


async def _by_scan(
    conn: Connection, spaces: Sequence[int], vector_set: int, vector: Vector, limit: int, narrow: Narrow, *,
    only_foreign: bool = False,
) -> dict[int, float]:  # fmt: skip
    """The sum keeps the planner off the indexes; named once, the distance is computed once."""
    if not spaces:
        return {}
    vectors = _FOREIGN if only_foreign else _ALL.format(within=_within("v", narrow))
    return await fetch_dict(
        conn,
        _NEAREST.format(vectors=vectors),
        _compared(spaces, vector_set, vector) | {"until": narrow.until, "only": narrow.passages, "limit": limit},
    )


def _compared(spaces: Sequence[int], vector_set: int, vector: Vector) -> dict[str, object]:
    return {"vector": literal(vector), "spaces": list(spaces), "set": vector_set}


def _within(alias: str, narrow: Narrow) -> sql.Composable:
    """As a condition on the passage of that row; nothing at all when nothing is asked for, which is nearly always."""
    if narrow == EVERYTHING:
        return sql.SQL("")
    row = sql.Identifier(alias)
    these = sql.SQL("AND {row}.passage = ANY(%(only)s) ").format(row=row)
    by_then = sql.SQL(
        "AND EXISTS (SELECT 1 FROM passages p WHERE p.account = %(account)s AND p.space = {row}.space"
        " AND p.passage = {row}.passage AND p.at <= %(until)s)"
    ).format(row=row)
    nothing = sql.SQL("")
    return sql.Composed(
        [these if narrow.passages is not None else nothing, by_then if narrow.until is not None else nothing]
    )


async def _by_index(conn: Connection, space: int, vector_set: int, vector: Vector, limit: int) -> dict[int, float]:
    """Numbers stand in the text of the query: only then does the planner know that the partial index fits."""
    dimension = sql.Literal(len(vector))
    width = sql.Literal(min(WIDEST, max(EF_SEARCH, limit)))
    await conn.execute(sql.SQL("SET LOCAL hnsw.ef_search = {}").format(width))
    rows = await conn.execute(
        sql.SQL(
            """
            SELECT passage, -(embedding::halfvec({dimension}) <#> %(vector)s::halfvec({dimension})) AS similarity
              FROM vectors
             WHERE account = %(account)s AND space = {space} AND vector_set = {set}
             ORDER BY embedding::halfvec({dimension}) <#> %(vector)s::halfvec({dimension})
             LIMIT %(limit)s
            """
        ).format(dimension=dimension, space=sql.Literal(space), set=sql.Literal(vector_set)),
        {"vector": literal(vector), "limit": limit},
        prepare=False,
    )
    return dict(await rows.fetchall())


async def with_neighbours(conn: Connection, spaces: Sequence[int], passages: Sequence[int]) -> list[PlacedPassage]:
    """These, what was said just before and after each of them, and what they answer or are answered by, in order."""
    rows = await fetch_rows(
        conn,
        """
        WITH chosen AS MATERIALIZED (
            SELECT c.passage, c.source_id, c.answers, b.passage AS before, a.passage AS after
              FROM passages c
              LEFT JOIN LATERAL (SELECT p.passage FROM passages p
                                  WHERE p.account = %(account)s AND p.space = c.space
                                    AND (p.at, p.passage) < (c.at, c.passage)
                                  ORDER BY p.at DESC, p.passage DESC LIMIT 1) b ON true
              LEFT JOIN LATERAL (SELECT p.passage FROM passages p
                                  WHERE p.account = %(account)s AND p.space = c.space
                                    AND (p.at, p.passage) > (c.at, c.passage)
                                  ORDER BY p.at, p.passage LIMIT 1) a ON true
             WHERE c.account = %(account)s AND c.space = ANY(%(spaces)s) AND c.passage = ANY(%(passages)s)
        ), everyone AS (
            SELECT passage FROM chosen UNION SELECT before FROM chosen UNION SELECT after FROM chosen
            UNION
            SELECT p.passage FROM chosen c
              JOIN passages p ON p.account = %(account)s AND p.source_kind = 'message' AND p.source_id = c.answers
                             AND p.part = 0
             WHERE c.answers IS NOT NULL
            UNION
            SELECT p.passage FROM chosen c
              JOIN passages p ON p.account = %(account)s AND p.space = ANY(%(spaces)s) AND p.answers = c.source_id
                             AND p.part = 0
        )
        SELECT p.passage, p.space, p.source_kind, p.source_id, p.part, p.speaker, p.at, p.session,
               char_length(p.text), p.answers, p.foreign_text, c.before, c.after
          FROM passages p LEFT JOIN chosen c USING (passage)
         -- As an array, so that each is looked up and the space is not read through.
         WHERE p.account = %(account)s AND p.space = ANY(%(spaces)s)
           AND p.passage = ANY(ARRAY(SELECT passage FROM everyone))
         ORDER BY p.space, p.at, p.passage
        """,
        {"spaces": list(spaces), "passages": list(passages)},
    )
    return [PlacedPassage._make(row) for row in rows]


async def alone(conn: Connection, spaces: Sequence[int], passages: Sequence[int]) -> list[PlacedPassage]:
    """Just these, in the order of their time: for what is no conversation."""
    rows = await fetch_rows(
        conn,
        """
        SELECT passage, space, source_kind, source_id, part, speaker, at, session, char_length(text), answers,
               foreign_text, NULL, NULL
          FROM passages WHERE account = %(account)s AND space = ANY(%(spaces)s) AND passage = ANY(%(passages)s)
         ORDER BY space, at, passage
        """,
        {"spaces": list(spaces), "passages": list(passages)},
    )
    return [PlacedPassage._make(row) for row in rows]


class ReadPassage(NamedTuple):
    """A passage with its text."""

    passage: int
    source_kind: str
    source_id: str
    speaker: str | None
    at: datetime
    session: str | None
    text: str
    place: dict[str, Any] | None


async def read(conn: Connection, spaces: Sequence[int], passages: Sequence[int]) -> dict[int, ReadPassage]:
    """Those of these that the caller may see, by their numbers."""
    rows = await fetch_rows(
        conn,
        """
        SELECT passage, source_kind, source_id, speaker, at, session, text, place FROM passages
         WHERE account = %(account)s AND space = ANY(%(spaces)s) AND passage = ANY(%(passages)s)
        """,
        {"spaces": bigints(spaces), "passages": bigints(passages)},
    )
    return {row[0]: ReadPassage._make(row) for row in rows}


async def of_sources(conn: Connection, spaces: Sequence[int], sources: Sequence[str]) -> list[int]:
    """The passages of these."""
    return await fetch_column(
        conn,
        """
        SELECT passage FROM passages
         WHERE account = %(account)s AND space = ANY(%(spaces)s) AND source_id = ANY(%(sources)s)
        """,
        {"spaces": list(spaces), "sources": list(sources)},
        binary=True,
    )


async def said_between(
    conn: Connection, spaces: Sequence[int], start: datetime, end: datetime, *, limit: int, among: list[int] | None
) -> list[int]:
    """The passages of this time, without its end; the latest if there are more. `among`: only of these."""
    return await fetch_column(
        conn,
        """
        SELECT passage FROM passages
         WHERE account = %(account)s AND space = ANY(%(spaces)s) AND at >= %(start)s AND at < %(end)s
           AND (%(among)s::bigint[] IS NULL OR passage = ANY(%(among)s))
         ORDER BY at DESC, passage DESC LIMIT %(limit)s
        """,
        {"spaces": list(spaces), "start": start, "end": end, "limit": limit, "among": among},
        binary=True,
    )


async def any_passage(conn: Connection, spaces: Sequence[int], until: datetime) -> bool:
    """Whether anything in these spaces had been said by then."""
    return await fetch_value(
        conn,
        """
        SELECT EXISTS (SELECT 1 FROM passages
                        WHERE account = %(account)s AND space = ANY(%(spaces)s) AND at <= %(until)s)
        """,
        {"spaces": list(spaces), "until": until},
    )


async def nearness(
    conn: Connection, spaces: Sequence[int], vector_set: int, vector: Vector, passages: Sequence[int], *, tokens: bool
) -> dict[int, Near]:
    """How near in meaning these passages are; those without a vector are left out. `tokens` adds token vectors."""
    rows = await fetch_rows(
        conn,
        """
            SELECT v.passage, -(v.embedding <#> %(vector)s::halfvec), t.tokens
              FROM vectors v
              LEFT JOIN token_vectors t ON %(tokens)s AND t.account = v.account AND t.space = v.space
                                       AND t.vector_set = v.vector_set AND t.passage = v.passage
             WHERE v.account = %(account)s AND v.space = ANY(%(spaces)s) AND v.vector_set = %(set)s
               AND v.passage = ANY(%(passages)s)
            """,
        _compared(spaces, vector_set, vector) | {"passages": list(passages), "tokens": tokens},
        binary=True,
    )
    return {passage: Near(similarity, packed) for passage, similarity, packed in rows}
