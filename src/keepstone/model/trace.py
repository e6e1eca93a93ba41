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
class NamedSource:
    """What people call something that a trace quotes: its title or name, who said it and when, and the chat or thread
    in which it was said. `kind` is what it is: a capsule, a node, a message.
    """

    id: str
    kind: str
    title: str | None
    speaker: str | None
    said_at: datetime | None
    thread_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCandidate(TraceCandidate):
    """A candidate with its name; nothing of it where its text is not shown either."""

    what: str | None = None
    title: str | None = None
    said_by: str | None = None
    said_at: datetime | None = None
    thread_id: str | None = None


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
class ShownPiece(HandedPiece):
    """`tokens` are those of the text, shown or not."""

    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceAnswer:
    """What was answered to a prompt, where it was kept as a message."""

    message_id: str
    speaker: str
    text: str
    said_at: datetime
    thread_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLine:
    """A trace as a list shows it. `space` is how callers name where it was asked, `place` how people do; None: nowhere
    yet. `found` counts what was looked at, `used` what of it was handed out.
    """

    id: str
    at: datetime
    kind: TraceKind
    surface: str
    user_id: str | None
    person: str | None
    space: str | None
    place: str | None
    question: str | None
    found: int
    used: int
    tokens: int
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow(TraceLine):
    """A line with what says whether its question is still to be shown: the message that it is."""

    question_id: str | None
    in_space: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePlace:
    """A space in which I asked something, as callers name it and as people do."""

    space: str
    place: str | None
    kind: str
    traces: int
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTrace(TraceLine):
    """`prompt` is what Keepstone itself put before a model, `answer` what was said to the prompt and kept. `names` are
    those of the ids in the parameters. `withheld` counts the pieces and candidates whose text is no longer shown; `cut`
    says that not all of it was kept.
    """

    request_id: str | None
    speaker: str | None
    parameters: dict[str, Any]
    steps: list[TraceStep]
    candidates: list[ShownCandidate]
    prompt: list[ShownPiece]
    handed_out: list[ShownPiece]
    answer: TraceAnswer | None
    names: dict[str, str]
    withheld: int
    cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    kind: TraceKind | None = None
    space: str | None = None
    user_id: str | None = None
    text: str | None = None
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
    title: str | None
    owner: str | None
    part_of: int | None
    member: bool
    of_room: bool
