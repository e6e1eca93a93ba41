"""The leak walk: every route of an app, called by people whose business it is not.

It finds the routes by itself. To each it needs to know which object of the victim's to ask for (by the name of the
path parameter) and what to send; a route for which it doesn't know is a finding, like a leak. So that a walk that
reaches nothing can't pass, each request is made once more by the victim and has to succeed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import psycopg
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from psycopg import sql
from starlette.routing import Route

from cairn.access import keys, operator, sessions, users
from cairn.memory import capsules, projects, scopes
from cairn.model.capsule import OVERHEAD, NewCapsule
from cairn.model.page import PageRequest
from cairn.services import Services
from conftest import PASSWORD, Person, World, http

CANARY = "canary-of-olga"


@dataclass(frozen=True, kw_only=True)
class Victim:
    """What is whose: ids by the name of a path parameter, and every string that nobody else may see."""

    auth: dict[str, str]
    objects: dict[str, str]
    fresh: dict[str, str]  # for the control: what can be used only once
    secrets: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Attacker:
    name: str
    headers: dict[str, str]
    # What this one may know although it is the victim's: a member knows the account they are in.
    known: frozenset[str] = field(default_factory=frozenset[str])
    is_user: bool = True


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What to send to a route: attackers and the victim send the same, but for `control`."""

    json: Any = None
    data: dict[str, str] | None = None
    params: dict[str, str] | None = None
    instead: dict[str, str] = field(default_factory=dict[str, str])  # another object for a path parameter, by its name
    control: dict[str, Any] = field(default_factory=dict[str, Any])


# One line for each route that takes a body. `{…}` is filled in with the victim's objects.
PROBES: dict[str, Probe] = {
    "POST /auth/login": Probe(
        json={"email": "olga@example.org", "password": "wrong"},
        control={"json": {"email": "olga@example.org", "password": PASSWORD}},
    ),
    "POST /auth/password": Probe(
        json={"new": "a new long password"}, control={"json": {"current": PASSWORD, "new": PASSWORD}}
    ),
    "POST /login": Probe(
        data={"email": "olga@example.org", "password": "wrong"},
        control={"data": {"email": "olga@example.org", "password": PASSWORD}},
    ),
    "POST /logout": Probe(),
    "PATCH /v1/me": Probe(json={"name": "somebody"}, control={"json": {"name": CANARY}}),
    "PATCH /v1/account": Probe(json={"name": "renamed"}, control={"json": {"name": CANARY}}),
    "POST /v1/ingest": Probe(json={"scope_id": "team", "transcript": [{"speaker": "max", "text": "hello"}]}),
    "POST /v1/recall": Probe(json={"scope_id": "team", "message": {"speaker": "olga", "text": CANARY}}),
    "POST /v1/ask": Probe(json={"scope_id": "team", "question": f"What is {CANARY}?"}),
    "POST /v1/mcp": Probe(
        json={
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "conductor_ask", "arguments": {"mode": "search_memory", "query": CANARY}},
        }
    ),
    "POST /v1/users": Probe(json={"email": "new@example.org"}, control={"json": {"email": "newer@example.org"}}),
    "PATCH /v1/users/{user_id}": Probe(json={"name": "renamed"}, control={"json": {"name": CANARY}}),
    "POST /v1/keys": Probe(json={"name": "another"}),
    "POST /v1/projects": Probe(json={"name": "another"}),
    "POST /v1/memory/capsules": Probe(json={"content_md": "a canary"}),
    "GET /v1/memory/capsules": Probe(params={"q": CANARY, "mode": "hybrid"}),
    "GET /v1/memory/capsules/related": Probe(params={"text": CANARY}),
    "PATCH /v1/memory/capsules/{capsule_id}": Probe(json={"title": "renamed"}, control={"json": {"title": CANARY}}),
    "POST /v1/memory/capsules/delete-all": Probe(json={"confirm": "delete-all"}),
    "POST /v1/memory/capsules/merge": Probe(json={"ids": ["{other_capsule}"], "into": "{capsule_id}"}),
    "POST /v1/memory/capsules/title": Probe(json={"content_md": "a canary"}),
    "POST /v1/memory/capsules/curate": Probe(json={"messages": [{"role": "user", "content": "We take the canary."}]}),
    "POST /v1/memory/import": Probe(json={"format": "cairn-archive", "version": 1, "capsules": []}),
    "POST /v1/memory/capsules/{capsule_id}/restore": Probe(instead={"capsule_id": "deleted_capsule"}),
    "POST /v1/memory/capsules/{capsule_id}/recover": Probe(instead={"capsule_id": "cold_capsule"}),
    "PATCH /x_console/api/users/{user_id}": Probe(json={"quota_bytes": 0}, control={"json": {"quota_bytes": None}}),
}
# The right answer to the control where it is not a success: the only owner can't be erased, no worker runs here, and a
# few capsules make no map.
EXPECTED = {
    "DELETE /v1/users/{user_id}": {409},
    "GET /readyz": {200, 503},
    "GET /v1/memory/capsules/constellation": {409},
}
# The same for everybody.
PUBLIC = ("GET /static/{name}",)
# Last, because they end what the others need.
LAST = (
    "DELETE /v1/memory/capsules/{capsule_id}",
    "POST /v1/memory/capsules/delete-all",
    "DELETE /v1/keys/{key_id}",
    "DELETE /v1/sessions/{session_id}",
    "POST /auth/password",
    "POST /auth/logout",
    "POST /logout",
)


