"""Stores: values under a namespace and a key, as agent frameworks keep them; what is asked of them, and which of their
texts are searched.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, cast

from keepstone.errors import Conflict, Malformed, TooLarge
from keepstone.model.memory import Memory, Version

LARGEST = 1024 * 1024  # bytes of a value as JSON
DEEPEST = 100
LONGEST_NAMESPACE = 1_024  # bytes, all labels together
BETWEEN = "\x1f"  # follows each label where a namespace is written as one text

Index = Literal[False] | list[str] | None
Change = Literal["created", "updated", "deleted", "restored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(Memory):
    """Its content is the value as JSON, the keys in the order they came in; its metadata says which fields are
    searched, and how long it lasts after it was last read.
    """

    @property
    def namespace(self) -> list[str]:
        return [label for label in (self.path or "").split(BETWEEN) if label]

    @property
    def value(self) -> dict[str, Any]:
        return json.loads(self.content)

    @property
    def index(self) -> Index:
        return self.metadata.get("index")

    @property
    def ttl_seconds(self) -> float | None:
        return self.metadata.get("ttl_seconds")

    @property
    def expires_at(self) -> datetime | None:
        return self.valid_to

    def expired(self, now: datetime) -> bool:
        return self.valid_to is not None and self.valid_to <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemVersion(Version):
    @property
    def value(self) -> dict[str, Any]:
        return json.loads(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    name: str
    item_count: int
    size_bytes: int
    created_at: datetime


# ------------------------------------------------------------------------------------------------ what is asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """`if_version`: only over this version; 0: only if there is none."""

    namespace: Sequence[str]
    key: str
    value: Mapping[str, Any]
    index: Index = None
    ttl_seconds: float | None = None
    if_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Get:
    namespace: Sequence[str]
    key: str
    refresh_ttl: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    namespace: Sequence[str]
    key: str
    if_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Without a query: what is in these namespaces and passes, changed last first."""

    prefix: Sequence[str] = ()
    query: str | None = None
    filter: Mapping[str, Any] = field(default_factory=dict[str, Any])
    limit: int = 10
    offset: int = 0
    min_relevance: float | None = None
    refresh_ttl: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ListNamespaces:
    """A `*` in prefix or suffix stands for any one label. Deeper ones are shown cut off at `max_depth`."""

    prefix: Sequence[str] = ()
    suffix: Sequence[str] = ()
    max_depth: int | None = None
    limit: int = 100
    offset: int = 0


Operation = Put | Get | Delete | Search | ListNamespaces


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundItem:
    item: Item
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundItems:
    items: list[FoundItem]
    degraded: str | None = None


Outcome = Item | FoundItems | list[list[str]] | None


# ------------------------------------------------------------------------------------------------------ address


def joined(namespace: Sequence[str]) -> str:
    """As one text, of which what lies below begins with what lies above."""
    return "".join(label + BETWEEN for label in namespace)


def address(namespace: Sequence[str], key: str) -> bytes:
    """A store has one item at each."""
    return hashlib.sha256(json.dumps([list(namespace), key]).encode()).digest()


def check_namespace(namespace: Sequence[str]) -> None:
    if any(not label or BETWEEN in label for label in namespace):
        raise _fault("namespace", "has an empty label, or one with a control character")
    if len(joined(namespace).encode()) > LONGEST_NAMESPACE:
        raise _fault("namespace", "has more than 1 KB, all labels together")


def written(value: Mapping[str, Any]) -> str:
    """As it is kept. Refuses what is too large or too deep."""
    if _depth(value) > DEEPEST:
        raise _fault("value", "is nested too deeply")
    text = json.dumps(value, ensure_ascii=False)
    if len(text.encode()) > LARGEST:
        raise TooLarge("The value has more than 1 MB: keep it in parts.", code="item_too_large")
    return text


def check_version(wanted: int | None, live: Item | None) -> None:
    """Refuse to change an item that is not at the version that was wanted."""
    version = live.version if live else 0
    if wanted is not None and wanted != version:
        told = f"it is at version {version}" if live else "it is not there"
        raise Conflict(
            f"Somebody changed this item meanwhile: {told}. Get it, and put again with if_version {version}.",
            code="version_conflict",
            details={"version": version},
        )


def expires(now: datetime, ttl_seconds: float | None) -> datetime | None:
    return None if ttl_seconds is None else now + timedelta(seconds=ttl_seconds)


def _depth(value: object) -> int:
    """How deep it goes, as far as it matters."""
    deepest, layer = 0, [value]
    while layer and deepest <= DEEPEST:
        deepest += 1
        layer = [part for outer in layer for part in _parts(outer)]
    return deepest


def _parts(value: object) -> Sequence[object]:
    if isinstance(value, Mapping):
        return list(cast("Mapping[str, object]", value).values())
    return cast("list[object]", value) if isinstance(value, list) else ()


