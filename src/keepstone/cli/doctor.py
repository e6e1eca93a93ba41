"""Checks one thing after the other, says what it found, and of each fault what to do.

It mends nothing. A Postgres that does not run is started for the time of the check, as by any other command.
"""

import json
import os
import platform
import stat
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg
import typer

from keepstone.cli.options import Json
from keepstone.cli.run import in_loop, quiet_settings
from keepstone.errors import KeepstoneError, Misconfigured
from keepstone.home import fingerprint
from keepstone.postgres.cluster import data_folder
from keepstone.postgres.programs import wheel_programs
from keepstone.postgres.upgrade import kept_data
from keepstone.providers.embedders import models_folder, open_encoder
from keepstone.providers.hub import folder_of, revision_of
from keepstone.providers.manifest import BUILTIN
from keepstone.providers.working import RedisWorking
from keepstone.runtime import make_disk, open_postgres
from keepstone.settings import Settings
from keepstone.store import distribute, inspect
from keepstone.store.db import AnyConnection, fetch_value
from keepstone.store.migrate import is_past, pending, unfinished
from keepstone.store.requirements import check_server, pgvector_version
from keepstone.store.roles import ROLES, login_fault, role_conninfo

_SECRETS = ("postgres-password", "jwt-secret", "owner-key")


@dataclass(frozen=True, slots=True)
class Finding:
    """What is in order needs no advice."""

    check: str
    found: str
    advice: str = ""

    @property
    def ok(self) -> bool:
        return not self.advice


app = typer.Typer()


@app.command()
def doctor(as_json: Json = False) -> None:
    try:
        settings = quiet_settings()
    except Misconfigured as fault:
        findings = [Finding("settings", "not usable", fault.message)]
    else:
        findings = in_loop(_findings(settings))
    healthy = all(finding.ok for finding in findings)
    if as_json:
        typer.echo(
            json.dumps({"ok": healthy, "checks": [asdict(finding) | {"ok": finding.ok} for finding in findings]})
        )
    else:
        for finding in findings:
            typer.secho(f"{'ok  ' if finding.ok else 'FAIL'}  ", nl=False, fg="green" if finding.ok else "red")
            typer.echo(f"{finding.check:<16} {finding.found}")
            if finding.advice:
                typer.echo(f"      {'':<16} → {finding.advice}")
        typer.echo("Everything is in order." if healthy else "Something needs your hand; see above.")
    if not healthy:
        raise typer.Exit(1)


async def _findings(settings: Settings) -> list[Finding]:
    findings = [_python(), *_home(settings), disk_finding(settings), *encoder_findings(settings)]
    if not settings.database_url and not data_folder(settings.home).exists():
        return [*findings, _programs(), _server(settings)]
    try:
        async with open_postgres(settings) as (conninfo, supervisor):
            how = "KEEPSTONE_DATABASE_URL" if supervisor is None else "embedded" + (
                ", started for this check" if supervisor.owner else ", running"
            )  # fmt: skip
            async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True, connect_timeout=10) as conn:
                async for finding in _database(conn, how):
                    findings.append(finding)  # noqa: PERF401  what was found before one fails is told
                if not await pending(conn):
                    findings += await _neighbours(conn, settings)
                findings += [finding async for finding in _logins(conninfo, settings.app_database_url)]
    except KeepstoneError as fault:
        findings.append(Finding("database", "does not start", fault.message))
    except psycopg.OperationalError:
        advice = "Check KEEPSTONE_DATABASE_URL: host, port, user and password."
        findings.append(Finding("database", "does not answer", advice))
    findings += [*_kept(settings), _server(settings)]
    return findings


def _python() -> Finding:
    advice = "" if sys.version_info >= (3, 11) else "Install Python 3.11 or newer."
    return Finding("python", platform.python_version(), advice)


