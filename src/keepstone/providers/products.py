"""Products of bits with small whole numbers, by the kernels that the embedders run on: several times as fast as floats,
and without the interpreter's lock.
"""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

_UINT8, _INT8, _INT32 = 2, 3, 6  # as ONNX counts its types


def bit_products(bits: npt.NDArray[np.uint8], vectors: npt.NDArray[np.int8]) -> npt.NDArray[np.int32]:
    """Of each row of bits, 0 and 1, with each row of vectors: [bits, vectors]."""
    return _session().run(None, {"bits": bits, "vectors": np.ascontiguousarray(vectors.T)})[0]


@cache
def _session() -> Any:
    from keepstone.providers.session import open_session

    return open_session(_graph())


def _graph() -> bytes:
    """A model of one step, as the bytes of its file (onnx.proto), so that nothing has to be installed to write it."""
    node = b"".join(
        (_field(1, b"bits"), _field(1, b"vectors"), _field(2, b"products"), _field(4, b"MatMulInteger"))
    )  # fmt: skip
    graph = b"".join(
        (
            _field(1, node), _field(2, b"products"), _field(11, _matrix(b"bits", _UINT8, b"n", b"d")),
            _field(11, _matrix(b"vectors", _INT8, b"d", b"q")), _field(12, _matrix(b"products", _INT32, b"n", b"q")),
        )
    )  # fmt: skip
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 13))


def _matrix(name: bytes, kind: int, *sides: bytes) -> bytes:
    shape = b"".join(_field(1, _field(2, side)) for side in sides)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return bytes((number << 3, value))
    return bytes((number << 3 | 2,)) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    return bytes((value,)) if value < 128 else bytes((value & 127 | 128,)) + _varint(value >> 7)
