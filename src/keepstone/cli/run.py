"""How commands run: settings, logs, an event loop in the main thread, and their output."""

import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast

import typer
from rich.console import Console
from rich.table import Table

from keepstone.observe.logs import configure_logs
from keepstone.runtime import in_loop, open_all
from keepstone.services import Services
from keepstone.settings import Settings, read_settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Result = TypeVar("Result")


def with_services(work: Callable[[Services], Awaitable[Result]]) -> Result:
    """Run one operation on this machine's Keepstone: its running Postgres, or one started for the purpose."""
    settings = quiet_settings()

    async def run() -> Result:
        async with open_all(settings) as services:
            return await work(services)

    return in_loop(run())


def quiet_settings() -> Settings:
    """For a command that prints its own result: logs only what goes wrong."""
    settings = read_settings()
    configure_logs("warning", settings.log_format)
    return settings


def show(value: "DataclassInstance", *, as_json: bool) -> None:
    """One thing: its fields."""
    fields = _plain(value)
    if as_json:
        typer.echo(json.dumps(fields, default=_render))
        return
    width = max(map(len, fields), default=0)
    for name, item in fields.items():
        typer.echo(f"{name:<{width}}  {_render(item)}")


def show_all(values: "Sequence[DataclassInstance]", columns: Sequence[str], *, as_json: bool) -> None:
    """Many: a table, or a JSON list."""
    rows = [_plain(value) for value in values]
    if as_json:
        typer.echo(json.dumps(rows, default=_render))
        return
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_render(row[column]) for column in columns))
    Console(width=None if sys.stdout.isatty() else 240).print(table)


def _plain(value: "DataclassInstance") -> dict[str, Any]:
    fields = asdict(value)
    fields.pop("account", None)  # the number inside; outside, an account has an id
    return fields


def _render(value: Any) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value)))
    return "-" if value is None else str(value)
