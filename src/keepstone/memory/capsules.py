"""Capsules: what a person keeps on purpose, in their own vault and within the capacity of their plan.

Looking for them is in `capsule_search`, the views over all of them in `capsule_views`, taking them elsewhere in
`capsule_archive`.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from keepstone.access.audit import record
from keepstone.access.meter import try_model
from keepstone.access.plans import quota_exceeded, room_of
from keepstone.access.readscope import account_scope, inside
from keepstone.access.require import require_found, require_user
from keepstone.engine import curate as engine
from keepstone.engine.keyphrases import tags
from keepstone.engine.rank import normalised
from keepstone.engine.segments import SpokenMessage
from keepstone.engine.titles import title as title_of
from keepstone.engine.titles import title_by_model
from keepstone.errors import TooLarge
from keepstone.memory import shelf
from keepstone.memory.again import add_to
from keepstone.memory.capsule_search import similar_to
from keepstone.memory.capsule_words import meant
from keepstone.memory.kinds import Kind
from keepstone.memory.projects import require_project
from keepstone.memory.shelf import Finder
from keepstone.model.capsule import (
    LARGEST,
    LARGEST_CONTENT,
    OVERHEAD,
    USUAL_KIND,
    Capsule,
    NewCapsule,
    Similar,
    size_of,
)
from keepstone.model.memory import json_bytes, restorable_since
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import capsules as store
from keepstone.store import memories
from keepstone.store.db import Connection

State = Literal["live", "trash", "cold"]
_TITLED = 1_000  # characters at the beginning, where a title that was made is from
UNTITLED = "Untitled"  # what has no words at all
_PUSHED_OUT = 200  # at most this many go to the cold tier for one that comes
_COLUMNS = {"content_md": "content", "kind": "type"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """`similar` are capsules of the last week that say nearly the same: merge them? `existing`: it was there already,
    and `added` is what came new with it.
    """

    capsule: Capsule
    similar: list[Similar]
    existing: bool = False
    added: dict[str, Any] = field(default_factory=dict[str, Any])


async def create(services: Services, principal: Principal, new: NewCapsule) -> Created:
    """Keep it. Exactly the same again is the one that is there already, with what came new beside it: without a title,
    whatever title that has.
    """
    check_capsule(new.title or "", new.content_md, new.tags, new.metadata)
    capsule = CAPSULES.new(
        services.clock(), title=new.title or await make_title(services, principal, new.content_md),
        content=new.content_md, type=new.kind, tags=_distinct(new.tags), project_id=new.project_id,
        source_chat_id=new.chat_id, source_message_id=new.message_id, metadata=new.metadata,
    )  # fmt: skip
    prepared = await shelf.prepare(services, CAPSULES, capsule)
    async with services.db.transaction(account_scope(principal)) as conn:
        project = await require_project(conn, principal, new.project_id)
        named = {"project_name": project.name if project else None}
        prepared = prepared.moved(space=(await hold_vault(conn, principal)).space, **named)
        known = await shelf.twins(conn, CAPSULES, prepared.memory)
        twin = next((capsule for capsule in known if new.title in (None, capsule.title)), None)
        if twin is not None:
            twin, added = await add_to(
                conn, services, principal, CAPSULES, twin, capsule, type_name="kind", usual=USUAL_KIND,
                check=lambda after: check_capsule(after.title, after.content, after.tags, after.metadata),
            )  # fmt: skip
            return Created(capsule=twin, similar=[], existing=True, added=added)
        since = capsule.created_at - timedelta(days=7)
        similar = await similar_to(
            conn, services, principal, prepared.memory.space, prepared.first, since=since
        )  # fmt: skip
        return Created(capsule=await shelf.keep(conn, services, principal, CAPSULES, prepared), similar=similar)


async def get(services: Services, principal: Principal, capsule_id: str) -> Capsule:
    async with services.db.transaction(account_scope(principal)) as conn:
        [kept] = await finder(principal, capsule_id)(conn)
        capsule = CAPSULES.live(kept)
        await memories.touch(conn, [capsule.id])
    return capsule


async def list_capsules(
    services: Services, principal: Principal, wanted: store.CapsuleFilter, page: PageRequest, *, skip: int = 0
) -> Page[Capsule]:
    """The newest first. Of the first page so many are skipped."""
    async with services.db.transaction(account_scope(principal)) as conn:
        wanted = await meant(conn, principal, wanted)
        vault = await look_into_vault(conn, principal)
        if skip and page.after is None:
            last = await store.place_of(conn, vault.space, wanted, skip)
            if last is None:
                return Page(items=[], next_cursor=None)
            page = replace(page, after=last)
        return await store.page(conn, vault.space, wanted, page)


async def list_put_away(services: Services, principal: Principal, page: PageRequest, *, cold: bool) -> Page[Capsule]:
    """What is in the trash, or in the cold tier."""
    async with services.db.transaction(account_scope(principal)) as conn:
        return await page_of(conn, services, principal, "cold" if cold else "trash", page)


async def update(services: Services, principal: Principal, capsule_id: str, changes: Mapping[str, Any]) -> Capsule:
    """Change the given fields; what it was stays in its history."""
    named: dict[str, Any] = {}

    async def find(conn: Connection) -> Sequence[Capsule]:
        project = await require_project(conn, principal, changes.get("project_id"))
        if "project_id" in changes:
            named["project_name"] = project.name if project else None
        return await finder(principal, capsule_id)(conn)

    return await shelf.change(
        services, principal, CAPSULES, find, lambda capsule: changed(replace(capsule, **named), changes),
        fields=",".join(sorted(changes)),
    )  # fmt: skip


async def delete(services: Services, principal: Principal, capsule_id: str) -> None:
    """Into the trash, where it stays for 30 days."""
    await shelf.trash(services, principal, CAPSULES, finder(principal, capsule_id))


async def delete_all(services: Services, principal: Principal) -> int:
    """Everything into the trash. Returns how many that were."""
    async with inside(services, principal, hold_vault) as (conn, vault):
        every = await store.ids_of(conn, vault.space, store.CapsuleFilter())
        if every:
            await shelf.put_away(conn, principal, CAPSULES, every, emptied=vault.space, deleted_at=services.clock())
            await services.queue.add(conn, "clear_space", account=principal.account, space=vault.space)
        await record(conn, principal, "capsule.delete_all", None, count=len(every))
    return len(every)


async def restore(services: Services, principal: Principal, capsule_id: str) -> Capsule:
    """Back out of the trash, if there is room for it."""
    find = finder(principal, capsule_id)
    return await shelf.restore(services, principal, CAPSULES, find, edit=brought_back(services.clock()))


async def recover(services: Services, principal: Principal, capsule_id: str) -> Capsule:
    """Back out of the cold tier, if there is room for it, which may send another there. What went on from there to the
    trash is in the trash alone.
    """
    return await shelf.restore(
        services, principal, CAPSULES, finder(principal, capsule_id), change="recovered",
        away_since=lambda capsule: capsule.cold_at if capsule.deleted_at is None else None,
        edit=brought_back(services.clock()),
    )  # fmt: skip


async def make_title(services: Services, principal: Principal, content_md: str) -> str:
    """By the language model when there is one and it answers, else from the text."""
    made = await try_model(services, principal, lambda model: title_by_model(model, content_md))
    if made is not None:
        return made
    return await services.offload.run(len(content_md), title_of, content_md) or UNTITLED


async def suggest_name(services: Services, principal: Principal, content_md: str) -> tuple[str, list[str]]:
    """What to call it: a title, by the language model when there is one, and tags from the text."""
    require_user(principal)
    about = await services.offload.run(len(content_md), tags, content_md)
    return await make_title(services, principal, content_md), about


async def curate(
    services: Services, principal: Principal, said: Sequence[SpokenMessage], *, refined: bool
) -> list[engine.Segment]:
    """What of a conversation is worth keeping: by rules; what they are in doubt about by the language model, if there
    is one and the caller asks.
    """
    require_user(principal)
    size = sum(len(message.text) for message in said)
    segments = await services.offload.run(size, engine.curate, said)
    if refined:
        judged = await try_model(services, principal, lambda model: engine.refine(model, segments))
        segments = segments if judged is None else judged
    return [segment for segment in segments if segment.score >= engine.GREY[0]]


# ------------------------------------------------------------------------- what the other operations on capsules share


async def look_into_vault(conn: Connection, principal: Principal) -> store.Vault:
    """The caller's vault; from here on the transaction reaches what is in it."""
    return require_found(await store.enter_vault(conn, require_user(principal)), "There is no such user.")


