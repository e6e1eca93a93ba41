"""Stores over REST: put, get, delete, search, several at once, and what was there before."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel, Field

from keepstone.memory import stores
from keepstone.model import item
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import PageOut, Paging, Time, Wire, fields_of, refuse, show_page

router = Router(prefix="/v1/stores", tags=["stores"])

Asked = TypeVar("Asked", bound=item.Operation)

_LONGEST_TTL = 100 * 365 * 24 * 3600
_LAST_VERSION = 2**31 - 1
_LAST = 10_000

StoreName = Annotated[
    str, Path(pattern=r"^[a-z0-9_-]{1,63}$", description="Yours to pick; made with the first item in it.")
]
Label = Annotated[str, Field(min_length=1, max_length=255)]
Namespace = Annotated[list[Label], Field(max_length=32, description="Labels from the widest to the narrowest.")]
Key = Annotated[str, Field(min_length=1, max_length=1024)]
NamespaceQuery = Annotated[
    list[str], Query(max_length=32, description="Its labels, the parameter once for each; none: the root.")
]
KeyQuery = Annotated[str, Query(min_length=1, max_length=1024)]
IfVersion = Annotated[
    int | None,
    Field(ge=0, le=_LAST_VERSION, description="Only over this version, else 409; 0: only if it is not there."),
]
RefreshTtl = Annotated[bool, Field(description="What is read lasts as long again.")]
Offset = Annotated[int, Field(ge=0, le=_LAST)]


class PutItemIn(Wire):
    namespace: Namespace = Field(default_factory=list[str])
    key: Key
    value: Annotated[dict[str, Any], Field(description="Any JSON object, up to 1 MB. Comes back as it is.")]
    index: Annotated[
        Literal[False]
        | Annotated[list[Annotated[str, Field(min_length=1, max_length=255)]], Field(max_length=32)]
        | None,
        Field(description="What is searched: null all text, a list of paths as `a.b`, `a[*].c`, false nothing."),
    ] = None
    ttl_seconds: Annotated[
        float | None, Field(gt=0, le=_LONGEST_TTL, description="Gone so long after it was last read or put.")
    ] = None
    if_version: IfVersion = None


class GetItemIn(Wire):
    namespace: Namespace = Field(default_factory=list[str])
    key: Key
    refresh_ttl: RefreshTtl = True


class DeleteItemIn(Wire):
    namespace: Namespace = Field(default_factory=list[str])
    key: Key
    if_version: IfVersion = None


class SearchItemsIn(Wire):
    namespace_prefix: Namespace = Field(default_factory=list[str])
    query: Annotated[str | None, Field(max_length=32_768, description="By meaning; without it what changed last.")] = (
        None
    )
    filter: Annotated[
        dict[str, Any],
        Field(description="Fields of the value, to be equal or to be compared with $eq $ne $gt $gte $lt $lte."),
    ] = Field(default_factory=dict[str, Any])
    limit: Annotated[int, Field(ge=1, le=1_000)] = 10
    offset: Offset = 0
    min_relevance: Annotated[float | None, Field(ge=0, le=1)] = None
    refresh_ttl: RefreshTtl = True


class ListNamespacesIn(Wire):
    prefix: Annotated[Namespace, Field(description="`*` fits any one label.")] = Field(default_factory=list[str])
    suffix: Annotated[Namespace, Field(description="`*` fits any one label.")] = Field(default_factory=list[str])
    max_depth: Annotated[int | None, Field(ge=1, le=32, description="Deeper ones are shown cut off.")] = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100
    offset: Offset = 0


class RestoreItemIn(Wire):
    namespace: Namespace = Field(default_factory=list[str])
    key: Key
    version: Annotated[
        int | None, Field(ge=1, le=_LAST_VERSION, description="Without it: what was deleted comes back.")
    ] = None
    if_version: IfVersion = None


class PutOperation(PutItemIn):
    op: Literal["put"]


class GetOperation(GetItemIn):
    op: Literal["get"]


class DeleteOperation(DeleteItemIn):
    op: Literal["delete"]


class SearchOperation(SearchItemsIn):
    op: Literal["search"]


class NamespacesOperation(ListNamespacesIn):
    op: Literal["namespaces"]


class BatchIn(Wire):
    operations: Annotated[
        list[
            Annotated[
                PutOperation | GetOperation | DeleteOperation | SearchOperation | NamespacesOperation,
                Field(discriminator="op"),
            ]
        ],
        Field(min_length=1, max_length=1_000),
    ]


class StoreOut(fields_of(item.Store, "name item_count size_bytes created_at")):
    pass


class ItemOut(fields_of(item.Item, "id namespace key value version created_at updated_at ttl_seconds expires_at")):
    key: str


class TrashedItemOut(ItemOut):
    deleted_at: Time


class FoundItemOut(ItemOut):
    score: float | None = Field(description="How relevant, as a probability; null without a query.")


class ItemsOut(BaseModel):
    items: list[FoundItemOut]
    degraded: str | None = Field(default=None, description="`terms`: nothing could be found by meaning just now.")


class NamespacesOut(BaseModel):
    namespaces: list[list[str]]


class ItemVersionOut(fields_of(item.ItemVersion, "version change value changed_by changed_at")):
    change: item.Change


class OutcomeOut(BaseModel):
    """What there is to say to an operation: the item of a put, get or delete, null if it was not there; or a list."""

    item: ItemOut | None = None
    items: list[FoundItemOut] | None = None
    namespaces: list[list[str]] | None = None
    degraded: str | None = None


class BatchOut(BaseModel):
    results: list[OutcomeOut] = Field(description="One for each operation, in their order.")


_OPERATIONS: Mapping[str, type[item.Operation]] = {
    "put": item.Put,
    "get": item.Get,
    "delete": item.Delete,
    "search": item.Search,
    "namespaces": item.ListNamespaces,
}

_stores = Routes(router, StoreOut)
_trash = Routes(router, TrashedItemOut, ids={"store": StoreName})
_stores.page("", stores.list_stores, "list_stores", "The caller's stores, the newest first")


@router.put("/{store}/items", summary="Keep a value; what it was stays in its history")
async def put_item(services: Used, principal: Caller, store: StoreName, body: PutItemIn) -> ItemOut:
    return ItemOut.model_validate(await stores.put(services, principal, store, _read(item.Put, body)))


@router.get("/{store}/items", summary="One item")
async def get_item(
    services: Used,
    principal: Caller,
    store: StoreName,
    key: KeyQuery,
    namespace: NamespaceQuery = [],  # noqa: B006  the framework copies it
    refresh_ttl: Annotated[bool, Query(description="What is read lasts as long again.")] = True,
) -> ItemOut:
    _refuse(namespace, key)
    asked = item.Get(namespace=namespace, key=key, refresh_ttl=refresh_ttl)
    return ItemOut.model_validate(await stores.get(services, principal, store, asked))


@router.delete("/{store}/items", status_code=204, summary="An item into the trash, for 30 days")
async def delete_item(
    services: Used,
    principal: Caller,
    store: StoreName,
    key: KeyQuery,
    namespace: NamespaceQuery = [],  # noqa: B006
    if_version: Annotated[int | None, Query(ge=0, le=_LAST_VERSION)] = None,
) -> None:
    _refuse(namespace, key)
    await stores.delete(services, principal, store, item.Delete(namespace=namespace, key=key, if_version=if_version))


@router.get("/{store}/items/history", summary="Every version of an item, the latest first")
async def get_item_history(
    services: Used,
    principal: Caller,
    store: StoreName,
    page: Paging,
    key: KeyQuery,
    namespace: NamespaceQuery = [],  # noqa: B006
) -> PageOut[ItemVersionOut]:
    _refuse(namespace, key)
    versions = await stores.history(services, principal, store, namespace, key, page)
    return show_page(versions, ItemVersionOut.model_validate)


@router.post("/{store}/items/restore", summary="An item out of the trash, or back to an earlier version")
async def restore_item(services: Used, principal: Caller, store: StoreName, body: RestoreItemIn) -> ItemOut:
    return ItemOut.model_validate(await stores.restore(services, principal, store, **body.model_dump()))


_trash.page("/{store}/trash", stores.list_trash, "list_item_trash", "Deleted items, deleted last first")


@router.post("/{store}/search", summary="Find items by namespace, fields and meaning")
async def search_items(services: Used, principal: Caller, store: StoreName, body: SearchItemsIn) -> ItemsOut:
    matches = await stores.find(services, principal, store, _read(item.Search, body))
    return ItemsOut(items=[_match(match) for match in matches.items], degraded=matches.degraded)


@router.post("/{store}/namespaces", summary="The namespaces that have items")
async def list_item_namespaces(
    services: Used, principal: Caller, store: StoreName, body: ListNamespacesIn
) -> NamespacesOut:
    asked = _read(item.ListNamespaces, body)
    return NamespacesOut(namespaces=await stores.list_namespaces(services, principal, store, asked))


@router.post("/{store}/batch", summary="Several operations in one transaction, in their order")
async def run_batch(services: Used, principal: Caller, store: StoreName, body: BatchIn) -> BatchOut:
    operations = [_read(_OPERATIONS[operation.op], operation) for operation in body.operations]
    if any(isinstance(operation, item.Put | item.Delete) for operation in operations):
        principal.reach.require_write()
    if any(isinstance(operation, item.Put) for operation in operations):
        services.disk.require_room()
    outcomes = await stores.run(services, principal, store, operations)
    return BatchOut(results=[_shown(outcome) for outcome in outcomes])


def _read(kind: type[Asked], body: Wire) -> Asked:
    """An operation from the fields that are sent, but for its name, which only a batch has."""
    fields = body.model_dump(exclude={"op"})
    if isinstance(body, SearchItemsIn):
        fields["prefix"] = fields.pop("namespace_prefix")
    return kind(**fields)


def _match(match: item.FoundItem) -> FoundItemOut:
    return FoundItemOut.of(match.item, score=match.score)


def _shown(outcome: item.Outcome) -> OutcomeOut:
    if isinstance(outcome, item.FoundItems):
        return OutcomeOut(items=[_match(match) for match in outcome.items], degraded=outcome.degraded)
    if isinstance(outcome, list):
        return OutcomeOut(namespaces=outcome)
    return OutcomeOut(item=ItemOut.model_validate(outcome) if isinstance(outcome, item.Item) else None)


def _refuse(namespace: list[str], key: str) -> None:
    refuse("key", key)
    for label in namespace:
        refuse("namespace", label)