def _home(settings: Settings) -> list[Finding]:
    home = settings.home
    if not home.exists():
        return [Finding("home", f"{home} (not there yet; `keepstone serve` makes it)")]
    mode = stat.S_IMODE(home.stat().st_mode)
    findings = [Finding("home", f"{home}, mode {mode:04o}", "" if mode == 0o700 else f"chmod 700 {home}")]
    for path in (home / name for name in _SECRETS if (home / name).exists()):
        mode = stat.S_IMODE(path.stat().st_mode)
        readable = os.access(path, os.R_OK)
        advice = "" if mode == 0o600 and readable else f"chmod 600 {path}, and run as its owner."
        findings.append(Finding("secret", f"{path.name}, mode {mode:04o}", advice))
    return findings


def disk_finding(settings: Settings) -> Finding:
    space = make_disk(settings).look()
    if space is None:
        return Finding("disk", "the database's own, which KEEPSTONE_DATABASE_URL leads to")
    kept = f"{space.free / 1024**3:.1f} GiB free, {space.reserve / 1024**3:.1f} of them kept back"
    advice = {
        "low": "Make room soon: with less than what is kept back (KEEPSTONE_DISK_RESERVE_MB) nothing is stored.",
        "full": "Make room: nothing more is stored until then. docs/operations.md says how.",
    }
    return Finding("disk", kept, advice.get(space.state, ""))


def encoder_findings(settings: Settings) -> list[Finding]:
    """What search by meaning is done with, if it is done on this machine."""
    if settings.embeddings_provider != "builtin":
        return []
    revision = revision_of(settings.encoder or "")
    folder = Path(settings.encoder or BUILTIN) if revision is None else folder_of(models_folder(settings), revision)
    if revision is not None and not folder.exists():
        return [Finding("encoder", f"{revision.name} (not here yet; `keepstone serve` fetches it)")]
    try:
        return [Finding("encoder", f"{open_encoder(folder).name} in {folder}")]
    except Misconfigured as fault:
        return [Finding("encoder", "not usable", fault.message)]


def _kept(settings: Settings) -> list[Finding]:
    """Who was erased since is still in there."""
    kept = [] if settings.database_url else kept_data(data_folder(settings.home).parent)
    return [
        Finding(
            "copy", f"{path}, from before Postgres was upgraded; when all works, `keepstone upgrade-postgres "
            "--remove-copy` removes it",
        )
        for path in kept
    ]  # fmt: skip


def _programs() -> Finding:
    """Before the first start there is no database to look at; what makes one has to be there."""
    try:
        programs = wheel_programs()
    except Misconfigured as fault:
        return Finding("database", "can't be made", fault.message)
    return Finding("database", f"not there yet; `keepstone serve` makes it with {programs.path('postgres')}")


async def _database(conn: AnyConnection, how: str) -> AsyncIterator[Finding]:
    version = await fetch_value(conn, "SHOW server_version")
    try:
        await check_server(conn)
        yield Finding("database", f"Postgres {version}, pgvector {await pgvector_version(conn)} ({how})")
    except Misconfigured as fault:
        yield Finding("database", f"Postgres {version} ({how})", fault.message)
        return
    missing = await pending(conn)
    if missing:
        yield Finding("schema", f"{len(missing)} migrations are missing", "Run `keepstone migrate`.")
        return
    if await is_past(conn):
        yield Finding("schema", "of a newer Keepstone", "Start that one, or a newer: this one can't work on it.")
        return
    left = await unfinished(conn)
    yield Finding(
        "schema",
        "up to date"
        + (" (`keepstone migrate --finish`, when no server of the version before runs any more)" if left else ""),
    )
    if await distribute.citus_version(conn) is not None:
        cluster = await _cluster(conn)
        yield cluster
        if not cluster.ok:
            return  # what follows is asked of all machines
    unguarded = await inspect.unguarded_tables(conn)
    loose = [role for role in ROLES if not await inspect.role_is_held(conn, role)]
    guarded = not unguarded and not loose
    yield Finding(
        "row security",
        "on for every table" if guarded else f"off: {', '.join(unguarded) or f'{loose[0]} goes past it'}",
        "" if guarded else "Undo what was changed by hand; docs/operations.md says which roles may do what.",
    )
    failed = await inspect.failed_jobs(conn)
    yield Finding(
        "jobs", f"{failed} failed" if failed else "none failed",
        "`keepstone jobs --status failed` shows them, `keepstone jobs retry` runs one again." if failed else "",
    )  # fmt: skip
    for model, accounts, lacking in await inspect.filling(conn):
        yield Finding(
            "vectors", f"{model} takes over in {accounts} accounts, about {lacking} passages are left; until then the "
            "model before it serves",
        )  # fmt: skip


