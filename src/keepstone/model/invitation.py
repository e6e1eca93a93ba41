"""Invitations: somebody was named for a room and has yet to say whether they come. And who is in a room, or may be."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from keepstone.model.workspace import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """`user_name` and `inviter_name` are what the two are called, with a mark where others are called the same."""

    id: str
    room_id: str
    room_name: str
    user_id: str
    user_name: str
    invited_by: str
    inviter_name: str
    created_at: datetime
    space: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """Of a room; or, with `invited_by`, invited to it and not in it yet."""

    user_id: str
    email: str
    name: str
    role: Role
    joined_at: datetime | None
    invited_by: str | None

    @property
    def status(self) -> Literal["joined", "invited"]:
        return "joined" if self.invited_by is None else "invited"
