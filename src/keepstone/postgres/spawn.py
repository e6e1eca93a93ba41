"""Starts a Postgres server as a child of this process: as whom, with which handles, and what becomes of it when we
end.
"""

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from keepstone.errors import Misconfigured
from keepstone.postgres.cluster import Cluster
from keepstone.postgres.processes import die_with_parent

LONGEST_SOCKET_PATH = 103  # macOS; Linux takes 107
_LOG_LIMIT = 8 * 1024 * 1024


def _open_log(cluster: Cluster) -> int:
    if cluster.log.exists() and cluster.log.stat().st_size > _LOG_LIMIT:
        cluster.log.replace(cluster.log.with_suffix(".old"))
    return cluster.open(cluster.log, os.O_WRONLY | os.O_APPEND)


def through_handle(handle: int, folder: Path) -> str:
    path = f"/proc/self/fd/{handle}"
    if not Path(path).exists():
        raise Misconfigured(
            f"{folder} can't be used on this system: run as an ordinary user, with a KEEPSTONE_HOME shorter than 80 "
            "characters."
        )
    return path


def spawn(cluster: Cluster, command: Sequence[str], handle: int) -> subprocess.Popen[bytes]:
    """A process group of its own, so that Ctrl-C reaches Keepstone alone and Keepstone stops Postgres last."""
    die_with_us = die_with_parent(signal.SIGINT) if sys.platform == "linux" else None
    with warnings.catch_warnings(), os.fdopen(_open_log(cluster), "ab") as output:
        warnings.simplefilter("ignore", DeprecationWarning)  # preexec_fn makes one system call and no more
        return subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            text=False,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            pass_fds=(handle,),
            process_group=0,
            preexec_fn=die_with_us,  # noqa: PLW1509
            user=cluster.uid,
            group=cluster.uid,
            extra_groups=None if cluster.uid is None else [],
        )
