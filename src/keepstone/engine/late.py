"""Late interaction: a question's token vectors against the stored token vectors of a passage.

Owns the packing to one bit a dimension and MaxSim. It must not know what a token is: vectors, weights and bytes only.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keepstone.providers.products import bit_products

Vectors = npt.NDArray[np.float32]


def pack(vectors: Vectors) -> bytes:
    """The sign of each dimension; a token begins with a byte. Four bits were measured to be no better."""
    return np.packbits(vectors > 0, axis=1).tobytes()


def unpack(packed: bytes, dimensions: int) -> Vectors:
    """The bits, 0 and 1, of tokens of so many dimensions."""
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(-1, token_bytes(dimensions))
    return np.unpackbits(rows, axis=1, count=dimensions).astype(np.float32)


def token_bytes(dimensions: int) -> int:
    return -(-dimensions // 8)


def maxsim(query: Vectors, weights: npt.ArrayLike, passages: Sequence[bytes]) -> npt.NDArray[np.float32]:
    """For each passage the weighted mean, over the question's tokens, of the best product with any of its tokens. Of a
    turn's windows the caller takes the best.
    """
    return weighted(best_products(query, *rows_of(passages, token_bytes(query.shape[1]))), weights)


def weighted(products: Vectors, weights: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """The mean of each row; 0 where no weight is left."""
    weight = np.asarray(weights, dtype=np.float32)
    total = weight.sum()
    return products @ (weight / total) if total > 0 else np.zeros(len(products), dtype=np.float32)


def best_products(query: Vectors, packed: npt.NDArray[np.uint8], counts: npt.NDArray[np.int64]) -> Vectors:
    """A row for each passage, a column for each of the question's tokens: its best product with any of the passage's.

    `packed` are the tokens of all passages, a row each, `counts` how many each has. A passage without tokens (only stop
    words) gets 0, as if nothing in it were near to anything asked.
    """
    cosines = np.zeros((len(counts), len(query)), dtype=np.float32)
    full = np.flatnonzero(counts)
    if not len(full) or not len(query):
        return cosines
    dimensions = query.shape[1]
    # Of the question a byte a dimension is enough.
    scale = np.maximum(np.abs(query).max(axis=1), 1e-9) / 127.0
    whole = np.rint(query / scale[:, None]).astype(np.int8)
    # With bits b, signs are 2b - 1: q·signs = 2 q·b - sum(q), so the signs themselves are never made.
    products = bit_products(np.unpackbits(packed, axis=1, count=dimensions), whole)
    starts = np.concatenate(([0], np.cumsum(counts[full])[:-1]))
    best = np.maximum.reduceat(products, starts, axis=0)
    cosines[full] = (2 * best - whole.sum(axis=1, dtype=np.int32)) * (scale / dimensions**0.5)
    return cosines


def rows_of(passages: Sequence[bytes], size: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The tokens of these passages, a row of `size` bytes each, and how many each has; none of one whose tokens have
    another size.
    """
    fitting = [b"" if len(passage) % size else passage for passage in passages]
    counts = np.fromiter((len(passage) // size for passage in fitting), dtype=np.int64, count=len(fitting))
    return np.frombuffer(b"".join(fitting), dtype=np.uint8).reshape(-1, size), counts
