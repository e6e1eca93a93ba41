"""A graph as a whole, now or as it was at a time: how much is in it, its picture, and the edges of a node in pages."""

from dataclasses import dataclass
from datetime import datetime

from keepstone.memory.graphs import find_node, inside
from keepstone.model.graph import DrawnNode, Edge, Node, NodeCount, NodeFilter
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import graph_views as store
from keepstone.store import graphs, memories

MOST_DRAWN = 5_000
_MOST_LINES = 20_000
_LETTERS = 300  # of a node's text in the picture


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCounts:
    """`since` is when the earliest of its nodes began to hold."""

    nodes: int
    superseded: int
    edges: int
    since: datetime | None
    node_types: list[NodeCount]
    edge_types: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """`more`: there are nodes that are not on it."""

    nodes: list[DrawnNode]
    edges: list[Edge]
    more: bool


async def counts(
    services: Services, principal: Principal, graph_id: str | None, *, as_of: datetime | None = None
) -> GraphCounts:
    async with inside(services, principal, graph_id) as (conn, graph):
        nodes = await store.node_counts(conn, graph.space, as_of)
        edges = await store.edge_counts(conn, graph.space, as_of or services.clock())
    return GraphCounts(
        nodes=sum(each.holding for each in nodes),
        superseded=sum(each.superseded for each in nodes),
        edges=sum(edges.values()),
        since=min((each.since for each in nodes), default=None),
        node_types=nodes,
        edge_types=edges,
    )


async def picture(
    services: Services, principal: Principal, graph_id: str | None, wanted: NodeFilter, *, limit: int
) -> Picture:
    """The nodes with the most edges, and the edges between them."""
    at = wanted.as_of or services.clock()
    async with inside(services, principal, graph_id) as (conn, graph):
        nodes = await store.picture_nodes(
            conn, graph.space, wanted, at=at, letters=_LETTERS, limit=limit + 1
        )  # fmt: skip
        drawn = nodes[:limit]
        edges = await store.edges_among(
            conn, graph.space, [node.id for node in drawn], at=at, past=wanted.superseded, limit=_MOST_LINES
        )
    return Picture(nodes=drawn, edges=edges, more=len(nodes) > limit)


async def node_edges(
    services: Services,
    principal: Principal,
    graph_id: str | None,
    node_id: str,
    page: PageRequest,
    *,
    ended: bool = False,
    as_of: datetime | None = None,
) -> Page[tuple[Edge, Node]]:
    """The edges of a node, the newest first, each with the node at its other end."""
    async with inside(services, principal, graph_id) as (conn, graph):
        await find_node(conn, graph, node_id)
        edges = await store.edges_of_node(
            conn, graph.space, node_id, page, at=as_of or services.clock(), past=ended
        )  # fmt: skip
        ends = {edge.id: edge.to_id if edge.from_id == node_id else edge.from_id for edge in edges.items}
        nodes = await memories.by_ids(conn, graphs.SHAPE, list(ends.values()))
    return Page(
        items=[(edge, nodes[ends[edge.id]]) for edge in edges.items if ends[edge.id] in nodes],
        next_cursor=edges.next_cursor,
    )
