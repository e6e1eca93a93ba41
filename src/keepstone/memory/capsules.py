"""Capsules: what a person keeps on purpose. Made, read, changed, put in the trash and brought back; each in its owner's
vault, each change a version, within the capacity of the plan.

Looking for them is in `capsule_search`, the views over all of them in `capsule_views`, taking them elsewhere in
`capsule_archive`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from keepstone.access.audit import record
from keepstone.access.meter import metered
from keepstone.access.plans import capacity, quota_exceeded
from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import require_user
from keepstone.engine.embed import embed_first_passage, store_first_vector
from keepstone.engine.index import Source, passages_of
from keepstone.engine.titles import title as title_of
from keepstone.engine.titles import title_by_model
from keepstone.errors import Conflict, Malformed, NotFound, TooLarge, UpstreamError
from keepstone.memory.capsule_search import similar_to
from keepstone.memory.projects import require_project
from keepstone.model.capsule import (
    LARGEST,
    LARGEST_CONTENT,
    TRASH_DAYS,
    Capsule,
    NewCapsule,
    Similar,
    Version,
    size_of,
)  # fmt: skip
from keepstone.model.ids import new_id
from keepstone.model.message import NewPassage
from keepstone.model.page import Page, PageRequest, cut_page
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import capsules as store
from keepstone.store import memories, passages, spaces, users
from keepstone.store.db import Connection, enter

VISIBILITY = "private"
UNTITLED = "Untitled"  # what has no words at all
_PUSHED_OUT = 200  # at most this many go to the cold tier for one that comes


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """`similar` are capsules of the last week that say nearly the same: merge them?"""

    capsule: Capsule
    similar: list[Similar]


async def create(services: Services, principal: Principal, new: NewCapsule) -> Created:
    """Keep it. Exactly the same again is the one that is there already."""
    user_id = require_user(principal)
    check_size(new.title or "", new.content_md, new.tags, new.metadata)
    title = new.title or await make_title(services, principal, new.content_md)
    now = services.clock()
    capsule = Capsule(
        id=new_id("cap"), title=title, content_md=new.content_md, kind=new.kind, tags=_distinct(new.tags),
        project_id=new.project_id, chat_id=new.chat_id, message_id=new.message_id, metadata=new.metadata,
        size_bytes=size_of(title, new.content_md), version=1, created_at=now, updated_at=now, accessed_at=now,
        deleted_at=None, cold_at=None,
    )  # fmt: skip
    cut = await cut_capsule(services, capsule)
    first = await embed_first_passage(services, cut)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        await require_project(conn, principal, new.project_id)
        held = await hold_vault(conn, principal, user_id)
        digest = content_hash(new.project_id, new.title, new.content_md)
        there = await store.by_hash(conn, held.space, digest)
        if there is not None:
            return Created(capsule=there, similar=[])
        similar = await similar_to(conn, held.space, first, since=now - timedelta(days=7))
        await make_room(conn, services, principal, held, capsule.size_bytes)
        await store.insert(conn, held.space, capsule, digest)
        await passages.insert(conn, held.space, cut)
        await store_first_vector(conn, held.space, cut, first)
        await memories.add_version(conn, held.space, [capsule.id], "created", user_id)
        await memories.count_in(conn, held.space, memories=1, size=capsule.size_bytes)
        await record(conn, principal, "capsule.create", capsule.id)
        await await_reading(conn, services, principal, held)
    return Created(capsule=capsule, similar=similar)


async def get(services: Services, principal: Principal, capsule_id: str) -> Capsule:
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        vault = await look_into_vault(conn, principal, user_id)
        capsule = _live(await store.get(conn, vault.space, capsule_id))
        await store.touch(conn, capsule.id)
    return capsule


async def list_capsules(
    services: Services, principal: Principal, wanted: store.Wanted, page: PageRequest
) -> Page[Capsule]:
    """The newest first."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        await require_project(conn, principal, wanted.project_id)
        vault = await look_into_vault(conn, principal, user_id)
        found = await store.page(conn, vault.space, wanted, after=page.after, limit=page.limit + 1)
    return cut_page(found, page, lambda capsule: (capsule.created_at, capsule.id))


