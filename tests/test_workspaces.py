"""Workspaces: made, shared and put away; who may do what in them, and to whom they are not there at all."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import httpx
import pytest
from fastapi import FastAPI

from capsules import at, audited, rows
from conftest import Person, World, http, make_person
from keepstone.app import make_app
from keepstone.model.workspace import RANK, Role
from keepstone.services import Services
from workspaces import (
    artifact,
    call,
    default_of,
    everything,
    found,
    keep,
    let_in,
    make_chat,
    make_workspace,
    say,
    signed_in,
    upload,
)

NOW = datetime.now(UTC)
ROLES: tuple[Role, ...] = get_args(Role)


# ------------------------------------------------------------------------------------------------------ the default one


async def test_everybody_has_a_default_workspace_of_their_own(client: httpx.AsyncClient, world: World) -> None:
    seen = set[str]()
    for person in (world.owner, world.member, world.stranger):
        (one,) = (await call(client, person.auth, "GET", "/workspaces"))["items"]
        assert one["is_default"]
        assert one["role"] == "owner"
        assert one["memory_count"] == 0
        assert one["created_at"].endswith("Z")
        assert await default_of(client, person.auth) == one["id"], "and it stays the same"
        seen.add(one["id"])
    assert len(seen) == 3


async def test_ten_first_calls_at_once_make_one_default_workspace(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    first = [call(client, auth, "GET", "/workspaces") for _ in range(5)]
    chats = [make_chat(client, auth) for _ in range(5)]
    answers = await asyncio.gather(*first, *chats)
    assert len({one["id"] for page in answers[:5] for one in page["items"]}) == 1
    mine = await default_of(client, auth)
    assert {(await call(client, auth, "GET", f"/chats/{chat}"))["workspace_id"] for chat in answers[5:]} == {mine}
    assert await rows(database, "SELECT kind, count(*) FROM spaces WHERE name LIKE 'ws_%%' GROUP BY 1 ORDER BY 1") == [
        ("library", 2),
        ("workspace", 1),
    ]


async def test_the_default_workspace_is_neither_shared_nor_deleted_nor_left(
    client: httpx.AsyncClient, world: World
) -> None:
    auth, path = world.owner.auth, f"/workspaces/{await default_of(client, world.owner.auth)}"
    await call(client, auth, "PUT", f"{path}/members", json={"user": world.member.user.id}, expect=409)
    await call(client, auth, "POST", f"{path}/members", json={"user": world.member.user.id}, expect=409)
    await call(client, auth, "DELETE", path, expect=409)
    await call(client, auth, "DELETE", f"{path}/members/{world.owner.user.id}", expect=409)
    assert (await call(client, auth, "PATCH", path, json={"name": "Mine"}))["name"] == "Mine"
    assert [one["user_id"] for one in (await call(client, auth, "GET", f"{path}/members"))["items"]] == [
        world.owner.user.id
    ]


# ---------------------------------------------------------------------------------------- made, renamed, put away, back


async def test_whoever_makes_a_workspace_owns_it(client: httpx.AsyncClient, world: World) -> None:
    made = await call(client, world.member.auth, "POST", "/workspaces", json={"name": "岛屿 🏝"}, expect=201)
    assert made["id"].startswith("ws_")
    assert made["name"] == "岛屿 🏝"
    assert made["role"] == "owner"
    assert not made["is_default"]
    assert made["deleted_at"] is None
    assert await call(client, world.member.auth, "GET", f"/workspaces/{made['id']}") == made
    again = await call(client, world.member.auth, "POST", "/workspaces", json={"name": "岛屿 🏝"}, expect=201)
    assert again["id"] != made["id"], "a name is no id"


@pytest.mark.parametrize("name", ["", "x" * 256, "a\0b", "\ud800", 7, None])
async def test_a_workspace_needs_a_name_that_can_be_kept(client: httpx.AsyncClient, world: World, name: Any) -> None:
    auth, kept = world.owner.auth, await make_workspace(client, world.owner.auth)
    text = {"content": '{"name": "\\ud800"}', "headers": auth | {"Content-Type": "application/json"}}
    options: dict[str, Any] = text if name == "\ud800" else {"json": {"name": name}, "headers": auth}
    assert (await client.post("/v1/workspaces", **options)).status_code == 422
    assert (await client.patch(f"/v1/workspaces/{kept}", **options)).status_code == 422
    assert (await call(client, auth, "GET", f"/workspaces/{kept}"))["name"] == "Island"


async def test_a_deleted_workspace_is_gone_with_all_that_is_in_it_and_comes_back_with_it(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth, workspace = world.owner.auth, await make_workspace(client, world.owner.auth)
    await let_in(client, auth, workspace, world.member)
    chat = await make_chat(client, auth, workspace)
    await say(services, world.owner, chat, "The ferry leaves at nine.")
    memory = await keep(client, auth, workspace, "The ferry leaves at nine.")
    paper = await upload(client, auth, workspace, "ferry.txt", b"Tickets are sold at the harbour.")
    made = await artifact(client, auth, workspace, "Pack a coat.")
    inside = [
        f"/workspaces/{workspace}",
        f"/workspaces/{workspace}/members",
        f"/workspaces/{workspace}/memories",
        f"/workspaces/{workspace}/memories/{memory['id']}",
        f"/workspaces/{workspace}/memories/{memory['id']}/history",
        f"/workspaces/{workspace}/extractions",
        f"/workspaces/{workspace}/search?q=ferry",
        f"/workspaces/{workspace}/files",
        f"/workspaces/{workspace}/files/{paper['id']}",
        f"/workspaces/{workspace}/files/{paper['id']}/content",
        f"/workspaces/{workspace}/artifacts/{made['id']}",
        f"/chats?workspace_id={workspace}",
        f"/chats/{chat}",
        f"/chats/{chat}/messages",
        f"/chats/{chat}/memories",
    ]
    await call(client, auth, "DELETE", f"/workspaces/{workspace}", expect=204)
    for who in (world.owner, world.member):
        for path in inside:
            answer = await client.get(f"/v1{path}", headers=who.auth)
            assert answer.status_code == 404, path
        assert chat not in [one["id"] for one in (await call(client, who.auth, "GET", "/chats"))["items"]]
        trash = (await call(client, who.auth, "GET", "/workspaces?deleted=true"))["items"]
        assert [one["id"] for one in trash] == [workspace]
        assert trash[0]["deleted_at"].endswith("Z")
    await call(client, auth, "DELETE", f"/workspaces/{workspace}", expect=404)
    await call(client, world.member.auth, "POST", f"/workspaces/{workspace}/restore", expect=403)
    await call(client, world.stranger.auth, "POST", f"/workspaces/{workspace}/restore", expect=404)
    back = await call(client, auth, "POST", f"/workspaces/{workspace}/restore")
    assert (back["id"], back["deleted_at"]) == (workspace, None)
    for who in (world.owner, world.member):
        for path in inside:
            assert (await client.get(f"/v1{path}", headers=who.auth)).status_code == 200, path
    assert set(await found(client, world.member.auth, workspace, "ferry tickets coat")) == {
        memory["id"], paper["id"], made["id"],
    }  # fmt: skip
    await call(client, auth, "POST", f"/workspaces/{workspace}/restore", expect=404)


async def test_after_thirty_days_in_the_trash_it_does_not_come_back(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    workspace = await make_workspace(client, world.owner.auth)
    await call(client, world.owner.auth, "DELETE", f"/workspaces/{workspace}", expect=204)
    async with at(services, NOW + timedelta(days=31)) as later:
        await call(later, world.owner.auth, "POST", f"/workspaces/{workspace}/restore", expect=404)
    async with at(services, NOW + timedelta(days=29)) as earlier:
        await call(earlier, world.owner.auth, "POST", f"/workspaces/{workspace}/restore")


async def test_every_write_leaves_an_audit_line_without_its_text(client: httpx.AsyncClient, world: World) -> None:
    auth, workspace = world.owner.auth, await make_workspace(client, world.owner.auth, "a name nobody may read")
    await call(client, auth, "PATCH", f"/workspaces/{workspace}", json={"name": "another secret name"})
    await let_in(client, auth, workspace, world.member, "editor")
    await call(client, auth, "DELETE", f"/workspaces/{workspace}/members/{world.member.user.id}", expect=204)
    await call(client, auth, "DELETE", f"/workspaces/{workspace}", expect=204)
    await call(client, auth, "POST", f"/workspaces/{workspace}/restore")
    for action in ("create", "rename", "member", "leave", "delete", "restore"):
        (line,) = await audited(client, auth, f"workspace.{action}")
        assert line["object_id"] == workspace
        kept = str(line | {"title": None})  # its name is looked up for whoever may read it, and in no line
        assert "secret" not in kept
        assert "nobody may read" not in kept


# -------------------------------------------------------------------------------------------------------------- members


async def test_somebody_is_let_in_by_id_or_address_and_finds_everything(
    client: httpx.AsyncClient, world: World
) -> None:
    auth, workspace = world.owner.auth, await make_workspace(client, world.owner.auth)
    memory = await keep(client, auth, workspace, "The ferry leaves at nine.")
    await call(client, world.member.auth, "GET", f"/workspaces/{workspace}", expect=404)
    body = {"user": " Max@Example.org ", "role": "viewer"}
    members = (await call(client, auth, "PUT", f"/workspaces/{workspace}/members", json=body))["items"]
    assert [(one["user_id"], one["email"], one["role"]) for one in members] == [
        (world.owner.user.id, "olga@example.org", "owner"),
        (world.member.user.id, "max@example.org", "viewer"),
    ]
    assert (await call(client, world.member.auth, "GET", f"/workspaces/{workspace}"))["role"] == "viewer"
    assert await found(client, world.member.auth, workspace, "ferry") == [memory["id"]]
    assert (await let_in(client, auth, workspace, world.member, "editor"))["items"][1]["role"] == "editor"
    assert (await call(client, world.member.auth, "GET", f"/workspaces/{workspace}"))["role"] == "editor"
    default = await call(client, auth, "POST", f"/workspaces/{workspace}/members", json={"user": world.member.user.id})
    assert default["items"][1]["role"] == "member", "what nobody says"


@pytest.mark.parametrize("user", ["nobody@example.org", "stan@elsewhere.example", "usr_" + "a" * 24, "usr_", "%", "'"])
async def test_who_is_not_in_the_account_is_not_there_to_be_let_in(
    client: httpx.AsyncClient, world: World, user: str
) -> None:
    workspace = await make_workspace(client, world.owner.auth)
    path = f"/workspaces/{workspace}/members"
    await call(client, world.owner.auth, "PUT", path, json={"user": user}, expect=404)
    await call(client, world.owner.auth, "PUT", path, json={"user": world.stranger.user.id}, expect=404)
    assert len((await call(client, world.owner.auth, "GET", path))["items"]) == 1


@pytest.mark.parametrize("role", ["admin", "", None, "Owner", 3])
async def test_only_the_four_roles_are_known(client: httpx.AsyncClient, world: World, role: Any) -> None:
    workspace = await make_workspace(client, world.owner.auth)
    body = {"user": world.member.user.id, "role": role}
    await call(client, world.owner.auth, "PUT", f"/workspaces/{workspace}/members", json=body, expect=422)


async def test_a_workspace_keeps_an_owner(client: httpx.AsyncClient, world: World) -> None:
    auth, workspace = world.owner.auth, await make_workspace(client, world.owner.auth)
    path, me = f"/workspaces/{workspace}/members", world.owner.user.id
    await call(client, auth, "DELETE", f"{path}/{me}", expect=409)
    for role in ("viewer", "member", "editor"):
        await call(client, auth, "PUT", path, json={"user": me, "role": role}, expect=409)
    await call(client, auth, "PUT", path, json={"user": me, "role": "owner"})
    await let_in(client, auth, workspace, world.member, "owner")
    await call(client, auth, "DELETE", f"{path}/{me}", expect=204)
    await call(client, auth, "GET", f"/workspaces/{workspace}", expect=404)
    await call(client, world.member.auth, "DELETE", f"{path}/{world.member.user.id}", expect=409)


async def test_two_owners_who_step_down_at_once_leave_one(client: httpx.AsyncClient, world: World) -> None:
    for _ in range(5):
        workspace = await make_workspace(client, world.owner.auth)
        await let_in(client, world.owner.auth, workspace, world.member, "owner")
        path = f"/workspaces/{workspace}/members"
        codes = [
            answer.status_code
            for answer in await asyncio.gather(
                client.delete(f"/v1{path}/{world.owner.user.id}", headers=world.owner.auth),
                client.put(
                    f"/v1{path}", headers=world.member.auth, json={"user": world.member.user.id, "role": "viewer"}
                ),
            )
        ]
        assert sorted(codes) in ([200, 409], [204, 409])


@pytest.mark.parametrize("role", ROLES)
async def test_everybody_may_leave_and_then_it_is_not_there(
    client: httpx.AsyncClient, world: World, role: Role
) -> None:
    workspace = await make_workspace(client, world.owner.auth)
    await let_in(client, world.owner.auth, workspace, world.member, role)
    path = f"/workspaces/{workspace}/members/{world.member.user.id}"
    await call(client, world.member.auth, "DELETE", path, expect=204)
    await call(client, world.member.auth, "GET", f"/workspaces/{workspace}", expect=404)
    await call(client, world.member.auth, "DELETE", path, expect=404)
    await call(client, world.owner.auth, "DELETE", path, expect=404)
    assert workspace not in [
        one["id"] for one in (await call(client, world.member.auth, "GET", "/workspaces"))["items"]
    ]


async def test_whoever_was_sent_away_finds_nothing_not_even_what_was_theirs(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth, workspace = world.owner.auth, await make_workspace(client, world.owner.auth)
    await let_in(client, auth, workspace, world.member)
    chat = await make_chat(client, world.member.auth, workspace)
    await say(services, world.member, chat, "I am allergic to peanuts.")
    memory = await keep(client, world.member.auth, workspace, "Max is allergic to peanuts.")
    await call(client, auth, "DELETE", f"/workspaces/{workspace}/members/{world.member.user.id}", expect=204)
    for path in (f"/workspaces/{workspace}/memories/{memory['id']}", f"/chats/{chat}", f"/chats/{chat}/messages"):
        await call(client, world.member.auth, "GET", path, expect=404)
    await call(client, world.member.auth, "DELETE", f"/workspaces/{workspace}/memories/{memory['id']}", expect=404)
    assert (await call(client, world.member.auth, "GET", "/chats"))["items"] == []
    assert await found(client, auth, workspace, "peanuts") == [memory["id"]], "it stays the workspace's"


# ------------------------------------------------------------------------------------------------------ who may do what


@dataclass(frozen=True)
class Place:
    """A shared workspace with something of its owner's in it, made anew for each attempt."""

    client: httpx.AsyncClient
    services: Services
    owner: Person
    somebody: Person
    workspace: str
    away: bool = False  # put what is asked for in the trash first

    @property
    def path(self) -> str:
        return f"/workspaces/{self.workspace}"

    async def memory(self) -> str:
        made = await keep(self.client, self.owner.auth, self.workspace, f"Memory number {next(_number)}")
        return await self._put_away(f"{self.path}/memories/{made['id']}")

    async def chat(self) -> str:
        return await self._put_away(f"/chats/{await make_chat(self.client, self.owner.auth, self.workspace)}")

    async def chat_memory(self) -> str:
        chat = await make_chat(self.client, self.owner.auth, self.workspace)
        body = {"content": f"Memory number {next(_number)} of a chat"}
        made = await call(self.client, self.owner.auth, "POST", f"/chats/{chat}/memory", json=body, expect=201)
        return f"/chats/{chat}/memories/{made['id']}"

    async def file(self) -> str:
        text = f"File number {next(_number)}".encode()
        made = await upload(self.client, self.owner.auth, self.workspace, "a.txt", text)
        return await self._put_away(f"{self.path}/files/{made['id']}")

    async def art(self) -> str:
        made = await artifact(self.client, self.owner.auth, self.workspace, f"Artifact number {next(_number)}")
        return await self._put_away(f"{self.path}/artifacts/{made['id']}")

    async def elsewhere(self) -> str:
        """Another chat of the owner's in this workspace, to be moved to where somebody is at home."""
        return await self.chat()

    async def _put_away(self, path: str) -> str:
        if self.away:
            await call(self.client, self.owner.auth, "DELETE", path, expect=204)
        return path


