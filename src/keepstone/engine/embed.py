"""The vectors of passages: made after the write, in batches, by every embedder in use; and the indexes over them.

No connection is held while an embedder works. All of it can run twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from keepstone.engine.cutting import spoken
from keepstone.engine.late import pack
from keepstone.errors import UpstreamError
from keepstone.footprint import give_back
from keepstone.model.message import NewPassage
from keepstone.model.principal import ReadScope
from keepstone.providers.embedder import Embedder, Embedding
from keepstone.services import Services
from keepstone.store import passages, spaces, vectors
from keepstone.store.db import Connection
from keepstone.store.passages import Pending
from keepstone.store.vectors import VectorSet

LARGE = 10_000  # passages: from here on, reading a space through takes twice as long as asking an index
_BATCH = 256
SLICE = 32  # passages: a moment of the embedders, after which others have their turn
_SLICES_AT_ONCE = 16  # in one job, where there are no others: so soon a server can stop


@dataclass(frozen=True, slots=True)
class FirstVector:
    """A passage that is not stored yet, mostly the first of something, as the embedder for its script sees it, and
    those that came before that one, by their models.
    """

    embeddings: Mapping[str, Embedding]


@dataclass(frozen=True, slots=True)
class _Gaps:
    """What embedders have still to read, and by passage what was said before."""

    wanted: list[tuple[Embedder, list[Pending]]]
    before: dict[int, str]


@dataclass(frozen=True, slots=True)
class _WaitingSlice:
    passages: list[Pending]
    gaps: _Gaps


async def embed_slices(
    services: Services, scope: ReadScope, space: int, others_wait: Callable[[], Awaitable[bool]] | None = None
) -> bool:
    """Give some passages of the space that still lack them their vectors: a slice, and more as long as nobody else
    waits for the embedders, if that can be asked. These work on while the slice before is stored and the next is
    looked up. Returns whether other passages may be left.
    """
    services.embedders.need()
    if not services.embedders.active:
        return False

    async def load(behind: int) -> _WaitingSlice:
        async with services.db.transaction(scope) as conn:
            waiting = await passages.pending(conn, space, limit=SLICE, behind=behind)
            return _WaitingSlice(waiting, await _gaps(conn, services, space, waiting))

    async def look_ahead(now: _WaitingSlice, number: int) -> _WaitingSlice | None:
        full = len(now.passages) == SLICE and number < _SLICES_AT_ONCE
        if not full or others_wait is None or await others_wait():
            return None
        return await load(now.passages[-1].passage)

    current: _WaitingSlice | None = await load(0)
    more, number, storing = False, 0, None
    try:
        while current is not None:
            number += 1
            made, following = await asyncio.gather(_embed(current.gaps), look_ahead(current, number))
            more = (await storing is False if storing else False) or more
            storing = asyncio.create_task(
                _store(services, scope, space, current.gaps, made, done_with=current.passages)
            )
            more = more or number > 1 or len(current.passages) == SLICE
            faulty = any(isinstance(result, BaseException) for result in made)
            current = None if faulty else following
        more = (await storing is False if storing else False) or more
    finally:
        if storing is not None:
            storing.cancel()
    if not more:
        await asyncio.to_thread(give_back)
    return more


async def fill_space(
    services: Services, scope: ReadScope, space: int, done: Callable[[int], None] = lambda _: None
) -> int:
    """Give every passage the vectors of the embedders in use, whatever others it has. Returns how many were made;
    `done` is told how many passages more have theirs.
    """
    made, last = 0, 0
    while True:
        async with services.db.transaction(scope) as conn:
            batch = await passages.after(conn, space, last, limit=_BATCH)
            gaps = await _gaps(conn, services, space, batch)
        if not batch:
            return made
        await _close(services, scope, space, gaps)
        made += sum(len(wanted) for _, wanted in gaps.wanted)
        last = batch[-1].passage
        done(len(batch))


async def embed_lacking(
    services: Services, scope: ReadScope, space: int, embedder: Embedder, vector_set: int, last: int
) -> tuple[int, int | None]:
    """Vectors of this embedder for a slice of what has none, behind that passage. Returns how many, and the passage up
    to which there are all; None at the end of the space.
    """
    async with services.db.transaction(scope) as conn:
        batch = await passages.after(conn, space, last, limit=_BATCH)
        missing = await vectors.without_vectors(conn, space, vector_set, [item.passage for item in batch])
        wanted = [item for item in batch if item.passage in missing][:SLICE]
        gaps = [(embedder, wanted)] if wanted else []
        before = await _before(conn, space, gaps)
    await _close(services, scope, space, _Gaps(gaps, before))
    if len(wanted) == SLICE:
        return SLICE, wanted[-1].passage
    return len(wanted), batch[-1].passage if len(batch) == _BATCH else None


async def embed_first_passage(services: Services, cut: Sequence[NewPassage]) -> FirstVector | None:
    """Before it is stored, to see whether the same is there; None while there is no embedder."""
    return (await embed_at_once(services, cut[:1]))[0] if cut else None


async def embed_at_once(services: Services, cut: Sequence[NewPassage]) -> list[FirstVector | None]:
    """Before they are stored, so that whoever comes next can find them by meaning: each as the embedder for its script
    sees it; None while there is none. In slices, between which others have their turn.
    """
    made: list[FirstVector | None] = [None] * len(cut)
    known = services.embedders
    for foreign in (False, True):
        fitting = [embedder for embedder in known.active if embedder.multilingual == foreign] or known.active
        replaced = known.instead_of(fitting[0]) if fitting else []
        reading = [*fitting[:1], *(embedder for embedder in known.former if embedder.name in replaced)]
        places = [place for place, passage in enumerate(cut) if passage.foreign == foreign] if reading else []
        for start in range(0, len(places), SLICE):
            some = places[start : start + SLICE]
            texts = [spoken(cut[place].speaker, cut[place].text) for place in some]
            try:
                results = await asyncio.gather(*(embedder.embed(texts) for embedder in reading))
            except UpstreamError:
                return made
            for number, place in enumerate(some):
                made[place] = FirstVector(
                    {embedder.name: result[number] for embedder, result in zip(reading, results, strict=True)}
                )
    return made


async def store_at_once(
    conn: Connection, services: Services, space: int, made: Sequence[tuple[NewPassage, FirstVector | None]]
) -> None:
    """With the passages, which were just stored and are all of one kind. The rest is a job's."""
    read = [(passage, vector) for passage, vector in made if vector is not None]
    if not read:
        return
    kind = read[0][0].source_kind
    for embedder in _making(services, await vectors.vector_sets(conn) if services.embedders.former else {}):
        seen = [
            (passage, vector.embeddings[embedder.name])
            for passage, vector in read
            if embedder.name in vector.embeddings
        ]
        if not seen:
            continue
        of_model = (embedder.name, len(seen[0][1].pooled))
        new = [
            vectors.NewVector(
                source_id=passage.source_id, part=passage.part, vector=embedding.pooled,
                tokens=None if embedding.tokens is None else pack(embedding.tokens.vectors),
            )
            for passage, embedding in seen
        ]  # fmt: skip
        if not await vectors.store_new(conn, space, of_model, kind, new):
            await vectors.vector_set(conn, *of_model, instead_of=services.embedders.instead_of(embedder))
            await vectors.store_new(conn, space, of_model, kind, new)


