"""A disk that is nearly full takes no more writes; everything else goes on, and it was said before."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from procrastinate.jobs import Job

from capsules import rows
from conftest import PASSWORD, World, http
from keepstone.app import make_app
from keepstone.cli.doctor import disk_finding
from keepstone.disk import LEAST, MOST, Disk
from keepstone.errors import DiskFull
from keepstone.jobs.patience import RETRY, RETRY_SOON
from keepstone.jobs.worker import run_until_empty
from keepstone.runtime import make_disk
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.surfaces.http.permits import needs_disk
from rooms import at_work, make_agent, make_room
from workspaces import call, make_chat, make_workspace

GB = 1024**3


def with_free(free: int, *, reserve: int = 100, total: int = 10_000) -> Disk:
    return Disk(Path(), reserve, probe=lambda _: (free, total))


@pytest.mark.parametrize(
    ("total", "reserve"),
    [(1 * GB, LEAST), (20 * GB, 20 * GB // 50), (1000 * GB, MOST)],
    ids=["small", "usual", "large"],
)
def test_what_is_kept_back_follows_from_the_size_of_the_disk(total: int, reserve: int) -> None:
    space = Disk(Path(), probe=lambda _: (total, total)).look()
    assert space is not None
    assert space.reserve == reserve


@pytest.mark.parametrize(("free", "state"), [(99, "full"), (100, "low"), (199, "low"), (200, "ok")])
def test_it_is_low_before_it_is_full(free: int, state: str) -> None:
    space = with_free(free).look()
    assert space is not None
    assert space.state == state


def test_the_disk_is_asked_once_a_second(tmp_path: Path) -> None:
    now, asked = [0.0], list[Path]()

    def probe(folder: Path) -> tuple[int, int]:
        asked.append(folder)
        return 1000, 1000

    disk = Disk(tmp_path, probe=probe, clock=lambda: now[0])
    for now[0] in (0.0, 0.5, 0.99, 1.0, 1.5, 2.1):
        disk.look()
    assert asked == [tmp_path] * 3


def test_the_real_disk_is_looked_at_and_a_foreign_one_is_not(tmp_path: Path) -> None:
    """Also before the folder is there."""
    own = Settings(home=tmp_path / "not" / "yet", disk_reserve_mb=1)
    space = make_disk(own).look()
    assert space is not None
    assert 0 < space.free <= space.total
    assert space.reserve == 1024**2
    foreign = make_disk(replace(own, database_url="postgresql://elsewhere/keepstone", disk_reserve_mb=10**9))
    assert foreign.look() is None
    foreign.require_room()


def test_the_doctor_says_so_before(tmp_path: Path) -> None:
    free = make_disk(Settings(home=tmp_path)).look()
    assert free is not None
    megabytes = free.free // 1024**2
    for reserve, word in ((0, ""), (megabytes * 3 // 4, "soon"), (megabytes * 2, "until then")):
        finding = disk_finding(Settings(home=tmp_path, disk_reserve_mb=reserve))
        assert finding.ok == (not word)
        assert word in finding.advice


# --------------------------------------------------------------------------------------------------- requests

# Of what takes a body, this goes on: it stores nothing, makes room, is the account's own, or asks for itself.
GOES_ON = {
    "recall", "ask", "make_title", "curate", "compose", "compose_direct", "recall_nodes", "search_items",
    "list_item_namespaces", "run_batch", "embeddings", "completions", "moderations", "generate_images",
    "edit_images", "vary_images", "speak", "transcribe", "translate", "rerank", "count_input_tokens",
    "compact_response", "change_response", "create_kept", "change_kept", "mem0_search", "mem0_list",
    "mem0_trash", "mcp", "graph_mcp", "delete_all", "chat_completions", "responses",
}  # fmt: skip
OF_ACCOUNT = {"account", "keys", "usage", "auth", "console", "health"}


def test_whatever_stores_something_needs_room(app: FastAPI) -> None:
    going_on: set[str] = set()
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        if isinstance(route, APIRoute) and not OF_ACCOUNT.intersection(map(str, route.tags)):
            for method in (route.methods or set[str]()) - {"GET", "HEAD"}:
                needed = needs_disk(method, route.name, [str(tag) for tag in route.tags])
                assert not (method == "DELETE" and needed)
                going_on |= {route.name} if method != "DELETE" and not needed else set()
    assert going_on - {"unsupported"} == GOES_ON, "a new route: does it store something?"


async def tool(client: httpx.AsyncClient, auth: dict[str, str], path: str, name: str, **arguments: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return (await call(client, auth, "POST", path, json=body))["result"]


async def test_on_a_full_disk_nothing_is_stored_and_all_else_goes_on(
    services: Services, world: World, database: str
) -> None:
    auth = world.owner.auth
    async with http(make_app(services)) as client:
        workspace = await make_workspace(client, auth)
        chat = await make_chat(client, auth, workspace)
        await make_agent(client, auth)
        room = await make_room(client, auth)
        capsule = await call(client, auth, "POST", "/memory/capsules", json={"content_md": "The ferry"}, expect=201)
        said = {"scope_id": "team", "transcript": [{"speaker": "Olga", "text": "The ferry leaves at nine."}]}
        await call(client, auth, "POST", "/ingest", json=said, expect=202)
    counted = (
        "SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM messages), (SELECT count(*) FROM documents)"
    )
    before = await rows(database, counted)
    item = {"namespace": ["a"], "key": "k", "value": {"n": 1}}
    writes: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/memory/capsules", {"json": {"content_md": "More"}}),
        ("PATCH", f"/memory/capsules/{capsule['id']}", {"json": {"title": "Other"}}),
        ("POST", "/ingest", {"json": said}),
        ("POST", f"/rooms/{room}/messages", {"json": {"text": "Hello"}}),
        ("POST", "/dms/scout/messages", {"json": {"text": "Hello"}}),
        ("PUT", f"/facts/room/{room}/port", {"json": {"value": 1}}),
        ("POST", f"/workspaces/{workspace}/memories", {"json": {"content": "More"}}),
        ("POST", f"/workspaces/{workspace}/files", {"files": {"file": ("a.txt", b"a", "text/plain")}}),
        ("POST", f"/chats/{chat}/messages", {"json": {"content": "Hello"}}),
        ("PUT", "/stores/notes/items", {"json": item}),
        ("POST", "/stores/notes/batch", {"json": {"operations": [{"op": "put", **item}]}}),
        ("POST", "/graphs", {"json": {"name": "More"}}),
        ("POST", "/v1/rooms", {"json": {"name": "More"}}),
    ]
    async with http(make_app(replace(services, disk=with_free(99)))) as client:
        for method, path, body in writes:
            answer = await call(client, auth, method, path, expect=507, **body)
            assert answer["error"]["code"] == "disk_full"
            assert answer["error"]["details"] == {"free_bytes": 99, "reserve_bytes": 100}
        added = {"messages": [{"role": "user", "content": "I like tea"}], "infer": False, "user_id": "anna"}
        assert (await client.post("/v3/memories/add/", json=added, headers=auth)).status_code == 507
        saved = await tool(client, auth, "/v1/mcp", "conductor_ask", mode="save_memory", content_md="More")
        assert (saved["isError"], saved["structuredContent"]["error"]["code"]) == (True, "disk_full")
        stored = await tool(client, auth, "/v1/graph/mcp", "memory_store", content="More")
        assert (stored["isError"], stored["structuredContent"]["error"]["code"]) == (True, "disk_full")
        assert await rows(database, counted) == before

        asked = {"scope_id": "team", "message": {"speaker": "Max", "text": "When does the ferry leave?"}}
        assert (await call(client, auth, "POST", "/recall", json=asked))["evidence"]
        assert (await call(client, auth, "GET", "/memory/capsules", params={"q": "ferry"}))["items"]
        assert (await call(client, auth, "POST", "/stores/notes/search", json={}))["items"] == []
        found = await tool(client, auth, "/v1/mcp", "conductor_ask", mode="search_memory", query="ferry")
        assert not found["isError"]
        login = {"email": world.owner.user.email, "password": PASSWORD}
        assert (await client.post("/auth/login", json=login)).status_code == 200
        forgotten = await tool(client, auth, "/v1/mcp", "conductor_ask", mode="forget_memory", id=capsule["id"])
        assert not forgotten["isError"]
        await call(client, auth, "DELETE", f"/rooms/{room}", expect=204)
        ready = (await client.get("/readyz")).json()
        assert (ready["disk"]["status"], ready["disk"]["ok"], ready["database"]["ok"]) == ("full", False, True)
        assert "keepstone_disk_free_bytes 99.0" in (await client.get("/metrics")).text
    async with http(make_app(replace(services, disk=with_free(150)))) as client:
        assert (await client.get("/readyz")).json()["disk"]["status"] == "low"
        await call(client, auth, "POST", "/memory/capsules", json={"content_md": "Still room"}, expect=201)


# ------------------------------------------------------------------------------------------------------- jobs


async def test_jobs_that_store_something_wait_for_room_and_erasure_does_not(
    services: Services, world: World, database: str
) -> None:
    account = world.owner.user.account
    async with at_work(services, database, disk=with_free(99)) as full, http(make_app(services)) as client:
        await call(client, world.owner.auth, "POST", "/memory/capsules", json={"content_md": "Ferry"}, expect=201)
        await call(client, world.owner.auth, "DELETE", f"/users/{world.member.user.id}", expect=204)
        await run_until_empty(full)
        waiting = await rows(
            database,
            "SELECT task_name, status::text, scheduled_at > now() + interval '50 seconds', error"
            " FROM procrastinate_jobs LEFT JOIN job_faults ON job = id",
        )
        assert waiting == [("read_space", "todo", True, "DiskFull")]
        assert await rows(database, "SELECT 1 FROM users WHERE account = %s AND erased_at IS NOT NULL", [account]) == []


def test_a_job_that_waits_for_room_does_so_for_as_long_as_it_takes() -> None:
    job: Any = json.loads('{"attempts": 1000}')
    waited = Job(id=1, status="todo", queue="q", lock=None, queueing_lock=None, task_name="t", **job)
    for strategy in (RETRY, RETRY_SOON):
        assert strategy.get_retry_decision(exception=DiskFull(""), job=waited) is not None
        assert strategy.get_retry_decision(exception=ValueError(), job=waited) is None
