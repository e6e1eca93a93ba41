"""The file of a backup: frames in a row, of which none can be changed, left out or put elsewhere unnoticed.

Each frame is sealed with its number and whether it is the last, so what is cut off at any place is known to be cut
off. With a passphrase the seal is a cipher (AES-256-GCM, the key by scrypt), without one it is a checksum, which finds
damage and no forger. A frame holds a piece of the content, so neither side ever has more than that in memory.
"""

import fcntl
import hashlib
import json
import os
import struct
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from keepstone.errors import Conflict, Invalid, Misconfigured

FRAME = 1024 * 1024  # bytes of content in a frame at most
SHORTEST_PASSPHRASE = 12

_MAGIC = b"keepstone backup\n"
_LAYOUT = 1  # of the file; a reader refuses what it does not know
_CIPHER = "AES-256-GCM"
_TAG = 16  # bytes
_LAST = 1 << 31  # in the length of a frame
_LONGEST = FRAME + FRAME // 64 + 1024  # of a frame as it is written: what can't be compressed grows a little
_LONGEST_HEADER = 4096
_COST = 17  # 128 MB and a third of a second for each passphrase that is tried
_COSTLIEST = 20
_LEVEL = 1  # of compression: the rest of what it could gain takes several times as long

Seal = Callable[[bytes, int, bool], bytes]


class FrameWriter:
    """Writes the header at once, then frames; `finish` makes it whole."""

    def __init__(self, file: BinaryIO, passphrase: str | None = None, *, cost: int = _COST) -> None:
        told: dict[str, object] = {"layout": _LAYOUT, "cipher": None}
        if passphrase is not None:
            told |= {"cipher": _CIPHER, "kdf": "scrypt", "cost": cost, "salt": os.urandom(16).hex()}
        header = _MAGIC + json.dumps(told).encode() + b"\n"
        self._file, self._number = file, 0
        self._seal, _ = _seals(header, told, passphrase)
        self.bytes = file.write(header)

    def write(self, kind: bytes, content: bytes) -> None:
        """`kind` is one byte, `content` at most `FRAME` bytes."""
        if len(kind) != 1 or len(content) > FRAME:
            raise ValueError("does not fit into a frame")
        self._frame(kind, content, last=False)

    def finish(self) -> None:
        self._frame(b".", b"", last=True)
        self._file.flush()

    def _frame(self, kind: bytes, content: bytes, *, last: bool) -> None:
        sealed = self._seal(kind + zlib.compress(content, _LEVEL), self._number, last)
        self._number += 1
        self.bytes += self._file.write(struct.pack(">I", len(sealed) | (_LAST if last else 0)) + sealed)


class FrameReader:
    """Reads what `FrameWriter` wrote, and refuses anything else."""

    def __init__(self, file: BinaryIO, passphrase: str | None = None) -> None:
        self._file, self._number, self._whole = file, 0, False
        header = file.readline(len(_MAGIC))
        if header != _MAGIC:
            raise Invalid("This is no backup of Keepstone's.", code="no_backup")
        header += file.readline(_LONGEST_HEADER)
        self._encrypted = False
        self._open = self._opener(header, passphrase)

    def read(self) -> tuple[bytes, bytes] | None:
        """The next frame; None after the last, when the whole file was read and is in order."""
        if self._whole:
            return None
        length, last = self._length()
        try:
            opened = self._open(self._exactly(length), self._number, last)
        except InvalidTag:
            if self._encrypted and self._number == 0:
                raise Invalid("The passphrase is not that of this backup, or it is damaged.", code="sealed") from None
            raise _damaged() from None
        self._number += 1
        if last:
            if self._file.read(1):
                raise _damaged()
            self._whole = True
            return None
        return opened[:1], _inflate(opened[1:])

    def _opener(self, header: bytes, passphrase: str | None) -> Seal:
        try:
            told = json.loads(header[len(_MAGIC) :])
        except ValueError:
            raise _damaged() from None
        if not isinstance(told, dict) or not header.endswith(b"\n"):
            raise _damaged()
        told = cast("dict[str, object]", told)
        if told.get("layout") != _LAYOUT or told.get("cipher") not in {None, _CIPHER}:
            raise Invalid("This backup was made by a newer Keepstone: restore it with that one.", code="newer_backup")
        self._encrypted = told["cipher"] is not None
        if self._encrypted and passphrase is None:
            raise Misconfigured(
                "This backup is encrypted: name the file with its passphrase (--passphrase-file), or set "
                "KEEPSTONE_BACKUP_PASSPHRASE."
            )
        if not self._encrypted and passphrase is not None:
            raise Misconfigured(
                "A passphrase was given, and this backup is not encrypted: anybody may have made it. If it is the one "
                "you mean, leave the passphrase out."
            )
        return _seals(header, told, passphrase)[1]

    def _length(self) -> tuple[int, bool]:
        (told,) = struct.unpack(">I", self._exactly(4))
        length = told & ~_LAST
        if not _TAG < length <= _LONGEST:
            raise _damaged()
        return length, bool(told & _LAST)

    def _exactly(self, number: int) -> bytes:
        """A pipe gives what it has; a file that was cut off has less."""
        pieces: list[bytes] = []
        while number:
            piece = self._file.read(number)
            if not piece:
                raise Invalid(
                    "This backup was cut off: its end is missing. Use another, or copy it once more from where it is "
                    "whole.",
                    code="cut_off",
                )
            pieces.append(piece)
            number -= len(piece)
        return b"".join(pieces)


