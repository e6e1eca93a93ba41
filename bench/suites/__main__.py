"""Run the tests with which frameworks hold their own stores to their interfaces, against our adapters and a server.

    python -m bench.suites                       all
    python -m bench.suites sessions -k pop       one, with further options of pytest

They come with the source distributions of the frameworks, at the version that is installed here, or the one below where
none is. These are fetched once into `build/suites`; KEEPSTONE_SUITES names another folder that has them unpacked.
Nothing of them is kept in the repository. What does not apply to a server is skipped, and says why: `not_ours.py`.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bench.process import Keepstone

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True, kw_only=True)
class Suite:
    package: str
    plugin: str
    files: tuple[str, ...]
    version: str | None = None  # where the package itself is not among what the tests need

    @property
    def release(self) -> str:
        return f"{self.package.replace('-', '_')}-{self.version or version(self.package)}"


SUITES = {
    "store": Suite(plugin="stores", package="langgraph-checkpoint", files=("tests/test_store.py",)),
    "store-sqlite": Suite(
        plugin="stores",
        package="langgraph-checkpoint-sqlite",
        version="3.1.2",
        files=("tests/test_store.py", "tests/test_async_store.py"),
    ),
    "store-postgres": Suite(
        plugin="stores",
        package="langgraph-checkpoint-postgres",
        version="3.2.0",
        files=("tests/test_store.py", "tests/test_async_store.py"),
    ),
    "sessions": Suite(
        plugin="sessions",
        package="openai-agents",
        files=("tests/memory/test_session.py", "tests/memory/test_session_limit.py"),
    ),
    "memory-tool": Suite(
        plugin="memory_tool", package="anthropic", files=("tests/lib/tools/memory_tools/test_filesystem.py",)
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.suites", description=__doc__)
    parser.add_argument("suite", nargs="*", choices=[*SUITES, []], help="which; all, if none is named")
    asked, options = parser.parse_known_args()
    names = asked.suite or list(SUITES)
    folder = Path(os.environ.get("KEEPSTONE_SUITES") or ROOT / "build" / "suites").resolve()
    places = {name: _fetched(SUITES[name], folder) for name in names}
    with tempfile.TemporaryDirectory(prefix="keepstone-suites-") as home:
        server = Keepstone(Path(home) / "home", KEEPSTONE_EMBEDDINGS_PROVIDER="builtin")
        server.start()
        try:
            server.wait()
            key = (server.home / "owner-key").read_text().strip()
            environ = {**os.environ, "KEEPSTONE_URL": server.url, "KEEPSTONE_API_KEY": key, "PYTHONPATH": str(ROOT)}
            failed = [name for name in names if _run(name, places[name], environ, options)]
        finally:
            server.stop()
    print(f"Failed: {', '.join(failed)}" if failed else f"Passed: {', '.join(names)}")
    return len(failed) > 0


def _fetched(suite: Suite, folder: Path) -> Path:
    place = folder / suite.release
    if not place.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"Fetching the source of {suite.release} …", flush=True)
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--disable-pip-version-check",
                "--no-deps",
                "--no-binary",
                suite.package,
                "--dest",
                str(folder),
                "==".join(suite.release.replace("_", "-").rsplit("-", 1)),
            ],
            check=True,
        )
        with tarfile.open(folder / f"{suite.release}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return place


def _run(name: str, place: Path, environ: dict[str, str], options: list[str]) -> int:
    print(f"\n{name}: {place.name}", flush=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "bench.suites.plugin",
        "-p",
        f"bench.suites.{SUITES[name].plugin}",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-c",
        str(Path(__file__).with_name("pytest.ini")),
        "--rootdir",
        str(place),
        "--noconftest",
        *SUITES[name].files,
        *options,
    ]
    return subprocess.run(command, cwd=place, env={**environ, "KEEPSTONE_SUITE": name}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
