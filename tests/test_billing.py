"""The payment system's address: only the signed, only once, all or nothing."""

import asyncio
import hashlib
import hmac
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from capsules import audited, rows
from conftest import Person, World, http
from keepstone.access import operator, plans
from keepstone.access.billing import check_signature, sign
from keepstone.app import make_app
from keepstone.errors import Unauthenticated
from keepstone.model.plan import Plan
from keepstone.services import Services

SECRET = "a-secret-that-two-servers-share-0123456789"
WEBHOOK = "/v1/billing/webhook"
NOW = datetime(2026, 7, 15, 12, 0, tzinfo=UTC)
OLGA = "olga@example.org"
DOC = Path(__file__).parent.parent / "docs" / "meter.md"


@pytest.fixture
def paid(services: Services) -> Services:
    """A server that a payment system may talk to, at a time that stands still."""
    return replace(services, settings=replace(services.settings, billing_secret=SECRET), clock=lambda: NOW)


def event(person: Person, **more: Any) -> dict[str, Any]:
    return {"id": "evt_1", "type": "account.updated", "account_id": person.principal.account_id, **more}


async def send(
    client: httpx.AsyncClient, body: Any, *, secret: str = SECRET, late: int = 0, signature: str | None = None
) -> httpx.Response:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    signed = sign(secret, int(NOW.timestamp()) - late, raw) if signature is None else signature
    return await client.post(WEBHOOK, content=raw, headers={b"Keepstone-Signature": signed.encode()})


async def has(database: str, person: Person) -> tuple[str, int | None]:
    query = "SELECT plan, credits FROM accounts WHERE account = %s"
    ((plan, left),) = await rows(database, query, [person.user.account])
    return plan, left


async def test_an_event_sets_plan_and_credits_once(paid: Services, world: World, database: str) -> None:
    async with http(make_app(paid), address="192.0.2.7") as client:
        body = event(world.owner, plan="pro", credits=1000)
        first = await send(client, body)
        assert (first.status_code, first.json()) == (200, {"id": "evt_1", "applied": True})
        assert await has(database, world.owner) == ("pro", 1000)
        await operator.set_allowance(paid, OLGA, credit_count=7)
        for late in (0, 10, 300, -300):
            again = await send(client, body, late=late)
            assert (again.status_code, again.json()) == (200, {"id": "evt_1", "applied": False})
        assert await has(database, world.owner) == ("pro", 7), "the same event again changes nothing"
        assert (await send(client, event(world.owner, id="evt_2", add_credits=500))).json()["applied"] is True
        assert await has(database, world.owner) == ("pro", 507)
        assert (await send(client, event(world.owner, id="evt_3", plan="max"))).json()["applied"] is True
        assert await has(database, world.owner) == ("max", 507)
        assert await has(database, world.stranger) == ("unlimited", None), "nobody else's"
        (line, *_) = await audited(client, world.owner.auth, "account.billing")
        assert line["via"] == "webhook"


async def test_credits_that_are_not_counted_stay_so_when_some_are_added(
    paid: Services, world: World, database: str
) -> None:
    await plans.put_plan(paid, Plan(name="monthly", monthly_credits=100))
    async with http(make_app(paid)) as client:
        await send(client, event(world.owner, add_credits=5))
        assert await has(database, world.owner) == ("unlimited", None)
        await send(client, event(world.owner, id="evt_2", plan="monthly", add_credits=5))
        assert await has(database, world.owner) == ("monthly", 105), "the plan's, and those that were bought"


async def test_of_many_deliveries_at_once_one_counts(paid: Services, world: World, database: str) -> None:
    await operator.set_allowance(paid, OLGA, credit_count=0)
    async with http(make_app(paid)) as client:
        body = event(world.owner, add_credits=10)
        answers = await asyncio.gather(*(send(client, body) for _ in range(20)))
        assert [answer.status_code for answer in answers] == [200] * 20
        assert sum(answer.json()["applied"] for answer in answers) == 1
        others = [event(world.owner, id=f"evt_a{number}", add_credits=1) for number in range(20)]
        await asyncio.gather(*(send(client, one) for one in others))
    assert await has(database, world.owner) == ("unlimited", 30)


