"""An export as it was downloaded: a zip, the folder it was unpacked to, or one file of it. Nothing is unpacked, so a
name in a zip is a name and leads nowhere; and what would unpack to far more than any export does is not read.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from keepstone.errors import Invalid, NotFound

MOST_UNPACKED = 50  # times the size of the zip: texts come to a tenth of themselves, hardly ever to a fiftieth
FREE_UNPACKED = 64 * 1024 * 1024  # bytes that any zip may unpack to
LARGEST_DIRECTORY = 16 * 1024 * 1024  # bytes of a zip's table of contents, which is read whole: some 200,000 files
_END = b"PK\5\6"
_END64 = b"PK\6\6"


class Bundle:
    """Its files by their names, and how large they are."""

    def __init__(self, path: Path, archive: zipfile.ZipFile | None, sizes: dict[str, int]) -> None:
        self._path, self._archive, self.sizes = path, archive, sizes

    @property
    def is_zip(self) -> bool:
        return self._archive is not None

    def named(self, ending: str) -> list[str]:
        """The one file that was given, however it is called, or those with this ending."""
        if self._path.is_file() and self._archive is None:
            return [self._path.name]
        names = self.find(rf".*{re.escape(ending)}")
        if not names:
            raise Invalid(f"There is no {ending} file in {self._path.name}.")
        return names

    def time(self, name: str) -> datetime:
        """When the file was last changed. A zip says it without a zone: as if in UTC."""
        if self._archive is None:
            return datetime.fromtimestamp(self._file(name).stat().st_mtime, UTC)
        try:
            return datetime(*self._archive.getinfo(name).date_time, tzinfo=UTC)
        except ValueError:  # a month 0, as some programs write it
            return datetime.fromtimestamp(self._path.stat().st_mtime, UTC)

    def find(self, pattern: str) -> list[str]:
        """Those whose name, alone or with the folder it is in, is of this pattern; in the order of their names."""
        form = re.compile(pattern)
        return sorted(name for name in self.sizes if any(map(form.fullmatch, _tails(name))))

    def size(self, names: list[str]) -> int:
        return sum(self.sizes[name] for name in names)

    @contextmanager
    def open(self, name: str) -> Generator[IO[bytes]]:
        if self._archive is None:
            with self._file(name).open("rb") as file:
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

    def _file(self, name: str) -> Path:
        return self._path if self._path.is_file() else self._path / name


@contextmanager
def open_bundle(path: Path) -> Generator[Bundle]:
    if not path.exists():
        raise NotFound(f"There is no {path}.")
    if path.is_dir():
        yield Bundle(path, None, dict(_files(path)))
    elif zipfile.is_zipfile(path):
        try:
            _check_directory(path)
            with zipfile.ZipFile(path) as archive:
                sizes = {member.filename: member.file_size for member in archive.infolist() if member.file_size}
                if sum(sizes.values()) > FREE_UNPACKED + MOST_UNPACKED * path.stat().st_size:
                    raise Invalid(f"{path.name} unpacks to far more than an export does: it is not read.")
                yield Bundle(path, archive, sizes)
        except zipfile.BadZipFile:
            raise Invalid(f"{path.name} is a broken zip: download the export again.") from None
    else:
        yield Bundle(path, None, {path.name: path.stat().st_size})


def _tails(name: str) -> tuple[str, str]:
    """A file's name, and the same with its folder. Trying each of the folders above would take the square of a name
    that a stranger made long.
    """
    above, _, last = name.rpartition("/")
    return last, f"{above.rpartition('/')[2]}/{last}"


def _check_directory(path: Path) -> None:
    """Refuse a zip whose table of contents alone would fill the memory, before it is read."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 66_000))
        tail = file.read()
    size = 0
    end, end64 = tail.rfind(_END), tail.rfind(_END64)
    if end >= 0 and len(tail) >= end + 20:
        (size,) = struct.unpack_from("<L", tail, end + 12)
    if size == 0xFFFFFFFF and end64 >= 0 and len(tail) >= end64 + 48:
        (size,) = struct.unpack_from("<Q", tail, end64 + 40)
    if size > LARGEST_DIRECTORY:
        raise Invalid(f"{path.name} holds more files than an export does: it is not read.")


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix(), path.stat().st_size
