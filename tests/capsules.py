"""What the tests of capsules share: keeping something, at a time of one's choice, and looking past the API."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

import httpx
import psycopg

from conftest import http
from keepstone.app import make_app
from keepstone.services import Services

CAPSULES = "/v1/memory/capsules"
OVERHEAD = 8 * 1024
Auth = dict[str, str]


async def keep(client: httpx.AsyncClient, auth: Auth, content: str, **more: Any) -> Any:
    answer = await client.post(CAPSULES, headers=auth, json={"content_md": content, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def get(client: httpx.AsyncClient, auth: Auth, path: str, **params: Any) -> Any:
    answer = await client.get(path, headers=auth, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def post(client: httpx.AsyncClient, auth: Auth, path: str, body: Any = None) -> Any:
    answer = await client.post(path, headers=auth, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def ids(client: httpx.AsyncClient, auth: Auth, path: str = CAPSULES, **params: Any) -> list[str]:
    """Of one page, in its order."""
    return [item["id"] for item in (await get(client, auth, path, **params))["items"]]


async def delete(client: httpx.AsyncClient, auth: Auth, capsule_id: str) -> None:
    answer = await client.delete(f"{CAPSULES}/{capsule_id}", headers=auth)
    assert answer.status_code == 204, answer.text


@asynccontextmanager
async def at(services: Services, time: datetime) -> AsyncGenerator[httpx.AsyncClient]:
    """A client of a server whose clock stands there."""
    async with http(make_app(replace(services, clock=lambda: time))) as client:
        yield client


async def rows(database: str, query: Any, values: Any = None) -> list[tuple[Any, ...]]:
    """As the owner of the database, past every policy."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
        await conn.execute("SET search_path = keepstone, public; SET keepstone.owner = 'on'")
        return await (await conn.execute(query, values)).fetchall()


async def audited(client: httpx.AsyncClient, auth: Auth, action: str) -> list[Any]:
    """The audit lines of this action, the newest first."""
    lines = (await get(client, auth, "/v1/audit", limit=200))["items"]
    return [line for line in lines if line["action"] == action]
