"""Plans: what an account may use, as the operator sets it.

Capacity counts by user, and an admin can set another for one of them; the rest counts by account.
"""

import logging
import re
from dataclasses import replace
from typing import Any

from keepstone.access.audit import record
from keepstone.access.principals import operator_in
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_found
from keepstone.errors import Invalid, QuotaExceeded
from keepstone.model.plan import PLAN_NAME, Capacity, Plan
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.store import accounts
from keepstone.store import plans as store
from keepstone.store.db import Connection

log = logging.getLogger(__name__)

# Seconds. What is full stays full until somebody deletes something or takes a larger plan: nothing to ask again soon.
_FULL = 24 * 60 * 60
_NO_USER = "There is no such user."


async def room_of(conn: Connection, user_id: str) -> Capacity:
    """How much this user may keep, and how much of it is taken. Where there is a limit, nobody else takes of it until
    the transaction ends.
    """
    return require_found(await store.room_of(conn, user_id), _NO_USER)


async def require_room(conn: Connection, services: Services, principal: Principal, more: int) -> None:
    """Refuse what the caller's plan has no room for. What a service key keeps for the account has no limit."""
    if principal.user_id is not None:
        check_room(services, await store.room_of(conn, principal.user_id), more)


def check_room(services: Services, room: Capacity | None, more: int) -> None:
    """The same for a user whose room is known."""
    room = require_found(room, _NO_USER)
    if room.allowed is not None and room.used + more > room.allowed:
        raise quota_exceeded(services.settings, room, more)


def quota_exceeded(settings: Settings, room: Capacity, more: int) -> QuotaExceeded:
    used, allowed = room.used, room.allowed or 0
    return QuotaExceeded(
        f"This needs {more} bytes and {max(0, allowed - used)} of {allowed} are left: delete something, or take a "
        "larger plan.",
        details={"bytes_used": used, "bytes_needed": more, "quota_bytes": allowed},
        retry_after=_FULL,
        upgrade_url=settings.pricing_url,
    )


# ------------------------------------------------------------------------------------------------ the operator's


async def list_plans(services: Services) -> list[Plan]:
    async with services.db.unscoped() as conn:
        return await store.every(conn)


async def on_sale(services: Services) -> list[Plan]:
    """Those that have a price: what anybody may see, whoever they are."""
    return [plan for plan in await list_plans(services) if plan.price is not None]


async def get_plan(services: Services, name: str) -> Plan:
    async with services.db.unscoped() as conn:
        return await find(conn, name)


async def find(conn: Connection, name: str) -> Plan:
    missing = f"There is no plan {name[:80]}. `keepstone plans list` shows which there are."
    return require_found(await store.named(conn, name), missing)


async def put_plan(services: Services, plan: Plan, *, by: Principal | None = None) -> Plan:
    """Make it, or make it this. It holds from the next request on, for everybody who is on it. A plan is no account's:
    the line in the audit trail stands in the account of `by`, or for the command line of the first admin.
    """
    if re.fullmatch(PLAN_NAME, plan.name) is None:
        raise Invalid("A plan's name is of a-z, 0-9, - and _, begins with a letter or digit and has up to 63 of them.")
    async with services.db.of_server() as conn:
        await store.put(conn, plan)
    async with services.db.unscoped() as conn:
        account = by.account if by else await accounts.account_of(conn, "admin", "")
    if account is not None:
        async with services.db.transaction(account_scope(account)) as conn:
            await record(conn, by or operator_in(account), "plan.put", plan.name)
    log.info("plan set", extra={"plan": plan.name})
    return plan


async def change_plan(services: Services, name: str, *, by: Principal | None = None, **changes: Any) -> Plan:
    """Set the given limits and leave the rest. One that was not there is made, behind the others."""
    plans = await list_plans(services)
    last = max((plan.position for plan in plans), default=0)
    before = next((plan for plan in plans if plan.name == name), Plan(name=name, position=last + 1))
    return await put_plan(services, replace(before, **changes), by=by)
