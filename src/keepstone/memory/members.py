"""Who is in a workspace or a project, and what each may there: let in, given another role, sent away. One owner stays.

Whether the caller is in it at all is asked before, by whoever finds the place.
"""

from collections.abc import Sequence
from typing import Protocol

from keepstone.access.audit import record
from keepstone.access.principals import find_user
from keepstone.errors import Conflict, Forbidden, NotFound
from keepstone.model.principal import Principal
from keepstone.model.workspace import RANK, Member, Role
from keepstone.store import spaces
from keepstone.store import workspaces as store
from keepstone.store.db import Connection

_MAY: dict[Role, str] = {
    "viewer": "read",
    "member": "add to it, and change what is yours",
    "editor": "change what others added",
    "owner": "change the {noun} itself and who is in it",
}


class SharedPlace(Protocol):
    """As one of its members sees it. `noun` is what it and its audit lines are called."""

    @property
    def id(self) -> str: ...
    @property
    def role(self) -> Role: ...
    @property
    def space(self) -> int: ...
    @property
    def noun(self) -> str: ...


def require_role(place: SharedPlace, needs: Role) -> None:
    if RANK[place.role] < RANK[needs]:
        may = _MAY[needs].format(noun=place.noun)
        raise Forbidden(f"Here you are a {place.role}: ask an owner of the {place.noun} to let you {may}.")


def may_change(principal: Principal, place: SharedPlace, made_by: str | None) -> bool:
    """A member may change what they added themselves, an editor everything."""
    return RANK[place.role] >= RANK["member" if made_by == principal.user_id else "editor"]


def changeable(principal: Principal, place: SharedPlace) -> str | None:
    """Whose of what is in it the caller may change: with None everybody's, else one user's, or with "" nobody's."""
    if may_change(principal, place, None):
        return None
    return principal.user_id if may_change(principal, place, principal.user_id) else ""


def require_change(principal: Principal, place: SharedPlace, made_by: str | None) -> None:
    """Whoever may not is told what they would have to be."""
    require_role(place, "member" if made_by == principal.user_id else "editor")


async def put_member(
    conn: Connection, principal: Principal, place: SharedPlace, user: str, role: Role
) -> Sequence[Member]:
    """Let somebody of the account in, or change what they may. `user` is an id or an e-mail address."""
    await spaces.lock(conn, [place.space])
    person = await find_user(conn, user)
    await _keep_an_owner(conn, place, person.id, role)
    await store.put_member(conn, place.space, person.id, role)
    await record(conn, principal, f"{place.noun}.member", place.id, user=person.id, role=role)
    return await store.members(conn, place.space)


async def remove_member(conn: Connection, principal: Principal, place: SharedPlace, user_id: str) -> None:
    """An owner may send anybody away; everybody may leave."""
    if user_id != principal.user_id:
        require_role(place, "owner")
    await spaces.lock(conn, [place.space])
    if user_id not in {member.user_id for member in await store.members(conn, place.space)}:
        raise NotFound("There is no such member.")
    await _keep_an_owner(conn, place, user_id, None)
    await store.remove_member(conn, place.space, user_id)
    await record(conn, principal, f"{place.noun}.leave", place.id, user=user_id)


async def _keep_an_owner(conn: Connection, place: SharedPlace, user_id: str, role: Role | None) -> None:
    """The place is held, so the last two owners can't step down at the same moment."""
    if role == "owner":
        return
    members = await store.members(conn, place.space)
    if not any(member.role == "owner" for member in members if member.user_id != user_id):
        raise Conflict(f"This is the {place.noun}'s only owner: make somebody else an owner first, or delete it.")
