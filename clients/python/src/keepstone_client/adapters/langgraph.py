"""LangGraph's `BaseStore` on a Keepstone store: long-term memory of graphs, with namespaces, filters, TTL and search.

from langgraph.graph import StateGraph
graph = builder.compile(store=KeepstoneStore())
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

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
from keepstone_client.adapters.gathered import Gathered
from keepstone_client.adapters.steps import Steps, awalk, walk
from keepstone_client.client import AsyncKeepstone, Keepstone
from keepstone_client.core import as_json
from keepstone_client.errors import ConnectionFailed, Invalid, KeepstoneError, TooLarge
from keepstone_client.stores import Outcome, Stores

T = TypeVar("T")

_MOST, _MOST_BYTES = 1_000, 8 * 1024 * 1024  # operations of one request, and bytes of what it puts
_READ_AT_ONCE = 100  # puts of one request that are found by meaning as soon as it is answered


class KeepstoneStore(BaseStore):
    """Give it a `Keepstone`, an `AsyncKeepstone`, or both; without any it makes a `Keepstone` from the environment.
    With a `Keepstone` alone the async methods work in a thread; with an `AsyncKeepstone` alone the others work in
    threads beside its event loop.

    A batch is one transaction, as long as it is no larger than a request can be: what it reads is what was there before
    it, and of several puts of a key the last holds. What is awaited at the same time is done in batches, each for
    itself. `fields` are the paths that are searched where `put` names none; all text, if None. Items past their TTL are
    never shown, and the server removes them; there is nothing to sweep.
    """

    supports_ttl = True
    __slots__ = ("_async", "_gathered", "_loop", "_name", "_sync", "fields", "ttl_config")

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
        self._sync = client
        self._async = async_client
        self._loop = _running_loop()
        self._gathered = Gathered[_Asked, Result](self._each)
        self._name = name
        self.fields = None if fields is None else [*fields]
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        if self._sync is not None:
            return walk(self._sync, _together(self._name, self._asked(ops)))
        here, loop = _running_loop(), self._loop
        if here is not None or loop is None or not loop.is_running():
            raise asyncio.InvalidStateError(
                "This store has an AsyncKeepstone alone: use the async methods (`await store.aget(...)`, not"
                " `store.get(...)`), call it from a thread beside its event loop, or give it a Keepstone too."
            )
        return asyncio.run_coroutine_threadsafe(self.abatch(ops), loop).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        asked = self._asked(ops)
        if self._loop is None or not self._loop.is_running():
            self._loop = asyncio.get_running_loop()
        if len(asked) == 1:
            return [await self._gathered.ask(asked[0])]
        return await self._do(_together(self._name, asked))

    async def _each(self, asked: "Sequence[_Asked]") -> "list[Result | BaseException]":
        return await self._do(_each(self._name, asked))

    async def _do(self, steps: Steps[T]) -> T:
        if self._async is not None:
            return await awalk(self._async, steps)
        return await asyncio.to_thread(walk, cast("Keepstone", self._sync), steps)

    def _asked(self, ops: Iterable[Op]) -> "list[_Asked]":
        return [_Asked(op, self.fields) for op in ops]


class _Asked:
    """An operation that was looked at: nobody else's fails because of it."""

    def __init__(self, op: Op, fields: list[str] | None) -> None:
        validate_op_namespace(op)
        self.op = op
        self.is_put = isinstance(op, PutOp)
        self.keeps = isinstance(op, PutOp) and op.value is not None
        # None: there is nothing to ask, because nothing can fit.
        self.operation = _write(op, fields) if isinstance(op, PutOp) else _read(op)
        self.size = len(as_json(self.operation)) if self.is_put else 0
        self.name: object = (tuple(op.namespace), op.key) if isinstance(op, PutOp) else repr(self.operation)
        self.otherwise: Result = [] if self.operation is None else None

    def result(self, outcome: Outcome) -> Result:
        if isinstance(self.op, PutOp):
            return None
        if isinstance(self.op, GetOp):
            return None if outcome.item is None else _item(outcome.item)
        if isinstance(self.op, SearchOp):
            return [_found(one) for one in outcome.items or ()]
        return list(outcome.namespaces or ())


