"""Projects: what belongs together across capsules, rooms and facts."""

from dataclasses import dataclass
from datetime import datetime

from keepstone.model.workspace import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """As one of its members sees it."""

    id: str
    name: str
    role: Role
    created_at: datetime
    deleted_at: datetime | None
    space: int

    @property
    def noun(self) -> str:
        return "project"
