"""Stores and their items: memories of the kind `item`, each at one address, with a namespace and a time to live.

What has expired counts as gone from that moment on, also while it is still there.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.item import Item, ItemVersion, Store, joined
from keepstone.store.db import Connection, fetch_all, fetch_one, fetch_value, update_rows

_LABELS: LiteralString = "coalesce(string_to_array(nullif(rtrim(m.namespace, chr(31)), ''), chr(31)), '{}')"
_ITEM: LiteralString = f"""
    SELECT m.id, {_LABELS} AS namespace, m.title AS key, m.content AS text, m.metadata AS options, m.version,
           m.created_at, m.updated_at, m.valid_to AS expires_at, m.deleted_at
      FROM memories m WHERE m.space = %(space)s AND m.kind = 'item'
"""
_LIVE: LiteralString = "AND m.deleted_at IS NULL AND (m.valid_to IS NULL OR m.valid_to > %(now)s)"
# A range of texts instead of a comparison of arrays: row-level security lets only that use the index.
_WANTED: LiteralString = f"""
    {_LIVE} AND m.namespace >= %(prefix)s AND m.namespace < %(prefix)s || chr(1114111)
    AND (%(conditions)s::jsonb IS NULL OR passes(m.content::jsonb, %(conditions)s::jsonb))
"""


def _conditions(
    space: int, prefix: Sequence[str], conditions: Sequence[Mapping[str, Any]], now: datetime
) -> dict[str, Any]:
    return {
        "space": space,
        "prefix": joined(prefix),
        "conditions": Jsonb(list(conditions)) if conditions else None,
        "now": now,
    }


async def stores(conn: Connection, owner: str | None, *, after: tuple[datetime, str] | None, limit: int) -> list[Store]:
    """Of one user, or the account's own; the newest first."""
    at, last = after or (None, None)
    return await fetch_all(
        conn,
        Store,
        """
        SELECT name, memory_count AS item_count, size_bytes, created_at FROM spaces
         WHERE kind = 'store' AND owner IS NOT DISTINCT FROM %(owner)s AND deleted_at IS NULL
           AND (%(at)s::timestamptz IS NULL OR (created_at, name) < (%(at)s, %(last)s))
         ORDER BY created_at DESC, name DESC LIMIT %(limit)s
        """,
        {"owner": owner, "at": at, "last": last, "limit": limit},
    )


async def at_address(conn: Connection, space: int, address: bytes) -> Item | None:
    """Whatever its state: deleted or expired too."""
    return await fetch_one(
        conn, Item, f"{_ITEM} AND m.content_hash = %(address)s", {"space": space, "address": address}
    )


async def insert(conn: Connection, space: int, item: Item, address: bytes, user_id: str | None) -> None:
    await conn.execute(
        """
        INSERT INTO memories (space, id, kind, namespace, title, content, metadata, user_id, content_hash, size_bytes,
                              valid_to, created_at, updated_at, source_type)
        VALUES (%(space)s, %(id)s, 'item', %(namespace)s, %(key)s, %(text)s, %(options)s, %(user)s, %(address)s,
                %(size)s, %(expires)s, %(at)s, %(at)s, 'item')
        """,
        {
            "space": space,
            "id": item.id,
            "namespace": joined(item.namespace),
            "key": item.key,
            "text": item.text,
            "options": Jsonb(item.options),
            "user": user_id,
            "address": address,
            "size": len(item.text.encode()),
            "expires": item.expires_at,
            "at": item.created_at,
        },
    )


async def update(conn: Connection, item: Item) -> None:
    """All of it but its address."""
    changes = {
        "content": item.text, "metadata": Jsonb(item.options), "size_bytes": len(item.text.encode()),
        "version": item.version, "valid_to": item.expires_at, "created_at": item.created_at,
        "updated_at": item.updated_at, "deleted_at": item.deleted_at,
    }  # fmt: skip
    await update_rows(conn, "memories", {"id": item.id, "kind": "item"}, changes)


async def remove(conn: Connection, space: int, item_id: str) -> None:
    """For good, with its versions. Its passages are the caller's."""
    await conn.execute("DELETE FROM memories WHERE space = %s AND kind = 'item' AND id = %s", [space, item_id])


async def refresh(conn: Connection, space: int, ids: Sequence[str], now: datetime) -> None:
    """Their time begins anew. What somebody else is just writing is left to them: nobody waits for the other."""
    await conn.execute(
        """
        UPDATE memories SET valid_to = %(now)s + make_interval(secs => (metadata ->> 'ttl_seconds')::float8)
         WHERE space = %(space)s AND id IN (SELECT id FROM memories
                       WHERE space = %(space)s AND kind = 'item' AND id = ANY(%(ids)s) AND valid_to > %(now)s
                       ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
        """,
        {"space": space, "ids": list(ids), "now": now},
    )


async def by_ids(conn: Connection, space: int, ids: Sequence[str], now: datetime) -> dict[str, Item]:
    found = await fetch_all(
        conn, Item, f"{_ITEM} AND m.id = ANY(%(ids)s) {_LIVE}", {"space": space, "ids": list(ids), "now": now}
    )
    return {one.id: one for one in found}


async def listed(
    conn: Connection,
    space: int,
    prefix: Sequence[str],
    conditions: Sequence[Mapping[str, Any]],
    now: datetime,
    *,
    limit: int,
    offset: int,
) -> list[Item]:
    """What passes, changed last first."""
    return await fetch_all(
        conn,
        Item,
        f"{_ITEM} {_WANTED} ORDER BY m.updated_at DESC, m.id LIMIT %(limit)s OFFSET %(offset)s",
        _conditions(space, prefix, conditions, now) | {"limit": limit, "offset": offset},
    )


