"""Files that were uploaded to a workspace, and artifacts that were made in it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Kind = Literal["file", "artifact"]
LARGEST_ARTIFACT = 1024 * 1024  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Without its text. `chunks` is how many parts of it can be found."""

    id: str
    kind: Kind
    name: str
    media_type: str
    version: int
    size_bytes: int
    workspace_id: str
    created_by: str | None
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    chunks: int = 0
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


Upload = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentVersion:
    version: int
    change: str
    name: str
    media_type: str
    size_bytes: int
    changed_by: str | None
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """One version of it: the text, and the bytes that were uploaded where it is a file."""

    version: int
    name: str
    media_type: str
    content: str
    original: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of it as it is found, with its place."""

    part: int
    text: str
    place: dict[str, Any] | None
