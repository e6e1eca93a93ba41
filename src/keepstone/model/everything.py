"""All places together: memory of every kind in one list, and one trash for all that can be brought back."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from keepstone.model.memory import TRASH_DAYS
from keepstone.model.principal import KeySurface
from keepstone.model.workspace import RANK, Role

MemoryKind = Literal[
    "capsule", "chat_memory", "room_memory", "direct_memory", "profile_memory", "project_memory", "landmark", "node",
    "entity_memory", "item",
]  # fmt: skip
# Beside memories: what is said, what is written, and the places themselves.
TrashKind = Literal[
    "capsule", "chat_memory", "room_memory", "direct_memory", "profile_memory", "project_memory", "landmark", "node",
    "entity_memory", "item", "message", "statement", "chat", "file", "artifact", "workspace", "room", "project",
    "graph",
]  # fmt: skip
MEMORY_KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
# How it came: taken from what somebody said; kept by hand; kept by a model; read out of a model's long text; kept by a
# program, over mem0's protocol or in a store.
Source = Literal["said", "saved", "model", "distilled", "program"]
PlaceKind = Literal["vault", "workspace", "room", "dm", "profile", "project", "graph", "entity", "store", "scope"]
FacetName = Literal["kind", "user", "agent", "source"]

_REMEMBERED: dict[str, MemoryKind] = {
    "room": "room_memory", "dm": "direct_memory", "profile": "profile_memory", "project": "project_memory",
}  # fmt: skip
# What lies in each kind of place: how the table calls it, and how callers do.
_HOLDS: dict[str, tuple[tuple[str, MemoryKind], ...]] = {
    "vault": (("capsule", "capsule"),),
    "workspace": (("chat", "chat_memory"),),
    "graph": (("node", "node"),),
    "entity": (("entity", "entity_memory"),),
    "store": (("item", "item"),),
    "scope": (),
    **{kind: (("semantic", shown),) for kind, shown in _REMEMBERED.items()},
}
_PINNED = (("landmark", "landmark"),)
_SURFACES: dict[str, KeySurface] = {
    "vault": "capsules", "workspace": "workspaces", "room": "rooms", "dm": "rooms", "profile": "rooms",
    "project": "rooms", "graph": "graphs", "entity": "mem0", "store": "stores", "scope": "scopes",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadablePlace:
    """A space that the caller reads; a part goes by the kind, id and name of the place that it is part of. The last
    four are whose memories an entity's space has; `for_user` is also whose vault or store it is.
    """

    space: int
    kind: PlaceKind
    id: str
    name: str
    part: bool
    library: bool
    role: Role | None
    for_user: str | None = None
    for_agent: str | None = None
    for_app: str | None = None
    for_run: str | None = None

    @property
    def surface(self) -> KeySurface:
        return _SURFACES[self.kind]

    @property
    def holds(self) -> tuple[tuple[str, str], ...]:
        """The kinds of memory in it, by their name in the table and to callers."""
        if self.library:
            return ()
        return _HOLDS[self.kind] + (_PINNED if self.kind in {"room", "dm"} and not self.part else ())

    def allows(self, needs: Role) -> bool:
        """Whether the caller may do that there. Where nobody has a role, everybody who reads it may."""
        return self.role is None or RANK[self.role] >= RANK[needs]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """`words`: each stands in the title or the text. `user` and `agent` are also those that mem0's clients name."""

    kind: MemoryKind | None = None
    user: str | None = None
    agent: str | None = None
    source: Source | None = None
    app: str | None = None
    run: str | None = None
    place: str | None = None
    namespace: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    superseded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelvedMemory:
    """A memory of any kind, as a list of all of them has it: the beginning of its text."""

    id: str
    space: int
    kind: MemoryKind
    type: str
    title: str
    text: str
    tags: list[str]
    user: str | None
    agent: str | None
    source: Source
    chat_id: str | None
    chat_title: str | None
    message_id: str | None
    path: str | None
    key: str | None
    superseded: bool
    created_at: datetime
    updated_at: datetime
    place: ReadablePlace | None = None
    user_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherMemory:
    """Another that this one took the place of, or the other way round."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedMessage:
    """The message that a memory was taken from."""

    id: str
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVersion:
    version: int
    change: str
    title: str
    text: str
    changed_at: datetime
    changed_by: str | None
    changed_by_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeMemory:
    """All of it. `changeable`: the caller may change and delete it."""

    memory: ShelvedMemory
    metadata: dict[str, Any]
    changeable: bool
    said: QuotedMessage | None
    superseded_by: OtherMemory | None
    supersedes: list[OtherMemory]
    versions: list[MemoryVersion]


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetCount:
    by: FacetName
    value: str
    count: int
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Discarded:
    """Something in the trash. `restorable`: the caller may bring it back; a place only its owners do."""

    kind: TrashKind
    id: str
    space: int
    title: str
    text: str
    path: str | None
    key: str | None
    restorable: bool
    created_at: datetime
    deleted_at: datetime
    deleted_by: str | None
    place: ReadablePlace | None = None
    deleted_by_name: str | None = None

    @property
    def expires_at(self) -> datetime:
        """From then on it is gone."""
        return self.deleted_at + timedelta(days=TRASH_DAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtBack:
    """What became of one that was to be restored: `place` is where it is now, else `code` and `message` say why not."""

    kind: TrashKind
    id: str
    place: ReadablePlace | None = None
    code: str | None = None
    message: str | None = None
