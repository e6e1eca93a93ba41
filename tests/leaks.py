"""The leak walk: every route of an app, called by people whose business it is not.

It finds the routes by itself. To each it needs to know which object of the victim's to ask for (by the name of the
path parameter) and what to send; a route for which it doesn't know is a finding, like a leak. So that a walk that
reaches nothing can't pass, each request is made once more by the victim and has to succeed.
"""

import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import httpx
import psycopg
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from procrastinate.jobs import Status
from psycopg import sql
from starlette.routing import Route

from conftest import PASSWORD, Person, World, http, make_person
from keepstone.access import guesses, invite_links, keys, operator, providers, sessions, users
from keepstone.access.readscope import account_scope, inside, job_scope
from keepstone.engine.index import note_people
from keepstone.memory import (
    agents,
    capsules,
    chat_memories,
    chats,
    documents,
    entity_memories,
    facts,
    graph_recall,
    graphs,
    imports,
    invitations,
    participants,
    people,
    projects,
    room_corrections,
    room_memories,
    room_messages,
    rooms,
    scopes,
    stores,
    workspaces,
)  # fmt: skip
from keepstone.memory.chat_memories import NewMemory
from keepstone.memory.entity_memories import NewMemories
from keepstone.memory.rooms import NewMessage
from keepstone.memory.superseding import AUTO, SupersedeWish
from keepstone.model.capsule import OVERHEAD, NewCapsule
from keepstone.model.entity import EntityMessage, Ids
from keepstone.model.graph import NodeFilter
from keepstone.model.ids import new_id
from keepstone.model.item import Delete, Put
from keepstone.model.message import Message
from keepstone.model.page import PageRequest
from keepstone.model.provider import Provider
from keepstone.relay import kept_upstream
from keepstone.relay import turn as turns
from keepstone.services import Services
from keepstone.store import spaces
from keepstone.surfaces.mem0.routes import UNSUPPORTED

CANARY = "canary-of-olga"
AGENT = "walker"
PLAN = {
    "capacity_bytes": 1, "monthly_queries": None, "monthly_credits": None, "key_per_minute": None,
    "account_per_minute": None, "position": 9,
}  # fmt: skip
BROWSER = "/chat/api/"  # below this a session counts and nothing else


