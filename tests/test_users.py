"""People: who may see and change whom, and erasing one for good."""

import asyncio

import httpx
import psycopg
import pytest
from psycopg import sql

from conftest import World, make_person
from keepstone.access import operator, users
from keepstone.errors import Conflict
from keepstone.jobs.worker import run_until_empty
from keepstone.model.principal import ReadScope
from keepstone.services import Services
from keepstone.store import spaces


async def test_an_owner_adds_a_member_who_can_then_sign_in(client: httpx.AsyncClient, world: World) -> None:
    body = {"email": "Nina@Example.org", "name": "Nina", "password": "a long enough one"}
    made = await client.post("/v1/users", headers=world.owner.auth, json=body)
    assert made.status_code == 201
    assert made.json()["email"] == "nina@example.org"
    assert made.json()["role"] == "member"
    assert "password" not in str(made.json()).replace("has_password", "")
    login = await client.post("/auth/login", json={"email": "nina@example.org", "password": "a long enough one"})
    assert login.status_code == 200


async def test_a_member_adds_nobody_and_sees_only_themselves(client: httpx.AsyncClient, world: World) -> None:
    body = {"email": "nina@example.org"}
    assert (await client.post("/v1/users", headers=world.member.auth, json=body)).status_code == 403
    listed = (await client.get("/v1/users", headers=world.member.auth)).json()
    assert [item["id"] for item in listed["items"]] == [world.member.user.id]
    assert (await client.get(f"/v1/users/{world.owner.user.id}", headers=world.member.auth)).status_code == 404


async def test_an_owner_sees_the_account_and_nobody_elses(client: httpx.AsyncClient, world: World) -> None:
    listed = (await client.get("/v1/users", headers=world.owner.auth)).json()["items"]
    assert {item["email"] for item in listed} == {"olga@example.org", "max@example.org"}


async def test_an_address_is_taken_once_on_the_whole_server(services: Services, world: World) -> None:
    async def add(account: int | None) -> bool:
        try:
            await users.create_user(services, email="Twin@example.org", account=account)
        except Conflict:
            return False
        return True

    owner = world.owner.user.account
    made = await asyncio.gather(*(add(account) for account in (None, owner, None, world.stranger.user.account)))
    assert sorted(made) == [False, False, False, True]


@pytest.mark.parametrize("email", ["", "no at sign", "two@@example.org", "a@b\0c", "a b@example.org", "x@" + "y" * 300])
async def test_what_is_not_an_address_is_refused(client: httpx.AsyncClient, world: World, email: str) -> None:
    answer = await client.post("/v1/users", headers=world.owner.auth, json={"email": email})
    assert answer.status_code in {400, 422}


async def test_everybody_changes_their_own_profile(client: httpx.AsyncClient, world: World) -> None:
    change = {"name": "Maximilian", "timezone": "Europe/Berlin", "language": "de"}
    changed = (await client.patch("/v1/me", headers=world.member.auth, json=change)).json()
    assert {name: changed[name] for name in change} == change
    unknown = await client.patch("/v1/me", headers=world.member.auth, json={"timezone": "Mars/Olympus"})
    assert unknown.status_code == 400
    assert (await client.patch("/v1/me", headers=world.member.auth, json={"role": "owner"})).status_code == 422


async def test_only_an_owner_changes_roles(client: httpx.AsyncClient, world: World) -> None:
    path = f"/v1/users/{world.member.user.id}"
    assert (await client.patch(path, headers=world.member.auth, json={"role": "owner"})).status_code == 403
    assert (await client.patch(path, headers=world.owner.auth, json={"role": "owner"})).json()["role"] == "owner"


