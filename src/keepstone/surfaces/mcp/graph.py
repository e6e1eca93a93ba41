"""What the tools over graphs do: each is one operation, and what comes back is put into words.

The result of a recall also stands at the top of what the call gives, beside the fields of the protocol.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from keepstone.access.rates import admit
from keepstone.engine.dates import labelled_day, zone_named
from keepstone.engine.quotation import quote
from keepstone.errors import Invalid, KeepstoneError, Malformed, NotFound, QuotaExceeded, RateLimited
from keepstone.memory import graph_recall, graphs
from keepstone.memory.again import told_as
from keepstone.memory.graph_recall import GraphRecall
from keepstone.memory.superseding import SupersedeWish
from keepstone.model.graph import Edge, Graph, Node, NodeFilter
from keepstone.model.ids import is_id
from keepstone.model.memory import TRASH_DAYS, Recalled
from keepstone.model.page import PageRequest
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.surfaces.mcp import graph_arguments as given
from keepstone.surfaces.mcp import graph_tools
from keepstone.surfaces.mcp.answer import ToolRefusal, answered, result, shown

MOST_GRAPHS = 200
# By their names in the protocol of these tools; others keep their own.
CODES: Mapping[type[KeepstoneError], str] = {
    Invalid: "INVALID_PARAMETER",
    QuotaExceeded: "QUOTA_EXCEEDED",
    RateLimited: "RATE_LIMITED",
}
NO_GRAPH = "GRAPH_NOT_FOUND"
_ADVICE = {
    NO_GRAPH: "Leave graph_id out for the default graph, or take an id from graph_list.",
    "NOT_FOUND": "Look for it with memory_recall. If it is in another graph than the default one, give graph_id too.",
    "QUOTA_EXCEEDED": "Tell the user.",
    "RATE_LIMITED": "Wait a little, then try again.",
    "disk_full": "Nothing can be stored on this server now. Tell the user, who has to tell whoever runs it.",
    "unavailable": "Try once more in a few seconds; if it fails again, tell the user.",
}
Answer = dict[str, Any]


async def ask(
    services: Services, principal: Principal, name: str, raw: Mapping[str, Any], *, request_id: str = ""
) -> Answer:
    """One call of one of the tools. Whatever goes wrong is an answer that says what to do."""

    async def work() -> Answer:
        await admit(services, principal)
        if not graph_tools.GRAPH.tools[name]["annotations"]["readOnlyHint"]:
            principal.reach.require_write()
            if name != "memory_forget":
                services.disk.require_room()
        return await _TOOLS[name](services, principal, given.read(name, raw))

    return await answered(work(), _refusal, request_id=request_id)


def _refusal(fault: KeepstoneError) -> ToolRefusal:
    code = next((CODES[kind] for kind in type(fault).__mro__ if kind in CODES), fault.code)
    if isinstance(fault, NotFound) and code != NO_GRAPH:
        code = "NOT_FOUND"
    return ToolRefusal(code, _ADVICE.get(code, ""))


async def _recall(services: Services, principal: Principal, asked: given.Recall) -> Answer:
    wanted = NodeFilter(
        node_type=asked.node_type, metadata=asked.metadata_filter, start=asked.time_range.start,
        end=asked.time_range.end, as_of=asked.as_of,
    )  # fmt: skip
    recalled = await graph_recall.recall(
        services, principal, query=asked.query, graph_id=_graph_id(asked.graph_id), wanted=wanted,
        max_results=asked.max_results, min_relevance=asked.min_relevance,
    )  # fmt: skip
    results = [_result(node) for node in recalled.results]
    answer: Answer = {"results": results, "total": recalled.total, "query_id": recalled.query_id}
    if recalled.degraded:
        answer["degraded"] = recalled.degraded
    if recalled.trace_id:
        answer["trace_id"] = recalled.trace_id
    return {**answer, **result(_listed(recalled, principal, narrowed=bool(wanted.filters)), answer)}


async def _store(services: Services, principal: Principal, asked: given.StoreNode) -> Answer:
    kept = await graphs.store_node(
        services, principal, _graph_id(asked.graph_id), content=asked.content, node_type=asked.node_type,
        metadata=asked.metadata, wish=SupersedeWish.of(asked.supersede, asked.supersedes), valid_from=asked.valid_from,
    )  # fmt: skip
    said = (
        f"This was stored already, as {kept.node.id}.{told_as(kept.added)}"
        if kept.existing
        else f"Stored as {kept.node.id}."
    )
    if kept.superseded:
        said += f" It supersedes {', '.join(kept.superseded)}, found from now on only with as_of."
    if kept.may_supersede:
        said += f" It may take the place of {', '.join(kept.may_supersede)}, which still hold."
    answer = {"node": _shown(kept.node), "existing": kept.existing, "added": kept.added}
    return result(
        said, answer | {"superseded": list(kept.superseded), "may_supersede": list(kept.may_supersede)}
    )  # fmt: skip


async def _update(services: Services, principal: Principal, asked: given.Update) -> Answer:
    changes = asked.model_dump(include={"content", "node_type", "metadata"}, exclude_none=True)
    if not changes:
        example = given.example("memory_update")
        raise Malformed(f"memory_update needs at least one of content, node_type, metadata. For example: {example}")
    node = await graphs.update_node(services, principal, _graph_id(asked.graph_id), asked.id, **changes)
    said = f"Changed ({', '.join(changes)}); what it was stays in its history."
    return result(f"{said}\n{quote(_line(node, principal))}", {"node": _shown(node)})


async def _forget(services: Services, principal: Principal, asked: given.Forget) -> Answer:
    await graphs.forget_node(services, principal, _graph_id(asked.graph_id), asked.id)
    said = f"Forgotten. For {TRASH_DAYS} days memory_restore brings it back: keep the id {asked.id} at hand."
    return result(said, {"forgotten": asked.id})


async def _restore(services: Services, principal: Principal, asked: given.Restore) -> Answer:
    node = await graphs.restore_node(services, principal, _graph_id(asked.graph_id), asked.id)
    return result(f"Restored.\n{quote(_line(node, principal))}", {"node": _shown(node)})


async def _relate(services: Services, principal: Principal, asked: given.Relate) -> Answer:
    edge = await graphs.relate(services, principal, _graph_id(asked.graph_id), **_beside_graph(asked))
    return result(f"Related by {edge.id}.", {"edge": _edge(edge)})


async def _neighbors(services: Services, principal: Principal, asked: given.Neighbors) -> Answer:
    neighbours = await graphs.neighbours(
        services, principal, _graph_id(asked.graph_id), asked.id, depth=asked.depth, direction=asked.direction,
        edge_type=asked.edge_type, as_of=asked.as_of,
    )  # fmt: skip
    lines = [
        f"- {edge.from_id} {_flat(edge.type)} {edge.to_id} ({steps} away)\n{_line(node, principal)}"
        for node, edge, steps in neighbours
    ]
    said = f"{len(lines)} connected, the nearest first:\n{quote(chr(10).join(lines))}" if lines else "Nothing."
    listed = [{"node": _shown(node), "edge": _edge(edge), "steps": steps} for node, edge, steps in neighbours]
    return result(said, {"neighbors": listed})


async def _list(services: Services, principal: Principal, asked: given.ListGraphs) -> Answer:  # noqa: ARG001
    page = await graphs.list_graphs(services, principal, PageRequest(limit=MOST_GRAPHS))
    return result(quote("\n".join(map(_named, page.items))), {"graphs": [_graph(graph) for graph in page.items]})


async def _create(services: Services, principal: Principal, asked: given.CreateGraph) -> Answer:
    made = await graphs.create_graph(services, principal, name=asked.name)
    return result(f"Made. Pass graph_id {made.id} to use it.", {"graph": _graph(made)})


_TOOLS: Mapping[str, Callable[[Services, Principal, Any], Awaitable[Answer]]] = {
    "memory_recall": _recall,
    "memory_store": _store,
    "memory_update": _update,
    "memory_forget": _forget,
    "memory_restore": _restore,
    "memory_relate": _relate,
    "memory_neighbors": _neighbors,
    "graph_list": _list,
    "graph_create": _create,
}


def _graph_id(named: str | None) -> str | None:
    """None is the default graph. What can't be an id is no graph's."""
    if named is None or named == "default":
        return None
    if not is_id("graph", named):
        raise graphs.no_graph()
    return named


def _beside_graph(asked: BaseModel) -> dict[str, Any]:
    """The arguments but for the graph."""
    return {name: value for name, value in asked if name != "graph_id"}


def _listed(recalled: GraphRecall, reader: Principal, *, narrowed: bool) -> str:
    if not recalled.results:
        tries = ["Ask a whole question", "set a lower min_relevance"]
        if narrowed:
            tries.insert(1, "leave filters out")
        return f"Nothing found. {', or '.join(tries)}. If it stays so, it is not known. Query {recalled.query_id}."
    more = f" of {recalled.total}" if recalled.total > len(recalled.results) else ""
    by_words = " by words alone" if recalled.degraded else ""
    lines = _lines(recalled.results, reader)
    return f"{len(recalled.results)}{more} found{by_words}, the best first:\n{quote(lines)}\nQuery {recalled.query_id}."


def _lines(results: Sequence[Recalled[Node]], reader: Principal) -> str:
    return "\n".join(_line(result.memory, reader, f"relevance {result.relevance:.2f}") for result in results)


def _line(node: Node, reader: Principal, *more: str) -> str:
    zone = zone_named(reader.timezone)
    about = [_flat(node.node_type), labelled_day(node.created_at, zone), *more]
    if node.valid_to is not None:
        about.append(f"held until {labelled_day(node.valid_to, zone)}")
    metadata = f" {json.dumps(node.metadata, ensure_ascii=False)}" if node.metadata else ""
    content = node.content.replace("\n", "\n  ")
    return f"- {node.id} ({', '.join(about)}){metadata}\n  {content}"


def _named(graph: Graph) -> str:
    default = ", the default one" if graph.is_default else ""
    return f"- {graph.id} {_flat(graph.name)} ({graph.node_count} nodes{default})"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _result(recalled: Recalled[Node]) -> Answer:
    return shown(recalled.memory, graph_tools.RECALLED, relevance=recalled.relevance)


def _shown(node: Node) -> Answer:
    return shown(node, graph_tools.NODE)


def _edge(edge: Edge) -> Answer:
    return shown(edge, graph_tools.EDGE, edge_type=edge.type)


def _graph(graph: Graph) -> Answer:
    return shown(graph, graph_tools.GRAPH_FIELDS)
