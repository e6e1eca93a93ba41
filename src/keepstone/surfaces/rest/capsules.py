"""Capsules over REST."""

from collections.abc import AsyncGenerator, Callable
from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from keepstone.engine.curate import Segment
from keepstone.engine.segments import SpokenMessage
from keepstone.memory import capsule_archive, capsule_merging, capsule_search, capsule_views, capsules
from keepstone.memory.capsule_views import Digest, TimelineSpan, VaultUsage
from keepstone.model.capsule import FoundCapsule, NewCapsule
from keepstone.model.page import Page
from keepstone.store.capsules import Merged
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import Added, Existing, Paging, Shown, Time, Wire, fields_of, refuse, show_page
from keepstone.surfaces.rest.capsule_wire import (
    MOVED,
    CapsuleOut,
    Kind,
    ProjectId,
    SimilarOut,
    Tags,
    Title,
    VersionNumber,
    Wanted,
    WantedProject,
)

router = Router(prefix="/v1/memory", tags=["capsules"])

Text = Annotated[str, Field(min_length=1)]
Asked = Annotated[str, Field(min_length=1, max_length=2_000)]


class SourceIn(Wire):
    chat_id: Annotated[str | None, Field(max_length=255)] = None
    message_id: Annotated[str | None, Field(max_length=255)] = None


class CapsuleIn(Wire):
    title: Annotated[Title | None, Field(description="Left out, one is made.")] = None
    content_md: Annotated[Text, Field(description="Markdown, up to 800 KB.")]
    kind: Annotated[Kind, Field(description="`decision`, `thought`, `answer`, `note`, or your own.")] = "note"
    tags: Tags = Field(default_factory=list[str])
    project_id: ProjectId | None = None
    source: SourceIn | None = None
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])


class CapsuleChange(Wire):
    title: Title | None = None
    content_md: Text | None = None
    kind: Kind | None = None
    tags: Tags | None = None
    project_id: ProjectId | None = None
    metadata: dict[str, Any] | None = None


class CreatedOut(CapsuleOut):
    moved_to_cold: list[str] = Field(default_factory=list[str], description=MOVED)
    similar: list[SimilarOut] = Field(description="Kept in the last week and nearly the same: merge them?")
    existing: Existing = False
    added: Added = None


class HitOut(CapsuleOut):
    relevance: float | None = Field(default=None, description="Only when something was searched for.")
    snippet: str | None = Field(default=None, description="HTML text with `<mark>`.")


class CapsulePage(Shown):
    items: list[HitOut]
    next_cursor: str | None
    has_more: bool
    degraded: str | None = Field(default=None, description="`literal`: nothing could be found by meaning just now.")


class MergedOut(fields_of(Merged, "id title")):
    pass


class VersionOut(Shown):
    version: int
    change: str
    title: str
    content_md: str = Field(validation_alias="content")
    kind: str = Field(validation_alias="type")
    project_id: str | None
    tags: list[str]
    metadata: dict[str, Any]
    changed_by: str | None
    changed_at: Time
    merged: list[MergedOut] = Field(
        default_factory=list[MergedOut], description="What this version took in: `unmerge` takes it out again."
    )


class DeleteAllIn(Wire):
    confirm: Annotated[Literal["delete-all"], Field(description="To show that you mean it.")]


class DeletedOut(BaseModel):
    deleted: int


class MergeIn(Wire):
    ids: Annotated[list[str], Field(min_length=1, max_length=50)]
    into: Annotated[str, Field(pattern=r"^cap_[a-z0-9]{24}$")]


class TitleIn(Wire):
    content_md: Text


class TitleOut(Shown):
    title: str
    tags: list[str]


class SaidIn(Wire):
    role: Annotated[str | None, Field(max_length=255)] = None
    speaker: Annotated[str | None, Field(max_length=255)] = None
    content: Annotated[str | None, Field(description="The text, as chat completions call it; or `text`.")] = None
    text: str | None = None


class CurateIn(Wire):
    messages: Annotated[list[SaidIn], Field(min_length=1, max_length=1_000)]
    refine: Annotated[bool, Field(description="Ask the language model about what is in doubt.")] = False


class ReasonOut(Shown):
    code: str
    phrase: str


class SegmentOut(fields_of(Segment, "messages text score reasons title tags kind")):
    messages: list[int] = Field(description="Places in what was sent.")
    reasons: list[ReasonOut]
    tags: list[str]
    kind: str


class SegmentList(BaseModel):
    segments: list[SegmentOut]


class TagOut(BaseModel):
    tag: str
    count: int


class TagList(BaseModel):
    items: list[TagOut]


class UsageOut(fields_of(VaultUsage, "plan bytes_used quota_bytes count in_trash in_cold")):
    quota_bytes: int | None = Field(description="null: no limit.")


class SpanOut(fields_of(TimelineSpan, "start count topics")):
    pass


class Timeline(BaseModel):
    bucket: str
    items: list[SpanOut]


