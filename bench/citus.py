"""A Citus cluster to try things on: a coordinator and two workers on loopback, from programs that somebody installed.

`KEEPSTONE_CITUS` names the folder in which `bin/postgres` is, of a Postgres that has the extensions citus and vector.
Citus is no part of Keepstone: whoever wants to try it installs it, and `make test-citus` finds it.
"""

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

PROGRAMS = os.environ.get("KEEPSTONE_CITUS", "")
OWNER = "keepstone_owner"
SUPERUSER = "postgres"
COORDINATOR = "coordinator"
_OWNER = sql.Identifier(OWNER)
_START_SECONDS = 30


# A statement that is not of one account alone is a line in the log of the machine that plans it.
TELLING = {
    "citus.multi_task_query_log_level": "warning",
    "log_min_error_statement": "warning",
    "log_line_prefix": "[%p] %u ",
}
_TOLD = re.compile(
    r"^\[(\d+)\] keepstone_(?:app|worker) (WARNING|CONTEXT|STATEMENT):  (.*(?:\n(?!\[).*)*)", re.MULTILINE
)


def _process() -> dict[str, Any]:
    """Postgres refuses to be root. Citus finds the libpq that it was built with."""
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
    return {"env": os.environ | {"LD_LIBRARY_PATH": f"{PROGRAMS}/lib"}, **user}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Node:
    """One Postgres of the cluster. Nothing on it has to survive a power cut, but `kill` and `start` it does."""

    def __init__(self, name: str, home: Path, settings: dict[str, str]) -> None:
        self.name, self.port = name, _free_port()
        self.data = home / name
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        self._run("initdb", f"--pgdata={self.data}", *options)
        # Clients show the coordinator a password. The nodes trust each other, as in a network of their own; to move an
        # account the coordinator connects to itself, too, as the owner of the tables.
        lines = ["all postgres 127.0.0.1/32 trust"]
        if name == COORDINATOR:
            lines += [f"all {OWNER} 127.0.0.1/32 trust", "all all 127.0.0.1/32 scram-sha-256"]
        else:
            lines.append("all all 127.0.0.1/32 trust")
        (self.data / "pg_hba.conf").write_text("".join(f"host {line}\n" for line in lines))

    @property
    def conninfo(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres"

    def start(self) -> None:
        settings = {
            "shared_preload_libraries": "citus",
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "400",
            "max_prepared_transactions": "400",
            "max_worker_processes": "64",
            "wal_level": "logical",
            "shared_buffers": "128MB",
            "citus.node_conninfo": "sslmode=disable",
            **self._settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.data / "log").open("ab") as log:
            command = [f"{PROGRAMS}/bin/postgres", "-D", str(self.data), *options]
            process: subprocess.Popen[bytes] = subprocess.Popen(command, stdout=log, stderr=log, **_process())  # pyright: ignore[reportAssignmentType]
        self._process = process
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                psycopg.connect(self.conninfo, connect_timeout=2).close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise RuntimeError(
                        f"{self.name} did not start: {(self.data / 'log').read_text()[-2000:]}"
                    ) from None
                time.sleep(0.05)
            else:
                return

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """As a machine that is switched off."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        self.kill(signal.SIGINT)

    def execute(self, query: Any, database: str = "postgres") -> list[Any]:
        with psycopg.connect(make_conninfo(self.conninfo, dbname=database), autocommit=True) as conn:
            cursor = conn.execute(query)
            return cursor.fetchall() if cursor.description else []

    def when_left(self, database: str, query: Any) -> None:
        """What Citus runs in a database in the background comes back by itself: once it is ended, there is a moment."""
        leave = sql.SQL("SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE datname = {}").format(
            sql.Literal(database)
        )
        deadline = time.monotonic() + _START_SECONDS
        while True:
            self.execute(leave)
            try:
                self.execute(query)
            except psycopg.errors.ObjectInUse:
                if time.monotonic() > deadline:
                    raise
            else:
                return

    def clone(self, name: str, template: str) -> None:
        query = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(
            sql.Identifier(name), sql.Identifier(template)
        )
        self.when_left(template, query)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run([f"{PROGRAMS}/bin/{program}", *arguments], check=True, stdout=subprocess.DEVNULL, **_process())


class Cluster:
    """A coordinator, which holds no shards, and two workers. A database of the cluster is one on each of them."""

    def __init__(self, home: Path, *, workers: int = 2, settings: Mapping[str, str] | None = None) -> None:
        """In an empty folder, which whoever made it removes again."""
        self.home = home
        if os.getuid() == 0:
            os.chown(self.home, 65534, 65534)
        self.password = secrets.token_hex(16)
        self._dropping, self._drops = ThreadPoolExecutor(workers + 1), list[Future[None]]()
        names = (COORDINATOR, *(f"worker{number}" for number in range(1, workers + 1)))
        self.nodes = [Node(name, self.home, dict(settings or {})) for name in names]
        try:
            for node in self.nodes:
                node.start()
        except BaseException:
            self.stop()
            raise

    @property
    def coordinator(self) -> Node:
        return self.nodes[0]

    @property
    def workers(self) -> list[Node]:
        return self.nodes[1:]

    def conninfo(self, database: str, user: str = OWNER) -> str:
        """How the owner of that database connects: nobody special, as on a hosted cluster. Or somebody else; the
        passwords of the server's roles follow from this one.
        """
        return make_conninfo(
            host="127.0.0.1", port=self.coordinator.port, dbname=database, user=user, password=self.password
        )

    def create(self, name: str) -> str:
        """An empty database on every node, which the coordinator knows as one."""
        for node in self.nodes:
            node.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            node.execute("CREATE EXTENSION citus", name)
        said = self.coordinator.execute
        said(f"SELECT citus_set_coordinator_host('127.0.0.1', {self.coordinator.port})", name)
        for worker in self.workers:
            said(f"SELECT citus_add_node('127.0.0.1', {worker.port})", name)
        return self.prepare(name)

    def prepare(self, name: str) -> str:
        """What an operator does in an empty database; after the nodes, so that these are told whom it makes."""
        said = self.coordinator.execute
        said("CREATE EXTENSION vector", name)
        # After the nodes: the coordinator then tells them whom it makes. Roles are those of all databases; of those
        # that another one has made, a superuser has to tell the nodes.
        known = said(sql.SQL("SELECT rolname FROM pg_roles WHERE rolname LIKE 'keepstone\\_%'"), name)
        if known:
            roles = sql.SQL(", ").join(sql.Identifier(role) for (role,) in known)
            said("CREATE TABLE told (account int)", name)
            said(sql.SQL("GRANT SELECT ON told TO {}").format(roles), name)
            said("SELECT create_reference_table('told')", name)
            said("DROP TABLE told", name)
        else:
            said(
                sql.SQL("CREATE ROLE {} LOGIN CREATEROLE PASSWORD {}").format(_OWNER, sql.Literal(self.password)), name
            )
        self._let_create(name)
        return self.conninfo(name)

    def clone(self, name: str, template: str) -> str:
        """The same with all that is in another, which nobody uses at the moment."""
        with ThreadPoolExecutor(len(self.nodes)) as each:
            for clone in [each.submit(node.clone, name, template) for node in self.nodes]:
                clone.result()
        self._let_create(name)
        return self.conninfo(name)

    def _let_create(self, name: str) -> None:
        query = sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(sql.Identifier(name), _OWNER)
        self.coordinator.execute(query, name)

    def drop(self, name: str) -> None:
        """In its own time: what Citus runs in a database in the background takes a second to leave."""
        query = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        self._drops += [self._dropping.submit(node.when_left, name, query) for node in self.nodes]

    def fanned_out(self) -> Counter[str]:
        """What the server's roles asked of several shards at once, since the start: statements, or the functions that
        did so. For nodes that were started with the settings `TELLING`.
        """
        return Counter(told for node in self.nodes for told in _fanned_out((node.data / "log").read_text()))

    def stop(self) -> None:
        self._dropping.shutdown()
        for node in self.nodes:
            node.stop()
        for drop in self._drops:
            drop.result()


def _fanned_out(log: str) -> Iterator[str]:
    """The parts of what is told follow each other, and others tell something in between."""
    within: dict[str, str | None] = {}  # by process: the function that asked, once it is known
    for process, kind, text in _TOLD.findall(log):
        if kind == "WARNING":
            if text.startswith("multi-task query"):
                within[process] = None
            else:
                within.pop(process, None)
        elif process in within and kind == "CONTEXT":
            asked = re.findall(r'function "?(?:keepstone\.)?(\w+)', text)
            within[process] = asked[-1] if asked else None
        elif process in within and kind == "STATEMENT":
            yield within.pop(process) or " ".join(text.split())


def distributed(cluster: Cluster, name: str = "keepstone") -> str:
    """A database of the cluster in which Keepstone's tables are distributed, as an operator makes it."""
    url = _url(cluster.create(name))
    subprocess.run(
        [sys.executable, "-m", "keepstone", "distribute", "--json"],
        env={**os.environ, "KEEPSTONE_DATABASE_URL": url}, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return url


def undistributed(cluster: Cluster, name: str = "keepstone") -> str:
    """A database on the first machine alone, as on any Postgres: to compare with."""
    cluster.coordinator.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return _url(cluster.prepare(name))


def _url(conninfo: str) -> str:
    given = conninfo_to_dict(conninfo)
    return f"postgresql://{given['user']}:{given['password']}@{given['host']}:{given['port']}/{given['dbname']}"
