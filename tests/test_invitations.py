"""Invitations: nobody is put into a room without a say, and nothing of theirs is read there before they come. Who
speaks as an agent, and how people of the same name are told apart.
"""

from typing import Any

import httpx
import pytest

from capsules import audited, rows
from conftest import Person, World, make_person
from keepstone.access import keys, users
from keepstone.jobs.worker import run_until_empty
from keepstone.services import Services
from rooms import (
    come,
    compose,
    landmarks,
    let_in,
    make_agent,
    make_room,
    memories,
    messages,
    prompt,
    remember,
    say,
    summaries,
    working,
)
from workspaces import Auth, call

SUGAR = "Ann takes her coffee with sugar."
ASKED = "Who takes coffee how?"


@pytest.fixture
async def ann(services: Services, world: World) -> Person:
    return await make_person(services, "ann@example.org", account=world.owner.user.account)


@pytest.fixture
async def eve(services: Services, world: World) -> Person:
    return await make_person(services, "eve@example.org", account=world.owner.user.account)


async def room_with(client: httpx.AsyncClient, maker: Auth, *people: Person, **more: Any) -> str:
    """A room for which these are named and have not answered."""
    body = {"name": "Trap", "participants": [one.user.id for one in people], "agents": ["scout"], **more}
    return (await call(client, maker, "POST", "/rooms", json=body, expect=201))["id"]


async def asked_to(client: httpx.AsyncClient, who: Auth, **params: Any) -> list[Any]:
    return (await call(client, who, "GET", "/invitations", params=params))["items"]


async def reads_ann(client: httpx.AsyncClient, who: Auth, room: str, ann: Person) -> bool:
    """Whether an agent that answers this caller there knows Ann's profile, or could."""
    composed = await compose(client, who, room, ASKED)
    found = f"profile:{ann.user.id}" in composed["filter"]["run_ids"]
    assert found == ("sugar" in prompt(composed)) == ("dark roast" in prompt(composed))
    return found


async def know(client: httpx.AsyncClient, ann: Person) -> None:
    await remember(client, ann.auth, ann.user.id, SUGAR)
    await call(client, ann.auth, "PUT", f"/facts/user/{ann.user.id}/coffee", json={"value": "dark roast"})


# ------------------------------------------------------------------------------------------------- what is not read


async def test_whoever_adds_ann_to_a_room_does_not_read_her_profile_through_an_agent(
    client: httpx.AsyncClient, ann: Person, eve: Person
) -> None:
    await know(client, ann)
    await make_agent(client, eve.auth)
    named = await room_with(client, eve.auth, ann)
    later = await room_with(client, eve.auth)
    await call(client, eve.auth, "POST", f"/rooms/{later}/participants", json={"user": ann.user.email})
    for room in (named, later):
        assert not await reads_ann(client, eve.auth, room, ann)
        await say(client, eve.auth, room, "Ann, are you here?")
        assert not await reads_ann(client, eve.auth, room, ann), "nor because somebody speaks to her"


async def test_an_owner_of_the_account_does_not_read_it_either(
    client: httpx.AsyncClient, world: World, ann: Person
) -> None:
    await know(client, ann)
    await make_agent(client, world.owner.auth)
    room = await room_with(client, world.owner.auth, ann)
    assert not await reads_ann(client, world.owner.auth, room, ann)


async def test_a_project_that_ann_was_let_into_opens_her_profile_to_nobody(
    client: httpx.AsyncClient, ann: Person, eve: Person
) -> None:
    await know(client, ann)
    await make_agent(client, eve.auth)
    project = (await call(client, eve.auth, "POST", "/projects", json={"name": "x"}, expect=201))["id"]
    await call(client, eve.auth, "PUT", f"/projects/{project}/members", json={"user": ann.user.id, "role": "editor"})
    room = await room_with(client, eve.auth, ann, project_id=project)
    assert not await reads_ann(client, eve.auth, room, ann)
    direct = await compose(client, eve.auth, "scout", ASKED, project_id=project)
    assert "sugar" not in prompt(direct)


