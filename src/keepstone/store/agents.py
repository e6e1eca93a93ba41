"""Agents of an account."""

from dataclasses import asdict
from datetime import datetime
from typing import Any, LiteralString

from keepstone.model.room import Agent
from keepstone.store.db import Connection, fetch_all, fetch_one, update_rows

_COLUMNS: LiteralString = "slug, name, context_window, instructions, created_by, created_at, updated_at"


async def insert(conn: Connection, agent: Agent) -> bool:
    """False when there is one of this slug."""
    made = await conn.execute(
        """
        INSERT INTO agents (account, slug, name, context_window, instructions, created_by, created_at, updated_at)
        VALUES (%(account)s, %(slug)s, %(name)s, %(context_window)s, %(instructions)s, %(created_by)s, %(created_at)s,
                %(created_at)s)
        ON CONFLICT (account, slug) DO UPDATE
            SET name = excluded.name, context_window = excluded.context_window, instructions = excluded.instructions,
                created_by = excluded.created_by, created_at = excluded.created_at, updated_at = excluded.updated_at,
                deleted_at = NULL
          WHERE agents.deleted_at IS NOT NULL
        """,
        asdict(agent),
    )
    return made.rowcount > 0


async def get(conn: Connection, slug: str) -> Agent | None:
    return await fetch_one(
        conn,
        Agent,
        f"SELECT {_COLUMNS} FROM agents WHERE account = %(account)s AND slug = %(slug)s AND deleted_at IS NULL",
        {"slug": slug},
    )


async def page(conn: Connection, *, after: tuple[datetime, str] | None, limit: int) -> list[Agent]:
    """The newest first."""
    at, last = after or (None, None)
    return await fetch_all(
        conn,
        Agent,
        f"""
        SELECT {_COLUMNS} FROM agents
         WHERE account = %(account)s AND deleted_at IS NULL
           AND (%(at)s::timestamptz IS NULL OR (created_at, slug) < (%(at)s, %(last)s))
         ORDER BY created_at DESC, slug DESC LIMIT %(limit)s
        """,
        {"at": at, "last": last, "limit": limit},
    )


async def update(conn: Connection, slug: str, **changes: Any) -> None:
    await update_rows(conn, "agents", {"slug": slug}, changes)
