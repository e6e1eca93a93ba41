"""The numbers of one space as arrays, a row for each of its passages. They grow by what is new.

`SpaceArrays` is written by one at a time; whoever searches holds a `View`, which nothing takes away. What a view shares
with a later one changes only in ways that do no harm: a passage is gone, or has other vectors. Whether its text may be
read, the database decides.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from keepstone.store.numbers import FOREIGN, VISIBLE, Records

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]

NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
_LEAST_ROOM = 8
_COLUMNS = ("passage", "at", "source", "session", "speaker", "answers", "chars", "length", "flags")
_EVERY_READER = sum(VISIBLE.values())


@dataclass(frozen=True, slots=True)
class Postings:
    """The terms of some of the passages: rows and frequencies of a term stand together."""

    terms: Ints  # in order, each once
    starts: Ints  # one more
    rows: Rows
    frequencies: npt.NDArray[np.int16]

    @property
    def nbytes(self) -> int:
        return self.terms.nbytes + self.starts.nbytes + self.rows.nbytes + self.frequencies.nbytes

    def of(self, term: int) -> tuple[Rows, npt.NDArray[np.int16]]:
        place = int(np.searchsorted(self.terms, term))
        if place == len(self.terms) or self.terms[place] != term:
            return NO_ROWS, self.frequencies[:0]
        start, end = self.starts[place], self.starts[place + 1]
        return self.rows[start:end], self.frequencies[start:end]


def postings(numbers: Ints, rows: Rows, frequencies: npt.NDArray[np.int16]) -> Postings:
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(ordered) else order[:0]
    return Postings(
        ordered[begins], np.append(begins, len(ordered)).astype(np.int64), rows[order], frequencies[order]
    )  # fmt: skip


def _joined(first: Postings, second: Postings) -> Postings:
    numbers = np.concatenate([np.repeat(part.terms, np.diff(part.starts)) for part in (first, second)])
    return postings(
        numbers,
        np.concatenate((first.rows, second.rows)),
        np.concatenate((first.frequencies, second.frequencies)),
    )


@dataclass(slots=True)
class PooledVectors:
    """Of one model: a byte for each dimension and what it is multiplied with (0: there is none), and the signs, a word
    of 64 of them after the other, by which the nearest are looked for first.
    """

    values: npt.NDArray[np.int8]
    scale: Floats
    signs: npt.NDArray[np.uint64]  # [words, rows]

    @classmethod
    def of(cls, dimension: int, room: int) -> "PooledVectors":
        words = -(-dimension // 64)
        return cls(
            np.zeros((room, dimension), dtype=np.int8),
            np.zeros(room, dtype=np.float32),
            np.zeros((words, room), dtype=np.uint64),
        )

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + self.scale.nbytes + self.signs.nbytes

    def grow(self, room: int) -> None:
        self.values, self.scale = _with_room(self.values, room), _with_room(self.scale, room)
        self.signs = np.ascontiguousarray(_with_room(self.signs.T, room).T)

    def put(self, rows: Rows, vectors: Floats) -> None:
        largest = np.maximum(np.abs(vectors).max(axis=1), 1e-9)
        self.values[rows] = np.rint(vectors * (127.0 / largest)[:, None]).astype(np.int8)
        self.signs[:, rows] = signs_of(vectors)
        self.scale[rows] = largest / 127.0


def signs_of(vectors: Floats) -> npt.NDArray[np.uint64]:
    """[words, rows]; what is left of the last word is 0."""
    rows, dimension = vectors.shape
    packed = np.zeros((rows, -(-dimension // 64) * 8), dtype=np.uint8)
    packed[:, : -(-dimension // 8)] = np.packbits(vectors > 0, axis=1)
    return np.ascontiguousarray(packed.view(np.uint64).T)


@dataclass(slots=True)
class TokenVectors:
    """Of one model: the packed tokens of all passages one after the other, and where those of each begin and how many
    bytes they are (-1: there are none yet).
    """

    packed: npt.NDArray[np.uint8]
    start: Ints
    size: Rows
    used: int = 0
    viewed: bool = False  # by somebody who may hold an older `packed`, in which another start means nothing

    @classmethod
    def of(cls, room: int) -> "TokenVectors":
        return cls(np.zeros(0, dtype=np.uint8), np.zeros(room, dtype=np.int64), np.full(room, -1, dtype=np.int32))

    @property
    def nbytes(self) -> int:
        return self.packed.nbytes + self.start.nbytes + self.size.nbytes

    def grow(self, room: int) -> None:
        known = len(self.size)
        self.start, self.size = _with_room(self.start, room), _with_room(self.size, room)
        self.size[known:] = -1

    def put(self, rows: Rows, sizes: Ints, packed: npt.NDArray[np.uint8]) -> None:
        more = len(packed)
        if self.viewed:
            self.start, self.size, self.viewed = self.start.copy(), self.size.copy(), False
        if self.used + more > len(self.packed):
            self.packed = _with_room(self.packed, max(self.used + more, len(self.packed) * 3 // 2))
        self.packed[self.used : self.used + more] = packed
        self.start[rows] = self.used + np.concatenate(([0], np.cumsum(sizes)[:-1]))
        self.size[rows] = sizes
        self.used += more

    def of_rows(self, rows: Rows, size: int) -> tuple[npt.NDArray[np.uint8], Ints]:
        """The tokens of these rows, of so many bytes each, and how many each row has."""
        counts = np.maximum(self.size[rows], 0).astype(np.int64) // size
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        places = np.repeat(self.start[rows] // size - (ends - counts), counts) + np.arange(total)
        return self.packed[: len(self.packed) // size * size].reshape(-1, size)[places], counts


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A space as it is searched: the first `count` rows of each array. `order` has the rows that are there, in the
    order of their time, `place` where in it each row stands. `gone` is how many rows are no more.
    """

    space: int
    version: int
    count: int
    gone: int
    readers: int  # all that any row is for
    columns: Mapping[str, npt.NDArray[Any]]
    here: Bools
    order: Rows
    place: Rows
    pooled: Mapping[int, PooledVectors]  # by set
    tokens: Mapping[int, TokenVectors]
    postings: tuple[Postings, ...]
    revised: Ints  # pairs of passages, by the older one
    speakers: Mapping[int, str]
    answering: Rows  # rows that answer something

    @property
    def foreign(self) -> Bools:
        return self.columns["flags"] & FOREIGN != 0

    def lacks(self, sets: Collection[int]) -> bool:
        """Whether a passage has a vector of none of these."""
        lacking = self.here[: self.count].copy()
        for pooled in (self.pooled[number] for number in sets if number in self.pooled):
            lacking &= pooled.scale[: self.count] == 0
        return bool(lacking.any())

    def rows_of(self, passages: npt.ArrayLike) -> Rows:
        """Those of these passages that are here."""
        wanted = np.asarray(passages, dtype=np.int64)
        numbers = self.columns["passage"]
        if not self.count or not len(wanted):
            return NO_ROWS
        rows = np.minimum(np.searchsorted(numbers, wanted), self.count - 1)
        return rows[(numbers[rows] == wanted) & self.here[rows]].astype(np.int32)


