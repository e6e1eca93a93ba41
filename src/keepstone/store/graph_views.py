"""A graph as a whole: how much is in it, and its picture; and the edges of one node."""

from collections.abc import Sequence
from datetime import datetime
from typing import LiteralString

from keepstone.model.graph import DrawnNode, Edge, NodeCount, NodeFilter
from keepstone.model.page import Page, PageRequest
from keepstone.store.db import Connection, fetch_all, fetch_dict, fetch_page
from keepstone.store.graphs import EDGE, WANTED, conditions

# Edges between nodes that are both there.
_LIVE_ENDS: LiteralString = """
    AND NOT EXISTS (SELECT 1 FROM memories gone
                     WHERE gone.account = %(account)s AND gone.id IN (e.from_id, e.to_id)
                       AND gone.deleted_at IS NOT NULL)
"""
_HOLDS: LiteralString = """
    AND (%(past)s OR e.valid_from <= %(moment)s AND (e.valid_to IS NULL OR e.valid_to > %(moment)s))
"""


async def node_counts(conn: Connection, space: int, as_of: datetime | None) -> list[NodeCount]:
    """By type, the most frequent first: how many hold, how many no longer do, and since when there are any."""
    return await fetch_all(
        conn,
        NodeCount,
        """
        SELECT m.type, count(*) FILTER (WHERE h.holds) AS holding,
               count(*) FILTER (WHERE NOT h.holds) AS superseded, min(m.valid_from) AS since
          FROM memories m
         CROSS JOIN LATERAL (SELECT m.valid_to IS NULL OR coalesce(m.valid_to > %(as_of)s, false) AS holds) h
         WHERE m.account = %(account)s AND m.space = %(space)s AND m.kind = 'node' AND m.deleted_at IS NULL
           AND (%(as_of)s::timestamptz IS NULL OR m.valid_from <= %(as_of)s)
         GROUP BY m.type ORDER BY holding DESC, m.type
        """,
        {"space": space, "as_of": as_of},
    )


async def edge_counts(conn: Connection, space: int, at: datetime) -> dict[str, int]:
    """Those that hold at that time, by type, the most frequent first."""
    return await fetch_dict(
        conn,
        f"""
        SELECT e.type, count(*) FROM edges e
         WHERE e.account = %(account)s AND e.space = %(space)s AND e.deleted_at IS NULL {_HOLDS} {_LIVE_ENDS}
         GROUP BY e.type ORDER BY count(*) DESC, e.type
        """,
        {"space": space, "moment": at, "past": False},
    )


async def picture_nodes(
    conn: Connection, space: int, wanted: NodeFilter, *, at: datetime, letters: int, limit: int
) -> list[DrawnNode]:
    """Those with the most edges first, of equal ones the newest; each with the beginning of its text."""
    return await fetch_all(
        conn,
        DrawnNode,
        f"""
        WITH ends AS (
            SELECT e.from_id, e.to_id FROM edges e
             WHERE e.account = %(account)s AND e.space = %(space)s AND e.deleted_at IS NULL {_HOLDS}),
        degrees AS (
            SELECT id, count(*) AS degree FROM (SELECT from_id AS id FROM ends UNION ALL SELECT to_id FROM ends) each
             GROUP BY id)
        SELECT m.id, m.type, left(m.content, %(letters)s) AS text, coalesce(d.degree, 0) AS degree,
               m.valid_from, m.valid_to, m.superseded_by
          FROM memories m LEFT JOIN degrees d ON d.id = m.id
         WHERE m.account = %(account)s AND m.space = %(space)s AND m.kind = 'node' {WANTED}
         ORDER BY coalesce(d.degree, 0) DESC, m.created_at DESC, m.id LIMIT %(limit)s
        """,
        conditions(wanted)
        | {"space": space, "moment": at, "past": wanted.superseded, "letters": letters, "limit": limit},
    )


async def edges_among(
    conn: Connection, space: int, node_ids: Sequence[str], *, at: datetime, past: bool, limit: int
) -> list[Edge]:
    """From one of these nodes to another of them; the newest first."""
    return await fetch_all(
        conn,
        Edge,
        f"""{EDGE} AND e.space = %(space)s AND e.from_id = ANY(%(ids)s) AND e.to_id = ANY(%(ids)s) {_HOLDS}
         ORDER BY e.created_at DESC, e.id DESC LIMIT %(limit)s""",
        {"space": space, "ids": list(node_ids), "moment": at, "past": past, "limit": limit},
    )


async def edges_of_node(
    conn: Connection, space: int, node_id: str, page: PageRequest, *, at: datetime, past: bool
) -> Page[Edge]:
    """From or to this node, the newest first; with `past` also those that ended."""
    query: LiteralString = f"""{EDGE} AND e.space = %(space)s AND (e.from_id = %(id)s OR e.to_id = %(id)s)
        {_HOLDS} {_LIVE_ENDS}"""
    params = {"space": space, "id": node_id, "moment": at, "past": past}
    return await fetch_page(conn, Edge, query, params, page, when="e.created_at", key="e.id")
