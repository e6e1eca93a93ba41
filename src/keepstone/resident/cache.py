"""Which spaces stand in memory: those that are being asked, within bounds, the least recently asked out first.

What nobody asks for an hour goes, too: nothing of a space that was erased stays for longer.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from keepstone.model.principal import ReadScope
from keepstone.observe.logs import describe
from keepstone.observe.metrics import Metrics
from keepstone.resident.arrays import SpaceArrays, View
from keepstone.resident.files import SpaceFiles
from keepstone.resident.reading import read_changes, read_whole
from keepstone.store.candidates import SpaceVersion, Survey
from keepstone.store.db import Database

log = logging.getLogger(__name__)

BYTES_EACH = 1_500  # that a passage takes, about
IDLE = 3600  # seconds
WAITED_FOR = 20_000  # passages: a space of more is read while it is searched in the database


@dataclass(slots=True)
class Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    arrays: SpaceArrays | None = None
    view: View | None = None
    sets: frozenset[int] = frozenset()
    reading: asyncio.Task[None] | None = None
    asked: float = 0.0  # when it last was, on the machine's own clock

    def fresh(self, wanted: SpaceVersion, sets: frozenset[int]) -> View | None:
        """The view, if it knows everything that the space had then."""
        view = self.view
        return view if view is not None and view.version >= wanted.version and self.sets == sets else None


class ResidentSpaces:
    """Of one process."""

    def __init__(
        self, most_bytes: int, metrics: Metrics, files: SpaceFiles | None = None, *, waited_for: int = WAITED_FOR
    ) -> None:
        """`files`: where other processes on this machine find what this one has read of large spaces."""
        self._most, self._metrics, self._files, self._waited_for = most_bytes, metrics, files, waited_for
        self._entries: dict[tuple[int, int], Entry] = {}  # the last asked last
        self._later: asyncio.TimerHandle | None = None

    def forget_old(self) -> None:
        """Of large spaces what was written down so long ago that it is of no use."""
        if self._files is not None:
            self._files.forget_old()

    def forget_idle(self, before: float) -> None:
        """Those that were last asked before that, by the machine's own clock."""
        for key, entry in list(self._entries.items()):
            if entry.asked < before and not entry.lock.locked():
                del self._entries[key]
        self._measure()

    async def close(self) -> None:
        if self._later is not None:
            self._later.cancel()
        reading = [entry.reading for entry in self._entries.values() if entry.reading is not None]
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)

    def at_hand(self, account: int, space: int) -> View | None:
        """What stands in memory of the space, as it was once; nothing is read for that."""
        entry = self._entries.get((account, space))
        return entry.view if entry is not None else None

    async def views(
        self, db: Database, scope: ReadScope, size: Survey, *, waiting: bool = False
    ) -> Sequence[View] | None:
        """All of the surveyed spaces that have something to find, as they are now or were when they were surveyed;
        None where one of them is not in memory: too large for it, or still being read, unless the caller is `waiting`
        for that. `scope` reaches all that is in them; what the caller may see of it is for the search.
        """
        if not self._most:
            return None
        views: list[View] = []
        for wanted in size.versions:
            if wanted.passages:
                view = await self._view(db, scope, wanted, frozenset(size.sets.values()), waiting=waiting)
                if view is None:
                    return None
                views.append(view)
        return views

    async def _view(
        self, db: Database, scope: ReadScope, wanted: SpaceVersion, sets: frozenset[int], *, waiting: bool
    ) -> View | None:  # fmt: skip
        key = (scope.account, wanted.space)
        entry = self._entries.pop(key, None) or Entry()
        self._entries[key] = entry
        entry.asked = time.monotonic()
        self._look_later()
        view = entry.fresh(wanted, sets)
        if view is not None:
            self._metrics.resident.labels("memory").inc()
            return view
        if wanted.passages * BYTES_EACH > self._most:
            self._metrics.resident.labels("database").inc()
            return None
        if entry.arrays is None and wanted.passages > self._waited_for and not waiting:
            if entry.reading is None:
                entry.reading = asyncio.create_task(self._read(db, scope, entry, wanted, sets))
            self._metrics.resident.labels("database").inc()
            return None
        await self._read(db, scope, entry, wanted, sets)
        self._metrics.resident.labels("memory" if entry.view else "database").inc()
        return entry.view

    async def _read(
        self, db: Database, scope: ReadScope, entry: Entry, wanted: SpaceVersion, sets: frozenset[int]
    ) -> None:
        async with entry.lock:
            try:
                if entry.fresh(wanted, sets) is not None:
                    return
                arrays = entry.arrays if entry.sets == sets else None
                if arrays is None or not await read_changes(db, scope, arrays, sets):
                    entry.arrays = entry.view = None
                    arrays = await self._whole(db, scope, wanted, sets)
                    if arrays is None or not await read_changes(db, scope, arrays, sets):
                        return  # another process reads it, or it took so long that what changed meanwhile is forgotten
                entry.arrays, entry.sets, entry.view = arrays, sets, arrays.view()
            except BaseException:
                entry.arrays = entry.view = None  # half of a change is worse than none
                raise
            finally:
                entry.reading = None
        self._make_room(entry)

    async def _whole(
        self, db: Database, scope: ReadScope, wanted: SpaceVersion, sets: frozenset[int]
    ) -> SpaceArrays | None:
        """All of it; of a large one what is written down, or else read and written down. None while another process
        does that.
        """
        if self._files is None or wanted.passages <= self._waited_for:
            return await read_whole(db, scope, wanted, sets)
        files, account = self._files, scope.account
        with files.alone(account, wanted.space) as alone:
            if not alone:
                return None
            known = await asyncio.to_thread(files.load, account, wanted.space, sets)
            if known is not None and await read_changes(db, scope, known, sets):
                return known
            read = await read_whole(db, scope, wanted, sets)
            try:
                await asyncio.to_thread(files.save, account, read, sets)
            except OSError as fault:  # no room on the disk: it stands in this process alone
                log.warning("space not shared", extra=describe(fault))
                return read
            return await asyncio.to_thread(files.load, account, wanted.space, sets) or read

    def _make_room(self, but_for: Entry) -> None:
        used = sum(entry.arrays.nbytes for entry in self._entries.values() if entry.arrays is not None)
        for key, entry in list(self._entries.items()):
            if used <= self._most:
                break
            if entry is not but_for and not entry.lock.locked():
                del self._entries[key]
                used -= entry.arrays.nbytes if entry.arrays is not None else 0
        self._measure()

    def _measure(self) -> None:
        kept = [entry.arrays.nbytes for entry in self._entries.values() if entry.arrays is not None]
        self._metrics.resident_bytes.set(sum(kept))
        self._metrics.resident_spaces.set(len(kept))

    def _look_later(self) -> None:
        """In a while for what nobody asks any more, as long as there is something."""
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(IDLE, self._look)

    def _look(self) -> None:
        self._later = None
        self.forget_idle(time.monotonic() - IDLE)
        if self._entries:
            self._look_later()
