"""Scopes over REST: ingest, recall, ask; which there are, and what was said in one."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import BaseModel, Field

from keepstone.engine.pack import Evidence
from keepstone.memory import scope_lists, scopes
from keepstone.model.ids import new_id
from keepstone.model.message import KeptMessage, Message
from keepstone.model.scope import Scope
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.errors import chosen_request_id
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.scope_ids import ScopeInPath
from keepstone.surfaces.http.wire import Name, PageOut, Paging, Shown, Time, Wire, fields_of, refuse, show_page

router = Router(prefix="/v1", tags=["scopes"])

ScopeId = Annotated[str, Field(min_length=1, max_length=255, description="Which conversation. The caller picks it.")]


class TurnIn(Wire):
    speaker: Name
    text: Annotated[str, Field(min_length=1)]
    id: Annotated[
        str | None, Field(min_length=1, max_length=255, description="Yours: the same again changes nothing.")
    ] = None
    ts: Time | None = None
    reply_to: Annotated[str | None, Field(max_length=255)] = None
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])


class IngestIn(Wire):
    scope_id: ScopeId
    transcript: Annotated[list[TurnIn], Field(min_length=1, max_length=10_000)]


class IngestOut(BaseModel):
    scope_id: str
    ingested: int = Field(description="How many were new.")
    message_ids: list[str] = Field(description="One for each row of the transcript, in its order.")


class ArrivingIn(Wire):
    speaker: Name
    text: Annotated[str, Field(min_length=1)]
    ts: Time | None = None


class RecallIn(Wire):
    scope_id: ScopeId
    message: ArrivingIn
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    max_tokens: Annotated[int | None, Field(ge=1, le=1_000_000, description="Budget of `context`.")] = None
    as_of: Annotated[Time | None, Field(description="See the scope as it was then.")] = None
    min_relevance: Annotated[float | None, Field(ge=0, le=1)] = None
    explain: bool = False


class AskIn(Wire):
    scope_id: ScopeId
    question: Annotated[str, Field(min_length=1)]
    as_of: Time | None = None
    max_tokens: Annotated[int | None, Field(ge=1, le=1_000_000)] = None


class EvidenceOut(fields_of(Evidence, "message_id id speaker text ts metadata relevance why")):
    id: str | None = Field(description="Yours, if the message came with one.")
    relevance: float = Field(description="A probability.")
    why: dict[str, float] | None = Field(default=None, description="With `explain`: what spoke for it.")


class PersonOut(Shown):
    speaker: str
    facts: list[str]


class UsageOut(Shown):
    credits: int


class RecallOut(Shown):
    context: str = Field(description="Ready to put into a prompt; marked as quoted data.")
    evidence: list[EvidenceOut] = Field(description="The best first.")
    people: list[PersonOut]
    usage: UsageOut
    degraded: str | None = Field(default=None, description="`terms`: nothing could be found by meaning just now.")
    trace_id: str | None = Field(default=None, description="What it was made of: `GET /v1/traces/{trace_id}`.")


class AskOut(Shown):
    answer: str
    evidence: list[EvidenceOut]
    abstained: bool = Field(description="Nothing here answers the question.")
    usage: UsageOut
    trace_id: str | None = Field(default=None, description="What it was made of: `GET /v1/traces/{trace_id}`.")


class ScopeOut(fields_of(Scope, "scope_id messages people size_bytes created_at last_at")):
    messages: int = Field(description="How many were ever ingested into it.")
    people: int = Field(description="How many spoke among its last 500 messages.")
    last_at: Time | None = Field(description="When somebody last spoke in it.")


class ScopeMessageOut(fields_of(KeptMessage, "speaker text reply_to metadata")):
    message_id: str = Field(validation_alias="id")
    id: str | None = Field(validation_alias="client_id", description="Yours, if it came with one.")
    ts: Time = Field(validation_alias="at")


_scopes = Routes(router, ScopeOut)
_scopes.page(
    "/scopes", scope_lists.list_scopes, "list_scopes", "The caller's scopes, the newest first",
    q=(Annotated[str | None, Query(max_length=255, description="Only those whose name has this in it.")], None),
)  # fmt: skip


@router.get("/scopes/{scope_id:scope}/messages", summary="What was said in a scope, in order")
async def list_scope_messages(
    services: Used,
    principal: Caller,
    scope_id: ScopeInPath,
    page: Paging,
    speaker: Annotated[str | None, Query(max_length=255, description="Only what they said.")] = None,
    since: Annotated[Time | None, Query(alias="from", description="Said at this time or later.")] = None,
    until: Annotated[Time | None, Query(alias="to", description="Said before this time.")] = None,
    at_message: Annotated[
        str | None, Query(max_length=255, description="This message and what follows; backwards, what was before it.")
    ] = None,
    latest_first: Annotated[bool, Query(description="Backwards: the latest first.")] = False,
) -> PageOut[ScopeMessageOut]:
    refuse("speaker", speaker)
    refuse("at_message", at_message)
    said = await scope_lists.list_messages(
        services, principal, scope_id, page, speaker=speaker, since=since, until=until, at_message=at_message,
        latest_first=latest_first,
    )  # fmt: skip
    return show_page(said, ScopeMessageOut.of)


@router.post("/ingest", status_code=202, summary="Append messages to a scope")
async def ingest(services: Used, principal: Caller, body: IngestIn) -> IngestOut:
    turns, now = body.transcript, services.clock()
    few = len(turns) <= scopes.FEW
    messages = _messages(turns, now) if few else await asyncio.to_thread(_messages, turns, now)
    done = await scopes.ingest(services, principal, body.scope_id, messages)
    return IngestOut(scope_id=body.scope_id, ingested=done.new, message_ids=done.message_ids)


def _messages(turns: Sequence[TurnIn], now: datetime) -> list[Message]:
    return [
        Message(
            id=new_id("msg"), client_id=turn.id, speaker=turn.speaker, text=turn.text, at=turn.ts or now,
            reply_to=turn.reply_to, metadata=turn.metadata,
        )
        for turn in turns
    ]  # fmt: skip


@router.post("/recall", summary="What a scope knows that matters to an arriving turn (billable)")
async def recall(request: Request, services: Used, principal: Caller, body: RecallIn) -> RecallOut:
    recalled = await scopes.recall(
        services, principal, body.scope_id, speaker=body.message.speaker, text=body.message.text, ts=body.message.ts,
        limit=body.limit, max_tokens=body.max_tokens, as_of=body.as_of, min_relevance=body.min_relevance,
        request_id=chosen_request_id(request),
    )  # fmt: skip
    evidence = [_shown(item, explain=body.explain) for item in recalled.evidence]
    people = [PersonOut(speaker=speaker, facts=facts) for speaker, facts in recalled.people.items()]
    return RecallOut.of(recalled, evidence=evidence, people=people, usage=UsageOut.of(recalled))


@router.post("/ask", summary="Answer a question over a scope (billable)")
async def ask(request: Request, services: Used, principal: Caller, body: AskIn) -> AskOut:
    answered = await scopes.ask(
        services, principal, body.scope_id, question=body.question, as_of=body.as_of, max_tokens=body.max_tokens,
        request_id=chosen_request_id(request),
    )  # fmt: skip
    evidence = [_shown(item, explain=False) for item in answered.evidence]
    return AskOut.of(answered, evidence=evidence, usage=UsageOut.of(answered))


def _shown(item: Evidence, *, explain: bool) -> EvidenceOut:
    return EvidenceOut.of(item, why=item.why if explain else None)
