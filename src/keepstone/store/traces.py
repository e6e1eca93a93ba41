"""Traces: written a few at a time after the answer, read by whom row-level security lets, removed when they are old.

Who may read one is settled twice: by `readers`, which the policy compares with the transaction's reader, and by what
the places and sources of a trace are now.
"""

from collections.abc import Collection, Sequence
from typing import LiteralString

from keepstone.model.page import Page, PageRequest
from keepstone.model.trace import (
    NamedSource,
    PlaceNow,
    StoredTrace,
    TraceAnswer,
    TraceFilter,
    TracePlace,
    TraceRow,
)
from keepstone.store.arrays import bigints, integers, jsons, reals, texts, times
from keepstone.store.db import Connection, fetch_all, fetch_column, fetch_dict, fetch_one, fetch_page, fetch_value

_SHORT = 200  # characters of a question in a list
_MOST_PLACES = 200

# Whether a space (s) is the user's to see now: the account's, their own, or one that they are a member of.
_SEEN: LiteralString = """
    s.deleted_at IS NULL AND CASE
        WHEN s.kind IN ('graph', 'global') THEN true
        WHEN s.owner IS NOT NULL THEN s.owner = %(user)s
        WHEN s.kind IN ('scope', 'store', 'entity') THEN %(user)s::text IS NULL
        ELSE EXISTS (SELECT 1 FROM members m
                      WHERE m.account = %(account)s AND m.space = s.space AND m.user_id = %(user)s) END
"""
# How callers name it.
_NAME: LiteralString = """
    CASE WHEN s.kind IN ('scope', 'store', 'dm') THEN s.kind || ':' || s.name
         WHEN s.kind = 'vault' THEN 'capsules'
         WHEN s.kind = 'entity' THEN 'mem0'
         ELSE s.name END
"""
# And how people do; null where the name of its kind says it.
_TITLE: LiteralString = """
    CASE WHEN s.kind IN ('scope', 'store') THEN s.name
         WHEN s.kind = 'dm' THEN (SELECT a.name FROM agents a WHERE a.account = %(account)s AND a.slug = s.name)
         ELSE nullif(s.title, '') END
"""
_ANSWERED_WITHIN: LiteralString = "interval '1 day'"


async def insert(conn: Connection, rows: Sequence[StoredTrace]) -> int:
    """Those of one account, without what is of a place or a user who is gone meanwhile. Returns how many are kept."""
    kept = await fetch_column(
        conn,
        """
        INSERT INTO traces (account, id, at, kind, surface, user_id, readers, people, space, spaces, sources, tokens,
                            milliseconds, content)
        SELECT %(account)s, n.id, n.at, n.kind, n.surface, n.user_id,
               ARRAY(SELECT jsonb_array_elements_text(n.ids -> 'readers')),
               ARRAY(SELECT jsonb_array_elements_text(n.ids -> 'people')), nullif(n.space, 0),
               ARRAY(SELECT jsonb_array_elements_text(n.ids -> 'spaces')::bigint),
               ARRAY(SELECT jsonb_array_elements_text(n.ids -> 'sources')), n.tokens, n.milliseconds, n.content
          FROM unnest(%(ids)s::text[], %(at)s::timestamptz[], %(kinds)s::text[], %(surfaces)s::text[],
                      %(users)s::text[], %(places)s::bigint[], %(lists)s::jsonb[], %(tokens)s::int[], %(ms)s::real[],
                      %(contents)s::jsonb[])
               AS n (id, at, kind, surface, user_id, space, ids, tokens, milliseconds, content)
         WHERE NOT EXISTS (SELECT 1 FROM users u
                            WHERE u.account = %(account)s AND u.erased_at IS NOT NULL
                              AND (u.id = n.user_id OR n.ids -> 'people' ? u.id OR n.ids -> 'readers' ? u.id))
           AND (n.user_id IS NULL
                OR EXISTS (SELECT 1 FROM users u WHERE u.account = %(account)s AND u.id = n.user_id))
           AND (n.space = 0 OR EXISTS (SELECT 1 FROM spaces s WHERE s.account = %(account)s AND s.space = n.space))
        ON CONFLICT DO NOTHING
        RETURNING 1
        """,
        {
            "ids": texts(row.id for row in rows),
            "at": times(row.at for row in rows),
            "kinds": texts(row.kind for row in rows),
            "surfaces": texts(row.surface for row in rows),
            "users": texts(row.user_id for row in rows),
            "places": bigints([row.space or 0 for row in rows]),
            "lists": jsons(
                {"readers": row.readers, "people": row.people, "spaces": row.spaces, "sources": row.sources}
                for row in rows
            ),
            "tokens": integers([row.tokens for row in rows]),
            "ms": reals([row.milliseconds for row in rows]),
            "contents": jsons(row.content for row in rows),
        },
    )
    return len(kept)


