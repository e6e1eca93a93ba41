"""What all kinds of memories share: their versions, and how many a space has."""

from collections.abc import Sequence

from keepstone.store.db import Connection


async def add_version(conn: Connection, space: int, ids: Sequence[str], change: str, changed_by: str | None) -> None:
    """The rows as they are now, under their present version."""
    await conn.execute(
        """
        INSERT INTO memory_versions (space, memory_id, version, change, title, content, summary, tags, metadata,
                                     visibility, changed_by)
        SELECT m.space, m.id, m.version, %(change)s, m.title, m.content, m.summary, m.tags, m.metadata, m.visibility,
               %(by)s
          FROM memories m WHERE m.space = %(space)s AND m.id = ANY(%(ids)s)
        """,
        {"space": space, "ids": list(ids), "change": change, "by": changed_by},
    )


async def count_in(conn: Connection, space: int, *, memories: int, size: int) -> None:
    """So many more, or fewer."""
    await conn.execute(
        "UPDATE spaces SET memory_count = memory_count + %s, size_bytes = size_bytes + %s WHERE space = %s",
        [memories, size, space],
    )
