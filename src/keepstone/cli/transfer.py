"""`keepstone import` and `keepstone export`: through the public interface of a running server, with its user's key."""

import asyncio
import json
import sys
import time
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self, cast

import httpx2
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from keepstone.cli.reach import address_of, is_local, key_of
from keepstone.errors import Invalid, NotFound, Unavailable
from keepstone.importers.delivery import Delivery, Into, bring
from keepstone.importers.detect import check_source
from keepstone.importers.export import export_json, export_markdown
from keepstone.importers.items import Gauge, Reading
from keepstone.importers.journal import Journal
from keepstone.importers.report import Report
from keepstone.importers.server import RETRIES, RemoteServer, ServerRefused
from keepstone.importers.sources import SOURCES
from keepstone.importers.text import digest, fields
from keepstone.model.importing import DateOrder
from keepstone.observe.logs import configure_logs
from keepstone.settings import Settings, read_settings
from keepstone_client import AsyncKeepstone

_TIMEOUT = httpx2.Timeout(300, connect=5)
_WATCH_EVERY = 0.5
_PLAIN_EVERY = 5.0  # seconds, where there is no terminal


app = typer.Typer()

Url = Annotated[str | None, typer.Option(metavar="URL", help="Instead of KEEPSTONE_URL.")]
ApiKey = Annotated[str | None, typer.Option(metavar="KEY", help="Instead of KEEPSTONE_API_KEY.")]


@app.command("import")
def import_from(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="chatgpt, claude, openwebui, slack, whatsapp, mem0, openmemory, letta, markdown, jsonl, keepstone.",
        ),
    ],
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file, a folder, an address or a connection string.")],
    into: Annotated[
        str | None, typer.Option(metavar="PLACE", help="scope[:NAME], capsules or workspace[:NAME].")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and count, write nothing.")] = False,
    report_path: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="What was left out and why, as JSON.")
    ] = None,
    me: Annotated[str | None, typer.Option(metavar="NAME", help="How the person who talked is called.")] = None,
    tools: Annotated[bool, typer.Option("--tools", help="Also what was said to tools and by them.")] = False,
    project: Annotated[str | None, typer.Option(metavar="PROJ", help="Put capsules into this project.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Send everything once more; nothing comes twice.")] = False,
    of: Annotated[str | None, typer.Option(metavar="USER", help="Only this user of mem0 or OpenMemory.")] = None,
    dates: Annotated[
        str | None, typer.Option(metavar="ORDER", help="dmy or mdy, where the dates of WhatsApp don't say it.")
    ] = None,
    table: Annotated[str | None, typer.Option(metavar="T", help="The table of mem0 in its Postgres.")] = None,
    token: Annotated[str | None, typer.Option(metavar="T", envvar="MEM0_API_KEY", help="For mem0's API.")] = None,
    url: Url = None,
    key: ApiKey = None,
) -> None:
    if source not in SOURCES:
        raise Invalid(f"There is no source {source!r}. There are: {', '.join(SOURCES)}.")
    target = Into.parse(into, called="--into")
    settings = _settings(url, key)
    if dates not in {None, "dmy", "mdy"}:
        raise Invalid("--dates is dmy, the day first, or mdy, the month first.")
    reading = Reading(
        path=path, me=me, tools=tools, token=token, of=of, table=table, dates=cast("DateOrder | None", dates)
    )
    check_source(reading.file, source, use="run keepstone import {}")
    report = Report()
    begun = time.monotonic()
    if dry_run:
        work = _read_only(source, reading, report)
    elif source == "keepstone" and reading.file.is_file() and zipfile.is_zipfile(reading.file):
        work = _upload(settings, reading, report)
    else:
        work = _import(settings, source, reading, target, report, project=project, again=again)
    try:
        asyncio.run(work)
    finally:
        seconds = round(time.monotonic() - begun, 1)
        outcome = {"source": source, "dry_run": dry_run, "seconds": seconds} | report.as_json()
        if report_path is not None:
            report_path.write_text(json.dumps(outcome, ensure_ascii=False, indent=2) + "\n")
        _show(report, dry_run=dry_run)


async def _read_only(source: str, reading: Reading, report: Report) -> None:
    with _ProgressShown(reading.gauge, report) as shown:
        await bring(SOURCES[source](reading), None, report, shown.tick)


