"""Candidates of a search, written row by row."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from keepstone.engine.rank import MISSING, Candidates


@dataclass(frozen=True, slots=True)
class Candidate:
    session: Hashable
    position: int
    chars: int
    bm25: float = 0.0
    maxsim: float = MISSING
    pooled: float = MISSING
    multilingual: float = MISSING
    spoken: float = 0.0
    near: float = 0.0
    fresh: float = 0.0
    latin: bool = True
    links: tuple[int, ...] = ()


def columns(rows: Sequence[Candidate]) -> Candidates:
    sessions = {session: number for number, session in enumerate(dict.fromkeys(row.session for row in rows))}
    links = [(index, other) for index, row in enumerate(rows) for other in row.links]

    def floats(name: str) -> np.ndarray:
        return np.array([getattr(row, name) for row in rows], dtype=np.float64)

    return Candidates(
        session=np.array([sessions[row.session] for row in rows], dtype=np.int64),
        position=np.array([row.position for row in rows], dtype=np.int64),
        chars=floats("chars"),
        bm25=floats("bm25"),
        maxsim=floats("maxsim"),
        pooled=floats("pooled"),
        multilingual=floats("multilingual"),
        spoken=floats("spoken"),
        near=floats("near"),
        fresh=floats("fresh"),
        latin=np.array([row.latin for row in rows], dtype=np.bool_),
        links=np.array(links, dtype=np.int64).reshape(-1, 2),
    )
