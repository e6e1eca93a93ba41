"""Prints where a Postgres with the extensions citus and vector is, for `make test-citus`; else says what to do.

    python scripts/find_citus.py [FOLDER]

FOLDER is one in which `bin/pg_config` is. Without it the places are looked at where packages put Postgres. Citus is
AGPL and no part of Keepstone: whoever wants to test on it installs it.
"""

import shutil
import subprocess
import sys
from pathlib import Path

USUAL = ("usr/lib/postgresql/*", "usr/pgsql-*", "opt/homebrew/opt/postgresql@*", "usr/local/pgsql")
EXTENSIONS = ("citus", "vector")
INSTALL = (
    "Install both for one Postgres (Citus 12 or newer; packages: https://docs.citusdata.com, pgvector: "
    "docs/operations.md), then run `make test-citus CITUS=FOLDER`, with the folder in which its bin/pg_config is."
)


def main() -> None:
    named = [Path(folder).resolve() for folder in sys.argv[1:] if folder]
    folders = named or [*_on_path(), *(folder for usual in USUAL for folder in sorted(Path("/").glob(usual))[::-1])]
    if not folders:
        sys.exit(f"No Postgres is installed here. {INSTALL}")
    lacking = {folder: _lacking(folder) for folder in folders}
    found = next((folder for folder, what in lacking.items() if not what), None)
    if found is None:
        sys.exit("\n".join([*(f"{folder} lacks {what}." for folder, what in lacking.items()), INSTALL]))
    sys.stdout.write(f"{found}\n")


def _on_path() -> list[Path]:
    config = shutil.which("pg_config")
    return [Path(_said(Path(config), "--bindir")).parent] if config else []


def _lacking(folder: Path) -> str:
    """What is missing; nothing where all is there."""
    missing = [name for name in ("pg_config", "postgres", "initdb") if not (folder / "bin" / name).exists()]
    if missing:
        return " and ".join(f"bin/{name}" for name in missing)
    extensions = Path(_said(folder / "bin/pg_config", "--sharedir")) / "extension"
    return " and ".join(name for name in EXTENSIONS if not (extensions / f"{name}.control").exists())


def _said(config: Path, option: str) -> str:
    return subprocess.run([config, option], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
