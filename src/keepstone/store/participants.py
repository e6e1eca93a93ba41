"""Who is in a room and who is invited to it, what people are called, and who else in the account is called so."""

from collections.abc import Sequence
from typing import LiteralString

from keepstone.model.invitation import Invitation, Participant
from keepstone.model.page import Page, PageRequest
from keepstone.model.workspace import Member
from keepstone.store.db import Connection, delete_rows, fetch_all, fetch_one, fetch_page, insert_new_row

_PERSON: LiteralString = """
    SELECT u.id AS user_id, u.name, u.email, 'owner' AS role, u.created_at AS added_at
      FROM users u WHERE u.account = %(account)s AND u.erased_at IS NULL
"""
_INVITATION: LiteralString = """
    SELECT i.id, s.name AS room_id, s.title AS room_name, i.user_id, u.name AS user_name, i.invited_by,
           b.name AS inviter_name, i.created_at, i.space
      FROM invitations i
      JOIN spaces s ON s.account = i.account AND s.space = i.space AND s.deleted_at IS NULL
      JOIN users u ON u.account = i.account AND u.id = i.user_id AND u.erased_at IS NULL
      JOIN users b ON b.account = i.account AND b.id = i.invited_by AND b.erased_at IS NULL
     WHERE i.account = %(account)s
"""
_MOST_NAMESAKES = 500


async def people(conn: Connection, user_ids: Sequence[str]) -> list[Member]:
    """Users as participants of a conversation of their own."""
    return await fetch_all(conn, Member, f"{_PERSON} AND u.id = ANY(%(ids)s)", {"ids": list(user_ids)})


async def namesakes(conn: Connection, plain_names: Sequence[str]) -> list[Member]:
    """Everybody in the account who is called one of these (`names.plain`)."""
    query: LiteralString = f"{_PERSON} AND u.plain_name = ANY(%(names)s) ORDER BY u.created_at, u.id LIMIT %(most)s"
    return await fetch_all(conn, Member, query, {"names": list(plain_names), "most": _MOST_NAMESAKES})


async def participants(conn: Connection, space: int) -> list[Participant]:
    """In the order in which they came, then those who are invited; of those who came together the owner first."""
    return await fetch_all(
        conn,
        Participant,
        """
        SELECT p.user_id, u.email, u.name, p.role, p.joined_at, p.invited_by
          FROM (SELECT m.account, m.user_id, m.role, m.added_at AS joined_at, NULL AS invited_by, m.added_at AS since
                  FROM members m WHERE m.account = %(account)s AND m.space = %(space)s
                UNION ALL
                SELECT i.account, i.user_id, 'member', NULL, i.invited_by, i.created_at
                  FROM invitations i WHERE i.account = %(account)s AND i.space = %(space)s) AS p
          JOIN users u ON u.account = p.account AND u.id = p.user_id
         WHERE u.erased_at IS NULL
         ORDER BY p.invited_by IS NOT NULL, p.since, p.role <> 'owner', p.user_id
        """,
        {"space": space},
    )


async def invite(conn: Connection, invitation_id: str, space: int, user_id: str, by: str) -> bool:
    """False when they are invited already."""
    row = {"id": invitation_id, "space": space, "user_id": user_id, "invited_by": by}
    return await insert_new_row(conn, "invitations", row)


async def invitation(conn: Connection, invitation_id: str) -> Invitation | None:
    return await fetch_one(conn, Invitation, f"{_INVITATION} AND i.id = %(id)s", {"id": invitation_id})


async def invitation_to(conn: Connection, room_id: str, user_id: str) -> Invitation | None:
    """This user's to this room."""
    query: LiteralString = f"{_INVITATION} AND s.kind = 'room' AND s.name = %(room)s AND i.user_id = %(user)s"
    return await fetch_one(conn, Invitation, query, {"room": room_id, "user": user_id})


async def invitations(conn: Connection, user_id: str, page: PageRequest, *, sent: bool) -> Page[Invitation]:
    """Those that this user got, or sent; the newest first."""
    whose: LiteralString = "i.invited_by" if sent else "i.user_id"
    query: LiteralString = f"{_INVITATION} AND {whose} = %(user)s"
    return await fetch_page(conn, Invitation, query, {"user": user_id}, page, when="i.created_at", key="i.id")


async def end_invitation(conn: Connection, space: int, user_id: str) -> bool:
    """Accepted, declined or withdrawn."""
    return await delete_rows(conn, "invitations", {"space": space, "user_id": user_id}) > 0
