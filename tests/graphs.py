"""What the tests of graphs share: keeping nodes, relating them, finding them again, over REST."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

import httpx

from conftest import http
from keepstone.app import make_app
from keepstone.jobs.worker import run_until_empty
from keepstone.services import Services
from workspaces import Auth, call

DEFAULT = "default"
# The seed's own example.
FIRST: dict[str, Any] = {
    "content": "Q3 priority is improving API response times to under 100ms",
    "node_type": "decision",
    "metadata": {"quarter": "Q3-2026", "team": "backend"},
}
SECOND: dict[str, Any] = {
    "content": "Secondary Q3 priority is reducing infrastructure costs by 20%",
    "node_type": "decision",
    "metadata": {"quarter": "Q3-2026", "team": "platform"},
}


async def make_graph(client: httpx.AsyncClient, auth: Auth, name: str = "Research") -> str:
    return (await call(client, auth, "POST", "/graphs", json={"name": name}, expect=201))["id"]


async def store(
    client: httpx.AsyncClient, auth: Auth, content: str, *, graph: str = DEFAULT,
    expect: int | Sequence[int] = (200, 201), **more: Any,
) -> Any:  # fmt: skip
    given = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in more.items()}
    body = {"content": content, **given}
    return await call(client, auth, "POST", f"/graphs/{graph}/nodes", json=body, expect=expect)


async def relate(
    client: httpx.AsyncClient, auth: Auth, from_id: str, to_id: str, edge_type: str = "depends_on", *,
    graph: str = DEFAULT, expect: int = 201, **more: Any,
) -> Any:  # fmt: skip
    given = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in more.items()}
    body = {"from_id": from_id, "to_id": to_id, "edge_type": edge_type, **given}
    return await call(client, auth, "POST", f"/graphs/{graph}/edges", json=body, expect=expect)


async def neighbors(
    client: httpx.AsyncClient, auth: Auth, node_id: str, *, graph: str = DEFAULT, **params: Any
) -> dict[str, int]:
    """How many steps away each node is that was reached, in their order."""
    given = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in params.items()}
    found = await call(client, auth, "GET", f"/graphs/{graph}/nodes/{node_id}/neighbors", params=given)
    return {one["node"]["id"]: one["steps"] for one in found["items"]}


async def recall(
    client: httpx.AsyncClient, auth: Auth, query: str, *, graph: str = DEFAULT, expect: int = 200, **more: Any
) -> Any:
    given = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in more.items()}
    return await call(client, auth, "POST", f"/graphs/{graph}/recall", json={"query": query, **given}, expect=expect)


async def found(client: httpx.AsyncClient, auth: Auth, query: str, **more: Any) -> list[str]:
    """The ids of what a recall gives, however little relevant, in its order."""
    asked: dict[str, Any] = {"min_relevance": 0, "max_results": 100, **more}
    recalled = await recall(client, auth, query, **asked)
    return [one["id"] for one in recalled["results"]]


@asynccontextmanager
async def clocked(services: Services, at: datetime) -> AsyncGenerator[httpx.AsyncClient]:
    """A client of a server whose clock stands there."""
    async with http(make_app(replace(services, clock=lambda: at))) as client:
        yield client


async def read(knowing: Services, services: Services) -> None:
    """The jobs run. They were registered with services that have no embedder: lend them these."""
    services.embedders.active = knowing.embedders.active
    for _ in range(2):  # what one of them adds runs too
        await run_until_empty(services)
    services.embedders.active = ()
