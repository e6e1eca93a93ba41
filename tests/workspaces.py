"""What the tests of workspaces share: making one, filling it, and looking at what is there."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fastapi import FastAPI

from conftest import PASSWORD, Person, http
from keepstone.model.workspace import Role
from keepstone.relay.turn import close_turn, open_turn
from keepstone.services import Services

Auth = dict[str, str]


async def call(
    client: httpx.AsyncClient, auth: Auth, method: str, path: str, *, expect: int | Sequence[int] = 200, **options: Any
) -> Any:
    """The body of the answer, which has this status. Below /v1 unless the path says otherwise."""
    path = path if path.startswith(("/v1/", "/v3/", "/chat/api/", "/auth/")) else f"/v1{path}"
    answer = await client.request(method, path, headers=auth, **options)
    wanted = [expect] if isinstance(expect, int) else expect
    assert answer.status_code in wanted, f"{answer.status_code} {method} {path}: {answer.text}"
    return answer.json() if answer.content else None


async def make_workspace(client: httpx.AsyncClient, auth: Auth, name: str = "Island") -> str:
    return (await call(client, auth, "POST", "/workspaces", json={"name": name}, expect=201))["id"]


async def default_of(client: httpx.AsyncClient, auth: Auth) -> str:
    found = (await call(client, auth, "GET", "/workspaces"))["items"]
    return next(one["id"] for one in found if one["is_default"])


async def let_in(client: httpx.AsyncClient, auth: Auth, workspace: str, who: Person, role: Role = "member") -> Any:
    body = {"user": who.user.id, "role": role}
    return await call(client, auth, "PUT", f"/workspaces/{workspace}/members", json=body)


async def make_chat(client: httpx.AsyncClient, auth: Auth, workspace: str | None = None, title: str = "A chat") -> str:
    body = {"title": title} | ({"workspace_id": workspace} if workspace else {})
    return (await call(client, auth, "POST", "/chats", json=body, expect=201))["id"]


async def say(
    services: Services, who: Person, chat: str, *said: str, reply: str = "", tools: Sequence[str] = ()
) -> str:
    """What was said in a chat, one turn each; the id of the last message of the user's."""
    last = ""
    for one in said:
        turn = await open_turn(services, who.principal, workspace_id=None, chat_id=chat, said=one, inject=False)
        last = turn.message_id or ""
        await close_turn(services, who.principal, turn, reply=reply, model="fake", tools=tools)
    return last


async def keep(client: httpx.AsyncClient, auth: Auth, workspace: str, content: str, **more: Any) -> Any:
    """A memory, whether it is new or known."""
    path = f"/workspaces/{workspace}/memories"
    return await call(client, auth, "POST", path, json={"content": content, **more}, expect=(200, 201))


async def remember(client: httpx.AsyncClient, auth: Auth, chat: str, **body: Any) -> Any:
    return await call(client, auth, "POST", f"/chats/{chat}/memory", json=body, expect=(200, 201))


async def listed(client: httpx.AsyncClient, auth: Auth, workspace: str, **params: Any) -> list[str]:
    """The ids of the memories on one page."""
    page = await call(client, auth, "GET", f"/workspaces/{workspace}/memories", params=params)
    return [one["id"] for one in page["items"]]


async def found(client: httpx.AsyncClient, auth: Auth, workspace: str, query: str, **params: Any) -> list[str]:
    """The ids of what a search gives, in its order."""
    page = await call(client, auth, "GET", f"/workspaces/{workspace}/search", params={"q": query, **params})
    return [one["id"] for one in page["items"]]


async def upload(
    client: httpx.AsyncClient,
    auth: Auth,
    workspace: str,
    name: str,
    data: bytes,
    media_type: str = "application/octet-stream",
    *,
    expect: int | Sequence[int] = (200, 201),
) -> Any:
    """The file, as it is listed from then on."""
    files = {"file": (name, data, media_type)}
    made = await call(client, auth, "POST", f"/workspaces/{workspace}/files", files=files, expect=expect)
    return {name: value for name, value in made.items() if name != "change"}


async def artifact(client: httpx.AsyncClient, auth: Auth, workspace: str, content: str, name: str = "plan.md") -> Any:
    body = {"name": name, "content": content}
    return await call(client, auth, "POST", f"/workspaces/{workspace}/artifacts", json=body, expect=201)


async def count_of(client: httpx.AsyncClient, auth: Auth, workspace: str) -> int:
    return (await call(client, auth, "GET", f"/workspaces/{workspace}"))["memory_count"]


async def everything(client: httpx.AsyncClient, auth: Auth, path: str, limit: int, **params: Any) -> list[str]:
    """The ids of all pages, in order."""
    seen: list[str] = []
    cursor: str | None = None
    while True:
        asked = {"limit": limit, **params} | ({"cursor": cursor} if cursor else {})
        page = await call(client, auth, "GET", path, params=asked)
        assert len(page["items"]) <= limit
        assert page["has_more"] == (page["next_cursor"] is not None)
        seen += [one["id"] for one in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            return seen


@asynccontextmanager
async def signed_in(app: FastAPI, who: Person) -> AsyncGenerator[httpx.AsyncClient]:
    """A browser of theirs: it has the cookie and nothing else."""
    async with http(app) as browser:
        answer = await browser.post("/auth/login", json={"email": who.user.email, "password": PASSWORD})
        assert answer.status_code == 200
        yield browser
