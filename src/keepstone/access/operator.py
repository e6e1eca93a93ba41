"""What the operator of the server does for any account: from the command line, and from the console.

None of it shows or changes memory.
"""

from dataclasses import dataclass

from keepstone.access.audit import note, record
from keepstone.access.emails import normal_email
from keepstone.access.meter import month_of
from keepstone.access.principals import operator_in
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_found
from keepstone.errors import Conflict, NotFound
from keepstone.model.account import Resident, User
from keepstone.model.ids import is_id
from keepstone.model.page import Page, PageRequest, cut_page
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import accounts, users
from keepstone.store.db import Connection
from keepstone.store.queue import JobRow, LaneCount, TaskCount

_NO_USER = "There is no such user."


async def principal_for(services: Services, email: str) -> tuple[Principal, User]:
    """The operator acting as this user, who is found in whatever account they are."""
    email = normal_email(email)
    async with services.db.unscoped() as conn:
        account = await accounts.account_of(conn, "email", email)
    if account is not None:
        async with services.db.transaction(account_scope(account)) as conn:
            user = await users.by_email(conn, email)
            home = await accounts.get(conn)
        if user is not None and home is not None:
            return operator_in(account, account_id=home.id, user_id=user.id), user
    raise NotFound(f"There is no user {email}. `keepstone users list` shows who there is.")


async def account_number(services: Services, account_id: str) -> int:
    async with services.db.unscoped() as conn:
        number = await accounts.account_of(conn, "account", account_id) if is_id("acct", account_id) else None
    missing = f"There is no account {account_id[:80]}. `keepstone users list` shows who is in which."
    return require_found(number, missing)


async def residents(services: Services) -> list[Resident]:
    """Everybody on this server."""
    async with services.db.of_server() as conn:
        return await accounts.everybody(conn)


async def residents_page(
    services: Services, principal: Principal, page: PageRequest, *, beginning: str | None
) -> Page[Resident]:
    """The same in pages; with `beginning`, those whose address begins so."""
    await note(services, principal, "console.users", None)
    wanted = beginning.strip().lower() if beginning else None
    async with services.db.of_server() as conn:
        people = await accounts.everybody(conn, beginning=wanted or None, after=page.after, limit=page.limit + 1)
    return cut_page(people, page, lambda person: (person.created_at, person.user_id))


async def set_allowance(
    services: Services,
    email: str,
    *,
    plan: str | None = None,
    credit_count: int | None = None,
    quota_bytes: int | None = None,
    admin: bool | None = None,
    subject: str | None = None,
) -> None:
    """Change the given ones. `quota_bytes` of -1 goes back to what the plan says."""
    principal, user = await principal_for(services, email)
    of_account = {name: value for name, value in {"plan": plan, "credits": credit_count}.items() if value is not None}
    of_user: dict[str, object] = {}
    if quota_bytes is not None:
        of_user["quota_bytes"] = None if quota_bytes < 0 else quota_bytes
    if admin is not None:
        of_user["is_admin"] = admin
    if subject is not None:
        of_user["subject"] = subject or None
        of_user["subject_issuer"] = services.settings.oidc_issuer if subject else None
    async with services.db.transaction(account_scope(principal)) as conn:
        if subject:
            await _free(conn, subject, user)
        await accounts.allow(conn, month_of(services.clock()), plan=plan, credit_count=credit_count)
        await users.update(conn, user.id, **of_user)
        fields = ",".join(sorted({*of_account, *of_user}))
        await record(conn, principal, "user.allowance", user.id, fields=fields)


async def _free(conn: Connection, subject: str, user: User) -> None:
    """A subject is one user's on the whole server."""
    await users.lock_name(conn, "subject", subject)
    taken = await accounts.account_of(conn, "subject", subject)
    if taken is not None and user.subject != subject:
        raise Conflict(f"Another user is {subject[:80]} already: take it from them first, with --subject ''.")


async def set_quota(services: Services, user_id: str, quota_bytes: int | None, *, by: Principal | None = None) -> None:
    """How much one user may keep, whatever their plan says; None goes back to the plan."""
    async with services.db.unscoped() as conn:
        account = require_found(await accounts.account_of(conn, "user", user_id), _NO_USER)
    async with services.db.transaction(account_scope(account)) as conn:
        require_found(await users.get(conn, user_id), _NO_USER)
        await users.update(conn, user_id, quota_bytes=quota_bytes)
        await record(conn, by or operator_in(account), "user.quota", user_id, quota_bytes=quota_bytes)


async def look_at_resident(services: Services, principal: Principal, user_id: str) -> Resident:
    """The same as `resident`; that somebody looked stands in the audit trail of whom they looked at."""
    person = await resident(services, user_id)
    account = await account_number(services, person.account_id)
    await note(services, principal, "console.user", user_id, account=account)
    return person


async def resident(services: Services, user_id: str) -> Resident:
    async with services.db.of_server() as conn:
        people = await accounts.everybody(conn, user_id=user_id)
    return require_found(next(iter(people), None), _NO_USER)


# ------------------------------------------------------------------------------------------------- background jobs

MOST_FAILURES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """What waits, what runs and what failed, the newest first. No arguments: they are ids of others' things."""

    workers: int
    counts: dict[str, int]
    lanes: list[LaneCount]
    tasks: list[TaskCount]
    failures: list[JobRow]


async def jobs(services: Services) -> Jobs:
    queue = services.queue
    return Jobs(
        workers=await queue.live_workers(),
        counts=await queue.counts(),
        lanes=await queue.counts_by_lane(),
        tasks=await queue.counts_by_task(),
        failures=await queue.latest(status="failed", limit=MOST_FAILURES),
    )


async def retry_job(services: Services, principal: Principal, job_id: int) -> None:
    if not await services.queue.retry(job_id):
        raise NotFound(f"There is no failed job {job_id}: it runs again already, or is gone.")
    await note(services, principal, "job.retry", str(job_id))
