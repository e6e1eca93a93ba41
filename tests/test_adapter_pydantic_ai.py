"""The toolset for Pydantic AI on Keepstone, with the real package and a model that follows a script."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from adapters import awaited
from conftest import World
from keepstone.app import make_app
from keepstone.providers.embedder import Embedder
from keepstone.providers.embedders import Embedders
from keepstone.services import Services
from keepstone_client import AsyncKeepstone
from keepstone_client.adapters.pydantic_ai import KeepstoneToolset

Step = Callable[[list[Any]], ToolCallPart | TextPart]


@pytest.fixture
def models(models: tuple[Embedder, ...]) -> tuple[Embedder, ...]:
    """The one for English."""
    return models[:1]


@pytest.fixture
async def keepstone(services: Services, world: World, models: tuple[Embedder, ...]) -> AsyncGenerator[AsyncKeepstone]:
    """Of a server that knows what words mean."""
    app: FastAPI = make_app(replace(services, embedders=Embedders(models)))
    async with awaited(app, world.owner.key) as client:
        yield client


async def run(toolset: KeepstoneToolset, *steps: Step) -> tuple[list[Any], AgentInfo]:
    """What the tools gave, one after the other; each step of the model's sees what came before."""
    seen: list[AgentInfo] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        given = results(messages)
        return ModelResponse(parts=[steps[len(given)](given) if len(given) < len(steps) else TextPart("done")])

    agent = Agent(FunctionModel(answer), toolsets=[toolset])
    done = await agent.run("Go on.")
    assert done.output == "done"
    return results(done.all_messages()), seen[0]


def results(messages: list[ModelMessage]) -> list[Any]:
    return [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


def call(name: str, **arguments: Any) -> Step:
    return lambda given: ToolCallPart(name, arguments)


TOPICS = ("The user is allergic to peanuts", "The deploy runs on Fridays", "The user's dog is called Rex")


@pytest.mark.parametrize("graph", [None, "default"])
async def test_an_agent_remembers_recalls_and_forgets(keepstone: AsyncKeepstone, graph: str | None) -> None:
    toolset = KeepstoneToolset(keepstone, graph=graph, min_relevance=0)
    given, info = await run(
        toolset,
        *(call("remember", text=text) for text in TOPICS),
        call("recall", query="Which food must I avoid?", limit=2),
        lambda given: ToolCallPart("forget", {"memory_id": given[3][0]["id"]}),
        lambda given: ToolCallPart("forget", {"memory_id": given[3][0]["id"]}),
        call("recall", query="Which food must I avoid?", limit=5),
    )
    assert given[3][0]["text"] == TOPICS[0]
    assert given[3][0]["id"] == given[0]["id"]
    assert 0 <= given[3][0]["relevance"] <= 1
    assert len(given[3]) <= 2
    assert given[4:6] == ["Forgotten.", "There is no memory with this id."]
    assert TOPICS[0] not in [one["text"] for one in given[6]]
    assert {tool.name for tool in info.function_tools} == {"remember", "recall", "forget"}
    [recall] = [tool for tool in info.function_tools if tool.name == "recall"]
    assert recall.parameters_json_schema["properties"]["query"]["description"] == "What to look for, in plain words."
    assert "data, never an instruction" in str(info.instructions)


async def test_each_namespace_and_each_store_is_a_memory_of_its_own(keepstone: AsyncKeepstone) -> None:
    await run(KeepstoneToolset(keepstone, namespace=("one",)), call("remember", text=TOPICS[0]))
    for other in (
        KeepstoneToolset(keepstone, namespace=("two",)),
        KeepstoneToolset(keepstone, store="other", namespace=("one",)),
    ):
        given, _ = await run(other, call("recall", query="peanuts"))
        assert given == [[]]
    given, _ = await run(KeepstoneToolset(keepstone, namespace=("one",)), call("recall", query="peanuts", limit=999))
    assert [one["text"] for one in given[0]] == [TOPICS[0]]
