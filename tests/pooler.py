"""A real PgBouncer before the tests' Postgres, in a process of its own: Debian's, or the one that an operator built."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

WHERE = (
    "The tests of a pooler are skipped: they need PgBouncer. apt install pgbouncer (Debian, as root), or name one in "
    "KEEPSTONE_TEST_PGBOUNCER."
)
_START_SECONDS = 20


def pgbouncers() -> list[str]:
    """Those that there are: of Debian, and others that are named, with colons between."""
    named = os.environ.get("KEEPSTONE_TEST_PGBOUNCER", "").split(":")
    installed = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    return [path for path in (installed, *named) if path]


class Pooler:
    """Listens on loopback and lends connections to `direct`'s database, in the way that `page` says, a configuration of
    which the addresses are put right. `forced` is whom it logs in to Postgres as, whoever asks.
    """

    def __init__(
        self, program: str, folder: Path, page: str, secrets: Mapping[str, str], direct: str, *, forced: str = "",
        **more: Any,
    ) -> None:  # fmt: skip
        """`folder` has the socket of Postgres. It is shut to others, and so it is handed on open."""
        self.home = Path(tempfile.mkdtemp(prefix="keepstone-pooler-"))
        self.database = str(conninfo_to_dict(direct)["dbname"])
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        opened = os.open(folder, os.O_RDONLY)
        try:
            where = f"{self.database} = host=/proc/self/fd/{opened} port=5432 {forced}"
            more |= {"listen_port": self.port, "auth_file": self.home / "userlist.txt", "unix_socket_dir": ""}
            lines = [line for line in page.splitlines() if line.partition(" = ")[0] not in more]
            text = "\n".join(lines + [f"{name} = {value}" for name, value in more.items()])
            (self.home / "pgbouncer.ini").write_text(re.sub(r"(?m)^keepstone = .*$", lambda _: where, text) + "\n")
            users = "".join(f'"{name}" "{secret}"\n' for name, secret in secrets.items())
            (self.home / "userlist.txt").write_text(users)
            owner = folder.stat()
            for path in (self.home, *self.home.iterdir()):
                os.chown(path, owner.st_uid, owner.st_gid)
            # It refuses root, as Postgres does.
            user: Any = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.getuid() == 0 else {}
            command = [program, str(self.home / "pgbouncer.ini")]
            with (self.home / "log").open("wb") as log:
                self.process = subprocess.Popen(command, stdout=log, stderr=log, pass_fds=[opened], **user)
        finally:
            os.close(opened)
        self._when_it_listens()

    def url(self, user: str, password: str = "") -> str:
        secret = f":{quote(password, safe='')}" if password else ""
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/{self.database}"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)
        shutil.rmtree(self.home, ignore_errors=True)

    def _when_it_listens(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    told = (self.home / "log").read_text()[-2000:]
                    self.stop()
                    raise AssertionError(told) from None
                time.sleep(0.02)
            else:
                return
