"""Reads a space's numbers into arrays: all of them once, and after that what has changed. A slice at a time, so that
neither the event loop nor a connection is held for long.
"""

import asyncio
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from keepstone.model.principal import ReadScope
from keepstone.resident.arrays import Floats, Ints, SpaceArrays, postings
from keepstone.store import changes, numbers
from keepstone.store.candidates import SpaceVersion
from keepstone.store.db import Database

_PASSAGES = 5_000
_VECTORS = 2_000
_TERMS = 5_000

Packed = npt.NDArray[np.uint8]


async def read_whole(db: Database, scope: ReadScope, wanted: SpaceVersion, sets: Iterable[int]) -> SpaceArrays:
    """As it was at this version or later: what changed meanwhile is still to be looked at."""
    space = wanted.space
    arrays = SpaceArrays(space, wanted.version)
    arrays.reserve(wanted.passages)
    last = 0
    while True:
        async with db.transaction(scope) as conn:
            records = await numbers.passages(conn, space, after=last, most=_PASSAGES)
        if len(records):
            arrays.append(records)
            last = int(records["passage"][-1])
        if len(records) < _PASSAGES:
            break
    for vector_set in sets:
        await _all_vectors(db, scope, arrays, vector_set)
    term: str | None = ""
    parts = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int16))]
    while term is not None:
        async with db.transaction(scope) as conn:
            term, part = await numbers.all_postings(conn, space, after=term, most=_TERMS)
        parts.append(part)
    async with db.transaction(scope) as conn:
        arrays.speakers |= await numbers.speakers(conn, space, None)
        arrays.revised = await numbers.revisions(conn, space, None)
    arrays.put_revised(arrays.revised[:0, 0], arrays.revised[:0])
    await asyncio.to_thread(_put_postings, arrays, *(np.concatenate(column) for column in zip(*parts, strict=True)))
    return arrays


async def read_changes(db: Database, scope: ReadScope, arrays: SpaceArrays, sets: Iterable[int]) -> bool:
    """Bring the arrays to the version that the space has now; false where that can't be done."""
    async with db.transaction(scope) as conn:
        known = await changes.since(conn, arrays.space, arrays.version)
        if known is None:
            return False
        version, changed = known
        for start in range(0, len(changed), _VECTORS):
            these = np.array(changed[start : start + _VECTORS], dtype=np.int64)
            records = await numbers.passages(conn, arrays.space, these=these.tolist())
            rows = arrays.rows_of(these)
            arrays.remove(rows[(rows >= 0) & ~np.isin(these, records["passage"])])
            new = records[arrays.rows_of(records["passage"].astype(np.int64)) < 0]
            if len(new):
                if arrays.count and int(new["passage"][0]) < int(arrays.columns["passage"][arrays.count - 1]):
                    return False
                arrays.append(new)
                read = new["passage"].astype(np.int64)
                _put_postings(arrays, *await numbers.postings(conn, arrays.space, these=read.tolist()))
                if not np.isin(new["speaker"], [0, *arrays.speakers]).all():
                    arrays.speakers |= await numbers.speakers(conn, arrays.space, read.tolist())
            left = records["passage"].tolist()
            for vector_set in sets if left else ():
                passages, vectors = await numbers.vectors(conn, arrays.space, vector_set, these=left)
                _put_vectors(arrays, vector_set, passages, vectors)
                _put_tokens(arrays, vector_set, *await numbers.tokens(conn, arrays.space, vector_set, these=left))
                # Only now, and only of those that have none: whoever searches meanwhile would miss the others.
                arrays.forget_vectors(vector_set, arrays.rows_of(np.setdiff1d(left, passages)))
            arrays.put_revised(these, await numbers.revisions(conn, arrays.space, these.tolist()))
    arrays.version = version
    return True


async def _all_vectors(db: Database, scope: ReadScope, arrays: SpaceArrays, vector_set: int) -> None:
    last, more = 0, True
    while more:
        async with db.transaction(scope) as conn:
            passages, vectors = await numbers.vectors(conn, arrays.space, vector_set, after=last, most=_VECTORS)
        _put_vectors(arrays, vector_set, passages, vectors)
        last, more = int(passages[-1]) if len(passages) else last, len(passages) == _VECTORS
        await asyncio.sleep(0)
    last, more = 0, vector_set in arrays.pooled
    while more:
        async with db.transaction(scope) as conn:
            passages, sizes, packed = await numbers.tokens(conn, arrays.space, vector_set, after=last, most=_PASSAGES)
        _put_tokens(arrays, vector_set, passages, sizes, packed)
        last, more = int(passages[-1]) if len(passages) else last, len(passages) == _PASSAGES


def _put_vectors(arrays: SpaceArrays, vector_set: int, passages: Ints, vectors: Floats) -> None:
    rows = arrays.rows_of(passages)
    arrays.put_vectors(vector_set, rows[rows >= 0], vectors[rows >= 0])


def _put_tokens(arrays: SpaceArrays, vector_set: int, passages: Ints, sizes: Ints, packed: Packed) -> None:
    rows = arrays.rows_of(passages)
    here = rows >= 0
    arrays.put_tokens(vector_set, rows[here], sizes[here], packed if here.all() else packed[np.repeat(here, sizes)])


def _put_postings(arrays: SpaceArrays, terms: Ints, passages: Ints, frequencies: npt.NDArray[np.int16]) -> None:
    rows = arrays.rows_of(passages)
    here = rows >= 0
    arrays.add_postings(postings(terms[here], rows[here], frequencies[here]))
