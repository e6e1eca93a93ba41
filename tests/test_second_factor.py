"""A second step at sign-in: codes of an app, each once, recovery codes, and who has to have it."""

import base64
import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from conftest import PASSWORD, Person, World, http
from keepstone.access import operator, second_factor, sessions
from keepstone.access.second_factor import STEP_SECONDS, code_at
from keepstone.app import make_app
from keepstone.errors import Invalid
from keepstone.services import Services
from keepstone.surfaces.http.qr import qr_grid, qr_svg

# RFC 6238, appendix B, of which six digits are asked for here.
RFC = b"12345678901234567890"


def code_of(secret: str, *, steps: int = 0) -> str:
    return code_at(base64.b32decode(secret), int(datetime.now(UTC).timestamp()) // STEP_SECONDS + steps)


async def enrol(client: httpx.AsyncClient, person: Person) -> tuple[str, list[str]]:
    """The secret and the recovery codes. The first code is one step old, so that the present one is still good."""
    made = await client.post("/auth/totp", headers=person.auth, json={"password": PASSWORD})
    assert made.status_code == 201, made.text
    secret = made.json()["secret"]
    done = await client.post("/auth/totp/confirm", headers=person.auth, json={"code": code_of(secret, steps=-1)})
    assert done.status_code == 200, done.text
    return secret, done.json()["recovery_codes"]


async def log_in(client: httpx.AsyncClient, **more: Any) -> httpx.Response:
    return await client.post("/auth/login", json={"email": "olga@example.org", "password": PASSWORD, **more})


@pytest.mark.parametrize(
    ("seconds", "code"),
    [(59, "287082"), (1111111109, "081804"), (1111111111, "050471"), (1234567890, "005924"), (20000000000, "353130")],
)
def test_codes_are_those_of_the_standard(seconds: int, code: str) -> None:
    assert code_at(RFC, seconds // STEP_SECONDS) == code


def test_the_picture_is_the_one_that_others_draw() -> None:
    def drawn(text: str) -> str:
        return hashlib.sha256("".join("01"[bool(cell)] for row in qr_grid(text) for cell in row).encode()).hexdigest()

    # As the package qrcode draws them, with level L and mask 0: of versions 5 and 9.
    uri = "otpauth://totp/Keepstone:owner@localhost?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Keepstone"
    assert drawn(uri) == "4b25d0cc17c8fabafda8b9dfe929cb05df2e292d679328de6f64f5ace75b35ef"
    assert drawn("x" * 200) == "cfe4fcc3cbfb75bae459f5b5755931f4e90efa22627918ac07302a383974300e"
    assert qr_svg(uri).startswith("<svg ")


async def test_without_one_signing_in_is_as_before(client: httpx.AsyncClient, world: World) -> None:
    assert (await client.get("/auth/totp", headers=world.owner.auth)).json() == {
        "enabled": False,
        "recovery_codes_left": 0,
    }
    await client.post("/auth/totp", headers=world.owner.auth, json={"password": PASSWORD})
    assert (await log_in(client)).status_code == 200, "what was not confirmed is not asked for"


async def test_signing_in_asks_for_a_code_and_takes_each_once(client: httpx.AsyncClient, world: World) -> None:
    secret, _ = await enrol(client, world.owner)
    asked = await log_in(client)
    assert (asked.status_code, asked.json()["error"]["code"]) == (401, "totp_required")
    assert "set-cookie" not in asked.headers
    code = code_of(secret)
    assert (await log_in(client, code=code)).status_code == 200
    assert (await client.get("/v1/me")).json()["user"]["has_totp"] is True
    again = await log_in(client, code=code)
    assert (again.status_code, again.json()["error"]["code"]) == (401, "totp_wrong")
    older = await log_in(client, code=code_of(secret, steps=-1))
    assert older.status_code == 401, "the one before it counts no more either"
    assert (await log_in(client, password="wrong", code=code)).json()["error"]["code"] == "UNAUTHORIZED"


async def test_a_recovery_code_signs_in_once(client: httpx.AsyncClient, world: World) -> None:
    _, recovery = await enrol(client, world.owner)
    assert len(set(recovery)) == 10
    assert (await log_in(client, code=recovery[3].upper())).status_code == 200
    assert (await log_in(client, code=recovery[3])).status_code == 401
    state = (await client.get("/auth/totp", headers=world.owner.auth)).json()
    assert state == {"enabled": True, "recovery_codes_left": 9}


async def test_guessing_codes_gets_slower_and_the_right_one_waits_too(client: httpx.AsyncClient, world: World) -> None:
    secret, _ = await enrol(client, world.owner)
    answers = [(await log_in(client, code="000000")).status_code for _ in range(5)]
    assert answers == [401] * 5
    refused = await log_in(client, code=code_of(secret))
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1


async def test_it_is_set_up_and_turned_off_with_the_password_alone_never(
    client: httpx.AsyncClient, world: World
) -> None:
    owner = world.owner.auth
    assert (await client.post("/auth/totp", headers=owner, json={"password": "wrong"})).status_code == 400
    assert (await client.post("/auth/totp/confirm", headers=owner, json={"code": "123456"})).status_code == 404
    secret, _ = await enrol(client, world.owner)
    assert (await client.post("/auth/totp", headers=owner, json={"password": PASSWORD})).status_code == 409
    for body in (
        {"password": PASSWORD, "code": "000000"},
        {"password": "wrong", "code": code_of(secret)},
    ):
        assert (await client.post("/auth/totp/disable", headers=owner, json=body)).status_code == 400
    body = {"password": PASSWORD, "code": code_of(secret)}
    assert (await client.post("/auth/totp/disable", headers=owner, json=body)).status_code == 204
    assert (await log_in(client)).status_code == 200


async def test_neither_secret_nor_recovery_codes_lie_open_in_the_database(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    secret, recovery = await enrol(client, world.owner)
    async with await psycopg.AsyncConnection.connect(database) as conn:
        rows = str(await (await conn.execute("SELECT f::text FROM keepstone.second_factors f")).fetchall())
    assert base64.b32decode(secret).hex() not in rows
    assert all(code.replace("-", "").encode().hex() not in rows for code in recovery)


async def test_the_operator_takes_it_away(client: httpx.AsyncClient, services: Services, world: World) -> None:
    await enrol(client, world.owner)
    principal, user = await operator.principal_for(services, "olga@example.org")
    await second_factor.reset(services, principal, user.id)
    assert (await log_in(client)).status_code == 200


async def test_a_clock_may_be_one_step_wrong_and_no_more(services: Services, world: World) -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    services = replace(services, clock=lambda: at)
    made = await second_factor.enrol(services, world.owner.principal, password=PASSWORD)
    step = int(at.timestamp()) // STEP_SECONDS
    for wrong in (-2, 2):
        code = code_at(base64.b32decode(made.secret), step + wrong)
        with pytest.raises(Invalid):
            await second_factor.confirm(services, world.owner.principal, code=code)
    await second_factor.confirm(services, world.owner.principal, code=code_at(base64.b32decode(made.secret), step + 1))


async def test_the_login_page_asks_in_a_second_step(client: httpx.AsyncClient, world: World) -> None:
    secret, _ = await enrol(client, world.owner)
    first = await client.post("/login", data={"email": "olga@example.org", "password": PASSWORD, "next": "/docs"})
    assert 'autocomplete="one-time-code"' in first.text
    assert PASSWORD not in first.text
    assert "set-cookie" not in first.headers
    ticket = first.text.split('name="ticket" value="')[1].split('"')[0]
    as_token = await client.get("/v1/me", headers={"Authorization": f"Bearer {ticket}"})
    assert as_token.status_code == 401, "it opens nothing by itself"
    wrong = await client.post("/login", data={"ticket": ticket, "code": "000000", "next": "/docs"})
    assert "This code is not right" in wrong.text
    right = await client.post("/login", data={"ticket": ticket, "code": code_of(secret), "next": "/docs"})
    assert (right.status_code, right.headers["location"]) == (303, "/docs")
    assert right.headers["set-cookie"].startswith("session=cs_")
    forged = await client.post("/login", data={"ticket": "x.y.z", "code": code_of(secret)})
    assert forged.headers["location"].endswith("fault=late")


async def test_where_it_is_required_an_owner_without_it_can_only_set_it_up(services: Services, world: World) -> None:
    services = replace(services, settings=replace(services.settings, require_totp=True))
    async with http(make_app(services)) as client:
        await log_in(client)
        refused = await client.get("/v1/memory/capsules")
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "totp_enrolment_required")
        token = (await client.post("/auth/token")).json()["token"]
        by_token = await client.get("/v1/memory/capsules", headers={"Authorization": f"Bearer {token}"})
        assert by_token.status_code == 403
        assert (await client.get("/v1/me")).status_code == 200
        made = (await client.post("/auth/totp", json={"password": PASSWORD})).json()
        done = await client.post("/auth/totp/confirm", json={"code": code_of(made["secret"])})
        assert done.status_code == 200
        assert (await client.get("/v1/memory/capsules")).status_code == 200
    async with http(make_app(services)) as client:
        await client.post("/auth/login", json={"email": "max@example.org", "password": PASSWORD})
        assert (await client.get("/v1/memory/capsules")).status_code == 200, "a member need not"
        assert (await client.get("/v1/me", headers=world.owner.auth)).status_code == 200, "a key is a key"


async def test_a_login_that_is_not_used_ends_and_one_that_is_goes_on_to_its_end(
    services: Services, world: World, database: str
) -> None:
    async def seen(idle_days: int, age_days: int) -> tuple[int, timedelta]:
        """What it answers after it was idle for so long, and for how long it is good then."""
        browser = sessions.Browser(address="192.0.2.1", user_agent=None)
        login = await sessions.log_in(services, email="max@example.org", password=PASSWORD, browser=browser)
        async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
            await conn.execute(
                """
                UPDATE keepstone.sessions
                   SET created_at = now() - make_interval(days => %(age)s),
                       last_used_at = timezone('UTC', timezone('UTC', last_used_at) - make_interval(days => %(idle)s)),
                       expires_at = timezone('UTC', timezone('UTC', expires_at) - make_interval(days => %(idle)s))
                 WHERE prefix = %(prefix)s
                """,
                {"age": age_days, "idle": idle_days, "prefix": login.token[3:15]},
            )
            async with http(make_app(services)) as client:
                answer = await client.get("/v1/me", headers={"Cookie": f"session={login.token}"})
            rest = await conn.execute(
                "SELECT expires_at - now() FROM keepstone.sessions WHERE prefix = %(prefix)s",
                {"prefix": login.token[3:15]},
            )
            return answer.status_code, (await rest.fetchone() or [timedelta()])[0]

    assert (await seen(13, 13))[0] == 200
    assert (await seen(15, 15))[0] == 401
    status, left = await seen(5, 20)
    assert status == 200
    assert timedelta(days=9) < left < timedelta(days=11), "thirty days after it began it ends, however used"


async def test_all_other_logins_are_ended_at_once(client: httpx.AsyncClient, services: Services, world: World) -> None:
    browser = sessions.Browser(address="192.0.2.1", user_agent=None)
    other = await sessions.log_in(services, email="olga@example.org", password=PASSWORD, browser=browser)
    await log_in(client)
    assert (await client.delete("/v1/sessions")).status_code == 204
    assert len((await client.get("/v1/sessions")).json()["items"]) == 1
    async with http(make_app(services)) as stale:
        assert (await stale.get("/v1/me", headers={"Cookie": f"session={other.token}"})).status_code == 401
