"""The judge's examples as arrays: texts as word pieces, and rows of numbers. NumPy alone, for a machine with a GPU."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class JudgeArrays:
    """`rows`: head, first text, second text or -1, target, group. `inside`: whether a piece goes on with a word.
    `mined`: the first group of questions that a model asked.
    """

    pieces: NDArray[np.int32]
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    weights: NDArray[np.float32]
    held_out: NDArray[np.bool_]
    inside: NDArray[np.bool_]
    translations: NDArray[np.int32]
    mined: int

    def save(self, path: Path) -> None:
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        np.savez_compressed(path, **values)

    @classmethod
    def load(cls, path: Path) -> "JudgeArrays":
        with np.load(path) as stored:
            values: dict[str, Any] = {field.name: stored[field.name] for field in fields(cls)}
        values["mined"] = int(values["mined"])
        return cls(**values)
