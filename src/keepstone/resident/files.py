"""Large spaces as files in the data folder, so that several processes hold their numbers once: whoever reads a space
first writes it down, and the others map the same pages. What a process changes after that is its own.

Derived data, which can be lost. A file is of no use for longer than changes are known (an hour), and goes then; at a
start and a stop all go.
"""

import fcntl
import json
import shutil
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keepstone.resident.arrays import PooledVectors, Postings, SpaceArrays, TokenVectors

USEFUL = 3600  # seconds
_MORE_ROOM = 1.1  # than there are rows: what is new needs no larger arrays at once


class SpaceFiles:
    """In a folder of their own, which nobody else may read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def forget_old(self) -> None:
        """Those that are of no use any more, also of spaces that are gone. Who has one open keeps it."""
        for path in self._folder.glob("*/meta.json"):
            with suppress(OSError):
                if path.stat().st_mtime < time.time() - USEFUL:
                    shutil.rmtree(path.parent, ignore_errors=True)

    @contextmanager
    def alone(self, account: int, space: int) -> Generator[bool]:
        """Whether nobody else reads or writes it down just now; for as long as it takes."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._folder / f"{account}-{space}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            yield True

    def load(self, account: int, space: int, sets: Iterable[int]) -> SpaceArrays | None:
        """As it was written down; None where it was not, or can't be read."""
        folder = self._of(account, space, sets)
        with suppress(OSError, ValueError, KeyError):
            meta = json.loads((folder / "meta.json").read_text())
            arrays = {path.stem: np.load(path, mmap_mode="c") for path in folder.glob("*.npy")}
            return _arrays(space, meta, arrays)
        return None

    def save(self, account: int, arrays: SpaceArrays, sets: Iterable[int]) -> None:
        folder = self._of(account, arrays.space, sets)
        new = folder.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700, parents=True)
        arrays.reserve(int(arrays.count * _MORE_ROOM))
        for name, array in _parts(arrays).items():
            np.save(new / f"{name}.npy", array)
        meta = {
            "version": arrays.version,
            "count": arrays.count,
            "pooled": list(arrays.pooled),
            "tokens": {number: part.used for number, part in arrays.tokens.items()},
            "columns": list(arrays.columns),
            "speakers": list(arrays.speakers.items()),
        }
        (new / "meta.json").write_text(json.dumps(meta))
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)

    def _of(self, account: int, space: int, sets: Iterable[int]) -> Path:
        return self._folder / f"{account}-{space}-{'-'.join(map(str, sorted(sets)))}"


def _parts(arrays: SpaceArrays) -> dict[str, npt.NDArray[Any]]:
    parts: dict[str, npt.NDArray[Any]] = {f"column-{name}": column for name, column in arrays.columns.items()}
    parts |= {"here": arrays.here, "order": arrays.order, "answering": arrays.answering, "revised": arrays.revised}
    for number, pooled in arrays.pooled.items():
        parts |= {f"{number}-values": pooled.values, f"{number}-scale": pooled.scale, f"{number}-signs": pooled.signs}
    for number, tokens in arrays.tokens.items():
        parts |= {f"{number}-packed": tokens.packed, f"{number}-start": tokens.start, f"{number}-size": tokens.size}
    for number, part in enumerate(arrays.postings):
        parts |= {
            f"postings-{number}-terms": part.terms, f"postings-{number}-starts": part.starts,
            f"postings-{number}-rows": part.rows, f"postings-{number}-frequencies": part.frequencies,
        }  # fmt: skip
    return parts


def _arrays(space: int, meta: dict[str, Any], parts: dict[str, Any]) -> SpaceArrays:
    postings = sorted({name.split("-")[1] for name in parts if name.startswith("postings-")}, key=int)
    return SpaceArrays(
        space,
        meta["version"],
        meta["count"],
        columns={name: parts[f"column-{name}"] for name in meta["columns"]},
        here=parts["here"],
        order=parts["order"],
        pooled={
            number: PooledVectors(parts[f"{number}-values"], parts[f"{number}-scale"], parts[f"{number}-signs"])
            for number in meta["pooled"]
        },
        tokens={
            int(number): TokenVectors(
                parts[f"{number}-packed"], parts[f"{number}-start"], parts[f"{number}-size"], used
            )
            for number, used in meta["tokens"].items()
        },
        postings=[
            Postings(*(parts[f"postings-{number}-{name}"] for name in ("terms", "starts", "rows", "frequencies")))
            for number in postings
        ],
        revised=parts["revised"],
        speakers={int(number): name for number, name in meta["speakers"]},
        answering=parts["answering"],
    )
