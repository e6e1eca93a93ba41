"""Graph memory: nodes that agents keep and find by meaning, type, time and metadata, and the typed edges between them.

Graphs are the account's. What contradicts an older node supersedes it with an edge that says so: a recall shows what
holds now, or what held at a time. `graph_recall` looks; this module keeps.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import changeable, may_change, require_maker
from keepstone.errors import Conflict, Invalid, NotFound
from keepstone.memory import shelf
from keepstone.memory.again import add_to
from keepstone.memory.kinds import Prepared, check_metadata
from keepstone.memory.nodes import NODES, USUAL_TYPE, others, same
from keepstone.memory.shelf import Finder
from keepstone.memory.superseding import AUTO, SupersedeWish, still_there, weigh
from keepstone.model.graph import SUPERSEDES, Edge, Graph, Node, NodeFilter
from keepstone.model.ids import new_id
from keepstone.model.memory import Version, restorable, restorable_since
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import graphs as store
from keepstone.store import memories, spaces
from keepstone.store.db import Connection, enter

DEFAULT_NAME = "Default"
MOST_NEIGHBOURS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """`existing`: it was known already. `superseded` are older nodes that no longer hold, `may_supersede` others that
    this one may take the place of and that still hold. `added` is what came new with one that was known.
    """

    node: Node
    existing: bool
    superseded: tuple[str, ...]
    may_supersede: tuple[str, ...] = ()
    added: dict[str, Any] = field(default_factory=dict[str, Any])


# ------------------------------------------------------------------------------------------------------ graphs


async def create_graph(services: Services, principal: Principal, *, name: str) -> Graph:
    graph_id = new_id("graph")
    async with services.db.transaction(account_scope(principal)) as conn:
        await store.create(conn, graph_id, name, default=False, by=principal.user_id)
        await record(conn, principal, "graph.create", graph_id)
        return await find_graph(conn, principal, graph_id)


async def list_graphs(
    services: Services, principal: Principal, page: PageRequest, *, deleted: bool = False
) -> Page[Graph]:
    """The account's, the newest first; among them the default one, made when it was not there. Or those in the trash
    that the caller can bring back.
    """
    async with services.db.transaction(account_scope(principal)) as conn:
        if principal.reach.spaces is None:
            await default_graph(conn)
        if deleted:
            since, made_by = restorable_since(services.clock()), changeable(services, principal)
            return await store.trash(conn, page, since=since, made_by=made_by)
        return await store.page(conn, page)


async def get_graph(services: Services, principal: Principal, graph_id: str | None) -> Graph:
    async with inside(services, principal, graph_id) as (_, graph):
        return graph


async def delete_graph(services: Services, principal: Principal, graph_id: str | None) -> None:
    """Into the trash with all its nodes, for 30 days."""
    async with inside(services, principal, graph_id) as (conn, graph):
        if graph.is_default:
            raise Conflict("This is the account's default graph: forget its nodes instead.")
        require_maker(services, principal, graph.created_by)
        await spaces.put_away(conn, graph.space, away=True)
        await record(conn, principal, "graph.delete", graph.id)


async def restore_graph(services: Services, principal: Principal, graph_id: str) -> Graph:
    async with services.db.transaction(account_scope(principal)) as conn:
        graph = await store.get(conn, graph_id, deleted=True)
        if graph is None or not restorable(graph.deleted_at, services.clock()):
            raise no_graph()
        require_maker(services, principal, graph.created_by)
        await spaces.put_away(conn, graph.space, away=False)
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
    wish: SupersedeWish = AUTO,
    valid_from: datetime | None = None,
) -> Stored:
    """Keep it. What it surely takes the place of, and what is named, it supersedes: of these what the caller may
    change. What is others' and not named, and what isn't sure, stays beside it and is named in the answer.
    """
    text = NODES.check_text(content)
    check_metadata(metadata)
    now = services.clock()
    if valid_from is not None and valid_from > now:
        raise Invalid("valid_from is in the future: a node holds from now on, or has held for a while.")
    node = NODES.new(
        now, content=text, type=node_type, metadata=metadata, user_id=principal.user_id, source_type="model",
        valid_from=valid_from or now,
    )  # fmt: skip
    prepared = await shelf.prepare(services, NODES, node)
    async with inside(services, principal, graph_id) as (conn, graph):
        near = await others(conn, prepared.moved(space=graph.space))
    weighed = await weigh(services, node, near, mode=wish.mode)
    async with inside(services, principal, graph_id, lock=True) as (conn, graph):
        prepared = prepared.moved(space=graph.space, place=graph.id, history=graph.history)
        judged = await still_there(conn, NODES, graph.space, weighed.known)
        known = await same(conn, services, principal, prepared.memory, judged)
        added: dict[str, Any] = {}
        if known is not None and may_change(services, principal, known.user_id):
            known, added = await add_to(
                conn, services, principal, NODES, known, node, type_name="node_type", usual=USUAL_TYPE
            )
        node = known or prepared.memory
        named = [await find_node(conn, graph, name) for name in wish.named if name != node.id]
        old = {older.id: older for older in named if older.valid_to is None}
        for older in old.values():
            require_maker(services, principal, older.user_id)
        perhaps: list[str] = []
        if known is None:
            outdated = await still_there(conn, NODES, graph.space, weighed.outdated)
            old |= {older.id: older for older in outdated if may_change(services, principal, older.user_id)}
            perhaps = [older.id for older in (*outdated, *weighed.perhaps) if older.id not in old]
            await shelf.keep(conn, services, principal, NODES, prepared)
        for older in old.values():
            await _supersede(conn, services, principal, older, node)
    return Stored(
        node=node, existing=known is not None, superseded=tuple(old), may_supersede=tuple(dict.fromkeys(perhaps)),
        added=added,
    )  # fmt: skip


async def get_node(services: Services, principal: Principal, graph_id: str | None, node_id: str) -> Node:
    return await shelf.get(services, principal, NODES, _finder(principal, graph_id, node_id))


async def list_nodes(
    services: Services, principal: Principal, graph_id: str | None, wanted: NodeFilter, page: PageRequest
) -> Page[Node]:
    async with inside(services, principal, graph_id) as (conn, graph):
        return await store.nodes(conn, graph.space, wanted, page)


async def list_trash(services: Services, principal: Principal, graph_id: str | None, page: PageRequest) -> Page[Node]:
    """What the caller can bring back, forgotten last first."""
    async with inside(services, principal, graph_id) as (conn, graph):
        return await memories.trash(
            conn, store.SHAPE, [graph.space], page, since=restorable_since(services.clock()),
            made_by=changeable(services, principal),
        )  # fmt: skip


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
    text = NODES.check_text(content) if content is not None else None
    check_metadata(metadata)

    def edit(node: Node) -> Node:
        return replace(
            node, content=text if text is not None else node.content, type=node_type or node.type,
            metadata=metadata if metadata is not None else node.metadata,
        )  # fmt: skip

    return await shelf.change(services, principal, NODES, _to_change(services, principal, graph_id, node_id), edit)


async def node_history(services: Services, principal: Principal, graph_id: str | None, node_id: str) -> list[Version]:
    """Every version, the latest first; also of what is in the trash."""
    _, versions = await shelf.history(services, principal, _finder(principal, graph_id, node_id))
    return versions


async def forget_node(services: Services, principal: Principal, graph_id: str | None, node_id: str) -> None:
    """Into the trash, for 30 days."""
    await shelf.trash(services, principal, NODES, _to_change(services, principal, graph_id, node_id))


async def restore_node(services: Services, principal: Principal, graph_id: str | None, node_id: str) -> Node:
    return await shelf.restore(services, principal, NODES, _to_change(services, principal, graph_id, node_id))


async def revive_node(services: Services, principal: Principal, graph_id: str | None, node_id: str) -> Node:
    """A superseded node holds again, beside what had taken its place: every edge that says otherwise ends. Done twice
    it changes nothing.
    """
    async with inside(services, principal, graph_id, lock=True) as (conn, graph):
        node = await find_node(conn, graph, node_id)
        require_maker(services, principal, node.user_id)
        while edge := await store.superseding(conn, graph.space, node.id):
            await store.end_edge(conn, edge.id, services.clock())
            await record(conn, principal, "edge.end", edge.id)
        if node.valid_to is None:
            return node
        return await _hold_again(conn, services, principal, node)


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
    check_metadata(metadata)
    if from_id == to_id:
        raise Invalid("An edge needs two different nodes.")
    now = services.clock()
    if valid_to is not None and valid_to < (valid_from or now):
        raise Invalid("valid_to is before valid_from.")
    edge = Edge(
        id=new_id("edge"), from_id=from_id, to_id=to_id, type=edge_type, metadata=metadata,
        valid_from=valid_from or now, valid_to=valid_to, created_by=principal.user_id, created_at=now,
    )  # fmt: skip
    async with inside(services, principal, graph_id, lock=True) as (conn, graph):
        new, old = await find_node(conn, graph, from_id), await find_node(conn, graph, to_id)
        if edge_type == SUPERSEDES and old.valid_to is None:
            require_maker(services, principal, old.user_id)
            if new.valid_to is not None:
                raise Conflict("The newer node is itself superseded: name the one that holds, or store it again.")
            return await _supersede(conn, services, principal, old, new, metadata)
        made = await store.insert_edge(conn, graph.space, edge, principal.user_id)
        await record(conn, principal, "edge.create", made.id)
    return made


async def list_edges(
    services: Services, principal: Principal, graph_id: str | None, page: PageRequest, *, as_of: datetime | None = None
) -> Page[Edge]:
    async with inside(services, principal, graph_id) as (conn, graph):
        return await store.edges(conn, graph.space, page, as_of)


async def end_edge(services: Services, principal: Principal, graph_id: str | None, edge_id: str) -> None:
    """It holds no longer. What was superseded by it alone holds again."""
    async with inside(services, principal, graph_id, lock=True) as (conn, graph):
        edge = await store.edge(conn, graph.space, edge_id)
        if edge is None:
            raise NotFound("There is no such edge in this graph.")
        require_maker(services, principal, edge.created_by)
        if edge.valid_to is not None and edge.valid_to <= services.clock():
            return  # what it superseded may be superseded by another meanwhile
        await store.end_edge(conn, edge_id, services.clock())
        await record(conn, principal, "edge.end", edge_id)
        old = await memories.get(conn, store.SHAPE, edge.to_id) if edge.type == SUPERSEDES else None
        if old is not None and old.superseded_by == edge.from_id:
            other = await store.superseding(conn, graph.space, old.id)
            if other is None:
                await _hold_again(conn, services, principal, old)
            elif other.from_id != old.superseded_by:
                held = replace(old, superseded_by=other.from_id, valid_to=max(old.valid_from, other.valid_from))
                await shelf.rewrite(conn, services, principal, NODES, old, Prepared(held, None), "superseded")


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
) -> list[tuple[Node, Edge, int]]:
    """What is one or two edges away, over which edge, and in how many steps; the nearest first."""
    at = as_of or services.clock()
    reached: list[tuple[Node, Edge, int]] = []
    async with inside(services, principal, graph_id) as (conn, graph):
        await find_node(conn, graph, node_id)
        seen, frontier = {node_id}, [node_id]
        for step in range(1, depth + 1):
            edges = await store.edges_of(
                conn, graph.space, frontier, direction=direction, edge_type=edge_type, at=at, limit=MOST_NEIGHBOURS
            )
            ends = [(edge, edge.to_id if edge.from_id in frontier else edge.from_id) for edge in edges]
            nodes = await memories.by_ids(conn, store.SHAPE, [end for _, end in ends])
            fresh = [(edge, end) for edge, end in ends if end in nodes and end not in seen]
            for edge, end in fresh:
                if end not in seen:
                    seen.add(end)
                    reached.append((nodes[end], edge, step))
            frontier = [end for _, end in fresh]
            if not frontier:
                break
    return reached[:MOST_NEIGHBOURS]


# ------------------------------------------------------------------------------------------------------ shared


@asynccontextmanager
async def inside(
    services: Services, principal: Principal, graph_id: str | None, *, lock: bool = False
) -> AsyncGenerator[tuple[Connection, Graph]]:
    """A transaction in the graph; with `lock` nobody else changes anything in it until the end."""
    async with services.db.transaction(account_scope(principal)) as conn:
        graph = await find_graph(conn, principal, graph_id)
        if lock:
            await spaces.lock(conn, [graph.space])
        yield conn, graph


async def find_graph(conn: Connection, principal: Principal, graph_id: str | None) -> Graph:
    """By its id, or the account's default one. From here on the transaction reaches what is in it."""
    graph = await default_graph(conn) if graph_id is None else await store.get(conn, graph_id)
    if graph is None:
        raise no_graph()
    await enter(conn, space_scope(principal, graph.space, graph.history))
    return graph


