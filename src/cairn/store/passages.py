"""The index: passages with their terms and vectors, and the candidates that a search begins with.

Every query names its spaces, and row-level security names them again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from cairn.model.message import NewPassage, Passage
from cairn.store.db import Connection, fetch_all, fetch_one, fetch_value

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """How large the searched spaces are together."""

    passages: int
    term_total: int
    foreign_text: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    space: int
    passage: int
    speaker: str | None
    text: str


async def insert(conn: Connection, space: int, passages: Sequence[NewPassage]) -> None:
    """Store them with their postings and count them in. The caller holds the space's row."""
    numbers = await (
        await conn.execute(
            """
            INSERT INTO passages (space, source_kind, source_id, part, speaker, at, session, visibility, text, terms,
                                  term_count)
            SELECT %(space)s, i.source_kind, i.source_id, i.part, i.speaker, i.at, i.session, i.visibility, i.text,
                   string_to_array(i.terms, ' '), i.term_count
              FROM unnest(%(kinds)s::text[], %(ids)s::text[], %(parts)s::int[], %(speakers)s::text[],
                          %(times)s::timestamptz[], %(sessions)s::text[], %(visibilities)s::text[], %(texts)s::text[],
                          %(terms)s::text[], %(counts)s::int[])
                   WITH ORDINALITY AS i (source_kind, source_id, part, speaker, at, session, visibility, text, terms,
                                         term_count, place)
             ORDER BY i.place
            RETURNING passage
            """,
            {
                "space": space,
                "kinds": [item.source_kind for item in passages],
                "ids": [item.source_id for item in passages],
                "parts": [item.part for item in passages],
                "speakers": [item.speaker for item in passages],
                "times": [item.at for item in passages],
                "sessions": [item.session for item in passages],
                "visibilities": [item.visibility for item in passages],
                "texts": [item.text for item in passages],
                "terms": [" ".join(item.frequencies) for item in passages],
                "counts": [sum(item.frequencies.values()) for item in passages],
            },
        )
    ).fetchall()
    postings = [
        (term, number, min(frequency, 32767), min(sum(item.frequencies.values()), 32767))
        for (number,), item in zip(numbers, passages, strict=True)
        for term, frequency in item.frequencies.items()
    ]
    await conn.execute(
        """
        INSERT INTO terms (space, term, passage, frequency, length)
        SELECT %(space)s, * FROM unnest(%(terms)s::text[], %(passages)s::bigint[], %(frequencies)s::smallint[],
                                        %(lengths)s::smallint[])
        """,
        {
            "space": space,
            "terms": [posting[0] for posting in postings],
            "passages": [posting[1] for posting in postings],
            "frequencies": [posting[2] for posting in postings],
            "lengths": [posting[3] for posting in postings],
        },
    )
    await conn.execute(
        """
        UPDATE spaces SET passages = passages + %s, term_total = term_total + %s, foreign_text = foreign_text OR %s
         WHERE space = %s
        """,
        [
            len(passages),
            sum(sum(item.frequencies.values()) for item in passages),
            any(item.foreign for item in passages),
            space,
        ],
    )


async def statistics(conn: Connection, spaces: Sequence[int]) -> Statistics:
    found = await fetch_one(
        conn,
        Statistics,
        """
        SELECT coalesce(sum(passages), 0)::bigint AS passages, coalesce(sum(term_total), 0)::bigint AS term_total,
               coalesce(bool_or(foreign_text), false) AS foreign_text
          FROM spaces WHERE space = ANY(%(spaces)s)
        """,
        {"spaces": list(spaces)},
    )
    return found or Statistics(passages=0, term_total=0, foreign_text=False)


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
    conn: Connection, spaces: Sequence[int], weights: Mapping[str, float], *, average: float, limit: int
) -> dict[int, float]:
    """The passages with the best BM25 (k1 1.2, b .75), best first; `weights` are the idf of the question's terms."""
    if not weights:
        return {}
    rows = await conn.execute(
        """
        SELECT t.passage,
               sum(w.weight * t.frequency * 2.2
                   / (t.frequency + 1.2 * (0.25 + 0.75 * t.length / %(average)s)))::float8 AS score
          FROM unnest(%(terms)s::text[], %(weights)s::float8[]) AS w (term, weight)
          JOIN terms t ON t.space = ANY(%(spaces)s) AND t.term = w.term
         GROUP BY t.passage
         ORDER BY score DESC, t.passage
         LIMIT %(limit)s
        """,
        {
            "terms": list(weights),
            "weights": list(weights.values()),
            "spaces": list(spaces),
            "average": max(average, 1.0),
            "limit": limit,
        },
    )
    return dict(await rows.fetchall())


