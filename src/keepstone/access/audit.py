"""One line for each thing done: who, when, what, to which id. Never a text that somebody wrote."""

import csv
import io
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any, Literal

from keepstone.access.readscope import account_scope
from keepstone.access.require import require_admin, require_found, require_user
from keepstone.errors import NotFound
from keepstone.model.credential import AuditFilter, AuditLine, ServerAuditLine
from keepstone.model.ids import new_id
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal, Via
from keepstone.services import Services
from keepstone.store import accounts
from keepstone.store import audit as store
from keepstone.store.db import Connection

AuditForm = Literal["csv", "jsonl"]
COLUMNS = ("account_id", "id", "at", "user_id", "via", "credential_id", "action", "object_id", "details")
_AT_ONCE = 1000


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


async def record_each(conn: Connection, principal: Principal, action: str, object_ids: Sequence[str]) -> None:
    """The same about each of several."""
    await store.insert_each(
        conn,
        object_ids,
        user_id=principal.user_id,
        via=principal.via,
        credential_id=principal.credential_id,
        action=action,
        details={"acting": True} if principal.acting else {},
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


async def list_lines(
    services: Services, principal: Principal, page: PageRequest, *, wanted: AuditFilter | None = None
) -> Page[AuditLine]:
    """The newest first: the whole account's for its owner, one's own for everybody else."""
    wanted = _own(principal, wanted or AuditFilter())
    async with services.db.transaction(account_scope(principal)) as conn:
        return await store.page(conn, wanted, page)


async def list_of_server(
    services: Services, principal: Principal, page: PageRequest, *, wanted: AuditFilter, account_id: str | None
) -> Page[ServerAuditLine]:
    """For the operator: those of every account, or of one. That they looked is a line too."""
    require_admin(principal)
    await note(services, principal, "console.audit", account_id)
    async with services.db.of_server() as conn:
        return await store.of_server(conn, wanted, page, account_id)


async def home(services: Services) -> int:
    """In whose trail it stands what the operator does that concerns no account: the first admin's."""
    async with services.db.unscoped() as conn:
        account = await accounts.account_of(conn, "admin", "")
    return require_found(account, "Nobody is an admin here: `keepstone users set EMAIL --admin` makes one.")


async def export_lines(
    services: Services, principal: Principal, *, wanted: AuditFilter | None = None
) -> AsyncGenerator[AuditLine]:
    """All of them, page by page. That they were taken out is a line too."""
    wanted = _own(principal, wanted or AuditFilter())
    async with services.db.transaction(account_scope(principal)) as conn:
        await record(conn, principal, "audit.export", None)
    page: PageRequest | None = PageRequest(limit=_AT_ONCE)
    while page is not None:
        lines = await list_lines(services, principal, page, wanted=wanted)
        for line in lines.items:
            yield line
        page = _next(page, lines)


async def export_of_server(
    services: Services, principal: Principal, *, wanted: AuditFilter, account_id: str | None
) -> AsyncGenerator[ServerAuditLine]:
    require_admin(principal)
    page: PageRequest | None = PageRequest(limit=_AT_ONCE)
    while page is not None:
        lines = await list_of_server(services, principal, page, wanted=wanted, account_id=account_id)
        for line in lines.items:
            yield line
        page = _next(page, lines)


async def written(lines: AsyncGenerator[AuditLine], form: AuditForm) -> AsyncGenerator[str]:
    """A file of them: a line of JSON each, or a table with a head."""
    if form == "csv":
        yield _row(COLUMNS)
    async for line in lines:
        fields = {name: getattr(line, name, None) for name in COLUMNS}
        fields["at"] = line.at.isoformat().replace("+00:00", "Z")
        if form == "jsonl":
            yield json.dumps(fields, ensure_ascii=False) + "\n"
        else:
            fields["details"] = json.dumps(line.details, ensure_ascii=False)
            yield _row(["" if value is None else str(value) for value in fields.values()])


def _row(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()


def _next(page: PageRequest, lines: Page[Any]) -> PageRequest | None:
    if lines.next_cursor is None:
        return None
    last = lines.items[-1]
    return PageRequest(limit=page.limit, after=(last.at, last.id))


def _own(principal: Principal, wanted: AuditFilter) -> AuditFilter:
    """To whoever is no owner, nobody else has done anything."""
    if principal.role == "owner":
        return wanted
    user_id = require_user(principal)
    if wanted.user_id not in {None, user_id}:
        raise NotFound("There is no such user.")
    return replace(wanted, user_id=user_id)
