"""The one way to a transaction: with a read scope. And what statements are made of.

Connections log in as `keepstone_app`, which owns nothing. `transaction` tells the database the account, the spaces and
the visibilities; the policies hold every statement to them, and outside of it a query on any table fails. Every
statement also names its account itself, as `%(account)s`, which the connection fills in from the scope.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, Literal, LiteralString, TypeVar, cast, get_args

import psycopg
from psycopg import sql
from psycopg.abc import QueryNoTemplate
from psycopg.rows import class_row
from psycopg.types.json import set_json_loads

from keepstone.errors import Forbidden
from keepstone.model.ids import is_any_id
from keepstone.model.page import Page, PageRequest, cut_page
from keepstone.model.principal import ReadScope, Visibility
from keepstone.nesting import load_stored
from keepstone.store.faults import named_faults
from keepstone.store.pool import Connection, make_pool
from keepstone.store.turns import AccountTurns

APP_ROLE = "keepstone_app"
WORKER_ROLE = "keepstone_worker"

# Where the tables are; the rest is where an operator may have put the vector extension.
SEARCH_PATH = "keepstone, public, extensions"

DatabaseError = psycopg.Error
Row = TypeVar("Row")

# Any connection, also one that has no scope and never gets one: an operator's or a test's.
AnyConnection = psycopg.AsyncConnection[Any]
Query = QueryNoTemplate

set_json_loads(load_stored)

NOW = sql.SQL("now()")
Forms = tuple[tuple[str, LiteralString], ...]

_VISIBILITIES = frozenset(get_args(Visibility))


class Database:
    """Open it once, hand it to everything, close it last."""

    def __init__(
        self,
        conninfo: str,
        *,
        owner: str,
        worker: str = "",
        size: int = 10,
        wait_seconds: float = 5,
        statement_seconds: int = 30,
    ) -> None:
        """`conninfo` is that of keepstone_app, `worker` of keepstone_worker, `owner` of the owner of the tables. A
        statement of a transaction is stopped after so many seconds. One account has at most half of the connections,
        and no more than keep the processors busy: what it sends beyond that waits, and others hardly notice.
        """
        self._owner, self._worker = owner, worker
        self._size, self._lent = size, 0
        self._statement_seconds = statement_seconds
        self._turns = AccountTurns(max(1, min(size // 2, (os.cpu_count() or 1) + 1)), 3 * wait_seconds)
        self._pool = make_pool(conninfo, size=size, wait_seconds=wait_seconds)

    async def open(self) -> None:
        await self._pool.open(wait=True, timeout=30)

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self, scope: ReadScope) -> AsyncGenerator[Connection]:
        """One transaction that reaches what `scope` says. Commits at the end, rolls back on any exception."""
        async with self._turns.of(scope.account), self.one_statement() as conn:
            # Together in one message; the pool commits or rolls back when it gets the connection back.
            await conn.execute(b"BEGIN; " + _entry(scope, self._statement_seconds))
            conn.account = scope.account
            try:
                yield conn
            except psycopg.errors.InsufficientPrivilege:
                if scope.within is None:
                    raise
                raise Forbidden(
                    "This key reaches only the spaces that it was made for: it makes no other.", code="outside_key"
                ) from None

    @asynccontextmanager
    async def entering(self, scope: ReadScope) -> AsyncGenerator[tuple[Connection, dict[str, str]]]:
        """For one statement that enters the scope by itself, and the settings that it needs for that: one message to
        the database where a transaction takes three more.
        """
        async with self._turns.of(scope.account), self.one_statement() as conn:
            conn.account = scope.account
            yield conn, {"within": _array(scope.within), "visibilities": _visible(scope)}

    @asynccontextmanager
    async def unscoped(self) -> AsyncGenerator[Connection]:
        """A transaction for the few functions that ask before an account is known (`store/repeatable/`)."""
        async with self.one_statement() as conn:
            await conn.execute(b"BEGIN")
            yield conn

    @asynccontextmanager
    async def one_statement(self) -> AsyncGenerator[Connection]:
        """The same for one that says whose a credential is, with every request, and needs no transaction for that."""
        with named_faults(lambda: self._lent >= self._size):
            async with self._pool.connection() as conn:
                self._lent += 1
                try:
                    yield conn
                except (psycopg.Error, asyncio.CancelledError):
                    # Cut off or refused while it plans, Citus believes that it still does, until the connection ends.
                    if conn.of_cluster:
                        await conn.close()
                    raise
                finally:
                    self._lent -= 1
                    conn.account = None

    @asynccontextmanager
    async def of_server(self) -> AsyncGenerator[Connection]:
        """A transaction on a connection of its own as keepstone_worker, for the functions that concern all accounts.
        They are the operator's and the jobs': whoever gets at a connection of the pool can't call them.
        """
        with named_faults():
            async with (
                await Connection.connect(self._worker, connect_timeout=5) as conn,
                conn.transaction(),
            ):
                yield conn

    @asynccontextmanager
    async def alone(self, what: str) -> AsyncGenerator[bool]:
        """Whether nobody else is at it, on whatever server: then nobody is until the end. Held by a transaction that
        does nothing else; that of a session would outlive it at a pooler.
        """
        # Without parameters: a statement with some keeps its snapshot until there is another, and for whoever has an
        # older snapshot, CREATE INDEX CONCURRENTLY waits.
        query = sql.SQL("SELECT pg_try_advisory_xact_lock(hashtext({}))").format(sql.Literal(what))
        async with self.of_server() as conn:
            yield await fetch_value(conn, query)

    @asynccontextmanager
    async def as_owner(self) -> AsyncGenerator[Connection]:
        """A connection of its own that owns the tables, outside of any transaction: to make indexes, never to read. At
        a pooler nothing that is set here would hold, so names are written out with their schema.
        """
        async with await Connection.connect(self._owner) as conn:
            yield conn


async def mean_all_accounts(conn: AnyConnection, command: Literal["SET", "SET LOCAL"]) -> None:
    """Whoever owns the tables is held by their policies too, and says here that it means all accounts.

    A distributed Postgres tells its other nodes what is set locally if each is a statement of its own, after the first.
    """
    for setting in ("citus.propagate_set_commands = 'local'", f"search_path = {SEARCH_PATH}", "keepstone.owner = 'on'"):
        await conn.execute(f"{command} {setting}".encode())


async def enter(conn: Connection, scope: ReadScope) -> None:
    """From here on the transaction reaches what `scope` says: also a second time, when it has found a space."""
    await conn.execute(_entry(scope))
    conn.account = scope.account


async def take_time(conn: Connection) -> None:
    """From here on no statement of this transaction is stopped: for what has to be done however much there is."""
    await conn.execute("SET LOCAL statement_timeout = 0")


def _entry(scope: ReadScope, seconds: int | None = None) -> bytes:
    """Numbers, known words and an id, so nothing has to be quoted."""
    if scope.reader and not is_any_id(scope.reader):
        raise ValueError("a reader is a user or an account")
    reader = f"'{scope.reader}'" if scope.reader else "NULL"
    return (
        f"SELECT enter_scope({int(scope.account)}, '{_array(scope.within)}', '{_array(scope.spaces)}',"
        f" '{_visible(scope)}', {reader}, {'NULL' if seconds is None else int(seconds)})"
    ).encode()


def _array(spaces: Iterable[int] | None) -> str:
    return "" if spaces is None else f"{{{','.join(str(int(space)) for space in spaces)}}}"


def _visible(scope: ReadScope) -> str:
    return f"{{{','.join(_VISIBILITIES.intersection(scope.visibilities))}}}"


async def fetch_all(
    conn: AnyConnection, row: type[Row], query: Query, params: Mapping[str, Any] | None = None
) -> list[Row]:
    async with conn.cursor(row_factory=class_row(row)) as cursor:
        await cursor.execute(query, params)
        return await cursor.fetchall()


async def fetch_one(
    conn: AnyConnection, row: type[Row], query: Query, params: Mapping[str, Any] | None = None
) -> Row | None:
    async with conn.cursor(row_factory=class_row(row)) as cursor:
        await cursor.execute(query, params)
        return await cursor.fetchone()


async def fetch_page(
    conn: Connection, row: type[Row], query: LiteralString, params: Mapping[str, Any], page: PageRequest, *,
    when: LiteralString = "created_at", key: LiteralString = "id", key_name: str = "id", oldest_first: bool = False,
) -> Page[Row]:  # fmt: skip
    """What `query` selects (it ends with a condition), by the columns `when` and `key`, the latest first. A row has
    the first under the column's name, the second as `key_name`.
    """
    at, last = page.after or (None, None)
    beyond, order = (">", "ASC") if oldest_first else ("<", "DESC")
    rows = await fetch_all(
        conn,
        row,
        f"""{query} AND (%(at)s::timestamptz IS NULL OR ({when}, {key}) {beyond} (%(at)s, %(last)s))
         ORDER BY {when} {order}, {key} {order} LIMIT %(limit)s""",
        {**params, "at": at, "last": last, "limit": page.limit + 1},
    )
    position = attrgetter(when.rpartition(".")[2], key_name)
    return cut_page(rows, page, position)


async def fetch_rows(
    conn: AnyConnection, query: Query, params: Mapping[str, Any] | None = None, *, binary: bool = False
) -> list[Any]:
    """Tuples, for what needs no names."""
    return await (await conn.execute(query, params, binary=binary)).fetchall()


async def fetch_column(
    conn: AnyConnection, query: Query, params: Mapping[str, Any] | None = None, *, binary: bool = False
) -> list[Any]:
    """The only column of every row."""
    return [row[0] for row in await fetch_rows(conn, query, params, binary=binary)]


async def fetch_value(conn: AnyConnection, query: Query, params: Mapping[str, Any] | None = None) -> Any:
    """The only column of the only row, or None."""
    row = await (await conn.execute(query, params)).fetchone()
    return None if row is None else row[0]


async def fetch_dict(
    conn: AnyConnection, query: Query, params: Mapping[str, Any] | None = None, *, binary: bool = False
) -> dict[Any, Any]:
    """The first column of every row to its second."""
    return dict(await fetch_rows(conn, query, params, binary=binary))


# In the functions below, None stands for a column that is NULL, and a list for one of several values.


async def select_rows(
    conn: AnyConnection, row: type[Row], table: LiteralString, where: Mapping[str, Any], *, order: tuple[str, ...] = ()
) -> list[Row]:
    """The rows of the account that match; the columns are the fields of the dataclass."""
    columns = tuple(field.name for field in fields(cast("Any", row)))
    return await fetch_all(conn, row, _selection(table, columns, _forms(where), order), where)


async def select_row(conn: AnyConnection, row: type[Row], table: LiteralString, where: Mapping[str, Any]) -> Row | None:
    """The only one."""
    return next(iter(await select_rows(conn, row, table, where)), None)


async def select_column(conn: AnyConnection, table: LiteralString, column: str, where: Mapping[str, Any]) -> list[Any]:
    return await fetch_column(conn, _selection(table, (column,), _forms(where)), where)


async def select_value(
    conn: AnyConnection, table: LiteralString, column: str, where: Mapping[str, Any], *, hold: bool = False
) -> Any:
    """None where no row matches. With `hold` nobody else changes that row until the transaction ends."""
    return await fetch_value(conn, _selection(table, (column,), _forms(where), hold=hold), where)


async def insert_row(conn: AnyConnection, table: LiteralString, values: Mapping[str, Any]) -> None:
    """A row of the transaction's account, with these columns."""
    await conn.execute(_insertion(table, tuple(values)), values)


