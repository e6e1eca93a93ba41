"""Agents of an account."""

from dataclasses import asdict
from typing import Any, LiteralString

from keepstone.model.page import Page, PageRequest
from keepstone.model.room import Agent
from keepstone.store.db import Connection, fetch_one, fetch_page, update_rows

_AGENT: LiteralString = """
    SELECT slug, name, context_window, instructions, created_by, created_at, updated_at FROM agents
     WHERE account = %(account)s
"""


async def insert(conn: Connection, agent: Agent) -> bool:
    """False when there is one of this slug."""
    made = await conn.execute(
        """
        INSERT INTO agents (account, slug, name, context_window, instructions, created_by, changed_by, created_at,
                            updated_at)
        VALUES (%(account)s, %(slug)s, %(name)s, %(context_window)s, %(instructions)s, %(created_by)s, %(created_by)s,
                %(created_at)s, %(created_at)s)
        ON CONFLICT (account, slug) DO UPDATE
            SET name = excluded.name, context_window = excluded.context_window, instructions = excluded.instructions,
                created_by = excluded.created_by, changed_by = excluded.changed_by, created_at = excluded.created_at,
                updated_at = excluded.updated_at, deleted_at = NULL
          WHERE agents.deleted_at IS NOT NULL
        """,
        asdict(agent),
    )
    return made.rowcount > 0


async def get(conn: Connection, slug: str, *, deleted: bool = False) -> Agent | None:
    query: LiteralString = f"{_AGENT} AND slug = %(slug)s AND (deleted_at IS NOT NULL) = %(deleted)s"
    return await fetch_one(conn, Agent, query, {"slug": slug, "deleted": deleted})


async def page(conn: Connection, page: PageRequest) -> Page[Agent]:
    """The newest first."""
    return await fetch_page(conn, Agent, f"{_AGENT} AND deleted_at IS NULL", {}, page, key="slug", key_name="slug")


async def update(conn: Connection, slug: str, **changes: Any) -> None:
    await update_rows(conn, "agents", {"slug": slug}, changes)
