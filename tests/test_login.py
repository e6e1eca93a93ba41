"""Signing in: password, cookie, one-time link, tokens of our own and of a foreign issuer."""

import asyncio
import base64
import json
from collections.abc import Generator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi import FastAPI
from jwt.algorithms import RSAAlgorithm

from conftest import PASSWORD, World, http, make_person
from fakes import Ticks
from keepstone.access import guesses, operator, sessions
from keepstone.app import make_app, server_config
from keepstone.model.ids import random_text
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.throttle import Throttle
from servers import LocalServer


def cookie(token: str) -> dict[str, str]:
    return {"Cookie": f"session={token}"}


async def log_in(client: httpx.AsyncClient, email: str, password: str = PASSWORD) -> httpx.Response:
    return await client.post("/auth/login", json={"email": email, "password": password})


async def test_a_login_sets_a_cookie_that_scripts_cant_read(client: httpx.AsyncClient, world: World) -> None:
    answer = await log_in(client, "Max@Example.org")
    assert answer.status_code == 200
    assert answer.json()["user"]["email"] == "max@example.org"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("session=cs_")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/" in cookie
    assert "Secure" not in cookie
    assert (await client.get("/v1/me")).json()["via"] == "session"


async def test_under_tls_the_cookie_is_secure(services: Services, world: World) -> None:
    async with http(make_app(services), headers={"Host": "127.0.0.1"}) as client:
        client.base_url = httpx.URL("https://127.0.0.1")
        assert "Secure" in (await log_in(client, "max@example.org")).headers["set-cookie"]
    behind_proxy = replace(services.settings, public_url="https://keepstone.example.org")
    async with http(make_app(replace(services, settings=behind_proxy))) as client:
        assert "Secure" in (await log_in(client, "max@example.org")).headers["set-cookie"]


@pytest.mark.parametrize(("email", "password"), [("max@example.org", "wrong"), ("nobody@example.org", PASSWORD)])
async def test_a_wrong_login_does_not_say_what_was_wrong(
    client: httpx.AsyncClient, world: World, email: str, password: str
) -> None:
    answer = await log_in(client, email, password)
    assert answer.status_code == 401
    assert answer.json()["error"]["message"] == "E-mail address or password is wrong."
    assert "set-cookie" not in answer.headers


async def test_guessing_a_password_gets_slower_and_even_the_right_one_waits(
    client: httpx.AsyncClient, world: World
) -> None:
    for _ in range(5):
        assert (await log_in(client, "max@example.org", "wrong")).status_code == 401
    refused = await log_in(client, "max@example.org")
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert (await log_in(client, "olga@example.org")).status_code == 200, "somebody else is not affected"


async def test_guessing_in_parallel_gains_nothing(client: httpx.AsyncClient, world: World) -> None:
    answers = await asyncio.gather(*(log_in(client, "max@example.org", f"guess {n}") for n in range(20)))
    assert sum(answer.status_code == 401 for answer in answers) <= 5
    assert sum(answer.status_code == 429 for answer in answers) >= 15


async def test_logging_out_ends_the_session_for_good(client: httpx.AsyncClient, world: World) -> None:
    await log_in(client, "max@example.org")
    stolen = client.cookies["session"]
    assert (await client.post("/auth/logout")).status_code == 204
    assert (await client.get("/v1/me", headers=cookie(stolen))).status_code == 401
    assert (await client.post("/auth/logout")).status_code == 204, "twice is no fault"


async def test_a_session_can_be_ended_from_another(client: httpx.AsyncClient, world: World) -> None:
    await log_in(client, "max@example.org")
    first = client.cookies["session"]
    client.cookies.clear()
    await log_in(client, "max@example.org")
    listed = (await client.get("/v1/sessions")).json()["items"]
    assert [one["current"] for one in listed] == [True, False], "the newest first"
    assert (await client.delete(f"/v1/sessions/{listed[-1]['id']}")).status_code == 204
    assert (await client.get("/v1/me")).status_code == 200
    client.cookies.clear()
    assert (await client.get("/v1/me", headers=cookie(first))).status_code == 401