async def insert_new_row(conn: AnyConnection, table: LiteralString, values: Mapping[str, Any]) -> bool:
    """The same, unless a unique constraint says that it is there. Whether it was new."""
    return (await conn.execute(_insertion(table, tuple(values), or_nothing=True), values)).rowcount > 0


async def insert_returning(conn: AnyConnection, table: LiteralString, values: Mapping[str, Any], column: str) -> Any:
    """This column of the new row; None when a unique constraint says that it is there."""
    return await fetch_value(conn, _insertion(table, tuple(values), or_nothing=True, returning=column), values)


async def insert_new_rows(conn: AnyConnection, table: LiteralString, rows: Sequence[Mapping[str, Any]]) -> None:
    """Several at once, with the same columns; those that are there stay as they are."""
    if rows:
        async with conn.cursor() as cursor:
            await cursor.executemany(_insertion(table, tuple(rows[0]), or_nothing=True), rows)


async def update_rows(
    conn: AnyConnection, table: LiteralString, where: Mapping[str, Any], changes: Mapping[str, Any]
) -> int:
    """Set the given columns in the rows of the account that match; NOW is the time of the transaction. Returns how many
    were changed.
    """
    if not changes:
        return 0
    new = {f"new_{name}": value for name, value in changes.items() if value is not NOW}
    query = _changing(table, _forms(where), tuple(changes), tuple(new))
    return (await conn.execute(query, {**where, **new})).rowcount


