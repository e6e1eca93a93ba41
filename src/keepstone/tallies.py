"""Two numbers under a name, in memory that all processes of one server share: for what is counted across them.

A table has room for so many names; in a full corner of it the one with the earliest time makes room. Names are kept as
keyed digests, so nobody can aim at a corner. Whoever changes something holds the kernel's lock on the file, which a
process that dies lets go of. Nothing of it outlives the server.
"""

import fcntl
import mmap
import os
import secrets
import struct
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import blake2b

_SLOT = struct.Struct("16sdd")  # digest of the name, a count, a time
_DIGEST = 16
_CORNER = 8  # slots that a name may stand in
_KEY = 16


class Tallies:
    """A table of `capacity` names, in memory of this process alone or in a part of what processes share."""

    def __init__(self, capacity: int, memory: "SharedMemory | None" = None) -> None:
        self._ways = min(_CORNER, capacity)
        self._corners = max(1, capacity // self._ways)
        self._file, self._start = -1, 0
        if memory is None:
            self._memory: mmap.mmap | bytearray = bytearray(self.size(capacity))
            self._key = secrets.token_bytes(_KEY)
        else:
            self._file, self._memory, self._key = memory.file, memory.mapped, memory.key
            self._start = memory.take(self.size(capacity))

    @staticmethod
    def size(capacity: int) -> int:
        return _SLOT.size * (capacity + _CORNER)

    @contextmanager
    def locked(self) -> Generator[None]:
        """No other process changes the table meanwhile. Never to be held over an `await`."""
        if self._file < 0:
            yield
            return
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, self._start)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._start)

    def get(self, name: str) -> tuple[float, float] | None:
        """The count and the time under this name."""
        digest = self._digest(name)
        for place in self._places(digest):
            known, count, at = _SLOT.unpack_from(self._memory, place)
            if known == digest:
                return count, at
        return None

    def put(self, name: str, count: float, at: float) -> None:
        digest = self._digest(name)
        slots = [(*_SLOT.unpack_from(self._memory, place), place) for place in self._places(digest)]
        own = next((place for known, _, _, place in slots if known == digest), None)
        if own is None:  # an empty slot has the earliest time of all
            own = min(slots, key=lambda slot: slot[2])[3]
        _SLOT.pack_into(self._memory, own, digest, count, at)

    def _digest(self, name: str) -> bytes:
        return blake2b(name.encode(errors="surrogatepass"), digest_size=_DIGEST, key=self._key).digest()

    def _places(self, digest: bytes) -> range:
        corner = int.from_bytes(digest[:8], "little") % self._corners
        first = self._start + corner * self._ways * _SLOT.size
        return range(first, first + self._ways * _SLOT.size, _SLOT.size)


class SharedMemory:
    """What the tables of a server lie in. Its file has no name; processes inherit it or are handed it. Each takes the
    same parts in the same order.
    """

    def __init__(self, size: int, file: int | None = None) -> None:
        self.file = _nameless(size + _KEY) if file is None else file
        self.mapped = mmap.mmap(self.file, size + _KEY)
        if file is None:
            self.mapped[:_KEY] = secrets.token_bytes(_KEY)
        self.key = bytes(self.mapped[:_KEY])
        self._taken = _KEY

    def take(self, size: int) -> int:
        """Where the next part of this size begins."""
        begin, self._taken = self._taken, self._taken + size
        if self._taken > len(self.mapped):
            raise ValueError("the shared memory is too small for its tables")
        return begin


def _nameless(size: int) -> int:
    if sys.platform == "linux":
        file = os.memfd_create("keepstone")
    else:
        with tempfile.TemporaryFile() as made:
            file = os.dup(made.fileno())
    os.ftruncate(file, size)
    return file
