"""The data folder of the embedded Postgres: who owns it, how it is made and how it is configured."""

import errno
import os
import pwd
import shutil
import signal
import subprocess
import sys
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from keepstone.errors import Misconfigured
from keepstone.home import running_as_root, secret
from keepstone.postgres.processes import die_with_parent
from keepstone.postgres.programs import (
    LOOKING_UP_USERS,
    MAJOR,
    Programs,
    has_programs,
    programs_for,
    programs_without_passwd,
    scratch_folder,
)

OWNER = "keepstone"
UNFINISHED = "data.new"  # until a data folder is whole
_FIRST_FREE_UID = 58420

# Written once into postgresql.conf, for the operator to change: sized for a small machine, durable.
_TUNING = """
# Keepstone's defaults; yours to change. What is safe to change is in docs/operations.md.
shared_buffers = 64MB
max_connections = 60
io_method = sync
wal_level = minimal
max_wal_senders = 0
max_logical_replication_workers = 0
jit = off
random_page_cost = 1.1
"""

# Given on the command line, so that no edit of the file can undo them. Errors of single statements are left out of
# the log: their text can hold what a person wrote. Keepstone logs their SQLSTATE.
_FIXED = {
    "listen_addresses": "",
    "unix_socket_directories": "..",
    "unix_socket_permissions": "0700",
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "logging_collector": "off",
    "log_checkpoints": "off",
    "log_timezone": "UTC",
    "timezone": "UTC",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """`folder` holds the data, the socket and the log. `uid` is who runs it; None is the user that we are."""

    folder: Path
    uid: int | None
    programs: Programs
    password: str

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def socket(self) -> Path:
        return self.folder / ".s.PGSQL.5432"

    def open(self, path: Path, flags: int) -> int:
        """Open or make a private file of the folder, for who runs Postgres. Their links lead root nowhere."""
        try:
            handle = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as fault:
            if fault.errno != errno.ELOOP:
                raise
            raise Misconfigured(f"{path} is a link, and has to be a file: remove the link.") from None
        if self.uid is not None:
            os.fchown(handle, self.uid, self.uid)
        return handle

    @property
    def major(self) -> int | None:
        """The version of Postgres that made the data; None where there is none."""
        try:
            return int((self.data / "PG_VERSION").read_text())
        except FileNotFoundError:
            return None

    @property
    def is_older(self) -> bool:
        return (self.major or MAJOR) < MAJOR

    def command(self, seen_data: str, **settings: str) -> list[str]:
        options = [word for name, value in {**_FIXED, **settings}.items() for word in ("-c", f"{name}={value}")]
        return [self.programs.path("postgres"), "-D", seen_data, *options]

    def run(self, program: str, *arguments: str, handle: int) -> subprocess.CompletedProcess[str]:
        """One of the programs to its end, as who runs Postgres. It ends with us, and it inherits `handle`: if we are
        killed, that shows the next process when this one is done.
        """
        with self._programs_that_run(program) as programs, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # preexec_fn makes one system call and no more
            return subprocess.run(  # noqa: S603
                [programs.path(program), *arguments],
                capture_output=True, text=True, check=False, cwd=self.folder, pass_fds=(handle,),
                env={
                    "PATH": "/usr/bin:/bin", "LC_ALL": "C", "LD_LIBRARY_PATH": str(programs.libraries),
                    "PGPASSWORD": self.password,
                },
                user=self.uid, group=self.uid, extra_groups=None if self.uid is None else [],
                preexec_fn=die_with_parent(signal.SIGTERM) if sys.platform == "linux" else None,
            )  # fmt: skip

    def _programs_that_run(self, program: str) -> AbstractContextManager[Programs]:
        if _has_passwd_entry(self.uid) or program not in LOOKING_UP_USERS:
            return nullcontext(self.programs)
        return programs_without_passwd(self.programs, scratch_folder(self.uid, self.folder))


def data_folder(home: Path) -> Path:
    return home / "postgres" / "data"


def open_cluster(home: Path, *, upgrading: bool = False) -> Cluster:
    """The cluster of this home, with its folder in order; its data may not be there yet. With `upgrading` it may be of
    an older Postgres, if we have the programs for that.
    """
    folder = home / "postgres"
    uid = _runner(home, folder)
    folder.mkdir(mode=0o700, exist_ok=True)
    if uid is not None:
        os.chown(folder, uid, uid)
    if folder.stat().st_mode & 0o777 != 0o700:
        folder.chmod(0o700)
    cluster = Cluster(folder, uid, programs_for(uid), secret(home, "postgres-password"))
    _check_version(cluster, upgrading=upgrading)
    return cluster


def create_data(cluster: Cluster, seen_folder: str, handle: int) -> None:
    """Run initdb, into a folder that gets its real name only when it is whole. Does nothing when there is one."""
    if not cluster.data.exists():
        fill_folder(cluster, seen_folder, handle).rename(cluster.data)


def fill_folder(cluster: Cluster, seen_folder: str, handle: int, *options: str) -> Path:
    """An empty database in a folder beside the data."""
    unfinished = cluster.folder / UNFINISHED
    shutil.rmtree(unfinished, ignore_errors=True)
    password_file = cluster.folder / "initdb-password"
    password_file.unlink(missing_ok=True)
    with os.fdopen(cluster.open(password_file, os.O_WRONLY | os.O_EXCL), "w") as file:
        file.write(cluster.password)
    try:
        done = cluster.run(
            "initdb", "-D", f"{seen_folder}/{UNFINISHED}", "--username", OWNER,
            "--pwfile", f"{seen_folder}/initdb-password", "--auth", "scram-sha-256", "--encoding", "UTF8",
            "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C",
            "--no-instructions", *options, handle=handle,
        )  # fmt: skip
    finally:
        password_file.unlink()
    if done.returncode != 0:
        raise Misconfigured(f"The database folder could not be made in {cluster.folder}: {done.stderr.strip()}")
    with (unfinished / "postgresql.conf").open("a") as conf:
        conf.write(_TUNING)
    return unfinished


def _runner(home: Path, folder: Path) -> int | None:
    """Postgres refuses to be root: root's runs as the folder's owner, else as a uid that nobody has."""
    if not running_as_root():
        if folder.exists() and folder.stat().st_uid != os.geteuid():
            raise Misconfigured(f"{folder} belongs to uid {folder.stat().st_uid}: run Keepstone as that user.")
        return None
    for path in (folder, home):
        if path.exists() and path.stat().st_uid != 0:
            return path.stat().st_uid
    uid = _FIRST_FREE_UID
    while _has_passwd_entry(uid):
        uid += 1
    return uid


def _has_passwd_entry(uid: int | None) -> bool:
    try:
        pwd.getpwuid(os.geteuid() if uid is None else uid)
    except KeyError:
        return False
    return True


def _check_version(cluster: Cluster, *, upgrading: bool) -> None:
    version = cluster.major
    if version in {None, MAJOR}:
        return
    told = f"{cluster.data} was made by Postgres {version}, and this Keepstone brings Postgres {MAJOR}."
    if version is None or version > MAJOR or has_programs(version) is None:
        raise Misconfigured(
            f"{told} Back it up with the Keepstone that made it (`keepstone backup`) and restore that here, into "
            "another KEEPSTONE_HOME (`keepstone restore`); docs/operations.md says how."
        )
    if not upgrading:
        raise Misconfigured(
            f"{told} Bring it over with `keepstone upgrade-postgres`, or start the server, which does it first."
        )
