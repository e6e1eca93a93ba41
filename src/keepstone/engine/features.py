"""From the passages that came near to what `rank` orders: a candidate with its features for each source.

A message or note that was cut into windows is as good as the best of them. Fetches nothing; all it needs comes with the
passages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from keepstone.engine.rank import MISSING, Candidate
from keepstone.store.candidates import PlacedPassage

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PassageGroups:
    """The passages of each source, in the order in which they were said; `owner` is the group of each passage."""

    windows: list[list[PlacedPassage]]
    owner: list[int]
    passages: Sequence[PlacedPassage]

    def best(self, values: Mapping[int, float], otherwise: float = MISSING) -> Floats:
        """For each group the best value of its passages."""
        best = np.full(len(self.windows), MISSING)
        np.fmax.at(best, self.owner, [values.get(passage.passage, MISSING) for passage in self.passages])
        return np.where(np.isnan(best), otherwise, best)

    def telling(self, index: int, *values: Mapping[int, float]) -> str:
        """The window of a group that is the best by most of these values."""
        windows = self.windows[index]
        if len(windows) == 1:
            return windows[0].text
        places = dict.fromkeys(range(len(windows)), 0)
        for scores in values:
            if not any(window.passage in scores for window in windows):
                continue
            ranked = sorted(places, key=lambda place: -scores.get(windows[place].passage, -1.0))
            for points, place in enumerate(reversed(ranked)):
                places[place] += points
        return windows[max(places, key=lambda place: places[place])].text

    def text(self, index: int) -> str:
        """The windows of a group that were looked at."""
        return " … ".join(passage.text for passage in self.windows[index])


def group_by_source(passages: Sequence[PlacedPassage]) -> PassageGroups:
    """By their source; of a document each passage stands for itself: it is looked for by its place."""
    places: dict[tuple[str, str, int], int] = {}
    owner = [
        places.setdefault((row.source_kind, row.source_id, row.part * (row.source_kind == "document")), len(places))
        for row in passages
    ]
    windows: list[list[PlacedPassage]] = [[] for _ in places]
    for passage, place in zip(passages, owner, strict=True):
        windows[place].append(passage)
    return PassageGroups(windows=windows, owner=owner, passages=passages)


def candidates(groups: PassageGroups, features: Mapping[str, Floats], about: frozenset[str]) -> list[Candidate]:
    """The groups as candidates. `features` has a column for each feature of `Candidate` and a row for each group;
    `about` are the people that the question speaks of.
    """
    rows = zip(*(column.tolist() for column in features.values()), strict=True)
    return [
        Candidate(
            session=windows[0].session,
            position=position,
            chars=sum(len(window.text) for window in windows),
            spoken=1.0 if windows[0].speaker in about else 0.0,
            latin=not windows[0].foreign_text,
            links=linked,
            **dict(zip(features, row, strict=True)),
        )
        for windows, position, linked, row in zip(groups.windows, positions(groups), links(groups), rows, strict=True)
    ]


def positions(groups: PassageGroups) -> list[int]:
    """Places in the conversation such that what was said one after the other is one apart, and nothing else."""
    followed = {passage.before: passage.passage for passage in groups.passages if passage.before is not None}
    followed |= {passage.passage: passage.after for passage in groups.passages if passage.after is not None}
    places = [0] if groups.windows else []
    for before, after in pairwise(groups.windows):
        places.append(places[-1] + (1 if followed.get(before[-1].passage) == after[0].passage else 2))
    return places


def links(groups: PassageGroups) -> list[tuple[int, ...]]:
    """For each group the places of those that it answers or that answer it."""
    place = {windows[0].source_id: index for index, windows in enumerate(groups.windows)}
    linked: list[tuple[int, ...]] = [()] * len(groups.windows)
    for index, windows in enumerate(groups.windows):
        answered = place.get(windows[0].answers or "")
        if answered is not None:
            linked[index] += (answered,)
            linked[answered] += (index,)
    return linked
