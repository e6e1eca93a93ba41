"""What was used: of an account for whoever is in it, of any account for the operator. Numbers, never a text."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from keepstone.access.meter import month_of, next_month
from keepstone.access.operator import account_number
from keepstone.access.principals import operator_in
from keepstone.access.readscope import account_scope
from keepstone.errors import Invalid, NotFound
from keepstone.model.plan import AccountUsage, Month, Plan, Spent, UsageRow
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import accounts, ledger, plans

By = Literal["day", "action", "key", "room"]
MOST_ROWS = 10_000
LONGEST = timedelta(days=400)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """`plan` has the limits that hold, `plan_name` what the account's plan is called. `truncated`: there are more rows
    than these.
    """

    since: datetime
    until: datetime
    plan_name: str
    plan: Plan
    month: Month
    totals: Spent
    rows: list[UsageRow]
    truncated: bool


async def usage(
    services: Services, principal: Principal, *, since: datetime | None, until: datetime | None, by: Sequence[By]
) -> UsageReport:
    """Owners see all of the account's, everybody else their own; a service key that names nobody, its own. What is left
    of the month is the account's, whoever asks.
    """
    sees_all = principal.role == "owner"
    user_id = None if sees_all else principal.user_id
    credential_id = None if sees_all or user_id is not None else principal.credential_id
    since, until = _range(services, since, until)
    now = services.clock()
    async with services.db.transaction(account_scope(principal)) as conn:
        account, plan = await accounts.get(conn), await plans.of_account(conn)
        standing = await ledger.standing(conn, month_of(now))
        if account is None or plan is None or standing is None:
            raise NotFound("This account is gone.")
        totals = await ledger.sums(conn, since=since, until=until, user_id=user_id, credential_id=credential_id)
        rows = await ledger.groups(
            conn, since=since, until=until, user_id=user_id, credential_id=credential_id, by=frozenset(by),
            limit=MOST_ROWS + 1,
        )  # fmt: skip
    return UsageReport(
        since=since,
        until=until,
        plan_name=account.plan,
        plan=plan,
        month=_month(standing, now),
        totals=totals,
        rows=rows[:MOST_ROWS],
        truncated=len(rows) > MOST_ROWS,
    )


async def usage_of(
    services: Services, account_id: str, *, since: datetime | None, until: datetime | None, by: Sequence[By]
) -> UsageReport:
    """One account's, for the operator."""
    account = await account_number(services, account_id)
    return await usage(services, operator_in(account), since=since, until=until, by=by)


async def usage_of_all(
    services: Services, *, since: datetime | None, until: datetime | None
) -> tuple[datetime, datetime, list[AccountUsage]]:
    """Every account's, for the operator."""
    since, until = _range(services, since, until)
    async with services.db.of_server() as conn:
        return since, until, await ledger.of_accounts(conn, since=since, until=until)


def _range(services: Services, since: datetime | None, until: datetime | None) -> tuple[datetime, datetime]:
    """Without anything said, this month until now."""
    now = services.clock()
    until = until or now + timedelta(seconds=1)
    if since is None:
        first = month_of(min(now, until))
        since = now.replace(year=first.year, month=first.month, day=1, hour=0, minute=0, second=0, microsecond=0)
    if since >= until:
        raise Invalid("from has to lie before to.")
    if until - since > LONGEST:
        raise Invalid(f"That are more than {LONGEST.days} days: ask for less at once.")
    return since, until


def _month(standing: ledger.AccountStanding, now: datetime) -> Month:
    left = standing.credits
    if standing.refill_due and standing.monthly_credits is not None:  # as the next billable call will find it
        left = max(left or 0, standing.monthly_credits)
    return Month(
        month=month_of(now),
        resets_at=next_month(now),
        queries=standing.queries,
        credits=standing.spent,
        tokens_in=standing.tokens_in,
        tokens_out=standing.tokens_out,
        queries_left=None if standing.monthly_queries is None else max(0, standing.monthly_queries - standing.queries),
        credits_left=left,
        tokens_left=standing.tokens_left,
    )
