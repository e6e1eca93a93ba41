"""The plans of this server, and what accounts used of them."""

from typing import Annotated, Any

import typer

from keepstone.access import plans
from keepstone.cli.options import Json
from keepstone.cli.run import show, show_all, with_services
from keepstone.errors import Invalid
from keepstone.model.plan import Plan
from keepstone.services import Services

_MB = 1024 * 1024
_LARGEST = 2**53
_LONGEST_PRICE = 40


app = typer.Typer()
plan_commands = typer.Typer(no_args_is_help=True)
app.add_typer(plan_commands, name="plans")


@plan_commands.command("list")
def list_plans(as_json: Json = False) -> None:
    """The plans of this server."""
    columns = (
        "name", "capacity_bytes", "monthly_queries", "monthly_credits", "monthly_tokens", "key_per_minute",
        "account_per_minute", "price", "position",
    )  # fmt: skip
    show_all(with_services(plans.list_plans), columns, as_json=as_json)


@plan_commands.command("set")
def set_plan(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    capacity_mb: Annotated[str | None, typer.Option(metavar="N", help="Capacity of each user, in MB.")] = None,
    queries: Annotated[str | None, typer.Option(metavar="N", help="Queries a month.")] = None,
    credit_count: Annotated[
        str | None, typer.Option("--credits", metavar="N", help="What the credits are raised to each month.")
    ] = None,
    token_count: Annotated[
        str | None, typer.Option("--tokens", metavar="N", help="Tokens of language models a month.")
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="N", help="Requests a minute with one key.")] = None,
    account_rate: Annotated[
        str | None, typer.Option(metavar="N", help="Requests a minute of the whole account.")
    ] = None,
    price: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What it costs, as it is shown; `none`: not on the price page.")
    ] = None,
    position: Annotated[int | None, typer.Option(metavar="N", min=0, help="Where it stands in lists.")] = None,
    as_json: Json = False,
) -> None:
    """Change a plan, or make one. Each limit takes a number, or `none` for no limit."""
    changes: dict[str, Any] = {}
    if capacity_mb is not None:
        megabytes = _limit("--capacity-mb", capacity_mb)
        changes["capacity_bytes"] = None if megabytes is None else megabytes * _MB
    for option, field, given, least in (
        ("--queries", "monthly_queries", queries, 0),
        ("--credits", "monthly_credits", credit_count, 0),
        ("--tokens", "monthly_tokens", token_count, 0),
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
            "Say what to set: --capacity-mb, --queries, --credits, --tokens, --rate, --account-rate or --position, "
            "each with a number or, but for the last, `none`; or --price."
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
