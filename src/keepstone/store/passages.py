"""Passages: what can be found, with their terms, and which of them still wait for vectors."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, LiteralString

import numpy as np

from keepstone.model.message import NewPassage
from keepstone.store.arrays import booleans, integers, jsons, repeated_texts, smallints, texts, times
from keepstone.store.db import Connection, fetch_all, fetch_column, fetch_rows, fetch_value, take_time, update_rows

AT_ONCE = 2_000  # passages in one statement: of a book neither we nor the database should have too much at once
_FEW = 100  # passages that are ready in no time, and sources that are gone in no time
TURN_BEFORE = 400  # characters of it: more than an embedder reads


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    space: int
    passage: int
    source_kind: str
    speaker: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageColumns:
    """Passages as one statement takes them, with their postings in the order of the index over terms."""

    number: int
    columns: Mapping[str, Any]


async def insert(
    conn: Connection, space: int, passages: Sequence[NewPassage], *, size: int | None = None, scheduled: bool = False
) -> None:
    """Store them with their postings and count them in. The caller holds the space's row. With `size` the space grows
    by so many bytes, and has changed; `scheduled`: a job that indexes what is new is on its way from now on.
    """
    for start in range(0, len(passages), AT_ONCE):
        part = passages[start : start + AT_ONCE]
        columns = columns_of(part) if len(part) <= _FEW else await asyncio.to_thread(columns_of, part)
        await insert_columns(conn, space, columns, size=None if start else size, scheduled=scheduled)


async def insert_columns(
    conn: Connection, space: int, passages: PassageColumns, *, size: int | None = None, messages: int = 0,
    scheduled: bool = False,
) -> None:  # fmt: skip
    """The same for passages that are ready for it. Their numbers grow in their order. `messages` is how many of a scope
    they are the first of.
    """
    await conn.execute(
        """
        WITH stored AS (
            INSERT INTO passages (account, space, source_kind, source_id, part, speaker, at, session, visibility, text,
                                  terms, term_count, answers, foreign_text, place)
            SELECT %(account)s, %(space)s, source_kind, source_id, part, speaker, at, session, visibility, text,
                   string_to_array(terms, ' '), term_count, answers, foreign_text, place
              FROM unnest(%(source_kind)s::text[], %(source_id)s::text[], %(part)s::int[], %(speaker)s::text[],
                          %(at)s::timestamptz[], %(session)s::text[], %(visibility)s::text[], %(text)s::text[],
                          %(terms)s::text[], %(counts)s::int[], %(answers)s::text[], %(foreign)s::boolean[],
                          %(places)s::jsonb[])
                     WITH ORDINALITY AS i (source_kind, source_id, part, speaker, at, session, visibility, text, terms,
                                           term_count, answers, foreign_text, place, number)
             ORDER BY number
            RETURNING passage, term_count
        ), numbered AS MATERIALIZED (
            SELECT array_agg(passage ORDER BY passage) AS passages,
                   array_agg(least(term_count, 32767)::smallint ORDER BY passage) AS lengths
              FROM stored
        ), posted AS (
            INSERT INTO terms (account, space, term, passage, frequency, length)
            SELECT %(account)s, %(space)s, posting.term, (SELECT passages FROM numbered)[posting.of_passage],
                   posting.frequency, (SELECT lengths FROM numbered)[posting.of_passage]
              FROM unnest(%(posted_terms)s::text[], %(posted_passages)s::int[], %(posted_frequencies)s::smallint[])
                   AS posting (term, of_passage, frequency)
            RETURNING 1
        ), counted AS (
            UPDATE spaces SET passages = passages + %(number)s, term_total = term_total + %(total)s,
                              foreign_text = foreign_text OR %(any_foreign)s, version = version + 1,
                              size_bytes = size_bytes + coalesce(%(size)s::bigint, 0),
                              message_count = message_count + %(messages)s,
                              changed_at = least(CASE WHEN %(size)s::bigint IS NULL THEN changed_at
                                                      ELSE 'infinity' END, now()),
                              indexing_scheduled = indexing_scheduled OR %(scheduled)s
             WHERE account = %(account)s AND space = %(space)s RETURNING version
        )
        INSERT INTO space_changes (account, space, version, passages)
        SELECT %(account)s, %(space)s, version, (SELECT passages FROM numbered) FROM counted
        RETURNING 1
        """,
        {
            **passages.columns, "number": passages.number, "space": space, "size": size, "messages": messages,
            "scheduled": scheduled,
        },
    )  # fmt: skip


def columns_of(passages: Sequence[NewPassage]) -> PassageColumns:
    """Takes long for thousands of them: then not in the event loop."""
    counts = [sum(item.frequencies.values()) for item in passages]
    written = list(chain.from_iterable(item.frequencies for item in passages))
    vocabulary = sorted(set(written))
    numbers = {term: number for number, term in enumerate(vocabulary)}
    posted = np.fromiter(map(numbers.__getitem__, written), np.int32, len(written))
    order = np.argsort(posted, kind="stable")
    of_passage = np.repeat(np.arange(1, len(passages) + 1), [len(item.frequencies) for item in passages])
    frequencies = np.fromiter(
        chain.from_iterable(item.frequencies.values() for item in passages), np.int64, len(written)
    )
    columns = {
        "source_kind": texts(item.source_kind for item in passages),
        "source_id": texts(item.source_id for item in passages),
        "part": integers([item.part for item in passages]),
        "speaker": texts(item.speaker for item in passages),
        "at": times(item.at for item in passages),
        "session": texts(item.session for item in passages),
        "visibility": texts(item.visibility for item in passages),
        "text": texts(item.text for item in passages),
        "terms": texts(" ".join(item.frequencies) for item in passages),
        "counts": integers(counts),
        "answers": texts(item.answers for item in passages),
        "foreign": booleans([item.foreign for item in passages]),
        "places": jsons(item.place for item in passages),
        "posted_terms": repeated_texts(vocabulary, np.bincount(posted, minlength=len(vocabulary)).tolist()),
        "posted_passages": integers(of_passage[order]),
        "posted_frequencies": smallints(np.minimum(frequencies[order], 32767)),
        "total": sum(counts),
        "any_foreign": any(item.foreign for item in passages),
    }
    return PassageColumns(number=len(passages), columns=columns)


# Who spoke next, in the session of each of `these` and for the same readers, unless it is one of them itself: its
# vectors know something of what was said before it.
_BEHIND: LiteralString = """
    behind AS MATERIALIZED (
        SELECT DISTINCT n.space, n.passage
          FROM these t
         CROSS JOIN LATERAL (
            SELECT s.space, s.passage FROM (
                SELECT p.space, p.passage, p.source_kind FROM passages p
                 WHERE p.account = %(account)s AND p.space = t.space AND p.session = t.session
                   AND p.visibility = t.visibility AND (p.at, p.passage) > (t.at, t.passage)
                 ORDER BY p.at, p.passage
                OFFSET 0) s
             WHERE s.source_kind = 'message' LIMIT 1) n
         WHERE t.session IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM these o WHERE o.space = n.space AND o.passage = n.passage)
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


