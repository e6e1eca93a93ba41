"""What an archive may hold, checked before anything is made of it: whoever wrote the file, it is somebody's input."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from keepstone.errors import Malformed

FormT = TypeVar("FormT", bound=BaseModel)


def _utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError("is beyond the year 9999, or before the year 1") from None


Moment = Annotated[AwareDatetime, AfterValidator(_utc)]
Number = Annotated[int, Field(ge=1, le=1_000_000_000)]
Tags = Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=50)]
Metadata = Annotated[dict[str, Any], Field(default_factory=dict[str, Any])]


class _Form(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Source(_Form):
    chat_id: Annotated[str | None, Field(max_length=255)] = None
    message_id: Annotated[str | None, Field(max_length=255)] = None


class _CapsuleVersion(_Form):
    version: Number
    change: Annotated[str, Field(max_length=50)]
    title: Annotated[str, Field(max_length=500)]
    content_md: str
    tags: Tags
    metadata: Metadata
    changed_by: Annotated[str | None, Field(max_length=255)] = None
    changed_at: Moment


class _CapsuleForm(_Form):
    id: Annotated[str, Field(pattern=r"^cap_[a-z0-9]{24}$")]
    title: Annotated[str, Field(min_length=1, max_length=500)]
    content_md: Annotated[str, Field(min_length=1)]
    kind: Annotated[str, Field(min_length=1, max_length=50)] = "note"
    tags: Tags = Field(default_factory=list[str])
    project_id: Annotated[str | None, Field(max_length=255)] = None
    source: _Source | None = None
    metadata: Metadata
    version: Number = 1
    created_at: Moment
    updated_at: Moment
    accessed_at: Moment
    deleted_at: Moment | None = None
    cold_at: Moment | None = None
    history: Annotated[list[_CapsuleVersion], Field(max_length=100_000)] = Field(default_factory=list[_CapsuleVersion])


def capsule_form(given: Any) -> dict[str, Any]:
    return checked(_CapsuleForm, given).model_dump()


def checked(form: type[FormT], given: Any) -> FormT:
    try:
        return form.model_validate(given)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise Malformed(f"{place} {first['msg'][:1].lower()}{first['msg'][1:]}.") from None


# ------------------------------------------------------------------- the records of an archive of everything

Visibility = Literal["public", "shared", "private"]
Id = Annotated[str, Field(pattern=r"^[a-z]{2,10}_[a-z0-9]{24}$")]
Short = Annotated[str, Field(max_length=255)]
Name = Annotated[str, Field(max_length=10_000)]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]


class AgentForm(_Form):
    slug: Slug
    name: Name
    context_window: Number
    instructions: Annotated[str, Field(max_length=1_000_000)] = ""
    created_at: Moment


class SpaceForm(_Form):
    """`id` is what its surface calls it: an id, the name of a scope or store, the slug of an agent."""

    kind: Literal[
        "project", "profile", "vault", "workspace", "room", "dm", "scope", "graph", "store", "entity", "global"
    ]
    id: Annotated[str, Field(min_length=1, max_length=255)]
    name: Name = ""
    default: bool = False
    created_at: Moment
    deleted_at: Moment | None = None
    project_id: Id | None = None
    agents: Annotated[list[Slug], Field(max_length=1_000)] = Field(default_factory=list[str])
    entity: dict[Literal["user_id", "agent_id", "app_id", "run_id"], Short | None] | None = None


class _Authored(_Form):
    mine: bool = False
    author: Name | None = None


class VersionForm(_Authored):
    version: Number
    change: Annotated[str, Field(max_length=50)]
    title: Name = ""
    content: str
    summary: str | None = None
    tags: list[Name] = Field(default_factory=list[str])
    metadata: Metadata
    changed_at: Moment


class MemoryForm(_Authored):
    id: Id
    kind: Literal["capsule", "chat", "node", "landmark", "semantic", "entity", "item"]
    type: Short = ""
    title: Name = ""
    content: str
    summary: str | None = None
    tags: Annotated[list[Name], Field(max_length=10_000)] = Field(default_factory=list[str])
    metadata: Metadata
    visibility: Visibility = "private"
    agent: Annotated[str | None, Field(max_length=63)] = None
    run_id: Name = ""
    project_id: Id | None = None
    source_type: Short = "user"
    source_chat_id: Short | None = None
    source_message_id: Short | None = None
    role: Short | None = None
    actor: Name | None = None
    immutable: bool = False
    path: Annotated[str | None, Field(max_length=2_000)] = None
    key: Name | None = None
    version: Number = 1
    superseded_by: Short | None = None
    valid_from: Moment
    valid_to: Moment | None = None
    created_at: Moment
    updated_at: Moment
    accessed_at: Moment
    deleted_at: Moment | None = None
    cold_at: Moment | None = None
    history: Annotated[list[VersionForm], Field(max_length=100_000)] = Field(default_factory=list[VersionForm])


class MessageForm(_Authored):
    id: Id
    client_id: Short | None = None
    speaker: Annotated[str, Field(min_length=1, max_length=10_000)]
    role: Literal["user", "assistant"] | None = None
    agent: Name | None = None
    text: str
    at: Moment
    recorded_at: Moment
    thread_id: Short | None = None
    reply_to: Short | None = None
    visibility: Visibility = "private"
    attachments: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    metadata: Metadata
    follows: Short | None = None
    aside: bool = False


class ThreadForm(_Form):
    id: Id
    title: Name = ""
    message_count: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    opened_at: Moment
    closed_at: Moment | None = None


class ChatForm(_Authored):
    id: Id
    title: Name = ""
    created_at: Moment
    updated_at: Moment
    deleted_at: Moment | None = None
    kind: Literal["chat", "quorum"] = "chat"
    beside: Short | None = None


class DocumentVersionForm(_Authored):
    version: Number
    change: Annotated[str, Field(max_length=50)]
    name: Annotated[str, Field(min_length=1, max_length=255)]
    media_type: Short
    content: str
    size_bytes: Annotated[int, Field(ge=0, le=2**40)]
    changed_at: Moment
    file: Annotated[str | None, Field(max_length=300)] = None


class DocumentForm(_Authored):
    id: Id
    kind: Literal["file", "artifact"]
    name: Annotated[str, Field(min_length=1, max_length=255)]
    media_type: Short
    version: Number
    content: str
    visibility: Visibility = "private"
    metadata: Metadata
    created_at: Moment
    updated_at: Moment
    deleted_at: Moment | None = None
    history: Annotated[list[DocumentVersionForm], Field(min_length=1, max_length=100_000)]


class FactForm(_Authored):
    id: Id
    scope_kind: Literal["user", "project", "room", "global"]
    key: Annotated[str, Field(min_length=1, max_length=255)]
    value: str
    visibility: Visibility = "shared"
    valid_from: Moment
    valid_to: Moment | None = None
    recorded_at: Moment
    superseded_at: Moment | None = None
    source_id: Short | None = None

    @field_validator("value")
    @classmethod
    def _is_json(cls, value: str) -> str:
        json.loads(value)
        return value

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.valid_to is not None and self.valid_to < self.valid_from:
            raise ValueError("valid_to is before valid_from")
        return self


class EdgeForm(_Authored):
    id: Id
    from_id: Id
    to_id: Id
    type: Annotated[str, Field(min_length=1, max_length=255)]
    metadata: Metadata
    valid_from: Moment
    valid_to: Moment | None = None
    created_at: Moment
    deleted_at: Moment | None = None


class SummaryForm(_Form):
    id: Id
    tier: Literal["thread", "session", "day", "week", "compaction"]
    thread_id: Short | None = None
    content: str
    starts_at: Moment
    ends_at: Moment
    message_count: Annotated[int, Field(ge=0, le=1_000_000_000)]
    source_ids: list[Short] = Field(default_factory=list[str])
    visibility: Visibility = "private"
    created_at: Moment
    superseded_at: Moment | None = None


FORMS: Mapping[str, type[BaseModel]] = {
    "agent": AgentForm, "space": SpaceForm, "memory": MemoryForm, "message": MessageForm, "thread": ThreadForm,
    "chat": ChatForm, "document": DocumentForm, "fact": FactForm, "edge": EdgeForm, "summary": SummaryForm,
}  # fmt: skip