async def test_nothing_is_done_for_who_does_not_know_the_secret(paid: Services, world: World, database: str) -> None:
    body = json.dumps(event(world.owner, plan="max", credits=10**6)).encode()
    at = int(NOW.timestamp())
    good = hmac.new(SECRET.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    bare = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    async with http(make_app(paid)) as client:
        for signature in (
            "", "nonsense", f"t={at}", f"v1={good}", f"t={at},v1=", f"t={at},v1={bare}", f"t={at + 1},v1={good}",
            f"t={at},v0={good}", f"t={at},t={at},v1={good}", f"t=-{at},v1={good}", f"t={'9' * 40},v1={good}",
            f"t={at},v1={good[:-1]}", f"t={at},v1={good}\u00e9",
        ):  # fmt: skip
            refused = await send(client, body, signature=signature)
            assert refused.status_code == 401, signature
            assert good not in refused.text
        assert (await send(client, body, secret="another-secret-of-the-same-length-01234")).status_code == 401
        for late in (301, -301, 86_400):
            assert (await send(client, body, late=late)).status_code == 401, "too old, or from the future"
        changed = body.replace(b"1000000", b"2000000")
        assert (await send(client, changed, signature=f"t={at},v1={good}")).status_code == 401
        headers = world.owner.auth | {"Keepstone-Signature": "t=1,v1=x"}
        assert (await client.post(WEBHOOK, content=body, headers=headers)).status_code == 401, "a key is no signature"
        assert await has(database, world.owner) == ("unlimited", None)
        rotated = f"t={at}, v1={'0' * 64}, v1={good}"
        assert (await send(client, body, signature=rotated)).status_code == 200, (
            "one of several, while a secret changes"
        )


async def test_without_a_secret_there_is_no_such_address(client: httpx.AsyncClient, world: World) -> None:
    answer = await send(client, event(world.owner, credits=5))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"type": "account.deleted"}, 422), ({"credits": -1}, 422), ({"add_credits": 0}, 422), ({"credits": 1.5}, 422),
        ({"id": ""}, 422), ({"id": "x" * 256}, 422), ({"id": "nul\0"}, 422), ({"plan": "No Such"}, 422),
        ({"colour": "green"}, 422), ({"plan": "platinum"}, 404), ({"account_id": "acct_" + "0" * 24}, 404),
        ({"account_id": "acct_1"}, 404), ({"credits": 1, "add_credits": 1}, 400), ({"credits": 2**54}, 422),
    ],
)  # fmt: skip
async def test_an_event_that_cant_be_done_is_not_done_at_all(
    paid: Services, world: World, database: str, change: dict[str, Any], status: int
) -> None:
    async with http(make_app(paid)) as client:
        refused = await send(client, event(world.owner, plan="pro") | change)
        assert refused.status_code == status, refused.text
        assert await has(database, world.owner) == ("unlimited", None)
        for raw in (b"", b"[]", b"{", b"\xff"):
            assert (await send(client, raw)).status_code == 422
        good = await send(client, event(world.owner, plan="pro", credits=3))
        assert good.json()["applied"] is True, "its id was not used up"


def test_the_signature_of_the_documentation_is_right(paid: Services) -> None:
    page = DOC.read_text()
    secret, at, body, signature = (
        re.search(pattern, page)
        for pattern in (
            r"secret `([^`]+)`", r"at\s`(\d+)`", r"```json\n(\{\"id\": \"evt_.*?\})\n```",
            r"Keepstone-Signature: (t=\S+)"
        )
    )  # fmt: skip
    assert secret
    assert at
    assert body
    assert signature
    assert sign(secret[1], int(at[1]), body[1].encode()) == signature[1]
    there = replace(
        paid,
        settings=replace(paid.settings, billing_secret=secret[1]),
        clock=lambda: datetime.fromtimestamp(int(at[1]), UTC),
    )
    check_signature(there, signature[1], body[1].encode())
    with pytest.raises(Unauthenticated):
        check_signature(there, signature[1], body[1].encode() + b" ")
