"""How the server is, and what was used of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

from keepstone_client.binding import D, Resource, operation
from keepstone_client.core import Request, filled, into, text

By = Literal["day", "action", "key", "room"]


@dataclass(frozen=True, kw_only=True)
class Alive:
    status: str
    version: str | None  # told on the server's own machine


@dataclass(frozen=True, kw_only=True)
class Part:
    ok: bool
    status: str
    details: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class Ready:
    status: str  # `ready` or `not_ready`
    version: str | None  # told to operators
    database: Part
    worker: Part
    embedder: Part
    language_model: Part
    disk: Part
    redis: Part
    servers: Part
    pending_embeddings: int | None  # stored, and not yet found by meaning


@dataclass(frozen=True, kw_only=True)
class Limits:
    """None: no limit."""

    name: str
    capacity_bytes: int | None
    monthly_queries: int | None
    monthly_credits: int | None
    key_per_minute: int | None
    account_per_minute: int | None
    monthly_tokens: int | None = None  # of language models


@dataclass(frozen=True, kw_only=True)
class Month:
    """Of the whole account, whoever asks."""

    month: date
    resets_at: datetime
    queries: int
    credits: int
    tokens_in: int
    tokens_out: int
    queries_left: int | None
    credits_left: int | None
    tokens_left: int | None = None


@dataclass(frozen=True, kw_only=True)
class Spent:
    calls: int
    queries: int
    credits: int
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, kw_only=True)
class UsageRow(Spent):
    """None: it is not grouped by this."""

    day: date | None
    action: str | None
    key: str | None
    room: str | None


@dataclass(frozen=True, kw_only=True)
class AccountUsage:
    since: datetime = field(metadata={"wire": "from"})
    until: datetime = field(metadata={"wire": "to"})
    plan: Limits
    month: Month
    totals: Spent
    rows: tuple[UsageRow, ...]
    truncated: bool  # there are more rows: ask for fewer days at once


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A plan that one may choose. None: no limit."""

    name: str
    price: str
    capacity_bytes: int | None
    monthly_queries: int | None
    monthly_credits: int | None
    monthly_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Offers:
    items: tuple[Offer, ...]
    upgrade_url: str | None


class Health(Resource[D]):
    @operation
    def alive(self) -> Request[Alive]:
        return Request(method="GET", path="/healthz", parse=into(Alive))

    @operation
    def ready(self) -> Request[Ready]:
        """Part by part; that one is not ready is an answer too, not an error."""
        return Request(method="GET", path="/readyz", parse=into(Ready), allowed=frozenset({503}))

    @operation
    def metrics(self) -> Request[str]:
        """In Prometheus' format. From another machine only for an operator."""
        return Request(method="GET", path="/metrics", parse=text, headers={"Accept": "*/*"})


class Usage(Resource[D]):
    @operation
    def get(
        self,
        *,
        since: date | datetime | None = None,
        until: date | datetime | None = None,
        by: Sequence[By] | None = None,
    ) -> Request[AccountUsage]:
        """What recalls, asks and language models have used; `by` says what makes a row."""
        params = filled(by=",".join(by) if by else None, **{"from": since, "to": until})
        return Request(method="GET", path="/v1/usage", parse=into(AccountUsage), params=params)

    @operation
    def plans(self) -> Request[Offers]:
        """What there is to choose from; for everybody."""
        return Request(method="GET", path="/v1/plans", parse=into(Offers))