async def index_space(services: Services, scope: ReadScope, space: int, *, state: str = "serving") -> None:
    """Give a space that has grown large an index of meanings for each of its sets of vectors of that state."""
    async with services.db.transaction(scope) as conn:
        missing = await vectors.without_index(conn, space, at_least=LARGE, state=state)
    for missing_set in missing:
        async with services.db.alone(vectors.index_name(space, missing_set)) as alone:
            if not alone:
                continue
            async with services.db.as_owner() as owner:
                await vectors.build_index(owner, space, missing_set)
            async with services.db.transaction(scope) as conn:
                await vectors.note_index(conn, space, missing_set.vector_set)


async def lacks_index(services: Services, scope: ReadScope, space: int) -> bool:
    """Whether there is something to do for `index_space`."""
    async with services.db.transaction(scope) as conn:
        return bool(await vectors.without_index(conn, space, at_least=LARGE))


async def has_passages(services: Services) -> bool:
    """Whether there is anything to find on this server."""
    async with services.db.unscoped() as conn:
        return await passages.any_at_all(conn)


async def await_vectors(services: Services) -> int:
    """Let everything wait that an embedder in use has not seen: stored before it was there, or under another one."""
    async with services.db.of_server() as conn:
        return sum(
            [
                await passages.await_vectors_of(conn, embedder.name, services.embedders.instead_of(embedder))
                for embedder in services.embedders.active
            ]
        )


async def read_before(
    conn: Connection, space: int, numbers: Sequence[int], embedders: Sequence[Embedder]
) -> dict[int, str]:
    """What was said before these passages, as the embedders read it; nothing where none of them does."""
    if not numbers or not any(embedder.context for embedder in embedders):
        return {}
    turns = await passages.turns_before(conn, space, numbers)
    return {passage: spoken(*turn)[-passages.TURN_BEFORE :] for passage, turn in turns.items()}


