"""Many capsules at once over REST: counting and changing them; and what belongs to writing and merging one."""

from typing import Annotated

from pydantic import BaseModel, Field

from keepstone.memory import capsule_batch, capsule_counts, capsule_merging
from keepstone.memory.capsule_counts import Counted
from keepstone.model.capsule import Capsule
from keepstone.store.capsules import CountedBy
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import Shown, Wire, fields_of
from keepstone.surfaces.rest.capsule_wire import (
    CapsuleOut,
    Kind,
    ProjectId,
    SimilarOut,
    Tags,
    Title,
    VersionNumber,
    Wanted,
)

router = Router(prefix="/v1/memory", tags=["capsules"])

CapsuleIds = Annotated[
    list[Annotated[str, Field(pattern=r"^cap_[a-z0-9]{24}$")]], Field(min_length=1, max_length=200)
]  # fmt: skip


class CountOut(fields_of(Counted, "value count")):
    pass


class CountList(BaseModel):
    by: CountedBy
    items: list[CountOut]


class IdList(BaseModel):
    ids: list[str]


class ChosenIn(Wire):
    ids: CapsuleIds


class ChangeManyIn(ChosenIn):
    add_tags: Tags | None = None
    remove_tags: Tags | None = None
    kind: Kind | None = None
    project_id: Annotated[ProjectId | None, Field(description="null takes them out of their projects.")] = None


class ChangedOut(fields_of(Capsule, "id kind tags project_id")):
    project_id: str | None = Field(validation_alias="in_project")


class ChangedList(BaseModel):
    items: list[ChangedOut] = Field(description="Those that are another now, as they were before.")


class DeletedCount(BaseModel):
    deleted: int


class RestoredCount(BaseModel):
    restored: int


class AlikeIn(Wire):
    title: Title | None = None
    content_md: Annotated[str, Field(min_length=1)]


class AlikeOut(Shown):
    similar: list[SimilarOut] = Field(description="Says nearly the same; the nearest first.")
    tags: list[str] = Field(description="Those of what is similar, then from the text.")


class UnmergeIn(Wire):
    version: Annotated[VersionNumber, Field(description="The one that the merge made.")]


@router.get("/capsules/counts", summary="How many there are, by month, kind, project or tag")
async def count_capsules(services: Used, principal: Caller, wanted: Wanted, by: CountedBy = "month") -> CountList:
    counted = await capsule_counts.count_by(services, principal, by, wanted)
    return CountList(by=by, items=[CountOut.model_validate(one) for one in counted])


@router.get("/capsules/ids", summary="The ids of all, the newest first")
async def list_ids(services: Used, principal: Caller, wanted: Wanted) -> IdList:
    return IdList(ids=await capsule_counts.ids_of(services, principal, wanted))


@router.post("/capsules/change", summary="Tag, untag, move or rename the kind of many")
async def change_many(services: Used, principal: Caller, body: ChangeManyIn) -> ChangedList:
    changes = body.model_dump(exclude_unset=True, exclude={"ids"})
    before = await capsule_batch.change_many(services, principal, body.ids, changes)
    return ChangedList(items=[ChangedOut.model_validate(one) for one in before])


@router.post("/capsules/delete", summary="Many into the trash, for 30 days")
async def delete_many(services: Used, principal: Caller, body: ChosenIn) -> DeletedCount:
    return DeletedCount(deleted=await capsule_batch.delete_many(services, principal, body.ids))


@router.post("/capsules/restore", summary="Many out of the trash")
async def restore_many(services: Used, principal: Caller, body: ChosenIn) -> RestoredCount:
    return RestoredCount(restored=await capsule_batch.restore_many(services, principal, body.ids))


@router.post("/capsules/alike", summary="What says nearly the same as a text, and tags for it")
async def alike(services: Used, principal: Caller, body: AlikeIn) -> AlikeOut:
    similar, tags = await capsule_batch.alike(services, principal, body.content_md, body.title)
    return AlikeOut(similar=[SimilarOut.model_validate(one) for one in similar], tags=tags)


Routes(router, CapsuleOut).one(
    "POST", "/capsules/{capsule_id:cap}/unmerge", capsule_merging.unmerge, "unmerge_capsule", "Take a merge back",
    body=UnmergeIn,
)  # fmt: skip