async def page(
    conn: Connection, user_id: str | None, wanted: TraceFilter, space: int | None, within: Collection[int] | None,
    page: PageRequest,
) -> Page[TraceRow]:  # fmt: skip
    """The newest first: what the user asked, or what was asked in this space, as far as they see it all now."""
    query: LiteralString = f"""
        SELECT t.id, t.at, t.kind, t.surface, t.user_id, coalesce(nullif(u.name, ''), u.email) AS person,
               {_NAME} AS space, {_TITLE} AS place, t.space AS in_space, t.tokens, t.milliseconds,
               left(t.content ->> 'question', %(short)s) AS question, t.content ->> 'question_id' AS question_id,
               jsonb_array_length(t.content -> 'candidates') AS found,
               (SELECT count(*)::int FROM jsonb_array_elements(t.content -> 'candidates') AS c (one)
                 WHERE NOT c.one ? 'left_out') AS used
          FROM traces t
          LEFT JOIN spaces s ON s.account = %(account)s AND s.space = t.space
          LEFT JOIN users u ON u.account = %(account)s AND u.id = t.user_id
         WHERE t.account = %(account)s
           AND CASE WHEN %(space)s::bigint IS NULL THEN t.user_id IS NOT DISTINCT FROM %(user)s
                    ELSE t.space = %(space)s END
           AND (%(kind)s::text IS NULL OR t.kind = %(kind)s)
           AND (%(asker)s::text IS NULL OR t.user_id = %(asker)s)
           AND (%(text)s::text IS NULL OR strpos(lower(t.content ->> 'question'), lower(%(text)s)) > 0)
           AND (%(since)s::timestamptz IS NULL OR t.at >= %(since)s)
           AND (%(until)s::timestamptz IS NULL OR t.at < %(until)s)
           AND (%(within)s::bigint[] IS NULL OR t.space IS NOT NULL AND t.spaces <@ %(within)s::bigint[])
           AND (t.space IS NULL OR {_SEEN})
    """
    params = {
        "user": user_id, "space": space, "kind": wanted.kind, "since": wanted.since, "until": wanted.until,
        "within": None if within is None else list(within), "short": _SHORT, "asker": wanted.user_id,
        "text": wanted.text,
    }  # fmt: skip
    return await fetch_page(conn, TraceRow, query, params, page, when="t.at", key="t.id")


async def places(conn: Connection, user_id: str | None, within: Collection[int] | None) -> list[TracePlace]:
    """Where the user asked something that is kept, as far as they see it now; the latest first."""
    return await fetch_all(
        conn,
        TracePlace,
        f"""
        SELECT {_NAME} AS space, {_TITLE} AS place, s.kind, t.traces, t.last_at
          FROM (SELECT space, count(*)::int AS traces, max(at) AS last_at FROM traces
                 WHERE account = %(account)s AND user_id IS NOT DISTINCT FROM %(user)s AND space IS NOT NULL
                   AND (%(within)s::bigint[] IS NULL OR spaces <@ %(within)s::bigint[])
                 GROUP BY space) t
          JOIN spaces s ON s.account = %(account)s AND s.space = t.space
         WHERE s.kind <> 'entity' AND {_SEEN}
         ORDER BY t.last_at DESC LIMIT %(most)s
        """,
        {"user": user_id, "within": None if within is None else list(within), "most": _MOST_PLACES},
    )


async def get(conn: Connection, trace_id: str) -> StoredTrace | None:
    return await fetch_one(
        conn,
        StoredTrace,
        """
        SELECT id, at, kind, surface, user_id, readers, people, space, spaces, sources, tokens, milliseconds, content
          FROM traces WHERE account = %(account)s AND id = %(id)s
        """,
        {"id": trace_id},
    )


async def space_named(conn: Connection, kind: str, name: str, user_id: str | None) -> int | None:
    """The number of a space that the user sees."""
    return await fetch_value(
        conn,
        f"""
        SELECT s.space FROM spaces s
         WHERE s.account = %(account)s AND s.kind = %(kind)s AND s.name = %(name)s AND s.part_of IS NULL AND {_SEEN}
        """,
        {"kind": kind, "name": name, "user": user_id},
    )


async def places_now(
    conn: Connection, spaces: Sequence[int], asked_in: int | None, user_id: str | None
) -> list[PlaceNow]:  # fmt: skip
    """What these spaces are now, and those that they are part of; without what is in the trash."""
    return await fetch_all(
        conn,
        PlaceNow,
        f"""
        SELECT s.space, s.kind, {_NAME} AS name, {_TITLE} AS title, s.owner, s.part_of, ({_SEEN}) AS member,
               s.kind = 'profile' AND EXISTS (
                   SELECT 1 FROM members p
                    WHERE p.account = %(account)s AND p.space = %(asked_in)s AND p.user_id = s.owner)
               OR s.kind = 'project' AND EXISTS (
                   SELECT 1 FROM rooms r
                    WHERE r.account = %(account)s AND r.space = %(asked_in)s AND r.project_id = s.name) AS of_room
          FROM spaces s
         WHERE s.account = %(account)s AND s.deleted_at IS NULL
           AND (s.space = ANY(%(spaces)s)
                OR s.space IN (SELECT p.part_of FROM spaces p
                                WHERE p.account = %(account)s AND p.space = ANY(%(spaces)s)))
        """,
        {"spaces": list(spaces), "asked_in": asked_in, "user": user_id},
    )


