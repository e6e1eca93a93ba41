"""From one major version of Postgres to the next: pg_upgrade copies the data, and the old folder stays as it is.

Whoever holds the lock does this, with no server running. What is made lies beside the data until it was opened and has
all that the old has; then folders are renamed. Killed anywhere, the next start finds the old data, or the new where
nothing was left to do but a name.
"""

import logging
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from keepstone.disk import free_and_total
from keepstone.errors import Misconfigured, Unavailable
from keepstone.postgres.cluster import OWNER, UNFINISHED, Cluster, fill_folder
from keepstone.postgres.programs import MAJOR, programs_for
from keepstone.postgres.spawn import LONGEST_SOCKET_PATH, spawn

log = logging.getLogger(__name__)

_WHOLE = "data.upgraded"
_START_SECONDS = 600  # of a server that may have to recover first
_STOP_SECONDS = 600
_SPARE = 256 * 1024**2
_SETTING = re.compile(r"^\s*+(\w[\w.]*+)\s*+=?\s*+('(?:[^']|'')*+'|[^#\s]++)")

Counts = dict[tuple[str, str], int | None]


def find_data(cluster: Cluster) -> None:
    """After one that was killed between two renames."""
    whole = cluster.folder / _WHOLE
    if whole.exists():
        if cluster.data.exists():
            shutil.rmtree(whole)  # the old one may have been used since
        else:
            whole.rename(cluster.data)
            _sync(cluster.folder)
    kept = kept_data(cluster.folder)
    if kept and not cluster.data.exists():
        raise Misconfigured(
            f"{cluster.data} is missing, and {kept[0].name} beside it is what a Postgres before had: move it to its "
            "place, if it is to be used."
        )


def kept_data(folder: Path) -> list[Path]:
    """What older versions of Postgres had, as it was when it was left."""
    return sorted(path for path in folder.glob("data.*") if path.suffix[1:].isdigit())


def remove_kept(cluster: Cluster) -> list[Path]:
    kept = kept_data(cluster.folder)
    for path in kept:
        shutil.rmtree(path)
    return kept


def upgrade(cluster: Cluster, seen_folder: str, handle: int) -> None:
    """With the lock in hand, and nobody at work in the folder."""
    major = cluster.major
    if major is None:
        return
    kept = cluster.folder / f"data.{major}"
    if kept.exists():
        raise Misconfigured(f"{kept} is in the way, from an upgrade before: move it elsewhere, or remove it.")
    _require_room(cluster)
    old = replace(cluster, programs=programs_for(cluster.uid, major))
    log.info("postgres data is being upgraded", extra={"from": major, "to": MAJOR})
    begun = time.monotonic()
    before = _counted(old, "data", seen_folder, handle)  # and it is shut down as it should be
    checksums = "--data-checksums" if _has_checksums(old, seen_folder, handle) else "--no-data-checksums"
    new = fill_folder(cluster, seen_folder, handle, checksums)
    done = cluster.run(
        "pg_upgrade", "-b", str(old.programs.root / "bin"), "-B", str(cluster.programs.root / "bin"),
        "-d", f"{seen_folder}/data", "-D", f"{seen_folder}/{UNFINISHED}", "-s", f"{seen_folder}/{UNFINISHED}",
        "-U", OWNER, handle=handle,
    )  # fmt: skip
    (cluster.folder / "delete_old_cluster.sh").unlink(missing_ok=True)
    if done.returncode != 0:
        told = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise Unavailable(
            f"pg_upgrade could not bring {cluster.data} from Postgres {major} to {MAJOR}; it is as it was. Its logs "
            f"are in {new}/pg_upgrade_output.d. The end of what it said:\n{told}"
        )
    _take_over_settings(cluster, new, handle)
    after = _counted(cluster, UNFINISHED, seen_folder, handle, renew=True)
    if before != after:
        differ = sorted(one[1] for one in before.keys() | after.keys() if before.get(one) != after.get(one))
        raise Unavailable(
            f"Postgres {MAJOR} does not have all that {cluster.data} has ({', '.join(differ[:5])}), so nothing was "
            "changed. Please report this."
        )
    _put_in_place(cluster, new, kept)
    log.info(
        "postgres data was upgraded",
        extra={"from": major, "to": MAJOR, "kept": str(kept), "seconds": round(time.monotonic() - begun, 1)},
    )


def _put_in_place(cluster: Cluster, new: Path, kept: Path) -> None:
    """Each name is on the disk before the next is given."""
    for path, name in ((new, cluster.folder / _WHOLE), (cluster.data, kept), (cluster.folder / _WHOLE, cluster.data)):
        path.rename(name)
        _sync(cluster.folder)


