"""What the tools over graphs do: each is one operation, and what comes back is put into words.

The result of a recall also stands at the top of what the call gives, beside the fields of the protocol.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from keepstone.access.rates import admit
from keepstone.errors import Invalid, KeepstoneError, Malformed, NotFound, QuotaExceeded, RateLimited
from keepstone.memory import graph_recall, graphs
from keepstone.memory.graph_recall import GraphRecall, RecalledNode
from keepstone.model.graph import Edge, Graph, Node, NodeFilter
from keepstone.model.ids import is_id
from keepstone.model.page import PageRequest
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.surfaces.mcp import graph_arguments as given
from keepstone.surfaces.mcp.answer import Refusal, answered, result
from keepstone.surfaces.mcp.graph_tools import example
from keepstone.surfaces.mcp.quotation import quote

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
    "unavailable": "Try once more in a few seconds; if it fails again, tell the user.",
}
Answer = dict[str, Any]


async def ask(
    services: Services, principal: Principal, name: str, raw: Mapping[str, Any], *, request_id: str = ""
) -> Answer:
    """One call of one of the tools. Whatever goes wrong is an answer that says what to do."""

    async def work() -> Answer:
        await admit(services, principal)
        return await _TOOLS[name](services, principal, raw)

    return await answered(work(), _refusal, request_id=request_id)


def _refusal(fault: KeepstoneError) -> Refusal:
    code = next((CODES[kind] for kind in type(fault).__mro__ if kind in CODES), fault.code)
    if isinstance(fault, NotFound) and code != NO_GRAPH:
        code = "NOT_FOUND"
    return Refusal(code, _ADVICE.get(code, ""))


async def _recall(services: Services, principal: Principal, raw: Mapping[str, Any]) -> Answer:
    asked = given.read(given.Recall, "memory_recall", raw)
    wanted = NodeFilter(
        node_type=asked.node_type, metadata=asked.metadata_filter, start=asked.time_range.start,
        end=asked.time_range.end, as_of=asked.as_of,
    )  # fmt: skip
    found = await graph_recall.recall(
        services, principal, query=asked.query, graph_id=_graph_id(asked.graph_id), wanted=wanted,
        max_results=asked.max_results, min_relevance=asked.min_relevance,
    )  # fmt: skip
    shown: Answer = {
        "results": [_result(one) for one in found.results],
        "total": found.total,
        "query_id": found.query_id,
    }
    if found.degraded:
        shown["degraded"] = found.degraded
    return {**shown, **result(_listed(found, narrowed=bool(wanted.filters)), shown)}


async def _store(services: Services, principal: Principal, raw: Mapping[str, Any]) -> Answer:
    asked = given.read(given.Store, "memory_store", raw)
    kept = await graphs.store_node(
        services, principal, _graph_id(asked.graph_id), content=asked.content, node_type=asked.node_type,
        metadata=asked.metadata, supersedes=asked.supersedes, valid_from=asked.valid_from,
    )  # fmt: skip
    said = f"This was stored already, as {kept.node.id}." if kept.existing else f"Stored as {kept.node.id}."
    if kept.superseded:
        said += f" It supersedes {', '.join(kept.superseded)}, found from now on only with as_of."
    return result(
        said, {"node": _shown(kept.node), "existing": kept.existing, "superseded": list(kept.superseded)}
    )  # fmt: skip


async def _update(services: Services, principal: Principal, raw: Mapping[str, Any]) -> Answer:
    asked = given.read(given.Update, "memory_update", raw)
    changes = asked.model_dump(include={"content", "node_type", "metadata"}, exclude_none=True)
    if not changes:
        raise Malformed(
            f"memory_update needs at least one of content, node_type, metadata. For example: {example('memory_update')}"
        )
    node = await graphs.update_node(services, principal, _graph_id(asked.graph_id), asked.id, **changes)
    said = f"Changed ({', '.join(changes)}); what it was stays in its history."
    return result(f"{said}\n{quote(_line(node))}", {"node": _shown(node)})


async def _forget(services: Services, principal: Principal, raw: Mapping[str, Any]) -> Answer:
    asked = given.read(given.Forget, "memory_forget", raw)
    await graphs.forget_node(services, principal, _graph_id(asked.graph_id), asked.id)
    return result(f"Forgotten. For 30 days {asked.id} can be restored over REST.", {"forgotten": asked.id})


async def _relate(services: Services, principal: Principal, raw: Mapping[str, Any]) -> Answer:
    asked = given.read(given.Relate, "memory_relate", raw)
    edge = await graphs.relate(
        services, principal, _graph_id(asked.graph_id), from_id=asked.from_id, to_id=asked.to_id,
        edge_type=asked.edge_type, metadata=asked.metadata, valid_from=asked.valid_from, valid_to=asked.valid_to,
    )  # fmt: skip
    return result(f"Related by {edge.id}.", {"edge": _edge(edge)})


async def _neighbors(services: Services, principal: Principal, raw: Mapping[str, Any]) -> Answer:
    asked = given.read(given.Neighbors, "memory_neighbors", raw)
    found = await graphs.neighbours(
        services, principal, _graph_id(asked.graph_id), asked.id, depth=asked.depth, direction=asked.direction,
        edge_type=asked.edge_type, as_of=asked.as_of,
    )  # fmt: skip
    lines = [
        f"- {one.edge.from_id} {_flat(one.edge.type)} {one.edge.to_id} ({one.steps} away)\n{_line(one.node)}"
        for one in found
    ]
    said = f"{len(found)} connected, the nearest first:\n{quote(chr(10).join(lines))}" if found else "Nothing."
    shown = [{"node": _shown(one.node), "edge": _edge(one.edge), "steps": one.steps} for one in found]
    return result(said, {"neighbors": shown})


async def _list(services: Services, principal: Principal, raw: Mapping[str, Any]) -> Answer:
    given.read(given.ListGraphs, "graph_list", raw)
    found = (await graphs.list_graphs(services, principal, PageRequest(limit=MOST_GRAPHS))).items
    return result(quote("\n".join(map(_named, found))), {"graphs": [_graph(one) for one in found]})


async def _create(services: Services, principal: Principal, raw: Mapping[str, Any]) -> Answer:
    asked = given.read(given.CreateGraph, "graph_create", raw)
    made = await graphs.create_graph(services, principal, name=asked.name)
    return result(f"Made. Pass graph_id {made.id} to use it.", {"graph": _graph(made)})


_TOOLS: Mapping[str, Callable[[Services, Principal, Mapping[str, Any]], Awaitable[Answer]]] = {
    "memory_recall": _recall,
    "memory_store": _store,
    "memory_update": _update,
    "memory_forget": _forget,
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


def _listed(found: GraphRecall, *, narrowed: bool) -> str:
    if not found.results:
        tries = ["Ask a whole question", "set a lower min_relevance"]
        if narrowed:
            tries.insert(1, "leave filters out")
        return f"Nothing found. {', or '.join(tries)}. If it stays so, it is not known. Query {found.query_id}."
    more = f" of {found.total}" if found.total > len(found.results) else ""
    by_words = " by words alone" if found.degraded else ""
    lines = _lines(found.results)
    return f"{len(found.results)}{more} found{by_words}, the best first:\n{quote(lines)}\nQuery {found.query_id}."


def _lines(results: Sequence[RecalledNode]) -> str:
    return "\n".join(_line(one.node, f"relevance {one.relevance:.2f}") for one in results)


def _line(node: Node, *more: str) -> str:
    about = [_flat(node.node_type), f"{node.created_at:%Y-%m-%d}", *more]
    if node.valid_to is not None:
        about.append(f"held until {node.valid_to:%Y-%m-%d}")
    told = f" {json.dumps(node.metadata, ensure_ascii=False)}" if node.metadata else ""
    return f"- {node.id} ({', '.join(about)}){told}\n  {node.content}"


def _named(graph: Graph) -> str:
    default = ", the default one" if graph.is_default else ""
    return f"- {graph.id} {_flat(graph.name)} ({graph.node_count} nodes{default})"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _result(found: RecalledNode) -> Answer:
    node = found.node
    return {
        "id": node.id,
        "content": node.content,
        "node_type": node.node_type,
        "metadata": node.metadata,
        "relevance": found.relevance,
        "created_at": _time(node.created_at),
        "updated_at": _time(node.updated_at),
    }


def _shown(node: Node) -> Answer:
    return {
        "id": node.id,
        "content": node.content,
        "node_type": node.node_type,
        "metadata": node.metadata,
        "graph_id": node.graph_id,
        "version": node.version,
        "valid_from": _time(node.valid_from),
        "valid_to": None if node.valid_to is None else _time(node.valid_to),
        "superseded_by": node.superseded_by,
        "created_at": _time(node.created_at),
        "updated_at": _time(node.updated_at),
    }


def _edge(edge: Edge) -> Answer:
    return {
        "id": edge.id,
        "from_id": edge.from_id,
        "to_id": edge.to_id,
        "edge_type": edge.type,
        "metadata": edge.metadata,
        "valid_from": _time(edge.valid_from),
        "valid_to": None if edge.valid_to is None else _time(edge.valid_to),
        "created_at": _time(edge.created_at),
    }


def _graph(graph: Graph) -> Answer:
    return {
        "id": graph.id,
        "name": graph.name,
        "is_default": graph.is_default,
        "node_count": graph.node_count,
        "created_at": _time(graph.created_at),
    }


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
