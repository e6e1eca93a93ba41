"""A Postgres of the embedded programs that listens on loopback, as one that several servers share."""

import os
import secrets
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psycopg

from bench.process import free_port
from keepstone.postgres.programs import programs_for

_NOBODY = 65534
_START_SECONDS = 30


class Postgres:
    """In an empty folder, which whoever made it removes again. Running when the constructor returns."""

    def __init__(self, home: Path, **settings: str) -> None:
        root = os.getuid() == 0
        self._user: dict[str, Any] = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if root else {}
        self._programs = programs_for(_NOBODY if root else None)
        if root:
            os.chown(home, _NOBODY, _NOBODY)
        self.port, self._password = free_port(), secrets.token_hex(16)
        data, password = home / "data", home / "password"
        password.write_text(self._password)
        password.chmod(0o644)
        options = [f"--pgdata={data}", f"--pwfile={password}", "--username=keepstone", "--auth=scram-sha-256"]
        subprocess.run(
            [self._programs.path("initdb"), *options, "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"],
            check=True, stdout=subprocess.DEVNULL, **self._user,
        )  # fmt: skip
        given = {
            "listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": "",
            "max_connections": "200", **settings,
        }  # fmt: skip
        told = [part for name, value in given.items() for part in ("-c", f"{name}={value}")]
        with (home / "log").open("ab") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(  # pyright: ignore[reportAssignmentType]
                [self._programs.path("postgres"), "-D", str(data), *told], stdout=log, stderr=log, **self._user
            )
        self._process = process
        self._wait(home / "log")

    @property
    def url(self) -> str:
        return f"postgresql://keepstone:{self._password}@127.0.0.1:{self.port}/postgres"

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait()

    def _wait(self, log: Path) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=2).close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise RuntimeError(f"Postgres did not start: {log.read_text()[-2000:]}") from None
                time.sleep(0.05)
            else:
                return