def _require_room(cluster: Cluster) -> None:
    needed = sum(path.lstat().st_size for path in cluster.data.rglob("*")) + _SPARE
    free, _ = free_and_total(cluster.folder)
    if free < needed:
        raise Misconfigured(
            f"To bring {cluster.data} to Postgres {MAJOR} it is copied, which takes {needed / 1024**3:.1f} GiB; "
            f"{free / 1024**3:.1f} are free. Make room, or back up with the Keepstone before (`keepstone backup`) and "
            "restore with this one where there is room."
        )


def _has_checksums(old: Cluster, seen_folder: str, handle: int) -> bool:
    told = old.run("pg_controldata", f"{seen_folder}/data", handle=handle)
    found = re.search(r"^Data page checksum version:\s*(\d+)", told.stdout, re.MULTILINE)
    if found is None:
        raise Unavailable(f"{old.data} can't be read: {told.stderr.strip()}")
    return found[1] != "0"


def _take_over_settings(cluster: Cluster, new: Path, handle: int) -> None:
    """What the operator has set, and who may connect. A setting that is no more is left behind."""
    described = cluster.run("postgres", "--describe-config", handle=handle).stdout
    known = {line.split("\t", 1)[0] for line in described.splitlines()}
    theirs = _settings(cluster.data / "postgresql.conf") | _settings(cluster.data / "postgresql.auto.conf")
    ours = _settings(new / "postgresql.conf")
    changed = {name: value for name, value in theirs.items() if name in known and ours.get(name) != value}
    with (new / "postgresql.conf").open("a") as conf:
        conf.write(f"\n# From postgresql.conf of Postgres {cluster.major}.\n")
        conf.writelines(f"{name} = {value}\n" for name, value in changed.items())
    for name in ("pg_hba.conf", "pg_ident.conf"):
        (new / name).write_bytes((cluster.data / name).read_bytes())


def _settings(conf: Path) -> dict[str, str]:
    """The last line counts."""
    try:
        lines = conf.read_text().splitlines()
    except FileNotFoundError:
        return {}
    found = (_SETTING.match(line) for line in lines)
    return {match[1].lower(): match[2] for match in found if match and match[1].lower() != "include"}


def _counted(cluster: Cluster, name: str, seen_folder: str, handle: int, *, renew: bool = False) -> Counts:
    """The rows of every table and the last number of every sequence, of a server that is started for it."""
    with _serving_apart(cluster, name, seen_folder, handle) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            named = conn.execute("SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate")
            databases = [name for (name,) in named]
        counts: Counts = {}
        for database in databases:
            with psycopg.connect(make_conninfo(conninfo, dbname=database), autocommit=True) as conn:
                if renew:
                    _renew_extensions(conn)
                counts |= {(database, table): number for table, number in _counts(conn).items()}
        return counts


def _counts(conn: psycopg.Connection) -> dict[str, int | None]:
    counts: dict[str, int | None] = {}
    tables = conn.execute(
        """
        SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('r', 'm') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' ORDER BY 1, 2
        """
    ).fetchall()
    for schema, table in tables:
        query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, table))
        counts[f"{schema}.{table}"] = (conn.execute(query).fetchone() or (None,))[0]
    counts.update(conn.execute("SELECT schemaname || '.' || sequencename, last_value FROM pg_sequences").fetchall())
    return counts


def _renew_extensions(conn: psycopg.Connection) -> None:
    older = conn.execute("SELECT name FROM pg_available_extensions WHERE installed_version <> default_version")
    for (name,) in older.fetchall():
        conn.execute(sql.SQL("ALTER EXTENSION {} UPDATE").format(sql.Identifier(name)))


@contextmanager
def _serving_apart(cluster: Cluster, name: str, seen_folder: str, handle: int) -> Generator[str]:
    """A server that nobody else finds: its socket is in the data folder."""
    process = spawn(cluster, cluster.command(f"{seen_folder}/{name}", unix_socket_directories="."), handle)
    folder = cluster.folder / name
    if len(os.fsencode(folder / ".s.PGSQL.5432")) > LONGEST_SOCKET_PATH:
        folder = Path(f"{seen_folder}/{name}")
    conninfo = make_conninfo(host=str(folder), user=OWNER, password=cluster.password, dbname="postgres")
    try:
        _await_answer(cluster, process, conninfo)
        yield conninfo
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Unavailable(f"A Postgres in {folder} did not stop; see {cluster.log}.") from None


def _await_answer(cluster: Cluster, process: subprocess.Popen[bytes], conninfo: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            psycopg.connect(conninfo, connect_timeout=5).close()
        except psycopg.OperationalError as fault:
            if process.poll() is not None or time.monotonic() > deadline or "authentication" in str(fault):
                tail = "\n".join(cluster.log.read_text(errors="replace").splitlines()[-5:])
                raise Unavailable(
                    f"Postgres did not start to be upgraded; {cluster.data} is as it was. The end of {cluster.log}:\n"
                    f"{tail}"
                ) from None
            time.sleep(0.05)
        else:
            return


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
