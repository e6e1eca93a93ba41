"""Where a load test runs: a server of several processes on its own Postgres, on another one, or on a Citus cluster.

The last two are of the same programs with the same settings (`KEEPSTONE_CITUS`), so that they can be compared.
"""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from bench.citus import Cluster, distributed, undistributed
from bench.process import Keepstone
from keepstone.settings import Settings

Way = Literal["embedded", "postgres", "citus"]
WAYS: tuple[Way, ...] = ("embedded", "postgres", "citus")
DATABASE = "keepstone"
# One Postgres, and each machine of a cluster: small, as several of them share the processors of one machine.
TUNED = {"shared_buffers": "512MB", "max_wal_size": "4GB", "checkpoint_timeout": "15min", "random_page_cost": "1.1"}


@dataclass(frozen=True)
class Ground:
    """A running server, and how to look at each Postgres below it, past row-level security; the first takes what is
    copied.
    """

    keepstone: Keepstone
    settings: Settings
    machines: Sequence[str]
    postmasters: Sequence[Path]  # their files with the number of the process

    @property
    def owner(self) -> str:
        return self.machines[0]

    def readiness(self) -> Any:
        client = self.keepstone.client()
        try:
            return client.get("/readyz")
        finally:
            client.close()

    def rest(self, patience: float = 3600, every: float = 0.2) -> float:
        """Wait until it has nothing left to do. Returns the seconds that it took. To look costs it a little, too."""
        begun = time.monotonic()
        while not at_rest(self.readiness()):
            if time.monotonic() - begun > patience:
                raise RuntimeError(f"there is still work after {patience:.0f} s:\n{self.keepstone.complaints()}")
            time.sleep(every)
        return time.monotonic() - begun

    def processes(self) -> dict[str, list[psutil.Process]]:
        """Of Keepstone, and of Postgres; those that end meanwhile are left out."""
        found: dict[str, list[psutil.Process]] = {"keepstone": [], "postgres": []}
        heads = [psutil.Process(int(file.read_text().split("\n", 1)[0])) for file in self.postmasters]
        family = {process.pid: process for process in self.keepstone.family()}
        for head in heads:
            family |= {process.pid: process for process in [head, *head.children(recursive=True)]}
        for process in family.values():
            try:
                found["postgres" if process.name() == "postgres" else "keepstone"].append(process)
            except psutil.Error:
                continue
        return found


def at_rest(ready: Any) -> bool:
    jobs = ready["worker"]["details"]["jobs"]
    return ready["pending_embeddings"] == 0 and not jobs["todo"] and not jobs["doing"]


@contextmanager
def opened(way: Way, folder: Path, **settings: str) -> Generator[Ground]:
    """In this folder, which whoever made it removes again."""
    # One account is asked far more than others, as in life, but no plan limits it.
    environ = {"KEEPSTONE_EMBEDDINGS_PROVIDER": "builtin", **settings}
    home = folder / "home"
    if way == "embedded":
        keepstone = Keepstone(home, **environ)
        keepstone.start()
        try:
            keepstone.wait()
            password = (home / "postgres-password").read_text().strip()
            owner = make_conninfo(host=str(home / "postgres"), user="keepstone", password=password, dbname=DATABASE)
            postmaster = home / "postgres" / "data" / "postmaster.pid"
            yield Ground(keepstone, Settings(home=home, log_level="WARNING"), [owner], [postmaster])
        finally:
            keepstone.stop()
        return
    (folder / "cluster").mkdir(exist_ok=True)
    cluster = Cluster(folder / "cluster", workers=2 if way == "citus" else 0, settings=TUNED)
    try:
        url = (distributed if way == "citus" else undistributed)(cluster, DATABASE)
        keepstone = Keepstone(home, KEEPSTONE_DATABASE_URL=url, **environ)
        keepstone.start()
        try:
            keepstone.wait()
            yield Ground(
                keepstone,
                Settings(home=home, database_url=url, log_level="WARNING"),
                [make_conninfo(node.conninfo, dbname=DATABASE) for node in cluster.nodes],
                [node.data / "postmaster.pid" for node in cluster.nodes],
            )
        finally:
            keepstone.stop()
    finally:
        cluster.stop()


def ask(conninfo: str, query: str, *values: Any) -> list[Any]:
    """As a superuser, who sees every row."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("SET search_path = keepstone, public, extensions")
        conn.execute("SET keepstone.owner = 'on'")
        return conn.execute(query.encode(), values or None).fetchall()
