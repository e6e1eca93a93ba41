"""What a backup takes out of the database: every table as it was at one moment, and what it must be when it is back.

Tables go through COPY, so none of it depends on the version of Postgres, nor on how many machines it is spread over.
Counts and checksums are made by the database, of the values, so they are the same wherever these lie.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString

from psycopg import sql

from keepstone import __version__
from keepstone.errors import Invalid, Misconfigured
from keepstone.store.db import (
    AnyConnection,
    Connection,
    fetch_column,
    fetch_dict,
    fetch_rows,
    fetch_value,
    mean_all_accounts,
)
from keepstone.store.distribute import is_distributed
from keepstone.store.faults import named_faults
from keepstone.store.migrate import applied, connect_as_owner

RECORDS = ("migrations", "schema_level")  # of the schema itself: made anew where a backup is restored
_OF_QUEUE = "procrastinate_"

# So that a value has one text everywhere. And whoever copies much is given the time.
_PLAINLY: tuple[LiteralString, ...] = (
    "SET LOCAL timezone = 'UTC'",
    "SET LOCAL datestyle = 'ISO, MDY'",
    "SET LOCAL intervalstyle = 'postgres'",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL extra_float_digits = 1",
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How many rows, and a sum over what is in each, whatever their order."""

    rows: int
    checksum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedTable:
    """`columns` are those with values of their own. Text is longer than binary, and bears that a column is wider."""

    name: str
    columns: tuple[str, ...]
    measure: Measure

    @property
    def form(self) -> sql.SQL:
        """The queue's tables are those of the version of procrastinate that is there, not of the one that was."""
        return sql.SQL("text" if self.name.startswith(_OF_QUEUE) else "binary")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What a backup begins with: what made it, and what is in it. `sequences` has the last number of each, if any."""

    keepstone: str
    made_at: str
    postgres: str
    distributed: bool
    migrations: tuple[str, ...]
    tables: tuple[DumpedTable, ...]
    sequences: dict[str, int | None]
    secrets: dict[str, str]

    def as_json(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False).encode()

    @classmethod
    def parse(cls, text: bytes) -> "Inventory":
        try:
            told: Any = json.loads(text)
            tables = tuple(
                DumpedTable(name=one["name"], columns=tuple(one["columns"]), measure=Measure(**one["measure"]))
                for one in told.pop("tables")
            )
            return cls(tables=tables, migrations=tuple(told.pop("migrations")), **told)
        except (ValueError, KeyError, TypeError):
            raise Invalid("This backup is damaged: it does not say what is in it.", code="damaged") from None

    @property
    def rows(self) -> int:
        return sum(table.measure.rows for table in self.tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The tables of one moment. On a cluster, what is the server's is read on a connection of its own."""

    inventory: Inventory
    by_account: Connection
    by_server: Connection

    def rows_of(self, table: DumpedTable) -> AsyncGenerator[bytes]:
        return _rows(self.by_account if "account" in table.columns[:1] else self.by_server, table)


