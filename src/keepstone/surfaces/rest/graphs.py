"""Graphs over REST: nodes, the edges between them, and recall. The same as the tools at `/v1/graph/mcp`."""

import json
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field, model_validator
from starlette.convertors import Convertor, register_url_convertor

from keepstone.errors import Malformed
from keepstone.memory import graph_recall, graphs
from keepstone.memory.graph_recall import MOST_RESULTS, RELEVANT, RESULTS
from keepstone.model.graph import Edge, Graph, Node, NodeFilter
from keepstone.model.ids import pattern
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.wire import Name, PageOut, Paging, Shown, Time, Wire, refuse, refuse_unstorable, show_page

router = APIRouter(prefix="/v1/graphs", tags=["graphs"])

DEFAULT = "default"
NodeType = Annotated[str, Field(min_length=1, max_length=255)]
EdgeType = Annotated[str, Field(min_length=1, max_length=255)]
NodeId = Annotated[str, Field(pattern=f"^{pattern('node')}$")]
Content = Annotated[str, Field(min_length=1, description="Up to 256 KB.")]
Metadata = Annotated[dict[str, Any], Field(description="Any JSON object.")]
AsOf = Annotated[Time | None, Query(description="What held at this time, instead of now.")]


class _GraphName(Convertor[str]):
    """An id, or the word for the account's default graph."""

    regex = f"{pattern('graph')}|{DEFAULT}"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("graphname", _GraphName())


class GraphIn(Wire):
    name: Name


class GraphOut(Shown):
    id: str
    name: str
    is_default: bool
    node_count: int
    created_at: Time
    deleted_at: Time | None = Field(description="In the trash since.")


class NodeIn(Wire):
    content: Content
    node_type: NodeType = "note"
    metadata: Metadata = Field(default_factory=dict[str, Any])
    supersedes: Annotated[
        list[NodeId], Field(max_length=100, description="Nodes that no longer hold now that this does.")
    ] = Field(default_factory=list[str])
    valid_from: Annotated[Time | None, Field(description="Since when it holds, if not since now.")] = None


class NodeChange(Wire):
    """What is left out stays; metadata is replaced as a whole."""

    content: Content | None = None
    node_type: NodeType | None = None
    metadata: Metadata | None = None


class NodeOut(Shown):
    id: str
    content: str
    node_type: str
    metadata: dict[str, Any]
    graph_id: str
    version: int
    valid_from: Time
    valid_to: Time | None = Field(description="Until when it held; null: it holds.")
    superseded_by: str | None
    created_at: Time
    updated_at: Time
    deleted_at: Time | None = Field(description="In the trash since.")


class StoredOut(NodeOut):
    existing: bool = Field(description="It was there already.")
    superseded: list[str] = Field(description="Older nodes that no longer hold.")


class NodeVersionOut(Shown):
    version: int
    change: str
    content: str
    metadata: dict[str, Any]
    changed_by: str | None
    changed_at: Time


class NodeVersionList(BaseModel):
    items: list[NodeVersionOut]


class EdgeIn(Wire):
    from_id: NodeId
    to_id: NodeId
    edge_type: EdgeType
    metadata: Metadata = Field(default_factory=dict[str, Any])
    valid_from: Time | None = None
    valid_to: Time | None = None


class EdgeOut(BaseModel):
    id: str
    from_id: str
    to_id: str
    edge_type: str
    metadata: dict[str, Any]
    valid_from: Time
    valid_to: Time | None
    created_at: Time


class NeighborOut(BaseModel):
    node: NodeOut
    edge: EdgeOut
    steps: int = Field(description="How many edges away.")


class NeighborList(BaseModel):
    items: list[NeighborOut]


class TimeRangeIn(Wire):
    start: Annotated[Time | None, Field(description="Created or updated at this time or later.")] = None
    end: Annotated[Time | None, Field(description="Created or updated at this time or before.")] = None

    @model_validator(mode="after")
    def _in_order(self) -> "TimeRangeIn":
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError("start is after end")
        return self


class GraphRecallIn(Wire):
    """As the arguments of the tool `memory_recall`; the graph is in the path."""

    query: Annotated[str, Field(min_length=1, description="A question or keywords.")]
    max_results: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = RESULTS
    node_type: str | None = None
    time_range: TimeRangeIn | None = None
    metadata_filter: Annotated[
        dict[str, Any] | None, Field(description="All pairs must match; a nested one matches what holds it.")
    ] = None
    min_relevance: Annotated[float, Field(ge=0, le=1, description="Leave out what is less relevant.")] = RELEVANT
    as_of: Annotated[Time | None, Field(description="What held at this time, instead of now.")] = None

    @model_validator(mode="after")
    def _asks(self) -> "GraphRecallIn":
        if not self.query.strip():
            raise ValueError("query is empty")
        return self


