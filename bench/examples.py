"""What calibration is fitted on: questions as the engine answers them, with an answer and without.

Beside its own questions, a conversation is asked those of others, to which nothing is an answer, and its own after the
gold turns were taken out. All of it again in short pieces of the conversations: most scopes are small at first.
"""

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bench import datasets
from bench.datasets import LOADERS
from bench.laboratory import Laboratory, Loaded
from keepstone.engine import rank
from keepstone.engine.calibrate import Terms
from keepstone.engine.gather import CANDIDATES, gather
from keepstone.engine.question import EmbeddedQuestion
from keepstone.engine.search import best_of, describe, weights_of

Floats = npt.NDArray[np.float64]

CHAT = ("locomo", "longmemeval")
# In meetings dozens of turns are gold, and paragraphs are no turns: they are for the question, not for its results.
OTHERS = ("qmsum", "xquad")
TOP = 10
WHOLE = 0
SIZES = (2, 3, 5, 12, 40, 120)
FEW_SIZES = (3, 12)
FOREIGN = 200  # questions of others, at most, for each conversation


@dataclass(frozen=True)
class Example:
    """A question as the search answered it: its first results, and which of them are gold.

    `kind` is "own" for a question that the space answers, "foreign" for one of another space, "removed" for one whose
    answer was taken out, and "trick" for one that the data set made up to have no answer.
    """

    dataset: str
    conversation: str
    kind: str
    size: int
    way: str
    candidates: list[rank.Candidate]
    scores: Floats
    terms: Terms
    gold: Floats

    @property
    def order(self) -> range:
        return range(len(self.candidates))


@dataclass(frozen=True)
class Asked:
    """Who asks questions of a conversation, or of pieces of it, and gathers what the search makes of them."""

    lab: Laboratory
    dataset: str
    conversation: str
    loaded: Loaded
    examples: list[Example]

    async def ask(
        self, kind: str, question: datasets.Question, size: int, turns: Sequence[int], gold: frozenset[Hashable]
    ) -> None:
        """An example for each way to search among these turns; none where nothing was found."""
        seen = await self._seen(question)
        async with self.lab.only(self.loaded, turns) as (conn, place):
            for way, asked in seen.items():
                gathered = await gather(conn, place, asked, self.loaded.style, count=CANDIDATES)
                if not gathered.passages:
                    continue
                described = describe(asked, gathered)
                scores = rank.scores(described.candidates, weights_of(asked, self.loaded.style))
                best = best_of(described, scores, TOP, several=False)
                keys = [self.loaded.turn(described.groups.windows[index][0].source_id).key for index in best]
                self.examples.append(
                    Example(
                        dataset=self.dataset,
                        conversation=self.conversation,
                        kind=kind,
                        size=size,
                        way=way,
                        candidates=[described.candidates[index] for index in best],
                        scores=scores[best],
                        terms=gathered.terms,
                        gold=np.array([float(key in gold) for key in keys], dtype=np.float64),
                    )
                )

    async def _seen(self, question: datasets.Question) -> dict[str, EmbeddedQuestion]:
        """The question as each way to search sees it."""
        asked = await self.lab.embed(self.loaded, question)
        english, other = self.lab.asking
        late, multilingual = await english.embed_question(question.text), await other.embed_question(question.text)
        return {
            "late": asked,
            "pooled": replace(asked, embedded={english.name: (english, replace(late, tokens=None))}),
            "multilingual": replace(asked, embedded={other.name: (other, multilingual)}),
            "terms": replace(asked, embedded={}),
        }


async def examples_of(name: str, lab: Laboratory) -> list[Example]:
    """Each conversation with its own questions, with those of others, and with its own where the answer is missing."""
    collections = LOADERS[name]()
    chance = random.Random(name)
    examples: list[Example] = []
    for number, collection in enumerate(collections):
        asked = Asked(lab, name, collection.name, await lab.load(collection), examples)
        own = [replace(question, gold=question.turns or question.gold) for question in collection.questions]
        own = own[::4] if name == "xquad" else own
        elsewhere = [
            question for place, other in enumerate(collections) if place != number for question in other.questions
        ]
        # The paragraphs of XQuAD are the same in every language.
        elsewhere = [] if name == "xquad" else chance.sample(elsewhere, min(FOREIGN, len(elsewhere)))
        for size in (WHOLE, *(SIZES if name in CHAT else FEW_SIZES)):
            await _of_size(asked, own, elsewhere, size, chance)
    return examples


async def _of_size(
    asked: Asked,
    own: Sequence[datasets.Question],
    elsewhere: Sequence[datasets.Question],
    size: int,
    chance: random.Random,
) -> None:
    turns = asked.loaded.turns
    places = range(len(turns))
    for question in own:
        gold = [number for number in places if turns[number].key in question.gold]
        if not gold:
            continue
        close = {number + step for number in gold for step in (-1, 0, 1)}
        await asked.ask("own", question, size, piece(places, size, chance, chance.choice(gold)), question.gold)
        without = [number for number in places if number not in close]
        kind = "foreign" if asked.dataset == "xquad" else "removed"
        await asked.ask(kind, question, size, piece(without, size, chance), frozenset())
    for question in elsewhere if size == WHOLE else elsewhere[: len(own)]:
        await asked.ask("foreign", replace(question, now=None), size, piece(places, size, chance), frozenset())


def piece(numbers: Sequence[int], size: int, chance: random.Random, around: int | None = None) -> Sequence[int]:
    """So many turns that follow each other, with a certain one among them."""
    if size == WHOLE or size >= len(numbers):
        return numbers
    last = len(numbers) - size
    start = chance.randint(0, last) if around is None else around - chance.randrange(size)
    start = min(max(start, 0), last)
    return numbers[start : start + size]


async def tricks(lab: Laboratory) -> list[Example]:
    """Questions made up to have no answer: in LoCoMo about the wrong person, in LongMemEval about the wrong thing."""
    examples: list[Example] = []
    for name, collections in (
        ("locomo", datasets.locomo(answerable=False)),
        ("longmemeval", datasets.longmemeval(answerable=False)),
    ):
        for collection in collections:
            asked = Asked(lab, name, collection.name, await lab.load(collection), examples)
            for question in collection.questions:
                await asked.ask("trick", question, WHOLE, range(len(collection.turns)), frozenset())
    return examples
