"""What is asked of room memories and landmarks alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from keepstone.model.memory import MemoryT
from keepstone.model.room import Landmark, RoomMemory
from keepstone.store import memories
from keepstone.store.db import Connection, fetch_all, fetch_column

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBefore:
    """What was taken from a message when that was read before. `by_hand`: somebody has corrected or deleted it since;
    `words` are all that it has said then.
    """

    message_id: str
    kind: str
    space: int
    content_hash: bytes
    there: bool
    by_hand: bool
    words: list[str]


async def taken_before(conn: Connection, message_ids: Sequence[str]) -> list[TakenBefore]:
    return await fetch_all(
        conn,
        TakenBefore,
        """
        SELECT m.source_message_id AS message_id, m.kind, m.space, m.content_hash, m.deleted_at IS NULL AS there,
               bool_or(v.change IN ('updated', 'deleted')) AS by_hand, array_agg(DISTINCT v.content) AS words
          FROM memories m
          JOIN memory_versions v ON v.account = %(account)s AND v.memory_id = m.id
         WHERE m.account = %(account)s AND m.source_message_id = ANY(%(ids)s)
         GROUP BY m.account, m.id
        """,
        {"ids": list(message_ids)},
    )
