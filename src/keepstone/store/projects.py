"""Projects, as spaces with members."""

from datetime import datetime

from keepstone.model.project import Project
from keepstone.store.db import Connection, fetch_all, fetch_one, insert_new_row


async def add_member(conn: Connection, space: int, user_id: str, *, role: str) -> None:
    await insert_new_row(conn, "members", {"space": space, "user_id": user_id, "role": role})


async def get(conn: Connection, project_id: str, user_id: str) -> Project | None:
    """If this user is in it."""
    return await fetch_one(
        conn,
        Project,
        """
        SELECT s.name AS id, s.title AS name, s.created_at FROM spaces s JOIN members m USING (account, space)
         WHERE s.account = %(account)s AND s.kind = 'project' AND s.name = %(id)s AND m.user_id = %(user)s
           AND s.deleted_at IS NULL
        """,
        {"id": project_id, "user": user_id},
    )


async def page(conn: Connection, user_id: str, *, after: tuple[datetime, str] | None, limit: int) -> list[Project]:
    """Those that this user is in, the newest first."""
    at, last = after or (None, None)
    return await fetch_all(
        conn,
        Project,
        """
        SELECT s.name AS id, s.title AS name, s.created_at FROM spaces s JOIN members m USING (account, space)
         WHERE s.account = %(account)s AND s.kind = 'project' AND m.user_id = %(user)s AND s.deleted_at IS NULL
           AND (%(at)s::timestamptz IS NULL OR (s.created_at, s.name) < (%(at)s, %(last)s))
         ORDER BY s.created_at DESC, s.name DESC
         LIMIT %(limit)s
        """,
        {"user": user_id, "at": at, "last": last, "limit": limit},
    )
