"""The laboratory of the bench: the engine searches collections in a database, and remembers embeddings."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import numpy as np
from bench.datasets import Collection, Question, Turn
from bench.laboratory import Cached, Laboratory
from bench.quality import measure, rankers

from conftest import World
from fakes import FakeEmbedder, HearingEmbedder, LetterEmbedder
from keepstone.engine.search import AskedOf, find
from keepstone.providers.embedder import Embedding, Tokens
from keepstone.providers.embedders import Embedders
from keepstone.services import Services

TURNS = [
    Turn("a", "Anna", "The ferry to the island leaves at noon", "one"),
    Turn("b", "Ben", "I have bought two tickets", "one"),
    Turn("c", "Cleo", "Our cat sleeps on the piano", "two"),
]
QUESTION = Question("When does the ferry leave?", frozenset({"a"}), "any")


def lab(services: Services, world: World) -> Laboratory:
    embedders = (LetterEmbedder(), LetterEmbedder())
    searching = replace(services, embedders=Embedders(embedders[:1]))
    return Laboratory(searching, embedders, embedders, world.owner.principal.account, count(1))


async def test_a_collection_is_measured_with_what_the_engine_finds(services: Services, world: World) -> None:
    collection = Collection("ferry", TURNS, [QUESTION])
    results = await measure(lab(services, world), [collection], rankers(["time"]))
    assert {"BM25", "pipeline", "without time", "without collapse"} <= set(results)
    assert all(rows["all"]["R@1"] == 100.0 for name, rows in results.items() if name in {"BM25", "pipeline"})


async def test_a_part_of_a_collection_is_searched_as_if_nothing_else_had_been_said(
    services: Services, world: World
) -> None:
    room = lab(services, world)
    loaded = await room.load(Collection("ferry", TURNS, [QUESTION]))
    asked = await room.embed(loaded, QUESTION)
    for kept, passages in (([1, 2], 2), ([2], 1), ([0, 1, 2], 3)):
        async with room.only(loaded, kept) as (conn, place):
            assert place.size.passages == passages
            matches = await find(conn, AskedOf(place, asked), limit=10)
            assert {loaded.turn(source_id).key for source_id in matches.ids} == {TURNS[number].key for number in kept}


async def test_a_turn_is_read_with_the_one_before_also_when_only_a_part_was_said(
    services: Services, world: World
) -> None:
    hearing = HearingEmbedder()
    room = replace(lab(services, world), indexing=(hearing, LetterEmbedder()))
    loaded = await room.load(Collection("ferry", TURNS, [QUESTION]))
    assert hearing.heard["Ben: I have bought two tickets"] == "Anna: The ferry to the island leaves at noon"
    assert hearing.heard["Cleo: Our cat sleeps on the piano"] == "Ben: I have bought two tickets"
    hearing.heard.clear()
    async with room.only(loaded, [0, 2]):
        assert hearing.heard == {"Cleo: Our cat sleeps on the piano": "Anna: The ferry to the island leaves at noon"}


async def test_embeddings_are_made_once_and_keep_what_the_index_keeps() -> None:
    class Counted(LetterEmbedder):
        calls = 0

        async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
            self.calls += len(texts)
            made = await super().embed(texts)
            tokens = Tokens(np.sin(np.arange(256, dtype=np.float32)).reshape(2, 128), ((0, 1), (2, 3)))
            return [replace(embedding, tokens=tokens) for embedding in made]

    embedder = Counted()
    file = sqlite3.connect(":memory:")
    for exact in (True, False):
        cached = Cached(embedder, b"", file, exact=exact)
        embedder.calls = 0
        await cached.embed(["one", "two"])
        [made] = await cached.embed(["two"])
        assert embedder.calls == 2
        await cached.embed_question("two")
        await cached.embed_question("two")
        assert embedder.calls == 3
        [fresh] = await embedder.embed(["two"])
        assert made.tokens is not None
        assert fresh.tokens is not None
        assert np.allclose(made.pooled, fresh.pooled, atol=1e-3)
        assert ((made.tokens.vectors > 0) == (fresh.tokens.vectors > 0)).all()
        assert (made.tokens.spans == fresh.tokens.spans) == exact


async def test_what_stood_before_is_part_of_what_is_remembered() -> None:
    class Listening(FakeEmbedder):
        context = 8

        async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
            pairs = zip(texts, before or [""] * len(texts), strict=True)
            return await super().embed([f"{said} {text}" for text, said in pairs])

        def vector(self, text: str) -> list[int]:
            return [len(text), 0, 0, 0]

    cached = Cached(Listening(), b"", sqlite3.connect(":memory:"), exact=False)
    for before, lengths in ((None, [5, 4]), (["Ben: Hi", ""], [12, 4]), (["", "Ben: Hi"], [5, 11])):
        assert [int(made.pooled[0]) for made in await cached.embed(["four", "six"], before)] == lengths
