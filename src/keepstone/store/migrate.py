"""Brings a database to the schema of this Keepstone: forward only, one process at a time, any number waiting.

`migrations/*.sql` run once each, in the order of their names. `repeatable/*.sql` (functions, rights, policies) run
again whenever their text, or anything before them, has changed. The queue's tables come from procrastinate, with its
own migrations. What one run applies is one transaction, with
the lines that record it.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import psycopg
from procrastinate.schema import SchemaManager

from keepstone.errors import Misconfigured
from keepstone.store.db import AnyConnection, Connection, fetch_dict, fetch_value, mean_all_accounts
from keepstone.store.distribute import distribute, is_distributed, require_session
from keepstone.store.requirements import check_server, extension_not_allowed, schema_not_allowed
from keepstone.store.roles import ensure_logins, ensure_roles
from keepstone.store.scripts import statements_of

_LOCK = 0x6B65_6570_7374  # "keepst"; advisory, so it dies with its holder


@dataclass(frozen=True, slots=True)
class Migration:
    name: str
    text: str
    repeatable: bool = False

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@cache
def migrations() -> list[Migration]:
    """Keepstone's own, in the order in which they run."""
    return [*_folder("migrations"), *_folder("repeatable", repeatable=True)]


async def migrate(conninfo: str, *, roles_url: str | None = None, upto: str | None = None) -> list[str]:
    """Apply what is missing and return its names; then the server's roles can log in. `upto` stops after that
    migration (for tests of upgrades).
    """
    async with await connect_as_owner(conninfo) as conn:
        await check_server(conn)
        recorded = await _recorded(conn)
        _refuse_unknown(recorded)
        missing = bool(upto or _missing(recorded))
        distributed = missing and await is_distributed(conn)
        if distributed:
            require_session(conn)
        applied = await _migrate(conn, conninfo, upto) if missing else []
        if distributed and applied:
            await distribute(conn)  # what is new
        if upto is None:
            await ensure_logins(conn, conninfo, roles_url)
        return applied


async def _migrate(conn: Connection, conninfo: str, upto: str | None) -> list[str]:
    """One transaction, so that it needs no session of its own: a pooler may stand between. Its lock ends with it."""
    async with conn.transaction():
        await lock_migrations(conn)
        await _prepare(conn, conninfo)
        return await _apply(conn, upto)


async def lock_migrations(conn: Connection) -> None:
    """Until the transaction ends nobody else migrates."""
    await conn.execute("SELECT pg_advisory_xact_lock(%(lock)s)", {"lock": _LOCK})


async def lay_out(conn: Connection, conninfo: str, names: Iterable[str]) -> None:
    """The tables as they were when these had been applied, for what was taken out of such. Bare: `complete` brings them
    up to date, with functions, rights and policies. Both within one transaction.
    """
    _refuse_unknown(dict.fromkeys(names, ""))
    await _prepare(conn, conninfo)
    await _apply(conn, only=frozenset(names))


async def complete(conn: Connection) -> None:
    await _apply(conn)


async def applied(conn: AnyConnection) -> list[str]:
    """Names of what this database has."""
    names = await _recorded(conn)
    _refuse_unknown(names)
    return sorted(names)


async def connect_as_owner(conninfo: str) -> Connection:
    try:
        return await Connection.connect(conninfo, connect_timeout=10)
    except psycopg.OperationalError as fault:
        told = str(fault).strip().splitlines()[-1]
        raise Misconfigured(f"The database does not answer. Check KEEPSTONE_DATABASE_URL. It said: {told}") from None


async def pending(conn: AnyConnection) -> list[str]:
    """Names of what this database still lacks. Works for any role that may connect."""
    return _missing(await _recorded(conn))


def _missing(recorded: dict[str, str]) -> list[str]:
    own = [
        migration.name
        for migration in migrations()
        if migration.name not in recorded or (migration.repeatable and recorded[migration.name] != migration.sha256)
    ]
    return own + [name for name, _ in _queue_migrations() if name not in recorded]


async def _recorded(conn: AnyConnection) -> dict[str, str]:
    if await fetch_value(conn, "SELECT to_regclass('keepstone.migrations')") is None:
        return {}
    return await fetch_dict(conn, "SELECT name, sha256 FROM keepstone.migrations")


async def _prepare(conn: Connection, conninfo: str) -> None:
    """What the migrations stand on: the schema, the extension, the two roles and the record."""
    # Asked first, here and for the extension: a distributed Postgres tells its other nodes to make it, too, also where it
    # is there, and on those the owner of the tables may be allowed less.
    if not await fetch_value(conn, "SELECT 1 FROM pg_namespace WHERE nspname = 'keepstone'"):
        try:
            await conn.execute("CREATE SCHEMA keepstone")
        except psycopg.errors.InsufficientPrivilege:
            raise schema_not_allowed() from None
    await mean_all_accounts(conn, "SET LOCAL")
    if not await fetch_value(conn, "SELECT 1 FROM pg_extension WHERE extname = 'vector'"):
        try:
            await conn.execute("CREATE EXTENSION vector")
        except psycopg.errors.InsufficientPrivilege:
            raise extension_not_allowed() from None
    await ensure_roles(conn, conninfo)
    await conn.execute(
        "CREATE TABLE IF NOT EXISTS migrations"
        " (name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
    )


async def _apply(conn: Connection, upto: str | None = None, only: frozenset[str] | None = None) -> list[str]:
    recorded = await _recorded(conn)
    applied: list[str] = []

    async def run(name: str, text: str, sha256: str, also: tuple[str, ...] = ()) -> None:
        for statement in statements_of(text):
            await conn.execute(statement.encode())
        for done in (name, *also):
            await conn.execute(
                "INSERT INTO migrations (name, sha256) VALUES (%(name)s, %(sha256)s) ON CONFLICT (name) DO UPDATE"
                " SET sha256 = excluded.sha256, applied_at = now()",
                {"name": done, "sha256": sha256},
            )
        applied.append(name)

    own = migrations()
    for migration in own:
        if migration.repeatable or migration.name in recorded or (only is not None and migration.name not in only):
            continue
        await run(migration.name, migration.text, migration.sha256)
        if migration.name == upto:
            return applied
    queue = _queue_migrations()
    if not any(name in recorded for name, _ in queue):
        names = tuple(name for name, _ in queue)
        await run("queue", SchemaManager.get_schema(), "", also=names)
    else:
        for name, text in queue:
            if name not in recorded:
                await run(name, text, "")
    if only is not None:
        return applied
    for migration in own:
        if migration.repeatable and (applied or recorded.get(migration.name) != migration.sha256):
            await run(migration.name, migration.text, migration.sha256)
    return applied


def _refuse_unknown(recorded: dict[str, str]) -> None:
    """A database that a newer Keepstone has migrated holds things this one would not know how to keep."""
    known = {migration.name for migration in migrations()}
    unknown = sorted(name for name in recorded if name not in known and not name.startswith("queue"))
    if unknown:
        raise Misconfigured(
            f"This database was migrated by a newer Keepstone ({', '.join(unknown)}): start that one, or a newer."
        )


@cache
def _queue_migrations() -> list[tuple[str, str]]:
    folder = Path(SchemaManager.get_migrations_path())
    return [(f"queue/{path.name}", path.read_text()) for path in sorted(folder.glob("*.sql"))]


def _folder(name: str, *, repeatable: bool = False) -> list[Migration]:
    items = [item for item in files("keepstone.store").joinpath(name).iterdir() if item.name.endswith(".sql")]
    return [Migration(item.name, item.read_text(), repeatable) for item in sorted(items, key=lambda item: item.name)]
