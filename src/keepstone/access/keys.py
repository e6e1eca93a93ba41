"""API keys: a user's own, and the service keys of an account. Shown once, when they are made."""

from datetime import datetime

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_found, require_owner, require_self, require_user
from keepstone.access.secrets import new_secret
from keepstone.errors import Invalid, NotFound
from keepstone.model.credential import ApiKey
from keepstone.model.ids import new_id
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import keys as store

_NO_KEY = "There is no such key."


async def create_key(
    services: Services,
    principal: Principal,
    *,
    name: str,
    service: bool = False,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """The new key and, this once, its secret. A service key speaks for the whole account: only its owner makes one."""
    require_self(principal)
    user_id = None if service else require_user(principal)
    if service:
        require_owner(principal)
    if expires_at is not None and expires_at <= services.clock():
        raise Invalid("expires_at lies in the past: name a time to come, or leave it out.")
    secret = new_secret("ck")
    key_id = new_id("key")
    async with services.db.transaction(account_scope(principal.account)) as conn:
        await store.insert(
            conn, key_id, user_id=user_id, created_by=principal.user_id, name=name, prefix=secret.prefix,
            secret_hash=secret.hash, expires_at=expires_at,
        )  # fmt: skip
        await record(conn, principal, "key.create", key_id, service=service)
        key = require_found(await store.get(conn, key_id), _NO_KEY)
    return key, secret.text


async def list_keys(services: Services, principal: Principal, page: PageRequest) -> Page[ApiKey]:
    """One's own; for an owner the account's service keys too."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        return await store.page(conn, principal.user_id, page, with_service=principal.role == "owner")


async def get_key(services: Services, principal: Principal, key_id: str) -> ApiKey:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        return _visible(await store.get(conn, key_id), principal)


async def revoke_key(services: Services, principal: Principal, key_id: str) -> None:
    """From the next request on it opens nothing. Revoking twice is no fault."""
    require_self(principal)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        key = _visible(await store.get(conn, key_id), principal)
        await store.revoke(conn, key.id)
        await record(conn, principal, "key.revoke", key.id)


def _visible(key: ApiKey | None, principal: Principal) -> ApiKey:
    key = require_found(key, _NO_KEY)
    mine = key.user_id is not None and key.user_id == principal.user_id
    if not mine and not (key.user_id is None and principal.role == "owner"):
        raise NotFound(_NO_KEY)
    return key
