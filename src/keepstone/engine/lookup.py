"""One lookup: every operation that finds memories by a question, or what is nearest to something new, goes this way.

`ask` surveys the spaces and embeds the question at the same time, with no connection held while an embedder works;
`find` searches, in the transaction in which the caller then reads what was found. `nearest` is for whoever stores: what
there is already that says about the same.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TypeVar

import numpy as np

from keepstone.engine import kernels
from keepstone.engine.embed import SLICE, FirstVector, embed_slices
from keepstone.engine.gathered import CANDIDATES, Passes, SearchPlace
from keepstone.engine.question import Question, embed_for_spaces, embed_question
from keepstone.engine.search import AskedOf, find
from keepstone.errors import KeepstoneError
from keepstone.model.principal import ReadScope
from keepstone.providers.embedder import Embedding
from keepstone.resident import View
from keepstone.services import Services
from keepstone.store import candidates, vectors
from keepstone.store.db import Connection

__all__ = ["AskedOf", "ask", "find", "narrowed", "nearest", "question", "survey"]

FEW = 5_000  # passages that pass a filter, up to which each of them is looked at
_READ = 4_000  # characters of a long question
_COMPARED = 100_000  # passages in memory that are compared sooner than an index is asked
_BEHIND = 1_000  # changes that are looked at besides, by those who keep one after the other and ask nothing
_COARSE = 0.02  # cosine: more than rounding makes of it
_IN_TIME = 1.0  # seconds for vectors that somebody waits for

Place = TypeVar("Place", bound=SearchPlace)


def question(text: str, *, asked_at: datetime, zone: str, speaker: str | None = None) -> Question:
    """Of a long text the beginning: of more than that, no search gets better."""
    return Question(text=text[:_READ], speaker=speaker, asked_at=asked_at, zone=zone)


async def ask(
    services: Services, asked: Question, survey: Awaitable[Place], *, any_language: bool = False
) -> AskedOf[Place]:
    """Find out where it is looked for, and what the embedders see in the question: all of them, where what is there
    may be in `any_language`.
    """
    embedding = asyncio.create_task(embed_question(services, asked, any_language=any_language))
    try:
        place = await survey
        views = None if place.empty else await services.resident.views(services.db, place.scope.whole, place.size)
        if views and _lack_vectors(services, place, views):
            place, views = await _with_vectors(services, place, views)
        asked.read()
        embedded = await embedding
    finally:
        embedding.cancel()
    if not place.empty:
        embedded = await embed_for_spaces(services, embedded, place.size)
    return AskedOf(place, embedded, views)


def _lack_vectors(services: Services, place: SearchPlace, views: Sequence[View]) -> bool:
    """Whether there is so little here that what lacks vectors can be given them while somebody waits."""
    if place.size.passages > SLICE or not services.embedders.active:
        return False
    return any(view.lacks(place.size.sets.values()) for view in views)


async def _with_vectors(services: Services, place: Place, views: Sequence[View]) -> tuple[Place, Sequence[View] | None]:
    """The same place when what was stored a moment ago has its vectors: whoever tries it first, and asks at once, finds
    what they would find later. Where there is more, a job makes them. As it was, if they can't be had in time.
    """
    whole = place.scope.whole
    try:
        services.disk.require_room()
        async with asyncio.timeout(_IN_TIME):
            for view in views:
                await embed_slices(services, replace(whole, spaces=(view.space,)), view.space)
    except (KeepstoneError, TimeoutError):
        return place, views
    async with services.db.transaction(whole) as conn:
        place = replace(place, size=await candidates.survey(conn, whole.spaces))
    return place, await services.resident.views(services.db, whole, place.size)


async def survey(conn: Connection, scope: ReadScope) -> SearchPlace:
    """All that this scope reaches."""
    return SearchPlace(scope=scope, size=await candidates.survey(conn, scope.spaces))


async def narrowed(
    place: Place,
    passages_of: Callable[[int], Awaitable[Collection[int] | None]],
    passes: Passes,
    *,
    enough: int = CANDIDATES,
    few: int = FEW,
) -> Place:
    """The place under a filter. Where few passages pass, they are named: `passages_of` gives them, or None if there are
    more than it was told. Where many pass, `passes` says which of the nearest do.
    """
    # If more pass, enough of them are among the nearest of all, as far as those are looked at.
    most = max(few, enough * place.size.passages // candidates.WIDEST)
    passing = await passages_of(most)
    return replace(place, passes=passes) if passing is None else replace(place, passages=tuple(passing))


async def nearest(
    conn: Connection,
    space: int,
    vector: FirstVector | None,
    *,
    above: float,
    limit: int,
    since: datetime | None = None,
    beginnings: bool = False,
    view: View | None = None,
) -> dict[str, float]:
    """Ids of the sources in the space that are at least that similar, with their similarity, the nearest first; none
    while there is no vector to compare. `since`: only what is no older; `beginnings`: only what begins alike. `view` is
    what stands in memory of the space, however old, and saves the database looking through it; the same is found.
    """
    if vector is None:
        return {}
    size = await candidates.survey(conn, [space])
    model = next((model for model in vector.embeddings if model in size.sets), None)
    if model is None:
        return {}
    near, vector_set, asked = None, size.sets[model], vector.embeddings[model]
    [now] = size.versions
    if view is not None and view.count <= _COMPARED and now.version - view.version <= _BEHIND:
        nearby = _nearby(view, vector_set, asked, above, limit)
        near = await vectors.near_since(
            conn, space, vector_set, asked.pooled, nearby, (view.version, now.version)
        )  # fmt: skip
    if near is None:
        near = await candidates.by_vector(
            conn, [space], vector_set, asked.pooled, limit=limit, indexed=size.indexed
        )  # fmt: skip
    near = dict(islice(near.items(), limit))
    close = {passage: similarity for passage, similarity in near.items() if similarity >= above}
    placed = {row.passage: row for row in await candidates.alone(conn, [space], list(close))} if close else {}
    similar: dict[str, float] = {}
    for passage, similarity in close.items():
        row = placed.get(passage)
        if row is not None and (since is None or row.at >= since) and not (beginnings and row.part):
            similar.setdefault(row.source_id, similarity)
    return similar


def _nearby(view: View, vector_set: int, asked: Embedding, above: float, limit: int) -> list[int]:
    """Passages among which all are that were so near: more than those, for numbers in memory are coarser."""
    rows, scores = kernels.nearest(view, vector_set, asked, view.here, limit)
    rows, scores = rows[scores >= above - _COARSE], scores[scores >= above - _COARSE]
    if len(rows) > 2 * limit:
        rows = rows[np.argpartition(-scores, 2 * limit)[: 2 * limit]]
    return view.columns["passage"][rows].tolist()
