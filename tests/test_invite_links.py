"""Invite links: made by an owner, good once and for seven days, and behind each a page for whoever is not in yet."""

import httpx
import pytest

from conftest import World
from keepstone.access import invite_links
from keepstone.access.sessions import Browser
from keepstone.errors import NotFound, RateLimited
from keepstone.services import Services
from test_passages import ask

FORM = {"email": "ada@example.org", "name": "Ada", "password": "a long enough one"}


async def made(client: httpx.AsyncClient, world: World, **body: str) -> tuple[str, str]:
    answer = await client.post("/v1/invite-links", headers=world.owner.auth, json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"], "/join/" + answer.json()["url"].rpartition("/")[2]


async def test_whoever_opens_a_link_is_in_with_a_name_and_a_password_and_the_link_is_used_up(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    link_id, path = await made(client, world, role="owner")
    [(stored,)] = await ask(database, "SELECT row_to_json(l)::text FROM invite_links l")
    assert path.rpartition("_")[2][12:] not in stored, "the secret is hashed"
    shown = await client.get(path)
    assert shown.status_code == 200
    assert "invites you" in shown.text
    short = await client.post(path, data=FORM | {"password": "short"})
    assert (short.status_code, "8 characters" in short.text) == (400, True)
    taken = await client.post(path, data=FORM | {"email": "max@example.org"})
    assert (taken.status_code, "already" in taken.text) == (400, True)
    joined = await client.post(path, data=FORM)
    assert (joined.status_code, joined.headers["location"]) == (303, "/")
    session = joined.cookies["keepstone_session"]
    client.cookies.clear()
    me = (await client.get("/v1/me", headers={"Cookie": f"session={session}"})).json()
    assert (me["user"]["email"], me["user"]["name"], me["user"]["role"]) == ("ada@example.org", "Ada", "owner")
    assert me["account"]["id"] == world.owner.principal.account_id
    again = await client.post(path, data=FORM | {"email": "eve@example.org"})
    assert (again.status_code, "This invitation is over" in again.text) == (404, True)
    chinese = await client.get(path, headers={"Accept-Language": "zh-CN"})
    assert "这个邀请已失效" in chinese.text
    lines = (await client.get("/v1/audit", headers=world.owner.auth)).json()["items"]
    told = {line["action"]: line for line in lines}
    assert told["invite.create"]["object_id"] == link_id
    assert told["user.join"]["who"] == "Ada"


async def test_a_link_for_an_address_is_for_that_one_and_only_owners_make_see_and_take_back(
    client: httpx.AsyncClient, world: World
) -> None:
    link_id, path = await made(client, world, email="Ada@Example.org")
    assert 'value="ada@example.org" readonly' in (await client.get(path)).text
    for auth in (world.member.auth, world.stranger.auth):
        listed = await client.get("/v1/invite-links", headers=auth)
        assert listed.status_code == 403 or listed.json() == {"items": []}
        assert (await client.delete(f"/v1/invite-links/{link_id}", headers=auth)).status_code == 404
    assert (await client.post("/v1/invite-links", headers=world.member.auth, json={})).status_code == 403
    assert (
        await client.post("/v1/invite-links", headers=world.owner.auth, json={"email": "max@example.org"})
    ).status_code == 409
    [waiting] = (await client.get("/v1/invite-links", headers=world.owner.auth)).json()["items"]
    assert (waiting["id"], waiting["email"]) == (link_id, "ada@example.org")
    assert "url" not in waiting
    joined = await client.post(path, data=FORM | {"email": "eve@example.org"})
    assert joined.status_code == 303
    emails = [one["email"] for one in (await client.get("/v1/users", headers=world.owner.auth)).json()["items"]]
    assert "ada@example.org" in emails
    assert "eve@example.org" not in emails


async def test_a_link_is_over_after_seven_days_when_taken_back_and_when_its_maker_is_erased(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    _, path = await made(client, world)
    await ask(database, "UPDATE invite_links SET expires_at = now() - interval '1 second' RETURNING 1")
    assert (await client.get(path)).status_code == 404
    link_id, path = await made(client, world)
    assert (await client.delete(f"/v1/invite-links/{link_id}", headers=world.owner.auth)).status_code == 204
    assert (await client.get(path)).status_code == 404
    await client.patch(f"/v1/users/{world.member.user.id}", headers=world.owner.auth, json={"role": "owner"})
    theirs = await client.post("/v1/invite-links", headers=world.member.auth, json={})
    await client.delete(f"/v1/users/{world.member.user.id}", headers=world.owner.auth)
    assert (await client.get("/join/" + theirs.json()["url"].rpartition("/")[2])).status_code == 404


async def test_who_keeps_trying_links_that_are_none_waits(services: Services) -> None:
    browser = Browser(address="192.0.2.77", user_agent=None)
    for _ in range(30):
        with pytest.raises(NotFound):
            await invite_links.look(services, token="ci_" + "a" * 52, browser=browser)
    with pytest.raises(RateLimited):
        await invite_links.look(services, token="ci_" + "a" * 52, browser=browser)


async def test_the_first_time_zone_of_whoever_is_alone_is_the_accounts_too(
    client: httpx.AsyncClient, world: World
) -> None:
    me = (await client.get("/v1/me", headers=world.stranger.auth)).json()
    assert (me["user"]["timezone_chosen"], me["user"]["welcome"]) == (False, 0)
    for zone in ("Europe/Berlin", "Asia/Tokyo"):
        changed = await client.patch("/v1/me", headers=world.stranger.auth, json={"timezone": zone, "welcome": 2})
        assert (changed.json()["timezone"], changed.json()["timezone_chosen"]) == (zone, True)
    me = (await client.get("/v1/me", headers=world.stranger.auth)).json()
    assert (me["account"]["timezone"], me["user"]["welcome"]) == ("Europe/Berlin", 2)
    assert (await client.patch("/v1/me", headers=world.stranger.auth, json={"welcome": 4})).status_code == 422
    await client.patch("/v1/me", headers=world.owner.auth, json={"timezone": "Asia/Tokyo"})
    assert (await client.get("/v1/me", headers=world.owner.auth)).json()["account"]["timezone"] == "UTC"
