"""One line for each thing done: who, when, what, to which id. Never a text that somebody wrote."""

from keepstone.access.readscope import account_scope
from keepstone.access.require import require_user
from keepstone.model.credential import AuditLine
from keepstone.model.ids import new_id
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal, Via
from keepstone.services import Services
from keepstone.store import audit as store
from keepstone.store.db import Connection


async def record(
    conn: Connection,
    principal: Principal,
    action: str,
    object_id: str | None,
    **details: str | int | bool | None,
) -> None:
    """Write the line in the transaction of the thing itself."""
    if principal.acting:
        details["acting"] = True
    await store.insert(
        conn,
        new_id("aud"),
        user_id=principal.user_id,
        via=principal.via,
        credential_id=principal.credential_id,
        action=action,
        object_id=object_id,
        details=details,
    )


async def record_sign_in(
    conn: Connection, user_id: str, action: str, *, via: Via, **details: str | int | bool | None
) -> None:
    """What came of somebody's wish to be let in as this user, before there is a caller."""
    await store.insert(
        conn, new_id("aud"), user_id=user_id, via=via, action=action, object_id=user_id, details=details
    )  # fmt: skip


async def note(
    services: Services,
    principal: Principal,
    action: str,
    object_id: str | None,
    *,
    account: int | None = None,
    **details: str | int | bool | None,
) -> None:
    """A line for what changed nothing: that somebody looked at what is another's. The very same again within a minute
    is told once. `account` is whose trail it is, if not the caller's.
    """
    place = account or principal.account

    async def write() -> None:
        async with services.db.transaction(account_scope(place)) as conn:
            await record(conn, principal, action, object_id, **details)

    key = f"{place} {principal.credential_id} {principal.user_id} {action} {object_id} {sorted(details.items())}"
    await services.notes.once(key, write, keep=lambda _: True)


async def list_lines(services: Services, principal: Principal, page: PageRequest) -> Page[AuditLine]:
    """The newest first: the whole account's for its owner, one's own for everybody else."""
    user_id = None if principal.role == "owner" else require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        return await store.page(conn, user_id, page)
