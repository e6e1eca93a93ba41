"""What is asked of stores and their items alone: by address, by namespace, and by what is in their values.

What has expired counts as gone from that moment on, also while it is still there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg import sql
from psycopg.types.json import Jsonb

from keepstone.model.item import Item, ListNamespaces, Store, joined
from keepstone.model.memory import restorable_since
from keepstone.model.page import Page, PageRequest
from keepstone.store import memories, passages, spaces
from keepstone.store.db import Connection, fetch_all, fetch_column, fetch_one, fetch_page, fetch_rows, fetch_value

SHAPE = memories.Shape(kind="item", row=Item)
_HERE: LiteralString = "AND m.space = %(space)s"
_LIVE: LiteralString = "AND m.deleted_at IS NULL AND (m.valid_to IS NULL OR m.valid_to > %(now)s)"
# A range of texts instead of a comparison of arrays: row-level security lets only that use the index.
_BELOW: LiteralString = f"{_HERE} {_LIVE} AND m.path >= %(prefix)s AND m.path < %(prefix)s || chr(1114111)"
# A field that is not there counts as null, and what is of another type than the operand is neither more nor less.
_ALIKE: LiteralString = "jsonb_typeof({found}) = jsonb_typeof({operand}) AND {found}"
_COMPARED: dict[str, LiteralString] = {
    "$eq": "{found} = {operand}", "$ne": "{found} <> {operand}", "$gt": f"{_ALIKE} > {{operand}}",
    "$gte": f"{_ALIKE} >= {{operand}}", "$lt": f"{_ALIKE} < {{operand}}", "$lte": f"{_ALIKE} <= {{operand}}",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """What lies below `prefix` in the store, passes all conditions, and has not expired by now."""

    space: int
    prefix: Sequence[str]
    conditions: Sequence[Mapping[str, Any]]
    now: datetime

    def condition(self) -> tuple[sql.Composable, dict[str, Any]]:
        """As a condition in SQL, and its parameters: the names of fields and what they are compared with among them."""
        params: dict[str, Any] = {"space": self.space, "prefix": joined(self.prefix), "now": self.now}

        def given(value: Any) -> sql.Placeholder:
            name = f"value_{len(params)}"
            params[name] = value
            return sql.Placeholder(name)

        parts: list[sql.Composable] = [sql.SQL(_BELOW)]
        for condition in self.conditions:
            found: sql.Composable = sql.SQL("m.content::jsonb")
            for depth, name in enumerate(condition["path"]):
                whole, steps = found, name.split(".")
                found = sql.SQL("({} -> {}::text)").format(whole, given(name))
                if depth == 0 and len(steps) > 1:  # the field of this name, or else a path
                    found = sql.SQL("coalesce({}, {} #> {}::text[])").format(found, whole, given(steps))
            found = sql.SQL("coalesce({}, 'null')").format(found)
            operand = sql.SQL("{}::jsonb").format(given(Jsonb(condition["operand"])))
            parts.append(sql.SQL(_COMPARED[condition["comparison"]]).format(found=found, operand=operand))
        return sql.SQL(" AND ").join(parts), params


async def stores(conn: Connection, owner: str | None, page: PageRequest) -> Page[Store]:
    """Of one user, or the account's own; the newest first."""
    query: LiteralString = """
        SELECT name, memory_count AS item_count, size_bytes, created_at FROM spaces
         WHERE account = %(account)s AND kind = 'store' AND owner IS NOT DISTINCT FROM %(owner)s AND deleted_at IS NULL
    """
    return await fetch_page(conn, Store, query, {"owner": owner}, page, key="name", key_name="name")


async def at_address(conn: Connection, space: int, address: bytes) -> Item | None:
    """Whatever its state: deleted or expired too."""
    return await fetch_one(
        conn, Item, f"{SHAPE.select} {_HERE} AND m.address = %(address)s", {"space": space, "address": address}
    )


async def by_ids(conn: Connection, ids: Sequence[str], now: datetime) -> dict[str, Item]:
    rows = await memories.by_ids(conn, SHAPE, ids)
    return {item.id: item for item in rows.values() if not item.expired(now)}


async def listed(conn: Connection, wanted: ItemFilter, *, limit: int, offset: int) -> list[Item]:
    """What passes, changed last first."""
    where, params = wanted.condition()
    ordered: LiteralString = "ORDER BY m.updated_at DESC, m.id LIMIT %(limit)s OFFSET %(offset)s"
    query = sql.SQL(" ").join([sql.SQL(SHAPE.select), where, sql.SQL(ordered)])
    return await fetch_all(conn, Item, query, params | {"limit": limit, "offset": offset})


