"""Files and artifacts of a workspace: uploaded or made, read in parts with their places, changed, put in the trash and
brought back; every version is kept. A file changes by being uploaded again under its name.

A file is parsed before anything is stored: what can't be read is refused, and nothing is left of it.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from keepstone.access.audit import record
from keepstone.access.require import require_found
from keepstone.engine.chunks import cut_document, whole_text
from keepstone.errors import Forbidden, KeepstoneError, Malformed, NotFound
from keepstone.memory import members, workspaces
from keepstone.memory.shelf import schedule_indexing
from keepstone.model.document import LARGEST_ARTIFACT, Chunk, Contents, Document, DocumentVersion, Kind, Upload
from keepstone.model.ids import new_id
from keepstone.model.memory import restorable, restorable_since
from keepstone.model.message import NewPassage
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.model.workspace import Workspace
from keepstone.providers.parsing import Block, Parsed
from keepstone.services import Services
from keepstone.store import documents as store
from keepstone.store import passages, spaces
from keepstone.store.db import Connection

VISIBILITY = "private"
_PREFIX: dict[Kind, Any] = {"file": "doc", "artifact": "art"}


async def upload(
    services: Services, principal: Principal, workspace_id: str, *, name: str, data: bytes, media_type: str | None,
    at: datetime | None = None,
) -> tuple[Document, Upload]:  # fmt: skip
    """Under a name that is there it is another version of that file, and what the earlier one said is no longer found.
    The very same bytes again change nothing. `at` is when it was first kept, elsewhere.
    """
    digest = hashlib.sha256(data).digest()
    parsed: Parsed | None = None
    while True:
        async with workspaces.inside(services, principal, workspace_id, needs="member") as (conn, workspace):
            same = await store.by_hash(conn, workspace.library, name, digest)
            before = await store.by_name(conn, workspace.library, name)
        if same is not None:
            return same, "unchanged"
        if before is not None:
            _require_own(principal, workspace, before)
        parsed = parsed or await services.parser.parse(data, name, media_type)
        if before is None:
            document = _new(services, principal, workspace, "file", name, parsed.media_type, len(data), at)
            made = await _keep(services, principal, document, parsed.blocks, digest, data)
            if made is not None:
                return made, "created"
        else:
            made = await _replace(services, principal, before, parsed, digest, data, change="updated")
            if made is not None:
                return made, "updated"
        # Meanwhile somebody else was faster: what is there now is looked at again.


async def revert_file(
    services: Services, principal: Principal, workspace_id: str, document_id: str, *, version: int
) -> Document:
    """An earlier version as the newest one: its bytes, read anew."""
    while True:
        async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
            before = await _find(conn, workspace, "file", document_id, to_change=principal)
            kept = await _contents(conn, document_id, version)
        data = kept.original if kept.original is not None else kept.content.encode()
        parsed = await services.parser.parse(data, kept.name, kept.media_type)
        digest = hashlib.sha256(data).digest()
        made = await _replace(services, principal, before, parsed, digest, data, change="reverted")
        if made is not None:
            return made


async def _replace(
    services: Services,
    principal: Principal,
    before: Document,
    parsed: Parsed,
    sha256: bytes,
    data: bytes,
    *,
    change: str,
) -> Document | None:
    """Another version of a file; None if it is no longer as it was before."""
    cut = await _cut(services, before.id, before.name, parsed.blocks)
    async with workspaces.inside(services, principal, before.workspace_id) as (conn, workspace):
        await spaces.lock(conn, [workspace.library])
        current = await store.get(conn, before.id)
        if current is None or (current.version, current.workspace_id) != (before.version, workspace.id):
            return None
        members.require_change(principal, workspace, current.created_by)
        changes: dict[str, Any] = {"version": before.version + 1, "updated_at": services.clock()}
        changes |= {"content": whole_text(parsed.blocks), "media_type": parsed.media_type}
        changes |= {"size_bytes": len(data), "sha256": sha256}
        await store.update(conn, before.id, changes)
        await store.add_version(conn, before.id, change, principal.user_id, data)
        await _index(conn, services, principal, workspace.library, before.id, cut)
        await record(conn, principal, "file.update", before.id)
        return await _find(conn, workspace, "file", before.id)


async def create_artifact(
    services: Services, principal: Principal, workspace_id: str, *, name: str, content: str, media_type: str
) -> Document:
    data = _checked(content)
    async with workspaces.inside(services, principal, workspace_id, needs="member") as (_, workspace):
        pass  # refused before anything is cut
    document = _new(services, principal, workspace, "artifact", name, media_type, len(data))
    made = await _keep(services, principal, document, _as_blocks(content), hashlib.sha256(data).digest(), None)
    return require_found(made, "This artifact is gone.")


async def update_artifact(
    services: Services,
    principal: Principal,
    workspace_id: str,
    artifact_id: str,
    *,
    name: str | None,
    content: str | None,
    media_type: str | None,
    change: str = "updated",
) -> Document:
    """Another version. The earlier ones stay. What is as before is no change."""
    data = _checked(content) if content is not None else None
    while True:
        async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
            before = await _find(conn, workspace, "artifact", artifact_id, to_change=principal)
            was = (await _contents(conn, artifact_id)).content
            text = content if content is not None else was
        kept = (name or before.name, text, media_type or before.media_type)
        if change == "updated" and kept == (before.name, was, before.media_type):
            return before
        cut = await _cut(services, artifact_id, name or before.name, _as_blocks(text))
        async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
            await spaces.lock(conn, [workspace.library])
            current = await _find(conn, workspace, "artifact", artifact_id, to_change=principal)
            if current.version != before.version:
                continue  # somebody was faster: what was cut may no longer be its text
            changes: dict[str, Any] = {"version": before.version + 1, "updated_at": services.clock()}
            changes |= {"name": name} if name is not None else {}
            changes |= {"media_type": media_type} if media_type is not None else {}
            if content is not None and data is not None:
                changes |= {"content": content, "size_bytes": len(data), "sha256": hashlib.sha256(data).digest()}
            await store.update(conn, artifact_id, changes)
            await store.add_version(conn, artifact_id, change, principal.user_id, None)
            await _index(conn, services, principal, workspace.library, artifact_id, cut)
            await record(conn, principal, "artifact.update", artifact_id)
            return await _find(conn, workspace, "artifact", artifact_id)


async def revert_artifact(
    services: Services, principal: Principal, workspace_id: str, artifact_id: str, *, version: int
) -> Document:
    """The text of an earlier version as the newest one."""
    earlier = await contents(services, principal, workspace_id, "artifact", artifact_id, version=version)
    return await update_artifact(
        services, principal, workspace_id, artifact_id, name=earlier.name, content=earlier.content,
        media_type=earlier.media_type, change="reverted",
    )  # fmt: skip


async def list_documents(
    services: Services, principal: Principal, workspace_id: str, kind: Kind, page: PageRequest, *, deleted: bool = False
) -> Page[Document]:
    async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
        if deleted:
            since, made_by = restorable_since(services.clock()), members.changeable(principal, workspace)
            return await store.trash(conn, workspace.library, kind, page, since=since, made_by=made_by)
        return await store.page(conn, workspace.library, kind, page)


async def get(services: Services, principal: Principal, workspace_id: str, kind: Kind, document_id: str) -> Document:
    async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
        return await _find(conn, workspace, kind, document_id)


async def contents(
    services: Services,
    principal: Principal,
    workspace_id: str,
    kind: Kind,
    document_id: str,
    *,
    version: int | None = None,
) -> Contents:
    """The text and, of a file, the bytes as they were uploaded."""
    async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
        await _find(conn, workspace, kind, document_id)
        return await _contents(conn, document_id, version)


async def list_chunks(
    services: Services, principal: Principal, workspace_id: str, document_id: str, *, beyond: int, limit: int
) -> Sequence[Chunk]:
    """The parts of a file as they are found, each with its place."""
    async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
        await _find(conn, workspace, "file", document_id)
        return await store.chunks(conn, document_id, beyond=beyond, limit=limit)


async def versions(
    services: Services, principal: Principal, workspace_id: str, kind: Kind, document_id: str
) -> Sequence[DocumentVersion]:
    async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
        await _find(conn, workspace, kind, document_id, any_state=True)
        return await store.versions(conn, document_id)


async def delete(services: Services, principal: Principal, workspace_id: str, kind: Kind, document_id: str) -> None:
    """Into the trash, for 30 days."""
    async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
        await spaces.lock(conn, [workspace.library])
        document = await _find(conn, workspace, kind, document_id, to_change=principal)
        await store.update(conn, document_id, {"deleted_at": services.clock(), "version": document.version + 1})
        await store.add_version(conn, document_id, "deleted", principal.user_id, None)
        await passages.delete(conn, "document", [document_id])
        await record(conn, principal, f"{kind}.delete", document_id)


async def restore(
    services: Services, principal: Principal, workspace_id: str, kind: Kind, document_id: str
) -> Document:
    """Back out of the trash: read anew from the bytes that were uploaded."""
    async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
        document = await _find(conn, workspace, kind, document_id, deleted=True)
        if not restorable(document.deleted_at, services.clock()):
            raise _not_found(kind)
        members.require_change(principal, workspace, document.created_by)
        kept = await _contents(conn, document_id)
    blocks = _as_blocks(kept.content)
    if kept.original is not None:
        blocks = (await services.parser.parse(kept.original, kept.name, kept.media_type)).blocks
    cut = await _cut(services, document_id, document.name, blocks)
    async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
        await spaces.lock(conn, [workspace.library])
        document = await _find(conn, workspace, kind, document_id, deleted=True)
        await store.update(conn, document_id, {"deleted_at": None, "version": document.version + 1})
        await store.add_version(conn, document_id, "restored", principal.user_id, None)
        await _index(conn, services, principal, workspace.library, document_id, cut)
        await record(conn, principal, f"{kind}.restore", document_id)
        return await _find(conn, workspace, kind, document_id)


async def cut_again(
    services: Services, document_id: str, name: str, media_type: str, content: str, original: bytes | None
) -> list[NewPassage]:
    """The parts of one that comes from elsewhere: read from its bytes, or where they can't be, from its text."""
    blocks: Sequence[Block] = _as_blocks(content)
    if original is not None:
        with suppress(KeepstoneError):
            blocks = (await services.parser.parse(original, name, media_type)).blocks
    return await _cut(services, document_id, name, blocks)


