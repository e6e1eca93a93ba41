"""Filters as this client sends them: JSON with AND, OR and NOT, and comparisons by the name of an operator.

An id in a filter is that id and no pattern. A filter has to say whose memories it means, so that nobody who mistypes it
is shown everybody's.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, cast, get_args

from keepstone.errors import Invalid
from keepstone.model.entity import (
    ID_FIELDS,
    Comparison,
    Either,
    Every,
    Field,
    Filter,
    IdField,
    Moment,
    Never,
    Operator,
    names_somebody,
)

DEEPEST, MOST = 10, 200
MOST_SEARCHES = 10  # comparisons that read through every text: a memory may have a megabyte
LONGEST_ID = 255
_OPERATORS: tuple[Operator, ...] = get_args(Operator)
_FIELDS: dict[str, Field] = {
    **{name: name for name in ID_FIELDS}, "created_at": "created_at", "updated_at": "updated_at",
    "timestamp": "created_at", "categories": "categories", "keywords": "memory", "memory": "memory", "text": "memory",
    "memory_ids": "id", "id": "id",
}  # fmt: skip
# The npm client sends filters as they were written, which in JavaScript is this way.
_CAMEL: dict[str, Field] = {
    "userId": "user_id", "agentId": "agent_id", "appId": "app_id", "runId": "run_id", "createdAt": "created_at",
    "updatedAt": "updated_at", "memoryIds": "id",
}  # fmt: skip
_ALLOWED: dict[Field, tuple[Operator, ...]] = {
    **dict.fromkeys(ID_FIELDS, ("eq", "ne", "in")),
    "created_at": ("eq", "ne", "gt", "gte", "lt", "lte"),
    "updated_at": ("eq", "ne", "gt", "gte", "lt", "lte"),
    "categories": ("eq", "ne", "in", "contains", "icontains"),
    "memory": ("eq", "ne", "contains", "icontains"),
    "id": ("eq", "ne", "in"),
    "metadata": _OPERATORS,
}


def read_filters(given: Mapping[str, Any] | None, *more: Filter) -> Filter:
    """The filter, and what else was asked for beside it. Raises when it doesn't say whose memories are meant."""
    read = Every((_every(given or {}, "filters", DEEPEST, _Budget()), *more))
    if not names_somebody(read):
        raise Invalid(
            "Say whose memories are meant: filters needs user_id, agent_id, app_id or run_id, in each branch of an OR, "
            'such as {"user_id": "anna"}.'
        )
    return read


def check_id(name: str, value: Any) -> str:
    """An id that somebody gave: any text but a pattern."""
    if not isinstance(value, str) or not value.strip():
        raise Invalid(f"{name} has to be a text that is not empty.")
    if value.strip() == "*":
        raise Invalid(f"{name}: '*' is no wildcard here, and no id. Name the one that is meant.")
    if len(value) > LONGEST_ID:
        raise Invalid(f"{name} has more than {LONGEST_ID} characters.")
    return value


def read_moment(name: str, value: Any) -> Moment:
    """A day as YYYY-MM-DD, a time in ISO 8601, or seconds since 1970; without a zone it is UTC."""
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, int | float):
            return Moment(start=datetime.fromtimestamp(value, UTC))
        if len(value) == 10:
            start = datetime.combine(date.fromisoformat(value), time(), UTC)
            return Moment(start=start, end=start + timedelta(days=1))
        at = datetime.fromisoformat(value)
        return Moment(start=at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC))
    except (TypeError, ValueError, OverflowError, OSError):
        raise Invalid(f"{name} has to be a day (2026-01-31), a time in ISO 8601, or seconds since 1970.") from None


