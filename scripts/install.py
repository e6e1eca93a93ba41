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
    begun = Path(sys.prefix, "installing")  # is left where somebody interrupts: what is there by half passes for whole
    again = begun.exists()
    begun.touch()
    if not (_has_uv(again=again) and _installs_with_uv(target, locks, again=again)) and not _installs_with_pip(
        target, locks, again=again
    ):
        sys.exit("What Keepstone needs could not be installed, see above. The same command goes on from here.")
    begun.unlink()


def _has_uv(*, again: bool) -> bool:
    if find_spec("uv") is not None and not again:
        return True
    only = ["--force-reinstall", "--only-binary=:all:", "-r", str(ROOT / "requirements-uv.lock")]
    return subprocess.run([*PIP, "install", *LOCKED, *only], check=False).returncode == 0


def _installs_with_uv(target: list[str], locks: list[str], *, again: bool) -> bool:
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "-q", "--python", sys.executable]
    anew = ["--reinstall"] if again else []
    done = subprocess.run([*uv, *LOCKED, *anew, *target, *locks], env=_environ(), check=False).returncode == 0
    if not done:
        sys.stdout.write("That was uv. Trying again with pip, which takes longer …\n")
        sys.stdout.flush()
    return done


def _installs_with_pip(target: list[str], locks: list[str], *, again: bool) -> bool:
    anew = ["--force-reinstall"] if again else ["--upgrade"] if target else []
    return subprocess.run([*PIP, "install", *LOCKED, *anew, *target, *locks], check=False).returncode == 0


def _environ() -> dict[str, str]:
    """With pip's settings in uv's words, unless uv was told something itself."""
    said = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=False).stdout
    told: dict[str, str] = {}
    for name, value in re.findall(r"^(?:global|install|:env:)\.([\w-]+)=('.*')$", said, re.MULTILINE):
        if name in TOLD and (words := str(ast.literal_eval(value)).split()):
            told[TOLD[name]] = ("," if name == "find-links" else " ").join(words)
    return ALWAYS | told | dict(os.environ)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
