"""What agents remember of rooms, profiles and projects; and landmarks, which are never lost."""

from collections.abc import Sequence
from datetime import datetime
from typing import LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.room import Landmark, RoomMemory
from keepstone.store.db import Connection, fetch_all, fetch_one

_MEMORY: LiteralString = """
    SELECT m.id, coalesce(m.type, 'fact') AS type, m.content AS text, m.user_id, m.agent AS agent_id,
           coalesce(m.run_id, '') AS run_id, m.visibility, m.metadata, m.source_message_id, m.created_at
      FROM memories m
"""
_LANDMARK: LiteralString = """
    SELECT m.id, m.content AS text, coalesce(m.source_type, 'user') AS source_type, m.source_message_id, m.user_id,
           m.superseded_by, m.valid_to AS superseded_at, m.created_at
      FROM memories m
"""


async def insert(conn: Connection, space: int, memory: RoomMemory, content_hash: bytes) -> bool:
    """False when the same is remembered there already."""
    done = await conn.execute(
        """
        INSERT INTO memories (space, id, kind, type, content, metadata, visibility, user_id, agent, run_id, source_type,
                              source_message_id, content_hash, size_bytes, created_at, updated_at, valid_from)
        SELECT %(space)s, %(id)s, 'semantic', %(type)s, %(text)s, %(metadata)s, %(visibility)s, %(user)s, %(agent)s,
               %(run)s, %(source)s, %(message)s, %(hash)s, %(size)s, %(at)s, %(at)s, %(at)s
         WHERE NOT EXISTS (SELECT FROM memories m WHERE m.space = %(space)s AND m.kind = 'semantic'
                              AND m.content_hash = %(hash)s AND m.deleted_at IS NULL)
        """,
        {
            "space": space,
            "id": memory.id,
            "type": memory.type,
            "text": memory.text,
            "metadata": Jsonb(memory.metadata),
            "visibility": memory.visibility,
            "user": memory.user_id,
            "agent": memory.agent_id,
            "run": memory.run_id,
            "source": "message" if memory.source_message_id else "user",
            "message": memory.source_message_id,
            "hash": content_hash,
            "size": len(memory.text.encode()),
            "at": memory.created_at,
        },
    )
    return done.rowcount > 0


async def page(
    conn: Connection, spaces: Sequence[int], *, after: tuple[datetime, str] | None, limit: int
) -> list[RoomMemory]:
    """The newest first."""
    at, last = after or (None, None)
    return await fetch_all(
        conn,
        RoomMemory,
        f"""{_MEMORY}
         WHERE m.space = ANY(%(spaces)s) AND m.kind = 'semantic' AND m.deleted_at IS NULL
           AND (%(at)s::timestamptz IS NULL OR (m.created_at, m.id) < (%(at)s, %(last)s))
         ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s
        """,
        {"spaces": list(spaces), "at": at, "last": last, "limit": limit},
    )


async def by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, RoomMemory]:
    found = await fetch_all(
        conn,
        RoomMemory,
        f"{_MEMORY} WHERE m.id = ANY(%(ids)s) AND m.kind = 'semantic' AND m.deleted_at IS NULL",
        {"ids": list(ids)},
    )
    return {memory.id: memory for memory in found}


async def insert_landmark(conn: Connection, space: int, landmark: Landmark, *, visibility: str, digest: bytes) -> bool:
    """False when the same is pinned there already."""
    done = await conn.execute(
        """
        INSERT INTO memories (space, id, kind, content, visibility, user_id, source_type, source_message_id,
                              content_hash, size_bytes, created_at, updated_at, valid_from)
        SELECT %(space)s, %(id)s, 'landmark', %(text)s, %(visibility)s, %(user)s, %(source)s, %(message)s, %(hash)s,
               %(size)s, %(at)s, %(at)s, %(at)s
         WHERE NOT EXISTS (SELECT FROM memories m WHERE m.space = %(space)s AND m.kind = 'landmark'
                              AND m.content_hash = %(hash)s AND m.superseded_by IS NULL AND m.deleted_at IS NULL)
        """,
        {
            "space": space,
            "id": landmark.id,
            "text": landmark.text,
            "visibility": visibility,
            "user": landmark.user_id,
            "source": landmark.source_type,
            "message": landmark.source_message_id,
            "hash": digest,
            "size": len(landmark.text.encode()),
            "at": landmark.created_at,
        },
    )
    return done.rowcount > 0


async def landmarks(conn: Connection, space: int, *, superseded: bool = False) -> list[Landmark]:
    """Those that hold, in the order in which they were set; or all."""
    return await fetch_all(
        conn,
        Landmark,
        f"""{_LANDMARK}
         WHERE m.space = %(space)s AND m.kind = 'landmark' AND m.deleted_at IS NULL
           AND (%(all)s OR m.superseded_by IS NULL)
         ORDER BY m.created_at, m.id
        """,
        {"space": space, "all": superseded},
    )


async def landmark(conn: Connection, space: int, landmark_id: str) -> Landmark | None:
    return await fetch_one(
        conn,
        Landmark,
        f"{_LANDMARK} WHERE m.space = %(space)s AND m.kind = 'landmark' AND m.id = %(id)s",
        {"space": space, "id": landmark_id},
    )


async def supersede(conn: Connection, space: int, old: Sequence[str], new: str, at: datetime) -> None:
    """What held before stays readable."""
    await conn.execute(
        """
        UPDATE memories SET superseded_by = %(new)s, valid_to = %(at)s, updated_at = %(at)s
         WHERE space = %(space)s AND id = ANY(%(old)s) AND superseded_by IS NULL AND id <> %(new)s
        """,
        {"space": space, "old": list(old), "new": new, "at": at},
    )