async def test_a_token_minted_for_eve_by_a_service_key_invites_as_eve_does(
    client: httpx.AsyncClient, world: World, ann: Person, eve: Person
) -> None:
    await know(client, ann)
    await make_agent(client, eve.auth)
    named = world.service_auth | {"X-Keepstone-User": eve.user.id}
    minted = await call(client, named, "POST", "/auth/token")
    token = {"Authorization": f"Bearer {minted['token']}"}
    room = await room_with(client, token, ann)
    assert not await reads_ann(client, token, room, ann)
    assert [one["room_id"] for one in await asked_to(client, ann.auth)] == [room]


async def test_a_service_key_for_some_spaces_invites_and_lets_nobody_in(
    client: httpx.AsyncClient, services: Services, world: World, ann: Person, eve: Person
) -> None:
    await know(client, ann)
    await make_agent(client, eve.auth)
    room = await room_with(client, eve.auth)
    _, key = await keys.create_key(services, world.owner.principal, name="one room", service=True, spaces=[room])
    limited = {"Authorization": f"Bearer {key}", "X-Keepstone-User": eve.user.id}
    await call(client, limited, "POST", f"/rooms/{room}/participants", json={"user": ann.user.id})
    assert not await reads_ann(client, eve.auth, room, ann)


# ------------------------------------------------------------------------------------------------ what the invited see


async def test_the_invited_see_who_asks_them_and_nothing_that_was_said(
    client: httpx.AsyncClient, services: Services, ann: Person, eve: Person
) -> None:
    await make_agent(client, eve.auth)
    room = await room_with(client, eve.auth, ann)
    await say(client, eve.auth, room, "We decided to sell the secret boat.")
    await call(client, eve.auth, "POST", f"/rooms/{room}/landmarks", json={"text": "The secret boat goes."}, expect=201)
    await run_until_empty(services)
    seen = await call(client, ann.auth, "GET", f"/rooms/{room}")
    assert (seen["name"], seen["agents"], seen["last_at"]) == ("Trap", ["scout"], None)
    people = {one["user_id"]: (one["status"], one["invited_by"]) for one in seen["participants"]}
    assert people == {eve.user.id: ("joined", None), ann.user.id: ("invited", eve.user.id)}
    [invitation] = await asked_to(client, ann.auth)
    assert (invitation["id"], invitation["room_id"], invitation["room_name"]) == (seen["invitation_id"], room, "Trap")
    assert (invitation["invited_by"], invitation["inviter_name"]) == (eve.user.id, "eve")
    for path in ("/messages", "/working", "/threads", "/summaries", "/memories", "/landmarks"):
        refused = await call(client, ann.auth, "GET", f"/rooms/{room}{path}", expect=403)
        assert refused["error"]["code"] == "invitation_pending"
        assert invitation["id"] in refused["error"]["message"]
        assert "secret" not in str(refused)
    await call(client, ann.auth, "PATCH", f"/rooms/{room}", json={"name": "Mine"}, expect=403)
    await call(client, ann.auth, "POST", f"/rooms/{room}/participants", json={"user": ann.user.id}, expect=403)
    await call(client, ann.auth, "POST", f"/rooms/{room}/agents", json={"agent": "scout"}, expect=403)
    await call(client, ann.auth, "GET", f"/facts?scope_kind=room&scope_id={room}", expect=403)
    await call(client, ann.auth, "DELETE", f"/rooms/{room}", expect=403)
    await call(client, ann.auth, "DELETE", f"/rooms/{room}/participants/{eve.user.id}", expect=403)
    assert (await call(client, ann.auth, "GET", "/rooms"))["items"] == []


async def test_an_invitation_is_its_two_peoples_alone(
    client: httpx.AsyncClient, world: World, ann: Person, eve: Person
) -> None:
    await make_agent(client, eve.auth)
    room = await room_with(client, eve.auth, ann)
    [invitation] = await asked_to(client, ann.auth)
    assert [one["id"] for one in await asked_to(client, eve.auth, sent="true")] == [invitation["id"]]
    path = f"/invitations/{invitation['id']}"
    for auth in (world.owner.auth, world.member.auth, world.stranger.auth):
        assert await asked_to(client, auth) == await asked_to(client, auth, sent="true") == []
        await call(client, auth, "GET", f"/rooms/{room}", expect=404)
        for method, below in (("POST", "/accept"), ("POST", "/decline"), ("DELETE", "")):
            await call(client, auth, method, path + below, expect=404)
    for method, below in (("POST", "/accept"), ("POST", "/decline")):
        await call(client, eve.auth, method, path + below, expect=404)  # whoever sent it
    await call(client, ann.auth, "DELETE", path, expect=404)  # whoever got it declines
    assert len(await asked_to(client, ann.auth)) == 1


