"""Spaces and who is in them."""

from dataclasses import dataclass

from keepstone.store.db import Connection, fetch_one, fetch_value


async def ensure(conn: Connection, *, kind: str, name: str, owner: str | None = None, title: str = "") -> int:
    """The number of this space, made when it was not there. Two who make it at once get the same."""
    await conn.execute(
        """
        INSERT INTO spaces (kind, name, owner, title) VALUES (%s, %s, %s, %s)
        ON CONFLICT (account, kind, owner, name) DO NOTHING
        """,
        [kind, name, owner, title],
    )
    return await fetch_value(
        conn,
        """
        SELECT space FROM spaces
         WHERE kind = %(kind)s AND name = %(name)s AND owner IS NOT DISTINCT FROM %(owner)s
        """,
        {"kind": kind, "name": name, "owner": owner},
    )


async def find(conn: Connection, *, kind: str, name: str, owner: str | None) -> int | None:
    return await fetch_value(
        conn,
        """
        SELECT space FROM spaces
         WHERE kind = %(kind)s AND name = %(name)s AND owner IS NOT DISTINCT FROM %(owner)s AND deleted_at IS NULL
        """,
        {"kind": kind, "name": name, "owner": owner},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """`awaits_reading`: a job that will read what is new is on its way."""

    space: int
    awaits_reading: bool


async def hold(conn: Connection, *, kind: str, name: str, owner: str | None) -> Held:
    """The space, made when it was not there. Until the transaction ends, nobody else adds to it."""
    found = await _hold(conn, kind, name, owner)
    if found is None:
        await ensure(conn, kind=kind, name=name, owner=owner)
        found = await _hold(conn, kind, name, owner)
    assert found is not None  # noqa: S101  just made
    return found


async def _hold(conn: Connection, kind: str, name: str, owner: str | None) -> Held | None:
    return await fetch_one(
        conn,
        Held,
        """
        SELECT space, awaits_reading FROM spaces
         WHERE kind = %(kind)s AND name = %(name)s AND owner IS NOT DISTINCT FROM %(owner)s
           FOR NO KEY UPDATE
        """,
        {"kind": kind, "name": name, "owner": owner},
    )


async def await_reading(conn: Connection, space: int, *, awaited: bool) -> None:
    """A job is on its way, or has begun: what comes from now on needs another."""
    await conn.execute("UPDATE spaces SET awaits_reading = %s WHERE space = %s", [awaited, space])


async def claim_reading(conn: Connection, space: int) -> bool:
    """Whether a job is needed that reads what is new; from now on one is on its way."""
    done = await conn.execute(
        "UPDATE spaces SET awaits_reading = true WHERE space = %s AND NOT awaits_reading", [space]
    )
    return done.rowcount > 0
