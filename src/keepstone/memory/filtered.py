"""Filters that are asked for again: which passages pass one is remembered, as numbers, until a memory of the space is
changed. For filters that go by nothing but the memories themselves, not by the time at which they are asked.
"""

from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

from keepstone.model.principal import ReadScope
from keepstone.services import Services
from keepstone.store import spaces
from keepstone.store.db import Connection

MOST = 200_000  # memories whose passages are remembered
WORTH_ALL = 20_000  # passages are looked up by one filter in the time in which all that pass it are read
_BYTES = 100  # of a number that is remembered

Passing = tuple[int, ...] | None


@dataclass(slots=True)
class _LookedUp:
    passages: int = 0


@dataclass(frozen=True, slots=True)
class RememberedFilter:
    """The two ways of `lookup.narrowed` under one filter, whoever asks. `named` gives the passages of all memories that
    pass, or None if those are more than it is told; `among` says which of these passages do.
    """

    services: Services
    key: Hashable
    version: int
    named: Callable[[Connection, int], Awaitable[Passing]]
    among: Callable[[Connection, Sequence[int]], Awaitable[Collection[int]]]

    async def passages_of(self, conn: Connection, most: int) -> Passing:
        named = partial(self.named, conn, most)
        return await self.services.views.at(("named", most, self.key), self.version, named, size=_size)

    async def passes(self, conn: Connection, passages: Sequence[int]) -> Collection[int]:
        """One by one at first; after so many of them, by the set of all that pass, which says the same."""
        views = self.services.views
        looked_up = await views.at(("looked up", self.key), self.version, _nothing_yet, size=lambda _: _BYTES)
        looked_up.passages += len(passages)
        if looked_up.passages > WORTH_ALL:
            passing = await views.at(("all", self.key), self.version, partial(self._all, conn), size=_size)
            if passing is not None:
                return passing.intersection(passages)
        return await self.among(conn, passages)

    async def _all(self, conn: Connection) -> frozenset[int] | None:
        passing = await self.named(conn, MOST)
        return None if passing is None else frozenset(passing)


async def remembered(
    services: Services, conn: Connection, scope: ReadScope, space: int, wanted: Hashable,
    named: Callable[[Connection, int], Awaitable[Passing]],
    among: Callable[[Connection, Sequence[int]], Awaitable[Collection[int]]],
) -> RememberedFilter:  # fmt: skip
    """As it holds now for memories of this space."""
    key = (scope.account, scope.spaces, scope.visibilities, space, wanted)
    return RememberedFilter(services, key, await spaces.revision(conn, space), named, among)


async def _nothing_yet() -> _LookedUp:
    return _LookedUp()


def _size(passing: Collection[int] | None) -> int:
    return _BYTES * (1 + len(passing or ()))
