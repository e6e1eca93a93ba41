"""Plans: what the documents name is there, the operator edits it, and it holds at once."""

import json
from dataclasses import replace
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from capsules import CAPSULES, get, rows
from conftest import World, http
from keepstone.access import operator, plans
from keepstone.app import make_app
from keepstone.errors import Invalid
from keepstone.model.plan import Plan
from keepstone.services import Services
from keepstone.store.migrate import migrate
from live import Live

MB = 1024 * 1024
PLANS = "/x_console/api/plans"
OLGA = "olga@example.org"
NO_LIMITS = {
    "capacity_bytes": None, "monthly_queries": None, "monthly_credits": None, "key_per_minute": None,
    "account_per_minute": None,
}  # fmt: skip
LIMITS_OF_TEAM = NO_LIMITS | {"capacity_bytes": 20_000, "price": "€9 a month"}


async def test_the_plans_of_the_documents_are_there(console: httpx.AsyncClient) -> None:
    listed = (await console.get(PLANS)).json()["items"]
    assert [(one["name"], one["capacity_bytes"], one["price"]) for one in listed] == [
        ("free", 5 * MB, "$0"), ("pro", 50 * MB, "$10/mo"), ("max", 300 * MB, "$40/mo"), ("unlimited", None, None)
    ]  # fmt: skip
    assert all(one[name] is None for one in listed for name in NO_LIMITS if name != "capacity_bytes")


async def test_the_operator_makes_and_changes_plans_and_they_hold_at_once(
    app: FastAPI, services: Services, world: World
) -> None:
    await operator.set_allowance(services, OLGA, plan="team")
    await operator.set_allowance(services, "max@example.org", admin=True)
    async with http(app, headers=world.member.auth) as here, http(app, address="192.0.2.7") as away:
        assert (await get(here, world.owner.auth, "/v1/memory/usage"))["quota_bytes"] == 5 * MB, "not known: free"
        body = NO_LIMITS | {"capacity_bytes": 20_000, "key_per_minute": 100, "position": 9}
        made = await here.put(f"{PLANS}/team", json=body)
        assert made.status_code == 200
        assert made.json() == {"name": "team", "price": None, "monthly_tokens": None, **body}
        assert (await here.get(f"{PLANS}/team")).json() == made.json()
        assert (await here.get(PLANS)).json()["items"][-1] == made.json()
        assert (await get(here, world.owner.auth, "/v1/memory/usage"))["quota_bytes"] == 20_000
        too_much = await here.post(CAPSULES, headers=world.owner.auth, json={"content_md": "x" * 13_000})
        assert too_much.status_code == 429
        await here.put(f"{PLANS}/team", json=NO_LIMITS | {"capacity_bytes": 40_000})
        assert (await here.get(f"{PLANS}/team")).json()["position"] == 9, "it stays where it was"
        assert (await here.post(CAPSULES, headers=world.owner.auth, json={"content_md": "x" * 13_000})).is_success
        # Only an admin.
        for auth, status in ((dict[str, str](), 401), (world.owner.auth, 403), (world.service_auth, 403)):
            assert (await away.put(f"{PLANS}/team", headers=auth, json=body)).status_code == status
            assert (await away.get(PLANS, headers=auth)).status_code == status
            assert (await away.get(f"{PLANS}/team", headers=auth)).status_code == status
        await operator.set_allowance(services, "stan@elsewhere.example", admin=True)
        assert (await away.put(f"{PLANS}/team", headers=world.stranger.auth, json=body)).status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"capacity_bytes": -1}, {"monthly_queries": "many"}, {"key_per_minute": 0}, {"account_per_minute": 1.5},
        {"colour": "green"}, {"monthly_credits": 2**54}, {"price": ""}, {"price": 10}, {"price": "x" * 41},
    ],
)  # fmt: skip
async def test_a_plan_that_cant_be_is_refused(console: httpx.AsyncClient, change: dict[str, Any]) -> None:
    assert (await console.put(f"{PLANS}/pro", json=NO_LIMITS | change)).status_code == 422
    assert (await console.get(f"{PLANS}/pro")).json()["capacity_bytes"] == 50 * MB


async def test_everybody_sees_the_plans_that_have_a_price_and_nothing_else_of_them(
    app: FastAPI, services: Services, operator_auth: dict[str, str]
) -> None:
    async with http(app, headers=operator_auth) as here, http(app, address="192.0.2.7") as away:
        await here.put(f"{PLANS}/team", json=LIMITS_OF_TEAM | {"position": 2, "key_per_minute": 7})
        listed = await away.get("/v1/plans")
        assert listed.status_code == 200
        assert [one["name"] for one in listed.json()["items"]] == ["free", "pro", "team", "max"]
        assert listed.json()["items"][2] == {
            "name": "team", "price": "€9 a month", "capacity_bytes": 20_000, "monthly_queries": None,
            "monthly_credits": None, "monthly_tokens": None,
        }  # fmt: skip
        assert listed.json()["upgrade_url"] is None
        assert "s-maxage" in listed.headers["cache-control"]
        wrong = {"Authorization": "Bearer ck_wrong"}
        for _ in range(30):
            assert (await away.get("/v1/plans", headers=wrong)).status_code == 200, "no credential is looked at"
        # Left out, the price stays; null takes the plan off the page.
        await here.put(f"{PLANS}/team", json=NO_LIMITS)
        assert (await here.get(f"{PLANS}/team")).json()["price"] == "€9 a month"
        await here.put(f"{PLANS}/team", json=NO_LIMITS | {"price": None})
        assert [one["name"] for one in (await away.get("/v1/plans")).json()["items"]] == ["free", "pro", "max"]
    shop = "https://pay.example.org/plans"
    elsewhere = replace(services, settings=replace(services.settings, upgrade_url=shop))
    async with http(make_app(elsewhere)) as client:
        assert (await client.get("/v1/plans")).json()["upgrade_url"] == shop


