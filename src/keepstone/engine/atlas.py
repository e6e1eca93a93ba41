"""The map of many texts: where each lies, and which lie together. Made in a process of its own, so that the memory it
takes is given back and nobody waits for it.
"""

import asyncio
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keepstone.engine.clusters import clusters
from keepstone.engine.layout import layout, neighbours, parted
from keepstone.errors import UpstreamError

MIN_CLUSTER = 3
_STEP_BACK = 10  # niceness


@dataclass(frozen=True, slots=True)
class Chart:
    """A position and a cluster for each text; cluster -1 is none."""

    points: NDArray[np.float32]
    labels: NDArray[np.int64]


async def chart(vectors: NDArray[np.float32], before: Sequence[tuple[float, float, int] | None] | None = None) -> Chart:
    """`before` is where each was on the last map, None for what is new: the map stays as it was as far as it can."""
    known = [place for place in before or [] if place is not None]
    given = io.BytesIO()
    np.savez(
        given,
        vectors=vectors,
        old=np.array([index for index, place in enumerate(before or []) if place is not None], dtype=np.int64),
        points=np.array([place[:2] for place in known], dtype=np.float32).reshape(-1, 2),
        labels=np.array([place[2] for place in known], dtype=np.int64),
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "keepstone.engine.atlas",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    made, _ = await process.communicate(given.getvalue())
    if process.returncode:
        raise UpstreamError("The map could not be made.")
    with np.load(io.BytesIO(made)) as result:
        return Chart(points=result["points"], labels=result["labels"])


def make(
    vectors: NDArray[np.float32], old: NDArray[np.int64], points: NDArray[np.float32], labels: NDArray[np.int64]
) -> Chart:
    """In this process. `old` are the numbers of those that were on the last map, with their points and labels there."""
    before = {int(index): (float(x), float(y)) for index, (x, y) in zip(old, points, strict=True)}
    graph = neighbours(vectors)
    edges = list(zip(graph.head.tolist(), graph.tail.tolist(), graph.weight[:, 0].tolist(), strict=True))
    numbered = {int(index): int(label) for index, label in zip(old, labels, strict=True)}
    numbers = clusters(len(vectors), edges, min_size=max(MIN_CLUSTER, len(vectors) // 100), before=numbered or None)
    return Chart(points=layout(vectors, before=before or None, graph=parted(graph, numbers)), labels=numbers)


def main() -> None:
    os.nice(_STEP_BACK)
    with np.load(io.BytesIO(sys.stdin.buffer.read())) as given:
        made = make(given["vectors"], given["old"], given["points"], given["labels"])
    done = io.BytesIO()
    np.savez(done, points=made.points, labels=made.labels)
    sys.stdout.buffer.write(done.getvalue())


if __name__ == "__main__":
    main()