# -------------------------------------------------------------------------------------------------------- texts

_STEP = re.compile(r"\[(?P<at>\*|-?\d{1,9})\]|\{(?P<several>[^{}]*)\}|(?P<name>[^.\[\]{}]+)|\.")


def texts_of(value: Mapping[str, Any], index: Index) -> list[str]:
    """What of a value is searched: all its text as one, or that of each of these paths, or nothing."""
    if index is False:
        return []
    if index is None:
        return [text] if (text := _words(value)) else []
    texts = [_words(part) for path in index for part in _at(value, _steps(path))]
    return [text for text in dict.fromkeys(texts) if text]


def check_index(value: Mapping[str, Any], index: Index) -> None:
    """Refuses paths that can't be read, and those that name the same text again and again."""
    size = 0
    for path in index or []:
        for part in _at(value, _steps(path)):
            size += len(_words(part))
            if size > 2 * LARGEST:
                raise _fault("index", "names more than 2 MB of text in all: name each part once")


def _steps(path: str) -> list[re.Match[str]]:
    """`a.b`, `a[0]`, `a[-1]`, `a[*].b`, `a.*`, `a.{b,c}`; `$` is the whole."""
    steps, end = list[re.Match[str]](), 0
    while end < len(path):
        step = _STEP.match(path, end)
        if step is None:
            raise _fault("index", "has a path that can't be read: write it as a.b, a[0].b or a[*].b")
        if step.lastgroup is not None:
            steps.append(step)
        end = step.end()
    return steps


def _at(value: object, steps: Sequence[re.Match[str]]) -> list[object]:
    if not steps or steps[0][0] == "$":
        return [value]
    return [part for outer in _next(value, steps[0]) for part in _at(outer, steps[1:])]


def _next(value: object, step: re.Match[str]) -> Sequence[object]:
    if isinstance(value, list):
        several = cast("list[object]", value)
        if step[0] in ("[*]", "*"):
            return several
        if step["at"] is None or not -len(several) <= int(step["at"]) < len(several):
            return ()
        return [several[int(step["at"])]]
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        if step[0] == "*":
            return list(fields.values())
        names = [name.strip() for name in step["several"].split(",")] if step["several"] is not None else [step["name"]]
        # Each field once: a path leads to no more parts than there are.
        return [fields[name] for name in dict.fromkeys(names) if name in fields]
    return ()


def _words(value: object) -> str:
    """The words of it: of one text just that, of several each with the name of its field."""
    leaves = list[tuple[str, str]]()

    def collect(name: str, field: object) -> None:
        if isinstance(field, Mapping):
            for key, part in cast("Mapping[str, object]", field).items():
                collect(key, part)
        elif isinstance(field, list):
            for part in cast("list[object]", field):
                collect(name, part)
        elif isinstance(field, str | int | float) and not isinstance(field, bool) and str(field).strip():
            leaves.append((name, str(field)))

    collect("", value)
    if len(leaves) == 1:
        return leaves[0][1]
    return "\n".join(f"{name}: {text}" if name else text for name, text in leaves)


# ------------------------------------------------------------------------------------------------------- filter

COMPARISONS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
MOST_CONDITIONS = 100


def conditions_of(wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A filter as conditions that hold together: path, comparison, operand."""
    conditions = list[dict[str, Any]]()

    def read(path: list[str], asked: object) -> None:
        if len(path) > DEEPEST or len(conditions) > MOST_CONDITIONS:
            raise _fault("filter", "has more conditions, or goes deeper, than is looked at")
        inner = cast("Mapping[str, object]", asked) if isinstance(asked, Mapping) else dict[str, object]()
        compared = [name for name in inner if name.startswith("$")]
        if compared and len(compared) < len(inner):
            raise _fault("filter", "has comparisons and names of fields side by side: give one or the other")
        if not inner:
            conditions.append({"path": path, "comparison": "$eq", "operand": asked})
        for name, operand in inner.items():
            if not compared:
                read([*path, name], operand)
            elif name not in COMPARISONS:
                raise _fault("filter", f"knows {', '.join(COMPARISONS)} and no other comparison")
            elif name not in ("$eq", "$ne") and (
                isinstance(operand, bool) or not isinstance(operand, str | int | float)
            ):
                raise _fault("filter", f"can't compare with {name} to what is no number and no text")
            else:
                conditions.append({"path": path, "comparison": name, "operand": operand})

    for name, asked in wanted.items():
        if name.startswith("$"):
            raise _fault("filter", "begins with the names of fields, and comparisons stand below them")
        read([name], asked)
    return conditions


def _fault(path: str, message: str) -> Malformed:
    return Malformed(f"{path} {message}.", details=[{"path": path, "message": message}])
