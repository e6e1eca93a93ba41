"""A language model behind an upstream: which parameters it takes is learned, and a busy one is asked again."""

import json
from collections.abc import AsyncGenerator, Generator
from typing import Any

import pytest

from keepstone.errors import UpstreamError
from keepstone.providers.chat_model import ChatModel
from keepstone.providers.openai_upstream import OpenAIUpstream
from upstream import Answer, Received, ScriptedUpstream, completion, error

KEY = "sk-of-the-operator"
SECRET = "a text that is nobody's business"


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
async def model(upstream: ScriptedUpstream) -> AsyncGenerator[ChatModel]:
    made = ChatModel(OpenAIUpstream(upstream.url, KEY, "small"), timeout=5)
    yield made
    await made.close()


async def ask(model: ChatModel) -> str:
    return (await model.complete(system="Be brief.", prompt=SECRET, max_tokens=60)).text


def unsupported(message: str, name: str) -> Answer:
    told = {"message": message, "type": "invalid_request_error", "param": name, "code": "unsupported_parameter"}
    return Answer(status=400, pieces=(json.dumps({"error": told}).encode(),))


def newer(request: Received) -> Answer:
    """As newer models of OpenAI's answer, one complaint after the other."""
    if "max_tokens" in request.json:
        return unsupported(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
            "instead.", "max_tokens",
        )  # fmt: skip
    if request.json.get("temperature", 1) != 1:
        return unsupported("Unsupported value: 'temperature' does not support 0 with this model.", "temperature")
    return completion("hello")


def older(request: Received) -> Answer:
    """As servers that know nothing else."""
    return completion("hello") if "max_completion_tokens" not in request.json else error(400, "max_completion_tokens?")


def parameters(upstream: ScriptedUpstream) -> list[dict[str, Any]]:
    return [{name: body[name] for name in body if name not in {"model", "messages"}} for body in upstream.bodies]


async def test_a_newer_model_is_asked_without_what_it_refused_and_that_is_remembered(
    upstream: ScriptedUpstream, model: ChatModel
) -> None:
    upstream.otherwise = newer
    assert await ask(model) == "hello"
    assert len(upstream.received) == 3
    upstream.script()
    assert await ask(model) == "hello"
    [sent] = parameters(upstream)
    assert list(sent) == ["max_completion_tokens"]
    assert sent["max_completion_tokens"] > 60  # what it thinks counts too


async def test_an_older_server_is_never_sent_what_it_does_not_know(
    upstream: ScriptedUpstream, model: ChatModel
) -> None:
    upstream.otherwise = older
    assert await ask(model) == "hello"
    assert parameters(upstream) == [{"max_tokens": 60, "temperature": 0}]


async def test_a_server_may_refuse_one_parameter_and_take_the_other(
    upstream: ScriptedUpstream, model: ChatModel
) -> None:
    upstream.otherwise = lambda request: (
        error(422, "temperature: extra fields not permitted") if "temperature" in request.json else completion("hello")
    )
    assert await ask(model) == "hello"
    assert parameters(upstream)[-1] == {"max_tokens": 60}


async def test_what_was_refused_for_another_reason_is_not_remembered(
    upstream: ScriptedUpstream, model: ChatModel
) -> None:
    refusal = error(400, "'max_tokens' or 'max_completion_tokens' is too large for this prompt")
    upstream.script(refusal, refusal)
    with pytest.raises(UpstreamError, match="answered 400"):
        await ask(model)
    upstream.script()
    assert await ask(model) == "hello"
    assert parameters(upstream) == [{"max_tokens": 60, "temperature": 0}]


async def test_a_busy_upstream_is_asked_again(upstream: ScriptedUpstream, model: ChatModel) -> None:
    busy = Answer(status=429, headers={"retry-after-ms": "10"}, pieces=(b"{}",))
    upstream.script(busy, Answer(ending="cut", pieces=(b"{",)), completion("at last"))
    assert await ask(model) == "at last"
    upstream.script(busy, busy, busy)
    with pytest.raises(UpstreamError, match="answered 429"):
        await ask(model)


@pytest.mark.parametrize("body", [b"<html>", b"{}", b"[]", b'{"choices": []}', b'{"choices": [{"message": null}]}'])
async def test_what_is_no_completion_is_the_upstreams_error(
    upstream: ScriptedUpstream, model: ChatModel, body: bytes
) -> None:
    upstream.script(Answer(pieces=(body,)))
    with pytest.raises(UpstreamError) as fault:
        await ask(model)
    assert "KEEPSTONE_LLM_BASE_URL" in fault.value.message


async def test_neither_key_nor_text_is_told(upstream: ScriptedUpstream, model: ChatModel) -> None:
    upstream.script(error(401, f"{KEY} is wrong, and so is {SECRET}"))
    with pytest.raises(UpstreamError, match="answered 401") as fault:
        await ask(model)
    assert KEY not in repr(fault.value)
    assert SECRET not in repr(fault.value) + repr(fault.value.__cause__)
    assert upstream.received[0].headers["authorization"] == f"Bearer {KEY}"
