"""One line for each thing done: who, when, what, to which id. Never a text that somebody wrote."""

from keepstone.access.readscope import account_scope
from keepstone.access.require import require_user
from keepstone.model.credential import AuditLine
from keepstone.model.ids import new_id
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
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


async def list_lines(services: Services, principal: Principal, page: PageRequest) -> Page[AuditLine]:
    """The newest first: the whole account's for its owner, one's own for everybody else."""
    user_id = None if principal.role == "owner" else require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        return await store.page(conn, user_id, page)
