"""From JSON to frozen dataclasses. Fields that are not known are left alone, so a newer server can say more.

A field that has another name on the wire says so: `field(metadata={"wire": "from"})`.
"""

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from keepstone_client.errors import UnexpectedAnswer

T = TypeVar("T")
Decoder = Callable[[Any, str], Any]


def decode(kind: type[T], value: Any) -> T:
    return cast("T", decoder(cast("Any", kind))(value, "answer"))


def decode_all(kind: type[T], value: Any) -> tuple[T, ...]:
    return cast("tuple[T, ...]", _many(decoder(cast("Any", kind)))(value, "answer"))


@cache
def decoder(kind: Any) -> Decoder:  # noqa: PLR0911 (a table of kinds)
    """What reads a value of this type; the second argument of it is where the value stands, for the error."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value, _: value
    if kind in {str, int, bool, float}:
        return _plain(kind)
    if kind in {datetime, date}:
        return _time(kind)
    if origin in {Union, UnionType}:
        (one,) = [each for each in inner if each is not NoneType]
        read = decoder(one)
        return lambda value, where: None if value is None else read(value, where)
    if origin is tuple:
        return _many(decoder(inner[0]))
    if origin is dict:
        return _mapping(decoder(inner[1]))
    if is_dataclass(kind) and isinstance(kind, type):
        return _record(kind)
    raise TypeError(f"{kind} can't be read from JSON")


def _plain(kind: Any) -> Decoder:
    taken = (int, float) if kind is float else kind

    def read(value: Any, where: str) -> Any:
        if not isinstance(value, taken) or (isinstance(value, bool) and kind is not bool):
            raise _wrong(where, kind.__name__)
        return value

    return read


def _time(kind: Any) -> Decoder:
    def read(value: Any, where: str) -> Any:
        try:
            return kind.fromisoformat(value)
        except (TypeError, ValueError):
            raise _wrong(where, kind.__name__) from None

    return read


def _many(read: Decoder) -> Decoder:
    def read_all(value: Any, where: str) -> Any:
        if not isinstance(value, list):
            raise _wrong(where, "list")
        return tuple(read(one, f"{where}[]") for one in cast("list[Any]", value))

    return read_all


def _mapping(read: Decoder) -> Decoder:
    def read_all(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(where, "object")
        return {name: read(one, f"{where}.{name}") for name, one in cast("dict[str, Any]", value).items()}

    return read_all


def _record(kind: type[Any]) -> Decoder:
    hints = get_type_hints(kind)
    known = [(item, str(item.metadata.get("wire", item.name)), decoder(hints[item.name])) for item in fields(kind)]

    def read(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(where, "object")
        held = cast("dict[str, Any]", value)
        found: dict[str, Any] = {}
        for item, wire, of_field in known:
            if wire in held:
                found[item.name] = of_field(held[wire], f"{where}.{wire}")
            elif item.default is MISSING and item.default_factory is MISSING:
                raise _wrong(f"{where}.{wire}", "there")
        return kind(**found)

    return read


def _wrong(where: str, wanted: str) -> UnexpectedAnswer:
    return UnexpectedAnswer(
        "unexpected_answer", f"{where} is not {wanted}: the server does not fit this version of the client."
    )
