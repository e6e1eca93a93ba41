"""Workspaces, as spaces with members, each with the library of its files and what was said in its chats beside it."""

from datetime import datetime
from typing import LiteralString

from keepstone.model.workspace import Member, Role, Workspace
from keepstone.store import spaces
from keepstone.store.db import (
    Connection,
    delete_rows,
    fetch_all,
    fetch_one,
    fetch_value,
    insert_returning,
    insert_row,
    update_rows,
)

_SEEN: LiteralString = """
    SELECT s.name AS id, s.title AS name, m.role, s.owner IS NOT NULL AS is_default, s.memory_count, s.created_at,
           s.deleted_at, s.space, l.space AS library, t.space AS talk
      FROM members m
      JOIN spaces s USING (account, space)
      JOIN spaces l ON l.account = s.account AND l.part_of = s.space AND l.name = s.name
      JOIN spaces t ON t.account = s.account AND t.part_of = s.space AND t.name = s.name || '/talk'
     WHERE m.account = %(account)s AND m.user_id = %(user)s AND s.kind = 'workspace'
"""


async def create(conn: Connection, workspace_id: str, name: str, user_id: str) -> None:
    """With its maker as its owner."""
    space = await spaces.ensure(conn, kind="workspace", name=workspace_id, title=name, named_by=user_id)
    await _equip(conn, space, workspace_id, user_id)


async def ensure_default(conn: Connection, workspace_id: str, name: str, user_id: str) -> None:
    """Under this id, unless this user has one. Two who make it at once get the same."""
    workspace = {"kind": "workspace", "name": workspace_id, "owner": user_id, "title": name}
    made = await insert_returning(conn, "spaces", workspace, "space")
    if made is not None:
        await _equip(conn, made, workspace_id, user_id)


async def _equip(conn: Connection, space: int, workspace_id: str, user_id: str) -> None:
    for name in (workspace_id, f"{workspace_id}/talk"):
        await insert_row(conn, "spaces", {"kind": "library", "name": name, "part_of": space})
    await put_member(conn, space, user_id, "owner")


async def talk_of(conn: Connection, space: int) -> int:
    """The part of a workspace in which what was said in its chats is found."""
    return await fetch_value(
        conn,
        """
        SELECT space FROM spaces
         WHERE account = %(account)s AND part_of = %(space)s AND kind = 'library' AND name LIKE '%%/talk'
        """,
        {"space": space},
    )


async def of_user(conn: Connection, user_id: str) -> list[Workspace]:
    """All that this user is in, their default one first, then the newest."""
    return await fetch_all(
        conn,
        Workspace,
        f"{_SEEN} AND s.deleted_at IS NULL ORDER BY is_default DESC, s.created_at DESC, s.name DESC",
        {"user": user_id},
    )


async def get(conn: Connection, workspace_id: str, user_id: str) -> Workspace | None:
    """If this user is in it, also when it is in the trash."""
    return await fetch_one(conn, Workspace, f"{_SEEN} AND s.name = %(id)s", {"user": user_id, "id": workspace_id})


async def default_of(conn: Connection, user_id: str) -> Workspace | None:
    return await fetch_one(conn, Workspace, f"{_SEEN} AND s.owner = %(user)s", {"user": user_id})


async def in_trash(conn: Connection, user_id: str, since: datetime) -> list[Workspace]:
    """What was deleted since then. All who were in it see that it was, and one of its owners can bring it back."""
    query: LiteralString = f"{_SEEN} AND s.deleted_at >= %(since)s ORDER BY s.deleted_at DESC"
    return await fetch_all(conn, Workspace, query, {"user": user_id, "since": since})


async def rename(conn: Connection, space: int, name: str, by: str | None) -> None:
    await update_rows(conn, "spaces", {"space": space}, {"title": name, "named_by": by})


async def members(conn: Connection, space: int) -> list[Member]:
    """In the order in which they came; of those who came together the owner first."""
    return await fetch_all(
        conn,
        Member,
        """
        SELECT m.user_id, u.email, u.name, m.role, m.added_at
          FROM members m JOIN users u ON u.account = m.account AND u.id = m.user_id
         WHERE m.account = %(account)s AND m.space = %(space)s AND u.erased_at IS NULL
         ORDER BY m.added_at, m.role <> 'owner', m.user_id
        """,
        {"space": space},
    )


async def put_member(conn: Connection, space: int, user_id: str, role: Role) -> None:
    """In it from now on, with this role."""
    await conn.execute(
        """
        INSERT INTO members (account, space, user_id, role)
        VALUES (%(account)s, %(space)s, %(user)s, %(role)s)
        ON CONFLICT (account, space, user_id) DO UPDATE SET role = excluded.role
        """,
        {"space": space, "user": user_id, "role": role},
    )


async def remove_member(conn: Connection, space: int, user_id: str) -> None:
    await delete_rows(conn, "members", {"space": space, "user_id": user_id})


async def purge(conn: Connection, days: int) -> int:
    """Chats, files, artifacts and workspaces that have been in the trash for that long. Needs no scope."""
    return await fetch_value(conn, "SELECT purge_workspaces(%(days)s)", {"days": days})