async def test_the_first_plans_have_prices_until_somebody_changes_them(empty_database: str) -> None:
    await migrate(empty_database)
    known = await rows(empty_database, "SELECT name, price FROM plans ORDER BY position")
    assert known == [("free", "$0"), ("pro", "$10/mo"), ("max", "$40/mo"), ("unlimited", None)]
    async with await psycopg.AsyncConnection.connect(empty_database, autocommit=True) as conn:
        await conn.execute("SET keepstone.owner = 'on'")
        await conn.execute("UPDATE keepstone.plans SET price = NULL WHERE name = 'pro'")
        await conn.execute("UPDATE keepstone.schema_level SET repeatable = '{}'")
    assert await migrate(empty_database) != []
    assert (None,) in await rows(empty_database, "SELECT price FROM plans WHERE name = 'pro'"), "a choice, not a gap"


async def test_a_plan_needs_a_plain_name_and_all_of_its_limits(console: httpx.AsyncClient, services: Services) -> None:
    for name in ("Team", "a plan", "-x", "x" * 64, "caf\u00e9"):
        assert (await console.put(f"{PLANS}/{name}", json=NO_LIMITS)).status_code == 422
        with pytest.raises(Invalid):
            await plans.put_plan(services, Plan(name=name))
    assert (await console.put(f"{PLANS}/team", json={"capacity_bytes": 1})).status_code == 422
    assert (await console.get(f"{PLANS}/team")).status_code == 404


async def test_the_server_reads_plans_and_changes_them_through_one_function_alone(services: Services) -> None:
    async with services.db.unscoped() as conn:
        assert len(await (await conn.execute("SELECT name FROM plans")).fetchall()) == 4
        for statement in (
            "UPDATE plans SET capacity_bytes = NULL", "DELETE FROM plans", "INSERT INTO plans (name) VALUES ('mine')"
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                async with conn.transaction():
                    await conn.execute(statement)


async def test_a_refusal_sends_to_where_more_is_to_be_had(services: Services, world: World) -> None:
    await operator.set_allowance(services, OLGA, quota_bytes=1)
    body = {"content_md": "too much"}
    shop = "https://pay.example.org/plans"
    elsewhere = replace(services, settings=replace(services.settings, upgrade_url=shop))
    for server, address in ((services, f"{services.settings.base_url}/pricing"), (elsewhere, shop)):
        async with http(make_app(server)) as client:
            answer = await client.post(CAPSULES, headers=world.owner.auth, json=body)
            assert answer.json()["error"]["upgrade_url"] == address


def test_plans_on_the_command_line(live: Live) -> None:
    listed = json.loads(live.cli("plans", "list", "--json").stdout)
    assert {"free", "pro", "max", "unlimited"} <= {one["name"] for one in listed}
    assert "monthly_queries" in live.cli("plans", "list").stdout
    words = (
        "--capacity-mb",
        "10",
        "--queries",
        "1000",
        "--credits",
        "50",
        "--tokens",
        "70000",
        "--rate",
        "60",
        "--account-rate",
        "600",
    )
    made = json.loads(live.cli("plans", "set", "small-team", *words, "--json").stdout)
    assert made == {
        "name": "small-team", "capacity_bytes": 10 * MB, "monthly_queries": 1000, "monthly_credits": 50,
        "monthly_tokens": 70_000, "key_per_minute": 60, "account_per_minute": 600,
        "position": max(one["position"] for one in listed) + 1, "price": None,
    }  # fmt: skip
    changed = json.loads(live.cli("plans", "set", "small-team", "--rate", "none", "--queries", "0", "--json").stdout)
    assert changed == made | {"key_per_minute": None, "monthly_queries": 0}, "what is not named stays"
    for wrong in (
        ("small-team",),
        ("small-team", "--rate", "0"),
        ("small-team", "--queries", "-1"),
        ("A", "--rate", "1"),
        ("small-team", "--price", " "),
        ("small-team", "--price", "x" * 41),
    ):
        assert live.cli("plans", "set", *wrong).returncode != 0
    assert json.loads(live.cli("plans", "set", "small-team", "--position", "9", "--json").stdout)["position"] == 9
    priced = json.loads(live.cli("plans", "set", "small-team", "--price", "$5/mo", "--json").stdout)
    assert priced["price"] == "$5/mo"
    assert "$5/mo" in live.cli("plans", "list").stdout
    assert json.loads(live.cli("plans", "set", "small-team", "--price", "none", "--json").stdout)["price"] is None
