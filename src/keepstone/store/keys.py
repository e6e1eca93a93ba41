"""API keys: the public prefix finds the row, the hash of the secret decides."""

from collections.abc import Sequence
from typing import Any, LiteralString

from keepstone.model.credential import ApiKey
from keepstone.model.page import Page, PageRequest
from keepstone.store.db import Connection, fetch_one, fetch_page, fetch_rows, insert_row, touch_row

_KEY: LiteralString = """
    SELECT account, id, user_id, created_by, name, prefix, created_at, expires_at, last_used_at, revoked_at,
           permission, surfaces, spaces FROM keys
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


async def known_spaces(conn: Connection, names: Sequence[str], user_id: str | None) -> set[str]:
    """Which of these are there for the user, each a kind, a colon and a name; without a user, in the account."""
    rows = await fetch_rows(
        conn,
        """
        SELECT named FROM unnest(%(names)s::text[]) named
          JOIN spaces s ON s.account = %(account)s AND s.kind = split_part(named, ':', 1)
                       AND s.name = substr(named, strpos(named, ':') + 1) AND s.deleted_at IS NULL
         WHERE %(user)s::text IS NULL OR s.owner = %(user)s
            OR (s.owner IS NULL AND s.kind = 'graph')
            OR EXISTS (SELECT 1 FROM members m
                        WHERE m.account = %(account)s AND m.space = s.space AND m.user_id = %(user)s)
        """,
        {"names": list(names), "user": user_id},
    )
    return {name for (name,) in rows}


async def revoke(conn: Connection, key_id: str) -> None:
    await conn.execute(
        "UPDATE keys SET revoked_at = now() WHERE account = %(account)s AND id = %(id)s AND revoked_at IS NULL",
        {"id": key_id},
    )
