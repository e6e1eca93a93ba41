"""The memory block for LlamaIndex on Keepstone, with the real package."""

from collections.abc import AsyncGenerator

import pytest
from fastapi import FastAPI
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import StaticPool

from adapters import awaited
from conftest import World
from keepstone_client import AsyncKeepstone
from keepstone_client.adapters.llama_index import KeepstoneMemoryBlock


@pytest.fixture
async def keepstone(app: FastAPI, world: World) -> AsyncGenerator[AsyncKeepstone]:
    async with awaited(app, world.owner.key) as client:
        yield client


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


async def test_what_was_put_comes_back_when_it_matters(keepstone: AsyncKeepstone) -> None:
    block = KeepstoneMemoryBlock("talk", keepstone, speakers={"user": "Alice"})
    assert await block.aget() == ""
    assert await block.aget([user("When does the ferry leave?")]) == ""
    await block.aput([user("The ferry leaves at nine."), ChatMessage(role="assistant", content="Noted.")])
    await block.aput([ChatMessage(role="assistant", content=None), user("  ")])
    other = KeepstoneMemoryBlock("talk", keepstone)
    found = await other.aget([user("When does the ferry leave?"), ChatMessage(role="assistant", content="Let me see.")])
    assert "Alice" in found
    assert "The ferry leaves at nine." in found
    assert await KeepstoneMemoryBlock("elsewhere", keepstone).aget([user("When does the ferry leave?")]) == ""


async def test_what_it_gave_is_not_taken_in_again(keepstone: AsyncKeepstone) -> None:
    block = KeepstoneMemoryBlock("talk", keepstone)
    await block.aput([user("The ferry leaves at nine.")])
    context = await block.aget([user("ferry?")])
    await block.aput([user(f"{context}\nAnd the train?")])
    again = await block.aget([user("ferry?")])
    assert again.count("The ferry leaves at nine.") == 1


async def test_too_long_a_block_loses_its_oldest_lines_and_stays_marked(keepstone: AsyncKeepstone) -> None:
    block = KeepstoneMemoryBlock("talk", keepstone, max_tokens=None)
    await block.aput([user(f"The ferry number {n} leaves at nine.") for n in range(8)])
    whole = await block.aget([user("ferry")])
    cut = await block.atruncate(whole, 40)
    assert cut is not None
    assert len(cut) <= len(whole) - 160
    assert (cut.split("\n")[0], cut.split("\n")[-1]) == (whole.split("\n")[0], whole.split("\n")[-1])
    assert set(cut.split("\n")) < set(whole.split("\n"))
    assert await block.atruncate(whole, 10_000) is None


async def test_a_memory_hands_it_what_it_has_no_room_for_and_shows_what_it_knows(keepstone: AsyncKeepstone) -> None:
    engine = create_async_engine("sqlite+aiosqlite:///:memory:", poolclass=StaticPool)
    memory = Memory.from_defaults(
        async_engine=engine, session_id="one", token_limit=400, chat_history_token_ratio=0.1, token_flush_size=10,
        memory_blocks=[KeepstoneMemoryBlock("talk", keepstone)],
    )  # fmt: skip
    await memory.aput(user("My allergy is peanuts, please never forget that."))
    for number in range(6):
        await memory.aput(ChatMessage(role="assistant", content=f"Here is some talk about the weather, part {number}."))
        await memory.aput(user(f"Tell me more about the weather, part {number}."))
    await memory.aput(user("What is my allergy?"))
    shown = "\n".join(str(message.content) for message in await memory.aget())
    assert "My allergy is peanuts" in shown
    assert "part 0" not in shown.split("</recalled-memory>")[1]
    await engine.dispose()
