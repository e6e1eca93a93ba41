"""Looks at what was just built: the wheels and the npm package hold what a server and its clients need, the source
holds what the repository does, and both wheels together, in an environment with nothing else, make a `keepstone` that
starts.
"""

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SERVER = ROOT / "src" / "keepstone"
CLIENT = ROOT / "clients" / "python" / "src" / "keepstone_client"
TYPESCRIPT = ROOT / "clients" / "typescript" / "src"
DASHBOARD = "keepstone/surfaces/web/static/app/index.html"


def main(folder: str) -> None:
    (server,), (client,) = Path(folder).glob("*.whl"), Path(folder, "client").glob("*.whl")
    (source,) = Path(folder).glob("*.tar.gz")
    _holds(server, _package(SERVER) | {DASHBOARD}, set(zipfile.ZipFile(server).namelist()))
    _holds(client, _package(CLIENT), set(zipfile.ZipFile(client).namelist()))
    (npm,) = Path(folder, "client").glob("*.tgz")
    with tarfile.open(npm) as archive:
        _holds(npm, _modules(TYPESCRIPT) | {"package/README.md"}, set(archive.getnames()))
    with tarfile.open(source) as archive:
        _holds(source, _repository(), {name.partition("/")[2] for name in archive.getnames()})
    _starts(server, client)


def _package(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder.parent))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _modules(folder: Path) -> set[str]:
    """What is made of the sources of an npm package: of each a module, and its types."""
    made = [path.relative_to(folder).with_suffix("") for path in folder.rglob("*.ts")]
    return {f"package/dist/{name}{ending}" for name in made for ending in (".js", ".d.ts")}


def _repository() -> set[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    if listed.returncode:
        sys.stdout.write("This is no clone: what the source should hold is not known.\n")
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


def _holds(built: Path, wanted: set[str], held: set[str]) -> None:
    if missing := sorted(wanted - held):
        sys.exit(f"{built.name} lacks {', '.join(missing)}")
    sys.stdout.write(f"{built} holds all {len(wanted)} files.\n")


def _starts(*wheels: Path) -> None:
    """With the packages that the lock names, so that what others released today can't fail a build."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "bin", "python")
        uv = str(Path(sys.executable).with_name("uv"))
        install = ["pip", "install", "-q", "--python", str(python), "--constraint", str(ROOT / "requirements.lock")]
        subprocess.run([uv, "venv", "-q", "--python", sys.executable, "--clear", folder], check=True)
        subprocess.run([uv, *install, *(str(wheel.resolve()) for wheel in wheels)], check=True)
        for words in (
            [str(python.with_name("keepstone")), "--version"],
            [str(python), "-c", "import keepstone_client"],
        ):
            subprocess.run(words, cwd=folder, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
