"""API keys: a user's own, and the service keys of an account. Shown once, when they are made. Each can be limited to
reading, to some surfaces and to some spaces; none makes another that reaches further than itself.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_found, require_owner, require_self, require_user
from keepstone.access.secrets import new_secret
from keepstone.errors import Forbidden, Invalid, NotFound
from keepstone.model.credential import ApiKey
from keepstone.model.ids import Kind, is_id, new_id
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import KeySurface, Permission, Principal
from keepstone.services import Services
from keepstone.store import keys as store
from keepstone.store.db import Connection

_NO_KEY = "There is no such key."
_BY_ID: dict[Kind, str] = {"ws": "workspace", "room": "room", "graph": "graph", "proj": "project"}
_BY_NAME = ("scope:", "store:")


async def create_key(
    services: Services,
    principal: Principal,
    *,
    name: str,
    service: bool = False,
    expires_at: datetime | None = None,
    permission: Permission = "write",
    surfaces: Collection[KeySurface] | None = None,
    spaces: Sequence[str] | None = None,
) -> tuple[ApiKey, str]:
    """The new key and, this once, its secret. A service key speaks for the whole account: only its owner makes one."""
    require_self(principal)
    user_id = None if service else require_user(principal)
    if service:
        require_owner(principal)
    if expires_at is not None and expires_at <= services.clock():
        raise Invalid("expires_at lies in the past: name a time to come, or leave it out.")
    if surfaces == [] or spaces == []:
        raise Invalid("A key for nothing opens nothing: name a surface or a space, or leave them out for all.")
    surfaces, expires_at = _no_further(principal, permission, surfaces, expires_at, service=service)
    named = None if spaces is None else list(dict.fromkeys(_named(space, user_id) for space in spaces))
    secret = new_secret("ck", principal.account)
    key_id = new_id("key")
    async with services.db.transaction(account_scope(principal)) as conn:
        if named is not None:
            await _check_spaces(conn, named, user_id)
        await store.insert(
            conn, key_id, user_id=user_id, created_by=principal.user_id, name=name, prefix=secret.prefix,
            secret_hash=secret.hash, expires_at=expires_at, permission=permission,
            surfaces=None if surfaces is None else sorted(set(surfaces)), spaces=named,
        )  # fmt: skip
        await record(conn, principal, "key.create", key_id, service=service)
        key = require_found(await store.get(conn, key_id), _NO_KEY)
    return _shown(key), secret.text


async def list_keys(services: Services, principal: Principal, page: PageRequest) -> Page[ApiKey]:
    """One's own; for an owner the account's service keys too."""
    async with services.db.transaction(account_scope(principal)) as conn:
        keys = await store.page(conn, principal.user_id, page, with_service=principal.role == "owner")
    return replace(keys, items=[_shown(key) for key in keys.items])


async def get_key(services: Services, principal: Principal, key_id: str) -> ApiKey:
    async with services.db.transaction(account_scope(principal)) as conn:
        return _shown(_visible(await store.get(conn, key_id), principal))


async def revoke_key(services: Services, principal: Principal, key_id: str) -> None:
    """From the next request on it opens nothing. Revoking twice is no fault."""
    require_self(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        key = _visible(await store.get(conn, key_id), principal)
        await store.revoke(conn, key.id)
        await record(conn, principal, "key.revoke", key.id)


def _shown(key: ApiKey) -> ApiKey:
    return replace(key, spaces=None if key.spaces is None else [_wire_name(named) for named in key.spaces])


def _wire_name(named: str) -> str:
    """A space that a key is limited to, as callers name it."""
    kind, _, name = named.partition(":")
    if kind == "vault":
        return "capsules"
    return named if f"{kind}:" in _BY_NAME else name


def _named(space: str, user_id: str | None) -> str:
    """A space as a kind, a colon and a name."""
    for prefix, kind in _BY_ID.items():
        if is_id(prefix, space):
            return f"{kind}:{space}"
    if space.startswith(_BY_NAME) and len(space) > len(_BY_NAME[0]):
        return space
    if space == "capsules" and user_id is not None:
        return f"vault:{user_id}"
    raise Invalid(
        f"{space!r} names no space: give the id of a workspace, room, graph or project, scope:NAME, store:NAME or, "
        "for a key of your own, capsules."
    )


async def _check_spaces(conn: Connection, named: Sequence[str], user_id: str | None) -> None:
    known = await store.known_spaces(conn, named, user_id)
    missing = [_wire_name(space) for space in named if space not in known]
    if missing:
        raise NotFound(f"There is no {missing[0]} that this key could be limited to: make it first, then the key.")


def _no_further(
    principal: Principal,
    permission: Permission,
    surfaces: Collection[KeySurface] | None,
    expires_at: datetime | None,
    *,
    service: bool,
) -> tuple[Collection[KeySurface] | None, datetime | None]:
    """What is left out is as the caller's own credential has it; what is asked for can't be more."""
    own, own_end = principal.reach, principal.credential_expires_at
    surfaces = own.surfaces if surfaces is None else surfaces
    expires_at = own_end if expires_at is None else expires_at
    if (
        own.spaces is not None
        or (service and not own.whole)
        or (permission == "write" and own.permission != "write")
        or (own.surfaces is not None and not own.surfaces.issuperset(surfaces or ()))
        or (own_end is not None and (expires_at is None or expires_at > own_end))
    ):
        raise Forbidden("A key can't make one that reaches further than itself, or lasts longer.", code="outside_key")
    return surfaces, expires_at


def _visible(key: ApiKey | None, principal: Principal) -> ApiKey:
    key = require_found(key, _NO_KEY)
    mine = key.user_id is not None and key.user_id == principal.user_id
    if not mine and not (key.user_id is None and principal.role == "owner"):
        raise NotFound(_NO_KEY)
    return key
