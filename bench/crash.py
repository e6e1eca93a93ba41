"""Kill -9 at random moments, and see whether anything that was acknowledged is lost.

    python -m bench.crash --rounds 1000 --seed 1
    KEEPSTONE_CITUS=/usr/lib/postgresql/18 python -m bench.crash --rounds 200 --citus

A real `keepstone serve` of several processes takes writes on nine surfaces at once. Each round kills its first process,
another of them, its Postgres, or everything at once; brings Keepstone back if its first process was killed, waits until
it is ready, and reads every write that was acknowledged word for word. What was not answered may be there or not, but
not a part of it. At the end all writes of all rounds are read once more. A round takes about as long as the server
takes to start.

With `--citus` the database is a cluster of a coordinator and two workers, one of which is killed instead of Postgres
and comes back up to a second later.
"""

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.citus import Cluster, distributed
from bench.process import Keepstone
from bench.writes import SURFACES, Answer, Fault, Places, Write, halves, missing, prepare, words

VICTIMS = ("keepstone", "further", "postgres", "both")
OF_A_CLUSTER = ("keepstone", "further", "worker", "coordinator")
LONGEST_ROUND = 0.6  # seconds of writing before the kill
LONGEST_ABSENCE = 1.0  # of a machine of a cluster


@dataclass(slots=True)
class Tally:
    """`unseen` and `unanswered` are those since the last look."""

    acknowledged: list[Write] = field(default_factory=list[Write])
    unseen: list[Write] = field(default_factory=list[Write])
    unanswered: list[Write] = field(default_factory=list[Write])
    lost: set[Write] = field(default_factory=set[Write])
    halved: set[Write] = field(default_factory=set[Write])
    statuses: Counter[int] = field(default_factory=Counter[int])
    faults: list[str] = field(default_factory=list[str])  # answers that no kill explains
    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list[float]))
    rounds: list[float] = field(default_factory=list[float])

    def take(self, write: Write, answer: Answer) -> None:
        surface = SURFACES[write.surface]
        self.statuses[answer.status] += 1
        if answer.status == surface.acknowledged:
            known = Write(write.surface, write.word, surface.named(answer.json))
            self.acknowledged.append(known)
            self.unseen.append(known)
            return
        self.unanswered.append(write)
        if answer.status != 503:
            self.faults.append(f"{write.surface}: {answer.status} {answer.body[:300].decode(errors='replace')}")

    @property
    def broken(self) -> bool:
        return bool(self.lost or self.halved or self.faults)

    def report(self) -> dict[str, object]:
        return {
            "rounds": len(self.rounds),
            "kills": {victim: len(seconds) for victim, seconds in self.seconds.items()},
            "acknowledged": len(self.acknowledged),
            "surfaces": dict(Counter(write.surface for write in self.acknowledged)),
            "lost": sorted(f"{write.surface} {write.word} {write.id}" for write in self.lost),
            "halved": sorted(f"{write.surface} {write.word}" for write in self.halved),
            "statuses": dict(self.statuses),
            "faults": self.faults[:20],
            "recovery_seconds": {
                victim: {"median": round(statistics.median(seconds), 2), "max": round(max(seconds), 2)}
                for victim, seconds in self.seconds.items()
            },
            "round_seconds": round(statistics.mean(self.rounds), 2) if self.rounds else None,
        }


def write(
    name: str, keepstone: Keepstone, places: Places, word: Callable[[], str], tally: Tally, end: threading.Event
) -> None:
    """One after the other until the end. Only an answer with success is a promise."""
    client = keepstone.client()
    while not end.is_set():
        attempt = Write(name, word())
        try:
            answer = SURFACES[name].send(client, places, attempt)
        except Fault:
            tally.unanswered.append(attempt)
            end.wait(0.05)
            continue
        tally.take(attempt, answer)
        if answer.status == 503:
            end.wait(0.05)
    client.close()