async def embed_passages(embedder: Embedder, wanted: Sequence[Pending], before: Mapping[int, str]) -> list[Embedding]:
    texts = [spoken(item.speaker, item.text) for item in wanted]
    return await embedder.embed(texts, [before.get(item.passage, "") for item in wanted] if embedder.context else None)


def _making(services: Services, sets: Mapping[str, VectorSet]) -> list[Embedder]:
    """Those that new passages of the account get vectors of: the embedders in use, and any other that still serves."""
    serving = {name for name, known in sets.items() if known.state == "serving"}
    return [*services.embedders.active, *services.embedders.outgoing(serving)]


async def _gaps(conn: Connection, services: Services, space: int, waiting: Sequence[Pending]) -> _Gaps:
    """For each embedder those of the passages that have no vector of it."""
    sets = await vectors.vector_sets(conn) if waiting else {}
    gaps: list[tuple[Embedder, list[Pending]]] = []
    for embedder in _making(services, sets):
        wanted = list(waiting)
        if wanted and embedder.name in sets:
            ids = [item.passage for item in waiting]
            missing = await vectors.without_vectors(conn, space, sets[embedder.name].vector_set, ids)
            wanted = [item for item in waiting if item.passage in missing]
        if wanted:
            gaps.append((embedder, wanted))
    return _Gaps(gaps, await _before(conn, space, gaps))


async def _before(conn: Connection, space: int, gaps: Sequence[tuple[Embedder, list[Pending]]]) -> dict[int, str]:
    reading = [(embedder, wanted) for embedder, wanted in gaps if embedder.context]
    ids = {item.passage for _, wanted in reading for item in wanted}
    return await read_before(conn, space, sorted(ids), [embedder for embedder, _ in reading])


async def _close(services: Services, scope: ReadScope, space: int, gaps: _Gaps) -> bool:
    """Embed and store."""
    return await _store(services, scope, space, gaps, await _embed(gaps))


async def _embed(gaps: _Gaps) -> list[list[Embedding] | BaseException]:
    """What each embedder makes of what it lacks, or the fault that it met."""
    work = [embed_passages(embedder, wanted, gaps.before) for embedder, wanted in gaps.wanted]
    return await asyncio.gather(*work, return_exceptions=True)


async def _store(
    services: Services, scope: ReadScope, space: int, gaps: _Gaps, results: Sequence[list[Embedding] | BaseException],
    *, done_with: Sequence[Pending] = (),
) -> bool:  # fmt: skip
    """What one embedder has made is kept when another fails; then nothing is done with. Of a passage that something
    else stands before by now, nothing is kept that knows what stood there; false if there are such.
    """
    faults = [result for result in results if isinstance(result, BaseException)]
    async with services.db.transaction(scope) as conn:
        await spaces.lock(conn, [space])  # else a vector could be added to a passage that is just being deleted
        before = await _before(conn, space, gaps.wanted)
        outdated = {passage for passage, _ in before.items() ^ gaps.before.items()}
        for (embedder, wanted), made in zip(gaps.wanted, results, strict=True):
            if not isinstance(made, BaseException):
                numbered = [(item.passage, embedding) for item, embedding in zip(wanted, made, strict=True)]
                if embedder.context:
                    numbered = [(passage, embedding) for passage, embedding in numbered if passage not in outdated]
                await store_embeddings(
                    conn, space, embedder.name, numbered, instead_of=services.embedders.instead_of(embedder)
                )
        done = [item.passage for item in done_with if item.passage not in outdated]
        if done and not faults:
            await passages.mark_embedded(conn, space, done)
            # Of what has a speaker: questions to a model and its answers revise nothing.
            spoken = [item for item in done_with if item.source_kind == "message" and item.speaker is not None]
            said = [item.passage for item in spoken if item.passage in done]
            if said:
                await services.queue.add(conn, "note_revisions", account=scope.account, space=space, passages=said)
    if faults:
        raise faults[0]
    return not outdated


async def store_embeddings(
    conn: Connection,
    space: int,
    model: str,
    made: Sequence[tuple[int, Embedding]],
    *,
    instead_of: Sequence[str] = (),
) -> None:
    """What a model made of passages, by their numbers: the pooled vectors, and the token vectors, packed. `instead_of`:
    the models whose place it takes, as soon as it has seen all that they have.
    """
    if not made:
        return
    await vectors.store_vectors(
        conn,
        space,
        await vectors.vector_set(conn, model, len(made[0][1].pooled), instead_of=instead_of),
        {passage: embedding.pooled for passage, embedding in made},
        {passage: pack(embedding.tokens.vectors) for passage, embedding in made if embedding.tokens is not None},
    )
