"""A release is made of what fits together, and its notes say what is in it."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "release.py"
CHANGES = "# Changelog\n\n## [1.2.0] - 2026-05-04\n\n### Added\n\n- A door.\n\n## [1.1.0] - 2026-01-01\n\n- Older.\n"
FILES = {
    "src/keepstone/__init__.py": '__version__ = "1.2.0"\n',
    "clients/python/src/keepstone_client/core.py": 'VERSION = "1.2.0"\n',
    "clients/other/package.json": '{"version": "1.2.0"}\n',
    "pyproject.toml": '[project]\ndependencies = ["keepstone-client==1.2.0"]\n',
    "openapi.json": '{"info": {"version": "1.2.0"}}\n',
    "CHANGELOG.md": CHANGES,
    ".gitignore": "dist/\n",
}


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def release(task: str, root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, task, root], capture_output=True, text=True, check=False)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "all")
    return tmp_path


def test_what_fits_together_can_be_released(clone: Path) -> None:
    assert release("before", clone).returncode == 0
    git(clone, "tag", "v1.2.0")
    assert release("before", clone).returncode == 0, "the same again"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("clients/other/package.json", '{"version": "1.1.0"}', "clients/other says 1.1.0, but this is 1.2.0"),
        ("clients/python/src/keepstone_client/core.py", 'VERSION = "2"\n', "clients/python says 2"),
        ("pyproject.toml", '[project]\ndependencies = ["keepstone-client==1"]', "keepstone-client of pyproject.toml"),
        ("openapi.json", '{"info": {"version": "1"}}', "openapi.json says 1"),
        ("CHANGELOG.md", CHANGES.replace("2026-05-04", "Unreleased"), "CHANGELOG.md has no date for 1.2.0"),
        ("CHANGELOG.md", CHANGES.replace("1.2.0", "1.3.0"), "CHANGELOG.md begins with 1.3.0"),
        ("src/keepstone/new.py", "", "commit or remove ?? src/keepstone/new.py"),
    ],
)
def test_what_does_not_fit_is_named(clone: Path, name: str, text: str, said: str) -> None:
    (clone / name).write_text(text)
    refused = release("before", clone)
    assert refused.returncode == 1
    assert said in refused.stderr
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "more")
    git(clone, "tag", "v1.2.0", "HEAD^")
    assert "v1.2.0 is released already" in release("before", clone).stderr


def test_the_notes_say_what_changed_and_the_sums_are_those_of_the_files(clone: Path) -> None:
    built = clone / "dist"
    built.mkdir()
    names = [
        f"{name}-1.2.0{end}" for name in ("keepstone", "keepstone_client") for end in (".tar.gz", "-py3-none-any.whl")
    ]
    for name in names[1:]:
        (built / name).write_text(name)
    assert f"dist lacks {names[0]}" in release("after", clone).stderr
    (built / names[0]).write_text(names[0])
    (built / "keepstone-client-1.2.0.tgz").write_text("npm")
    release("after", clone)
    done = release("after", clone)  # the second time it finds its own
    assert done.returncode == 0, done.stderr
    assert "npm publish dist/keepstone-client-1.2.0.tgz" in done.stdout
    assert f"twine upload dist/{names[1]}" in done.stdout
    sums = dict(line.split("  ")[::-1] for line in (built / "SHA256SUMS").read_text().splitlines())
    assert sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in built.iterdir()
        if path.suffix in {".gz", ".whl", ".tgz"}
    }
    notes = (built / "RELEASE-NOTES.md").read_text()
    assert notes.startswith("# Keepstone 1.2.0\n\n2026-05-04\n")
    assert "- A door." in notes
    assert "Older" not in notes
    (built / "keepstone-1.1.0.tar.gz").write_text("")
    assert "dist has keepstone-1.1.0.tar.gz, which is not 1.2.0" in release("after", clone).stderr
