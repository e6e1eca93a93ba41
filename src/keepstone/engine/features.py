"""From the passages that came near to what `rank` orders: a candidate with its features for each source.

A message or note that was cut into windows is as good as the best of them. Fetches nothing; all it needs comes with the
passages.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keepstone.engine.gathered import Bools, Floats, Gathered, Ints
from keepstone.engine.rank import MISSING


@dataclass(frozen=True, slots=True, eq=False)
class PassageGroups:
    """The passages of each source, in the order in which they were said: `owner` is the group of each passage, `first`
    the first passage of each group, by their places.
    """

    owner: Ints
    first: Ints

    def __len__(self) -> int:
        return len(self.first)

    def best(self, values: npt.ArrayLike, otherwise: float = MISSING) -> Floats:
        """For each group the best value of its passages."""
        column = np.asarray(values, dtype=np.float64)
        if len(self.first) == len(self.owner):
            best = column
        else:
            best = np.full(len(self.first), MISSING)
            np.fmax.at(best, self.owner, column)
        return np.where(np.isnan(best), otherwise, best)

    def windows(self, group: int) -> list[int]:
        """The places of its passages."""
        if len(self.first) == len(self.owner):
            return [int(self.first[group])]
        return np.flatnonzero(self.owner == group).tolist()


def group_by_source(gathered: Gathered) -> PassageGroups:
    _, first, owner = np.unique(gathered.source, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return PassageGroups(owner=place[owner], first=first[order])


def positions(gathered: Gathered, groups: PassageGroups) -> Ints:
    """Places in the conversation such that what was said one after the other is one apart, and nothing else."""
    first = groups.first
    beside = gathered.follows[first] & (groups.owner[first - 1] == np.arange(len(first)) - 1)
    return np.cumsum(np.where(beside, 1, 2))


def links(gathered: Gathered, groups: PassageGroups) -> Ints:
    """Pairs of groups of which one answers the other."""
    answers = gathered.answers[groups.first]
    answering = np.flatnonzero(answers)
    if not len(answering):
        return np.zeros((0, 2), dtype=np.int64)
    place = {int(source): index for index, source in enumerate(gathered.source[groups.first])}
    pairs = [(int(index), place[int(answers[index])]) for index in answering if int(answers[index]) in place]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def latin(gathered: Gathered, groups: PassageGroups) -> Bools:
    return ~gathered.foreign[groups.first]