async def still_there(conn: Connection, ids: Sequence[str]) -> set[str]:
    """Which of these sources can be read in the transaction's scope: neither deleted nor over."""
    return set(
        await fetch_column(
            conn,
            """
            SELECT id FROM memories
             WHERE account = %(account)s AND id = ANY(%(ids)s) AND deleted_at IS NULL
               AND (kind <> 'item' OR valid_to IS NULL OR valid_to > now())
            UNION ALL SELECT m.id FROM messages m
                       WHERE m.account = %(account)s AND m.id = ANY(%(ids)s)
                         AND NOT EXISTS (SELECT 1 FROM chats c WHERE c.account = %(account)s AND c.id = m.thread_id
                                                               AND c.deleted_at IS NOT NULL)
            UNION ALL SELECT id FROM summaries WHERE account = %(account)s AND id = ANY(%(ids)s)
            UNION ALL SELECT id FROM documents
                       WHERE account = %(account)s AND id = ANY(%(ids)s) AND deleted_at IS NULL
            UNION ALL SELECT 'agent:' || slug FROM agents
                       WHERE account = %(account)s AND 'agent:' || slug = ANY(%(ids)s) AND deleted_at IS NULL
            UNION ALL SELECT id FROM facts
                       WHERE account = %(account)s AND id = ANY(%(ids)s) AND superseded_at IS NULL
            """,
            {"ids": list(ids)},
        )
    )


async def names_of_sources(conn: Connection, ids: Sequence[str]) -> dict[str, NamedSource]:
    """What people call these, as far as they can be read in the transaction's scope."""
    rows = await fetch_all(
        conn,
        NamedSource,
        """
        SELECT id, kind, nullif(title, '') AS title, actor AS speaker, created_at AS said_at,
               source_chat_id AS thread_id
          FROM memories WHERE account = %(account)s AND id = ANY(%(ids)s)
        UNION ALL SELECT id, 'message', NULL, speaker, at, thread_id FROM messages
                   WHERE account = %(account)s AND id = ANY(%(ids)s)
        UNION ALL SELECT id, 'summary', NULL, NULL, starts_at, NULL FROM summaries
                   WHERE account = %(account)s AND id = ANY(%(ids)s)
        UNION ALL SELECT id, kind, name, NULL, created_at, NULL FROM documents
                   WHERE account = %(account)s AND id = ANY(%(ids)s)
        UNION ALL SELECT id, 'fact', key, NULL, NULL, NULL FROM facts
                   WHERE account = %(account)s AND id = ANY(%(ids)s)
        """,
        {"ids": list(ids)},
    )
    return {row.id: row for row in rows}


async def names_of(conn: Connection, users: Sequence[str], agents: Sequence[str]) -> dict[str, str]:
    """Of users by their ids, of agents by their slugs."""
    return await fetch_dict(
        conn,
        """
        SELECT id, coalesce(nullif(name, ''), email) FROM users
         WHERE account = %(account)s AND id = ANY(%(users)s) AND erased_at IS NULL
        UNION ALL SELECT slug, name FROM agents WHERE account = %(account)s AND slug = ANY(%(agents)s)
        """,
        {"users": list(users), "agents": list(agents)},
    )


async def answer_to(conn: Connection, trace: StoredTrace) -> TraceAnswer | None:
    """What was said to a prompt and names its trace, where it was asked."""
    return await fetch_one(
        conn,
        TraceAnswer,
        f"""
        SELECT id AS message_id, speaker, text, at AS said_at, thread_id FROM messages
         WHERE account = %(account)s AND space = ANY(%(spaces)s) AND metadata ->> 'trace_id' = %(id)s
           AND at >= %(at)s AND at < %(at)s + {_ANSWERED_WITHIN}
         ORDER BY at, seq LIMIT 1
        """,
        {"id": trace.id, "at": trace.at, "spaces": trace.spaces},
    )


async def still_said(conn: Connection, space: int, statements: Sequence[str]) -> set[str]:
    """Which of these are still noted of people in the space."""
    return set(
        await fetch_column(
            conn,
            """
            SELECT DISTINCT text FROM statements
             WHERE account = %(account)s AND space = %(space)s AND text = ANY(%(texts)s) AND deleted_at IS NULL
            """,
            {"space": space, "texts": texts(statements)},
        )
    )


async def purge(conn: Connection, days: int, trash_days: int) -> int:
    """What is older goes, of every account, and what quotes something that is about to be purged. Needs no scope."""
    return await fetch_value(
        conn, "SELECT purge_traces(%(days)s, %(trash_days)s)", {"days": days, "trash_days": trash_days}
    )
