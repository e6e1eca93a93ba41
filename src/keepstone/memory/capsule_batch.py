"""The same done to many capsules at once. What is not there any more is left out: somebody chose from a list."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from keepstone.access.readscope import account_scope
from keepstone.access.require import require_user
from keepstone.engine.keyphrases import tags as tags_of
from keepstone.engine.lookup import nearest
from keepstone.memory import shelf
from keepstone.memory.capsule_search import LIKELY_DUPLICATE
from keepstone.memory.capsules import CAPSULES, brought_back, changed, look_into_vault
from keepstone.memory.projects import require_project
from keepstone.memory.shelf import Finder
from keepstone.model.capsule import Capsule, Similar
from keepstone.model.memory import restorable
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import capsules as store
from keepstone.store import memories
from keepstone.store.db import Connection

_ABOUT_THE_SAME = 0.6  # cosine: what people called that is a suggestion
_NEAR = 20
_COMPARED = 8_000  # characters of a draft
_SHOWN = 5
_SUGGESTED = 6


async def change_many(
    services: Services, principal: Principal, ids: Sequence[str], changes: Mapping[str, Any]
) -> list[Capsule]:
    """Add and take off tags (`add_tags`, `remove_tags`), set the kind or the project. Returns those that are another
    now, as they were before.
    """
    project: dict[str, Any] = {}

    async def find(conn: Connection) -> Sequence[Capsule]:
        if "project_id" in changes:
            found = await require_project(conn, principal, changes["project_id"])
            project.update(project_id=changes["project_id"], project_name=found.name if found else None)
        return await _there(principal, ids)(conn)

    before: dict[str, Capsule] = {}

    def edit(capsule: Capsule) -> Capsule:
        gone = set[str](changes.get("remove_tags") or ())
        kept = [tag for tag in capsule.tags if tag not in gone]
        told = {"tags": [*kept, *(changes.get("add_tags") or ())], "kind": changes.get("kind")}
        after = changed(replace(capsule, **project), told)
        if after != capsule:
            before[capsule.id] = capsule
        return after

    await shelf.change_all(services, principal, CAPSULES, find, edit, fields=",".join(sorted(changes)))
    return list(before.values())


async def delete_many(services: Services, principal: Principal, ids: Sequence[str]) -> int:
    """Into the trash. Returns how many were there."""
    async with services.db.transaction(account_scope(principal)) as conn:
        gone = await shelf.held(conn, _there(principal, ids))
        if gone:
            await shelf.put_away(
                conn, principal, CAPSULES, [capsule.id for capsule in gone], deleted_at=services.clock()
            )
    return len(gone)


async def restore_many(services: Services, principal: Principal, ids: Sequence[str]) -> int:
    """Out of the trash, all that are still there. Returns how many that were."""
    found: list[Capsule] = []

    async def find(conn: Connection) -> Sequence[Capsule]:
        await look_into_vault(conn, principal)
        known = await memories.by_ids(conn, store.SHAPE, ids, any_state=True)
        now = services.clock()
        found[:] = [one for one in (known.get(name) for name in ids) if one and restorable(one.deleted_at, now)]
        return found

    async with services.db.transaction(account_scope(principal)) as conn:
        if not await find(conn):
            return 0
    await shelf.restore(services, principal, CAPSULES, find, edit=brought_back(services.clock()))
    return len(found)


async def alike(
    services: Services, principal: Principal, content_md: str, title: str | None
) -> tuple[list[Similar], list[str]]:
    """For a text that is being written: what there is that says nearly the same, however old; and tags that fit, those
    of what is similar before those from the text.
    """
    require_user(principal)
    text = content_md[:_COMPARED]
    about = await services.offload.run(len(text), tags_of, text)
    draft = CAPSULES.new(services.clock(), title=title or text[:80], content=text, type="", tags=[], metadata={})
    prepared = await shelf.prepare(services, CAPSULES, draft)
    async with services.db.transaction(account_scope(principal)) as conn:
        space = (await look_into_vault(conn, principal)).space
        view = services.resident.at_hand(principal.account, space)
        near = await nearest(
            conn, space, prepared.first, above=_ABOUT_THE_SAME, limit=_NEAR, beginnings=True, view=view
        )  # fmt: skip
        known = await memories.by_ids(conn, store.SHAPE, list(near))
    same = [
        Similar(id=name, title=known[name].title, similarity=round(similarity, 4))
        for name, similarity in near.items()
        if name in known and similarity >= LIKELY_DUPLICATE
    ]
    called = [tag for name in near if name in known for tag in known[name].tags]
    return same[:_SHOWN], list(dict.fromkeys([*called, *about]))[:_SUGGESTED]


def _there(principal: Principal, ids: Sequence[str]) -> Finder[Capsule]:
    async def find(conn: Connection) -> Sequence[Capsule]:
        await look_into_vault(conn, principal)
        known = await memories.by_ids(conn, store.SHAPE, ids)
        return [known[name] for name in dict.fromkeys(ids) if name in known]

    return find
