"""What a kind of memory is: what is its own among all that memories have in common. What happens to memories is in
`shelf`; each kind is declared by the module that its users call.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic

from keepstone.engine import dedup
from keepstone.engine.embed import FirstVector
from keepstone.engine.quotation import own_words
from keepstone.errors import Invalid, Malformed, NotFound
from keepstone.model import ids
from keepstone.model.memory import LARGEST, LARGEST_METADATA, MemoryT, json_bytes
from keepstone.model.message import NewPassage
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store.db import Connection
from keepstone.store.memories import Shape

_VERBS = {
    "created": "create", "updated": "update", "deleted": "delete", "restored": "restore", "superseded": "supersede",
    "revived": "revive", "imported": "import", "withdrawn": "withdraw", "returned": "return",
}  # fmt: skip


async def _unlimited(_: Connection, _services: Services, _principal: Principal, memory: MemoryT, _more: int) -> MemoryT:
    """Nothing is counted against a plan."""
    return memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[MemoryT]):
    """What is a kind's own. `noun` is what the audit trail calls it, and `verbs` what was done to it where that is not
    what others call it; `text_field` is what its users call its text. With `unique`, two that hold may not be the same.
    """

    shape: Shape[MemoryT]
    noun: str
    prefix: ids.Kind
    missing: str
    text_field: str = "content"
    largest: int = LARGEST
    unique: bool = True
    verbs: Mapping[str, str] = field(default_factory=dict[str, str])
    indexed: Callable[[MemoryT], Sequence[str]] = lambda memory: [memory.content]
    content_hash: Callable[[MemoryT], bytes] = lambda memory: dedup.content_hash(memory.content)
    size: Callable[[MemoryT], int] = lambda memory: len(memory.content.encode())
    included: int | None = None  # bytes of metadata and versions that its size stands for; None: those don't count
    found_in: Callable[[MemoryT], int] = lambda memory: memory.space  # the space of its passages
    # Refuses what there is no room for; else gives it back, with what had to make room for it.
    make_room: Callable[[Connection, Services, Principal, MemoryT, int], Awaitable[MemoryT]] = _unlimited

    def new(self, at: datetime, **fields: Any) -> MemoryT:
        """One that is made now."""
        made: dict[str, Any] = {
            "id": ids.new_id(self.prefix), "created_at": at, "updated_at": at, "accessed_at": at, "valid_from": at,
        }  # fmt: skip
        return self.shape.row(**made | fields)

    def complete(self, memory: MemoryT) -> MemoryT:
        """With what follows from the rest of it."""
        return self.weighed(
            replace(memory, content_hash=self.content_hash(memory), size_bytes=self.size(memory)),
        )

    def weighed(self, memory: MemoryT) -> MemoryT:
        """With what it takes of its user's capacity: its size, and beyond what that includes, metadata and earlier
        versions.
        """
        more = 0
        if self.included is not None:
            more = max(0, memory.version_bytes + json_bytes(memory.metadata) - self.included)
        return replace(memory, kept_bytes=memory.size_bytes + more)

    def live(self, memory: MemoryT | None) -> MemoryT:
        if memory is None or not memory.live:
            raise self.not_found()
        return memory

    def not_found(self) -> NotFound:
        return NotFound(self.missing)

    def action(self, change: str) -> str:
        """As the audit trail has it."""
        return f"{self.noun}.{self.verbs.get(change) or _VERBS.get(change, change)}"

    def check_text(self, text: str) -> str:
        """What may be kept of it: what was recalled and quoted in it is nobody's own words."""
        kept = own_words(text).strip()
        if not kept:
            raise Invalid("There is nothing to remember in this: give a text of its own, not only what was recalled.")
        self.check_size(kept)
        return kept

    def check_size(self, text: str) -> None:
        if len(text.encode()) > self.largest:
            fault = f"has more than {self.largest // 1024} KB: keep what matters, or split it"
            raise Malformed(f"{self.text_field} {fault}. Nothing was stored.", fields={self.text_field: fault})


@dataclass(frozen=True, slots=True)
class Prepared(Generic[MemoryT]):
    """A memory as it is to be, the passages that it will be found by, and the vector of the first of them; of others,
    by their parts, where they were read too. None for passages: those that are there stay. `heads` are the parts with
    which its texts begin.
    """

    memory: MemoryT
    passages: Sequence[NewPassage] | None
    first: FirstVector | None = None
    others: Mapping[int, FirstVector] = field(default_factory=dict[int, FirstVector])
    heads: Sequence[int] = (0,)

    def read(self) -> list[tuple[NewPassage, FirstVector | None]]:
        """Its passages, each with its vector if there is one."""
        return [
            (passage, self.first if place == 0 else self.others.get(passage.part))
            for place, passage in enumerate(self.passages or ())
        ]

    def moved(self, **fields: Any) -> "Prepared[MemoryT]":
        """The same with another id, space or the like."""
        memory = replace(self.memory, **fields)
        cut = [replace(passage, source_id=memory.id) for passage in self.passages or []]
        return replace(self, memory=memory, passages=cut)


@dataclass(frozen=True, slots=True)
class Written(Generic[MemoryT]):
    """A row that was just written: what happened to it, what it was, and what it is."""

    change: str
    before: MemoryT | None
    after: Prepared[MemoryT]

    @property
    def memory(self) -> MemoryT:
        return self.after.memory

    @property
    def growth(self) -> int:
        """The bytes that it takes more than before, or less. What is put away takes none."""
        was = self.before.kept_bytes if self.before is not None and self.before.live else 0
        return (self.memory.kept_bytes if self.memory.live else 0) - was


def check_metadata(metadata: Mapping[str, Any] | None) -> None:
    if metadata and json_bytes(metadata) > LARGEST_METADATA:
        fault = f"has more than {LARGEST_METADATA // 1024} KB"
        raise Malformed(f"metadata {fault}. Nothing was stored.", fields={"metadata": fault})
