"""What the clusters of a map are called: one to three words each, no two the same, and none that was cut off.

Tags that people share come first, then phrases that stand in many texts of a cluster and in few of the others
(c-TF-IDF). Owns also what tags add to a vector: people say with them what belongs together.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keepstone.engine.keyphrases import phrases_apart

# A tag is a name where so many of a cluster have it.
SHARED = 0.4
LONGEST = 28
# How much of the likeness of two texts their tags are; and how many tags are looked at.
TAGGED = 0.45
MOST_TAGS = 256


@dataclass(frozen=True, slots=True)
class Text:
    title: str
    beginning: str
    tags: tuple[str, ...]


def with_tags(vectors: NDArray[np.float32], tags: Sequence[Sequence[str]]) -> NDArray[np.float32]:
    """The vectors, of unit length and without what all share, with their tags as further dimensions. A tag that one
    alone has, or nearly all, says nothing of what belongs together.
    """
    counts = Counter(tag for each in tags for tag in set(each))
    told = [tag for tag, count in counts.most_common(MOST_TAGS) if 1 < count <= max(2, len(tags) // 2)]
    place = {tag: column for column, tag in enumerate(told)}
    marks = np.zeros((len(tags), len(told)), dtype=np.float32)
    for row, each in enumerate(tags):
        for tag in set(each) & place.keys():
            marks[row, place[tag]] = math.log(1 + len(tags) / counts[tag])
    centred = _unit(_unit(vectors) - _unit(vectors).mean(axis=0))
    return np.hstack((centred * np.float32(1 - TAGGED) ** 0.5, _unit(marks) * np.float32(TAGGED) ** 0.5)).astype(
        np.float32
    )


def names(clusters: Mapping[int, Sequence[Text]], known: Mapping[int, str]) -> dict[int, str]:
    """What each is called; those that are `known` keep it. Nothing for one of which nothing can be said."""
    named = {number: name for number, name in known.items() if number in clusters}
    taken = {name.casefold() for name in named.values()}
    wanted = sorted(clusters.keys() - named.keys(), key=lambda number: (-len(clusters[number]), number))
    for _, number, name in sorted(_tags(clusters, wanted), key=lambda each: (-each[0], each[1], each[2])):
        if number not in named and name.casefold() not in taken:
            named[number] = name
            taken.add(name.casefold())
    left = [number for number in wanted if number not in named]
    if not left:
        return named
    numbers = sorted(clusters)
    groups = [[f"{text.title}\n{text.beginning}" for text in clusters[number]] for number in numbers]
    said = dict(zip(numbers, phrases_apart(groups), strict=True))
    for number in left:
        for phrase in said[number]:
            name = capitalised(phrase)
            if len(name) <= LONGEST and name.casefold() not in taken:
                named[number] = name
                taken.add(name.casefold())
                break
    return named


def capitalised(name: str) -> str:
    plain = " ".join(name.replace("_", " ").replace("-", " ").split())
    return plain[:1].upper() + plain[1:]


def _tags(clusters: Mapping[int, Sequence[Text]], wanted: Sequence[int]) -> list[tuple[float, int, str]]:
    everywhere = Counter(tag for texts in clusters.values() for text in texts for tag in set(text.tags))
    found: list[tuple[float, int, str]] = []
    for number in wanted:
        texts = clusters[number]
        for tag, count in Counter(tag for text in texts for tag in set(text.tags)).items():
            name = capitalised(tag)
            if count > 1 and count >= SHARED * len(texts) and len(name) <= LONGEST and len(name.split()) <= 3:
                found.append((count / len(texts) + count / everywhere[tag], number, name))
    return found


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
