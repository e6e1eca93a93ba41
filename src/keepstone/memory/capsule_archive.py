"""Capsules taken together and taken elsewhere: merging, the archive of everything, and reading one back."""

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_user
from keepstone.errors import Invalid, NotFound
from keepstone.memory.capsules import (
    await_reading,
    changed,
    check_size,
    content_hash,
    cut_capsule,
    hold_vault,
    look_into_vault,
    make_room,
    put_away,
    rewrite,
)
from keepstone.memory.projects import require_project
from keepstone.model.capsule import TRASH_DAYS, Capsule, Version, size_of
from keepstone.model.ids import new_id
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import accounts, keys, memories, passages, projects, users
from keepstone.store import capsules as store

FORMAT = "keepstone-archive"
FORMAT_VERSION = 1
_PAGE = 100
_SEPARATOR = "\n\n---\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """`skipped` were there already."""

    imported: int
    skipped: int


async def merge(services: Services, principal: Principal, ids: Sequence[str], into: str) -> Capsule:
    """What the others say is added to one of them; they go to the trash. Every history stays."""
    user_id = require_user(principal)
    others = [one for one in dict.fromkeys(ids) if one != into]
    if not others:
        raise Invalid("Name at least one capsule besides the one to merge into.")
    while True:
        async with services.db.transaction(account_scope(principal.account)) as conn:
            vault = await look_into_vault(conn, principal, user_id)
            found = await store.by_ids(conn, vault.space, [into, *others])
        if len(found) <= len(others):
            raise NotFound("There is no such capsule.")
        target, parts = found[into], [found[one] for one in others]
        after = _joined(target, parts)
        check_size(after.title, after.content_md, after.tags, after.metadata)
        cut = await cut_capsule(services, after)
        async with services.db.transaction(account_scope(principal.account)) as conn:
            held = await hold_vault(conn, principal, user_id)
            if await store.by_ids(conn, held.space, [into, *others]) != found:
                continue  # somebody was faster
            now = services.clock()
            held = await put_away(conn, principal, held, others, "merged", deleted_at=now, superseded_by=into)
            after = await rewrite(conn, services, principal, held, target, after, cut)
            await record(conn, principal, "capsule.merge", into, count=len(others))
        return after


def _joined(target: Capsule, parts: Sequence[Capsule]) -> Capsule:
    """With what the others say and it does not, and all their tags."""
    content = target.content_md
    for part in parts:
        if part.content_md.strip() not in content:
            content += _SEPARATOR + part.content_md
    tags = [tag for one in (target, *parts) for tag in one.tags]
    return changed(target, {"content_md": content, "tags": tags})


async def export(services: Services, principal: Principal) -> AsyncGenerator[str]:
    """The archive, piece by piece: the account, every capsule with its history, and what keys there are, no secret."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        user, account = await users.get(conn, user_id), await accounts.get(conn)
        if user is None or account is None:
            raise NotFound("There is no such user.")
        mine = await keys.page(conn, user_id=user_id, with_service=False, after=None, limit=10_000)
        shared = await projects.page(conn, user_id, after=None, limit=10_000)
        await record(conn, principal, "capsule.export", user_id)
    head = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "exported_at": services.clock(),
        "account": {"id": account.id, "name": account.name, "plan": account.plan},
        "user": {"id": user.id, "email": user.email, "name": user.name},
        "api_keys": [
            {"id": key.id, "name": key.name, "prefix": key.prefix, "created_at": key.created_at,
             "expires_at": key.expires_at, "revoked_at": key.revoked_at}
            for key in mine
        ],
        "projects": [{"id": project.id, "name": project.name} for project in shared],
    }  # fmt: skip
    yield _json(head)[:-1] + ', "capsules": ['
    first = True
    async for one in _kept(services, principal, user_id, "live"):
        yield ("" if first else ",") + "\n" + _json(one)
        first = False
    yield '\n], "put_away": ['
    first = True
    for state in ("trash", "cold"):
        async for one in _kept(services, principal, user_id, state):
            yield ("" if first else ",") + "\n" + _json(one)
            first = False
    yield "\n]}\n"


async def _kept(
    services: Services, principal: Principal, user_id: str, state: Literal["live", "trash", "cold"]
) -> AsyncGenerator[dict[str, Any]]:
    """Capsules with their history, a page at a time: no transaction is open while somebody reads slowly."""
    after: tuple[datetime, str] | None = None
    while True:
        async with services.db.transaction(account_scope(principal.account)) as conn:
            vault = await look_into_vault(conn, principal, user_id)
            if state == "live":
                some = await store.page(conn, vault.space, store.Wanted(), after=after, limit=_PAGE)
            else:
                some = await store.in_trash(conn, vault.space, cold=state == "cold", after=after, limit=_PAGE)
            shown = [_archived(one, await store.versions(conn, vault.space, one.id)) for one in some]
        for one in shown:
            yield one
        if len(some) < _PAGE:
            return
        last = some[-1]
        since = {"live": last.created_at, "trash": last.deleted_at, "cold": last.cold_at}[state]
        after = (since or last.created_at, last.id)


