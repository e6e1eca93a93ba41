"""Browser sessions, and the one-time links that start the first of them."""

from datetime import datetime
from typing import LiteralString

from keepstone.model.credential import Session
from keepstone.store.db import Connection, fetch_all, fetch_one, fetch_value

_COLUMNS: LiteralString = "account, id, user_id, created_at, expires_at, last_used_at, address, user_agent"


async def insert(
    conn: Connection, session_id: str, *, user_id: str, prefix: str, secret_hash: bytes, expires_at: datetime,
    address: str | None, user_agent: str | None,
) -> None:  # fmt: skip
    await conn.execute(
        """
        INSERT INTO sessions (id, user_id, prefix, secret_hash, expires_at, address, user_agent)
        VALUES (%s, %s, %s, %s, %s, %s, %s)
        """,
        [session_id, user_id, prefix, secret_hash, expires_at, address, user_agent],
    )


async def get(conn: Connection, session_id: str) -> Session | None:
    return await fetch_one(
        conn,
        Session,
        f"SELECT {_COLUMNS} FROM sessions WHERE id = %(id)s AND expires_at > now()",
        {"id": session_id},
    )


async def page(conn: Connection, *, user_id: str, after: tuple[datetime, str] | None, limit: int) -> list[Session]:
    """The user's own, the newest first."""
    at, last = after or (None, None)
    return await fetch_all(
        conn,
        Session,
        f"""
        SELECT {_COLUMNS} FROM sessions
         WHERE user_id = %(user)s AND expires_at > now()
           AND (%(at)s::timestamptz IS NULL OR (created_at, id) < (%(at)s, %(last)s))
         ORDER BY created_at DESC, id DESC
         LIMIT %(limit)s
        """,
        {"user": user_id, "at": at, "last": last, "limit": limit},
    )


async def touch(conn: Connection, session_id: str) -> None:
    """Remember the use, to the minute."""
    await conn.execute(
        "UPDATE sessions SET last_used_at = now() WHERE id = %s AND last_used_at < now() - interval '1 minute'",
        [session_id],
    )


async def delete(conn: Connection, session_id: str) -> None:
    await conn.execute("DELETE FROM sessions WHERE id = %s", [session_id])


async def delete_others(conn: Connection, user_id: str, *, keep: str | None) -> None:
    """Every session of the user but one, as after a change of password."""
    await conn.execute("DELETE FROM sessions WHERE user_id = %s AND id IS DISTINCT FROM %s", [user_id, keep])


async def insert_link(conn: Connection, *, user_id: str, prefix: str, secret_hash: bytes, expires_at: datetime) -> None:
    """A new link; it takes the place of an older one of the same user."""
    await conn.execute("DELETE FROM one_time_links WHERE user_id = %s", [user_id])
    await conn.execute(
        "INSERT INTO one_time_links (user_id, prefix, secret_hash, expires_at) VALUES (%s, %s, %s, %s)",
        [user_id, prefix, secret_hash, expires_at],
    )


async def take_link(conn: Connection, prefix: str, secret_hash: bytes) -> str | None:
    """The user of this link, which is used up by asking. Of two who ask at once, one gets an answer."""
    return await fetch_value(
        conn,
        """
        DELETE FROM one_time_links
         WHERE prefix = %(prefix)s AND secret_hash = %(hash)s AND expires_at > now()
        RETURNING user_id
        """,
        {"prefix": prefix, "hash": secret_hash},
    )


async def forget_expired(conn: Connection) -> int:
    """Remove every session and link on the server that is over. Needs no scope."""
    return await fetch_value(conn, "SELECT forget_expired_logins()")