async def find_node(conn: Connection, graph: Graph, node_id: str, *, any_state: bool = False) -> Node:
    node = await memories.get(conn, store.SHAPE, node_id)
    if node is None or node.space != graph.space:
        raise NODES.not_found()
    return node if any_state else NODES.live(node)


def no_graph() -> NotFound:
    return NotFound("There is no such graph.", code="GRAPH_NOT_FOUND")


async def default_graph(conn: Connection) -> Graph | None:
    graph = await store.default(conn)
    if graph is None:
        await store.create(conn, new_id("graph"), DEFAULT_NAME, default=True)
        graph = await store.default(conn)
    return graph


def _finder(principal: Principal, graph_id: str | None, node_id: str) -> Finder[Node]:
    async def find(conn: Connection) -> Sequence[Node]:
        return [await find_node(conn, await find_graph(conn, principal, graph_id), node_id, any_state=True)]

    return find


def _to_change(services: Services, principal: Principal, graph_id: str | None, node_id: str) -> Finder[Node]:
    find = _finder(principal, graph_id, node_id)

    async def find_own(conn: Connection) -> Sequence[Node]:
        [node] = await find(conn)
        require_maker(services, principal, node.user_id)
        return [node]

    return find_own


async def _supersede(
    conn: Connection, services: Services, principal: Principal, old: Node, new: Node,
    metadata: dict[str, Any] | None = None,
) -> Edge:  # fmt: skip
    """The older node holds until the newer begins; from then on it is found only by who asks for that time."""
    until = max(old.valid_from, new.valid_from)
    edge = Edge(
        id=new_id("edge"), from_id=new.id, to_id=old.id, type=SUPERSEDES, metadata=metadata or {}, valid_from=until,
        valid_to=None, created_by=principal.user_id, created_at=services.clock(),
    )  # fmt: skip
    made = await store.insert_edge(conn, old.space, edge, principal.user_id)
    over = await shelf.prepare(services, NODES, replace(old, valid_to=until, superseded_by=new.id), embed=False)
    await shelf.rewrite(conn, services, principal, NODES, old, over, "superseded")
    return made


async def _hold_again(conn: Connection, services: Services, principal: Principal, old: Node) -> Node:
    """As if it had never been superseded."""
    revived = await shelf.prepare(services, NODES, replace(old, valid_to=None, superseded_by=None), embed=False)
    if not old.live:
        revived = Prepared(revived.memory, None)
    return await shelf.rewrite(conn, services, principal, NODES, old, revived, "revived")
