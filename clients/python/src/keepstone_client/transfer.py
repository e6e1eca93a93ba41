"""Coming from elsewhere and leaving: imports, and the archive of everything."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Literal

from keepstone_client.binding import D, Resource, downloaded, operation, paged
from keepstone_client.core import Page, Request, Upload, at, filled, into, nothing, page_of

ImportSource = Literal[
    "chatgpt",
    "claude",
    "openwebui",
    "slack",
    "whatsapp",
    "mem0",
    "openmemory",
    "letta",
    "markdown",
    "jsonl",
    "keepstone",
]
ImportState = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class ImportFault:
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    reason: str
    count: int
    examples: tuple[str, ...]  # by id, title or place in the file


@dataclass(frozen=True, kw_only=True)
class ImportSample:
    kind: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Import:
    """`read_bytes` of `total_bytes` is how far it is. What is `written` stays, whatever becomes of the rest."""

    id: str
    source: str
    name: str
    size_bytes: int
    dry_run: bool
    state: str  # an ImportState
    into: str | None
    project_id: str | None
    read_bytes: int
    total_bytes: int
    read: dict[str, int]
    written: dict[str, int]
    already_there: dict[str, int]
    left_out: tuple[LeftOut, ...]
    samples: tuple[ImportSample, ...]  # of a dry run
    remarks: tuple[str, ...]  # how it was read where that could be done in two ways
    error: ImportFault | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def is_over(self) -> bool:
        return self.state in {"done", "failed", "cancelled"}


class Imports(Resource[D]):
    @operation
    def create(
        self,
        file: bytes | IO[bytes],
        *,
        name: str = "upload",
        source: ImportSource | None = None,
        dry_run: bool | None = None,
        into_place: str | None = None,
        project_id: str | None = None,
        me: str | None = None,
        tools: bool | None = None,
        of: str | None = None,
        dates: Literal["dmy", "mdy"] | None = None,
    ) -> Request[Import]:
        """Upload an export; a job brings it in. An open file is sent as it is read. Without a source it is found out
        from what is in the file. `into_place` is `scope`, `scope:NAME`, `capsules`, `workspace` or `workspace:NAME`.
        """
        params = filled(
            name=name, source=source, dry_run=dry_run, into=into_place, project_id=project_id, me=me, tools=tools,
            of=of, dates=dates,
        )  # fmt: skip
        upload = Upload(name=Path(name).name or "upload", content=file)
        return Request(
            method="POST", path="/v1/imports", parse=into(Import), params=params, files={"file": upload}, timeout=600
        )

    @paged
    def list(self, *, page_size: int | None = None) -> Request[Page[Import]]:
        """The newest first."""
        return Request(method="GET", path="/v1/imports", parse=page_of(Import), params=filled(limit=page_size))

    @operation
    def get(self, import_id: str) -> Request[Import]:
        """How far it is, and what became of it."""
        return Request(method="GET", path=f"/v1/imports/{at(import_id)}", parse=into(Import))

    @operation
    def cancel(self, import_id: str) -> Request[Import]:
        """What was brought in until then stays, and is told."""
        return Request(method="DELETE", path=f"/v1/imports/{at(import_id)}", parse=into(Import))


class Exports(Resource[D]):
    @downloaded
    def everything(self, *, form: Literal["json", "markdown"] | None = None) -> Request[None]:
        """All that one has and may see, as a zip, in pieces as they come: `json` to be read back, `markdown` to be
        read.
        """
        headers = {"Accept": "application/zip"}
        params = filled(format=form)
        return Request(method="GET", path="/v1/export", parse=nothing, params=params, headers=headers, timeout=600)
