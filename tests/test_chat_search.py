"""What was said in chats is found beside memories, files and artifacts, by those who may read it and nobody else."""

import json

import httpx
import pytest

from capsules import rows
from conftest import World
from keepstone.access import users
from keepstone.jobs.tasks import index_chats
from keepstone.jobs.worker import run_until_empty
from keepstone.memory.workspace_search import recall
from keepstone.relay.tools import run_tool
from keepstone.relay.turn import ModelTurn, open_turn
from keepstone.services import Services
from workspaces import Auth, artifact, call, found, keep, let_in, make_chat, make_workspace, say, upload

QUESTION, ANSWER = "When does the ferry to the island leave?", "The ferry leaves the pier at nine."


@pytest.fixture
async def workspace(client: httpx.AsyncClient, world: World) -> str:
    return await make_workspace(client, world.owner.auth)


@pytest.fixture
async def chat(client: httpx.AsyncClient, services: Services, world: World, workspace: str) -> str:
    made = await make_chat(client, world.owner.auth, workspace, "Travel plans")
    await say(services, world.owner, made, QUESTION, reply=ANSWER)
    await run_until_empty(services)
    return made


async def hits(
    client: httpx.AsyncClient, auth: Auth, workspace: str, query: str = "ferry", **params: object
) -> list[str]:
    """Types and texts."""
    page = await call(client, auth, "GET", f"/workspaces/{workspace}/search", params={"q": query, **params})
    return [f"{one['type']}: {one['text']}" for one in page["items"]]


async def test_what_was_said_is_found_with_its_chat_and_who_said_it(
    client: httpx.AsyncClient, world: World, workspace: str, chat: str
) -> None:
    auth = world.owner.auth
    page = await call(client, auth, "GET", f"/workspaces/{workspace}/search", params={"q": "ferry leaves pier"})
    told = {one["text"]: one for one in page["items"]}
    assert set(told) == {QUESTION, ANSWER}
    assert {one["type"] for one in page["items"]} == {"message"}
    reply = told[ANSWER]
    assert (reply["title"], reply["place"]["chat_id"], reply["place"]["role"]) == ("Travel plans", chat, "assistant")
    assert told[QUESTION]["place"]["role"] == "user"
    assert reply["place"]["said_at"].endswith("Z")
    assert "<mark>ferry</mark>" in reply["snippet"]
    said = (await call(client, auth, "GET", f"/chats/{chat}/messages"))["items"]
    assert {one["id"] for one in said} == {one["id"] for one in page["items"]}


async def test_messages_are_one_kind_among_others_and_can_be_left_out(
    client: httpx.AsyncClient, world: World, workspace: str, chat: str
) -> None:
    auth = world.owner.auth
    await keep(client, auth, workspace, "The ferry is blue.")
    await upload(client, auth, workspace, "a.txt", b"The ferry has two decks.")
    await artifact(client, auth, workspace, "Board the ferry early.")
    assert {one.partition(":")[0] for one in await hits(client, auth, workspace)} == {
        "memory", "document", "artifact", "message",
    }  # fmt: skip
    for kind in ("memory", "document", "artifact", "message"):
        assert {one.partition(":")[0] for one in await hits(client, auth, workspace, type=kind)} == {kind}
    assert {one.partition(":")[0] for one in await hits(client, auth, workspace, type=["memory", "message"])} == {
        "memory", "message",
    }  # fmt: skip
    await call(client, auth, "GET", f"/workspaces/{workspace}/search", params={"q": "x", "type": "room"}, expect=422)


async def test_what_is_remembered_is_recalled_and_injected_without_messages(
    services: Services, world: World, workspace: str, chat: str
) -> None:
    assert await recall(services, world.owner.principal, workspace, "ferry leaves") == []
    turn = await open_turn(services, world.owner.principal, workspace_id=workspace, chat_id=None, said=QUESTION)
    assert (turn.injected, turn.context) == ((), "")


async def test_only_who_may_read_the_chat_finds_what_was_said(
    client: httpx.AsyncClient, world: World, workspace: str, chat: str
) -> None:
    for who in (world.member, world.stranger):
        path = f"/workspaces/{workspace}/search"
        await call(client, who.auth, "GET", path, params={"q": "ferry"}, expect=404)
        mine = await make_workspace(client, who.auth)
        assert await hits(client, who.auth, mine) == []
    await let_in(client, world.owner.auth, workspace, world.member, "viewer")
    assert len(await hits(client, world.member.auth, workspace)) == 2
    await call(
        client, world.owner.auth, "DELETE", f"/workspaces/{workspace}/members/{world.member.user.id}", expect=204
    )
    await call(client, world.member.auth, "GET", f"/workspaces/{workspace}/search?q=ferry", expect=404)


