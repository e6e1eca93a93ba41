"""What a search begins with: the passages that share the question's terms or are near in meaning, and what stands
beside them.

Every query names its spaces, and row-level security names them again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from cairn.model.message import Passage
from cairn.store.db import Connection, fetch_all
from cairn.store.vectors import literal

Vector = NDArray[np.float32]

EF_SEARCH = 200  # how widely an index of meanings is searched: four times what is taken, so that little is missed


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The searched spaces together: how large they are, which vectors there are, and which of them have an index."""

    passages: int
    term_total: int
    foreign_text: bool
    sets: dict[str, int]  # by model
    indexed: frozenset[tuple[int, int]]  # space and set


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """How near a passage is to the question, and its token vectors, packed."""

    similarity: float
    tokens: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed(Passage):
    """A passage with what was said just before and after it, and the source that it answers."""

    before: int | None
    after: int | None
    answers: str | None
    foreign_text: bool


async def survey(conn: Connection, spaces: Sequence[int]) -> Survey:
    row = await (
        await conn.execute(
            """
            SELECT coalesce(sum(passages), 0)::bigint, coalesce(sum(term_total), 0)::bigint,
                   coalesce(bool_or(foreign_text), false),
                   (SELECT coalesce(jsonb_object_agg(model, vector_set), '{}') FROM vector_sets
                     WHERE state = 'serving'),
                   coalesce(jsonb_object_agg(space, indexed_sets) FILTER (WHERE indexed_sets <> '{}'), '{}')
              FROM spaces WHERE space = ANY(%s)
            """,
            [list(spaces)],
        )
    ).fetchone()
    assert row is not None  # noqa: S101  an aggregate always has a row
    return Survey(
        passages=row[0],
        term_total=row[1],
        foreign_text=row[2],
        sets=row[3],
        indexed=frozenset((int(space), number) for space, numbers in row[4].items() for number in numbers),
    )


async def document_frequencies(conn: Connection, spaces: Sequence[int], terms: Sequence[str]) -> dict[str, int]:
    """In how many passages of these spaces each of the terms stands."""
    rows = await (
        await conn.execute(
            "SELECT term, count(*) FROM terms WHERE space = ANY(%s) AND term = ANY(%s) GROUP BY term",
            [list(spaces), list(terms)],
        )
    ).fetchall()
    return dict(rows)


async def by_terms(
    conn: Connection,
    spaces: Sequence[int],
    weights: Mapping[str, float],
    *,
    average: float,
    limit: int,
    until: datetime | None = None,
) -> dict[int, float]:
    """The passages with the best BM25 (k1 1.2, b .75), best first; `weights` are the idf of the question's terms."""
    if not weights:
        return {}
    rows = await conn.execute(
        """
        SELECT t.passage,
               sum(w.weight * t.frequency * 2.2::float8
                   / (t.frequency + 0.3::float8 + t.length * (0.9::float8 / %(average)s::float8))) AS score
          FROM unnest(%(terms)s::text[], %(weights)s::float8[]) AS w (term, weight)
          JOIN terms t ON t.space = ANY(%(spaces)s) AND t.term = w.term
         WHERE %(until)s::timestamptz IS NULL
            OR EXISTS (SELECT FROM passages p WHERE p.space = t.space AND p.passage = t.passage AND p.at <= %(until)s)
         GROUP BY t.passage
         ORDER BY score DESC, t.passage
         LIMIT %(limit)s
        """,
        {
            "terms": list(weights),
            "weights": list(weights.values()),
            "spaces": list(spaces),
            "average": max(average, 1.0),
            "until": until,
            "limit": limit,
        },
    )
    return dict(await rows.fetchall())


async def by_vector(
    conn: Connection,
    spaces: Sequence[int],
    vector_set: int,
    vector: Vector,
    *,
    limit: int,
    indexed: frozenset[tuple[int, int]] = frozenset(),
    until: datetime | None = None,
    only_foreign: bool = False,
) -> dict[int, float]:
    """The passages nearest in meaning. Spaces with an index of their own are asked through it; the others are read
    through, as everything is under a filter: an index would lose most of what is left.
    """
    if only_foreign:
        return await _by_scan_of_foreign(conn, spaces, vector_set, vector, limit, until)
    large = [space for space in spaces if (space, vector_set) in indexed and until is None]
    found = await _by_scan(conn, [one for one in spaces if one not in large], vector_set, vector, limit, until)
    for space in large:
        found |= await _by_index(conn, space, vector_set, vector, limit)
    return dict(sorted(found.items(), key=lambda item: -item[1])[:limit])


async def _by_scan(
    conn: Connection, spaces: Sequence[int], vector_set: int, vector: Vector, limit: int, until: datetime | None
) -> dict[int, float]:
    """The sum keeps the planner off the indexes."""
    if not spaces:
        return {}
    rows = await conn.execute(
        """
        SELECT passage, -((embedding <#> %(vector)s::halfvec) + 0) AS similarity
          FROM vectors v
         WHERE space = ANY(%(spaces)s) AND vector_set = %(set)s
           AND (%(until)s::timestamptz IS NULL
                OR EXISTS (SELECT FROM passages p
                            WHERE p.space = v.space AND p.passage = v.passage AND p.at <= %(until)s))
         ORDER BY (embedding <#> %(vector)s::halfvec) + 0
         LIMIT %(limit)s
        """,
        {"vector": literal(vector), "spaces": list(spaces), "set": vector_set, "until": until, "limit": limit},
    )
    return dict(await rows.fetchall())


