"""An export as it was downloaded: a zip, the folder it was unpacked to, or one file of it. Nothing is unpacked."""

import re
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from keepstone.errors import Invalid, NotFound
from keepstone.importers.items import Reading


class Bundle:
    """Its files by their names, and how large they are."""

    def __init__(self, path: Path, archive: zipfile.ZipFile | None, sizes: dict[str, int]) -> None:
        self._path, self._archive, self.sizes = path, archive, sizes

    def find(self, pattern: str) -> list[str]:
        """Those whose name, in whatever folder, is of this pattern; in the order of their names."""
        return sorted(name for name in self.sizes if re.fullmatch(rf"(?:.*/)?(?:{pattern})", name))

    def size(self, names: list[str]) -> int:
        return sum(self.sizes[name] for name in names)

    @contextmanager
    def open(self, name: str) -> Generator[IO[bytes]]:
        if self._archive is None:
            path = self._path if self._path.is_file() else self._path / name
            with path.open("rb") as file:
                yield file
            return
        try:
            opened = self._archive.open(name)
        except (RuntimeError, NotImplementedError) as fault:  # a password, or a compression of tomorrow
            raise Invalid(f"{name} in {self._path.name} can't be opened: {fault}.") from None
        try:
            with opened:
                yield opened
        except (zipfile.BadZipFile, zlib.error, EOFError) as fault:
            raise Invalid(f"{name} in {self._path.name} can't be read ({fault}): download the export again.") from None


@contextmanager
def open_bundle(path: Path) -> Generator[Bundle]:
    if not path.exists():
        raise NotFound(f"There is no {path}.")
    if path.is_dir():
        yield Bundle(path, None, dict(_files(path)))
    elif zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                yield Bundle(
                    path,
                    archive,
                    {member.filename: member.file_size for member in archive.infolist() if member.file_size},
                )
        except zipfile.BadZipFile:
            raise Invalid(f"{path.name} is a broken zip: download the export again.") from None
    else:
        yield Bundle(path, None, {path.name: path.stat().st_size})


def files_with(ending: str, reading: Reading) -> list[Path]:
    """The one file that was named, or those of the folder with this ending."""
    path = reading.file
    if not path.exists():
        raise NotFound(f"There is no {path}.")
    files = sorted(path.rglob(f"*{ending}")) if path.is_dir() else [path]
    if not files:
        raise Invalid(f"There is no {ending} file in {path}.")
    reading.gauge.total = sum(file.stat().st_size for file in files)
    return files


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix(), path.stat().st_size
