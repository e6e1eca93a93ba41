"""What a client can do to the server before, while and after it sends something: size, depth, pace, number."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi.routing import iter_route_contexts
from psycopg.types.json import Jsonb

from capsules import rows
from conftest import World, http
from keepstone import nesting
from keepstone.app import make_app, make_routes, server_config
from keepstone.nesting import DEEPEST, MOST_VALUES, Extent, extent_of, load_stored
from keepstone.services import Services
from keepstone.surfaces.http import bodies
from keepstone.surfaces.http.bodies import SMALL
from keepstone.surfaces.http.caller import SETTLED_FIRST
from keepstone.surfaces.http.router import GuardedRoute
from workspaces import call

JSON = {"Content-Type": "application/json"}


def nested(depth: int, inner: Any = 1) -> Any:
    value = inner
    for level in range(depth):
        value = {"a": value} if level % 2 else [value]
    return value


def depth_of(value: Any) -> int:
    depth, layer = 0, [value]
    while layer := [part for part in layer if isinstance(part, dict | list)]:
        depth += 1
        layer = [inner for part in layer for inner in (part.values() if isinstance(part, dict) else part)]
    return depth


# ------------------------------------------------------------------------------------------------ depth, by text alone


@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
def test_depth_and_number_are_seen_in_the_text(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(nesting, "_PIECE", piece)
    monkeypatch.setattr(nesting, "_SHORT", 0)
    texts = ["[[", "]}", '"', '\\"[', "\\\\", "\\", ",", "{", "ü"]
    value: Any = [{text: [text, {text + "x": nested(5, text)}]} for text in texts]
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)
        assert extent_of(text.encode()) == Extent(depth_of(value), _count(value))


def _count(value: Any) -> int:
    """Of lists, objects and what comes after another in them."""
    if not isinstance(value, dict | list):
        return 0
    parts = list(value.values()) if isinstance(value, dict) else value
    return 1 + max(0, len(parts) - 1) + sum(map(_count, parts))


def test_the_limits_are_sharp() -> None:
    assert extent_of(json.dumps(nested(DEEPEST)).encode()).problem is None
    assert "deep" in str(extent_of(json.dumps(nested(DEEPEST + 1)).encode()).problem)
    assert extent_of(b"[" + b"1," * (MOST_VALUES - 1) + b"1]").problem is None
    assert "values" in str(extent_of(b"[" + b"1," * MOST_VALUES + b"1]").problem)
    assert extent_of(json.dumps("[{," * MOST_VALUES).encode()).problem is None, "what stands in a text is no value"


def test_what_was_stored_too_deep_is_read_with_its_depths_as_text() -> None:
    for depth in (DEEPEST, DEEPEST + 1, 5_000):
        text = "[" * depth + '"]"' + "]" * depth
        read = load_stored(text)
        assert depth_of(read) == DEEPEST
        for _ in range(DEEPEST):
            (read,) = read
        assert read == ("]" if depth == DEEPEST else text[DEEPEST:-DEEPEST])
    beside = load_stored(json.dumps({"a": nested(300), "b": [1, nested(300), 2], "c": "[[["}))
    assert (beside["b"][0], beside["b"][2], beside["c"]) == (1, 2, "[[[")


# ---------------------------------------------------------------------------------------------- depth, on every surface


async def test_every_surface_refuses_what_is_nested_too_deep_in_its_own_words(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    deep = nested(300)

    async def sent(path: str, body: dict[str, Any], method: str = "POST") -> httpx.Response:
        return await client.request(method, path, headers=auth, json=body)

    for path, body in {
        "/v1/memory/capsules": {"content_md": "x", "metadata": {"a": deep}},
        "/v1/ingest": {"scope_id": "s", "transcript": [{"speaker": "a", "text": "b", "metadata": {"a": deep}}]},
        "/v1/graphs/default/nodes": {"content": "x", "metadata": {"a": deep}},
        "/v1/memory/import": {"capsules": deep},
        "/v1/workspaces": {"name": deep},
    }.items():
        answer = await sent(path, body)
        assert answer.status_code == 422, (path, answer.text)
        assert answer.json()["error"]["code"] == "VALIDATION_ERROR"
        assert "deep" in answer.json()["error"]["details"][0]["message"]
    fact = await sent(f"/v1/facts/user/{world.owner.user.id}/k", {"value": deep}, "PUT")
    assert (fact.status_code, fact.json()["error"]["details"][0]["path"]) == (422, "body")
    mem0 = await sent("/v3/memories/add/", {"messages": [{"role": "user", "content": "x"}], "metadata": {"a": deep}})
    assert (mem0.status_code, "deep" in mem0.json()["detail"]) == (422, True)
    for path in ("/v1/chat/completions", "/v1/responses", "/v1/embeddings"):
        openai = await sent(path, {"model": "m", "input": deep, "messages": deep})
        assert (openai.status_code, openai.json()["error"]["type"]) == (400, "invalid_request_error")
        assert "deep" in openai.json()["error"]["message"]
    for path in ("/v1/mcp", "/v1/graph/mcp"):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": {"a": deep}}}
        mcp = await sent(path, call)
        assert (mcp.status_code, mcp.json()["error"]["code"]) == (400, -32600)
        assert "deep" in mcp.json()["error"]["message"]


async def test_an_encoding_in_which_depth_is_not_seen_is_not_read(client: httpx.AsyncClient, world: World) -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-32"):
        body = json.dumps({"content_md": "x"}).encode(encoding)
        answer = await client.post("/v1/memory/capsules", headers=world.owner.auth | JSON, content=body)
        assert answer.status_code == 422, encoding
    body = json.dumps({"content_md": "x"}).encode("utf-8-sig")
    answer = await client.post("/v1/memory/capsules", headers=world.owner.auth | JSON, content=body)
    assert answer.status_code == 201, "a mark at the beginning says nothing wrong"


async def test_what_was_stored_too_deep_is_shown_found_and_deleted(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth

    async def post(path: str, body: dict[str, Any]) -> Any:
        return await call(client, auth, "POST", path, json=body, expect=(200, 201, 202))

    capsule = await post("/memory/capsules", {"content_md": "Walruses sing"})
    node = await post("/graphs/default/nodes", {"content": "Walruses dive"})
    await post("/ingest", {"scope_id": "sea", "transcript": [{"speaker": "Ana", "text": "Walruses sleep"}]})
    room = (await post("/rooms", {"name": "Sea", "participants": [], "agents": []}))["id"]
    await post(f"/rooms/{room}/messages", {"user": world.owner.user.id, "text": "Walruses eat"})
    deep = Jsonb({"a": nested(700)})
    for table, column in (("memories", "metadata"), ("memory_versions", "metadata"), ("messages", "metadata")):
        await rows(database, f"UPDATE {table} SET {column} = %s RETURNING 1", [deep])
    await rows(database, "UPDATE messages SET attachments = %s RETURNING 1", [Jsonb([{"a": nested(700)}])])

    for path in (
        "/memory/capsules",
        "/memory/capsules?q=walruses",
        f"/memory/capsules/{capsule['id']}",
        f"/memory/capsules/{capsule['id']}/history",
        "/memory/export",
        "/graphs/default/nodes",
        f"/graphs/default/nodes/{node['id']}",
        f"/rooms/{room}/messages",
        f"/rooms/{room}/working",
    ):
        answer = await client.get(f"/v1{path}", headers=auth)
        assert answer.status_code == 200, (path, answer.text)
    found = await post("/recall", {"scope_id": "sea", "message": {"speaker": "Bo", "text": "walruses"}})
    assert depth_of(found["evidence"][0]["metadata"]) == DEEPEST
    assert (await post("/graphs/default/recall", {"query": "walruses", "min_relevance": 0}))["total"] == 1
    for path in (f"/memory/capsules/{capsule['id']}", f"/graphs/default/nodes/{node['id']}"):
        await call(client, auth, "DELETE", path, expect=204)


# ------------------------------------------------------------------------------------------------ who, before what


# They take what they are sent from whoever has no credential yet: a login, an invitation, a signature over the body.
OPEN = {"/auth/login", "/auth/accept", "/auth/logout", "/login", "/logout", "/join/{invite}", "/v1/billing/webhook"}


def test_every_route_that_takes_something_asks_first_who_sends_it() -> None:
    unasked: set[str] = set()
    for route in iter_route_contexts(make_routes().routes):
        assert isinstance(route.original_route, GuardedRoute), route.path
        calls = {part.call for part in route.dependant.dependencies}
        if route.methods and not route.methods <= {"GET", "HEAD"} and calls.isdisjoint(SETTLED_FIRST):
            unasked.add(str(route.path))
    assert unasked == OPEN


async def test_without_a_credential_nothing_of_a_body_is_read(services: Services, world: World) -> None:
    read: list[int] = []

    async def endless() -> AsyncGenerator[bytes]:
        for number in range(1000):
            read.append(number)
            yield b"[" * 1000

    app = make_app(services)
    async with http(app) as client:
        for path in ("/v1/memory/capsules", "/v1/mcp", "/v1/chat/completions", "/v3/memories/add/"):
            for auth in ({}, {"Authorization": "Bearer ck_nobody"}):
                answer = await client.post(path, headers=auth | JSON, content=endless())
                assert answer.status_code == 401, (path, answer.text)
        assert read == []
        for path in OPEN - {"/auth/logout", "/logout"}:
            read.clear()
            answer = await client.post(path, headers=JSON, content=endless())
            assert answer.status_code == 413, (path, answer.text)
            assert "64 KB" in answer.text
            assert len(read) <= SMALL / 1000 + 2
            assert (await client.post(path, headers=JSON, content=b"x" * (SMALL + 1))).status_code == 413
    async with http(app, address="192.0.2.7") as client:
        read.clear()
        answer = await client.patch("/x_console/api/users/usr_" + "a" * 24, headers=JSON, content=endless())
        assert (answer.status_code, read) == (401, [])


async def test_who_calls_is_looked_up_once(services: Services, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    opened = services.db.one_statement

    def counted() -> Any:
        asked.append("")
        return opened()

    monkeypatch.setattr(services.db, "one_statement", counted)
    async with http(make_app(services)) as client:
        await client.get("/v1/me", headers=world.owner.auth)  # notes that the key was used, to the minute
        asked.clear()
        answer = await client.post("/v1/projects", headers=world.owner.auth, json={"name": "Sea"})
    assert answer.status_code == 201
    assert len(asked) == 2, "once for the credential, once for the transaction"


async def test_all_bodies_together_have_a_bound_and_one_account_has_not_all_of_it(
    services: Services, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "MOST_VALUES", 0)
    settings = replace(services.settings, max_body_bytes=300_000, max_bodies_bytes=600_000)
    sent, go_on = asyncio.Event(), asyncio.Event()

    async def half() -> AsyncGenerator[bytes]:
        yield b" " * 200_000
        sent.set()
        await go_on.wait()
        yield b'{"name": "Sea"}'

    async with http(make_app(replace(services, settings=settings))) as client:

        async def post(auth: dict[str, str], content: Any) -> httpx.Response:
            return await client.post("/v1/projects", headers=auth | JSON, content=content)

        waiting = asyncio.create_task(post(world.owner.auth, half()))
        await sent.wait()
        refused = await post(world.member.auth, b" " * 200_000 + b'{"name": "Lake"}')
        assert refused.status_code == 503, "the same account"
        assert refused.headers["retry-after"] == "1"
        assert "KEEPSTONE_MAX_BODIES_BYTES" in refused.json()["error"]["message"]
        other = await post(world.stranger.auth, b" " * 200_000 + b'{"name": "Lake"}')
        assert other.status_code == 201, "another account"
        go_on.set()
        assert (await waiting).status_code == 201
        assert (await post(world.member.auth, b" " * 200_000 + b'{"name": "Lake"}')).status_code == 201, "given back"


# --------------------------------------------------------------------------------------- connections, on a real socket


class Wire:
    """A connection on which a test writes what it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, *lines: str, body: bytes = b"") -> None:
        self.writer.write("\r\n".join(("POST /v1/projects HTTP/1.1", "Host: localhost", *lines, "")).encode() + body)
        await self.writer.drain()

    async def rest(self) -> bytes:
        """Everything until the server closes."""
        async with asyncio.timeout(30):
            return await self.reader.read()


