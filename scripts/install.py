"""Installs what lock files pin, and nothing else, into the environment that this runs in.

uv does in seconds what takes pip half a minute. It is itself pinned and comes by pip; where it can't be had, or reaches
no package because the way to them is one that only pip knows, pip does the work.
"""

import ast
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
# The locks name everything, so nothing else is looked for: asked to resolve, an older pip tries psycopg[pool] in its
# newest version, which has no hash here, and stops.
LOCKED = ["--require-hashes", "--no-deps"]
# What pip is told in its files or its environment, and where uv, which reads neither, looks for the same.
TOLD = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}
# Each package has its hash, so any index may have it, as with pip.
ALWAYS = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_NO_PROGRESS": "1"}


def main(*words: str) -> None:
    """The names of lock files; `--target FOLDER` puts what they pin into a folder instead."""
    target = list(words[:2]) if words[0] == "--target" else []
    locks = [word for lock in words[len(target) :] for word in ("-r", str(ROOT / lock))]
    if not (_has_uv() and _installs(_uv(), target, locks)) and not _installs(PIP, target, locks):
        sys.exit("What Keepstone needs could not be installed, see above. Run the same again to go on.")


def _has_uv() -> bool:
    if find_spec("uv") is not None:
        return True
    only = ["--only-binary=:all:", "-r", str(ROOT / "requirements-uv.lock")]
    return subprocess.run([*PIP, "install", *LOCKED, *only], check=False).returncode == 0


def _uv() -> list[str]:
    return [str(Path(sys.executable).with_name("uv")), "-q"]


def _installs(tool: list[str], target: list[str], locks: list[str]) -> bool:
    uv = tool is not PIP
    where = ["--python", sys.executable] if uv else []
    again = ["--upgrade"] if target and not uv else []
    command = [*(tool if not uv else [*tool, "pip"]), "install", *where, *LOCKED, *target, *again, *locks]
    done = subprocess.run(command, env=_environ() if uv else None, check=False).returncode == 0
    if uv and not done:
        sys.stdout.write("That was uv; trying again with pip …\n")
        sys.stdout.flush()
    return done


def _environ() -> dict[str, str]:
    """With pip's settings in uv's words, unless uv was told something itself."""
    said = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=False).stdout
    told: dict[str, str] = {}
    for name, value in re.findall(r"^(?:global|install|:env:)\.([\w-]+)=('.*')$", said, re.MULTILINE):
        if name in TOLD and (words := str(ast.literal_eval(value)).split()):
            told[TOLD[name]] = ("," if name == "find-links" else " ").join(words)
    return ALWAYS | told | dict(os.environ)


if __name__ == "__main__":
    main(*sys.argv[1:])