async def by_vector(
    conn: Connection, spaces: Sequence[int], vector_set: int, vector: Vector, *, limit: int
) -> dict[int, float]:
    """The passages nearest in meaning, by an exact scan of these spaces: the sum keeps the planner off an index that
    would lose most of them under the filter."""
    rows = await (
        await conn.execute(
            """
            SELECT passage, -((embedding <#> %(vector)s::halfvec) + 0) AS similarity
              FROM vectors
             WHERE space = ANY(%(spaces)s) AND vector_set = %(set)s
             ORDER BY (embedding <#> %(vector)s::halfvec) + 0
             LIMIT %(limit)s
            """,
            {"vector": _literal(vector), "spaces": list(spaces), "set": vector_set, "limit": limit},
        )
    ).fetchall()
    return dict(rows)


async def neighbours(
    conn: Connection, spaces: Sequence[int], passages: Sequence[int]
) -> dict[int, tuple[int | None, int | None]]:
    """What was said just before and just after each of these, in the same space."""
    rows = await (
        await conn.execute(
            """
            SELECT c.passage,
                   (SELECT p.passage FROM passages p
                     WHERE p.space = c.space AND (p.at, p.passage) < (c.at, c.passage)
                     ORDER BY p.at DESC, p.passage DESC LIMIT 1),
                   (SELECT p.passage FROM passages p
                     WHERE p.space = c.space AND (p.at, p.passage) > (c.at, c.passage)
                     ORDER BY p.at, p.passage LIMIT 1)
              FROM passages c
             WHERE c.space = ANY(%(spaces)s) AND c.passage = ANY(%(passages)s)
            """,
            {"spaces": list(spaces), "passages": list(passages)},
        )
    ).fetchall()
    return {passage: (before, after) for passage, before, after in rows}


async def last_session(conn: Connection, space: int) -> tuple[datetime, str] | None:
    """When somebody last spoke in this space, and in which session."""
    return await (
        await conn.execute(
            "SELECT at, session FROM passages WHERE space = %s AND session IS NOT NULL"
            " ORDER BY at DESC, passage DESC LIMIT 1",
            [space],
        )
    ).fetchone()


async def get(conn: Connection, spaces: Sequence[int], passages: Sequence[int]) -> list[Passage]:
    """In the order in which they were said."""
    return await fetch_all(
        conn,
        Passage,
        """
        SELECT passage, space, source_kind, source_id, part, speaker, at, session, text FROM passages
         WHERE space = ANY(%(spaces)s) AND passage = ANY(%(passages)s)
         ORDER BY space, at, passage
        """,
        {"spaces": list(spaces), "passages": list(passages)},
    )


async def similarities(
    conn: Connection, spaces: Sequence[int], vector_set: int, vector: Vector, passages: Sequence[int]
) -> dict[int, float]:
    """How near in meaning these passages are; those without a vector yet are left out."""
    rows = await (
        await conn.execute(
            """
            SELECT passage, -(embedding <#> %(vector)s::halfvec) FROM vectors
             WHERE space = ANY(%(spaces)s) AND vector_set = %(set)s AND passage = ANY(%(passages)s)
            """,
            {"vector": _literal(vector), "spaces": list(spaces), "set": vector_set, "passages": list(passages)},
        )
    ).fetchall()
    return dict(rows)


async def tokens(conn: Connection, spaces: Sequence[int], vector_set: int, passages: Sequence[int]) -> dict[int, bytes]:
    """The packed token vectors of these passages."""
    rows = await (
        await conn.execute(
            """
            SELECT passage, tokens FROM token_vectors
             WHERE space = ANY(%(spaces)s) AND vector_set = %(set)s AND passage = ANY(%(passages)s)
            """,
            {"spaces": list(spaces), "set": vector_set, "passages": list(passages)},
            binary=True,
        )
    ).fetchall()
    return dict(rows)


