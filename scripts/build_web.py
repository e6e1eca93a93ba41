"""Builds the dashboard from `web/` into the package. With `check` it looks at a dashboard that was built: biome, and
the types.
"""

import shutil
import sys

from npm import ROOT, install, run, say

WEB = ROOT / "web"
BUILT = ROOT / "src/keepstone/surfaces/web/static/app"
WHAT = "the dashboard"


def main(task: str = "build") -> None:
    if task == "check":
        run(WEB, "run", "--silent", "check", what=WHAT)
        return
    install(WEB, what=WHAT)
    say("Building the dashboard …")
    # Elsewhere, and put in place when it is whole: a server may be running that hands out what it finds.
    made = ROOT / "build/dashboard"
    run(WEB, "run", "--silent", "build", "--", "--logLevel", "warn", "--outDir", str(made), what=WHAT)
    (made / "index.html").touch()
    shutil.rmtree(BUILT, ignore_errors=True)
    made.rename(BUILT)
    say("The dashboard is ready.")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
