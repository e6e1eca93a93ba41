"""Passages: what can be found, with their terms, and which of them still wait for vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.message import NewPassage
from keepstone.store.db import Connection, columns_of, fetch_all, fetch_rows, fetch_value, take_time, update_rows

_AT_ONCE = 500  # passages in one statement
_FEW = 100  # sources that are gone in no time
TURN_BEFORE = 400  # characters of it: more than an embedder reads


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    space: int
    passage: int
    speaker: str | None
    text: str


async def insert(conn: Connection, space: int, passages: Sequence[NewPassage]) -> None:
    """Store them with their postings and count them in. The caller holds the space's row."""
    # Of a book neither the event loop nor the database should have too much at once.
    for start in range(0, len(passages), _AT_ONCE):
        await _insert(conn, space, passages[start : start + _AT_ONCE])


async def _insert(conn: Connection, space: int, passages: Sequence[NewPassage]) -> None:
    counts = [sum(item.frequencies.values()) for item in passages]
    await conn.execute(
        """
        WITH new AS MATERIALIZED (
            SELECT * FROM unnest(%(source_kind)s::text[], %(source_id)s::text[], %(part)s::int[], %(speaker)s::text[],
                                 %(at)s::timestamptz[], %(session)s::text[], %(visibility)s::text[],
                                 %(text)s::text[], %(terms)s::text[], %(frequencies)s::text[], %(counts)s::int[],
                                 %(answers)s::text[], %(foreign)s::boolean[], %(places)s::jsonb[])
                     WITH ORDINALITY AS i (source_kind, source_id, part, speaker, at, session, visibility, text, terms,
                                           frequencies, term_count, answers, foreign_text, place, number)
        ), stored AS (
            INSERT INTO passages (account, space, source_kind, source_id, part, speaker, at, session, visibility, text,
                                  terms, term_count, answers, foreign_text, place)
            SELECT %(account)s, %(space)s, source_kind, source_id, part, speaker, at, session, visibility, text,
                   string_to_array(terms, ' '), term_count, answers, foreign_text, place
              FROM new ORDER BY number
            RETURNING passage, source_kind, source_id, part, terms
        ), posted AS (
            INSERT INTO terms (account, space, term, passage, frequency, length)
            SELECT %(account)s, %(space)s, posting.term, s.passage, posting.frequency, least(n.term_count, 32767)
              FROM stored s JOIN new n USING (source_kind, source_id, part)
                   CROSS JOIN LATERAL unnest(s.terms, string_to_array(n.frequencies, ' ')::smallint[])
                                      AS posting (term, frequency)
        )
        UPDATE spaces SET passages = passages + %(number)s, term_total = term_total + %(total)s,
                          foreign_text = foreign_text OR %(any_foreign)s
         WHERE account = %(account)s AND space = %(space)s
        """,
        columns_of(passages, "source_kind", "source_id", "part", "speaker", "at", "session", "visibility", "text")
        | columns_of(passages, "answers", "foreign")
        | {
            "space": space,
            "terms": [" ".join(item.frequencies) for item in passages],
            "frequencies": [" ".join(str(min(n, 32767)) for n in item.frequencies.values()) for item in passages],
            "counts": counts,
            "number": len(passages),
            "total": sum(counts),
            "any_foreign": any(item.foreign for item in passages),
            "places": [None if item.place is None else Jsonb(item.place) for item in passages],
        },
    )


# Who spoke next, in the session of each of `these` and for the same readers, unless it is one of them itself: its
# vectors know something of what was said before it.
_BEHIND: LiteralString = """
    behind AS MATERIALIZED (
        SELECT DISTINCT n.space, n.passage
          FROM these t
         CROSS JOIN LATERAL (
            SELECT p.space, p.passage FROM passages p
             WHERE p.account = %(account)s AND p.space = t.space AND p.session = t.session
               AND p.visibility = t.visibility AND p.source_kind = 'message' AND (p.at, p.passage) > (t.at, t.passage)
             ORDER BY p.at, p.passage LIMIT 1) n
         WHERE t.session IS NOT NULL
           AND NOT EXISTS (SELECT FROM these o WHERE o.space = n.space AND o.passage = n.passage)
    ), waiting AS (
        UPDATE passages p SET pending = true FROM behind b
         WHERE p.account = %(account)s AND p.space = b.space AND p.passage = b.passage
    )
"""

