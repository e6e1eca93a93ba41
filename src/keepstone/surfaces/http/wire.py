"""Types at the wire: text that the database can hold, times with a Z, ids of their own form, pages."""

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from types import UnionType
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, Union, cast, get_args, get_type_hints

from fastapi import Depends, Query
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    create_model,
    model_validator,
)
from starlette.convertors import Convertor, register_url_convertor

from keepstone.errors import Malformed
from keepstone.model.ids import KINDS, pattern
from keepstone.model.page import LONGEST_CURSOR, Page, PageRequest, read_cursor

Item = TypeVar("Item")
Out = TypeVar("Out", bound=BaseModel)


_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.IGNORECASE)


def _utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError("is beyond the year 9999, or before the year 1") from None


def read_time(value: Any) -> Any:
    """Text of ISO 8601 as the time that it says; without an offset it is in UTC, and a day is its first moment.
    Whatever else comes is left as it is.
    """
    if not isinstance(value, str) or _ISO.fullmatch(value.strip()) is None:
        return value
    try:
        at = datetime.fromisoformat(value.strip().upper().replace(",", "."))
    except ValueError:
        return value
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


Time = Annotated[
    AwareDatetime,
    BeforeValidator(read_time),
    AfterValidator(_utc),
    PlainSerializer(lambda at: at.isoformat().replace("+00:00", "Z"), return_type=str, when_used="json"),
    Field(json_schema_extra={"format": "date-time"}),
]
Name = Annotated[str, Field(min_length=1, max_length=255)]
Origin = Annotated[Time | None, Field(description="When it was first kept, for what comes from elsewhere.")]
_CLOCKS_DIFFER = timedelta(minutes=5)


def check_supersede(value: Any) -> Any:
    """One fault for what is neither a word nor a list, instead of one for each of the two."""
    listed = cast("list[Any]", value) if isinstance(value, list) else None
    if value in ("auto", "suggest", "off") or (
        listed is not None and len(listed) <= 100 and all(isinstance(name, str) and len(name) <= 255 for name in listed)
    ):
        return cast("Any", value)
    raise ValueError('must be "auto", "suggest", "off", or a list of at most 100 ids')


Supersede = Annotated[
    Literal["auto", "suggest", "off"] | Annotated[list[Annotated[str, Field(max_length=255)]], Field(max_length=100)],
    BeforeValidator(check_supersede),
    Field(
        description="What it does to older ones: `auto` supersedes what it surely takes the place of, `suggest` only "
        "names that in `may_supersede`, `off` looks for nothing; a list of ids supersedes these and no others."
    ),
]
MaySupersede = Annotated[
    list[str],
    Field(description="Older ones that it may take the place of. They still hold: name them to supersede them."),
]
# Both only where it was there already: what is new is shown as ever.
Existing = Annotated[bool, Field(description="It was there already.", exclude_if=lambda existing: not existing)]
Added = Annotated[
    dict[str, Any] | None,
    Field(
        description="With `existing`: what came new with it and was added, of tags, its kind, metadata, its source.",
        exclude_if=lambda added: added is None,
    ),
]


class Wire(BaseModel):
    """What comes in. A field that we don't know is a fault, not a wish unheard."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        refuse_unstorable(value, ())
        return value


class Shown(BaseModel):
    """What goes out, read from a model dataclass."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, source: object, /, **more: Any) -> Self:
        """The fields as `source` has them, under their `validation_alias` if they have one; `more` goes before."""
        names = {field: str(info.validation_alias or field) for field, info in cls.model_fields.items()}
        values = {name: getattr(source, name) for name in names.values() if hasattr(source, name)}
        return cls(**values | {names[field]: value for field, value in more.items()})


def fields_of(source: type, names: str) -> type[Shown]:
    """A model of these fields of a dataclass, in this order, to be a class's base: their types are declared there once.
    The class declares again those that have a description, a default or another type at the wire.
    """
    fields: dict[str, Any] = {name: (_at_the_wire(_declared_type(source, name)), ...) for name in names.split()}
    return create_model(f"{source.__name__}Fields", __base__=Shown, **fields)


def _declared_type(source: type, name: str) -> Any:
    computed = getattr(source, name, None)
    return get_type_hints(computed.fget)["return"] if isinstance(computed, property) else get_type_hints(source)[name]


def _at_the_wire(kind: Any) -> Any:
    if isinstance(kind, UnionType):
        return Union[tuple(map(_at_the_wire, get_args(kind)))]  # noqa: UP007  of parts known only now
    return Time if kind is datetime else kind


class PageOut(BaseModel, Generic[Item]):
    items: list[Item]
    next_cursor: str | None = Field(description="Pass it as `cursor` to get what comes next.")
    has_more: bool


def show_page(page: Page[Any], show: Callable[[Any], Out]) -> PageOut[Out]:
    return PageOut[Out](
        items=[show(item) for item in page.items],
        next_cursor=page.next_cursor,
        has_more=page.next_cursor is not None,
    )


async def page_request(
    limit: Annotated[int, Query(ge=1, le=200, description="How many at most.")] = 50,
    cursor: Annotated[
        str | None, Query(max_length=LONGEST_CURSOR, description="`next_cursor` of the page before.")
    ] = None,
) -> PageRequest:
    return PageRequest(limit=limit, after=read_cursor(cursor) if cursor else None)


Paging = Annotated[PageRequest, Depends(page_request)]


def refuse_unstorable(value: Any, path: Sequence[str | int]) -> None:
    """NUL and lone surrogates are no text, and NaN is no number; say so here instead of letting the database."""
    if isinstance(value, str):
        if not _is_storable(value):
            where = ".".join(map(str, path)) or "the value"
            raise ValueError(f"{where} holds a NUL character or half a surrogate pair: remove it")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{'.'.join(map(str, path)) or 'the value'} is no number that JSON has")
    elif isinstance(value, dict):
        for key, item in cast("dict[Any, Any]", value).items():
            refuse_unstorable(key, (*path, "(a key)"))
            refuse_unstorable(item, (*path, str(key)[:80]))
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            refuse_unstorable(item, (*path, index))


def _is_storable(text: str) -> bool:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return "\0" not in text


def refuse(name: str, value: str | None) -> None:
    """The same for what comes in the query of an address."""
    try:
        refuse_unstorable(value, (name,))
    except ValueError as fault:
        raise Malformed(f"{fault}.", details=[{"path": f"query.{name}", "message": str(fault)}]) from None


def refuse_future(path: str, at: datetime | None, now: datetime) -> None:
    """What is kept was made before that."""
    if at is not None and at > now + _CLOCKS_DIFFER:
        raise Malformed(f"{path} is in the future.", details=[{"path": path, "message": "is in the future"}])


def register_id(name: str, form: str) -> None:
    """From here on `{key_id:NAME}` in a path matches this form and nothing else, so `/tags` never reads as an id."""

    class IdConvertor(Convertor[str]):
        regex = form

        def convert(self, value: str) -> str:
            return value

        def to_string(self, value: str) -> str:
            return value

    register_url_convertor(name, IdConvertor())


# Routes are declared when their modules are imported, and need the convertors then.
for _kind in KINDS:
    register_id(_kind, pattern(_kind))
# All that is left of an address; of the framework's own `path` no part may have a line break.
register_id("rest", r"(?s:.*)")
