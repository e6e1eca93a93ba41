"""Invite links: with each, somebody new comes into the account once."""

from typing import Any, LiteralString

from keepstone.model.credential import InviteLink
from keepstone.store.db import Connection, delete_rows, fetch_all, fetch_one, insert_row

_LINK: LiteralString = """
    SELECT account, id, email, role, created_by, created_at, expires_at FROM invite_links
     WHERE account = %(account)s AND expires_at > now()
"""


async def insert(conn: Connection, link_id: str, **columns: Any) -> None:
    await insert_row(conn, "invite_links", {"id": link_id, **columns})


async def pending(conn: Connection) -> list[InviteLink]:
    """Those that can still be used, the newest first."""
    return await fetch_all(conn, InviteLink, f"{_LINK} ORDER BY created_at DESC, id", {})


async def get(conn: Connection, link_id: str) -> InviteLink | None:
    return await fetch_one(conn, InviteLink, f"{_LINK} AND id = %(id)s", {"id": link_id})


async def shown(conn: Connection, prefix: str, secret_hash: bytes) -> InviteLink | None:
    """The one that somebody has; until the transaction ends, nobody else uses it."""
    return await fetch_one(
        conn,
        InviteLink,
        f"{_LINK} AND prefix = %(prefix)s AND secret_hash = %(hash)s FOR UPDATE",
        {"prefix": prefix, "hash": secret_hash},
    )


async def delete(conn: Connection, link_id: str) -> None:
    await delete_rows(conn, "invite_links", {"id": link_id})
