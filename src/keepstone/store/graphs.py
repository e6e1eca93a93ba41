"""Graphs, their nodes and edges, and the queries that were put to them."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.graph import SUPERSEDES, Edge, Graph, Node, NodeFilter, Query
from keepstone.model.page import Page, PageRequest
from keepstone.store import memories
from keepstone.store.db import (
    Connection,
    fetch_all,
    fetch_column,
    fetch_one,
    fetch_page,
    insert_returning,
    insert_row,
    select_row,
)

_GRAPH: LiteralString = """
    SELECT s.name AS id, s.title AS name, s.metadata @> '{"default": true}' AS is_default,
           s.memory_count AS node_count, s.named_by AS created_by, s.created_at, s.deleted_at, s.space,
           h.space AS history
      FROM spaces s JOIN spaces h ON h.account = s.account AND h.part_of = s.space
     WHERE s.account = %(account)s AND s.kind = 'graph' AND s.part_of IS NULL
"""
SHAPE = memories.Shape(
    kind="node",
    row=Node,
    columns=", h.space AS history",
    joins="JOIN spaces h ON h.account = s.account AND h.part_of = s.space",
)
EDGE: LiteralString = """
    SELECT e.id, e.from_id, e.to_id, e.type, e.metadata, e.valid_from, e.valid_to, e.created_by, e.created_at
      FROM edges e WHERE e.account = %(account)s AND e.deleted_at IS NULL
"""
# What holds now, or held then; and the other filters.
WANTED: LiteralString = """
    AND m.deleted_at IS NULL
    AND CASE WHEN %(as_of)s::timestamptz IS NULL THEN m.valid_to IS NULL OR %(superseded)s
             ELSE m.valid_from <= %(as_of)s
                  AND (m.valid_to IS NULL OR m.valid_to > %(as_of)s OR %(superseded)s) END
    AND (%(type)s::text IS NULL OR m.type = %(type)s)
    AND (%(metadata)s::jsonb IS NULL OR m.metadata @> %(metadata)s::jsonb)
    AND (%(start)s::timestamptz IS NULL AND %(end)s::timestamptz IS NULL
         OR m.created_at >= coalesce(%(start)s, '-infinity') AND m.created_at <= coalesce(%(end)s, 'infinity')
         OR m.updated_at >= coalesce(%(start)s, '-infinity') AND m.updated_at <= coalesce(%(end)s, 'infinity'))
"""


def conditions(wanted: NodeFilter) -> dict[str, Any]:
    return {
        "type": wanted.node_type,
        "metadata": Jsonb(wanted.metadata) if wanted.metadata else None,
        "start": wanted.start,
        "end": wanted.end,
        "as_of": wanted.as_of,
        "superseded": wanted.superseded,
    }


async def create(conn: Connection, graph_id: str, name: str, *, default: bool, by: str | None = None) -> bool:
    """False when there is a default graph already and this was to be it."""
    metadata = Jsonb({"default": True} if default else {})
    graph = {"kind": "graph", "name": graph_id, "title": name, "named_by": by, "metadata": metadata}
    space = await insert_returning(conn, "spaces", graph, "space")
    if space is None:
        return False
    await insert_row(conn, "spaces", {"kind": "graph", "name": f"{graph_id}/history", "part_of": space})
    return True


async def get(conn: Connection, graph_id: str, *, deleted: bool = False) -> Graph | None:
    return await fetch_one(
        conn,
        Graph,
        f"{_GRAPH} AND s.name = %(id)s AND (s.deleted_at IS NOT NULL) = %(deleted)s",
        {"id": graph_id, "deleted": deleted},
    )


async def default(conn: Connection) -> Graph | None:
    return await fetch_one(conn, Graph, f"""{_GRAPH} AND s.metadata @> '{{"default": true}}'""")


async def page(conn: Connection, page: PageRequest) -> Page[Graph]:
    return await fetch_page(
        conn, Graph, f"{_GRAPH} AND s.deleted_at IS NULL", {}, page, when="s.created_at", key="s.name"
    )  # fmt: skip


async def trash(conn: Connection, page: PageRequest, *, since: datetime, made_by: str | None) -> Page[Graph]:
    """What was deleted since then, everybody's or what one user made."""
    query: LiteralString = f"""{_GRAPH} AND s.deleted_at >= %(since)s
        AND (%(made_by)s::text IS NULL OR s.named_by = %(made_by)s)"""
    params = {"since": since, "made_by": made_by}
    return await fetch_page(conn, Graph, query, params, page, when="s.created_at", key="s.name")


async def nodes(conn: Connection, space: int, wanted: NodeFilter, page: PageRequest) -> Page[Node]:
    """The newest first."""
    return await memories.page(conn, SHAPE, [space], page, where=WANTED, params=conditions(wanted))