async def make_victim(services: Services, world: World) -> Victim:
    olga = world.owner
    await users.update_user(services, olga.principal, olga.user.id, {"name": CANARY})
    key, _ = await keys.create_key(services, olga.principal, name=CANARY)
    service_key, _ = await keys.create_key(services, olga.principal, name=CANARY, service=True)
    browser = sessions.Browser(address="192.0.2.99", user_agent=CANARY)
    await sessions.log_in(services, email=olga.user.email, password=PASSWORD, browser=browser)
    turn = scopes.Turn(speaker="olga", text=f"The password of the safe is {CANARY}", id=CANARY)
    said = await scopes.ingest(services, olga.principal, "team", [turn])
    kept = await keep(services, olga)
    used = await sessions.make_link(services, olga.user)
    await sessions.log_in_once(services, token=used, browser=browser)
    listed = await sessions.list_sessions(services, olga.principal, PageRequest())
    return Victim(
        auth=olga.auth,
        objects={
            "user_id": olga.user.id,
            "key_id": key.id,
            "session_id": listed.items[0].id,
            "token": used,
            "name": "cairn.css",
            **kept,
        },
        fresh={"token": await sessions.make_link(services, olga.user)},
        secrets=frozenset(
            {
                CANARY, olga.user.id, olga.user.email, olga.key_id, olga.key, key.id, key.prefix, service_key.id,
                olga.principal.account_id, "192.0.2.99", *said.message_ids, *kept.values(),
                *(session.id for session in listed.items),
            }
        ),
    )  # fmt: skip


async def keep(services: Services, olga: Person) -> dict[str, str]:
    """Capsules in every state and a project, all of them of the canary; by what the walk calls them."""

    async def one(text: str, project_id: str | None = None) -> str:
        new = NewCapsule(title=CANARY, content_md=f"{CANARY} {text}", tags=[CANARY], project_id=project_id)
        return (await capsules.create(services, olga.principal, new)).capsule.id

    project = await projects.create(services, olga.principal, name=CANARY)
    cold = await one("in the cold tier")
    await users.update_user(services, olga.principal, olga.user.id, {"cold_tier": True})
    await operator.set_quota(services, olga.user.id, OVERHEAD + 1000)
    deleted = await one("pushes it out")
    await operator.set_quota(services, olga.user.id, None)
    await capsules.delete(services, olga.principal, deleted)
    return {
        "capsule_id": await one("there", project.id),
        "other_capsule": await one("there too"),
        "deleted_capsule": deleted,
        "cold_capsule": cold,
        "project_id": project.id,
    }


async def make_attackers(services: Services, world: World) -> list[Attacker]:
    _, foreign_service = await keys.create_key(services, world.stranger.principal, name="robot", service=True)
    service = {"Authorization": f"Bearer {foreign_service}"}
    return [
        Attacker(
            name="another user of the account",
            headers=world.member.auth,
            known=frozenset({world.owner.principal.account_id}),
        ),
        Attacker(name="another account", headers=world.stranger.auth),
        Attacker(name="another account's service key", headers=service, is_user=False),
        Attacker(
            name="the same, naming the victim", headers={**service, "X-Cairn-User": world.owner.user.id}
        ),
        Attacker(
            name="a user naming the victim",
            headers={**world.member.auth, "X-Cairn-User": world.owner.user.email},
            known=frozenset({world.owner.principal.account_id}),
        ),
        Attacker(name="nobody", headers={}),
    ]  # fmt: skip


