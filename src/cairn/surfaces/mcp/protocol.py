"""The protocol itself, by the official SDK: a server that offers the one tool, and one HTTP exchange with it.

Importing this takes a third of a second and 17 MB, so it is imported when it is first needed. A server is made for
each exchange and knows one caller; nothing of it is left afterwards.
"""

import logging
from collections.abc import Awaitable, Callable
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
from starlette.types import Receive, Scope, Send

from cairn import __version__
from cairn.surfaces.mcp.tool import INPUT, INSTRUCTIONS, NAME, TOOL

Call = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


def make_server(call: Call) -> Server[Any]:
    """`call` takes the tool's arguments and gives its result as it goes over the wire."""

    async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[Tool.model_validate(TOOL)])

    async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
        if params.name != NAME:
            raise MCPError(code=INVALID_PARAMS, message=f"There is one tool here, {NAME}: call that.")
        return CallToolResult.model_validate(await call(params.arguments or {}))

    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it logs what clients send
    server: Server[Any] = Server(
        "cairn", version=__version__, title="Cairn", instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda name: INPUT if name == NAME else None,
        on_list_tools=list_tools, on_call_tool=call_tool,
    )  # fmt: skip
    server.middleware.clear()  # its traces carry what clients send; ours are made by the guards
    return server


async def exchange(call: Call, *, limit: int, scope: Scope, receive: Receive, send: Send) -> None:
    """One request and its answer, as JSON. A client need not have introduced itself, and gets no session to lose."""
    manager = StreamableHTTPSessionManager(
        make_server(call), json_response=True, stateless=True, max_request_body_size=limit
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)
