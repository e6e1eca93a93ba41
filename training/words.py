"""BM25 over a conversation in memory, as the index has it in Postgres."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keepstone.engine.bm25 import K1, B, idf
from keepstone.engine.terms import terms


class WordIndex:
    """`passages` are lists of terms."""

    def __init__(self, passages: Sequence[Sequence[str]]) -> None:
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, passage in enumerate(passages):
            for term, count in Counter(passage).items():
                self._postings[term].append((number, count))
        self._lengths = np.array([len(passage) for passage in passages], np.float64)
        self._norm = K1 * (1.0 - B + B * self._lengths / max(float(self._lengths.mean()) if passages else 0.0, 1.0))
        self.frequencies = {term: len(postings) for term, postings in self._postings.items()}

    def scores(self, question: str) -> npt.NDArray[np.float64]:
        """Of each passage."""
        total = np.zeros(len(self._lengths))
        for term, wanted in Counter(terms(question)).items():
            postings = self._postings.get(term)
            if postings:
                numbers, counts = np.array(postings).T
                weight = float(idf(len(postings), len(self._lengths))) * wanted
                total[numbers] += weight * counts * (K1 + 1.0) / (counts + self._norm[numbers])
        return total
