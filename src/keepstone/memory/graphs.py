"""Graph memory: nodes that agents keep and find by meaning, type, time and metadata, and the typed edges between them.

Graphs are the account's. What contradicts an older node supersedes it with an edge that says so: a recall shows what
holds now, or what held at a time. `graph_recall` looks; this module keeps.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope, space_scope
from keepstone.engine.dedup import content_hash
from keepstone.engine.embed import FirstVector, embed_first_passage, store_first_vector
from keepstone.engine.index import Source, passages_of
from keepstone.engine.lookup import nearest
from keepstone.engine.pack import own_words
from keepstone.engine.takeaways import revises
from keepstone.errors import Conflict, Invalid, Malformed, NotFound
from keepstone.model.graph import LARGEST, LARGEST_METADATA, SUPERSEDES, Edge, Graph, Node, NodeVersion, Wanted
from keepstone.model.ids import new_id
from keepstone.model.message import NewPassage
from keepstone.model.page import Page, PageRequest, cut_page
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import graphs as store
from keepstone.store import memories, passages, spaces
from keepstone.store.db import Connection, enter

VISIBILITY = "private"
DEFAULT_NAME = "Default"
NEAR = 0.6  # cosine, from which on an older node may be what this one revises
_LOOKED_AT = 10
MOST_NEIGHBOURS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """`existing`: it was known already. `superseded` are older nodes that no longer hold."""

    node: Node
    existing: bool
    superseded: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A node that was reached, over which edge, and in how many steps."""

    node: Node
    edge: Edge
    steps: int


# ------------------------------------------------------------------------------------------------------ graphs


async def create_graph(services: Services, principal: Principal, *, name: str) -> Graph:
    graph_id = new_id("graph")
    async with services.db.transaction(account_scope(principal.account)) as conn:
        await store.create(conn, graph_id, name, default=False)
        await record(conn, principal, "graph.create", graph_id)
        return await find_graph(conn, principal, graph_id)


async def list_graphs(
    services: Services, principal: Principal, page: PageRequest, *, deleted: bool = False
) -> Page[Graph]:
    """The account's, the newest first; among them the default one, made when it was not there."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        await _default(conn)
        found = await store.page(conn, after=page.after, limit=page.limit + 1, deleted=deleted)
    return cut_page(found, page, lambda graph: (graph.created_at, graph.id))


async def get_graph(services: Services, principal: Principal, graph_id: str | None) -> Graph:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        return await find_graph(conn, principal, graph_id)


async def delete_graph(services: Services, principal: Principal, graph_id: str | None) -> None:
    """Into the trash with all its nodes, for 30 days."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        if graph.is_default:
            raise Conflict("This is the account's default graph: forget its nodes instead.")
        await store.put_away(conn, graph.space, away=True)
        await record(conn, principal, "graph.delete", graph.id)


async def restore_graph(services: Services, principal: Principal, graph_id: str) -> Graph:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await store.get(conn, graph_id, deleted=True)
        if graph is None:
            raise no_graph()
        await store.put_away(conn, graph.space, away=False)
        await record(conn, principal, "graph.restore", graph_id)
        return await find_graph(conn, principal, graph_id)


# ------------------------------------------------------------------------------------------------------- nodes


async def store_node(
    services: Services,
    principal: Principal,
    graph_id: str | None,
    *,
    content: str,
    node_type: str,
    metadata: dict[str, Any],
    supersedes: Sequence[str] = (),
    valid_from: datetime | None = None,
) -> Stored:
    """Keep it. What it says otherwise than an older node of its type, and what it names, it supersedes."""
    text = _checked(content)
    _check(metadata)
    now = services.clock()
    if valid_from is not None and valid_from > now:
        raise Invalid("valid_from is in the future: a node holds from now on, or has held for a while.")
    node = Node(
        id=new_id("node"), content=text, node_type=node_type, metadata=metadata, graph_id=graph_id or "", version=1,
        valid_from=valid_from or now, valid_to=None, superseded_by=None, created_at=now, updated_at=now,
        deleted_at=None,
    )  # fmt: skip
    cut = await _cut(services, node)
    first = await embed_first_passage(services, cut)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        await store.hold(conn, graph.space)
        there = await store.same_node(conn, graph.space, node, content_hash(text))
        node = there or replace(node, graph_id=graph.id)
        named = [await find_node(conn, graph, one) for one in dict.fromkeys(supersedes) if one != node.id]
        old = {one.id: one for one in named if one.valid_to is None}
        if there is None:
            old |= {one.id: one for one in await _revised(conn, graph, node, first)}
            await store.insert_node(conn, graph.space, node, content_hash(text), principal.user_id)
            await passages.insert(conn, graph.space, cut)
            await store_first_vector(conn, graph.space, cut, first)
            await memories.add_version(conn, graph.space, [node.id], "created", principal.user_id)
            await memories.count_in(conn, graph.space, memories=1, size=len(text.encode()))
            await record(conn, principal, "node.create", node.id)
            await _await_reading(conn, services, principal, graph.space)
        for one in old.values():
            await _supersede(conn, services, principal, graph, one, node)
    return Stored(node=node, existing=there is not None, superseded=tuple(old))


