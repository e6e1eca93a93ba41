"""What a node is, and which of a graph's a new one concerns: what says the same already, and what it may revise."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from keepstone.access.require import may_change
from keepstone.engine.dedup import content_hash
from keepstone.engine.judge import WORTH_JUDGING
from keepstone.engine.lookup import nearest
from keepstone.memory import shelf
from keepstone.memory.kinds import Kind, Prepared
from keepstone.model.graph import Node
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import graphs as store
from keepstone.store import memories
from keepstone.store.db import Connection

USUAL_TYPE = "note"
_NEAREST = 50  # of all types; those of the same are compared


async def others(conn: Connection, new: Prepared[Node]) -> list[Node]:
    """Older nodes of the same type that are near, and said of the same; the nearest first."""
    node = new.memory
    near = await nearest(conn, node.space, new.first, above=WORTH_JUDGING, limit=_NEAREST)
    close = await memories.by_ids(conn, store.SHAPE, list(near))
    return [
        older
        for older in (close[name] for name in near if name in close)
        if older.type == node.type
        and older.valid_to is None
        and older.valid_from <= node.valid_from
        and _alike(older.metadata, node.metadata)
    ]


async def same(
    conn: Connection, services: Services, principal: Principal, node: Node, judged: Sequence[Node]
) -> Node | None:
    """The one that says this of the same already, if nothing of what is said besides would be lost, or it can be added
    to that one.
    """
    twins = await shelf.twins(conn, NODES, node)
    bare = [NODES.complete(replace(node, type=kind, metadata={})) for kind in dict.fromkeys([node.type, USUAL_TYPE])]
    less = [] if twins else [twin for each in bare for twin in await shelf.twins(conn, NODES, each)]
    known = [*twins, *(old for old in (*less, *judged) if _fits(services, principal, old, node))]
    return next(iter(known), None)


def _fits(services: Services, principal: Principal, old: Node, new: Node) -> bool:
    """Whether nothing of what is said besides would be lost, or it can be added."""
    if may_change(services, principal, old.user_id):
        return _alike(old.metadata, new.metadata)
    return old.type == new.type and all(
        name in old.metadata and old.metadata[name] == value for name, value in new.metadata.items()
    )


def _alike(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Nothing is revised that is said to be of something else: another team, another quarter."""
    return all(old[name] == value for name, value in new.items() if name in old)


def _content_hash(node: Node) -> bytes:
    """What says the same of something else is another node."""
    told = json.loads(json.dumps([node.type, node.metadata]), parse_float=_number)
    return hashlib.sha256(content_hash(node.content) + json.dumps(told, sort_keys=True).encode()).digest()


def _number(written: str) -> float:
    """1.0 is 1."""
    value = float(written)
    return int(value) if value.is_integer() else value


NODES = Kind(
    shape=store.SHAPE, noun="node", prefix="node", missing="There is no such node in this graph.",
    verbs={"deleted": "forget"}, content_hash=_content_hash,
    found_in=lambda node: node.space if node.valid_to is None else node.history,
)  # fmt: skip