# Of the passages in `outdated`. Each is looked up by its key (OFFSET 0 keeps it so): joined, all would be compared with
# all wherever the planner knows too little of a table that was just filled.
_WITHOUT_VECTORS: LiteralString = """
    sets AS MATERIALIZED (
        SELECT o.space, o.passage, s.vector_set FROM outdated o
         CROSS JOIN (SELECT vector_set FROM vector_sets WHERE account = %(account)s) s
    ), without_vectors AS (
        DELETE FROM vectors v WHERE v.account = %(account)s AND v.ctid = ANY (ARRAY(
            SELECT vector.row FROM sets s CROSS JOIN LATERAL (
                SELECT i.ctid AS row FROM vectors i
                 WHERE i.account = %(account)s AND i.space = s.space AND i.vector_set = s.vector_set
                   AND i.passage = s.passage
                OFFSET 0) vector))
    ), without_tokens AS (
        DELETE FROM token_vectors v WHERE v.account = %(account)s AND v.ctid = ANY (ARRAY(
            SELECT vector.row FROM sets s CROSS JOIN LATERAL (
                SELECT i.ctid AS row FROM token_vectors i
                 WHERE i.account = %(account)s AND i.space = s.space AND i.vector_set = s.vector_set
                   AND i.passage = s.passage
                OFFSET 0) vector))
    )
"""


async def delete(conn: Connection, source_kind: str, source_ids: Sequence[str]) -> None:
    """Those of these sources, in whichever of the spaces that the transaction reaches they are; with their terms and
    vectors, and their spaces count them out. Who spoke next waits for vectors anew. Where messages go, the caller holds
    the rows of their spaces. What may be much takes its time: stopped, it could never be deleted.
    """
    if source_kind == "document" or len(source_ids) > _FEW:
        await take_time(conn)
    await conn.execute(
        f"""
        WITH these AS (
            DELETE FROM passages
             WHERE account = %(account)s AND source_kind = %(kind)s AND source_id = ANY(%(ids)s)
            RETURNING space, passage, at, session, visibility, terms, term_count
        ), words AS MATERIALIZED (
            SELECT t.space, t.passage, word COLLATE "C" AS word FROM these t CROSS JOIN LATERAL unnest(t.terms) AS word
        ), without_terms AS (
            DELETE FROM terms t WHERE t.account = %(account)s AND t.ctid = ANY (ARRAY(
                SELECT posting.row FROM words w CROSS JOIN LATERAL (
                    SELECT i.ctid AS row FROM terms i
                     WHERE i.account = %(account)s AND i.space = w.space AND i.term = w.word AND i.passage = w.passage
                    OFFSET 0) posting))
        ), {_BEHIND}, outdated AS (
            SELECT space, passage FROM these UNION ALL SELECT space, passage FROM behind
        ), {_WITHOUT_VECTORS}
        UPDATE spaces s SET passages = s.passages - g.number, term_total = s.term_total - g.total
          FROM (SELECT space, count(*) AS number, sum(term_count) AS total FROM these GROUP BY space) g
         WHERE s.account = %(account)s AND s.space = g.space
        """,
        {"kind": source_kind, "ids": list(source_ids)},
    )


async def await_vectors_behind(conn: Connection, message_ids: Sequence[str]) -> None:
    """These have come between others: who spoke next waits for vectors anew. The caller holds the space's row."""
    await conn.execute(
        f"""
        WITH these AS MATERIALIZED (
            SELECT space, passage, at, session, visibility FROM passages
             WHERE account = %(account)s AND source_kind = 'message' AND source_id = ANY(%(ids)s)
        ), {_BEHIND}, outdated AS (SELECT space, passage FROM behind), {_WITHOUT_VECTORS}
        SELECT
        """,
        {"ids": list(message_ids)},
    )


