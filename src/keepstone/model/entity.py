"""Entities: users, agents, apps and runs that a caller names, what is remembered for them, and filters over that."""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal

from keepstone.model.memory import Memory

EntityType = Literal["user", "agent", "app", "run"]
Event = Literal["created", "updated", "known"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """Whose a memory is: at least one of them. They are the caller's own, and no users of ours."""

    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMemory(Memory):
    """`role` and `actor` are those of the message that it was taken from. At `valid_to` it is no longer found."""

    for_user: str | None = None
    for_agent: str | None = None
    for_app: str | None = None
    for_run: str | None = None

    @property
    def expires_on(self) -> date | None:
        """The last day on which it is found."""
        return None if self.valid_to is None else (self.valid_to - timedelta(microseconds=1)).date()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    type: EntityType
    name: str
    memories: int
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMessage:
    """A message out of which something is to be remembered."""

    role: str
    content: str
    name: str | None = None


# ----------------------------------------------------------------------------------------------------- filters

IdField = Literal["user_id", "agent_id", "app_id", "run_id"]
Field = Literal[IdField, "created_at", "updated_at", "categories", "memory", "id", "metadata"]
Operator = Literal["eq", "ne", "in", "gt", "gte", "lt", "lte", "contains", "icontains"]
ID_FIELDS: tuple[IdField, ...] = ("user_id", "agent_id", "app_id", "run_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A time in a filter: an instant, or a whole day from `start` to `end`."""

    start: datetime
    end: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One comparison. `path` leads to a value inside of the metadata."""

    field: Field
    operator: Operator
    value: Any
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Every:
    parts: "tuple[Filter, ...]"


@dataclass(frozen=True, slots=True)
class Either:
    parts: "tuple[Filter, ...]"


@dataclass(frozen=True, slots=True)
class Never:
    part: "Filter"


Filter = Comparison | Every | Either | Never
EVERYTHING = Every(())


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityFilter:
    """Which memories are meant; those that have expired only if they are asked for."""

    filter: Filter = field(default=EVERYTHING)
    expired: bool = False


def only_ids(condition: Filter) -> bool:
    """Whether it asks for nothing but whose a memory is."""
    match condition:
        case Comparison():
            return condition.field in ID_FIELDS
        case Never():
            return only_ids(condition.part)
        case Every() | Either():
            return all(map(only_ids, condition.parts))


def names_somebody(condition: Filter) -> bool:
    """Whether whatever passes belongs to an entity that the filter names."""
    match condition:
        case Comparison():
            return condition.field in ID_FIELDS and condition.operator in {"eq", "in"} and condition.value is not None
        case Never():
            return False
        case Every():
            return any(map(names_somebody, condition.parts))
        case Either():
            return bool(condition.parts) and all(map(names_somebody, condition.parts))


def ids_alone(condition: Filter) -> Filter:
    """What it asks of the ids: everything that passes the filter passes this."""
    match condition:
        case Comparison():
            return condition if condition.field in ID_FIELDS else EVERYTHING
        case Never():
            return condition if only_ids(condition) else EVERYTHING
        case Every():
            return Every(tuple(map(ids_alone, condition.parts)))
        case Either():
            return Either(tuple(map(ids_alone, condition.parts)))
