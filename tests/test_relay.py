"""What stands between a client and its model, without a network in front of it: timeouts, who speaks, embeddings, and
what a surface of our own is told.
"""

import asyncio
import base64
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

import httpx2
import numpy as np
import openai
import psycopg
import pytest
from openai import AsyncOpenAI

from conftest import World, http
from keepstone.access import keys
from keepstone.app import make_app
from keepstone.errors import Unavailable, UpstreamError
from keepstone.memory import chats
from keepstone.memory.chat_memories import NewMemory, list_of_chat, save
from keepstone.memory.embeddings import USUAL
from keepstone.model.page import PageRequest
from keepstone.providers.embedder import Embedding, Span
from keepstone.providers.embedders import Embedders
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.relay.requests import Finished, converse
from keepstone.relay.turn import ModelTurn, open_turn
from keepstone.services import Services
from upstream import Answer, ScriptedUpstream, asks, chunks, completion, error, streamed, whole

OPERATOR_KEY = "sk-of-the-operator"
HI: list[Any] = [{"role": "user", "content": "hi"}]
FERRY = "The ferry to the island leaves at nine."


@pytest.fixture(scope="module")
def scripted() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    yield made
    made.stop()


@pytest.fixture
def upstream(scripted: ScriptedUpstream) -> ScriptedUpstream:
    scripted.script()
    scripted.otherwise = lambda request: completion("hello")
    return scripted


async def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < ends
        await asyncio.sleep(0.01)


@pytest.fixture
async def direct(upstream: ScriptedUpstream) -> AsyncGenerator[OpenAIUpstream]:
    made = OpenAIUpstream(upstream.url, OPERATOR_KEY, "small")
    yield made
    await made.close()


@pytest.fixture
async def hasty(upstream: ScriptedUpstream) -> AsyncGenerator[OpenAIUpstream]:
    """Waits for nothing for long: for a test whose upstream says nothing more, not for one that may be slow."""
    made = OpenAIUpstream(upstream.url, OPERATOR_KEY, "small", timeout=httpx2.Timeout(1, connect=10))
    yield made
    await made.close()


def sdk_of(services: Services, key: str) -> AsyncOpenAI:
    transport = httpx2.ASGITransport(make_app(services))
    return AsyncOpenAI(
        base_url="http://127.0.0.1:8420/v1", api_key=key, max_retries=0,
        http_client=httpx2.AsyncClient(transport=transport),
    )  # fmt: skip


async def test_no_answer_in_time_is_504(
    services: Services, world: World, upstream: ScriptedUpstream, hasty: OpenAIUpstream
) -> None:
    async with sdk_of(replace(services, upstream=hasty), world.owner.key) as client:
        upstream.script(completion("late", late=5))
        with pytest.raises(openai.InternalServerError) as fault:
            await client.chat.completions.create(model="m", messages=HI)
        assert (fault.value.status_code, fault.value.code) == (504, "upstream_timeout")
        upstream.script(streamed(*chunks("half of it")[:3], ending="hang"))
        stream = await client.chat.completions.create(model="m", messages=HI, stream=True)
        with pytest.raises(openai.APIError) as cut:
            [chunk async for chunk in stream]
        assert cut.value.code == "upstream_timeout"
    await until(lambda: upstream.open == 0)


async def test_clients_name_only_the_models_that_the_operator_allows(
    services: Services, world: World, upstream: ScriptedUpstream, direct: OpenAIUpstream
) -> None:
    limited = replace(services.settings, llm_models=("gpt-*", "o3"))
    working = replace(services, settings=limited, upstream=direct, embeddings_upstream=direct)
    async with sdk_of(working, world.owner.key) as client:
        for name in ("gpt-9", "o3", "small"):  # the last is the one of the settings
            upstream.script(completion("yes"))
            assert (await client.chat.completions.create(model=name, messages=HI)).choices[0].message.content == "yes"
        upstream.script()
        for asked in (
            client.chat.completions.create(model="o3-pro", messages=HI),
            client.chat.completions.create(model="o3-pro", messages=HI, extra_headers={"X-Keepstone-Memory": "off"}),
            client.responses.create(model="other", input="hi"),
            client.embeddings.create(model="large", input="hi"),
        ):
            with pytest.raises(openai.PermissionDeniedError) as fault:
                await asked
            assert fault.value.code == "model_not_allowed"
        with pytest.raises(openai.NotFoundError):
            await client.models.retrieve("other")
        assert not upstream.received
        models = [{"id": name, "object": "model", "created": 1, "owned_by": "o"} for name in ("gpt-9", "other", "o3")]
        upstream.script(whole({"object": "list", "data": models}))
        assert [model.id async for model in client.models.list()] == ["gpt-9", "o3", "small", *USUAL]


