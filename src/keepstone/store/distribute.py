"""One schema on many machines: what Citus is told of it, on a database whose owner wants that (`keepstone distribute`).

Tables that an account leads are distributed by it, all alike, so that everything of an account lies together; the
plans are on every machine; what is of the server, such as the queue, stays on the coordinator. Functions of one account
run where it lies. Nothing else differs: the same migrations, policies and statements as on one Postgres.
"""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import LiteralString

import psycopg
from psycopg import sql

from keepstone.errors import Misconfigured, NotFound
from keepstone.store.db import (
    AnyConnection,
    Connection,
    fetch_all,
    fetch_column,
    fetch_rows,
    fetch_value,
    mean_all_accounts,
)
from keepstone.store.roles import ROLES

OLDEST_CITUS = (12, 0)

_FIRST = "accounts"
_EVERYWHERE = ("plans",)
# They take the account first. The second run there also in the middle of a transaction, whose other changes they then
# see; in them a query is of distributed tables or of one that is everywhere, never of both.
# All else that takes an account runs on the coordinator, which alone counts up the numbers of rows.
_WHERE_IT_LIES = {
    False: ["credential_holder", "token_holder", "account_standing", "survey_talk"],
    True: [
        "room_of",
        "take_over",
        "passing_nodes",
        "entity_places",
        "reword_message",
        "trash_message",
        "restore_message",
        "erase_traces",
        "charge",
    ],
}

