"""Kill -9 at random moments, and see whether anything that was acknowledged is lost.

    python -m bench.crash --rounds 200 --seed 1

A real `keepstone serve` takes writes from a few clients. Each round kills Keepstone or its Postgres, brings Keepstone
back if it was the one, waits until it is ready, and looks for every write that was answered with 201.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

VICTIMS = ("keepstone", "postgres")
CLIENTS = 4
LONGEST_ROUND = 1.0  # seconds of writing before the kill
PATIENCE = 60.0


class Keepstone:
    """A server on one home, started as often as it takes."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> None:
        with (self._home.with_name("stderr")).open("a") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "keepstone", "serve", "--port", "0"],
                env=os.environ | {"KEEPSTONE_HOME": str(self._home), "KEEPSTONE_EMBEDDINGS_PROVIDER": "none"},
                stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        assert self._process.stdout
        for line in self._process.stdout:
            if "running at" in line:
                self.url = line.split()[-1]
                return
        raise SystemExit(f"keepstone did not start:\n{self._home.with_name('stderr').read_text()[-2000:]}")

    def kill(self) -> None:
        assert self._process
        assert self._process.stdout
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def stop(self) -> None:
        assert self._process
        self._process.terminate()
        self._process.communicate()

    def postgres(self) -> int | None:
        try:
            return int((self._home / "postgres" / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return None

    @property
    def auth(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {(self._home / 'owner-key').read_text().strip()}"}


@dataclass(slots=True)
class Tally:
    acknowledged: set[str] = field(default_factory=set[str])
    unseen: set[str] = field(default_factory=set[str])  # acknowledged since the last look
    lost: set[str] = field(default_factory=set[str])
    seconds: dict[str, list[float]] = field(default_factory=lambda: {victim: [] for victim in VICTIMS})

    def report(self) -> dict[str, object]:
        killed = {victim: seconds for victim, seconds in self.seconds.items() if seconds}
        return {
            "rounds": sum(map(len, killed.values())),
            "kills": {victim: len(seconds) for victim, seconds in killed.items()},
            "acknowledged": len(self.acknowledged),
            "lost": len(self.lost),
            "recovery_seconds": {
                victim: {"median": round(statistics.median(seconds), 2), "max": round(max(seconds), 2)}
                for victim, seconds in killed.items()
            },
        }


async def write(keepstone: Keepstone, client: httpx.AsyncClient, tally: Tally) -> None:
    """Until cancelled. Only a 201 is a promise; what ends otherwise may be there or not."""
    while True:
        try:
            answer = await client.post(f"{keepstone.url}/v1/keys", json={"name": "crash"})
        except httpx.TransportError:
            await asyncio.sleep(0.02)
            continue
        if answer.status_code == 201:
            key = answer.json()["id"]
            tally.acknowledged.add(key)
            tally.unseen.add(key)
        else:
            await asyncio.sleep(0.02)


async def recovered(keepstone: Keepstone, client: httpx.AsyncClient, killed: int | None) -> None:
    """Until it is ready on another Postgres than the one that was there."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if keepstone.postgres() not in {None, killed}:
                answer = await client.get(f"{keepstone.url}/readyz")
                if answer.status_code == 200:
                    return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.01)
    raise SystemExit(f"not ready {PATIENCE:.0f} s after the kill")


async def missing(keepstone: Keepstone, client: httpx.AsyncClient, wanted: set[str]) -> set[str]:
    """Those of `wanted` that the server does not list. The newest come first, so it rarely reads far."""
    left = set(wanted)
    params = {"limit": "200"}
    while left:
        page = (await client.get(f"{keepstone.url}/v1/keys", params=params)).raise_for_status().json()
        left -= {item["id"] for item in page["items"]}
        if not page["has_more"]:
            break
        params["cursor"] = page["next_cursor"]
    return left


async def one_round(keepstone: Keepstone, client: httpx.AsyncClient, tally: Tally, chance: random.Random) -> None:
    writers = [asyncio.create_task(write(keepstone, client, tally)) for _ in range(CLIENTS)]
    await asyncio.sleep(chance.uniform(0, LONGEST_ROUND))
    victim = chance.choice(VICTIMS)
    server = keepstone.postgres()
    assert server
    begun = time.monotonic()
    if victim == "keepstone":
        keepstone.kill()
        await asyncio.to_thread(keepstone.start)
    else:
        os.kill(server, signal.SIGKILL)
    await recovered(keepstone, client, server)
    tally.seconds[victim].append(time.monotonic() - begun)
    for writer in writers:
        writer.cancel()
    await asyncio.gather(*writers, return_exceptions=True)
    tally.lost |= await missing(keepstone, client, tally.unseen)
    tally.unseen.clear()


async def run(rounds: int, seed: int) -> Tally:
    chance = random.Random(seed)
    place = Path(tempfile.mkdtemp(prefix="keepstone-crash-", dir="/tmp"))
    keepstone = Keepstone(place / "home")
    tally = Tally()
    keepstone.start()
    try:
        async with httpx.AsyncClient(headers=keepstone.auth, timeout=10) as client:
            await recovered(keepstone, client, None)
            for number in range(rounds):
                await one_round(keepstone, client, tally, chance)
                if sys.stderr.isatty():
                    print(f"\r{number + 1} of {rounds}", end="", file=sys.stderr)
            tally.lost |= await missing(keepstone, client, tally.acknowledged)
    finally:
        keepstone.stop()
    shutil.rmtree(place)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tally = asyncio.run(run(options.rounds, options.seed))
    print(json.dumps(tally.report() | {"seed": options.seed}))
    return 1 if tally.lost else 0


if __name__ == "__main__":
    sys.exit(main())