async def test_an_upstream_that_is_not_there_is_502(services: Services, world: World) -> None:
    away = OpenAIUpstream("http://127.0.0.1:9/v1", OPERATOR_KEY, "small")
    async with sdk_of(replace(services, upstream=away), world.owner.key) as client:
        with pytest.raises(openai.InternalServerError) as fault:
            await client.chat.completions.create(model="m", messages=HI)
    assert fault.value.status_code == 502
    assert "KEEPSTONE_LLM_BASE_URL" in fault.value.message
    assert OPERATOR_KEY not in fault.value.response.text
    await away.close()


async def test_an_address_that_leads_elsewhere_is_not_followed(
    services: Services, world: World, upstream: ScriptedUpstream, direct: OpenAIUpstream
) -> None:
    upstream.script(Answer(status=307, headers={"location": "http://127.0.0.1:9/"}))
    async with sdk_of(replace(services, upstream=direct), world.owner.key) as client:
        with pytest.raises(openai.InternalServerError) as fault:
            await client.chat.completions.create(model="m", messages=HI)
    assert fault.value.status_code == 502


async def test_without_an_upstream_it_says_what_to_set(services: Services, world: World) -> None:
    async with sdk_of(services, world.owner.key) as client:
        for asked in (client.chat.completions.create(model="m", messages=HI), client.responses.create(input="hi")):
            with pytest.raises(openai.InternalServerError) as fault:
                await asked
            assert (fault.value.status_code, fault.value.code) == (503, "no_language_model")
            assert "KEEPSTONE_LLM_PROVIDER" in fault.value.message
        assert [one.id async for one in client.models.list()] == []
        with pytest.raises(openai.NotFoundError):
            await client.models.retrieve("gpt")


async def test_without_an_upstream_a_request_that_asks_nothing_is_400(services: Services, world: World) -> None:
    async with http(make_app(services)) as client:
        for path in ("chat/completions", "responses"):
            answer = await client.post(f"/v1/{path}", headers=world.owner.auth, json={"model": "m"})
            assert answer.status_code == 400


async def test_a_body_over_the_limit_is_413_in_the_envelope(services: Services, world: World) -> None:
    small = replace(services, settings=replace(services.settings, max_body_bytes=1000))
    async with http(make_app(small)) as client:
        answer = await client.post("/v1/chat/completions", headers=world.owner.auth, content=b"{" + b" " * 1000)
    assert answer.status_code == 413
    assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_the_user_field_names_whom_a_service_key_speaks_for(
    services: Services, world: World, upstream: ScriptedUpstream, direct: OpenAIUpstream
) -> None:
    live = replace(services, upstream=direct)
    upstream.otherwise = lambda request: completion(None, asks("x_save_memory", "o1", content="Max rows.")) if (
        len(upstream.received) == 1) else completion("ok")  # fmt: skip
    async with sdk_of(live, world.service_key) as client:
        answer = await client.chat.completions.create(model="m", messages=HI, user="max@example.org")
        assert len((answer.model_extra or {})["x_memory"]["saved"]) == 1
        assert upstream.bodies[0]["user"] == "max@example.org"
        with pytest.raises(openai.NotFoundError):
            await client.chat.completions.create(model="m", messages=HI, user="nobody")
        with pytest.raises(openai.PermissionDeniedError):
            await client.chat.completions.create(model="m", messages=HI)
        await client.chat.completions.create(model="m", messages=HI, extra_headers={"X-Keepstone-Memory": "off"})
    async with sdk_of(live, world.owner.key) as client:
        for other in (world.member.user.id, "max@example.org", "stan@elsewhere.example", "usr_" + "0" * 24):
            with pytest.raises(openai.NotFoundError):
                await client.chat.completions.create(model="m", messages=HI, user=other)
        for mine in (world.owner.user.id, "Olga@example.org", "session-17", "a@", ""):
            await client.chat.completions.create(model="m", messages=HI, user=mine)


