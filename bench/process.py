"""A real `keepstone serve` on one home: started, killed, and started again at the same address."""

import http.client
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil

from bench.client import Client

PATIENCE = 120.0


class Keepstone:
    """A server on one home, started as often as it takes, always at the same address."""

    def __init__(self, home: Path, port: int | None = None, /, **settings: str) -> None:
        self.home = home
        self._environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("KEEPSTONE_", "PYTHONDONT"))},
            "PYTHONPYCACHEPREFIX": str(home.with_name("bytecode")),  # compiled once, as what is installed is
            "KEEPSTONE_HOME": str(home),
            "KEEPSTONE_EMBEDDINGS_PROVIDER": "none",
            "KEEPSTONE_LOG_LEVEL": "warning",
            **settings,
        }
        self._elsewhere = "KEEPSTONE_DATABASE_URL" in settings
        self._process: subprocess.Popen[str] | None = None
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        with self._log.open("a") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "keepstone", "serve", "--port", str(self.port)],
                env=self._environ,
                stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        assert self._process.stdout
        if not any("running at" in line for line in self._process.stdout):
            raise SystemExit(f"keepstone did not start:\n{self.complaints()}")

    def kill(self) -> None:
        """Keepstone itself, its first process. The kernel tells its Postgres and its other processes."""
        assert self._process
        assert self._process.stdout
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def kill_all(self) -> None:
        """Everything at once, as when the machine goes down; only what the kernel has of the files stays."""
        family = self.family()
        for process in family[1:]:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self.kill()
        psutil.wait_procs(family[1:], timeout=PATIENCE)

    def further(self) -> list[psutil.Process]:
        """Those that answer beside the first."""
        return [child for child in self.family()[1:] if _is_ours(child)]

    def stop(self) -> None:
        assert self._process
        self._process.terminate()
        self._process.communicate()

    def postgres(self) -> int | None:
        try:
            return int((self.home / "postgres" / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return None

    def family(self) -> list[psutil.Process]:
        """Its process, and all below it."""
        assert self._process
        head = psutil.Process(self._process.pid)
        return [head, *head.children(recursive=True)]

    def wait(self, other_than: int | None = None) -> None:
        """Until it is ready, on another Postgres of its own than the one that was killed."""
        client = Client(self.url)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                if (self._elsewhere or self.postgres() not in {None, other_than}) and client.answer("GET", "/readyz")[
                    0
                ] == 200:
                    client.close()
                    return
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.01)
        raise SystemExit(f"not ready after {PATIENCE:.0f} s:\n{self.complaints()}")

    def command(self, *words: str, stdin: str = "") -> str:
        """What another `keepstone` command on the same home prints."""
        asked = [sys.executable, "-m", "keepstone", *words]
        done = subprocess.run(asked, input=stdin, capture_output=True, text=True, check=False, env=self._environ)
        if done.returncode:
            raise SystemExit(f"keepstone {' '.join(words)}: {done.stderr}")
        return done.stdout.strip()

    def client(self, patience: float = 60) -> Client:
        return Client(self.url, self.auth, patience)

    def complaints(self) -> str:
        """The end of what it logged."""
        return self._log.read_text()[-2000:]

    @property
    def _log(self) -> Path:
        return self.home.with_name("stderr")

    @property
    def auth(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {(self.home / 'owner-key').read_text().strip()}"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def _is_ours(process: psutil.Process) -> bool:
    """Whether it answers requests: a copy of the first has its command line, one that replaced another its own."""
    try:
        return any(word in process.cmdline() for word in ("serve", "keepstone.further"))
    except psutil.Error:
        return False
