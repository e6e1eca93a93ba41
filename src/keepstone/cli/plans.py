"""The plans of this server, and what accounts used of them."""

from typing import Any

from keepstone.access import plans
from keepstone.cli.run import show, show_all, with_services
from keepstone.errors import Invalid
from keepstone.model.plan import Plan
from keepstone.services import Services

_MB = 1024 * 1024
_LARGEST = 2**53
_LONGEST_PRICE = 40


def list_plans(*, as_json: bool) -> None:
    columns = (
        "name", "capacity_bytes", "monthly_queries", "monthly_credits", "key_per_minute", "account_per_minute",
        "price", "position",
    )  # fmt: skip
    show_all(with_services(plans.list_plans), columns, as_json=as_json)


def set_plan(
    *, name: str, capacity_mb: str | None, queries: str | None, credit_count: str | None, rate: str | None,
    account_rate: str | None, price: str | None, position: int | None, as_json: bool,
) -> None:  # fmt: skip
    changes: dict[str, Any] = {}
    if capacity_mb is not None:
        megabytes = _limit("--capacity-mb", capacity_mb)
        changes["capacity_bytes"] = None if megabytes is None else megabytes * _MB
    for option, field, given, least in (
        ("--queries", "monthly_queries", queries, 0),
        ("--credits", "monthly_credits", credit_count, 0),
        ("--rate", "key_per_minute", rate, 1),
        ("--account-rate", "account_per_minute", account_rate, 1),
    ):
        if given is not None:
            changes[field] = _limit(option, given, least)
    if price is not None:
        changes["price"] = _price(price)
    if position is not None:
        changes["position"] = position
    if not changes:
        raise Invalid(
            "Say what to set: --capacity-mb, --queries, --credits, --rate, --account-rate or --position, each with a "
            "number or, but for the last, `none`; or --price."
        )

    async def run(services: Services) -> Plan:
        return await plans.change_plan(services, name, **changes)

    show(with_services(run), as_json=as_json)


def _price(text: str) -> str | None:
    if text.lower() == "none":
        return None
    if not text.strip() or len(text) > _LONGEST_PRICE or not text.isprintable():
        raise Invalid(f"--price takes up to {_LONGEST_PRICE} characters, such as '$10/mo', or `none`.")
    return text.strip()


def _limit(option: str, text: str, least: int = 0) -> int | None:
    if text.lower() == "none":
        return None
    most = 1_000_000 if least else _LARGEST // _MB
    if not text.isascii() or not text.isdecimal() or not least <= int(text) <= most:
        raise Invalid(f"{option} takes a whole number from {least} to {most:,}, or `none` for no limit.")
    return int(text)
