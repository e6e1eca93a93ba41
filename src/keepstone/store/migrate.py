"""Brings a database to the schema of this Keepstone: forward only, one step at a time, while servers work on it.

`migrations/*.sql` run once each, in the order of their names; then the queue's, which come from procrastinate; then
`repeatable/*.sql` (functions and rights) whenever one of them has changed, and the policies of the tables to which they
say something new. An empty database takes all of it in one transaction. On one that is in use each step has its own,
together with the line that records it, and waits for no lock for longer than a moment: whoever waits for a table keeps
everybody waiting who comes after.

Any number of processes may do this at once, those of the version before among them. An advisory lock lets one of them
work. It is a transaction's, so that a pooler may stand between, and dies with its holder.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import TypeVar

import psycopg

from keepstone.errors import Misconfigured
from keepstone.store.db import AnyConnection, Connection, fetch_column, fetch_value, mean_all_accounts
from keepstone.store.distribute import distribute, is_distributed, require_session, undistributed
from keepstone.store.requirements import check_server, extension_not_allowed, schema_not_allowed
from keepstone.store.roles import ensure_logins, ensure_roles
from keepstone.store.schema_record import SchemaRecord, make_record, note_applied, note_repeatable, read_record
from keepstone.store.scripts import statements_of
from keepstone.store.steps import LEVEL, Migration, migrations, queue_migrations, whole_queue

log = logging.getLogger(__name__)

_LOCK = 0x6B65_6570_7374  # "keepst"
LOCK_MILLISECONDS = 300  # that a step waits for a table
_PATIENCE_SECONDS = 600.0  # for one step to get all its locks at once
_TURN_SECONDS = 0.05
_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE = 2.0

# What a step runs into when others use the tables that it changes.
_BUSY = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)

Result = TypeVar("Result")


async def migrate(
    conninfo: str, *, roles_url: str | None = None, upto: str | None = None, finish: bool = False
) -> list[str]:
    """Apply what is missing and return its names; then the server's roles can log in. `finish` also removes what only
    servers of the level before need. `upto` stops after that migration (for tests of upgrades).
    """
    async with await connect_as_owner(conninfo) as conn:
        await check_server(conn)
        record = await read_record(conn)
        _refuse_unknown(record)
        distributed = await is_distributed(conn)
        if distributed and (upto or _missing(record, finish=finish)):
            require_session(conn)
        applied: list[str] = []
        if not record.applied:
            applied = await _make(conn, conninfo, upto)
        if not applied and (upto or _missing(record, finish=finish)):
            applied = await _upgrade(conn, conninfo, upto, finish=finish)
        if distributed and (applied or await undistributed(conn)):
            await distribute(conn)  # what is new
        if upto is None:
            await ensure_logins(conn, conninfo, roles_url)
        return applied


async def connect_as_owner(conninfo: str) -> Connection:
    try:
        return await Connection.connect(conninfo, connect_timeout=10)
    except psycopg.OperationalError as fault:
        told = str(fault).strip().splitlines()[-1]
        raise Misconfigured(f"The database does not answer. Check KEEPSTONE_DATABASE_URL. It said: {told}") from None


# --- what is missing --------------------------------------------------------------------------------------------------


async def pending(conn: AnyConnection) -> list[str]:
    """Names of what this database still lacks. Works for any role that may connect."""
    return _missing(await read_record(conn))


async def is_past(conn: AnyConnection) -> bool:
    """Whether something was removed that this Keepstone needs. Works for any role that may connect."""
    return (await read_record(conn)).serves_since > LEVEL


async def unfinished(conn: AnyConnection) -> list[str]:
    """Names of what `finish` would apply. Works for any role that may connect."""
    record = await read_record(conn)
    return [] if record.level > LEVEL or _missing(record) else _missing(record, finish=True)


def _missing(record: SchemaRecord, *, finish: bool = False) -> list[str]:
    if record.level > LEVEL:  # it has what a newer one made of it, and keeps that
        return []
    return [
        migration.name
        for migration in (*migrations(), *queue_migrations())
        if migration.is_due(finish=finish)
        and (
            record.repeatable.get(migration.name) != migration.sha256
            if migration.repeatable
            else migration.name not in record.applied
        )
    ]


def _refuse_unknown(record: SchemaRecord) -> None:
    """What a newer Keepstone removed is missing here; what it added is not, as long as it says so."""
    if record.serves_since > LEVEL:
        raise Misconfigured(
            f"This database was migrated by a newer Keepstone, which has removed what this one needs (it works from "
            f"schema level {record.serves_since} on, and this one has {LEVEL}): start that one, or a newer."
        )
    if record.level <= LEVEL:
        _refuse_strangers(record.applied)


def _refuse_strangers(names: Iterable[str]) -> None:
    known = {migration.name for migration in migrations()}
    unknown = sorted(name for name in names if name not in known and not name.startswith("queue"))
    if unknown:
        raise Misconfigured(
            f"This database was migrated by a newer Keepstone ({', '.join(unknown)}): start that one, or a newer."
        )


# --- a database that is empty -----------------------------------------------------------------------------------------


async def _make(conn: Connection, conninfo: str, upto: str | None) -> list[str]:
    """All at once: there is nobody to wait for it. Nothing, where another process has done so meanwhile."""

    async def run(record: SchemaRecord) -> list[str]:
        if record.applied:
            return []
        await _prepare(conn, conninfo)
        names = [migration.name for migration in _once()]
        applied = names[: names.index(upto) + 1] if upto else names
        await _apply(conn, applied)
        if upto:
            return applied
        await _apply_queue(conn)
        await _define(conn)
        return [*applied, "queue", *(migration.name for migration in _repeatable())]

    return await _alone(conn, "the schema", run)


async def lock_migrations(conn: Connection) -> None:
    """Until the transaction ends nobody else migrates."""
    await conn.execute("SELECT pg_advisory_xact_lock(%(lock)s)", {"lock": _LOCK})


async def lay_out(conn: Connection, conninfo: str, names: Collection[str]) -> None:
    """The tables as they were when these had been applied, for what was taken out of such. Bare: `complete` brings them
    up to date, with functions, rights and policies. Both within one transaction.
    """
    _refuse_strangers(names)
    await _prepare(conn, conninfo)
    await _apply(conn, names)
    await _apply_queue(conn)


async def complete(conn: Connection) -> None:
    known = (await read_record(conn)).applied
    await _apply(conn, [one.name for one in _once() if one.name not in known and one.is_due(finish=False)])
    await _define(conn)


async def applied(conn: AnyConnection) -> list[str]:
    """Names of what this database has, if this Keepstone knows all of it."""
    names = (await read_record(conn)).applied
    _refuse_strangers(names)
    return sorted(names)


async def _apply(conn: Connection, names: Collection[str]) -> None:
    for migration in _once():
        if migration.name in names:
            await _send(conn, migration.in_a_transaction)
            await note_applied(conn, migration)


async def _apply_queue(conn: Connection) -> None:
    await _send(conn, whole_queue())
    for migration in queue_migrations():
        await note_applied(conn, migration)


async def _define(conn: Connection) -> None:
    """What runs again, all of it."""
    repeatable = _repeatable()
    for migration in repeatable:
        await _send(conn, migration.text)
    await conn.execute("SELECT renew_access(name) FROM stale_access() AS name")
    await note_repeatable(conn, repeatable)


async def _prepare(conn: Connection, conninfo: str) -> None:
    """What the migrations stand on: the schema, the extension, the two roles and the record."""
    # Asked first, here and for the extension: a distributed Postgres tells its other nodes to make it, too, also where
    # it is there, and on those the owner of the tables may be allowed less.
    if not await fetch_value(conn, "SELECT 1 FROM pg_namespace WHERE nspname = 'keepstone'"):
        try:
            await conn.execute("CREATE SCHEMA keepstone")
        except psycopg.errors.InsufficientPrivilege:
            raise schema_not_allowed() from None
    if not await fetch_value(conn, "SELECT 1 FROM pg_extension WHERE extname = 'vector'"):
        try:
            await conn.execute("CREATE EXTENSION vector")
        except psycopg.errors.InsufficientPrivilege:
            raise extension_not_allowed() from None
    await ensure_roles(conn, conninfo)
    await make_record(conn)


# --- one that is in use -----------------------------------------------------------------------------------------------


async def _upgrade(conn: Connection, conninfo: str, upto: str | None, *, finish: bool) -> list[str]:
    async def prepare(_: SchemaRecord) -> None:
        await _prepare(conn, conninfo)

    await _alone(conn, "the record", prepare)
    known, applied = (await read_record(conn)).applied, list[str]()
    for migration in (*_once(), *queue_migrations()):
        if migration.name not in known and migration.is_due(finish=finish):
            run = _run_concurrently if migration.concurrently else _run_once
            if await run(conn, conninfo, migration):
                applied.append(migration.name)
        if migration.name == upto:
            return applied
    return applied + await _renew(conn)


async def _run_once(conn: Connection, _: str, migration: Migration) -> bool:
    """Whether it was for this process to run."""

    async def run(record: SchemaRecord) -> bool | None:
        if not _is_for_us(record, migration):
            return False
        if await _send(conn, migration.text) and migration.in_batches:
            return None
        await note_applied(conn, migration)
        return True

    while (done := await _alone(conn, migration.name, run)) is None:
        continue
    return done


async def _run_concurrently(conn: Connection, conninfo: str, migration: Migration) -> bool:
    """On a connection beside the one that holds the lock: Postgres makes such an index in transactions of its own."""

    async def run(record: SchemaRecord) -> bool:
        if not _is_for_us(record, migration):
            return False
        await conn.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        async with await connect_as_owner(conninfo) as beside:
            if await _half_made(beside, migration.index):
                # On a cluster it may be half made on one machine, and not yet on another.
                drop = f"DROP INDEX CONCURRENTLY IF EXISTS keepstone.{migration.index}"
                await beside.execute(drop.encode())
            await _send(beside, migration.text)
        await note_applied(conn, migration)
        return True

    return await _alone(conn, migration.name, run)


async def _half_made(conn: AnyConnection, index: str) -> bool:
    """One that was cut off stays behind, and is kept up to date without being used."""
    return bool(
        await fetch_value(
            conn,
            "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(%(name)s) AND NOT indisvalid",
            {"name": f"keepstone.{index}"},
        )
    )


async def _renew(conn: Connection) -> list[str]:
    """What runs again. Functions and rights in one transaction, as they belong together and lock no table; then each
    table to which they say something new. Those that were applied are noted last.
    """
    repeatable = _repeatable()

    def is_current(record: SchemaRecord) -> bool:
        return record.level > LEVEL or all(record.repeatable.get(one.name) == one.sha256 for one in repeatable)

    async def define(record: SchemaRecord) -> list[str] | None:
        if is_current(record):
            return None
        for migration in repeatable:
            await _send(conn, migration.text)
        return await fetch_column(conn, "SELECT stale_access()")

    async def renew(record: SchemaRecord, table: str) -> None:
        if not is_current(record):
            await conn.execute("SELECT renew_access(%(table)s)", {"table": table})

    async def note(record: SchemaRecord) -> bool:
        if is_current(record):
            return False
        await note_repeatable(conn, repeatable)
        return True

    tables = await _alone(conn, "the functions", define)
    if tables is None:
        return []
    for table in tables:
        await _alone(conn, f"the policies of {table}", lambda record, table=table: renew(record, table))
    return [migration.name for migration in repeatable] if await _alone(conn, "the functions", note) else []


async def _send(conn: Connection, script: str) -> int:
    """How many rows the last of its statements changed."""
    changed = 0
    for statement in statements_of(script):
        changed = (await conn.execute(statement.encode())).rowcount
    return max(changed, 0)


def _once() -> list[Migration]:
    return [migration for migration in migrations() if not migration.repeatable]


def _repeatable() -> list[Migration]:
    return [migration for migration in migrations() if migration.repeatable]


def _is_for_us(record: SchemaRecord, migration: Migration) -> bool:
    return record.level <= LEVEL and migration.name not in record.applied


async def _alone(conn: Connection, what: str, work: Callable[[SchemaRecord], Awaitable[Result]]) -> Result:
    """One transaction, while no other process migrates; again from its beginning when it does not get a lock. Whose
    turn it is is asked again and again: an index that is being made would wait for whoever waited in the database.
    """
    pause, deadline = _PAUSE_SECONDS, time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            async with conn.transaction():
                if await fetch_value(conn, "SELECT pg_try_advisory_xact_lock(%(lock)s)", {"lock": _LOCK}):
                    await mean_all_accounts(conn, "SET LOCAL")
                    await conn.execute(f"SET LOCAL lock_timeout = {LOCK_MILLISECONDS}".encode())
                    return await work(await read_record(conn))
        except _BUSY:
            if time.monotonic() > deadline:
                raise Misconfigured(
                    f"The turn of {what} does not come: for {_PATIENCE_SECONDS:.0f} s others have had locks on the "
                    "same tables. Find them with SELECT pid, xact_start, state, query FROM pg_stat_activity ORDER BY "
                    "xact_start; let them end, and start again. What was applied before stays, and servers go on."
                ) from None
            log.warning("a migration steps back: others use what it changes", extra={"step": what})
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            await asyncio.sleep(_TURN_SECONDS)