class ConstellationOut(Shown):
    made_at: Time | None = Field(description="null: it is still being made.")
    points: list[dict[str, Any]]
    clusters: list[dict[str, Any]]
    newer: int = Field(default=0, description="Capsules that are not on it yet.")
    changed: int = Field(default=0, description="Capsules that were changed since it was made.")
    gone: int = Field(default=0, description="Capsules that were on it and are no longer there.")


class RelatedList(BaseModel):
    items: list[HitOut]


class DigestOut(fields_of(Digest, "since until count kinds topics capsules rediscover")):
    capsules: list[CapsuleOut]
    rediscover: list[CapsuleOut]


class VersionIn(Wire):
    version: VersionNumber
    change: Annotated[str, Field(max_length=50)]
    title: Annotated[str, Field(max_length=500)]
    content_md: str
    kind: Annotated[Kind | None, Field(description="Archives of earlier servers have none: the capsule's.")] = None
    project_id: ProjectId | None = None
    tags: Tags
    metadata: dict[str, Any]
    changed_by: Annotated[str | None, Field(max_length=255)] = None
    changed_at: Time


class ArchivedIn(Wire):
    id: Annotated[str, Field(pattern=r"^cap_[a-z0-9]{24}$")]
    title: Title
    content_md: Text
    kind: Kind
    tags: Tags
    project_id: ProjectId | None = None
    source: SourceIn | None = None
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    version: VersionNumber = 1
    created_at: Time
    updated_at: Time
    accessed_at: Time
    history: Annotated[list[VersionIn], Field(max_length=100_000)] = Field(default_factory=list[VersionIn])


class PutAwayIn(ArchivedIn):
    deleted_at: Time | None = None
    cold_at: Time | None = None


class ArchivedProjectIn(BaseModel):
    id: Annotated[str, Field(max_length=255)]
    name: Annotated[str, Field(max_length=10_000)] = ""


class ArchiveIn(BaseModel):
    """What `export` gave. Whatever else is in it is left alone."""

    format: Literal["keepstone-archive"]
    version: Literal[1]
    projects: Annotated[
        list[ArchivedProjectIn],
        Field(max_length=100_000, description="One that is not yours becomes a new one of this name."),
    ] = Field(default_factory=list[ArchivedProjectIn])
    capsules: list[ArchivedIn]
    put_away: Annotated[
        list[PutAwayIn],
        Field(description="What was in the trash or the cold tier, and is again until its days are over."),
    ] = Field(default_factory=list[PutAwayIn])


class ImportedOut(Shown):
    imported: int
    skipped: int = Field(description="Were there already.")


_LEAST = "Leave out what is less relevant; 0 gives everything, in order. By words alone nothing is left out."


def _hit(match: FoundCapsule) -> HitOut:
    return HitOut.of(match.capsule, relevance=match.relevance, snippet=match.snippet)


def _page(page: Page[Any], show: Callable[[Any], HitOut] = HitOut.of, *, degraded: str | None = None) -> CapsulePage:
    return CapsulePage.of(show_page(page, show), degraded=degraded)


@router.post("/capsules", status_code=201, summary="Keep something")
async def create_capsule(services: Used, principal: Caller, body: CapsuleIn) -> CreatedOut:
    source = body.source or SourceIn()
    new = NewCapsule(
        title=body.title, content_md=body.content_md, kind=body.kind, tags=body.tags, project_id=body.project_id,
        chat_id=source.chat_id, message_id=source.message_id, metadata=body.metadata,
    )  # fmt: skip
    made = await capsules.create(services, principal, new)
    return CreatedOut.of(
        made.capsule, similar=made.similar, existing=made.existing, added=made.added if made.existing else None
    )


@router.get("/capsules", summary="List and search")
async def list_capsules(
    services: Used,
    principal: Caller,
    page: Paging,
    wanted: Wanted,
    q: Annotated[str | None, Query(max_length=2_000, description="Search for this.")] = None,
    mode: Annotated[capsule_search.Mode, Query(description="By words, by meaning, or both.")] = "literal",
    skip: Annotated[int, Query(ge=0, le=10_000_000, description="Leave out so many, without `q` or a cursor.")] = 0,
    min_relevance: Annotated[float | None, Query(ge=0, le=1, description=_LEAST)] = None,
) -> CapsulePage:
    refuse("q", q)
    if q is None or not q.strip():
        return _page(await capsules.list_capsules(services, principal, wanted, page, skip=skip))
    results = await capsule_search.find(services, principal, q, mode, wanted, page, min_relevance)
    return _page(results.page, _hit, degraded=results.degraded)


@router.get("/capsules/tags", summary="Tags, the most used first")
async def list_tags(services: Used, principal: Caller) -> TagList:
    counts = await capsule_views.tags(services, principal)
    return TagList(items=[TagOut(tag=tag, count=count) for tag, count in counts])


@router.get("/capsules/timeline", summary="How much was kept when, and about what")
async def timeline(services: Used, principal: Caller, bucket: capsule_views.Bucket = "day") -> Timeline:
    spans = await capsule_views.timeline(services, principal, bucket)
    return Timeline(bucket=bucket, items=[SpanOut.model_validate(span) for span in spans])


