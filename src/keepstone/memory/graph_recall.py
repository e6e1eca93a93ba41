"""Recall from a graph: by meaning, within type, time and metadata, with a relevance that can be believed."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from keepstone.access import meter
from keepstone.access.readscope import account_scope, space_scope
from keepstone.engine import lookup
from keepstone.engine.gather import CANDIDATES, SEVERAL_NOTES, SearchPlace
from keepstone.errors import NotFound
from keepstone.memory import shelf
from keepstone.memory.graphs import find_graph
from keepstone.model.graph import Graph, Node, NodeFilter, Query
from keepstone.model.ids import new_id
from keepstone.model.memory import Recalled
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import candidates, memories
from keepstone.store import graphs as store
from keepstone.store.db import Connection

RESULTS, MOST_RESULTS = 10, 100
RELEVANT = 0.5
COUNTED = 200  # candidates at least, among which those that are relevant are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRecall:
    """`total` counts all that pass and are relevant enough, also beyond those that are returned."""

    results: list[Recalled[Node]]
    total: int
    query_id: str
    degraded: str | None


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
    min_relevance: float = RELEVANT,
    few: int = lookup.FEW,
) -> GraphRecall:
    """One query of the month's limit, also when nothing is found."""
    begun = time.perf_counter()
    query_id = new_id("qry")
    enough = max(CANDIDATES, max_results)
    question = lookup.question(query, asked_at=wanted.as_of or services.clock())
    asked = await lookup.ask(services, question, _survey(services, principal, graph_id, wanted, few, enough))
    async with services.db.transaction(asked.place.scope) as conn:
        matches = await lookup.find(
            conn, asked, limit=COUNTED, count=COUNTED, enough=enough, floor=min_relevance, style=SEVERAL_NOTES
        )
        best = matches.hits[:max_results]
        results = shelf.recalled(best, await memories.by_ids(conn, store.SHAPE, [hit.source_id for hit in best]))
        recalled = GraphRecall(results=results, total=len(matches.hits), query_id=query_id, degraded=matches.degraded)
        graph = asked.place.graph
        await store.note_query(
            conn, _noted(services, principal, graph, wanted, recalled, min_relevance, max_results, begun)
        )
        await meter.charge(services, conn, principal, "memory_recall", query_id)
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

        async def passes(conn: Connection, passages: Sequence[int]) -> set[int]:
            return await store.which_pass(conn, graph.space, spaces, wanted, passages)

        return await lookup.narrowed(
            place, lambda most: store.passages_of(conn, graph.space, wanted, most=most), passes, few=few, enough=enough
        )


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
