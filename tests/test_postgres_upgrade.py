"""The embedded Postgres from one major version to the next: from the oldest that the wheel has to the one we run."""

import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

import prepared
import stocked
from conftest import HASHER, make_person
from keepstone.errors import Misconfigured, Unavailable
from keepstone.home import ensure_home
from keepstone.postgres import upgrade as module
from keepstone.postgres.cluster import OWNER, Cluster, data_folder, open_cluster
from keepstone.postgres.processes import hold, processes_in, signal_all
from keepstone.postgres.programs import MAJOR, programs_for
from keepstone.postgres.spawn import spawn, through_handle
from keepstone.postgres.supervisor import DATABASE, Supervisor
from keepstone.providers.embedder import Embedder
from keepstone.runtime import open_services
from keepstone.settings import Settings
from live import in_memory
from test_postgres import LINUX, ask, mode, new_home, until

OLD = 16

pytestmark = pytest.mark.skipif(not LINUX, reason="its folder is passed to the older Postgres by a handle")


@asynccontextmanager
async def older(home: Path) -> AsyncGenerator[str]:
    """The embedded Postgres as a Keepstone with the older one had it."""
    cluster = replace(made := open_cluster(home, upgrading=True), programs=programs_for(made.uid, OLD))
    handle = hold(cluster.folder)
    try:
        seen = through_handle(handle, cluster.folder)
        if not cluster.data.exists():
            initialise(cluster, seen, handle)
        process = spawn(cluster, cluster.command(f"{seen}/data"), handle)
        conninfo = make_conninfo(host=seen, user=OWNER, password=cluster.password, dbname="postgres")
        try:
            until(lambda: process.poll() is None and answers(conninfo))
            yield conninfo
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    finally:
        os.close(handle)


