"""Columns for `unnest`, in the form in which Postgres itself sends arrays: made and read far quicker than text."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Any

import numpy as np
import psycopg
from numpy.typing import ArrayLike, NDArray
from psycopg.abc import PyFormat
from psycopg.adapt import Dumper
from psycopg.pq import Format

_HEAD = Struct(">iiIii")  # dimensions, whether there are nulls, the type of the elements, how many, the first index
_LENGTH = Struct(">i").pack
_NULL = _LENGTH(-1)
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EMPTY_JSON = b"\x01{}"


@dataclass(frozen=True, slots=True)
class Column:
    """An array and its type, by its number."""

    oid: int
    data: bytes


class _ColumnDumper(Dumper):
    format = Format.BINARY

    def get_key(self, obj: Column, format: PyFormat) -> Any:  # noqa: A002, ARG002
        return self.cls, obj.oid

    def upgrade(self, obj: Column, format: PyFormat) -> Dumper:  # noqa: A002, ARG002
        dumper = _ColumnDumper(self.cls)
        dumper.oid = obj.oid
        return dumper

    def dump(self, obj: Column) -> bytes:
        return obj.data


psycopg.adapters.register_dumper(Column, _ColumnDumper)


def storable(text: str) -> str:
    """Without what the database can't hold: a model may write any character, also those that are none."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "").encode(errors="replace").decode()


def texts(values: Iterable[str | None]) -> Column:
    return Column(1009, _array(25, [None if value is None else value.encode() for value in values]))


def byte_strings(values: Sequence[bytes | None]) -> Column:
    return Column(1001, _array(17, values))


def jsons(values: Iterable[dict[str, Any] | None]) -> Column:
    """Of jsonb; a missing one is NULL."""
    dumped = [
        None if value is None else b"\x01" + json.dumps(value, ensure_ascii=False).encode() if value else _EMPTY_JSON
        for value in values
    ]
    return Column(3807, _array(3802, dumped))


def times(values: Iterable[datetime]) -> Column:
    """Of timestamptz."""
    return Column(1185, _numbers(1184, ">i8", [(value - _EPOCH) // _MICROSECOND for value in values]))


def booleans(values: Sequence[bool]) -> Column:
    return Column(1000, _numbers(16, "u1", values))


def smallints(values: ArrayLike) -> Column:
    return Column(1005, _numbers(21, ">i2", values))


def integers(values: ArrayLike) -> Column:
    return Column(1007, _numbers(23, ">i4", values))


def bigints(values: ArrayLike) -> Column:
    return Column(1016, _numbers(20, ">i8", values))


def reals(values: ArrayLike) -> Column:
    return Column(1021, _numbers(700, ">f4", values))


def repeated_texts(values: Sequence[str], times_each: Sequence[int]) -> Column:
    """Each of the texts so many times in a row."""
    written = [(value.encode(), number) for value, number in zip(values, times_each, strict=True)]
    body = b"".join([(_LENGTH(len(value)) + value) * number for value, number in written])
    return Column(1009, _head(25, sum(times_each)) + body)


def _array(element: int, values: Sequence[bytes | None]) -> bytes:
    parts = [_head(element, len(values), nulls=None in values)]
    for value in values:
        if value is None:
            parts.append(_NULL)
        else:
            parts += (_LENGTH(len(value)), value)
    return b"".join(parts)


def _numbers(element: int, kind: str, values: ArrayLike) -> bytes:
    numbers: NDArray[Any] = np.asarray(values).ravel()
    rows = np.empty(len(numbers), np.dtype([("length", ">i4"), ("value", kind)]))
    rows["length"] = np.dtype(kind).itemsize
    rows["value"] = numbers
    return _head(element, len(numbers)) + rows.tobytes()


def _head(element: int, number: int, *, nulls: bool = False) -> bytes:
    return _HEAD.pack(1, nulls, element, number, 1) if number else _HEAD.pack(0, 0, element, 0, 0)[:12]