async def test_an_account_keeps_an_owner_even_when_two_step_down_at_once(
    client: httpx.AsyncClient, world: World
) -> None:
    alone = await client.patch(f"/v1/users/{world.owner.user.id}", headers=world.owner.auth, json={"role": "member"})
    assert alone.status_code == 409
    await client.patch(f"/v1/users/{world.member.user.id}", headers=world.owner.auth, json={"role": "owner"})
    answers = await asyncio.gather(
        *(
            client.patch(f"/v1/users/{person.user.id}", headers=person.auth, json={"role": "member"})
            for person in (world.owner, world.member)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]


async def test_an_owner_renames_the_account(client: httpx.AsyncClient, world: World) -> None:
    assert (await client.patch("/v1/account", headers=world.member.auth, json={"name": "Ours"})).status_code == 403
    assert (await client.patch("/v1/account", headers=world.owner.auth, json={"name": "Ours"})).json()["name"] == "Ours"
    assert (await client.get("/v1/me", headers=world.member.auth)).json()["account"]["name"] == "Ours"


async def test_erasing_a_user_shuts_them_out_at_once_and_then_removes_every_row(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    member = world.member
    account = member.user.account
    async with services.db.transaction(ReadScope(account=account)) as conn:
        vault = await spaces.ensure(conn, kind="vault", name=member.user.id, owner=member.user.id)
    scope = ReadScope(account=account, spaces=(vault,), visibilities=("private",))
    async with services.db.transaction(scope) as conn:
        await conn.execute(
            "INSERT INTO messages (space, id, speaker, text, at) VALUES (%s, %s, 'max', 'a secret', now())",
            [vault, "msg_" + "a" * 24],
        )
    assert (await client.delete(f"/v1/users/{member.user.id}", headers=world.owner.auth)).status_code == 204
    assert (await client.get("/v1/me", headers=member.auth)).status_code == 401
    assert (await client.get(f"/v1/users/{member.user.id}", headers=world.owner.auth)).status_code == 404
    await run_until_empty(services)
    async with await psycopg.AsyncConnection.connect(database) as conn:
        for table in ("users", "keys", "spaces", "messages"):
            rows = await (await conn.execute(f"SELECT t::text FROM keepstone.{table} t")).fetchall()
            assert member.user.id not in str(rows), table
            assert "a secret" not in str(rows)
    assert (await make_person(services, "max@example.org")).user.id != member.user.id, "the address is free again"


async def test_the_only_owner_cant_be_erased(client: httpx.AsyncClient, world: World) -> None:
    answer = await client.delete(f"/v1/users/{world.owner.user.id}", headers=world.owner.auth)
    assert answer.status_code == 409
    assert (await client.get("/v1/me", headers=world.owner.auth)).status_code == 200


async def test_with_its_last_user_an_account_is_erased(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    stan = world.stranger
    assert (await client.delete(f"/v1/users/{stan.user.id}", headers=stan.auth)).status_code == 204
    await run_until_empty(services)
    async with await psycopg.AsyncConnection.connect(database) as conn:
        for table in ("accounts", "users", "spaces", "audit"):
            rows = await (
                await conn.execute(
                    sql.SQL("SELECT count(*) FROM keepstone.{} WHERE account = %s").format(sql.Identifier(table)),
                    [stan.user.account],
                )
            ).fetchall()
            assert rows == [(0,)], table
    assert (await client.get("/v1/me", headers=world.owner.auth)).status_code == 200


async def test_a_subject_is_one_users_on_the_whole_server(services: Services, world: World) -> None:
    await operator.set_allowance(services, "max@example.org", subject="u-17")
    await operator.set_allowance(services, "max@example.org", subject="u-17")
    for other in ("olga@example.org", "stan@elsewhere.example"):
        with pytest.raises(Conflict, match="u-17"):
            await operator.set_allowance(services, other, subject="u-17")
    await operator.set_allowance(services, "max@example.org", subject="")
    await operator.set_allowance(services, "stan@elsewhere.example", subject="u-17")


async def test_a_service_key_that_names_nobody_reads_no_audit(client: httpx.AsyncClient, world: World) -> None:
    assert (await client.get("/v1/audit", headers=world.service_auth)).status_code == 403


async def test_the_operator_sets_what_an_account_may_use(services: Services, world: World) -> None:
    await operator.set_allowance(services, "MAX@example.org", plan="pro", credit_count=7, quota_bytes=10, admin=True)
    found = {person.email: person for person in await operator.residents(services)}
    assert (found["max@example.org"].plan, found["max@example.org"].credits) == ("pro", 7)
    assert (found["max@example.org"].quota_bytes, found["max@example.org"].is_admin) == (10, True)
    assert (found["olga@example.org"].plan, found["olga@example.org"].quota_bytes) == ("pro", None)
    assert found["stan@elsewhere.example"].plan == "unlimited"
    await operator.set_allowance(services, "max@example.org", quota_bytes=-1)
    assert next(p for p in await operator.residents(services) if p.email == "max@example.org").quota_bytes is None


async def test_every_change_leaves_an_audit_line_without_its_text(client: httpx.AsyncClient, world: World) -> None:
    await client.patch("/v1/me", headers=world.member.auth, json={"name": "Sigismund"})
    mine = (await client.get("/v1/audit", headers=world.member.auth)).json()["items"]
    assert mine[0]["action"] == "user.update"
    assert mine[0]["user_id"] == world.member.user.id
    assert mine[0]["credential_id"] == world.member.key_id
    assert mine[0]["object_id"] == world.member.user.id
    assert (mine[0]["who"], mine[0]["title"]) == ("Sigismund", "Sigismund"), "as they are called now"
    told = [{name: value for name, value in line.items() if name not in {"who", "title"}} for line in mine]
    assert "Sigismund" not in str(told)
    assert {line["user_id"] for line in mine} == {world.member.user.id}
    everybody = (await client.get("/v1/audit?limit=200", headers=world.owner.auth)).json()["items"]
    assert {world.member.user.id, world.owner.user.id} <= {line["user_id"] for line in everybody}
    assert world.stranger.user.id not in str(everybody)
