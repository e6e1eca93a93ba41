"""What sources yield: conversations, notes, capsules of an archive, what they leave out, with the reason, and what else
is to be known of how they were read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from keepstone.model.importing import DateOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTurn:
    """What somebody said. `id` is the same in every export, which makes a second import harmless."""

    id: str
    speaker: str
    text: str
    at: datetime | None
    reply_to: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProject:
    """A project there: what came from it is put into one of that name here. `id` is the source's own."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """`scope` is that of a group which talks somewhere of its own; without one it goes where all of the source go."""

    id: str
    title: str
    turns: list[ImportedTurn]
    scope: str | None = None
    project: SourceProject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that was kept: a memory, a file, an instruction. `id` is the source's own, the same in every export."""

    id: str
    title: str
    content_md: str
    kind: str = "note"
    tags: list[str] = field(default_factory=list[str])
    created_at: datetime | None = None
    updated_at: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    project: SourceProject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """A capsule as our own archive has it; `project` is the name of its project."""

    capsule: dict[str, Any]
    project: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRecord:
    """A line of our archive of everything. Only the server itself can take it: its order matters. `place` is where in
    the archive it stands.
    """

    data: dict[str, Any]
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What is not brought over. `what` names one of them by its id, title or place."""

    reason: str
    what: str
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """How something was read that could be read in two ways."""

    text: str


Item = Conversation | Note | Archived | ArchivedRecord | LeftOut | Remark


@dataclass(slots=True)
class Gauge:
    """How much of the source has been read, in bytes where that is known. `largest`: characters that one element of it
    may have.
    """

    total: int = 0
    done: int = 0
    largest: int = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is to be read. `path` is a file, a folder, an address or a connection string; `me` is how the person who
    talked is called; `tools`: also what was said to tools and by them; `of` is one user of a source with many. Where
    dates are written without saying how, `dates` says whether the day or the month stands first, `language` is that of
    the reader, and `zone` where their clock goes.
    """

    path: str
    me: str | None = None
    tools: bool = False
    token: str | None = None
    of: str | None = None
    table: str | None = None
    dates: DateOrder | None = None
    language: str = "en"
    zone: str = "UTC"
    gauge: Gauge = field(default_factory=Gauge)

    @property
    def file(self) -> Path:
        return Path(self.path).expanduser()


Source = Callable[[Reading], Iterator[Item]]
