"""The benchmarks' dev parts as arrays, and the fusion over them as search does it: what mixing is chosen by.

Needs nothing but NumPy, so that it can run where the training does. Nothing of this is ever trained on.
"""

import gzip
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from training.arrays import Texts

Floats = npt.NDArray[np.float64]
CANDIDATES = 50
# As in keepstone.engine.rank: `test_training` holds this file's fusion to that one.
BM25, POOLED, SPEAKER, TIME, NEIGHBOUR, SESSION, LENGTH, CHARS = 0.2, 0.2, 0.5, 0.5, 0.3, 0.2, 0.3, 400


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a collection: the weights of its pieces, what is known of each passage without an encoder, and
    the turns, or sessions, that answer it.
    """

    weights: npt.NDArray[np.float32]
    bm25: npt.NDArray[np.float32]
    spoken: npt.NDArray[np.float32]
    near: npt.NDArray[np.float32]
    gold: list[int]


@dataclass(frozen=True, slots=True)
class DevSet:
    """Passages of one collection, windows of turns. `turn` and `session` are numbers, `chars` the length of turns."""

    name: str
    passages: Texts
    turn: npt.NDArray[np.int64]
    session: npt.NDArray[np.int64]
    chars: Floats
    questions: Texts
    asked: list[Asked]
    by_session: bool


def save(sets: Sequence[DevSet], path: Path) -> None:
    path.write_bytes(gzip.compress(pickle.dumps(list(sets))))


def load(path: Path) -> list[DevSet]:
    """Of a file that `save` wrote: nothing else is safe to read so."""
    return pickle.loads(gzip.decompress(path.read_bytes()))  # noqa: S301


def fused(dev: DevSet, asked: Asked, maxsim: Floats, pooled: Floats) -> npt.NDArray[np.int64]:
    """The turns, the best first. `maxsim` and `pooled` are of each passage."""
    talk = dev.name != "xquad"
    chosen = np.zeros(len(maxsim), bool)
    words = np.argsort(-asked.bm25, kind="stable")[:CANDIDATES]
    chosen[words[asked.bm25[words] > 0]] = True
    chosen[np.argsort(-pooled, kind="stable")[:CANDIDATES]] = True
    if talk:
        chosen = chosen | np.append(chosen[1:], False) | np.append(False, chosen[:-1])
    places = np.flatnonzero(chosen)
    turns, owner = np.unique(dev.turn[places], return_inverse=True)

    def best(values: Any) -> Floats:
        most = np.full(len(turns), -np.inf)
        np.maximum.at(most, owner, np.asarray(values, np.float64)[places])
        return most

    base = z(best(maxsim)) + BM25 * z(best(asked.bm25)) + POOLED * z(best(pooled))
    base += SPEAKER * best(asked.spoken) + TIME * best(asked.near)
    score = base.copy()
    if talk:
        session = best(dev.session).astype(int)
        adjacent = (np.diff(turns) == 1) & (np.diff(session) == 0)
        side = np.maximum(
            np.append(np.where(adjacent, base[1:], -np.inf), -np.inf),
            np.append(-np.inf, np.where(adjacent, base[:-1], -np.inf)),
        )
        score += NEIGHBOUR * np.where(np.isfinite(side), side, 0.0)
        top = np.full(session.max() + 1, -np.inf)
        np.maximum.at(top, session, base)
        score += SESSION * top[session]
        score -= LENGTH * np.log(np.maximum(dev.chars[turns], CHARS) / CHARS)
    return turns[np.argsort(-score, kind="stable")]


def z(values: Floats) -> Floats:
    spread = values.std()
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros_like(values)


def figures(dev: DevSet, asked: Asked, ranked: npt.NDArray[np.int64]) -> dict[str, float]:
    gold = set(asked.gold)
    if dev.by_session:
        session_of = dict(zip(dev.turn.tolist(), dev.session.tolist(), strict=True))
        keys = list(dict.fromkeys(session_of[turn] for turn in ranked.tolist()))
        found = len(gold.intersection(keys[:5]))
        return {"any@5": float(found > 0), "all@5": float(found == len(gold))}
    keys = ranked[:10].tolist()
    gain = sum(1 / np.log2(place + 2) for place, key in enumerate(keys) if key in gold)
    ideal = sum(1 / np.log2(place + 2) for place in range(min(10, len(gold))))
    return {
        "R@1": len(gold.intersection(keys[:1])) / len(gold),
        "R@10": len(gold.intersection(keys)) / len(gold),
        "NDCG@10": gain / ideal,
    }
