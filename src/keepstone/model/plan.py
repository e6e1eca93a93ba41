"""Plans, and what was used of them."""

from dataclasses import dataclass
from datetime import date, datetime

PLAN_NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an account may use. None is no limit; with `monthly_credits` of None the credits are nobody's business but
    the operator's.
    """

    name: str
    capacity_bytes: int | None = None  # of each user
    monthly_queries: int | None = None
    monthly_credits: int | None = None  # what the balance is raised to each month
    monthly_tokens: int | None = None  # that language models read and write
    key_per_minute: int | None = None  # requests with one credential
    account_per_minute: int | None = None
    position: int = 0
    price: str | None = None  # as it is shown, such as $10/mo; None: not for sale


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Requests a minute, as the plan has them when a credential is looked up."""

    by_key: int | None = None
    by_account: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """How many bytes a user may keep (None: no limit) and how many they do; with `cold_tier` what was not read for
    longest makes room.
    """

    allowed: int | None
    used: int
    cold_tier: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Sums of ledger lines."""

    calls: int = 0
    queries: int = 0
    credits: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow(Spent):
    """The same of one group; what it is not grouped by is None."""

    day: date | None
    action: str | None
    key: str | None
    room: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountUsage(Spent):
    """The same of one account, for the operator."""

    account_id: str
    plan: str
    credits_left: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """What an account has used in a calendar month (UTC) and what is left. None: not limited, or not counted."""

    month: date
    resets_at: datetime
    queries: int
    credits: int
    tokens_in: int
    tokens_out: int
    queries_left: int | None
    credits_left: int | None
    tokens_left: int | None
