"""Builds the dashboard from `web/` into the package. With `check` it looks at a dashboard that was built: biome, and
the types.
"""

import sys

from npm import ROOT, install, run, say

WEB = ROOT / "web"
BUILT = ROOT / "src/keepstone/surfaces/web/static/app/index.html"
WHAT = "the dashboard"


def main(task: str = "build") -> None:
    if task == "check":
        run(WEB, "run", "--silent", "check", what=WHAT)
        return
    install(WEB, what=WHAT)
    say("Building the dashboard …")
    run(WEB, "run", "--silent", "build", "--", "--logLevel", "warn", what=WHAT)
    BUILT.touch()


if __name__ == "__main__":
    main(*sys.argv[1:])
