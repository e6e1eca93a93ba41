"""Which message takes the place of what an earlier one says: by their passages, with how certain that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from keepstone.store import changes
from keepstone.store.db import Connection, fetch_all, fetch_rows


class RevisedPassage(NamedTuple):
    older: int
    newer: int
    certainty: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A whole message, which is one passage."""

    passage: int
    speaker: str | None
    text: str
    at: datetime
    visibility: str


async def turns(conn: Connection, space: int, passages: Sequence[int], *, longest: int) -> list[Turn]:
    """Those of these passages that are a whole message of at most so many characters, in the order of their time."""
    return await fetch_all(
        conn,
        Turn,
        """
        SELECT t.passage, t.speaker, t.text, t.at, t.visibility FROM (
            SELECT p.passage, p.speaker, p.text, p.at, p.visibility, p.source_kind, p.part FROM passages p
             WHERE p.account = %(account)s AND p.space = %(space)s AND p.passage = ANY(%(passages)s)
            OFFSET 0) t  -- by their keys, not by what they are
         WHERE t.source_kind = 'message' AND t.part = 0 AND length(t.text) <= %(longest)s
         ORDER BY t.at, t.passage
        """,
        {"space": space, "passages": list(passages), "longest": longest},
    )


async def nearest(
    conn: Connection, space: int, vector_set: int, passages: Sequence[int], *, limit: int
) -> list[tuple[int, int, int]]:
    """For each of these passages those stored before it that are nearest in meaning, each with its place, from 1 on.
    The space is read through for each: not for large ones.
    """
    return await fetch_rows(
        conn,
        """
        SELECT v.passage, near.passage, row_number() OVER (PARTITION BY v.passage ORDER BY near.distance)
          FROM vectors v
         CROSS JOIN LATERAL (
            SELECT o.passage, (o.embedding <#> v.embedding) + 0 AS distance FROM vectors o
             WHERE o.account = %(account)s AND o.space = %(space)s AND o.vector_set = %(set)s AND o.passage < v.passage
             ORDER BY distance LIMIT %(limit)s) near
         WHERE v.account = %(account)s AND v.space = %(space)s AND v.vector_set = %(set)s
           AND v.passage = ANY(%(passages)s)
        """,
        {"space": space, "set": vector_set, "passages": list(passages), "limit": limit},
    )


async def nearest_among(
    conn: Connection, space: int, vector_set: int, pairs: Sequence[tuple[int, int]], *, limit: int
) -> list[tuple[int, int, int]]:
    """The same among these pairs, of a passage and another."""
    return await fetch_rows(
        conn,
        """
        SELECT ranked.passage, ranked.other, ranked.place FROM (
            SELECT v.passage, o.passage AS other,
                   row_number() OVER (PARTITION BY v.passage ORDER BY o.embedding <#> v.embedding) AS place
              FROM unnest(%(passages)s::bigint[], %(others)s::bigint[]) AS i (passage, other)
             CROSS JOIN LATERAL (
                SELECT n.passage, n.embedding FROM vectors n
                 WHERE n.account = %(account)s AND n.space = %(space)s AND n.vector_set = %(set)s
                   AND n.passage = i.passage
                OFFSET 0) v  -- by their keys
             CROSS JOIN LATERAL (
                SELECT n.passage, n.embedding FROM vectors n
                 WHERE n.account = %(account)s AND n.space = %(space)s AND n.vector_set = %(set)s
                   AND n.passage = i.other
                OFFSET 0) o) ranked
         WHERE ranked.place <= %(limit)s
        """,
        {
            "space": space,
            "set": vector_set,
            "passages": [passage for passage, _ in pairs],
            "others": [other for _, other in pairs],
            "limit": limit,
        },
    )


async def store(conn: Connection, space: int, revisions: Sequence[RevisedPassage]) -> None:
    """What is gone by now is left out."""
    # First: who deletes one of these passages holds the space's row before the passage's.
    await changes.note(conn, space, [revision.older for revision in revisions])
    await conn.execute(
        """
        INSERT INTO revisions (account, space, older, newer, certainty)
        SELECT %(account)s, %(space)s, r.older, r.newer, r.certainty
          FROM unnest(%(older)s::bigint[], %(newer)s::bigint[], %(certainty)s::real[]) AS r (older, newer, certainty)
         WHERE EXISTS (SELECT 1 FROM passages p
                        WHERE p.account = %(account)s AND p.space = %(space)s AND p.passage = r.older)
           AND EXISTS (SELECT 1 FROM passages p
                        WHERE p.account = %(account)s AND p.space = %(space)s AND p.passage = r.newer)
        ON CONFLICT (account, space, older, newer) DO UPDATE SET certainty = excluded.certainty
        """,
        {
            "space": space,
            "older": [revision.older for revision in revisions],
            "newer": [revision.newer for revision in revisions],
            "certainty": [revision.certainty for revision in revisions],
        },
    )


async def of_older(conn: Connection, spaces: Sequence[int], passages: Sequence[int]) -> list[RevisedPassage]:
    """What takes the place of these."""
    rows = await fetch_rows(
        conn,
        """
        SELECT older, newer, certainty FROM revisions
         WHERE account = %(account)s AND space = ANY(%(spaces)s) AND older = ANY(%(passages)s)
        """,
        {"spaces": list(spaces), "passages": list(passages)},
        binary=True,
    )
    return [RevisedPassage._make(row) for row in rows]
