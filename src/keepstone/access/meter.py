"""The meter: what a call costs, whether there is enough for it, and the ledger line that says that it was made.

A billable call is paid once, when it has succeeded: `begin` before the work, `charge` in its transaction. However many
come at once, each call id has one line, the balance never goes below nothing, and no month has more queries than its
plan. `once` is for calls that may be sent again because the answer got lost: for some minutes that is the same call.
What language models read and wrote is noted too, by `metered`.
"""

import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

from keepstone.access.readscope import account_scope
from keepstone.access.require import require_found
from keepstone.errors import KeepstoneError, PaymentRequired, QuotaExceeded, UpstreamError
from keepstone.model.ids import random_text
from keepstone.model.principal import Principal
from keepstone.observe.logs import describe
from keepstone.providers.llm import Completion, LanguageModel, outage_of
from keepstone.services import Services
from keepstone.store import ledger
from keepstone.store.db import Connection, DatabaseError
from keepstone.store.ledger import AccountStanding, LedgerLine

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Credits are taken from the balance; queries count against the plan's limit of the month."""

    credits: int = 0
    queries: int = 0


PRICES = {"recall": Price(credits=1), "ask": Price(credits=5), "memory_recall": Price(queries=1)}
RETRY_SECONDS = 600  # for so long, and at most twice as long, the same call again is a retry
_MODEL = "llm"
_NO_ACCOUNT = "This account is gone."

T = TypeVar("T")


# -------------------------------------------------------------------------------------------------- billable calls


async def once(
    services: Services,
    principal: Principal,
    request_id: str | None,
    asked: Sequence[object],
    work: Callable[[str], Awaitable[T]],
    *,
    keep: Callable[[T], bool] = lambda _: True,
) -> T:
    """Do the work, which is given its call id. If the same caller has just asked the very same under the same request
    id, the answer is the one from then, and is neither worked on nor paid again.

    `asked` is all that the answer depends on: the caller picks the request id, so it alone says nothing.
    """
    if request_id is None:
        return await work(random_text(24))
    digest = hashlib.sha256(repr([principal.user_id, *asked]).encode()).hexdigest()
    call_id = f"{request_id}:{digest[:24]}"
    return await services.replies.once(f"{principal.account}:{call_id}", lambda: work(call_id), keep=keep)


async def begin(
    services: Services, conn: Connection, action: str, call_id: str | None = None, *, code: str | None = None
) -> None:
    """Before the work is done: is there enough? Nothing is taken yet. What was just paid may come again.

    `code` is what the refusal of a query over the month's limit is called, where it is not `quota_exceeded`.
    """
    month, line_ids = asked_of_ledger(services, action, call_id)
    standing = require_found(await ledger.standing(conn, month, line_ids), _NO_ACCOUNT)
    if _needs_refill(action, standing):
        standing = replace(standing, credits=await ledger.refill(conn, month))
    _require_enough(services, action, standing, code)


def asked_of_ledger(services: Services, action: str, call_id: str | None = None) -> tuple[date, Sequence[str]]:
    """The month, and the names that the line of the call may have in it: what `begin` looks at."""
    now = services.clock()
    return month_of(now), _line_ids(action, call_id, now) if call_id is not None else ()


async def begin_standing(services: Services, principal: Principal, action: str, standing: AccountStanding) -> None:
    """`begin` where it was looked up already, with something else."""
    if _needs_refill(action, standing):
        async with services.db.transaction(account_scope(principal)) as conn:
            standing = replace(standing, credits=await ledger.refill(conn, month_of(services.clock())))
    _require_enough(services, action, standing)


def _needs_refill(action: str, standing: AccountStanding) -> bool:
    return bool(PRICES[action].credits) and standing.refill_due and not standing.known


def _require_enough(services: Services, action: str, standing: AccountStanding, code: str | None = None) -> None:
    price, left = PRICES[action], standing.credits
    if standing.known:
        return
    if price.credits and left is not None and left < price.credits:
        raise _no_credits(services, action, left)
    if price.queries and standing.monthly_queries is not None and standing.queries >= standing.monthly_queries:
        raise _no_queries(services, standing.queries, standing.monthly_queries, code)


async def charge(
    services: Services,
    conn: Connection,
    principal: Principal,
    action: str,
    call_id: str,
    *,
    tokens_in: int = 0,
    tokens_out: int = 0,
    details: dict[str, Any] | None = None,
    code: str | None = None,
) -> int:
    """Take what it costs and write the line, together; a retry of the same call takes nothing. Returns the credits.

    Last in the transaction of the work: until that ends, the account's other calls wait here. Raises when there is not
    enough, which gives the transaction up.
    """
    now, price = services.clock(), PRICES[action]
    line_id, earlier_id = _line_ids(action, call_id, now)
    taken = await ledger.take(
        conn,
        LedgerLine(
            call_id=line_id, at=now, month=month_of(now), user_id=principal.user_id,
            credential_id=principal.credential_id, action=action, queries=price.queries, credits=price.credits,
            tokens_in=tokens_in, tokens_out=tokens_out, details=details or {},
        ),
        unless=earlier_id,
    )  # fmt: skip
    taken = require_found(taken, _NO_ACCOUNT)
    if taken.new and not taken.paid:
        raise _no_credits(services, action, 0)
    if taken.new and not taken.within:
        raise _no_queries(services, None, None, code)
    return price.credits


