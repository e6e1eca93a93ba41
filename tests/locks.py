"""Rows that a test holds, and who waits for them: on one Postgres, or on all machines of a cluster."""

import asyncio
from typing import Any, LiteralString

import psycopg
from bench import citus
from psycopg import sql

Connection = psycopg.AsyncConnection[Any]

_WAITING: LiteralString = "wait_event_type = 'Lock' AND datname = current_database()"
_CONNECTIONS: LiteralString = (
    f"SELECT DISTINCT global_pid FROM citus_stat_activity WHERE {_WAITING}"
    if citus.PROGRAMS
    else f"SELECT pid FROM pg_stat_activity WHERE {_WAITING}"
)


async def hold(conn: Connection, table: str) -> None:
    """Every row of it, until the transaction ends; a cluster takes such a lock only of one account at a time."""
    name = sql.Identifier("keepstone", table)
    accounts = await conn.execute(sql.SQL("SELECT DISTINCT account FROM {}").format(name))
    for (account,) in await accounts.fetchall():
        query = sql.SQL("SELECT 1 FROM {} WHERE account = {} FOR UPDATE").format(name, sql.Literal(account))
        await conn.execute(query)


async def waiting(conn: Connection) -> list[int]:
    """The connections to this database that wait for a lock."""
    found = await conn.execute(_CONNECTIONS)
    return [number for (number,) in await found.fetchall()]


async def until_waiting(conn: Connection, number: int) -> None:
    async with asyncio.timeout(20):
        while len(await waiting(conn)) != number:
            await asyncio.sleep(0.02)


async def end(conn: Connection, number: int) -> None:
    """That connection, which `waiting` found."""
    kind = sql.SQL("bigint" if citus.PROGRAMS else "int")
    await conn.execute(sql.SQL("SELECT pg_terminate_backend({}::{})").format(sql.Literal(number), kind))