@dataclass(frozen=True, kw_only=True)
class Victim:
    """What is whose: ids by the name of a path parameter, and every string that nobody else may see."""

    auth: dict[str, str]
    operator: dict[str, str]  # for the control of the console, which no account's owner sees
    session: str
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
    session: str | None = None
    limited: bool = False  # a key of the victim's own that was made for another space

    def knocks_with_nothing(self, path: str) -> bool:
        """Whether there is no credential of theirs that would be looked at there."""
        return self.session is None if path.startswith(BROWSER) else not self.headers


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What to send to a route: attackers and the victim send the same, but for `control`."""

    json: Any = None
    data: dict[str, str] | None = None
    params: dict[str, str] | None = None
    files: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    names_it: bool = False  # the victim's object stands in body, query or header: others get 404 as if it were the path
    instead: dict[str, str] = field(default_factory=dict[str, str])  # another object for a path parameter, by its name
    control: dict[str, Any] = field(default_factory=dict[str, Any])


# One line for each route that takes a body. `{…}` is filled in with the victim's objects.
PROBES: dict[str, Probe] = {
    "POST /auth/login": Probe(
        json={"email": "olga@example.org", "password": "wrong"},
        control={"json": {"email": "olga@example.org", "password": PASSWORD}},
    ),
    "POST /auth/accept": Probe(json={"account_id": "{account_id}"}),
    "POST /auth/password": Probe(
        json={"new": "a new long password"}, control={"json": {"current": PASSWORD, "new": PASSWORD}}
    ),
    "POST /auth/totp": Probe(json={"password": "wrong"}, control={"json": {"password": PASSWORD}}),
    "POST /auth/totp/confirm": Probe(json={"code": "12345"}),
    "POST /auth/totp/disable": Probe(
        json={"password": "wrong", "code": "12345"}, control={"json": {"password": PASSWORD, "code": "12345"}}
    ),
    "POST /login": Probe(
        data={"email": "olga@example.org", "password": "wrong"},
        control={"data": {"email": "olga@example.org", "password": PASSWORD}},
    ),
    "POST /logout": Probe(),
    "POST /join/{invite}": Probe(
        data={"email": "joiner@example.org", "name": "new", "password": PASSWORD},
        instead={"invite": "taken_back"},
        control={"instead": {}},
    ),
    "GET /join/{invite}": Probe(instead={"invite": "taken_back"}, control={"instead": {}}),
    "POST /v1/invite-links": Probe(json={"role": "owner"}),
    "PATCH /v1/me": Probe(json={"name": "somebody"}, control={"json": {"name": CANARY}}),
    "PATCH /v1/account": Probe(json={"name": "renamed"}, control={"json": {"name": CANARY}}),
    "POST /v1/ingest": Probe(json={"scope_id": "team", "transcript": [{"speaker": "max", "text": "hello"}]}),
    **{
        route: Probe(instead={"scope_id": "scope"})
        for route in (
            "GET /v1/scopes/{scope_id}/messages",
            "GET /v1/scopes/{scope_id}/people",
            "GET /v1/scopes/{scope_id}/people/{statement_id}",
            "GET /v1/scopes/{scope_id}/people/{statement_id}/history",
        )
    },
    "PATCH /v1/scopes/{scope_id}/people/{statement_id}": Probe(
        json={"text": "mine now"}, instead={"scope_id": "scope"}, control={"json": {"text": f"It is {CANARY}"}}
    ),
    "POST /v1/scopes/{scope_id}/people/{statement_id}/restore": Probe(
        instead={"scope_id": "scope", "statement_id": "deleted_statement"}
    ),
    "DELETE /v1/scopes/{scope_id}/people/{statement_id}": Probe(
        instead={"scope_id": "scope", "statement_id": "other_statement"}
    ),
    "GET /v1/find": Probe(params={"q": "the password of the safe"}),  # nodes are for all of the account
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
    # Not the nodes, which are the account's.
    "GET /v1/memory/all": Probe(params={"source": "saved"}),
    "GET /v1/memory/all/counts": Probe(params={"source": "saved"}),
    "POST /v1/trash/restore": Probe(json={"items": [{"kind": "capsule", "id": "{trashed_capsule}"}]}, names_it=True),
    "GET /v1/traces": Probe(params={"space": "{room_id}", "q": CANARY}, names_it=True),
    "PATCH /v1/memory/capsules/{capsule_id}": Probe(json={"title": "renamed"}, control={"json": {"title": CANARY}}),
    "POST /v1/memory/capsules/delete-all": Probe(json={"confirm": "delete-all"}),
    "POST /v1/memory/capsules/merge": Probe(json={"ids": ["{other_capsule}"], "into": "{capsule_id}"}),
    "GET /v1/memory/capsules/counts": Probe(params={"by": "tag"}),
    "POST /v1/memory/capsules/change": Probe(json={"ids": ["{capsule_id}"], "add_tags": ["seen"]}),
    "POST /v1/memory/capsules/delete": Probe(json={"ids": ["{capsule_id}"]}),
    "POST /v1/memory/capsules/restore": Probe(json={"ids": ["{away_capsule}"]}),
    "POST /v1/memory/capsules/alike": Probe(json={"content_md": CANARY}),
    "POST /v1/memory/capsules/{capsule_id}/unmerge": Probe(json={"version": 2}),
    "POST /v1/memory/capsules/title": Probe(json={"content_md": "a canary"}),
    "POST /v1/memory/capsules/curate": Probe(json={"messages": [{"role": "user", "content": "We take the canary."}]}),
    "POST /v1/memory/import": Probe(json={"format": "keepstone-archive", "version": 1, "capsules": []}),
    "POST /v1/imports": Probe(files={"file": ("talk.jsonl", b'{"speaker": "max", "text": "hello"}\n')}),
    "POST /v1/memory/capsules/{capsule_id}/restore": Probe(instead={"capsule_id": "deleted_capsule"}),
    "POST /v1/memory/capsules/{capsule_id}/recover": Probe(instead={"capsule_id": "cold_capsule"}),
    **{
        f"POST /v1/{name}": Probe(
            json={"model": "m", "input": CANARY, "messages": [{"role": "user", "content": CANARY}]},
            headers={"X-Keepstone-Workspace": "{workspace_id}", "X-Keepstone-Chat": "{chat_id}"},
        )
        for name in ("chat/completions", "responses", "embeddings")
    },
    "PATCH /x_console/api/users/{user_id}": Probe(json={"quota_bytes": 0}, control={"json": {"quota_bytes": None}}),
}
# The right answer to the control where it is not a success: the only owner can't be erased, no worker runs here, and a
# few capsules make no map. No app shows the code that is sent. No language model is set up: what would be relayed to
# one is refused.
EXPECTED = {
    "POST /auth/totp/confirm": {400},
    "POST /auth/totp/disable": {400},
    "DELETE /v1/users/{user_id}": {409},
    "GET /readyz": {200, 503},
    "GET /v1/memory/capsules/constellation": {409},
    "POST /v1/memory/capsules/{capsule_id}/unmerge": {404},  # nothing was merged into it
    "POST /auth/accept": {401},  # no foreign issuer is set up here
    "POST /v1/chat/completions": {503},
    "POST /v1/responses": {503},
    "POST /v1/embeddings": {503},
    "GET /v1/models/{model}": {404},
}
# The same for everybody.
PUBLIC = ("GET /static/{path}", "GET /dashboard/{path}", "GET /x_console/{path}", "GET /v1/models/{model}")


def _probe_workspaces() -> None:
    """What is there under several addresses is told once. Each has an object of its own to delete and to restore."""
    whole = {"title": "renamed", "workspace_id": "{workspace_id}", "branch": "{message_id}"}  # where it is, it stays
    for number, at in enumerate(("/chat/api", "/v1")):
        one = f"{at}/workspaces/{{workspace_id}}"
        EXPECTED[f"DELETE {one}/members/{{user_id}}"] = {409}  # the only owner can't leave
        PROBES.update(
            {
                f"POST {at}/workspaces": Probe(json={"name": "another"}),
                f"PATCH {one}": Probe(json={"name": "renamed"}, control={"json": {"name": CANARY}}),
                f"DELETE {one}": Probe(instead={"workspace_id": f"spare_workspace_{number}"}),
                f"POST {one}/restore": Probe(instead={"workspace_id": f"deleted_workspace_{number}"}),
                f"PUT {one}/members": Probe(json={"user": "max@example.org", "role": "owner"}),
                f"POST {one}/members": Probe(json={"user": "max@example.org", "role": "owner"}),
                f"POST {at}/chats": Probe(json={"title": "a", "workspace_id": "{workspace_id}"}, names_it=True),
                f"GET {at}/chats": Probe(params={"workspace_id": "{workspace_id}"}, names_it=True),
                f"PATCH {at}/chats/{{chat_id}}": Probe(json=whole, control={"json": whole | {"title": CANARY}}),
                f"DELETE {at}/chats/{{chat_id}}": Probe(instead={"chat_id": f"spare_chat_{number}"}),
                f"POST {at}/chats/{{chat_id}}/restore": Probe(instead={"chat_id": f"deleted_chat_{number}"}),
                f"POST {one}/memories": Probe(json={"content": "a canary"}),
                f"PATCH {one}/memories/{{memory_id}}": Probe(
                    json={"content": "changed"}, control={"json": {"content": f"{CANARY} {number}"}}
                ),
                f"DELETE {one}/memories/{{memory_id}}": Probe(instead={"memory_id": f"spare_memory_{number}"}),
                f"POST {one}/memories/{{memory_id}}/restore": Probe(instead={"memory_id": f"deleted_memory_{number}"}),
                f"POST {one}/memories/{{memory_id}}/revive": Probe(
                    instead={"memory_id": f"superseded_memory_{number}"}
                ),
                f"GET {one}/search": Probe(params={"q": CANARY}),
                f"POST {one}/files": Probe(files={"file": ("a.txt", b"a canary", "text/plain")}),
                f"DELETE {one}/files/{{document_id}}": Probe(instead={"document_id": f"spare_file_{number}"}),
                f"POST {one}/files/{{document_id}}/revert": Probe(params={"version": "1"}),
                f"POST {one}/files/{{document_id}}/restore": Probe(instead={"document_id": f"deleted_file_{number}"}),
                f"POST {one}/artifacts": Probe(json={"name": "another", "content": "a canary"}),
                f"PATCH {one}/artifacts/{{artifact_id}}": Probe(
                    json={"content": "changed"}, control={"json": {"content": CANARY}}
                ),
                f"POST {one}/artifacts/{{artifact_id}}/revert": Probe(params={"version": "1"}),
                f"DELETE {one}/artifacts/{{artifact_id}}": Probe(instead={"artifact_id": f"spare_artifact_{number}"}),
                f"POST {one}/artifacts/{{artifact_id}}/restore": Probe(
                    instead={"artifact_id": f"deleted_artifact_{number}"}
                ),
            }
        )
    for number, at in enumerate(("/chat/api", "/v1/chats", "/v1"), 2):
        one = f"{at}/{{chat_id}}/memories/{{memory_id}}"
        PROBES.update(
            {
                f"POST {at}/{{chat_id}}/memory": Probe(json={"messageId": "{message_id}", "content": "a canary"}),
                f"POST {at}/{{chat_id}}/messages": Probe(json={"content": "What is the canary?"}),
                f"PATCH {one}": Probe(json={"content": "changed"}, control={"json": {"content": f"{CANARY} {number}"}}),
                f"DELETE {one}": Probe(instead={"memory_id": f"spare_memory_{number}"}),
                f"POST {one}/rerun-extraction": Probe(),
            }
        )


_probe_workspaces()


def _probe_what_is_passed_on() -> None:
    kept = [f"{method} /v1/{{family}}/{{path}}" for method in ("GET", "POST", "DELETE")]
    kept += ["GET /v1/{family}", "POST /v1/{family}", "POST /v1/responses/{response_id}/{path}"]
    kept += [f"{method} /v1/responses/{{response_id}}" for method in ("GET", "DELETE")]
    names = ["completions", "moderations", "rerank", "responses/input_tokens", "responses/compact"]
    names += [f"images/{name}" for name in ("generations", "edits", "variations")]
    names += [f"audio/{name}" for name in ("speech", "transcriptions", "translations")]
    labels = [*kept, "GET /v1/responses/{response_id}/{path}", *(f"POST /v1/{name}" for name in names)]
    for label in labels:
        EXPECTED[label] = {503}
        if label.startswith("POST"):
            PROBES[label] = Probe(json={"model": "m", "input": CANARY})


_probe_what_is_passed_on()


def _probe_rooms() -> None:
    room, dm, graph = "/v1/rooms/{room_id}", "/v1/dms/{slug}", "/v1/graphs/{graph_id}"
    said = {"text": "hello"}
    EXPECTED[f"DELETE {room}/participants/{{user_id}}"] = {409}  # nobody would be left
    EXPECTED["POST /v1/billing/webhook"] = {404}  # not set up here
    invited, project = "/v1/invitations/{invitation_id}", "/v1/projects/{project_id}"
    EXPECTED[f"DELETE {project}/members/{{user_id}}"] = {409}  # the only owner can't leave
    PROBES.update(
        {
            f"POST {invited}/decline": Probe(instead={"invitation_id": "spare_invitation"}),
            f"DELETE {invited}": Probe(instead={"invitation_id": "sent_invitation"}),
            f"PATCH {project}": Probe(json={"name": "renamed"}, control={"json": {"name": CANARY}}),
            f"DELETE {project}": Probe(instead={"project_id": "spare_project"}),
            f"POST {project}/restore": Probe(instead={"project_id": "deleted_project"}),
            f"PUT {project}/members": Probe(json={"user": "max@example.org"}),
            f"POST {project}/members": Probe(json={"user": "max@example.org"}),
            "POST /v1/agents": Probe(
                json={"slug": "another", "name": "another"}, control={"json": {"slug": "third", "name": "x"}}
            ),
            "PATCH /v1/agents/{slug}": Probe(json={"name": "renamed"}),
            "POST /v1/rooms": Probe(json={"name": "a", "project_id": "{project_id}"}, names_it=True),
            f"PATCH {room}": Probe(json={"name": "renamed"}, control={"json": {"name": CANARY}}),
            f"DELETE {room}": Probe(instead={"room_id": "spare_room"}),
            f"POST {room}/restore": Probe(instead={"room_id": "deleted_room"}),
            f"POST {room}/participants": Probe(json={"user": "max@example.org"}),
            f"POST {room}/agents": Probe(json={"agent": "{slug}"}),
            f"POST {room}/messages": Probe(json=said),
            f"PUT {room}/read": Probe(json={"message_id": "{room_message}"}),
            f"POST {room}/threads": Probe(json={"title": "a"}),
            f"POST {room}/landmarks": Probe(json=said),
            f"POST {room}/compose": Probe(json={"agent": "{slug}", "message": {"text": "What was decided?"}}),
            f"POST {dm}/messages": Probe(json=said),
            f"POST {dm}/landmarks": Probe(json=said),
            f"POST {dm}/compose": Probe(json={"message": {"text": "What was decided?"}}),
            "POST /v1/profiles/{user_id}/memories": Probe(json=said),
            "POST /v1/projects/{project_id}/memories": Probe(json=said),
            "GET /v1/facts": Probe(params={"scope_kind": "user", "scope_id": "{user_id}"}, names_it=True),
            "PUT /v1/facts/{scope_kind}/{scope_id}/{key}": Probe(
                json={"value": 1}, control={"json": {"value": CANARY}}
            ),
            "POST /v1/graphs": Probe(json={"name": "another"}),
            f"DELETE {graph}": Probe(instead={"graph_id": "spare_graph"}),
            f"POST {graph}/restore": Probe(instead={"graph_id": "deleted_graph"}),
            f"POST {graph}/nodes": Probe(json={"content": "a canary"}),
            f"PATCH {graph}/nodes/{{node_id}}": Probe(
                json={"content": "changed"}, control={"json": {"content": CANARY}}
            ),
            f"DELETE {graph}/nodes/{{node_id}}": Probe(instead={"node_id": "spare_node"}),
            f"POST {graph}/nodes/{{node_id}}/restore": Probe(instead={"node_id": "deleted_node"}),
            f"POST {graph}/nodes/{{node_id}}/revive": Probe(instead={"node_id": "superseded_node"}),
            f"POST {room}/landmarks/{{landmark_id}}/revive": Probe(instead={"landmark_id": "superseded_landmark"}),
            f"POST {dm}/landmarks/{{landmark_id}}/revive": Probe(instead={"landmark_id": "superseded_alone"}),
            f"POST {room}/memories/{{memory_id}}/revive": Probe(instead={"memory_id": "room_memory"}),
            f"POST {dm}/memories/{{memory_id}}/revive": Probe(instead={"memory_id": "direct_memory"}),
            "POST /v1/profiles/{user_id}/memories/{memory_id}/revive": Probe(
                instead={"memory_id": "superseded_profile_memory"}
            ),
            "POST /v1/projects/{project_id}/memories/{memory_id}/revive": Probe(
                instead={"memory_id": "superseded_project_memory"}
            ),
            f"POST {graph}/edges": Probe(json={"from_id": "{other_node}", "to_id": "{node_id}", "edge_type": "about"}),
            f"POST {graph}/recall": Probe(json={"query": CANARY, "min_relevance": 0}),
            "POST /v1/graph/mcp": Probe(
                json={
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tools/call",
                    "params": {
                        "name": "memory_recall",
                        "arguments": {"query": CANARY, "min_relevance": 0, "graph_id": "{graph_id}"},
                    },
                }
            ),
            "POST /v1/billing/webhook": Probe(
                json={"id": "e", "type": "account.updated", "account_id": "{account_id}"}
            ),
            "PUT /x_console/api/plans/{plan}": Probe(json=PLAN),
            "PUT /v1/settings/providers": Probe(
                json={"providers": []}, control={"json": {"providers": [{"name": "main", "kind": "openai"}]}}
            ),
            "POST /v1/settings/providers/test": Probe(json={"name": "canary"}),
        }
    )


_probe_rooms()


def _probe_corrections() -> None:
    """What is there in rooms and direct messages is named by where it is, with one to delete and one to restore."""
    for at, where in (("/v1/rooms/{room_id}", "room"), ("/v1/dms/{slug}", "direct")):
        for path, name in (("messages", "message"), ("memories", "memory"), ("landmarks", "landmark")):
            one, this = f"{at}/{path}/{{{name}_id}}", f"{name}_id"
            there = {this: f"{where}_{name}"}
            PROBES.update(
                {
                    f"GET {one}": Probe(instead=there),
                    f"GET {one}/history": Probe(instead=there),
                    f"PATCH {one}": Probe(
                        json={"text": "changed"}, instead=there, control={"json": {"text": f"{CANARY} {where} {name}"}}
                    ),
                    f"DELETE {one}": Probe(instead={this: f"spare_{where}_{name}"}),
                    f"POST {one}/restore": Probe(instead={this: f"deleted_{where}_{name}"}),
                }
            )
    for at, where in (("/v1/profiles/{user_id}", "profile"), ("/v1/projects/{project_id}", "project")):
        one, there = f"{at}/memories/{{memory_id}}", {"memory_id": f"superseded_{where}_memory"}
        PROBES.update(
            {
                f"GET {one}": Probe(instead=there),
                f"GET {one}/history": Probe(instead=there),
                f"PATCH {one}": Probe(
                    json={"text": "changed"}, instead=there, control={"json": {"text": f"{CANARY} {where}"}}
                ),
                f"DELETE {one}": Probe(instead={"memory_id": f"spare_{where}_memory"}),
                f"POST {one}/restore": Probe(instead={"memory_id": f"deleted_{where}_memory"}),
            }
        )


_probe_corrections()


def _probe_stores() -> None:
    one, at = "/v1/stores/{store}", {"namespace": "plans", "key": "there"}
    PROBES.update(
        {
            f"PUT {one}/items": Probe(json={"namespace": ["plans"], "key": "new", "value": {"text": "a canary"}}),
            f"GET {one}/items": Probe(params=at),
            f"GET {one}/items/history": Probe(params=at),
            f"DELETE {one}/items": Probe(params=at | {"key": "spare"}),
            f"POST {one}/items/restore": Probe(json={"namespace": ["plans"], "key": "deleted"}),
            f"POST {one}/search": Probe(json={"query": CANARY}),
            f"POST {one}/namespaces": Probe(json={}),
            f"POST {one}/batch": Probe(
                json={"operations": [{"op": "search"}, {"op": "get", "namespace": ["plans"], "key": "there"}]}
            ),
        }
    )


def _probe_mem0() -> None:
    one, mine = "/v1/memories/{memory_id}/", {"user_id": "{entity}"}
    EXPECTED.update({label: {404} for label in UNSUPPORTED})
    PROBES.update({label: Probe(json={}) for label in UNSUPPORTED})
    PROBES.update(
        {
            "POST /v3/memories/add/": Probe(
                json={"messages": [{"role": "user", "content": "a canary"}], "infer": False, "user_id": "their own"}
            ),
            "POST /v3/memories/search/": Probe(json={"query": "canary", "threshold": 0, "filters": mine}),
            "POST /v3/memories/": Probe(json={"filters": mine}),
            "POST /v3/memories/trash/": Probe(json={"filters": mine}),
            "DELETE /v1/memories/": Probe(params=mine),
            f"GET {one}": Probe(instead={"memory_id": "entity_memory"}),
            f"GET {one}history/": Probe(instead={"memory_id": "entity_memory"}),
            f"PUT {one}": Probe(
                json={"text": "changed"}, instead={"memory_id": "entity_memory"}, control={"json": {"text": CANARY}}
            ),
            f"DELETE {one}": Probe(instead={"memory_id": "spare_entity_memory"}),
            f"POST {one}restore/": Probe(json={}, instead={"memory_id": "deleted_entity_memory"}),
            f"POST {one}revive/": Probe(instead={"memory_id": "revised_entity_memory"}),
            "PUT /v1/batch/": Probe(
                json={"memories": [{"memory_id": "{entity_memory}", "metadata": {"a": 1}}]}, names_it=True
            ),
            "DELETE /v1/batch/": Probe(json={"memories": [{"memory_id": "{batched_entity_memory}"}]}, names_it=True),
            "DELETE /v1/entities/{entity_type}/{name}/": Probe(instead={"name": "entity"}),
            "DELETE /v2/entities/{entity_type}/{name}/": Probe(instead={"name": "entity"}),
        }
    )


_probe_stores()
_probe_mem0()
# The account's own: whoever is in it may. And where everybody has their own under the same address.
OF_ACCOUNT = ("/v1/agents/{slug}", "/v1/graphs/{graph_id}", "/v1/graph/mcp", "/v1/graphs", "/v1/agents")
EVERYBODYS = ("/v1/dms/{slug}",)
NAMED = (
    "/v1/stores/{store}",
    "/v1/scopes/{scope_id}",
)  # by the caller alone: in every account there may be one of this name
# Last, because they end what the others need.
LAST = (
    "DELETE /v1/entities/{entity_type}/{name}/",
    "DELETE /v2/entities/{entity_type}/{name}/",
    "DELETE /v1/memories/",
    "DELETE /v1/memory/capsules/{capsule_id}",
    "POST /v1/memory/capsules/delete",
    "POST /v1/memory/capsules/delete-all",
    "DELETE /v1/facts/{scope_kind}/{scope_id}/{key}",
    "DELETE /v1/rooms/{room_id}/agents/{slug}",
    "DELETE /v1/agents/{slug}",
    "DELETE /v1/keys/{key_id}",
    "DELETE /v1/sessions/{session_id}",
    "DELETE /v1/sessions",
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
    login = await sessions.log_in(services, email=olga.user.email, password=PASSWORD, browser=browser)
    turn = Message(
        id=new_id("msg"), speaker="olga", text=f"The password of the safe is {CANARY}", client_id=CANARY,
        at=services.clock(),
    )  # fmt: skip
    said = await scopes.ingest(services, olga.principal, "team", [turn])
    told = await tell(services, olga)
    kept = await keep(services, olga) | await share(services, olga) | await put(services, olga)
    kept |= await talk(services, olga, kept["project_id"]) | await note(services, olga)
    kept |= await invite(services, olga, kept["room_id"])
    await projects.delete(services, olga.principal, kept["deleted_project"])
    kept["import_id"] = await bring(services, olga)
    asked = await graph_recall.recall(
        services, olga.principal, query=CANARY, graph_id=kept["graph_id"], wanted=NodeFilter(), min_relevance=0
    )
    recalled = await scopes.recall(services, olga.principal, "team", speaker="olga", text=CANARY)
    await kept_upstream.keep_response(services, olga.principal, "resp_of_olga", "KEEPSTONE_LLM")
    used = await sessions.make_link(services, olga.user)
    await sessions.log_in_once(services, token=used, browser=browser)
    listed = await sessions.list_sessions(services, olga.principal, PageRequest())
    ops = await make_person(services, "ops@example.net", is_admin=True)
    link, url = await invite_links.create(services, olga.principal, email="canary@example.org")
    taken_back, former = await invite_links.create(services, olga.principal)
    await invite_links.revoke(services, olga.principal, taken_back.id)
    post = Provider(name="canary", kind="smtp", base_url="smtp://127.0.0.1:1", sender=CANARY)
    await providers.put_providers(
        services, ops.principal, providers=[providers.WantedProvider(provider=post, key=CANARY)], defaults={}
    )
    return Victim(
        auth=olga.auth,
        operator=ops.auth,
        session=login.token,
        objects={
            "user_id": olga.user.id,
            "key_id": key.id,
            "session_id": listed.items[0].id,
            "link_id": link.id,
            "taken_back": former.rpartition("/")[2],
            "invite": (await invite_links.create(services, olga.principal))[1].rpartition("/")[2],
            "token": used,
            "path": "keepstone.css",
            "name": "somebody",  # of mem0's routes that answer nobody
            "job_id": await fail(services, olga),
            "model": "some-model",
            "family": "files",
            "response_id": "resp_of_olga",
            "plan": "pro",
            "entity_type": "user",
            "rest": "default/",
            "query_id": asked.query_id,
            "trace_id": str(recalled.trace_id),
            "account_id": olga.principal.account_id,
            "slug": AGENT,
            "scope_kind": "user",
            "scope_id": olga.user.id,
            "key": CANARY,
            "store": "notes",
            "scope": "team",
            **told,
            **kept,
        },
        fresh={"token": await sessions.make_link(services, olga.user)},
        secrets=frozenset(
            {
                CANARY, link.id, url, "canary@example.org",
                olga.user.id, olga.user.email, olga.key_id, olga.key, key.id, key.prefix, service_key.id,
                olga.principal.account_id, "192.0.2.99", *said.message_ids, *kept.values(), asked.query_id,
                str(asked.trace_id), str(recalled.trace_id),
                *(session.id for session in listed.items), *told.values(),
            }
        ),
    )  # fmt: skip


async def tell(services: Services, olga: Person) -> dict[str, str]:
    """What is known of people in a scope, there and in the trash, all of it of the canary."""
    turns = [
        Message(id=new_id("msg"), speaker="olga", text=text, at=services.clock())
        for text in (f"I like {CANARY}", f"I'm allergic to {CANARY}", f"my favourite food is {CANARY}")
    ]
    said = await scopes.ingest(services, olga.principal, "team", turns)
    async with services.db.transaction(account_scope(olga.principal)) as conn:
        space = await spaces.find(conn, kind="scope", name="team", owner=olga.user.id)
    assert space is not None
    await note_people(services, job_scope(olga.principal.account, space), space)
    known = await people.list_statements(services, olga.principal, "team", PageRequest())
    there, other, deleted = [statement.id for statement in known.items]
    await people.delete(services, olga.principal, "team", deleted)
    names = ("told_liking", "told_allergy", "told_food")
    return {
        "statement_id": there, "other_statement": other, "deleted_statement": deleted,
        **dict(zip(names, said.message_ids, strict=True)),
    }  # fmt: skip


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
    trashed = await one("in the trash of everything")
    away = await one("in the trash with others")
    for one_of_them in (trashed, away):
        await capsules.delete(services, olga.principal, one_of_them)
    return {
        "capsule_id": await one("there", project.id),
        "other_capsule": await one("there too"),
        "deleted_capsule": deleted,
        "trashed_capsule": trashed,
        "away_capsule": away,
        "cold_capsule": cold,
        "project_id": project.id,
        "spare_project": (await projects.create(services, olga.principal, name=CANARY)).id,
        "deleted_project": (await projects.create(services, olga.principal, name=CANARY)).id,
    }


async def invite(services: Services, olga: Person, room_id: str) -> dict[str, str]:
    """Invitations that wait for an answer: two that she got, one that she sent."""
    rosa = await make_person(services, "rosa@example.org", account=olga.user.account)
    for _ in range(2):
        await rooms.create(
            services, rosa.principal, name=CANARY, project_id=None, participants=[olga.user.id], agents=[]
        )
    await participants.join(services, olga.principal, room_id, rosa.user.id)
    got = await invitations.list_invitations(services, olga.principal, PageRequest())
    sent = await invitations.list_invitations(services, olga.principal, PageRequest(), sent=True)
    return dict(
        zip(
            ("invitation_id", "spare_invitation", "sent_invitation"),
            (one.id for one in (*got.items, *sent.items)), strict=True,
        )
    )  # fmt: skip


async def share(services: Services, olga: Person) -> dict[str, str]:
    """A workspace with something of every kind, there and in the trash, all of it of the canary."""
    me = olga.principal

    async def memory(text: str, wish: SupersedeWish = AUTO) -> str:
        new = NewMemory(content=f"{CANARY} {text}", category=CANARY, wish=wish)
        return (await chat_memories.save(services, me, new, workspace_id=None, chat_id=chat.id)).memory.id

    async def paper(text: str) -> str:
        data = f"{CANARY} {text}".encode()
        made, _ = await documents.upload(
            services, me, place.id, name=f"{CANARY} {text}.txt", data=data, media_type=None
        )
        return made.id

    async def art(text: str) -> str:
        text = f"{CANARY} {text}"
        made = await documents.create_artifact(
            services, me, place.id, name=CANARY, content=text, media_type="text/markdown"
        )
        return made.id

    place = await workspaces.create(services, me, name=CANARY)
    chat = await chats.create(services, me, title=CANARY, workspace_id=place.id)
    turn = await turns.open_turn(services, me, workspace_id=None, chat_id=chat.id, said=f"I am {CANARY}", inject=False)
    await turns.close_turn(services, me, turn, reply=CANARY, model=CANARY, tools=["x_save_memory"])
    found = {"workspace_id": place.id, "chat_id": chat.id, "message_id": str(turn.message_id)}
    found |= {
        "memory_id": await memory("there"),
        "document_id": await paper("there"),
        "artifact_id": await art("there"),
    }
    found |= {f"spare_memory_{n}": await memory(f"spare {n}") for n in range(5)}
    for n in range(2):
        for state in ("spare", "deleted"):
            found |= {
                f"{state}_workspace_{n}": (await workspaces.create(services, me, name=CANARY)).id,
                f"{state}_chat_{n}": (await chats.create(services, me, title=CANARY, workspace_id=place.id)).id,
                f"{state}_file_{n}": await paper(f"{state} {n}"),
                f"{state}_artifact_{n}": await art(f"{state} {n}"),
            }
        found[f"deleted_memory_{n}"] = await memory(f"deleted {n}")
        found[f"superseded_memory_{n}"] = await memory(f"superseded {n}")
        await memory(f"newer {n}", SupersedeWish(named=(found[f"superseded_memory_{n}"],)))
        await workspaces.delete(services, me, found[f"deleted_workspace_{n}"])
        await chats.delete(services, me, found[f"deleted_chat_{n}"])
        await chat_memories.delete(services, me, place.id, found[f"deleted_memory_{n}"])
        await documents.delete(services, me, place.id, "file", found[f"deleted_file_{n}"])
        await documents.delete(services, me, place.id, "artifact", found[f"deleted_artifact_{n}"])
    return found


async def talk(services: Services, olga: Person, project_id: str) -> dict[str, str]:
    """Rooms, direct messages, facts and graphs, all of them of the canary."""
    me = olga.principal
    await agents.create(services, me, slug=AGENT, name="Agent", context_window=8_000, instructions="")

    async def place(name: str) -> str:
        made = await rooms.create(
            services, me, name=f"{CANARY} {name}", project_id=project_id, participants=[], agents=[AGENT]
        )
        return made.room.id

    async def node(text: str, *superseded: str) -> str:
        made = await graphs.store_node(
            services, me, graph, content=f"{CANARY} {text}", node_type=CANARY, metadata={CANARY: 1},
            wish=SupersedeWish(named=superseded),
        )  # fmt: skip
        return made.node.id

    async def landmarks(where: str) -> tuple[str, str]:
        """One that holds, and one that it superseded."""
        old = (await room_memories.pin(services, me, where, text=f"{CANARY} of old")).memory.id
        new = await room_memories.pin(services, me, where, text=CANARY, wish=SupersedeWish(named=(old,)))
        return new.memory.id, old

    async def remembered(name: str, where: room_memories.Shared) -> dict[str, str]:
        """One that another superseded, one to delete, and one that is deleted."""
        remember = partial(room_memories.remember, services, me, name, place=where, agent=None, kind="fact")
        old = (await remember(text=f"I was {CANARY}")).memory.id
        await remember(text=f"I am {CANARY}", wish=SupersedeWish(named=(old,)))
        spare = (await remember(text=f"The cook is from {CANARY}.")).memory.id
        deleted = (await remember(text=f"The boat costs 400 {CANARY}.")).memory.id
        of_place = room_corrections.OF_PROFILE if where == "profile" else room_corrections.OF_PROJECT
        await of_place.delete(services, me, name, deleted)
        return {
            f"superseded_{where}_memory": old, f"spare_{where}_memory": spare, f"deleted_{where}_memory": deleted,
        }  # fmt: skip

    async def read(where: str) -> str:
        """What the agent makes of what was said there: the newest of it."""
        async with inside(services, me, rooms.find_place, where) as (_, place):
            space = place.space
        await room_memories.read_room(services, me.account, space)
        (memory, *_) = (await room_memories.list_room(services, me, where, PageRequest())).items
        return memory.id

    async def corrected(where: str, name: str) -> dict[str, str]:
        """A message, a memory and a landmark to delete, and ones that are deleted."""
        made: dict[str, str] = {}
        for state, text in (("spare", f"We hired a cook from {CANARY}."), ("deleted", f"We paint 400 boats {CANARY}.")):
            say = partial(rooms.say, services, me, where, alone=where == AGENT)
            await say(NewMessage(text=f"We decided this: {text}"))
            made[f"{state}_{name}_memory"] = await read(where)
            pinned = await room_memories.pin(services, me, where, text=text, wish=SupersedeWish("off"))
            made[f"{state}_{name}_landmark"] = pinned.memory.id
            made[f"{state}_{name}_message"] = (await say(NewMessage(text=f"Hello {CANARY}"))).id
        await room_corrections.MEMORIES.delete(services, me, where, made[f"deleted_{name}_memory"])
        await room_corrections.PINNED.delete(services, me, where, made[f"deleted_{name}_landmark"])
        await room_messages.delete(services, me, where, made[f"deleted_{name}_message"])
        return made

    room = await place("there")
    found = {"room_id": room, "spare_room": await place("spare"), "deleted_room": await place("deleted")}
    await rooms.delete(services, me, found["deleted_room"])
    thread = await rooms.open_thread(services, me, room, title=CANARY)
    said = await rooms.say(services, me, room, NewMessage(text=f"We decided on {CANARY}.", thread_id=thread.id))
    alone = await rooms.say(services, me, AGENT, NewMessage(text=f"I decided on {CANARY} alone."), alone=True)
    landmark, superseded = await landmarks(room)
    found |= {"landmark_id": landmark, "room_landmark": landmark, "superseded_landmark": superseded}
    found["direct_landmark"], found["superseded_alone"] = await landmarks(AGENT)
    found |= {"room_memory": await read(room), "direct_memory": await read(AGENT)}
    found |= {"room_message": said.id, "direct_message": alone.id}
    found |= await corrected(room, "room") | await corrected(AGENT, "direct")
    found |= await remembered(olga.user.id, "profile") | await remembered(project_id, "project")
    await facts.put(services, me, "user", olga.user.id, CANARY, f'"{CANARY}"')
    graph = (await graphs.create_graph(services, me, name=CANARY)).id
    found |= {"thread_id": thread.id, "graph_id": graph}
    found |= {
        name: await node(name) for name in ("node_id", "other_node", "spare_node", "deleted_node", "superseded_node")
    }
    await node("newer", found["superseded_node"])
    edge = await graphs.relate(
        services, me, graph, from_id=found["node_id"], to_id=found["other_node"], edge_type=CANARY, metadata={}
    )
    await graphs.forget_node(services, me, graph, found["deleted_node"])
    for name in ("spare_graph", "deleted_graph"):
        found[name] = (await graphs.create_graph(services, me, name=CANARY)).id
    await graphs.delete_graph(services, me, found["deleted_graph"])
    return found | {"edge_id": edge.id}


async def bring(services: Services, olga: Person) -> str:
    """An import of hers that waits, of a file that is called after the canary."""

    async def pieces() -> AsyncGenerator[bytes]:
        yield json.dumps({"speaker": CANARY, "text": CANARY}).encode() + b"\n"

    new = imports.NewImport(pieces=pieces(), name=f"{CANARY}.jsonl", source="jsonl")
    return (await imports.create(services, olga.principal, new)).id


async def fail(services: Services, olga: Person) -> str:
    """A job of hers that has failed."""
    async with services.db.transaction(account_scope(olga.principal.account)) as conn:
        await services.queue.add(conn, "erase_user", account=olga.principal.account, user_id=olga.user.id)
    (job,) = await services.queue.latest(status="todo", limit=1)
    await services.queue.app.job_manager.finish_job_by_id_async(job.id, status=Status.FAILED, delete_job=False)
    return str(job.id)


async def put(services: Services, olga: Person) -> dict[str, str]:
    """Items of a store, there and in the trash, all of them of the canary."""
    found = {}
    for key in ("there", "spare", "deleted"):
        asked = Put(namespace=["plans"], key=key, value={"text": f"{CANARY} {key}", CANARY: 1})
        found[f"{key}_item"] = (await stores.put(services, olga.principal, "notes", asked)).id
    await stores.delete(services, olga.principal, "notes", Delete(namespace=["plans"], key="deleted"))
    return found


async def note(services: Services, olga: Person) -> dict[str, str]:
    """What is kept for a user of hers, who is called after the canary."""

    async def one(text: str, *superseded: str) -> str:
        new = NewMemories(
            ids=Ids(user_id=f"{CANARY}-of-mem0"), messages=[EntityMessage(role="user", content=f"{CANARY} {text}")],
            infer=False, metadata={CANARY: 1}, categories=[CANARY], wish=SupersedeWish(named=superseded),
        )  # fmt: skip
        return (await entity_memories.add(services, olga.principal, new))[0].memory.id

    found = {f"{state}entity_memory": await one(state) for state in ("", "spare_", "batched_", "deleted_", "revised_")}
    await one("newer", found["revised_entity_memory"])
    await entity_memories.delete(services, olga.principal, [found["deleted_entity_memory"]])
    return found | {"entity": f"{CANARY}-of-mem0"}


async def make_former_member(services: Services, world: World, objects: dict[str, str]) -> Person:
    """Somebody who was in the victim's workspace, project and room, and was sent away; and was invited and no more."""
    workspace_id, project_id, room_id = objects["workspace_id"], objects["project_id"], objects["room_id"]
    rita = await make_person(services, "rita@example.org", account=world.owner.user.account, password=PASSWORD)
    await workspaces.put_member(services, world.owner.principal, workspace_id, rita.user.id, "owner")
    await chats.create(services, rita.principal, title="of rita", workspace_id=workspace_id)
    await workspaces.remove_member(services, world.owner.principal, workspace_id, rita.user.id)
    await projects.put_member(services, world.owner.principal, project_id, rita.user.id, "owner")
    await projects.remove_member(services, world.owner.principal, project_id, rita.user.id)
    for by in (replace(world.owner.principal, acting=True, via="key"), world.owner.principal):
        await participants.join(services, by, room_id, rita.user.id)
        await participants.leave(services, world.owner.principal, room_id, rita.user.id)
    return rita


