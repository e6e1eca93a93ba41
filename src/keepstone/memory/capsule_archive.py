"""Capsules taken together and taken elsewhere: merging, the archive of everything, and reading one back."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_user
from keepstone.engine.joining import joined
from keepstone.errors import Invalid, NotFound
from keepstone.memory import shelf
from keepstone.memory.again import SOURCES, sources_in, with_sources
from keepstone.memory.capsules import CAPSULES, State, changed, check_capsule, hold_vault, look_into_vault, page_of
from keepstone.memory.kinds import Prepared, Written
from keepstone.memory.projects import bring_over
from keepstone.model.capsule import Capsule
from keepstone.model.ids import is_id, new_id
from keepstone.model.memory import Version, restorable
from keepstone.model.page import PageRequest, read_cursor
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import accounts, keys, memories, users
from keepstone.store import capsules as store
from keepstone.store import projects as project_store
from keepstone.store.db import Connection

FORMAT = "keepstone-archive"
FORMAT_VERSION = 1
_PAGE = 100
_COLUMNS = {"content_md": "content", "kind": "type"}
MERGED = "merged"  # in the metadata: what those that were merged into it say otherwise, by their ids


async def merge(services: Services, principal: Principal, ids: Sequence[str], into: str) -> Capsule:
    """What the others say is added to one of them; they go to the trash. Every history stays."""
    others = [capsule_id for capsule_id in dict.fromkeys(ids) if capsule_id != into]
    if not others:
        raise Invalid("Name at least one capsule besides the one to merge into.")
    while True:
        async with services.db.transaction(account_scope(principal)) as conn:
            await look_into_vault(conn, principal)
            parts = await memories.by_ids(conn, store.SHAPE, [into, *others])
        if len(parts) <= len(others):
            raise NotFound("There is no such capsule.")
        now = services.clock()
        merged = await _merged(services, parts[into], [parts[name] for name in others])
        prepared = await shelf.prepare(services, CAPSULES, replace(merged, updated_at=now))
        async with services.db.transaction(account_scope(principal)) as conn:
            await hold_vault(conn, principal)
            if await memories.by_ids(conn, store.SHAPE, [into, *others]) != parts:
                continue  # somebody was faster
            await shelf.put_away(conn, principal, CAPSULES, others, "merged", deleted_at=now, superseded_by=into)
            merged = await shelf.rewrite(conn, services, principal, CAPSULES, parts[into], prepared)
            await record(conn, principal, "capsule.merge", into, count=len(others))
        return merged


async def _merged(services: Services, target: Capsule, parts: Sequence[Capsule]) -> Capsule:
    """With what the others say and it does not, all their tags, their metadata, and where they are from. Where metadata
    differ, its own stay, and what another says stands under that one's id in `merged`.
    """
    texts = [part.content for part in parts]
    size = len(target.content) + sum(map(len, texts))
    content = await services.offload.run(size, joined, target.content, texts)
    merged, otherwise = target, _otherwise(target)
    for part in parts:
        ours = {name for name, known in ((MERGED, _otherwise(part)), (SOURCES, sources_in(part))) if known}
        told = {name: value for name, value in part.metadata.items() if name not in ours}
        differing = {name: value for name, value in told.items() if merged.metadata.get(name, value) != value}
        otherwise |= _otherwise(part) | ({part.id: differing} if differing else {})
        merged = replace(merged, metadata=told | merged.metadata)
        merged = replace(merged, **with_sources(merged, part))
    metadata = merged.metadata
    if otherwise and (MERGED not in metadata or _otherwise(merged)):
        metadata = metadata | {MERGED: otherwise}
    tags = [tag for capsule in (target, *parts) for tag in capsule.tags]
    return changed(merged, {"content_md": content, "tags": tags, "metadata": metadata})


def _otherwise(capsule: Capsule) -> dict[str, Any]:
    """What was noted of those that were merged into it; whatever else somebody put there is none of it."""
    noted = capsule.metadata.get(MERGED)
    said = cast("dict[str, Any]", noted) if isinstance(noted, dict) else {}
    return dict(said) if all(is_id("cap", name) for name in said) else {}


async def export(services: Services, principal: Principal) -> AsyncGenerator[str]:
    """The archive, piece by piece: the account, every capsule with its history, and what keys there are, no secret."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        user, account = await users.get(conn, user_id), await accounts.get(conn)
        if user is None or account is None:
            raise NotFound("There is no such user.")
        await look_into_vault(conn, principal)  # refused before the first piece, where this key does not reach it
        mine = await keys.page(conn, user_id, PageRequest(limit=10_000), with_service=False)
        shared = await project_store.page(conn, user_id, PageRequest(limit=10_000))
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
            for key in mine.items
            if principal.reach.whole
        ],
        "projects": [{"id": project.id, "name": project.name} for project in shared.items],
    }  # fmt: skip
    parts: list[tuple[str, list[State]]] = [
        (_json(head)[:-1] + ', "capsules": [', ["live"]), ('\n], "put_away": [', ["trash", "cold"]),
    ]  # fmt: skip
    for opening, states in parts:
        yield opening
        separator = "\n"
        for state in states:
            async for capsule in _kept(services, principal, state):
                yield separator + _json(capsule)
                separator = ",\n"
    yield "\n]}\n"


