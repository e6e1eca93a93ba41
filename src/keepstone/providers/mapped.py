"""Graphs whose weights lie in a file of their own, which is mapped into memory and not read: of a vocabulary in many
languages a server needs a fraction, and the rest takes no memory.

Such a graph is derived from the one that was shipped or fetched, when it is first opened, and can be lost. That is done
in a process of its own: ended, it has given its memory back. Where it can't be made or used, the original is.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import onnxruntime

from keepstone.providers.session import open_session

_GRAPH = "graph.onnx"
_SECONDS = 120
# What the process needs to start, and nothing of ours.
_PASSED = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG")


def open_mapped(graph: Path, place: Path | None, extensions: str | None = None) -> Any:
    """A session of the graph, by what was derived from it in this folder."""
    if place is None or not graph.is_file():
        return open_session(graph, extensions)
    derived = place / f"{graph.stem}-{_version(graph)}"
    try:
        if not derived.is_dir():
            _derive(graph, derived, extensions)
        return open_session(derived / _GRAPH, extensions)
    except Exception:  # onnxruntime has one for each status, and a disk may be full
        shutil.rmtree(derived, ignore_errors=True)
        return open_session(graph, extensions)


def _version(graph: Path) -> str:
    """Of what was derived: another graph, runtime or kind of processor needs its own."""
    seen = graph.stat()
    parts = graph.absolute(), seen.st_size, seen.st_mtime_ns, onnxruntime.__version__, platform.machine()
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _derive(graph: Path, derived: Path, extensions: str | None) -> None:
    """Under another name until it is whole; what was derived from a former version goes."""
    derived.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for former in derived.parent.glob(f"{graph.stem}-*"):
        shutil.rmtree(former, ignore_errors=True)
    making = Path(tempfile.mkdtemp(prefix=f"{graph.stem}-making-", dir=derived.parent))
    try:
        subprocess.run(  # noqa: S603
            [sys.executable, "-P", "-m", __name__, graph.absolute(), making / _GRAPH, extensions or ""],
            env={name: os.environ[name] for name in _PASSED if name in os.environ},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=_SECONDS, check=True,
        )  # fmt: skip
        with suppress(OSError):  # another process was as quick
            making.rename(derived)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def main() -> None:
    graph, target, extensions = sys.argv[1:]
    open_session(Path(graph), extensions or None, save_as=Path(target))


if __name__ == "__main__":
    main()
