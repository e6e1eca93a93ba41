"""What a search over everything needs beyond the index: which spaces somebody may look into, what is called so, and
what things that were found are.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from keepstone.model.found import SearchedSpace
from keepstone.store.db import Connection, fetch_all, fetch_rows

_SPACES = 400  # of somebody who has more, those that are called so, and then those that changed last
_NAMED_AMONG = 5_000  # the newest of each kind, whose names are looked at
_POSTINGS = 3_000  # of a word: who means a more common one writes another beside it
_SHORTENED, _STEM = 4, 4  # letters that a word may have lost in the index, and those that are left at least
_LAST = "\U0010ffff"

# A name with one space between its words and before the first: what is looked for may begin with a space, too.
_WORDS_OF: LiteralString = "' ' || regexp_replace(lower({}), '[[:punct:][:space:]]+', ' ', 'g')"


def _called(column: LiteralString) -> LiteralString:
    """Whether all that is looked for stands in this name."""
    name = _WORDS_OF.replace("{}", column)
    return f"NOT EXISTS (SELECT 1 FROM unnest(%(named)s::text[]) AS one (word) WHERE strpos({name}, one.word) = 0)"


async def spaces_of(
    conn: Connection, user_id: str | None, kinds: Collection[str], named: Sequence[str]
) -> list[SearchedSpace]:
    """Those of this user, or of the account where it is nobody, and what all of the account share; with their parts."""
    query: LiteralString = f"""
        WITH wholes AS MATERIALIZED (
            SELECT s.space, s.kind, s.name, coalesce(a.name, nullif(s.title, ''), s.name) AS title,
                   greatest(s.changed_at, r.last_at) AS at
              FROM spaces s
              LEFT JOIN agents a ON s.kind = 'dm' AND a.account = s.account AND a.slug = s.name
              LEFT JOIN rooms r ON r.account = s.account AND r.space = s.space
             WHERE s.account = %(account)s AND s.part_of IS NULL AND s.deleted_at IS NULL AND s.kind = ANY(%(kinds)s)
               AND CASE WHEN s.kind = 'graph' THEN true
                        WHEN s.kind IN ('workspace', 'room', 'project') THEN EXISTS (
                            SELECT 1 FROM members m
                             WHERE m.account = %(account)s AND m.space = s.space AND m.user_id = %(user)s)
                        ELSE s.owner IS NOT DISTINCT FROM %(user)s END
               AND (s.kind <> 'dm' OR a.deleted_at IS NULL)
             ORDER BY ({_called("coalesce(a.name, nullif(s.title, ''), s.name)")}) DESC, at DESC LIMIT %(most)s)
        SELECT w.space, w.kind, w.name, w.title, NULL AS part, w.at,
               CASE WHEN e.space IS NOT NULL THEN jsonb_build_object('user_id', e.user_id, 'agent_id', e.agent_id,
                   'app_id', e.app_id, 'run_id', e.run_id) END AS entity
          FROM wholes w LEFT JOIN entities e ON e.account = %(account)s AND e.space = w.space
        UNION ALL
        -- But for what a graph's nodes were before.
        SELECT p.space, w.kind, w.name, w.title, split_part(p.name, '/', 2), w.at, NULL
          FROM wholes w JOIN spaces p ON p.account = %(account)s AND p.part_of = w.space AND p.deleted_at IS NULL
         WHERE w.kind <> 'graph'
    """
    params = {"user": user_id, "kinds": list(kinds), "named": list(named), "most": _SPACES}
    return await fetch_all(conn, SearchedSpace, query, params)


async def agents_named(conn: Connection, named: Sequence[str], limit: int) -> dict[str, tuple[str, datetime]]:
    """Agents that are called so, by their slug: with whom one can talk, although nobody has yet."""
    query: LiteralString = f"""
        SELECT slug, name, updated_at FROM agents
         WHERE account = %(account)s AND deleted_at IS NULL AND ({_called("name")} OR {_called("slug")})
         ORDER BY name LIMIT %(limit)s
    """
    rows = await fetch_rows(conn, query, {"named": list(named), "limit": limit})
    return {slug: (name, at) for slug, name, at in rows}


async def named(
    conn: Connection, spaces: Sequence[int], words: Sequence[str], limit: int
) -> dict[str, list[str]]:  # fmt: skip
    """Ids of capsules, chats and documents that are called so, the newest first, by the table they are in."""
    query: LiteralString = f"""
        (SELECT 'memory', m.id FROM (
            SELECT id, title, created_at FROM memories
             WHERE account = %(account)s AND space = ANY(%(spaces)s) AND kind = 'capsule' AND deleted_at IS NULL
               AND cold_at IS NULL
             ORDER BY created_at DESC LIMIT %(among)s) AS m
          WHERE {_called("m.title")} ORDER BY m.created_at DESC LIMIT %(limit)s)
        UNION ALL
        (SELECT 'chat', c.id FROM (
            SELECT id, title, created_at FROM chats
             WHERE account = %(account)s AND space = ANY(%(spaces)s) AND deleted_at IS NULL
             ORDER BY created_at DESC LIMIT %(among)s) AS c
          WHERE {_called("c.title")} ORDER BY c.created_at DESC LIMIT %(limit)s)
        UNION ALL
        (SELECT 'document', d.id FROM (
            SELECT id, name, created_at FROM documents
             WHERE account = %(account)s AND space = ANY(%(spaces)s) AND deleted_at IS NULL
             ORDER BY created_at DESC LIMIT %(among)s) AS d
          WHERE {_called("d.name")} ORDER BY d.created_at DESC LIMIT %(limit)s)
    """
    params = {"spaces": list(spaces), "named": list(words), "among": _NAMED_AMONG, "limit": limit}
    found: dict[str, list[str]] = {"memory": [], "chat": [], "document": []}
    for table, one in await fetch_rows(conn, query, params):
        found[table].append(one)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class WordedPassage:
    source_kind: str
    source_id: str
    text: str


async def with_words(
    conn: Connection, spaces: Sequence[int], words: Sequence[tuple[str, str | None]], limit: int
) -> list[WordedPassage]:
    """Passages in which all of these words may stand, or others that begin so, the latest first: of each its term, and
    what another may begin with. The caller looks: in the index a word stands without its ending, which somebody may
    have begun to write.
    """
    begun = [beginning for _, beginning in words]
    return await fetch_all(
        conn,
        WordedPassage,
        """
        WITH posted AS MATERIALIZED (
            SELECT t.space, t.passage
              FROM unnest(%(terms)s::text[], %(beginnings)s::text[], %(least)s::int[]) WITH ORDINALITY
                   AS asked (term, beginning, least, number)
             CROSS JOIN LATERAL (
                (SELECT t.space, t.passage FROM terms t
                  WHERE t.account = %(account)s AND t.space = ANY(%(spaces)s) AND t.term = asked.term
                  LIMIT %(postings)s)
                UNION
                (SELECT t.space, t.passage FROM terms t
                  WHERE t.account = %(account)s AND t.space = ANY(%(spaces)s)
                    AND t.term >= asked.beginning AND t.term < asked.beginning || %(last)s
                  LIMIT %(postings)s)
                UNION
                (SELECT t.space, t.passage FROM terms t
                  WHERE t.account = %(account)s AND t.space = ANY(%(spaces)s)
                    AND t.term = ANY (ARRAY(SELECT left(asked.beginning, n)
                                              FROM generate_series(asked.least, length(asked.beginning) - 1) n))
                  LIMIT %(postings)s)) AS t
             GROUP BY t.space, t.passage HAVING count(DISTINCT asked.number) = %(number)s
             ORDER BY t.passage DESC LIMIT %(limit)s)
        SELECT p.source_kind, p.source_id, p.text FROM posted
          JOIN passages p ON p.account = %(account)s AND p.space = posted.space AND p.passage = posted.passage
         ORDER BY p.at DESC, p.passage DESC
        """,
        {
            "spaces": list(spaces), "terms": [term for term, _ in words], "beginnings": begun,
            "least": [max(_STEM, len(text) - _SHORTENED) if text else None for text in begun],
            "number": len(words), "last": _LAST, "postings": _POSTINGS, "limit": limit,
        },
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRow:
    """A memory, a document, a chat or a message that is there. `inside` is the chat of a message, or its own id."""

    id: str
    space: int
    kind: str
    title: str
    beginning: str
    at: datetime
    inside: str | None = None


async def memories_found(conn: Connection, ids: Sequence[str], now: datetime) -> dict[str, FoundRow]:
    """Those of them that hold."""
    rows = await fetch_all(
        conn,
        FoundRow,
        """
        SELECT id, space, kind, coalesce(nullif(title, ''), summary, '') AS title, left(content, 1000) AS beginning,
               updated_at AS at
          FROM memories
         WHERE account = %(account)s AND id = ANY(%(ids)s) AND kind IN ('capsule', 'chat', 'semantic', 'entity', 'node')
           AND deleted_at IS NULL AND cold_at IS NULL AND superseded_by IS NULL
           AND (valid_to IS NULL OR valid_to > %(now)s)
        """,
        {"ids": list(ids), "now": now},
    )
    return {row.id: row for row in rows}


async def documents_found(conn: Connection, ids: Sequence[str]) -> dict[str, FoundRow]:
    rows = await fetch_all(
        conn,
        FoundRow,
        """
        SELECT id, space, kind, name AS title, left(content, 1000) AS beginning, updated_at AS at FROM documents
         WHERE account = %(account)s AND id = ANY(%(ids)s) AND deleted_at IS NULL
        """,
        {"ids": list(ids)},
    )
    return {row.id: row for row in rows}


async def chats_found(conn: Connection, ids: Sequence[str]) -> dict[str, FoundRow]:
    rows = await fetch_all(
        conn,
        FoundRow,
        """
        SELECT id, space, 'chat' AS kind, title, '' AS beginning, updated_at AS at FROM chats
         WHERE account = %(account)s AND id = ANY(%(ids)s) AND deleted_at IS NULL
        """,
        {"ids": list(ids)},
    )
    return {row.id: row for row in rows}


async def messages_found(conn: Connection, ids: Sequence[str]) -> dict[str, FoundRow]:
    """Said in a room, a direct message or a scope, or in a chat that is not in the trash."""
    rows = await fetch_all(
        conn,
        FoundRow,
        """
        SELECT m.id, m.space, 'message' AS kind, coalesce(c.title, '') AS title, left(m.text, 1000) AS beginning,
               m.at, c.id AS inside
          FROM messages m LEFT JOIN chats c ON c.account = m.account AND c.id = m.thread_id AND c.space = m.space
         WHERE m.account = %(account)s AND m.id = ANY(%(ids)s) AND c.deleted_at IS NULL
        """,
        {"ids": list(ids)},
    )
    return {row.id: row for row in rows}
