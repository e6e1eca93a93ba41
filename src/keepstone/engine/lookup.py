"""One lookup: every operation that finds memories by a question, or what is nearest to something new, goes this way.

`ask` surveys the spaces and embeds the question at the same time, with no connection held while an embedder works;
`find` searches, in the transaction in which the caller then reads what was found. `nearest` is for whoever stores: what
there is already that says about the same.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from keepstone.engine.embed import FirstVector
from keepstone.engine.gather import CANDIDATES, Passes, SearchPlace
from keepstone.engine.question import Question, embed_for_spaces, embed_question
from keepstone.engine.search import AskedOf, find
from keepstone.model.principal import ReadScope
from keepstone.services import Services
from keepstone.store import candidates
from keepstone.store.db import Connection

__all__ = ["AskedOf", "ask", "find", "narrowed", "nearest", "question", "survey"]

FEW = 5_000  # passages that pass a filter, up to which each of them is looked at
_READ = 4_000  # characters of a long question

Place = TypeVar("Place", bound=SearchPlace)


def question(text: str, *, asked_at: datetime, speaker: str | None = None) -> Question:
    """Of a long text the beginning: of more than that, no search gets better."""
    return Question(text=text[:_READ], speaker=speaker, asked_at=asked_at)


async def ask(services: Services, asked: Question, survey: Awaitable[Place]) -> AskedOf[Place]:
    """Find out where it is looked for, and what the embedders see in the question."""
    place, embedded = await asyncio.gather(survey, embed_question(services, asked))
    if not place.empty:
        embedded = await embed_for_spaces(services, embedded, place.size)
    return AskedOf(place, embedded)


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
) -> dict[str, float]:
    """Ids of the sources in the space that are at least that similar, with their similarity, the nearest first; none
    while there is no vector to compare. `since`: only what is no older; `beginnings`: only what begins alike.
    """
    if vector is None:
        return {}
    size = await candidates.survey(conn, [space])
    model = next((model for model in vector.embeddings if model in size.sets), None)
    if model is None:
        return {}
    near = await candidates.by_vector(
        conn, [space], size.sets[model], vector.embeddings[model].pooled, limit=limit, indexed=size.indexed
    )
    close = {passage: similarity for passage, similarity in near.items() if similarity >= above}
    placed = {row.passage: row for row in await candidates.alone(conn, [space], list(close))} if close else {}
    similar: dict[str, float] = {}
    for passage, similarity in close.items():
        row = placed.get(passage)
        if row is not None and (since is None or row.at >= since) and not (beginnings and row.part):
            similar.setdefault(row.source_id, similarity)
    return similar