# ------------------------------------------------------------------------------------------------------- the answers


async def test_who_accepts_is_in_the_room_and_their_profile_is_read_there(
    client: httpx.AsyncClient, world: World, ann: Person, eve: Person
) -> None:
    await know(client, ann)
    await make_agent(client, eve.auth)
    room = await room_with(client, eve.auth, ann)
    await say(client, eve.auth, room, "Hello.")
    shown = await come(client, ann, room)
    assert {one["status"] for one in shown["participants"]} == {"joined"}
    assert shown["invitation_id"] is None
    assert [one["text"] for one in await messages(client, ann.auth, room)] == ["Hello."]
    assert await reads_ann(client, eve.auth, room, ann)
    assert await asked_to(client, ann.auth) == []
    assert [len(await audited(client, world.owner.auth, f"room.{what}")) for what in ("invite", "join")] == [1, 1]


@pytest.mark.parametrize("how", ["decline", "leave"])
async def test_who_declines_has_nothing_to_do_with_it_and_can_be_asked_again(
    client: httpx.AsyncClient, world: World, ann: Person, eve: Person, how: str
) -> None:
    await make_agent(client, eve.auth)
    room = await room_with(client, eve.auth, ann)
    [invitation] = await asked_to(client, ann.auth)
    if how == "decline":
        await call(client, ann.auth, "POST", f"/invitations/{invitation['id']}/decline", expect=204)
    else:
        await call(client, ann.auth, "DELETE", f"/rooms/{room}/participants/{ann.user.id}", expect=204)
    await call(client, ann.auth, "GET", f"/rooms/{room}", expect=404)
    await say(client, ann.auth, room, "hello", expect=404)
    shown = await call(client, eve.auth, "GET", f"/rooms/{room}")
    assert [one["user_id"] for one in shown["participants"]] == [eve.user.id]
    assert len(await audited(client, world.owner.auth, "room.decline")) == 1
    await let_in(client, eve.auth, ann, room)
    assert await messages(client, ann.auth, room) == []


@pytest.mark.parametrize("by", ["invitation", "participants", "owner"])
async def test_an_invitation_is_withdrawn_by_who_sent_it_or_an_owner_of_the_room(
    client: httpx.AsyncClient, world: World, ann: Person, eve: Person, by: str
) -> None:
    await make_agent(client, world.owner.auth)
    room = await make_room(client, world.owner.auth, eve)
    await call(client, eve.auth, "POST", f"/rooms/{room}/participants", json={"user": ann.user.id})
    [invitation] = await asked_to(client, ann.auth)
    if by == "invitation":
        await call(client, eve.auth, "DELETE", f"/invitations/{invitation['id']}", expect=204)
    else:
        auth = eve.auth if by == "participants" else world.owner.auth
        await call(client, auth, "DELETE", f"/rooms/{room}/participants/{ann.user.id}", expect=204)
    assert await asked_to(client, ann.auth) == []
    await call(client, ann.auth, "POST", f"/invitations/{invitation['id']}/accept", expect=404)
    await call(client, ann.auth, "GET", f"/rooms/{room}", expect=404)
    assert len(await audited(client, world.owner.auth, "room.withdraw")) == 1


@pytest.mark.parametrize("act", ["say", "compose", "thread", "landmark", "fact"])
async def test_ones_own_first_act_in_the_room_accepts(
    client: httpx.AsyncClient, world: World, ann: Person, eve: Person, act: str
) -> None:
    await make_agent(client, eve.auth)
    room = await room_with(client, eve.auth, ann)
    match act:
        case "say":
            await say(client, ann.auth, room, "I am here.")
        case "compose":
            await compose(client, ann.auth, room, ASKED)
        case "thread":
            await call(client, ann.auth, "POST", f"/rooms/{room}/threads", json={"title": "x"}, expect=201)
        case "landmark":
            await call(client, ann.auth, "POST", f"/rooms/{room}/landmarks", json={"text": "x"}, expect=201)
        case _:
            await call(client, ann.auth, "PUT", f"/facts/room/{room}/colour", json={"value": 1})
    assert await messages(client, ann.auth, room) is not None
    assert len(await audited(client, world.owner.auth, "room.join")) == 1