class RecallResult(BaseModel):
    id: str
    content: str
    node_type: str
    metadata: dict[str, Any]
    relevance: float
    created_at: Time
    updated_at: Time


class GraphRecallOut(BaseModel):
    results: list[RecallResult]
    total: int = Field(description="All that match and are relevant enough, also beyond max_results.")
    query_id: str
    degraded: str | None = Field(default=None, description="`terms`: nothing could be found by meaning just now.")


# ------------------------------------------------------------------------------------------------------ graphs


@router.post("", status_code=201, summary="Make a graph")
async def create_graph(services: Used, principal: Caller, body: GraphIn) -> GraphOut:
    return _graph(await graphs.create_graph(services, principal, name=body.name))


@router.get("", summary="The account's graphs, the newest first")
async def list_graphs(
    services: Used,
    principal: Caller,
    page: Paging,
    deleted: Annotated[bool, Query(description="Those in the trash.")] = False,
) -> PageOut[GraphOut]:
    return show_page(await graphs.list_graphs(services, principal, page, deleted=deleted), _graph)


@router.get("/{graph_id:graphname}", summary="One graph; `default` is the account's default one")
async def get_graph(services: Used, principal: Caller, graph_id: str) -> GraphOut:
    return _graph(await graphs.get_graph(services, principal, _named(graph_id)))


@router.delete("/{graph_id:graphname}", status_code=204, summary="Into the trash with all its nodes, for 30 days")
async def delete_graph(services: Used, principal: Caller, graph_id: str) -> None:
    await graphs.delete_graph(services, principal, _named(graph_id))


@router.post("/{graph_id:graph}/restore", summary="A graph out of the trash")
async def restore_graph(services: Used, principal: Caller, graph_id: str) -> GraphOut:
    return _graph(await graphs.restore_graph(services, principal, graph_id))


# ------------------------------------------------------------------------------------------------------- nodes


@router.post(
    "/{graph_id:graphname}/nodes", status_code=201, summary="Keep a node",
    responses={200: {"model": StoredOut, "description": "It was there already."}},
)  # fmt: skip
async def store_node(services: Used, principal: Caller, response: Response, graph_id: str, body: NodeIn) -> StoredOut:
    kept = await graphs.store_node(
        services, principal, _named(graph_id), content=body.content, node_type=body.node_type, metadata=body.metadata,
        supersedes=body.supersedes, valid_from=body.valid_from,
    )  # fmt: skip
    if kept.existing:
        response.status_code = 200
    return StoredOut(**_fields(kept.node), existing=kept.existing, superseded=list(kept.superseded))


@router.get("/{graph_id:graphname}/nodes", summary="The nodes of a graph, the newest first")
async def list_nodes(
    services: Used,
    principal: Caller,
    page: Paging,
    graph_id: str,
    node_type: Annotated[str | None, Query(max_length=255)] = None,
    metadata_filter: Annotated[
        str | None, Query(max_length=10_000, description="A JSON object: all its pairs must match.")
    ] = None,
    start: Annotated[Time | None, Query(description="Created or updated at this time or later.")] = None,
    end: Annotated[Time | None, Query(description="Created or updated at this time or before.")] = None,
    as_of: AsOf = None,
    deleted: Annotated[bool, Query(description="Those in the trash, whatever the filters.")] = False,
) -> PageOut[NodeOut]:
    if deleted:
        return show_page(await graphs.list_trash(services, principal, _named(graph_id), page), _node)
    refuse("node_type", node_type)
    wanted = NodeFilter(node_type=node_type, metadata=_pairs(metadata_filter), start=start, end=end, as_of=as_of)
    return show_page(await graphs.list_nodes(services, principal, _named(graph_id), wanted, page), _node)


@router.get("/{graph_id:graphname}/nodes/{node_id:node}", summary="One node")
async def get_node(services: Used, principal: Caller, graph_id: str, node_id: str) -> NodeOut:
    return _node(await graphs.get_node(services, principal, _named(graph_id), node_id))


@router.patch("/{graph_id:graphname}/nodes/{node_id:node}", summary="Change a node; what it was stays in its history")
async def change_node(services: Used, principal: Caller, graph_id: str, node_id: str, body: NodeChange) -> NodeOut:
    return _node(
        await graphs.update_node(
            services, principal, _named(graph_id), node_id, content=body.content, node_type=body.node_type,
            metadata=body.metadata,
        )
    )  # fmt: skip


@router.delete(
    "/{graph_id:graphname}/nodes/{node_id:node}", status_code=204, summary="A node into the trash, for 30 days"
)
async def forget_node(services: Used, principal: Caller, graph_id: str, node_id: str) -> None:
    await graphs.forget_node(services, principal, _named(graph_id), node_id)


@router.post("/{graph_id:graphname}/nodes/{node_id:node}/restore", summary="A node out of the trash")
async def restore_node(services: Used, principal: Caller, graph_id: str, node_id: str) -> NodeOut:
    return _node(await graphs.restore_node(services, principal, _named(graph_id), node_id))


