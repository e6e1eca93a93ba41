"""How much room is left on the disk of the data folder, and whether more may be written to it.

A Postgres whose disk is full stops, and takes reads with it. So some of the disk is kept back: below that, what would
write is refused while everything else goes on. Looked at no more than once a second.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from keepstone.errors import DiskFull

_MB = 1024**2
LEAST, MOST = 200 * _MB, 5 * 1024 * _MB  # of what is kept back, unless the operator says how much
_SHARE = 50  # one of so many parts
_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSpace:
    """In bytes; `reserve` is what is kept back."""

    free: int
    total: int
    reserve: int

    @property
    def state(self) -> Literal["ok", "low", "full"]:
        """`low` comes before `full`: time to make room."""
        return "full" if self.free < self.reserve else "low" if self.free < 2 * self.reserve else "ok"


def free_and_total(folder: Path) -> tuple[int, int]:
    """Of the disk that this folder is on, or will be."""
    place = next(path for path in (folder, *folder.parents) if path.exists())
    usage = shutil.disk_usage(place)
    return usage.free, usage.total


class Disk:
    def __init__(
        self,
        folder: Path,
        reserve: int | None = None,
        *,
        ours: bool = True,
        probe: Callable[[Path], tuple[int, int]] = free_and_total,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`reserve` is how much is kept back; None: as much as the disk's size suggests. Where the database is not
        `ours`, its disk is somewhere else, and it says itself when that is full.
        """
        self._folder, self._reserve, self._ours = folder, reserve, ours
        self._probe, self._clock = probe, clock
        self._seen: tuple[float, DiskSpace] | None = None

    def look(self) -> DiskSpace | None:
        """None where it can't be known from here."""
        if not self._ours:
            return None
        now = self._clock()
        if self._seen is None or now - self._seen[0] >= _SECONDS:
            free, total = self._probe(self._folder)
            reserve = min(max(LEAST, total // _SHARE), MOST) if self._reserve is None else self._reserve
            self._seen = now, DiskSpace(free=free, total=total, reserve=reserve)
        return self._seen[1]

    def require_room(self) -> None:
        """Refuse to write while too little is left."""
        space = self.look()
        if space is not None and space.state == "full":
            raise disk_full(details={"free_bytes": space.free, "reserve_bytes": space.reserve})


def disk_full(details: dict[str, int] | None = None) -> DiskFull:
    return DiskFull(
        "The disk of this server is nearly full, so nothing more is stored: delete something, or tell whoever runs it. "
        "Reading goes on.",
        details=details,
        retry_after=60,
    )
