"""What OpenAI has besides chats, through its own SDK and past it: what is passed on, to whom, for whom, and at whose
expense.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Generator
from dataclasses import replace
from typing import Any, get_args

import httpx
import openai
import pytest
from openai import AsyncOpenAI

from conftest import Person, World, http, make_person
from keepstone.access import keys, operator, plans
from keepstone.app import make_app, make_routes
from keepstone.memory import workspaces
from keepstone.memory.embeddings import USUAL
from keepstone.model.plan import Plan
from keepstone.providers.anthropic_upstream import AnthropicUpstream
from keepstone.providers.choose import FurtherUpstream
from keepstone.providers.embedders import Embedders
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.relay.passing import Family
from keepstone.services import Services
from live import Live
from test_relay import OPERATOR_KEY, Lengths, sdk_of, until
from upstream import USAGE, Answer, ScriptedUpstream, completion, error, events, response, says, streamed, whole

TEXT = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m-1"}
IMAGES = {"created": 1, "data": [{"b64_json": "aGk="}], "usage": {"input_tokens": 5, "output_tokens": 40}}
FILE = {
    "id": "file-1", "object": "file", "bytes": 3, "created_at": 1, "filename": "a.jsonl", "purpose": "batch",
    "status": "processed",
}  # fmt: skip
SOUND = bytes(range(256)) * 8


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


@pytest.fixture
async def passing(services: Services, upstream: ScriptedUpstream) -> AsyncGenerator[Services]:
    made = OpenAIUpstream(upstream.url, OPERATOR_KEY, "small")
    yield replace(services, upstream=made)
    await made.close()


def set_to(services: Services, **changes: Any) -> Services:
    return replace(services, settings=replace(services.settings, **changes))


async def used(services: Services, person: Person) -> tuple[int, int]:
    """Tokens read and written this month, as its account sees them."""
    async with http(make_app(services)) as client:
        month = (await client.get("/v1/usage", headers=person.auth)).json()["month"]
    return month["tokens_in"], month["tokens_out"]


def text_event(text: str, **more: Any) -> bytes:
    return b"data: " + json.dumps({**TEXT, "choices": [{"index": 0, "text": text}], **more}).encode() + b"\n\n"


# --------------------------------------------------------------------------------- what the provider does not keep


@pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")
async def test_what_openai_does_and_does_not_keep_passes_and_is_counted(
    passing: Services, world: World, upstream: ScriptedUpstream
) -> None:
    said = {**TEXT, "choices": [{"index": 0, "text": "there", "finish_reason": "stop", "logprobs": None}]}
    streaming = [text_event("over "), text_event("there"), b"data: [DONE]\n\n"]
    upstream.script(
        whole({**said, "usage": USAGE}), streamed(*streaming),
        whole({"id": "modr-1", "model": "m", "results": [{"flagged": False, "categories": {}, "category_scores": {}}]}),
        whole(IMAGES), whole(IMAGES), whole(IMAGES),
        Answer(kind="audio/mpeg", pieces=(SOUND[:100], SOUND[100:])), whole({"text": "hello"}), whole({"text": "hi"}),
        whole({"object": "response.input_tokens", "input_tokens": 7}),
    )  # fmt: skip
    async with sdk_of(passing, world.owner.key) as client:
        made = await client.completions.create(model="babbage", prompt="once upon", extra_body={"new_field": [1]})
        assert made.choices[0].text == "there"
        assert await used(passing, world.owner) == (7, 3)
        stream = await client.completions.create(model="babbage", prompt="x" * 400, stream=True)
        assert "".join([chunk.choices[0].text async for chunk in stream]) == "over there"
        before = await used(passing, world.owner)
        assert before[0] > 7 + 100
        assert before[1] > 3, "it was not told, and is guessed"
        assert not (await client.moderations.create(input="hello")).results[0].flagged
        assert await used(passing, world.owner) == before, "what is not counted in tokens"
        assert (await client.images.generate(model="gpt-image-1", prompt="a cat")).data
        assert await used(passing, world.owner) == (before[0] + 5, before[1] + 40)
        await client.images.edit(model="gpt-image-1", image=("a.png", SOUND), prompt="a dog")
        await client.images.create_variation(image=("a.png", SOUND))  # pyright: ignore[reportDeprecated]
        spoken = await client.audio.speech.create(model="tts-1", voice="alloy", input="hello")
        assert (spoken.content, spoken.response.headers["content-type"]) == (SOUND, "audio/mpeg")
        heard = await client.audio.transcriptions.create(model="whisper-1", file=("a.mp3", SOUND))
        assert heard.text == "hello"
        english = client.audio.translations.create(model="whisper-1", file=("a.mp3", SOUND))  # pyright: ignore[reportDeprecated]
        assert (await english).text == "hi"
        assert (await client.responses.input_tokens.count(model="m", input="hello")).input_tokens == 7
    assert [(one.method, one.path) for one in upstream.received] == [
        ("POST", f"/v1/{path}")
        for path in (
            "completions", "completions", "moderations", "images/generations", "images/edits", "images/variations",
            "audio/speech", "audio/transcriptions", "audio/translations", "responses/input_tokens",
        )
    ]  # fmt: skip
    assert upstream.received[0].json == {"model": "babbage", "prompt": "once upon", "new_field": [1]}
    assert all(SOUND in one.body for one in upstream.received if one.path.endswith(("edits", "variations", "tions")) and
               "multipart" in one.headers["content-type"])  # fmt: skip


async def test_every_byte_goes_on_and_nothing_of_whose_it_is(
    passing: Services, world: World, upstream: ScriptedUpstream
) -> None:
    raw = b'{ "model":"m",  "documents":["h\\u00e9"], "query": "x" }'
    upstream.script(
        Answer(
            headers={"set-cookie": "theirs=1; Path=/", "x-ratelimit-remaining": "7", "openai-organization": "operators",
                     "connection": "keep-alive"},
            pieces=(b'{ "results":  [] }',),
        ),
        whole({}),
    )  # fmt: skip
    ours = {
        **world.owner.auth, "cookie": "session=of-a-browser", "x-keepstone-memory": "off", "x-forwarded-for": "1.2.3.4",
        "openai-organization": "mine", "openai-beta": "x=v1", "idempotency-key": "k",
        "content-type": "application/json",
    }  # fmt: skip
    async with http(make_app(passing)) as client:
        answer = await client.post("/v1/rerank", headers=ours, content=raw)
        await client.post("/v1/rerank", headers=ours, content=raw)
    assert (answer.status_code, answer.content) == (200, b'{ "results":  [] }')
    assert answer.headers["x-ratelimit-remaining"] == "7"
    assert not {"set-cookie", "openai-organization"} & answer.headers.keys()
    assert "sandbox" in answer.headers["content-security-policy"]
    for request in upstream.received:
        assert request.body == raw
        assert request.headers["authorization"] == f"Bearer {OPERATOR_KEY}"
        assert request.headers["openai-beta"] == "x=v1"
        assert request.headers.keys() <= {
            "host", "accept", "accept-encoding", "connection", "user-agent", "content-type", "content-length",
            "authorization", "openai-beta",
        }  # fmt: skip
        assert world.owner.key not in str(request)


async def test_the_rules_of_chats_hold_for_all_that_is_passed_on(
    passing: Services, world: World, upstream: ScriptedUpstream
) -> None:
    limited = set_to(passing, llm_models=("gpt-image-*",))
    async with sdk_of(limited, world.owner.key) as client:
        calls: list[Awaitable[Any]] = [
            client.completions.create(model="o9", prompt="x"),
            client.images.generate(prompt="x"),
            client.images.generate(model="dall-e-3", prompt="x"),
            client.audio.transcriptions.create(model="whisper-1", file=("a.mp3", SOUND)),
            client.audio.transcriptions.create(model="gpt-image-1", file=("a.mp3", SOUND), extra_body={"model": "o9"}),
        ]
        for call in calls:
            with pytest.raises(openai.PermissionDeniedError) as fault:
                await call
            assert fault.value.code == "model_not_allowed"
        assert not upstream.received
        upstream.script(whole(IMAGES))
        assert (await client.images.generate(model="gpt-image-1", prompt="x")).data
        upstream.script(whole({**TEXT, "choices": []}))
        async with http(make_app(limited)) as plain:
            assert (await plain.post("/v1/completions", headers=world.owner.auth, json={"prompt": "x"})).is_success
        assert upstream.bodies == [{"prompt": "x", "model": "small"}], "what is asked for where none is named"
    form = {"content-type": "multipart/form-data; boundary=x", **world.owner.auth}
    two = b"".join(b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\n%s\r\n' % name for name in (b"a", b"b"))
    async with http(make_app(passing)) as plain:
        for raw in (b"--x\r\nno form", two + b"--x--\r\n"):
            refused = await plain.post("/v1/images/edits", headers=form, content=raw)
            assert refused.status_code == 400, refused.text
            assert "error" in refused.json()
        for model in ([1], {}, 3, "x" * 3000):
            upstream.script(error(400, "no such model"))
            asked = await plain.post("/v1/moderations", headers=world.owner.auth, json={"model": model})
            assert asked.json()["error"]["message"] == "no such model"
    _, read_only = await keys.create_key(passing, world.owner.principal, name="reads", permission="read")
    _, elsewhere = await keys.create_key(passing, world.owner.principal, name="rooms", surfaces=["rooms"])
    _, here = await keys.create_key(passing, world.owner.principal, name="proxy", surfaces=["openai"])
    upstream.script(*[whole(IMAGES)] * 3)
    for key, opens in ((read_only, True), (elsewhere, False), (here, True)):
        async with sdk_of(passing, key) as client:
            asked = client.images.generate(model="m", prompt="x")
            if opens:
                await asked
            else:
                with pytest.raises(openai.PermissionDeniedError):
                    await asked


async def test_what_is_passed_on_needs_tokens_of_the_plan(
    passing: Services, world: World, upstream: ScriptedUpstream
) -> None:
    await plans.put_plan(passing, Plan(name="few-tokens", monthly_tokens=5))
    await operator.set_allowance(passing, world.owner.user.email, plan="few-tokens")
    upstream.script(whole({**TEXT, "choices": [], "usage": USAGE}))
    async with sdk_of(passing, world.owner.key) as client:
        await client.completions.create(model="m", prompt="x")
        for call in (
            client.completions.create(model="m", prompt="x"),
            client.audio.transcriptions.create(model="m", file=("a.mp3", SOUND)),
            client.embeddings.create(model="other", input="x"),
        ):
            with pytest.raises(openai.RateLimitError) as fault:
                await call
            assert fault.value.code == "insufficient_quota"
    assert len(upstream.received) == 1


# --------------------------------------------------------------------------------------- what the provider keeps


async def test_what_the_provider_keeps_is_for_its_operator(
    passing: Services, world: World, upstream: ScriptedUpstream
) -> None:
    ops = await make_person(passing, "ops@example.net", is_admin=True)
    listed = {"object": "list", "data": [FILE], "has_more": False}
    gone = {"id": "file-1", "object": "file", "deleted": True}
    upstream.script(
        whole(FILE), whole(listed), Answer(kind="application/octet-stream", pieces=(SOUND,)), whole(gone),
        whole({"id": "batch_1", "object": "batch", "status": "validating"}), whole({"object": "list", "data": []}),
    )  # fmt: skip
    async with sdk_of(passing, ops.key) as client:
        assert (await client.files.create(file=("a.jsonl", SOUND), purpose="batch")).id == "file-1"
        assert [one.id async for one in client.files.list(limit=3, purpose="batch")] == ["file-1"]
        assert (await client.files.content("file-1")).content == SOUND
        assert (await client.files.delete("file-1")).deleted
        batch = client.batches.create(input_file_id="file-1", endpoint="/v1/chat/completions", completion_window="24h")
        assert (await batch).id == "batch_1"
        assert [one async for one in client.vector_stores.files.list("vs_1")] == []
    assert [(one.method, one.path) for one in upstream.received] == [
        ("POST", "/v1/files"), ("GET", "/v1/files?limit=3&purpose=batch"), ("GET", "/v1/files/file-1/content"),
        ("DELETE", "/v1/files/file-1"), ("POST", "/v1/batches"), ("GET", "/v1/vector_stores/vs_1/files"),
    ]  # fmt: skip
    assert SOUND in upstream.received[0].body
    assert not any(ops.key in str(one) for one in upstream.received)

    upstream.script()
    for key in (world.owner.key, world.member.key, world.stranger.key, world.service_key):
        async with sdk_of(passing, key) as client:
            named = client.responses.create(model="m", input="x", conversation="conv_1")
            for call in (*everything_kept(client), named):
                with pytest.raises(openai.PermissionDeniedError) as fault:
                    await call
                assert fault.value.code == "kept_at_provider"
    async with sdk_of(set_to(passing, llm_pass_through="off"), ops.key) as client:
        for call in (*everything_kept(client), client.completions.create(model="m", prompt="x")):
            with pytest.raises(openai.PermissionDeniedError):
                await call
    assert not upstream.received
    async with sdk_of(set_to(passing, llm_pass_through="all"), world.stranger.key) as client:
        upstream.script(whole(listed))
        assert [one.id async for one in client.files.list()] == ["file-1"]


def everything_kept(client: AsyncOpenAI) -> list[Awaitable[Any]]:
    return [
        client.files.create(file=("a.jsonl", SOUND), purpose="batch"),
        client.files.retrieve("file-1"),
        client.files.content("file-1"),
        client.files.delete("file-1"),
        client.batches.cancel("batch_1"),
        client.vector_stores.search("vs_1", query="x"),
        client.conversations.items.create("conv_1", items=[]),
        client.realtime.client_secrets.create(),
    ]


async def test_a_response_that_the_provider_keeps_is_for_whoever_asked_for_it(
    passing: Services, world: World, upstream: ScriptedUpstream
) -> None:
    spoken = {"id": "resp_1", "object": "response", "status": "completed", "output": [], "model": "m"}
    ops = await make_person(passing, "ops@example.net", is_admin=True)
    workspace = await workspaces.create(passing, world.owner.principal, name="a place")
    _, limited = await keys.create_key(passing, world.owner.principal, name="one place", spaces=[workspace.id])
    upstream.script(
        response(says("a secret"), id="resp_1"), streamed(*events(says("another"), id="resp_2")), whole(spoken),
        whole({"object": "list", "data": []}), whole(spoken), response(says("on"), id="resp_3"),
        response(says("forgotten"), id="resp_4"),
    )  # fmt: skip
    async with sdk_of(passing, world.owner.key) as client:
        assert (await client.responses.create(model="m", input="hi")).id == "resp_1"
        stream = await client.responses.create(model="m", input="hi", stream=True)
        assert [event.response.id async for event in stream if event.type == "response.created"] == ["resp_2"]
        assert (await client.responses.retrieve("resp_1")).id == "resp_1"
        assert [item async for item in client.responses.input_items.list("resp_1")] == []
        await client.responses.cancel("resp_2")
        assert (await client.responses.create(model="m", input="go on", previous_response_id="resp_2")).id == "resp_3"
        await client.responses.create(model="m", input="hi", store=False)
    assert [(one.method, one.path) for one in upstream.received[2:5]] == [
        ("GET", "/v1/responses/resp_1"), ("GET", "/v1/responses/resp_1/input_items"),
        ("POST", "/v1/responses/resp_2/cancel"),
    ]  # fmt: skip
    upstream.script()
    for shared in (passing, set_to(passing, llm_pass_through="all")):
        for key in (world.member.key, world.stranger.key, world.service_key, ops.key, limited):
            async with sdk_of(shared, key) as client:
                for name in ("resp_1", "resp_2", "resp_unheard_of"):
                    for call in (
                        client.responses.retrieve(name),
                        client.responses.delete(name),
                        client.responses.cancel(name),
                        client.responses.input_items.list(name),
                        client.responses.create(model="m", input="x", previous_response_id=name),
                        client.responses.compact(model="m", previous_response_id=name),
                        client.responses.input_tokens.count(model="m", previous_response_id=name),
                    ):
                        with pytest.raises(openai.NotFoundError):
                            await call
    async with sdk_of(passing, world.owner.key) as client:
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve("resp_4")
    async with http(make_app(passing)) as client:
        for path in ("responses", "responses/compact"):
            for body, kind in (
                (
                    '{"model": "m", "input": "x", "previous_response_id": "resp_1", "previous_response_id": null}',
                    "json",
                ),
                ("model=m&previous_response_id=resp_1", "x-www-form-urlencoded"),
            ):
                headers = {**world.member.auth, "content-type": f"application/{kind}", "x-keepstone-memory": "off"}
                sly = await client.post(f"/v1/{path}", headers=headers, content=body)
                assert sly.status_code == 400, sly.text
        assert not upstream.received
        sly = await client.post(
            "/v1/responses/compact", content='{"input": "&previous_response_id=resp_1&"}',
            headers=world.member.auth | {"content-type": "application/x-www-form-urlencoded"},
        )  # fmt: skip
    assert upstream.received[0].headers["content-type"] == "application/json"


# --------------------------------------------------------------------------------------------------- embeddings


async def test_embeddings_of_a_model_that_is_not_ours_are_the_providers(
    passing: Services, world: World, upstream: ScriptedUpstream
) -> None:
    made = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}], "model": "far",
            "usage": {"prompt_tokens": 4, "total_tokens": 4}}  # fmt: skip
    upstream.otherwise = lambda request: whole(made)
    ours = replace(passing, embedders=Embedders((Lengths("english/1", multilingual=False),)))
    async with sdk_of(ours, world.owner.key) as client:
        for name in ("english/1", USUAL[0]):
            assert (await client.embeddings.create(model=name, input="abc")).model == "english/1"
        assert not upstream.received
        assert (await client.embeddings.create(model="far", input=[[1, 2]], dimensions=1)).model == "far"
    (request,) = upstream.received
    assert (request.path, request.json["input"]) == ("/v1/embeddings", [[1, 2]])
    assert await used(passing, world.owner) == (4, 0)
    none = set_to(passing, embeddings_provider="none")
    async with sdk_of(none, world.owner.key) as client:
        assert (await client.embeddings.create(model=USUAL[0], input="abc")).model == "far", "there are none here"
    assert upstream.bodies[-1]["model"] == USUAL[0]

    own, beside = OpenAIUpstream(upstream.url, "sk-own", "own"), OpenAIUpstream(upstream.url, "sk-beside", None)
    further = (FurtherUpstream(name="beside", models=("voyage-*",), upstream=beside),)
    both = replace(set_to(passing, llm_models=("ada-*",)), embeddings_upstream=own, further=further)
    both = replace(both, settings=replace(both.settings, embeddings_model="own"))
    async with sdk_of(both, world.owner.key) as client:
        for name, key in (("own", "sk-own"), (USUAL[0], "sk-own"), ("voyage-3", "sk-beside"), ("ada-2", OPERATOR_KEY)):
            upstream.script()
            await client.embeddings.create(model=name, input="abc")
            assert upstream.received[0].headers["authorization"] == f"Bearer {key}", name
    await own.close()
    await beside.close()
    upstream.script()
    off = set_to(ours, llm_pass_through="off")
    anthropic = replace(ours, upstream=AnthropicUpstream(upstream.url, "key", "m"))
    for closed in (off, anthropic, replace(ours, upstream=None)):
        async with sdk_of(closed, world.owner.key) as client:
            with pytest.raises(openai.NotFoundError, match="english/1"):
                await client.embeddings.create(model="far", input="abc")
    assert not upstream.received


# ------------------------------------------------------------------------------------------------ what goes wrong


async def test_what_a_provider_that_is_anthropic_or_none_or_down_says(
    services: Services, world: World, upstream: ScriptedUpstream
) -> None:
    ops = await make_person(services, "ops@example.net", is_admin=True)

    async def said(working: Services) -> list[tuple[int, str | None, str]]:
        told: list[tuple[int, str | None, str]] = []
        async with sdk_of(working, ops.key) as client:
            for call in (
                client.completions.create(model="m", prompt="x"),
                client.audio.transcriptions.create(model="m", file=("a.mp3", SOUND)),
                client.files.list(),
                client.files.create(file=("a", SOUND), purpose="batch"),
            ):
                with pytest.raises(openai.APIStatusError) as fault:
                    await call
                told.append((fault.value.status_code, fault.value.code, fault.value.message))
        return told

    anthropic = AnthropicUpstream(upstream.url, "key", "m")
    for status, code, message in await said(replace(services, upstream=anthropic)):
        assert (status, code) == (404, "unknown_url")
        assert "Anthropic" in message
        assert "kind openai" in message
    for status, code, message in await said(services):
        assert (status, code) == (503, "no_language_model")
        assert "KEEPSTONE_LLM_PROVIDER" in message
    down = OpenAIUpstream("http://127.0.0.1:1/v1", "sk-secret", "m")
    for status, code, message in await said(replace(services, upstream=down)):
        assert (status, code) == (502, "upstream_unreachable")
        assert "sk-secret" not in message
    refusing = OpenAIUpstream(upstream.url, "sk-secret", "m")
    upstream.otherwise = lambda request: error(401, "sk-secret is wrong")
    for status, code, message in await said(replace(services, upstream=refusing)):
        assert (status, code) == (502, "upstream_key_refused")
        assert "sk-secret" not in message
    upstream.otherwise = lambda request: error(429, "slow down", headers={"retry-after": "3"}, code="rate")
    assert {one[:2] for one in await said(replace(services, upstream=refusing))} == {(429, "rate")}
    for one in (anthropic, down, refusing):
        await one.close()
    assert not upstream.open


async def test_no_other_address_is_passed_on(passing: Services, world: World, upstream: ScriptedUpstream) -> None:
    ops = await make_person(passing, "ops@example.net", is_admin=True)
    async with http(make_app(set_to(passing, llm_pass_through="all"))) as client:
        for path in (
            "/v1/organization/admin_api_keys", "/v1/webhook_endpoints", "/v1/anything", "/v1/filesystem", "/v1/files/",
            "/v1/files/%2e%2e/organization/admin_api_keys", "/v1/files/a%2f..%2f..%2fmodels", "/v1/files//a",
            "/v1/responses/%2e%2e/files", "/v1/audio/%2e/speech",
        ):  # fmt: skip
            for method in ("GET", "POST", "DELETE"):
                url = httpx.URL("http://127.0.0.1:8420").copy_with(raw_path=path.encode())
                request = httpx.Request(method, url, headers=ops.auth)
                answer = await client.send(request)
                assert answer.status_code in {404, 405}, (method, path, answer.text)
    assert not upstream.received
    families = set(get_args(Family))
    ours = {path.split("/")[2] for path in make_routes().openapi()["paths"] if path.startswith("/v1/")}
    assert families & ours == {"audio"}, "what is ours goes first: of audio that is no more than three"


# -------------------------------------------------------------------------------------------- over a real connection


@pytest.fixture(scope="module")
def keepstone(scripted: ScriptedUpstream) -> Generator[Live]:
    server = Live(
        KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=scripted.url, KEEPSTONE_LLM_API_KEY=OPERATOR_KEY,
        KEEPSTONE_WORKER="off", KEEPSTONE_MAX_BODY_BYTES="100000", KEEPSTONE_MAX_BODIES_BYTES="300000",
        KEEPSTONE_MAX_IMPORT_BYTES="3000000",
    )  # fmt: skip
    yield server
    assert not any('"unhandled"' in line for line in server.log)
    server.stop()


async def test_an_upload_goes_through_in_pieces_and_has_an_end(keepstone: Live, upstream: ScriptedUpstream) -> None:
    large = SOUND * 1000
    upstream.otherwise = lambda request: whole(FILE)
    async with AsyncOpenAI(base_url=keepstone.url + "/v1", api_key=keepstone.key, max_retries=0, timeout=60) as client:
        await client.files.create(file=("a", large), purpose="batch")
        assert large in upstream.received[0].body
        with pytest.raises(openai.APIStatusError, match="KEEPSTONE_MAX_IMPORT_BYTES") as refused:
            await client.files.create(file=("a", large * 2), purpose="batch")
        assert refused.value.status_code == 413
        with pytest.raises(openai.APIStatusError, match="KEEPSTONE_MAX_BODY_BYTES"):
            await client.audio.transcriptions.create(model="m", file=("a", large))

    begun = asyncio.Event()

    async def pieces(last: asyncio.Event) -> AsyncGenerator[bytes]:
        yield b"half"
        begun.set()
        await last.wait()
        yield b" and half"

    async with httpx.AsyncClient(base_url=keepstone.url, headers=keepstone.auth, timeout=60) as client:
        last = asyncio.Event()
        last.set()
        upstream.script()
        assert (await client.post("/v1/uploads", content=pieces(last))).is_success
        assert upstream.received[0].body == b"half and half"
        connections = upstream.connections
        begun.clear()
        leaving = asyncio.create_task(client.post("/v1/uploads", content=pieces(asyncio.Event())))
        await begun.wait()
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
    assert upstream.connections >= connections
    await until(lambda: any('"status": 499' in line for line in keepstone.log))
    async with httpx.AsyncClient(base_url=keepstone.url, headers=keepstone.auth) as client:
        assert (await client.get("/healthz")).status_code == 200


async def test_a_client_that_goes_lets_the_provider_go_and_a_sound_that_breaks_off_has_no_end(
    keepstone: Live, upstream: ScriptedUpstream
) -> None:
    asked = {"model": "m", "input": "hello", "voice": "alloy"}
    async with httpx.AsyncClient(base_url=keepstone.url, headers=keepstone.auth, timeout=60) as client:
        upstream.script(Answer(kind="audio/mpeg", pieces=(SOUND,), ending="hang"))
        async with client.stream("POST", "/v1/audio/speech", json=asked) as answer:
            async for _ in answer.aiter_raw():
                break
        await until(lambda: upstream.abandoned == 1 and upstream.open == 0)
        upstream.script(Answer(kind="audio/mpeg", pieces=(SOUND,), ending="cut"))
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post("/v1/audio/speech", json=asked)
        upstream.script(streamed(text_event("half"), ending="cut"))
        answer = await client.post("/v1/completions", json={"model": "m", "prompt": "x", "stream": True})
        assert "upstream_cut_off" in answer.text
