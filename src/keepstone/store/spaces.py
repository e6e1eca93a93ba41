"""Spaces and who is in them."""

from collections.abc import Collection
from datetime import datetime

from keepstone.model.scope import Scope
from keepstone.store import leftovers
from keepstone.store.db import Connection, fetch_all, fetch_rows, fetch_value, insert_new_row, select_value, update_rows


async def ensure(
    conn: Connection, *, kind: str, name: str, owner: str | None = None, title: str = "", named_by: str | None = None
) -> int:
    """The number of this space, made when it was not there. Two who make it at once get the same."""
    this = {"kind": kind, "name": name, "owner": owner}
    await insert_new_row(conn, "spaces", {**this, "title": title, "named_by": named_by})
    return await select_value(conn, "spaces", "space", this)


async def find(conn: Connection, *, kind: str, name: str, owner: str | None) -> int | None:
    where = {"kind": kind, "name": name, "owner": owner, "deleted_at": None}
    return await select_value(conn, "spaces", "space", where)


async def scopes(
    conn: Connection, owner: str | None, *, after: tuple[datetime, int] | None, limit: int, named: str | None = None
) -> list[Scope]:  # fmt: skip
    """Of one user, or the account's own, the newest first; with `named`, those whose name has it in it."""
    at, last = after or (None, None)
    return await fetch_all(
        conn,
        Scope,
        """
        SELECT space, name AS scope_id, message_count AS messages, size_bytes, created_at FROM spaces
         WHERE account = %(account)s AND kind = 'scope' AND owner IS NOT DISTINCT FROM %(owner)s
           AND (%(at)s::timestamptz IS NULL OR (created_at, space) < (%(at)s, %(last)s::bigint))
           AND (%(named)s::text IS NULL OR strpos(lower(name), lower(%(named)s)) > 0)
         ORDER BY created_at DESC, space DESC LIMIT %(limit)s
        """,
        {"owner": owner, "at": at, "last": last, "limit": limit, "named": named},
    )


async def hold(conn: Connection, *, kind: str, name: str, owner: str | None) -> int:
    """The number of this space, made when it was not there. Until the transaction ends, nobody else adds to it."""
    this = {"kind": kind, "name": name, "owner": owner}
    space: int | None = await select_value(conn, "spaces", "space", this, hold=True)
    if space is None:
        await ensure(conn, kind=kind, name=name, owner=owner)
        space = await select_value(conn, "spaces", "space", this, hold=True)
    assert space is not None  # noqa: S101  just made
    return space


async def lock(conn: Connection, spaces: Collection[int]) -> None:
    """Until the transaction ends, nobody else changes what is in them; always in one order, so that nobody waits for
    somebody who waits for them. What is left of what was in one goes before anything is added.
    """
    rows = await fetch_rows(
        conn,
        """
        SELECT space, leftover AND space = ANY (current_setting('keepstone.spaces')::bigint[]) FROM spaces
         WHERE account = %(account)s AND space = ANY(%(spaces)s)
         ORDER BY space FOR NO KEY UPDATE
        """,
        {"spaces": list(spaces)},
    )
    for space in [space for space, leftover in rows if leftover]:
        await leftovers.clear(conn, space)


async def revision(conn: Connection, space: int) -> int:
    """Another with every memory that is kept, changed or put away in it."""
    return await select_value(conn, "spaces", "revision", {"space": space})


async def mark_indexing_scheduled(conn: Connection, space: int) -> bool:
    """Whether no job was scheduled yet that indexes what is new; from now on one is."""
    return bool(
        await fetch_value(
            conn,
            """
            UPDATE spaces SET indexing_scheduled = true
             WHERE account = %(account)s AND space = %(space)s AND NOT indexing_scheduled RETURNING true
            """,
            {"space": space},
        )
    )


async def mark_indexing_begun(conn: Connection, space: int) -> None:
    """What comes from now on needs another job."""
    await update_rows(conn, "spaces", {"space": space}, {"indexing_scheduled": False})


async def put_away(conn: Connection, space: int, *, away: bool) -> None:
    """To the trash, with its parts; or back."""
    await conn.execute(
        """
        UPDATE spaces SET deleted_at = now() + CASE WHEN %(away)s THEN interval '0' END
         WHERE account = %(account)s AND (space = %(space)s OR part_of = %(space)s)
        """,
        {"away": away, "space": space},
    )
