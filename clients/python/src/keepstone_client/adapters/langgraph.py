"""LangGraph's `BaseStore` on a Keepstone store: long-term memory of graphs, with namespaces, filters, TTL and search.

from langgraph.graph import StateGraph
graph = builder.compile(store=KeepstoneStore())
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from keepstone_client import stores
from keepstone_client.binding import Async, Sync
from keepstone_client.client import AsyncKeepstone, Keepstone
from keepstone_client.stores import Outcome, Stores


class KeepstoneStore(BaseStore):
    """Give it a `Keepstone`, an `AsyncKeepstone`, or both; without any it makes a `Keepstone` from the environment.
    With a `Keepstone` alone the async methods work in a thread.

    A batch is one request and one transaction: what it reads is what was there before it, and of several puts of a key
    the last holds. `fields` are the paths that are searched where `put` names none; all text, if None. Items past
    their TTL are never shown, and the server removes them; there is nothing to sweep.
    """

    supports_ttl = True
    __slots__ = ("_async", "_name", "_sync", "fields", "ttl_config")

    def __init__(
        self,
        client: Keepstone | None = None,
        *,
        async_client: AsyncKeepstone | None = None,
        name: str = "langgraph",
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        if client is None and async_client is None:
            client = Keepstone()
        self._sync = Stores[Sync](client) if client is not None else None
        self._async = Stores[Async](async_client) if async_client is not None else None
        self._name = name
        self.fields = None if fields is None else [*fields]
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        if self._sync is None:
            raise RuntimeError(
                "This store has an AsyncKeepstone alone: use the async methods, or give it a Keepstone too."
            )
        asked = _Batch(ops, self.fields)
        return asked.results(self._sync.batch(self._name, asked.operations) if asked.operations else ())

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        if self._async is None:
            return await asyncio.to_thread(self.batch, ops)
        asked = _Batch(ops, self.fields)
        return asked.results(await self._async.batch(self._name, asked.operations) if asked.operations else ())


class _Batch:
    """Reads first, writes after them, the last of each key: as the framework's own stores do."""

    def __init__(self, ops: Iterable[Op], fields: list[str] | None) -> None:
        self._ops = list(ops)
        for op in self._ops:
            validate_op_namespace(op)
        self._reads = [place for place, op in enumerate(self._ops) if not isinstance(op, PutOp)]
        writes = {(op.namespace, op.key): op for op in self._ops if isinstance(op, PutOp)}
        self.operations = [_read(cast("GetOp | SearchOp | ListNamespacesOp", self._ops[one])) for one in self._reads]
        self.operations += [_write(op, fields) for op in writes.values()]

    def results(self, outcomes: Sequence[Outcome]) -> list[Result]:
        found: list[Result] = [None] * len(self._ops)
        for place, outcome in zip(self._reads, outcomes, strict=False):  # what follows are writes
            op = self._ops[place]
            if isinstance(op, GetOp):
                found[place] = None if outcome.item is None else _item(outcome.item)
            elif isinstance(op, SearchOp):
                found[place] = [_found(one) for one in outcome.items or ()]
            else:
                found[place] = list(outcome.namespaces or ())
        return found


def _read(op: GetOp | SearchOp | ListNamespacesOp) -> dict[str, Any]:
    if isinstance(op, GetOp):
        return stores.get(op.namespace, op.key, refresh_ttl=op.refresh_ttl)
    if isinstance(op, SearchOp):
        return stores.search(
            op.namespace_prefix, query=op.query, filter=op.filter, limit=op.limit, offset=op.offset,
            refresh_ttl=op.refresh_ttl,
        )  # fmt: skip
    wanted: dict[str, tuple[str, ...]] = {}
    for condition in op.match_conditions or ():
        if condition.match_type in wanted:
            raise ValueError(f"Give one {condition.match_type} at a time.")
        wanted[condition.match_type] = tuple(condition.path)
    return stores.namespaces(
        prefix=wanted.get("prefix", ()), suffix=wanted.get("suffix", ()), max_depth=op.max_depth, limit=op.limit,
        offset=op.offset,
    )  # fmt: skip


def _write(op: PutOp, fields: list[str] | None) -> dict[str, Any]:
    if op.value is None:
        return stores.delete(op.namespace, op.key)
    return stores.put(
        op.namespace, op.key, op.value, index=fields if op.index is None else op.index,
        ttl_seconds=None if op.ttl is None else op.ttl * 60,
    )  # fmt: skip


def _item(item: stores.Item) -> Item:
    return Item(
        namespace=item.namespace, key=item.key, value=item.value, created_at=item.created_at,
        updated_at=item.updated_at,
    )  # fmt: skip


def _found(item: stores.FoundItem) -> SearchItem:
    return SearchItem(
        namespace=item.namespace, key=item.key, value=item.value, created_at=item.created_at,
        updated_at=item.updated_at, score=item.score,
    )  # fmt: skip
