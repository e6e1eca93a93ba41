"""Logs, metrics and traces never hold what a person wrote."""

import asyncio
import io
import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from bench import citus
from fastapi import FastAPI

from conftest import PASSWORD, World, http
from keepstone.access import operator, sessions
from keepstone.access.readscope import account_scope
from keepstone.app import make_app
from keepstone.errors import Misconfigured
from keepstone.jobs.worker import run_until_empty
from keepstone.observe.logs import JsonFormatter, TextFormatter, configure_logs, describe
from keepstone.observe.tracing import NoTracer, make_tracer
from keepstone.services import Services
from servers import LocalServer


@contextmanager
def everything_logged() -> Generator[io.StringIO]:
    """What a server at its most talkative would write."""
    root, stream = logging.getLogger(), io.StringIO()
    before = root.handlers[:], root.level
    configure_logs("debug", "json", stream)
    root.setLevel(logging.DEBUG)
    try:
        yield stream
    finally:
        root.handlers, level = before[0], before[1]
        root.setLevel(level)


async def test_logs_hold_no_text_no_key_and_no_password(services: Services, app: FastAPI, world: World) -> None:
    async def break_down(account: int, note: str) -> None:
        raise RuntimeError(f"canary-in-an-exception {note}")

    services.queue.app.task(name="break_down")(break_down)

    async def broken() -> None:
        raise ValueError("canary-in-a-route")

    app.add_api_route("/broken", broken)
    _, user = await operator.principal_for(services, "max@example.org")
    link = await sessions.make_link(services, user)
    with everything_logged() as log:
        async with http(app) as client:
            await client.get("/v1/me", headers=world.owner.auth)
            await client.get("/v1/me", headers={"Authorization": "Bearer canary-in-a-bearer"})
            await client.get(f"/auth/once/{link}")
            await client.post("/auth/login", json={"email": "max@example.org", "password": PASSWORD})
            await client.post("/auth/login", json={"email": "max@example.org", "password": "canary-in-a-password"})
            await client.post("/v1/keys", headers=world.owner.auth, json={"name": "canary-in-a-name", "x": 1})
            await client.patch("/v1/me", headers=world.owner.auth, json={"name": "canary-in-my-name"})
            await client.get("/v1/canary-in-a-path?q=canary-in-a-query")
            await client.get("/broken")
        async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
            await services.queue.add(conn, "break_down", account=world.owner.user.account, note="canary-in-an-argument")
        await run_until_empty(services)
    lines = log.getvalue().splitlines()
    written = "\n".join(line for line in lines if '"logger": "httpx"' not in line)  # that is the test's own client
    assert '"event": "request"' in written
    assert '"task": "break_down"' in written
    assert '"error": "ValueError"' in written
    for secret in ("canary", world.owner.key, world.owner.key[3:15], PASSWORD, link, link[3:15], "max@example.org"):
        assert secret not in written


async def test_a_database_error_is_told_without_its_values(database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database) as conn:
        with pytest.raises(psycopg.Error) as raised:
            await conn.execute("SELECT 'canary'::int")
    told = describe(raised.value)
    assert told["sqlstate"] == "22P02"
    assert "canary" not in json.dumps(told)


@pytest.mark.skipif(bool(citus.PROGRAMS), reason="what a Postgres of one's own logs is its operator's choice")
async def test_postgres_itself_logs_no_values(services: Services, world: World, postgres: Any) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
            await conn.execute(
                "INSERT INTO users (id, email, name) VALUES (%s, %s, 'canary-in-a-row')",
                [world.owner.user.id, "canary@example.org"],
            )
    log = await asyncio.to_thread((postgres.folder / "log").read_text)
    assert "ready to accept connections" in log
    assert "canary" not in log


def test_both_formats_carry_the_fields() -> None:
    record = logging.makeLogRecord({"msg": "request", "levelname": "INFO", "route": "/v1/me", "status": 200})
    line = json.loads(JsonFormatter().format(record))
    assert (line["event"], line["route"], line["status"], line["level"]) == ("request", "/v1/me", 200, "info")
    assert line["at"].endswith("Z")
    assert TextFormatter().format(record).endswith("info    request  route=/v1/me status=200")


class Collector:
    """An OpenTelemetry collector, as far as its front door."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self._server = LocalServer(self._take)
        self.url = self._server.url

    def _take(self, path: str, body: bytes) -> tuple[int, bytes]:
        self.paths.append(path)
        self.bodies.append(body)
        return 200, b""

    def stop(self) -> None:
        self._server.stop()


async def test_traces_go_to_the_collector_when_one_is_named(services: Services, world: World) -> None:
    collector = Collector()
    try:
        tracer = make_tracer(collector.url)
        async with http(make_app(replace(services, tracer=tracer))) as client:
            await client.get("/v1/me", headers=world.owner.auth)
            await client.get("/v1/canary-in-a-path")
        await asyncio.to_thread(tracer.close)
    finally:
        collector.stop()
    sent = b"".join(collector.bodies)
    assert set(collector.paths) == {"/v1/traces"}
    assert b"/v1/me" in sent
    assert b"http.route" in sent
    assert b"canary" not in sent


def test_without_a_collector_nothing_is_traced() -> None:
    assert isinstance(make_tracer(None), NoTracer)


def test_tracing_without_the_sdk_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(Misconfigured, match=r"keepstone\[otel\]"):
        make_tracer("http://127.0.0.1:4318")
