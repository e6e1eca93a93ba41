"""API keys: made once, shown once, hashed, revocable, never somebody else's."""

from datetime import UTC, datetime, timedelta

import httpx
import psycopg
import pytest

from conftest import World
from keepstone.access import keys
from keepstone.access.secrets import new_secret
from keepstone.model.ids import is_id
from keepstone.services import Services


async def test_a_key_is_shown_once_and_stored_hashed(client: httpx.AsyncClient, world: World, database: str) -> None:
    made = (await client.post("/v1/keys", headers=world.owner.auth, json={"name": "laptop"})).json()
    assert made["key"].startswith("ck_")
    assert is_id("key", made["id"])
    listed = (await client.get("/v1/keys", headers=world.owner.auth)).json()["items"]
    assert [item["name"] for item in listed] == ["laptop", "service", "key of olga"]
    assert all("key" not in item for item in listed)
    async with await psycopg.AsyncConnection.connect(database) as conn:
        rows = await (await conn.execute("SELECT k::text FROM keepstone.keys k")).fetchall()
    secret = made["key"].removeprefix("ck_" + made["prefix"])
    assert len(secret) == 40
    assert secret not in str(rows)


async def test_a_new_key_works_as_bearer_and_as_token(client: httpx.AsyncClient, world: World) -> None:
    for scheme in ("Bearer", "bearer", "Token"):
        answer = await client.get("/v1/me", headers={"Authorization": f"{scheme} {world.member.key}"})
        assert answer.status_code == 200
        assert answer.json()["user"]["id"] == world.member.user.id


@pytest.mark.parametrize("wrong", ["ck_", "ck_short", "nonsense", "", "a.b.c", "ck_" + "é" * 52, "Bearer Bearer"])
async def test_what_is_not_a_key_is_401(client: httpx.AsyncClient, world: World, wrong: str) -> None:
    answer = await client.get("/v1/me", headers={b"Authorization": f"Bearer {wrong}".encode()})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "UNAUTHORIZED"
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_known_prefix_with_another_secret_is_401(client: httpx.AsyncClient, world: World) -> None:
    forged = world.owner.key[:15] + new_secret("ck", 1).text[15:]
    assert forged[:15] == world.owner.key[:15]
    answer = await client.get("/v1/me", headers={"Authorization": f"Bearer {forged}"})
    assert answer.status_code == 401


async def test_a_revoked_key_opens_nothing_from_then_on(client: httpx.AsyncClient, world: World) -> None:
    made = (await client.post("/v1/keys", headers=world.member.auth, json={"name": "phone"})).json()
    phone = {"Authorization": f"Bearer {made['key']}"}
    assert (await client.get("/v1/me", headers=phone)).status_code == 200
    assert (await client.delete(f"/v1/keys/{made['id']}", headers=world.member.auth)).status_code == 204
    assert (await client.get("/v1/me", headers=phone)).status_code == 401
    shown = (await client.get(f"/v1/keys/{made['id']}", headers=world.member.auth)).json()
    assert shown["revoked_at"].endswith("Z")
    assert (await client.delete(f"/v1/keys/{made['id']}", headers=world.member.auth)).status_code == 204


async def test_a_key_expires(client: httpx.AsyncClient, services: Services, world: World, database: str) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    key, secret = await keys.create_key(services, world.member.principal, name="brief", expires_at=later)
    headers = {"Authorization": f"Bearer {secret}"}
    assert (await client.get("/v1/me", headers=headers)).status_code == 200
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:  # an hour passes
        await conn.execute("UPDATE keepstone.keys SET expires_at = now() WHERE id = %s", [key.id])
    assert (await client.get("/v1/me", headers=headers)).status_code == 401


async def test_an_expiry_in_the_past_is_refused_and_nothing_is_made(client: httpx.AsyncClient, world: World) -> None:
    answer = await client.post(
        "/v1/keys", headers=world.owner.auth, json={"name": "late", "expires_at": "2020-01-01T00:00:00Z"}
    )
    assert answer.status_code == 400
    names = [item["name"] for item in (await client.get("/v1/keys", headers=world.owner.auth)).json()["items"]]
    assert "late" not in names


async def test_the_last_use_is_remembered(client: httpx.AsyncClient, world: World) -> None:
    await client.get("/v1/me", headers=world.member.auth)
    shown = (await client.get(f"/v1/keys/{world.member.key_id}", headers=world.member.auth)).json()
    assert shown["last_used_at"] is not None


