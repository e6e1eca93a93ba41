"""Spaces and who is in them."""

from collections.abc import Collection
from dataclasses import dataclass

from keepstone.store.db import Connection, insert_new_row, select_row, select_value, update_rows


async def ensure(conn: Connection, *, kind: str, name: str, owner: str | None = None, title: str = "") -> int:
    """The number of this space, made when it was not there. Two who make it at once get the same."""
    this = {"kind": kind, "name": name, "owner": owner}
    await insert_new_row(conn, "spaces", {**this, "title": title})
    return await select_value(conn, "spaces", "space", this)


async def find(conn: Connection, *, kind: str, name: str, owner: str | None) -> int | None:
    where = {"kind": kind, "name": name, "owner": owner, "deleted_at": None}
    return await select_value(conn, "spaces", "space", where)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """`awaits_reading`: a job that will read what is new is on its way."""

    space: int
    awaits_reading: bool


async def hold(conn: Connection, *, kind: str, name: str, owner: str | None) -> Held:
    """The space, made when it was not there. Until the transaction ends, nobody else adds to it."""
    this = {"kind": kind, "name": name, "owner": owner}
    space = await select_row(conn, Held, "spaces", this, hold=True)
    if space is None:
        await ensure(conn, kind=kind, name=name, owner=owner)
        space = await select_row(conn, Held, "spaces", this, hold=True)
    assert space is not None  # noqa: S101  just made
    return space


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


async def await_reading(conn: Connection, space: int, *, awaited: bool) -> None:
    """A job is on its way, or has begun: what comes from now on needs another."""
    await update_rows(conn, "spaces", {"space": space}, {"awaits_reading": awaited})


async def claim_reading(conn: Connection, space: int) -> bool:
    """Whether a job is needed that reads what is new; from now on one is on its way."""
    idle = {"space": space, "awaits_reading": False}
    return await update_rows(conn, "spaces", idle, {"awaits_reading": True}) > 0


async def put_away(conn: Connection, space: int, *, away: bool) -> None:
    """To the trash, with its parts; or back."""
    await conn.execute(
        """
        UPDATE spaces SET deleted_at = CASE WHEN %(away)s THEN now() END
         WHERE account = %(account)s AND (space = %(space)s OR part_of = %(space)s)
        """,
        {"away": away, "space": space},
    )