async def make_limited(services: Services, world: World) -> Attacker:
    """The victim's own key, for one workspace of hers in which there is nothing."""
    olga = world.owner
    place = await workspaces.create(services, olga.principal, name="elsewhere")
    _, secret = await keys.create_key(services, olga.principal, name="for elsewhere", spaces=[place.id])
    known = frozenset({olga.principal.account_id, olga.user.id, olga.user.email})
    return Attacker(
        name="a key for another space", headers={"Authorization": f"Bearer {secret}"}, known=known, limited=True
    )


async def make_attackers(services: Services, world: World, victim: Victim) -> list[Attacker]:
    _, foreign_service = await keys.create_key(services, world.stranger.principal, name="robot", service=True)
    service = {"Authorization": f"Bearer {foreign_service}"}
    rita = await make_former_member(services, world, victim.objects)
    browser = sessions.Browser(address="192.0.2.50", user_agent=None)
    cookie = {
        who.user.id: (await sessions.log_in(services, email=who.user.email, password=PASSWORD, browser=browser)).token
        for who in (world.member, world.stranger, rita)
    }
    return [
        Attacker(
            name="another user of the account",
            headers=world.member.auth,
            known=frozenset({world.owner.principal.account_id}),
            session=cookie[world.member.user.id],
        ),
        Attacker(
            name="somebody who was sent away",
            headers=rita.auth,
            known=frozenset({world.owner.principal.account_id}),
            session=cookie[rita.user.id],
        ),
        Attacker(name="another account", headers=world.stranger.auth, session=cookie[world.stranger.user.id]),
        Attacker(name="another account's service key", headers=service, is_user=False),
        Attacker(
            name="the same, naming the victim", headers={**service, "X-Keepstone-User": world.owner.user.id}
        ),
        Attacker(
            name="a user naming the victim",
            headers={**world.member.auth, "X-Keepstone-User": world.owner.user.email},
            known=frozenset({world.owner.principal.account_id}),
            session=cookie[world.member.user.id],
        ),
        await make_limited(services, world),
        Attacker(name="nobody", headers={}),
    ]  # fmt: skip