_number = iter(range(1_000_000))
Where = Callable[[Place], Awaitable[str]]


@dataclass(frozen=True)
class Operation:
    """What somebody tries, and the least role that may."""

    name: str
    method: str
    least: Role
    where: Where
    below: str = ""
    options: dict[str, Any] | None = None
    away: bool = False


async def _itself(place: Place) -> str:
    return place.path


async def _put_away_workspace(place: Place) -> str:
    await call(place.client, place.owner.auth, "DELETE", place.path, expect=204)
    return place.path


async def _third(place: Place) -> str:
    third = await make_person(place.services, f"third{next(_number)}@example.org", account=place.owner.user.account)
    await let_in(place.client, place.owner.auth, place.workspace, third)
    return f"{place.path}/members/{third.user.id}"


FILE = {"files": {"file": ("b.txt", b"Somebody else's file", "text/plain")}}
OPERATIONS = [
    Operation("see it", "GET", "viewer", _itself),
    Operation("see who is in it", "GET", "viewer", _itself, "/members"),
    Operation("search", "GET", "viewer", _itself, "/search?q=memory"),
    Operation("see what is read in the background", "GET", "viewer", _itself, "/extractions"),
    Operation("rename it", "PATCH", "owner", _itself, options={"json": {"name": "Renamed"}}),
    Operation("send somebody away", "DELETE", "owner", _third),
    Operation("list memories", "GET", "viewer", _itself, "/memories"),
    Operation("list memories in the trash", "GET", "viewer", _itself, "/memories?deleted=true"),
    Operation("remember", "POST", "member", _itself, "/memories", {"json": {"content": "Somebody's own"}}),
    Operation("see a memory", "GET", "viewer", Place.memory),
    Operation("see its history", "GET", "viewer", Place.memory, "/history"),
    Operation("change a memory", "PATCH", "editor", Place.memory, options={"json": {"content": "Changed"}}),
    Operation("delete a memory", "DELETE", "editor", Place.memory),
    Operation("restore a memory", "POST", "editor", Place.memory, "/restore", away=True),
    Operation("rerun its extraction", "POST", "editor", Place.memory, "/rerun-extraction"),
    Operation("see a chat", "GET", "viewer", Place.chat),
    Operation("read a chat", "GET", "viewer", Place.chat, "/messages"),
    Operation("list a chat's memories", "GET", "viewer", Place.chat, "/memories"),
    Operation("remember in a chat", "POST", "member", Place.chat, "/memory", {"json": {"content": "Of this chat"}}),
    Operation("rename a chat", "PATCH", "editor", Place.chat, options={"json": {"title": "Renamed"}}),
    Operation("take a chat away", "PATCH", "owner", Place.chat, options={"json": {"workspace_id": None}}),
    Operation("delete a chat", "DELETE", "editor", Place.chat),
    Operation("restore a chat", "POST", "editor", Place.chat, "/restore", away=True),
    Operation("see a memory of a chat", "GET", "viewer", Place.chat_memory),
    Operation("change a memory of a chat", "PATCH", "editor", Place.chat_memory, options={"json": {"content": "New"}}),
    Operation("delete a memory of a chat", "DELETE", "editor", Place.chat_memory),
    Operation("list files", "GET", "viewer", _itself, "/files"),
    Operation("upload", "POST", "member", _itself, "/files", FILE),
    Operation("see a file", "GET", "viewer", Place.file),
    Operation("download a file", "GET", "viewer", Place.file, "/content"),
    Operation("read a file in parts", "GET", "viewer", Place.file, "/chunks"),
    Operation("see a file's history", "GET", "viewer", Place.file, "/history"),
    Operation("delete a file", "DELETE", "editor", Place.file),
    Operation("restore a file", "POST", "editor", Place.file, "/restore", away=True),
    Operation("list artifacts", "GET", "viewer", _itself, "/artifacts"),
    Operation("make an artifact", "POST", "member", _itself, "/artifacts", {"json": {"name": "b", "content": "B"}}),
    Operation("see an artifact", "GET", "viewer", Place.art),
    Operation("see an artifact's history", "GET", "viewer", Place.art, "/history"),
    Operation("change an artifact", "PATCH", "editor", Place.art, options={"json": {"content": "Changed"}}),
    Operation("revert an artifact", "POST", "editor", Place.art, "/revert?version=1"),
    Operation("delete an artifact", "DELETE", "editor", Place.art),
    Operation("restore an artifact", "POST", "editor", Place.art, "/restore", away=True),
    Operation("delete it", "DELETE", "owner", _itself),
    Operation("restore it", "POST", "owner", _put_away_workspace, "/restore"),
]  # fmt: skip