async def test_only_an_owner_makes_a_service_key(client: httpx.AsyncClient, world: World) -> None:
    body = {"name": "robot", "service": True}
    assert (await client.post("/v1/keys", headers=world.member.auth, json=body)).status_code == 403
    made = await client.post("/v1/keys", headers=world.owner.auth, json=body)
    assert made.status_code == 201
    assert made.json()["user_id"] is None


@pytest.mark.parametrize("by", ["id", "email", "EMAIL"])
async def test_a_service_key_speaks_for_a_user_of_its_account(client: httpx.AsyncClient, world: World, by: str) -> None:
    user = world.member.user
    name = {"id": user.id, "email": user.email, "EMAIL": user.email.upper()}[by]
    answer = await client.get("/v1/me", headers={**world.service_auth, "X-Keepstone-User": name})
    assert answer.json()["user"]["id"] == user.id


async def test_a_service_key_without_a_user_is_the_account(client: httpx.AsyncClient, world: World) -> None:
    answer = (await client.get("/v1/me", headers=world.service_auth)).json()
    assert answer["user"] is None
    assert answer["account"]["id"] == world.owner.principal.account_id
    refused = await client.get("/v1/sessions", headers=world.service_auth)
    assert refused.status_code == 403
    assert "X-Keepstone-User" in refused.json()["error"]["message"]


async def test_to_a_service_key_another_accounts_user_is_not_there(client: httpx.AsyncClient, world: World) -> None:
    for name in (world.stranger.user.id, world.stranger.user.email, "nobody@example.org", "*", ""):
        answer = await client.get("/v1/me", headers={**world.service_auth, "X-Keepstone-User": name})
        assert answer.status_code == 404


async def test_a_user_key_that_names_anyone_else_gets_404(client: httpx.AsyncClient, world: World) -> None:
    other = await client.get("/v1/me", headers={**world.member.auth, "X-Keepstone-User": world.owner.user.id})
    assert other.status_code == 404
    itself = await client.get("/v1/me", headers={**world.member.auth, "X-Keepstone-User": world.member.user.email})
    assert itself.status_code == 200


async def test_a_members_list_holds_no_service_keys(client: httpx.AsyncClient, world: World) -> None:
    listed = (await client.get("/v1/keys", headers=world.member.auth)).json()["items"]
    assert {item["user_id"] for item in listed} == {world.member.user.id}


async def test_pages_stay_right_while_keys_come_and_go(client: httpx.AsyncClient, world: World) -> None:
    for number in range(7):
        await client.post("/v1/keys", headers=world.member.auth, json={"name": f"k{number}"})
    first = (await client.get("/v1/keys?limit=3", headers=world.member.auth)).json()
    assert [item["name"] for item in first["items"]] == ["k6", "k5", "k4"]
    assert first["has_more"] is True
    await client.post("/v1/keys", headers=world.member.auth, json={"name": "newer"})
    await client.delete(f"/v1/keys/{first['items'][-1]['id']}", headers=world.member.auth)
    second = (
        await client.get("/v1/keys", params={"limit": 3, "cursor": first["next_cursor"]}, headers=world.member.auth)
    ).json()
    assert [item["name"] for item in second["items"]] == ["k3", "k2", "k1"]
    third = (
        await client.get("/v1/keys", params={"limit": 3, "cursor": second["next_cursor"]}, headers=world.member.auth)
    ).json()
    assert [item["name"] for item in third["items"]] == ["k0", "key of max"]
    assert third["next_cursor"] is None
    assert third["has_more"] is False


@pytest.mark.parametrize("cursor", ["x", "AAAA", "W10", "bm9wZQ", "\0", "W251bGwsIG51bGxd", "Ww" * 200])
async def test_a_cursor_that_is_not_ours_is_422(client: httpx.AsyncClient, world: World, cursor: str) -> None:
    answer = await client.get("/v1/keys", params={"cursor": cursor}, headers=world.member.auth)
    assert answer.status_code == 422
    assert answer.json()["error"]["details"][0]["path"] == "query.cursor"


async def test_guessing_keys_gets_slower_but_a_good_key_still_works(client: httpx.AsyncClient, world: World) -> None:
    statuses: list[int] = []
    for _ in range(22):
        guess = {"Authorization": f"Bearer {new_secret('ck', 1).text}"}
        statuses.append((await client.get("/v1/me", headers=guess)).status_code)
    assert statuses[:19] == [401] * 19
    assert statuses[-1] == 429
    assert (await client.get("/v1/me", headers=world.member.auth)).status_code == 200