@asynccontextmanager
async def snapshot(conninfo: str, secrets: dict[str, str]) -> AsyncGenerator[Snapshot]:
    """The database as it is now, while everybody goes on writing to it. Needs the owner of the tables.

    On a cluster each machine has a moment of its own, and an account lies on one. The server's moment comes last: then
    there is a job for every write that is in the backup, and perhaps one whose write came after it.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(named_faults())
        first = await stack.enter_async_context(await connect_as_owner(conninfo))
        await applied(first)  # refuses what a newer Keepstone has made
        if await fetch_value(first, "SELECT to_regclass('keepstone.accounts')") is None:
            raise Misconfigured("There is nothing in this database yet: `keepstone serve` makes it.")
        await _require_sight(first)
        distributed = await is_distributed(first)
        await stack.enter_async_context(_one_moment(first))
        second = first
        if distributed:
            for table in await columns_of(first):
                await fetch_value(first, sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(table)))
            second = await stack.enter_async_context(await connect_as_owner(conninfo))
            await stack.enter_async_context(_one_moment(second))
        tables = [
            DumpedTable(
                name=name,
                columns=columns,
                measure=await measure(first if columns[0] == "account" else second, name, columns),
            )
            for name, columns in (await columns_of(second)).items()
        ]
        # Numbers are given out past any moment, so each is at least that of the last row.
        sequences = await fetch_dict(
            second, "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'keepstone' ORDER BY 1"
        )
        inventory = Inventory(
            keepstone=__version__,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            postgres=str(await fetch_value(second, "SHOW server_version")),
            distributed=distributed,
            migrations=tuple(await applied(second)),
            tables=tuple(tables),
            sequences=sequences,
            secrets=secrets,
        )
        yield Snapshot(inventory=inventory, by_account=first, by_server=second)


@asynccontextmanager
async def _one_moment(conn: Connection) -> AsyncGenerator[None]:
    """A transaction in which all is as it is now. The tables are held before the moment is taken: none of them is
    changed by a migration in between.
    """
    names = sql.SQL(", ").join(sql.Identifier("keepstone", name) for name in (*await columns_of(conn), RECORDS[0]))
    async with conn.transaction():
        await conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        await mean_all_accounts(conn, "SET LOCAL")
        await speak_plainly(conn)
        # All that is asked of a machine goes through one connection, and so is of one moment.
        await conn.execute("SET LOCAL citus.max_adaptive_executor_pool_size = 1")
        await conn.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(names))
        yield


async def _require_sight(conn: Connection) -> None:
    """Row-level security hides without a word: whoever it holds would make a backup of nothing."""
    hidden = await fetch_column(
        conn,
        """
        SELECT c.relname
          FROM pg_class c CROSS JOIN (SELECT * FROM pg_roles WHERE rolname = current_user) me
         WHERE c.relnamespace = 'keepstone'::regnamespace AND c.relkind = 'r' AND c.relrowsecurity
           AND NOT (me.rolsuper OR me.rolbypassrls)
           AND NOT (c.relowner = me.oid AND NOT c.relforcerowsecurity)
           AND NOT EXISTS (SELECT 1 FROM pg_policy p
                            WHERE p.polrelid = c.oid AND p.polname = 'owner' AND me.oid = ANY (p.polroles))
         ORDER BY 1
        """,
    )
    if hidden:
        raise Misconfigured(
            f"This database user does not see all that there is ({', '.join(hidden[:3])} …): let "
            "KEEPSTONE_DATABASE_URL name the owner of the tables, who migrated them."
        )


async def speak_plainly(conn: AnyConnection) -> None:
    for setting in _PLAINLY:
        await conn.execute(setting)


async def columns_of(conn: AnyConnection) -> dict[str, tuple[str, ...]]:
    """Keepstone's tables, each with its columns but for those that are computed from others."""
    found = await fetch_rows(
        conn,
        """
        SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
          FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relnamespace = to_regnamespace('keepstone') AND c.relkind = 'r' AND c.relname <> ALL (%(records)s)
           AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
         GROUP BY c.relname ORDER BY c.relname
        """,
        {"records": list(RECORDS)},
    )
    return {name: tuple(columns) for name, columns in found}


async def measure(conn: AnyConnection, table: str, columns: Sequence[str]) -> Measure:
    ((rows, checksum),) = await fetch_rows(
        conn,
        sql.SQL("SELECT count(*), coalesce(sum(hashtextextended(ROW({})::text, 0)), 0)::text FROM {}").format(
            _names(columns), sql.Identifier("keepstone", table)
        ),
    )
    return Measure(rows=rows, checksum=checksum)


async def _rows(conn: Connection, table: DumpedTable) -> AsyncGenerator[bytes]:
    query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT {})").format(
        _names(table.columns), sql.Identifier("keepstone", table.name), table.form
    )
    async with conn.cursor() as cursor, cursor.copy(query) as copy:
        async for row in copy:
            yield bytes(row)


def _names(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))
