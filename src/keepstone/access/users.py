"""The people of an account: who they are, who may add and change them, and erasing one for good."""

from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from keepstone.access.audit import record
from keepstone.access.emails import normal_email
from keepstone.access.passwords import hash_password
from keepstone.access.principals import operator_in
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_found, require_owner, require_self, require_user
from keepstone.errors import Conflict, Invalid, NotFound
from keepstone.model.account import Account, User
from keepstone.model.ids import new_id
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal, Role
from keepstone.services import Services
from keepstone.store import accounts, spaces
from keepstone.store import users as store
from keepstone.store.db import Connection

_NO_USER = "There is no such user."
Field = Literal["name", "timezone", "language", "role", "cold_tier", "weekly_digest", "welcome"]


async def create_user(
    services: Services,
    *,
    email: str,
    account: int | None = None,
    name: str = "",
    role: Role | None = None,
    password: str | None = None,
    is_admin: bool = False,
    by: Principal | None = None,
) -> User:
    """A new user: in a new account and its owner, or in the account that is named, there a member. `by` is whoever of
    that account made the place, which the new one has still to take; without, it is the operator.
    """
    email = normal_email(email)
    password_hash = await hash_password(services.hasher, password) if password is not None else None
    async with services.db.unscoped() as conn:
        number = account or await accounts.new_number(conn)
    user_id = new_id("usr")
    async with services.db.transaction(account_scope(number)) as conn:
        await require_free(conn, email)
        if account is None:
            account_id = new_id("acct")
            await accounts.insert(
                conn, account_id, name=name or email, named_by=user_id, plan=services.settings.default_plan
            )
            await spaces.ensure(conn, kind="global", name=account_id)
        await insert_user(
            conn, user_id, email=email, name=name, role=role or ("owner" if account is None else "member"),
            is_admin=is_admin, password_hash=password_hash,
            accepted_at=services.clock() if by is None else None,
        )  # fmt: skip
        await record(conn, by or operator_in(number), "user.create", user_id)
        return await _existing(conn, user_id)


async def require_free(conn: Connection, email: str) -> None:
    """Until the transaction ends, nobody else takes this address."""
    await store.lock_name(conn, "email", email)
    if await accounts.account_of(conn, "email", email) is not None:
        raise Conflict(f"There is a user {email} on this server already.")


async def insert_user(conn: Connection, user_id: str, **columns: Any) -> None:
    """With the places that everybody has."""
    await store.insert(conn, user_id, **columns)
    for kind in ("vault", "profile"):
        await spaces.ensure(conn, kind=kind, name=user_id, owner=user_id)


async def add_user(
    services: Services, principal: Principal, *, email: str, name: str, role: Role, password: str | None
) -> User:
    require_owner(principal)
    return await create_user(
        services,
        email=email,
        account=principal.account,
        name=name,
        role=role,
        password=password,
        by=principal,
    )


async def get_account(services: Services, principal: Principal) -> Account:
    async with services.db.transaction(account_scope(principal)) as conn:
        return require_found(await accounts.get(conn), "This account is gone.")


async def update_account(
    services: Services, principal: Principal, *, name: str | None = None, timezone: str | None = None
) -> Account:
    require_owner(principal)
    if timezone is not None:
        _check_timezone(timezone)
    given = {"name": name, "named_by": principal.user_id if name is not None else None, "timezone": timezone}
    changes = {field: value for field, value in given.items() if value is not None}
    if changes:
        async with services.db.transaction(account_scope(principal)) as conn:
            await accounts.update(conn, **changes)
            await record(conn, principal, "account.update", principal.account_id)
    return await get_account(services, principal)


async def list_users(services: Services, principal: Principal, page: PageRequest) -> Page[User]:
    """All of the account for its owner; to everybody else only they themselves are there."""
    async with services.db.transaction(account_scope(principal)) as conn:
        if principal.role != "owner":
            me = await store.get(conn, require_user(principal))
            return Page(items=[me] if me else [], next_cursor=None)
        return await store.page(conn, page)


async def get_user(services: Services, principal: Principal, user_id: str) -> User:
    _see(principal, user_id)
    async with services.db.transaction(account_scope(principal)) as conn:
        return await _existing(conn, user_id)


async def update_user(services: Services, principal: Principal, user_id: str, changes: dict[Field, Any]) -> User:
    """Change the given fields of oneself, or as an owner of anybody in the account."""
    _see(principal, user_id)
    if "timezone" in changes:
        _check_timezone(changes["timezone"])
    async with services.db.transaction(account_scope(principal)) as conn:
        user = await _existing(conn, user_id)
        if not changes:
            return user
        if "role" in changes and changes["role"] != user.role:
            require_owner(principal)
            await _keep_an_owner(conn, user)
        chosen = {"timezone_chosen": True} if "timezone" in changes else {}
        await store.update(conn, user_id, **changes, **chosen)
        if chosen and not user.timezone_chosen and principal.role == "owner" and await store.count(conn) == 1:
            await accounts.update(conn, timezone=changes["timezone"])  # of whoever is alone in it, the account's too
        role = {"role": changes["role"]} if "role" in changes else {}
        await record(conn, principal, "user.update", user_id, fields=",".join(sorted(changes)), **role)
        return await _existing(conn, user_id)


async def erase_user(services: Services, principal: Principal, user_id: str) -> None:
    """Erase the user and all that is theirs. At once nobody sees or uses it; a job then removes every row.

    With the last user of an account the account goes too. While others are in it, one of them has to be its owner.
    """
    require_self(principal)
    _see(principal, user_id)
    async with services.db.transaction(account_scope(principal)) as conn:
        user = await _existing(conn, user_id)
        if await store.count(conn) > 1:
            await _keep_an_owner(conn, user)
        await store.mark_erased(conn, user_id)
        await record(conn, principal, "user.erase", user_id)
        await services.queue.add(conn, "erase_user", account=principal.account, user_id=user_id)


def _check_timezone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Invalid(f"{name!r} is not a time zone: use a name such as Europe/Berlin.") from None


def _see(principal: Principal, user_id: str) -> None:
    """To a member, the others of the account do not exist."""
    if principal.role != "owner" and principal.user_id != user_id:
        raise NotFound(_NO_USER)


async def _existing(conn: Connection, user_id: str) -> User:
    return require_found(await store.get(conn, user_id), _NO_USER)


async def _keep_an_owner(conn: Connection, user: User) -> None:
    """Locks the owners, so that the last two can't step down at the same moment."""
    if user.role == "owner" and await store.count_owners(conn) < 2:
        raise Conflict("This is the account's only owner: make somebody else an owner first.")
