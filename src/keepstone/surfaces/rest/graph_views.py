"""A graph as a whole over REST: its counts, its picture, and the edges of one node in pages."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from keepstone.memory import graph_views
from keepstone.memory.graph_views import MOST_DRAWN, GraphCounts
from keepstone.model.graph import DrawnNode, NodeCount, NodeFilter
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.wire import PageOut, Paging, Shown, Time, fields_of, refuse, show_page
from keepstone.surfaces.rest.graphs import AsOf, EdgeOut, NodeOut, named, read_pairs

router = Router(prefix="/v1/graphs", tags=["graphs"])


class NodeTypeCountOut(fields_of(NodeCount, "holding superseded")):
    node_type: str = Field(validation_alias="type")


class GraphCountsOut(fields_of(GraphCounts, "nodes superseded edges since edge_types")):
    nodes: int = Field(description="Those that hold.")
    superseded: int = Field(description="Nodes that no longer hold.")
    since: Time | None = Field(description="When the earliest of its nodes began to hold.")
    node_types: list[NodeTypeCountOut] = Field(description="The most frequent first.")


class DrawnNodeOut(fields_of(DrawnNode, "id text degree valid_from valid_to superseded_by")):
    node_type: str = Field(validation_alias="type")
    text: str = Field(description="Its beginning.")
    degree: int = Field(description="How many edges it has.")


class DrawnEdgeOut(Shown):
    id: str
    from_id: str
    to_id: str
    edge_type: str = Field(validation_alias="type")
    valid_from: Time
    valid_to: Time | None


class PictureOut(Shown):
    nodes: list[DrawnNodeOut]
    edges: list[DrawnEdgeOut]
    more: bool = Field(description="There are nodes that are not on it.")


class NodeEdgeOut(Shown):
    edge: EdgeOut
    node: NodeOut = Field(description="The one at the other end.")


@router.get("/{graph_id:graphname}/counts", summary="How many nodes and edges a graph has, by type")
async def count_graph(services: Used, principal: Caller, graph_id: str, as_of: AsOf = None) -> GraphCountsOut:
    return GraphCountsOut.model_validate(
        await graph_views.counts(services, principal, named(graph_id), as_of=as_of)
    )  # fmt: skip


@router.get("/{graph_id:graphname}/picture", summary="The nodes with the most edges, and the edges between them")
async def draw_graph(
    services: Used,
    principal: Caller,
    graph_id: str,
    node_type: Annotated[str | None, Query(max_length=255)] = None,
    metadata_filter: Annotated[
        str | None, Query(max_length=10_000, description="A JSON object: all its pairs must match.")
    ] = None,
    start: Annotated[Time | None, Query(description="Created or updated at this time or later.")] = None,
    end: Annotated[Time | None, Query(description="Created or updated at this time or before.")] = None,
    as_of: AsOf = None,
    superseded: Annotated[bool, Query(description="Also nodes that no longer hold, and edges that ended.")] = False,
    limit: Annotated[int, Query(ge=1, le=MOST_DRAWN, description="So many nodes at most.")] = 500,
) -> PictureOut:
    refuse("node_type", node_type)
    wanted = NodeFilter(
        node_type=node_type, metadata=read_pairs(metadata_filter), start=start, end=end, as_of=as_of,
        superseded=superseded,
    )  # fmt: skip
    drawn = await graph_views.picture(services, principal, named(graph_id), wanted, limit=limit)
    return PictureOut.model_validate(drawn)


@router.get(
    "/{graph_id:graphname}/nodes/{node_id:node}/edges",
    summary="The edges of a node, the newest first, each with the node at its other end",
)
async def list_node_edges(
    services: Used,
    principal: Caller,
    page: Paging,
    graph_id: str,
    node_id: str,
    ended: Annotated[bool, Query(description="Also those that ended.")] = False,
    as_of: AsOf = None,
) -> PageOut[NodeEdgeOut]:
    found = await graph_views.node_edges(services, principal, named(graph_id), node_id, page, ended=ended, as_of=as_of)
    return show_page(found, lambda pair: NodeEdgeOut.model_validate({"edge": pair[0], "node": pair[1]}))
