"""Capsules, as memories of a vault, and their versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.capsule import Capsule, Version
from keepstone.store.db import Connection, fetch_all, fetch_one, fetch_value, update_rows

_COLUMNS: LiteralString = """
    m.id, coalesce(m.title, '') AS title, m.content AS content_md, coalesce(m.type, 'note') AS kind, m.tags,
    m.project_id, m.source_chat_id AS chat_id, m.source_message_id AS message_id, m.metadata, m.size_bytes, m.version,
    m.created_at, m.updated_at, m.accessed_at, m.deleted_at, m.cold_at
"""
_LIVE: LiteralString = "m.space = %(space)s AND m.kind = 'capsule' AND m.deleted_at IS NULL AND m.cold_at IS NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which capsules: all conditions hold together."""

    tag: str | None = None
    kind: str | None = None
    project_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def anything(self) -> bool:
        return self == Wanted()


_WANTED: LiteralString = """
    AND (%(tag)s::text IS NULL OR m.tags @> ARRAY[%(tag)s::text])
    AND (%(kind)s::text IS NULL OR m.type = %(kind)s)
    AND (%(project)s::text IS NULL OR m.project_id = %(project)s)
    AND (%(since)s::timestamptz IS NULL OR m.created_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR m.created_at < %(until)s)
"""


def _conditions(space: int, wanted: Wanted) -> dict[str, Any]:
    return {
        "space": space,
        "tag": wanted.tag,
        "kind": wanted.kind,
        "project": wanted.project_id,
        "since": wanted.since,
        "until": wanted.until,
    }


async def insert(conn: Connection, space: int, capsule: Capsule, content_hash: bytes) -> bool:
    """False when the same is there already."""
    done = await conn.execute(
        """
        INSERT INTO memories (space, id, kind, type, title, content, tags, metadata, project_id, source_chat_id,
                              source_message_id, source_type, content_hash, size_bytes, version, created_at, updated_at,
                              accessed_at, deleted_at, cold_at)
        VALUES (%(space)s, %(id)s, 'capsule', %(kind)s, %(title)s, %(content)s, %(tags)s, %(metadata)s, %(project)s,
                %(chat)s, %(message)s, 'capsule', %(hash)s, %(size)s, %(version)s, %(created)s, %(updated)s,
                %(accessed)s, %(deleted)s, %(cold)s)
        ON CONFLICT DO NOTHING
        """,
        {
            "space": space,
            "id": capsule.id,
            "kind": capsule.kind,
            "title": capsule.title,
            "content": capsule.content_md,
            "tags": capsule.tags,
            "metadata": Jsonb(capsule.metadata),
            "project": capsule.project_id,
            "chat": capsule.chat_id,
            "message": capsule.message_id,
            "hash": content_hash,
            "size": capsule.size_bytes,
            "version": capsule.version,
            "created": capsule.created_at,
            "updated": capsule.updated_at,
            "accessed": capsule.accessed_at,
            "deleted": capsule.deleted_at,
            "cold": capsule.cold_at,
        },
    )
    return done.rowcount > 0


async def by_hash(conn: Connection, space: int, content_hash: bytes) -> Capsule | None:
    return await fetch_one(
        conn,
        Capsule,
        f"SELECT {_COLUMNS} FROM memories m WHERE {_LIVE} AND m.content_hash = %(hash)s",
        {"space": space, "hash": content_hash},
    )


async def saved_again(conn: Connection, space: int, capsule_id: str) -> bool:
    """Whether another that is there says exactly what this one, which is not, said."""
    return await fetch_value(
        conn,
        f"""
        SELECT EXISTS (SELECT FROM memories m JOIN memories gone ON gone.space = m.space
                                                                AND gone.content_hash = m.content_hash
                        WHERE {_LIVE} AND gone.id = %(id)s AND m.id <> gone.id)
        """,
        {"space": space, "id": capsule_id},
    )


async def get(conn: Connection, space: int, capsule_id: str) -> Capsule | None:
    """Whatever its state."""
    return await fetch_one(
        conn,
        Capsule,
        f"SELECT {_COLUMNS} FROM memories m WHERE m.space = %(space)s AND m.kind = 'capsule' AND m.id = %(id)s",
        {"space": space, "id": capsule_id},
    )


async def by_ids(conn: Connection, space: int, ids: Sequence[str]) -> dict[str, Capsule]:
    found = await fetch_all(
        conn,
        Capsule,
        f"SELECT {_COLUMNS} FROM memories m WHERE {_LIVE} AND m.id = ANY(%(ids)s)",
        {"space": space, "ids": list(ids)},
    )
    return {capsule.id: capsule for capsule in found}


async def page(
    conn: Connection,
    space: int,
    wanted: Wanted,
    *,
    after: tuple[datetime, str] | None,
    limit: int,
    ids: Sequence[str] | None = None,
) -> list[Capsule]:
    """The newest first; with `ids` only those."""
    at, last = after or (None, None)
    return await fetch_all(
        conn,
        Capsule,
        f"""
        SELECT {_COLUMNS} FROM memories m
         WHERE {_LIVE} {_WANTED}
           AND (%(ids)s::text[] IS NULL OR m.id = ANY(%(ids)s))
           AND (%(at)s::timestamptz IS NULL OR (m.created_at, m.id) < (%(at)s, %(last)s))
         ORDER BY m.created_at DESC, m.id DESC
         LIMIT %(limit)s
        """,
        _conditions(space, wanted)
        | {"ids": None if ids is None else list(ids), "at": at, "last": last, "limit": limit},
    )