async def test_no_connection_to_the_database_is_held_while_the_model_is_waited_for(
    services: Services, world: World, upstream: ScriptedUpstream, database: str
) -> None:
    slow = OpenAIUpstream(upstream.url, OPERATOR_KEY, "small")
    upstream.script(completion("late", late=60))
    async with sdk_of(replace(services, upstream=slow), world.owner.key) as client:
        asking = asyncio.create_task(client.chat.completions.create(model="m", messages=HI))
        while not upstream.received:
            await asyncio.sleep(0.01)
        async with await psycopg.AsyncConnection.connect(database) as conn:
            found = await conn.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND (state LIKE 'idle in%%' OR state = 'active') AND backend_type = 'client backend'"
            )
            assert await found.fetchone() == (0,)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    await until(lambda: upstream.open == 0)
    await slow.close()


# --------------------------------------------------------------------------------------------------- embeddings


class Lengths:
    """An embedder that knows how long a text is, and reads ten characters at once."""

    dimension, context = 2, 0

    def __init__(self, name: str, *, multilingual: bool) -> None:
        self.name = name
        self.multilingual = multilingual

    def cut(self, text: str) -> list[Span]:
        return [(start, min(start + 10, len(text))) for start in range(0, len(text), 10)]

    async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
        vectors = [np.array([len(text), 1]) for text in texts]
        units = [(vector / np.linalg.norm(vector)).astype(np.float32) for vector in vectors]
        return [Embedding(pooled=unit, tokens=None) for unit in units]

    async def embed_question(self, text: str) -> Embedding:
        return (await self.embed([text]))[0]

    def close(self) -> None:
        pass


@pytest.fixture
def embedding(services: Services) -> Services:
    active = (Lengths("world/1", multilingual=True), Lengths("english/1", multilingual=False))
    return replace(services, embedders=Embedders(active))


async def test_embeddings_are_made_here(embedding: Services, world: World) -> None:
    async with sdk_of(embedding, world.owner.key) as client:
        made = await client.embeddings.create(model="english/1", input=["a", "abc"])
        exact = await client.embeddings.create(model="world/1", input="abc", encoding_format="float", dimensions=2)
        listed = [one.id async for one in client.models.list()]
        assert listed == ["world/1", "english/1", *USUAL]
        for name in listed:
            assert (await client.models.retrieve(name)).owned_by == "keepstone"
            assert len((await client.embeddings.create(model=name, input="abc")).data) == 1, "what is listed works"
    assert np.allclose(made.data[0].embedding, [0.7071, 0.7071], atol=1e-3)
    assert np.allclose(made.data[1].embedding, exact.data[0].embedding, atol=1e-6)
    assert [one.index for one in made.data] == [0, 1]
    assert (made.model, made.usage.total_tokens) == ("english/1", 2)


async def test_a_long_text_is_read_in_windows(embedding: Services, world: World) -> None:
    async with sdk_of(embedding, world.owner.key) as client:
        made = await client.embeddings.create(model="english/1", input="x" * 25)
    vector = np.array(made.data[0].embedding)
    assert np.isclose(np.linalg.norm(vector), 1)
    assert 5 < vector[0] / vector[1] < 10


