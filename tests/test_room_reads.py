"""What is unread in a room follows whoever reads it, and nobody else sees how far they are."""

from typing import Any

import httpx

from conftest import World
from rooms import call


async def _room(client: httpx.AsyncClient, auth: dict[str, str], room: str) -> dict[str, Any]:
    return next(one for one in (await call(client, auth, "GET", "/rooms"))["items"] if one["id"] == room)


async def test_what_others_said_is_unread_until_it_is_marked_and_a_mark_never_goes_back(
    client: httpx.AsyncClient, world: World
) -> None:
    owner, member = world.owner.auth, world.member.auth
    room = (await call(client, owner, "POST", "/rooms", json={"name": "Barn"}, expect=201))["id"]
    assert (await _room(client, owner, room))["last_message"] is None
    await call(client, owner, "POST", f"/rooms/{room}/participants", json={"user": world.member.user.id})
    said = [
        (await call(client, auth, "POST", f"/rooms/{room}/messages", json={"text": text}, expect=201))["id"]
        for auth, text in ((owner, "one"), (owner, "two"), (member, "mine"))
    ]

    seen = await _room(client, member, room)
    assert (seen["unread"], seen["first_unread"]) == (2, said[0])
    assert (seen["last_message"]["message_id"], seen["last_message"]["text"]) == (said[2], "mine")
    assert (await _room(client, owner, room))["unread"] == 1

    for message, unread in ((said[0], 1), (said[1], 0), (said[0], 0)):
        answer = await client.put(f"/v1/rooms/{room}/read", headers=member, json={"message_id": message})
        assert answer.status_code == 204, answer.text
        assert (await _room(client, member, room))["unread"] == unread
    assert (await _room(client, owner, room))["unread"] == 1

    elsewhere = await client.put(f"/v1/rooms/{room}/read", headers=member, json={"message_id": "msg_nowhere"})
    assert elsewhere.status_code == 404
    stranger = await client.put(f"/v1/rooms/{room}/read", headers=world.stranger.auth, json={"message_id": said[0]})
    assert stranger.status_code == 404
