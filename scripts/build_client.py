"""Builds the TypeScript client in `clients/typescript`. With `check` it looks at one that was built: biome, which is
the dashboard's, and the types; with `pack` and a folder it makes the package there.
"""

import sys
from pathlib import Path

from npm import ROOT, install, run, say

CLIENT = ROOT / "clients/typescript"
BUILT = CLIENT / "dist/index.js"
WHAT = "the TypeScript client"


def main(task: str = "build", *more: str) -> None:
    match task, *more:
        case ["check"]:
            run(CLIENT, "run", "--silent", "check", what=WHAT)
        case ["pack", folder]:
            place = Path(folder).resolve()
            place.mkdir(parents=True, exist_ok=True)
            run(CLIENT, "pack", "--silent", "--ignore-scripts", "--pack-destination", str(place), what=WHAT)
        case _:
            install(CLIENT, what=WHAT, frozen=True)
            say("Building the TypeScript client …")
            run(CLIENT, "run", "--silent", "build", what=WHAT)
            BUILT.touch()


if __name__ == "__main__":
    main(*sys.argv[1:])
