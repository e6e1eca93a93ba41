"""What a release needs besides the tests and the build; `make release` runs all of it. Nothing is uploaded.

`before` looks whether there is something to release: a clean tree, in which everything names one version, and a
changelog that describes it under a date. `after` writes the notes and the checksums beside what was built, and says how
to publish.
"""

import datetime
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
NOTES, SUMS = "RELEASE-NOTES.md", "SHA256SUMS"


def main(task: str, folder: str = str(ROOT)) -> None:
    root = Path(folder)
    if task == "before":
        _before(root)
    else:
        _after(root)


def _before(root: Path) -> None:
    faults = list(_faults(root))
    if faults:
        sys.exit("This is not ready to be released:\n" + "\n".join(f"- {fault}" for fault in faults))
    _say(f"Releasing Keepstone {_version(root)}.")


def _faults(root: Path) -> list[str]:
    version = _version(root)
    faults = [
        f"{place} says {said}, but this is {version}" for place, said in _versions(root).items() if said != version
    ]
    heading, _ = _described(root)
    if heading != version:
        faults.append(f"CHANGELOG.md begins with {heading or 'no version'}: describe {version} above it")
    elif not _date(root):
        faults.append(f"CHANGELOG.md has no date for {version}: `## [{version}] - {datetime.date.today()}`")
    if changed := _git(root, "status", "--porcelain"):
        faults.append(f"git has not everything: commit or remove {', '.join(changed.split(chr(10)))}")
    tagged = _git(root, "tag", "--list", f"v{version}")
    if tagged and _git(root, "rev-parse", f"{tagged}^{{commit}}") != _git(root, "rev-parse", "HEAD"):
        faults.append(f"{tagged} is released already: choose another version")
    return faults


def _version(root: Path) -> str:
    return _said(root / "src/keepstone/__init__.py", r'^__version__ = "(.+)"$')


def _versions(root: Path) -> dict[str, str]:
    """Where else it stands: the clients, what the server asks of its own, and the description of the API."""
    wanted = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    client = next((name for name in wanted if name.startswith("keepstone-client")), "")
    return {
        "clients/python": _said(root / "clients/python/src/keepstone_client/core.py", r'^VERSION = "(.+)"$'),
        "the keepstone-client of pyproject.toml": client.partition("==")[2] or client or "nothing",
        "openapi.json": json.loads((root / "openapi.json").read_text())["info"]["version"],
        **{
            str(package.parent.relative_to(root)): json.loads(package.read_text())["version"]
            for package in sorted(root.glob("clients/*/package.json"))
        },
    }


def _said(path: Path, pattern: str) -> str:
    found = re.search(pattern, path.read_text(), re.MULTILINE)
    return found[1] if found else "nothing"


def _described(root: Path) -> tuple[str, str]:
    """The newest version of the changelog, and what is written under it."""
    sections = re.split(r"^## \[(.+?)\].*\n", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    return (sections[1], sections[2].strip()) if len(sections) > 2 else ("", "")


def _date(root: Path) -> str:
    said = _said(root / "CHANGELOG.md", rf"^## \[{re.escape(_version(root))}\] - (\S+)$")
    try:
        return str(datetime.date.fromisoformat(said))
    except ValueError:
        return ""


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)  # noqa: S607
    if done.returncode:
        sys.exit(f"A release is made in a clone: `git {' '.join(words)}` says {done.stderr.strip()}")
    return done.stdout.strip()


def _after(root: Path) -> None:
    version, built = _version(root), root / "dist"
    files = sorted(path for path in built.iterdir() if path.name not in {NOTES, SUMS})
    wanted = {
        f"{name}-{version}{end}"
        for name in ("keepstone", "keepstone_client")
        for end in (".tar.gz", "-py3-none-any.whl")
    }
    if missing := sorted(wanted - {path.name for path in files}):
        sys.exit(f"dist lacks {', '.join(missing)}: run `make build`")
    if other := [path.name for path in files if version not in path.name]:
        sys.exit(f"dist has {', '.join(other)}, which is not {version}: run `make build`")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (built / SUMS).write_text("".join(sums))
    _, changes = _described(root)
    (built / NOTES).write_text(
        f"# Keepstone {version}\n\n{_date(root)}\n\n```sh\npip install keepstone=={version}\nkeepstone serve\n```\n\n"
        f"{changes}\n\n## Checksums\n\n```\n{''.join(sums)}```\n"
    )
    python = " ".join(f"dist/{path.name}" for path in files if path.suffix in {".whl", ".gz"})
    _say(f"\ndist has Keepstone {version}, {NOTES} and {SUMS}. Nothing was uploaded. To publish it:\n")
    _say(f"  git tag -a v{version} -m 'Keepstone {version}' && git push origin v{version}")
    _say(f"  uvx twine upload {python}")
    for package in (path for path in files if path.suffix == ".tgz"):
        _say(f"  npm publish dist/{package.name}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
