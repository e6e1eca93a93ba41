"""Two servers of the version before are replaced by this one, and then by itself, while clients write and read.

    python -m bench.rolling --from v0.1.0 --seconds 20
    KEEPSTONE_CITUS=/usr/lib/postgresql/18 python -m bench.rolling --citus

Two servers of that version, made from its source, work on one Postgres behind a load balancer that asks /readyz.
Clients write on nine surfaces through it and read each write back at once, from whichever server; nobody tries anything
again. Then this version migrates the database, and takes the place of one server after the other: taken out of the
balancer, stopped, started anew. At last each is restarted as it is: told to stop, and trusted to say so first. No
request may fail, and nothing that was acknowledged may be missing, at once or at the end.
"""

import argparse
import io
import json
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.balancer import Balancer
from bench.citus import Cluster, distributed
from bench.client import Client
from bench.loopback import Postgres
from bench.process import Keepstone
from bench.writes import SURFACES, Fault, Places, Write, missing, prepare, words

ROOT = Path(__file__).parent.parent
SERVERS = ("one", "two")
DRAIN_SECONDS = 2


@dataclass(slots=True)
class Tally:
    """`answered` has for each request when it was answered, how long that took, and in which phase."""

    answered: list[tuple[float, float, str]] = field(default_factory=list[tuple[float, float, str]])
    failed: list[str] = field(default_factory=list[str])
    acknowledged: list[Write] = field(default_factory=list[Write])
    stale: list[Write] = field(default_factory=list[Write])  # not seen right after it was acknowledged
    lost: set[Write] = field(default_factory=set[Write])
    phase: str = "before"
    seconds: dict[str, float] = field(default_factory=dict[str, float])  # that each phase took
    complaints: list[str] = field(default_factory=list[str])  # of servers, where a request failed

    @property
    def broken(self) -> bool:
        return bool(self.failed or self.stale or self.lost)

    @contextmanager
    def during(self, phase: str) -> Generator[None]:
        self.phase, begun = phase, time.monotonic()
        yield
        self.seconds[phase] = round(time.monotonic() - begun, 1)

    def report(self) -> dict[str, Any]:
        moments = sorted(moment for moment, _, _ in self.answered)
        took = {phase: [seconds for _, seconds, when in self.answered if when == phase] for phase in self.seconds}
        return {
            "requests": len(self.answered) + len(self.failed),
            "failed": len(self.failed),
            "faults": Counter(self.failed).most_common(10),
            "complaints": self.complaints,
            "acknowledged": len(self.acknowledged),
            "lost": len(self.lost),
            "stale": sorted(f"{write.surface} {write.word}" for write in self.stale)[:20],
            "longest_gap_ms": _ms(max((b - a for a, b in pairwise(moments)), default=0)),
            "phases": {
                phase: {"seconds": self.seconds[phase], "requests": len(each), **_quantiles(each)}
                for phase, each in took.items()
            },
        }


