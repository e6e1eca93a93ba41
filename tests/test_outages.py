"""A provider that fails is asked once, then skipped, and tried again in the background; everybody else does without."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from conftest import World, http
from keepstone.app import make_app
from keepstone.errors import UpstreamError
from keepstone.providers.chat_model import ChatModel
from keepstone.providers.embedders import Embedders
from keepstone.providers.openai_embedder import OpenAIEmbedder
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.services import Services
from upstream import Answer, Received, ScriptedUpstream, chunks, completion, error, streamed, whole

Pause = Callable[[int], float]
HANGS = completion("late", ending="hang", late=3600)
TALK = [{"speaker": "Ben", "text": "The ferry to the island leaves at nine in the morning"}]


def never(_: int) -> float:
    """It is not tried again while the test looks."""
    return 3600.0


def at_once(_: int) -> float:
    return 0.0


def well(request: Received) -> Answer:
    if request.path.endswith("/embeddings"):
        rows = [{"index": n, "embedding": [1.0, 2.0]} for n in range(len(request.json["input"]))]
        return whole({"data": rows})
    return completion("The ferry leaves at nine [1].")


@pytest.fixture
def endpoint() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    made.otherwise = well
    yield made
    made.stop()


@asynccontextmanager
async def embedder_of(endpoint: ScriptedUpstream, pause: Pause) -> AsyncGenerator[OpenAIEmbedder]:
    made = OpenAIEmbedder(endpoint.url, "key", "m", retries=0, question_seconds=1, pause=pause)
    yield made
    made.close()
    await asyncio.sleep(0)


@asynccontextmanager
async def model_of(endpoint: ScriptedUpstream, pause: Pause) -> AsyncGenerator[ChatModel]:
    made = ChatModel(OpenAIUpstream(endpoint.url, "key", "m"), timeout=1, retries=0, pause=pause)
    yield made
    await made.close()


async def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < ends
        await asyncio.sleep(0.01)


async def fails(asked: Awaitable[Any]) -> str:
    with pytest.raises(UpstreamError) as fault:
        await asked
    return fault.value.code


BROKEN = [
    error(401, "no"),
    error(500, "no"),
    error(404, "no"),
    HANGS,
    Answer(pieces=(b"<html>",)),
    Answer(ending="cut"),
]


@pytest.mark.parametrize("broken", BROKEN)
async def test_an_endpoint_for_embeddings_that_fails_is_asked_once_and_then_skipped(
    endpoint: ScriptedUpstream, broken: Answer
) -> None:
    endpoint.script(broken)
    async with embedder_of(endpoint, never) as embedder:
        assert await fails(embedder.embed_question("one")) == "UPSTREAM_ERROR"
        for _ in range(5):
            assert await fails(embedder.embed_question("two")) == "provider_down"
            assert await fails(embedder.embed(["three"])) == "provider_down"
        assert len(endpoint.received) == 1
        assert embedder.outage is not None


async def test_one_that_refuses_connections_is_skipped(endpoint: ScriptedUpstream) -> None:
    endpoint.url = "http://127.0.0.1:1/v1"
    async with embedder_of(endpoint, never) as embedder, model_of(endpoint, never) as model:
        for asked in (
            lambda: embedder.embed_question("one"),
            lambda: model.complete(system="", prompt="", max_tokens=1),
        ):
            assert await fails(asked()) == "UPSTREAM_ERROR"
            assert await fails(asked()) == "provider_down"


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_language_model_that_fails_is_asked_once_and_then_skipped(
    endpoint: ScriptedUpstream, broken: Answer
) -> None:
    endpoint.script(broken)
    async with model_of(endpoint, never) as model:
        assert await fails(model.complete(system="", prompt="one", max_tokens=1)) == "UPSTREAM_ERROR"
        for _ in range(5):
            assert await fails(model.complete(system="", prompt="two", max_tokens=1)) == "provider_down"
        assert len(endpoint.received) == 1


async def test_it_is_tried_again_in_the_background_until_it_answers(endpoint: ScriptedUpstream) -> None:
    pauses: list[int] = []

    def counted(tries: int) -> float:
        pauses.append(tries)
        return 0.0

    endpoint.script(error(500, "no"), error(500, "no"), error(401, "no"))
    async with embedder_of(endpoint, counted) as embedder:
        await fails(embedder.embed_question("one"))
        await until(lambda: embedder.outage is None)
        assert len(endpoint.received) == 4, "the question, two tries that fail, and one that does not"
        assert pauses == [0, 1, 2], "each after a longer pause than the one before"
        assert "one" not in [text for body in endpoint.bodies[1:] for text in body["input"]], (
            "with no text of anybody's"
        )
        assert len((await embedder.embed_question("two")).pooled) == 2


async def test_a_request_that_is_at_fault_itself_is_no_outage(endpoint: ScriptedUpstream) -> None:
    endpoint.script(error(400, "too long"), error(400, "too long"))
    async with embedder_of(endpoint, never) as embedder, model_of(endpoint, never) as model:
        assert await fails(embedder.embed(["one"])) == "UPSTREAM_ERROR"
        assert await fails(model.complete(system="", prompt="", max_tokens=1)) == "UPSTREAM_ERROR"
        assert (embedder.outage, model.outage) == (None, None)


async def test_a_search_does_without_and_readyz_says_so(
    services: Services, world: World, endpoint: ScriptedUpstream
) -> None:
    question = {"scope_id": "team", "message": {"speaker": "Dora", "text": "When does the ferry leave?"}}
    async with embedder_of(endpoint, never) as embedder:
        asking = replace(services, embedders=Embedders((embedder,)))
        async with http(make_app(asking)) as client:
            await client.post("/v1/ingest", headers=world.owner.auth, json={"scope_id": "team", "transcript": TALK})
            assert (await client.get("/readyz")).json()["embedder"]["ok"] is True
            endpoint.otherwise = lambda _: error(500, "no")
            endpoint.script()
            for _ in range(4):
                found = (await client.post("/v1/recall", headers=world.owner.auth, json=question)).json()
                assert found["evidence"][0]["text"] == TALK[0]["text"]
                assert found["degraded"] == "terms"
            assert len(endpoint.received) == 1
            part = (await client.get("/readyz")).json()["embedder"]
            assert part["ok"] is False
            assert part["status"].startswith("search is by terms: the endpoint answered 500, since 20")
            assert 'keepstone_provider_down{use="embeddings"} 1.0' in (await client.get("/metrics")).text


async def test_a_question_is_answered_without_the_model_that_failed_and_readyz_says_so(
    services: Services, world: World, endpoint: ScriptedUpstream
) -> None:
    question = {"scope_id": "team", "question": "When does the ferry to the island leave?"}
    async with model_of(endpoint, never) as model, http(make_app(replace(services, llm=model))) as client:
        await client.post("/v1/ingest", headers=world.owner.auth, json={"scope_id": "team", "transcript": TALK})
        endpoint.script(error(401, "the key sk-secret is wrong"))
        assert (await client.post("/v1/ask", headers=world.owner.auth, json=question)).status_code == 502
        for _ in range(3):
            answer = (await client.post("/v1/ask", headers=world.owner.auth, json=question)).json()
            assert TALK[0]["text"] in answer["answer"]
        assert len(endpoint.received) == 1
        ready = await client.get("/readyz")
        part = ready.json()["language_model"]
        assert (part["ok"], part["status"].split(",")[0]) == (False, "not asked: it answered 401")
        assert "sk-secret" not in ready.text
        assert 'keepstone_provider_down{use="language_model"} 1.0' in (await client.get("/metrics")).text


async def test_whoever_names_no_account_learns_no_name_of_a_model(
    services: Services, endpoint: ScriptedUpstream
) -> None:
    async with (
        model_of(endpoint, never) as model,
        http(make_app(replace(services, llm=model)), "203.0.113.9") as client,
    ):
        part = (await client.get("/readyz")).json()["language_model"]
        assert part == {"ok": True, "status": "ok", "details": {}}


async def test_what_a_client_asks_is_always_tried_and_what_it_meets_is_known_to_the_rest(
    services: Services, world: World, endpoint: ScriptedUpstream
) -> None:
    away = OpenAIUpstream("http://127.0.0.1:1/v1", "key", "m")
    body = {"messages": [{"role": "user", "content": "Hello"}]}
    async with model_of(endpoint, never) as model:
        working = replace(services, llm=model, upstream=away)
        async with http(make_app(working)) as client:
            assert (await client.post("/v1/chat/completions", headers=world.owner.auth, json=body)).status_code == 502
            assert model.outage is not None
        here = replace(working, upstream=OpenAIUpstream(endpoint.url, "key", "m"))
        async with http(make_app(here)) as client:
            endpoint.script(streamed(*chunks("here")))
            answer = await client.post("/v1/chat/completions", headers=world.owner.auth, json={**body, "stream": True})
            assert b"here" in answer.content
        assert here.upstream is not None
        await here.upstream.close()
    await away.close()


async def test_processes_tell_each_other(services: Services, endpoint: ScriptedUpstream) -> None:
    endpoint.script(error(500, "no"))
    async with model_of(endpoint, never) as model, model_of(endpoint, at_once) as other:
        model.breaker.changed = lambda: other.breaker.hear(model.outage)
        await fails(model.complete(system="", prompt="", max_tokens=1))
        assert other.outage == model.outage is not None
        await until(lambda: other.outage is None)
        assert len(endpoint.received) == 2