async def pending(conn: Connection, space: int, *, limit: int) -> list[Pending]:
    """Passages that still lack a vector, the oldest first."""
    return await fetch_all(
        conn,
        Pending,
        """
        SELECT space, passage, speaker, text FROM passages
         WHERE space = %(space)s AND pending ORDER BY passage LIMIT %(limit)s
        """,
        {"space": space, "limit": limit},
    )


async def pending_spaces(conn: Connection) -> list[tuple[int, int]]:
    """Account and space of everything that still waits for vectors. Needs no scope."""
    return await (await conn.execute("SELECT * FROM pending_spaces()")).fetchall()


async def any_at_all(conn: Connection) -> bool:
    """Needs no scope."""
    return await fetch_value(conn, "SELECT has_passages()")


async def await_vectors_of(conn: Connection, model: str) -> int:
    """Everything that has no vector of this model yet waits for one from now on. Needs no scope."""
    return await fetch_value(conn, "SELECT await_vectors_of(%(model)s)", {"model": model})


async def without_vectors(conn: Connection, space: int, vector_set: int, passages: Sequence[int]) -> set[int]:
    """Which of these have no vector in the set."""
    rows = await (
        await conn.execute(
            """
            SELECT i.passage FROM unnest(%(passages)s::bigint[]) AS i (passage)
             WHERE NOT EXISTS (SELECT FROM vectors v WHERE v.space = %(space)s AND v.vector_set = %(set)s
                                                      AND v.passage = i.passage)
            """,
            {"passages": list(passages), "space": space, "set": vector_set},
        )
    ).fetchall()
    return {row[0] for row in rows}


async def vector_set(conn: Connection, model: str, dimension: int) -> int:
    """The number of this model's set in the account, made when it was not there."""
    await conn.execute(
        """
        INSERT INTO vector_sets (vector_set, model, dimension, state)
        SELECT coalesce(max(vector_set), 0) + 1, %(model)s, %(dimension)s, 'serving' FROM vector_sets
        ON CONFLICT DO NOTHING
        """,
        {"model": model, "dimension": dimension},
    )
    return await fetch_value(
        conn,
        "SELECT vector_set FROM vector_sets WHERE model = %(model)s AND dimension = %(dimension)s",
        {"model": model, "dimension": dimension},
    )


async def serving_sets(conn: Connection) -> dict[str, int]:
    """The sets that search may use, by their model."""
    rows = await (await conn.execute("SELECT model, vector_set FROM vector_sets WHERE state = 'serving'")).fetchall()
    return dict(rows)


async def store_vectors(
    conn: Connection, space: int, vector_set: int, vectors: Mapping[int, Vector], tokens: Mapping[int, bytes]
) -> None:
    """Of passages that are still there; done twice it changes nothing."""
    await conn.execute(
        """
        INSERT INTO vectors (space, vector_set, passage, embedding)
        SELECT p.space, %(set)s, p.passage, i.value::halfvec
          FROM unnest(%(passages)s::bigint[], %(values)s::text[]) AS i (passage, value)
          JOIN passages p ON p.space = %(space)s AND p.passage = i.passage
        ON CONFLICT (account, space, vector_set, passage) DO UPDATE SET embedding = excluded.embedding
        """,
        {
            "space": space,
            "set": vector_set,
            "passages": list(vectors),
            "values": [_literal(v) for v in vectors.values()],
        },
    )
    if tokens:
        await conn.execute(
            """
            INSERT INTO token_vectors (space, vector_set, passage, tokens)
            SELECT p.space, %(set)s, p.passage, i.value
              FROM unnest(%(passages)s::bigint[], %(values)s::bytea[]) AS i (passage, value)
              JOIN passages p ON p.space = %(space)s AND p.passage = i.passage
            ON CONFLICT (account, space, vector_set, passage) DO UPDATE SET tokens = excluded.tokens
            """,
            {"space": space, "set": vector_set, "passages": list(tokens), "values": list(tokens.values())},
        )


async def mark_embedded(conn: Connection, space: int, passages: Sequence[int]) -> None:
    await conn.execute(
        "UPDATE passages SET pending = false WHERE space = %s AND passage = ANY(%s)", [space, list(passages)]
    )


def _literal(vector: Vector) -> str:
    return "[" + ",".join(f"{value:.5g}" for value in vector.tolist()) + "]"
