"""Graphs: nodes that hold for a time, and typed edges between them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from keepstone_client.binding import D, Resource, operation, paged
from keepstone_client.core import Page, Request, Supersede, at, filled, into, items_of, nothing, page_of


@dataclass(frozen=True, kw_only=True)
class Graph:
    id: str
    name: str
    is_default: bool
    node_count: int
    created_at: datetime
    deleted_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Node:
    id: str
    content: str
    node_type: str
    metadata: dict[str, Any]
    graph_id: str
    version: int
    valid_from: datetime
    valid_to: datetime | None  # until when it held; None: it holds
    superseded_by: str | None
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class StoredNode(Node):
    existing: bool  # it was there already
    superseded: tuple[str, ...]  # older nodes that no longer hold
    added: dict[str, Any] | None = None  # with it: what came new and was added
    may_supersede: tuple[str, ...] = ()  # older nodes that it may take the place of, and that still hold


@dataclass(frozen=True, kw_only=True)
class NodeVersion:
    version: int
    change: str
    content: str
    node_type: str
    metadata: dict[str, Any]
    changed_by: str | None
    changed_at: datetime


@dataclass(frozen=True, kw_only=True)
class Edge:
    id: str
    from_id: str
    to_id: str
    edge_type: str
    metadata: dict[str, Any]
    valid_from: datetime
    valid_to: datetime | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Neighbor:
    node: Node
    edge: Edge
    steps: int  # how many edges away


@dataclass(frozen=True, kw_only=True)
class NodeEdge:
    edge: Edge
    node: Node  # at the other end


@dataclass(frozen=True, kw_only=True)
class NodeTypeCount:
    node_type: str
    holding: int
    superseded: int


@dataclass(frozen=True, kw_only=True)
class GraphCounts:
    nodes: int  # that hold
    superseded: int  # nodes that no longer do
    edges: int
    since: datetime | None  # when the earliest node began to hold
    node_types: tuple[NodeTypeCount, ...]
    edge_types: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class DrawnNode:
    id: str
    node_type: str
    text: str  # its beginning
    degree: int  # how many edges it has
    valid_from: datetime
    valid_to: datetime | None
    superseded_by: str | None


@dataclass(frozen=True, kw_only=True)
class DrawnEdge:
    id: str
    from_id: str
    to_id: str
    edge_type: str
    valid_from: datetime
    valid_to: datetime | None


@dataclass(frozen=True, kw_only=True)
class GraphPicture:
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    more: bool  # there are nodes that are not on it


@dataclass(frozen=True, kw_only=True)
class GraphResult:
    id: str
    content: str
    node_type: str
    metadata: dict[str, Any]
    relevance: float
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class GraphRecalled:
    results: tuple[GraphResult, ...]
    total: int  # all that match and are relevant enough, also beyond those that came
    query_id: str
    degraded: str | None = None
    trace_id: str | None = None


class Graphs(Resource[D]):
    @operation
    def create(self, name: str) -> Request[Graph]:
        return Request(method="POST", path="/v1/graphs", parse=into(Graph), json={"name": name})

    @paged
    def list(self, *, deleted: bool = False, page_size: int | None = None) -> Request[Page[Graph]]:
        params = filled(deleted=deleted or None, limit=page_size)
        return Request(method="GET", path="/v1/graphs", parse=page_of(Graph), params=params)

    @operation
    def get(self, graph_id: str) -> Request[Graph]:
        return Request(method="GET", path=_graph(graph_id), parse=into(Graph))

    @operation
    def delete(self, graph_id: str) -> Request[None]:
        """Into the trash, for 30 days."""
        return Request(method="DELETE", path=_graph(graph_id), parse=nothing)

    @operation
    def restore(self, graph_id: str) -> Request[Graph]:
        return Request(method="POST", path=f"{_graph(graph_id)}/restore", parse=into(Graph))

    @operation
    def recall(
        self,
        graph_id: str,
        query: str,
        *,
        max_results: int | None = None,
        node_type: str | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        min_relevance: float | None = None,
        as_of: datetime | None = None,
    ) -> Request[GraphRecalled]:
        """The nodes that a question is about, the best first. `start` and `end` are when they were made or changed."""
        body = filled(
            query=query, max_results=max_results, node_type=node_type,
            time_range=filled(start=start, end=end) or None, metadata_filter=metadata_filter,
            min_relevance=min_relevance, as_of=as_of,
        )  # fmt: skip
        return Request(
            method="POST", path=f"{_graph(graph_id)}/recall", parse=into(GraphRecalled), json=body, repeatable=True
        )

    @operation
    def add_node(
        self,
        graph_id: str,
        content: str,
        *,
        node_type: str = "note",
        metadata: Mapping[str, Any] | None = None,
        supersedes: Sequence[str] = (),
        supersede: Supersede | None = None,
        valid_from: datetime | None = None,
    ) -> Request[StoredNode]:
        """What is there already is not stored again. `supersedes` are nodes that no longer hold now that this does;
        `supersede` says what becomes of others: `auto` unless you say otherwise.
        """
        body = filled(
            content=content, node_type=node_type, metadata=metadata, supersedes=supersedes, supersede=supersede,
            valid_from=valid_from,
        )  # fmt: skip
        return Request(method="POST", path=f"{_graph(graph_id)}/nodes", parse=into(StoredNode), json=body)

    @paged
    def nodes(
        self,
        graph_id: str,
        *,
        node_type: str | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        as_of: datetime | None = None,
        superseded: bool = False,
        deleted: bool = False,
        page_size: int | None = None,
    ) -> Request[Page[Node]]:
        wanted = None if metadata_filter is None else json.dumps(dict(metadata_filter))
        params = filled(
            node_type=node_type, metadata_filter=wanted, start=start, end=end, as_of=as_of,
            superseded=superseded or None, deleted=deleted or None, limit=page_size,
        )  # fmt: skip
        return Request(method="GET", path=f"{_graph(graph_id)}/nodes", parse=page_of(Node), params=params)

    @operation
    def node(self, graph_id: str, node_id: str) -> Request[Node]:
        return Request(method="GET", path=_node(graph_id, node_id), parse=into(Node))

    @operation
    def update_node(
        self,
        graph_id: str,
        node_id: str,
        *,
        content: str | None = None,
        node_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Request[Node]:
        """What is left out stays; metadata is replaced as a whole."""
        body = filled(content=content, node_type=node_type, metadata=metadata)
        return Request(method="PATCH", path=_node(graph_id, node_id), parse=into(Node), json=body)

    @operation
    def delete_node(self, graph_id: str, node_id: str) -> Request[None]:
        return Request(method="DELETE", path=_node(graph_id, node_id), parse=nothing)

    @operation
    def restore_node(self, graph_id: str, node_id: str) -> Request[Node]:
        return Request(method="POST", path=f"{_node(graph_id, node_id)}/restore", parse=into(Node))

    @operation
    def revive_node(self, graph_id: str, node_id: str) -> Request[Node]:
        """Superseded, it holds again, beside what had taken its place."""
        return Request(method="POST", path=f"{_node(graph_id, node_id)}/revive", parse=into(Node), repeatable=True)

    @operation
    def node_history(self, graph_id: str, node_id: str) -> Request[tuple[NodeVersion, ...]]:
        return Request(method="GET", path=f"{_node(graph_id, node_id)}/history", parse=items_of(NodeVersion))

    @operation
    def neighbors(
        self,
        graph_id: str,
        node_id: str,
        *,
        depth: int | None = None,
        direction: Literal["both", "out", "in"] | None = None,
        edge_type: str | None = None,
        as_of: datetime | None = None,
    ) -> Request[tuple[Neighbor, ...]]:
        params = filled(depth=depth, direction=direction, edge_type=edge_type, as_of=as_of)
        return Request(
            method="GET", path=f"{_node(graph_id, node_id)}/neighbors", parse=items_of(Neighbor), params=params
        )

    @operation
    def add_edge(
        self,
        graph_id: str,
        from_id: str,
        to_id: str,
        edge_type: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
    ) -> Request[Edge]:
        body = filled(
            from_id=from_id, to_id=to_id, edge_type=edge_type, metadata=metadata, valid_from=valid_from,
            valid_to=valid_to,
        )  # fmt: skip
        return Request(method="POST", path=f"{_graph(graph_id)}/edges", parse=into(Edge), json=body)

    @paged
    def edges(
        self, graph_id: str, *, as_of: datetime | None = None, page_size: int | None = None
    ) -> Request[Page[Edge]]:
        params = filled(as_of=as_of, limit=page_size)
        return Request(method="GET", path=f"{_graph(graph_id)}/edges", parse=page_of(Edge), params=params)

    @paged
    def node_edges(
        self,
        graph_id: str,
        node_id: str,
        *,
        ended: bool | None = None,
        as_of: datetime | None = None,
        page_size: int | None = None,
    ) -> Request[Page[NodeEdge]]:
        params = filled(ended=ended, as_of=as_of, limit=page_size)
        return Request(method="GET", path=f"{_node(graph_id, node_id)}/edges", parse=page_of(NodeEdge), params=params)

    @operation
    def counts(self, graph_id: str, *, as_of: datetime | None = None) -> Request[GraphCounts]:
        return Request(
            method="GET", path=f"{_graph(graph_id)}/counts", parse=into(GraphCounts), params=filled(as_of=as_of)
        )

    @operation
    def picture(
        self,
        graph_id: str,
        *,
        node_type: str | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        as_of: datetime | None = None,
        superseded: bool | None = None,
        limit: int | None = None,
    ) -> Request[GraphPicture]:
        params = filled(
            node_type=node_type, start=start, end=end, as_of=as_of, superseded=superseded, limit=limit,
            metadata_filter=None if metadata_filter is None else json.dumps(metadata_filter),
        )  # fmt: skip
        return Request(method="GET", path=f"{_graph(graph_id)}/picture", parse=into(GraphPicture), params=params)

    @operation
    def delete_edge(self, graph_id: str, edge_id: str) -> Request[None]:
        return Request(method="DELETE", path=f"{_graph(graph_id)}/edges/{at(edge_id)}", parse=nothing)


def _graph(graph_id: str) -> str:
    return f"/v1/graphs/{at(graph_id)}"


def _node(graph_id: str, node_id: str) -> str:
    return f"{_graph(graph_id)}/nodes/{at(node_id)}"