@router.get("/capsules/constellation", summary="The map, from 30 capsules on", response_model=ConstellationOut)
async def constellation(
    services: Used,
    principal: Caller,
    request: Request,
    anew: Annotated[bool, Query(description="Have it made anew; it is there a few seconds later.")] = False,
) -> Response:
    body, version = await capsule_views.constellation(services, principal, _map_bytes, anew=anew)
    headers = {"ETag": f'"{version}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def _map_bytes(drawn: capsule_views.Constellation) -> bytes:
    return ConstellationOut.model_validate(drawn).model_dump_json().encode()


@router.get("/capsules/related", summary="What fits to a text that is being written")
async def related(
    services: Used,
    principal: Caller,
    text: Annotated[str, Query(min_length=1, max_length=8_000)],
    project_id: WantedProject = None,
    min_relevance: Annotated[float | None, Query(ge=0, le=1, description=_LEAST)] = None,
) -> RelatedList:
    refuse("text", text)
    hits = await capsule_search.related(services, principal, text, project_id, min_relevance)
    return RelatedList(items=[_hit(hit) for hit in hits])


@router.post("/capsules/delete-all", summary="Everything into the trash")
async def delete_all(services: Used, principal: Caller, body: DeleteAllIn) -> DeletedOut:  # noqa: ARG001
    return DeletedOut(deleted=await capsules.delete_all(services, principal))


_capsules = Routes(router, CapsuleOut)
_versions = Routes(router, VersionOut, listed="VersionList")
_CAPSULE = "/capsules/{capsule_id:cap}"

_capsules.one("POST", "/capsules/merge", capsule_archive.merge, "merge", "Several into one", body=MergeIn)


@router.post("/capsules/title", summary="A title and tags for a text")
async def make_title(services: Used, principal: Caller, body: TitleIn) -> TitleOut:
    title, tags = await capsules.suggest_name(services, principal, body.content_md)
    return TitleOut(title=title, tags=tags)


@router.post("/capsules/curate", summary="What of a conversation is worth keeping")
async def curate(services: Used, principal: Caller, body: CurateIn) -> SegmentList:
    said = [
        SpokenMessage(turn.speaker or turn.role or "user", turn.content or turn.text or "", role=turn.role or "")
        for turn in body.messages
    ]
    segments = await capsules.curate(services, principal, said, refined=body.refine)
    return SegmentList(segments=[SegmentOut.model_validate(segment) for segment in segments])


_capsules.one("GET", _CAPSULE, capsules.get, "get_capsule", "One capsule")
_capsules.one(
    "PATCH", _CAPSULE, capsules.update, "change_capsule", "Change a capsule; what it was stays in its history",
    changes=CapsuleChange,
)  # fmt: skip
_capsules.remove(_CAPSULE, capsules.delete, "delete_capsule", "Into the trash, for 30 days")
_capsules.one("POST", f"{_CAPSULE}/restore", capsules.restore, "restore_capsule", "Out of the trash")
_capsules.one("POST", f"{_CAPSULE}/recover", capsules.recover, "recover_capsule", "Out of the cold tier")
_versions.all(f"{_CAPSULE}/history", capsule_merging.history, "get_history", "Every version, the latest first")


@router.get("/trash", summary="What was deleted in the last 30 days")
async def trash(services: Used, principal: Caller, page: Paging) -> CapsulePage:
    return _page(await capsules.list_put_away(services, principal, page, cold=False))


@router.get("/cold", summary="What was moved out of the way because the plan was full")
async def cold(services: Used, principal: Caller, page: Paging) -> CapsulePage:
    return _page(await capsules.list_put_away(services, principal, page, cold=True))


Routes(router, UsageOut).one("GET", "/usage", capsule_views.usage, "usage", "How much is kept, and how much may be")
Routes(router, DigestOut).one("GET", "/digest", capsule_views.digest, "digest", "The last week")


@router.get("/export", summary="Everything, as a JSON archive", response_class=StreamingResponse)
async def export(services: Used, principal: Caller) -> StreamingResponse:
    archive = capsule_archive.export(services, principal)
    first = await anext(archive)  # so that a refusal is an answer and not a broken stream

    async def whole() -> AsyncGenerator[str]:
        yield first
        async for piece in archive:
            yield piece

    headers = {"Content-Disposition": 'attachment; filename="keepstone-capsules.json"'}
    return StreamingResponse(whole(), media_type="application/json", headers=headers)


@router.post("/import", summary="Read an archive back; what is there already is left alone")
async def import_archive(services: Used, principal: Caller, body: ArchiveIn) -> ImportedOut:
    read = [capsule.model_dump() for capsule in body.capsules]
    away = [capsule.model_dump() for capsule in body.put_away]
    names = {project.id: project.name for project in body.projects}
    refuse("projects", "".join(names.values()))
    imported = await capsule_archive.import_capsules(services, principal, read, away, names)
    return ImportedOut(imported=imported, skipped=len(read) + len(away) - imported)
