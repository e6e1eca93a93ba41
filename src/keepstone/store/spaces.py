"""Spaces and who is in them."""

from collections.abc import Collection
from typing import LiteralString

from keepstone.store.db import Connection, fetch_value, insert_new_row, update_rows

_FROM_THIS: LiteralString = """
    FROM spaces
   WHERE account = %(account)s AND kind = %(kind)s AND name = %(name)s AND owner IS NOT DISTINCT FROM %(owner)s
"""


async def ensure(conn: Connection, *, kind: str, name: str, owner: str | None = None, title: str = "") -> int:
    """The number of this space, made when it was not there. Two who make it at once get the same."""
    await insert_new_row(conn, "spaces", {"kind": kind, "name": name, "owner": owner, "title": title})
    return await fetch_value(conn, f"SELECT space {_FROM_THIS}", {"kind": kind, "name": name, "owner": owner})


async def find(conn: Connection, *, kind: str, name: str, owner: str | None) -> int | None:
    return await fetch_value(
        conn,
        f"SELECT space {_FROM_THIS} AND deleted_at IS NULL",
        {"kind": kind, "name": name, "owner": owner},
    )


async def hold(conn: Connection, *, kind: str, name: str, owner: str | None) -> int:
    """The number of this space, made when it was not there. Until the transaction ends, nobody else adds to it."""
    space = await _hold(conn, kind, name, owner)
    if space is None:
        await ensure(conn, kind=kind, name=name, owner=owner)
        space = await _hold(conn, kind, name, owner)
    assert space is not None  # noqa: S101  just made
    return space


async def _hold(conn: Connection, kind: str, name: str, owner: str | None) -> int | None:
    return await fetch_value(
        conn, f"SELECT space {_FROM_THIS} FOR NO KEY UPDATE", {"kind": kind, "name": name, "owner": owner}
    )


async def lock(conn: Connection, spaces: Collection[int]) -> None:
    """Until the transaction ends, nobody else changes what is in them; always in one order, so that nobody waits for
    somebody who waits for them.
    """
    await conn.execute(
        """
        SELECT FROM spaces WHERE account = %(account)s AND space = ANY(%(spaces)s)
         ORDER BY space FOR NO KEY UPDATE
        """,
        {"spaces": list(spaces)},
    )


async def mark_indexing_scheduled(conn: Connection, space: int) -> bool:
    """Whether no job was scheduled yet that indexes what is new; from now on one is."""
    idle = {"space": space, "indexing_scheduled": False}
    return await update_rows(conn, "spaces", idle, {"indexing_scheduled": True}) > 0


async def mark_indexing_begun(conn: Connection, space: int) -> None:
    """What comes from now on needs another job."""
    await update_rows(conn, "spaces", {"space": space}, {"indexing_scheduled": False})


async def put_away(conn: Connection, space: int, *, away: bool) -> None:
    """To the trash, with its parts; or back."""
    await conn.execute(
        """
        UPDATE spaces SET deleted_at = CASE WHEN %(away)s THEN now() END
         WHERE account = %(account)s AND (space = %(space)s OR part_of = %(space)s)
        """,
        {"away": away, "space": space},
    )
