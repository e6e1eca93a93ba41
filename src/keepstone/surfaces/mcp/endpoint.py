"""`POST /v1/mcp` and `POST /v1/graph/mcp`: who calls is settled as on every other route, then the protocol takes over.

GET and DELETE, by which a client would listen or end a session, answer 405: there are no sessions.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from functools import partial
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from keepstone.errors import Malformed
from keepstone.services import Services
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.errors import request_id
from keepstone.surfaces.http.router import GuardedRoute, Router
from keepstone.surfaces.mcp import conductor, graph
from keepstone.surfaces.mcp.answer import Offer
from keepstone.surfaces.mcp.graph_tools import GRAPH
from keepstone.surfaces.mcp.tool import CONDUCTOR

_INVALID_REQUEST = -32600


class McpRoute(GuardedRoute):
    """A route that says in the protocol's words that a body can't be taken; who may not call learns it from HTTP."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handler(request)
            except Malformed as fault:
                error = {"code": _INVALID_REQUEST, "message": fault.message}
                return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)

        return answered


router = Router(prefix="/v1", include_in_schema=False, route_class=McpRoute)

Call = Callable[..., Awaitable[dict[str, Any]]]


@router.post("/mcp", tags=["capsules"])
async def mcp(request: Request, services: Used, principal: Caller) -> Response:
    async def call(_name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await conductor.ask(services, principal, arguments, request_id=request_id(request))

    return await _exchange(request, services, CONDUCTOR, call)


@router.post("/graph/mcp", tags=["graphs"])
async def graph_mcp(request: Request, services: Used, principal: Caller) -> Response:
    return await _exchange(
        request, services, GRAPH, partial(graph.ask, services, principal, request_id=request_id(request))
    )


async def _exchange(request: Request, services: Services, offer: Offer, call: Call) -> Response:
    body = await request.body()  # here, where one that is too large is refused in our words
    if "keepstone.surfaces.mcp.protocol" not in sys.modules:
        await asyncio.to_thread(_load_protocol)
    return _ProtocolAnswer(partial(_load_protocol(), offer, call, limit=services.settings.max_body_bytes), body)


def _load_protocol() -> Callable[..., Awaitable[None]]:
    """Not at the top: the package that speaks MCP takes a second to load, which most servers never need."""
    from keepstone.surfaces.mcp.protocol import exchange

    return exchange


class _ProtocolAnswer(Response):
    """The answer that the protocol gives to a body that was read already."""

    def __init__(self, exchange: Any, body: bytes) -> None:
        super().__init__()
        self._exchange = exchange
        self._read = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        unread = True

        async def again() -> MutableMapping[str, Any]:
            nonlocal unread
            if unread:
                unread = False
                return {"type": "http.request", "body": self._read, "more_body": False}
            return await receive()

        await self._exchange(scope=_accepting(scope), receive=again, send=send)


def _accepting(scope: Scope) -> Scope:
    """Who does not say what it accepts gets JSON."""
    if any(name == b"accept" for name, _ in scope["headers"]):
        return scope
    return {**scope, "headers": [*scope["headers"], (b"accept", b"application/json")]}
