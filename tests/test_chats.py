"""Chats: begun in a workspace, moved to another with all that belongs to them, and put away; what was said stays in
order.
"""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import httpx
import pytest

from capsules import at, audited, rows
from conftest import World, http
from keepstone.app import make_app
from keepstone.errors import Forbidden, Malformed, NotFound
from keepstone.jobs.worker import run_until_empty
from keepstone.relay.turn import ModelTurn, close_turn, open_turn
from keepstone.services import Services
from workspaces import (
    call,
    count_of,
    default_of,
    everything,
    found,
    keep,
    let_in,
    listed,
    make_chat,
    make_workspace,
    remember,
    say,
)

NOW = datetime.now(UTC)


async def messages(client: httpx.AsyncClient, auth: dict[str, str], chat: str, **params: Any) -> list[Any]:
    return (await call(client, auth, "GET", f"/chats/{chat}/messages", params=params))["items"]


# -------------------------------------------------------------------------------------------------------- made and seen


async def test_a_chat_is_in_the_workspace_it_was_begun_in_or_else_in_the_default_one(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    made = await call(client, auth, "POST", "/chats", json={}, expect=201)
    assert made["id"].startswith("chat_")
    assert made["title"] == ""
    assert made["workspace_id"] == await default_of(client, auth)
    assert made["created_by"] == world.owner.user.id
    assert made["created_at"] == made["updated_at"]
    assert made["deleted_at"] is None
    workspace = await make_workspace(client, auth)
    body = {"title": "行程 🏝", "workspace_id": workspace}
    other = await call(client, auth, "POST", "/chats", json=body, expect=201)
    assert (other["title"], other["workspace_id"]) == ("行程 🏝", workspace)
    assert await call(client, auth, "GET", f"/chats/{other['id']}") == other


@pytest.mark.parametrize(
    "body", [{"workspace_id": "ws_short"}, {"workspace_id": 7}, {"title": "x" * 256}, {"title": "a\0"}, {"name": "x"}]
)
async def test_a_chat_that_cant_be_is_refused(client: httpx.AsyncClient, world: World, body: Any) -> None:
    await call(client, world.owner.auth, "POST", "/chats", json=body, expect=422)


async def test_a_chat_cant_be_begun_where_one_is_not(client: httpx.AsyncClient, world: World) -> None:
    theirs = await make_workspace(client, world.member.auth)
    for workspace in (theirs, "ws_" + "a" * 24):
        await call(client, world.owner.auth, "POST", "/chats", json={"workspace_id": workspace}, expect=404)
        await call(client, world.owner.auth, "GET", "/chats", params={"workspace_id": workspace}, expect=404)


async def test_chats_are_listed_of_one_workspace_or_of_all_the_newest_first_in_pages(
    client: httpx.AsyncClient, world: World
) -> None:
    auth, workspace = world.owner.auth, await make_workspace(client, world.owner.auth)
    made = [await make_chat(client, auth, workspace if number % 2 else None) for number in range(9)]
    hidden = await make_chat(client, world.member.auth)
    assert await everything(client, auth, "/chats", 4) == made[::-1]
    assert await everything(client, auth, "/chats", 2, workspace_id=workspace) == made[1::2][::-1]
    first = await call(client, auth, "GET", "/chats?limit=3")
    await call(client, auth, "DELETE", f"/chats/{made[6]}", expect=204)  # the last that was seen
    await call(client, auth, "DELETE", f"/chats/{made[4]}", expect=204)
    await make_chat(client, auth)
    rest = await call(client, auth, "GET", "/chats", params={"limit": 50, "cursor": first["next_cursor"]})
    assert [one["id"] for one in rest["items"]] == [made[n] for n in (5, 3, 2, 1, 0)]
    assert hidden not in await everything(client, auth, "/chats", 50)
    trash = (await call(client, auth, "GET", "/chats?deleted=true"))["items"]
    assert {one["id"] for one in trash} == {made[4], made[6]}


# -------------------------------------------------------------------------------------------------------- what was said


async def test_what_was_said_comes_in_order_with_who_said_it(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth, chat = world.owner.auth, await make_chat(client, world.owner.auth)
    turn = await open_turn(services, world.owner.principal, workspace_id=None, chat_id=chat, said="When does it leave?")
    await close_turn(
        services, world.owner.principal, turn, reply="At nine.", model="some-model", tools=["x_recall_memory"]
    )
    asked, answered = await messages(client, auth, chat)
    assert (asked["role"], asked["content"], asked["user_id"], asked["model"]) == (
        "user", "When does it leave?", world.owner.user.id, None,
    )  # fmt: skip
    assert (answered["role"], answered["content"], answered["user_id"], answered["model"]) == (
        "assistant", "At nine.", None, "some-model",
    )  # fmt: skip
    assert asked["id"] == turn.message_id
    assert answered["metadata"] == {"tools": ["x_recall_memory"], "trace_id": turn.trace_id}
    assert (await call(client, auth, "GET", f"/chats/{chat}"))["updated_at"] == answered["created_at"]


async def test_messages_come_in_pages_that_stay_right_while_more_is_said(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth, chat = world.owner.auth, await make_chat(client, world.owner.auth)
    await say(services, world.owner, chat, *(f"Turn {n}" for n in range(5)), reply="Yes.")
    first = await call(client, auth, "GET", f"/chats/{chat}/messages?limit=4")
    await say(services, world.owner, chat, "Turn 5")
    rest = await call(
        client, auth, "GET", f"/chats/{chat}/messages", params={"limit": 50, "cursor": first["next_cursor"]}
    )
    texts = [one["content"] for one in first["items"] + rest["items"]]
    assert texts == ["Turn 0", "Yes.", "Turn 1", "Yes.", "Turn 2", "Yes.", "Turn 3", "Yes.", "Turn 4", "Yes.", "Turn 5"]
    assert await everything(client, auth, f"/chats/{chat}/messages", 2) == [
        one["id"] for one in first["items"] + rest["items"]
    ]


async def test_the_order_is_the_one_they_were_said_in_even_if_the_clock_stands_or_goes_back(
    services: Services, world: World
) -> None:
    async with http(make_app(services)) as client:
        chat = await make_chat(client, world.owner.auth)
        for number in range(6):
            early = replace(services, clock=lambda number=number: NOW - timedelta(seconds=number // 2))
            await say(early, world.owner, chat, f"Turn {number}", reply=f"Answer {number}")
        wanted = [text for n in range(6) for text in (f"Turn {n}", f"Answer {n}")]
        assert [one["content"] for one in await messages(client, world.owner.auth, chat)] == wanted
        cursor, seen = None, list[str]()
        while True:
            page = await call(
                client, world.owner.auth, "GET", f"/chats/{chat}/messages",
                params={"limit": 5} | ({"cursor": cursor} if cursor else {}),
            )  # fmt: skip
            seen += [one["content"] for one in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert seen == wanted


async def test_said_again_after_no_answer_it_is_kept_once(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    chat = await make_chat(client, world.owner.auth)
    first = await say(services, world.owner, chat, "Are you there?")
    assert await say(services, world.owner, chat, "Are you there?", reply="Yes.") == first
    assert await say(services, world.owner, chat, "Are you there?", reply="Still.") != first
    contents = [one["content"] for one in await messages(client, world.owner.auth, chat)]
    assert contents == ["Are you there?", "Yes.", "Are you there?", "Still."]


async def test_the_same_said_by_two_at_once_is_kept_of_each(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    workspace = await make_workspace(client, world.owner.auth)
    await let_in(client, world.owner.auth, workspace, world.member)
    chat = await make_chat(client, world.owner.auth, workspace)
    await asyncio.gather(
        *(say(services, who, chat, "Hello") for who in (world.owner, world.member) for _ in range(3)),
    )
    said = await messages(client, world.owner.auth, chat)
    assert {one["user_id"] for one in said} == {world.owner.user.id, world.member.user.id}
    for before, after in pairwise(said):
        assert before["user_id"] != after["user_id"], "what is sent again right away is not kept twice"


async def test_a_viewer_listens_and_says_nothing(client: httpx.AsyncClient, services: Services, world: World) -> None:
    workspace = await make_workspace(client, world.owner.auth)
    await let_in(client, world.owner.auth, workspace, world.member, "viewer")
    chat = await make_chat(client, world.owner.auth, workspace)
    await say(services, world.owner, chat, "Hello")
    with pytest.raises(Forbidden):
        await say(services, world.member, chat, "Hello too")
    with pytest.raises(NotFound):
        await say(services, world.stranger, chat, "Hello too")
    assert [one["content"] for one in await messages(client, world.member.auth, chat)] == ["Hello"]


async def test_a_chat_named_together_with_another_workspace_is_refused(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    chat, other = await make_chat(client, world.owner.auth), await make_workspace(client, world.owner.auth)
    with pytest.raises(Malformed, match="another workspace"):
        await open_turn(services, world.owner.principal, workspace_id=other, chat_id=chat, said="Hello")
    assert await messages(client, world.owner.auth, chat) == []


async def test_a_message_that_is_too_long_is_refused_and_not_kept(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    chat = await make_chat(client, world.owner.auth)
    with pytest.raises(Malformed, match="256 KB"):
        await say(services, world.owner, chat, "€" * (100 * 1024))
    assert await messages(client, world.owner.auth, chat) == []


async def test_without_a_chat_nothing_is_kept(services: Services, world: World, database: str) -> None:
    turn = await open_turn(services, world.owner.principal, workspace_id=None, chat_id=None, said="Hello")
    assert turn.message_id is None
    closed = await close_turn(
        services, world.owner.principal, turn, reply="Hello.", model=None, tools=["x_recall_memory"]
    )
    assert closed is None
    assert await rows(database, "SELECT 1 FROM messages UNION ALL SELECT 1 FROM distillations") == []


# ------------------------------------------------------------------------------------------------- to another workspace


async def test_a_chat_moves_with_all_that_was_said_and_remembered_in_it(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    auth, before = world.owner.auth, await make_workspace(client, world.owner.auth, "Before")
    after = await make_workspace(client, world.owner.auth, "After")
    await let_in(client, auth, before, world.member)
    chat = await make_chat(client, auth, before)
    message = await say(
        services, world.owner, chat, "I am allergic to peanuts.", reply="Noted.", tools=["x_save_memory"]
    )
    kept = await remember(client, auth, chat, messageId=message)
    gone = await remember(client, auth, chat, content="The ferry leaves at nine.")
    other = await keep(client, auth, before, "The harbour sells tickets.")
    await call(client, auth, "PATCH", f"/chats/{chat}/memories/{kept['id']}", json={"content": "Max hates peanuts."})
    await call(client, auth, "DELETE", f"/chats/{chat}/memories/{gone['id']}", expect=204)
    assert await found(client, world.member.auth, before, "peanuts") == [kept["id"]]
    history = await call(client, auth, "GET", f"/workspaces/{before}/memories/{kept['id']}/history")

    moved = await call(client, auth, "PATCH", f"/chats/{chat}", json={"workspace_id": after, "title": "Moved"})
    assert (moved["workspace_id"], moved["title"]) == (after, "Moved")
    assert await found(client, auth, before, "peanuts") == []
    assert await found(client, auth, after, "peanuts") == [kept["id"]]
    assert await listed(client, auth, before) == [other["id"]]
    assert await listed(client, auth, after) == [kept["id"]]
    assert await listed(client, auth, after, deleted=True) == [gone["id"]]
    assert (await count_of(client, auth, before), await count_of(client, auth, after)) == (1, 1)
    assert await call(client, auth, "GET", f"/workspaces/{after}/memories/{kept['id']}/history") == history
    seen = await call(client, auth, "GET", f"/chats/{chat}/memories/{kept['id']}")
    assert (seen["workspace_id"], seen["source_chat_id"], seen["source_message_id"]) == (after, chat, message)
    assert [one["content"] for one in await messages(client, auth, chat)] == ["I am allergic to peanuts.", "Noted."]
    for path in (f"/chats/{chat}", f"/chats/{chat}/messages", f"/chats/{chat}/memories"):
        await call(client, world.member.auth, "GET", path, expect=404)
    await call(client, auth, "GET", f"/workspaces/{before}/memories/{kept['id']}", expect=404)
    await call(client, auth, "POST", f"/workspaces/{after}/memories/{gone['id']}/restore")
    assert await found(client, auth, after, "ferry") == [gone["id"]]
    (sizes,) = await rows(
        database,
        "SELECT array_agg(size_bytes ORDER BY name = %s), array_agg(passages ORDER BY name = %s) FROM spaces"
        " WHERE name = ANY(%s) AND kind = 'workspace'",
        [after, after, [before, after]],
    )
    ferry, peanuts = len("The ferry leaves at nine."), len("Max hates peanuts.")
    assert sizes == ([len("The harbour sells tickets."), ferry + peanuts], [1, 2])
    left = await rows(
        database,
        "SELECT t.name FROM (SELECT account, space, 'chats' AS name FROM chats UNION SELECT account, space, 'messages'"
        " FROM messages UNION SELECT account, space, 'memory_versions' FROM memory_versions WHERE memory_id <> %s"
        " UNION SELECT account, space, 'distillations' FROM distillations) t JOIN spaces s USING (account, space)"
        " WHERE s.name = %s",
        [other["id"], before],
    )
    assert left == [], "nothing of the chat is left behind"


async def test_what_is_still_to_be_read_moves_along(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth, after = world.owner.auth, await make_workspace(client, world.owner.auth)
    chat = await make_chat(client, auth)
    message = await say(
        services, world.owner, chat, "I am allergic to peanuts.", reply="Noted.", tools=["x_save_memory"]
    )
    (waiting,) = (await call(client, auth, "GET", f"/workspaces/{await default_of(client, auth)}/extractions"))["items"]
    assert (waiting["kind"], waiting["state"], waiting["source_id"]) == ("tool", "waiting", message)
    await call(client, auth, "PATCH", f"/chats/{chat}", json={"workspace_id": after})
    assert (await call(client, auth, "GET", f"/workspaces/{await default_of(client, auth)}/extractions"))["items"] == []
    await run_until_empty(services)
    (done,) = (await call(client, auth, "GET", f"/workspaces/{after}/extractions"))["items"]
    assert done["state"] == "done"
    assert done["memory_ids"] == await listed(client, auth, after)
    assert len(done["memory_ids"]) == 1
    assert await listed(client, auth, await default_of(client, auth)) == []


async def test_who_sees_a_chat_is_who_is_where_it_is(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth, shared = world.owner.auth, await make_workspace(client, world.owner.auth)
    await let_in(client, auth, shared, world.member, "viewer")
    chat = await make_chat(client, auth)
    await say(services, world.owner, chat, "A secret")
    await remember(client, auth, chat, content="The password of the safe is 4711.")
    await call(client, world.member.auth, "GET", f"/chats/{chat}", expect=404)
    await call(client, auth, "PATCH", f"/chats/{chat}", json={"workspace_id": shared})
    assert (await call(client, world.member.auth, "GET", f"/chats/{chat}"))["id"] == chat
    assert len((await call(client, world.member.auth, "GET", f"/chats/{chat}/memories"))["memories"]) == 1
    await call(client, auth, "PATCH", f"/chats/{chat}", json={"workspace_id": None})
    assert (await call(client, auth, "GET", f"/chats/{chat}"))["workspace_id"] == await default_of(client, auth)
    await call(client, world.member.auth, "GET", f"/chats/{chat}", expect=404)
    assert await found(client, world.member.auth, shared, "password of the safe") == []


async def test_a_chat_is_moved_only_to_where_one_may_add_and_then_whole_or_not_at_all(
    client: httpx.AsyncClient, world: World
) -> None:
    auth, chat = world.owner.auth, await make_chat(client, world.owner.auth, title="Here")
    theirs = await make_workspace(client, world.member.auth)
    body = {"workspace_id": theirs, "title": "There"}
    await call(client, auth, "PATCH", f"/chats/{chat}", json=body, expect=404)
    await let_in(client, world.member.auth, theirs, world.owner, "viewer")
    await call(client, auth, "PATCH", f"/chats/{chat}", json=body, expect=403)
    seen = await call(client, auth, "GET", f"/chats/{chat}")
    assert (seen["title"], seen["workspace_id"]) == ("Here", await default_of(client, auth))
    await let_in(client, world.member.auth, theirs, world.owner, "member")
    assert (await call(client, auth, "PATCH", f"/chats/{chat}", json=body))["workspace_id"] == theirs


async def test_moved_to_where_it_is_nothing_happens(client: httpx.AsyncClient, world: World) -> None:
    auth, chat = world.owner.auth, await make_chat(client, world.owner.auth)
    await remember(client, auth, chat, content="The ferry leaves at nine.")
    default = await default_of(client, auth)
    for workspace in (None, default):
        await call(client, auth, "PATCH", f"/chats/{chat}", json={"workspace_id": workspace})
    assert await audited(client, auth, "chat.assign") == []
    assert await count_of(client, auth, default) == 1


async def test_moved_to_and_fro_at_once_nothing_is_lost_or_counted_twice(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    places = [await make_workspace(client, auth, f"Place {n}") for n in range(2)]
    chats = [await make_chat(client, auth, places[n % 2]) for n in range(4)]
    for number, chat in enumerate(chats):
        await remember(client, auth, chat, content=f"Number {number} is a number.")
    answers = await asyncio.gather(
        *(
            client.patch(f"/v1/chats/{chat}", headers=auth, json={"workspace_id": places[(n + m) % 2]})
            for n, chat in enumerate(chats)
            for m in range(3)
        )
    )
    assert {answer.status_code for answer in answers} == {200}
    counted = [await count_of(client, auth, place) for place in places]
    assert sum(counted) == 4
    assert counted == [len(await listed(client, auth, place)) for place in places]
    assert await rows(
        database,
        "SELECT name FROM spaces s WHERE kind = 'workspace' AND passages <> (SELECT count(*) FROM passages p"
        " WHERE p.account = s.account AND p.space = s.space)",
    ) == []  # fmt: skip
    for chat in chats:
        (memory,) = (await call(client, auth, "GET", f"/chats/{chat}/memories"))["memories"]
        assert memory["workspace_id"] == (await call(client, auth, "GET", f"/chats/{chat}"))["workspace_id"]


async def test_what_is_remembered_while_its_chat_moves_goes_where_the_chat_is(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    places = [await make_workspace(client, auth, f"Place {n}") for n in range(2)]
    chat = await make_chat(client, auth, places[0])
    moving = (
        client.patch(f"/v1/chats/{chat}", headers=auth, json={"workspace_id": places[n % 2]}) for n in range(1, 9)
    )
    saving = (
        client.post(f"/v1/chats/{chat}/memory", headers=auth, json={"content": f"Fact number {n}"}) for n in range(8)
    )
    answers = await asyncio.gather(*(each for pair in zip(saving, moving, strict=True) for each in pair))
    assert {answer.status_code for answer in answers} <= {200, 201, 404}
    workspace = (await call(client, auth, "GET", f"/chats/{chat}"))["workspace_id"]
    memories = (await call(client, auth, "GET", f"/chats/{chat}/memories"))["memories"]
    assert {one["workspace_id"] for one in memories} == {workspace}
    assert len(memories) == sum(answer.status_code == 201 for answer in answers), "what was answered with success"
    other = next(place for place in places if place != workspace)
    assert await listed(client, auth, other) == []


# -------------------------------------------------------------------------------------------- put away and brought back


async def test_a_deleted_chat_is_not_there_and_comes_back_as_it_was(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth, chat = world.owner.auth, await make_chat(client, world.owner.auth)
    await say(services, world.owner, chat, "Hello", reply="Hello.")
    kept = await remember(client, auth, chat, content="The ferry leaves at nine.")
    await call(client, auth, "DELETE", f"/chats/{chat}", expect=204)
    gone = [
        ("GET", f"/chats/{chat}", None), ("GET", f"/chats/{chat}/messages", None),
        ("GET", f"/chats/{chat}/memories", None), ("PATCH", f"/chats/{chat}", {"title": "x"}),
        ("DELETE", f"/chats/{chat}", None), ("POST", f"/chats/{chat}/memory", {"content": "x"}),
        ("GET", f"/chats/{chat}/memories/{kept['id']}", None),
    ]  # fmt: skip
    for method, path, body in gone:
        await call(client, auth, method, path, json=body, expect=404)
    with pytest.raises(NotFound):
        await say(services, world.owner, chat, "Hello again")
    default = await default_of(client, auth)
    assert await found(client, auth, default, "ferry") == [kept["id"]], "what was remembered stays the workspace's"
    assert [one["id"] for one in (await call(client, auth, "GET", "/chats?deleted=true"))["items"]] == [chat]
    back = await call(client, auth, "POST", f"/chats/{chat}/restore")
    assert (back["id"], back["deleted_at"]) == (chat, None)
    assert [one["content"] for one in await messages(client, auth, chat)] == ["Hello", "Hello."]
    await call(client, auth, "POST", f"/chats/{chat}/restore", expect=404)
    for action in ("create", "delete", "restore"):
        assert [line["object_id"] for line in await audited(client, auth, f"chat.{action}")] == [chat]


async def test_after_thirty_days_a_chat_does_not_come_back(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    chat = await make_chat(client, world.owner.auth)
    await call(client, world.owner.auth, "DELETE", f"/chats/{chat}", expect=204)
    async with at(services, NOW + timedelta(days=31)) as later:
        await call(later, world.owner.auth, "POST", f"/chats/{chat}/restore", expect=404)
    await call(client, world.owner.auth, "POST", f"/chats/{chat}/restore")


async def test_an_answer_that_comes_after_the_chat_was_deleted_is_not_kept(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    chat = await make_chat(client, world.owner.auth)
    turn: ModelTurn = await open_turn(services, world.owner.principal, workspace_id=None, chat_id=chat, said="Hello")
    await call(client, world.owner.auth, "DELETE", f"/chats/{chat}", expect=204)
    with pytest.raises(NotFound):
        await close_turn(services, world.owner.principal, turn, reply="Hello.", model=None, tools=[])
    assert await rows(database, "SELECT text FROM messages") == [("Hello",)]


@pytest.mark.parametrize("cursor", ["messages", "extractions"])
async def test_a_cursor_of_another_list_is_refused_and_breaks_nothing(
    client: httpx.AsyncClient, services: Services, world: World, cursor: str
) -> None:
    auth, chat = world.owner.auth, await make_chat(client, world.owner.auth)
    for number in range(2):
        await remember(client, auth, chat, content=f"Fact number {number}")
    default = await default_of(client, auth)
    foreign = (await call(client, auth, "GET", f"/workspaces/{default}/memories?limit=1"))["next_cursor"]
    path = f"/chats/{chat}/messages" if cursor == "messages" else f"/workspaces/{default}/extractions"
    await call(client, auth, "GET", path, params={"cursor": foreign}, expect=422)


async def test_a_member_does_not_move_away_what_others_said_in_their_chat(
    client: httpx.AsyncClient, world: World, services: Services
) -> None:
    owner, member = world.owner, world.member
    place = (await client.post("/v1/workspaces", headers=owner.auth, json={"name": "team"})).json()["id"]
    one = {"user": member.user.id, "role": "member"}
    await client.put(f"/v1/workspaces/{place}/members", headers=owner.auth, json=one)
    body = {"workspace_id": place}
    chat = (await client.post("/v1/chats", headers=member.auth, json=body)).json()["id"]
    await open_turn(services, owner.principal, workspace_id=None, chat_id=chat, said="of the owner's")
    moved = await client.patch(f"/v1/chats/{chat}", headers=member.auth, json={"workspace_id": None})
    assert moved.status_code == 403
    await client.put(f"/v1/workspaces/{place}/members", headers=owner.auth, json=one | {"role": "editor"})
    moved = await client.patch(f"/v1/chats/{chat}", headers=member.auth, json={"workspace_id": None})
    assert moved.status_code == 200
