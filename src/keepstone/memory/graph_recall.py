"""Recall from a graph: by meaning, within type, time and metadata, with a relevance that can be believed."""

import time
from dataclasses import dataclass
from functools import partial

from keepstone.access import meter
from keepstone.access.readscope import account_scope, space_scope
from keepstone.engine import floors, lookup, second_look, traced
from keepstone.engine.gathered import CANDIDATES, SEVERAL_NOTES, SearchPlace
from keepstone.errors import NotFound
from keepstone.memory import shelf
from keepstone.memory.filtered import remembered
from keepstone.memory.graphs import find_graph
from keepstone.model.graph import RESULTS, Graph, Node, NodeFilter, Query
from keepstone.model.ids import new_id
from keepstone.model.memory import Recalled
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import candidates, memories
from keepstone.store import graphs as store

COUNTED = 200  # candidates at least, among which those that are relevant are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRecall:
    """`total` counts all that pass and are relevant enough, also beyond those that are returned."""

    results: list[Recalled[Node]]
    total: int
    query_id: str
    degraded: str | None
    trace_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _GraphPlace(SearchPlace):
    graph: Graph


async def recall(
    services: Services,
    principal: Principal,
    *,
    query: str,
    graph_id: str | None,
    wanted: NodeFilter,
    max_results: int = RESULTS,
    min_relevance: float = floors.GRAPH,
    few: int = lookup.FEW,
) -> GraphRecall:
    """One query of the month's limit, also when nothing is found."""
    begun = time.perf_counter()
    query_id = new_id("qry")
    enough = max(CANDIDATES, max_results)
    trace = traced.begin(
        services, principal, "recall", query, query_id=query_id, max_results=max_results, min_relevance=min_relevance,
        filters=wanted.filters or None, as_of=wanted.as_of,
    )  # fmt: skip
    question = lookup.question(query, asked_at=wanted.as_of or services.clock(), zone=principal.timezone)
    survey = _survey(services, principal, graph_id, wanted, few, enough)
    asked = await lookup.ask(services, question, survey, any_language=True)
    trace.asked_of(asked.place.scope, question=asked.question)
    trace.step("look up")
    async with services.db.transaction(asked.place.scope) as conn:
        first = await lookup.find(conn, asked, limit=COUNTED, count=COUNTED, enough=enough, style=SEVERAL_NOTES)
        matches = second_look.by_meaning(asked.question, first, min_relevance)
        nodes = await memories.by_ids(conn, store.SHAPE, matches.ids[: max(max_results, second_look.KEPT)])
    trace.step("search")
    said = {name: (node.content,) for name, node in nodes.items()}
    matches = await second_look.judged(services, asked.question, matches, said, min_relevance)
    trace.step("judge")
    relevant = second_look.above(matches, min_relevance)
    recalled = GraphRecall(
        results=shelf.recalled(relevant[:max_results], nodes), total=len(relevant), query_id=query_id,
        degraded=matches.degraded, trace_id=trace.id,
    )  # fmt: skip
    async with services.db.transaction(asked.place.scope) as conn:
        graph = asked.place.graph
        await store.note_query(
            conn, _noted(services, principal, graph, wanted, recalled, min_relevance, max_results, begun)
        )
        await meter.charge(services, conn, principal, "memory_recall", query_id)
    trace.step("note")
    handed = {item.memory.id: (item.memory.user_id, item.memory.content) for item in recalled.results}
    trace.end(lambda: traced.of_search(first, handed, last=matches, floor=min_relevance))
    return recalled


async def get_query(services: Services, query_id: str) -> Query:
    """What a query did, for the operator. It is known for 30 days."""
    async with services.db.of_server() as conn:
        query = await store.find_query(conn, query_id)
    if query is None:
        raise NotFound("There is no such query, or it is too long ago.")
    return query


async def _survey(
    services: Services, principal: Principal, graph_id: str | None, wanted: NodeFilter, few: int, enough: int
) -> _GraphPlace:
    """The graph, how large it is, and what in it passes the filter. What no longer holds is only for who asks for an
    earlier time.
    """
    async with services.db.transaction(account_scope(principal)) as conn:
        await meter.begin(services, conn, "memory_recall")
        graph = await find_graph(conn, principal, graph_id)
        spaces = [graph.space, graph.history] if wanted.as_of else [graph.space]
        place = _GraphPlace(
            scope=space_scope(principal, *spaces), size=await candidates.survey(conn, spaces), graph=graph
        )
        if not wanted.filters:
            return place

        passing = await remembered(
            services, conn, place.scope, graph.space, repr(wanted),
            lambda conn, most: store.passages_of(conn, graph.space, wanted, most=most),
            lambda conn, passages: store.which_pass(conn, graph.space, spaces, wanted, passages),
        )  # fmt: skip
        return await lookup.narrowed(
            place, partial(passing.passages_of, conn), passing.passes, few=few, enough=enough
        )  # fmt: skip


def _noted(
    services: Services, principal: Principal, graph: Graph, wanted: NodeFilter, recalled: GraphRecall,
    min_relevance: float, max_results: int, begun: float,
) -> Query:  # fmt: skip
    return Query(
        id=recalled.query_id, account_id=principal.account_id, at=services.clock(), user_id=principal.user_id,
        credential_id=principal.credential_id, graph_id=graph.id, filters=wanted.filters, max_results=max_results,
        min_relevance=round(min_relevance, 4), returned=len(recalled.results), total=recalled.total,
        best=recalled.results[0].relevance if recalled.results else None, degraded=recalled.degraded,
        milliseconds=1000 * (time.perf_counter() - begun),
    )  # fmt: skip