async def list_put_away(services: Services, principal: Principal, page: PageRequest, *, cold: bool) -> Page[Capsule]:
    """What is in the trash, or in the cold tier."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        vault = await look_into_vault(conn, principal, user_id)
        found = await store.in_trash(conn, vault.space, cold=cold, after=page.after, limit=page.limit + 1)
    return cut_page(found, page, lambda one: ((one.cold_at if cold else one.deleted_at) or one.created_at, one.id))


async def update(services: Services, principal: Principal, capsule_id: str, changes: Mapping[str, Any]) -> Capsule:
    """Change the given fields; what it was stays in its history."""
    user_id = require_user(principal)
    while True:
        async with services.db.transaction(account_scope(principal.account)) as conn:
            vault = await look_into_vault(conn, principal, user_id)
            before = _live(await store.get(conn, vault.space, capsule_id))
            await require_project(conn, principal, changes.get("project_id"))
        after = changed(before, changes)
        if after == before:
            return before
        check_size(after.title, after.content_md, after.tags, after.metadata)
        cut = await cut_capsule(services, after) if _reworded(before, after) else []
        async with services.db.transaction(account_scope(principal.account)) as conn:
            held = await hold_vault(conn, principal, user_id)
            if _live(await store.get(conn, held.space, capsule_id)).version != before.version:
                continue  # somebody was faster: what they changed stays
            after = await rewrite(conn, services, principal, held, before, after, cut)
            await record(conn, principal, "capsule.update", capsule_id, fields=",".join(sorted(changes)))
        return after


async def delete(services: Services, principal: Principal, capsule_id: str) -> None:
    """Into the trash, where it stays for 30 days."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        held = await hold_vault(conn, principal, user_id)
        capsule = await store.get(conn, held.space, capsule_id)
        if capsule is None or capsule.deleted_at is not None:
            raise _not_found()
        await put_away(conn, principal, held, [capsule_id], "deleted", deleted_at=services.clock())


async def delete_all(services: Services, principal: Principal) -> int:
    """Everything into the trash. Returns how many that were."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        held = await hold_vault(conn, principal, user_id)
        every = await store.all_live(conn, held.space)
        await put_away(conn, principal, held, every, "deleted", deleted_at=services.clock())
        await record(conn, principal, "capsule.delete_all", None, count=len(every))
    return len(every)


async def restore(services: Services, principal: Principal, capsule_id: str) -> Capsule:
    """Back out of the trash, if there is room for it."""
    return await _bring_back(services, principal, capsule_id, "restored")


async def recover(services: Services, principal: Principal, capsule_id: str) -> Capsule:
    """Back out of the cold tier, if there is room for it, which may send another there."""
    return await _bring_back(services, principal, capsule_id, "recovered")


async def history(services: Services, principal: Principal, capsule_id: str) -> list[Version]:
    """Every version, the latest first; also of what is in the trash."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        vault = await look_into_vault(conn, principal, user_id)
        if await store.get(conn, vault.space, capsule_id) is None:
            raise _not_found()
        return await store.versions(conn, vault.space, capsule_id)


async def make_title(services: Services, principal: Principal, content_md: str) -> str:
    """By the language model when there is one and it answers, else from the text."""
    model = metered(services, principal)
    if model is not None:
        try:
            return await title_by_model(model, content_md)
        except UpstreamError:
            pass
    return title_of(content_md) or UNTITLED


# ------------------------------------------------------------------------- what the other operations on capsules share


async def look_into_vault(conn: Connection, principal: Principal, user_id: str) -> store.Holding:
    """The caller's vault; from here on the transaction reaches what is in it."""
    found = await store.look(conn, user_id)
    if found is None:
        raise NotFound("There is no such user.")
    await enter(conn, space_scope(principal, found.space))
    return found


async def hold_vault(conn: Connection, principal: Principal, user_id: str) -> store.Holding:
    """The same, and nobody else changes it until the transaction ends."""
    held = await store.hold(conn, user_id)
    if held is None:
        raise NotFound("There is no such user.")
    await enter(conn, space_scope(principal, held.space))
    return held