async def test_a_session_expires(client: httpx.AsyncClient, services: Services, world: World) -> None:
    past = replace(services, clock=lambda: datetime.now(UTC) - timedelta(days=31))
    browser = sessions.Browser(address="127.0.0.1", user_agent=None)
    made = await sessions.log_in(past, email="max@example.org", password=PASSWORD, browser=browser)
    assert (await client.get("/v1/me", headers=cookie(made.token))).status_code == 401


async def test_a_one_time_link_works_once(client: httpx.AsyncClient, services: Services, world: World) -> None:
    _, user = await operator.principal_for(services, "max@example.org")
    link = f"/auth/once/{await sessions.make_link(services, user)}"
    answers = await asyncio.gather(*(client.get(link) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [303, 404, 404, 404, 404]
    used = next(answer for answer in answers if answer.status_code == 303)
    assert used.headers["location"] == "/"
    me = await client.get("/v1/me", headers=cookie(used.cookies["session"]))
    assert me.json()["user"]["email"] == "max@example.org"


async def test_a_new_link_replaces_the_old_one(client: httpx.AsyncClient, services: Services, world: World) -> None:
    _, user = await operator.principal_for(services, "max@example.org")
    old, new = [await sessions.make_link(services, user) for _ in range(2)]
    assert (await client.get(f"/auth/once/{old}")).status_code == 404
    assert (await client.get(f"/auth/once/{new}")).status_code == 303


async def test_an_old_link_is_over(client: httpx.AsyncClient, services: Services, world: World) -> None:
    past = replace(services, clock=lambda: datetime.now(UTC) - timedelta(hours=25))
    _, user = await operator.principal_for(services, "max@example.org")
    assert (await client.get(f"/auth/once/{await sessions.make_link(past, user)}")).status_code == 404


async def test_changing_the_password_needs_the_old_one_and_ends_other_sessions(
    client: httpx.AsyncClient, world: World
) -> None:
    await log_in(client, "max@example.org")
    elsewhere = client.cookies["session"]
    client.cookies.clear()
    await log_in(client, "max@example.org")
    new = "another long passphrase"
    assert (await client.post("/auth/password", json={"new": new})).status_code == 400
    wrong = await client.post("/auth/password", json={"current": "wrong", "new": new})
    assert wrong.status_code == 400
    assert (await client.post("/auth/password", json={"current": PASSWORD, "new": "short"})).status_code == 422
    assert (await client.post("/auth/password", json={"current": PASSWORD, "new": new})).status_code == 204
    assert (await client.get("/v1/me")).status_code == 200
    client.cookies.clear()
    assert (await client.get("/v1/me", headers=cookie(elsewhere))).status_code == 401
    client.cookies.clear()
    assert (await log_in(client, "max@example.org")).status_code == 401
    assert (await log_in(client, "max@example.org", new)).status_code == 200


async def test_a_form_on_another_site_cant_use_the_cookie(client: httpx.AsyncClient, world: World) -> None:
    await log_in(client, "max@example.org")
    body = {"name": "stolen"}
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9999", "http://[", "127.0.0.1:8420"):
        answer = await client.post("/v1/keys", json=body, headers={"Origin": origin})
        assert answer.status_code == 403
    assert (await client.post("/v1/keys", json=body, headers={"Origin": "http://127.0.0.1:8420"})).status_code == 201
    assert (await client.post("/v1/keys", json=body)).status_code == 201, "curl sends no Origin"


async def test_a_token_speaks_for_its_user(client: httpx.AsyncClient, world: World) -> None:
    made = (await client.post("/auth/token", headers=world.member.auth)).json()
    assert made["token_type"] == "Bearer"
    assert made["expires_in"] == 3600
    me = (await client.get("/v1/me", headers={"Authorization": f"Bearer {made['token']}"})).json()
    assert (me["user"]["id"], me["via"]) == (world.member.user.id, "jwt")


async def test_a_token_dies_with_the_key_it_was_minted_with(client: httpx.AsyncClient, world: World) -> None:
    key = (await client.post("/v1/keys", headers=world.member.auth, json={"name": "phone"})).json()
    token = (await client.post("/auth/token", headers={"Authorization": f"Bearer {key['key']}"})).json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert (await client.get("/v1/me", headers=headers)).status_code == 200
    await client.delete(f"/v1/keys/{key['id']}", headers=world.member.auth)
    assert (await client.get("/v1/me", headers=headers)).status_code == 401


async def test_a_service_key_mints_a_token_for_the_user_it_names(client: httpx.AsyncClient, world: World) -> None:
    assert (await client.post("/auth/token", headers=world.service_auth)).status_code == 400
    headers = {**world.service_auth, "X-Keepstone-User": world.member.user.email}
    token = (await client.post("/auth/token", headers=headers)).json()["token"]
    me = (await client.get("/v1/me", headers={"Authorization": f"Bearer {token}"})).json()
    assert me["user"]["id"] == world.member.user.id


def claims(user: str, **changes: Any) -> dict[str, Any]:
    good = {
        "iss": "keepstone",
        "aud": "keepstone",
        "sub": user,
        "cid": "key_" + "a" * 24,
        "exp": datetime.now(UTC) + timedelta(hours=1),
    }
    return {name: value for name, value in (good | changes).items() if value is not None}


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": datetime(2020, 1, 1, tzinfo=UTC)},
        {"exp": None},
        {"aud": "somebody else"},
        {"aud": None},
        {"iss": "https://unknown.example"},
        {"iss": None},
        {"sub": "usr_" + "z" * 24},
        {"sub": None},
        {"cid": "key_" + "z" * 24},
        {"cid": None},
    ],
    ids=str,
)
async def test_a_token_with_a_wrong_claim_is_401(
    client: httpx.AsyncClient, services: Services, world: World, changes: dict[str, Any]
) -> None:
    text = jwt.encode(
        claims(world.member.user.id, **({"cid": world.member.key_id} | changes)), services.jwt_secret, "HS256"
    )
    assert (await client.get("/v1/me", headers={"Authorization": f"Bearer {text}"})).status_code == 401