@asynccontextmanager
async def served(services: Services, **changes: Any) -> AsyncGenerator[Callable[[], Awaitable[Wire]]]:
    """A real server on this machine: each call is another connection to it."""
    settings = replace(services.settings, **changes)
    server = uvicorn.Server(server_config(make_app(replace(services, settings=settings)), settings))
    server.config.port = 0
    wires: list[Wire] = []

    async def dial() -> Wire:
        wires.append(Wire(*await asyncio.open_connection(*server.servers[0].sockets[0].getsockname())))
        return wires[-1]

    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield dial
    for wire in wires:
        wire.writer.close()
        with suppress(ConnectionError):
            await wire.writer.wait_closed()
    server.should_exit = True
    await running


async def test_a_client_that_stops_halfway_is_told_and_cut_off(services: Services, world: World) -> None:
    async with served(services, request_seconds=1) as dial:
        silent, head, unknown, body, slow = [await dial() for _ in range(5)]
        key = f"Authorization: {world.owner.auth['Authorization']}"
        await head.send("X-Half: ")
        await unknown.send("Content-Length: 1000", "", body=b"{")
        await body.send(key, "Content-Type: application/json", "Content-Length: 1000", "", body=b"{")
        await slow.send(key, "Content-Type: application/json", "Content-Length: 1000", "", body=b"{")

        async def trickle() -> None:
            for _ in range(40):
                slow.writer.write(b" ")
                await asyncio.sleep(0.1)

        trickling = asyncio.create_task(trickle())
        assert await silent.rest() == b""
        assert (await head.rest()).startswith(b"HTTP/1.1 408 ")
        assert (await unknown.rest()).startswith(b"HTTP/1.1 401 "), "answered at once, and not kept open"
        for wire in (body, slow):
            answer = await wire.rest()
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"KEEPSTONE_REQUEST_SECONDS" in answer
        trickling.cancel()


