"""The order of events: quiet, each attack in turn, kills at the end, and a look for all that was acknowledged."""

import multiprocessing
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.queues import Queue
from pathlib import Path

import psutil

from bench.hold.attacks import crowds, texts, wires
from bench.hold.attacks.raw import Attack, Met, Target
from bench.hold.beside import Account, Beside, Sample
from bench.hold.judge import NEVER, Phase, Reply
from bench.process import Keepstone
from bench.writes import Write, missing, prepare

AFTERWARDS = 2.0  # seconds after an attack that still count as its own: what it left behind works on
NICE = 10
KILLS = 4
DISK = "disk nearly full"
ATTACKS: dict[str, Attack] = {
    "hostile text": texts.hostile,
    "item index": texts.index,
    "depth": texts.deep,
    "28 MB without a key": wires.unknown,
    "half-open connections": wires.half_open,
    "50 clients": crowds.many,
    "job backlog": crowds.backlog,
    "190 filters": crowds.filters,
}


@dataclass(frozen=True)
class Storm:
    """What it found."""

    phases: list[Phase]
    acknowledged: int
    lost: set[Write]


def account(keepstone: Keepstone, name: str) -> Account:
    """Somebody new, the owner of an account of their own."""
    email = f"{name}@example.org"
    keepstone.command("users", "create", email)
    return Account(keepstone.url, keepstone.command("keys", "create", "--user", email, "--name", name))


def target_of(attacker: Account) -> Target:
    client = attacker.client()
    places = prepare(client, "storm")
    client.close()
    return Target(attacker.url, attacker.key, places.workspace, places.room, places.graph)


def _attack(name: str, target: Target, seconds: float, out: "Queue[Met]") -> None:
    os.nice(NICE)
    met = Met()
    ATTACKS[name](target, time.monotonic() + seconds, met)
    out.put(met)


def attacked(name: str, target: Target, seconds: float) -> Met:
    """What the attack met, which has a process of its own."""
    context = multiprocessing.get_context("spawn")
    out: Queue[Met] = context.Queue()
    process = context.Process(target=_attack, args=(name, target, seconds, out), daemon=True)
    process.start()
    try:
        return out.get(timeout=seconds + 60)
    finally:
        process.join(5)
        process.kill()


class Memory:
    """The most memory that the server's own processes had at once, Postgres apart, since the last look."""

    def __init__(self, keepstone: Keepstone) -> None:
        self._keepstone = keepstone
        self._peak = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def peak(self) -> float:
        peak, self._peak = self._peak, 0.0
        return peak

    def stop(self) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(0.25):
            self._peak = max(self._peak, self._now())

    def _now(self) -> float:
        total = 0
        try:
            for process in self._keepstone.family():
                if "postgres" not in process.name():
                    used = process.memory_full_info()
                    total += getattr(used, "pss", used.rss)  # copies of the first process share most of theirs
        except psutil.Error:  # it was killed meanwhile
            return 0.0
        return total / 2**20


def run(
    keepstone: Keepstone,
    seconds: float,
    names: list[str],
    *,
    chat: bool,
    kills: int,
    ballast: int,
    report: Callable[[Phase], None],
) -> Storm:
    """On a server that runs, and runs afterwards, killed and started again. `ballast`: bytes that fill its disk."""
    good, target = account(keepstone, "well-behaved"), target_of(account(keepstone, "storm"))
    client = good.client()
    places = prepare(client, "good")
    client.close()
    beside, memory = Beside(good, places, chat=chat), Memory(keepstone)
    beside.start()
    phases: list[Phase] = []
    kept: list[Write] = []

    def phase(new: Phase, act: Callable[[], Met]) -> None:
        memory.peak()
        met = act()
        time.sleep(AFTERWARDS)
        samples = beside.drain()
        new.peak_mb = memory.peak()
        phases.append(filled(new, samples, met))
        kept.extend(sample.write for sample in samples if sample.write)
        report(phases[-1])

    try:
        time.sleep(AFTERWARDS)
        beside.drain()  # the first requests make connections and plans
        phase(Phase("quiet"), lambda: _calm(seconds))
        for name in names:
            phase(Phase(name), lambda name=name: attacked(name, target, seconds))
        if ballast:
            phase(Phase(DISK, full=True), lambda: full(keepstone.home, ballast, seconds))
        if kills:
            phase(Phase("kills", kills=True), lambda: killed(keepstone, kills))
    finally:
        rest = beside.stop()
        memory.stop()
    kept.extend(sample.write for sample in rest if sample.write)
    client = good.client()
    lost = missing(client, places, kept)
    client.close()
    return Storm(phases, len(kept), lost)


def _calm(seconds: float) -> Met:
    time.sleep(seconds)
    return Met()


def full(folder: Path, ballast: int, seconds: float) -> Met:
    """A file that takes so many bytes of the server's disk for a while."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, ballast)
        time.sleep(seconds)
    return Met()


def killed(keepstone: Keepstone, times: int) -> Met:
    """`kill -9` of the server, and of everything with it, while somebody writes."""
    chance = random.Random(times)
    for number in range(times):
        time.sleep(chance.uniform(0.5, 1.5))
        server = keepstone.postgres()
        if number % 3 == 2 and server:
            os.kill(server, signal.SIGKILL)
        else:
            keepstone.kill_all() if number % 3 else keepstone.kill()
            keepstone.start()
        keepstone.wait(other_than=server)
    return Met()


def filled(phase: Phase, samples: list[Sample], met: Met) -> Phase:
    """With what both sides met. Of a killed server only what was answered is timed, of a full one what was served."""
    phase.attack, phase.replies = met.statuses, list(met.replies)
    for sample in samples:
        if sample.doing == "/healthz":
            if sample.status or not phase.kills:
                phase.alive.append(sample.seconds)
            continue
        phase.statuses[sample.status] += 1
        if phase.full and sample.status == 507:
            phase.replies.append(Reply(f"beside, {sample.doing}", sample.status, sample.body))
            continue
        if sample.seconds != NEVER or not phase.kills:
            phase.seconds.setdefault(sample.doing, []).append(sample.seconds)
        if sample.status >= 500 or not sample.status:
            phase.replies.append(Reply(f"beside, {sample.doing}", sample.status, sample.body))
    return phase