async def walk(app: FastAPI, services: Services, world: World, database: str) -> list[str]:
    """Every finding, as a sentence. An empty list is what we want."""
    victim = await make_victim(services, world)
    attackers = await make_attackers(services, world, victim)
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
    await services.traces.flush()
    before = await belongings(database, victim)
    for label, method, path in exercised:
        for attacker in attackers:
            findings += await attack(app, label, method, path, victim, attacker)
    await services.traces.flush()
    if await belongings(database, victim) != before:
        findings.append("something of the victim's was changed by somebody else")
    await guesses.forgive(services, "login:olga@example.org", "login:olga@example.org:127.0.0.1")
    for label, method, path in exercised:
        findings += await control(app, label, method, path, victim)
    return findings


async def attack(
    app: FastAPI, label: str, method: str, path: str, victim: Victim, attacker: Attacker
) -> list[str]:  # fmt: skip
    if attacker.limited and path in {"/v1/me", "/v1/agents", "/v1/agents/{slug}"} and method == "GET":
        return []  # one's own name, and what is the account's and in no space
    of_account = bool(attacker.known) and "X-Keepstone-User" not in attacker.headers and not attacker.limited
    if of_account and path.startswith(OF_ACCOUNT):
        return []
    async with http(app, address="192.0.2.50") as client:
        probe = PROBES.get(label, Probe())
        answer = await send(client, method, path, victim.objects, attacker.headers, attacker.session, probe)
    shown = answer.text + str(sorted(answer.headers.items()))
    leaked = sorted(secret for secret in victim.secrets - attacker.known if secret in shown)
    findings = [f"{label}: {attacker.name} sees {secret!r}" for secret in leaked]
    told = (parameters(path) or probe.names_it) and not (of_account and path.startswith(EVERYBODYS))
    own = (
        path.startswith(NAMED)
        and "/people/" not in path
        and attacker.headers
        and "X-Keepstone-User" not in attacker.headers
    )
    told = told and not (own and answer.status_code == 200)
    if told and label not in PUBLIC and answer.status_code not in wanted(label, path, attacker):
        findings.append(f"{label}: {attacker.name} gets {answer.status_code}, not 404")
    return findings