async def put_right(conn: Connection, services: Services, principal: Principal, library: int, document_id: str) -> None:
    """The newest version that is left becomes its text again. The library is held."""
    kept = await _contents(conn, document_id)
    document = require_found(await store.get(conn, document_id), "This document is gone.")
    data = kept.original if kept.original is not None else kept.content.encode()
    changes: dict[str, Any] = {"name": kept.name, "media_type": kept.media_type, "content": kept.content}
    changes |= {"size_bytes": len(data), "sha256": hashlib.sha256(data).digest(), "version": document.version + 1}
    await store.update(conn, document_id, changes)
    await store.add_version(conn, document_id, "reverted", principal.user_id, None)
    if document.deleted_at is None:
        cut = await _cut(services, document_id, kept.name, _as_blocks(kept.content))
        await _index(conn, services, principal, library, document_id, cut)
    await record(conn, principal, f"{document.kind}.update", document_id)


def _new(
    services: Services, principal: Principal, workspace: Workspace, kind: Kind, name: str, media_type: str, size: int,
    at: datetime | None = None,
) -> Document:  # fmt: skip
    now = at or services.clock()
    return Document(
        id=new_id(_PREFIX[kind]), kind=kind, name=name, media_type=media_type, version=1, size_bytes=size,
        workspace_id=workspace.id, created_by=principal.user_id, created_at=now, updated_at=now, deleted_at=None,
    )  # fmt: skip