@dataclass(slots=True)
class SpaceArrays:
    """`count` rows are filled, of `room`."""

    space: int
    version: int
    count: int = 0
    columns: dict[str, npt.NDArray[Any]] = field(default_factory=dict[str, npt.NDArray[Any]])
    here: Bools = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    order: Rows = field(default_factory=lambda: NO_ROWS)
    pooled: dict[int, PooledVectors] = field(default_factory=dict[int, PooledVectors])
    tokens: dict[int, TokenVectors] = field(default_factory=dict[int, TokenVectors])
    postings: list[Postings] = field(default_factory=list[Postings])
    revised: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    speakers: dict[int, str] = field(default_factory=dict[int, str])
    answering: Rows = field(default_factory=lambda: NO_ROWS)

    @property
    def nbytes(self) -> int:
        columns = sum(column.nbytes for column in self.columns.values())
        vectors = sum(part.nbytes for part in (*self.pooled.values(), *self.tokens.values(), *self.postings))
        return columns + vectors + self.here.nbytes + 2 * self.order.nbytes + self.revised.nbytes

    @property
    def room(self) -> int:
        return len(self.here)

    def reserve(self, room: int) -> None:
        if room > self.room:
            self._grow(room)

    def append(self, records: Records) -> None:
        """Passages that are new: each number above all before it."""
        first, self.count = self.count, self.count + len(records)
        if self.count > self.room:
            self.reserve(max(self.count, self.room * 3 // 2, _LEAST_ROOM))
        for name in _COLUMNS:
            self.columns[name][first : self.count] = records[name]
        self.here[first : self.count] = True
        new = np.arange(first, self.count, dtype=np.int32)
        self.answering = np.concatenate((self.answering, new[self.columns["answers"][new] != 0]))
        self._order(new)

    def remove(self, rows: Rows) -> None:
        if len(rows):
            self.here[rows] = False
            self.order = self.order[self.here[self.order]]
            self.answering = self.answering[self.here[self.answering]]

    def rows_of(self, passages: Ints) -> Rows:
        """The row of each; -1 for one that was never here."""
        numbers = self.columns["passage"][: self.count] if self.columns else np.zeros(0, dtype=np.int64)
        if not len(numbers):
            return np.full(len(passages), -1, dtype=np.int32)
        rows = np.minimum(np.searchsorted(numbers, passages), len(numbers) - 1)
        return np.where(numbers[rows] == passages, rows, -1).astype(np.int32)

    def put_vectors(self, vector_set: int, rows: Rows, vectors: Floats) -> None:
        if not len(rows):
            return
        if vector_set not in self.pooled:
            self.pooled[vector_set] = PooledVectors.of(vectors.shape[1], self.room)
        self.pooled[vector_set].put(rows, vectors)

    def put_tokens(self, vector_set: int, rows: Rows, sizes: Ints, packed: npt.NDArray[np.uint8]) -> None:
        """`sizes` are the bytes of each row."""
        if not len(rows):
            return
        if vector_set not in self.tokens:
            self.tokens[vector_set] = TokenVectors.of(self.room)
        self.tokens[vector_set].put(rows, sizes, packed)

    def forget_vectors(self, vector_set: int, rows: Rows) -> None:
        if vector_set in self.pooled:
            self.pooled[vector_set].scale[rows] = 0.0
        if vector_set in self.tokens:
            self.tokens[vector_set].size[rows] = -1

    def add_postings(self, new: Postings) -> None:
        """The younger parts are joined as they get as large as the older ones, so that there are few."""
        if not len(new.rows):
            return
        self.postings.append(new)
        while len(self.postings) > 1 and 2 * len(self.postings[-1].rows) > len(self.postings[-2].rows):
            last = self.postings.pop()
            self.postings[-1] = _joined(self.postings[-1], last)

    def put_revised(self, older: Ints, pairs: Ints) -> None:
        """What these passages are revised by, now."""
        kept = self.revised[~np.isin(self.revised[:, 0], older)]
        every = np.concatenate((kept, pairs))
        self.revised = every[np.argsort(every[:, 0], kind="stable")]

    def view(self) -> View:
        place = np.full(self.count, -1, dtype=np.int32)
        place[self.order] = np.arange(len(self.order), dtype=np.int32)
        flags = self.columns["flags"][: self.count] if self.columns else np.zeros(0, dtype=np.int16)
        for tokens in self.tokens.values():
            tokens.viewed = True
        return View(
            space=self.space, version=self.version, count=self.count, gone=self.count - len(self.order),
            readers=int(np.bitwise_or.reduce(flags)) & _EVERY_READER if len(flags) else 0,
            columns={name: column[: self.count] for name, column in self.columns.items()},
            here=self.here[: self.count], order=self.order, place=place,
            pooled={number: PooledVectors(part.values, part.scale, part.signs) for number, part in self.pooled.items()},
            tokens={
                number: TokenVectors(part.packed, part.start, part.size) for number, part in self.tokens.items()
            },
            postings=tuple(self.postings), revised=self.revised, speakers=self.speakers,
            answering=self.answering,
        )  # fmt: skip

    def _grow(self, room: int) -> None:
        if not self.columns:
            self.columns = {
                name: np.zeros(0, dtype=np.int64 if name not in {"chars", "length", "flags"} else np.int32)
                for name in _COLUMNS
            }
        self.columns = {name: _with_room(column, room) for name, column in self.columns.items()}
        self.here = _with_room(self.here, room)
        for part in (*self.pooled.values(), *self.tokens.values()):
            part.grow(room)

    def _order(self, new: Rows) -> None:
        at = self.columns["at"]
        ordered = new[np.argsort(at[new], kind="stable")]
        before = at[self.order[-1]] if len(self.order) else None
        self.order = np.concatenate((self.order, ordered))
        if before is not None and at[ordered[0]] < before:  # something came late
            self.order = self.order[np.argsort(at[self.order], kind="stable")]


def _with_room(array: npt.NDArray[Any], room: int) -> npt.NDArray[Any]:
    larger = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