_NOTE_OUTDATED: LiteralString = """
        INSERT INTO space_changes (account, space, version, passages)
        SELECT %(account)s, c.space, c.version, ARRAY(SELECT o.passage FROM outdated o WHERE o.space = c.space)
          FROM changed c
        RETURNING 1
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
        ), {_WITHOUT_VECTORS}, changed AS (
            UPDATE spaces s SET passages = s.passages - g.number, term_total = s.term_total - g.total,
                                version = s.version + 1
              FROM (SELECT space, count(*) AS number, sum(term_count) AS total FROM these GROUP BY space) g
             WHERE s.account = %(account)s AND s.space = g.space
            RETURNING s.space, s.version
        )
        {_NOTE_OUTDATED}
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
        ), {_BEHIND}, outdated AS (SELECT space, passage FROM behind), {_WITHOUT_VECTORS}, changed AS (
            UPDATE spaces s SET version = s.version + 1
             WHERE s.account = %(account)s AND s.space IN (SELECT space FROM outdated)
            RETURNING s.space, s.version
        )
        {_NOTE_OUTDATED}
        """,
        {"ids": list(message_ids)},
    )


async def turns_before(conn: Connection, space: int, passages: Sequence[int]) -> dict[int, tuple[str | None, str]]:
    """What was said just before those of these that begin a turn, in their session and for the same readers: speaker
    and the end of the text, by passage. Looked up by its key (OFFSET 0 keeps it so) and backwards in an index, without
    sorting: of a table that was just filled the planner knows too little, and would read all of the space for each.
    """
    await conn.execute("SET LOCAL enable_sort = off")
    rows = await fetch_rows(
        conn,
        """
        SELECT c.passage, b.speaker, right(b.text, %(most)s)
          FROM unnest(%(passages)s::bigint[]) AS i (passage)
         CROSS JOIN LATERAL (
            SELECT p.passage, p.source_kind, p.part, p.session, p.visibility, p.at FROM passages p
             WHERE p.account = %(account)s AND p.space = %(space)s AND p.passage = i.passage
            OFFSET 0) c
         CROSS JOIN LATERAL (
            SELECT t.speaker, t.text FROM (
                SELECT p.speaker, p.text, p.source_kind FROM passages p
                 WHERE p.account = %(account)s AND p.space = %(space)s AND p.session = c.session
                   AND p.visibility = c.visibility AND (p.at, p.passage) < (c.at, c.passage)
                 ORDER BY p.at DESC, p.passage DESC
                OFFSET 0) t
             WHERE t.source_kind = 'message' LIMIT 1) b
         WHERE c.source_kind = 'message' AND c.part = 0
        """,
        {"space": space, "passages": list(passages), "most": TURN_BEFORE},
    )
    await conn.execute("SET LOCAL enable_sort = on")
    return {passage: (speaker, text) for passage, speaker, text in rows}


_PASSAGE: LiteralString = """
    SELECT space, passage, source_kind, speaker, text FROM passages WHERE account = %(account)s AND space = %(space)s
"""


async def pending(conn: Connection, space: int, *, limit: int, behind: int = 0) -> list[Pending]:
    """Passages that still lack a vector, the oldest first, from behind that one on."""
    query: LiteralString = f"{_PASSAGE} AND pending AND passage > %(passage)s ORDER BY passage LIMIT %(limit)s"
    return await fetch_all(conn, Pending, query, {"space": space, "passage": behind, "limit": limit})


async def after(conn: Connection, space: int, passage: int, *, limit: int) -> list[Pending]:
    """The passages of the space behind this one, whether they have vectors or not."""
    query: LiteralString = f"{_PASSAGE} AND passage > %(passage)s ORDER BY passage LIMIT %(limit)s"
    return await fetch_all(conn, Pending, query, {"space": space, "passage": passage, "limit": limit})


async def not_of_session(conn: Connection, spaces: Sequence[int], some: Sequence[int], session: str) -> set[int]:
    """Those of these passages that were not said in this session."""
    kept = await fetch_column(
        conn,
        """
        SELECT passage FROM passages
         WHERE account = %(account)s AND space = ANY(%(spaces)s) AND passage = ANY(%(some)s)
           AND session IS DISTINCT FROM %(session)s
        """,
        {"spaces": list(spaces), "some": list(some), "session": session},
    )
    return set(kept)


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
