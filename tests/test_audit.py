"""The audit trail: what stands in it, who reads it, and how it is taken out. Never a text."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg

from capsules import CAPSULES
from conftest import PASSWORD, World
from keepstone.access import operator
from keepstone.jobs import tasks
from keepstone.services import Services

AUDIT, SERVER = "/v1/audit", "/x_console/api/audit"


async def lines(client: httpx.AsyncClient, auth: dict[str, str], path: str = AUDIT, **params: Any) -> list[Any]:
    answer = await client.get(path, headers=auth, params={"limit": 200} | params)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def test_sign_ins_and_those_that_failed_are_told(client: httpx.AsyncClient, world: World) -> None:
    for password, status in (("wrong", 401), (PASSWORD, 200)):
        body = {"email": "max@example.org", "password": password}
        assert (await client.post("/auth/login", json=body)).status_code == status
    assert (await client.post("/auth/login", json={"email": "no@example.org", "password": "x"})).status_code == 401
    client.cookies.clear()
    login, refused = await lines(client, world.owner.auth, action="session")
    assert (login["action"], login["user_id"], login["via"]) == ("session.login", world.member.user.id, "session")
    assert (refused["action"], refused["user_id"]) == ("session.refused", world.member.user.id)
    assert refused["details"] == {"address": "127.0.0.1"}


async def test_keys_people_roles_exports_and_erasures_are_told_without_a_text(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    secret = "the recipe of the black forest cake"
    mine, owner = world.member.auth, world.owner.auth
    await client.post(CAPSULES, headers=mine, json={"content_md": secret, "title": secret})
    await client.get(CAPSULES, headers=mine, params={"q": secret})
    assert (await client.get("/v1/memory/export", headers=mine)).is_success
    key = (await client.post("/v1/keys", headers=mine, json={"name": secret})).json()["id"]
    await client.delete(f"/v1/keys/{key}", headers=mine)
    nina = (await client.post("/v1/users", headers=owner, json={"email": "nina@example.org", "name": secret})).json()
    await client.patch(f"/v1/users/{nina['id']}", headers=owner, json={"role": "owner"})
    await client.delete(f"/v1/users/{nina['id']}", headers=owner)
    await operator.set_allowance(services, "olga@example.org", plan="pro")
    told = await lines(client, owner)
    assert {
        "capsule.create", "capsule.export", "key.create", "key.revoke", "user.create", "user.update", "user.erase",
        "user.allowance",
    } <= {line["action"] for line in told}  # fmt: skip
    (role,) = [line for line in told if line["action"] == "user.update"]
    assert role["details"] == {"fields": "role", "role": "owner"}
    assert "forest" not in json.dumps(told)


async def test_it_is_filtered_and_paged(client: httpx.AsyncClient, world: World) -> None:
    made = [(await client.post("/v1/keys", headers=world.member.auth, json={"name": "k"})).json()["id"] for _ in "abc"]
    await client.delete(f"/v1/keys/{made[0]}", headers=world.member.auth)
    owner, user_id = world.owner.auth, world.member.user.id
    assert [line["object_id"] for line in await lines(client, owner, action="key.create", user_id=user_id)][:3] == made[
        ::-1
    ]
    assert [line["action"] for line in await lines(client, owner, object_id=made[0])] == ["key.revoke", "key.create"]
    assert await lines(client, owner, action="key.cre") == [], "a noun, no beginning of a word"
    now = datetime.now(UTC)
    before, after = (now - timedelta(hours=1)).isoformat(), (now + timedelta(hours=1)).isoformat()
    assert await lines(client, owner, to=before) == await lines(client, owner, **{"from": after}) == []
    assert len(await lines(client, owner, object_id=made[0], **{"from": before, "to": after})) == 2
    first = (await client.get(AUDIT, headers=owner, params={"limit": 2, "action": "key", "user_id": user_id})).json()
    rest = await lines(client, owner, action="key", user_id=user_id, cursor=first["next_cursor"])
    assert [line["object_id"] for line in first["items"] + rest][:4] == [made[0], *made[::-1]]
    for wrong in ({"user_id": "x"}, {"action": "a b"}, {"from": "yesterday"}, {"object_id": "a\0"}):
        assert (await client.get(AUDIT, headers=owner, params=wrong)).status_code == 422


async def test_to_a_member_nobody_else_has_done_anything(client: httpx.AsyncClient, world: World) -> None:
    mine = await lines(client, world.member.auth)
    assert {line["user_id"] for line in mine} == {world.member.user.id}
    for path in (AUDIT, f"{AUDIT}/export"):
        answer = await client.get(path, headers=world.member.auth, params={"user_id": world.owner.user.id})
        assert answer.status_code == 404
    exported = await client.get(f"{AUDIT}/export", headers=world.member.auth)
    assert world.owner.user.id not in exported.text
    for path in (AUDIT, f"{AUDIT}/export"):
        assert (await client.get(path, headers=world.service_auth)).status_code == 403


async def test_it_is_exported_whole_and_that_is_told(client: httpx.AsyncClient, world: World) -> None:
    for _ in range(5):
        await client.patch("/v1/me", headers=world.member.auth, json={"name": 'a "name", with a comma'})
    answer = await client.get(f"{AUDIT}/export", headers=world.owner.auth)
    assert answer.headers["content-type"].startswith("text/csv")
    table = list(csv.DictReader(io.StringIO(answer.text)))
    by_line = await client.get(f"{AUDIT}/export", headers=world.owner.auth, params={"format": "jsonl"})
    parsed = [json.loads(line) for line in by_line.text.splitlines()]
    listed = await lines(client, world.owner.auth)
    assert [line["action"] for line in listed[:2]] == ["audit.export"] * 2
    assert [row["id"] for row in table] == [line["id"] for line in listed[1:]]
    assert [line["id"] for line in parsed] == [line["id"] for line in listed]
    assert json.loads(table[1]["details"]) == listed[2]["details"] == {"fields": "name"}
    assert (await client.get(f"{AUDIT}/export", headers=world.owner.auth, params={"format": "xml"})).status_code == 422


async def test_the_operator_reads_all_accounts_and_nobody_else_does(
    client: httpx.AsyncClient, console: httpx.AsyncClient, world: World
) -> None:
    theirs, own = world.owner.principal.account_id, world.stranger.principal.account_id
    every = (await console.get(SERVER, params={"limit": 200})).json()["items"]
    assert {line["account_id"] for line in every} == {theirs, own}
    of_one = (await console.get(SERVER, params={"account_id": theirs, "action": "user.create"})).json()
    assert {line["object_id"] for line in of_one["items"]} == {world.owner.user.id, world.member.user.id}
    first = (await console.get(SERVER, params={"account_id": theirs, "limit": 1})).json()
    second = (await console.get(SERVER, params={"account_id": theirs, "cursor": first["next_cursor"]})).json()
    assert first["items"][0]["id"] not in {line["id"] for line in second["items"]}
    exported = await console.get(f"{SERVER}/export", params={"account_id": theirs})
    assert {row["account_id"] for row in csv.DictReader(io.StringIO(exported.text))} == {theirs}
    assert (await lines(client, world.stranger.auth, action="console.audit"))[0]["user_id"] == world.stranger.user.id


async def test_old_lines_go_and_the_server_changes_none(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    days = services.settings.audit_days
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
        for more, action in ((1, "test.older"), (-1, "test.newer")):
            await conn.execute(
                "INSERT INTO keepstone.audit (account, id, at, via, action) VALUES (%s, %s, now() - %s, 'cli', %s)",
                [world.owner.user.account, "aud_" + action[5] * 24, timedelta(days=days + more), action],
            )
    await tasks.purge_memories(services)
    assert [line["action"] for line in await lines(client, world.owner.auth, action="test")] == ["test.newer"]