def kill(keepstone: Keepstone, cluster: Cluster | None, victim: str, server: int | None, chance: random.Random) -> None:
    """Until what was killed runs again, or is brought back by Keepstone."""
    if cluster and victim in {"worker", "coordinator"}:
        node = cluster.coordinator if victim == "coordinator" else chance.choice(cluster.workers)
        node.kill()
        time.sleep(chance.uniform(0, LONGEST_ABSENCE))
        node.start()
        return
    if victim == "postgres":
        assert server
        os.kill(server, signal.SIGKILL)
        return
    if victim == "further":  # it may have ended by itself: one that starts, when the first was killed before
        with suppress(psutil.NoSuchProcess):
            chance.choice(keepstone.further()).kill()
        return
    keepstone.kill() if victim == "keepstone" else keepstone.kill_all()
    keepstone.start()


def one_round(
    keepstone: Keepstone,
    cluster: Cluster | None,
    places: Places,
    word: Callable[[], str],
    tally: Tally,
    chance: random.Random,
) -> None:
    begun, end = time.monotonic(), threading.Event()
    writers = [
        threading.Thread(target=write, args=(name, keepstone, places, word, tally, end), daemon=True)
        for name in SURFACES
    ]
    for writer in writers:
        writer.start()
    try:
        time.sleep(chance.uniform(0, LONGEST_ROUND))
        several = bool(keepstone.further())
        victims = [one for one in (OF_A_CLUSTER if cluster else VICTIMS) if several or one != "further"]
        victim, server = chance.choice(victims), keepstone.postgres()
        killed = time.monotonic()
        kill(keepstone, cluster, victim, server, chance)
        keepstone.wait(other_than=None if victim == "further" else server)
        tally.seconds[victim].append(time.monotonic() - killed)
    finally:
        end.set()
        for writer in writers:
            writer.join()
    look(keepstone, places, tally)
    tally.rounds.append(time.monotonic() - begun)


def look(keepstone: Keepstone, places: Places, tally: Tally) -> None:
    """For what was written since the last look. Of a surface's refused writes, all of one outage are alike."""
    client = keepstone.client()
    tally.lost |= missing(client, places, tally.unseen)
    first: dict[str, Write] = {}
    for attempt in tally.unanswered:
        first.setdefault(attempt.surface, attempt)
    tally.halved |= halves(client, places, first.values())
    client.close()
    tally.unseen.clear()
    tally.unanswered.clear()


def run(
    rounds: int,
    seed: int,
    minutes: float = float("inf"),
    report: Callable[[str], None] = print,
    processes: int = 3,
    *,
    on_cluster: bool = False,
) -> Tally:
    """So many rounds on a home of its own, or as many as fit into the minutes."""
    chance, tally = random.Random(seed), Tally()
    place = Path(tempfile.mkdtemp(prefix="keepstone-crash-", dir="/tmp"))
    place.chmod(0o755)  # the machines of a cluster are another user's
    (place / "cluster").mkdir()
    cluster = Cluster(place / "cluster") if on_cluster else None
    settings = {"KEEPSTONE_DATABASE_URL": distributed(cluster)} if cluster else {}
    keepstone = Keepstone(place / "home", KEEPSTONE_PROCESSES=str(processes), **settings)
    end = time.monotonic() + minutes * 60
    keepstone.start()
    try:
        keepstone.wait()
        client = keepstone.client()
        places, word = prepare(client, f"run{seed}"), words(f"run{seed}")
        client.close()
        for number in range(1, rounds + 1):
            one_round(keepstone, cluster, places, word, tally, chance)
            if number % 25 == 0:
                report(json.dumps(tally.report()))
            if time.monotonic() > end:
                break
        tally.lost |= all_missing(keepstone, places, tally.acknowledged)
    finally:
        keepstone.stop()
        if cluster:
            cluster.stop()
    shutil.rmtree(place)
    return tally


def all_missing(keepstone: Keepstone, places: Places, writes: Iterable[Write]) -> set[Write]:
    """Those of all rounds that are not there any more."""
    client = keepstone.client()
    try:
        return missing(client, places, writes)
    finally:
        client.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after so long, whatever the rounds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=3, help="that answer requests")
    parser.add_argument("--citus", action="store_true", help="on a cluster, from the programs in KEEPSTONE_CITUS")
    options = parser.parse_args()
    tally = run(
        options.rounds, options.seed, options.minutes, lambda line: print(line, file=sys.stderr, flush=True),
        options.processes, on_cluster=options.citus,
    )  # fmt: skip
    print(json.dumps(tally.report() | {"seed": options.seed}))
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
