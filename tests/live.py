"""A real `keepstone serve`, in a process and a home of its own, and the accounts of those who share it."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

import prepared
from keepstone.access import sessions
from keepstone.access.firstrun import OWNER_EMAIL
from keepstone.access.keys import create_key
from keepstone.access.operator import principal_for
from keepstone.access.users import create_user
from keepstone.postgres.cluster import open_cluster
from keepstone.postgres.supervisor import Supervisor
from keepstone.runtime import open_services
from keepstone.settings import Settings

_numbers = count(1)


def in_memory() -> str | None:
    """Where files are in memory, if there is such a place with room: a database is cloned there many times faster."""
    place = Path("/dev/shm")
    try:
        return str(place) if shutil.disk_usage(place).free > 2**31 and os.access(place, os.W_OK) else None
    except OSError:
        return None


def url_of(conninfo: str) -> str:
    """What `KEEPSTONE_DATABASE_URL` takes."""
    given = conninfo_to_dict(conninfo)
    more = {name: str(given[name]) for name in ("user", "password", "host", "port") if name in given}
    return f"postgresql:///{given['dbname']}?{urlencode(more, quote_via=quote)}"


class Live:
    """Started and ready when the constructor returns; `stop` ends it by its own process id."""

    def __init__(self, home: Path | None = None, **environ: str) -> None:
        self._own = home is None
        self.home = home or Path(tempfile.mkdtemp(prefix="keepstone-live-", dir=in_memory()))
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("KEEPSTONE_")},
            "KEEPSTONE_HOME": str(self.home),
            "PYTHONUNBUFFERED": "1",
            "KEEPSTONE_EMBEDDINGS_PROVIDER": "none",
            "KEEPSTONE_PROCESSES": "1",  # unless a test is about several
            **environ,
        }
        self.log: list[str] = []
        self.process = prepared.start("serve", "--port", "0", environ=self.environ)
        self.url = self._announced()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def key(self) -> str:
        return (self.home / "owner-key").read_text().strip()

    @property
    def auth(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    @property
    def database(self) -> str:
        """Its own, or the one that it was given."""
        return self.environ.get("KEEPSTONE_DATABASE_URL") or Supervisor(open_cluster(self.home)).conninfo

    def past_the_api(self) -> psycopg.Connection:
        """Straight to its database, as its owner: for rows in numbers that would take minutes over HTTP."""
        return psycopg.connect(self.database, autocommit=True, options="-c search_path=keepstone,public")

    def cli(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Another `keepstone` command on the same home."""
        return prepared.run(*words, environ=self.environ, stdin=stdin)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        self._reader.join()
        if self.process.stdout:
            self.process.stdout.close()
        if self._own:
            shutil.rmtree(self.home, ignore_errors=True)
        return code

    def _announced(self) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.log.append(line)
            found = re.match(r"Keepstone is running at (\S+)", line)
            if found:
                return found[1]
        self.process.wait(timeout=30)
        self.process.stdout.close()
        if self._own:
            shutil.rmtree(self.home, ignore_errors=True)
        raise AssertionError("".join(self.log))

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.log.extend(self.process.stdout)


@dataclass(frozen=True, kw_only=True)
class Guest:
    """The owner of an account on a server that others use too. `home` has their key, where a page says it lies."""

    server: Live
    home: Path
    email: str
    key: str
    session: str

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def auth(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    @property
    def environ(self) -> dict[str, str]:
        """For a `keepstone` that speaks to the server."""
        return self.server.environ | {"KEEPSTONE_HOME": str(self.home), "KEEPSTONE_URL": self.url}


async def receive(server: Live, home: Path, *, as_owner: bool = False) -> Guest:
    """Somebody new, who may also see the console, or the server's first owner; signed in.

    Made beside the server, on its database: a command for each would take seconds.
    """
    settings = Settings(home=server.home, database_pool=2)
    async with open_services(settings, server.database) as services:
        email = OWNER_EMAIL if as_owner else f"owner@guest-{next(_numbers)}.example"
        if not as_owner:
            await create_user(services, email=email, name="Owner", is_admin=True)
        principal, user = await principal_for(services, email)
        key = server.key if as_owner else (await create_key(services, principal, name="first key"))[1]
        where = sessions.Browser(address="127.0.0.1", user_agent=None)
        login = await sessions.log_in_once(services, token=await sessions.make_link(services, user), browser=where)
    home.mkdir(exist_ok=True)
    (home / "owner-key").write_text(key + "\n")
    return Guest(server=server, home=home, email=email, key=key, session=login.token)
