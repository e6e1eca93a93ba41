"""`make bench`: measures part after part, keeps the results in docs/benchmarks.json, and writes the page from them.

python -m bench                                 all of it, up to 40 minutes
python -m bench --quick                         1 k and 10 k passages, no ablations, no peers
python -m bench --only scopes --sizes 1000      one part; the others keep their last figures
python -m bench --only none                     only draws the page again
"""

import argparse
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import calibration, capsules, dashboard, floor, graphs, page, peers, proxy, quality, rooms, scopes, trust
from bench.figures import MEDIUM, SIZES, SMALL, Json, Options
from keepstone.providers.embedders import models_folder
from keepstone.providers.models import fetch
from keepstone.settings import read_settings

PARTS: dict[str, Callable[[Options], Json]] = {
    "floor": floor.measure,
    "scopes": scopes.measure,
    "capsules": capsules.measure,
    "proxy": proxy.measure,
    "rooms": rooms.measure,
    "graphs": graphs.measure,
    "dashboard": dashboard.measure,
    "peers": peers.measure,
    "quality": quality.part,
    "calibration": calibration.part,
    "trust": trust.measure,
}


@dataclass(frozen=True)
class Asked:
    parts: list[str]
    options: Options


def read_arguments(arguments: list[str] | None = None) -> Asked:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*PARTS, "none"], help="these parts")
    parser.add_argument("--sizes", nargs="+", type=int, choices=SIZES, help="passages; 1000000 also as an account's")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--models", type=Path, help="folder with the weights; by default that of the data folder")
    given = parser.parse_args(arguments)
    quick = bool(given.quick)
    parts = given.only or [part for part in PARTS if not quick or part != "peers"]
    sizes = tuple(given.sizes or ((SMALL, MEDIUM) if quick else SIZES))
    models = (given.models or models_folder(read_settings())).expanduser().absolute()
    return Asked([part for part in PARTS if part in parts], Options(models, sizes, quick))


def machine() -> str:
    """Python, system and processors, as a line."""
    cpus = [line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    processor = cpus[0] if cpus else platform.processor() or "processor unknown"
    system = f"{platform.system()} {platform.machine()}"
    return f"Python {platform.python_version()}, {system}, {os.cpu_count()} × {processor}"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def main() -> None:
    asked = read_arguments()
    if asked.parts:
        fetch(asked.options.models, lambda _: None)
    run = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    failed: list[str] = []
    for name in asked.parts:
        print(f"{name} …", flush=True)
        begun = time.perf_counter()
        try:
            found = PARTS[name](asked.options)
        except Exception:  # the others go on, and what was measured before is kept
            traceback.print_exc()
            failed.append(name)
            continue
        seconds = round(time.perf_counter() - begun)
        page.keep(name, {"run": run, "machine": machine(), "seconds": seconds} | found)
        print(json.dumps(found.get("figures", found), indent=1, ensure_ascii=False)[:20_000], flush=True)
    page.write()
    if failed:
        sys.exit(f"without figures: {', '.join(failed)}")


if __name__ == "__main__":
    main()
