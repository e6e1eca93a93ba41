"""Capsules: what a person keeps on purpose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from keepstone_client.binding import D, Resource, operation, paged
from keepstone_client.core import Page, Request, as_is, at, filled, into, items_of, nothing, page_of

Mode = Literal["literal", "semantic", "hybrid"]
_CAPSULES = "/v1/memory/capsules"


@dataclass(frozen=True, kw_only=True)
class Source:
    chat_id: str | None = None
    message_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class InProject:
    id: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Capsule:
    id: str
    title: str
    content_md: str
    kind: str
    tags: tuple[str, ...]
    project_id: str | None
    project: InProject | None = None
    source: Source | None
    metadata: dict[str, Any]
    size_bytes: int
    version: int
    created_at: datetime
    updated_at: datetime
    accessed_at: datetime
    deleted_at: datetime | None
    moved_to_cold: tuple[str, ...] = ()  # what had to make room for it, when it was just written


@dataclass(frozen=True, kw_only=True)
class Similar:
    id: str
    title: str
    similarity: float


@dataclass(frozen=True, kw_only=True)
class CreatedCapsule(Capsule):
    existing: bool = False  # it was there already
    added: dict[str, Any] | None = None  # with it: what came new and was added
    similar: tuple[Similar, ...]  # of the last week and nearly the same: merge them?


@dataclass(frozen=True, kw_only=True)
class Hit(Capsule):
    relevance: float | None = None  # only when something was searched for
    snippet: str | None = None  # HTML text with <mark>


@dataclass(frozen=True, kw_only=True)
class MergedCapsule:
    id: str
    title: str


@dataclass(frozen=True, kw_only=True)
class CapsuleVersion:
    version: int
    change: str
    title: str
    content_md: str
    kind: str
    project_id: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    changed_by: str | None
    changed_at: datetime
    merged: tuple[MergedCapsule, ...] = ()  # what went into it with this version, as long as `unmerge` can take it out


@dataclass(frozen=True, kw_only=True)
class Counted:
    value: str
    count: int


@dataclass(frozen=True, kw_only=True)
class CapsuleBefore:
    """What is another now, as it was."""

    id: str
    kind: str
    tags: tuple[str, ...]
    project_id: str | None


@dataclass(frozen=True, kw_only=True)
class Alike:
    similar: tuple[Similar, ...]  # the nearest first
    tags: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Restored:
    restored: int


@dataclass(frozen=True, kw_only=True)
class CapsuleIds:
    ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Tag:
    tag: str
    count: int


@dataclass(frozen=True, kw_only=True)
class Span:
    start: str
    count: int
    topics: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CapsuleMap:
    """`made_at` is None while it is being made."""

    made_at: datetime | None
    points: tuple[dict[str, Any], ...]
    clusters: tuple[dict[str, Any], ...]
    newer: int = 0  # capsules that are not on it yet
    changed: int = 0
    gone: int = 0


@dataclass(frozen=True, kw_only=True)
class Title:
    title: str
    tags: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Reason:
    code: str
    phrase: str


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A part of a conversation that is worth keeping; `messages` are places in what was sent."""

    messages: tuple[int, ...]
    text: str
    score: float
    reasons: tuple[Reason, ...]
    title: str
    tags: tuple[str, ...]
    kind: str


@dataclass(frozen=True, kw_only=True)
class CapsuleUsage:
    plan: str
    bytes_used: int
    quota_bytes: int | None  # None: no limit
    count: int
    in_trash: int
    in_cold: int


@dataclass(frozen=True, kw_only=True)
class Digest:
    since: datetime
    until: datetime
    count: int
    kinds: dict[str, int]
    topics: tuple[str, ...]
    capsules: tuple[Capsule, ...]
    rediscover: tuple[Capsule, ...]


@dataclass(frozen=True, kw_only=True)
class Imported:
    imported: int
    skipped: int  # were there already


@dataclass(frozen=True, kw_only=True)
class Deleted:
    deleted: int


