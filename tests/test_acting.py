"""A service key that speaks for somebody: their memory, and neither their rights nor how they sign in."""

import httpx
import pytest
from fastapi import FastAPI

from capsules import CAPSULES
from conftest import PASSWORD, World
from keepstone.access import operator
from keepstone.services import Services
from leaks import routes_of

NEW = "a new long password"
# Whatever is added below these joins: how somebody signs in, and what they and others may.
GUARDED = ("/v1/keys", "/v1/sessions", "/v1/users", "/v1/account", "/auth/password", "/auth/totp", "/v1/totp")
BODIES = {
    "POST /v1/keys": {"name": "another"},
    "POST /v1/users": {"email": "new@example.org", "password": NEW},
    "PATCH /v1/users/{user_id}": {"role": "member"},
    "PATCH /v1/account": {"name": "renamed"},
    "POST /auth/password": {"new": NEW},
    "POST /auth/totp": {"password": NEW},
    "POST /auth/totp/confirm": {"code": "123456"},
    "POST /auth/totp/disable": {"code": "123456", "password": NEW},
}


@pytest.fixture(params=["header", "token"])
async def acting(
    request: pytest.FixtureRequest, client: httpx.AsyncClient, services: Services, world: World
) -> dict[str, str]:
    """The service key in the name of somebody who owns the account and operates the server: by the header, and by a
    token that it minted so.
    """
    await operator.set_allowance(services, world.owner.user.email, admin=True)
    named = world.service_auth | {"X-Keepstone-User": world.owner.user.email}
    if request.param == "header":
        return named
    token = (await client.post("/auth/token", headers=named)).json()["token"]
    return {"Authorization": f"Bearer {token}"}


async def test_it_carries_neither_an_operators_nor_an_owners_rights(
    client: httpx.AsyncClient, world: World, acting: dict[str, str]
) -> None:
    me = (await client.get("/v1/me", headers=acting)).json()
    assert me["user"]["id"] == world.owner.user.id
    for path in ("/x_console/api/users", "/x_console/api/plans", "/x_console/api/jobs"):
        assert (await client.get(path, headers=acting)).status_code == 403
    assert (await client.get(f"/v1/users/{world.member.user.id}", headers=acting)).status_code == 404
    listed = (await client.get("/v1/users", headers=acting)).json()["items"]
    assert [user["id"] for user in listed] == [world.owner.user.id]
    lines = (await client.get("/v1/audit?limit=200", headers=acting)).json()["items"]
    assert {line["user_id"] for line in lines} == {world.owner.user.id}


async def test_it_changes_nothing_of_how_anybody_signs_in_or_what_they_may(
    app: FastAPI, client: httpx.AsyncClient, world: World, acting: dict[str, str]
) -> None:
    login = await client.post("/auth/login", json={"email": "olga@example.org", "password": PASSWORD})
    assert login.is_success
    client.cookies.clear()
    session = (await client.get("/v1/sessions", headers=world.owner.auth)).json()["items"][0]["id"]
    objects = {"key_id": world.owner.key_id, "session_id": session, "user_id": world.owner.user.id}
    routes = [route for route in routes_of(app) if route[2].startswith(GUARDED) and route[1] != "GET"]
    assert {"POST /v1/keys", "DELETE /v1/sessions/{session_id}", "POST /auth/password"} <= {
        label for label, *_ in routes
    }
    for label, method, path in routes:
        answer = await client.request(method, path.format(**objects), headers=acting, json=BODIES.get(label))
        assert answer.status_code == 403, (label, answer.text)
    assert (await client.get("/v1/me", headers=world.owner.auth)).json()["user"]["role"] == "owner"
    assert [key["name"] for key in (await client.get("/v1/keys", headers=world.owner.auth)).json()["items"]] == [
        "service", "key of olga"
    ]  # fmt: skip
    for service in (acting, world.service_auth):
        refused = await client.post("/v1/keys", headers=service, json={"name": "robot", "service": True})
        assert refused.status_code == 403


async def test_a_user_who_names_themselves_keeps_all_their_rights(client: httpx.AsyncClient, world: World) -> None:
    named = world.owner.auth | {"X-Keepstone-User": world.owner.user.id}
    assert (await client.post("/v1/keys", headers=named, json={"name": "phone"})).status_code == 201
    assert len((await client.get("/v1/users", headers=named)).json()["items"]) == 2


async def test_memory_is_used_as_they_would_and_every_use_is_audited_reads_included(
    client: httpx.AsyncClient, world: World, acting: dict[str, str]
) -> None:
    text = "the recipe of the black forest cake"
    made = (await client.post(CAPSULES, headers=acting, json={"content_md": text})).json()
    for _ in range(3):
        read = await client.get(f"{CAPSULES}/{made['id']}", headers=acting)
        assert read.json()["content_md"] == text
    assert (await client.get(CAPSULES, headers=acting, params={"q": "black forest"})).is_success
    answer = await client.get("/v1/audit?limit=200", headers=world.owner.auth)
    lines = [line for line in answer.json()["items"] if line["details"].get("acting")]
    used = [(line["details"]["route"], line["object_id"]) for line in lines if line["action"] == "acting.use"]
    assert used.count((f"GET {CAPSULES}/{{capsule_id}}", made["id"])) == 1, "the same within a minute is told once"
    assert (f"GET {CAPSULES}", world.owner.user.id) in used
    assert [line["object_id"] for line in lines if line["action"] == "capsule.create"] == [made["id"]]
    assert {line["user_id"] for line in lines} == {world.owner.user.id}
    assert len({line["credential_id"] for line in lines}) == 1
    # No line has a text. What the reader may read is called by its name, looked up for them.
    assert "forest" not in str([line | {"title": None} for line in answer.json()["items"]])
