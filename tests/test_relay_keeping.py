"""What a user says is stored while the model is asked: nothing of an answer leaves before, and whatever fails, the
client is told, and the chat has what it should.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass, replace
from typing import Any

import httpx
import psycopg
import pytest

from conftest import World, http
from keepstone.app import make_app
from keepstone.memory import chats
from keepstone.model.page import PageRequest
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.services import Services
from locks import end, waiting
from upstream import Answer, ScriptedUpstream, chunks, completion, error, streamed

SAID = "When does the ferry leave?"


@pytest.fixture(scope="module")
def scripted() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    yield made
    made.stop()


@dataclass(frozen=True)
class Talk:
    """A chat in which nothing can be stored before `let`, and which can be read all the while."""

    services: Services
    world: World
    client: httpx.AsyncClient
    upstream: ScriptedUpstream
    chat: str
    holder: psycopg.AsyncConnection[Any]
    watcher: psycopg.AsyncConnection[Any]

    def ask(self, answer: Answer, **body: Any) -> "asyncio.Task[httpx.Response]":
        self.upstream.script(answer)
        return asyncio.create_task(
            self.client.post(
                "/v1/chat/completions",
                headers=self.world.owner.auth | {"X-Keepstone-Chat": self.chat},
                json={"model": "m", "messages": [{"role": "user", "content": SAID}], **body},
            )
        )

    async def both_wait(self) -> None:
        """Until the model is asked, and the statement that stores waits."""
        async with asyncio.timeout(10):
            while not (self.upstream.received and await waiting(self.watcher)):
                await asyncio.sleep(0.01)

    async def let(self) -> None:
        await self.holder.rollback()

    async def break_off(self) -> None:
        """The database ends the connection that stores."""
        for number in await waiting(self.watcher):
            await end(self.watcher, number)

    async def answered(self) -> None:
        """Until the upstream has said all that it says, or nobody listens any more."""
        async with asyncio.timeout(10):
            while self.upstream.open:
                await asyncio.sleep(0.01)

    async def kept(self) -> list[str]:
        await self.let()
        page = await chats.list_messages(self.services, self.world.owner.principal, self.chat, PageRequest(limit=10))
        return [message.content for message in page.items]


@pytest.fixture
async def talk(services: Services, world: World, scripted: ScriptedUpstream, database: str) -> AsyncGenerator[Talk]:
    direct = OpenAIUpstream(scripted.url, "sk-of-the-operator", "small")
    chat = await chats.create(services, world.owner.principal, title="a chat", workspace_id=None)
    async with (
        http(make_app(replace(services, upstream=direct))) as client,
        await psycopg.AsyncConnection.connect(database) as holder,
        await psycopg.AsyncConnection.connect(database, autocommit=True) as watcher,
    ):
        await holder.execute("LOCK TABLE keepstone.messages IN SHARE MODE")  # read, but not written
        yield Talk(services, world, client, scripted, chat.id, holder, watcher)
    await direct.close()


STREAM = streamed(*chunks("At nine."))


@pytest.mark.parametrize(("answer", "body"), [(completion("At nine."), {}), (STREAM, {"stream": True})])
async def test_the_model_is_asked_meanwhile_and_no_byte_of_its_answer_leaves_before(
    talk: Talk, answer: Answer, body: dict[str, Any]
) -> None:
    asking = talk.ask(answer, **body)
    await talk.both_wait()
    await asyncio.wait({asking}, timeout=0.2)
    assert not asking.done(), "the model has answered, and nothing is stored yet"
    await talk.let()
    response = await asking
    assert response.status_code == 200
    assert "nine" in response.text
    assert await talk.kept() == [SAID, "At nine."]


@pytest.mark.parametrize(
    ("answer", "body"),
    [(completion("late", late=60), {}), (completion("At nine."), {}), (STREAM, {"stream": True})],
)
async def test_what_can_not_be_stored_is_told_and_no_byte_of_the_answer_leaves(
    talk: Talk, answer: Answer, body: dict[str, Any]
) -> None:
    asking = talk.ask(answer, **body)
    await talk.both_wait()
    if not answer.late:
        await asyncio.wait({asking}, timeout=0.1)  # the answer has begun
    await talk.break_off()
    response = await asyncio.wait_for(asking, 10)  # however long the model thinks
    assert response.status_code == 503
    assert response.headers["content-type"] == "application/json"
    assert set(response.json()) == {"error"}
    assert "nine" not in response.text
    await talk.answered()
    assert await talk.kept() == []


@pytest.mark.parametrize("answer", [error(429, "slow down"), completion("cut", ending="cut"), Answer(status=307)])
async def test_what_was_said_is_stored_although_the_upstream_failed_before(talk: Talk, answer: Answer) -> None:
    asking = talk.ask(answer)
    await talk.both_wait()
    await asyncio.wait({asking}, timeout=0.1)
    assert not asking.done()
    await talk.let()
    assert (await asking).status_code >= 400
    assert await talk.kept() == [SAID]


async def test_when_the_client_goes_both_are_stopped(talk: Talk) -> None:
    asking = talk.ask(completion("late", late=60))
    await talk.both_wait()
    asking.cancel()
    await asyncio.wait({asking})
    await talk.answered()
    async with asyncio.timeout(10):
        while await waiting(talk.watcher):
            await asyncio.sleep(0.01)
    assert await talk.kept() == []


async def test_what_is_refused_is_refused_before_the_model_is_asked(talk: Talk) -> None:
    await talk.let()
    talk.upstream.script()
    long = "a" * (256 * 1024 + 1)
    asking = talk.ask(completion("At nine."), messages=[{"role": "user", "content": long}])
    assert (await asking).status_code == 400
    await chats.delete(talk.services, talk.world.owner.principal, talk.chat)
    assert (await talk.ask(completion("At nine."))).status_code == 404
    assert not talk.upstream.received