async def any_expired(conn: Connection, space: int, now: datetime) -> bool:
    return await fetch_value(
        conn,
        "SELECT EXISTS (SELECT FROM memories WHERE space = %(space)s AND kind = 'item' AND valid_to <= %(now)s)",
        {"space": space, "now": now},
    )


async def passages_of(
    conn: Connection,
    space: int,
    prefix: Sequence[str],
    conditions: Sequence[Mapping[str, Any]],
    now: datetime,
    *,
    most: int,
) -> list[int] | None:
    """The passages of all items that pass; None when those are more items than that."""
    rows = await conn.execute(
        f"""
        WITH passing AS MATERIALIZED (
            SELECT m.id FROM memories m WHERE m.space = %(space)s AND m.kind = 'item' {_WANTED} LIMIT %(most)s + 1)
        SELECT CASE WHEN (SELECT count(*) FROM passing) <= %(most)s
                    THEN ARRAY(SELECT p.passage FROM passages p JOIN passing ON passing.id = p.source_id
                                WHERE p.space = %(space)s AND p.source_kind = 'memory') END
        """,
        _conditions(space, prefix, conditions, now) | {"most": most},
    )
    row = await rows.fetchone()
    return None if row is None else row[0]


async def which_pass(
    conn: Connection,
    space: int,
    prefix: Sequence[str],
    conditions: Sequence[Mapping[str, Any]],
    now: datetime,
    passages: Sequence[int],
) -> set[int]:
    """Those of these passages that are of items that pass."""
    rows = await conn.execute(
        f"""
        SELECT p.passage FROM passages p JOIN memories m ON m.account = p.account AND m.id = p.source_id
         WHERE p.space = %(space)s AND p.passage = ANY(%(passages)s) AND m.space = %(space)s AND m.kind = 'item'
               {_WANTED}
        """,
        _conditions(space, prefix, conditions, now) | {"passages": list(passages)},
    )
    return {row[0] for row in await rows.fetchall()}


async def namespaces(
    conn: Connection,
    space: int,
    *,
    prefix: Sequence[str],
    suffix: Sequence[str],
    max_depth: int | None,
    now: datetime,
    limit: int,
    offset: int,
) -> list[list[str]]:
    """Each once, in their order. A `*` fits any label."""
    rows = await conn.execute(
        f"""
        SELECT DISTINCT labels[1:coalesce(%(depth)s, cardinality(labels))]
          FROM (SELECT DISTINCT {_LABELS} AS labels FROM memories m
                 WHERE m.space = %(space)s AND m.kind = 'item' {_LIVE}) AS n
         WHERE cardinality(labels) >= greatest(cardinality(%(prefix)s::text[]), cardinality(%(suffix)s::text[]))
           AND NOT EXISTS (SELECT FROM unnest(%(prefix)s::text[]) WITH ORDINALITY AS p (label, place)
                            WHERE p.label <> '*' AND p.label <> labels[p.place])
           AND NOT EXISTS (SELECT FROM unnest(%(suffix)s::text[]) WITH ORDINALITY AS p (label, place)
                            WHERE p.label <> '*'
                              AND p.label <> labels[cardinality(labels) - cardinality(%(suffix)s::text[]) + p.place])
         ORDER BY 1 LIMIT %(limit)s OFFSET %(offset)s
        """,
        {
            "space": space,
            "prefix": list(prefix),
            "suffix": list(suffix),
            "depth": max_depth,
            "now": now,
            "limit": limit,
            "offset": offset,
        },
    )
    return [row[0] for row in await rows.fetchall()]


async def in_trash(
    conn: Connection, space: int, now: datetime, *, after: tuple[datetime, str] | None, limit: int
) -> list[Item]:
    at, last = after or (None, None)
    return await fetch_all(
        conn,
        Item,
        f"""{_ITEM} AND m.deleted_at IS NOT NULL AND (m.valid_to IS NULL OR m.valid_to > %(now)s)
           AND (%(at)s::timestamptz IS NULL OR (m.deleted_at, m.id) < (%(at)s, %(last)s))
         ORDER BY m.deleted_at DESC, m.id DESC LIMIT %(limit)s""",
        {"space": space, "now": now, "at": at, "last": last, "limit": limit},
    )


async def versions(conn: Connection, item_id: str, *, before: int | None, limit: int) -> list[ItemVersion]:
    """The latest first."""
    return await fetch_all(
        conn,
        ItemVersion,
        """
        SELECT version, change, content AS text, metadata AS options, changed_by, changed_at FROM memory_versions
         WHERE memory_id = %(id)s AND (%(before)s::int IS NULL OR version < %(before)s)
         ORDER BY version DESC LIMIT %(limit)s
        """,
        {"id": item_id, "before": before, "limit": limit},
    )


async def version(conn: Connection, item_id: str, number: int) -> ItemVersion | None:
    return await fetch_one(
        conn,
        ItemVersion,
        """
        SELECT version, change, content AS text, metadata AS options, changed_by, changed_at FROM memory_versions
         WHERE memory_id = %(id)s AND version = %(number)s
        """,
        {"id": item_id, "number": number},
    )


async def purge(conn: Connection, by_then: datetime) -> int:
    """Remove what has expired, of every account. Needs no scope."""
    return await fetch_value(conn, "SELECT purge_items(%(then)s)", {"then": by_then})