async def hold_vault(conn: Connection, principal: Principal) -> store.Vault:
    """The same, and nobody else changes it until the transaction ends."""
    return require_found(await store.enter_vault(conn, require_user(principal), hold=True), "There is no such user.")


async def page_of(
    conn: Connection, services: Services, principal: Principal, state: State, page: PageRequest
) -> Page[Capsule]:  # fmt: skip
    """What the caller has kept, or what can be brought back from the trash or the cold tier; what came there last
    first.
    """
    space = (await look_into_vault(conn, principal)).space
    if state == "live":
        return await store.page(conn, space, store.CapsuleFilter(), page)
    since = restorable_since(services.clock())
    if state == "trash":
        return await memories.trash(conn, store.SHAPE, [space], page, since=since)
    return await store.cold(conn, space, page, since=since)


def check_capsule(title: str, content_md: str, tags: Sequence[str], metadata: Mapping[str, Any]) -> None:
    size = sum(len(text.encode()) for text in (title, content_md, *tags)) + json_bytes(metadata)
    if size > LARGEST:
        raise TooLarge(
            f"A capsule holds at most 1 MB and this one has {size} bytes: split it, or leave something out.",
            code="capsule_too_large",
        )
    CAPSULES.check_size(content_md)


def changed(capsule: Capsule, changes: Mapping[str, Any]) -> Capsule:
    """A null takes it out of its project; elsewhere it says nothing."""
    known: dict[str, Any] = {
        _COLUMNS.get(name, name): value
        for name, value in changes.items()
        if value is not None or name == "project_id"
    }  # fmt: skip
    if "tags" in known:
        known["tags"] = _distinct(known["tags"])
    after = replace(capsule, **known)
    check_capsule(after.title, after.content, after.tags, after.metadata)
    return after