async def _by_scan_of_foreign(
    conn: Connection, spaces: Sequence[int], vector_set: int, vector: Vector, limit: int, until: datetime | None
) -> dict[int, float]:
    rows = await conn.execute(
        """
        SELECT v.passage, -((v.embedding <#> %(vector)s::halfvec) + 0) AS similarity
          FROM passages p JOIN vectors v ON v.space = p.space AND v.passage = p.passage AND v.vector_set = %(set)s
         WHERE p.space = ANY(%(spaces)s) AND p.foreign_text
           AND (%(until)s::timestamptz IS NULL OR p.at <= %(until)s)
         ORDER BY (v.embedding <#> %(vector)s::halfvec) + 0
         LIMIT %(limit)s
        """,
        {"vector": literal(vector), "spaces": list(spaces), "set": vector_set, "until": until, "limit": limit},
    )
    return dict(await rows.fetchall())


async def _by_index(conn: Connection, space: int, vector_set: int, vector: Vector, limit: int) -> dict[int, float]:
    """Numbers stand in the text of the query: only then does the planner know that the partial index fits."""
    dimension = sql.Literal(len(vector))
    await conn.execute("SELECT set_config('hnsw.ef_search', %s, true)", [str(max(EF_SEARCH, limit))])
    rows = await conn.execute(
        sql.SQL(
            """
            SELECT passage, -(embedding::halfvec({dimension}) <#> %(vector)s::halfvec({dimension})) AS similarity
              FROM vectors
             WHERE space = {space} AND vector_set = {set}
             ORDER BY embedding::halfvec({dimension}) <#> %(vector)s::halfvec({dimension})
             LIMIT %(limit)s
            """
        ).format(dimension=dimension, space=sql.Literal(space), set=sql.Literal(vector_set)),
        {"vector": literal(vector), "limit": limit},
        prepare=False,
    )
    return dict(await rows.fetchall())


async def with_neighbours(conn: Connection, spaces: Sequence[int], passages: Sequence[int]) -> list[Placed]:
    """These, what was said just before and after each of them, and what they answer or are answered by, in order."""
    return await fetch_all(
        conn,
        Placed,
        """
        WITH chosen AS MATERIALIZED (
            SELECT c.passage, c.source_id, c.answers, b.passage AS before, a.passage AS after
              FROM passages c
              LEFT JOIN LATERAL (SELECT p.passage FROM passages p
                                  WHERE p.space = c.space AND (p.at, p.passage) < (c.at, c.passage)
                                  ORDER BY p.at DESC, p.passage DESC LIMIT 1) b ON true
              LEFT JOIN LATERAL (SELECT p.passage FROM passages p
                                  WHERE p.space = c.space AND (p.at, p.passage) > (c.at, c.passage)
                                  ORDER BY p.at, p.passage LIMIT 1) a ON true
             WHERE c.space = ANY(%(spaces)s) AND c.passage = ANY(%(passages)s)
        ), everyone AS (
            SELECT passage FROM chosen UNION SELECT before FROM chosen UNION SELECT after FROM chosen
            UNION
            SELECT p.passage FROM chosen c
              JOIN passages p ON p.source_kind = 'message' AND p.source_id = c.answers AND p.part = 0
             WHERE c.answers IS NOT NULL
            UNION
            SELECT p.passage FROM chosen c
              JOIN passages p ON p.space = ANY(%(spaces)s) AND p.answers = c.source_id AND p.part = 0
        )
        SELECT p.passage, p.space, p.source_kind, p.source_id, p.part, p.speaker, p.at, p.session, p.text,
               p.answers, p.foreign_text, c.before, c.after
          FROM passages p LEFT JOIN chosen c USING (passage)
         -- As an array, so that each is looked up and the space is not read through.
         WHERE p.space = ANY(%(spaces)s) AND p.passage = ANY(ARRAY(SELECT passage FROM everyone))
         ORDER BY p.space, p.at, p.passage
        """,
        {"spaces": list(spaces), "passages": list(passages)},
    )


async def nearness(
    conn: Connection, spaces: Sequence[int], vector_set: int, vector: Vector, passages: Sequence[int], *, tokens: bool
) -> dict[int, Near]:
    """How near in meaning these passages are; those without a vector are left out. `tokens` adds token vectors."""
    rows = await (
        await conn.execute(
            """
            SELECT v.passage, -(v.embedding <#> %(vector)s::halfvec), t.tokens
              FROM vectors v
              LEFT JOIN token_vectors t ON %(tokens)s AND t.space = v.space AND t.vector_set = v.vector_set
                                       AND t.passage = v.passage
             WHERE v.space = ANY(%(spaces)s) AND v.vector_set = %(set)s AND v.passage = ANY(%(passages)s)
            """,
            {
                "vector": literal(vector),
                "spaces": list(spaces),
                "set": vector_set,
                "passages": list(passages),
                "tokens": tokens,
            },
            binary=True,
        )
    ).fetchall()
    return {passage: Near(similarity=similarity, tokens=packed) for passage, similarity, packed in rows}
