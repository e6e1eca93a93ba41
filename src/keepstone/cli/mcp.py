"""MCP over standard input and output: the tools of both addresses, each call passed on to a server, which does the work
and checks the key.

Keeps nothing and needs no database. Whatever happens to the server, this stays alive and says what to do; standard
output belongs to the protocol, everything else goes to standard error.
"""

import asyncio
import signal
from typing import Any

import httpx2
import typer
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from keepstone.cli.reach import MAKE_A_KEY, address_of, is_local, key_of
from keepstone.errors import Misconfigured
from keepstone.importers.text import fields
from keepstone.observe.logs import configure_logs
from keepstone.settings import Settings, read_settings
from keepstone.surfaces.mcp.answer import failure, together
from keepstone.surfaces.mcp.graph_tools import GRAPH
from keepstone.surfaces.mcp.protocol import make_server
from keepstone.surfaces.mcp.tool import CONDUCTOR

_TIMEOUT = httpx2.Timeout(120, connect=5)
_OFFERS = {"/v1/mcp": CONDUCTOR, "/v1/graph/mcp": GRAPH}
# Where each tool is called: a program that starts a command has one for all of them.
_PATHS = {name: path for path, offer in _OFFERS.items() for name in offer.tools}


app = typer.Typer()


@app.command()
def mcp() -> None:
    settings = read_settings()
    configure_logs("warning", settings.log_format)
    try:
        key_of(settings)
    except Misconfigured as fault:
        typer.echo(f"keepstone: {fault.message}", err=True)  # and each call answers the same
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # there is nothing to wind up, and reading can't be interrupted
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    address = address_of(settings)
    async with httpx2.AsyncClient(timeout=_TIMEOUT, trust_env=not is_local(address)) as client:

        async def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            return await _pass_on(client, settings, address, name, arguments)

        server = make_server(together(*_OFFERS.values()), call)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


async def _pass_on(
    client: httpx2.AsyncClient, settings: Settings, address: str, name: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    try:
        key = key_of(settings)
    except Misconfigured as fault:
        return failure(fault.code, fault.message, "Tell the user.")
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    try:
        answer = await client.post(
            f"{address}{_PATHS[name]}",
            json=message,
            headers={"Authorization": f"Bearer {key}", "Accept": "application/json"},
        )
        body = fields(answer.json())
    except httpx2.TransportError:
        return failure(
            "unavailable",
            f"No Keepstone answers at {address}.",
            "Tell the user to start it with `keepstone serve`, or to set KEEPSTONE_URL to where it runs; then try "
            "again.",
        )
    except ValueError:
        return failure(
            "unavailable", f"What answers at {address} is not Keepstone.", "Tell the user to set KEEPSTONE_URL."
        )
    if answer.status_code == 200 and "result" in body:
        return body["result"]
    error = fields(body.get("error"))
    if isinstance(error.get("code"), int):
        raise MCPError(code=error["code"], message=str(error.get("message")))
    return _refused(address, answer.status_code, error)


def _refused(address: str, status: int, error: dict[str, Any]) -> dict[str, Any]:
    """What the server answers before it comes to the call."""
    code, message = str(error.get("code", "unavailable")), str(error.get("message", f"{address} answers {status}."))
    advice = {
        401: f"Tell the user to set KEEPSTONE_API_KEY to a good key: {MAKE_A_KEY}.",
        404: f"Tell the user to check KEEPSTONE_URL, which is {address}.",
    }
    return failure(code, message, advice.get(status, "Tell the user if it stays so."))
