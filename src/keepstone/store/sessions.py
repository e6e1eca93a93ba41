"""Browser sessions, and the one-time links that start the first of them."""

from typing import Any, LiteralString

from keepstone.model.credential import LoginSession
from keepstone.model.page import Page, PageRequest
from keepstone.store.db import Connection, delete_rows, fetch_one, fetch_page, fetch_value, insert_row

_SESSION: LiteralString = """
    SELECT account, id, user_id, created_at, expires_at, last_used_at, address, user_agent FROM sessions
     WHERE account = %(account)s AND expires_at > now()
"""


async def insert(conn: Connection, session_id: str, **columns: Any) -> None:
    await insert_row(conn, "sessions", {"id": session_id, **columns})


async def get(conn: Connection, session_id: str) -> LoginSession | None:
    return await fetch_one(conn, LoginSession, f"{_SESSION} AND id = %(id)s", {"id": session_id})


async def page(conn: Connection, user_id: str, page: PageRequest) -> Page[LoginSession]:
    """The user's own, the newest first."""
    return await fetch_page(conn, LoginSession, f"{_SESSION} AND user_id = %(user)s", {"user": user_id}, page)


async def touch(conn: Connection, session_id: str, *, days: int, idle_days: int) -> None:
    """It was used, and is good for as long again as it may be idle; from its beginning for `days` at most."""
    await conn.execute(
        """
        UPDATE sessions SET last_used_at = now(),
               expires_at = least(timezone('UTC', timezone('UTC', created_at) + make_interval(days => %(days)s)),
                                  now() + make_interval(days => %(idle)s))
         WHERE account = %(account)s AND id = %(id)s AND last_used_at < now() - interval '1 minute'
        """,
        {"id": session_id, "days": days, "idle": idle_days},
    )


async def delete(conn: Connection, session_id: str) -> None:
    await delete_rows(conn, "sessions", {"id": session_id})


async def delete_others(conn: Connection, user_id: str, *, keep: str | None) -> None:
    """Every session of the user but one, as after a change of password."""
    await conn.execute(
        "DELETE FROM sessions WHERE account = %(account)s AND user_id = %(user)s AND id IS DISTINCT FROM %(keep)s",
        {"user": user_id, "keep": keep},
    )


async def insert_link(conn: Connection, user_id: str, **columns: Any) -> None:
    """A new link; it takes the place of an older one of the same user."""
    await delete_rows(conn, "one_time_links", {"user_id": user_id})
    await insert_row(conn, "one_time_links", {"user_id": user_id, **columns})


async def take_link(conn: Connection, prefix: str, secret_hash: bytes) -> str | None:
    """The user of this link, which is used up by asking. Of two who ask at once, one gets an answer."""
    return await fetch_value(
        conn,
        """
        DELETE FROM one_time_links
         WHERE account = %(account)s AND prefix = %(prefix)s AND secret_hash = %(hash)s AND expires_at > now()
        RETURNING user_id
        """,
        {"prefix": prefix, "hash": secret_hash},
    )


async def forget_expired(conn: Connection) -> int:
    """Remove every session and link on the server that is over. Needs no scope."""
    return await fetch_value(conn, "SELECT forget_expired_logins()")
