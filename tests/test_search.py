"""Search by meaning, with the real embedders on the real database."""

import asyncio
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from cairn.app import make_app
from cairn.errors import UpstreamError
from cairn.jobs.worker import run_until_empty
from cairn.providers.embedder import Embedder, Embedding
from cairn.providers.embedders import Embedders
from cairn.providers.minilm import MiniLM
from cairn.providers.use import Use
from cairn.services import Services
from conftest import World, http
from weights import weights

TALK = [
    ("Anna", "The doctor told me to stay away from peanuts, my throat swells up."),
    ("Ben", "We adopted a puppy from the shelter on Saturday, she is called Luna."),
    ("Anna", "My train to Porto was cancelled because of the storm."),
    ("Cleo", "The quarterly numbers look good, revenue grew by twelve percent."),
    ("Ben", "I started learning the cello, my neighbours are not amused."),
    ("李华", "我们下周五在上海开会，讨论新的预算。"),
]


@pytest.fixture(scope="module")
def models() -> Generator[tuple[Embedder, ...]]:
    folder = weights()
    made = (MiniLM(folder), Use(folder))
    yield made
    for embedder in made:
        embedder.close()


@pytest.fixture
async def knowing(services: Services, world: World, models: tuple[Embedder, ...]) -> Services:
    """Services with embedders, and a scope in which the talk was ingested and embedded."""
    made = replace(services, embedders=Embedders(models))
    async with http(make_app(made)) as client:
        transcript = [{"speaker": speaker, "text": text} for speaker, text in TALK]
        body = {"scope_id": "team", "transcript": transcript}
        assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202
    await run_with(made, services)
    return made


async def run_with(made: Services, registered: Services) -> None:
    """The tasks were registered with services that have no embedder: lend them these."""
    registered.embedders.active = made.embedders.active
    await run_until_empty(registered)
    registered.embedders.active = ()


async def recall(services: Services, world: World, text: str) -> Any:
    async with http(make_app(services)) as client:
        body = {"scope_id": "team", "message": {"speaker": "Dora", "text": text}, "limit": 3}
        return (await client.post("/v1/recall", headers=world.owner.auth, json=body)).json()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Does anybody have a food allergy?", 0),
        ("What pet did they get?", 1),
        ("Who plays a musical instrument?", 4),
        ("How did the business do financially?", 3),
        ("什么时候开会？", 5),
        ("谁对食物过敏？", 0),
        ("Wer hat einen Hund bekommen?", 1),
    ],
)
async def test_a_question_finds_what_it_shares_no_word_with_also_in_another_language(
    knowing: Services, world: World, question: str, answer: int
) -> None:
    found = await recall(knowing, world, question)
    assert found["degraded"] is None
    assert TALK[answer][1] in [item["text"] for item in found["evidence"][:2]]


async def test_vectors_are_made_by_a_job_and_nothing_waits_afterwards(knowing: Services, database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database) as conn:
        rows = await (
            await conn.execute(
                "SELECT s.model, count(*) FROM cairn.vectors v JOIN cairn.vector_sets s USING (account, vector_set)"
                " GROUP BY 1 ORDER BY 1"
            )
        ).fetchall()
        assert [count for _, count in rows] == [len(TALK), len(TALK)]
        assert await (await conn.execute("SELECT cairn.pending_embeddings()")).fetchone() == (0,)
        assert await (await conn.execute("SELECT count(*) FROM cairn.token_vectors")).fetchone() == (len(TALK),)


class Broken:
    """An embedder that is down."""

    name = "broken/1"
    dimension = 3
    multilingual = True

    def cut(self, text: str) -> list[tuple[int, int]]:
        return [(0, len(text))]

    async def embed(self, texts: Any) -> list[Embedding]:
        await asyncio.sleep(0)
        raise UpstreamError("It is down.")

    def close(self) -> None:
        pass


async def test_while_the_embedder_is_down_writes_succeed_and_search_is_by_terms(
    services: Services, world: World, models: tuple[Embedder, ...]
) -> None:
    down = replace(services, embedders=Embedders((Broken(),)))
    async with http(make_app(down)) as client:
        body = {"scope_id": "team", "transcript": [{"speaker": "Ben", "text": TALK[1][1]}]}
        assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202
        found = await recall(down, world, "Tell me about the puppy")
        assert found["degraded"] == "terms"
        assert found["evidence"][0]["text"] == TALK[1][1]
        assert (await client.get("/readyz")).json()["pending_embeddings"] == 1
    await run_with(down, services)
    jobs = await services.queue.latest(status="todo", limit=5)
    assert "read_space" in [job.task for job in jobs if job.attempts], "it is tried again later"
    up = replace(services, embedders=Embedders(models))
    services.embedders.active = models
    await services.queue.app.configure_task("embed_pending").defer_async(timestamp=0)
    await run_until_empty(services)
    services.embedders.active = ()
    found = await recall(up, world, "What pet did they get?")
    assert found["degraded"] is None
    assert found["evidence"][0]["text"] == TALK[1][1]
