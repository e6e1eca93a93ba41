"""What holds now: which message takes the place of what an earlier one said. Noted in a job when it can be found, so
that a search only has to look it up.

Both stay where they are and can be found. No connection is held while the judge reads, or the space's numbers are
compared.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from keepstone.engine.cutting import spoken
from keepstone.engine.embed import LARGE
from keepstone.engine.judge import judge_words, not_asserted
from keepstone.engine.kernels import nearest
from keepstone.engine.language.stopwords import guess
from keepstone.engine.outdated import statement
from keepstone.engine.terms import terms
from keepstone.model.principal import ReadScope
from keepstone.providers.embedder import Embedding
from keepstone.resident import View
from keepstone.services import Services
from keepstone.store import candidates, revisions
from keepstone.store.candidates import Survey
from keepstone.store.revisions import RevisedPassage, Turn

LONGEST = 600  # characters: who says more speaks of many things
NEAREST = 6  # of what was said before, by each model
NEXT = 3  # of them, that are judged whatever they say
LOOKED_AT = 4 * NEAREST  # in memory, where numbers are coarser
SURE = 0.92  # that it takes its place: in a long talk much looks a little like a change
FEW = 2  # terms: who says less takes nothing back that can be told
SMALL = 1_000  # passages that the database reads through sooner than they are read into memory
LARGEST = 200_000  # passages that a message is compared with in a few milliseconds
JUDGED_AT_ONCE = 8  # messages, with what is near to them

Pair = tuple[int, int]  # a passage, and one that was stored before it


async def note_revisions(
    services: Services, scope: ReadScope, space: int, passages: Sequence[int],
    others_wait: Callable[[], Awaitable[bool]] | None = None,
) -> list[int]:  # fmt: skip
    """Find out what these passages, which have their vectors, do to what was said before them. Returns those that are
    left because somebody else waits, if that can be asked: the judge takes longer than an embedder.
    """
    if services.judge is None:
        return []
    async with services.db.transaction(scope) as conn:
        said = await revisions.turns(conn, space, passages, longest=LONGEST)
        size = await candidates.survey(conn, scope.spaces)
    said = [turn for turn in said if not not_asserted(turn.text)]
    telling = {turn.passage: turn.text for turn in said if len(set(terms(turn.text))) >= FEW}
    if not telling:
        return []
    near = await neighbours(services, scope, space, size, telling)
    for start in range(0, len(passages), JUDGED_AT_ONCE):
        if start and others_wait is not None and await others_wait():
            return list(passages[start:])
        portion = set(passages[start : start + JUDGED_AT_ONCE])
        await _judge(services, scope, space, {pair: place for pair, place in near.items() if pair[0] in portion})
    return []


async def neighbours(
    services: Services, scope: ReadScope, space: int, size: Survey, telling: Mapping[int, str]
) -> dict[Pair, int]:
    """What may be judged, with its place among what is near. Of a small space the database says it alone; of others it
    decides among what looks near by the numbers in memory. Of a space that is too large for either there is nothing.
    """
    # What the model for English is told it reads as well as any: the other one would only name more to be judged.
    others = [passage for passage, text in telling.items() if guess(text) != "en"]
    readers = {embedder.name for embedder in services.embedders.active if not embedder.multilingual}
    readers = readers & size.sets.keys() or set(size.sets)
    read = {number: list(telling) if model in readers else others for model, number in size.sets.items()}
    views = None
    if SMALL < size.passages <= LARGEST:
        views = await services.resident.views(services.db, scope, size, waiting=True)
    if views is None and size.passages > LARGE:
        return {}
    looked_at: dict[int, list[Pair]] = {}
    if views is not None:
        looked_at = {
            number: await asyncio.to_thread(_look, views, number, passages) for number, passages in read.items()
        }
    places: dict[Pair, int] = {}
    async with services.db.transaction(scope) as conn:
        for number, passages in read.items():
            if views is None:
                near = await revisions.nearest(conn, space, number, passages, limit=NEAREST)
            else:
                near = await revisions.nearest_among(conn, space, number, looked_at[number], limit=NEAREST)
            for passage, other, place in near:
                places[passage, other] = min(place, places.get((passage, other), place))
    return places


def _look(views: Iterable[View], vector_set: int, passages: Sequence[int]) -> list[Pair]:
    """The nearest of what was stored before each of these: more than are wanted, in no order."""
    return [pair for view in views if vector_set in view.pooled for pair in _look_at(view, vector_set, passages)]


def _look_at(view: View, vector_set: int, passages: Sequence[int]) -> Iterator[Pair]:
    pooled, numbers = view.pooled[vector_set], view.columns["passage"]
    for row in view.rows_of(sorted(passages)).tolist():
        before = view.here.copy()
        before[row:] = False
        if not pooled.scale[row] or not before.any():
            continue
        vector = pooled.values[row].astype(np.float32) * pooled.scale[row]
        rows, scores = nearest(view, vector_set, Embedding(pooled=vector, tokens=None), before, LOOKED_AT)
        if len(rows) > LOOKED_AT:
            rows = rows[np.argpartition(-scores, LOOKED_AT - 1)[:LOOKED_AT]]
        yield from ((int(numbers[row]), passage) for passage in numbers[rows].tolist())


async def _judge(services: Services, scope: ReadScope, space: int, near: Mapping[Pair, int]) -> None:
    if services.judge is None or not near:
        return
    async with services.db.transaction(scope) as conn:
        numbers = sorted({number for pair in near for number in pair})
        turns = await revisions.turns(conn, space, numbers, longest=LONGEST)
    pairs = list(_in_order(near, {turn.passage: turn for turn in turns}))
    relations = await services.judge.relations(
        [(spoken(older.speaker, older.text), spoken(newer.speaker, newer.text)) for older, newer in pairs],
        awaited=False,
    )
    noted = [
        RevisedPassage(older.passage, newer.passage, max(SURE, round(relation.update, 3)))
        for (older, newer), relation in zip(pairs, relations, strict=True)
        if relation.update >= SURE or (older.speaker == newer.speaker and _plainly(older.text, newer.text))
    ]
    if noted:
        async with services.db.transaction(scope) as conn:
            await revisions.store(conn, space, noted)


def may_revise(older: str, newer: str, place: int) -> bool:
    """Whether it is worth the judge's time. Who only asked has said nothing that could be taken back; and what is not
    among the nearest should speak of the same, or give another value.
    """
    if not_asserted(older):
        return False
    before, after = frozenset(terms(older)), frozenset(terms(newer))
    return place <= NEXT or not before.isdisjoint(after) or (_gives(older, before) and _gives(newer, after))


def _gives(text: str, spoken_terms: frozenset[str]) -> bool:
    """Whether there is a day, a time or an amount in it."""
    return statement(0, "", text, spoken_terms).gives > 0


def _plainly(older: str, newer: str) -> bool:
    """Whether the words alone say so."""
    judged = judge_words(older, newer)
    return judged.relation == "update" and judged.sure


def _in_order(near: Mapping[Pair, int], turns: Mapping[int, Turn]) -> Iterator[tuple[Turn, Turn]]:
    """The earlier first: what was stored later may have been said before. Only what has the same readers, and may be
    taken back.
    """
    for pair, place in sorted(near.items()):
        said = [turns[number] for number in pair if number in turns]
        if len(said) == 2 and said[0].visibility == said[1].visibility:
            older, newer = sorted(said, key=lambda turn: (turn.at, turn.passage))
            if may_revise(older.text, newer.text, place):
                yield older, newer
