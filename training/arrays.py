"""What the training reads, as flat arrays. Needs nothing but NumPy."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

NONE = -1


@dataclass(frozen=True, slots=True)
class Texts:
    """Word pieces one after the other, whether each is kept for late interaction, where each text starts (one entry
    more than there are texts), and the number of the text that was said before, or NONE.
    """

    pieces: npt.NDArray[np.uint16]
    kept: npt.NDArray[np.bool_]
    starts: npt.NDArray[np.int64]
    before: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def pieces_of(self, number: int) -> list[int]:
        return self.pieces[self.starts[number] : self.starts[number + 1]].tolist()

    def arrays(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        return {f"{prefix}.{field.name}": getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of(cls, arrays: Any, prefix: str) -> "Texts":
        return cls(*(arrays[f"{prefix}.{field.name}"] for field in fields(cls)))


@dataclass(frozen=True, slots=True)
class Prepared:
    """`conversation` is that of each turn and `first` the first turn of each conversation (one entry more). Of each
    question: the pieces' weights, flat as its pieces are; the turn that answers it; and turns that share its words.
    """

    turns: Texts
    conversation: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    questions: Texts
    weights: npt.NDArray[np.float32]
    gold: npt.NDArray[np.int64]
    by_words: npt.NDArray[np.int64]

    def save(self, path: Path) -> None:
        small = {
            "conversation": self.conversation.astype(np.uint16),
            "weights": self.weights.astype(np.float16),
            "gold": self.gold.astype(np.int32),
            "by_words": self.by_words.astype(np.int32),
        }
        arrays: dict[str, Any] = (
            self.turns.arrays("turns") | self.questions.arrays("questions") | {"first": self.first} | small
        )
        np.savez_compressed(path, **arrays)

    @classmethod
    def load(cls, path: Path) -> "Prepared":
        with np.load(path) as arrays:
            return cls(
                Texts.of(arrays, "turns"), arrays["conversation"].astype(np.int64), arrays["first"],
                Texts.of(arrays, "questions"), arrays["weights"].astype(np.float32), arrays["gold"].astype(np.int64),
                arrays["by_words"].astype(np.int64),
            )  # fmt: skip
