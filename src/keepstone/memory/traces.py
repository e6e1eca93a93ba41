"""Traces, read: by whoever could read all of it then, as far as they still can.

A trace is its asker's. One of a prompt that was composed for a message of a room is also its participants' of then
(`compose_traces`). Each has to see now where it was asked; and of what a trace quotes, only what is still there and
theirs to see is shown: a piece that quotes anything else is withheld whole.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from keepstone.access.readscope import account_scope, space_scope
from keepstone.errors import Malformed, NotFound
from keepstone.model.ids import Kind, is_id
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal, ReadScope
from keepstone.model.trace import (
    HandedPiece,
    NamedSource,
    PlaceNow,
    ShownCandidate,
    ShownPiece,
    StoredTrace,
    TraceFilter,
    TraceLine,
    TracePlace,
    TraceRow,
    TraceStep,
    WholeTrace,
)
from keepstone.providers.tokenizer import estimate as tokens
from keepstone.services import Services
from keepstone.store import traces as store
from keepstone.store.db import Connection, enter
from keepstone.store.trace_log import SECONDS

_BY_ID: dict[Kind, str] = {"ws": "workspace", "room": "room", "graph": "graph"}
_BY_NAME = ("scope:", "store:", "dm:")
_ANSWERED = ("injection", "composition")  # prompts, which a message answers
_ELSEWHERE = 2 * SECONDS  # until another process has surely written what it holds

Part = TypeVar("Part", ShownCandidate, HandedPiece, TraceStep)


async def list_traces(
    services: Services, principal: Principal, page: PageRequest, *, wanted: TraceFilter
) -> Page[TraceLine]:
    """What I asked; with a space, what was asked there that I may read. Without the long texts. A question that was a
    message is shown while that is there, and found by its words no longer.
    """
    await services.traces.flush()
    within = principal.reach.spaces
    async with services.db.transaction(_as_reader(principal)) as conn:
        space = None if wanted.space is None else await _space(conn, principal, wanted.space)
        found = await store.page(conn, principal.user_id, wanted, space, within, page)
        places = {row.in_space for row in found.items if row.question_id is not None and row.in_space is not None}
        await enter(conn, space_scope(principal, *places))
        there = await store.still_there(conn, [row.question_id for row in found.items if row.question_id is not None])
    shown = [_line(row, there) for row in found.items]
    kept = [line for line in shown if wanted.text is None or line.question is not None]
    return Page(items=kept, next_cursor=found.next_cursor)


def _line(row: TraceRow, there: set[str]) -> TraceLine:
    return row if row.question_id is None or row.question_id in there else replace(row, question=None)


async def list_places(services: Services, principal: Principal) -> list[TracePlace]:
    """Where I asked something, by name."""
    await services.traces.flush()
    async with services.db.transaction(_as_reader(principal)) as conn:
        return await store.places(conn, principal.user_id, principal.reach.spaces)


async def get(services: Services, principal: Principal, trace_id: str) -> WholeTrace:
    """The whole of it, without what is no longer there or no longer theirs to see."""
    await services.traces.flush()
    async with services.db.transaction(_as_reader(principal)) as conn:
        trace = await _get(conn, principal, trace_id)
    if trace is None and services.traces.several:
        await asyncio.sleep(_ELSEWHERE)
        async with services.db.transaction(_as_reader(principal)) as conn:
            trace = await _get(conn, principal, trace_id)
    if trace is None:
        raise NotFound("There is no such trace, or it is too long ago.")
    return trace


async def require_of(services: Services, principal: Principal, trace_id: str | None, place: str) -> None:
    """That this is a prompt which was composed in this room, or in direct messages with this agent, and that the caller
    may read it.
    """
    if trace_id is None:
        return
    trace = await get(services, principal, trace_id)
    if trace.kind != "composition" or trace.parameters.get("place") != place:
        message = "is no trace of a prompt that was composed here"
        raise Malformed(f"The trace_id {message}. Nothing was stored.", fields={"trace_id": message})


async def _get(conn: Connection, principal: Principal, trace_id: str) -> WholeTrace | None:
    row, within = await store.get(conn, trace_id), principal.reach.spaces
    if row is None or (within is not None and not (row.space and within.issuperset(row.spaces))):
        return None
    asked = row.user_id == principal.user_id
    places = {
        place.space: place
        for place in await store.places_now(conn, [*row.spaces, row.space or 0], row.space, principal.user_id)
    }
    here = None if row.space is None else places.get(row.space)
    if row.space is not None and (here is None or not here.member):
        return None
    seen = [space for space in row.spaces if _seen(places, space, asked=asked)]
    await enter(conn, replace(space_scope(principal, *seen), visibilities=tuple(row.content["visibilities"])))
    there = await store.still_there(conn, row.sources)
    pieces = [_read(HandedPiece, piece) for piece in row.content["handed_out"]]
    statements = [text for piece in pieces for text in piece.statements]
    said = await store.still_said(conn, row.space, statements) if row.space is not None and statements else set[str]()
    shown = _shown(row, here, pieces, there, said, asked=asked)
    agents = [shown.parameters["agent"]] if "agent" in shown.parameters else []
    names = await store.names_of(conn, [row.user_id] if row.user_id else [], agents)
    sources = await store.names_of_sources(conn, [one.id for one in shown.candidates if one.text is not None])
    return replace(
        shown,
        person=names.get(row.user_id or ""),
        candidates=[_named_candidate(one, sources.get(one.id)) for one in shown.candidates],
        answer=await store.answer_to(conn, row) if row.kind in _ANSWERED else None,
        names=names,
    )


def _named_candidate(candidate: ShownCandidate, source: NamedSource | None) -> ShownCandidate:
    if source is None:
        return candidate
    return replace(
        candidate, what=source.kind, title=source.title, said_by=source.speaker, said_at=source.said_at,
        thread_id=source.thread_id,
    )  # fmt: skip


def _seen(places: dict[int, PlaceNow], space: int, *, asked: bool) -> bool:
    """A part has the readers of the space that it is part of. Who asked in a room also saw what its participants and
    its project let be known there, and does as long as they are in it.
    """
    place = places.get(space)
    place = places.get(place.part_of) if place is not None and place.part_of is not None else place
    return place is not None and (place.member or (asked and place.of_room))


def _shown(
    row: StoredTrace, here: PlaceNow | None, pieces: Sequence[HandedPiece], there: set[str], said: set[str], *,
    asked: bool,
) -> WholeTrace:  # fmt: skip
    """To another than who asked, what they may not see is not even named."""
    content, question_id = row.content, row.content["question_id"]
    candidates = [_read(ShownCandidate, candidate) for candidate in content["candidates"]]
    candidates = [one if one.id in there else replace(one, text=None) for one in candidates if asked or one.id in there]
    prompt = [_read(HandedPiece, piece) for piece in content.get("prompt", ())]
    prompted, handed = (
        [
            ShownPiece(text=piece.text, role=piece.role, sources=piece.sources, tokens=tokens(piece.text or ""))
            if there.issuperset(piece.sources) and said.issuperset(piece.statements)
            else ShownPiece(
                text=None, role=piece.role, sources=piece.sources if asked else [], tokens=tokens(piece.text or "")
            )
            for piece in given
        ]
        for given in (prompt, pieces)
    )
    return WholeTrace(
        id=row.id,
        at=row.at,
        kind=row.kind,
        surface=row.surface,
        user_id=row.user_id,
        person=None,
        place=here.title if here is not None else None,
        found=len(candidates),
        used=sum(one.left_out is None for one in candidates),
        space=here.name if here is not None else None,
        question=content["question"] if question_id is None or question_id in there else None,
        tokens=row.tokens,
        milliseconds=row.milliseconds,
        request_id=content["request_id"],
        speaker=content["speaker"],
        parameters=content["parameters"] if asked else _without_ids(content["parameters"]),
        steps=[_read(TraceStep, step) for step in content["steps"]],
        candidates=candidates,
        prompt=prompted,
        handed_out=handed,
        answer=None,
        names={},
        withheld=sum(part.text is None for part in [*candidates, *prompted, *handed]),
        cut=content["cut"],
    )


def _without_ids(parameters: dict[str, Any]) -> dict[str, Any]:
    sections = [{name: part[name] for name in part if name != "ids"} for part in parameters.get("sections", [])]
    return {**parameters, "sections": sections}


def _read(kind: type[Part], stored: dict[str, Any]) -> Part:
    """With what was left out because it says nothing."""
    values: dict[str, Any] = {"text": None, **stored} if kind is not TraceStep else stored
    return kind(**values)


async def _space(conn: Connection, principal: Principal, wanted: str) -> int:
    """The number of a space as callers name it, if it is theirs to see."""
    kind, name = _named(principal, wanted)
    space = await store.space_named(conn, kind, name, principal.user_id)
    if space is None:
        raise NotFound("There is no such space.")
    return space


def _named(principal: Principal, wanted: str) -> tuple[str, str]:
    for prefix, kind in _BY_ID.items():
        if is_id(prefix, wanted):
            return kind, wanted
    if wanted.startswith(_BY_NAME):
        kind, _, name = wanted.partition(":")
        return kind, name
    if wanted == "capsules" and principal.user_id is not None:
        return "vault", principal.user_id
    message = "is the id of a workspace, room or graph, or scope:NAME, store:NAME, dm:AGENT or capsules"
    raise Malformed(f"The space {message}.", fields={"space": message})


def _as_reader(principal: Principal) -> ReadScope:
    return replace(account_scope(principal), reader=principal.reader)
