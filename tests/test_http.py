"""What stands before every request: host, origin, body size, malformed input, the error envelope, health."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from psycopg.types.json import Jsonb

from conftest import World, http
from keepstone import __version__, errors
from keepstone.access import operator
from keepstone.access.readscope import account_scope
from keepstone.app import make_app
from keepstone.errors import Malformed
from keepstone.jobs.worker import run_worker
from keepstone.services import Services
from keepstone.surfaces.http.errors import STATUS
from keepstone.surfaces.mcp import graph


def with_settings(services: Services, **changes: Any) -> FastAPI:
    return make_app(replace(services, settings=replace(services.settings, **changes)))


def test_every_domain_error_but_the_operators_has_a_status() -> None:
    def below(kind: type[errors.KeepstoneError]) -> set[type[errors.KeepstoneError]]:
        return {kind} | {one for child in kind.__subclasses__() for one in below(child)}

    every = below(errors.KeepstoneError) - {errors.KeepstoneError, errors.Misconfigured}
    tree = {one for one in every if one.__module__ == errors.__name__}
    assert tree == set(STATUS)
    assert all(tree.intersection(one.__mro__) for one in every), "what is raised elsewhere is one of them"


async def test_an_error_has_the_envelope_and_the_request_id(client: httpx.AsyncClient) -> None:
    answer = await client.get("/v1/me", headers={"X-Request-Id": "my-request-17"})
    assert answer.status_code == 401
    body = answer.json()
    assert set(body) == {"error", "request_id"}
    assert body["request_id"] == answer.headers["x-request-id"] == "my-request-17"
    hostile = await client.get("/v1/me", headers={"X-Request-Id": "<script>alert(1)</script>"})
    assert hostile.headers["x-request-id"].isalnum()


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v1/nothing", 404), ("PUT", "/v1/keys", 405)])
async def test_the_frameworks_own_errors_have_it_too(
    client: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] in {"not_found", "method_not_allowed"}
    assert answer.headers.get("allow") == ("GET, POST" if status == 405 else None)


@pytest.mark.parametrize("identifier", ["tags", "key_short", "usr_" + "a" * 24, "key_" + "A" * 24, "key_" + "a" * 25])
async def test_an_id_in_a_path_matches_only_its_own_form(
    client: httpx.AsyncClient, world: World, identifier: str
) -> None:
    answer = await client.get(f"/v1/keys/{identifier}", headers=world.owner.auth)
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "There is nothing at this address."


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"[]", "body"),
        (b"{}", "body.name"),
        (b'{"name": 5}', "body.name"),
        (b'{"name": ""}', "body.name"),
        (b'{"name": "a", "colour": 1}', "body.colour"),
        (b'{"name": "a\\u0000b"}', "body"),
        (b'{"name": "a\\ud800b"}', "body"),
        (b'{"name": "' + b"x" * 256 + b'"}', "body.name"),
        (b'{"name": "a", "expires_at": "tomorrow"}', "body.expires_at"),
        (b'{"name": "a", "expires_at": "9999-12-31T23:59:59-14:00"}', "body.expires_at"),
        (b"[" * 50_000, "body"),
        (b'{"name": "\xff"}', "body"),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_a_body_that_isnt_valid_is_422_with_the_path(
    client: httpx.AsyncClient, world: World, body: bytes, path: str
) -> None:
    headers = {**world.owner.auth, "Content-Type": "application/json"}
    answer = await client.post("/v1/keys", headers=headers, content=body)
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert error["details"][0]["path"].startswith(path)
    assert len((await client.get("/v1/keys", headers=world.owner.auth)).json()["items"]) == 2, "nothing was stored"


@pytest.mark.parametrize("path", ["/v1/memory/capsules?limit=0", "/v1/graphs/default/nodes?limit=0", "/v1/usage?by=x"])
async def test_what_only_reads_does_not_say_that_nothing_was_stored(
    client: httpx.AsyncClient, world: World, path: str
) -> None:
    answer = await client.get(path, headers=world.owner.auth)
    assert answer.status_code == 422
    message = answer.json()["error"]["message"]
    assert "stored" not in message
    assert message.endswith(".")


async def test_a_fault_does_not_repeat_what_was_sent(client: httpx.AsyncClient) -> None:
    sent = {"email": ["hunter2-email"], "password": {"deep": "hunter2-password"}, "extra": "hunter2-extra"}
    answer = await client.post("/auth/login", json=sent)
    assert answer.status_code == 422
    assert "hunter2" not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8420", "", "127.0.0.1.evil.example", "[", "local host"])
async def test_a_foreign_host_is_refused(client: httpx.AsyncClient, host: str) -> None:
    answer = await client.get("/healthz", headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json()["error"]["code"] == "wrong_host"


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1", "[::1]:8420", "192.168.1.5:8420"])
async def test_own_names_and_addresses_are_answered(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/healthz", headers={"Host": host})).status_code == 200


async def test_configured_names_and_origins_are_let_in(services: Services) -> None:
    app = with_settings(
        services,
        public_url="https://keepstone.example.org",
        allowed_hosts=("keepstone.lan",),
        cors_origins=("https://app.example.org",),
    )
    async with http(app) as client:
        for host in ("keepstone.example.org", "keepstone.lan"):
            assert (await client.get("/healthz", headers={"Host": host})).status_code == 200
        for origin, status in (
            ("https://keepstone.example.org", 204),
            ("https://app.example.org", 204),
            ("https://evil.example", 403),
        ):
            answer = await client.post("/auth/logout", headers={"Origin": origin})
            assert answer.status_code == status
        allowed = await client.get("/healthz", headers={"Origin": "https://app.example.org"})
        assert allowed.headers["access-control-allow-origin"] == "https://app.example.org"
        assert "Retry-After" in allowed.headers["access-control-expose-headers"]
        other = await client.get("/healthz", headers={"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers


async def test_there_is_no_cors_by_default(client: httpx.AsyncClient) -> None:
    answer = await client.get("/healthz", headers={"Origin": "https://app.example.org"})
    assert not any(name.startswith("access-control") for name in answer.headers)


async def test_a_body_over_the_limit_is_413_announced_or_not(services: Services, world: World) -> None:
    async def chunks() -> AsyncGenerator[bytes]:
        for _ in range(20):
            yield b"x" * 100

    async with http(with_settings(services, max_body_bytes=1000)) as client:
        for content in (b"x" * 2000, chunks()):
            headers = {**world.owner.auth, "Content-Type": "application/json"}
            answer = await client.post("/v1/keys", headers=headers, content=content)
            assert answer.status_code == 413
            assert answer.json()["error"]["code"] == "too_large"
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert (await client.post("/login", headers=form, content=b"x" * 2000)).status_code == 413


async def test_every_answer_has_the_security_headers(client: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/login", "/v1/me", "/nothing"):
        headers = (await client.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


async def test_an_unforeseen_fault_is_a_500_that_tells_nothing(services: Services) -> None:
    app = make_app(services)

    async def broken() -> None:
        raise RuntimeError("somebody's secret text")

    app.add_api_route("/broken", broken)
    async with http(app) as client:
        answer = await client.get("/broken")
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal"
    assert "secret" not in answer.text


async def test_readyz_names_every_part_and_is_green_when_all_work(
    client: httpx.AsyncClient, services: Services
) -> None:
    assert (await client.get("/healthz")).json()["status"] == "ok"
    before = await client.get("/readyz")
    assert before.status_code == 503
    assert before.json()["worker"] == {
        "ok": False,
        "status": "no worker is running",
        "details": {"workers": 0, "jobs": {"todo": 0, "doing": 0, "failed": 0}},
    }
    worker = asyncio.create_task(run_worker(services))
    async with asyncio.timeout(10):
        while (ready := await client.get("/readyz")).status_code != 200:
            await asyncio.sleep(0.05)
    body = ready.json()
    assert body["status"] == "ready"
    assert all(body[part]["ok"] for part in ("database", "worker", "embedder"))
    assert body["pending_embeddings"] == 0
    worker.cancel()
    await asyncio.wait([worker])


async def test_versions_are_for_operators(services: Services, app: FastAPI, world: World) -> None:
    await operator.set_allowance(services, "max@example.org", admin=True)
    async with http(app) as here, http(app, address="192.0.2.7") as elsewhere:
        admin = (await elsewhere.get("/readyz", headers=world.member.auth)).json()
        for ready in ((await here.get("/readyz")).json(), admin):
            assert ready["version"] == __version__
            assert ready["database"]["details"]["server_version"]
        for headers in ({}, world.stranger.auth, {"Authorization": "Bearer ck_nobody"}):
            ready = (await elsewhere.get("/readyz", headers=headers)).json()
            assert ready["version"] is None
            assert ready["database"] == {"ok": True, "status": "ok", "details": {}}
            assert (ready["embedder"]["details"], ready["disk"]["details"]) == ({}, {})
            assert ready["worker"]["details"]["jobs"] == {"todo": 0, "doing": 0, "failed": 0}
            assert ready["pending_embeddings"] == 0
        assert (await elsewhere.get("/healthz")).json() == {"status": "ok", "version": None}


@pytest.mark.parametrize("text", ["a%00b", "%00", "%ED%A0%80"])
async def test_nul_and_halves_of_characters_in_an_address_are_no_500(
    client: httpx.AsyncClient, world: World, text: str
) -> None:
    paths = [
        f"/v1/facts/user/{text}/k", f"/v1/facts/global/x/{text}", f"/v1/stores/{text}/items/{text}", f"/{text}",
        f"/v1/memory/capsules?tag={text}", f"/v1/memory/capsules?q={text}&kind={text}", f"/v1/rooms?x={text}",
        f"/v1/memory/capsules/related?text={text}", f"/v1/models/{text}", f"/v1/entities/user/{text}/",
        f"/v2/entities/user/{text}/", f"/v1/memories/{text}/", f"/auth/once/{text}", f"/static/{text}",
        f"/v1/graphs/{text}/nodes", f"/v1/users?q={text}", f"/v1/dms/{text}/messages", f"/x_console/api/users?q={text}",
    ]  # fmt: skip
    for path in paths:
        answer = await client.get(path, headers=world.owner.auth)
        assert answer.status_code < 500, (path, answer.text)
    key = (b"Authorization", world.service_auth["Authorization"].encode())
    for name in (b"X-Keepstone-User", b"X-Request-Id", b"User-Agent", b"Cookie", b"Accept-Language"):
        for value in (b"a\0b", b"\xff\xfe", b'session="\\000"'):
            answer = await client.get("/v1/me", headers=[key, (name, value)])
            assert answer.status_code < 500, (name, value, answer.text)


async def test_what_the_database_cant_hold_is_422_wherever_it_comes_from(services: Services, world: World) -> None:
    for text in ("a\0b", "a\ud800b"):
        with pytest.raises(Malformed):
            async with services.db.transaction(account_scope(world.owner.principal)) as conn:
                await conn.execute("SELECT %(text)s::text WHERE %(account)s IS NOT NULL", {"text": text})
        with pytest.raises(Malformed):
            async with services.db.transaction(account_scope(world.owner.principal)) as conn:
                await conn.execute("SELECT %(text)s::jsonb", {"text": Jsonb({"a": text})})


async def test_without_a_database_it_is_alive_but_not_ready_and_says_503(services: Services, world: World) -> None:
    async with http(make_app(services)) as client:
        await services.db.close()
        await services.queue.close()
        assert (await client.get("/healthz")).status_code == 200
        ready = await client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["database"]["status"] == "down"
        answer = await client.get("/v1/me", headers=world.owner.auth)
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "unavailable"
        assert answer.headers["retry-after"] == "1"


async def test_metrics_are_for_this_machine_and_for_admins(services: Services, app: FastAPI, world: World) -> None:
    async with http(app) as client:
        await client.get("/v1/keys/key_" + "a" * 24, headers=world.owner.auth)
        text = (await client.get("/metrics")).text
    assert 'route="/v1/keys/{key_id}",status="404"' in text
    assert "keepstone_queue_jobs" in text
    assert world.owner.user.id not in text
    async with http(app, address="192.0.2.7") as client:
        assert (await client.get("/metrics")).status_code == 401
        assert (await client.get("/metrics", headers=world.owner.auth)).status_code == 403


async def test_the_api_reference_needs_nothing_from_elsewhere(client: httpx.AsyncClient) -> None:
    page = (await client.get("/docs")).text
    assert "/v1/keys/{key_id}" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert "<script" not in page
    assert (await client.get("/static/keepstone.css")).headers["content-type"].startswith("text/css")
    for name in ("nothing.css", "..%2fhtml.py", "%2e%2e/pages.py"):
        assert (await client.get(f"/static/{name}")).status_code == 404


async def test_times_are_utc_with_a_z(client: httpx.AsyncClient, world: World) -> None:
    body = {"name": "a", "expires_at": "2099-06-01T12:00:00+02:00"}
    made = (await client.post("/v1/keys", headers=world.owner.auth, json=body)).json()
    assert made["expires_at"] == "2099-06-01T10:00:00Z"
    assert made["created_at"].endswith("Z")
    assert json.dumps(made).count("+00:00") == 0


async def test_a_time_without_an_offset_is_in_utc_over_rest_and_mcp_alike(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    """As is a day, which is its first moment; what is no time is refused by both."""
    auth, nodes = world.owner.auth, "/v1/graphs/default/nodes"
    written = {"2026-01-02T03:04:05": "03:04:05", "2026-01-02T03:04": "03:04:00", "2026-01-02": "00:00:00",
               "2026-01-02 04:04:05+01:00": "03:04:05"}  # fmt: skip
    for number, (given, meant) in enumerate(written.items()):
        body = {"content": f"Over REST, number {number}", "valid_from": given}
        over_rest = (await client.post(nodes, headers=auth, json=body)).json()
        arguments = {"content": f"Over MCP, figure {number}", "valid_from": given}
        over_mcp = await graph.ask(services, world.owner.principal, "memory_store", arguments)
        kept = over_mcp["structuredContent"]["node"]
        assert over_rest["valid_from"] == kept["valid_from"] == f"2026-01-02T{meant}Z", given
        listed = await client.get("/v1/memory/capsules", headers=auth, params={"from": given})
        assert listed.status_code == 200
    for wrong in ("soon", "2026-13-01T00:00:00", "2026-01-02T"):
        body = {"content": "Whenever", "valid_from": wrong}
        assert (await client.post(nodes, headers=auth, json=body)).status_code == 422
        refused = await graph.ask(services, world.owner.principal, "memory_store", body)
        assert refused["structuredContent"]["error"]["code"] == "INVALID_PARAMETER"