async def test_headers_have_a_bound(services: Services) -> None:
    async with served(services) as dial:
        wire = await dial()
        await wire.send("X-Long: " + "x" * 70_000)
        assert (await wire.rest()).startswith(b"HTTP/1.1 431 ")


async def test_a_connection_goes_on_after_a_body_that_nobody_read(services: Services) -> None:
    async with served(services) as dial:
        wire = await dial()
        await wire.send("Content-Length: 400000", "", body=b"x" * 400_000)
        for status in (b"401", b"401"):
            assert (await wire.reader.readuntil(b"\r\n"))[9:12] == status
            head = await wire.reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length"))
            await wire.reader.readexactly(int(length.split(b":")[1]))
            await wire.send("Content-Length: 2", "", body=b"{}")


async def test_connections_have_a_bound_and_those_that_wait_make_room(services: Services, world: World) -> None:
    async with served(services, max_connections=5) as dial:
        half = [await dial() for _ in range(20)]
        for wire in half:
            await wire.send("X-Half: ")
        last = await dial()
        await last.send("Connection: close", "Content-Length: 0", "")
        assert (await last.rest()).startswith(b"HTTP/1.1 401 ")
        for wire in half[:15]:
            with suppress(ConnectionResetError):
                assert await wire.rest() == b""

        key = f"Authorization: {world.owner.auth['Authorization']}"
        busy = [await dial() for _ in range(5)]
        for wire in busy:
            await wire.send(key, "Expect: 100-continue", "Content-Type: application/json", "Content-Length: 15", "")
            assert (await wire.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
        refused = await (await dial()).rest()
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in refused
        for wire in busy:
            wire.writer.write(b'{"name": "Sea"}')
            assert (await wire.reader.readline()).startswith(b"HTTP/1.1 201 ")
