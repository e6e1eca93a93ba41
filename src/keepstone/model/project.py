"""Projects: what belongs together across capsules, rooms and facts."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    id: str
    name: str
    created_at: datetime