def _together(store: str, asked: "Sequence[_Asked]") -> Steps[list[Result]]:
    """All of them, or an error."""
    results = [one.otherwise for one in asked]
    for places in _parts(asked, puts=_MOST):
        outcomes = yield from _batch(store, [asked[some[-1]] for some in places])
        _answer(results, asked, places, outcomes)
    return results


def _each(store: str, asked: "Sequence[_Asked]") -> Steps[list[Result | BaseException]]:
    """Each for itself: what is refused is refused to whoever asked for it."""
    results: list[Result | BaseException] = [one.otherwise for one in asked]
    parts = list(_parts(asked, puts=_READ_AT_ONCE))
    while parts:
        places = parts.pop(0)
        try:
            outcomes = yield from _batch(store, [asked[some[-1]] for some in places])
        except (Invalid, TooLarge) as fault:
            if len(places) > 1:  # nothing of it was done: halve it until it is known whose it is
                parts[:0] = [places[: len(places) // 2], places[len(places) // 2 :]]
                continue
            _fail(results, places, fault)
        except ConnectionFailed as fault:  # so would the others
            for part in (places, *parts):
                _fail(results, part, fault)
            return results
        except KeepstoneError as fault:
            _fail(results, places, fault)
        else:
            _answer(results, asked, places, outcomes)
    return results


def _answer(
    results: list[Any], asked: "Sequence[_Asked]", places: Sequence[Sequence[int]], outcomes: Sequence[Outcome]
) -> None:  # fmt: skip
    for some, outcome in zip(places, outcomes, strict=True):
        for place in some:
            results[place] = asked[place].result(outcome)


def _fail(results: list[Result | BaseException], places: Sequence[Sequence[int]], fault: KeepstoneError) -> None:
    for some in places:
        for place in some:
            results[place] = fault


def _batch(store: str, asked: "Sequence[_Asked]") -> Steps[tuple[Outcome, ...]]:
    return (yield Stores.batch.build(None, store, [one.operation for one in asked if one.operation is not None]))


def _parts(asked: "Sequence[_Asked]", *, puts: int) -> Iterator[list[list[int]]]:
    """The places of those that are the same together, so many of these as one request has room for. Reads first, writes
    after them, the last of each key: as the framework's own stores do.
    """
    same: dict[tuple[bool, object], list[int]] = {}
    for place, one in enumerate(asked):
        if one.operation is not None:
            same.setdefault((one.is_put, one.name), []).append(place)
    part, size, kept = list[list[int]](), 0, 0
    for (is_put, _), places in sorted(same.items(), key=lambda pair: pair[0][0]):
        last = asked[places[-1]]
        keeps = is_put and last.keeps
        if len(part) == _MOST or (part and size + last.size > _MOST_BYTES) or (keeps and kept == puts):
            yield part
            part, size, kept = [], 0, 0
        part.append(places)
        size, kept = size + last.size, kept + keeps
    if part:
        yield part


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _read(op: GetOp | SearchOp | ListNamespacesOp) -> dict[str, Any] | None:
    if isinstance(op, GetOp):
        return stores.get(op.namespace, op.key, refresh_ttl=op.refresh_ttl)
    if isinstance(op, SearchOp):
        return stores.search(
            op.namespace_prefix, query=op.query, filter=op.filter, limit=op.limit, offset=op.offset,
            refresh_ttl=op.refresh_ttl,
        )  # fmt: skip
    wanted: dict[str, list[str]] = {"prefix": [], "suffix": []}
    for condition in op.match_conditions or ():
        both = _both(wanted[condition.match_type], list(condition.path), from_end=condition.match_type == "suffix")
        if both is None:
            return None
        wanted[condition.match_type] = both
    return stores.namespaces(
        prefix=wanted["prefix"], suffix=wanted["suffix"], max_depth=op.max_depth, limit=op.limit, offset=op.offset
    )


def _both(one: list[str], other: list[str], *, from_end: bool) -> list[str] | None:
    """What fits both of these fits this; None: nothing does."""
    if from_end:
        turned = _both(one[::-1], other[::-1], from_end=False)
        return None if turned is None else turned[::-1]
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    if any("*" not in (label, longer[place]) and label != longer[place] for place, label in enumerate(shorter)):
        return None
    return [longer[place] if label == "*" else label for place, label in enumerate(shorter)] + longer[len(shorter) :]


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