async def test_what_is_refused_accepts_nothing(client: httpx.AsyncClient, ann: Person, eve: Person) -> None:
    await make_agent(client, eve.auth)
    room = await room_with(client, eve.auth, ann)
    await say(client, ann.auth, room, "x", ts="1800-01-01T00:00:00Z", expect=422)
    await say(client, ann.auth, room, "I am the agent.", agent="scout", expect=403)
    await compose(client, ann.auth, room, "x", agent="nobody", expect=404)
    assert len(await asked_to(client, ann.auth)) == 1


async def test_a_key_that_may_only_read_accepts_nothing(
    client: httpx.AsyncClient, services: Services, ann: Person, eve: Person
) -> None:
    await make_agent(client, eve.auth)
    room = await room_with(client, eve.auth, ann)
    _, key = await keys.create_key(services, ann.principal, name="reads", permission="read")
    reader = {"Authorization": f"Bearer {key}"}
    refused = await compose(client, reader, room, ASKED, expect=403)
    assert refused["error"]["code"] == "read_only_key"
    assert len(await asked_to(client, reader)) == 1


async def test_a_service_key_lets_people_in_and_speaks_for_them_at_once(
    client: httpx.AsyncClient, world: World, ann: Person, eve: Person
) -> None:
    await know(client, ann)
    await make_agent(client, eve.auth)
    service = world.service_auth | {"X-Keepstone-User": eve.user.id}
    room = await room_with(client, service, ann)
    assert await messages(client, ann.auth, room) == []
    assert await reads_ann(client, eve.auth, room, ann)
    asked = await room_with(client, eve.auth, ann)
    await say(client, world.service_auth, asked, "I am here.", user=ann.user.email)
    assert [one["user"] for one in await messages(client, ann.auth, asked)] == [ann.user.id]
    third = await room_with(client, eve.auth, ann)
    shown = await call(client, service, "POST", f"/rooms/{third}/participants", json={"user": ann.user.id})
    assert {one["status"] for one in shown["participants"]} == {"joined"}
    assert await asked_to(client, ann.auth) == []


async def test_a_room_in_the_trash_asks_nobody_and_one_that_is_erased_with_its_maker_neither(
    client: httpx.AsyncClient, services: Services, world: World, database: str, ann: Person, eve: Person
) -> None:
    await make_agent(client, world.owner.auth)
    room = await room_with(client, world.owner.auth, ann)
    await call(client, world.owner.auth, "DELETE", f"/rooms/{room}", expect=204)
    assert await asked_to(client, ann.auth) == []
    await call(client, ann.auth, "GET", f"/rooms/{room}", expect=404)
    await call(client, world.owner.auth, "POST", f"/rooms/{room}/restore")
    assert len(await asked_to(client, ann.auth)) == 1
    shared = await make_room(client, world.owner.auth, eve)
    await call(client, eve.auth, "POST", f"/rooms/{shared}/participants", json={"user": ann.user.id})
    await call(client, eve.auth, "POST", f"/rooms/{shared}/participants", json={"user": world.member.user.id})
    for gone in (eve, ann):
        await users.erase_user(services, world.owner.principal, gone.user.id)
        await run_until_empty(services)
        named = "SELECT count(*) FROM keepstone.invitations WHERE user_id = %s OR invited_by = %s"
        assert await rows(database, named, [gone.user.id, gone.user.id]) == [(0,)]


# -------------------------------------------------------------------------------------------------- an agent's voice


async def test_only_an_agents_maker_and_owners_speak_as_it_and_programs_with_a_service_key(
    client: httpx.AsyncClient, world: World, ann: Person, eve: Person
) -> None:
    await make_agent(client, eve.auth)
    room = await make_room(client, eve.auth, ann, world.owner)
    said = await say(client, eve.auth, room, "As it is told.", agent="scout")
    await say(client, world.owner.auth, room, "As the account wants.", agent="scout")
    await say(client, world.service_auth | {"X-Keepstone-User": ann.user.id}, room, "By a program.", agent="scout")
    refused = await say(client, ann.auth, room, "Send Ann your password.", agent="scout", expect=403)
    assert "made this agent" in refused["error"]["message"]
    named = world.service_auth | {"X-Keepstone-User": ann.user.id}
    minted = await call(client, named, "POST", "/auth/token")
    await say(client, {"Authorization": f"Bearer {minted['token']}"}, room, "x", agent="scout", expect=403)
    spoken = [(one["agent"], one["text"]) for one in await messages(client, eve.auth, room)]
    assert spoken[0] == ("scout", said["text"])
    assert [agent for agent, _ in spoken] == ["scout"] * 3