async def test_a_chat_in_the_trash_is_not_found_and_one_that_comes_back_is(
    client: httpx.AsyncClient, services: Services, world: World, workspace: str, chat: str, database: str
) -> None:
    auth = world.owner.auth
    await call(client, auth, "DELETE", f"/chats/{chat}", expect=204)
    assert await hits(client, auth, workspace) == []
    assert await rows(database, "SELECT 1 FROM passages UNION ALL SELECT 1 FROM terms") == []
    await call(client, auth, "POST", f"/chats/{chat}/restore")
    await run_until_empty(services)
    assert len(await hits(client, auth, workspace)) == 2


async def test_a_chat_that_moves_is_found_where_it_is(
    client: httpx.AsyncClient, services: Services, world: World, workspace: str, chat: str
) -> None:
    auth = world.owner.auth
    other = await make_workspace(client, auth, "Elsewhere")
    await call(client, auth, "PATCH", f"/chats/{chat}", json={"workspace_id": other})
    assert await hits(client, auth, workspace) == []
    await run_until_empty(services)
    assert await hits(client, auth, workspace) == []
    assert len(await hits(client, auth, other)) == 2


async def test_what_nobody_answered_and_what_was_said_before_chats_could_be_found_is_found(
    client: httpx.AsyncClient, services: Services, world: World, workspace: str, chat: str, database: str
) -> None:
    await open_turn(services, world.owner.principal, workspace_id=None, chat_id=chat, said="Is the ferry safe?")
    assert len(await hits(client, world.owner.auth, workspace)) == 2
    await index_chats(services)
    await run_until_empty(services)
    await index_chats(services)
    await run_until_empty(services)
    assert len(await hits(client, world.owner.auth, workspace)) == 3
    assert await rows(database, "SELECT count(*) FROM passages") == [(3,)]


async def test_the_tool_searches_other_chats_and_not_the_one_it_is_used_in(
    client: httpx.AsyncClient, services: Services, world: World, workspace: str, chat: str
) -> None:
    here = await make_chat(client, world.owner.auth, workspace, "Another")
    for number in range(80):  # more than are looked at
        await say(services, world.owner, here, f"Look up the ferry, {number}.", reply=f"The ferry {number} is unknown.")
    await run_until_empty(services)
    turn = ModelTurn(workspace_id=workspace, chat_id=here)
    arguments = json.dumps({"query": "ferry"})
    told = (await run_tool(services, world.owner.principal, turn, "x_workspace_search", arguments)).text
    assert ANSWER in told
    assert 'message of the assistant in chat "Travel plans", ' in told
    assert "unknown" not in told
    only = json.dumps({"query": "ferry", "type": ["memory"]})
    assert ANSWER not in (await run_tool(services, world.owner.principal, turn, "x_workspace_search", only)).text
    wrong = json.dumps({"query": "ferry", "type": "room"})
    assert (await run_tool(services, world.owner.principal, turn, "x_workspace_search", wrong)).failed


async def test_what_somebody_said_who_is_erased_is_not_found(
    client: httpx.AsyncClient, services: Services, world: World, workspace: str, chat: str
) -> None:
    auth = world.owner.auth
    await let_in(client, auth, workspace, world.member)
    await say(services, world.member, chat, "My ferry ticket is lost.", reply="Buy another ferry ticket.")
    await run_until_empty(services)
    assert len(await hits(client, auth, workspace)) == 4
    await users.erase_user(services, world.owner.principal, world.member.user.id)
    await run_until_empty(services)
    assert sorted(await hits(client, auth, workspace)) == sorted([f"message: {QUESTION}", f"message: {ANSWER}"])


async def test_what_was_handed_out_is_not_found_as_something_said(
    client: httpx.AsyncClient, services: Services, world: World, workspace: str, chat: str
) -> None:
    page = await found(client, world.owner.auth, workspace, "ferry")
    quoted = f'See:\n1. **{page[0]}** (message of the user in chat "x", 2026-03-02, score 0.90)\nThe zeppelin is late.'
    await say(services, world.owner, chat, quoted, reply="Fine.")
    await run_until_empty(services)
    assert await hits(client, world.owner.auth, workspace, "zeppelin") == []
