"""Merges of capsules in their histories, and taking one back."""

from dataclasses import dataclass, fields, replace

from keepstone.access.readscope import account_scope
from keepstone.errors import NotFound
from keepstone.memory import shelf
from keepstone.memory.capsules import CAPSULES, brought_back, changed, finder, hold_vault, look_into_vault
from keepstone.model.capsule import Capsule
from keepstone.model.memory import Version, restorable
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import capsules as store
from keepstone.store import memories
from keepstone.store.db import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class CapsuleVersion(Version):
    """`merged` are those that went into it with this version, as long as that can be taken back."""

    merged: tuple[store.Merged, ...] = ()


async def history(services: Services, principal: Principal, capsule_id: str) -> list[CapsuleVersion]:
    """Every version, the latest first; also of what is in the trash."""
    async with services.db.transaction(account_scope(principal)) as conn:
        [capsule] = await finder(principal, capsule_id)(conn)
        return await _versions(conn, services, capsule)


async def unmerge(services: Services, principal: Principal, capsule_id: str, version: int) -> Capsule:
    """Take back the merge that made this version: what was merged into it comes out of the trash, and it is as it was
    before. What was written since stays in its history.
    """
    while True:
        async with services.db.transaction(account_scope(principal)) as conn:
            into, parts, before = await _merge_of(conn, services, principal, capsule_id, version)
        now = services.clock()
        back = changed(
            into,
            {"title": before.title, "content_md": before.content, "kind": before.type, "tags": before.tags,
             "metadata": before.metadata, "project_id": before.project_id},
        )  # fmt: skip
        prepared = await shelf.prepare_change(services, CAPSULES, into, replace(back, updated_at=now))
        edit = brought_back(now)
        others = await shelf.prepare_each(services, CAPSULES, [edit(part) for part in parts])
        async with services.db.transaction(account_scope(principal)) as conn:
            await hold_vault(conn, principal)
            current, away, _ = await _merge_of(conn, services, principal, capsule_id, version)
            if [(one.id, one.version) for one in (current, *away)] != [(one.id, one.version) for one in (into, *parts)]:
                continue  # somebody was faster
            # First the one that gets smaller, so that there is room for the others.
            await shelf.rewrite(conn, services, principal, CAPSULES, current, prepared, "unmerged")
            for part, other in zip(away, others, strict=True):
                await shelf.rewrite(conn, services, principal, CAPSULES, part, other, "restored")
            [capsule] = await finder(principal, capsule_id)(conn)
            return capsule


async def _merge_of(
    conn: Connection, services: Services, principal: Principal, capsule_id: str, version: int
) -> tuple[Capsule, list[Capsule], Version]:
    """The capsule, what this version of it took in, and the version before."""
    [capsule] = await finder(principal, capsule_id)(conn)
    CAPSULES.live(capsule)
    versions = await _versions(conn, services, capsule)
    made = next((one for one in versions if one.version == version), None)
    before = next((one for one in versions if one.version < version), None)
    if made is None or before is None or not made.merged:
        raise NotFound("Nothing that was merged into it with this version is in the trash any more.")
    await look_into_vault(conn, principal)
    known = await memories.by_ids(conn, store.SHAPE, [part.id for part in made.merged], any_state=True)
    return capsule, [known[part.id] for part in made.merged], before


async def _versions(conn: Connection, services: Services, capsule: Capsule) -> list[CapsuleVersion]:
    """Both rows of a merge are of one transaction, and so of one moment."""
    since = services.clock()
    parts = [part for part in await store.merges(conn, capsule.space, capsule.id) if restorable(part.deleted_at, since)]
    return [
        CapsuleVersion(
            **{field.name: getattr(version, field.name) for field in fields(Version)},
            merged=tuple(part for part in parts if part.at == version.changed_at),
        )
        for version in await memories.versions(conn, Version, capsule.id)
    ]
