"""Projects, as spaces with members."""

from typing import LiteralString

from keepstone.model.page import Page, PageRequest
from keepstone.model.project import Project
from keepstone.store.db import Connection, fetch_one, fetch_page

_PROJECT: LiteralString = """
    SELECT s.name AS id, s.title AS name, s.created_at FROM spaces s JOIN members m USING (account, space)
     WHERE s.account = %(account)s AND s.kind = 'project' AND m.user_id = %(user)s AND s.deleted_at IS NULL
"""


async def get(conn: Connection, project_id: str, user_id: str) -> Project | None:
    """If this user is in it."""
    return await fetch_one(conn, Project, f"{_PROJECT} AND s.name = %(id)s", {"id": project_id, "user": user_id})


async def called(conn: Connection, name: str, user_id: str) -> Project | None:
    """The oldest of this name that this user is in."""
    query: LiteralString = f"{_PROJECT} AND s.title = %(name)s ORDER BY s.created_at, s.name LIMIT 1"
    return await fetch_one(conn, Project, query, {"name": name, "user": user_id})


async def page(conn: Connection, user_id: str, page: PageRequest) -> Page[Project]:
    """Those that this user is in, the newest first."""
    return await fetch_page(conn, Project, _PROJECT, {"user": user_id}, page, when="s.created_at", key="s.name")
