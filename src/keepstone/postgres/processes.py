"""Which processes really work in a data folder, and that none outlives who started it. A pid file only claims; the
kernel knows.
"""

import ctypes
import fcntl
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def hold(folder: Path) -> int:
    """A handle on the folder for a program to inherit: until the last of its processes ends, the folder is held."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


def is_held(folder: Path) -> bool:
    """Needs no right to look into other processes, which root in a container does not have."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def processes_in(data: Path) -> list[int]:
    """Process ids of the Postgres server in `data` and its children, as far as we may see them.

    Zombies work nowhere and are not listed.
    """
    if Path("/proc/self/cwd").exists():
        return _by_working_folder(data)
    return _by_pid_file(data)


def signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def die_with_parent(number: signal.Signals) -> Callable[[], None]:
    """To be run in the child after its uid was changed, which would clear the setting: the signal that it gets when the
    parent ends.
    """
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def arrange() -> None:
        prctl(_PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:
            os._exit(1)

    return arrange


def _by_working_folder(data: Path) -> list[int]:
    """Every Postgres process has its data folder as working folder, and nothing else has."""
    try:
        wanted = data.stat()
    except FileNotFoundError:
        return []
    children: list[int] = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            cwd = os.stat(f"{entry.path}/cwd")  # noqa: PTH116
        except OSError:  # gone, a zombie, or somebody else's
            continue
        if (cwd.st_dev, cwd.st_ino) == (wanted.st_dev, wanted.st_ino) and _is_postgres(entry.path):
            children.append(int(entry.name))
    return children


def _is_postgres(process: str) -> bool:
    try:
        return Path(f"{process}/comm").read_text().strip() == "postgres"
    except OSError:
        return False


def _by_pid_file(data: Path) -> list[int]:
    """Without /proc: the pid of the file, if a process of that number was started on this very folder."""
    try:
        pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return []
    shown = subprocess.run(  # noqa: S603
        ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    return [pid] if "postgres" in shown and str(data) in shown else []