async def get_node(services: Services, principal: Principal, graph_id: str | None, node_id: str) -> Node:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        return await find_node(conn, await find_graph(conn, principal, graph_id), node_id)


async def list_nodes(
    services: Services, principal: Principal, graph_id: str | None, wanted: Wanted, page: PageRequest
) -> Page[Node]:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        found = await store.nodes(conn, graph.space, wanted, after=page.after, limit=page.limit + 1)
    return cut_page(found, page, lambda node: (node.created_at, node.id))


async def list_trash(services: Services, principal: Principal, graph_id: str | None, page: PageRequest) -> Page[Node]:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        found = await store.in_trash(conn, graph.space, after=page.after, limit=page.limit + 1)
    return cut_page(found, page, lambda node: (node.deleted_at or node.created_at, node.id))


async def update_node(
    services: Services,
    principal: Principal,
    graph_id: str | None,
    node_id: str,
    *,
    content: str | None = None,
    node_type: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> Node:
    """Another version; what it was stays in its history. Metadata is replaced as a whole."""
    text = _checked(content) if content is not None else None
    _check(metadata)
    while True:
        before = await get_node(services, principal, graph_id, node_id)
        after = replace(
            before, content=text if text is not None else before.content, node_type=node_type or before.node_type,
            metadata=metadata if metadata is not None else before.metadata, version=before.version + 1,
            updated_at=services.clock(),
        )  # fmt: skip
        if (after.content, after.node_type, after.metadata) == (before.content, before.node_type, before.metadata):
            return before
        cut = await _cut(services, after) if after.content != before.content else []
        first = await embed_first_passage(services, cut)
        async with services.db.transaction(account_scope(principal.account)) as conn:
            graph = await find_graph(conn, principal, graph_id)
            await store.hold(conn, graph.space)
            if (await find_node(conn, graph, node_id)).version != before.version:
                continue  # somebody was faster
            columns = {
                "content": after.content, "type": after.node_type, "metadata": after.metadata,
                "version": after.version, "updated_at": after.updated_at,
                "content_hash": content_hash(after.content), "size_bytes": len(after.content.encode()),
            }  # fmt: skip
            await store.update_node(conn, node_id, columns)
            if cut:
                where = graph.space if before.valid_to is None else graph.history
                await passages.delete(conn, where, "memory", [node_id])
                await passages.insert(conn, where, cut)
                await store_first_vector(conn, where, cut, first)
                await _await_reading(conn, services, principal, where)
                grown = len(after.content.encode()) - len(before.content.encode())
                await memories.count_in(conn, graph.space, memories=0, size=grown)
            await memories.add_version(conn, graph.space, [node_id], "updated", principal.user_id)
            await record(conn, principal, "node.update", node_id)
        return after


async def node_history(
    services: Services, principal: Principal, graph_id: str | None, node_id: str
) -> list[NodeVersion]:
    """Every version, the latest first; also of what is in the trash."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        node = await store.node(conn, node_id)
        if node is None or node.graph_id != graph.id:
            raise no_node()
        return await store.versions(conn, node_id)


async def forget_node(services: Services, principal: Principal, graph_id: str | None, node_id: str) -> None:
    """Into the trash, for 30 days."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        await store.hold(conn, graph.space)
        node = await find_node(conn, graph, node_id)
        await store.update_node(conn, node_id, {"deleted_at": services.clock(), "version": node.version + 1})
        await memories.add_version(conn, graph.space, [node_id], "deleted", principal.user_id)
        await passages.delete(conn, graph.space, "memory", [node_id])
        await passages.delete(conn, graph.history, "memory", [node_id])
        await memories.count_in(conn, graph.space, memories=-1, size=-len(node.content.encode()))
        await record(conn, principal, "node.forget", node_id)


async def restore_node(services: Services, principal: Principal, graph_id: str | None, node_id: str) -> Node:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        node = await store.node(conn, node_id)
    if node is None or node.deleted_at is None or node.graph_id != graph.id:
        raise no_node()
    cut = await _cut(services, node)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        await store.hold(conn, graph.space)
        current = await store.node(conn, node_id)
        if current is None or current.deleted_at is None:
            raise no_node()
        back = replace(current, deleted_at=None, version=current.version + 1)
        await store.update_node(conn, node_id, {"deleted_at": None, "version": back.version})
        where = graph.space if back.valid_to is None else graph.history
        await passages.insert(conn, where, cut)
        await memories.add_version(conn, graph.space, [node_id], "restored", principal.user_id)
        await memories.count_in(conn, graph.space, memories=1, size=len(back.content.encode()))
        await record(conn, principal, "node.restore", node_id)
        await _await_reading(conn, services, principal, where)
    return back


# ------------------------------------------------------------------------------------------------------- edges


async def relate(
    services: Services,
    principal: Principal,
    graph_id: str | None,
    *,
    from_id: str,
    to_id: str,
    edge_type: str,
    metadata: dict[str, Any],
    valid_from: datetime | None = None,
    valid_to: datetime | None = None,
) -> Edge:
    """A typed edge with its own time. `supersedes` also takes the older node out of what holds."""
    _check(metadata)
    if from_id == to_id:
        raise Invalid("An edge needs two different nodes.")
    now = services.clock()
    if valid_to is not None and valid_to < (valid_from or now):
        raise Invalid("valid_to is before valid_from.")
    edge = Edge(
        id=new_id("edge"), from_id=from_id, to_id=to_id, type=edge_type, metadata=metadata,
        valid_from=valid_from or now, valid_to=valid_to, created_at=now,
    )  # fmt: skip
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        await store.hold(conn, graph.space)
        new, old = await find_node(conn, graph, from_id), await find_node(conn, graph, to_id)
        if edge_type == SUPERSEDES and old.valid_to is None:
            if new.valid_to is not None:
                raise Conflict("The newer node is itself superseded: name the one that holds, or store it again.")
            return await _supersede(conn, services, principal, graph, old, new, metadata)
        made = await store.insert_edge(conn, graph.space, edge)
        await record(conn, principal, "edge.create", made.id)
    return made


async def list_edges(services: Services, principal: Principal, graph_id: str | None, page: PageRequest) -> Page[Edge]:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        found = await store.edges(conn, graph.space, after=page.after, limit=page.limit + 1)
    return cut_page(found, page, lambda edge: (edge.created_at, edge.id))


async def end_edge(services: Services, principal: Principal, graph_id: str | None, edge_id: str) -> None:
    """It holds no longer. What was superseded by it alone holds again."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        await store.hold(conn, graph.space)
        edge = await store.edge(conn, graph.space, edge_id)
        if edge is None:
            raise NotFound("There is no such edge in this graph.")
        await store.end_edge(conn, edge_id, services.clock())
        await record(conn, principal, "edge.end", edge_id)
        old = await store.node(conn, edge.to_id) if edge.type == SUPERSEDES else None
        if old is not None and old.superseded_by == edge.from_id:
            await _revive(conn, services, principal, graph, old)


async def neighbours(
    services: Services,
    principal: Principal,
    graph_id: str | None,
    node_id: str,
    *,
    depth: int = 1,
    direction: str = "both",
    edge_type: str | None = None,
    as_of: datetime | None = None,
) -> list[Neighbour]:
    """What is one or two edges away, the nearest first."""
    at = as_of or services.clock()
    found: list[Neighbour] = []
    async with services.db.transaction(account_scope(principal.account)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        await find_node(conn, graph, node_id)
        seen, frontier = {node_id}, [node_id]
        for step in range(1, depth + 1):
            edges = await store.edges_of(
                conn, graph.space, frontier, direction=direction, edge_type=edge_type, at=at, limit=MOST_NEIGHBOURS
            )
            ends = [(edge, edge.to_id if edge.from_id in frontier else edge.from_id) for edge in edges]
            nodes = await store.by_ids(conn, [end for _, end in ends])
            fresh = [(edge, end) for edge, end in ends if end in nodes and end not in seen]
            for edge, end in fresh:
                if end not in seen:
                    seen.add(end)
                    found.append(Neighbour(node=nodes[end], edge=edge, steps=step))
            frontier = [end for _, end in fresh]
            if not frontier:
                break
    return found[:MOST_NEIGHBOURS]


# ------------------------------------------------------------------------------------------------------ shared


async def find_graph(conn: Connection, principal: Principal, graph_id: str | None) -> Graph:
    """By its id, or the account's default one. From here on the transaction reaches what is in it."""
    graph = await _default(conn) if graph_id is None else await store.get(conn, graph_id)
    if graph is None:
        raise no_graph()
    await enter(conn, space_scope(principal, graph.space, graph.history))
    return graph


async def find_node(conn: Connection, graph: Graph, node_id: str) -> Node:
    node = await store.node(conn, node_id)
    if node is None or node.deleted_at is not None or node.graph_id != graph.id:
        raise no_node()
    return node


def no_graph() -> NotFound:
    return NotFound("There is no such graph: graph_list shows those that are there.", code="GRAPH_NOT_FOUND")


def no_node() -> NotFound:
    return NotFound("There is no such node in this graph.")


async def _default(conn: Connection) -> Graph | None:
    found = await store.default(conn)
    if found is None:
        await store.create(conn, new_id("graph"), DEFAULT_NAME, default=True)
        found = await store.default(conn)
    return found


async def _revised(conn: Connection, graph: Graph, node: Node, first: FirstVector | None) -> list[Node]:
    """Older nodes of the same type that this one says otherwise."""
    near = await nearest(conn, graph.space, first, above=NEAR, limit=_LOOKED_AT)
    return [
        old
        for old in (await store.by_ids(conn, list(near))).values()
        if old.node_type == node.node_type
        and old.valid_to is None
        and old.valid_from <= node.valid_from
        and _alike(old.metadata, node.metadata)
        and revises(node.content, old.content)
    ]


def _alike(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Nothing is revised that is said to be of something else: another team, another quarter."""
    return all(old[name] == value for name, value in new.items() if name in old)


async def _supersede(
    conn: Connection, services: Services, principal: Principal, graph: Graph, old: Node, new: Node,
    metadata: dict[str, Any] | None = None,
) -> Edge:  # fmt: skip
    """The older node holds until the newer begins; from then on it is found only by who asks for that time."""
    until = max(old.valid_from, new.valid_from)
    edge = Edge(
        id=new_id("edge"), from_id=new.id, to_id=old.id, type=SUPERSEDES, metadata=metadata or {}, valid_from=until,
        valid_to=None, created_at=services.clock(),
    )  # fmt: skip
    made = await store.insert_edge(conn, graph.space, edge)
    columns = {"valid_to": until, "superseded_by": new.id, "version": old.version + 1}
    await store.update_node(conn, old.id, columns)
    await memories.add_version(conn, graph.space, [old.id], "superseded", principal.user_id)
    await passages.delete(conn, graph.space, "memory", [old.id])
    cut = await _cut(services, old)
    if cut:
        await passages.insert(conn, graph.history, cut)
        await _await_reading(conn, services, principal, graph.history)
    await record(conn, principal, "node.supersede", old.id)
    return made


async def _revive(conn: Connection, services: Services, principal: Principal, graph: Graph, old: Node) -> None:
    """As if it had never been superseded."""
    columns = {"valid_to": None, "superseded_by": None, "version": old.version + 1}
    await store.update_node(conn, old.id, columns)
    await memories.add_version(conn, graph.space, [old.id], "revived", principal.user_id)
    await record(conn, principal, "node.revive", old.id)
    if old.deleted_at is None:
        await passages.delete(conn, graph.history, "memory", [old.id])
        await passages.insert(conn, graph.space, await _cut(services, old))
        await _await_reading(conn, services, principal, graph.space)


async def _await_reading(conn: Connection, services: Services, principal: Principal, space: int) -> None:
    if await spaces.claim_reading(conn, space):
        await services.queue.add(
            conn, "read_space", account=principal.account, space=space, one_by_one=f"space {space}"
        )


async def _cut(services: Services, node: Node) -> list[NewPassage]:
    services.embedders.need()
    source = Source(kind="memory", id=node.id, text=node.content, at=node.created_at, dated=False)
    return await passages_of([source], services.embedders.active, visibility=VISIBILITY)


def _check(metadata: dict[str, Any] | None) -> None:
    if metadata and len(json.dumps(metadata, ensure_ascii=False).encode()) > LARGEST_METADATA:
        message = "has more than 64 KB"
        raise Malformed(f"metadata {message}.", details=[{"path": "metadata", "message": message}])


def _checked(content: str) -> str:
    text = own_words(content).strip()
    if not text:
        raise Invalid("There is nothing to remember in this: give a text of its own, not only what was recalled.")
    if len(text.encode()) > LARGEST:
        message = "has more than 256 KB: split it"
        raise Malformed(f"content {message}.", details=[{"path": "content", "message": message}])
    return text