async def test_without_a_model_the_one_for_english_answers(embedding: Services, world: World) -> None:
    async with http(make_app(embedding)) as client:
        answer = await client.post("/v1/embeddings", headers=world.owner.auth, json={"input": "abc"})
        coded = await client.post(
            "/v1/embeddings", headers=world.owner.auth, json={"input": "abc", "encoding_format": "base64"}
        )
    assert answer.json()["model"] == "english/1"
    floats = np.frombuffer(base64.b64decode(coded.json()["data"][0]["embedding"]), "<f4")
    assert np.allclose(floats, answer.json()["data"][0]["embedding"])


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": [[1, 2]]}, "input"),
        ({"input": [1, 2]}, "input"),
        ({"input": []}, "input"),
        ({"input": ""}, "input"),
        ({"input": ["a", ""]}, "input"),
        ({}, "input"),
        ({"input": ["a"] * 2049}, "input"),
        ({"input": "a" * 1_200_001}, "input"),
        ({"input": "a", "dimensions": 3}, "dimensions"),
        ({"input": "a", "dimensions": "2"}, "dimensions"),
        ({"input": "a", "encoding_format": "int8"}, "encoding_format"),
        ({"input": "a", "model": 3}, "model"),
    ],
)
async def test_what_can_not_be_embedded_is_400(
    embedding: Services, world: World, body: dict[str, Any], param: str
) -> None:
    async with http(make_app(embedding)) as client:
        answer = await client.post("/v1/embeddings", headers=world.owner.auth, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == param


async def test_embeddings_that_are_not_there(embedding: Services, services: Services, world: World) -> None:
    none = replace(services, settings=replace(services.settings, embeddings_provider="none"))
    async with sdk_of(embedding, world.owner.key) as client:
        with pytest.raises(openai.NotFoundError) as unknown:
            await client.embeddings.create(model="text-embedding-9", input="a")
        assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
    async with sdk_of(services, world.owner.key) as client:
        with pytest.raises(openai.InternalServerError) as loading:
            await client.embeddings.create(model="english/1", input="a")
        assert loading.value.status_code == 503
        assert int(loading.value.response.headers["retry-after"]) > 0
    async with sdk_of(none, world.owner.key) as client:
        with pytest.raises(openai.InternalServerError, match="KEEPSTONE_EMBEDDINGS_PROVIDER") as never:
            await client.embeddings.create(model="english/1", input="a")
        assert never.value.status_code == 503


@pytest.mark.parametrize(("own", "asked_for"), [("nomic", "nomic"), (USUAL[0], USUAL[2])])
async def test_the_usual_names_mean_the_model_of_an_endpoint_that_has_none_of_them(
    services: Services, world: World, upstream: ScriptedUpstream, own: str, asked_for: str
) -> None:
    far = OpenAIUpstream(upstream.url, None, own, settings="KEEPSTONE_EMBEDDINGS")
    upstream.script(whole({"object": "list", "data": []}))
    async with http(make_app(replace(services, embeddings_upstream=far))) as client:
        await client.post("/v1/embeddings", headers=world.owner.auth, json={"model": USUAL[2], "input": "a"})
    assert upstream.bodies[0]["model"] == asked_for
    await far.close()


async def test_an_endpoint_for_embeddings_gets_the_bytes_and_gives_its_own(
    services: Services, world: World, upstream: ScriptedUpstream
) -> None:
    far = OpenAIUpstream(upstream.url, "sk-embeddings", "embedder", settings="KEEPSTONE_EMBEDDINGS")
    said = Answer(pieces=(b'{ "object": "list",  "data": [] }',))
    upstream.script(said, said, error(401, "sk-embeddings is wrong"))
    async with http(make_app(replace(services, embeddings_upstream=far))) as client:
        raw = b'{ "model": "other",  "input": "a" }'
        answer = await client.post("/v1/embeddings", headers=world.owner.auth, content=raw)
        assert answer.content == said.body
        assert upstream.received[0].body == raw
        assert upstream.received[0].headers["authorization"] == "Bearer sk-embeddings"
        await client.post("/v1/embeddings", headers=world.owner.auth, content=b'{"input":[1,2]}')
        assert upstream.bodies[1] == {"input": [1, 2], "model": "embedder"}
        refused = await client.post("/v1/embeddings", headers=world.owner.auth, content=raw)
    assert (refused.status_code, refused.json()["error"]["code"]) == (502, "upstream_key_refused")
    assert "KEEPSTONE_EMBEDDINGS_API_KEY" in refused.json()["error"]["message"]
    assert "sk-embeddings" not in refused.text
    await far.close()


# -------------------------------------------------------------------------------------- for a surface of our own


async def conversation(services: Services, world: World, said: str) -> tuple[ModelTurn, AsyncGenerator[str | Finished]]:
    """In a new chat, where something is remembered."""
    chat = await chats.create(services, world.owner.principal, title="a chat", workspace_id=None)
    await save(
        services, world.owner.principal,
        NewMemory(content=FERRY, category="fact", source_type="user"), workspace_id=chat.workspace_id, chat_id=None,
    )  # fmt: skip
    settings = replace(services.settings, inject_relevance=0.01)
    services = replace(services, settings=settings)
    turn = await open_turn(services, world.owner.principal, workspace_id=None, chat_id=chat.id, said=said)
    wanted = {"messages": [{"role": "user", "content": said}]}
    return turn, converse(services, world.owner.principal, turn, wanted)


async def said_in(services: Services, world: World, chat_id: str | None) -> list[tuple[str, str]]:
    page = await chats.list_messages(services, world.owner.principal, str(chat_id), PageRequest(limit=10))
    return [(message.id, message.content) for message in page.items]


async def test_a_conversation_tells_what_the_model_says_and_what_was_kept(
    services: Services, world: World, upstream: ScriptedUpstream, direct: OpenAIUpstream
) -> None:
    live = replace(services, upstream=direct)
    upstream.script(
        streamed(*chunks("Wait.", asks("x_save_memory", "o1", content="Olga takes the ferry."), usage=True)),
        streamed(*chunks("At nine.", usage=True)),
    )
    turn, events = await conversation(live, world, "When does the ferry to the island leave?")
    assert turn.injected[0].memory.content == FERRY
    *texts, finished = [event async for event in events]
    assert "".join(map(str, texts)) == "Wait.\n\nAt nine."
    assert isinstance(finished, Finished)
    [memory] = await list_of_chat(live, world.owner.principal, str(turn.chat_id))
    assert memory.content == "Olga takes the ferry."
    assert finished.usage is not None
    assert finished.usage["total_tokens"] == 20
    assert upstream.bodies[0]["model"] == "small"
    assert FERRY in upstream.bodies[0]["messages"][0]["content"]
    assert (await said_in(live, world, turn.chat_id))[-1] == (finished.message_id, "Wait.\n\nAt nine.")


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([error(429, "slow down", code="too_fast")], "too_fast"),
        ([streamed(*chunks("half of it")[:3], ending="cut")], "upstream_cut_off"),
        ([completion("not streamed")], "upstream_no_stream"),
        ([streamed(b'data: {"error": {"message": "overloaded", "code": "busy"}}\n\n')], "busy"),
        ([completion("late", late=5)], "upstream_timeout"),
    ],
)
async def test_a_conversation_that_fails_says_so_and_keeps_what_was_answered_until_then(
    services: Services, world: World, upstream: ScriptedUpstream, direct: OpenAIUpstream, hasty: OpenAIUpstream,
    answers: list[Answer], code: str,
) -> None:  # fmt: skip
    live = replace(services, upstream=hasty if code == "upstream_timeout" else direct)
    upstream.script(*answers)
    turn, events = await conversation(live, world, "Hello?")
    *told, finished = [event async for event in events]
    assert isinstance(finished, Finished)
    assert isinstance(finished.fault, UpstreamError)
    assert finished.fault.code == code
    until_then = "".join(map(str, told))
    assert bool(until_then) == (finished.message_id is not None) == (code == "upstream_cut_off")
    kept = [content for _, content in await said_in(live, world, turn.chat_id)]
    assert kept == ["Hello?", *([until_then] if until_then else [])]
    await until(lambda: upstream.open == 0)