class Counting(Client):
    """A client that notes how each request went."""

    def __init__(self, url: str, headers: dict[str, str], tally: Tally) -> None:
        super().__init__(url, headers, patience=60)
        self._tally = tally

    def answer(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        begun, phase = time.monotonic(), self._tally.phase
        where = f"{phase}: {method} /{path.split('?', maxsplit=1)[0].split('/')[2]}"
        try:
            status, content = super().answer(method, path, body, headers)
        except Fault as fault:
            self._tally.failed.append(f"{where} {type(fault).__name__}")
            raise
        if status >= 400 and status != 404:
            self._tally.failed.append(f"{where} {status} {content[:200].decode(errors='replace')}")
        else:
            self._tally.answered.append((time.monotonic(), time.monotonic() - begun, phase))
        return status, content


def write(surface: str, client: Counting, places: Places, word: Callable[[], str], tally: Tally, end: Any) -> None:
    """One after the other until the end, each read back."""
    while not end.is_set():
        attempt = Write(surface, word())
        try:
            answer = SURFACES[surface].send(client, places, attempt)
            if answer.status != SURFACES[surface].acknowledged:
                continue
            known = Write(surface, attempt.word, SURFACES[surface].named(answer.json))
            tally.acknowledged.append(known)
            if not SURFACES[surface].kept(client, places, known):
                tally.stale.append(known)
        except (*Fault, RuntimeError):  # it is counted
            end.wait(0.05)
    client.close()


def run(*, since: str, seconds: float, processes: int, on_cluster: bool, tell: Callable[[str], None]) -> Tally:
    place = Path(tempfile.mkdtemp(prefix="keepstone-rolling-", dir="/tmp"))
    place.chmod(0o755)
    (place / "database").mkdir()
    database = Cluster(place / "database") if on_cluster else Postgres(place / "database")
    try:
        url = distributed(database) if isinstance(database, Cluster) else database.url
        old = source(since, place / "before")
        servers = {name: (place / name) for name in SERVERS}
        settings = {
            "KEEPSTONE_DATABASE_URL": url,
            "KEEPSTONE_PROCESSES": str(processes),
            "KEEPSTONE_JWT_SECRET": "of both servers, and of nobody else",
            "KEEPSTONE_DRAIN_SECONDS": str(DRAIN_SECONDS),
        }
        return _run(servers, settings, old, seconds, tell)
    finally:
        database.stop()
        shutil.rmtree(place, ignore_errors=True)


def _run(
    folders: dict[str, Path], settings: dict[str, str], old: Path, seconds: float, tell: Callable[[str], None]
) -> Tally:
    for folder in folders.values():
        folder.mkdir()
    before = {**settings, "PYTHONPATH": str(old)}
    running = {name: Keepstone(folder / "home", **before) for name, folder in folders.items()}
    new = {name: Keepstone(folder / "home", running[name].port, **settings) for name, folder in folders.items()}
    tally, end = Tally(), threading.Event()
    balancer = Balancer({name: keepstone.port for name, keepstone in running.items()})
    writers: list[threading.Thread] = []
    try:
        for name, keepstone in running.items():
            keepstone.start()
            balancer.wait_ready(name)
        auth = running[SERVERS[0]].auth
        client = Client(balancer.url, auth)
        places, word = prepare(client, "rolling"), words("rolling")
        for surface in SURFACES:
            counting = Counting(balancer.url, auth, tally)
            writers.append(
                threading.Thread(target=write, args=(surface, counting, places, word, tally, end), daemon=True)
            )
            writers[-1].start()
        with tally.during("before"):
            time.sleep(seconds)
        with tally.during("migrating"):
            tell(f"migrated: {new[SERVERS[0]].command('migrate', '--json')}")
        for name in SERVERS:
            with tally.during(f"replacing {name}"):
                balancer.take_out(name)
                running[name].stop()
                running[name] = new[name]
                running[name].start()
                balancer.put_in(name)
                balancer.wait_ready(name)
            tell(f"{name} is of this version")
            with tally.during("side by side" if name == SERVERS[0] else "replaced"):
                time.sleep(seconds)
        for name in SERVERS:
            with tally.during(f"restarting {name}"):
                running[name].stop()  # which it says by itself, for as long as it takes the balancer to hear it
                running[name].start()
                balancer.wait_ready(name)
            tell(f"{name} was restarted")
        with tally.during("after"):
            time.sleep(seconds)
        end.set()
        for writer in writers:
            writer.join()
        tell(f"{len(tally.acknowledged)} writes are looked for")
        tally.lost = missing(client, places, tally.acknowledged)
        client.close()
    finally:
        end.set()
        for writer in writers:
            writer.join()
        balancer.stop()
        for keepstone in running.values():
            keepstone.stop()
        if tally.failed:
            tally.complaints = [keepstone.complaints() for keepstone in running.values()]
    return tally


def source(reference: str, into: Path) -> Path:
    """The source of another version, which `PYTHONPATH` then names."""
    packed = subprocess.run(["git", "archive", reference, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(into, filter="data")
    return into / "src"


def last_release() -> str:
    """The commit of the newest of those that were kept."""
    kept = [json.loads(path.read_text()) for path in (ROOT / "tests" / "releases").glob("*.json")]
    return max(kept, key=lambda each: each["level"])["commit"]


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _quantiles(seconds: list[float]) -> dict[str, float]:
    if len(seconds) < 2:
        return {}
    parts = statistics.quantiles(seconds, n=100)
    return {"p50_ms": _ms(parts[49]), "p99_ms": _ms(parts[98]), "max_ms": _ms(max(seconds))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--from", dest="since", help="the version before, anything git knows; the last release, on a cluster HEAD"
    )
    parser.add_argument("--seconds", type=float, default=15, help="of each phase in which nothing is replaced")
    parser.add_argument("--processes", type=int, default=2, help="of each server")
    parser.add_argument("--citus", action="store_true", help="on a cluster, from the programs in KEEPSTONE_CITUS")
    options = parser.parse_args()
    since = options.since or ("HEAD" if options.citus else last_release())  # 0.1.0 knew of no clusters
    tally = run(
        since=since, seconds=options.seconds, processes=options.processes, on_cluster=options.citus,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )  # fmt: skip
    print(json.dumps(tally.report() | {"from": since}))
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
