"""python -m bench.hold: the attacks that were ever made, one after the other, on one server.

    python -m bench.hold                        all of it, about five minutes
    python -m bench.hold --seconds 5 --only depth "item index" --kills 0

First nobody attacks; then each attack has its time, while a client of another account works beside it; at the end the
server is killed a few times. Exit code 1 when a promise is broken: the client's p95 within 5 × of quiet, /healthz below
100 ms, no answer of 500 or more but 503 with a true reason and 507 for a full disk, nothing lost that was acknowledged.

Attackers, the client, and who asks /healthz are processes of this machine, so they take from the same processors as
the server. Attackers send what was made beforehand and are the last to get a processor (nice 10); the client
measures in a process of its own. Read the figures of a machine that does nothing else.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.hold import judge, storm
from bench.process import Keepstone
from bench.proxy import model

BALLAST = 2 << 30  # bytes of a file that makes the disk nearly full; half as much is left before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15, help="how long each phase takes")
    parser.add_argument("--only", nargs="+", choices=[*storm.ATTACKS, storm.DISK, "none"], help="these attacks")
    parser.add_argument("--kills", type=int, default=storm.KILLS)
    parser.add_argument("--embedder", default="builtin", help="what KEEPSTONE_EMBEDDINGS_PROVIDER is to be")
    parser.add_argument("--models", default="", help="folder with the weights, as in KEEPSTONE_MODELS_FROM")
    options = parser.parse_args()
    names = [name for name in storm.ATTACKS if options.only is None or name in options.only]
    place = Path(tempfile.mkdtemp(prefix="keepstone-hold-", dir="/tmp"))
    begun = time.monotonic()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        upstream = stack.enter_context(model())
        settings = {
            "KEEPSTONE_EMBEDDINGS_PROVIDER": options.embedder,
            "KEEPSTONE_MODELS_FROM": options.models,
            "KEEPSTONE_DISK_RESERVE_MB": str((shutil.disk_usage(place).free - BALLAST // 2) // 2**20),
            "KEEPSTONE_LLM_PROVIDER": "openai",
            "KEEPSTONE_LLM_BASE_URL": f"{upstream}/v1",
        }
        keepstone = Keepstone(place / "home", **settings)
        keepstone.start()
        stack.callback(keepstone.stop)
        keepstone.wait()
        ballast = BALLAST if options.only is None or storm.DISK in options.only else 0
        found = storm.run(
            keepstone, options.seconds, names, chat=True, kills=options.kills, ballast=ballast, report=show
        )
    broken = judge.verdict(found.phases, [f"{write.surface} {write.word} {write.id}" for write in found.lost])
    print("\n".join(["", *judge.table(found.phases), ""]))
    print(f"{found.acknowledged} writes of the well-behaved client were acknowledged, {len(found.lost)} of them lost.")
    print(f"{time.monotonic() - begun:.0f} s. Attackers and client ran on the processors of the server.")
    if judge.broken(found.phases[0], found.phases[0]):
        print("The quiet phase was not quiet: something else runs on this machine, and the figures say little.")
    print("\n".join(["", "Broken:", *(f"- {each}" for each in broken)] if broken else ["", "All promises held."]))
    return 1 if broken else 0


def show(phase: judge.Phase) -> None:
    """As soon as it is over, what each thing took."""
    each = {name: judge.shown(judge.percentile(seconds, 95)) for name, seconds in phase.seconds.items()}
    print(f"{phase.name}: p95 {judge.shown(phase.p(95))}; {json.dumps(each)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
