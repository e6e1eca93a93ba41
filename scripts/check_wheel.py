"""Opens the wheel that was just built and looks whether everything a server needs is in it."""

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "keepstone"


def main(folder: str) -> None:
    (wheel,) = Path(folder).glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        str(path.relative_to(PACKAGE.parent))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    wanted.add("keepstone/surfaces/web/static/app/index.html")
    missing = sorted(wanted - held)
    if missing:
        sys.exit(f"{wheel.name} lacks {', '.join(missing)}")
    sys.stdout.write(f"{wheel} holds all {len(wanted)} files.\n")


if __name__ == "__main__":
    main(sys.argv[1])
