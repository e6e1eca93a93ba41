"""What the routes of capsules share on the wire: which capsules are meant, and what one looks like."""

from typing import Annotated

from fastapi import Depends, Query
from pydantic import BaseModel, Field

from keepstone.model.capsule import Capsule, Similar
from keepstone.store.capsules import CapsuleFilter
from keepstone.surfaces.http.wire import Time, fields_of, refuse

Tag = Annotated[str, Field(min_length=1, max_length=100)]
Tags = Annotated[list[Tag], Field(max_length=50)]
Kind = Annotated[str, Field(min_length=1, max_length=50)]
Title = Annotated[str, Field(min_length=1, max_length=500)]
ProjectId = Annotated[str, Field(pattern=r"^proj_[a-z0-9]{24}$")]
WantedProject = Annotated[
    str | None,
    Query(pattern=r"^(proj_[a-z0-9]{24}|none)$", description="Only what is in this project; `none`: in no project."),
]
VersionNumber = Annotated[int, Field(ge=1, le=1_000_000_000)]


async def _wanted(
    tag: Annotated[
        list[Annotated[str, Field(max_length=100)]] | None,
        Query(max_length=20, description="Only what has this tag; several: all of them."),
    ] = None,
    kind: Annotated[str | None, Query(max_length=50)] = None,
    project_id: WantedProject = None,
    since: Annotated[Time | None, Query(alias="from", description="Made at this time or later.")] = None,
    until: Annotated[Time | None, Query(alias="to", description="Made before this time.")] = None,
) -> CapsuleFilter:
    for name, value in (*(("tag", one) for one in tag or ()), ("kind", kind)):
        refuse(name, value)
    # An empty one says nothing.
    tags = tuple(dict.fromkeys(one for one in tag or () if one))
    return CapsuleFilter(tags=tags, kind=kind, project_id=project_id, since=since, until=until)


Wanted = Annotated[CapsuleFilter, Depends(_wanted)]


class SourceOut(BaseModel):
    chat_id: str | None
    message_id: str | None


MOVED = "Capsules that were moved to the cold tier to make room for this."


class ProjectNamed(BaseModel):
    id: str
    name: str


class CapsuleOut(
    fields_of(
        Capsule,
        "id title content_md kind tags project_id project source metadata size_bytes version created_at updated_at "
        "accessed_at deleted_at",
    )
):
    project_id: str | None = Field(validation_alias="in_project")
    project: ProjectNamed | None = Field(description="The project that it is in; none while that is in the trash.")
    source: SourceOut | None
    size_bytes: int = Field(description="What it counts for: title, text and 8 KiB.")
    deleted_at: Time | None = Field(description="In the trash since.")
    moved_to_cold: list[str] = Field(default_factory=list[str], description=MOVED, exclude_if=lambda moved: not moved)


class SimilarOut(fields_of(Similar, "id title similarity")):
    pass
