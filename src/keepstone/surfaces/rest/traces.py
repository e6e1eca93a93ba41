"""Traces over REST: what was asked, found and handed out."""

from typing import Annotated, Any

from fastapi import Depends, Query
from pydantic import BaseModel, Field

from keepstone.memory import traces
from keepstone.model.trace import (
    ShownCandidate,
    ShownPiece,
    TraceAnswer,
    TraceFilter,
    TraceKind,
    TraceLine,
    TracePlace,
    TraceStep,
)
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import PageOut, Paging, Time, fields_of, refuse, show_page

router = Router(prefix="/v1", tags=["traces"])


class TraceLineOut(
    fields_of(TraceLine, "id at kind surface user_id person space place question found used tokens milliseconds")
):
    kind: str = Field(description="`recall`, `search`, `ask`, `injection` or `composition`.")
    surface: str = Field(description="The route that it came by.")
    user_id: str | None = Field(description="Who asked; null: a service key that named nobody.")
    space: str | None = Field(
        description="Where: the id of a workspace, room or graph, `scope:NAME`, `store:NAME`, `dm:AGENT`, `capsules` "
        "or `mem0`; null: there was nothing yet."
    )
    person: str | None = Field(description="Their name.")
    place: str | None = Field(description="The name of that, as people see it; null where its kind says it.")
    question: str | None = Field(description="Its beginning; null where it is a message that is deleted.")
    found: int = Field(description="How many candidates there are.")
    used: int = Field(description="How many of them were handed out.")
    tokens: int = Field(description="Of what was handed out.")


class TraceStepOut(fields_of(TraceStep, "name milliseconds tokens")):
    pass


class TraceCandidateOut(
    fields_of(ShownCandidate, "id kind what title said_by said_at thread_id text score relevance why left_out")
):
    what: str | None = Field(description="Closer than `kind`: `capsule`, `node`, `chat`, `landmark`, `file` …")
    title: str | None = Field(description="What it is called, if it has a name.")
    thread_id: str | None = Field(description="The chat or thread that it is from.")
    text: str | None = Field(description="What spoke for it; null: no longer there, or no longer yours to see.")
    score: float | None = Field(description="What the search's order goes by; null: it stood there anyway.")
    relevance: float | None = Field(description="A probability; null: nobody looked.")
    why: dict[str, float] = Field(description="What spoke for it.")
    left_out: str | None = Field(
        description="null: it was handed out. Else `below_floor`, `no_room`, `over_limit`, `duplicate`, `superseded` "
        "or `gone`."
    )


class TraceAnswerOut(fields_of(TraceAnswer, "message_id speaker text said_at thread_id")):
    pass


class HandedPieceOut(fields_of(ShownPiece, "role text sources tokens")):
    text: str | None = Field(description="null: what it quotes is no longer there, or no longer yours to see.")
    sources: list[str] = Field(description="Ids of what it quotes.")


class TraceOut(TraceLineOut):
    question: str | None = Field(description="null: the message is deleted.")
    request_id: str | None
    speaker: str | None
    parameters: dict[str, Any]
    steps: list[TraceStepOut]
    candidates: list[TraceCandidateOut]
    prompt: list[HandedPieceOut] = Field(description="Of `ask`: what a model was asked, one after the other.")
    handed_out: list[HandedPieceOut] = Field(description="One after the other: the exact text.")
    answer: TraceAnswerOut | None = Field(description="What a model or an agent said to it, where that was kept.")
    names: dict[str, str] = Field(description="Of the users and agents whose ids are in it.")
    withheld: int = Field(description="Texts of it that are no longer shown.")
    cut: bool = Field(description="It was too long to be kept whole.")


async def _wanted(
    kind: Annotated[TraceKind | None, Query()] = None,
    space: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=300,
            description="The id of a workspace, room or graph, `scope:NAME`, `store:NAME`, `dm:AGENT` or `capsules`: "
            "all that was asked there and you may read. Without it: what you asked.",
        ),
    ] = None,
    user_id: Annotated[str | None, Query(max_length=255, description="Only what they asked.")] = None,
    q: Annotated[str | None, Query(min_length=1, max_length=255, description="Words that are in the question.")] = None,
    since: Annotated[Time | None, Query(alias="from", description="From this time on.")] = None,
    until: Annotated[Time | None, Query(alias="to", description="Before this time.")] = None,
) -> TraceFilter:
    refuse("space", space)
    refuse("user_id", user_id)
    refuse("q", q)
    return TraceFilter(kind=kind, space=space, user_id=user_id, text=q, since=since, until=until)


TraceWanted = Annotated[TraceFilter, Depends(_wanted)]


@router.get("/traces", summary="What was recalled, composed and answered, the newest first")
async def list_traces(services: Used, principal: Caller, page: Paging, wanted: TraceWanted) -> PageOut[TraceLineOut]:
    return show_page(await traces.list_traces(services, principal, page, wanted=wanted), TraceLineOut.model_validate)


class TracePlaceOut(fields_of(TracePlace, "space place kind traces last_at")):
    space: str = Field(description="As `?space=` takes it.")
    place: str | None = Field(description="Its name; null where its kind says it.")
    traces: int = Field(description="How much I asked there that is kept.")


class TracePlaces(BaseModel):
    places: list[TracePlaceOut]


Routes(router, TracePlaceOut, listed=TracePlaces).all(
    "/traces/places", traces.list_places, "list_trace_places", "Where I asked something, the latest first"
)
Routes(router, TraceOut).one(
    "GET", "/traces/{trace_id:trc}", traces.get, "get_trace", "One trace: candidates, steps and the text handed out"
)
