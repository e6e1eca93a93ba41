"""Late interaction: a question's token vectors against the stored token vectors of a passage.

Owns the packing to one bit a dimension and MaxSim. It must not know what a token is: vectors, weights and bytes only.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

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
    return weighted(best_products(query, passages), weights)


def weighted(products: Vectors, weights: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """The mean of each row; 0 where no weight is left."""
    weight = np.asarray(weights, dtype=np.float32)
    total = weight.sum()
    return products @ (weight / total) if total > 0 else np.zeros(len(products), dtype=np.float32)


def best_products(query: Vectors, passages: Sequence[bytes]) -> Vectors:
    """A row for each passage, a column for each of the question's tokens: its best product with any of the passage's.

    A passage without tokens (only stop words) gets 0, as if nothing in it were near to anything asked; so does one
    whose tokens have other dimensions.
    """
    dimensions = query.shape[1]
    size = token_bytes(dimensions)
    passages = [b"" if len(passage) % size else passage for passage in passages]
    counts = np.fromiter((len(passage) // size for passage in passages), dtype=np.int64, count=len(passages))
    cosines = np.zeros((len(passages), len(query)), dtype=np.float32)
    full = np.flatnonzero(counts)
    if not len(full) or not len(query):
        return cosines
    # With bits b, signs are 2b - 1: q·signs = 2 q·b - sum(q), so the signs themselves are never made.
    products = unpack(b"".join(passages), dimensions) @ query.T.astype(np.float32)
    starts = np.concatenate(([0], np.cumsum(counts[full])[:-1]))
    best = np.maximum.reduceat(products, starts, axis=0)
    cosines[full] = (2.0 * best - query.sum(axis=1)) / np.float32(dimensions**0.5)
    return cosines
