"""Opens the wheel that was just built and looks whether everything a server needs is in it."""

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = (ROOT / "src" / "cairn", ROOT / "clients" / "python" / "src" / "cairn_client")


def main(folder: str) -> None:
    (wheel,) = Path(folder).glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        str(path.relative_to(package.parent))
        for package in PACKAGES
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    wanted.add("cairn/surfaces/web/static/app/index.html")
    missing = sorted(wanted - held)
    if missing:
        sys.exit(f"{wheel.name} lacks {', '.join(missing)}")
    sys.stdout.write(f"{wheel} holds all {len(wanted)} files.\n")


if __name__ == "__main__":
    main(sys.argv[1])