async def any_expired(conn: Connection, space: int, now: datetime) -> bool:
    return await fetch_value(
        conn,
        f"SELECT EXISTS (SELECT {SHAPE.source} {_HERE} AND m.valid_to <= %(now)s)",
        {"space": space, "now": now},
    )


async def passages_of(conn: Connection, wanted: ItemFilter, *, most: int) -> tuple[int, ...] | None:
    """The passages of all items that pass; None when those are more items than that."""
    return await memories.passages_of(conn, SHAPE, *wanted.condition(), most=most)


async def which_pass(conn: Connection, wanted: ItemFilter, passages: Sequence[int]) -> set[int]:
    """Those of these passages that are of items that pass."""
    return await memories.which_pass(conn, SHAPE, *wanted.condition(), spaces=[wanted.space], passages=passages)


_LABELS: LiteralString = "coalesce(string_to_array(nullif(rtrim(m.path, chr(31)), ''), chr(31)), '{}')"


async def namespaces(conn: Connection, space: int, asked: ListNamespaces, now: datetime) -> list[list[str]]:
    """Each once, in their order. A `*` fits any label."""
    return await fetch_column(
        conn,
        f"""
        SELECT DISTINCT labels[1:coalesce(%(max_depth)s, cardinality(labels))]
          FROM (SELECT DISTINCT {_LABELS} AS labels FROM memories m
                 WHERE m.account = %(account)s AND m.space = %(space)s AND m.kind = 'item' {_LIVE}) AS n
         WHERE cardinality(labels) >= greatest(cardinality(%(prefix)s::text[]), cardinality(%(suffix)s::text[]))
           AND NOT EXISTS (SELECT 1 FROM unnest(%(prefix)s::text[]) WITH ORDINALITY AS p (label, place)
                            WHERE p.label <> '*' AND p.label <> labels[p.place])
           AND NOT EXISTS (SELECT 1 FROM unnest(%(suffix)s::text[]) WITH ORDINALITY AS p (label, place)
                            WHERE p.label <> '*'
                              AND p.label <> labels[cardinality(labels) - cardinality(%(suffix)s::text[]) + p.place])
         ORDER BY 1 LIMIT %(limit)s OFFSET %(offset)s
        """,
        asdict(asked) | {"prefix": list(asked.prefix), "suffix": list(asked.suffix), "space": space, "now": now},
    )


async def in_trash(conn: Connection, space: int, now: datetime, page: PageRequest) -> Page[Item]:
    """What can be brought back, deleted last first."""
    params = {"now": now, "since": restorable_since(now)}
    where: LiteralString = f"{memories.IN_TRASH} AND (m.valid_to IS NULL OR m.valid_to > %(now)s)"
    return await memories.page(conn, SHAPE, [space], page, when="m.deleted_at", where=where, params=params)


async def expired(conn: Connection, by_then: datetime) -> list[tuple[int, int]]:
    """Account and space of every store with something that has expired. Needs no scope."""
    return await fetch_rows(conn, "SELECT * FROM expired_items(%(then)s)", {"then": by_then})


async def purge(conn: Connection, space: int, by_then: datetime) -> None:
    """Remove for good what has expired in a store, with its versions and a line in the audit trail for each. Whoever
    reads has long stopped seeing it. The store's row is held first, as whoever writes does.
    """
    await spaces.lock(conn, [space])
    gone = await fetch_column(
        conn,
        """
        WITH gone AS (
            DELETE FROM memories
             WHERE account = %(account)s AND space = %(space)s AND kind = 'item' AND valid_to <= %(then)s
            RETURNING id, kept_bytes, deleted_at
        ), counted AS (
            UPDATE spaces s SET memory_count = s.memory_count - g.number, size_bytes = s.size_bytes - g.size
              FROM (SELECT count(*) AS number, coalesce(sum(kept_bytes), 0) AS size FROM gone
                     WHERE deleted_at IS NULL) g
             WHERE s.account = %(account)s AND s.space = %(space)s
        ), noted AS (
            INSERT INTO audit (account, id, via, action, object_id)
            SELECT %(account)s, 'aud_' || substr(md5(gen_random_uuid()::text), 1, 24), 'job', 'item.expire', id
              FROM gone
            RETURNING 1
        )
        SELECT id FROM gone
        """,
        {"space": space, "then": by_then},
    )
    await passages.delete(conn, "memory", gone)
