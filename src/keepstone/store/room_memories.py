"""What is asked of room memories and landmarks alone."""

from collections.abc import Sequence
from datetime import datetime

from keepstone.model.memory import MemoryT
from keepstone.model.room import Landmark, RoomMemory
from keepstone.store import memories
from keepstone.store.db import Connection, fetch_all, fetch_column, fetch_rows

SHAPE = memories.Shape(kind="semantic", row=RoomMemory)
LANDMARK_SHAPE = memories.Shape(kind="landmark", row=Landmark)


async def by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, RoomMemory]:
    return await memories.by_ids(conn, SHAPE, ids)


async def landmarks(conn: Connection, space: int, *, superseded: bool = False) -> list[Landmark]:
    """Those that hold, in the order in which they were set; or all."""
    return await fetch_all(
        conn,
        Landmark,
        f"""{LANDMARK_SHAPE.select} AND m.space = %(space)s {memories.LIVE} AND (%(all)s OR m.superseded_by IS NULL)
         ORDER BY m.created_at, m.id
        """,
        {"space": space, "all": superseded},
    )


# ------------------------------------------------------------------------------------- what a message has to do with it


async def taken_from(
    conn: Connection, shape: memories.Shape[MemoryT], message_id: str, *, away_since: datetime | None = None
) -> list[MemoryT]:
    """What was taken from this message and is there; or what was put away at that moment."""
    return await fetch_all(
        conn,
        shape.row,
        f"""{shape.select} AND m.source_message_id = %(message)s
            AND m.deleted_at IS NOT DISTINCT FROM %(away)s::timestamptz ORDER BY m.id
        """,
        {"message": message_id, "away": away_since},
    )


async def superseded_by(conn: Connection, shape: memories.Shape[MemoryT], ids: Sequence[str]) -> list[MemoryT]:
    """What these have taken the place of, and is there."""
    return await fetch_all(
        conn, shape.row, f"{shape.select} AND m.superseded_by = ANY(%(ids)s) {memories.LIVE} ORDER BY m.id",
        {"ids": list(ids)},
    )  # fmt: skip


async def copies(
    conn: Connection, shape: memories.Shape[MemoryT], memory: MemoryT, spaces: Sequence[int]
) -> list[MemoryT]:
    """What every agent remembers of the same sentence of the same message, in the same state; itself first."""
    return await fetch_all(
        conn,
        shape.row,
        f"""{shape.select} {memories.HERE} AND m.source_message_id = %(message)s AND m.content_hash = %(hash)s
            AND m.type = %(type)s AND m.deleted_at IS NOT DISTINCT FROM %(away)s::timestamptz
         ORDER BY m.id <> %(id)s, m.id
        """,
        {
            "spaces": list(spaces), "message": memory.source_message_id, "hash": memory.content_hash,
            "type": memory.type, "away": memory.deleted_at, "id": memory.id,
        },
    )  # fmt: skip


async def corrected(conn: Connection, ids: Sequence[str]) -> set[str]:
    """Those of these memories whose words somebody has chosen."""
    return set(
        await fetch_column(
            conn,
            """
            SELECT DISTINCT memory_id FROM memory_versions
             WHERE account = %(account)s AND memory_id = ANY(%(ids)s) AND change = 'updated'
            """,
            {"ids": list(ids)},
        )
    )


async def touched(conn: Connection, message_ids: Sequence[str]) -> list[tuple[str, str, str]]:
    """Message, kind and text of every version of what was taken from these messages and then corrected or deleted by
    somebody.
    """
    return await fetch_rows(
        conn,
        """
        SELECT DISTINCT m.source_message_id, m.kind, v.content
          FROM memories m JOIN memory_versions v ON v.account = m.account AND v.memory_id = m.id
         WHERE m.account = %(account)s AND m.source_message_id = ANY(%(ids)s)
           AND EXISTS (SELECT FROM memory_versions c
                        WHERE c.account = %(account)s AND c.memory_id = m.id AND c.change IN ('updated', 'deleted'))
        """,
        {"ids": list(message_ids)},
    )
