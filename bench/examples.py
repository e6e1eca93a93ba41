"""What calibration is fitted on, and what it is measured on: questions as the engine answers them, with an answer and
without.

Beside its own questions, a conversation is asked those of others, to which nothing is an answer, its own of the wrong
person, and, of notes, its own after the gold one was taken out. All of it again in short pieces of the conversations:
most scopes are small at first.
"""

import random
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench import datasets
from bench.conversations import conversations, in_their_names, of_another
from bench.datasets import LOADERS
from bench.laboratory import Laboratory, Loaded, look, views
from keepstone.engine import rank
from keepstone.engine.calibrate import Terms
from keepstone.engine.question import EmbeddedQuestion
from keepstone.engine.search import best_of, describe, distinct, of_person, person, read_texts, weights_of

Floats = npt.NDArray[np.float64]

CHAT = ("locomo", "longmemeval")
# In meetings dozens of turns are gold, and paragraphs are no turns: they are for the question, not for its results.
OTHERS = ("qmsum", "xquad")
TOP = 10
WHOLE = 0
SIZES = (3, 12, 60)
# Questions of each kind for each conversation, at most: of the whole, and of pieces of each size.
ASKED = {"own": (60, 8), "foreign": (24, 6), "person": (40, 6)}
ASKED_OF_NOTES = {"own": (12, 3), "foreign": (8, 3), "removed": (8, 3)}
FEWEST = 5  # questions that a conversation must have
FOREIGN, PIECES = 100, 4  # to measure: questions of others, and of how many questions one is asked of pieces


