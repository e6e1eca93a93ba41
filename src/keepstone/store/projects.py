"""Projects, as spaces with members."""

from typing import LiteralString

from keepstone.model.page import Page, PageRequest
from keepstone.model.project import Project
from keepstone.store.db import Connection, fetch_column, fetch_one, fetch_page

_PROJECT: LiteralString = """
    SELECT s.name AS id, s.title AS name, m.role, s.created_at, s.deleted_at, s.space
      FROM spaces s JOIN members m USING (account, space)
     WHERE s.account = %(account)s AND s.kind = 'project' AND s.part_of IS NULL AND m.user_id = %(user)s
"""
_THERE: LiteralString = "AND (s.deleted_at IS NOT NULL) = %(deleted)s"


async def get(conn: Connection, project_id: str, user_id: str, *, deleted: bool = False) -> Project | None:
    """If this user is in it: there, or in the trash."""
    params = {"id": project_id, "user": user_id, "deleted": deleted}
    return await fetch_one(conn, Project, f"{_PROJECT} {_THERE} AND s.name = %(id)s", params)


async def called(conn: Connection, name: str, user_id: str) -> Project | None:
    """The oldest of this name that this user is in."""
    query: LiteralString = f"{_PROJECT} {_THERE} AND s.title = %(name)s ORDER BY s.created_at, s.name LIMIT 1"
    return await fetch_one(conn, Project, query, {"name": name, "user": user_id, "deleted": False})


async def page(conn: Connection, user_id: str, page: PageRequest, *, deleted: bool = False) -> Page[Project]:
    """Those that this user is in, the newest first."""
    params = {"user": user_id, "deleted": deleted}
    return await fetch_page(conn, Project, f"{_PROJECT} {_THERE}", params, page, when="s.created_at", key="s.name")


async def ids_of(conn: Connection, user_id: str) -> list[str]:
    """All that this user is in."""
    return await fetch_column(
        conn,
        """
        SELECT s.name FROM spaces s JOIN members m USING (account, space)
         WHERE s.account = %(account)s AND s.kind = 'project' AND s.part_of IS NULL AND s.deleted_at IS NULL
           AND m.user_id = %(user)s
         ORDER BY s.name
        """,
        {"user": user_id},
    )