async def make_room(
    conn: Connection, services: Services, principal: Principal, held: store.Holding, more: int, *, but: str = ""
) -> store.Holding:
    """Refuse what the plan has no room for; or, if its user wishes so, move what was not read for longest to the cold
    tier. The vault is held, so two that come at once can't both take the last byte. Returns it as it is then.
    """
    user = await users.get(conn, require_user(principal))
    if user is None:
        raise NotFound("There is no such user.")
    allowed = await capacity(conn, user)
    excess = 0 if allowed is None else held.size_bytes + more - allowed
    if allowed is None or excess <= 0:
        return held
    if user.cold_tier and more <= allowed:
        oldest = [one for one in await store.least_read(conn, held.space, limit=_PUSHED_OUT) if one.id != but]
        chosen = enough(oldest, excess)
        if chosen:
            cooled = [one.id for one in chosen]
            return await put_away(conn, principal, held, cooled, "cooled", cold_at=services.clock())
    raise quota_exceeded(services.settings, used=held.size_bytes, more=more, allowed=allowed)


def enough(oldest: Sequence[Capsule], excess: int) -> list[Capsule]:
    """As few of them as free that many bytes; none when all together don't."""
    chosen: list[Capsule] = []
    for one in oldest:
        if excess <= 0:
            break
        chosen.append(one)
        excess -= one.size_bytes
    return chosen if excess <= 0 else []


async def put_away(
    conn: Connection, principal: Principal, held: store.Holding, ids: Sequence[str], change: str, **columns: Any
) -> store.Holding:
    """To the trash or the cold tier: no longer listed, found or counted. Returns what the vault holds then."""
    count, size = await store.put_away(conn, held.space, ids, **columns)
    await memories.add_version(conn, held.space, ids, change, principal.user_id)
    await passages.delete(conn, held.space, "memory", ids)
    await memories.count_in(conn, held.space, memories=-count, size=-size)
    async with conn.pipeline():  # there may be tens of thousands
        for one in ids:
            await record(conn, principal, f"capsule.{change}", one)
    return replace(held, size_bytes=held.size_bytes - size, memory_count=held.memory_count - count)


async def rewrite(
    conn: Connection, services: Services, principal: Principal, held: store.Holding, before: Capsule, after: Capsule,
    cut: Sequence[NewPassage],
) -> Capsule:  # fmt: skip
    """One version after the other, with its passages if the text is another; refused when there is no room for it."""
    after = replace(after, version=before.version + 1, updated_at=services.clock())
    columns = _columns(after)
    reworded = _reworded(before, after)
    if reworded or after.project_id != before.project_id:
        columns["content_hash"] = digest = content_hash(after.project_id, after.title, after.content_md)
        same = await store.by_hash(conn, held.space, digest)
        if same is not None and same.id != after.id:
            raise Conflict(f"Then it would be the same as {same.id}: merge the two instead.")
    growth = after.size_bytes - before.size_bytes
    if growth > 0:
        held = await make_room(conn, services, principal, held, growth, but=after.id)
    await store.update(conn, after.id, columns)
    if reworded:
        await passages.delete(conn, held.space, "memory", [after.id])
        await passages.insert(conn, held.space, cut)
        await await_reading(conn, services, principal, held)
    await memories.add_version(conn, held.space, [after.id], "updated", principal.user_id)
    await memories.count_in(conn, held.space, memories=0, size=growth)
    return after


async def cut_capsule(services: Services, capsule: Capsule) -> list[NewPassage]:
    text = f"{capsule.title}\n\n{capsule.content_md}"
    # Nobody who looks for a word wants all that was kept in a month of that name.
    source = Source(kind="memory", id=capsule.id, text=text, at=capsule.created_at, dated=False)
    services.embedders.need()
    return await passages_of([source], services.embedders.active, visibility=VISIBILITY)


async def await_reading(conn: Connection, services: Services, principal: Principal, held: store.Holding) -> None:
    """A job makes the vectors, unless one is on its way already."""
    if not held.awaits_reading:
        await spaces.await_reading(conn, held.space, awaited=True)
        await services.queue.add(
            conn, "read_space", account=principal.account, space=held.space, one_by_one=f"space {held.space}"
        )