# A transaction's settings are told to the machines; and a plan is of an account: made once for all, it would run on the
# coordinator what belongs to a machine.
_SET: tuple[tuple[LiteralString, LiteralString], ...] = (
    ("citus.propagate_set_commands", "local"),
    ("plan_cache_mode", "force_custom_plan"),
)

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One that holds accounts: its address and port, and how much of each table it has."""

    name: str
    shards: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPlace:
    """Where an account lies, and whether in shards that it shares with nobody."""

    account: int
    account_id: str
    name: str
    bytes: int
    machine: str
    alone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Distributed:
    """What was done; nothing where all of it was there."""

    tables: list[str]
    everywhere: list[str]
    functions: list[str]


@contextmanager
def told_of_machines() -> Generator[None]:
    """What goes wrong with a machine of the cluster, as an operator is told of it."""
    try:
        yield
    except psycopg.OperationalError as fault:
        told = (fault.diag.message_primary or str(fault).strip()).splitlines()[0]
        raise Misconfigured(
            f"A machine of the cluster can't be worked with: {told}. See that it runs, that the others reach it, and "
            "that it lets in the owner of the tables, keepstone_app and keepstone_worker; then run this again."
        ) from None


def require_session(conn: Connection) -> None:
    """Distributing, moving and what comes with them set things for a session, which a pooler would lend to others."""
    if conn.pooled:
        raise Misconfigured(
            "KEEPSTONE_DATABASE_URL leads through a pooler. For this, set it to the coordinator itself; what requests "
            "need may go through the pooler all the same, by KEEPSTONE_APP_DATABASE_URL."
        )


async def is_distributed(conn: AnyConnection) -> bool:
    """Whether this database has been distributed. Works for any role that may connect."""
    if await citus_version(conn) is None:
        return False
    return bool(
        await fetch_value(
            conn,
            "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass(%(table)s)",
            {"table": _qualified(_FIRST)},
        )
    )


async def citus_version(conn: AnyConnection) -> str | None:
    return await fetch_value(conn, "SELECT extversion FROM pg_extension WHERE extname = 'citus'")


async def check_cluster(conn: AnyConnection) -> None:
    """Whether this is the coordinator of a cluster that has somewhere to put an account; what to do, if not."""
    version = await citus_version(conn)
    if version is None:
        raise Misconfigured(
            "This database has no extension citus, so there is nothing to distribute it to. On every machine of the "
            "cluster, run in Keepstone's database as a superuser: CREATE EXTENSION citus; then on the coordinator "
            "SELECT citus_add_node('address of a worker', 5432); for each worker. docs/operations.md has all steps."
        )
    if tuple(int(part) for part in version.split("-")[0].split(".")[:2]) < OLDEST_CITUS:
        raise Misconfigured(f"This is Citus {version}; Keepstone needs 12 or newer. Upgrade it on every machine.")
    if not await fetch_value(conn, "SELECT citus_is_coordinator()"):
        raise Misconfigured("This is a worker of the cluster: set KEEPSTONE_DATABASE_URL to its coordinator.")
    away = await fetch_rows(
        conn, "SELECT nodename || ':' || nodeport FROM pg_dist_node WHERE noderole = 'primary' AND NOT isactive"
    )
    if away:
        raise Misconfigured(
            f"These machines of the cluster are not active: {', '.join(name for (name,) in away)}. Bring them back "
            "with SELECT citus_activate_node('address', port); or remove them with citus_remove_node."
        )
    if not await fetch_value(
        conn, "SELECT 1 FROM pg_dist_node WHERE noderole = 'primary' AND shouldhaveshards AND isactive LIMIT 1"
    ):
        raise Misconfigured(
            "No machine of this cluster holds data yet: on the coordinator, run SELECT citus_add_node('address of a "
            "worker', 5432); for each worker, as a superuser."
        )


async def distribute(conn: Connection, *, shards: int | None = None, tell: Tell = lambda _: None) -> Distributed:
    """Whatever is not distributed yet is. Needs a schema that is complete, and its owner's connection.

    Each table has a transaction of its own: cut off, it goes on there. What a table holds is copied, and nobody writes
    to it meanwhile.
    """
    await check_cluster(conn)
    await mean_all_accounts(conn, "SET")
    if shards is not None:
        await conn.execute(sql.SQL("SET citus.shard_count = {}").format(sql.Literal(shards)))
    for role in ROLES:
        for setting, value in _SET:
            alter = sql.SQL("ALTER ROLE {} SET {} = {}")
            await conn.execute(alter.format(sql.Identifier(role), sql.SQL(setting), sql.Literal(value)))
    # Tables that are distributed have no triggers; this one helps whoever writes facts with SQL, by hand.
    if await fetch_value(conn, "SELECT 1 FROM pg_trigger WHERE tgrelid = 'facts'::regclass AND tgname = 'place_fact'"):
        await conn.execute("DROP TRIGGER place_fact ON facts")
    known = set(await fetch_column(conn, "SELECT logicalrelid::oid FROM pg_dist_partition"))
    everywhere = await _tables(conn, known, keyed=False)
    for table in everywhere:
        await _spread(conn, table, "SELECT create_reference_table(%(table)s)")
        tell(f"{table}: on every machine")
    tables = await _tables(conn, known, keyed=True)
    for table in tables:
        beside = "none" if table == _FIRST else _qualified(_FIRST)
        await _spread(
            conn,
            table,
            "SELECT create_distributed_table(%(table)s, 'account', colocate_with => %(beside)s)",
            beside=beside,
        )
        tell(f"{table}: by account")
    functions = await _delegate(conn)
    if functions:
        tell(f"{len(functions)} functions run where the account lies")
    return Distributed(tables=tables, everywhere=everywhere, functions=functions)


async def balance(conn: Connection, *, tell: Tell = lambda _: None) -> int:
    """Parts of the accounts are moved until every machine that may hold some has its share: to one that was added, away
    from one that shall hold none any more. Says how many. The server goes on; its writes wait for a moment at the end
    of each.
    """
    given = {"table": _qualified(_FIRST)}
    planned = await fetch_rows(
        conn,
        "SELECT shardid, sourcename || ':' || sourceport, targetname || ':' || targetport"
        "  FROM get_rebalance_table_shards_plan(%(table)s) WHERE table_name = %(table)s::regclass",
        given,
    )
    if not planned:
        return 0
    async with _explained(_FIRST):
        for number, source, target in planned:
            tell(f"a part of the accounts: from {source} to {target}")
            await _move(conn, number, source, target)
    return len(planned)


async def undistributed(conn: AnyConnection) -> list[str]:
    """Tables of accounts that still lie on the coordinator alone."""
    known = set(await fetch_column(conn, "SELECT logicalrelid::oid FROM pg_dist_partition"))
    return [*await _tables(conn, known, keyed=False), *await _tables(conn, known, keyed=True)]


async def unreachable(conn: AnyConnection) -> list[str]:
    """Machines that the coordinator does not get through to."""
    return await fetch_column(
        conn,
        "SELECT nodename || ':' || nodeport FROM run_command_on_workers('SELECT 1') WHERE NOT success ORDER BY 1",
    )


async def machines(conn: AnyConnection) -> list[Machine]:
    return await fetch_all(
        conn,
        Machine,
        """
        SELECT nodename || ':' || nodeport AS name,
               count(DISTINCT shardid) FILTER (WHERE table_name = to_regclass(%(first)s)) AS shards,
               sum(shard_size)::bigint AS bytes
          FROM citus_shards WHERE citus_table_type = 'distributed' GROUP BY 1 ORDER BY 1
        """,
        {"first": _qualified(_FIRST)},
    )


async def largest(conn: Connection, most: int) -> list[AccountPlace]:
    """The accounts that keep most, by the bytes of their texts."""
    await _require_distributed(conn)
    return await _places(conn, most=most)


async def isolate(conn: Connection, account_id: str, *, machine: str | None = None) -> AccountPlace:
    """This account gets shards of its own, on that machine (`address:port`) if one is named. Who writes to it, or to
    one that shared them, waits until these are copied; the move itself holds up nobody but for a moment.
    """
    await _require_distributed(conn)
    names = [one.name for one in await machines(conn)]
    if machine is not None and machine not in names:
        raise NotFound(f"No machine of this cluster holds accounts as {machine[:80]}; there are {', '.join(names)}.")
    place = await _place(conn, account_id)
    given = {"table": _qualified(_FIRST), "number": place.account}
    moves = machine is not None and machine != place.machine
    if place.alone and not moves:
        return place
    if not place.alone:
        # Writes wait until it is copied. Citus can do without; a row that then changes too early is never done with.
        async with _explained(account_id):
            await conn.execute(
                "SELECT isolate_tenant_to_new_shard(%(table)s, %(number)s, 'CASCADE', 'block_writes')", given
            )
    if machine is not None and moves:
        shard = await fetch_value(conn, "SELECT get_shard_id_for_distribution_column(%(table)s, %(number)s)", given)
        async with _explained(account_id):
            await _move(conn, shard, place.machine, machine)
    return await _place(conn, account_id)


async def _require_distributed(conn: Connection) -> None:
    await check_cluster(conn)
    if not await is_distributed(conn):
        raise Misconfigured("This database is not distributed yet: run `keepstone distribute` first.")


async def _place(conn: Connection, account_id: str) -> AccountPlace:
    found = await _places(conn, account_id=account_id)
    if not found:
        raise NotFound(f"There is no account {account_id[:80]}. `keepstone accounts list` shows the largest.")
    return found[0]


async def _places(conn: Connection, *, account_id: str | None = None, most: int = 1) -> list[AccountPlace]:
    async with conn.transaction():
        await mean_all_accounts(conn, "SET LOCAL")
        return await fetch_all(
            conn,
            AccountPlace,
            """
            SELECT k.account, k.account_id, k.name, k.bytes, n.nodename || ':' || n.nodeport AS machine,
                   s.shardminvalue = s.shardmaxvalue AS alone
              FROM kept_by_accounts(%(account_id)s, %(most)s) k
              JOIN pg_dist_shard s ON s.shardid = get_shard_id_for_distribution_column(%(table)s, k.account)
              JOIN pg_dist_placement p USING (shardid)
              JOIN pg_dist_node n USING (groupid)
             WHERE n.noderole = 'primary'
             ORDER BY k.bytes DESC, k.account
            """,
            {"account_id": account_id, "most": most, "table": _qualified(_FIRST)},
        )


async def _move(conn: Connection, shard: int, source: str, target: str) -> None:
    (address, port), (to_address, to_port) = (_address(one) for one in (source, target))
    await conn.execute(
        "SELECT citus_move_shard_placement(%(shard)s, %(address)s, %(port)s, %(to_address)s, %(to_port)s)",
        {"shard": shard, "address": address, "port": port, "to_address": to_address, "to_port": to_port},
    )


def _address(machine: str) -> tuple[str, int]:
    host, _, port = machine.rpartition(":")
    return host, int(port)


async def _tables(conn: AnyConnection, known: set[int], *, keyed: bool) -> list[str]:
    """Those that are not distributed yet, in the order in which they were made: what others refer to comes first."""
    rows = await fetch_rows(
        conn,
        """
        SELECT c.oid, c.relname,
               EXISTS (SELECT 1 FROM pg_attribute a
                        WHERE a.attrelid = c.oid AND a.attnum = 1 AND a.attname = 'account') AS keyed
          FROM pg_class c
         WHERE c.relnamespace = 'keepstone'::regnamespace AND c.relkind = 'r'
         ORDER BY c.oid
        """,
    )
    return [
        name for oid, name, by_account in rows if oid not in known and (by_account if keyed else name in _EVERYWHERE)
    ]


async def _spread(conn: Connection, table: str, call: LiteralString, **given: str) -> None:
    """Citus copies, splits and moves what a table holds as the table's owner, who therefore is not held to its
    policies: of what they hide no copy would be made before the rest is dropped.
    """
    name = sql.Identifier("keepstone", table)
    async with _explained(table), conn.transaction():
        await conn.execute(sql.SQL("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY").format(name))
        await conn.execute(call, {"table": _qualified(table), **given})


async def _delegate(conn: Connection) -> list[str]:
    """The functions of one account run on the machine on which it lies, also in the middle of a transaction."""
    done: list[str] = []
    for within, names in _WHERE_IT_LIES.items():
        functions = await fetch_column(
            conn,
            """
            SELECT p.oid::regprocedure::text FROM pg_proc p
             WHERE p.pronamespace = 'keepstone'::regnamespace AND p.proname = ANY (%(names)s)
               AND p.proargnames[1] = 'of_account'
               AND NOT EXISTS (SELECT 1 FROM pg_dist_object d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
                                                                AND d.distribution_argument_index IS NOT NULL)
             ORDER BY 1
            """,
            {"names": names},
        )
        for function in functions:
            async with _explained(function):
                await conn.execute(f"ALTER FUNCTION {function} RESET plan_cache_mode".encode())
                await conn.execute(
                    "SELECT create_distributed_function(%(function)s, 'of_account', colocate_with => %(beside)s,"
                    " force_delegation => %(within)s)",
                    {"function": function, "beside": _qualified(_FIRST), "within": within},
                )
        done += functions
    return done


@asynccontextmanager
async def _explained(what: str) -> AsyncGenerator[None]:
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as fault:
        raise Misconfigured(
            f"The database user may not distribute {what} ({fault.diag.message_primary}): let KEEPSTONE_DATABASE_URL "
            "name the owner of Keepstone's tables."
        ) from None
    except psycopg.errors.FeatureNotSupported as fault:
        raise Misconfigured(f"Citus refuses to distribute {what}: {fault.diag.message_primary}.") from None


def _qualified(table: str) -> str:
    return f"keepstone.{table}"
