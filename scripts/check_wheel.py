"""Looks at what was just built: the wheels and the npm package hold what a server and its clients need, the source
holds what the repository does, the metadata is in order, and both wheels together, in an environment with nothing else,
make a server that answers by meaning, shows its dashboard and stops.

With further names, such as `python3.13`, the last is tried with each of these.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

from packaging.metadata import Metadata

ROOT = Path(__file__).parent.parent
SERVER = ROOT / "src" / "keepstone"
CLIENT = ROOT / "clients" / "python" / "src" / "keepstone_client"
TYPESCRIPT = ROOT / "clients" / "typescript" / "src"
DASHBOARD = "keepstone/surfaces/web/static/app/index.html"
INGEST = {"scope_id": "team", "transcript": [{"speaker": "Ben", "text": "Our puppy Luna loves the new garden."}]}
RECALL = {"scope_id": "team", "message": {"speaker": "Cleo", "text": "What pet does Ben have?"}}
ATTEMPTS = 300  # of a recall, each answered at once or nearly, until what was just said is found by meaning


def main(folder: str, *pythons: str) -> None:
    (server,), (client,) = (list(Path(folder).glob(f"{name}-*.whl")) for name in ("keepstone", "keepstone_client"))
    (source,), (of_client,) = (list(Path(folder).glob(f"{name}-*.gz")) for name in ("keepstone", "keepstone_client"))
    _holds(server, _package(SERVER) | {DASHBOARD}, set(zipfile.ZipFile(server).namelist()))
    _holds(client, _package(CLIENT), set(zipfile.ZipFile(client).namelist()))
    _holds(source, _repository(), _archived(source))
    _holds(of_client, _package(CLIENT, "src/"), _archived(of_client))
    (npm,) = Path(folder).glob("*.tgz")
    with tarfile.open(npm) as archive:
        _holds(npm, _modules(TYPESCRIPT) | {"package/README.md"}, set(archive.getnames()))
    for wheel in (server, client):
        _described(wheel)
    for python in pythons or (sys.executable,):
        _serves(python, server, client)


def _package(folder: Path, before: str = "") -> set[str]:
    return {
        before + str(path.relative_to(folder.parent))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _archived(source: Path) -> set[str]:
    with tarfile.open(source) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def _modules(folder: Path) -> set[str]:
    """What is made of the sources of an npm package: of each a module, and its types."""
    made = [path.relative_to(folder).with_suffix("") for path in folder.rglob("*.ts")]
    return {f"package/dist/{name}{ending}" for name in made for ending in (".js", ".d.ts")}


def _repository() -> set[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    if listed.returncode:
        _say("This is no clone: what the source should hold is not known.")
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


def _holds(built: Path, wanted: set[str], held: set[str]) -> None:
    if missing := sorted(wanted - held):
        sys.exit(f"{built.name} lacks {', '.join(missing)}")
    _say(f"{built} holds all {len(wanted)} files.")


def _described(wheel: Path) -> None:
    """What an index shows, and would refuse if it were wrong."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        said = Metadata.from_email(archive.read(name), validate=True)
    if not (said.description and said.description_content_type == "text/markdown" and said.license_expression):
        sys.exit(f"{wheel.name} has no description in Markdown, or no licence.")


def _serves(base: str, *wheels: Path) -> None:
    """With the packages that the lock names, so that what others released today can't fail a build."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "bin", "python")
        uv = str(Path(sys.executable).with_name("uv"))
        install = ["pip", "install", "-q", "--python", str(python), "--constraint", str(ROOT / "requirements.lock")]
        subprocess.run([uv, "venv", "-q", "--python", base, "--clear", folder], check=True)
        subprocess.run([uv, *install, *(str(wheel.resolve()) for wheel in wheels)], check=True)
        home = Path(folder, "home")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("KEEPSTONE_", "PYTHON"))}
        environ |= {
            "KEEPSTONE_HOME": str(home),
            "KEEPSTONE_LOG_LEVEL": "warning",
            "PIP_NO_INDEX": "1",
            "PYTHONUNBUFFERED": "1",
        }
        keepstone = str(python.with_name("keepstone"))
        subprocess.run([str(python), "-c", "import keepstone_client"], cwd=folder, check=True)
        server = subprocess.Popen(
            [keepstone, "serve", "--port", "0"], cwd=folder, env=environ, stdout=subprocess.PIPE, text=True
        )
        try:
            _answers(server, home)
            subprocess.run([keepstone, "doctor"], cwd=folder, env=environ, stdout=subprocess.DEVNULL, check=True)
            server.send_signal(signal.SIGINT)
            if server.wait(timeout=60):
                sys.exit("The server of the wheel did not stop as it should, see above.")
        finally:
            server.kill()
            server.wait()
        version = subprocess.run([str(python), "-V"], capture_output=True, text=True, check=True).stdout.strip()
        _say(f"The wheels serve with {version}.")


def _answers(server: subprocess.Popen[str], home: Path) -> None:
    found = (re.search(r"running at (\S+)", line) for line in server.stdout or ())
    url = next((match[1] for match in found if match), None)
    if url is None:
        sys.exit("The server of the wheel did not start, see above.")
    key = (home / "owner-key").read_text().strip()
    _call(url + "/v1/ingest", key, INGEST)
    answers = (json.loads(_call(url + "/v1/recall", key, RECALL)) for _ in range(ATTEMPTS))
    if not any(not answer["degraded"] and "puppy" in answer["context"] for answer in answers):
        sys.exit("The server of the wheel does not find by meaning.")
    page = _call(url + "/dashboard", key).decode()
    scripts = re.findall(r'src="(/static/app/[^"]+\.js)"', page)
    if not scripts or not all(_call(url + script, key) for script in scripts):
        sys.exit("The server of the wheel has no dashboard.")


def _call(url: str, key: str, body: dict[str, Any] | None = None) -> bytes:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, data, headers), timeout=60) as answer:  # noqa: S310  our own server
        return answer.read()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
