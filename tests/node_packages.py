"""The packages of `tests/npm`: clients of other makers for npm, which the tests call this server with."""

import subprocess
from pathlib import Path

from scripts.npm import install, node

NPM = Path(__file__).parent / "npm"


def run_module(script: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A program as an ES module, which finds those packages."""
    install(NPM, what="the tests of npm's packages", frozen=True)
    _, path = node()
    words = ["node", "--input-type=module", "--eval", script]
    environ = environ | {"PATH": path}
    return subprocess.run(words, cwd=NPM, capture_output=True, text=True, check=False, env=environ)