async def _keep(
    services: Services,
    principal: Principal,
    document: Document,
    blocks: Sequence[Block],
    sha256: bytes,
    original: bytes | None,
) -> Document | None:
    """The first version of it; None where a file of that name came to be meanwhile."""
    cut = await _cut(services, document.id, document.name, blocks)
    async with workspaces.inside(services, principal, document.workspace_id, needs="member") as (conn, workspace):
        await spaces.lock(conn, [workspace.library])
        if original is not None and await store.by_name(conn, workspace.library, document.name) is not None:
            return None
        await store.insert(conn, workspace.library, document, whole_text(blocks), original, sha256)
        await _index(conn, services, principal, workspace.library, document.id, cut)
        await record(conn, principal, f"{document.kind}.create", document.id)
    return replace(document, chunks=len(cut))


async def _index(
    conn: Connection,
    services: Services,
    principal: Principal,
    library: int,
    document_id: str,
    cut: Sequence[NewPassage],
) -> None:
    """Its parts, in place of those it had. The library is held."""
    await passages.delete(conn, "document", [document_id])
    if cut:
        await passages.insert(conn, library, cut)
        await schedule_indexing(conn, services, principal.account, library)


async def _cut(services: Services, document_id: str, name: str, blocks: Sequence[Block]) -> list[NewPassage]:
    services.embedders.need()
    size = sum(len(block.text) for block in blocks)
    return await services.offload.run(size, cut_document, document_id, name, blocks, services.clock(), VISIBILITY)


async def _find(
    conn: Connection,
    workspace: Workspace,
    kind: Kind,
    document_id: str,
    *,
    deleted: bool = False,
    any_state: bool = False,
    to_change: Principal | None = None,
) -> Document:
    """Of this workspace; with `to_change`, if they may change it."""
    document = await store.get(conn, document_id)
    if document is None or document.kind != kind or document.workspace_id != workspace.id:
        raise _not_found(kind)
    if not any_state and deleted != (document.deleted_at is not None):
        raise _not_found(kind)
    if to_change is not None:
        members.require_change(to_change, workspace, document.created_by)
    return document


async def _contents(conn: Connection, document_id: str, version: int | None = None) -> Contents:
    contents = await store.contents(conn, document_id, version)
    if contents is None:
        raise NotFound("There is no such version.")
    return contents


def _require_own(principal: Principal, workspace: Workspace, document: Document) -> None:
    if not members.may_change(principal, workspace, document.created_by):
        raise Forbidden(
            "Somebody else has uploaded a file of this name here: choose another name, or ask an owner of the "
            "workspace to let you change what others have added."
        )


def _as_blocks(content: str) -> list[Block]:
    return [Block(text=content, page=None, heading=None)] if content.strip() else []


def _checked(content: str) -> bytes:
    data = content.encode()
    if len(data) > LARGEST_ARTIFACT:
        message = "has more than 1 MB: split it, or upload it as a file"
        raise Malformed(f"content {message}. Nothing was stored.", fields={"content": message})
    return data


def _not_found(kind: Kind) -> NotFound:
    return NotFound(f"There is no such {kind} in this workspace.")
