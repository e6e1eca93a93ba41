"""Connections as Keepstone uses them, and the pool that lends them.

Nothing is kept in a session: whatever a statement needs to know is said with its transaction (`db.py`). So a pooler
may stand between us and Postgres that lends a connection of its own for each transaction. Whether one does, the
connection finds out.
"""

import asyncio
import math
import select
import time
from collections.abc import Iterable, Mapping
from typing import Any, Self

import psycopg
from psycopg.abc import Params
from psycopg_pool import AsyncConnectionPool

from keepstone.store.pipelines import SendingConnection

_RESTART_SECONDS = 2
_UNHEARD_SECONDS = 5  # of a connection; a network that lost it would not have said so


class ScopedCursor(psycopg.AsyncCursor[Any]):
    """Gives every statement the parameter `account`, out of the scope of the connection's transaction."""

    async def execute(self, query: Any, params: Params | None = None, **options: Any) -> Self:
        return await super().execute(query, self._scoped(query, params), **options)

    async def executemany(self, query: Any, params_seq: Iterable[Params], **options: Any) -> None:
        await super().executemany(query, [self._scoped(query, params) or () for params in params_seq], **options)

    def _scoped(self, query: Any, params: Params | None) -> Params | None:
        account = getattr(self.connection, "account", None)
        if account is None or not (params is None or isinstance(params, Mapping)):
            return params
        if params is None and isinstance(query, bytes):  # several statements in one message, which take none
            return None
        return {**(params or {}), "account": account}


class Connection(SendingConnection):
    """`account` is that of the running transaction; None outside of one, where a statement that names it fails.
    `pooled`: a pooler stands between, and the next transaction may have another connection to Postgres. `of_cluster`:
    the database is spread over several machines, by Citus.
    """

    account: int | None = None
    pooled = False
    of_cluster = False
    checked_at = -math.inf

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.cursor_factory = ScopedCursor

    @classmethod
    async def connect(cls, conninfo: str = "", *, autocommit: bool = True, **options: Any) -> Self:
        """Outside of any transaction, unless told otherwise."""
        conn = await super().connect(conninfo, autocommit=autocommit, **options)
        try:
            await conn._look_around()
        except BaseException:
            await conn.close()
            raise
        return conn

    async def _look_around(self) -> None:
        """A pooler makes up the process that it says is ours. What is prepared on one of its connections is not there
        on the next, unless it sees to that, which only some do: then nothing is prepared.
        """
        told, self.prepare_threshold = self.prepare_threshold, None
        [[process, self.of_cluster]] = await (
            await self.execute("SELECT pg_backend_pid(), to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL")
        ).fetchall()
        self.pooled = process != self.info.backend_pid
        if not self.autocommit:
            await self.rollback()
        if not self.pooled:
            self.prepare_threshold = told


class _Persistent(Connection):
    """Asks again for a moment: a Postgres that restarts is back long before the pool's own next try (1 s, 2 s)."""

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> Self:
        deadline = time.monotonic() + _RESTART_SECONDS
        while True:
            try:
                return await super().connect(conninfo, **options)
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.05)


def make_pool(conninfo: str, *, size: int, wait_seconds: float = 5) -> AsyncConnectionPool[Connection]:
    """A pool whose connections are checked before use, so that a restarted server is not felt.

    Nothing is set in a session, where a pooler between us and Postgres would lose it: the role has its settings, and
    the rest is said with each transaction.
    """

    async def check(conn: Connection) -> None:
        """Where one is dead, all are: the pool would find them one by one, and wait 1 s, 2 s, 4 s in between."""
        if time.monotonic() - conn.checked_at > _UNHEARD_SECONDS or _has_news(conn):
            try:
                await AsyncConnectionPool.check_connection(conn)
            except psycopg.OperationalError:
                await pool.drain()
                raise
        conn.checked_at = time.monotonic()

    pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
        conninfo,
        connection_class=_Persistent,
        min_size=1,
        max_size=size,
        timeout=wait_seconds,
        max_idle=60,
        reconnect_timeout=2,
        open=False,
        check=check,
        kwargs={"connect_timeout": 5, "application_name": "keepstone"},
    )
    return pool


def _has_news(conn: Connection) -> bool:
    """Whether something came that nobody asked for. A server that ends a connection says so: seen without asking it."""
    try:
        return bool(select.select([conn.fileno()], [], [], 0)[0])
    except (OSError, ValueError, psycopg.OperationalError):  # closed here, or a number that `select` does not take
        return True
