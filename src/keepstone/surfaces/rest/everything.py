"""Memory of every kind in one list, and one trash for everything, over REST."""

from typing import Annotated, Any

from fastapi import Depends, Query
from pydantic import BaseModel, Field

from keepstone.memory import everything, trash
from keepstone.model.everything import (
    BroughtBack,
    Discarded,
    FacetCount,
    FacetName,
    MemoryFilter,
    MemoryKind,
    MemoryVersion,
    OtherMemory,
    QuotedMessage,
    ReadablePlace,
    ShelvedMemory,
    Source,
    TrashKind,
    WholeMemory,
)
from keepstone.model.item import BETWEEN
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Superseded
from keepstone.surfaces.http.wire import PageOut, Paging, Time, Wire, fields_of, refuse, register_id, show_page

register_id("memory", "(?:cap|mem|node|lmk|item)_[a-z0-9]{24}")

router = Router(prefix="/v1", tags=["memory"])

_MOST_WORDS = 20
Words = Annotated[
    str | None, Query(max_length=500, description="Each of these words stands in it, also as part of another.")
]  # fmt: skip
Named = Annotated[str | None, Query(min_length=1, max_length=255)]


class EntityIdsOut(BaseModel):
    user_id: str | None
    agent_id: str | None
    app_id: str | None
    run_id: str | None


class WhereOut(BaseModel):
    kind: str = Field(
        description="`vault`, `workspace`, `room`, `dm`, `profile`, `project`, `graph`, `entity`, `store` or `scope`."
    )
    id: str = Field(description="The place's id, a user's for vault and profile, an agent's for direct messages.")
    name: str = Field(description="What people call it; empty where it has no name of its own.")
    entity: EntityIdsOut | None = Field(description="Of a memory that mem0's client keeps: for whom.")

    @classmethod
    def of(cls, place: ReadablePlace) -> "WhereOut":
        ids = EntityIdsOut(
            user_id=place.for_user, agent_id=place.for_agent, app_id=place.for_app, run_id=place.for_run
        )  # fmt: skip
        of_entity = place.kind == "entity"
        return cls(
            kind=place.kind, id="" if of_entity else place.id, name=place.name, entity=ids if of_entity else None
        )  # fmt: skip


def _place(place: ReadablePlace | None) -> WhereOut | None:
    return WhereOut.of(place) if place else None


def _labels(path: str | None) -> list[str] | None:
    return None if path is None else [label for label in path.split(BETWEEN) if label]


class ShelvedOut(
    fields_of(
        ShelvedMemory,
        "id kind type title text tags user user_name agent source chat_id chat_title message_id key superseded "
        "created_at updated_at",
    )
):
    kind: MemoryKind
    text: str = Field(description="Its beginning in a list, the whole of it alone; of an item its JSON.")
    user: str | None = Field(description="Whose it is or who said it; of a mem0 memory, its `user_id` there.")
    user_name: str | None = Field(description="Theirs, if you share a place with them.")
    agent: str | None = Field(description="Who remembers it; of a mem0 memory, its `agent_id`.")
    source: Source = Field(
        description="How it came: `said` in a room, `saved` by hand, by a `model`, `distilled` from a long text, or by "
        "a `program`."
    )
    place: WhereOut | None
    namespace: list[str] | None = Field(description="Of an item.")

    @classmethod
    def listed(cls, memory: ShelvedMemory) -> "ShelvedOut":
        return cls.model_validate(_shown(memory))


def _shown(memory: ShelvedMemory) -> dict[str, Any]:
    own = {name: getattr(memory, name) for name in ShelvedOut.model_fields if name not in {"place", "namespace"}}
    return own | {"place": _place(memory.place), "namespace": _labels(memory.path)}


class OtherMemoryOut(fields_of(OtherMemory, "id text")):
    pass


class QuotedMessageOut(fields_of(QuotedMessage, "id speaker text at")):
    pass


class ShelvedVersionOut(fields_of(MemoryVersion, "version change title text changed_at changed_by changed_by_name")):
    pass


class WholeMemoryOut(ShelvedOut):
    metadata: dict[str, Any]
    changeable: bool = Field(description="You may change and delete it, each by its kind's own routes.")
    said: QuotedMessageOut | None = Field(description="The message that it was taken from.")
    superseded_by: OtherMemoryOut | None
    supersedes: list[OtherMemoryOut]
    versions: list[ShelvedVersionOut] = Field(description="The latest first.")

    @classmethod
    def of_whole(cls, whole: WholeMemory) -> "WholeMemoryOut":
        names = ("metadata", "changeable", "said", "superseded_by", "supersedes", "versions")
        more = {name: getattr(whole, name) for name in names}
        return cls.model_validate(_shown(whole.memory) | more)


class FacetOut(fields_of(FacetCount, "value count name")):
    name: str | None = Field(description="Of a user: what they are called, if you share a place with them.")


class FacetLists(BaseModel):
    kind: list[FacetOut]
    user: list[FacetOut]
    agent: list[FacetOut]
    source: list[FacetOut]


