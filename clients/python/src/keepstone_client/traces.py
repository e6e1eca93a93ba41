"""Traces: what was asked, found, left out and handed out, for as long as the server keeps it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from keepstone_client.binding import D, Resource, operation, paged
from keepstone_client.core import Page, Request, at, filled, into, page_of

Kind = Literal["recall", "search", "ask", "injection", "composition"]


@dataclass(frozen=True, kw_only=True)
class TraceLine:
    id: str
    at: datetime
    kind: str
    surface: str  # the route that it came by
    user_id: str | None  # who asked; None: a service key that named nobody
    space: str | None  # an id, or `scope:NAME`, `store:NAME`, `dm:AGENT`, `capsules`, `mem0`; None: nothing was there
    question: str | None
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


@dataclass(frozen=True, kw_only=True)
class Trace(TraceLine):
    request_id: str | None
    speaker: str | None
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    steps: tuple[Step, ...]
    candidates: tuple[Candidate, ...]
    handed_out: tuple[Handed, ...]
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
        since: datetime | None = None,
        until: datetime | None = None,
        page_size: int | None = None,
    ) -> Request[Page[TraceLine]]:
        """What you asked, the newest first; with a `space`, all that was asked there and you may read."""
        params = filled(kind=kind, space=space, limit=page_size, **{"from": since, "to": until})
        return Request(method="GET", path="/v1/traces", parse=page_of(TraceLine), params=params)

    @operation
    def get(self, trace_id: str) -> Request[Trace]:
        """The whole of it: `trace_id` of an answer, or its header `X-Keepstone-Trace`."""
        return Request(method="GET", path=f"/v1/traces/{at(trace_id)}", parse=into(Trace))
