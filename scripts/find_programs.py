"""Looks for what tests need that no Python package has, and as root on Debian installs it: Chromium and a Chinese font
for the dashboard, PgBouncer for what stands before Postgres. Without Chromium no test is run; without PgBouncer its
tests are skipped.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import pooler
from chromium import WHERE, chromium_path


def main() -> None:
    wanted = {
        "chromium": chromium_path() is not None,
        "fonts-noto-cjk": _chinese_font(),
        "pgbouncer": bool(pooler.pgbouncers()),
    }
    missing = [name for name, found in wanted.items() if not found]
    apt = shutil.which("apt-get")
    if missing and apt and os.geteuid() == 0:
        _install(apt, missing)
    if chromium_path() is None:
        sys.exit(WHERE)
    if not pooler.pgbouncers():
        sys.stderr.write(f"{pooler.WHERE}\n")


def _chinese_font() -> bool:
    """Without one, Chromium draws boxes for Chinese, and a test that looks at a page would see boxes."""
    listing = shutil.which("fc-list")
    return listing is not None and bool(
        subprocess.run([listing, ":lang=zh"], capture_output=True, check=False).stdout.strip()
    )


def _install(apt: str, packages: list[str]) -> None:
    sys.stdout.write(f"Installing {' and '.join(packages)} …\n")
    sys.stdout.flush()
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = [apt, "install", "-y", "-qq", "--no-install-recommends", *packages]
    for words in ([apt, "update", "-qq"], install):
        subprocess.run(words, env=environ, stdout=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    main()