def wanted(label: str, path: str, attacker: Attacker) -> set[int]:
    """404; only somebody without any credential may be told to get one. And whoever could have nothing there, whatever
    they ask for, may be told so: in the console all but admins, among capsules and in workspaces who is no user.
    """
    if attacker.knocks_with_nothing(path) and label not in OPEN:
        return {401}
    if (
        attacker.limited
        or "/x_console/" in label
        or "{family}" in label
        or (path.startswith(OF_USERS) and not attacker.is_user)
    ):
        return {403, 404}
    return {404}


OPEN = ("GET /auth/once/{token}", "GET /join/{invite}", "POST /join/{invite}")  # for who is not signed in
OF_USERS = (
    "/v1/imports", "/v1/memory/", "/v1/workspaces", "/v1/chats", "/v1/{chat_id}", "/v1/rooms", "/v1/dms/",
    "/v1/profiles/", "/v1/projects/", "/v1/invitations", "/v1/facts",
)  # fmt: skip


async def control(app: FastAPI, label: str, method: str, path: str, victim: Victim) -> list[str]:
    """The victim's own request has to work, or the attacks on it prove nothing."""
    probe = PROBES.get(label, Probe())
    probe = replace(probe, **probe.control)
    async with http(app) as client:
        objects = victim.objects | victim.fresh
        auth = victim.operator if path.startswith(("/x_console/api/", "/v1/settings/", "/v1/{family}")) else victim.auth
        answer = await send(client, method, path, objects, auth, victim.session, probe)
    good = answer.status_code in EXPECTED.get(label, set(range(200, 400)))
    return [] if good else [f"{label}: the victim's own request gets {answer.status_code}: {answer.text[:200]}"]


