"""Memory of every kind in one list, over all spaces that somebody reads: pages, counts, and one with all about it.

Of which kinds is asked in pairs of a space and a kind, as the index has them: the newest of each pair come out of it in
their order, however much lies there.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString

from keepstone.model.everything import (
    FacetCount,
    MemoryFilter,
    MemoryVersion,
    OtherMemory,
    QuotedMessage,
    ReadablePlace,
    ShelvedMemory,
)
from keepstone.model.item import joined
from keepstone.model.page import Page, PageRequest, cut_page
from keepstone.store.arrays import bigints, texts
from keepstone.store.db import Connection, fetch_all, fetch_dict, fetch_one, fetch_rows

_SHORT = 400  # characters of a text in a list

_SOURCE: LiteralString = """
    CASE WHEN m.source_type = 'message' THEN 'said'
         WHEN m.kind IN ('entity', 'item') THEN 'program'
         WHEN m.source_type = 'user' THEN 'saved'
         WHEN m.source_type = 'model' THEN 'model'
         ELSE 'distilled' END"""
_USER: LiteralString = "coalesce(p.for_user, m.user_id)"
_AGENT: LiteralString = "coalesce(p.for_agent, nullif(m.agent, '*'))"
_PAIRS: LiteralString = """
    unnest(%(spaces)s::bigint[], %(kinds)s::text[], %(shown)s::text[], %(users)s::text[], %(agents)s::text[])
        AS p (space, kind, shown, for_user, for_agent)"""
# What is there and not over, and passes all filters but those that are counted by.
_THERE: LiteralString = """
    m.account = %(account)s AND m.space = p.space AND m.kind = p.kind AND m.deleted_at IS NULL AND m.cold_at IS NULL
    AND (%(superseded)s OR m.superseded_by IS NULL)
    AND (m.kind NOT IN ('item', 'entity') OR m.valid_to IS NULL OR m.valid_to > %(now)s)
    AND (%(since)s::timestamptz IS NULL OR m.created_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR m.created_at < %(until)s)
    AND (%(namespace)s::text IS NULL OR starts_with(m.path, %(namespace)s))
    AND NOT EXISTS (SELECT 1 FROM unnest(%(words)s::text[]) AS w (word)
                     WHERE strpos(lower(concat_ws(' ', m.title, m.content, m.key)), lower(w.word)) = 0)"""
_ROW: LiteralString = f"""
    SELECT m.id, m.space, p.shown AS kind, m.type, m.title, left(m.content, %(short)s) AS text, m.tags,
           {_USER} AS "user", {_AGENT} AS agent, {_SOURCE} AS source, m.source_chat_id AS chat_id,
           (SELECT c.title FROM chats c
             WHERE c.account = %(account)s AND c.id = m.source_chat_id AND c.deleted_at IS NULL) AS chat_title,
           m.source_message_id AS message_id, m.path, m.key, m.superseded_by IS NOT NULL AS superseded, m.created_at,
           m.updated_at"""


async def readable(conn: Connection, user_id: str | None) -> list[ReadablePlace]:
    """Every space whose memory this user reads, with its parts; without a user, those of the account. None of them is
    in the trash.
    """
    return await fetch_all(
        conn,
        ReadablePlace,
        """
        SELECT s.space, w.kind, w.name AS id, s.part_of IS NOT NULL AS part, s.kind = 'library' AS library, m.role,
               coalesce(nullif(w.title, ''), a.name, CASE WHEN w.kind IN ('store', 'scope') THEN w.name END, '')
                   AS name,
               coalesce(e.user_id, CASE WHEN w.kind IN ('vault', 'store') THEN w.owner END) AS for_user,
               e.agent_id AS for_agent, e.app_id AS for_app, e.run_id AS for_run
          FROM spaces s
          JOIN spaces w ON w.account = %(account)s AND w.space = coalesce(s.part_of, s.space)
          LEFT JOIN members m ON m.account = %(account)s AND m.space = w.space AND m.user_id = %(user)s
                             AND w.kind IN ('workspace', 'room', 'project')
          LEFT JOIN agents a ON a.account = %(account)s AND w.kind = 'dm' AND a.slug = w.name AND a.deleted_at IS NULL
          LEFT JOIN entities e ON e.account = %(account)s AND e.space = s.space
         WHERE s.account = %(account)s AND s.deleted_at IS NULL AND w.deleted_at IS NULL
           AND CASE WHEN w.kind = 'graph' THEN s.part_of IS NULL
                    WHEN w.kind IN ('vault', 'profile') THEN w.owner = %(user)s
                    WHEN w.kind = 'dm' THEN w.owner = %(user)s AND a.slug IS NOT NULL
                    WHEN w.kind IN ('store', 'entity', 'scope') THEN w.owner IS NOT DISTINCT FROM %(user)s
                    WHEN w.kind IN ('workspace', 'room', 'project') THEN m.user_id IS NOT NULL
                    ELSE false END
         ORDER BY s.space
        """,
        {"user": user_id},
    )


def of_pairs(places: Sequence[ReadablePlace]) -> dict[str, Any]:
    """The parameters that say which kinds lie in which spaces."""
    pairs = [(place, kind, shown) for place in places for kind, shown in place.holds]
    return {
        "spaces": bigints([place.space for place, _, _ in pairs]),
        "kinds": texts(kind for _, kind, _ in pairs),
        "shown": texts(shown for _, _, shown in pairs),
        "users": texts(place.for_user for place, _, _ in pairs),
        "agents": texts(place.for_agent for place, _, _ in pairs),
    }


def _given(places: Sequence[ReadablePlace], wanted: MemoryFilter, now: datetime) -> dict[str, Any]:
    return of_pairs(places) | {
        "kind": wanted.kind, "user": wanted.user, "agent": wanted.agent, "source": wanted.source,
        "since": wanted.since, "until": wanted.until, "superseded": wanted.superseded, "words": list(wanted.words),
        "namespace": joined(wanted.namespace) if wanted.namespace else None, "now": now, "short": _SHORT,
    }  # fmt: skip


async def page(
    conn: Connection, places: Sequence[ReadablePlace], wanted: MemoryFilter, page: PageRequest, now: datetime
) -> Page[ShelvedMemory]:
    """The newest first."""
    at, last = page.after or (None, None)
    rows = await fetch_all(
        conn,
        ShelvedMemory,
        f"""
        {_ROW}
          FROM {_PAIRS}
         CROSS JOIN LATERAL (
               SELECT m.* FROM memories m
                WHERE {_THERE}
                  AND (%(user)s::text IS NULL OR {_USER} = %(user)s)
                  AND (%(agent)s::text IS NULL OR {_AGENT} = %(agent)s)
                  AND (%(source)s::text IS NULL OR {_SOURCE} = %(source)s)
                  AND (%(at)s::timestamptz IS NULL OR (m.created_at, m.id) < (%(at)s, %(last)s))
                ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s) m
         WHERE %(kind)s::text IS NULL OR p.shown = %(kind)s
         ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s
        """,
        _given(places, wanted, now) | {"at": at, "last": last, "limit": page.limit + 1},
    )
    return cut_page(rows, page, lambda row: (row.created_at, row.id))


async def facets(
    conn: Connection, places: Sequence[ReadablePlace], wanted: MemoryFilter, now: datetime
) -> list[FacetCount]:  # fmt: skip
    """How many there are of each kind, user, agent and source: each under all the other filters, the most first."""
    return await fetch_all(
        conn,
        FacetCount,
        f"""
        WITH found AS MATERIALIZED (
            SELECT p.shown AS kind, {_USER} AS user_id, {_AGENT} AS agent, {_SOURCE} AS source, count(*) AS number
              FROM {_PAIRS} CROSS JOIN memories m
             WHERE {_THERE} GROUP BY 1, 2, 3, 4
        ), passing AS (
            SELECT *, %(kind)s::text IS NULL OR kind = %(kind)s AS of_kind,
                   %(user)s::text IS NULL OR coalesce(user_id = %(user)s, false) AS of_user,
                   %(agent)s::text IS NULL OR coalesce(agent = %(agent)s, false) AS of_agent,
                   %(source)s::text IS NULL OR source = %(source)s AS of_source FROM found
        ), counted AS (
            SELECT 'kind' AS by, kind AS value, sum(number) FILTER (WHERE of_user AND of_agent AND of_source) AS count
              FROM passing GROUP BY kind
            UNION ALL
            SELECT 'user', user_id, sum(number) FILTER (WHERE of_kind AND of_agent AND of_source)
              FROM passing GROUP BY user_id
            UNION ALL
            SELECT 'agent', agent, sum(number) FILTER (WHERE of_kind AND of_user AND of_source)
              FROM passing GROUP BY agent
            UNION ALL
            SELECT 'source', source, sum(number) FILTER (WHERE of_kind AND of_user AND of_agent)
              FROM passing GROUP BY source)
        SELECT by, value, count::bigint FROM counted WHERE count > 0 AND value IS NOT NULL
         ORDER BY by, count DESC, value
        """,
        _given(places, wanted, now),
    )


async def one(
    conn: Connection, places: Sequence[ReadablePlace], memory_id: str, now: datetime
) -> ShelvedMemory | None:  # fmt: skip
    """With the whole text, if it is there."""
    wanted = _given(places, MemoryFilter(superseded=True), now) | {"id": memory_id, "short": 2**31 - 1}
    query: LiteralString = f"{_ROW} FROM {_PAIRS} CROSS JOIN memories m WHERE m.id = %(id)s AND {_THERE}"
    return await fetch_one(conn, ShelvedMemory, query, wanted)


async def beside(conn: Connection, memory_id: str) -> tuple[dict[str, Any], str | None, bool]:
    """What a list does not show: its metadata, what has taken its place, and whether it may not be changed."""
    [(metadata, superseded_by, immutable)] = await fetch_rows(
        conn,
        "SELECT metadata, superseded_by, immutable FROM memories WHERE account = %(account)s AND id = %(id)s",
        {"id": memory_id},
    )
    return metadata, superseded_by, immutable


async def others(conn: Connection, memory: ShelvedMemory, superseded_by: str | None) -> list[OtherMemory]:
    """What it took the place of, and what has taken its own, as far as they are there."""
    return await fetch_all(
        conn,
        OtherMemory,
        """
        SELECT id, left(content, %(short)s) AS text FROM memories
         WHERE account = %(account)s AND space = %(space)s AND deleted_at IS NULL AND cold_at IS NULL
           AND (superseded_by = %(id)s OR id = %(by)s)
         ORDER BY created_at DESC, id LIMIT 50
        """,
        {"id": memory.id, "space": memory.space, "by": superseded_by, "short": _SHORT},
    )


async def message(conn: Connection, message_id: str) -> QuotedMessage | None:
    """In a space that the transaction reaches; not of a chat that is in the trash."""
    return await fetch_one(
        conn,
        QuotedMessage,
        """
        SELECT m.id, m.speaker, m.text, m.at FROM messages m
         WHERE m.account = %(account)s AND m.id = %(id)s
           AND NOT EXISTS (SELECT 1 FROM chats c
                            WHERE c.account = %(account)s AND c.id = m.thread_id AND c.deleted_at IS NOT NULL)
        """,
        {"id": message_id},
    )


async def versions(conn: Connection, memory_id: str) -> list[MemoryVersion]:
    """The latest first."""
    return await fetch_all(
        conn,
        MemoryVersion,
        """
        SELECT version, change, title, content AS text, changed_at, changed_by FROM memory_versions
         WHERE account = %(account)s AND memory_id = %(id)s ORDER BY version DESC LIMIT 100
        """,
        {"id": memory_id},
    )


async def names(conn: Connection, user_id: str | None, ids: Sequence[str | None]) -> dict[str, str]:
    """What these users are called, as far as this one may know of them: themselves, and who is in a place with them."""
    return await fetch_dict(
        conn,
        """
        SELECT u.id, coalesce(nullif(btrim(u.name), ''), split_part(u.email, '@', 1)) FROM users u
         WHERE u.account = %(account)s AND u.id = ANY(%(ids)s) AND u.erased_at IS NULL
           AND (u.id = %(user)s
                OR EXISTS (SELECT 1 FROM members theirs
                             JOIN members own ON own.account = %(account)s AND own.space = theirs.space
                                             AND own.user_id = %(user)s
                            WHERE theirs.account = %(account)s AND theirs.user_id = u.id))
        """,
        {"user": user_id, "ids": [one for one in ids if one]},
    )