async def walk(app: FastAPI, services: Services, world: World, database: str) -> list[str]:
    """Every finding, as a sentence. An empty list is what we want."""
    victim = await make_victim(services, world)
    attackers = await make_attackers(services, world)
    findings: list[str] = []
    routes = sorted(routes_of(app), key=lambda route: (LAST.index(route[0]) + 1 if route[0] in LAST else 0, route[0]))
    exercised: list[tuple[str, str, str]] = []
    for label, method, path in routes:
        missing = [name for name in parameters(path) if name not in victim.objects]
        if missing:
            findings.append(f"{label}: the walk has no {', '.join(missing)} of the victim's")
        elif method in {"POST", "PUT", "PATCH"} and takes_body(app, label) and label not in PROBES:
            findings.append(f"{label}: the walk does not know what to send")
        else:
            exercised.append((label, method, path))
    before = await belongings(database, victim)
    for label, method, path in exercised:
        for attacker in attackers:
            findings += await attack(app, label, method, path, victim, attacker)
    if await belongings(database, victim) != before:
        findings.append("something of the victim's was changed by somebody else")
    services.throttle.forgive("login:olga@example.org", all_of_them=True)
    for label, method, path in exercised:
        findings += await control(app, label, method, path, victim)
    return findings


async def attack(
    app: FastAPI, label: str, method: str, path: str, victim: Victim, attacker: Attacker
) -> list[str]:  # fmt: skip
    async with http(app, address="192.0.2.50") as client:
        answer = await send(client, method, path, victim.objects, attacker.headers, PROBES.get(label, Probe()))
    shown = answer.text + str(sorted(answer.headers.items()))
    leaked = sorted(secret for secret in victim.secrets - attacker.known if secret in shown)
    findings = [f"{label}: {attacker.name} sees {secret!r}" for secret in leaked]
    if parameters(path) and label not in PUBLIC and answer.status_code not in wanted(label, attacker):
        findings.append(f"{label}: {attacker.name} gets {answer.status_code}, not 404")
    return findings


def wanted(label: str, attacker: Attacker) -> set[int]:
    """404; only somebody without any credential may be told to get one. And whoever could have nothing there, whatever
    they ask for, may be told so: in the console all but admins, among capsules who is no user.
    """
    if not attacker.headers and label != "GET /auth/once/{token}":
        return {401}
    if "/x_console/" in label or ("/v1/memory/" in label and not attacker.is_user):
        return {403, 404}
    return {404}


async def control(app: FastAPI, label: str, method: str, path: str, victim: Victim) -> list[str]:
    """The victim's own request has to work, or the attacks on it prove nothing."""
    probe = PROBES.get(label, Probe())
    probe = replace(probe, **probe.control)
    async with http(app) as client:
        answer = await send(client, method, path, victim.objects | victim.fresh, victim.auth, probe)
    good = answer.status_code in EXPECTED.get(label, set(range(200, 400)))
    return [] if good else [f"{label}: the victim's own request gets {answer.status_code}: {answer.text[:200]}"]


async def send(
    client: httpx.AsyncClient, method: str, path: str, objects: dict[str, str], headers: dict[str, str], probe: Probe
) -> httpx.Response:
    objects = objects | {name: objects[other] for name, other in probe.instead.items()}
    body = filled(probe.json, objects)
    return await client.request(
        method, path.format(**objects), headers=headers, json=body, data=probe.data, params=probe.params
    )


def filled(value: Any, objects: dict[str, str]) -> Any:
    """A body with the victim's objects in it: `{…}` is the name of one."""
    if isinstance(value, dict):
        return {key: filled(item, objects) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, objects) for item in value]
    return objects.get(value[1:-1], value) if isinstance(value, str) and value.startswith("{") else value


async def belongings(database: str, victim: Victim) -> list[str]:
    """Every row in the database that names the victim, but for the time of last use."""
    found: list[str] = []
    async with await psycopg.AsyncConnection.connect(database) as conn:
        tables = await (await conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'cairn'")).fetchall()
        for (table,) in tables:
            if table == "audit":
                continue
            query = sql.SQL("SELECT (to_jsonb(t) - 'last_used_at')::text FROM cairn.{} t")
            rows = await (await conn.execute(query.format(sql.Identifier(table)))).fetchall()
            found += [f"{table} {row}" for (row,) in rows if any(secret in row for secret in victim.secrets)]
    return sorted(found)


def routes_of(app: FastAPI) -> Iterator[tuple[str, str, str]]:
    """Every method of every route, whatever made it. What is not a route can't be walked, and says so."""
    for route in iter_route_contexts(app.routes):
        if not isinstance(route.original_route, Route | APIRoute):
            raise TypeError(f"the walk can't exercise {route!r}")
        path = str(route.path_format or route.path)
        for method in sorted((route.methods or set[str]()) - {"HEAD", "OPTIONS"}):
            yield f"{method} {path}", method, path


def takes_body(app: FastAPI, label: str) -> bool:
    method, path = label.split(" ", 1)
    described = app.openapi()["paths"].get(path, {}).get(method.lower())
    return described is None or "requestBody" in described


def parameters(path: str) -> list[str]:
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]