async def test_a_token_signed_by_anything_else_is_401(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    good = claims(world.member.user.id, cid=world.member.key_id)
    accepted = jwt.encode(good, services.jwt_secret, "HS256")
    assert (await client.get("/v1/me", headers={"Authorization": f"Bearer {accepted}"})).status_code == 200
    forged = [
        jwt.encode(good, "x" * 48, "HS256"),
        jwt.encode(good, services.jwt_secret + services.jwt_secret, "HS512"),
        jwt.encode(good, "", "none"),
    ]
    for text in forged:
        assert (await client.get("/v1/me", headers={"Authorization": f"Bearer {text}"})).status_code == 401


class Issuer:
    """A foreign issuer: a key pair, and a server that publishes the public half."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public: dict[str, Any] = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        body = json.dumps({"keys": [public | {"kid": "one", "use": "sig", "alg": "RS256"}]}).encode()
        self._server = LocalServer(lambda path, sent: (200, body))
        self.url = self._server.url

    def token(self, **changes: Any) -> str:
        good = {"iss": self.url, "aud": "keepstone-prod", "sub": "u-17", "exp": datetime.now(UTC) + timedelta(hours=1)}
        body = {name: value for name, value in (good | changes).items() if value is not None}
        return jwt.encode(body, self.key, "RS256", headers={"kid": "one"})

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture
def issuer() -> Generator[Issuer]:
    made = Issuer()
    yield made
    made.stop()


def knowing_issuer(services: Services, issuer: Issuer, name: str | None = None) -> Services:
    """The same, for whom this issuer is good; under another `name` it is another issuer with the same keys."""
    settings = replace(
        services.settings, oidc_issuer=name or issuer.url, oidc_jwks_url=issuer.url + "/jwks",
        oidc_audience="keepstone-prod",
    )  # fmt: skip
    return replace(services, settings=settings, jwks=jwt.PyJWKClient(settings.oidc_jwks_url or ""), throttle=Throttle())


def of_issuer(issuer: Issuer, **claims: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {issuer.token(**claims)}"}


async def test_the_first_subject_with_a_verified_address_is_the_only_one_from_then_on(
    services: Services, world: World, issuer: Issuer
) -> None:
    olga = {"email": "olga@example.org", "email_verified": True}
    async with http(make_app(knowing_issuer(services, issuer))) as client:
        for claims, status in (
            (olga | {"sub": "u-1"}, 200),
            (olga | {"sub": "u-2"}, 401),  # the same address, given to somebody else
            ({"sub": "u-1"}, 200),
            (olga | {"sub": "u-17"}, 401),
        ):
            answer = await client.get("/v1/me", headers=of_issuer(issuer, **claims))
            assert answer.status_code == status, claims
        lines = (await client.get("/v1/audit", headers=world.owner.auth)).json()["items"]
        assert [line["object_id"] for line in lines if line["action"] == "user.bind"] == [world.owner.user.id]
    elsewhere = "https://other.example"
    async with http(make_app(knowing_issuer(services, issuer, elsewhere))) as client:
        for claims in ({"sub": "u-1"}, olga | {"sub": "u-1"}):
            answer = await client.get("/v1/me", headers=of_issuer(issuer, iss=elsewhere, **claims))
            assert answer.status_code == 401, "another issuer's u-1 is somebody else"


async def test_of_two_subjects_that_come_first_at_once_one_is_let_in(
    services: Services, world: World, issuer: Issuer
) -> None:
    olga = {"email": "olga@example.org", "email_verified": True}
    async with http(make_app(knowing_issuer(services, issuer))) as client:
        answers = await asyncio.gather(
            *(client.get("/v1/me", headers=of_issuer(issuer, sub=f"u-{number}", **olga)) for number in range(4))
        )
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401]


async def test_an_owner_who_adds_anothers_address_does_not_get_what_they_keep_until_they_accept(
    services: Services, world: World, issuer: Issuer
) -> None:
    vera = {"sub": "u-5", "email": "vera@example.org", "email_verified": True}
    async with http(make_app(knowing_issuer(services, issuer))) as client:
        body = {"email": "vera@example.org", "password": "a password of the owner's"}
        assert (await client.post("/v1/users", headers=world.owner.auth, json=body)).status_code == 201
        assert (await client.post("/auth/login", json=body)).is_success, "which shows no wish of vera's"
        client.cookies.clear()
        refused = await client.get("/v1/me", headers=of_issuer(issuer, **vera))
        account = world.owner.principal.account_id
        assert refused.status_code == 401
        assert account in refused.json()["error"]["message"]

        async def accept(account_id: str, **claims: Any) -> int:
            place = {"account_id": account_id}
            return (await client.post("/auth/accept", headers=of_issuer(issuer, **claims), json=place)).status_code

        assert await accept(world.stranger.principal.account_id, **vera) == 404
        assert await accept(account, **vera | {"email_verified": False}) == 404
        assert await accept(account, **vera | {"aud": "another service"}) == 401
        assert (await client.post("/auth/accept", json={"account_id": account})).status_code == 401
        owners = await client.post("/auth/accept", headers=world.owner.auth, json={"account_id": account})
        assert owners.status_code == 401
        assert (await client.get("/v1/me", headers=of_issuer(issuer, **vera))).status_code == 401
        assert await accept(account, **vera) == 200
        assert await accept(account, **vera) == 404, "it is hers already"
        assert (await client.get("/v1/me", headers=of_issuer(issuer, **vera))).json()["user"]["email"] == vera["email"]
        assert (await client.get("/v1/me", headers=of_issuer(issuer, **vera | {"sub": "u-6"}))).status_code == 401


async def test_a_foreign_issuers_token_is_checked_in_every_respect(
    services: Services, world: World, issuer: Issuer
) -> None:
    known = knowing_issuer(services, issuer)
    await operator.set_allowance(services, "max@example.org", subject="u-17")

    async with http(make_app(known)) as client:

        async def status(**changes: Any) -> int:
            headers = {"Authorization": f"Bearer {issuer.token(**changes)}"}
            return (await client.get("/v1/me", headers=headers)).status_code

        me = await client.get("/v1/me", headers={"Authorization": f"Bearer {issuer.token()}"})
        assert me.json()["user"]["email"] == "max@example.org"
        assert await status(sub="u-99") == 401
        assert await status(sub="u-99", email="olga@example.org", email_verified=False) == 401
        assert await status(sub="u-99", email="olga@example.org") == 401
        assert await status(sub="u-\0") == 401
        assert await status(sub="u" * 256) == 401
        assert await status(aud="another service") == 401
        assert await status(aud=None) == 401
        assert await status(exp=datetime(2020, 1, 1, tzinfo=UTC)) == 401
        assert await status(iss="https://unknown.example") == 401
        public = issuer.key.public_key().public_numbers().n.to_bytes(256, "big")
        confused = jwt.encode(
            {"iss": issuer.url, "aud": "keepstone-prod", "sub": "u-17", "exp": datetime.now(UTC) + timedelta(hours=1)},
            public,
            "HS256",
            headers={"kid": "one"},
        )
        assert (await client.get("/v1/me", headers={"Authorization": f"Bearer {confused}"})).status_code == 401

    async with http(make_app(services)) as client:
        headers = {"Authorization": f"Bearer {issuer.token()}"}
        assert (await client.get("/v1/me", headers=headers)).status_code == 401, "no issuer is configured"


async def test_the_login_page_works_without_script(client: httpx.AsyncClient, world: World) -> None:
    start = await client.get("/")
    assert (start.status_code, start.headers["location"]) == (303, "/login?next=%2Fdashboard%2Frecall")
    page = await client.get("/login", params={"next": "/docs"})
    assert page.headers["content-type"].startswith("text/html")
    assert 'value="/docs"' in page.text
    form = {"email": "max@example.org", "password": "wrong", "next": "/docs"}
    refused = await client.post("/login", data=form)
    assert refused.headers["location"] == "/login?next=%2Fdocs&fault=wrong"
    assert "password is wrong" in (await client.get(refused.headers["location"])).text
    accepted = await client.post("/login", data=form | {"password": PASSWORD})
    assert (accepted.status_code, accepted.headers["location"]) == (303, "/docs")
    assert (await client.get("/")).headers["location"] == "/dashboard/recall"
    assert (await client.post("/logout")).headers["location"] == "/login"
    assert (await client.get("/")).headers["location"].startswith("/login?")


async def test_the_login_page_speaks_the_browsers_language(client: httpx.AsyncClient) -> None:
    for asked, lang, title in (
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh", "登录 Keepstone"), ("en-GB,zh;q=0.5", "en", "Sign in to Keepstone"),
        ("", "en", "Sign in to Keepstone"), ("<script>", "en", "Sign in to Keepstone"),
    ):  # fmt: skip
        page = await client.get("/login", headers={"Accept-Language": asked})
        assert f'<html lang="{lang}">' in page.text
        assert f"<h1>{title}</h1>" in page.text
        assert page.headers["vary"] == "accept-language"


async def test_a_link_that_is_over_is_explained_to_a_browser(client: httpx.AsyncClient) -> None:
    link = "/auth/once/" + "a" * 52
    shown = await client.get(link, headers={"Accept": "text/html,*/*;q=0.8", "Accept-Language": "zh"})
    assert (shown.status_code, shown.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "keepstone login-link" in shown.text
    assert "一次性链接" in shown.text
    assert (await client.get(link)).json()["error"]["code"] == "not_found"


@pytest.mark.parametrize("email", ["", "\0", "max@example.org\0", "\ufffd", "@", "x" * 300])
async def test_a_form_with_nonsense_is_a_wrong_login(client: httpx.AsyncClient, world: World, email: str) -> None:
    answer = await client.post("/login", data={"email": email, "password": "\0"})
    assert answer.headers["location"].endswith("fault=wrong")


async def test_an_old_cookie_is_no_guess(client: httpx.AsyncClient, world: World) -> None:
    for _ in range(25):
        assert (await client.get("/v1/me", headers=cookie("cs_" + "a" * 52))).status_code == 401


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example", "/\\evil.example", "/a\nb", "evil"])
async def test_after_the_login_nobody_is_sent_elsewhere(client: httpx.AsyncClient, world: World, target: str) -> None:
    form = {"email": "max@example.org", "password": PASSWORD, "next": target}
    assert (await client.post("/login", data=form)).headers["location"] == "/"


async def test_what_the_login_page_shows_is_escaped(client: httpx.AsyncClient) -> None:
    page = await client.get("/login", params={"next": '/"><script>alert(1)</script>', "fault": "<b>"})
    assert "<script>" not in page.text
    assert "<b>" not in page.text


# ------------------------------------------------------------------------------------------ guessing, and who suffers


async def test_a_strangers_guesses_dont_keep_the_owner_out(app: FastAPI, world: World) -> None:
    async with http(app) as home, http(app, address="203.0.113.9") as stranger:
        for _ in range(8):
            await log_in(stranger, "max@example.org", "wrong")
        assert (await log_in(stranger, "max@example.org")).status_code == 429
        assert (await log_in(home, "max@example.org")).status_code == 200, "from elsewhere"


async def test_guesses_from_many_networks_take_turns_and_a_known_browser_needs_none(
    services: Services, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def noted(seconds: float) -> None:
        waits.append(seconds)
        clock.now += seconds

    clock = Ticks()
    begun = datetime.now(UTC)
    app = make_app(replace(services, clock=lambda: begun + timedelta(seconds=clock.now)))
    monkeypatch.setattr(guesses.asyncio, "sleep", noted)
    async with http(app) as home:
        assert (await log_in(home, "max@example.org")).status_code == 200
        assert home.cookies["keepstone_device"]
        for number in range(15):
            async with http(app, address=f"198.51.100.{number}") as guesser:
                assert (await log_in(guesser, "max@example.org", f"guess {number}")).status_code == 401
        assert len(waits) == 5, "ten a minute are free, further ones wait"
        assert sum(waits) == pytest.approx(30)
        waits.clear()
        home.cookies.delete("session")
        assert (await log_in(home, "max@example.org")).status_code == 200
        assert waits == []
        async with http(app, address="198.51.100.99", cookies=home.cookies) as other:
            assert (await log_in(other, "olga@example.org", "wrong")).status_code == 401, "its mark is for one address"
        for _ in range(5):
            assert (await log_in(home, "max@example.org", "wrong")).status_code == 401
        assert (await log_in(home, "max@example.org")).status_code == 429, "nor does it guess for ever"


async def test_more_guesses_than_can_wait_are_refused_and_say_until_when(
    services: Services, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    app = make_app(replace(services, clock=lambda: now))  # it stands still, so nobody's turn comes

    async def at_once(_seconds: float) -> None:
        pass

    monkeypatch.setattr(guesses.asyncio, "sleep", at_once)
    answers: list[httpx.Response] = []
    for number in range(11):
        async with http(app, address=f"198.51.100.{number}") as guesser:
            answers.append(await log_in(guesser, "max@example.org", "wrong"))
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]
    assert int(answers[-1].headers["Retry-After"]) == 6


async def test_a_subscriber_is_one_with_all_of_their_addresses(app: FastAPI, world: World) -> None:
    for number in range(5):
        async with http(app, address=f"2001:db8:1:2::{number:x}") as guesser:
            assert (await log_in(guesser, "max@example.org", "wrong")).status_code == 401
    async with http(app, address="2001:db8:1:2:ffff::1") as guesser:
        assert (await log_in(guesser, "max@example.org")).status_code == 429
    async with http(app, address="2001:db8:1:3::1") as neighbour:
        assert (await log_in(neighbour, "max@example.org")).status_code == 200


async def test_nobody_says_where_they_come_from_unless_they_are_believed(services: Services, world: World) -> None:
    def headers(number: int) -> dict[str, str]:
        return {"X-Forwarded-For": f"198.51.100.{number}", "X-Forwarded-Proto": "https"}

    async def statuses(settings: Settings) -> list[int]:
        known = replace(services, settings=settings, jwt_secret=random_text(48))  # nobody has guessed there yet
        config = server_config(make_app(known), settings)
        config.load()
        behind: Any = config.loaded_app
        async with http(behind) as client:
            body = {"email": "max@example.org", "password": "wrong"}
            answers = [await client.post("/auth/login", json=body, headers=headers(n)) for n in range(8)]
            open_to_all = await client.get("/metrics", headers=headers(1))
            assert open_to_all.status_code == 401, "whoever comes through a proxy is not on this machine"
        return [answer.status_code for answer in answers]

    assert services.settings.trusted_proxies == ()
    assert await statuses(services.settings) == [401] * 5 + [429] * 3
    assert await statuses(replace(services.settings, trusted_proxies=("127.0.0.1",))) == [401] * 8


# ------------------------------------------------------------------------------------------------- what ends with it


async def test_what_is_made_with_a_token_ends_with_it(client: httpx.AsyncClient, world: World) -> None:
    made = (await client.post("/auth/token", headers=world.member.auth)).json()
    bearer = {"Authorization": f"Bearer {made['token']}"}
    again = (await client.post("/auth/token", headers=bearer)).json()
    end = datetime.fromisoformat(made["expires_at"])
    assert datetime.fromisoformat(again["expires_at"]) <= end
    assert again["expires_in"] <= made["expires_in"]
    key = (await client.post("/v1/keys", headers=bearer, json={"name": "from a token"})).json()
    assert datetime.fromisoformat(key["expires_at"]) <= end
    later = (end + timedelta(days=1)).isoformat()
    refused = await client.post("/v1/keys", headers=bearer, json={"name": "for ever", "expires_at": later})
    assert refused.status_code == 403
    minted = await client.post("/auth/token", headers={"Authorization": f"Bearer {key['key']}"})
    assert datetime.fromisoformat(minted.json()["expires_at"]) <= end, "nor by way of a key"


async def test_a_token_cant_set_the_first_password(client: httpx.AsyncClient, services: Services, world: World) -> None:
    person = await make_person(services, "new@example.org")
    token = (await client.post("/auth/token", headers=person.auth)).json()["token"]
    body = {"new": "a long passphrase"}
    refused = await client.post("/auth/password", headers={"Authorization": f"Bearer {token}"}, json=body)
    assert refused.status_code == 403
    assert (await client.post("/auth/password", headers=person.auth, json=body)).status_code == 204


@pytest.mark.parametrize("text", ["u\0-17", "u\ud800", "u" * 3000])
async def test_a_token_that_says_what_no_database_can_hold_is_401(
    services: Services, world: World, issuer: Issuer, text: str
) -> None:
    settings = replace(
        services.settings, oidc_issuer=issuer.url, oidc_jwks_url=issuer.url + "/jwks", oidc_audience="keepstone-prod"
    )
    known = replace(services, settings=settings, jwks=jwt.PyJWKClient(issuer.url + "/jwks"))
    own = jwt.encode(claims(text, cid=text), services.jwt_secret, "HS256")
    async with http(make_app(known)) as client:
        for token in (issuer.token(sub=text), issuer.token(sub="x", email=text, email_verified=True), own):
            answer = await client.get("/v1/me", headers={"Authorization": f"Bearer {token}"})
            assert answer.status_code == 401, answer.text
        deep = base64.urlsafe_b64encode(b"[" * 40_000).decode().rstrip("=")
        answer = await client.get("/v1/me", headers={"Authorization": f"Bearer {deep}.{deep}.x"})
        assert answer.status_code == 401


# ------------------------------------------------------------------------------------------------- a cookie of our own


async def test_a_neighbour_who_overwrites_the_cookie_signs_nobody_out(client: httpx.AsyncClient, world: World) -> None:
    await log_in(client, "max@example.org")
    token = client.cookies["session"]
    assert client.cookies["keepstone_session"] == token
    client.cookies.clear()

    async def status(**cookies: str) -> int:
        header = "; ".join(f"{name}={value}" for name, value in cookies.items())
        return (await client.get("/v1/me", headers={"Cookie": header})).status_code

    assert await status(session="eyJ-of-somebody-else", keepstone_session=token) == 200
    assert await status(session=token) == 200
    assert await status(session=token, keepstone_session="cs_old") == 200
    assert await status(session="x", keepstone_session="y") == 401
    cleared = (await client.post("/auth/logout", headers={"Cookie": f"keepstone_session={token}"})).headers
    assert all(f'{name}=""' in cleared["set-cookie"] for name in ("session", "keepstone_session"))
    assert await status(session=token, keepstone_session=token) == 401