class _Budget:
    """How many comparisons were read: nobody needs hundreds."""

    def __init__(self) -> None:
        self._left, self._searches_left = MOST, MOST_SEARCHES

    def take(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Invalid(f"filters has more than {MOST} comparisons: 'in' takes a list of values.")

    def take_search(self, operator: Operator) -> None:
        self._searches_left -= operator in {"contains", "icontains"}
        if self._searches_left < 0:
            raise Invalid(
                f"filters has more than {MOST_SEARCHES} comparisons with 'contains' or 'icontains', and each reads all "
                "texts: ask for less at once, or search with a query."
            )


def _every(given: Mapping[str, Any], path: str, depth: int, budget: _Budget) -> Every:
    """The pairs of an object hold together."""
    if depth == 0:
        raise Invalid(f"filters is nested more than {DEEPEST} deep.")
    return Every(tuple(_pair(name, value, f"{path}.{name}", depth, budget) for name, value in given.items()))


def _pair(name: str, value: Any, path: str, depth: int, budget: _Budget) -> Filter:
    budget.take()
    if name in {"AND", "OR", "NOT"}:
        parts = _parts(value, path, depth, budget)
        # What NOT lists is unwanted, each by itself.
        return Every(parts) if name == "AND" else Either(parts) if name == "OR" else Never(Either(parts))
    if name == "metadata":
        return _metadata(value, path, budget)
    field = _FIELDS.get(name) or _CAMEL.get(name)
    if field is None:
        known = ", ".join([*_FIELDS, "metadata", "AND", "OR", "NOT"])
        raise Invalid(f"{path} is not known: use {known}. A key of your own is asked for under metadata.")
    compared: list[Filter] = []
    for operator, operand in _operators(value, path, _ALLOWED[field], listed="in"):
        budget.take_search(operator)
        compared.append(Comparison(field=field, operator=operator, value=_value(field, operator, operand, path)))
    return Every(tuple(compared))


def _parts(value: Any, path: str, depth: int, budget: _Budget) -> tuple[Filter, ...]:
    listed = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not listed or not all(isinstance(part, dict) and len(cast("dict[str, Any]", part)) > 0 for part in listed):
        raise Invalid(f"{path} has to be a list of conditions.")
    return tuple(
        _every(cast("dict[str, Any]", part), f"{path}.{number}", depth - 1, budget)
        for number, part in enumerate(listed)
    )


def _metadata(value: Any, path: str, budget: _Budget) -> Filter:
    if not isinstance(value, dict):
        raise Invalid(f'{path} has to be an object, such as {{"team": "backend"}}.')
    filters: list[Filter] = []
    for key, operand in cast("dict[str, Any]", value).items():
        for operator, against in _operators(operand, f"{path}.{key}", _OPERATORS, listed=None):
            budget.take()
            budget.take_search(operator)
            if operator == "icontains" and not isinstance(against, str):
                raise Invalid(f"{path}.{key}.icontains has to be a text.")
            filters.append(Comparison(field="metadata", operator=operator, value=against, path=(key,)))
    return Every(tuple(filters))


def _operators(
    value: Any, path: str, allowed: tuple[Operator, ...], *, listed: Operator | None
) -> list[tuple[Operator, Any]]:
    """`{"gte": 1, "lt": 5}`, or a bare value; a bare list means any of it, where that is said."""
    given = cast("dict[str, Any]", value) if isinstance(value, dict) else None
    if given is None:
        named: list[tuple[Operator, Any]] = [(listed if listed and isinstance(value, list) else "eq", value)]
    elif given and all(name in _OPERATORS for name in given):
        named = [(cast("Operator", name), operand) for name, operand in given.items()]
    elif listed is None and not any(name in _OPERATORS for name in given):
        named = [("eq", given)]  # an object in the metadata, compared as one
    else:
        raise Invalid(f"{path} has an operator that is not known: use {', '.join(allowed)}.")
    for operator, against in named:
        if operator not in allowed:
            raise Invalid(f"{path} can't be compared with '{operator}': use {', '.join(allowed)}.")
        if operator == "in" and (not isinstance(against, list) or len(cast("list[Any]", against)) > 1_000):
            raise Invalid(f"{path}.in has to be a list of at most 1000 values.")
    return named


def _value(field: Field, operator: Operator, value: Any, path: str) -> Any:
    if field in {"created_at", "updated_at"}:
        return read_moment(path, value)
    check: Callable[[Any], Any] = (lambda text: check_id(path, text)) if field in ID_FIELDS else (
        lambda text: _a_text(path, text)
    )  # fmt: skip
    if operator == "in":
        return [check(text) for text in value]
    return None if value is None and field in ID_FIELDS else check(value)


def _a_text(path: str, value: Any) -> str:
    if not isinstance(value, str):
        raise Invalid(f"{path} has to be a text.")
    return value


def of_ids(ids: Mapping[IdField, str | None]) -> Filter:
    """What belongs to all of these."""
    return Every(
        tuple(Comparison(field=name, operator="eq", value=value) for name, value in ids.items() if value is not None)
    )
