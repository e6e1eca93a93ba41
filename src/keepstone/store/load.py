"""Puts what a backup holds into a database: all of it or nothing, in one transaction.

The tables are laid out as they were when the backup was made, filled, measured and only then brought up to date. Keys
and indexes are made when the rows are there, which takes a fraction of the time.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql

from keepstone.errors import Conflict, Invalid, Misconfigured
from keepstone.store.db import Connection, fetch_column, fetch_rows, fetch_value, mean_all_accounts
from keepstone.store.distribute import is_distributed
from keepstone.store.dump import DumpedTable, Inventory, columns_of, measure, speak_plainly
from keepstone.store.faults import named_faults
from keepstone.store.lanes import HOUSEKEEPING
from keepstone.store.migrate import complete, connect_as_owner, lay_out, lock_migrations
from keepstone.store.queue import Queue
from keepstone.store.requirements import check_server
from keepstone.store.roles import ROLES

_MEMORY = "256MB"  # for the indexes that are made

# But for what an extension has put there, which not everybody may make again.
_EVERYTHING = """
WITH here AS (
    SELECT 1 AS turn, 'TABLE' AS kind, oid, oid::regclass::text AS name, 'pg_class'::regclass AS catalog
      FROM pg_class WHERE relnamespace = 'keepstone'::regnamespace AND relkind IN ('r', 'p')
    UNION ALL
    SELECT 2, 'SEQUENCE', oid, oid::regclass::text, 'pg_class'::regclass
      FROM pg_class WHERE relnamespace = 'keepstone'::regnamespace AND relkind = 'S'
    UNION ALL
    SELECT 3, 'ROUTINE', oid, oid::regprocedure::text, 'pg_proc'::regclass
      FROM pg_proc WHERE pronamespace = 'keepstone'::regnamespace
    UNION ALL
    SELECT 4, 'TYPE', t.oid, t.oid::regtype::text, 'pg_type'::regclass
      FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
     WHERE t.typnamespace = 'keepstone'::regnamespace AND (t.typtype IN ('e', 'd') OR c.relkind = 'c'))
SELECT format('DROP %s IF EXISTS %s CASCADE', kind, name) FROM here
 WHERE NOT EXISTS (SELECT 1 FROM pg_depend d
                    WHERE d.objid = here.oid AND d.classid = here.catalog AND d.deptype = 'e')
 ORDER BY turn, name
"""

# How each is taken away, and how it is made again. What refers to others goes first and comes last.
_CONSTRAINTS = """
SELECT format('ALTER TABLE keepstone.%I DROP CONSTRAINT %I', r.relname, c.conname),
       format('ALTER TABLE keepstone.%I ADD CONSTRAINT %I %s', r.relname, c.conname, pg_get_constraintdef(c.oid))
  FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
 WHERE r.relnamespace = 'keepstone'::regnamespace AND r.relkind = 'r' AND c.contype IN ('f', 'p', 'u', 'x')
 ORDER BY c.contype <> 'f', r.relname, c.conname
"""
_TRIGGERS = """
SELECT DISTINCT format('ALTER TABLE keepstone.%I DISABLE TRIGGER USER', r.relname),
                format('ALTER TABLE keepstone.%I ENABLE TRIGGER USER', r.relname)
  FROM pg_trigger t JOIN pg_class r ON r.oid = t.tgrelid
 WHERE r.relnamespace = 'keepstone'::regnamespace AND NOT t.tgisinternal
"""
_INDEXES = """
SELECT format('DROP INDEX keepstone.%I', x.relname), pg_get_indexdef(i.indexrelid)
  FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_class r ON r.oid = i.indrelid
 WHERE r.relnamespace = 'keepstone'::regnamespace AND r.relkind = 'r'
 ORDER BY x.relname
"""

Pieces = AsyncIterator[tuple[str, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """`left_out` are tables that were in the backup and are none of Keepstone's."""

    left_out: list[str]
    indexes: int


@asynccontextmanager
async def loaded(
    conninfo: str, inventory: Inventory, pieces: Pieces, *, replace: bool = False
) -> AsyncGenerator[Loaded]:
    """What the pieces hold, each with the name of its table, is in the database when this is left, or nothing of it.

    What was there goes with `replace`; without, there may be nobody's.
    """
    with _told_of_contents():
        async with await connect_as_owner(conninfo) as conn, conn.transaction():
            await check_server(conn)
            await lock_migrations(conn)
            await mean_all_accounts(conn, "SET LOCAL")
            await speak_plainly(conn)
            await conn.execute("SELECT set_config('maintenance_work_mem', %(size)s, true)", {"size": _MEMORY})
            await _make_room(conn, replace=replace)
            await lay_out(conn, conninfo, inventory.migrations)
            there = await columns_of(conn)
            tables = [table for table in inventory.tables if table.name in there]
            made_again = await _strip(conn)
            await _fill(conn, {table.name: table for table in tables}, pieces)
            for statement in made_again:
                await conn.execute(statement.encode())
            await _number(conn, inventory)
            await _compare(conn, tables)
            await complete(conn)
            yield Loaded(
                left_out=[table.name for table in inventory.tables if table.name not in there],
                indexes=await _have_indexes_made(conn, conninfo),
            )