def initialise(cluster: Cluster, seen: str, handle: int) -> None:
    with os.fdopen(cluster.open(cluster.folder / "password", os.O_WRONLY), "w") as file:
        file.write(cluster.password)
    done = cluster.run(
        "initdb", "-D", f"{seen}/data", "--username", OWNER, "--pwfile", f"{seen}/password", "--auth", "scram-sha-256",
        "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-instructions", handle=handle,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (cluster.folder / "password").unlink()
    with (cluster.data / "postgresql.conf").open("a") as conf:
        conf.write("max_connections = 33\nwork_mem = '5MB'  # by hand\nold_snapshot_threshold = 10\n")


def answers(conninfo: str) -> bool:
    try:
        psycopg.connect(conninfo).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.fixture(scope="module")
async def old_home(models: tuple[Embedder, ...]) -> AsyncGenerator[tuple[Path, stocked.Stock, Any]]:
    """A home of an older Postgres with something of everything, vectors included, and what is found in it."""
    with new_home(in_memory() or "/tmp") as home:
        ensure_home(home)
        async with older(home) as conninfo:
            async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
                await conn.execute(f"CREATE DATABASE {DATABASE}")
            settings = Settings(home=home, database_pool=4)
            async with open_services(settings, make_conninfo(conninfo, dbname=DATABASE), HASHER) as services:
                services.embedders.active = models
                kept = await stocked.stock(services, await make_person(services, "olga@example.org"))
                found = await stocked.found(services, kept)
                services.embedders.active = ()
        yield home, kept, found


@pytest.fixture
def own_home(old_home: tuple[Path, stocked.Stock, Any]) -> Iterator[Path]:
    """A copy, for one test."""
    until(lambda: not processes_in(data_folder(old_home[0])))
    with new_home(in_memory() or "/tmp") as copy:
        subprocess.run(["cp", "-a", old_home[0], copy], check=True)
        yield copy
        for name in ("data.new", "data.upgraded"):
            signal_all(processes_in(copy / "postgres" / name), signal.SIGKILL)


def folders(home: Path) -> set[str]:
    return {path.name for path in (home / "postgres").iterdir() if path.name.startswith("data")}


@asynccontextmanager
async def upgraded(home: Path) -> AsyncGenerator[Supervisor]:
    supervisor = Supervisor(open_cluster(home, upgrading=True))
    try:
        await supervisor.start()
        yield supervisor
    finally:
        await supervisor.stop()
        supervisor.close()


async def test_the_server_finds_all_of_it_as_before_and_keeps_a_copy(
    old_home: tuple[Path, stocked.Stock, Any], own_home: Path, models: tuple[Embedder, ...]
) -> None:
    _, kept, before = old_home
    async with upgraded(own_home) as supervisor:
        assert (await ask(supervisor.conninfo, "SHOW server_version")).startswith(f"{MAJOR}.")
        assert await ask(supervisor.conninfo, "SHOW max_connections") == "33", "what the operator has set"
        assert await ask(supervisor.conninfo, "SHOW work_mem") == "5MB"
        async with stocked.services_on(own_home, supervisor.conninfo, models) as services:
            assert await stocked.found(services, kept) == before
    assert folders(own_home) == {"data", f"data.{OLD}"}
    assert (data_folder(own_home) / "PG_VERSION").read_text() == f"{MAJOR}\n"
    assert {mode(own_home / "postgres" / name) for name in folders(own_home)} == {0o700}
    told = prepared.run("doctor", environ={"KEEPSTONE_HOME": str(own_home)}).stdout
    assert f"data.{OLD}, from before Postgres was upgraded" in told

    # Somebody goes back, and comes again.
    data_folder(own_home).rename(own_home / "elsewhere")
    with pytest.raises(Misconfigured, match=f"is missing, and data.{OLD} beside it"):
        async with upgraded(own_home):
            pass
    (own_home / "postgres" / f"data.{OLD}").rename(data_folder(own_home))
    async with older(own_home) as conninfo:
        assert await ask(make_conninfo(conninfo, dbname=DATABASE), "SELECT count(*) FROM keepstone.users") == 1
    environ = {"KEEPSTONE_HOME": str(own_home)}
    refused = prepared.run("users", "list", environ=environ)
    assert refused.returncode == 1
    assert "keepstone upgrade-postgres" in refused.stderr
    done = prepared.run("upgrade-postgres", environ=environ)
    assert f"of Postgres {MAJOR} now; that of {OLD} is in" in done.stdout, done.stderr
    done = prepared.run("upgrade-postgres", "--remove-copy", environ=environ)
    assert done.stdout == f"{own_home}/postgres/data.{OLD} is removed.\n", done.stderr
    assert folders(own_home) == {"data"}


class Killed(BaseException):
    """Stands for `kill -9`: nothing of ours runs after it."""


async def fails(home: Path, error: type[BaseException], match: str | None = None) -> None:
    with pytest.raises(error, match=match):
        async with upgraded(home):
            pass


async def test_whatever_stops_it_the_old_data_is_there_until_the_new_is(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with older(own_home) as conninfo:
        async with await psycopg.AsyncConnection.connect(make_conninfo(conninfo, dbname=DATABASE)) as conn:
            await conn.execute("CREATE TABLE late (n int)")
            await conn.execute("INSERT INTO late SELECT generate_series(1, 7)")
        signal_all(processes_in(data_folder(own_home)), signal.SIGKILL)  # it has to recover first
    counts = module._counts  # pyright: ignore[reportPrivateUsage]
    renames = 0

    def fewer(conn: psycopg.Connection) -> dict[str, int | None]:
        return counts(conn) | ({"public.late": 6} if conn.info.server_version >= MAJOR * 10_000 else {})

    def die_after(number: int) -> Callable[[Path], None]:
        def sync(_: Path) -> None:
            nonlocal renames
            renames += 1
            if renames == number:
                raise Killed

        return sync

    with monkeypatch.context() as patched:
        patched.setattr(module, "free_and_total", lambda _: (1024, 1024))
        await fails(own_home, Misconfigured, r"which takes 0\.. GiB; 0\.0 are free")
        assert folders(own_home) == {"data"}
    with monkeypatch.context() as patched:
        patched.setattr(module, "_counts", fewer)
        await fails(own_home, Unavailable, r"does not have all .*public\.late")
        assert folders(own_home) == {"data", "data.new"}
    with monkeypatch.context() as patched:
        patched.setattr(module, "_sync", die_after(1))
        await fails(own_home, Killed)
        assert folders(own_home) == {"data", "data.upgraded"}
        assert (data_folder(own_home) / "PG_VERSION").read_text() == f"{OLD}\n"
    with monkeypatch.context() as patched:
        renames = 0
        patched.setattr(module, "_sync", die_after(2))
        await fails(own_home, Killed)
        assert folders(own_home) == {f"data.{OLD}", "data.upgraded"}
    async with upgraded(own_home) as supervisor:
        assert await ask(supervisor.conninfo, "SELECT count(*) FROM late") == 7
    assert folders(own_home) == {"data", f"data.{OLD}"}


def test_without_the_older_programs_the_error_says_what_to_do(tmp_path: Path) -> None:
    ensure_home(tmp_path / "home")
    data_folder(tmp_path / "home").mkdir(parents=True)
    (data_folder(tmp_path / "home") / "PG_VERSION").write_text("15\n")
    with pytest.raises(Misconfigured, match=r"made by Postgres 15, .*`keepstone backup`.*`keepstone restore`"):
        open_cluster(tmp_path / "home", upgrading=True)