@contextmanager
def written_whole(path: Path) -> Generator[BinaryIO]:
    """A private file that gets its name when it is whole and on the disk; until then it is `path` with `.part`.

    What one that was killed has left is written over by the next. Of two at once, the second is refused.
    """
    part = path.with_name(path.name + ".part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as fault:
        raise Misconfigured(f"{path} can't be written ({fault.strerror}): name another file.") from None
    with os.fdopen(handle, "wb") as file:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"Another backup to {path} is under way: wait for it, or name another file.") from None
        if not (part.exists() and os.path.samestat(part.stat(), os.fstat(handle))):
            raise Conflict(f"Another backup to {path} has just ended: begin again.")  # this is that file, with its name
        try:
            os.fchmod(handle, 0o600)
            os.ftruncate(handle, 0)
            yield file
            file.flush()
            os.fsync(handle)
            part.rename(path)
        except BaseException as fault:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            if isinstance(fault, OSError):
                raise Misconfigured(f"{path} can't be written ({fault.strerror}). Nothing of it was kept.") from None
            raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """What was renamed in it keeps its name after a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _seals(header: bytes, told: dict[str, object], passphrase: str | None) -> tuple[Seal, Seal]:
    """How frames of this header are sealed, and how they are opened."""
    if passphrase is None:
        return _checked(header)
    cost, salt = told.get("cost"), told.get("salt")
    if not isinstance(cost, int) or not 1 <= cost <= _COSTLIEST or not isinstance(salt, str):
        raise _damaged()
    try:
        derived = Scrypt(salt=bytes.fromhex(salt), length=32, n=1 << cost, r=8, p=1).derive(passphrase.encode())
    except ValueError:
        raise _damaged() from None
    cipher = AESGCM(derived)  # of this file alone, because of its salt; so a number is never used twice

    def seal(content: bytes, number: int, last: bool) -> bytes:
        return cipher.encrypt(_nonce(number, last=last), content, header)

    def unseal(sealed: bytes, number: int, last: bool) -> bytes:
        return cipher.decrypt(_nonce(number, last=last), sealed, header)

    return seal, unseal


def _checked(header: bytes) -> tuple[Seal, Seal]:
    def sum_of(content: bytes, number: int, *, last: bool) -> bytes:
        key = hashlib.blake2b(header + _nonce(number, last=last), digest_size=32).digest()
        return hashlib.blake2b(content, key=key, digest_size=_TAG).digest()

    def seal(content: bytes, number: int, last: bool) -> bytes:
        return content + sum_of(content, number, last=last)

    def unseal(sealed: bytes, number: int, last: bool) -> bytes:
        if sum_of(sealed[:-_TAG], number, last=last) != sealed[-_TAG:]:
            raise InvalidTag
        return sealed[:-_TAG]

    return seal, unseal


def _nonce(number: int, *, last: bool) -> bytes:
    return struct.pack(">QI", number, last)


def _inflate(compressed: bytes) -> bytes:
    inflating = zlib.decompressobj()
    try:
        content = inflating.decompress(compressed, FRAME + 1)
    except zlib.error:
        raise _damaged() from None
    if len(content) > FRAME or not inflating.eof:
        raise _damaged()
    return content


def _damaged() -> Invalid:
    return Invalid("This backup is damaged: nothing of it was used. Take another.", code="damaged")