async def test_a_conversation_without_an_upstream_says_so(services: Services, world: World) -> None:
    _, events = await conversation(services, world, "Hello?")
    with pytest.raises(Unavailable) as fault:
        await anext(events)
    assert fault.value.code == "no_language_model"


async def test_too_many_wrong_keys_are_a_rate_limit(services: Services) -> None:
    faults: list[openai.APIStatusError] = []
    async with sdk_of(services, "ck_wrong") as client:
        while not any(isinstance(fault, openai.RateLimitError) for fault in faults):
            with pytest.raises((openai.AuthenticationError, openai.RateLimitError)) as fault:
                await client.models.list()
            faults.append(fault.value)
            assert len(faults) < 50
    assert faults[0].code == "invalid_api_key"
    assert faults[-1].type == "rate_limit_error"
    assert int(faults[-1].response.headers["retry-after"]) > 0


async def test_a_revoked_key_is_refused_here_too(
    services: Services, world: World, upstream: ScriptedUpstream, direct: OpenAIUpstream
) -> None:
    await keys.revoke_key(services, world.owner.principal, world.owner.key_id)
    async with sdk_of(replace(services, upstream=direct), world.owner.key) as client:
        with pytest.raises(openai.AuthenticationError):
            await client.models.list()
    assert not upstream.received