async def passages_of(conn: Connection, space: int, wanted: NodeFilter, *, most: int) -> tuple[int, ...] | None:
    """The passages of all nodes that are meant; None when those are more nodes than that."""
    query: LiteralString = (
        "SELECT passing_nodes(%(account)s, %(space)s, %(type)s, %(metadata)s, %(start)s, %(end)s, %(as_of)s, %(most)s)"
    )
    [passages] = await fetch_column(conn, query, conditions(wanted) | {"space": space, "most": most}, binary=True)
    return None if passages is None else tuple(passages)


async def which_pass(
    conn: Connection, space: int, spaces: Sequence[int], wanted: NodeFilter, passages: Sequence[int]
) -> set[int]:
    """Those of these passages, which lie in these spaces, that are of nodes that are meant."""
    params = conditions(wanted) | {"space": space}
    where: LiteralString = f"AND m.space = %(space)s {WANTED}"
    return await memories.which_pass(conn, SHAPE, where, params, spaces=spaces, passages=passages)


async def insert_edge(conn: Connection, space: int, edge: Edge, by: str | None) -> Edge:
    """The same that still holds is the one that is there. `by` is who drew it."""
    ends = {"space": space, "from_id": edge.from_id, "to_id": edge.to_id, "type": edge.type}
    same = await select_row(conn, Edge, "edges", {**ends, "valid_to": None, "deleted_at": None})
    if same is not None and edge.valid_to is None:
        return same
    values = {**asdict(edge), "space": space, "metadata": Jsonb(edge.metadata), "created_by": by}
    await insert_row(conn, "edges", values)
    return edge


async def edge(conn: Connection, space: int, edge_id: str) -> Edge | None:
    return await select_row(conn, Edge, "edges", {"space": space, "id": edge_id, "deleted_at": None})


async def end_edge(conn: Connection, edge_id: str, at: datetime) -> None:
    await conn.execute(
        """
        UPDATE edges SET valid_to = greatest(valid_from, %(at)s)
         WHERE account = %(account)s AND id = %(id)s AND valid_to IS NULL
        """,
        {"at": at, "id": edge_id},
    )


async def superseding(conn: Connection, space: int, node_id: str) -> Edge | None:
    """The oldest edge by which this node is superseded now."""
    return await fetch_one(
        conn,
        Edge,
        f"""{EDGE} AND e.space = %(space)s AND e.to_id = %(id)s AND e.type = %(type)s AND e.valid_to IS NULL
         ORDER BY e.valid_from, e.created_at, e.id LIMIT 1""",
        {"space": space, "id": node_id, "type": SUPERSEDES},
    )


async def edges_of(
    conn: Connection,
    space: int,
    node_ids: Sequence[str],
    *,
    direction: str,
    edge_type: str | None,
    at: datetime,
    limit: int,
) -> list[Edge]:
    """Those that hold at that time, from or to any of these nodes; the newest first."""
    return await fetch_all(
        conn,
        Edge,
        f"""{EDGE} AND e.space = %(space)s
           AND (%(direction)s IN ('out', 'both') AND e.from_id = ANY(%(ids)s)
                OR %(direction)s IN ('in', 'both') AND e.to_id = ANY(%(ids)s))
           AND (%(type)s::text IS NULL OR e.type = %(type)s)
           AND e.valid_from <= %(at)s AND (e.valid_to IS NULL OR e.valid_to > %(at)s)
         ORDER BY e.created_at DESC, e.id LIMIT %(limit)s
        """,
        {"space": space, "ids": list(node_ids), "direction": direction, "type": edge_type, "at": at, "limit": limit},
    )


async def edges(conn: Connection, space: int, page: PageRequest, as_of: datetime | None = None) -> Page[Edge]:
    """All there were, or those that held at that time."""
    query: LiteralString = f"""{EDGE} AND e.space = %(space)s
        AND (%(as_of)s::timestamptz IS NULL
             OR e.valid_from <= %(as_of)s AND (e.valid_to IS NULL OR e.valid_to > %(as_of)s))"""
    params = {"space": space, "as_of": as_of}
    return await fetch_page(conn, Edge, query, params, page, when="e.created_at", key="e.id")


async def note_query(conn: Connection, query: Query) -> None:
    await insert_row(conn, "queries", {name: value for name, value in asdict(query).items() if name != "account_id"})


async def find_query(conn: Connection, query_id: str) -> Query | None:
    """For the operator, of any account. Needs no scope; numbers only."""
    return await fetch_one(conn, Query, "SELECT * FROM find_query(%(id)s)", {"id": query_id})
