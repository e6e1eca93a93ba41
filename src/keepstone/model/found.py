"""What one search over everything finds: things of several kinds, each with where it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

ThingKind = Literal["capsule", "chat", "memory", "document", "room", "node", "scope"]
PlaceKind = Literal["vault", "workspace", "room", "dm", "profile", "project", "entity", "graph", "scope"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedSpace:
    """A space that the caller may look into. `kind` and `name` are those of the whole that it may be a `part` of;
    `title` is what people call it. `entity` is for whom mem0's memories are kept.
    """

    space: int
    kind: PlaceKind
    name: str
    title: str
    part: str | None
    at: datetime
    entity: dict[str, str | None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereFound:
    """The way to a thing: what its place is and is called, and the ids that lead there."""

    place: PlaceKind
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundThing:
    kind: ThingKind
    id: str
    title: str
    snippet: str | None
    where: WhereFound
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGroup:
    kind: ThingKind
    items: Sequence[FoundThing]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEverywhere:
    """`degraded` says `literal` when meaning had no say: no embedder answered, or not in time."""

    groups: Sequence[FoundGroup]
    degraded: str | None
