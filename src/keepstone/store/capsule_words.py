"""Capsules by the words that stand in them: which have all that are asked for, or words that begin so, and how well
each of them fits.

Nobody reads through a vault. What has a rare word is looked up by it; of common words the newest capsules are looked
at, a window of them at a time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, LiteralString

from psycopg import sql

from keepstone.store import memories
from keepstone.store.capsules import WANTED, CapsuleFilter, params_of
from keepstone.store.db import Connection, fetch_all, fetch_dict, fetch_rows, fetch_value

RANKED = 500  # passages with the rarest word, up to which all capsules that match are compared with each other
_COUNTED = 5_000  # postings of a word: so many or more is common
_LOOK = 5  # times as many of the newest are looked at as are wanted, to see how many of them match
_LOOKED_UP = 3  # capsules are read through in the time in which one is looked up by a term
_SHORTENED = 4  # letters that a word may have lost in the index, where it stands without its ending …
_STEM = 4  # … and those that are left at least
_BEGUN_COUNTS = 0.25  # how much a word that only begins as the one that is asked for says, beside that one itself
_LAST = "\U0010ffff"  # stands behind everything that a word may go on with

Place = tuple[datetime, str]  # of a capsule: when it was made, and its id


@dataclass(frozen=True, slots=True, kw_only=True)
class CapsuleWindow:
    """Capsules from one place to another, the newest first: `after` it and `to` it. `known`: no younger passage counts,
    and nothing made since then; what was there at that time.
    """

    after: Place | None = None
    to: Place | None = None
    known: tuple[datetime, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WordMatch:
    """A capsule in which every word stands, and the passage with most of them."""

    id: str
    created_at: datetime
    passage: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedWords:
    """Words, of each its term and what another may begin with, or None; and in how many of `total` passages, which have
    `average` terms, each or what begins so stands. With the same numbers the same passage fits as well at any time.
    """

    words: Sequence[tuple[str, str | None]]
    counts: Sequence[int]
    total: int
    average: float
    weights: Sequence[float] = field(default=())

    @property
    def params(self) -> dict[str, Any]:
        begun = [beginning for _, beginning in self.words]
        return {
            "terms": [term for term, _ in self.words], "beginnings": begun,
            "least": [max(_STEM, len(text) - _SHORTENED) if text else None for text in begun],
            "number": len(self.words),
        }  # fmt: skip


# The words that are asked for; whether a term of a passage is one of them; and those of the index that may be.
_ASKED: LiteralString = """
    unnest(%(terms)s::text[], %(beginnings)s::text[], %(least)s::int[]) WITH ORDINALITY
        AS asked (term, beginning, least, number)
"""
_IS_ASKED: LiteralString = """
    (word.term = asked.term OR word.term ^@ asked.beginning
     -- In the index a word stands without its ending, which somebody may have begun to write: the text tells.
     OR (asked.beginning ^@ word.term AND length(word.term) >= asked.least
         AND position(asked.beginning IN lower(p.text)) > 0))
"""
_POSTED: LiteralString = """
    (SELECT t.passage FROM terms t WHERE t.account = %(account)s AND t.space = %(space)s AND t.term = asked.term
     UNION
     SELECT t.passage FROM terms t
      WHERE t.account = %(account)s AND t.space = %(space)s
        AND t.term >= asked.beginning AND t.term < asked.beginning || %(last)s
     UNION
     SELECT t.passage FROM terms t
      WHERE t.account = %(account)s AND t.space = %(space)s
        AND t.term = ANY (ARRAY(SELECT left(asked.beginning, n)
                                  FROM generate_series(asked.least, length(asked.beginning) - 1) n
                                 WHERE left(asked.beginning, n) <> asked.term)))