class Capsules(Resource[D]):
    @operation
    def create(
        self,
        content_md: str,
        *,
        title: str | None = None,
        kind: str = "note",
        tags: Sequence[str] = (),
        project_id: str | None = None,
        source: Source | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Request[CreatedCapsule]:
        """Keep something. Without a title one is made."""
        told = filled(chat_id=source.chat_id, message_id=source.message_id) if source else None
        body = filled(
            content_md=content_md, title=title, kind=kind, tags=list(tags), project_id=project_id, source=told,
            metadata=metadata,
        )  # fmt: skip
        return Request(method="POST", path=_CAPSULES, parse=into(CreatedCapsule), json=body)

    @operation
    def search(
        self,
        query: str,
        *,
        mode: Mode = "hybrid",
        tag: str | Sequence[str] | None = None,
        kind: str | None = None,
        project_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 20,
        cursor: str | None = None,
        min_relevance: float | None = None,
    ) -> Request[Page[Hit]]:
        """The best first. By words and by meaning, unless `mode` says otherwise. What hardly fits is left out, unless
        `min_relevance` is 0. `project_id="none"`: only what is in no project.
        """
        asked = filled(q=query, mode=mode, limit=limit, cursor=cursor, min_relevance=min_relevance)
        return Request(
            method="GET",
            path=_CAPSULES,
            parse=page_of(Hit),
            params={**asked, **_wanted(tag, kind, project_id, since, until)},
        )

    @paged
    def list(
        self,
        *,
        tag: str | Sequence[str] | None = None,
        kind: str | None = None,
        project_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        page_size: int | None = None,
    ) -> Request[Page[Hit]]:
        """All of them, the newest first. `project_id="none"`: only those in no project."""
        params = {**filled(limit=page_size), **_wanted(tag, kind, project_id, since, until)}
        return Request(method="GET", path=_CAPSULES, parse=page_of(Hit), params=params)

    @operation
    def get(self, capsule_id: str) -> Request[Capsule]:
        return Request(method="GET", path=f"{_CAPSULES}/{at(capsule_id)}", parse=into(Capsule))

    @operation
    def update(
        self,
        capsule_id: str,
        *,
        title: str | None = None,
        content_md: str | None = None,
        kind: str | None = None,
        tags: Sequence[str] | None = None,
        project_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Request[Capsule]:
        """What is left out stays; the version before stays in its history. `project_id="none"` takes it out of its
        project.
        """
        body = filled(
            title=title, content_md=content_md, kind=kind, tags=tags, project_id=project_id, metadata=metadata
        )
        if project_id == "none":
            body["project_id"] = None
        return Request(method="PATCH", path=f"{_CAPSULES}/{at(capsule_id)}", parse=into(Capsule), json=body)

    @operation
    def delete(self, capsule_id: str) -> Request[None]:
        """Into the trash, for 30 days."""
        return Request(method="DELETE", path=f"{_CAPSULES}/{at(capsule_id)}", parse=nothing)

    @operation
    def restore(self, capsule_id: str) -> Request[Capsule]:
        """Out of the trash."""
        return Request(method="POST", path=f"{_CAPSULES}/{at(capsule_id)}/restore", parse=into(Capsule))

    @operation
    def recover(self, capsule_id: str) -> Request[Capsule]:
        """Out of the cold tier."""
        return Request(method="POST", path=f"{_CAPSULES}/{at(capsule_id)}/recover", parse=into(Capsule))

    @operation
    def history(self, capsule_id: str) -> Request[tuple[CapsuleVersion, ...]]:
        """Every version, the latest first."""
        return Request(method="GET", path=f"{_CAPSULES}/{at(capsule_id)}/history", parse=items_of(CapsuleVersion))

    @paged
    def trash(self, *, page_size: int | None = None) -> Request[Page[Hit]]:
        return Request(method="GET", path="/v1/memory/trash", parse=page_of(Hit), params=filled(limit=page_size))

    @paged
    def cold(self, *, page_size: int | None = None) -> Request[Page[Hit]]:
        """What was moved out of the way when the plan was full."""
        return Request(method="GET", path="/v1/memory/cold", parse=page_of(Hit), params=filled(limit=page_size))

    @operation
    def delete_all(self) -> Request[Deleted]:
        """Everything into the trash."""
        body = {"confirm": "delete-all"}
        return Request(method="POST", path=f"{_CAPSULES}/delete-all", parse=into(Deleted), json=body)

    @operation
    def tags(self) -> Request[tuple[Tag, ...]]:
        return Request(method="GET", path=f"{_CAPSULES}/tags", parse=items_of(Tag))

    @operation
    def timeline(self, *, bucket: Literal["day", "week", "month"] | None = None) -> Request[tuple[Span, ...]]:
        """How many, and about what, in each day, week or month."""
        return Request(method="GET", path=f"{_CAPSULES}/timeline", parse=items_of(Span), params=filled(bucket=bucket))

    @operation
    def map(self, *, anew: bool | None = None) -> Request[CapsuleMap]:
        """Points in a plane, what is alike close together. Below 30 capsules: Conflict. `anew` has it drawn again."""
        params = filled(anew=anew)
        return Request(method="GET", path=f"{_CAPSULES}/constellation", parse=into(CapsuleMap), params=params)

    @operation
    def related(
        self, text: str, *, project_id: str | None = None, min_relevance: float | None = None
    ) -> Request[tuple[Hit, ...]]:
        """What fits to a text that is being written."""
        params = filled(text=text, project_id=project_id, min_relevance=min_relevance)
        return Request(method="GET", path=f"{_CAPSULES}/related", parse=items_of(Hit), params=params)

    @operation
    def merge(self, ids: Sequence[str], *, into_id: str) -> Request[Capsule]:
        """Several into one of them; the others go to the trash."""
        body = {"ids": ids, "into": into_id}
        return Request(method="POST", path=f"{_CAPSULES}/merge", parse=into(Capsule), json=body)

    @operation
    def unmerge(self, capsule_id: str, *, version: int) -> Request[Capsule]:
        """Take the merge back that made this version."""
        path = f"{_CAPSULES}/{at(capsule_id)}/unmerge"
        return Request(method="POST", path=path, parse=into(Capsule), json={"version": version})

    @operation
    def count(
        self,
        by: Literal["month", "kind", "project", "tag"],
        *,
        tag: str | Sequence[str] | None = None,
        kind: str | None = None,
        project_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Request[tuple[Counted, ...]]:
        """How many there are of each month, kind, project or tag."""
        params = {"by": by, **_wanted(tag, kind, project_id, since, until)}
        return Request(method="GET", path=f"{_CAPSULES}/counts", parse=items_of(Counted), params=params)

    @operation
    def ids(
        self,
        *,
        tag: str | Sequence[str] | None = None,
        kind: str | None = None,
        project_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Request[CapsuleIds]:
        """The ids of all of them, the newest first, for the operations on many."""
        params = _wanted(tag, kind, project_id, since, until)
        return Request(method="GET", path=f"{_CAPSULES}/ids", parse=into(CapsuleIds), params=params)

    @operation
    def update_many(
        self,
        ids: Sequence[str],
        *,
        add_tags: Sequence[str] | None = None,
        remove_tags: Sequence[str] | None = None,
        kind: str | None = None,
        project_id: str | None = None,
    ) -> Request[tuple[CapsuleBefore, ...]]:
        """Up to 200 at once. What was changed comes back as it was. `project_id="none"` takes them out of theirs."""
        body = filled(ids=ids, add_tags=add_tags, remove_tags=remove_tags, kind=kind, project_id=project_id)
        if project_id == "none":
            body["project_id"] = None
        return Request(method="POST", path=f"{_CAPSULES}/change", parse=items_of(CapsuleBefore), json=body)

    @operation
    def delete_many(self, ids: Sequence[str]) -> Request[Deleted]:
        """Up to 200 at once, into the trash."""
        return Request(method="POST", path=f"{_CAPSULES}/delete", parse=into(Deleted), json={"ids": ids})

    @operation
    def restore_many(self, ids: Sequence[str]) -> Request[Restored]:
        """Up to 200 at once, out of the trash."""
        return Request(method="POST", path=f"{_CAPSULES}/restore", parse=into(Restored), json={"ids": ids})

    @operation
    def alike(self, content_md: str, *, title: str | None = None) -> Request[Alike]:
        """What says nearly the same as a text, and tags for it; nothing is kept."""
        body = filled(content_md=content_md, title=title)
        return Request(method="POST", path=f"{_CAPSULES}/alike", parse=into(Alike), json=body, repeatable=True)

    @operation
    def title(self, content_md: str) -> Request[Title]:
        """A title and tags for a text; nothing is kept."""
        body = {"content_md": content_md}
        return Request(method="POST", path=f"{_CAPSULES}/title", parse=into(Title), json=body, repeatable=True)

    @operation
    def curate(self, messages: Sequence[Mapping[str, str]], *, refine: bool = False) -> Request[tuple[Segment, ...]]:
        """What of a conversation is worth keeping. Each message has `role` and `content`, or `speaker` and `text`."""
        return Request(
            method="POST",
            path=f"{_CAPSULES}/curate",
            parse=items_of(Segment, "segments"),
            json={"messages": messages, "refine": refine},
            repeatable=True,
        )

    @operation
    def usage(self) -> Request[CapsuleUsage]:
        return Request(method="GET", path="/v1/memory/usage", parse=into(CapsuleUsage))

    @operation
    def digest(self) -> Request[Digest]:
        """The last week."""
        return Request(method="GET", path="/v1/memory/digest", parse=into(Digest))

    @operation
    def export_archive(self) -> Request[dict[str, Any]]:
        """Everything with its history, as `import_archive` takes it."""
        return Request(method="GET", path="/v1/memory/export", parse=as_is, timeout=600)

    @operation
    def import_archive(self, archive: Mapping[str, Any]) -> Request[Imported]:
        """What is there already is skipped."""
        held = {
            name: archive[name] for name in ("format", "version", "projects", "capsules", "put_away") if name in archive
        }
        return Request(
            method="POST", path="/v1/memory/import", parse=into(Imported), json=held, repeatable=True, timeout=600
        )


def _wanted(
    tag: str | Sequence[str] | None,
    kind: str | None,
    project_id: str | None,
    since: datetime | None,
    until: datetime | None,
) -> dict[str, Any]:
    return filled(tag=tag, kind=kind, project_id=project_id, **{"from": since, "to": until})
