"""Rooms and direct messages over HTTP: who is in them, what is said, and what each agent remembers of it."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from capsules import audited, rows
from conftest import World, make_person
from keepstone.access import keys
from keepstone.jobs.worker import run_until_empty
from keepstone.model.ids import new_id
from keepstone.model.page import write_cursor
from keepstone.services import Services
from rooms import (
    come,
    compose,
    landmarks,
    let_in,
    lines_under,
    make_agent,
    make_room,
    memories,
    messages,
    prompt,
    remember,
    say,
    section,
    sum_up,
    summaries,
    working,
)
from workspaces import call, everything

T = datetime(2026, 5, 4, 9, tzinfo=UTC)
DECIDED = "We decided to use Postgres for the island project."
OWN = "The ferry to the island costs 12 euros."


@pytest.fixture
async def room(client: httpx.AsyncClient, world: World) -> str:
    """Olga's, with Max and the agent scout."""
    await make_agent(client, world.owner.auth)
    return await make_room(client, world.owner.auth, world.member)


# --------------------------------------------------------------------------------------------------------- agents


async def test_an_agent_is_made_read_changed_and_removed(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    body = {"slug": "scout", "name": "Scout", "context_window": 8000, "instructions": "Be brief."}
    made = await call(client, auth, "POST", "/agents", json=body, expect=201)
    assert {name: made[name] for name in body} == body
    assert made["created_by"] == world.owner.user.id
    assert await call(client, auth, "GET", "/agents/scout") == made
    changed = await call(client, auth, "PATCH", "/agents/scout", json={"context_window": 9000, "instructions": ""})
    assert (changed["context_window"], changed["instructions"], changed["name"]) == (9000, "", "Scout")
    assert [one["slug"] for one in (await call(client, world.member.auth, "GET", "/agents"))["items"]] == ["scout"]
    await call(client, auth, "DELETE", "/agents/scout", expect=204)
    await call(client, auth, "GET", "/agents/scout", expect=404)
    assert (await call(client, auth, "GET", "/agents"))["items"] == []
    assert [len(await audited(client, auth, f"agent.{what}")) for what in ("create", "update", "delete")] == [1, 1, 1]


async def test_a_slug_is_taken_once_in_an_account_and_is_free_in_another(
    client: httpx.AsyncClient, world: World
) -> None:
    await make_agent(client, world.owner.auth)
    await call(client, world.member.auth, "POST", "/agents", json={"slug": "scout", "name": "x"}, expect=409)
    await make_agent(client, world.stranger.auth, instructions="Another account's.")
    assert (await call(client, world.owner.auth, "GET", "/agents/scout"))["instructions"] == ""


async def test_an_agent_is_changed_by_its_maker_or_an_owner_of_the_account(
    client: httpx.AsyncClient, world: World
) -> None:
    await make_agent(client, world.owner.auth)
    await make_agent(client, world.member.auth, "herald")
    await call(client, world.member.auth, "PATCH", "/agents/scout", json={"name": "Mine"}, expect=403)
    await call(client, world.member.auth, "DELETE", "/agents/scout", expect=403)
    await call(client, world.member.auth, "PATCH", "/agents/herald", json={"name": "Mine"})
    await call(client, world.owner.auth, "PATCH", "/agents/herald", json={"name": "Ours"})
    await call(client, world.stranger.auth, "PATCH", "/agents/herald", json={"name": "Theirs"}, expect=404)


@pytest.mark.parametrize(
    "wrong",
    [
        {"slug": "Scout"}, {"slug": ""}, {"slug": "a/b"}, {"slug": "a" * 65}, {"slug": "a\0"}, {"name": ""},
        {"context_window": 0}, {"context_window": 255}, {"instructions": "x" * 100_001}, {"colour": "red"},
    ],
)  # fmt: skip
async def test_an_agent_that_is_not_valid_is_refused(
    client: httpx.AsyncClient, world: World, wrong: dict[str, Any]
) -> None:
    body = {"slug": "scout", "name": "Scout"} | wrong
    await call(client, world.owner.auth, "POST", "/agents", json=body, expect=422)
    assert (await call(client, world.owner.auth, "GET", "/agents"))["items"] == []


async def test_an_agent_made_again_remembers_what_it_remembered(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    await say(client, world.owner.auth, room, DECIDED)
    await run_until_empty(services)
    await call(client, world.owner.auth, "DELETE", "/agents/scout", expect=204)
    assert (await call(client, world.owner.auth, "GET", f"/rooms/{room}"))["agents"] == []
    await compose(client, world.owner.auth, room, "Which database?", expect=404)
    await say(client, world.owner.auth, room, "I am here.", agent="scout", expect=404)
    await make_agent(client, world.owner.auth)
    assert DECIDED in "\n".join(lines_under(await compose(client, world.owner.auth, room, "Postgres?"), "[RECALL]"))


# ------------------------------------------------------------------------------------------- rooms and participants


async def test_a_room_has_its_maker_as_owner_and_says_who_is_in_it(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    await make_agent(client, auth)
    project = (await call(client, auth, "POST", "/projects", json={"name": "Trip"}, expect=201))["id"]
    body = {"name": "Island", "project_id": project, "participants": ["max@example.org", world.owner.user.id],
            "agents": ["scout", "scout"]}  # fmt: skip
    made = await call(client, auth, "POST", "/rooms", json=body, expect=201)
    assert (made["name"], made["project_id"], made["agents"], made["last_at"]) == ("Island", project, ["scout"], None)
    roles = {one["user_id"]: (one["role"], one["name"], one["email"], one["status"]) for one in made["participants"]}
    assert roles == {
        world.owner.user.id: ("owner", "olga", "olga@example.org", "joined"),
        world.member.user.id: ("member", "max", "max@example.org", "invited"),
    }
    made = await come(client, world.member, made["id"])
    assert {one["status"] for one in made["participants"]} == {"joined"}
    assert await call(client, world.member.auth, "GET", f"/rooms/{made['id']}") == made
    renamed = await call(client, world.member.auth, "PATCH", f"/rooms/{made['id']}", json={"name": "Isle"})
    assert renamed["name"] == "Isle"
    assert (await call(client, auth, "GET", "/rooms"))["items"] == [renamed]
    assert len(await audited(client, auth, "room.create")) == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"participants": ["stan@elsewhere.example"]}, 404), ({"participants": [new_id("usr")]}, 404),
        ({"agents": ["nobody"]}, 404), ({"project_id": new_id("proj")}, 404), ({"project_id": "proj_x"}, 422),
        ({"name": ""}, 422), ({"name": "a\0b"}, 422), ({"agents": ["No Slug"]}, 422), ({"colour": "red"}, 422),
    ],
)  # fmt: skip
async def test_a_room_with_something_that_is_not_there_is_not_made(
    client: httpx.AsyncClient, world: World, body: dict[str, Any], status: int
) -> None:
    await call(client, world.owner.auth, "POST", "/rooms", json={"name": "Island"} | body, expect=status)
    assert (await call(client, world.owner.auth, "GET", "/rooms"))["items"] == []


