"""One search over everything that you may see, whatever it is and wherever it lies."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from keepstone_client.binding import D, Resource, operation
from keepstone_client.core import Request, filled, into

ThingKind = Literal["capsule", "chat", "memory", "document", "room", "node", "scope"]


@dataclass(frozen=True, kw_only=True)
class Where:
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
    kind: ThingKind
    id: str
    title: str
    snippet: str | None  # HTML with the words that were asked for in <mark>
    where: Where
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Things:
    kind: ThingKind
    items: tuple[Thing, ...]


@dataclass(frozen=True, kw_only=True)
class FoundThings:
    groups: tuple[Things, ...]
    degraded: str | None  # `literal`: what only means the same could not be found just now


class Everything(Resource[D]):
    @operation
    def find(self, q: str, *, limit: int | None = None) -> Request[FoundThings]:
        """The best of each kind by name, words and meaning. Not billed, and no trace is left."""
        return Request(method="GET", path="/v1/find", parse=into(FoundThings), params=filled(q=q, limit=limit))