"""


async def count(conn: Connection, space: int, words: Sequence[tuple[str, str | None]]) -> list[int]:
    """In how many passages each of the words may stand, or one that begins so; of a common one no more are counted."""
    asked = AskedWords(words=words, counts=(), total=0, average=0.0)
    query: LiteralString = f"""
        SELECT (SELECT count(*) FROM (SELECT 1 FROM terms t
                                       WHERE t.account = %(account)s AND t.space = %(space)s AND t.term = asked.term
                                       LIMIT %(counted)s) AS itself)
             + (SELECT count(*) FROM (SELECT 1 FROM terms t
                                       WHERE t.account = %(account)s AND t.space = %(space)s AND t.term <> asked.term
                                         AND t.term >= asked.beginning AND t.term < asked.beginning || %(last)s
                                       LIMIT %(counted)s) AS begun)
             + (SELECT count(*) FROM (SELECT 1 FROM terms t
                                       WHERE t.account = %(account)s AND t.space = %(space)s
                                         AND t.term = ANY (ARRAY(
                                             SELECT left(asked.beginning, n)
                                               FROM generate_series(asked.least, length(asked.beginning) - 1) n
                                              WHERE left(asked.beginning, n) <> asked.term))
                                       LIMIT %(counted)s) AS shortened)
          FROM {_ASKED} ORDER BY asked.number
    """
    found = await fetch_rows(conn, query, asked.params | {"space": space, "counted": _COUNTED, "last": _LAST})
    return [row[0] for row in found]


async def newest_passage(conn: Connection, space: int) -> int:
    """The number of the last that was stored; 0 when there is none."""
    query = "SELECT max(passage) FROM passages WHERE account = %(account)s AND space = %(space)s"
    return await fetch_value(conn, query, {"space": space}) or 0


# Capsules that may have every word, by `candidates`, the newest first; of each that has, the passage with most of them.
_LITERAL = sql.SQL(
    f"""
    SELECT m.id, m.created_at, best.passage
      FROM (SELECT m.id, m.created_at FROM memories m
             WHERE m.account = %(account)s AND m.space = %(space)s AND m.kind = 'capsule' {memories.LIVE} {WANTED}
               AND {{candidates}}
               AND (%(after_at)s::timestamptz IS NULL OR (m.created_at, m.id) < (%(after_at)s, %(after_id)s))
               AND (%(to_at)s::timestamptz IS NULL OR (m.created_at, m.id) >= (%(to_at)s, %(to_id)s))
             ORDER BY m.created_at DESC, m.id DESC LIMIT %(most)s) AS m
     CROSS JOIN LATERAL (
        SELECT count(DISTINCT x.number) AS matched, min(x.passage) AS first,
               (array_agg(x.passage ORDER BY x.together DESC, x.passage))[1] AS passage
          FROM (SELECT p.passage, asked.number, count(*) OVER (PARTITION BY p.passage) AS together
                  FROM passages p CROSS JOIN LATERAL unnest(p.terms) AS word (term) JOIN {_ASKED} ON {_IS_ASKED}
                 WHERE p.account = %(account)s AND p.space = %(space)s AND p.source_kind = 'memory'
                   AND p.source_id = m.id
                 GROUP BY p.passage, asked.number) AS x
        OFFSET 0) AS best
     WHERE best.matched = %(number)s
       AND (%(asked_at)s::timestamptz IS NULL OR m.created_at < %(asked_at)s OR best.first <= %(newest)s)
     ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s
    """
)
_ALL = {"most": None, "limit": None}
_NEWEST = sql.SQL("true")
_WITH_RAREST = sql.SQL(
    f"""
    m.id = ANY (ARRAY(SELECT p.source_id
                        FROM (SELECT %(rarest)s::text AS term, %(rarest_begun)s::text AS beginning,
                                     %(rarest_least)s::int AS least) AS asked
                       CROSS JOIN LATERAL {_POSTED} AS t
                        JOIN passages p ON p.account = %(account)s AND p.space = %(space)s AND p.passage = t.passage))
    """
)


async def with_all_words(
    conn: Connection, space: int, wanted: CapsuleFilter, asked: AskedWords, window: CapsuleWindow, *, limit: int
) -> list[WordMatch]:
    """The capsules of the window in which every one of these words stands, the newest first: of common words so many,
    else all.

    Of common words there are enough after a look at the newest capsules; what has a rare one is looked up by it.
    """
    params = asked.params
    place = min(range(len(asked.counts)), key=lambda number: (asked.counts[number], number))
    params |= params_of(wanted) | {
        "space": space, "last": _LAST, "rarest": params["terms"][place], "rarest_begun": params["beginnings"][place],
        "rarest_least": params["least"][place],
    }  # fmt: skip
    params["after_at"], params["after_id"] = window.after or (None, None)
    params["to_at"], params["to_id"] = window.to or (None, None)
    params["asked_at"], params["newest"] = window.known or (None, None)
    rarest = asked.counts[place]
    among_newest, by_rarest = (_LITERAL.format(candidates=which) for which in (_NEWEST, _WITH_RAREST))
    if window.to is not None:  # not many, whatever they say
        return await fetch_all(conn, WordMatch, among_newest, params | _ALL)
    if rarest > RANKED:
        params["limit"] = limit
        matched = await fetch_all(conn, WordMatch, among_newest, params | {"most": _LOOK * limit})
        # So many hold enough, if those that match stand anywhere as likely as among the newest.
        most = int(2 * _LOOK * limit * limit / max(len(matched), 0.5))
        if len(matched) < limit and most * _LOOKED_UP < (rarest if rarest < _COUNTED else asked.total):
            matched = await fetch_all(conn, WordMatch, among_newest, params | {"most": most})
        if len(matched) == limit:
            return matched
        return await fetch_all(conn, WordMatch, by_rarest, params | {"most": None})
    return await fetch_all(conn, WordMatch, by_rarest, params | _ALL)


async def fits(conn: Connection, space: int, asked: AskedWords, passages: Sequence[int]) -> Mapping[int, float]:
    """The BM25 of just these passages. A word that only begins so counts for less than the word itself."""
    query: LiteralString = f"""
        SELECT x.passage, sum(x.score) FROM (
            SELECT p.passage, asked.number,
                   max(asked.weight * CASE WHEN word.term = asked.term THEN 1 ELSE %(begun)s::float8 END
                       * t.frequency * 2.2::float8
                       / (t.frequency + 0.3::float8 + t.length * (0.9::float8 / %(average)s::float8))) AS score
              FROM passages p CROSS JOIN LATERAL unnest(p.terms) AS word (term)
              JOIN unnest(%(terms)s::text[], %(beginnings)s::text[], %(least)s::int[], %(weights)s::float8[])
                   WITH ORDINALITY AS asked (term, beginning, least, weight, number) ON {_IS_ASKED}
              -- Each is looked up: the planner would read all postings of the space.
             CROSS JOIN LATERAL (SELECT t.frequency, t.length FROM terms t
                                  WHERE t.account = %(account)s AND t.space = %(space)s AND t.term = word.term
                                    AND t.passage = p.passage OFFSET 0) AS t
             WHERE p.account = %(account)s AND p.space = %(space)s AND p.passage = ANY(%(passages)s)
             GROUP BY p.passage, asked.number) AS x
         GROUP BY x.passage
    """
    given: dict[str, Any] = {"space": space, "average": max(asked.average, 1.0), "weights": list(asked.weights)}
    given["begun"] = _BEGUN_COUNTS
    return await fetch_dict(conn, query, asked.params | given | {"passages": list(passages)})
