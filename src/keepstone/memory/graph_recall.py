"""Recall from a graph: by meaning, within type, time and metadata, with a relevance that can be believed."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from keepstone.access import meter
from keepstone.access.readscope import account_scope, space_scope
from keepstone.engine.search import CANDIDATES, Question, Read, Style, read, read_for, search
from keepstone.errors import NotFound
from keepstone.memory.graphs import find_graph
from keepstone.model.graph import Graph, Node, Query, Wanted
from keepstone.model.ids import new_id
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import candidates
from keepstone.store import graphs as store
from keepstone.store.db import Connection

RESULTS, MOST_RESULTS = 10, 100
RELEVANT = 0.5
COUNTED = 200  # candidates at least, among which those that are relevant are counted
FEW = 5_000  # nodes that pass a filter, up to which each of them is looked at
_READ = 4_000
_STYLE = Style(talk=False, several=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    node: Node
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """`total` counts all that pass and are relevant enough, also beyond those that are returned."""

    results: list[Result]
    total: int
    query_id: str
    degraded: str | None


async def recall(
    services: Services,
    principal: Principal,
    *,
    query: str,
    graph_id: str | None,
    wanted: Wanted,
    max_results: int = RESULTS,
    min_relevance: float = RELEVANT,
    few: int = FEW,
) -> Recalled:
    """One query of the month's limit, also when nothing is found."""
    begun = time.perf_counter()
    query_id = new_id("qry")
    enough = max(CANDIDATES, max_results)
    question = Question(text=query[:_READ], speaker=None, asked_at=wanted.as_of or services.clock())
    (graph, size, asked_of), asked = await asyncio.gather(
        _survey(services, principal, graph_id, wanted, few, enough), read(services, question)
    )
    asked = await read_for(services, _narrowed(asked, graph, wanted, asked_of), size)
    scope = space_scope(principal, *_spaces(graph, wanted))
    async with services.db.transaction(scope) as conn:
        found = await search(
            conn, scope, asked, size, limit=COUNTED, count=COUNTED, enough=enough, floor=min_relevance, style=_STYLE
        )
        best = found.hits[:max_results]
        nodes = await store.by_ids(conn, [hit.source_id for hit in best])
        results = [
            Result(node=nodes[hit.source_id], relevance=hit.relevance)
            for hit in best
            if hit.source_id in nodes  # forgotten since it was found
        ]
        recalled = Recalled(results=results, total=len(found.hits), query_id=query_id, degraded=found.degraded)
        await store.note_query(
            conn, _noted(services, principal, graph, wanted, recalled, min_relevance, max_results, begun)
        )
        await meter.charge(services, conn, principal, "memory_recall", query_id)
    return recalled


async def get_query(services: Services, query_id: str) -> Query:
    """What a query did, for the operator. It is known for 30 days."""
    async with services.db.unscoped() as conn:
        found = await store.find_query(conn, query_id)
    if found is None:
        raise NotFound("There is no such query, or it is too long ago.")
    return found


async def _survey(
    services: Services, principal: Principal, graph_id: str | None, wanted: Wanted, few: int, enough: int
) -> tuple[Graph, candidates.Survey, tuple[int, ...] | None]:
    """The graph, how large it is, and the passages that pass the filter; None when they are many, or all."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        await meter.begin(services, conn, "memory_recall")
        graph = await find_graph(conn, principal, graph_id)
        size = await candidates.survey(conn, _spaces(graph, wanted))
        if not wanted.filters:
            return graph, size, None
        # If more pass, enough of them are among the nearest of all, as far as those are looked at.
        most = max(few, enough * size.passages // candidates.WIDEST)
        passing = await store.passages_of(conn, graph.space, wanted, most=most)
    return graph, size, None if passing is None else tuple(passing)


def _spaces(graph: Graph, wanted: Wanted) -> list[int]:
    """Where it is looked for: what no longer holds is only for who asks for an earlier time."""
    return [graph.space, graph.history] if wanted.as_of else [graph.space]


def _narrowed(asked: Read, graph: Graph, wanted: Wanted, few: tuple[int, ...] | None) -> Read:
    if few is not None:
        return replace(asked, question=replace(asked.question, passages=few))
    if not wanted.filters:
        return asked

    async def passes(conn: Connection, passages: Sequence[int]) -> set[int]:
        return await store.which_pass(conn, graph.space, _spaces(graph, wanted), wanted, passages)

    return replace(asked, question=replace(asked.question, passes=passes))


def _noted(
    services: Services, principal: Principal, graph: Graph, wanted: Wanted, recalled: Recalled, min_relevance: float,
    max_results: int, begun: float,
) -> Query:  # fmt: skip
    return Query(
        id=recalled.query_id, account_id=principal.account_id, at=services.clock(), user_id=principal.user_id,
        credential_id=principal.credential_id, graph_id=graph.id, filters=wanted.filters, max_results=max_results,
        min_relevance=round(min_relevance, 4), returned=len(recalled.results), total=recalled.total,
        best=recalled.results[0].relevance if recalled.results else None, degraded=recalled.degraded,
        milliseconds=1000 * (time.perf_counter() - begun),
    )  # fmt: skip
