"""Facts: exact typed values of a user, a project, a room or the account, with their history. They are never
paraphrased, and no compaction touches them.
"""

from collections.abc import Sequence
from datetime import datetime

from keepstone.access.audit import record
from keepstone.access.readscope import inside, space_scope
from keepstone.access.require import require_maker, require_user
from keepstone.errors import Malformed, NotFound
from keepstone.memory.members import require_change
from keepstone.memory.projects import find_project
from keepstone.memory.rooms import find_room
from keepstone.model.ids import new_id
from keepstone.model.principal import Principal
from keepstone.model.room import Fact, ScopeKind
from keepstone.model.workspace import Role
from keepstone.services import Services
from keepstone.store import facts as store
from keepstone.store import rooms
from keepstone.store.db import Connection, enter

ANYWHERE = "global"  # how a caller may name the account's own facts


async def put(
    services: Services,
    principal: Principal,
    scope_kind: ScopeKind,
    scope_id: str,
    key: str,
    value: str,
    *,
    visibility: str = "shared",
) -> Fact:
    """From now on this is the value, given as JSON text. What only one user may see is a fact of that user."""
    if visibility == "private" and scope_kind != "user":
        message = "only a fact of a user can be private; others are their scope's"
        raise Malformed(f"{message}.".capitalize(), fields={"visibility": message})
    async with inside(services, principal, _reach, scope_kind, scope_id, needs="member") as (conn, scope):
        await store.lock(conn, scope_kind, scope, key)
        await _require_change(conn, services, principal, await store.get(conn, scope_kind, scope, key))
        fact_id = new_id("fact")
        await store.put(
            conn, fact_id, scope_kind, scope, key, value, visibility=visibility, at=services.clock(),
            by=principal.user_id,
        )  # fmt: skip
        await record(conn, principal, "fact.put", fact_id)
        return _there(await store.get(conn, scope_kind, scope, key))


async def get(
    services: Services,
    principal: Principal,
    scope_kind: ScopeKind,
    scope_id: str,
    key: str,
    *,
    as_of: datetime | None = None,
) -> Fact:
    async with inside(services, principal, _reach, scope_kind, scope_id) as (conn, scope):
        return _there(await store.get(conn, scope_kind, scope, key, as_of=as_of))


async def list_facts(
    services: Services, principal: Principal, scope_kind: ScopeKind, scope_id: str, *, as_of: datetime | None = None
) -> Sequence[Fact]:
    """All that hold in this scope, or held then, by key."""
    async with inside(services, principal, _reach, scope_kind, scope_id) as (conn, scope):
        return await store.of_scopes(conn, [(scope_kind, scope)], as_of=as_of)


async def delete(services: Services, principal: Principal, scope_kind: ScopeKind, scope_id: str, key: str) -> None:
    """It holds no longer; what it was stays in its history."""
    async with inside(services, principal, _reach, scope_kind, scope_id, needs="member") as (conn, scope):
        await store.lock(conn, scope_kind, scope, key)
        before = _there(await store.get(conn, scope_kind, scope, key))
        await _require_change(conn, services, principal, before)
        await store.end(conn, scope_kind, scope, key, services.clock())
        await record(conn, principal, "fact.delete", before.id)


async def history(
    services: Services, principal: Principal, scope_kind: ScopeKind, scope_id: str, key: str
) -> Sequence[Fact]:
    """Every value it had, the latest first."""
    async with inside(services, principal, _reach, scope_kind, scope_id) as (conn, scope):
        versions = await store.history(conn, scope_kind, scope, key)
    if not versions:
        raise _not_found()
    return versions


async def _reach(
    conn: Connection, principal: Principal, scope_kind: ScopeKind, scope_id: str, *, needs: Role = "viewer"
) -> str:
    """The scope's own name, if it is the caller's; from here on the transaction reaches its facts. To write, a member
    of a project has to be more than a viewer, and whoever is invited to a room comes.
    """
    if scope_kind == "room":
        return (await find_room(conn, principal, scope_id, joins=needs != "viewer")).id
    if scope_kind == "user":
        if scope_id != require_user(principal):
            raise _not_found()
        spaces = await rooms.named(conn, "profile", [scope_id])
    elif scope_kind == "project":
        spaces = [(await find_project(conn, principal, scope_id, needs=needs)).space]
    else:
        scope_id = principal.account_id if scope_id == ANYWHERE else scope_id
        spaces = await rooms.named(conn, "global", [scope_id])
    if not spaces:
        raise _not_found()
    await enter(conn, space_scope(principal, *spaces))
    return scope_id


async def _require_change(conn: Connection, services: Services, principal: Principal, fact: Fact | None) -> None:
    """The account's own are for all of it to read and add to; what is there already is its maker's to change, and in a
    project an editor's.
    """
    if fact is None:
        return
    if fact.scope_kind == "global":
        require_maker(services, principal, fact.recorded_by)
    if fact.scope_kind == "project":
        require_change(principal, await find_project(conn, principal, fact.scope_id), fact.recorded_by)


def _there(fact: Fact | None) -> Fact:
    if fact is None:
        raise _not_found()
    return fact


def _not_found() -> NotFound:
    return NotFound("There is no such fact.")
