"""Graphs over REST: nodes, the edges between them, and recall. The same as the tools at `/v1/graph/mcp`."""

import json
from typing import Annotated, Any, Literal, cast

from fastapi import Query, Response
from pydantic import BaseModel, Field, model_validator

from keepstone.engine.floors import GRAPH
from keepstone.errors import Malformed
from keepstone.memory import graph_recall, graphs
from keepstone.memory.superseding import SupersedeWish
from keepstone.model.graph import MOST_RESULTS, RESULTS, Graph, Node, NodeFilter
from keepstone.model.ids import pattern
from keepstone.model.memory import Version
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes, Superseded
from keepstone.surfaces.http.wire import (
    Added,
    MaySupersede,
    Name,
    PageOut,
    Paging,
    Shown,
    Supersede,
    Time,
    Wire,
    fields_of,
    refuse,
    refuse_unstorable,
    register_id,
    show_page,
)

router = Router(prefix="/v1/graphs", tags=["graphs"])

DEFAULT = "default"
NodeType = Annotated[str, Field(min_length=1, max_length=255)]
EdgeType = Annotated[str, Field(min_length=1, max_length=255)]
NodeId = Annotated[str, Field(pattern=f"^{pattern('node')}$")]
Content = Annotated[str, Field(min_length=1, description="Up to 256 KB.")]
Metadata = Annotated[dict[str, Any], Field(description="Any JSON object.")]
AsOf = Annotated[Time | None, Query(description="What held at this time, instead of now.")]

register_id("graphname", f"{pattern('graph')}|{DEFAULT}")  # an id, or the word for the account's default graph


class GraphIn(Wire):
    name: Name


class GraphOut(fields_of(Graph, "id name is_default node_count created_at deleted_at")):
    deleted_at: Time | None = Field(description="In the trash since.")


class NodeIn(Wire):
    content: Content
    node_type: NodeType = graphs.USUAL_TYPE
    metadata: Metadata = Field(default_factory=dict[str, Any])
    supersedes: Annotated[
        list[NodeId], Field(max_length=100, description="Nodes that no longer hold now that this does.")
    ] = Field(default_factory=list[str])
    supersede: Supersede = "auto"
    valid_from: Annotated[Time | None, Field(description="Since when it holds, if not since now.")] = None


class NodeChange(Wire):
    """What is left out stays; metadata is replaced as a whole."""

    content: Content | None = None
    node_type: NodeType | None = None
    metadata: Metadata | None = None


class NodeOut(
    fields_of(
        Node,
        "id content node_type metadata graph_id version valid_from valid_to superseded_by created_at updated_at "
        "deleted_at",
    )
):
    valid_to: Time | None = Field(description="Until when it held; null: it holds.")
    deleted_at: Time | None = Field(description="In the trash since.")


class StoredOut(NodeOut):
    existing: bool = Field(description="It was there already.")
    added: Added = None
    superseded: list[str] = Field(description="Older nodes that no longer hold.")
    may_supersede: MaySupersede


class NodeVersionOut(fields_of(Version, "version change content metadata changed_by changed_at")):
    node_type: str = Field(validation_alias="type")


class EdgeIn(Wire):
    from_id: NodeId
    to_id: NodeId
    edge_type: EdgeType
    metadata: Metadata = Field(default_factory=dict[str, Any])
    valid_from: Time | None = None
    valid_to: Time | None = None


class EdgeOut(Shown):
    id: str
    from_id: str
    to_id: str
    edge_type: str = Field(validation_alias="type")
    metadata: dict[str, Any]
    valid_from: Time
    valid_to: Time | None
    created_at: Time


class NeighborOut(Shown):
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
    min_relevance: Annotated[float, Field(ge=0, le=1, description="Leave out what is less relevant.")] = GRAPH
    as_of: Annotated[Time | None, Field(description="What held at this time, instead of now.")] = None

    @model_validator(mode="after")
    def _asks(self) -> "GraphRecallIn":
        if not self.query.strip():
            raise ValueError("query is empty")
        return self


class RecallResult(Shown):
    id: str
    content: str
    node_type: str
    metadata: dict[str, Any]
    relevance: float
    created_at: Time
    updated_at: Time


class GraphRecallOut(Shown):
    results: list[RecallResult]
    total: int = Field(description="All that match and are relevant enough, also beyond max_results.")
    query_id: str
    degraded: str | None = Field(default=None, description="`terms`: nothing could be found by meaning just now.")
    trace_id: str | None = Field(default=None, description="What it was made of: `GET /v1/traces/{trace_id}`.")


def named(graph_id: str) -> str | None:
    return None if graph_id == DEFAULT else graph_id


_graphs = Routes(router, GraphOut, read_id=named)
_nodes = Routes(router, NodeOut, read_id=named)
_versions = Routes(router, NodeVersionOut, read_id=named, listed="NodeVersionList")
_edges = Routes(router, EdgeOut, read_id=named)

_GRAPH = "/{graph_id:graphname}"
_NODE = "/{graph_id:graphname}/nodes/{node_id:node}"
_IN_TRASH = (Annotated[bool, Query(description="Those in the trash.")], False)

# ------------------------------------------------------------------------------------------------------ graphs

