"""What an archive may hold, checked before anything is made of it: whoever wrote the file, it is somebody's input."""

from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

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