async def test_a_project_that_one_is_not_in_makes_no_room(client: httpx.AsyncClient, world: World) -> None:
    project = (await call(client, world.owner.auth, "POST", "/projects", json={"name": "x"}, expect=201))["id"]
    body = {"name": "Island", "project_id": project}
    await call(client, world.member.auth, "POST", "/rooms", json=body, expect=404)


async def test_to_whoever_is_not_in_a_room_it_is_not_there(client: httpx.AsyncClient, world: World) -> None:
    await make_agent(client, world.owner.auth)
    room = await make_room(client, world.owner.auth)
    for auth in (world.member.auth, world.stranger.auth):
        for path in ("", "/messages", "/working", "/threads", "/summaries", "/memories", "/landmarks"):
            await call(client, auth, "GET", f"/rooms/{room}{path}", expect=404)
        await say(client, auth, room, "hello", expect=404)
        await compose(client, auth, room, "hello", expect=404)
        await call(client, auth, "POST", f"/rooms/{room}/landmarks", json={"text": "x"}, expect=404)
        await call(client, auth, "POST", f"/rooms/{room}/threads", json={}, expect=404)
        await call(client, auth, "POST", f"/rooms/{room}/participants", json={"user": "max@example.org"}, expect=404)
        await call(client, auth, "POST", f"/rooms/{room}/agents", json={"agent": "scout"}, expect=404)
        await call(client, auth, "DELETE", f"/rooms/{room}/agents/scout", expect=404)
        await call(client, auth, "PATCH", f"/rooms/{room}", json={"name": "x"}, expect=404)
        await call(client, auth, "DELETE", f"/rooms/{room}", expect=404)
        await call(client, auth, "POST", f"/rooms/{room}/restore", expect=404)
        assert (await call(client, auth, "GET", "/rooms"))["items"] == []
    assert await messages(client, world.owner.auth, room) == []


