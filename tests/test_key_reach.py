"""A key reaches as far as it was made to: by permission, surface and space, on every route there is."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

import keepstone
from conftest import World, http
from keepstone.access import keys, operator
from keepstone.model.principal import Reach
from keepstone.services import Services
from keepstone.surfaces.http.permits import ACROSS, OPEN, READS, SURFACES, writes
from leaks import PROBES, Probe, filled, make_victim, parameters

# They look at no key: whoever calls them shows a password, a link, a signature or a foreign token, or is shown a page.
WITHOUT_KEY = {
    "POST /auth/login", "POST /auth/accept", "GET /auth/once/{token}", "POST /login", "GET /login",
    "GET /join/{invite}", "POST /join/{invite}",
    "POST /v1/billing/webhook", "GET /healthz", "GET /readyz", "GET /metrics", "GET /docs", "GET /openapi.json",
    "GET /v1/plans",
}  # fmt: skip


# All that somebody has, in or out: for credentials without limits alone.
WHOLE = {
    "GET /v1/export",
    "POST /v1/imports",
    "GET /v1/imports",
    "GET /v1/imports/{import_id}",
    "DELETE /v1/imports/{import_id}",
}


def table(app: FastAPI) -> list[tuple[str, str, str, str, list[str]]]:
    """Label, method, path, name and tags of every route that looks at a key."""
    listed: list[tuple[str, str, str, str, list[str]]] = []
    for route in iter_route_contexts(app.routes):
        path = str(route.path_format or route.path)
        for method in sorted((route.methods or set[str]()) - {"HEAD", "OPTIONS"}):
            label = f"{method} {path}"
            page = not getattr(route, "tags", None) and method == "GET"
            if label not in WITHOUT_KEY and not page and not path.startswith("/chat/api/"):
                listed.append((label, method, path, str(route.name), [str(tag) for tag in getattr(route, "tags", [])]))
    return listed


async def make(client: httpx.AsyncClient, auth: dict[str, str], **limits: Any) -> dict[str, str]:
    made = await client.post("/v1/keys", headers=auth, json={"name": "limited", **limits})
    assert made.status_code == 201, made.text
    return {"Authorization": f"Bearer {made.json()['key']}"}


async def call(
    client: httpx.AsyncClient, label: str, method: str, path: str, objects: dict[str, str], auth: dict[str, str]
) -> httpx.Response:
    probe = PROBES.get(label, Probe())
    objects = objects | {name: objects[other] for name, other in probe.instead.items()}
    return await client.request(
        method,
        path.format(**{name: objects.get(name, "x") for name in parameters(path)}),
        headers=filled(probe.headers, objects) | auth,
        json=filled(probe.json, objects),
        data=probe.data,
        files=probe.files,
        params=filled(probe.params, objects),
    )


async def test_every_route_that_takes_a_key_is_of_a_known_surface(app: FastAPI) -> None:
    routes = table(app)
    assert [
        label
        for label, _, _, name, tags in routes
        if not SURFACES.keys() & set(tags) and name not in ACROSS and label not in {"POST /logout", *WHOLE}
    ] == []
    names = {name for _, _, _, name, _ in routes}
    assert names >= READS | OPEN | ACROSS, "what reads although it is no GET is there"


async def test_a_read_only_key_writes_nowhere(app: FastAPI, services: Services, world: World) -> None:
    victim = await make_victim(services, world)
    await operator.set_allowance(services, world.owner.user.email, admin=True)
    async with http(app, address="192.0.2.50") as client:
        reader = await make(client, world.owner.auth, permission="read")
        token = (await client.post("/auth/token", headers=reader)).json()["token"]
        wrong: list[str] = []
        for auth in (reader, {"Authorization": f"Bearer {token}"}):
            for label, method, path, name, _ in table(app):
                if name in OPEN:
                    continue
                status = (await call(client, label, method, path, victim.objects, auth)).status_code
                if (status == 403) != (writes(method, name) or label in WHOLE):
                    wrong.append(f"{label}: {status}")
        assert wrong == []


@pytest.mark.parametrize("surface", ["capsules", "graphs", "mem0", "account"])
async def test_a_key_of_one_surface_opens_no_other(
    app: FastAPI, services: Services, world: World, surface: str
) -> None:
    victim = await make_victim(services, world)
    await operator.set_allowance(services, world.owner.user.email, admin=True)
    async with http(app, address="192.0.2.50") as client:
        limited = await make(client, world.owner.auth, surfaces=[surface])
        wrong: list[str] = []
        reached = 0
        for label, method, path, name, tags in table(app):
            if name in OPEN | ACROSS:
                continue
            answer = await call(client, label, method, path, victim.objects, limited)
            of_it = any(SURFACES.get(tag) == surface for tag in tags)
            whole = surface == "account" and writes(method, name) and name not in {"create_key", "revoke_key"}
            reached += of_it and not whole
            if (answer.status_code == 403) != (not of_it or whole):
                wrong.append(f"{label}: {answer.status_code}")
        assert wrong == []
        assert reached > 5


async def tool(client: httpx.AsyncClient, auth: dict[str, str], path: str, name: str, **given: Any) -> dict[str, Any]:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": given}}
    return (await client.post(path, headers=auth, json=call)).json()["result"]


async def test_a_read_only_key_calls_tools_that_read_and_is_told_why_others_refuse(
    client: httpx.AsyncClient, world: World
) -> None:
    reader = await make(client, world.owner.auth, permission="read")
    for path, name, given in (
        ("/v1/mcp", "conductor_ask", {"mode": "save_memory", "content_md": "the sky"}),
        ("/v1/graph/mcp", "memory_store", {"content": "the sky", "node_type": "fact"}),
    ):
        refused = await tool(client, reader, path, name, **given)
        assert refused["isError"]
        assert refused["structuredContent"]["error"]["code"] == "read_only_key"
        assert "may only read" in refused["content"][0]["text"]
    assert not (await tool(client, reader, "/v1/mcp", "conductor_ask", mode="search_memory", query="sky"))["isError"]
    assert not (await tool(client, reader, "/v1/graph/mcp", "memory_recall", query="sky"))["isError"]
    assert (await client.get("/v1/memory/capsules", headers=world.owner.auth)).json()["items"] == []


async def test_a_batch_that_writes_needs_a_key_that_may(client: httpx.AsyncClient, world: World) -> None:
    reader = await make(client, world.owner.auth, permission="read")
    put = {"op": "put", "namespace": ["a"], "key": "b", "value": {}}
    answer = await client.post("/v1/stores/notes/batch", headers=reader, json={"operations": [put]})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "read_only_key"
    found = await client.post("/v1/stores/notes/batch", headers=reader, json={"operations": [{"op": "search"}]})
    assert found.status_code == 200


async def test_a_key_for_one_space_reads_and_writes_there(client: httpx.AsyncClient, world: World) -> None:
    mine = world.owner.auth
    here = (await client.post("/v1/workspaces", headers=mine, json={"name": "here"})).json()["id"]
    there = (await client.post("/v1/workspaces", headers=mine, json={"name": "there"})).json()["id"]
    graph = (await client.post("/v1/graphs", headers=mine, json={"name": "g"})).json()["id"]
    said = [{"speaker": "olga", "text": "The bridge opens in May."}]
    for scope in ("team", "other"):
        await client.post("/v1/ingest", headers=mine, json={"scope_id": scope, "transcript": said})
    for place in (here, there):
        await client.post(f"/v1/workspaces/{place}/memories", headers=mine, json={"content": "The bridge opens."})
    key = await make(client, mine, spaces=[here, graph, "scope:team"])

    listed = (await client.get("/v1/workspaces", headers=key)).json()["items"]
    assert [item["id"] for item in listed] == [here]
    assert [item["id"] for item in (await client.get("/v1/graphs", headers=key)).json()["items"]] == [graph]
    assert (await client.get(f"/v1/workspaces/{there}/memories", headers=key)).status_code == 404
    assert len((await client.get(f"/v1/workspaces/{here}/memories", headers=key)).json()["items"]) == 1
    kept = await client.post(f"/v1/workspaces/{here}/memories", headers=key, json={"content": "It is red."})
    assert kept.status_code == 201, kept.text
    noted = await client.post(f"/v1/graphs/{graph}/nodes", headers=key, json={"content": "It is red."})
    assert noted.status_code == 201, noted.text
    uploaded = await client.post(
        f"/v1/workspaces/{here}/files", headers=key, files={"file": ("a.txt", b"It is red.", "text/plain")}
    )
    assert uploaded.status_code < 300, uploaded.text

    asked = {"message": {"speaker": "olga", "text": "When does the bridge open?"}, "min_relevance": 0}
    assert (await client.post("/v1/recall", headers=key, json={"scope_id": "team", **asked})).json()["evidence"]
    assert (await client.post("/v1/recall", headers=key, json={"scope_id": "other", **asked})).json()["evidence"] == []
    ingested = await client.post("/v1/ingest", headers=key, json={"scope_id": "other", "transcript": said})
    assert ingested.status_code == 403
    made = await client.post("/v1/workspaces", headers=key, json={"name": "another"})
    assert (made.status_code, made.json()["error"]["code"]) == (403, "outside_key")
    again = await client.post("/v1/ingest", headers=key, json={"scope_id": "team", "transcript": said})
    assert again.status_code == 202

    token = (await client.post("/auth/token", headers=key)).json()["token"]
    by_token = await client.get("/v1/workspaces", headers={"Authorization": f"Bearer {token}"})
    assert [item["id"] for item in by_token.json()["items"]] == [here]
    mine_now = (await client.get("/v1/workspaces", headers=mine)).json()["items"]
    assert {here, there} <= {item["id"] for item in mine_now}


async def test_a_key_for_spaces_that_are_gone_reaches_nothing(client: httpx.AsyncClient, world: World) -> None:
    place = (await client.post("/v1/rooms", headers=world.owner.auth, json={"name": "here"})).json()["id"]
    await client.post("/v1/rooms", headers=world.owner.auth, json={"name": "there"})
    key = await make(client, world.owner.auth, spaces=[place])
    assert [room["id"] for room in (await client.get("/v1/rooms", headers=key)).json()["items"]] == [place]
    await client.delete(f"/v1/rooms/{place}", headers=world.owner.auth)
    assert (await client.get("/v1/rooms", headers=key)).json()["items"] == []


async def test_a_key_for_a_room_lets_an_agent_in_and_speaks_there(client: httpx.AsyncClient, world: World) -> None:
    mine = world.owner.auth
    await client.post("/v1/agents", headers=mine, json={"slug": "robin", "name": "Robin"})
    room = (await client.post("/v1/rooms", headers=mine, json={"name": "here"})).json()["id"]
    key = await make(client, mine, spaces=[room], surfaces=["rooms"])
    assert (await client.post(f"/v1/rooms/{room}/agents", headers=key, json={"agent": "robin"})).status_code < 300
    said = await client.post(f"/v1/rooms/{room}/messages", headers=key, json={"text": "We decided on red."})
    assert said.status_code < 300
    pinned = await client.post(f"/v1/rooms/{room}/landmarks", headers=key, json={"text": "Red it is."})
    assert pinned.status_code < 300, pinned.text
    asked = {"agent": "robin", "message": {"text": "What was decided?"}}
    composed = await client.post(f"/v1/rooms/{room}/compose", headers=key, json=asked)
    assert composed.status_code == 200, composed.text
    alone = await client.post("/v1/dms/robin/messages", headers=key, json={"text": "psst"})
    assert alone.status_code == 404


async def test_nobody_limits_a_key_to_what_is_not_theirs(client: httpx.AsyncClient, world: World) -> None:
    place = (await client.post("/v1/workspaces", headers=world.owner.auth, json={"name": "here"})).json()["id"]
    for spaces, status in (
        ([place], 404),
        (["ws_" + "a" * 24], 404),
        (["nonsense"], 400),
        ([], 400),
        (["scope:"], 400),
    ):
        body = {"name": "limited", "spaces": spaces}
        assert (await client.post("/v1/keys", headers=world.member.auth, json=body)).status_code == status
    listed = (await client.get("/v1/keys", headers=world.member.auth)).json()["items"]
    assert "limited" not in [key["name"] for key in listed]


async def test_a_key_makes_none_that_reaches_further(client: httpx.AsyncClient, world: World) -> None:
    maker = await make(client, world.owner.auth, surfaces=["capsules", "account"], expires_at="2090-01-01T00:00:00Z")
    inherited = await client.post("/v1/keys", headers=maker, json={"name": "as itself"})
    assert inherited.json()["surfaces"] == ["account", "capsules"]
    assert inherited.json()["expires_at"] == "2090-01-01T00:00:00Z"
    fewer = await client.post("/v1/keys", headers=maker, json={"name": "less", "surfaces": ["capsules"]})
    assert fewer.json()["surfaces"] == ["capsules"]
    for further in (
        {"surfaces": ["capsules", "rooms"]},
        {"expires_at": "2091-01-01T00:00:00Z"},
        {"service": True},
    ):
        refused = await client.post("/v1/keys", headers=maker, json={"name": "more", **further})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "outside_key"), further
    for method, path, body in (
        ("POST", "/auth/password", {"new": "a new long password"}),
        ("POST", "/v1/users", {"email": "new@example.org"}),
        ("PATCH", "/v1/me", {"name": "x"}),
    ):
        assert (await client.request(method, path, headers=maker, json=body)).status_code == 403


async def test_a_key_is_shown_with_its_limits_and_one_without_has_none(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    place = (await client.post("/v1/rooms", headers=world.owner.auth, json={"name": "here"})).json()["id"]
    await make(client, world.owner.auth, permission="read", surfaces=["rooms"], spaces=[place, "capsules"])
    shown = (await client.get("/v1/keys", headers=world.owner.auth)).json()["items"][0]
    assert (shown["permission"], shown["surfaces"], shown["spaces"]) == ("read", ["rooms"], [place, "capsules"])
    plain, _ = await keys.create_key(services, world.owner.principal, name="plain")
    assert (plain.permission, plain.surfaces, plain.spaces) == ("write", None, None)
    assert Reach().whole


def test_no_operation_forgets_the_limits_of_the_caller() -> None:
    """An account's bare number knows no key: it is for work that no caller asked for."""
    sources = Path(keepstone.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if "account_scope(principal.account)" in path.read_text()] == []
