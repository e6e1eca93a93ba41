"""What one search over everything finds, whatever it is and wherever it lies."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Way:
    """The way to a thing: `place` is the kind of its place, `name` what people call that."""

    place: str
    name: str
    workspace_id: str | None = None
    chat_id: str | None = None
    message_id: str | None = None
    room_id: str | None = None
    agent: str | None = None
    project_id: str | None = None
    graph_id: str | None = None
    scope_id: str | None = None
    entity: dict[str, str | None] | None = None


@dataclass(frozen=True, kw_only=True)
class Thing:
    kind: str  # capsule, chat, memory, document, room, node or scope
    id: str
    title: str
    snippet: str | None  # HTML with the words that were asked for in <mark>
    where: Way
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Things:
    kind: str
    items: tuple[Thing, ...]


@dataclass(frozen=True, kw_only=True)
class FoundThings:
    groups: tuple[Things, ...]
    degraded: str | None  # `literal`: what only means the same could not be found just now
