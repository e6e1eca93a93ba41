"""Sessions of the OpenAI Agents SDK on Keepstone, with the real package and a model that answers from a script."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from typing import Any

import pytest
from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, SQLiteSession, function_tool
from agents.memory import Session, SessionSettings
from fastapi import FastAPI
from openai import AsyncOpenAI

from adapters import awaited
from conftest import World
from keepstone_client import AsyncKeepstone
from keepstone_client.adapters.openai_agents import KeepstoneSession
from upstream import ScriptedUpstream, response, says, wants

ITEMS: list[Any] = [
    {"role": "user", "content": "When does the ferry leave?"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA="},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"b": 1, "a": 2}'},
    {"type": "function_call_output", "call_id": "c1", "output": "at nine"},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "At nine. ⛴", "annotations": [], "logprobs": []}]},
]  # fmt: skip


@pytest.fixture
async def keepstone(app: FastAPI, world: World) -> AsyncGenerator[AsyncKeepstone]:
    async with awaited(app, world.owner.key) as client:
        yield client


@pytest.fixture(scope="module")
def upstream() -> Generator[ScriptedUpstream]:
    server = ScriptedUpstream()
    yield server
    server.stop()


async def test_items_come_back_word_for_word_in_their_order(keepstone: AsyncKeepstone) -> None:
    session = KeepstoneSession("one", keepstone)
    assert isinstance(session, Session)
    assert await session.get_items() == []
    await session.add_items(ITEMS[:2])
    await session.add_items(ITEMS[2:])
    await session.add_items([])
    found = await KeepstoneSession("one", keepstone).get_items()
    assert found == ITEMS
    assert [list(item) for item in found] == [list(item) for item in ITEMS]
    assert await KeepstoneSession("other", keepstone).get_items() == []


@pytest.mark.parametrize("limit", [0, 1, 3, 5, 9, None])
async def test_a_limit_gives_the_latest_as_the_sdks_own_session_does(
    keepstone: AsyncKeepstone, limit: int | None
) -> None:
    reference, session = SQLiteSession("one"), KeepstoneSession("one", keepstone)
    for one in (reference, session):
        await one.add_items(ITEMS)
    assert await session.get_items(limit) == await reference.get_items(limit)
    settled = KeepstoneSession("one", keepstone, session_settings=SessionSettings(limit=2))
    assert await settled.get_items() == ITEMS[-2:]
    assert await settled.get_items(limit=3) == ITEMS[-3:]
    reference.close()


async def test_the_last_item_can_be_taken_back_and_all_be_cleared(keepstone: AsyncKeepstone) -> None:
    session = KeepstoneSession("one", keepstone)
    assert await session.pop_item() is None
    await session.clear_session()
    await session.add_items(ITEMS)
    assert await session.pop_item() == ITEMS[-1]
    assert await session.pop_item() == ITEMS[-2]
    await session.add_items([ITEMS[0]])
    assert await session.get_items() == [*ITEMS[:3], ITEMS[0]]
    await session.clear_session()
    assert await session.get_items() == []
    assert await session.pop_item() is None
    await session.add_items([ITEMS[1]])
    assert await session.get_items() == [ITEMS[1]]


async def test_more_than_a_batch_holds_is_kept_and_cleared(keepstone: AsyncKeepstone) -> None:
    session = KeepstoneSession("long", keepstone)
    many: list[Any] = [{"type": "reasoning", "id": f"rs_{n}", "summary": []} for n in range(520)]
    await session.add_items(many)
    assert await session.get_items() == many
    assert await session.get_items(510) == many[-510:]
    await session.clear_session()
    assert await session.get_items() == []


async def test_nothing_is_lost_when_several_add_at_once(keepstone: AsyncKeepstone) -> None:
    session = KeepstoneSession("one", keepstone)
    pairs: list[list[Any]] = [
        [{"role": "user", "content": f"question {n}"}, {"role": "assistant", "content": f"answer {n}"}]
        for n in range(5)
    ]
    await asyncio.gather(*(session.add_items(pair) for pair in pairs))
    found = [str(item.get("content")) for item in await session.get_items()]
    assert sorted(found) == sorted(str(item["content"]) for pair in pairs for item in pair)
    assert [one.split()[1] for one in found[::2]] == [one.split()[1] for one in found[1::2]]  # pairs stay together
    popped = await asyncio.gather(*(session.pop_item() for _ in range(4)))
    assert len({str(one) for one in popped}) == 4
    assert len(await session.get_items()) == 6


async def test_what_was_said_is_found(keepstone: AsyncKeepstone) -> None:
    session = KeepstoneSession("one", keepstone)
    await session.add_items(ITEMS)
    assert [item for item, _ in await session.search("ferry")] == [ITEMS[0]]
    assert {str(item.get("type")) for item, _ in await session.search("nine")} == {"function_call_output", "message"}


@function_tool
def look(place: str) -> str:
    """Look something up."""
    return f"{place}: at nine"


async def test_a_runner_goes_on_where_it_stopped(keepstone: AsyncKeepstone, upstream: ScriptedUpstream) -> None:
    upstream.script(
        response(wants("look", "c1", place="pier")),
        response(says("The ferry leaves at nine.", "msg_2"), id="resp_2"),
        response(says("You asked about the ferry.", "msg_3"), id="resp_3"),
    )
    quiet = RunConfig(tracing_disabled=True)
    async with AsyncOpenAI(base_url=upstream.url, api_key="none") as openai:
        agent = Agent(name="Clerk", model=OpenAIResponsesModel(model="m", openai_client=openai), tools=[look])
        first = await Runner.run(
            agent, "When does it leave?", session=KeepstoneSession("run", keepstone), run_config=quiet
        )
        second = await Runner.run(
            agent, "What did I ask?", session=KeepstoneSession("run", keepstone), run_config=quiet
        )
    assert (first.final_output, second.final_output) == ("The ferry leaves at nine.", "You asked about the ferry.")
    sent = upstream.bodies[2]["input"]
    assert [one.get("content") for one in sent if one.get("role") == "user"] == [
        "When does it leave?",
        "What did I ask?",
    ]
    assert [one["output"] for one in sent if one.get("type") == "function_call_output"] == ["pier: at nine"]
    kept = await KeepstoneSession("run", keepstone).get_items()
    assert kept == second.to_input_list()
    assert len(kept) == 6