async def touch_row(conn: AnyConnection, table: LiteralString, row_id: str, column: LiteralString) -> None:
    """It was used, to the minute: what is used all the time costs no write each time."""
    query = sql.SQL(
        "UPDATE {} SET {column} = now() WHERE account = %(account)s AND id = %(id)s"
        " AND ({column} IS NULL OR {column} < now() - interval '1 minute')"
    ).format(sql.Identifier(table), column=sql.Identifier(column))
    await conn.execute(query, {"id": row_id})


async def delete_rows(conn: AnyConnection, table: LiteralString, where: Mapping[str, Any]) -> int:
    """Remove the rows of the account that match. Returns how many went."""
    query = sql.SQL("DELETE FROM {} WHERE {}").format(sql.Identifier(table), _matching(_forms(where)))
    return (await conn.execute(query, where)).rowcount


@cache
def _selection(
    table: LiteralString, columns: tuple[str, ...], where: Forms, order: tuple[str, ...] = (), *, hold: bool = False
) -> bytes:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    query = sql.SQL("SELECT {} FROM {} WHERE {}").format(names, sql.Identifier(table), _matching(where))
    if order:
        query += sql.SQL(" ORDER BY {}").format(sql.SQL(", ").join(map(sql.Identifier, order)))
    return (query + sql.SQL(" FOR NO KEY UPDATE") if hold else query).as_bytes()