@dataclass(frozen=True)
class Example:
    """A question as the search answered it: its first results, and which of them are gold.

    `kind` is "own" for a question that the space answers, "foreign" for one of another space, "removed" for one whose
    answer was taken out, "person" for one asked of the wrong person, and "trick" for one that the data set made up to
    have no answer.
    """

    dataset: str
    conversation: str
    kind: str
    size: int
    way: str
    candidates: rank.Candidates
    scores: Floats
    terms: Terms
    person: float | None
    talk: bool
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
    measured: bool = False

    def only_late(self, size: int) -> bool:
        """Of pieces of conversations, and of paragraphs, other ways are not reported."""
        return self.measured and (size != WHOLE or self.dataset == "xquad")

    async def ask(
        self,
        kind: str,
        question: datasets.Question,
        size: int,
        turns: Sequence[int],
        gold: frozenset[Hashable] = frozenset(),
    ) -> None:
        """An example for each way to search among these turns; none where nothing was found."""
        seen = await self._seen(question)
        if kind == "person" or self.only_late(size):
            seen = {"late": seen["late"]}  # by anything else, who is the wrong person looks like the right one
        async with self.lab.only(self.loaded, turns) as (conn, place):
            seen_in = await views(conn, place)
            for way, asked in seen.items():
                gathered = await look(conn, place, asked, self.loaded.style, seen_in)
                if not len(gathered):
                    continue
                described = describe(asked, gathered)
                scores = rank.scores(described.candidates, weights_of(asked, self.loaded.style))
                first, spoken_of = best_of(scores, TOP), of_person(asked.question, described)
                texts = await read_texts(conn, place, described, [*first, *spoken_of])
                best = distinct(texts, first, TOP, several=False)
                keys = [self.loaded.turn(texts.rows[index][0].source_id).key for index in best]
                self.examples.append(
                    Example(
                        dataset=self.dataset,
                        conversation=self.conversation,
                        kind=kind,
                        size=size,
                        way=way,
                        candidates=described.candidates.take(best),
                        scores=scores[best],
                        terms=gathered.terms,
                        person=person(spoken_of, texts),
                        talk=self.loaded.style.talk,
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


# ------------------------------------------------------------------------------------------------------ to fit


async def examples_to_fit(folder: Path, lab: Laboratory) -> list[Example]:
    """From conversations that nothing is measured on; and, for what is asked in one language and said in another, from
    every other paragraph of XQuAD, of which the rest are measured.
    """
    chance = random.Random("calibration")
    chosen = conversations(folder)
    examples: list[Example] = []
    for conversation in chosen:
        others = [other for other in chosen if other is not conversation]
        for collection, asked in ((conversation.talk, ASKED), (conversation.notes, ASKED_OF_NOTES)):
            if len(collection.questions) < FEWEST:
                continue
            of_others = [
                replace(question, text=in_their_names(question, other.speakers, conversation.speakers, chance))
                for other in others
                for question in (other.talk if collection is conversation.talk else other.notes).questions
            ]
            questions = {
                "own": collection.questions,
                "removed": collection.questions,
                "foreign": of_others,
                "person": [
                    replace(question, text=text)
                    for question in collection.questions
                    if (text := of_another(question, conversation.speakers, chance))
                ],
            }
            place = Asked(lab, conversation.source, collection.name, await lab.load(collection), examples)
            for kind, (most, fewer) in asked.items():
                for size in (WHOLE, *SIZES):
                    count = most if size == WHOLE else fewer
                    for question in chance.sample(questions[kind], min(count, len(questions[kind]))):
                        await _ask(place, kind, question, size, chance)
    for collection in halved(datasets.xquad(), 0):
        place = Asked(lab, "xquad", collection.name, await lab.load(collection), examples)
        for question in collection.questions[::6]:
            for kind in ("own", "removed"):
                await _ask(place, kind, question, WHOLE, chance)
    return examples


def halved(collections: Sequence[datasets.Collection], half: int) -> list[datasets.Collection]:
    """With every other paragraph, and what is asked about them."""
    return [
        replace(
            collection,
            turns=collection.turns[half::2],
            questions=[
                question
                for question in collection.questions
                if question.gold & {turn.key for turn in collection.turns[half::2]}
            ],
        )
        for collection in collections
    ]


async def _ask(asked: Asked, kind: str, question: datasets.Question, size: int, chance: random.Random) -> None:
    """A question of this kind, of the whole or of a piece of that size."""
    turns = asked.loaded.turns
    gold = [number for number, turn in enumerate(turns) if turn.key in question.gold]
    if kind == "own":
        part = piece(range(len(turns)), size, chance, chance.choice(gold))
        await asked.ask(kind, question, size, part, question.gold)
        return
    if kind == "person":
        await asked.ask(kind, question, size, piece(range(len(turns)), size, chance, chance.choice(gold)))
        return
    close = {number + step for number in gold for step in (-1, 0, 1)} if kind == "removed" else set[int]()
    left = [number for number in range(len(turns)) if number not in close]
    await asked.ask(kind, question, size, piece(left, size, chance))


def piece(numbers: Sequence[int], size: int, chance: random.Random, around: int | None = None) -> Sequence[int]:
    """So many turns that follow each other, with a certain one among them."""
    if size == WHOLE or size >= len(numbers):
        return numbers
    last = len(numbers) - size
    start = chance.randint(0, last) if around is None else around - chance.randrange(size)
    start = min(max(start, 0), last)
    return numbers[start : start + size]


# -------------------------------------------------------------------------------------------------- to measure


async def examples_of(name: str, lab: Laboratory) -> list[Example]:
    """Each conversation with its own questions and with those of others; LoCoMo in pieces as well."""
    collections = halved(datasets.xquad(), 1) if name == "xquad" else LOADERS[name]()
    chance = random.Random(name)
    examples: list[Example] = []
    for number, collection in enumerate(collections):
        asked = Asked(lab, name, collection.name, await lab.load(collection), examples, measured=True)
        own = [replace(question, gold=question.turns or question.gold) for question in collection.questions]
        own = own[::2] if name == "xquad" else own
        elsewhere = [
            question for place, other in enumerate(collections) if place != number for question in other.questions
        ]
        for size in (WHOLE, *SIZES) if name == "locomo" else (WHOLE,):
            step = 1 if size == WHOLE else PIECES
            for question in own[::step]:
                if any(turn.key in question.gold for turn in collection.turns):
                    await _ask(asked, "own", question, size, chance)
            if name == "xquad":  # the paragraphs are the same in every language
                for question in own:
                    await _ask(asked, "removed", question, size, chance)
                continue
            for question in chance.sample(elsewhere, min(FOREIGN // step, len(elsewhere))):
                await _ask(asked, "foreign", replace(question, now=None), size, chance)
    return examples


async def tricks(lab: Laboratory, sets: Collection[str]) -> list[Example]:
    """Questions made up to have no answer: in LoCoMo about the wrong person, in LongMemEval about the wrong thing."""
    examples: list[Example] = []
    for name, load in (("locomo", datasets.locomo), ("longmemeval", datasets.longmemeval)):
        for collection in load(answerable=False) if name in sets else ():
            asked = Asked(lab, name, collection.name, await lab.load(collection), examples)
            for question in collection.questions:
                await asked.ask("trick", question, WHOLE, range(len(collection.turns)))
    return examples
