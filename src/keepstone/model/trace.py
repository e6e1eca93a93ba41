"""A trace: what was asked of which spaces, what was found, what was left out and why, and what was handed out."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

TraceKind = Literal["recall", "search", "ask", "injection", "composition"]
TRACE_KINDS: tuple[TraceKind, ...] = get_args(TraceKind)
# Why something that was found was not handed out: its relevance, the budget of tokens, the number asked for, something
# better that says the same, something newer that took its place, or that it is no longer there.
LeftOut = Literal["below_floor", "no_room", "over_limit", "duplicate", "superseded", "gone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    name: str
    milliseconds: float
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCandidate:
    """Something that was found or stood there anyway. `text` is None once it is deleted, or no longer the reader's to
    see. `left_out` is None for what was handed out.
    """

    id: str
    kind: str
    text: str | None
    score: float | None = None
    relevance: float | None = None
    why: dict[str, float] = field(default_factory=dict[str, float])
    left_out: LeftOut | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedPiece:
    """A piece of what was handed out, one after the other the whole of it. `sources` are the ids of what is quoted in
    it, `statements` what is said of people in it. `text` is None where one of them is no longer there.
    """

    text: str | None
    role: str | None = None
    sources: list[str] = field(default_factory=list[str])
    statements: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLine:
    """A trace as a list shows it. `space` is how callers name where it was asked; None: nowhere yet."""

    id: str
    at: datetime
    kind: TraceKind
    surface: str
    user_id: str | None
    space: str | None
    question: str | None
    tokens: int
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTrace(TraceLine):
    """`withheld` counts the pieces and candidates whose text is no longer shown; `cut` says that not all of it was
    kept.
    """

    request_id: str | None
    speaker: str | None
    parameters: dict[str, Any]
    steps: list[TraceStep]
    candidates: list[TraceCandidate]
    handed_out: list[HandedPiece]
    withheld: int
    cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    kind: TraceKind | None = None
    space: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTrace:
    """A row, as it is written and read. `question_id` is the message that the question was kept as, if it was."""

    id: str
    at: datetime
    kind: TraceKind
    surface: str
    user_id: str | None
    readers: list[str]
    people: list[str]
    space: int | None
    spaces: list[int]
    sources: list[str]
    tokens: int
    milliseconds: float
    content: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceNow:
    """A space that a trace was made of, as it is now: whose it is, and whether the reader is in it. `of_room` says that
    what lies there is read in the room where it was asked: a participant's profile, the room's project.
    """

    space: int
    kind: str
    name: str
    owner: str | None
    part_of: int | None
    member: bool
    of_room: bool
