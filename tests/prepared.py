"""`keepstone` commands in copies of a process that has imported everything already: to import takes most commands
longer than what they do. Each copy is a process of its own, with its own environment, arguments and files.
"""

import atexit
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

_FILES = 4  # standard input, output and errors, and where the exit code is written
_LARGEST = 1 << 17


class Prepared:
    """A command under way. What of `subprocess.Popen` the tests use."""

    def __init__(self, words: Sequence[str], environ: Mapping[str, str], stdin: int, stdout: int, stderr: int) -> None:
        self.returncode: int | None = None
        self.stdout: IO[str] | None = None
        self._ended, ended = os.pipe()
        try:
            request = json.dumps([list(words), dict(environ), str(Path.cwd())]).encode()
            socket.send_fds(_origin(), [request], [stdin, stdout, stderr, ended])
        finally:
            os.close(ended)
        self.pid = int.from_bytes(os.read(self._ended, 4), "little")

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("keepstone", timeout or 0)
            self.returncode = int.from_bytes(os.read(self._ended, 4), "little", signed=True)
            os.close(self._ended)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(9)


def start(*words: str, environ: Mapping[str, str]) -> Prepared:
    """A command of which the output, errors included, is read while it runs."""
    read, write = os.pipe()
    with Path(os.devnull).open() as nothing:
        started = Prepared(words, environ, nothing.fileno(), write, write)
    os.close(write)
    started.stdout = os.fdopen(read, encoding="utf-8")
    return started


def run(*words: str, environ: Mapping[str, str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    """A command to its end."""
    with _file(stdin) as given, _file() as printed, _file() as complained:
        command = Prepared(words, environ, given.fileno(), printed.fileno(), complained.fileno())
        code = command.wait()
        for file in (printed, complained):
            file.seek(0)
        return subprocess.CompletedProcess(words, code, printed.read(), complained.read())


def _file(text: str = "") -> IO[str]:
    file = os.fdopen(os.memfd_create("text"), "w+", encoding="utf-8")
    file.write(text)
    file.seek(0)
    return file


@cache
def _origin() -> socket.socket:
    """The process that is copied: one for each process of tests. It ends with the socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    bare = {name: value for name, value in os.environ.items() if not name.startswith("KEEPSTONE_")}
    origin = subprocess.Popen(
        [sys.executable, "-u", __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()], env=bare,
        stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    theirs.close()

    @atexit.register
    def end() -> None:  # pyright: ignore[reportUnusedFunction]
        ours.close()
        origin.wait()

    return ours


def _copy(request: bytes, files: Sequence[int]) -> None:
    """In the copy: become the command."""
    words, environ, folder = json.loads(request)
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.argv = ["keepstone", *words]


def _serve(control: socket.socket) -> None:
    """Make copies until nobody asks any more; only in a copy this returns."""
    children: dict[int, tuple[int, int]] = {}
    while True:
        ready, _, _ = select.select([control.fileno(), *children], [], [])
        for watched in ready:
            if watched in children:
                pid, ended = children.pop(watched)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                os.write(ended, code.to_bytes(4, "little", signed=True))
                os.close(ended)
                os.close(watched)
                continue
            request, files, _, _ = socket.recv_fds(control, _LARGEST, _FILES)
            if not request:
                os._exit(0)
            pid = os.fork()
            if pid == 0:
                control.close()
                for descriptor, (_, ended) in children.items():
                    os.close(descriptor)
                    os.close(ended)
                _copy(request, files)
                return
            os.write(files[3], pid.to_bytes(4, "little"))
            for file in files[:3]:
                os.close(file)
            children[os.pidfd_open(pid)] = (pid, files[3])


if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from keepstone import cli

    for name in cli.COMMANDS:
        cli._declared(name)  # pyright: ignore[reportPrivateUsage]  the server is one of them
    _serve(socket.socket(fileno=int(sys.argv[1])))
    cli.main()