async def ids_of(conn: Connection, space: int, wanted: Wanted) -> list[str]:
    rows = await conn.execute(f"SELECT m.id FROM memories m WHERE {_LIVE} {_WANTED}", _conditions(space, wanted))
    return [row[0] for row in await rows.fetchall()]


async def in_trash(
    conn: Connection, space: int, *, cold: bool, after: tuple[datetime, str] | None, limit: int
) -> list[Capsule]:
    """What was deleted, or moved to the cold tier, the latest first."""
    at, last = after or (None, None)
    state: LiteralString = "m.cold_at IS NOT NULL AND m.deleted_at IS NULL" if cold else "m.deleted_at IS NOT NULL"
    when: LiteralString = "m.cold_at" if cold else "m.deleted_at"
    return await fetch_all(
        conn,
        Capsule,
        f"""
        SELECT {_COLUMNS} FROM memories m
         WHERE m.space = %(space)s AND m.kind = 'capsule' AND {state}
           AND (%(at)s::timestamptz IS NULL OR ({when}, m.id) < (%(at)s, %(last)s))
         ORDER BY {when} DESC, m.id DESC
         LIMIT %(limit)s
        """,
        {"space": space, "at": at, "last": last, "limit": limit},
    )


async def update(conn: Connection, capsule_id: str, changes: Mapping[str, Any]) -> None:
    """Columns of the row by their names."""
    prepared = {name: Jsonb(value) if name == "metadata" else value for name, value in changes.items()}
    await update_rows(conn, "memories", {"id": capsule_id, "kind": "capsule"}, prepared)


async def put_away(
    conn: Connection,
    space: int,
    ids: Sequence[str],
    *,
    deleted_at: datetime | None = None,
    cold_at: datetime | None = None,
    superseded_by: str | None = None,
) -> tuple[int, int]:
    """Another version each, to the trash or the cold tier. Returns how many were in neither before, and their bytes."""
    rows = await conn.execute(
        """
        WITH was AS MATERIALIZED (
            SELECT m.id, m.cold_at IS NULL AS live, m.size_bytes FROM memories m
             WHERE m.space = %(space)s AND m.kind = 'capsule' AND m.id = ANY(%(ids)s)
        ), done AS (
            UPDATE memories m SET deleted_at = coalesce(%(deleted)s, m.deleted_at),
                                  cold_at = coalesce(%(cold)s, m.cold_at),
                                  superseded_by = coalesce(%(by)s, m.superseded_by), version = m.version + 1
              FROM was WHERE m.id = was.id)
        SELECT count(*), coalesce(sum(size_bytes), 0)::bigint FROM was WHERE live
        """,
        {"space": space, "ids": list(ids), "deleted": deleted_at, "cold": cold_at, "by": superseded_by},
    )
    found = await rows.fetchone()
    return found or (0, 0)


async def all_live(conn: Connection, space: int) -> list[str]:
    rows = await conn.execute(f"SELECT m.id FROM memories m WHERE {_LIVE}", {"space": space})
    return [row[0] for row in await rows.fetchall()]


async def titles(conn: Connection, space: int, ids: Sequence[str] | None = None) -> dict[str, str]:
    """Of every capsule that is there, by its id; or of these."""
    rows = await conn.execute(
        f"""
        SELECT m.id, coalesce(m.title, '') FROM memories m
         WHERE {_LIVE} AND (%(ids)s::text[] IS NULL OR m.id = ANY(%(ids)s))
        """,
        {"space": space, "ids": None if ids is None else list(ids)},
    )
    return dict(await rows.fetchall())


async def least_read(conn: Connection, space: int, *, limit: int) -> list[Capsule]:
    """Those that nobody has read for longest."""
    return await fetch_all(
        conn,
        Capsule,
        f"SELECT {_COLUMNS} FROM memories m WHERE {_LIVE} ORDER BY m.accessed_at, m.id LIMIT %(limit)s",
        {"space": space, "limit": limit},
    )


async def touch(conn: Connection, capsule_id: str) -> None:
    """It was read, to the minute."""
    await conn.execute(
        "UPDATE memories SET accessed_at = now() WHERE id = %s AND accessed_at < now() - interval '1 minute'",
        [capsule_id],
    )


async def versions(conn: Connection, space: int, capsule_id: str) -> list[Version]:
    """The latest first."""
    return await fetch_all(
        conn,
        Version,
        """
        SELECT version, change, coalesce(title, '') AS title, content AS content_md, tags, metadata, changed_by,
               changed_at
          FROM memory_versions WHERE space = %(space)s AND memory_id = %(id)s ORDER BY version DESC
        """,
        {"space": space, "id": capsule_id},
    )


