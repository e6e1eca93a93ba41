"""What is known of the candidates of a search, as columns. Filled from the database (`gather`) or from memory
(`in_memory`); ranked by `search`, which knows nothing of either.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keepstone.engine import terms
from keepstone.engine.bm25 import idf
from keepstone.engine.calibrate import Terms
from keepstone.engine.question import EmbeddedQuestion
from keepstone.model.principal import ReadScope
from keepstone.providers.embedder import Span, Tokens
from keepstone.store import candidates as store
from keepstone.store.db import Connection

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Products = npt.NDArray[np.float32]

# For a filter that many things pass: which of these passages do?
Passes = Callable[[Connection, Sequence[int]], Awaitable[Collection[int]]]

CANDIDATES = 50
WIDER = 2.5  # times as many are looked at under such a filter at first
OF_WINDOW = 20  # the best of a time that the question names, besides


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlace:
    """The spaces that are searched, how large they are together, and what in them counts: nothing but `sources`, or
    `passages`, if they are given, and nothing that does not pass.
    """

    scope: ReadScope
    size: store.Survey
    sources: tuple[str, ...] | None = None
    passages: tuple[int, ...] | None = None
    passes: Passes | None = None

    @property
    def space(self) -> int:
        """The first of the spaces; where there is one, that one."""
        return self.scope.spaces[0]

    @property
    def empty(self) -> bool:
        """Whether nothing can be found here, whatever is asked."""
        return not self.size.passages or self.sources == () or self.passages == ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What is searched: talk, where what stands beside a turn matters, or notes, which stand alone; and whether words
    count, or only meaning. `several`: any number may answer, each for itself, also when they say the same.
    """

    talk: bool = True
    words: bool = True
    several: bool = False


TALK = Style()
NOTES = Style(talk=False)
SEVERAL_NOTES = Style(talk=False, several=True)  # any number of them may answer


@dataclass(frozen=True, slots=True)
class TokenMatches:
    """How well each passage matches each of the question's tokens (NaN where its vectors are still to come), and what
    the latter weigh: the idf of their words.
    """

    best: Products  # [passages, tokens]
    spans: Sequence[Span]
    weights: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gathered:
    """A row for each passage, by space and in the order in which they were said. `source`, `session` and `answers` are
    numbers that are equal where those are; 0 is none. What is missing is NaN. `by_meaning`: there were vectors to
    compare the question with.
    """

    passage: Ints
    source: Ints
    session: Ints
    answers: Ints  # the source that it answers
    speaker: Ints  # its place in `speakers`
    speakers: Sequence[str | None]
    at: Floats  # seconds since 1970
    chars: Floats
    foreign: Bools
    follows: Bools  # just behind the row before
    bm25: Floats
    pooled: Floats
    multilingual: Floats
    tokens: TokenMatches | None
    terms: Terms
    by_meaning: bool
    revised: Sequence[tuple[int, int]] = ()  # passages: what takes the place of the first is the second

    def __len__(self) -> int:
        return len(self.passage)


def asked_tokens(asked: EmbeddedQuestion) -> tuple[str, Tokens] | None:
    """The model that gave the question's tokens, and these."""
    return next(
        ((name, embedding.tokens) for name, (_, embedding) in asked.embedded.items() if embedding.tokens is not None),
        None,
    )


def token_weights(question: str, spans: Sequence[Span], frequency: Callable[[str], int], total: int) -> list[float]:
    """The idf of the word that each token is of. What is no word of the question, as a piece that some encoders put
    before it, counts as its least telling word.
    """
    words = terms.words(question)

    def weight(start: int, end: int) -> float:
        inside = (word.term for word in words if word.start < end and start < word.end)
        return float(idf(max((frequency(term) for term in inside), default=0), total))

    weights = [weight(*span) if span[0] < span[1] else None for span in spans]
    least = min((known for known in weights if known is not None), default=1.0)
    return [least if value is None else value for value in weights]


async def passing(
    conn: Connection,
    passes: Passes,
    ranked: list[list[int]],
    candidates_of: Callable[[int], Awaitable[list[list[int]]]],
    count: int,
    enough: int,
    *,
    widest: int,
) -> set[int]:
    """The best of what passes; if too few of the nearest do, it is looked for further."""
    limit = int(WIDER * count)
    looked, passing = set[int](), set[int]()
    while True:
        unseen = set[int]().union(*ranked) - looked
        looked |= unseen
        passing |= set(await passes(conn, sorted(unseen)))
        kept = [[passage for passage in passages if passage in passing][:count] for passages in ranked]
        more = any(len(all_) == limit and len(few) < enough for all_, few in zip(ranked, kept, strict=True))
        if not more or limit >= widest:
            return set[int]().union(*kept)
        limit = widest
        ranked = await candidates_of(limit)
