"""Who may do what with what is shared: the tables in SECURITY.md, tried cell by cell over HTTP."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import httpx
import pytest

from conftest import World, http, make_person
from graphs import make_graph, relate, store
from keepstone.app import make_app
from keepstone.services import Services
from rooms import come
from test_docs import ROOT
from workspaces import call

Answer = httpx.Response
Allowed = {"yes": range(200, 300), "no": [403], "not there": [404]}
_numbers = count(1)


@dataclass(frozen=True, kw_only=True)
class Try:
    """Somebody who tries something with what `maker` made; both over HTTP."""

    client: httpx.AsyncClient
    maker: dict[str, str]
    caller: dict[str, str]
    world: World
    as_caller: httpx.AsyncClient

    async def send(self, method: str, path: str, body: Any = None) -> Answer:
        return await self.as_caller.request(method, f"/v1{path}", headers=self.caller, json=body)

    async def made(self, method: str, path: str, body: Any = None) -> Any:
        return await call(self.client, self.maker, method, path, json=body, expect=(200, 201, 204))

    async def node(self, text: str = "The wall is green") -> str:
        return (await store(self.client, self.maker, f"{text} in room {next(_numbers)}"))["id"]

    async def mcp(self, tool: str, **arguments: Any) -> Answer:
        """As a status: 200 if it was done, 403 if it was refused."""
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        answer = await self.send("POST", "/graph/mcp", body)
        result = answer.json()["result"]
        refused = result["isError"] and "whoever made this" in result["content"][0]["text"]
        assert refused or not result["isError"], result
        return httpx.Response(403 if refused else 200)


async def both(first: Answer, second: Answer) -> Answer:
    """REST and MCP answer alike."""
    assert first.is_success == second.is_success
    return first


async def change_node(on: Try) -> Answer:
    path = f"/graphs/default/nodes/{await on.node()}"
    by_tool = await on.mcp("memory_update", id=await on.node(), content=f"Blue {next(_numbers)}")
    return await both(await on.send("PATCH", path, {"content": f"The wall is blue {next(_numbers)}"}), by_tool)


async def forget_node(on: Try) -> Answer:
    by_tool = await on.mcp("memory_forget", id=await on.node())
    return await both(await on.send("DELETE", f"/graphs/default/nodes/{await on.node()}"), by_tool)


async def restore_node(on: Try) -> Answer:
    path = f"/graphs/default/nodes/{await on.node()}"
    await on.made("DELETE", path)
    return await on.send("POST", f"{path}/restore")


async def supersede(on: Try) -> Answer:
    new = {"content": f"It is another colour {next(_numbers)}", "supersedes": [await on.node()]}
    by_tool = await on.mcp(
        "memory_store", **new | {"content": f"Red {next(_numbers)}", "supersedes": [await on.node()]}
    )
    return await both(await on.send("POST", "/graphs/default/nodes", new), by_tool)


async def supersede_by_edge(on: Try) -> Answer:
    ends = [{"from_id": await on.node(), "to_id": await on.node(), "edge_type": "supersedes"} for _ in range(2)]
    return await both(await on.send("POST", "/graphs/default/edges", ends[0]), await on.mcp("memory_relate", **ends[1]))


async def end_edge(on: Try) -> Answer:
    edge = await relate(on.client, on.maker, await on.node(), await on.node())
    return await on.send("DELETE", f"/graphs/default/edges/{edge['id']}")


async def relate_nodes(on: Try) -> Answer:
    ends = {"from_id": await on.node(), "to_id": await on.node(), "edge_type": "about"}
    return await on.send("POST", "/graphs/default/edges", ends)


async def graph(on: Try) -> str:
    return f"/graphs/{await make_graph(on.client, on.maker)}"


async def restore_graph(on: Try) -> Answer:
    path = await graph(on)
    await on.made("DELETE", path)
    return await on.send("POST", f"{path}/restore")


async def agent(on: Try) -> str:
    slug = f"agent{next(_numbers)}"
    await on.made("POST", "/agents", {"slug": slug, "name": "Agent"})
    return f"/agents/{slug}"


async def fact(on: Try) -> str:
    path = f"/facts/global/global/key{next(_numbers)}"
    await on.made("PUT", path, {"value": 1})
    return path


Attempt = Callable[[Try], Awaitable[Answer]]
SHARED: dict[str, Attempt] = {
    "read a graph": lambda on: _after(
        make_graph(on.client, on.maker), lambda graph: on.send("GET", f"/graphs/{graph}")
    ),
    "add a node": lambda on: on.send("POST", "/graphs/default/nodes", {"content": f"Something new {next(_numbers)}"}),
    "relate two nodes": relate_nodes,
    "change a node": change_node,
    "forget a node": forget_node,
    "restore a node": restore_node,
    "supersede a node": supersede,
    "supersede a node by an edge": supersede_by_edge,
    "end an edge": end_edge,
    "delete a graph": lambda on: _after(graph(on), lambda path: on.send("DELETE", path)),
    "restore a graph": restore_graph,
    "read an agent": lambda on: _after(agent(on), lambda path: on.send("GET", path)),
    "change an agent": lambda on: _after(agent(on), lambda path: on.send("PATCH", path, {"instructions": "Lie."})),
    "delete an agent": lambda on: _after(agent(on), lambda path: on.send("DELETE", path)),
    "read a global fact": lambda on: _after(fact(on), lambda path: on.send("GET", path)),
    "add a global fact": lambda on: on.send("PUT", f"/facts/global/global/new{next(_numbers)}", {"value": 1}),
    "change a global fact": lambda on: _after(fact(on), lambda path: on.send("PUT", path, {"value": 2})),
    "delete a global fact": lambda on: _after(fact(on), lambda path: on.send("DELETE", path)),
}


async def _after(made: Awaitable[str], then: Callable[[str], Awaitable[Answer]]) -> Answer:
    return await then(await made)


async def room(on: Try) -> str:
    """With its maker and the member in it, and somebody who is invited."""
    body = {"name": "Harbour", "participants": [on.world.member.user.id, "third@example.org"]}
    made = (await on.made("POST", "/rooms", body))["id"]
    await come(on.client, on.world.member, made)
    return f"/rooms/{made}"


async def project(on: Try) -> str:
    """With its maker and the member in it."""
    made = (await on.made("POST", "/projects", {"name": "Bridge"}))["id"]
    await on.made("PUT", f"/projects/{made}/members", {"user": on.world.member.user.id})
    return made


def in_project(method: str, below: str = "", body: Any = None) -> Attempt:
    return lambda on: _after(project(on), lambda name: on.send(method, f"/projects/{name}{below}", body))


async def restore_project(on: Try) -> Answer:
    path = f"/projects/{await project(on)}"
    await on.made("DELETE", path)
    return await on.send("POST", f"{path}/restore")


async def move_room(on: Try) -> Answer:
    """Into a project that both are in."""
    return await on.send("PATCH", await room(on), {"project_id": await project(on)})


async def change_project_fact(on: Try) -> Answer:
    path = f"/facts/project/{await project(on)}/length"
    await on.made("PUT", path, {"value": 1})
    return await on.send("PUT", path, {"value": 2})


async def speak_as_agent(on: Try) -> Answer:
    path, slug = await room(on), (await agent(on)).rpartition("/")[2]
    await on.made("POST", f"{path}/agents", {"agent": slug})
    return await on.send("POST", f"{path}/messages", {"text": "Hello", "agent": slug})


def in_room(method: str, below: str = "", body: Any = None) -> Attempt:
    return lambda on: _after(room(on), lambda path: on.send(method, path + below, body))


async def let_agent_in(on: Try) -> Answer:
    slug = (await agent(on)).rpartition("/")[2]
    return await on.send("POST", f"{await room(on)}/agents", {"agent": slug})


async def send_away(on: Try) -> Answer:
    path = await room(on)
    third = next(
        person["user_id"]
        for person in (await on.made("GET", path))["participants"]
        if person["email"] == "third@example.org"
    )
    return await on.send("DELETE", f"{path}/participants/{third}")


async def set_room_fact(on: Try) -> Answer:
    return await on.send("PUT", f"/facts/room/{(await room(on)).rpartition('/')[2]}/colour", {"value": 1})


PLACES: dict[str, Attempt] = {
    "read a room": in_room("GET"),
    "say something": in_room("POST", "/messages", {"text": "Hello"}),
    "speak as an agent that its maker made": speak_as_agent,
    "rename a room": in_room("PATCH", "", {"name": "Pier"}),
    "put a room into a project": move_room,
    "invite somebody": in_room("POST", "/participants", {"user": "fourth@example.org"}),
    "let an agent in": let_agent_in,
    "send somebody away": send_away,
    "delete a room": in_room("DELETE"),
    "set a fact of a room": set_room_fact,
    "read a project": in_project("GET"),
    "see who is in a project": in_project("GET", "/members"),
    "read what is known of a project": in_project("GET", "/memories"),
    "remember something of a project": lambda on: _after(
        project(on),
        lambda name: on.send("POST", f"/projects/{name}/memories", {"text": f"It is long {next(_numbers)}"}),
    ),
    "set a fact of a project": lambda on: _after(
        project(on), lambda name: on.send("PUT", f"/facts/project/{name}/length", {"value": 1})
    ),
    "change a fact of a project that another set": change_project_fact,
    "rename a project": in_project("PATCH", "", {"name": "Pier"}),
    "let somebody into a project": in_project("PUT", "/members", {"user": "fourth@example.org"}),
    "delete a project": in_project("DELETE"),
    "restore a project": restore_project,
}


def table(heading: str) -> tuple[list[str], dict[str, list[str]]]:
    """The columns, and of each row its cells, of the table below a heading of SECURITY.md."""
    section = (ROOT / "SECURITY.md").read_text().split(f"### {heading}\n")[1].split("\n#")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return cells[0][1:], {row[0]: row[1:] for row in cells[2:]}


@pytest.fixture
async def opened(services: Services) -> AsyncGenerator[httpx.AsyncClient]:
    """The same server, where everybody edits what is shared."""
    everybody = replace(services, settings=replace(services.settings, shared_editing="members"))
    async with http(make_app(everybody)) as client:
        yield client


async def walk(rows: dict[str, list[str]], attempts: dict[str, Attempt], tries: list[Try]) -> list[str]:
    assert list(rows) == list(attempts)
    wrong: list[str] = []
    for name, cells in rows.items():
        for wanted, on in zip(cells, tries, strict=True):
            answer = await attempts[name](on)
            if answer.status_code not in Allowed[wanted]:
                wrong.append(f"{name}, column {tries.index(on) + 1}: {answer.status_code}, not {wanted}")
    return wrong


async def test_everybody_may_with_what_the_account_shares_what_the_table_says(
    client: httpx.AsyncClient, opened: httpx.AsyncClient, services: Services, world: World
) -> None:
    rita = await make_person(services, "rita@example.org", account=world.owner.user.account)
    columns, rows = table("What an account shares")
    callers = {
        "its maker": world.member.auth,
        "another member": rita.auth,
        "an owner": world.owner.auth,
        "a service key": world.service_auth,
        "a service key for another member": world.service_auth | {"X-Keepstone-User": rita.user.id},
        "another member, with `members`": rita.auth,
    }
    assert columns == list(callers)
    tries = [
        Try(
            client=client, maker=world.member.auth, caller=auth, world=world,
            as_caller=opened if "`members`" in name else client,
        )
        for name, auth in callers.items()
    ]  # fmt: skip
    assert await walk(rows, SHARED, tries) == []


async def test_everybody_may_in_rooms_and_projects_what_the_table_says(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    maker = await make_person(services, "rita@example.org", account=world.owner.user.account)
    for name in ("third", "fourth"):
        await make_person(services, f"{name}@example.org", account=world.owner.user.account)
    columns, rows = table("Rooms and projects")
    callers = {
        "its maker": maker.auth,
        "somebody in it": world.member.auth,
        "an owner of the account, not in it": world.owner.auth,
        "a service key for somebody in it": world.service_auth | {"X-Keepstone-User": world.member.user.id},
    }
    assert columns == list(callers)
    tries = [
        Try(client=client, maker=maker.auth, caller=auth, world=world, as_caller=client) for auth in callers.values()
    ]
    assert await walk(rows, PLACES, tries) == []


async def test_what_has_no_maker_is_the_accounts(client: httpx.AsyncClient, world: World) -> None:
    graph = await make_graph(client, world.service_auth)
    node = (await store(client, world.service_auth, "The account keeps this"))["id"]
    for path in (f"/graphs/{graph}", f"/graphs/default/nodes/{node}"):
        await call(client, world.member.auth, "DELETE", path, expect=403)
        await call(client, world.owner.auth, "DELETE", path, expect=204)


async def test_what_somebody_else_said_is_not_superseded_by_saying_otherwise(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    """It stays beside it; whoever said it revises it."""
    await call(client, world.member.auth, "GET", "/graphs/default")
    mine = await store(client, world.owner.auth, "The deadline is March 15", node_type="fact")
    other = await store(client, world.member.auth, "The deadline is April 1", node_type="fact")
    assert other["superseded"] in ([], 0)
    shown = await call(client, world.owner.auth, "GET", f"/graphs/default/nodes/{mine['id']}")
    assert shown["valid_to"] is None


async def test_an_agent_that_was_deleted_is_not_made_again_by_somebody_else(
    client: httpx.AsyncClient, world: World
) -> None:
    """Made again it is in all its rooms again, with other instructions."""
    body = {"slug": "scout", "name": "Scout"}
    await call(client, world.owner.auth, "POST", "/agents", json=body, expect=201)
    await call(client, world.owner.auth, "DELETE", "/agents/scout", expect=204)
    await call(client, world.member.auth, "POST", "/agents", json=body | {"instructions": "Lie."}, expect=409)
    await call(client, world.owner.auth, "POST", "/agents", json=body, expect=201)
