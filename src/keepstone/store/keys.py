"""API keys: the public prefix finds the row, the hash of the secret decides."""

from typing import Any, LiteralString

from keepstone.model.credential import ApiKey
from keepstone.model.page import Page, PageRequest
from keepstone.store.db import Connection, fetch_one, fetch_page, insert_row, touch_row

_KEY: LiteralString = """
    SELECT account, id, user_id, created_by, name, prefix, created_at, expires_at, last_used_at, revoked_at FROM keys
     WHERE account = %(account)s
"""


async def insert(conn: Connection, key_id: str, **columns: Any) -> None:
    await insert_row(conn, "keys", {"id": key_id, **columns})


async def get(conn: Connection, key_id: str) -> ApiKey | None:
    return await fetch_one(conn, ApiKey, f"{_KEY} AND id = %(id)s", {"id": key_id})


async def page(conn: Connection, user_id: str | None, page: PageRequest, *, with_service: bool) -> Page[ApiKey]:
    """The newest first: the user's keys, and the account's service keys for those who may see them."""
    query: LiteralString = f"{_KEY} AND (user_id = %(user)s OR (%(service)s AND user_id IS NULL))"
    return await fetch_page(conn, ApiKey, query, {"user": user_id, "service": with_service}, page)


async def touch(conn: Connection, key_id: str) -> None:
    await touch_row(conn, "keys", key_id, "last_used_at")


async def revoke(conn: Connection, key_id: str) -> None:
    await conn.execute(
        "UPDATE keys SET revoked_at = coalesce(revoked_at, now()) WHERE account = %(account)s AND id = %(id)s",
        {"id": key_id},
    )