def check_size(title: str, content_md: str, tags: Sequence[str], metadata: Mapping[str, Any]) -> None:
    whole = sum(len(text.encode()) for text in (title, content_md, *tags, json.dumps(metadata)))
    if whole > LARGEST:
        raise TooLarge(
            f"A capsule holds at most 1 MB and this one has {whole} bytes: split it, or leave something out.",
            code="capsule_too_large",
        )
    if len(content_md.encode()) > LARGEST_CONTENT:
        message = "has more than 800 KB: split it, or leave something out"
        raise Malformed(
            f"content_md {message}. Nothing was stored.", details=[{"path": "body.content_md", "message": message}]
        )


def content_hash(project_id: str | None, title: str | None, content_md: str) -> bytes:
    return hashlib.sha256("\0".join([project_id or "", title or "", content_md]).encode()).digest()


def changed(capsule: Capsule, changes: Mapping[str, Any]) -> Capsule:
    """A null takes it out of its project; elsewhere it says nothing."""
    known: dict[str, Any] = {k: value for k, value in changes.items() if value is not None or k == "project_id"}
    if "tags" in known:
        known["tags"] = _distinct(known["tags"])
    after = replace(capsule, **known)
    return replace(after, size_bytes=size_of(after.title, after.content_md))


async def _bring_back(services: Services, principal: Principal, capsule_id: str, change: str) -> Capsule:
    user_id = require_user(principal)
    oldest = services.clock() - timedelta(days=TRASH_DAYS)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        vault = await look_into_vault(conn, principal, user_id)
        capsule = await store.get(conn, vault.space, capsule_id)
    since = capsule and _away_since(capsule, change)
    if capsule is None or since is None or since < oldest:
        raise _not_found()
    cut = await cut_capsule(services, capsule)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        held = await hold_vault(conn, principal, user_id)
        current = await store.get(conn, held.space, capsule_id)
        if current is None or _away_since(current, change) is None:
            raise _not_found()
        if await store.saved_again(conn, held.space, capsule_id):
            raise Conflict("The same capsule was saved again meanwhile: there is nothing to bring back.")
        await make_room(conn, services, principal, held, current.size_bytes, but=capsule_id)
        back = replace(
            current, deleted_at=None, cold_at=None, version=current.version + 1, accessed_at=services.clock()
        )
        columns = {"deleted_at": None, "cold_at": None, "version": back.version, "accessed_at": back.accessed_at}
        await store.update(conn, capsule_id, columns)
        await passages.insert(conn, held.space, cut)
        await memories.add_version(conn, held.space, [capsule_id], change, user_id)
        await memories.count_in(conn, held.space, memories=1, size=current.size_bytes)
        await record(conn, principal, f"capsule.{change}", capsule_id)
        await await_reading(conn, services, principal, held)
    return back


def _away_since(capsule: Capsule, change: str) -> datetime | None:
    """In the trash, or in the cold tier; what went on from there to the trash is in the trash alone."""
    if change == "restored":
        return capsule.deleted_at
    return capsule.cold_at if capsule.deleted_at is None else None


def _reworded(before: Capsule, after: Capsule) -> bool:
    return (after.title, after.content_md) != (before.title, before.content_md)


def _columns(capsule: Capsule) -> dict[str, Any]:
    return {
        "title": capsule.title,
        "content": capsule.content_md,
        "type": capsule.kind,
        "tags": capsule.tags,
        "metadata": capsule.metadata,
        "project_id": capsule.project_id,
        "size_bytes": capsule.size_bytes,
        "version": capsule.version,
        "updated_at": capsule.updated_at,
    }


def _distinct(tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(tag for tag in (tag.strip() for tag in tags) if tag))


def _live(capsule: Capsule | None) -> Capsule:
    if capsule is None or capsule.deleted_at is not None or capsule.cold_at is not None:
        raise _not_found()
    return capsule


def _not_found() -> NotFound:
    return NotFound("There is no such capsule.")