async def _upload(settings: Settings, reading: Reading, report: Report) -> None:
    """An archive of everything, which only the server can take: its job is watched until it is over."""
    async with AsyncKeepstone(
        base_url=address_of(settings), api_key=key_of(settings), timeout=60, retries=RETRIES
    ) as keepstone:
        try:
            with reading.file.open("rb") as file:
                made = await keepstone.imports.create(file, name=reading.file.name, source="keepstone")
            with _ProgressShown(reading.gauge, report) as shown:
                while not made.is_over:
                    await asyncio.sleep(_WATCH_EVERY)
                    made = await keepstone.imports.get(made.id)
                    reading.gauge.done, reading.gauge.total = made.read_bytes, made.total_bytes
                    report.take_over(made.read, made.written, made.already_there)
                    shown.tick()
        except ServerRefused as fault:
            raise Unavailable(fault.message) from None
    report.remarks = list(made.remarks)
    for left in made.left_out:
        report.left_out[left.reason] += left.count
        report.examples[left.reason] = list(left.examples)
    if made.state != "done":
        raise Invalid(made.error.message if made.error else "The import was cancelled. What was brought in stays.")


async def _import(
    settings: Settings, source: str, reading: Reading, into: Into, report: Report, *, project: str | None, again: bool
) -> None:
    address = address_of(settings)
    async with AsyncKeepstone(base_url=address, api_key=key_of(settings), timeout=10, retries=RETRIES) as keepstone:
        server = RemoteServer(keepstone)
        try:
            me = await server.get("/v1/me")
        except ServerRefused:
            raise Unavailable(f"What answers at {address} is not Keepstone.") from None
        person = fields(me.get("user"))
        reading = replace(
            reading, language=str(person.get("language") or "en"), zone=str(person.get("timezone") or "UTC")
        )
        whose = str(fields(me.get("user")).get("id") or fields(me.get("account")).get("id"))
        with closing(_journal(settings, again, whose, source, into.place or "", into.name)) as journal:
            delivery = Delivery(
                server=server, journal=journal, report=report, source=source, whose=whose, into=into, project_id=project
            )
            with _ProgressShown(reading.gauge, report) as shown:
                await bring(SOURCES[source](reading), delivery, report, shown.tick)


@app.command("export")
def export_to(
    path: Annotated[Path, typer.Argument(metavar="PATH")],
    form: Annotated[str, typer.Option("--format", metavar="F", help="json, a zip; or markdown, a folder.")] = "json",
    url: Url = None,
    key: ApiKey = None,
) -> None:
    settings = _settings(url, key)
    path = path.expanduser()

    async def run() -> str:
        async with _client(settings) as client:
            if form == "markdown":
                return f"{await export_markdown(client, key_of(settings), path)} files are in {path}."
            return f"{await export_json(client, key_of(settings), path):,} bytes are in {path}."

    if form not in {"json", "markdown"}:
        raise Invalid("--format is json or markdown.")
    typer.echo(asyncio.run(run()))


def _settings(url: str | None, key: str | None) -> Settings:
    settings = read_settings()
    configure_logs("warning", settings.log_format)
    return replace(settings, url=url.rstrip("/") if url else settings.url, api_key=key or settings.api_key)


def _client(settings: Settings) -> httpx2.AsyncClient:
    address = address_of(settings)
    return httpx2.AsyncClient(base_url=address, timeout=_TIMEOUT, trust_env=not is_local(address))


def _journal(settings: Settings, again: bool, *of: str) -> Journal:
    """One for each user, source and target. With `again`, a new one: the server still keeps nothing twice."""
    path = settings.home / "imports" / f"{digest(*of)[:24]}.sqlite"
    if again:
        for end in ("", "-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
    try:
        return Journal(path)
    except OSError as fault:
        raise NotFound(
            f"{path.parent} can't be written ({fault.strerror}): set KEEPSTONE_HOME to a folder of yours."
        ) from None


class _ProgressShown:
    """How far it is: a bar on a terminal, a line now and then elsewhere. On standard error."""

    def __init__(self, gauge: Gauge, report: Report) -> None:
        self._gauge, self._report = gauge, report
        self._bar: Progress | None = None
        self._task = None
        self._told = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._bar.start()
            self._task = self._bar.add_task("reading", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def tick(self) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task, total=self._gauge.total or None, completed=self._gauge.done, description=self._line()
            )
        elif time.monotonic() - self._told >= _PLAIN_EVERY:
            self._told = time.monotonic()
            share = f"{100 * self._gauge.done // self._gauge.total} %, " if self._gauge.total else ""
            typer.echo(f"{share}{self._line()}", err=True)

    def _line(self) -> str:
        return ", ".join(f"{count:,} {what}" for what, count in self._report.read.items()) or "reading"


def _show(report: Report, *, dry_run: bool) -> None:
    lines = [("read", report.read)]
    if not dry_run:
        lines += [("written", report.written), ("there already", report.already_there)]
    for name, counts in lines:
        said = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "nothing"
        typer.echo(f"{name + ':':<15}{said}")
    if report.left_out.total():
        typer.echo("left out:")
    for reason, count in report.left_out.most_common():
        typer.echo(f"  {count:>9,}  {reason}, such as {report.examples[reason][0]}")
    for remark in report.remarks:
        typer.echo(remark)
    if dry_run:
        typer.echo("Nothing was written: this was a dry run.")