async def _wanted(
    kind: Annotated[MemoryKind | None, Query()] = None,
    user: Named = None,
    agent: Named = None,
    source: Annotated[Source | None, Query()] = None,
    app_id: Annotated[str | None, Query(min_length=1, max_length=255, description="Of mem0's client.")] = None,
    run_id: Annotated[str | None, Query(min_length=1, max_length=255, description="Of mem0's client.")] = None,
    place: Annotated[
        str | None, Query(min_length=1, max_length=255, description="The id of a place, or the name of a store.")
    ] = None,
    namespace: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=255)]] | None,
        Query(max_length=20, description="Items below this namespace, label by label."),
    ] = None,
    q: Words = None,
    since: Annotated[Time | None, Query(alias="from", description="Made at this time or later.")] = None,
    until: Annotated[Time | None, Query(alias="to", description="Made before this time.")] = None,
    superseded: Superseded = False,
) -> MemoryFilter:
    given = {"user": user, "agent": agent, "app_id": app_id, "run_id": run_id, "place": place}
    for name, value in (*given.items(), *(("namespace", label) for label in namespace or ())):
        refuse(name, value)
    return MemoryFilter(
        kind=kind, user=user, agent=agent, source=source, app=app_id, run=run_id, place=place,
        namespace=tuple(namespace or ()), words=_words(q), since=since, until=until, superseded=superseded,
    )  # fmt: skip


def _words(q: str | None) -> tuple[str, ...]:
    refuse("q", q)
    return tuple((q or "").split()[:_MOST_WORDS])


Wanted = Annotated[MemoryFilter, Depends(_wanted)]


@router.get("/memory/all", summary="Memory of every kind that you may read, the newest first")
async def list_memory(services: Used, principal: Caller, wanted: Wanted, page: Paging) -> PageOut[ShelvedOut]:
    return show_page(await everything.list_memory(services, principal, page, wanted=wanted), ShelvedOut.listed)


@router.get("/memory/all/counts", summary="How many there are by kind, user, agent and source")
async def count_memory(services: Used, principal: Caller, wanted: Wanted) -> FacetLists:
    """Each under all filters but its own."""
    counts = await everything.count_memory(services, principal, wanted)
    by: dict[FacetName, list[FacetOut]] = {"kind": [], "user": [], "agent": [], "source": []}
    for count in counts:
        by[count.by].append(FacetOut.model_validate(count))
    return FacetLists(**by)


@router.get("/memory/all/{memory_id:memory}", summary="One, with where it came from and what it was before")
async def get_memory(services: Used, principal: Caller, memory_id: str) -> WholeMemoryOut:
    return WholeMemoryOut.of_whole(await everything.get_memory(services, principal, memory_id))


# ------------------------------------------------------------------------------------------------------- the trash


class DiscardedOut(
    fields_of(
        Discarded,
        "kind id title text key restorable created_at deleted_at expires_at deleted_by deleted_by_name",
    )
):
    kind: TrashKind
    restorable: bool = Field(description="You may bring it back; a place only its owners do.")
    expires_at: Time = Field(description="From then on it is gone for good.")
    deleted_by: str | None = Field(description="null: not known.")
    deleted_by_name: str | None
    place: WhereOut | None = Field(description="Where it lay; null for a place itself.")
    namespace: list[str] | None = Field(description="Of an item.")

    @classmethod
    def listed(cls, thing: Discarded) -> "DiscardedOut":
        shown = {name: getattr(thing, name) for name in cls.model_fields if name not in {"place", "namespace"}}
        return cls.model_validate(shown | {"place": _place(thing.place), "namespace": _labels(thing.path)})


class TrashedKindOut(BaseModel):
    kind: TrashKind
    count: int


class TrashedKinds(BaseModel):
    items: list[TrashedKindOut]


class TrashedIn(Wire):
    kind: TrashKind
    id: Annotated[str, Field(pattern=r"^[a-z]+_[a-z0-9]{24}$")]


class RestoreManyIn(Wire):
    items: Annotated[list[TrashedIn], Field(min_length=1, max_length=100)]


class BroughtBackOut(fields_of(BroughtBack, "kind id code message")):
    kind: TrashKind
    restored: bool
    code: str | None = Field(description="null: it is back. Else why it is not, as an error's code has it.")
    place: WhereOut | None = Field(description="Where it is now; null for a place itself.")

    @classmethod
    def told(cls, one: BroughtBack) -> "BroughtBackOut":
        told = {"kind": one.kind, "id": one.id, "code": one.code, "message": one.message}
        return cls.model_validate(told | {"restored": one.code is None, "place": _place(one.place)})


class RestoredList(BaseModel):
    items: list[BroughtBackOut] = Field(description="In the order in which they were named.")


@router.get("/trash", summary="All that can be brought back, deleted last first")
async def list_trash(
    services: Used, principal: Caller, page: Paging, kind: Annotated[TrashKind | None, Query()] = None, q: Words = None
) -> PageOut[DiscardedOut]:
    found = await trash.list_trash(services, principal, page, kind=kind, words=_words(q))
    return show_page(found, DiscardedOut.listed)


@router.get("/trash/counts", summary="How many of each kind")
async def count_trash(services: Used, principal: Caller, q: Words = None) -> TrashedKinds:
    counts = await trash.count_trash(services, principal, words=_words(q))
    return TrashedKinds(items=[TrashedKindOut(kind=kind, count=count) for kind, count in counts.items()])


@router.post("/trash/restore", summary="Bring several things back, of any kinds")
async def restore_trash(services: Used, principal: Caller, body: RestoreManyIn) -> RestoredList:
    """Each for itself: what can't be brought back says why."""
    back = await trash.restore(services, principal, [(one.kind, one.id) for one in body.items])
    return RestoredList(items=[BroughtBackOut.told(one) for one in back])
