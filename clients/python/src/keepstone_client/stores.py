"""Stores: values under a namespace and a key, with history, a time to live and search by meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from keepstone_client.binding import D, Resource, operation, paged
from keepstone_client.core import Page, Request, at, filled, into, items_of, nothing, page_of

Index = Literal[False] | Sequence[str] | None


@dataclass(frozen=True, kw_only=True)
class Store:
    name: str
    item_count: int
    size_bytes: int
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Item:
    id: str
    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    version: int
    created_at: datetime
    updated_at: datetime
    ttl_seconds: float | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class DeletedItem(Item):
    deleted_at: datetime


@dataclass(frozen=True, kw_only=True)
class FoundItem(Item):
    score: float | None = None  # a probability; None without a query


@dataclass(frozen=True, kw_only=True)
class ItemVersion:
    version: int
    change: str  # created, updated, deleted, restored
    value: dict[str, Any]
    changed_by: str | None
    changed_at: datetime


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Of one operation of a batch: an item (None if it was not there), what was found, or namespaces."""

    item: Item | None = None
    items: tuple[FoundItem, ...] | None = None
    namespaces: tuple[tuple[str, ...], ...] | None = None
    degraded: str | None = None


class Stores(Resource[D]):
    @paged
    def list(self, *, page_size: int | None = None) -> Request[Page[Store]]:
        return Request(method="GET", path="/v1/stores", parse=page_of(Store), params=filled(limit=page_size))

    @operation
    def put(
        self,
        store: str,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any],
        *,
        index: Index = None,
        ttl_seconds: float | None = None,
        if_version: int | None = None,
    ) -> Request[Item]:
        """Keep it; what was there stays in its history. With `if_version` only over that version (0: only if there is
        nothing), else `Conflict`. `index` says what is searched: all text, these paths, or with False nothing."""
        body = put(namespace, key, value, index=index, ttl_seconds=ttl_seconds, if_version=if_version)
        return Request(
            method="PUT",
            path=f"{_of(store)}/items",
            parse=into(Item),
            json={name: value for name, value in body.items() if name != "op"},
            repeatable=if_version is None,
        )

    @operation
    def get(self, store: str, namespace: Sequence[str], key: str, *, refresh_ttl: bool = True) -> Request[Item]:
        params = {"namespace": tuple(namespace), "key": key, "refresh_ttl": refresh_ttl}
        return Request(method="GET", path=f"{_of(store)}/items", parse=into(Item), params=params)

    @operation
    def delete(
        self, store: str, namespace: Sequence[str], key: str, *, if_version: int | None = None
    ) -> Request[None]:  # fmt: skip
        """Into the trash, for 30 days."""
        params = {"namespace": tuple(namespace), "key": key, "if_version": if_version}
        return Request(method="DELETE", path=f"{_of(store)}/items", parse=nothing, params=params)

    @operation
    def search(
        self,
        store: str,
        namespace_prefix: Sequence[str] = (),
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        min_relevance: float | None = None,
        refresh_ttl: bool = True,
    ) -> Request[tuple[FoundItem, ...]]:
        """By meaning, the best first; without a query what was changed last."""
        body = search(
            namespace_prefix, query=query, filter=filter, limit=limit, offset=offset, min_relevance=min_relevance,
            refresh_ttl=refresh_ttl,
        )  # fmt: skip
        del body["op"]
        return Request(
            method="POST", path=f"{_of(store)}/search", parse=items_of(FoundItem), json=body, repeatable=True
        )

    @operation
    def namespaces(
        self,
        store: str,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Request[tuple[tuple[str, ...], ...]]:
        """Those that have items; `*` in prefix or suffix stands for any one label."""
        body = namespaces(prefix=prefix, suffix=suffix, max_depth=max_depth, limit=limit, offset=offset)
        del body["op"]
        parse = items_of(tuple[str, ...], "namespaces")
        return Request(method="POST", path=f"{_of(store)}/namespaces", parse=parse, json=body, repeatable=True)

    @paged
    def history(
        self, store: str, namespace: Sequence[str], key: str, *, page_size: int | None = None
    ) -> Request[Page[ItemVersion]]:
        """Every version, the latest first."""
        params = {"namespace": tuple(namespace), "key": key, "limit": page_size}
        return Request(method="GET", path=f"{_of(store)}/items/history", parse=page_of(ItemVersion), params=params)

    @operation
    def restore(
        self,
        store: str,
        namespace: Sequence[str],
        key: str,
        *,
        version: int | None = None,
        if_version: int | None = None,
    ) -> Request[Item]:
        """Out of the trash, or back to an earlier version."""
        body = filled(namespace=list_of(namespace), key=key, version=version, if_version=if_version)
        return Request(method="POST", path=f"{_of(store)}/items/restore", parse=into(Item), json=body)

    @paged
    def trash(self, store: str, *, page_size: int | None = None) -> Request[Page[DeletedItem]]:
        return Request(
            method="GET", path=f"{_of(store)}/trash", parse=page_of(DeletedItem), params=filled(limit=page_size)
        )

    @operation
    def batch(self, store: str, operations: Sequence[Mapping[str, Any]]) -> Request[tuple[Outcome, ...]]:
        """Several in one transaction and in their order; `put`, `get`, … of this module make them."""
        return Request(
            method="POST",
            path=f"{_of(store)}/batch",
            parse=items_of(Outcome, "results"),
            json={"operations": [dict(one) for one in operations]},
            repeatable=not any("if_version" in one for one in operations),
        )


# The operations of a batch.


def put(
    namespace: Sequence[str],
    key: str,
    value: Mapping[str, Any],
    *,
    index: Index = None,
    ttl_seconds: float | None = None,
    if_version: int | None = None,
) -> dict[str, Any]:
    paths = index if index is None or index is False else list_of(index)
    return filled(
        op="put", namespace=list_of(namespace), key=key, value=value, index=paths, ttl_seconds=ttl_seconds,
        if_version=if_version,
    )  # fmt: skip


def get(namespace: Sequence[str], key: str, *, refresh_ttl: bool = True) -> dict[str, Any]:
    return {"op": "get", "namespace": list_of(namespace), "key": key, "refresh_ttl": refresh_ttl}


def delete(namespace: Sequence[str], key: str, *, if_version: int | None = None) -> dict[str, Any]:
    return filled(op="delete", namespace=list_of(namespace), key=key, if_version=if_version)


def search(
    namespace_prefix: Sequence[str] = (),
    *,
    query: str | None = None,
    filter: Mapping[str, Any] | None = None,
    limit: int = 10,
    offset: int = 0,
    min_relevance: float | None = None,
    refresh_ttl: bool = True,
) -> dict[str, Any]:
    return filled(
        op="search", namespace_prefix=list_of(namespace_prefix), query=query, filter=filter, limit=limit,
        offset=offset, min_relevance=min_relevance, refresh_ttl=refresh_ttl,
    )  # fmt: skip


def namespaces(
    *,
    prefix: Sequence[str] = (),
    suffix: Sequence[str] = (),
    max_depth: int | None = None,
    limit: int = 100,
    offset: int = 0,
) -> dict[str, Any]:
    return filled(
        op="namespaces", prefix=list_of(prefix), suffix=list_of(suffix), max_depth=max_depth, limit=limit, offset=offset
    )


def list_of(labels: Sequence[str]) -> list[str]:
    """One text is no sequence of labels, though it is one of letters."""
    if isinstance(labels, str):
        raise TypeError("give a sequence of texts, such as ('users', 'alice')")
    return [*labels]


def _of(store: str) -> str:
    return f"/v1/stores/{at(store)}"
