"""Looks for the Chromium that the tests of the dashboard need. As root on Debian it installs one; else it says how."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from browser import WHERE, chromium_path


def main() -> None:
    if chromium_path() is not None:
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        sys.exit(WHERE)
    sys.stdout.write("Installing Chromium …\n")
    sys.stdout.flush()
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = [apt, "install", "-y", "-qq", "--no-install-recommends", "chromium"]
    for words in ([apt, "update", "-qq"], install):
        if subprocess.run(words, env=environ, stdout=subprocess.DEVNULL, check=False).returncode:
            sys.exit(WHERE)
    if chromium_path() is None:
        sys.exit(WHERE)


if __name__ == "__main__":
    main()