_graphs.one("POST", "", graphs.create_graph, "create_graph", "Make a graph", body=GraphIn, status=201)
_graphs.page("", graphs.list_graphs, "list_graphs", "The account's graphs, the newest first", deleted=_IN_TRASH)
_graphs.one("GET", _GRAPH, graphs.get_graph, "get_graph", "One graph; `default` is the account's default one")
_graphs.remove(_GRAPH, graphs.delete_graph, "delete_graph", "Into the trash with all its nodes, for 30 days")
_graphs.one("POST", "/{graph_id:graph}/restore", graphs.restore_graph, "restore_graph", "A graph out of the trash")

# ------------------------------------------------------------------------------------------------------- nodes


@router.post(
    "/{graph_id:graphname}/nodes", status_code=201, summary="Keep a node",
    responses={200: {"model": StoredOut, "description": "It was there already."}},
)  # fmt: skip
async def store_node(services: Used, principal: Caller, response: Response, graph_id: str, body: NodeIn) -> StoredOut:
    wish = SupersedeWish.of(body.supersede, body.supersedes)
    kept = await graphs.store_node(
        services, principal, named(graph_id), content=body.content, node_type=body.node_type, metadata=body.metadata,
        wish=wish, valid_from=body.valid_from,
    )  # fmt: skip
    if kept.existing:
        response.status_code = 200
    return StoredOut.of(
        kept.node,
        existing=kept.existing,
        added=kept.added if kept.existing else None,
        superseded=list(kept.superseded),
        may_supersede=list(kept.may_supersede),
    )


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
    superseded: Superseded = False,
    deleted: Annotated[bool, Query(description="Those in the trash, whatever the filters.")] = False,
) -> PageOut[NodeOut]:
    if deleted:
        nodes = await graphs.list_trash(services, principal, named(graph_id), page)
    else:
        refuse("node_type", node_type)
        wanted = NodeFilter(
            node_type=node_type, metadata=read_pairs(metadata_filter), start=start, end=end, as_of=as_of,
            superseded=superseded,
        )  # fmt: skip
        nodes = await graphs.list_nodes(services, principal, named(graph_id), wanted, page)
    return show_page(nodes, NodeOut.model_validate)


_nodes.one("GET", _NODE, graphs.get_node, "get_node", "One node")
_nodes.one(
    "PATCH", _NODE, graphs.update_node, "change_node", "Change a node; what it was stays in its history",
    body=NodeChange,
)  # fmt: skip
_nodes.remove(_NODE, graphs.forget_node, "forget_node", "A node into the trash, for 30 days")
_nodes.one("POST", f"{_NODE}/restore", graphs.restore_node, "restore_node", "A node out of the trash")
_nodes.one(
    "POST", f"{_NODE}/revive", graphs.revive_node, "revive_node",
    "A superseded node holds again, beside what had taken its place",
)  # fmt: skip
_versions.all(f"{_NODE}/history", graphs.node_history, "get_node_history", "Every version, the latest first")


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
    neighbours = await graphs.neighbours(
        services, principal, named(graph_id), node_id, depth=depth, direction=direction, edge_type=edge_type,
        as_of=as_of,
    )  # fmt: skip
    shown = [
        NeighborOut(node=NodeOut.model_validate(node), edge=EdgeOut.model_validate(edge), steps=steps)
        for node, edge, steps in neighbours
    ]
    return NeighborList(items=shown)


# ------------------------------------------------------------------------------------------------------- edges


_edges.one("POST", f"{_GRAPH}/edges", graphs.relate, "relate", "Relate two nodes", body=EdgeIn, status=201)
_edges.page(
    f"{_GRAPH}/edges", graphs.list_edges, "list_edges", "The edges of a graph, the newest first, also those that ended",
    as_of=(Annotated[Time | None, Query(description="Those that held at this time.")], None),
)  # fmt: skip
_edges.remove(f"{_GRAPH}/edges/{{edge_id:edge}}", graphs.end_edge, "end_edge", "An edge that holds no longer")

# ------------------------------------------------------------------------------------------------------ recall


@router.post("/{graph_id:graphname}/recall", summary="Find nodes by what they mean")
async def recall_nodes(services: Used, principal: Caller, graph_id: str, body: GraphRecallIn) -> GraphRecallOut:
    within = body.time_range or TimeRangeIn()
    wanted = NodeFilter(
        node_type=body.node_type or None, metadata=body.metadata_filter or {}, start=within.start, end=within.end,
        as_of=body.as_of,
    )  # fmt: skip
    recalled = await graph_recall.recall(
        services, principal, query=body.query, graph_id=named(graph_id), wanted=wanted, max_results=body.max_results,
        min_relevance=body.min_relevance,
    )  # fmt: skip
    results = [RecallResult.of(result.memory, relevance=result.relevance) for result in recalled.results]
    return GraphRecallOut.of(recalled, results=results)


def read_pairs(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        pairs: Any = json.loads(text)
        refuse_unstorable(pairs, ())
    except (ValueError, RecursionError):
        pairs = None
    if not isinstance(pairs, dict):
        message = 'must be a JSON object, such as {"team": "backend"}'
        raise Malformed(f"metadata_filter {message}.", details=[{"path": "query.metadata_filter", "message": message}])
    return cast("dict[str, Any]", pairs)