@router.get("/{graph_id:graphname}/nodes/{node_id:node}/history", summary="Every version, the latest first")
async def get_node_history(services: Used, principal: Caller, graph_id: str, node_id: str) -> NodeVersionList:
    found = await graphs.node_history(services, principal, _named(graph_id), node_id)
    return NodeVersionList(items=[NodeVersionOut.model_validate(one) for one in found])


@router.get("/{graph_id:graphname}/nodes/{node_id:node}/neighbors", summary="What is one or two edges away")
async def list_neighbors(
    services: Used,
    principal: Caller,
    graph_id: str,
    node_id: str,
    depth: Annotated[int, Query(ge=1, le=2)] = 1,
    direction: Annotated[
        Literal["both", "out", "in"], Query(description="`out`: edges that begin at the node. `in`: that end at it.")
    ] = "both",
    edge_type: Annotated[str | None, Query(max_length=255)] = None,
    as_of: AsOf = None,
) -> NeighborList:
    refuse("edge_type", edge_type)
    found = await graphs.neighbours(
        services, principal, _named(graph_id), node_id, depth=depth, direction=direction, edge_type=edge_type,
        as_of=as_of,
    )  # fmt: skip
    return NeighborList(
        items=[NeighborOut(node=_node(one.node), edge=_edge(one.edge), steps=one.steps) for one in found]
    )


# ------------------------------------------------------------------------------------------------------- edges


@router.post("/{graph_id:graphname}/edges", status_code=201, summary="Relate two nodes")
async def relate(services: Used, principal: Caller, graph_id: str, body: EdgeIn) -> EdgeOut:
    return _edge(
        await graphs.relate(
            services, principal, _named(graph_id), from_id=body.from_id, to_id=body.to_id, edge_type=body.edge_type,
            metadata=body.metadata, valid_from=body.valid_from, valid_to=body.valid_to,
        )
    )  # fmt: skip


@router.get("/{graph_id:graphname}/edges", summary="The edges of a graph, the newest first, also those that ended")
async def list_edges(services: Used, principal: Caller, page: Paging, graph_id: str) -> PageOut[EdgeOut]:
    return show_page(await graphs.list_edges(services, principal, _named(graph_id), page), _edge)


@router.delete("/{graph_id:graphname}/edges/{edge_id:edge}", status_code=204, summary="An edge that holds no longer")
async def end_edge(services: Used, principal: Caller, graph_id: str, edge_id: str) -> None:
    await graphs.end_edge(services, principal, _named(graph_id), edge_id)


# ------------------------------------------------------------------------------------------------------ recall


@router.post("/{graph_id:graphname}/recall", summary="Find nodes by what they mean")
async def recall_nodes(services: Used, principal: Caller, graph_id: str, body: GraphRecallIn) -> GraphRecallOut:
    within = body.time_range or TimeRangeIn()
    wanted = NodeFilter(
        node_type=body.node_type or None, metadata=body.metadata_filter or {}, start=within.start, end=within.end,
        as_of=body.as_of,
    )  # fmt: skip
    found = await graph_recall.recall(
        services, principal, query=body.query, graph_id=_named(graph_id), wanted=wanted, max_results=body.max_results,
        min_relevance=body.min_relevance,
    )  # fmt: skip
    return GraphRecallOut(
        results=[
            RecallResult(
                id=one.node.id, content=one.node.content, node_type=one.node.node_type, metadata=one.node.metadata,
                relevance=one.relevance, created_at=one.node.created_at, updated_at=one.node.updated_at,
            )
            for one in found.results
        ],
        total=found.total,
        query_id=found.query_id,
        degraded=found.degraded,
    )  # fmt: skip


def _named(graph_id: str) -> str | None:
    return None if graph_id == DEFAULT else graph_id


def _pairs(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        found: Any = json.loads(text)
        refuse_unstorable(found, ())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        message = 'must be a JSON object, such as {"team": "backend"}'
        raise Malformed(f"metadata_filter {message}.", details=[{"path": "query.metadata_filter", "message": message}])
    return cast("dict[str, Any]", found)


def _graph(graph: Graph) -> GraphOut:
    return GraphOut.model_validate(graph)


def _node(node: Node) -> NodeOut:
    return NodeOut(**_fields(node))


def _fields(node: Node) -> dict[str, Any]:
    return {name: getattr(node, name) for name in NodeOut.model_fields}


def _edge(edge: Edge) -> EdgeOut:
    return EdgeOut(
        id=edge.id, from_id=edge.from_id, to_id=edge.to_id, edge_type=edge.type, metadata=edge.metadata,
        valid_from=edge.valid_from, valid_to=edge.valid_to, created_at=edge.created_at,
    )  # fmt: skip