async def _kept(services: Services, principal: Principal, state: State) -> AsyncGenerator[dict[str, Any]]:
    """Capsules with their history, a page at a time: no transaction is open while somebody reads slowly."""
    request = PageRequest(limit=_PAGE)
    while True:
        async with services.db.transaction(account_scope(principal)) as conn:
            capsules = await page_of(conn, services, principal, state, request)
            shown = [
                _archived(capsule, await memories.versions(conn, Version, capsule.id)) for capsule in capsules.items
            ]
        for capsule in shown:
            yield capsule
        if capsules.next_cursor is None:
            return
        request = PageRequest(limit=_PAGE, after=read_cursor(capsules.next_cursor))


async def import_capsules(
    services: Services, principal: Principal, capsules: Sequence[dict[str, Any]], away: Sequence[dict[str, Any]] = (),
    projects: Mapping[str, str] | None = None,
) -> int:  # fmt: skip
    """Read an archive back, and say how many capsules that were. What is there already is left alone, so it can be done
    twice. All of it or nothing.

    `away` were in the trash or the cold tier, and are again for the rest of their days, unless they are over.
    `projects` has the names of those that they were in: one that is not the caller's becomes a new one of theirs.
    """
    dated = [given for given in away if given.get("deleted_at") or given.get("cold_at")]  # else it was never put away
    archived = [_with_history(given) for given in (*capsules, *dated)]
    for capsule, _ in archived:
        check_capsule(capsule.title, capsule.content, capsule.tags, capsule.metadata)
    read = [
        (await shelf.prepare(services, CAPSULES, capsule, embed=False) if capsule.live
         else Prepared(CAPSULES.complete(capsule), ()), versions)
        for capsule, versions in archived
    ]  # fmt: skip
    imported = 0
    async with services.db.transaction(account_scope(principal)) as conn:
        space = (await hold_vault(conn, principal)).space
        named = {prepared.memory.project_id for prepared, _ in read} - {None}
        places = await bring_over(conn, principal, {str(name): (projects or {}).get(str(name), "") for name in named})
        for prepared, versions in read:
            project_id = places.get(str(prepared.memory.project_id))
            moved = prepared.moved(space=space, project_id=project_id)
            imported += await _import(conn, services, principal, moved, versions)
    return imported


async def _import(
    conn: Connection, services: Services, principal: Principal, prepared: Prepared[Capsule], versions: Sequence[Version]
) -> bool:
    """False when it is there already, or its days in the trash are over."""
    capsule = prepared.memory
    if capsule.live:
        twins = await shelf.twins(conn, CAPSULES, capsule)
        if await memories.by_ids(conn, store.SHAPE, [capsule.id]) or any(twin.title == capsule.title for twin in twins):
            return False
        await CAPSULES.make_room(conn, services, principal, capsule, capsule.kept_bytes)
        if not await memories.insert(conn, store.SHAPE, capsule):
            # In the trash, or somebody else's in the account, is one of this id: it is another capsule then.
            prepared = prepared.moved(id=new_id("cap"))
            await memories.insert(conn, store.SHAPE, prepared.memory)
    else:
        since, now = capsule.deleted_at or capsule.cold_at, services.clock()
        within = since is not None and since <= now and restorable(since, now)
        if not within or not await memories.insert(conn, store.SHAPE, capsule):
            return False
    await memories.insert_versions(conn, prepared.memory, versions)
    await shelf.settle(conn, services, principal, CAPSULES, [Written("imported", None, prepared)])
    return True


def _archived(capsule: Capsule, versions: Sequence[Version]) -> dict[str, Any]:
    return {
        "id": capsule.id,
        "title": capsule.title,
        "content_md": capsule.content,
        "kind": capsule.type,
        "tags": capsule.tags,
        "project_id": capsule.in_project,
        "source": {"chat_id": capsule.source_chat_id, "message_id": capsule.source_message_id},
        "metadata": capsule.metadata,
        "version": capsule.version,
        "created_at": capsule.created_at,
        "updated_at": capsule.updated_at,
        "accessed_at": capsule.accessed_at,
        **{name: at for name, at in (("deleted_at", capsule.deleted_at), ("cold_at", capsule.cold_at)) if at},
        "history": [
            {"version": version.version, "change": version.change, "title": version.title,
             "content_md": version.content, "kind": version.type, "project_id": version.project_id,
             "tags": version.tags, "metadata": version.metadata,
             "changed_by": version.changed_by, "changed_at": version.changed_at}
            for version in versions
        ],
    }  # fmt: skip


def _with_history(given: dict[str, Any]) -> tuple[Capsule, list[Version]]:
    capsule = _capsule(given)
    versions = [_version(version, capsule) for version in given["history"]]
    earlier = sum(version.written_bytes for version in versions if version.version < capsule.version)
    return replace(capsule, version_bytes=earlier), versions


def _capsule(given: dict[str, Any]) -> Capsule:
    source: dict[str, Any] = given.get("source") or {}
    return Capsule(
        id=given["id"], title=given["title"], content=given["content_md"], type=given["kind"], tags=given["tags"],
        project_id=given.get("project_id"), source_chat_id=source.get("chat_id"),
        source_message_id=source.get("message_id"), metadata=given["metadata"], version=given["version"],
        valid_from=given["created_at"], created_at=given["created_at"], updated_at=given["updated_at"],
        accessed_at=given["accessed_at"], deleted_at=given.get("deleted_at"), cold_at=given.get("cold_at"),
    )  # fmt: skip


def _version(given: dict[str, Any], capsule: Capsule) -> Version:
    """Archives of earlier servers don't say of what kind and in which project it was: as now."""
    said = {_COLUMNS.get(name, name): value for name, value in given.items()}
    if said.get("type") is None:
        said |= {"type": capsule.type, "project_id": capsule.project_id}
    return Version(**said)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    raise TypeError(f"{type(value).__name__} has no place in an archive")
