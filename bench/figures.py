"""What every part of the bench is given and gives: options, figures, and lists of latencies made into figures."""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SMALL, MEDIUM, LARGE, HUGE = 1_000, 10_000, 100_000, 1_000_000
SIZES = (SMALL, MEDIUM, LARGE, HUGE)  # passages of one space; the last also of many spaces of one account
ACCOUNT = HUGE


@dataclass(frozen=True)
class Options:
    """`models` is a folder with the weights; `quick` leaves out ablations and takes fewer rounds."""

    models: Path
    sizes: tuple[int, ...] = SIZES
    quick: bool = False


@dataclass(frozen=True)
class Figure:
    """One measured value beside its baseline. `key` and `at` (a size or a number of clients) are for the pictures."""

    name: str
    value: float
    unit: str
    baseline: str = ""
    baseline_value: float | None = None
    wanted: str = ""
    key: str = ""
    at: int = 0

    @property
    def ratio(self) -> float | None:
        return self.value / self.baseline_value if self.baseline_value else None

    def shown(self) -> Json:
        return asdict(self) | {"ratio": self.ratio}


def percentile(values: Sequence[float], per_cent: float) -> float:
    """The nearest rank: a value that was measured."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * per_cent / 100) - 1)]


def count(number: int) -> str:
    """1000000 as `1 M`, 10000 as `10 k`."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:g} {letter}"
    return str(number)


def tabled(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """In Markdown; numbers to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in lines)


def scratch(prefix: str = "keepstone-bench-") -> Path:
    """A new folder of its own; whoever made it removes it."""
    return Path(tempfile.mkdtemp(prefix=prefix))
