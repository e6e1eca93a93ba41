"""Turns conversations and questions into arrays, so that the training itself needs nothing but NumPy and PyTorch."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from bench import datasets
from bench.datasets import Collection

from keepstone.engine.cutting import spoken
from keepstone.engine.language.calendar import date_words
from keepstone.engine.rank import named
from keepstone.engine.terms import terms
from keepstone.engine.when import timeprox, windows
from keepstone.providers.wordpieces import cut, load_tokenizer
from training import reading, sources
from training.arrays import NONE, Prepared
from training.dev import Asked, DevSet
from training.words import WordIndex

BY_WORDS = 12  # negatives by BM25
OVERLAP = 32  # word pieces of a window
UNDATED = datetime(2024, 1, 1, tzinfo=UTC)


def prepare_training(folder: Path, tokenizer_file: Path) -> Prepared:
    talk = sources.conversations(folder)
    asked = sources.questions(folder, talk)
    tokenizer = load_tokenizer(tokenizer_file)
    lines = [spoken(turn.speaker, turn.text) for conversation in talk for turn in conversation.turns]
    first = np.cumsum([0, *(len(conversation.turns) for conversation in talk)])
    turns = reading.flat(reading.read(tokenizer, lines), _before(talk))
    asked.sort(key=lambda question: (question.conversation, question.turn))
    read = list(reading.read(tokenizer, [question.text for question in asked]))
    weights: list[float] = []
    by_words = np.full((len(asked), BY_WORDS), NONE, np.int64)
    index, current = WordIndex([]), NONE
    for number, (question, text) in enumerate(zip(asked, read, strict=True)):
        start, end = first[question.conversation], first[question.conversation + 1]
        if question.conversation != current:
            index, current = WordIndex([terms(line) for line in lines[start:end]]), question.conversation
        weights += reading.weights(question.text, text, index.frequencies, end - start)
        scores = index.scores(question.text)
        scores[[place for place in beside(question.turn) if 0 <= place < end - start]] = 0.0
        best = np.argsort(-scores, kind="stable")[:BY_WORDS]
        best = best[scores[best] > 0]
        by_words[number, : len(best)] = best + start
    return Prepared(
        turns,
        np.repeat(np.arange(len(talk)), np.diff(first)),
        first,
        reading.flat(read),
        np.array(weights, np.float32),
        np.array([first[question.conversation] + question.turn for question in asked], np.int64),
        by_words,
    )


def beside(turn: int) -> tuple[int, int, int]:
    """A turn and those next to it, which may answer as well."""
    return turn - 1, turn, turn + 1


def _before(talk: list[sources.Conversation]) -> list[int]:
    """For each turn the number of the one before it in the same session."""
    before: list[int] = []
    for conversation in talk:
        for place, turn in enumerate(conversation.turns):
            follows = place > 0 and conversation.turns[place - 1].session == turn.session
            before.append(len(before) - 1 if follows else NONE)
    return before


def prepare_dev(sets: Iterable[str], tokenizer_file: Path) -> list[DevSet]:
    """Of XQuAD what is asked and told in English."""
    collections = [(name, collection) for name in sets for collection in datasets.LOADERS[name]()]
    wanted = [(name, each) for name, each in collections if name != "xquad" or each.name.endswith("en → en")]
    return [dev_set(name, collection, tokenizer_file) for name, collection in wanted]


def dev_set(name: str, collection: Collection, tokenizer_file: Path) -> DevSet:
    tokenizer = load_tokenizer(tokenizer_file)
    turns = collection.turns
    talk = any(turn.speaker for turn in turns)
    lines: list[str] = []
    words: list[list[str]] = []
    turn_of: list[int] = []
    before: list[int] = []
    for number, turn in enumerate(turns):
        at = turn.at or UNDATED
        follows = talk and number > 0 and turns[number - 1].session == turn.session
        for part, (start, end) in enumerate(cut(tokenizer_file, False, reading.LONGEST, OVERLAP, turn.text)):
            line = spoken(turn.speaker or None, turn.text[start:end])
            before.append(len(lines) - 1 if follows and part == 0 else NONE)
            lines.append(line)
            words.append([*terms(line), *(terms(date_words(at)) if talk else [])])
            turn_of.append(number)
    index = WordIndex(words)
    sessions = list(dict.fromkeys(turn.session for turn in turns))
    keys = {key: number for number, key in enumerate(sessions if collection.by_session else (t.key for t in turns))}
    speakers = {turn.speaker for turn in turns}
    at = [(turns[number].at or UNDATED).timestamp() for number in turn_of]
    read = list(reading.read(tokenizer, [question.text for question in collection.questions]))
    asked: list[Asked] = []
    last = max((turn.at for turn in turns if turn.at), default=UNDATED)
    for question, text in zip(collection.questions, read, strict=True):
        about = named(question.text, speakers, question.asker)
        asked.append(
            Asked(
                np.array(reading.weights(question.text, text, index.frequencies, len(lines)), np.float32),
                index.scores(question.text).astype(np.float32),
                np.array([float(turns[number].speaker in about) for number in turn_of], np.float32),
                np.asarray(timeprox(at, windows(question.text, question.now or last)), np.float32),
                [keys[key] for key in question.gold if key in keys],
            )
        )
    return DevSet(
        name,
        reading.flat(reading.read(tokenizer, lines), before),
        np.array(turn_of),
        np.array([sessions.index(turns[number].session) for number in turn_of]),
        np.bincount(turn_of, [len(line) for line in lines]).astype(np.float64),
        reading.flat(read),
        asked,
        collection.by_session,
    )
