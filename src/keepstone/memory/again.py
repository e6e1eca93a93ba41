"""The same kept again: what comes with it and is new (tags, a kind, metadata, where it is from) is added to the memory
that is there, as another version. Nothing that it has is lost: what it said before is in its history.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from keepstone.memory import shelf
from keepstone.memory.kinds import Kind, Prepared, check_metadata
from keepstone.model.memory import Memory, MemoryT
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store.db import Connection

SOURCES = "sources"  # in the metadata: where else it was kept from
_MOST_SOURCES = 20


async def add_to(
    conn: Connection, services: Services, principal: Principal, kind: Kind[MemoryT], known: MemoryT, new: MemoryT, *,
    type_name: str, usual: str, check: Callable[[MemoryT], None] = lambda memory: check_metadata(memory.metadata),
) -> tuple[MemoryT, dict[str, Any]]:  # fmt: skip
    """The memory as it is from now on, and what was added, by the names its users know: `type_name` is what they call
    its kind, `usual` the one that it has when nobody says. The space is held, and the caller may change it.
    """
    added: dict[str, Any] = {}
    tags = [tag for tag in new.tags if tag not in known.tags]
    if tags:
        added["tags"] = tags
    if new.type not in {"", usual, known.type}:
        added[type_name] = new.type
    same = {name for name, value in known.metadata.items() if name in new.metadata and new.metadata[name] == value}
    told = {name: value for name, value in new.metadata.items() if name not in same}
    if told:
        added["metadata"] = told
    columns: dict[str, Any] = {"tags": [*known.tags, *tags], "type": added.get(type_name, known.type)}
    columns["metadata"] = known.metadata | told
    if where := with_sources(replace(known, metadata=columns["metadata"]), new, further=False):
        added["source"] = _source(new)
        columns |= where
    if not added:
        return known, {}
    after = kind.complete(replace(known, **columns, updated_at=services.clock()))
    check(after)
    written = await shelf.rewrite(
        conn, services, principal, kind, known, Prepared(after, None), fields=",".join(sorted(added))
    )
    return written, added


def with_sources(known: Memory, new: Memory, *, further: bool = True) -> dict[str, Any]:
    """The columns that say where it is from, if it is also from where the other is; nothing if that is known.
    `further`: also from where else the other is from.
    """
    first, *later = _sources(known)
    for source in _sources(new) if further else [_source(new)]:
        if source and not first:
            first = source
        elif source and source not in (first, *later):
            later.append(source)
    columns: dict[str, Any] = {}
    if first != _source(known):
        columns = {"source_chat_id": first.get("chat_id"), "source_message_id": first.get("message_id")}
    if later != _sources(known)[1:]:
        columns["metadata"] = known.metadata | {SOURCES: later[-_MOST_SOURCES:]}
    return columns


def told_as(added: dict[str, Any]) -> str:
    """For a model: which of it is new."""
    return f" Added to it: {', '.join(added)}." if added else ""


def _source(memory: Memory) -> dict[str, str]:
    given = {"chat_id": memory.source_chat_id, "message_id": memory.source_message_id}
    return {name: value for name, value in given.items() if value}


def _sources(memory: Memory) -> list[dict[str, str]]:
    """The first, then those that came later; whatever else somebody put there is none."""
    return [_source(memory), *sources_in(memory)]


def sources_in(memory: Memory) -> list[dict[str, str]]:
    """Those that stand in its metadata."""
    later = memory.metadata.get(SOURCES)
    listed = cast("list[Any]", later) if isinstance(later, list) else []
    return [source for source in listed if isinstance(source, dict)]
