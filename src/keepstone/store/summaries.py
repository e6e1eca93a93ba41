"""Summaries: what stands for a window of messages."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import LiteralString

from keepstone.model.page import Page, PageRequest
from keepstone.model.room import Summary
from keepstone.store.db import (
    NOW,
    Connection,
    fetch_all,
    fetch_one,
    fetch_page,
    fetch_rows,
    fetch_value,
    insert_row,
    select_row,
    select_rows,
    select_value,
    update_rows,
)

_SUMMARY: LiteralString = """
    SELECT id, tier, thread_id, content, starts_at, ends_at, message_count, source_ids, created_at
      FROM summaries
     WHERE account = %(account)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What stands for the beginning of a chat, up to the message at `beyond` (its `seq`); in a room, where things may
    be told late, for `source_ids`.
    """

    id: str
    content: str
    beyond: int
    source_ids: list[str]
    since: datetime  # of this one and of all that it took the place of: it stands for what they stood for


async def insert_compaction(
    conn: Connection, space: int, summary_id: str, thread_id: str, content: str, *, source_ids: Sequence[str],
    visibility: str = "private", **window: datetime,
) -> None:  # fmt: skip
    """In the place of the earlier one of this thread, which stays readable. `window`: starts_at and ends_at."""
    place = {"space": space, "thread_id": thread_id, "tier": "compaction"}
    await update_rows(conn, "summaries", {**place, "superseded_at": None}, {"superseded_at": NOW})
    made = {"id": summary_id, "content": content, "visibility": visibility, **window}
    sources = {"message_count": len(source_ids), "source_ids": list(source_ids)}
    await insert_row(conn, "summaries", {**place, **made, **sources})


async def compaction(conn: Connection, space: int, thread_id: str) -> Compaction | None:
    """The one that holds, of a chat, or of what an agent is given of a room."""
    return await fetch_one(
        conn,
        Compaction,
        """
        SELECT s.id, s.content,
               coalesce((SELECT max(m.seq) FROM messages m WHERE m.account = %(account)s AND m.id = ANY(s.source_ids)),
                        0) AS beyond, s.source_ids,
               (SELECT min(o.starts_at) FROM summaries o
                 WHERE o.account = %(account)s AND o.space = s.space AND o.thread_id = s.thread_id
                   AND o.tier = s.tier) AS since
          FROM summaries s
         WHERE s.account = %(account)s AND s.space = %(space)s AND s.thread_id = %(thread)s AND s.tier = 'compaction'
           AND s.superseded_at IS NULL
        """,
        {"space": space, "thread": thread_id},
    )


async def compaction_of_branch(
    conn: Connection, space: int, chat_id: str, *, before: int | None = None
) -> Compaction | None:
    """Of a chat the latest one that stands for a part of the branch that is gone on with, up to a message before that
    place: it does when the last message it stands for is on it.
    """
    return await fetch_one(
        conn,
        Compaction,
        """
        SELECT s.id, s.content, m.seq AS beyond, s.source_ids, s.starts_at AS since
          FROM summaries s
          JOIN LATERAL (SELECT m.seq, m.aside FROM messages m WHERE m.account = %(account)s AND m.id = ANY(s.source_ids)
                         ORDER BY m.seq DESC LIMIT 1) m ON true
         WHERE s.account = %(account)s AND s.space = %(space)s AND s.thread_id = %(chat)s AND s.tier = 'compaction'
           AND NOT m.aside AND (%(before)s::bigint IS NULL OR m.seq < %(before)s)
         ORDER BY m.seq DESC, s.created_at DESC LIMIT 1
        """,
        {"space": space, "chat": chat_id, "before": before},
    )


async def still_there(conn: Connection, ids: Sequence[str]) -> bool:
    """Whether all of these are: what holds words of somebody who was erased meanwhile is not."""
    return await fetch_value(
        conn,
        "SELECT count(*) = %(number)s FROM summaries WHERE account = %(account)s AND id = ANY(%(ids)s)",
        {"ids": list(ids), "number": len(ids)},
    )


async def content(conn: Connection, summary_id: str) -> str | None:
    return await select_value(conn, "summaries", "content", {"id": summary_id})


async def insert(conn: Connection, space: int, summary: Summary, *, visibility: str) -> None:
    await insert_row(conn, "summaries", {"space": space, "visibility": visibility, **asdict(summary)})


async def supersede(conn: Connection, ids: Sequence[str], at: datetime) -> None:
    """They no longer hold; they stay readable."""
    await update_rows(conn, "summaries", {"id": list(ids)}, {"superseded_at": at})


async def that_hold(
    conn: Connection,
    space: int,
    tier: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 10_000,
) -> list[Summary]:
    """In the order of time, the latest of them."""
    latest_first = await fetch_all(
        conn,
        Summary,
        f"""{_SUMMARY}
           AND space = %(space)s AND tier = %(tier)s AND superseded_at IS NULL
           AND (%(since)s::timestamptz IS NULL OR starts_at >= %(since)s)
           AND (%(until)s::timestamptz IS NULL OR starts_at < %(until)s)
         ORDER BY starts_at DESC, id DESC LIMIT %(limit)s
        """,
        {"space": space, "tier": tier, "since": since, "until": until, "limit": limit},
    )
    return latest_first[::-1]


async def before_now(conn: Connection, space: int) -> list[Summary]:
    """What stands for the time before the last messages: the last week, the days after it, the sessions after those,
    each in the order of time.
    """
    return await fetch_all(
        conn,
        Summary,
        f"""
        WITH week AS ({_SUMMARY} AND space = %(space)s AND tier = 'week' AND superseded_at IS NULL
                       ORDER BY starts_at DESC, id DESC LIMIT 1),
             -- Sub-selects of their own: only so is the time a condition on the index and not asked of every row.
             day AS ({_SUMMARY} AND space = %(space)s AND tier = 'day' AND superseded_at IS NULL
                        AND starts_at >= (SELECT coalesce(max(ends_at), '-infinity') FROM week)
                      ORDER BY starts_at DESC, id DESC LIMIT 3),
             last AS (SELECT ends_at FROM (SELECT * FROM week UNION ALL SELECT * FROM day) AS longer
                       ORDER BY tier, starts_at DESC, id DESC LIMIT 1),
             session AS ({_SUMMARY} AND space = %(space)s AND tier = 'session' AND superseded_at IS NULL
                            AND starts_at >= (SELECT coalesce(max(ends_at), '-infinity') FROM last)
                          ORDER BY starts_at DESC, id DESC LIMIT 3)
        SELECT * FROM (SELECT * FROM week UNION ALL SELECT * FROM day UNION ALL SELECT * FROM session) AS summary
         ORDER BY array_position(ARRAY['week', 'day', 'session'], tier), starts_at, id
        """,
        {"space": space},
    )


async def of_thread(conn: Connection, thread_id: str) -> Summary | None:
    where = {"thread_id": thread_id, "tier": "thread", "superseded_at": None}
    return await select_row(conn, Summary, "summaries", where)


async def page(conn: Connection, space: int, tier: str | None, page: PageRequest) -> Page[Summary]:
    """The latest first."""
    query: LiteralString = f"""{_SUMMARY}
           AND space = %(space)s AND superseded_at IS NULL AND (%(tier)s::text IS NULL OR tier = %(tier)s)"""
    return await fetch_page(conn, Summary, query, {"space": space, "tier": tier}, page, when="starts_at")


async def by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, Summary]:
    summaries = await select_rows(conn, Summary, "summaries", {"id": list(ids), "superseded_at": None})
    return {summary.id: summary for summary in summaries}


async def messages_behind(conn: Connection, ids: Sequence[str]) -> dict[str, frozenset[str]]:
    """The messages that each of these stands for, down through the tiers."""
    rows = await fetch_rows(
        conn,
        """
        WITH RECURSIVE parts AS (
            SELECT s.id AS summary, s.tier, s.source_ids FROM summaries s
             WHERE s.account = %(account)s AND s.id = ANY(%(ids)s)
            UNION
            SELECT p.summary, s.tier, s.source_ids
              FROM parts p JOIN summaries s ON s.account = %(account)s AND s.id = ANY(p.source_ids)
             WHERE p.tier IN ('day', 'week'))
        SELECT summary, array_agg(message)
          FROM parts CROSS JOIN LATERAL unnest(source_ids) AS message
         WHERE tier NOT IN ('day', 'week') GROUP BY summary
        """,
        {"ids": list(ids)},
    )
    return {summary: frozenset(behind) for summary, behind in rows}


async def first_since(conn: Connection, space: int, tier: str, since: datetime) -> datetime | None:
    """When the first of this tier begins, from then on."""
    return await fetch_value(
        conn,
        """
        SELECT min(starts_at) FROM summaries
         WHERE account = %(account)s AND space = %(space)s AND tier = %(tier)s AND superseded_at IS NULL
           AND starts_at >= %(since)s
        """,
        {"space": space, "tier": tier, "since": since},
    )