@cache
def _insertion(
    table: LiteralString, columns: tuple[str, ...], *, or_nothing: bool = False, returning: str | None = None
) -> bytes:
    names = ("account", *columns)
    query = sql.SQL("INSERT INTO {} ({}) VALUES ({}){}{}").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, names)),
        sql.SQL(", ").join(map(sql.Placeholder, names)),
        sql.SQL(" ON CONFLICT DO NOTHING" if or_nothing else ""),
        sql.SQL(" RETURNING {}").format(sql.Identifier(returning)) if returning else sql.SQL(""),
    )
    return query.as_bytes()


@cache
def _changing(table: LiteralString, where: Forms, changes: tuple[str, ...], given: tuple[str, ...]) -> bytes:
    """The new values are apart from conditions on the same columns; what has none is set to now."""
    values = {name: sql.Placeholder(f"new_{name}") if f"new_{name}" in given else NOW for name in changes}
    pairs = [sql.SQL("{} = {}").format(sql.Identifier(name), value) for name, value in values.items()]
    query = sql.SQL("UPDATE {} SET {} WHERE {}")
    return query.format(sql.Identifier(table), sql.SQL(", ").join(pairs), _matching(where)).as_bytes()


def _forms(where: Mapping[str, Any]) -> Forms:
    """How each column is compared, without the values: statements of the same form are composed once."""
    return tuple((name, _compared(value)) for name, value in where.items())


def _compared(value: object) -> LiteralString:
    if value is None:
        return "{0} IS NULL"
    return "{} = ANY({})" if isinstance(value, list) else "{} = {}"


def _matching(where: Forms) -> sql.Composed:
    forms: Forms = (("account", "{} = {}"), *where)
    pairs = [sql.SQL(form).format(sql.Identifier(name), sql.Placeholder(name)) for name, form in forms]
    return sql.SQL(" AND ").join(pairs)
