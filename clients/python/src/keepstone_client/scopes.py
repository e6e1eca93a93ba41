"""Scopes: the transcript of a conversation goes in, what bears on a new message comes out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from keepstone_client.binding import D, Resource, operation, paged
from keepstone_client.core import Page, Request, at, filled, into, items_of, nothing, page_of


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


@dataclass(frozen=True, kw_only=True)
class Scope:
    scope_id: str
    messages: int
    people: int  # who spoke among its last 500 messages
    size_bytes: int
    created_at: datetime
    last_at: datetime | None  # when somebody last spoke in it


@dataclass(frozen=True, kw_only=True)
class ScopeMessage:
    message_id: str
    id: str | None  # yours, if it came with one
    speaker: str
    text: str
    ts: datetime
    reply_to: str | None
    metadata: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class SourceMessage:
    message_id: str
    id: str | None
    speaker: str
    text: str  # of a long one the beginning
    ts: datetime


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What is known of somebody, and what it was read out of."""

    id: str
    speaker: str  # whom it is about
    kind: str
    text: str
    holds: bool  # nothing newer took its place
    version: int
    deleted_at: datetime | None
    message: SourceMessage


@dataclass(frozen=True, kw_only=True)
class StatementVersion:
    version: int
    change: str  # created, updated, deleted, restored
    speaker: str
    text: str
    changed_by: str | None
    changed_at: datetime


class Scopes(Resource[D]):
    @paged
    def list(self, *, q: str | None = None, page_size: int | None = None) -> Request[Page[Scope]]:
        """Yours, the newest first; with `q`, those whose name has it in it."""
        return Request(method="GET", path="/v1/scopes", parse=page_of(Scope), params=filled(q=q, limit=page_size))

    @paged
    def messages(
        self,
        scope_id: str,
        *,
        speaker: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        at_message: str | None = None,
        latest_first: bool = False,
        page_size: int | None = None,
    ) -> Request[Page[ScopeMessage]]:
        """What was said in it, in order or backwards: of one speaker, from a time on, before another, or all; with
        `at_message`, from that message on, backwards what was said before it.
        """
        params = filled(
            speaker=speaker, limit=page_size, at_message=at_message, latest_first=latest_first or None,
            **{"from": since, "to": until},
        )  # fmt: skip
        return Request(method="GET", path=f"{_of(scope_id)}/messages", parse=page_of(ScopeMessage), params=params)

    @paged
    def people(
        self,
        scope_id: str,
        *,
        speaker: str | None = None,
        superseded: bool = False,
        deleted: bool = False,
        page_size: int | None = None,
    ) -> Request[Page[Statement]]:
        """What is known of whom, said last first: what holds, with `superseded` also what no longer does, with
        `deleted` what is in the trash instead."""
        params = filled(speaker=speaker, superseded=superseded, deleted=deleted, limit=page_size)
        return Request(method="GET", path=f"{_of(scope_id)}/people", parse=page_of(Statement), params=params)

    @operation
    def statement(self, scope_id: str, statement_id: str) -> Request[Statement]:
        return Request(method="GET", path=_statement(scope_id, statement_id), parse=into(Statement))

    @operation
    def correct(
        self, scope_id: str, statement_id: str, *, text: str | None = None, speaker: str | None = None
    ) -> Request[Statement]:
        """What is so instead, or whom it is about; what it was stays in its history."""
        return Request(
            method="PATCH",
            path=_statement(scope_id, statement_id),
            parse=into(Statement),
            json=filled(text=text, speaker=speaker),
            repeatable=True,
        )

    @operation
    def forget(self, scope_id: str, statement_id: str) -> Request[None]:
        """Into the trash, for 30 days. The message stays, and nothing is read out of it again."""
        return Request(method="DELETE", path=_statement(scope_id, statement_id), parse=nothing)

    @operation
    def restore(self, scope_id: str, statement_id: str) -> Request[Statement]:
        """Out of the trash."""
        path = f"{_statement(scope_id, statement_id)}/restore"
        return Request(method="POST", path=path, parse=into(Statement))

    @operation
    def history(self, scope_id: str, statement_id: str) -> Request[tuple[StatementVersion, ...]]:
        """Every version of what is known, the latest first."""
        path = f"{_statement(scope_id, statement_id)}/history"
        return Request(method="GET", path=path, parse=items_of(StatementVersion))

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


def _of(scope_id: str) -> str:
    """Its name is yours and may hold anything: a slash or a dot of it must not be taken for one of the address."""
    if not scope_id:
        raise ValueError("a scope's name has at least one character")
    return f"/v1/scopes/{quote(scope_id, safe='').replace('.', '%2E')}"


def _statement(scope_id: str, statement_id: str) -> str:
    return f"{_of(scope_id)}/people/{at(statement_id)}"


def _row(turn: Turn | Mapping[str, Any]) -> dict[str, Any]:
    held = vars(turn) if isinstance(turn, Turn) else turn
    return filled(**held)
