"""The one place where a read scope comes from. The database accepts nothing else and checks it again."""

from cairn.model.principal import Principal, ReadScope
from cairn.services import Services
from cairn.store import spaces


def account_scope(account: int) -> ReadScope:
    """The account's own records (users, keys, audit), and no memory at all."""
    return ReadScope(account=account)


def space_scope(principal: Principal, space: int) -> ReadScope:
    """One space that the caller's own name led to."""
    return ReadScope(account=principal.account, spaces=(space,), visibilities=("public", "shared", "private"))


def job_scope(account: int, space: int) -> ReadScope:
    """One space, for background work on what is in it."""
    return ReadScope(account=account, spaces=(space,), visibilities=("public", "shared", "private"))


async def read_scope(services: Services, principal: Principal) -> ReadScope:
    """Everything this caller may see: what is theirs, what they are a member of, and what is the account's."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        found = await spaces.of_account(conn)
        if principal.user_id is not None:
            found += await spaces.readable_by(conn, principal.user_id)
    return ReadScope(
        account=principal.account, spaces=tuple(sorted(found)), visibilities=("public", "shared", "private")
    )