async def test_who_joins_reads_everything_and_who_leaves_nothing_more(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    await make_agent(client, world.owner.auth)
    room = await make_room(client, world.owner.auth)
    await say(client, world.owner.auth, room, DECIDED)
    await call(client, world.member.auth, "GET", f"/rooms/{room}", expect=404)
    body = {"user": "Max@example.org"}
    await call(client, world.owner.auth, "POST", f"/rooms/{room}/participants", json=body)
    again = await call(client, world.owner.auth, "POST", f"/rooms/{room}/participants", json=body)
    assert len(again["participants"]) == 2
    assert len(await audited(client, world.owner.auth, "room.invite")) == 1
    await come(client, world.member, room)
    assert len(await audited(client, world.owner.auth, "room.join")) == 1
    assert [one["text"] for one in await messages(client, world.member.auth, room)] == [DECIDED]
    await say(client, world.member.auth, room, "Good.")
    path = f"/rooms/{room}/participants/{world.member.user.id}"
    await call(client, world.member.auth, "DELETE", path, expect=204)
    await call(client, world.owner.auth, "DELETE", path, expect=404)
    for what in ("", "/messages", "/working", "/memories"):
        await call(client, world.member.auth, "GET", f"/rooms/{room}{what}", expect=404)
    await say(client, world.member.auth, room, "still here?", expect=404)
    await compose(client, world.member.auth, room, "still here?", expect=404)
    assert [one["text"] for one in await messages(client, world.owner.auth, room)] == [DECIDED, "Good."]


async def test_the_profiles_of_those_who_are_in_a_room_are_read_there_and_no_others(
    client: httpx.AsyncClient, world: World
) -> None:
    owner, member = world.owner, world.member
    await make_agent(client, owner.auth)
    room = await make_room(client, owner.auth)
    await remember(client, owner.auth, owner.user.id, "Olga takes her coffee black.")
    await remember(client, member.auth, member.user.id, "Max takes his coffee with sugar.")
    alone = await compose(client, owner.auth, room, "Who takes coffee how?")
    assert alone["filter"] == {
        "run_ids": [f"room:{room}", f"profile:{owner.user.id}"], "visibility": ["public", "shared"],
    }  # fmt: skip
    assert "black" in prompt(alone)
    assert "sugar" not in prompt(alone)
    await let_in(client, owner.auth, member, room)
    both = await compose(client, owner.auth, room, "Who takes coffee how?")
    assert f"profile:{member.user.id}" in both["filter"]["run_ids"]
    assert "black" in prompt(both)
    assert "sugar" in prompt(both)
    await call(client, member.auth, "DELETE", f"/rooms/{room}/participants/{member.user.id}", expect=204)
    assert (await compose(client, owner.auth, room, "Who takes coffee how?"))["filter"] == alone["filter"]


async def test_members_of_a_room_send_nobody_away_and_owners_do(
    client: httpx.AsyncClient, world: World, room: str
) -> None:
    owner = f"/rooms/{room}/participants/{world.owner.user.id}"
    member = f"/rooms/{room}/participants/{world.member.user.id}"
    await call(client, world.member.auth, "DELETE", owner, expect=403)
    await call(client, world.member.auth, "DELETE", f"/rooms/{room}", expect=403)
    await call(client, world.owner.auth, "DELETE", member, expect=204)
    await call(client, world.owner.auth, "DELETE", owner, expect=409)


async def test_when_the_last_owner_leaves_whoever_is_longest_there_takes_over(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    third = await make_person(services, "tina@example.org", account=world.owner.user.account)
    await let_in(client, world.owner.auth, third, room)
    await call(client, world.owner.auth, "DELETE", f"/rooms/{room}/participants/{world.owner.user.id}", expect=204)
    found = await call(client, third.auth, "GET", f"/rooms/{room}")
    assert {one["user_id"]: one["role"] for one in found["participants"]} == {
        world.member.user.id: "owner", third.user.id: "member",
    }  # fmt: skip
    await call(client, third.auth, "DELETE", f"/rooms/{room}", expect=403)
    await call(client, world.member.auth, "DELETE", f"/rooms/{room}", expect=204)


async def test_rooms_come_page_by_page_the_newest_first(client: httpx.AsyncClient, world: World) -> None:
    made = [await make_room(client, world.owner.auth, agents=[]) for _ in range(5)]
    await make_room(client, world.member.auth, agents=[])
    assert await everything(client, world.owner.auth, "/rooms", 2) == made[::-1]
    for slug in ("a", "b", "c"):
        await make_agent(client, world.owner.auth, slug)
    first = await call(client, world.owner.auth, "GET", "/agents", params={"limit": 2})
    rest = await call(client, world.owner.auth, "GET", "/agents", params={"limit": 2, "cursor": first["next_cursor"]})
    assert [one["slug"] for one in first["items"] + rest["items"]] == ["c", "b", "a"]


async def test_a_room_in_the_trash_is_nowhere_and_comes_back_whole(
    client: httpx.AsyncClient, services: Services, world: World, room: str, database: str
) -> None:
    auth = world.owner.auth
    await say(client, auth, room, DECIDED)
    await run_until_empty(services)
    before = await compose(client, auth, room, "Which database?")
    await call(client, auth, "PUT", f"/facts/room/{room}/colour", json={"value": "red"})
    await call(client, auth, "DELETE", f"/rooms/{room}", expect=204)
    for path in ("", "/messages", "/working", "/memories", "/landmarks", "/summaries", "/threads"):
        await call(client, auth, "GET", f"/rooms/{room}{path}", expect=404)
    await say(client, auth, room, "x", expect=404)
    await compose(client, auth, room, "x", expect=404)
    await call(client, auth, "GET", f"/facts/room/{room}/colour", expect=404)
    assert (await call(client, auth, "GET", "/rooms"))["items"] == []
    assert [one["id"] for one in (await call(client, auth, "GET", "/rooms?deleted=true"))["items"]] == [room]
    await call(client, world.member.auth, "POST", f"/rooms/{room}/restore", expect=403)
    await call(client, auth, "POST", f"/rooms/{room}/restore")
    await call(client, auth, "POST", f"/rooms/{room}/restore", expect=404)
    after = await compose(client, auth, room, "Which database?")
    assert [one for one in after["sections"] if one["layer"] != "structured"] == [
        one for one in before["sections"] if one["layer"] != "structured"
    ]
    assert (await call(client, auth, "GET", f"/facts/room/{room}/colour"))["value"] == "red"
    assert len(await memories(client, auth, room)) == 1
    assert len(await landmarks(client, auth, room)) == 1


async def test_a_room_that_was_in_the_trash_for_30_days_is_gone_with_all_that_was_in_it(
    client: httpx.AsyncClient, services: Services, world: World, room: str, database: str
) -> None:
    await say(client, world.owner.auth, room, DECIDED, thread_id=new_id("thr"))
    await run_until_empty(services)
    await call(client, world.owner.auth, "DELETE", f"/rooms/{room}", expect=204)
    await rows(database, "UPDATE spaces SET deleted_at = now() - interval '31 days' WHERE deleted_at IS NOT NULL"
                         " RETURNING 1")  # fmt: skip
    await services.queue.add_anywhere("purge_memories", timestamp=0)
    await run_until_empty(services)
    left = await rows(
        database,
        "SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM memories), (SELECT count(*) FROM passages),"
        " (SELECT count(*) FROM terms), (SELECT count(*) FROM threads), (SELECT count(*) FROM rooms)",
    )
    assert left == [(0, 0, 0, 0, 0, 0)]
    await call(client, world.owner.auth, "POST", f"/rooms/{room}/restore", expect=404)


# --------------------------------------------------------------------------------------------- agents in and out


async def test_a_memory_of_a_room_exists_once_for_each_agent_in_it(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    await make_agent(client, world.owner.auth)
    await make_agent(client, world.owner.auth, "herald")
    room = await make_room(client, world.owner.auth, world.member, agents=["scout", "herald"])
    said = await say(client, world.member.auth, room, DECIDED)
    await run_until_empty(services)
    found = await memories(client, world.owner.auth, room)
    assert sorted(one["agent_id"] for one in found) == ["herald", "scout"]
    assert len({one["id"] for one in found}) == 2
    for one in found:
        assert (one["text"], one["type"], one["source_message_id"]) == (DECIDED, "decision", said["id"])
        assert (one["user_id"], one["run_id"], one["visibility"]) == (world.member.user.id, f"room:{room}", "public")
    (own,) = await memories(client, world.owner.auth, room, agent="herald")
    assert own["agent_id"] == "herald"
    assert section(await compose(client, world.owner.auth, room, "Postgres?", agent="herald"), "semantic")["ids"] == [
        own["id"]
    ]


async def test_an_agent_that_joins_later_does_not_have_what_was_said_before(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth, "herald")
    await say(client, auth, room, DECIDED)
    await run_until_empty(services)
    await call(client, auth, "POST", f"/rooms/{room}/agents", json={"agent": "herald"})
    await say(client, auth, room, OWN)
    await run_until_empty(services)
    assert [one["text"] for one in await memories(client, auth, room, agent="herald")] == [OWN]
    assert {one["text"] for one in await memories(client, auth, room, agent="scout")} == {OWN, DECIDED}
    assert section(await compose(client, auth, room, "Postgres?", agent="herald"), "semantic")["ids"] == []


async def test_an_agent_that_joins_before_it_was_read_does_not_have_what_was_said_before_either(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth, "herald")
    await say(client, auth, room, DECIDED)
    await call(client, auth, "POST", f"/rooms/{room}/agents", json={"agent": "herald"})
    await say(client, auth, room, OWN)
    await run_until_empty(services)  # the job comes late: both are read only now
    assert [one["text"] for one in await memories(client, auth, room, agent="herald")] == [OWN]
    assert {one["text"] for one in await memories(client, auth, room, agent="scout")} == {OWN, DECIDED}


async def test_an_agent_that_was_sent_away_remembers_nothing_more_and_keeps_what_it_had(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    auth = world.owner.auth
    await say(client, auth, room, DECIDED)
    await run_until_empty(services)
    await call(client, auth, "DELETE", f"/rooms/{room}/agents/scout", expect=204)
    await call(client, auth, "DELETE", f"/rooms/{room}/agents/scout", expect=404)
    await compose(client, auth, room, "Postgres?", expect=404)
    await say(client, auth, room, "Hello.", agent="scout", expect=404)
    await say(client, auth, room, OWN)
    await run_until_empty(services)
    await call(client, auth, "POST", f"/rooms/{room}/agents", json={"agent": "scout"})
    assert [one["text"] for one in await memories(client, auth, room)] == [DECIDED]


async def test_what_is_remembered_for_one_agent_is_recalled_by_no_other(
    client: httpx.AsyncClient, world: World
) -> None:
    owner = world.owner
    await make_agent(client, owner.auth)
    await make_agent(client, owner.auth, "herald")
    project = (await call(client, owner.auth, "POST", "/projects", json={"name": "Trip"}, expect=201))["id"]
    room = await make_room(client, owner.auth, agents=["scout", "herald"], project_id=project)
    for where, run_id, whose in (
        (owner.user.id, f"profile:{owner.user.id}", owner.user.id), (project, f"project:{project}", "*"),
    ):  # fmt: skip
        about = "harbour" if where == project else "kitchen"
        made = await remember(client, owner.auth, where, f"The codeword of the {about} is bluebird.", agent="scout")
        assert (made["agent_id"], made["run_id"], made["user_id"], made["visibility"]) == (
            "scout",
            run_id,
            whose,
            "shared",
        )
        everybody = await remember(client, owner.auth, where, f"Blackbird opens every {about} door since May.")
        assert everybody["agent_id"] == "*"
        kind = "profiles" if where.startswith("usr") else "projects"
        listed = await call(client, owner.auth, "GET", f"/{kind}/{where}/memories")
        assert {one["id"] for one in listed["items"]} == {made["id"], everybody["id"]}
    asked = "The codeword of the kitchen door, and of the harbour door?"
    own = prompt(await compose(client, owner.auth, room, asked, agent="scout"))
    other = prompt(await compose(client, owner.auth, room, asked, agent="herald"))
    assert (own.count("bluebird"), own.count("Blackbird")) == (2, 2)
    assert (other.count("bluebird"), other.count("Blackbird")) == (0, 2)
    direct = prompt(await compose(client, owner.auth, "herald", asked, project_id=project))
    assert (direct.count("bluebird"), direct.count("Blackbird")) == (0, 2)


async def test_profiles_and_projects_are_written_by_those_whose_they_are(
    client: httpx.AsyncClient, world: World
) -> None:
    owner, member = world.owner, world.member
    project = (await call(client, owner.auth, "POST", "/projects", json={"name": "Trip"}, expect=201))["id"]
    for path, who in (
        (f"/profiles/{owner.user.id}", member), (f"/profiles/{owner.user.id}", world.stranger),
        (f"/projects/{project}", member), (f"/projects/{project}", world.stranger),
        (f"/profiles/{new_id('usr')}", owner),
    ):  # fmt: skip
        await call(client, who.auth, "POST", f"{path}/memories", json={"text": "x is 5 metres long."}, expect=404)
        await call(client, who.auth, "GET", f"{path}/memories", expect=404)
    made = await remember(client, owner.auth, owner.user.id, "Olga is 5 metres tall.", type="preference")
    assert made["type"] == "preference"
    body = {"text": "Olga is 5 metres tall."}
    await call(client, owner.auth, "POST", f"/profiles/{owner.user.id}/memories", json=body, expect=409)
    body = {"text": "Something.", "agent": "nobody"}
    await call(client, owner.auth, "POST", f"/profiles/{owner.user.id}/memories", json=body, expect=404)


# ----------------------------------------------------------------------------------------------------- messages


async def test_a_message_is_said_by_oneself_by_name_or_by_an_agent(
    client: httpx.AsyncClient, world: World, room: str
) -> None:
    auth = world.owner.auth
    mine = await say(client, auth, room, "Mine.")
    named = await say(client, auth, room, "By address.", user="OLGA@example.org")
    agents = await say(client, auth, room, "An agent's.", agent="scout")
    assert [(one["user"], one["agent"], one["name"]) for one in (mine, named, agents)] == [
        (world.owner.user.id, None, "olga"), (world.owner.user.id, None, "olga"), (None, "scout", "scout"),
    ]  # fmt: skip
    assert await messages(client, world.member.auth, room) == [mine, named, agents]
    assert await working(client, world.member.auth, room) == [mine, named, agents]
    body = {"text": "Both.", "user": world.owner.user.id, "agent": "scout"}
    await call(client, auth, "POST", f"/rooms/{room}/messages", json=body, expect=422)
    await say(client, auth, room, "Whose?", agent="nobody", expect=404)


async def test_a_user_key_that_names_anybody_else_is_404(client: httpx.AsyncClient, world: World, room: str) -> None:
    for name in (world.member.user.id, "max@example.org", world.stranger.user.id, new_id("usr"), "nobody@example.org"):
        await say(client, world.owner.auth, room, "As somebody else.", user=name, expect=404)
        await compose(client, world.owner.auth, room, "As somebody else.", user=name, expect=404)
        await say(client, world.owner.auth, "scout", "As somebody else.", user=name, expect=404)
        await compose(client, world.owner.auth, "scout", "As somebody else.", user=name, expect=404)
    assert await messages(client, world.owner.auth, room) == []


async def test_a_service_key_speaks_for_whom_it_names(client: httpx.AsyncClient, world: World, room: str) -> None:
    service = world.service_auth
    by_field = await say(client, service, room, "In a field.", user=world.member.user.id)
    by_header = await say(client, service | {"X-Keepstone-User": "max@example.org"}, room, "In a header.")
    assert by_field["user"] == by_header["user"] == world.member.user.id
    as_agent = await say(client, service | {"X-Keepstone-User": "max@example.org"}, room, "An agent's.", agent="scout")
    assert (as_agent["user"], as_agent["agent"]) == (None, "scout")
    await say(client, service, room, "Nobody's.", expect=403)
    await say(client, service, room, "A stranger's.", user=world.stranger.user.id, expect=404)
    body = service | {"X-Keepstone-User": world.owner.user.id}
    await say(client, body, room, "Two names.", user=world.member.user.id, expect=404)
    composed = await compose(client, service, room, "Who am I?", user="max@example.org")
    assert composed["messages"][-1]["content"] == "max: Who am I?"
    direct = await say(client, service, "scout", "Alone.", user=world.member.user.id)
    assert [one["id"] for one in await messages(client, world.member.auth, "scout")] == [direct["id"]]
    assert await messages(client, world.owner.auth, "scout") == []


async def test_a_service_key_of_another_account_reaches_nothing(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    _, foreign = await keys.create_key(services, world.stranger.principal, name="service", service=True)
    auth = {"Authorization": f"Bearer {foreign}"}
    await say(client, auth, room, "Hello.", user=world.owner.user.id, expect=404)
    await say(client, auth, room, "Hello.", user=world.stranger.user.id, expect=404)


async def test_the_same_id_again_changes_nothing(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    thread = new_id("thr")
    first = await say(client, world.owner.auth, room, DECIDED, id="mine-1", thread_id=thread)
    again = await say(client, world.owner.auth, room, "Something else.", id="mine-1", thread_id=thread)
    assert again == first
    other = await say(client, world.owner.auth, room, "Another.", id="mine-2", thread_id=thread)
    assert await messages(client, world.owner.auth, room) == [first, other]
    (opened,) = (await call(client, world.owner.auth, "GET", f"/rooms/{room}/threads"))["items"]
    assert opened["message_count"] == 2
    await run_until_empty(services)
    assert len(await memories(client, world.owner.auth, room)) == 1
    elsewhere = await make_room(client, world.owner.auth)
    assert (await say(client, world.owner.auth, elsewhere, "Here.", id="mine-1"))["id"] != first["id"]


async def test_twenty_at_once_with_the_same_id_are_one(client: httpx.AsyncClient, world: World, room: str) -> None:
    made = await asyncio.gather(*(say(client, world.owner.auth, room, f"Try {n}.", id="one") for n in range(20)))
    assert len({one["id"] for one in made}) == 1
    assert len(await messages(client, world.owner.auth, room)) == 1


async def test_twenty_people_at_once_are_all_heard(client: httpx.AsyncClient, world: World, room: str) -> None:
    made = await asyncio.gather(*(say(client, world.owner.auth, room, f"Message {n}.") for n in range(20)))
    assert {one["id"] for one in await messages(client, world.owner.auth, room)} == {one["id"] for one in made}
    assert {one["id"] for one in await working(client, world.owner.auth, room)} == {one["id"] for one in made}


async def test_what_is_said_late_stands_where_it_belongs(client: httpx.AsyncClient, world: World, room: str) -> None:
    auth = world.owner.auth
    for minutes in (0, 20, 10, 30, 10):
        await say(client, auth, room, f"At {minutes}.", ts=T + timedelta(minutes=minutes))
    ordered = ["At 0.", "At 10.", "At 10.", "At 20.", "At 30."]
    assert [one["text"] for one in await messages(client, auth, room)] == ordered
    assert [one["text"] for one in await working(client, auth, room)] == ordered
    assert (await call(client, auth, "GET", f"/rooms/{room}"))["last_at"] == "2026-05-04T09:30:00Z"
    offset = await say(client, auth, room, "In Berlin.", ts="2026-05-04T11:05:00+02:00")
    assert offset["ts"] == "2026-05-04T09:05:00Z"
    without = await say(client, auth, room, "In UTC.", ts="2026-05-04T11:05:00")
    assert without["ts"] == "2026-05-04T11:05:00Z"
    await say(client, auth, room, "Whenever.", ts="soon", expect=422)


async def test_only_the_last_fifty_are_at_hand(client: httpx.AsyncClient, world: World, room: str) -> None:
    for number in range(55):
        await say(client, world.owner.auth, room, f"Number {number}.", ts=T + timedelta(seconds=number))
    found = await working(client, world.owner.auth, room)
    assert [one["text"] for one in found] == [f"Number {number}." for number in range(5, 55)]
    assert set(found[0]) >= {"user", "ts", "text", "attachments"}


async def test_attachments_come_back_as_they_were_given(client: httpx.AsyncClient, world: World, room: str) -> None:
    given = [{"name": "plan.pdf", "url": "https://example.org/p", "size": 12.5, "tags": ["a", None]}, {"id": "x"}]
    said = await say(client, world.owner.auth, room, "Look.", attachments=given)
    assert said["attachments"] == given
    assert (await messages(client, world.owner.auth, room))[0]["attachments"] == given
    assert (await working(client, world.owner.auth, room))[0]["attachments"] == given
    shown = prompt(await compose(client, world.owner.auth, room, "What was that?"))
    assert "[attachment: plan.pdf]" in shown
    assert "[attachment: x]" in shown
    for wrong in ([{"name": "a\0"}], ["text"], [{}] * 21, [{"name": "\ud800"}]):
        body = b'{"text": "x", "attachments": %s}' % json.dumps(wrong).encode()
        answer = await client.post(
            f"/v1/rooms/{room}/messages", headers=world.owner.auth | {"Content-Type": "application/json"}, content=body
        )
        assert answer.status_code == 422


async def test_what_is_too_large_or_no_text_is_refused_and_nothing_stored(
    client: httpx.AsyncClient, world: World, room: str
) -> None:
    auth = world.owner.auth
    wide = "ß" * (128 * 1024)  # 256 KB in bytes
    await say(client, auth, room, wide)
    for wrong in (wide + "x", "x" * (256 * 1024 + 1), "", "a\0b"):
        await say(client, auth, room, wrong, expect=422)
        await say(client, auth, "scout", wrong, expect=422)
        await compose(client, auth, room, wrong, expect=(422, 400))
        await call(client, auth, "POST", f"/rooms/{room}/landmarks", json={"text": wrong}, expect=422)
        await call(client, auth, "POST", f"/profiles/{world.owner.user.id}/memories", json={"text": wrong}, expect=422)
    await say(client, auth, room, "x", id="", expect=422)
    await say(client, auth, room, "x", colour="red", expect=422)
    assert len(await messages(client, auth, room)) == 1
    assert await messages(client, auth, "scout") == []
    assert await landmarks(client, auth, room) == []


async def test_messages_come_page_by_page_while_more_is_said(
    client: httpx.AsyncClient, world: World, room: str
) -> None:
    auth = world.owner.auth
    made = [(await say(client, auth, room, f"{n}.", ts=T + timedelta(seconds=n // 3)))["id"] for n in range(25)]
    first = await call(client, auth, "GET", f"/rooms/{room}/messages", params={"limit": 10})
    late = await say(client, auth, room, "Late.", ts=T + timedelta(seconds=30))
    seen = [one["id"] for one in first["items"]]
    while first["next_cursor"]:
        params = {"limit": 10, "cursor": first["next_cursor"]}
        first = await call(client, auth, "GET", f"/rooms/{room}/messages", params=params)
        seen += [one["id"] for one in first["items"]]
    assert len(seen) == len(set(seen))
    assert set(seen) == {*made, late["id"]}
    assert seen[-1] == late["id"]


async def test_what_was_said_in_the_same_second_stays_in_the_order_in_which_it_came(
    client: httpx.AsyncClient, world: World, room: str
) -> None:
    auth = world.owner.auth
    made = [(await say(client, auth, room, f"Line {number}.", ts=T))["id"] for number in range(12)]
    assert [one["id"] for one in await messages(client, auth, room)] == made
    assert [one["id"] for one in await working(client, auth, room)] == made
    assert await everything(client, auth, f"/rooms/{room}/messages", 5) == made
    wrong = write_cursor((T, "msg_x"))
    await call(client, auth, "GET", f"/rooms/{room}/messages", params={"cursor": wrong}, expect=422)


# ------------------------------------------------------------------------------------------------------- threads


async def test_a_thread_begins_with_its_first_message_and_is_closed_once(
    client: httpx.AsyncClient, world: World, room: str
) -> None:
    auth = world.owner.auth
    own = new_id("thr")
    await say(client, auth, room, "In a thread.", thread_id=own, ts=T)
    await say(client, auth, room, "In none.", ts=T)
    await say(client, auth, room, "In it again.", thread_id=own, ts=T + timedelta(minutes=1))
    opened = await call(client, auth, "POST", f"/rooms/{room}/threads", json={"title": "Boats"}, expect=201)
    listed = (await call(client, auth, "GET", f"/rooms/{room}/threads"))["items"]
    assert {one["id"]: (one["title"], one["message_count"], one["closed_at"]) for one in listed} == {
        own: ("", 2, None), opened["id"]: ("Boats", 0, None),
    }  # fmt: skip
    assert [one["text"] for one in await messages(client, auth, room, thread_id=own)] == [
        "In a thread.",
        "In it again.",
    ]
    closed = await call(client, auth, "POST", f"/rooms/{room}/threads/{own}/close")
    assert closed["closed_at"] is not None
    assert await call(client, auth, "POST", f"/rooms/{room}/threads/{own}/close") == closed
    await call(client, auth, "POST", f"/rooms/{room}/threads/{new_id('thr')}/close", expect=404)
    await say(client, auth, room, "x", thread_id="thr_short", expect=422)


async def test_a_thread_of_another_room_is_not_there(client: httpx.AsyncClient, world: World, room: str) -> None:
    auth = world.owner.auth
    other = await make_room(client, auth)
    thread = new_id("thr")
    await say(client, auth, other, "There.", thread_id=thread)
    await say(client, auth, room, "Here?", thread_id=thread, expect=404)
    await call(client, auth, "POST", f"/rooms/{room}/threads/{thread}/close", expect=404)
    assert await messages(client, auth, room, thread_id=thread) == []
    assert await messages(client, auth, room) == []
    await say(client, world.stranger.auth, room, "x", thread_id=thread, expect=404)


async def test_the_same_thread_id_in_another_account_is_another_thread(
    client: httpx.AsyncClient, world: World, room: str
) -> None:
    thread = new_id("thr")
    await say(client, world.owner.auth, room, "Olga's.", thread_id=thread)
    await make_agent(client, world.stranger.auth)
    theirs = await make_room(client, world.stranger.auth)
    await say(client, world.stranger.auth, theirs, "Stan's.", thread_id=thread)
    assert [one["text"] for one in await messages(client, world.stranger.auth, theirs, thread_id=thread)] == ["Stan's."]


# ----------------------------------------------------------------------------------------------- direct messages


async def test_direct_messages_are_between_one_user_and_one_agent(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    await make_agent(client, world.owner.auth)
    await make_agent(client, world.owner.auth, "herald")
    mine = await say(client, world.owner.auth, "scout", "We decided to sell the boat for 900 euros.")
    reply = await say(client, world.owner.auth, "scout", "Noted.", agent="scout")
    await say(client, world.owner.auth, "scout", "x", agent="herald", expect=404)
    await run_until_empty(services)
    assert await messages(client, world.owner.auth, "scout") == [mine, reply]
    (kept,) = await memories(client, world.owner.auth, "scout")
    assert (kept["run_id"], kept["visibility"], kept["agent_id"], kept["user_id"]) == (
        f"dm:{world.owner.user.id}:scout", "private", "scout", world.owner.user.id,
    )  # fmt: skip
    for auth, agent in ((world.member.auth, "scout"), (world.owner.auth, "herald"), (world.stranger.auth, "scout")):
        if auth == world.stranger.auth:
            await make_agent(client, auth)
        assert await messages(client, auth, agent) == []
        assert await memories(client, auth, agent) == []
        assert await working(client, auth, agent) == []
        assert "boat" not in prompt(await compose(client, auth, agent, "What about that vessel?"))
    found = await compose(client, world.owner.auth, "scout", "How much for the boat?")
    assert found["filter"] == {
        "run_ids": [f"dm:{world.owner.user.id}:scout", f"profile:{world.owner.user.id}"],
        "visibility": ["private", "shared"],
    }
    assert section(found, "semantic")["ids"] == [kept["id"]]
    await say(client, world.owner.auth, "nobody", "x", expect=404)
    await compose(client, world.owner.auth, "nobody", "x", expect=404)


async def test_what_was_said_alone_reaches_no_room_and_what_was_said_in_a_room_no_direct_message(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    owner = world.owner
    await say(client, owner.auth, "scout", "We decided to sell the boat for 900 euros.")
    await say(client, owner.auth, room, "We decided to paint the boat green in June.")
    await run_until_empty(services)
    here = prompt(await compose(client, owner.auth, room, "What of the boat?"))
    assert "green" in here
    assert "900" not in here
    alone = prompt(await compose(client, owner.auth, "scout", "What of the boat?"))
    assert "900" in alone
    assert "green" not in alone


async def test_reading_direct_messages_that_never_were_makes_nothing(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    await make_agent(client, world.owner.auth)
    for path in ("messages", "working", "memories", "landmarks", "summaries"):
        assert (await call(client, world.owner.auth, "GET", f"/dms/scout/{path}"))["items"] == []
    await compose(client, world.owner.auth, "scout", "Hello?")
    assert await rows(database, "SELECT 1 FROM spaces WHERE kind = 'dm'") == []


# ------------------------------------------------------------------------------------------- what agents remember


async def test_facts_decisions_and_action_items_are_taken_from_what_people_say_and_not_from_agents(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    auth = world.owner.auth
    await say(client, auth, room, DECIDED)
    await say(client, auth, room, "I'll send the contract to the harbour by Friday.", ts=T)
    await say(client, auth, room, OWN)
    await say(client, auth, room, "We decided to use Oracle for everything.", agent="scout")
    await say(client, auth, room, "haha ok")
    await run_until_empty(services)
    found = {one["text"]: one for one in await memories(client, auth, room)}
    assert {text: one["type"] for text, one in found.items()} == {
        DECIDED: "decision", "I'll send the contract to the harbour by Friday.": "action_item", OWN: "fact",
    }  # fmt: skip
    assert found["I'll send the contract to the harbour by Friday."]["metadata"] == {
        "assignee": "olga",
        "due": "Friday",
        "due_on": "2026-05-08",
        "speaker": "olga",
    }
    assert [one["text"] for one in await landmarks(client, auth, room)] == [DECIDED]


async def test_what_was_recalled_and_said_again_is_not_remembered(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    auth = world.owner.auth
    await say(client, auth, room, DECIDED)
    await run_until_empty(services)
    composed = await compose(client, auth, room, "Which database do we use?")
    await say(client, auth, room, composed["messages"][0]["content"])
    await run_until_empty(services)
    assert [one["text"] for one in await memories(client, auth, room)] == [DECIDED]
    assert [one["text"] for one in await landmarks(client, auth, room)] == [DECIDED]
    system = composed["messages"][0]["content"]
    body = {"text": system[system.index("<recalled-memory") :]}
    await call(client, auth, "POST", f"/profiles/{world.owner.user.id}/memories", json=body, expect=(400, 422))


# ----------------------------------------------------------------------------------------------------- landmarks


async def test_a_landmark_is_pinned_superseded_and_never_lost(
    client: httpx.AsyncClient, world: World, room: str
) -> None:
    auth = world.owner.auth
    path = f"/rooms/{room}/landmarks"
    first = await call(client, auth, "POST", path, json={"text": "The boat is called Aurora."}, expect=201)
    assert (first["source_type"], first["user_id"], first["superseded_by"]) == ("user", world.owner.user.id, None)
    again = await call(client, auth, "POST", path, json={"text": "The boat is called Aurora."}, expect=201)
    assert again == first
    body = {"text": "The boat is called Borealis.", "supersedes": [first["id"]]}
    second = await call(client, world.member.auth, "POST", path, json=body, expect=201)
    assert [one["id"] for one in await landmarks(client, auth, room)] == [second["id"]]
    old, new = await landmarks(client, auth, room, superseded=True)
    assert (old["id"], old["superseded_by"], new["id"]) == (first["id"], second["id"], second["id"])
    await call(client, auth, "POST", path, json={"text": "x", "supersedes": [new_id("lmk")]}, expect=404)
    other = await make_room(client, auth)
    body = {"text": "Elsewhere.", "supersedes": [second["id"]]}
    await call(client, auth, "POST", f"/rooms/{other}/landmarks", json=body, expect=404)


async def test_a_landmark_that_is_pinned_again_supersedes_what_it_names(
    client: httpx.AsyncClient, world: World, room: str
) -> None:
    auth, path = world.owner.auth, f"/rooms/{room}/landmarks"
    old = await call(client, auth, "POST", path, json={"text": "The boat is called Aurora."}, expect=201)
    new = await call(client, auth, "POST", path, json={"text": "The boat is called Borealis."}, expect=201)
    body = {"text": "The boat is called Borealis.", "supersedes": [old["id"], new["id"]]}
    again = await call(client, auth, "POST", path, json=body, expect=201)
    assert (again["id"], again["superseded"], new["may_supersede"]) == (new["id"], [old["id"]], [old["id"]])
    assert [one["id"] for one in await landmarks(client, auth, room)] == [new["id"]]
    assert (await landmarks(client, auth, room, superseded=True))[0]["superseded_by"] == new["id"]


async def test_a_newer_decision_supersedes_the_older_one_in_whatever_order_they_arrive(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth)
    told = [
        (T, "We decided to meet in Lisbon for the workshop."),
        (T + timedelta(days=1), "We decided to meet in Porto instead for the workshop."),
    ]
    for order in (told, told[::-1]):
        room = await make_room(client, auth)
        for at, text in order:
            await say(client, auth, room, text, ts=at)
            await run_until_empty(services)
        assert [one["text"] for one in await landmarks(client, auth, room)] == [told[1][1]]
        assert [one["text"] for one in await landmarks(client, auth, room, superseded=True)] == [told[0][1], told[1][1]]


# --------------------------------------------------------------------------------------------------- being erased


async def test_who_is_erased_leaves_nothing_in_rooms(
    client: httpx.AsyncClient, services: Services, world: World, room: str, database: str
) -> None:
    owner, member = world.owner, world.member
    word = "zanzibar"
    await say(client, member.auth, room, f"We decided to sail to {word} in June.", ts=T)
    await say(client, owner.auth, room, "We decided to take the dog.", ts=T + timedelta(minutes=1))
    await say(client, member.auth, "scout", f"We decided to hide the {word} map.")
    await remember(client, member.auth, member.user.id, f"Max lives in {word}.")
    await call(client, member.auth, "PUT", f"/facts/user/{member.user.id}/home", json={"value": word})
    thread = new_id("thr")
    await say(client, member.auth, room, f"We decided to pay 5 euros in {word}.", thread_id=thread, ts=T)
    await call(client, owner.auth, "POST", f"/rooms/{room}/threads/{thread}/close")
    await sum_up(services)
    assert word in str(await summaries(client, owner.auth, room, "week"))
    await call(client, owner.auth, "DELETE", f"/users/{member.user.id}", expect=(200, 202, 204))
    await sum_up(services)
    for tier in ("session", "day", "week"):
        (left,) = await summaries(client, owner.auth, room, tier)
        assert "the dog" in left["content"]
    assert word not in prompt(await compose(client, owner.auth, room, "What of the trip?"))
    assert word not in str(await messages(client, owner.auth, room))
    assert word not in str(await landmarks(client, owner.auth, room, superseded=True))
    for table in ("messages", "memories", "passages", "facts", "summaries", "terms", "threads", "statements"):
        found = await rows(database, f"SELECT count(*) FROM {table} t WHERE t::text LIKE %s", [f"%{word}%"])
        assert (table, found) == (table, [(0,)])