def month_of(at: datetime) -> date:
    return at.astimezone(UTC).date().replace(day=1)


def next_month(at: datetime) -> datetime:
    """When the month's limits begin anew."""
    following = (month_of(at) + timedelta(days=31)).replace(day=1)
    return datetime(following.year, following.month, 1, tzinfo=UTC)


def _line_ids(action: str, call_id: str, now: datetime) -> tuple[str, str]:
    """What the call's line is called if it is made now, and what it was called just before. The time is part of it, so
    that nobody gets the same for nothing tomorrow.
    """
    period = int(now.timestamp()) // RETRY_SECONDS
    return f"{call_id}:{action}:{period}", f"{call_id}:{action}:{period - 1}"


def _no_credits(services: Services, action: str, left: int) -> PaymentRequired:
    return PaymentRequired(
        f"This {action} costs {PRICES[action].credits} credits and {left} are left: ask the operator of this server "
        "for more. You were not charged.",
        upgrade_url=services.settings.pricing_url,
    )


def _no_queries(services: Services, used: int | None, allowed: int | None, code: str | None) -> QuotaExceeded:
    details = {"queries": used, "monthly_queries": allowed} if allowed is not None else {}
    return _used_up(services, "The queries of this month are used up", code, details)


def _used_up(
    services: Services, what: str, code: str | None, details: Mapping[str, Any] | None = None
) -> QuotaExceeded:
    now = services.clock()
    resets = next_month(now)
    return QuotaExceeded(
        f"{what}: wait for the next one, or take a larger plan.",
        code=code,
        details={"resets_at": resets.isoformat().replace("+00:00", "Z"), **(details or {})},
        retry_after=(resets - now).total_seconds(),
        upgrade_url=services.settings.pricing_url,
    )


# --------------------------------------------------------------------------------------------- language models


async def metered(services: Services, principal: Principal, *, room: str | None = None) -> LanguageModel | None:
    """The language model, at the expense of this caller; `room` is where the work belongs. None when there is none, it
    has failed, or the account has used its tokens of the month: what a model would do is then done without.
    """
    if services.llm is None or outage_of(services.llm) or await _tokens_left(services, principal) == 0:
        return None
    return _Metered(services, services.llm, principal, room)


async def require_tokens(services: Services, principal: Principal) -> None:
    """Before a model is asked in the caller's own name. What is under way at the same time is not known yet, so a month
    can end a little above its limit.
    """
    refuse_without_tokens(services, await _tokens_left(services, principal))


async def _tokens_left(services: Services, principal: Principal) -> int | None:
    async with services.db.transaction(account_scope(principal)) as conn:
        return await tokens_left(services, conn)


async def tokens_left(services: Services, conn: Connection) -> int | None:
    """What models may still read and write this month; None for any number."""
    standing = await ledger.standing(conn, month_of(services.clock()))
    return require_found(standing, _NO_ACCOUNT).tokens_left


def refuse_without_tokens(services: Services, left: int | None) -> None:
    if left == 0:
        raise _used_up(services, "The tokens of language models of this month are used up", "insufficient_quota")


async def try_model(
    services: Services, principal: Principal, ask: Callable[[LanguageModel], Awaitable[T]], *, room: str | None = None
) -> T | None:
    """What the language model makes of it; None when there is none, or it does not answer as it should."""
    model = await metered(services, principal, room=room)
    if model is None:
        return None
    try:
        return await ask(model)
    except UpstreamError:
        return None


async def note_tokens(
    services: Services,
    principal: Principal,
    *,
    tokens_in: int,
    tokens_out: int,
    room: str | None = None,
    estimated: bool = False,
) -> None:
    """A ledger line for one use of a language model. The answer is there: that it could not be noted is no fault."""
    now = services.clock()
    details: dict[str, Any] = ({"room": room} if room else {}) | ({"estimated": True} if estimated else {})
    line = LedgerLine(
        call_id=f"{_MODEL}:{random_text(24)}", at=now, month=month_of(now), user_id=principal.user_id,
        credential_id=principal.credential_id, action=_MODEL, queries=0, credits=0, tokens_in=max(0, tokens_in),
        tokens_out=max(0, tokens_out), details=details,
    )  # fmt: skip
    try:
        async with services.db.transaction(account_scope(principal)) as conn:
            await ledger.take(conn, line)
    except (KeepstoneError, DatabaseError) as fault:
        log.warning("tokens not noted", extra=describe(fault))


class _Metered:
    """A language model that notes what it is used for. Whoever made the other closes it."""

    def __init__(self, services: Services, model: LanguageModel, principal: Principal, room: str | None) -> None:
        self.name = model.name
        self._services = services
        self._model = model
        self._principal = principal
        self._room = room

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> Completion:
        done = await self._model.complete(system=system, prompt=prompt, max_tokens=max_tokens)
        await note_tokens(
            self._services, self._principal, tokens_in=done.tokens_in, tokens_out=done.tokens_out, room=self._room
        )
        return done

    async def close(self) -> None:
        pass
