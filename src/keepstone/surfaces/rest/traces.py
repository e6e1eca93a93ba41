"""Traces over REST: what was asked, found and handed out."""

from typing import Annotated, Any

from fastapi import Depends, Query
from pydantic import Field

from keepstone.memory import traces
from keepstone.model.trace import HandedPiece, TraceCandidate, TraceFilter, TraceKind, TraceLine, TraceStep
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import PageOut, Paging, Time, fields_of, refuse, show_page

router = Router(prefix="/v1", tags=["traces"])


class TraceLineOut(fields_of(TraceLine, "id at kind surface user_id space question tokens milliseconds")):
    kind: str = Field(description="`recall`, `search`, `ask`, `injection` or `composition`.")
    surface: str = Field(description="The route that it came by.")
    user_id: str | None = Field(description="Who asked; null: a service key that named nobody.")
    space: str | None = Field(
        description="Where: the id of a workspace, room or graph, `scope:NAME`, `store:NAME`, `dm:AGENT`, `capsules` "
        "or `mem0`; null: there was nothing yet."
    )
    question: str | None = Field(description="Its beginning; null where it is a message, which the trace itself shows.")
    tokens: int = Field(description="Of what was handed out.")


class TraceStepOut(fields_of(TraceStep, "name milliseconds tokens")):
    pass


class TraceCandidateOut(fields_of(TraceCandidate, "id kind text score relevance why left_out")):
    text: str | None = Field(description="What spoke for it; null: no longer there, or no longer yours to see.")
    score: float | None = Field(description="What the search's order goes by; null: it stood there anyway.")
    relevance: float | None = Field(description="A probability; null: nobody looked.")
    why: dict[str, float] = Field(description="What spoke for it.")
    left_out: str | None = Field(
        description="null: it was handed out. Else `below_floor`, `no_room`, `over_limit`, `duplicate`, `superseded` "
        "or `gone`."
    )


class HandedPieceOut(fields_of(HandedPiece, "role text sources")):
    text: str | None = Field(description="null: what it quotes is no longer there, or no longer yours to see.")
    sources: list[str] = Field(description="Ids of what it quotes.")


class TraceOut(TraceLineOut):
    question: str | None = Field(description="null: the message is deleted.")
    request_id: str | None
    speaker: str | None
    parameters: dict[str, Any]
    steps: list[TraceStepOut]
    candidates: list[TraceCandidateOut]
    handed_out: list[HandedPieceOut] = Field(description="One after the other: the exact text.")
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
    since: Annotated[Time | None, Query(alias="from", description="From this time on.")] = None,
    until: Annotated[Time | None, Query(alias="to", description="Before this time.")] = None,
) -> TraceFilter:
    refuse("space", space)
    return TraceFilter(kind=kind, space=space, since=since, until=until)


TraceWanted = Annotated[TraceFilter, Depends(_wanted)]


@router.get("/traces", summary="What was recalled, composed and answered, the newest first")
async def list_traces(services: Used, principal: Caller, page: Paging, wanted: TraceWanted) -> PageOut[TraceLineOut]:
    return show_page(await traces.list_traces(services, principal, page, wanted=wanted), TraceLineOut.model_validate)


Routes(router, TraceOut).one(
    "GET", "/traces/{trace_id:trc}", traces.get, "get_trace", "One trace: candidates, steps and the text handed out"
)
