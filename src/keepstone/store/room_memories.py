"""What is asked of room memories and landmarks alone."""

from collections.abc import Sequence

from keepstone.model.room import Landmark, RoomMemory
from keepstone.store import memories
from keepstone.store.db import Connection, fetch_all

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
