"""The first projection of token vectors, from 384 dimensions to 128: what training starts from.

An uncentred PCA (the leading eigenvectors of the second moment) over turns that are trained on, so that products stay
what they were as far as 128 dimensions can say it.
"""

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 128


def fit(rows: NDArray[np.float32], dimensions: int = DIMENSIONS) -> NDArray[np.float32]:
    """Of token vectors [n, 384]. Each counts the same, whatever its length: MaxSim compares directions."""
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    _, vectors = np.linalg.eigh((unit.T @ unit).astype(np.float64) / len(unit))
    matrix = vectors[:, ::-1][:, :dimensions]
    # A sign is arbitrary: the largest entry of each column is positive, so that another run gives the same matrix.
    return (matrix * np.sign(matrix[np.abs(matrix).argmax(axis=0), np.arange(dimensions)])).astype(np.float32)