@contextmanager
def _told_of_contents() -> Generator[None]:
    try:
        with named_faults():
            yield
    except psycopg.errors.InsufficientPrivilege as fault:
        raise Misconfigured(
            f"The database user may not do that ({fault.diag.message_primary}): let KEEPSTONE_DATABASE_URL name the "
            "owner of Keepstone's tables. Nothing was restored."
        ) from None
    except (psycopg.DataError, psycopg.IntegrityError) as fault:
        raise Invalid(
            f"What is in this backup does not fit together ({fault.diag.table_name or fault.sqlstate}). Nothing was "
            "restored.",
            code="damaged",
        ) from None


async def make_haste(conninfo: str) -> None:
    """A server that is soon gone need not survive a crash."""
    async with await connect_as_owner(conninfo) as conn:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            await conn.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
        await conn.execute("SELECT pg_reload_conf()")


async def _make_room(conn: Connection, *, replace: bool) -> None:
    if await is_distributed(conn):
        raise Misconfigured(
            "This database is distributed. Restore into a new one on the coordinator, and run `keepstone distribute` "
            "there; docs/operations.md has the steps."
        )
    at_work = await fetch_value(
        conn,
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = ANY (%(roles)s)",
        {"roles": list(ROLES)},
    )
    if at_work:
        raise Conflict("A server or worker is using this database: stop it, then restore.")
    if await fetch_value(conn, "SELECT to_regclass('keepstone.migrations')") is None:
        return
    if not replace and await fetch_value(conn, "SELECT count(*) FROM keepstone.accounts"):
        raise Conflict(
            "This database has accounts already. Restore into an empty one, or give up all that is in this one for "
            "what is in the backup: `keepstone restore --replace`."
        )
    for statement in await fetch_column(conn, _EVERYTHING):
        await conn.execute(statement.encode())


async def _strip(conn: Connection) -> list[str]:
    """Nothing is checked or counted while rows come. What would is taken away; returned is how it is made again.

    A trigger did what it does for a row when that was new.
    """
    taken = await fetch_rows(conn, _CONSTRAINTS) + await fetch_rows(conn, _TRIGGERS)
    for away, _ in taken:
        await conn.execute(away.encode())
    indexes = await fetch_rows(conn, _INDEXES)  # those that no constraint made
    for away, _ in indexes:
        await conn.execute(away.encode())
    return [again for _, again in reversed([*taken, *indexes])]


async def _fill(conn: Connection, tables: dict[str, DumpedTable], pieces: Pieces) -> None:
    """What migrations put into a table is in the backup too, as it is now."""
    everything = sql.SQL(", ").join(sql.Identifier("keepstone", name) for name in await columns_of(conn))
    await conn.execute(sql.SQL("TRUNCATE {}").format(everything))
    piece = await anext(pieces, None)
    while piece is not None:
        name = piece[0]
        table = tables.get(name)
        if table is None:
            while piece is not None and piece[0] == name:
                piece = await anext(pieces, None)
            continue
        query = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT {})").format(
            sql.Identifier("keepstone", name), sql.SQL(", ").join(map(sql.Identifier, table.columns)), table.form
        )
        try:
            async with conn.cursor() as cursor, cursor.copy(query) as copy:
                while piece is not None and piece[0] == name:
                    await copy.write(piece[1])
                    piece = await anext(pieces, None)
        except psycopg.errors.UndefinedColumn:
            raise Invalid(
                f"This backup has something in {name} that this Keepstone does not know: restore it with the version "
                "that made it, or a newer.",
                code="newer_backup",
            ) from None


async def _number(conn: Connection, inventory: Inventory) -> None:
    """New rows get numbers after those that were ever given out."""
    known = await fetch_column(conn, "SELECT sequencename FROM pg_sequences WHERE schemaname = 'keepstone'")
    for name in known:
        last = inventory.sequences.get(name)
        if last is not None:
            await conn.execute(
                "SELECT setval(format('keepstone.%%I', %(name)s::text), %(last)s)", {"name": name, "last": last}
            )


async def _compare(conn: Connection, tables: Sequence[DumpedTable]) -> None:
    for table in tables:
        found = await measure(conn, table.name, table.columns)
        if found != table.measure:
            raise Invalid(
                f"What came out of this backup is not what went in: {table.name} has {found.rows} rows, and had "
                f"{table.measure.rows}{'' if found.rows != table.measure.rows else ', of which some differ'}. Nothing "
                "was restored.",
                code="damaged",
            )


async def _have_indexes_made(conn: Connection, conninfo: str) -> int:
    """Large spaces have an index each, which is no part of the schema: jobs make them. Until then they are searched
    without.
    """
    spaces = await fetch_rows(
        conn, "UPDATE spaces SET indexed_sets = '{}' WHERE indexed_sets <> '{}' RETURNING account, space"
    )
    queue = Queue(conninfo)
    for account, space in spaces:
        conn.account = account
        await queue.add(conn, "index_space", account=account, space=space, unless_waiting=True, lane=HOUSEKEEPING)
    conn.account = None
    return len(spaces)