def enough(oldest: Sequence[Capsule], excess: int) -> list[Capsule]:
    """As few of them as free that many bytes; none when all together don't."""
    chosen: list[Capsule] = []
    for capsule in oldest:
        if excess <= 0:
            break
        chosen.append(capsule)
        excess -= capsule.kept_bytes
    return chosen if excess <= 0 else []


async def _make_room(
    conn: Connection, services: Services, principal: Principal, capsule: Capsule, more: int
) -> Capsule:  # fmt: skip
    """Refuse what the plan has no room for; or, if its user wishes so, move what was not read or found for longest to
    the cold tier, and note it on what comes. The vault is held, so two that come at once can't both take the last byte.
    """
    room = await room_of(conn, require_user(principal))
    excess = 0 if room.allowed is None else room.used + more - room.allowed
    if excess <= 0:
        return capsule
    if room.cold_tier and more <= (room.allowed or 0):
        await memories.touch(conn, services.found.take((principal.account, capsule.space)))
        oldest = await store.least_read(conn, capsule.space, limit=_PUSHED_OUT)
        cooled = [old.id for old in enough([old for old in oldest if old.id != capsule.id], excess)]
        if cooled:
            await shelf.put_away(conn, principal, CAPSULES, cooled, "cooled", cold_at=services.clock())
            return replace(capsule, moved_to_cold=(*capsule.moved_to_cold, *cooled))
    raise quota_exceeded(services.settings, room, more)


def finder(principal: Principal, capsule_id: str) -> Finder[Capsule]:
    async def find(conn: Connection) -> Sequence[Capsule]:
        await look_into_vault(conn, principal)
        capsule = await memories.get(conn, store.SHAPE, capsule_id)
        if capsule is None:
            raise CAPSULES.not_found()
        return [capsule]

    return find


def brought_back(now: datetime) -> shelf.Edit[Capsule]:
    return lambda capsule: replace(capsule, deleted_at=None, cold_at=None, superseded_by=None, accessed_at=now)


def found_by(title: str, content_md: str) -> str:
    """What a capsule is found by. A title that only repeats its text, as one that was made, would count that twice."""
    repeats = normalised(title) in normalised(content_md[:_TITLED])
    return content_md if repeats else f"{title}\n\n{content_md}"


def _content_hash(capsule: Capsule) -> bytes:
    """Without the title, which may have been made: what has the same hash is the same under the same title."""
    return hashlib.sha256("\0".join([capsule.project_id or "", capsule.content]).encode()).digest()


def _distinct(tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(tag for tag in (tag.strip() for tag in tags) if tag))


CAPSULES = Kind(
    shape=store.SHAPE, noun="capsule", prefix="cap", missing="There is no such capsule.", text_field="content_md",
    largest=LARGEST_CONTENT, verbs={"deleted": "deleted", "restored": "restored", "unmerged": "unmerge"},
    indexed=lambda capsule: [found_by(capsule.title, capsule.content)], content_hash=_content_hash,
    size=lambda capsule: size_of(capsule.title, capsule.content), make_room=_make_room, included=OVERHEAD,
)  # fmt: skip