async def attempt(place: Place, operation: Operation) -> int:
    """The status that somebody gets for it."""
    path = await operation.where(replace(place, away=operation.away))
    answer = await place.client.request(
        operation.method, f"/v1{path}{operation.below}", headers=place.somebody.auth, **(operation.options or {})
    )
    assert answer.status_code < 500, (operation.name, answer.text)
    return answer.status_code


@pytest.mark.parametrize("role", ROLES)
async def test_each_role_may_what_it_may_and_nothing_more(
    client: httpx.AsyncClient, services: Services, world: World, role: Role
) -> None:
    for operation in OPERATIONS:
        place = Place(client, services, world.owner, world.member, await make_workspace(client, world.owner.auth))
        await let_in(client, world.owner.auth, place.workspace, world.member, role)
        status = await attempt(place, operation)
        if RANK[role] >= RANK[operation.least]:
            assert 200 <= status < 300, f"a {role} can't {operation.name}: {status}"
        else:
            assert status == 403, f"a {role} may {operation.name}: {status}"


async def test_a_viewer_changes_nothing_at_all(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    """Whatever they try, every row stays as it is."""
    for operation in (one for one in OPERATIONS if one.method != "GET"):
        place = Place(client, services, world.owner, world.member, await make_workspace(client, world.owner.auth))
        await let_in(client, world.owner.auth, place.workspace, world.member, "viewer")
        path = await operation.where(replace(place, away=operation.away))
        before = await contents(database)
        await client.request(
            operation.method, f"/v1{path}{operation.below}", headers=world.member.auth, **(operation.options or {})
        )
        assert await contents(database) == before, operation.name


async def contents(database: str) -> list[tuple[Any, ...]]:
    tables = ("spaces", "members", "chats", "messages", "memories", "memory_versions", "documents", "document_versions")
    every = " UNION ALL ".join(f"SELECT (to_jsonb(t) - 'indexing_scheduled')::text FROM {table} t" for table in tables)
    return await rows(database, f"{every} ORDER BY 1")


@pytest.mark.parametrize("who", ["member", "stranger"])
async def test_to_who_is_not_in_it_nothing_is_there(
    client: httpx.AsyncClient, services: Services, world: World, who: str
) -> None:
    somebody: Person = getattr(world, who)
    for operation in OPERATIONS:
        workspace = await make_workspace(client, world.owner.auth)
        place = Place(client, services, world.owner, somebody, workspace)
        assert await attempt(place, operation) == 404, operation.name


async def test_what_a_member_added_they_may_change_as_long_as_they_are_one(
    client: httpx.AsyncClient, world: World
) -> None:
    auth, workspace = world.member.auth, await make_workspace(client, world.owner.auth)
    await let_in(client, world.owner.auth, workspace, world.member)
    chat = await make_chat(client, auth, workspace)
    memory = await keep(client, auth, workspace, "Max likes tea.")
    paper = await upload(client, auth, workspace, "tea.txt", b"Tea is made of leaves.")
    art = await artifact(client, auth, workspace, "Tea list")
    tries: list[tuple[str, str, Any]] = [
        ("PATCH", f"/workspaces/{workspace}/memories/{memory['id']}", {"content": "Max likes green tea."}),
        ("POST", f"/workspaces/{workspace}/memories/{memory['id']}/rerun-extraction", None),
        ("PATCH", f"/chats/{chat}", {"title": "Tea"}),
        ("PATCH", f"/workspaces/{workspace}/artifacts/{art['id']}", {"content": "Longer tea list"}),
        ("DELETE", f"/workspaces/{workspace}/memories/{memory['id']}", None),
        ("POST", f"/workspaces/{workspace}/memories/{memory['id']}/restore", None),
        ("DELETE", f"/workspaces/{workspace}/files/{paper['id']}", None),
        ("POST", f"/workspaces/{workspace}/files/{paper['id']}/restore", None),
        ("DELETE", f"/workspaces/{workspace}/artifacts/{art['id']}", None),
        ("POST", f"/workspaces/{workspace}/artifacts/{art['id']}/restore", None),
        ("DELETE", f"/chats/{chat}", None),
        ("POST", f"/chats/{chat}/restore", None),
    ]
    for method, path, body in tries:
        await call(client, auth, method, path, json=body, expect=(200, 204))
    await let_in(client, world.owner.auth, workspace, world.member, "viewer")
    for method, path, body in tries:
        answer = await client.request(method, f"/v1{path}", headers=auth, json=body)
        assert answer.status_code in {403, 404}, (method, path)
        assert answer.status_code == 403 or path.endswith("/restore"), "what is not in the trash can't be restored"


# ---------------------------------------------------------------------------------------------------------------- lists


async def test_lists_come_in_pages_and_stay_right_while_workspaces_come_and_go(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    default = await default_of(client, auth)
    made = [await make_workspace(client, auth, f"Number {n}") for n in range(7)]
    assert await everything(client, auth, "/workspaces", 3) == [*reversed(made), default], "the newest first"
    first = await call(client, auth, "GET", "/workspaces?limit=3")
    await call(client, auth, "DELETE", f"/workspaces/{made[4]}", expect=204)  # the last that was seen
    await call(client, auth, "DELETE", f"/workspaces/{made[2]}", expect=204)
    await make_workspace(client, auth, "Newer than all")
    rest = await call(client, auth, "GET", "/workspaces", params={"limit": 50, "cursor": first["next_cursor"]})
    assert [one["id"] for one in rest["items"]] == [made[3], made[1], made[0], default]
    assert not rest["has_more"]
    assert set(await everything(client, auth, "/workspaces", 1, deleted=True)) == {made[4], made[2]}


@pytest.mark.parametrize("params", [{"limit": 0}, {"limit": 201}, {"cursor": "nonsense"}, {"deleted": "perhaps"}])
async def test_a_page_that_cant_be_is_refused(client: httpx.AsyncClient, world: World, params: Any) -> None:
    await call(client, world.owner.auth, "GET", "/workspaces", params=params, expect=422)


# ---------------------------------------------------------------------------------------------------- both ways to them


async def test_the_browser_and_the_bearer_see_the_same(app: FastAPI, client: httpx.AsyncClient, world: World) -> None:
    async with signed_in(app, world.owner) as browser:
        made = (await browser.post("/chat/api/workspaces", json={"name": "Island"})).json()
        assert await call(client, world.owner.auth, "GET", f"/workspaces/{made['id']}") == made
        assert (await browser.get("/v1/workspaces")).json() == (await browser.get("/chat/api/workspaces")).json()
        chat = (await browser.post("/chat/api/chats", json={"workspace_id": made["id"]})).json()["id"]
        kept = (await browser.post(f"/chat/api/{chat}/memory", json={"content": "The ferry leaves at nine."})).json()
        said_once = {"deduplicated", "superseded", "may_supersede"}
        for path in (f"/v1/chats/{chat}/memories", f"/v1/{chat}/memories", f"/chat/api/{chat}/memories"):
            (seen,) = (await browser.get(path)).json()["memories"]
            assert seen == {name: value for name, value in kept.items() if name not in said_once}, path


async def test_a_service_key_speaks_for_a_user_or_not_at_all(client: httpx.AsyncClient, world: World) -> None:
    auth = world.service_auth
    await call(client, auth, "GET", "/workspaces", expect=403)
    await call(client, auth, "POST", "/workspaces", json={"name": "Robots"}, expect=403)
    await call(client, auth, "POST", "/chats", json={}, expect=403)
    named = auth | {"X-Keepstone-User": "max@example.org"}
    made = await make_workspace(client, named, "Robots")
    assert await call(client, world.member.auth, "GET", f"/workspaces/{made}")
    await call(client, world.owner.auth, "GET", f"/workspaces/{made}", expect=404)
    await call(client, auth, "GET", f"/workspaces/{made}", expect=403)


async def test_to_own_the_account_is_not_to_read_its_workspaces(client: httpx.AsyncClient, world: World) -> None:
    made = await make_workspace(client, world.member.auth, "Max's own")
    await keep(client, world.member.auth, made, "Nobody else's business.")
    await call(client, world.owner.auth, "GET", f"/workspaces/{made}/memories", expect=404)
    await call(client, world.owner.auth, "DELETE", f"/workspaces/{made}", expect=404)


async def test_with_a_clock_that_stands_still_pages_lose_nothing(services: Services, world: World) -> None:
    async with http(make_app(replace(services, clock=lambda: NOW))) as client:
        workspace = await make_workspace(client, world.owner.auth)
        chats = {await make_chat(client, world.owner.auth, workspace) for _ in range(7)}
        seen = await everything(client, world.owner.auth, "/chats", 2, workspace_id=workspace)
        assert len(seen) == len(set(seen)) == 7
        assert set(seen) == chats