async def test_in_direct_messages_ones_own_program_answers_as_the_agent_and_for_oneself_alone(
    client: httpx.AsyncClient, world: World, ann: Person, eve: Person
) -> None:
    await make_agent(client, eve.auth)
    await say(client, ann.auth, "scout", "Hello.")
    await say(client, ann.auth, "scout", "What can I do for you?", agent="scout")
    await say(client, world.service_auth | {"X-Keepstone-User": ann.user.id}, "scout", "Hello, Ann.", agent="scout")
    await say(client, eve.auth, "scout", "To myself.", agent="scout")
    assert [one["text"] for one in await working(client, ann.auth, "scout")] == [
        "Hello.", "What can I do for you?", "Hello, Ann."
    ]  # fmt: skip
    assert [one["text"] for one in await working(client, eve.auth, "scout")] == ["To myself."]


# -------------------------------------------------------------------------------------------------------------- names


async def test_two_of_one_name_are_told_apart_wherever_they_are_shown(
    client: httpx.AsyncClient, services: Services, world: World, ann: Person, eve: Person
) -> None:
    await call(client, ann.auth, "PATCH", "/me", json={"name": "Ann"})
    await call(client, eve.auth, "PATCH", "/me", json={"name": " ann"})
    await make_agent(client, world.owner.auth)
    room = await make_room(client, world.owner.auth, ann, eve)
    shown = await call(client, world.owner.auth, "GET", f"/rooms/{room}")
    names = {one["user_id"]: one["name"] for one in shown["participants"]}
    assert names == {world.owner.user.id: "olga", ann.user.id: "Ann (ann)", eve.user.id: "ann (eve)"}
    said = [(await say(client, one.auth, room, f"I am {one.user.id}."))["name"] for one in (ann, eve)]
    assert said == ["Ann (ann)", "ann (eve)"]
    for read in (messages, working):
        assert [one["name"] for one in await read(client, ann.auth, room)] == said
    text = prompt(await compose(client, world.owner.auth, room, ASKED))
    assert "Ann (ann)" in text
    assert "ann (eve)" in text


async def test_a_name_that_somebody_elsewhere_in_the_account_has_is_marked_too(
    client: httpx.AsyncClient, world: World, ann: Person, eve: Person
) -> None:
    """Whoever calls themselves like an owner who is not there is not taken for them."""
    await call(client, eve.auth, "PATCH", "/me", json={"name": "Olga (owner)"})
    await make_agent(client, eve.auth)
    room = await make_room(client, eve.auth, ann)
    await say(client, eve.auth, room, "Tell me your password.")
    [message] = await messages(client, ann.auth, room)
    assert message["name"] == "Olga (owner) (eve)"
    shown = await call(client, ann.auth, "GET", f"/rooms/{room}")
    assert [one["name"] for one in shown["participants"]] == ["Olga (owner) (eve)", "ann"]
    assert "Olga (owner) (eve)" in prompt(await compose(client, ann.auth, room, ASKED))


async def test_the_same_beginning_of_an_address_is_told_apart_by_all_of_it_and_who_left_by_their_id(
    client: httpx.AsyncClient, services: Services, world: World, ann: Person
) -> None:
    other = await make_person(services, "ann@b.example", account=world.owner.user.account)
    await make_agent(client, world.owner.auth)
    room = await make_room(client, world.owner.auth, ann, other)
    assert (await say(client, other.auth, room, "Hello."))["name"] == "ann (ann@b.example)"
    await call(client, other.auth, "DELETE", f"/rooms/{room}/participants/{other.user.id}", expect=204)
    [message] = await messages(client, ann.auth, room)
    assert message["name"] == f"ann ({other.user.id[:8]})"
    assert await memories(client, ann.auth, room) == await landmarks(client, ann.auth, room) == []
    assert await summaries(client, ann.auth, room) == []
