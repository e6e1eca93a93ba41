"""Spaces and who is in them."""

from cairn.store.db import Connection, fetch_value


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


async def hold(conn: Connection, space: int) -> None:
    """Until the transaction ends, nobody else adds to this space."""
    await conn.execute("SELECT FROM spaces WHERE space = %s FOR NO KEY UPDATE", [space])


async def readable_by(conn: Connection, user_id: str) -> list[int]:
    """The spaces that are this user's own, or that they are a member of."""
    rows = await (
        await conn.execute(
            """
            SELECT space FROM spaces WHERE owner = %(user)s AND deleted_at IS NULL
            UNION
            SELECT m.space FROM members m JOIN spaces s USING (account, space)
             WHERE m.user_id = %(user)s AND s.deleted_at IS NULL
            """,
            {"user": user_id},
        )
    ).fetchall()
    return [space for (space,) in rows]


async def of_account(conn: Connection) -> list[int]:
    """The spaces that belong to the account as a whole: its graphs and global facts."""
    rows = await (
        await conn.execute(
            "SELECT space FROM spaces WHERE owner IS NULL AND kind IN ('graph', 'global') AND deleted_at IS NULL"
        )
    ).fetchall()
    return [space for (space,) in rows]
