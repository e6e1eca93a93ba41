"""Scopes: the transcript of a conversation goes in, what bears on a new message comes out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keepstone_client.binding import D, Resource, operation
from keepstone_client.core import Request, filled, into


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Something that somebody said. With an `id` of yours, the same again changes nothing."""

    speaker: str
    text: str
    id: str | None = None
    ts: datetime | None = None
    reply_to: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Ingested:
    scope_id: str
    ingested: int  # how many were new
    message_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    message_id: str
    id: str | None  # yours, if the message came with one
    speaker: str
    text: str
    ts: datetime
    metadata: dict[str, Any]
    relevance: float  # a probability
    why: dict[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Person:
    speaker: str
    facts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Cost:
    credits: int


@dataclass(frozen=True, kw_only=True)
class Recalled:
    context: str  # ready to put into a prompt; marked as quoted data
    evidence: tuple[Evidence, ...]
    people: tuple[Person, ...]
    usage: Cost
    degraded: str | None = None  # `terms`: nothing could be found by meaning just now
    trace_id: str | None = None  # what it was made of: `traces.get`


@dataclass(frozen=True, kw_only=True)
class Asked:
    answer: str
    evidence: tuple[Evidence, ...]
    abstained: bool  # nothing here answers the question
    usage: Cost
    trace_id: str | None = None


class Scopes(Resource[D]):
    @operation
    def ingest(self, scope_id: str, transcript: Sequence[Turn | Mapping[str, Any]]) -> Request[Ingested]:
        """Keep what was said, word for word. Rows are `Turn`s, or mappings with the same fields."""
        rows = [_row(one) for one in transcript]
        return Request(
            method="POST",
            path="/v1/ingest",
            parse=into(Ingested),
            json={"scope_id": scope_id, "transcript": rows},
            repeatable=all(row.get("id") for row in rows),
        )

    @operation
    def recall(
        self,
        scope_id: str,
        text: str,
        *,
        speaker: str = "user",
        ts: datetime | None = None,
        limit: int | None = None,
        max_tokens: int | None = None,
        as_of: datetime | None = None,
        min_relevance: float | None = None,
        explain: bool = False,
    ) -> Request[Recalled]:
        """What bears on a new message, and who speaks changes it. `max_tokens` is what `context` may take."""
        body = filled(
            scope_id=scope_id, message=filled(speaker=speaker, text=text, ts=ts), limit=limit, max_tokens=max_tokens,
            as_of=as_of, min_relevance=min_relevance, explain=explain,
        )  # fmt: skip
        return Request(method="POST", path="/v1/recall", parse=into(Recalled), json=body, repeatable=True)

    @operation
    def ask(
        self, scope_id: str, question: str, *, as_of: datetime | None = None, max_tokens: int | None = None
    ) -> Request[Asked]:
        """An answer from what was said, with its evidence. It costs more than a recall, so it is not repeated when
        nobody knows what became of it."""
        body = filled(scope_id=scope_id, question=question, as_of=as_of, max_tokens=max_tokens)
        return Request(method="POST", path="/v1/ask", parse=into(Asked), json=body, timeout=180)


def _row(turn: Turn | Mapping[str, Any]) -> dict[str, Any]:
    held = vars(turn) if isinstance(turn, Turn) else turn
    return filled(**held)