async def turns_before(conn: Connection, space: int, passages: Sequence[int]) -> dict[int, tuple[str | None, str]]:
    """What was said just before those of these that begin a turn, in their session and for the same readers: speaker
    and the end of the text, by passage.
    """
    rows = await fetch_rows(
        conn,
        """
        SELECT c.passage, b.speaker, right(b.text, %(most)s)
          FROM passages c
         CROSS JOIN LATERAL (
            SELECT p.speaker, p.text FROM passages p
             WHERE p.account = %(account)s AND p.space = %(space)s AND p.session = c.session
               AND p.visibility = c.visibility AND p.source_kind = 'message' AND (p.at, p.passage) < (c.at, c.passage)
             ORDER BY p.at DESC, p.passage DESC LIMIT 1) b
         WHERE c.account = %(account)s AND c.space = %(space)s AND c.passage = ANY(%(passages)s)
           AND c.source_kind = 'message' AND c.part = 0
        """,
        {"space": space, "passages": list(passages), "most": TURN_BEFORE},
    )
    return {passage: (speaker, text) for passage, speaker, text in rows}


async def number(conn: Connection, space: int, source_kind: str, source_id: str) -> int:
    """Of the first passage of something."""
    return await fetch_value(
        conn,
        """
        SELECT passage FROM passages
         WHERE account = %(account)s AND space = %(space)s AND source_kind = %(kind)s AND source_id = %(id)s
         ORDER BY part LIMIT 1
        """,
        {"space": space, "kind": source_kind, "id": source_id},
    )


async def last_session(conn: Connection, space: int) -> tuple[datetime, str] | None:
    """When somebody last spoke in this space, and in which session."""
    rows = await fetch_rows(
        conn,
        """
        SELECT at, session FROM passages WHERE account = %(account)s AND space = %(space)s AND session IS NOT NULL
         ORDER BY at DESC, passage DESC LIMIT 1
        """,
        {"space": space},
    )
    return rows[0] if rows else None


_PASSAGE: LiteralString = """
    SELECT space, passage, speaker, text FROM passages WHERE account = %(account)s AND space = %(space)s
"""


async def pending(conn: Connection, space: int, *, limit: int) -> list[Pending]:
    """Passages that still lack a vector, the oldest first."""
    query: LiteralString = f"{_PASSAGE} AND pending ORDER BY passage LIMIT %(limit)s"
    return await fetch_all(conn, Pending, query, {"space": space, "limit": limit})


async def after(conn: Connection, space: int, passage: int, *, limit: int) -> list[Pending]:
    """The passages of the space behind this one, whether they have vectors or not."""
    query: LiteralString = f"{_PASSAGE} AND passage > %(passage)s ORDER BY passage LIMIT %(limit)s"
    return await fetch_all(conn, Pending, query, {"space": space, "passage": passage, "limit": limit})


async def pending_spaces(conn: Connection) -> list[tuple[int, int]]:
    """Account and space of everything that still waits for vectors. Needs no scope."""
    return await fetch_rows(conn, "SELECT * FROM pending_spaces()")


async def all_spaces(conn: Connection) -> list[tuple[int, int, int]]:
    """Account and space of everything that can be found, and how many passages that are. Needs no scope."""
    return await fetch_rows(conn, "SELECT * FROM filled_spaces()")


async def any_at_all(conn: Connection) -> bool:
    """Needs no scope."""
    return await fetch_value(conn, "SELECT has_passages()")


async def await_vectors_of(conn: Connection, model: str, former: Sequence[str]) -> int:
    """Everything that has no vector of this model yet waits for one from now on, but where one of those serves that it
    takes the place of: there a job of its own makes them. Needs no scope.
    """
    return await fetch_value(
        conn, "SELECT await_vectors_of(%(model)s, %(former)s)", {"model": model, "former": list(former)}
    )


async def mark_embedded(conn: Connection, space: int, passages: Sequence[int]) -> None:
    await update_rows(conn, "passages", {"space": space, "passage": list(passages)}, {"pending": False})
