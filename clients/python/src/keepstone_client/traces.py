"""Traces: what was asked, found, left out and handed out, for as long as the server keeps it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from keepstone_client.binding import D, Resource, operation, paged
from keepstone_client.core import Page, Request, at, filled, into, items_of, page_of

Kind = Literal["recall", "search", "ask", "injection", "composition"]


@dataclass(frozen=True, kw_only=True)
class TraceLine:
    id: str
    at: datetime
    kind: str
    surface: str  # the route that it came by
    user_id: str | None  # who asked; None: a service key that named nobody
    space: str | None  # an id, or `scope:NAME`, `store:NAME`, `dm:AGENT`, `capsules`, `mem0`; None: nothing was there
    person: str | None  # their name
    place: str | None  # its name; None where its kind says it
    question: str | None
    found: int  # candidates
    used: int  # of them handed out
    tokens: int  # of what was handed out
    milliseconds: float


@dataclass(frozen=True, kw_only=True)
class Step:
    name: str
    milliseconds: float
    tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Candidate:
    id: str
    kind: str
    what: str | None  # closer: `capsule`, `node`, `chat`, `landmark`, `file` …
    title: str | None
    said_by: str | None
    said_at: datetime | None
    thread_id: str | None  # the chat or thread that it is from
    text: str | None  # None: no longer there, or no longer yours to see
    score: float | None
    relevance: float | None
    why: dict[str, float]
    left_out: str | None  # None: it was handed out


@dataclass(frozen=True, kw_only=True)
class Handed:
    """A piece of what was handed out; one after the other they are the exact text."""

    role: str | None
    text: str | None  # None: what it quotes is no longer there, or no longer yours to see
    sources: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, kw_only=True)
class TraceAnswer:
    """What a model or an agent said to a prompt."""

    message_id: str
    speaker: str
    text: str
    said_at: datetime
    thread_id: str | None


@dataclass(frozen=True, kw_only=True)
class TracePlace:
    """Where I asked something."""

    space: str
    place: str | None  # its name; None where its kind says it
    kind: str
    traces: int
    last_at: datetime


@dataclass(frozen=True, kw_only=True)
class Trace(TraceLine):
    request_id: str | None
    speaker: str | None
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    steps: tuple[Step, ...]
    candidates: tuple[Candidate, ...]
    prompt: tuple[Handed, ...]  # of `ask`: what a model was asked
    handed_out: tuple[Handed, ...]
    answer: TraceAnswer | None
    names: dict[str, str]  # of the users and agents whose ids are in it
    withheld: int  # texts that are no longer shown
    cut: bool  # it was too long to be kept whole

    @property
    def text(self) -> str:
        """What was handed out, as far as it is still shown."""
        return "".join(piece.text or "" for piece in self.handed_out)


class Traces(Resource[D]):
    @paged
    def list(
        self,
        *,
        kind: Kind | None = None,
        space: str | None = None,
        user_id: str | None = None,
        q: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        page_size: int | None = None,
    ) -> Request[Page[TraceLine]]:
        """What you asked, the newest first; with a `space`, all that was asked there and you may read. `q`: with these
        words in the question."""
        params = filled(kind=kind, space=space, user_id=user_id, q=q, limit=page_size, **{"from": since, "to": until})
        return Request(method="GET", path="/v1/traces", parse=page_of(TraceLine), params=params)

    @operation
    def places(self) -> Request[tuple[TracePlace, ...]]:
        """Where you asked something, the latest first."""
        return Request(method="GET", path="/v1/traces/places", parse=items_of(TracePlace, "places"))

    @operation
    def get(self, trace_id: str) -> Request[Trace]:
        """The whole of it: `trace_id` of an answer, or its header `X-Keepstone-Trace`."""
        return Request(method="GET", path=f"/v1/traces/{at(trace_id)}", parse=into(Trace))
