"""Rows of somebody else's database, SQLite or Postgres, one at a time. Read only; never Keepstone's own."""

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, LiteralString, Protocol

import psycopg
from psycopg import sql

from keepstone.errors import Invalid, NotFound

_BATCH = 500


class SourceTables(Protocol):
    def names(self, *columns: str) -> list[str]:
        """The tables that have all these columns."""
        ...

    def rows(self, table: str, *, order: str = "id") -> Iterator[dict[str, Any]]: ...


class _Sqlite:
    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def names(self, *columns: str) -> list[str]:
        rows = self._conn.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return [name for (name,) in rows.fetchall() if set(columns) <= set(self._columns(name))]

    def rows(self, table: str, *, order: str = "id") -> Iterator[dict[str, Any]]:
        names = self._columns(table)
        if not names:
            raise Invalid(f"There is no table {table} in this database.")
        by = _quoted(order if order in names else names[0])
        rows = self._conn.execute(f"SELECT * FROM {_quoted(table)} ORDER BY {by}")
        while batch := rows.fetchmany(_BATCH):
            yield from (dict(zip(names, row, strict=True)) for row in batch)

    def _columns(self, table: str) -> list[str]:
        return [row[1] for row in self._conn.execute(f"PRAGMA table_info({_quoted(table)})")]


class _Postgres:
    def __init__(self, conn: psycopg.Connection) -> None:
        self._conn = conn

    def names(self, *columns: str) -> list[str]:
        query: LiteralString = """
            SELECT table_name FROM information_schema.columns
             WHERE table_schema = ANY (current_schemas(false)) AND column_name = ANY (%s)
             GROUP BY table_name HAVING count(*) = %s ORDER BY table_name
        """
        return [row[0] for row in self._conn.execute(query, [list(columns), len(columns)])]

    def rows(self, table: str, *, order: str = "id") -> Iterator[dict[str, Any]]:
        # A vector is of no use elsewhere, and is most of a row.
        query: LiteralString = """
            SELECT column_name FROM information_schema.columns
             WHERE table_schema = ANY (current_schemas(false)) AND table_name = %s AND udt_name <> 'vector'
             ORDER BY ordinal_position
        """
        names = [row[0] for row in self._conn.execute(query, [table])]
        if not names:
            raise Invalid(f"There is no table {table} in this database.")
        with self._conn.cursor(name="import") as cursor:
            cursor.itersize = _BATCH
            cursor.execute(
                sql.SQL("SELECT {} FROM {} ORDER BY {}").format(
                    sql.SQL(", ").join(map(sql.Identifier, names)),
                    sql.Identifier(table),
                    sql.Identifier(order if order in names else names[0]),
                )
            )
            yield from (dict(zip(names, row, strict=True)) for row in cursor)


@contextmanager
def open_tables(address: str) -> Generator[SourceTables]:
    if is_postgres(address):
        try:
            with psycopg.connect(address, connect_timeout=10) as conn:
                conn.read_only = True
                yield _Postgres(conn)
        except psycopg.OperationalError as fault:
            reason = str(fault).splitlines()[0]
            raise Invalid(f"The source's Postgres can't be reached: {reason}") from None
        return
    path = Path(address).expanduser()
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as conn:
        try:
            conn.execute("PRAGMA trusted_schema = OFF")  # what a stranger's file defines is not run
            yield _Sqlite(conn)
        except sqlite3.DatabaseError as fault:
            raise Invalid(f"{path.name} can't be read as SQLite: {fault}.") from None


def is_postgres(address: str) -> bool:
    return address.startswith(("postgres://", "postgresql://")) or "dbname=" in address


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
