"""An export of many thousand conversations into a real server: how long, how much memory, and killed on the way.

    python -m bench.imports --conversations 10000

The export is in ChatGPT's form. `keepstone import` runs three times: killed after a third of the messages, again to the
end, and once more, when there is nothing left to do. Time and peak memory are those of its own process.
"""

import argparse
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.exports import chatgpt_zip

from bench.process import Keepstone

POLL = 0.05


@dataclass(frozen=True, slots=True)
class Run:
    seconds: float
    megabytes: float
    code: int
    report: dict[str, Any]


def run(keepstone: Keepstone, home: Path, export: Path, *, kill_at: int | None = None) -> Run:
    """One `keepstone import`; with `kill_at`, until its journal has that many conversations."""
    report = export.with_suffix(".report.json")
    report.unlink(missing_ok=True)
    begun = time.perf_counter()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "keepstone",
            "import",
            "chatgpt",
            str(export),
            "--url",
            keepstone.url,
            "--report",
            str(report),
        ],
        env=os.environ | {"KEEPSTONE_HOME": str(home)},
        stdout=subprocess.DEVNULL,
    )
    while kill_at is not None and arrived(home) < kill_at:
        time.sleep(POLL)
    if kill_at is not None:
        process.kill()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    told = json.loads(report.read_text()) if report.exists() else {}
    return Run(time.perf_counter() - begun, peak(used), process.returncode, told)


def peak(used: resource.struct_rusage) -> float:
    return used.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)


def arrived(home: Path) -> int:
    """Conversations in the journal, as another process sees them."""
    for path in (home / "imports").glob("*.sqlite"):
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as conn:
                return int(conn.execute("SELECT count(*) FROM arrived").fetchone()[0])
        except sqlite3.OperationalError:  # just being made
            return 0
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=5, help="questions with answers, in each")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="keepstone-imports-"))
    home = folder / "home"
    keepstone = Keepstone(home)
    try:
        export = chatgpt_zip(folder / "export.zip", options.conversations, turns=options.turns)
        messages = options.conversations * options.turns * 2
        print(
            f"{options.conversations:,} conversations, {messages:,} messages, a zip of {export.stat().st_size >> 20} MB"
        )
        keepstone.start()
        killed = run(keepstone, home, export, kill_at=options.conversations // 3)
        print(
            f"killed:  {killed.seconds:7.1f} s, {killed.megabytes:5.0f} MB, {arrived(home):,} conversations had arrived"
        )
        whole = run(keepstone, home, export)
        print(f"resumed: {whole.seconds:7.1f} s, {whole.megabytes:5.0f} MB, written {whole.report['written']}")
        again = run(keepstone, home, export)
        print(f"again:   {again.seconds:7.1f} s, {again.megabytes:5.0f} MB, written {again.report['written']}")
        there = whole.report["written"].get("messages", 0) + whole.report["already_there"].get("messages", 0)
        exact = there == messages and not sum(again.report["written"].values())
        print("every message is there once" if exact else f"NOT EXACT: {there:,} of {messages:,}")
    finally:
        keepstone.stop()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if exact else 1)


if __name__ == "__main__":
    main()
