"""Programs for Node, with the TypeScript client as it is published: packed, and unpacked where a program finds it."""

import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.npm import node, run

ROOT = Path(__file__).parent.parent
CLIENT = ROOT / "clients" / "typescript"


def node_environ(more: Mapping[str, str]) -> dict[str, str]:
    """Of a terminal in which Node is found, and nothing is said of a Keepstone but this."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KEEPSTONE_", "OPENAI_"))}
    return kept | {"PATH": node()[1], "NO_COLOR": "1"} | dict(more)


def packed(folder: Path) -> Path:
    """The package, as a file."""
    run(CLIENT, "pack", "--silent", "--ignore-scripts", "--pack-destination", str(folder), what="the TypeScript client")
    (made,) = folder.glob("*.tgz")
    return made


def install_client(folder: Path) -> None:
    """What `npm install keepstone-client ai @ai-sdk/openai-compatible` leaves in a folder, without a network."""
    place = folder / "node_modules"
    place.mkdir()
    with tarfile.open(packed(folder)) as archive:
        archive.extractall(folder, filter="data")
    (folder / "package").rename(place / "keepstone-client")
    for name in ("@ai-sdk", "@types", "ai", "undici-types"):
        (place / name).symlink_to(CLIENT / "node_modules" / name)


def run_node(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> str:
    """What it printed."""
    program = shutil.which("node", path=node()[1])
    assert program is not None
    done = subprocess.run(
        [program, *words], capture_output=True, text=True, check=False, cwd=folder, env=node_environ(environ)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_program(text: str, folder: Path, environ: Mapping[str, str]) -> str:
    (folder / "program.mjs").write_text(text)
    return run_node(["program.mjs"], folder, environ)


def check_types(programs: Mapping[str, str], folder: Path) -> None:
    """The types of the package let these programs through."""
    for name, text in programs.items():
        (folder / f"{name}.ts").write_text(text)
    options = "--noEmit --strict --skipLibCheck --target es2022 --module nodenext --types node"
    tsc = str(CLIENT / "node_modules" / "typescript" / "bin" / "tsc")
    (folder / "package.json").write_text('{"type": "module"}')
    run_node([tsc, *options.split(), *(f"{name}.ts" for name in programs)], folder, {})


def blocks_of(text: str) -> list[str]:
    return re.findall(r"^```ts\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
