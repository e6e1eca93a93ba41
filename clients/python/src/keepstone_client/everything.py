"""Memory of every kind in one list, and one trash for everything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from keepstone_client.binding import D, Resource, operation, paged
from keepstone_client.core import Page, Request, at, filled, into, items_of, page_of
from keepstone_client.found import FoundThings

MemoryKind = Literal[
    "capsule", "chat_memory", "room_memory", "direct_memory", "profile_memory", "project_memory", "landmark", "node",
    "entity_memory", "item",
]  # fmt: skip
TrashKind = Literal[
    "capsule", "chat_memory", "room_memory", "direct_memory", "profile_memory", "project_memory", "landmark", "node",
    "entity_memory", "item", "message", "statement", "chat", "file", "artifact", "workspace", "room", "project",
    "graph",
]  # fmt: skip
Origin = Literal["said", "saved", "model", "distilled", "program"]


@dataclass(frozen=True, kw_only=True)
class EntityIds:
    user_id: str | None
    agent_id: str | None
    app_id: str | None
    run_id: str | None


@dataclass(frozen=True, kw_only=True)
class Where:
    """Where something lies: a kind of place, its id, and what people call it."""

    kind: str
    id: str
    name: str
    entity: EntityIds | None  # of a memory that mem0's client keeps: for whom


@dataclass(frozen=True, kw_only=True)
class Shelved:
    """A memory of any kind; in a list the beginning of its text."""

    id: str
    kind: str
    type: str
    title: str
    text: str
    tags: tuple[str, ...]
    user: str | None
    user_name: str | None
    agent: str | None
    source: str
    chat_id: str | None
    chat_title: str | None
    message_id: str | None
    key: str | None
    superseded: bool
    created_at: datetime
    updated_at: datetime
    place: Where | None
    namespace: tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True)
class OtherMemory:
    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class QuotedMessage:
    id: str
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class ShelvedVersion:
    version: int
    change: str
    title: str
    text: str
    changed_at: datetime
    changed_by: str | None
    changed_by_name: str | None


@dataclass(frozen=True, kw_only=True)
class WholeMemory(Shelved):
    metadata: dict[str, Any]
    changeable: bool  # by you, with the operations of its kind
    said: QuotedMessage | None  # the message that it was taken from
    superseded_by: OtherMemory | None
    supersedes: tuple[OtherMemory, ...]
    versions: tuple[ShelvedVersion, ...]  # the latest first


@dataclass(frozen=True, kw_only=True)
class FacetCount:
    value: str
    count: int
    name: str | None


@dataclass(frozen=True, kw_only=True)
class Facets:
    kind: tuple[FacetCount, ...]
    user: tuple[FacetCount, ...]
    agent: tuple[FacetCount, ...]
    source: tuple[FacetCount, ...]


@dataclass(frozen=True, kw_only=True)
class Discarded:
    kind: str
    id: str
    title: str
    text: str
    key: str | None
    restorable: bool  # by you
    created_at: datetime
    deleted_at: datetime
    expires_at: datetime  # from then on it is gone for good
    deleted_by: str | None
    deleted_by_name: str | None
    place: Where | None
    namespace: tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True)
class TrashedKind:
    kind: str
    count: int


@dataclass(frozen=True, kw_only=True)
class BroughtBack:
    kind: str
    id: str
    code: str | None  # None: it is back
    message: str | None
    restored: bool
    place: Where | None


def _wanted(
    kind: str | None, user: str | None, agent: str | None, source: str | None, app_id: str | None, run_id: str | None,
    place: str | None, namespace: Sequence[str] | None, q: str | None, since: datetime | None, until: datetime | None,
    superseded: bool | None,
) -> dict[str, Any]:  # fmt: skip
    return filled(
        kind=kind, user=user, agent=agent, source=source, app_id=app_id, run_id=run_id, place=place,
        namespace=namespace, q=q, superseded=superseded, **{"from": since, "to": until},
    )  # fmt: skip


class Everything(Resource[D]):
    @operation
    def find(self, q: str, *, limit: int | None = None) -> Request[FoundThings]:
        """The best of each kind by name, words and meaning. Not billed, and no trace is left."""
        return Request(method="GET", path="/v1/find", parse=into(FoundThings), params=filled(q=q, limit=limit))

    @paged
    def list(
        self,
        *,
        kind: MemoryKind | None = None,
        user: str | None = None,
        agent: str | None = None,
        source: Origin | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        place: str | None = None,
        namespace: Sequence[str] | None = None,
        q: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        superseded: bool | None = None,
        page_size: int | None = None,
    ) -> Request[Page[Shelved]]:
        """Memory of every kind that you may read, the newest first. `q`: every word stands in it."""
        asked = _wanted(
            kind, user, agent, source, app_id, run_id, place, namespace, q, since, until, superseded
        )  # fmt: skip
        params = asked | filled(limit=page_size)
        return Request(method="GET", path="/v1/memory/all", parse=page_of(Shelved), params=params)

    @operation
    def counts(
        self,
        *,
        kind: MemoryKind | None = None,
        user: str | None = None,
        agent: str | None = None,
        source: Origin | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        place: str | None = None,
        namespace: Sequence[str] | None = None,
        q: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        superseded: bool | None = None,
    ) -> Request[Facets]:
        """How many there are by kind, user, agent and source, each under all filters but its own."""
        asked = _wanted(
            kind, user, agent, source, app_id, run_id, place, namespace, q, since, until, superseded
        )  # fmt: skip
        return Request(method="GET", path="/v1/memory/all/counts", parse=into(Facets), params=asked)

    @operation
    def get(self, memory_id: str) -> Request[WholeMemory]:
        """One, with the message that it was taken from and every version."""
        return Request(method="GET", path=f"/v1/memory/all/{at(memory_id)}", parse=into(WholeMemory))


class Trash(Resource[D]):
    @paged
    def list(
        self, *, kind: TrashKind | None = None, q: str | None = None, page_size: int | None = None
    ) -> Request[Page[Discarded]]:
        """All that can be brought back, deleted last first."""
        params = filled(kind=kind, q=q, limit=page_size)
        return Request(method="GET", path="/v1/trash", parse=page_of(Discarded), params=params)

    @operation
    def counts(self, *, q: str | None = None) -> Request[tuple[TrashedKind, ...]]:
        """How many of each kind."""
        return Request(method="GET", path="/v1/trash/counts", parse=items_of(TrashedKind), params=filled(q=q))

    @operation
    def restore(self, things: Sequence[Mapping[str, str]]) -> Request[tuple[BroughtBack, ...]]:
        """Bring several back, each `{"kind", "id"}`; what can't be brought back says why."""
        body = {"items": [dict(one) for one in things]}
        return Request(method="POST", path="/v1/trash/restore", parse=items_of(BroughtBack), json=body)