async def import_capsules(
    services: Services, principal: Principal, capsules: Sequence[dict[str, Any]], away: Sequence[dict[str, Any]] = ()
) -> Imported:
    """Read an archive back. What is there already is left alone, so it can be done twice. All of it or nothing.

    `away` were in the trash or the cold tier, and are again for the rest of their days, unless they are over.
    """
    user_id = require_user(principal)
    read = [(_capsule(one), [_version(each) for each in one.get("history", [])]) for one in capsules]
    for capsule, _ in read:
        check_size(capsule.title, capsule.content_md, capsule.tags, capsule.metadata)
    oldest = services.clock() - timedelta(days=TRASH_DAYS)
    put_by = [(_capsule(one), [_version(each) for each in one.get("history", [])]) for one in away]
    for capsule, _ in put_by:
        check_size(capsule.title, capsule.content_md, capsule.tags, capsule.metadata)
    cuts = {capsule.id: await cut_capsule(services, capsule) for capsule, _ in read}
    imported = 0
    async with services.db.transaction(account_scope(principal.account)) as conn:
        held = await hold_vault(conn, principal, user_id)
        for capsule, versions in read:
            await require_project(conn, principal, capsule.project_id)
            digest = content_hash(capsule.project_id, capsule.title, capsule.content_md)
            there = await store.by_ids(conn, held.space, [capsule.id])
            if there or await store.by_hash(conn, held.space, digest) is not None:
                continue
            held = await make_room(conn, services, principal, held, capsule.size_bytes)
            kept = capsule
            if not await store.insert(conn, held.space, kept, digest):
                # In the trash, or somebody else's in the account, is one of this id: it is another capsule then.
                kept = replace(capsule, id=new_id("cap"))
                await store.insert(conn, held.space, kept, digest)
            cut = [replace(passage, source_id=kept.id) for passage in cuts[capsule.id]]
            await passages.insert(conn, held.space, cut)
            await store.insert_versions(conn, held.space, kept.id, versions)
            if not any(version.version == kept.version for version in versions):
                await memories.add_version(conn, held.space, [kept.id], "imported", user_id)
            await memories.count_in(conn, held.space, memories=1, size=kept.size_bytes)
            held = replace(held, size_bytes=held.size_bytes + kept.size_bytes)
            await record(conn, principal, "capsule.import", kept.id)
            imported += 1
        if imported:
            await await_reading(conn, services, principal, held)
        for capsule, versions in put_by:
            since = capsule.deleted_at or capsule.cold_at
            if since is None or not oldest < since <= services.clock():
                continue
            await require_project(conn, principal, capsule.project_id)
            digest = content_hash(capsule.project_id, capsule.title, capsule.content_md)
            if await store.insert(conn, held.space, capsule, digest):
                await store.insert_versions(conn, held.space, capsule.id, versions)
                await record(conn, principal, "capsule.import", capsule.id)
                imported += 1
    return Imported(imported=imported, skipped=len(read) + len(put_by) - imported)


def _archived(capsule: Capsule, versions: Sequence[Version]) -> dict[str, Any]:
    return {
        "id": capsule.id,
        "title": capsule.title,
        "content_md": capsule.content_md,
        "kind": capsule.kind,
        "tags": capsule.tags,
        "project_id": capsule.project_id,
        "source": {"chat_id": capsule.chat_id, "message_id": capsule.message_id},
        "metadata": capsule.metadata,
        "version": capsule.version,
        "created_at": capsule.created_at,
        "updated_at": capsule.updated_at,
        "accessed_at": capsule.accessed_at,
        **{name: at for name, at in (("deleted_at", capsule.deleted_at), ("cold_at", capsule.cold_at)) if at},
        "history": [
            {"version": one.version, "change": one.change, "title": one.title, "content_md": one.content_md,
             "tags": one.tags, "metadata": one.metadata, "changed_by": one.changed_by, "changed_at": one.changed_at}
            for one in versions
        ],
    }  # fmt: skip


def _capsule(one: dict[str, Any]) -> Capsule:
    source: dict[str, Any] = one.get("source") or {}
    return Capsule(
        id=one["id"], title=one["title"], content_md=one["content_md"], kind=one["kind"], tags=one["tags"],
        project_id=one.get("project_id"), chat_id=source.get("chat_id"), message_id=source.get("message_id"),
        metadata=one["metadata"], size_bytes=size_of(one["title"], one["content_md"]), version=one["version"],
        created_at=one["created_at"], updated_at=one["updated_at"], accessed_at=one["accessed_at"],
        deleted_at=one.get("deleted_at"), cold_at=one.get("cold_at"),
    )  # fmt: skip


def _version(one: dict[str, Any]) -> Version:
    return Version(**one)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    raise TypeError(f"{type(value).__name__} has no place in an archive")