async def insert_versions(conn: Connection, space: int, capsule_id: str, versions: Sequence[Version]) -> None:
    """A history that was exported, as it was."""
    async with conn.cursor() as cursor:
        await cursor.executemany(
            """
            INSERT INTO memory_versions (space, memory_id, version, change, title, content, tags, metadata, visibility,
                                         changed_by, changed_at)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 'private', %s, %s) ON CONFLICT DO NOTHING
            """,
            [
                (
                    space, capsule_id, one.version, one.change, one.title, one.content_md, one.tags,
                    Jsonb(one.metadata), one.changed_by, one.changed_at,
                )
                for one in versions
            ],
        )  # fmt: skip


async def tags(conn: Connection, space: int) -> list[tuple[str, int]]:
    """Each tag with the number of capsules that have it, the most used first."""
    rows = await conn.execute(
        f"""
        SELECT tag, count(*) FROM memories m, unnest(m.tags) AS tag WHERE {_LIVE}
         GROUP BY tag ORDER BY count(*) DESC, tag
        """,
        {"space": space},
    )
    return [(row[0], row[1]) for row in await rows.fetchall()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What a vault holds; the row is locked until the transaction ends."""

    space: int
    size_bytes: int
    memory_count: int
    awaits_reading: bool


async def hold(conn: Connection, user_id: str) -> Holding | None:
    """The user's vault, which nobody else changes until the transaction ends."""
    return await fetch_one(
        conn,
        Holding,
        """
        SELECT space, size_bytes, memory_count, awaits_reading FROM spaces
         WHERE kind = 'vault' AND owner = %(user)s AND name = %(user)s FOR NO KEY UPDATE
        """,
        {"user": user_id},
    )


async def look(conn: Connection, user_id: str) -> Holding | None:
    """The same without the lock."""
    return await fetch_one(
        conn,
        Holding,
        """
        SELECT space, size_bytes, memory_count, awaits_reading FROM spaces
         WHERE kind = 'vault' AND owner = %(user)s AND name = %(user)s
        """,
        {"user": user_id},
    )


async def count_put_away(conn: Connection, space: int) -> tuple[int, int]:
    """In the trash, and in the cold tier."""
    row = await (
        await conn.execute(
            """
            SELECT count(*) FILTER (WHERE deleted_at IS NOT NULL), count(*) FILTER (WHERE deleted_at IS NULL)
              FROM memories
             WHERE space = %s AND kind = 'capsule' AND (deleted_at IS NOT NULL OR cold_at IS NOT NULL)
            """,
            [space],
        )
    ).fetchone()
    return row or (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    start: str
    count: int
    titles: list[str]
    tags: list[str]


async def by_date(conn: Connection, space: int, bucket: str, timezone: str) -> list[Dated]:
    """Capsules by day, week or month of their making in this time zone, with their titles and most used tags."""
    return await fetch_all(
        conn,
        Dated,
        f"""
        WITH dated AS (
            SELECT to_char(date_trunc(%(bucket)s, m.created_at AT TIME ZONE %(zone)s), 'YYYY-MM-DD') AS start,
                   coalesce(m.title, '') AS title, m.tags
              FROM memories m WHERE {_LIVE}
        ), tagged AS (
            SELECT d.start, tag, row_number() OVER (PARTITION BY d.start ORDER BY count(*) DESC, tag) AS place
              FROM dated d, unnest(d.tags) AS tag GROUP BY d.start, tag
        ), used AS (
            SELECT t.start, array_agg(t.tag ORDER BY t.place) AS tags FROM tagged t WHERE t.place <= 5 GROUP BY t.start
        )
        SELECT d.start, count(*) AS count, array_agg(d.title) AS titles, coalesce(min(u.tags), '{{}}') AS tags
          FROM dated d LEFT JOIN used u USING (start) GROUP BY d.start ORDER BY d.start
        """,
        {"space": space, "bucket": bucket, "zone": timezone},
    )


async def with_all_terms(conn: Connection, space: int, terms: Sequence[str], *, limit: int) -> dict[str, int]:
    """The capsules in which every one of these terms stands, each with the passage that has most of them."""
    if not terms:
        return {}
    rows = await conn.execute(
        """
        SELECT source_id, (array_agg(passage ORDER BY matched DESC, passage))[1]
          FROM (SELECT p.source_id, p.passage, array_agg(t.term) AS found, count(*) AS matched
                  FROM terms t JOIN passages p ON p.space = t.space AND p.passage = t.passage
                 WHERE t.space = %(space)s AND t.term = ANY(%(terms)s)
                 GROUP BY p.source_id, p.passage) AS each
          CROSS JOIN LATERAL unnest(found) AS term
         GROUP BY source_id
        HAVING count(DISTINCT term) = %(number)s
         LIMIT %(limit)s
        """,
        {"space": space, "terms": list(terms), "number": len(set(terms)), "limit": limit},
    )
    return dict(await rows.fetchall())


async def purge(conn: Connection, days: int) -> int:
    """What has been in the trash or the cold tier for that long, of all accounts. Needs no scope."""
    return await fetch_value(conn, "SELECT purge_memories(%(days)s)", {"days": days})