async def _cluster(conn: AnyConnection) -> Finding:
    """The machines of a Citus cluster, and whether all that is of accounts lies on them."""
    try:
        await distribute.check_cluster(conn)
    except Misconfigured as fault:
        return Finding("cluster", f"Citus {await distribute.citus_version(conn)}", fault.message)
    away = await distribute.unreachable(conn)
    if away:
        return Finding(
            "cluster", f"the coordinator does not reach {', '.join(away)}",
            "See that it runs, and that it lets in the owner of the tables from there. Until then the accounts that "
            "lie on it are not served.",
        )  # fmt: skip
    alone = await distribute.undistributed(conn)
    if alone:
        return Finding("cluster", f"{len(alone)} tables lie on the coordinator alone", "Run `keepstone distribute`.")
    return Finding("cluster", f"all of {len(await distribute.machines(conn))} machines that hold accounts answer")


async def _neighbours(conn: AnyConnection, settings: Settings) -> list[Finding]:
    """The servers and workers that run now, whether they have one secret, and the Redis between them."""
    own = settings.jwt_secret
    with suppress(OSError):  # a home on which no server has been
        own = own or (settings.home / "jwt-secret").read_text().strip()
    there = await inspect.servers(conn, None if own is None else fingerprint(own))
    running = f"{there.serving} that answer requests, {there.working} that work apart"
    return [
        Finding(
            "servers", running if there.agree else f"{running}; one has another secret",
            "" if there.agree else "Give all of them the same KEEPSTONE_JWT_SECRET, that of the first: what stands in "
            "`jwt-secret` of its KEEPSTONE_HOME. Until then they refuse each other's tokens, and one can't check the "
            "codes of a second factor that was set up at another.",
        ),
        await _redis(settings, there.serving),
    ]  # fmt: skip


async def _redis(settings: Settings, serving: int) -> Finding:
    if settings.redis_url is None:
        alone = "; each of the servers counts requests a minute for itself" if serving > 1 else ""
        return Finding("redis", f"none{alone}")
    redis = RedisWorking(settings.redis_url)
    try:
        answers = await redis.answers()
    finally:
        await redis.close()
    return Finding(
        "redis", "answers" if answers else "does not answer",
        "" if answers else "See that it runs and that KEEPSTONE_REDIS_URL leads to it. Until then Postgres holds what "
        "it would, and each server counts requests a minute for itself.",
    )  # fmt: skip


async def _logins(conninfo: str, roles_url: str | None) -> AsyncIterator[Finding]:
    for role in ROLES:
        fault = await login_fault(role_conninfo(conninfo, role, roles_url), role)
        yield Finding(
            "login", role if fault is None else f"{role}: {fault}",
            "" if fault is None else "Run `keepstone migrate`; it says what is missing.",
        )  # fmt: skip


def _server(settings: Settings) -> Finding:
    """Information, not a fault: the doctor may well come before the server."""
    try:
        with urllib.request.urlopen(f"{settings.base_url}/readyz", timeout=5) as answer:  # noqa: S310
            return Finding("server", f"ready at {settings.base_url}", "" if answer.status == 200 else "See /readyz.")
    except urllib.error.HTTPError as fault:
        stranger = "Something else than Keepstone answers there: set KEEPSTONE_PORT."
        advice = "See /readyz." if fault.code == 503 else stranger
        return Finding("server", f"not ready at {settings.base_url} ({fault.code})", advice)
    except (OSError, ValueError):
        return Finding("server", f"not running at {settings.base_url}")
