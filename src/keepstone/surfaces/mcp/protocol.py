"""The protocol itself, by the official SDK: a server that offers some tools, and one HTTP exchange with it.

Importing this takes a third of a second and 17 MB, so it is imported when it is first needed. A server is made for
each exchange and knows one caller; nothing of it is left afterwards.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
)
from starlette.types import Message, Receive, Scope, Send

from keepstone import __version__
from keepstone.surfaces.mcp.answer import Offer

Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]

_KNOWN = frozenset({"content", "structuredContent", "isError"})


def make_server(offer: Offer, call: Call) -> Server[Any]:
    """`call` takes a tool's name and arguments and gives its result as it goes over the wire."""

    async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[Tool.model_validate(tool) for tool in offer.tools.values()])

    async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
        if params.name not in offer.tools:
            raise MCPError(code=INVALID_PARAMS, message=f"There is no such tool here: call {_either(offer)}.")
        return CallToolResult.model_validate(await call(params.name, params.arguments or {}))

    def input_schema(name: str) -> dict[str, Any] | None:
        return offer.tools[name]["inputSchema"] if name in offer.tools else None

    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it logs what clients send
    server: Server[Any] = Server(
        "keepstone", version=__version__, title="Keepstone", instructions=offer.instructions,
        get_tool_input_schema=input_schema, on_list_tools=list_tools, on_call_tool=call_tool,
    )  # fmt: skip
    server.middleware.clear()  # its traces carry what clients send; ours are made by the guards
    return server


async def exchange(offer: Offer, call: Call, *, limit: int, scope: Scope, receive: Receive, send: Send) -> None:
    """One request and its answer, as JSON. A client need not have introduced itself, and gets no session to lose.

    What a result has beside the fields that the protocol knows travels with it: the SDK would leave it out.
    """
    beside: dict[str, Any] = {}

    async def noted(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        done = await call(name, arguments)
        beside.update({field: value for field, value in done.items() if field not in _KNOWN})
        return done

    manager = StreamableHTTPSessionManager(
        make_server(offer, noted), json_response=True, stateless=True, max_request_body_size=limit
    )
    async with manager.run():
        await manager.handle_request(scope, receive, _Adding(send, beside))


class _Adding:
    """Passes an answer on, with these fields added to its result if there are any by then."""

    def __init__(self, send: Send, beside: Mapping[str, Any]) -> None:
        self._send = send
        self._beside = beside
        self._start: Message = {}
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and self._beside:
            self._start = message
        elif message["type"] == "http.response.body" and self._start:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish()
        else:
            await self._send(message)

    async def _finish(self) -> None:
        body = _added(self._body, self._beside)
        headers = [(name, value) for name, value in self._start["headers"] if name.lower() != b"content-length"]
        await self._send({**self._start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})


def _added(body: bytes, beside: Mapping[str, Any]) -> bytes:
    answer = json.loads(body)
    if not isinstance(answer.get("result"), dict):
        return body
    answer["result"] = {**beside, **answer["result"]}
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()


def _either(offer: Offer) -> str:
    return " or ".join(offer.tools)
