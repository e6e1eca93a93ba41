"""Audit lines: written in the transaction of what they tell, and never changed."""

from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from keepstone.model.credential import AuditLine
from keepstone.store.db import Connection, fetch_all, insert_row


async def insert(
    conn: Connection, line_id: str, *, user_id: str | None, via: str, credential_id: str | None, action: str,
    object_id: str | None, details: dict[str, Any],
) -> None:  # fmt: skip
    values = {"id": line_id, "user_id": user_id, "via": via, "credential_id": credential_id, "action": action}
    await insert_row(conn, "audit", {**values, "object_id": object_id, "details": Jsonb(details)})


async def page(
    conn: Connection, *, user_id: str | None, after: tuple[datetime, str] | None, limit: int
) -> list[AuditLine]:
    """The newest first; of one user, or with None of the whole account."""
    at, last = after or (None, None)
    return await fetch_all(
        conn,
        AuditLine,
        """
        SELECT account, id, at, user_id, via, credential_id, action, object_id, details FROM audit
         WHERE account = %(account)s AND (%(user)s::text IS NULL OR user_id = %(user)s)
           AND (%(at)s::timestamptz IS NULL OR (at, id) < (%(at)s, %(last)s))
         ORDER BY at DESC, id DESC
         LIMIT %(limit)s
        """,
        {"user": user_id, "at": at, "last": last, "limit": limit},
    )
