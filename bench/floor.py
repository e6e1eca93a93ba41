"""The ground floor: how long it takes to start, what it holds idle, and what a request costs over its baseline."""

import asyncio
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
from psycopg.conninfo import make_conninfo

from bench.client import Client
from bench.figures import Figure, Json, Options, scratch

ROUNDS = 300


class Server:
    """A real `keepstone serve` on a home of its own, with the weights of the folder `models`."""

    def __init__(self, home: Path, models: Path, **settings: str) -> None:
        self.home = home
        environ = {name: value for name, value in os.environ.items() if not name.startswith("KEEPSTONE_")}
        own = {"KEEPSTONE_HOME": str(home), "KEEPSTONE_MODELS_FROM": str(models), "KEEPSTONE_LOG_LEVEL": "warning"}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed by `stop`
        begun = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "keepstone", "serve", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environ | own | settings | {"PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stdout is not None
        started = (line.split()[-1] for line in self.process.stdout if line.startswith("Keepstone is running at"))
        self.url = next(started, "")
        if not self.url:
            raise RuntimeError(f"keepstone did not start:\n{self.complaints()}")
        while httpx.get(self.url + "/readyz").status_code != 200:
            time.sleep(0.01)
        self.seconds = time.perf_counter() - begun

    def client(self) -> Client:
        return Client(self.url, self.auth)

    def settle(self, patience: float = 3600) -> None:
        """Wait until everything that was ingested has its vectors."""
        client, end = self.client(), time.monotonic() + patience
        while client.get("/readyz")["pending_embeddings"] != 0:
            if time.monotonic() > end:
                raise RuntimeError(f"vectors are still missing after {patience:.0f} s:\n{self.complaints()}")
            time.sleep(0.05)
        client.close()

    def rest(self, patience: float = 3600) -> None:
        """Wait until it has nothing left to do: what it does for itself is not what is measured."""
        self.settle(patience)
        client, end = self.client(), time.monotonic() + patience
        while any(client.get("/readyz")["worker"]["details"]["jobs"][state] for state in ("todo", "doing")):
            if time.monotonic() > end:
                raise RuntimeError(f"jobs are left after {patience:.0f} s:\n{self.complaints()}")
            time.sleep(0.2)
        client.close()

    def complaints(self) -> str:
        """The end of what the server logged."""
        self._errors.seek(0)
        return self._errors.read()[-3000:]

    @property
    def auth(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {(self.home / 'owner-key').read_text().strip()}"}

    @property
    def conninfo(self) -> str:
        password = (self.home / "postgres-password").read_text().strip()
        return make_conninfo(host=str(self.home / "postgres"), user="keepstone", password=password, dbname="keepstone")

    def memory(self) -> float:
        """Proportional set size of Keepstone and everything below it, in MB."""
        children: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                except OSError:
                    continue
                children.setdefault(parent, []).append(int(entry.name))
        family, total = [self.process.pid], 0
        while family:
            pid = family.pop()
            family += children.get(pid, [])
            try:
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            except OSError:  # it ended meanwhile
                continue
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return total / 1024

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._errors.close()


@contextmanager
def running(models: Path, **settings: str) -> Generator[Server]:
    """A server on a new home, both gone afterwards."""
    home = scratch()
    try:
        server = Server(home, models, **settings)
        try:
            yield server
        except Exception:
            print(server.complaints(), file=sys.stderr)
            raise
        finally:
            server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def measure(options: Options) -> Json:
    """All of them, on one server, in one run."""
    return {"figures": [figure.shown() for figure in figures(options)]}


def figures(options: Options) -> list[Figure]:
    home = scratch()
    python = fastest("pass")
    try:
        first = Server(home, options.models)
        first.stop()
        server = Server(home, options.models)
        imports = fastest("import fastapi, psycopg, psycopg_pool, procrastinate, uvicorn, jwt, argon2")
        found = [
            Figure("import keepstone.cli", fastest("import keepstone.cli") * 1000, "ms", "bare Python", python * 1000),
            Figure("first start to ready", first.seconds, "s", "importing the same libraries", imports, "≤ 2.2"),
            Figure("next start to ready", server.seconds, "s", "importing the same libraries", imports, "≤ 1.0"),
        ]
        time.sleep(5)  # idle: what start-up needed once has been given back
        bare = resident("import fastapi, psycopg, psycopg_pool, procrastinate, uvicorn, jwt, argon2")
        found.append(
            Figure("idle memory, Postgres included", server.memory(), "MB", "those libraries alone", bare, "≤ 350")
        )
        found += asyncio.run(requests(server))
        server.stop()
    finally:
        shutil.rmtree(home)
    return found


def fastest(code: str) -> float:
    """Seconds that a Python process takes for `code`, the best of five."""
    seconds: list[float] = []
    for _ in range(5):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


def resident(code: str) -> float:
    """MB that a Python process holds after `code`."""
    script = f"{code}\nprint(open('/proc/self/smaps_rollup').read())"
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    return int(next(line for line in shown.splitlines() if line.startswith("Pss:")).split()[1]) / 1024


async def requests(server: Server) -> list[Figure]:
    async with (
        httpx.AsyncClient(base_url=server.url, headers=server.auth) as client,
        await psycopg.AsyncConnection.connect(server.conninfo, autocommit=True) as conn,
    ):
        await conn.execute("CREATE TABLE bench (id bigserial PRIMARY KEY, name text)")
        alive = await median(lambda: client.get("/healthz"))
        known = await median(lambda: client.get("/v1/me"))
        insert = await median(lambda: conn.execute("INSERT INTO bench (name) VALUES ('a key of the bench')"))
        write = await median(lambda: client.post("/v1/keys", json={"name": "bench"}))
        await conn.execute("DROP TABLE bench")
        eight = await throughput(client, 8)
    return [
        Figure("GET /v1/me with a key, p50", known * 1000, "ms", "GET /healthz", alive * 1000),
        Figure("POST /v1/keys, durable, audited, p50", write * 1000, "ms", "bare durable insert", insert * 1000),
        Figure("GET /v1/me, 8 clients", eight, "requests/s", "1 client", 1 / known),
    ]


async def median(call: Callable[[], Awaitable[object]]) -> float:
    seconds: list[float] = []
    for number in range(ROUNDS + 20):
        begun = time.perf_counter()
        await call()
        if number >= 20:
            seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)


async def throughput(client: httpx.AsyncClient, clients: int) -> float:
    async def one() -> None:
        for _ in range(ROUNDS):
            (await client.get("/v1/me")).raise_for_status()

    begun = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(clients)))
    return clients * ROUNDS / (time.perf_counter() - begun)
