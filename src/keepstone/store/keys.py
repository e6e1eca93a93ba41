"""API keys: the public prefix finds the row, the hash of the secret decides."""

from datetime import datetime
from typing import LiteralString

from keepstone.model.credential import ApiKey
from keepstone.model.page import Page, PageRequest
from keepstone.store.db import Connection, fetch_one, fetch_page, insert_row

_KEY: LiteralString = """
    SELECT account, id, user_id, created_by, name, prefix, created_at, expires_at, last_used_at, revoked_at FROM keys
     WHERE account = %(account)s
"""


async def insert(
    conn: Connection, key_id: str, *, user_id: str | None, created_by: str | None, name: str, prefix: str,
    secret_hash: bytes, expires_at: datetime | None,
) -> None:  # fmt: skip
    values = {"id": key_id, "user_id": user_id, "created_by": created_by, "name": name, "expires_at": expires_at}
    await insert_row(conn, "keys", {**values, "prefix": prefix, "secret_hash": secret_hash})


async def get(conn: Connection, key_id: str) -> ApiKey | None:
    return await fetch_one(conn, ApiKey, f"{_KEY} AND id = %(id)s", {"id": key_id})


async def page(conn: Connection, user_id: str | None, page: PageRequest, *, with_service: bool) -> Page[ApiKey]:
    """The newest first: the user's keys, and the account's service keys for those who may see them."""
    query: LiteralString = f"{_KEY} AND (user_id = %(user)s OR (%(service)s AND user_id IS NULL))"
    return await fetch_page(conn, ApiKey, query, {"user": user_id, "service": with_service}, page)


async def touch(conn: Connection, key_id: str) -> None:
    """Remember the use, to the minute: a busy key costs no write with every call."""
    await conn.execute(
        """
        UPDATE keys SET last_used_at = now()
         WHERE account = %(account)s AND id = %(id)s
           AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
        """,
        {"id": key_id},
    )


async def revoke(conn: Connection, key_id: str) -> None:
    await conn.execute(
        "UPDATE keys SET revoked_at = coalesce(revoked_at, now()) WHERE account = %(account)s AND id = %(id)s",
        {"id": key_id},
    )