async def send(
    client: httpx.AsyncClient,
    method: str,
    path: str,
    objects: dict[str, str],
    headers: dict[str, str],
    session: str | None,
    probe: Probe,
) -> httpx.Response:
    objects = objects | {name: objects[other] for name, other in probe.instead.items()}
    headers = headers | filled(probe.headers, objects)
    if path.startswith(BROWSER):  # as a browser's script does; the bearer is sent along, and must not count
        headers |= {"Accept": "application/json"} | ({"Cookie": f"session={session}"} if session else {})
    return await client.request(
        method,
        path.format(**objects),
        headers=headers,
        json=filled(probe.json, objects),
        data=probe.data,
        files=probe.files,
        params=filled(probe.params, objects),
    )


def filled(value: Any, objects: dict[str, str]) -> Any:
    """A body with the victim's objects in it: `{…}` is the name of one."""
    if isinstance(value, dict):
        return {key: filled(item, objects) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, objects) for item in value]
    return objects.get(value[1:-1], value) if isinstance(value, str) and value.startswith("{") else value


async def belongings(database: str, victim: Victim) -> list[str]:
    """Every row in the database that names the victim, but for the time of last use, and for the traces of what others
    asked with her words.
    """
    found: list[str] = []
    async with await psycopg.AsyncConnection.connect(database) as conn:
        tables = await (await conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'keepstone'")).fetchall()
        for (table,) in tables:
            if table == "audit":
                continue
            query = sql.SQL("SELECT (to_jsonb(t) - 'last_used_at')::text FROM keepstone.{} t")
            rows = await (await conn.execute(query.format(sql.Identifier(table)))).fetchall()
            found += [
                f"{table} {row}"
                for (row,) in rows
                if any(secret in row for secret in victim.secrets)
                and (table != "traces" or victim.objects["trace_id"] in row)
            ]
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
