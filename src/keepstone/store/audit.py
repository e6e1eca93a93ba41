"""Audit lines: written in the transaction of what they tell, and never changed."""

from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.credential import AuditLine
from keepstone.model.page import Page, PageRequest
from keepstone.store.db import Connection, fetch_page, insert_row


async def insert(conn: Connection, line_id: str, *, details: dict[str, Any], **columns: str | None) -> None:
    await insert_row(conn, "audit", {"id": line_id, "details": Jsonb(details), **columns})


async def page(conn: Connection, user_id: str | None, page: PageRequest) -> Page[AuditLine]:
    """The newest first; of one user, or with None of the whole account."""
    query: LiteralString = """
        SELECT account, id, at, user_id, via, credential_id, action, object_id, details FROM audit
         WHERE account = %(account)s AND (%(user)s::text IS NULL OR user_id = %(user)s)
    """
    return await fetch_page(conn, AuditLine, query, {"user": user_id}, page, when="at")
