"""Workspaces: chats that share their memories, and who is in them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

# A viewer reads; a member adds, and changes what is theirs; an editor changes what is anybody's; an owner also has the
# say over the workspace itself and who is in it.
Role = Literal["viewer", "member", "editor", "owner"]
RANK: dict[Role, int] = {"viewer": 0, "member": 1, "editor": 2, "owner": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """As one of its members sees it. `library` is the space of its files and artifacts, `talk` the one in which
    messages of its chats are found.
    """

    id: str
    name: str
    role: Role
    is_default: bool
    memory_count: int
    created_at: datetime
    deleted_at: datetime | None
    space: int
    library: int
    talk: int

    @property
    def noun(self) -> str:
        return "workspace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Of a workspace, a project or a room."""

    user_id: str
    email: str
    name: str
    role: Role
    added_at: datetime
