"""What was used of a plan, and the address at which a payment system says what was paid for."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Literal, cast

from fastapi import Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from keepstone.access import billing, plans
from keepstone.access import usage as operations
from keepstone.access.billing import AccountUpdated
from keepstone.access.usage import By, UsageReport
from keepstone.errors import Malformed
from keepstone.model.plan import PLAN_NAME, Month, Plan, Spent
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.errors import malformed
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.wire import Shown, Time, Wire, fields_of

router = Router(prefix="/v1", tags=["usage"])


def _only_a_day(value: Any) -> Any:
    """A time at midnight would read as one."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value) is None:
        raise ValueError("is neither a day nor a time")
    return value


_Day = Annotated[date, BeforeValidator(_only_a_day)]
_DayOrTime = Annotated[_Day | Time, Field(union_mode="left_to_right")]  # a day is a whole one
_DAYS = "A day (UTC), such as 2026-07-01, or a time."
From = Annotated[
    _DayOrTime | None, Query(alias="from", description=f"{_DAYS} The first that counts; default: of this month.")
]
To = Annotated[
    _DayOrTime | None, Query(alias="to", description=f"{_DAYS} The last day that counts, or the time before which.")
]
Grouped = Annotated[
    str,
    Query(
        pattern=r"^(day|action|key|room)(,(day|action|key|room)){0,3}$",
        description="What makes a row: `day`, `action`, `key`, `room`, or several with commas between.",
    ),
]


class SpentOut(fields_of(Spent, "calls queries credits tokens_in tokens_out")):
    tokens_in: int = Field(description="Read by language models.")
    tokens_out: int = Field(description="Written by language models.")


class RowOut(SpentOut):
    day: date | None = Field(description="null, here and below, if it is not grouped by this.")
    action: str | None = Field(description="`recall`, `ask`, `memory_recall`, or `llm`.")
    key: str | None = Field(description="The key, or the session, that it was asked with.")
    room: str | None


class LimitsOut(
    fields_of(
        Plan, "name capacity_bytes monthly_queries monthly_credits monthly_tokens key_per_minute account_per_minute"
    )
):
    """null: no limit."""

    capacity_bytes: int | None = Field(description="Of each user.")
    monthly_credits: int | None = Field(description="What the credits are raised to each month; null: they are not.")
    monthly_tokens: int | None = Field(description="That language models read and write.")
    key_per_minute: int | None = Field(description="Requests with one key.")
    account_per_minute: int | None = Field(description="Requests of the whole account.")


class MonthOut(
    fields_of(Month, "month resets_at queries credits tokens_in tokens_out queries_left credits_left tokens_left")
):
    """Of the whole account, whoever asks: its limits are."""

    month: date = Field(description="Its first day.")
    queries_left: int | None = Field(description="null: not limited.")
    credits_left: int | None = Field(description="null: not counted.")
    tokens_left: int | None = Field(description="Of language models; null: not limited.")


class AccountUsageOut(Shown):
    since: Time = Field(serialization_alias="from")
    until: Time = Field(serialization_alias="to")
    plan: LimitsOut
    month: MonthOut
    totals: SpentOut
    rows: list[RowOut]
    truncated: bool = Field(description="There are more rows: ask for fewer days at once.")


class OfferOut(fields_of(Plan, "name price capacity_bytes monthly_queries monthly_credits monthly_tokens")):
    """A plan as a price page shows it. null: no limit."""

    price: str = Field(description="Such as `$10/mo`.")
    capacity_bytes: int | None = Field(description="Of each user.")


class OffersOut(BaseModel):
    items: list[OfferOut]
    upgrade_url: str | None = Field(description="Where to get another plan; null: from whoever runs this server.")


class BillingIn(Wire):
    """`credits` is what there is from now on, `add_credits` comes on top; not both."""

    id: Annotated[str, Field(min_length=1, max_length=255, description="Of the event: the same again does nothing.")]
    type: Literal["account.updated"]
    account_id: Annotated[str, Field(min_length=1, max_length=64)]
    plan: Annotated[str | None, Field(pattern=PLAN_NAME)] = None
    credits: Annotated[int | None, Field(ge=0, le=2**53)] = None
    add_credits: Annotated[int | None, Field(ge=1, le=2**53)] = None


class BillingOut(BaseModel):
    id: str
    applied: bool = Field(description="False: it was applied before, and nothing was changed.")


@router.get("/plans", summary="What there is to choose from, for everybody")
async def list_offers(services: Used, response: Response) -> OffersOut:
    # One of many visitors asks the database; a browser asks again, so that a new price is there at once.
    response.headers["cache-control"] = "public, max-age=0, s-maxage=60"
    offers = [OfferOut.model_validate(plan) for plan in await plans.on_sale(services)]
    return OffersOut(items=offers, upgrade_url=services.settings.upgrade_url)


@router.get("/usage", summary="What was used, and what is left this month")
async def account_usage(
    services: Used, principal: Caller, since: From = None, until: To = None, by: Grouped = "day,action"
) -> AccountUsageOut:
    return shown(
        await operations.usage(services, principal, since=first(since), until=last(until), by=groups(by))
    )  # fmt: skip


@router.post(
    "/billing/webhook",
    summary="A payment system sets plan and credits of an account",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": BillingIn.model_json_schema()}},
        }
    },
)
async def billing_webhook(
    request: Request,
    services: Used,
    keepstone_signature: Annotated[
        str, Header(max_length=1000, description="`t=<seconds>,v1=<HMAC-SHA256 over t, a dot and the body, in hex>`.")
    ] = "",
) -> BillingOut:
    body = await request.body()
    billing.check_signature(services, keepstone_signature, body)
    event = _read(body)
    applied = await billing.apply(services, event)
    return BillingOut(id=event.id, applied=applied)


def _read(body: bytes) -> AccountUpdated:
    try:
        given = BillingIn.model_validate_json(body)
    except ValidationError as fault:
        faults = [{**error, "loc": ("body", *error["loc"])} for error in fault.errors()]
        raise malformed(RequestValidationError(faults), ". Nothing was changed.") from None
    return AccountUpdated(**given.model_dump(exclude={"type"}))


# --------------------------------------------------------------------------------- shared with the operator's console


def first(given: datetime | date | None) -> datetime | None:
    return _instant(given, 0)


def last(given: datetime | date | None) -> datetime | None:
    """The end of a day, or the time itself."""
    return _instant(given, 1)


def groups(by: str) -> list[By]:
    return cast("list[By]", by.split(","))


def shown(used: UsageReport) -> AccountUsageOut:
    return AccountUsageOut.of(used, plan=LimitsOut.of(used.plan, name=used.plan_name))


def _instant(given: datetime | date | None, days: int) -> datetime | None:
    if given is None or isinstance(given, datetime):
        return given
    try:
        return datetime.combine(given, time(), UTC) + timedelta(days=days)
    except OverflowError:
        fault = "is beyond the year 9999"
        raise Malformed(f"to {fault}.", details=[{"path": "query.to", "message": fault}]) from None
