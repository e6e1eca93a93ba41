"""Audit lines: written in the transaction of what they tell, and never changed."""

from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.credential import AuditLine
from keepstone.model.page import Page, PageRequest
from keepstone.store.db import Connection, fetch_page, insert_row


async def insert(
    conn: Connection, line_id: str, *, user_id: str | None, via: str, credential_id: str | None, action: str,
    object_id: str | None, details: dict[str, Any],
) -> None:  # fmt: skip
    values = {"id": line_id, "user_id": user_id, "via": via, "credential_id": credential_id, "action": action}
    await insert_row(conn, "audit", {**values, "object_id": object_id, "details": Jsonb(details)})


async def page(conn: Connection, user_id: str | None, page: PageRequest) -> Page[AuditLine]:
    """The newest first; of one user, or with None of the whole account."""
    query: LiteralString = """
        SELECT account, id, at, user_id, via, credential_id, action, object_id, details FROM audit
         WHERE account = %(account)s AND (%(user)s::text IS NULL OR user_id = %(user)s)
    """
    return await fetch_page(conn, AuditLine, query, {"user": user_id}, page, when="at")
