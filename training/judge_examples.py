"""What the judge learns from: notes and later notes, conversations with questions, messages, scenes of an assistant, as
people wrote them for it (`judgements/*.jsonl`), and the encoder's questions about turns. Needs no PyTorch.

Owns the formats of these files and what each becomes: rows of a head, one or two texts, and a target.
"""

import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEADS = ("relation", "answers", "keep", "wanted", "standing", "holds")
RELATIONS = ("update", "duplicate", "side_by_side", "unrelated")
# Targets beyond yes and no: between two messages of a talk that nobody labelled there is hardly an update; a memory
# that is neither wanted nor noise; and what came between the first and the last version.
NO_UPDATE, NEUTRAL, BETWEEN = 4, 3, 2
HELD_OUT = 10  # every so many are not learned from
_NAMES = (
    "Anna", "Ben", "Cleo", "Omar", "Priya", "Jonas", "Mei", "小林", "Tomasz", "Aisha", "Rosa", "Kwame", "阿杰", "Lena",
    "Diego", "Sven", "Yuki", "Fatima", "老王", "Grace",
)  # fmt: skip
_OF_ONESELF = re.compile(r"\b(i|i'm|i've|my|me|mine|ich|mein\w*|mir|mich|bin|hab)\b|我", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?。！？\n]+|\s{2,}")


@dataclass(frozen=True, slots=True)
class Row:
    head: str
    first: str
    second: str | None
    target: int
    held_out: bool
    group: int = -1
    weight: float = 1.0


@dataclass(slots=True)
class Examples:
    """`mined` is the first group of the encoder's questions: before it, people wrote them."""

    rows: list[Row] = field(default_factory=list[Row])
    groups: int = 0
    mined: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(5))  # noqa: S311

    def add(
        self, head: str, first: str, second: str | None, target: int, held_out: bool, group: int = -1, weight: float = 1
    ) -> None:
        self.rows.append(Row(head, first, second, target, held_out, group, weight))

    def group(self) -> int:
        self.groups += 1
        return self.groups - 1


def examples(judgements: Path, encoder_data: Path, *, share: float = 0.6) -> Examples:
    """All of them. `share` of the encoder's questions: they are many."""
    made = Examples()
    for kind, read in (
        ("pairs", _pairs), ("conversations", _conversations), ("turns", _turns), ("inject", _scenes), ("notes", _notes)
    ):  # fmt: skip
        for path in sorted(judgements.glob(f"{kind}*.jsonl")):
            read(made, list(_lines(path)))
    made.mined = made.groups
    _mined(made, encoder_data, share)
    return made


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def _pairs(made: Examples, notes: Sequence[Any]) -> None:
    chance = made.chance
    for number, note in enumerate(notes):
        held = number % HELD_OUT == 3
        first: str = note["first"]
        for relation, target in zip(RELATIONS, range(len(RELATIONS)), strict=True):
            for later in note.get(relation) or ():
                mine = bool(_OF_ONESELF.search(first)) and bool(_OF_ONESELF.search(later))
                one, other = chance.sample(_NAMES, 2)
                form = chance.random()
                if form < 0.3:
                    made.add("relation", f"{one}: {first}", f"{one}: {later}", target, held)
                elif form < 0.5 and not mine:
                    made.add("relation", f"{one}: {first}", f"{other}: {later}", target, held)
                else:
                    made.add("relation", first, later, target, held)
                if mine and relation in {"update", "duplicate"}:
                    # Of another person it is another matter.
                    made.add("relation", f"{one}: {first}", f"{other}: {later}", RELATIONS.index("side_by_side"), held)
                if relation in {"duplicate", "unrelated"}:
                    made.add("relation", later, first, target, held)
        # Of the same field, and of something else.
        near = [notes[place] for place in range(max(0, number - 15), min(len(notes), number + 16)) if place != number]
        for beside in chance.sample(near, min(4, len(near))):
            later = chance.choice([*(beside.get("update") or ()), *(beside.get("side_by_side") or ()), beside["first"]])
            made.add("relation", first, later, NO_UPDATE, held)
        other_note = chance.choice(notes)
        if other_note is not note:
            later = chance.choice(other_note.get("update") or [other_note["first"]])
            made.add("relation", first, later, RELATIONS.index("unrelated"), held)


def _conversations(made: Examples, talks: Sequence[Any]) -> None:
    for number, talk in enumerate(talks):
        held = number % HELD_OUT == 3
        texts = [message["text"] for message in talk["messages"]]
        said = [f"{message['speaker']}: {message['text']}" for message in talk["messages"]]
        updates: set[tuple[int, int]] = set()
        for question in talk["questions"]:
            current, stale = set(question["current"]), set(question["stale"])
            _question(made, question["text"], said, current, stale, held)
            updates |= {(old, new) for old in stale for new in current if old < new}
        for old, new in sorted(updates):
            for texts_of in (texts, said):
                made.add("relation", texts_of[old], texts_of[new], RELATIONS.index("update"), held)
        rest = [(old, new) for new in range(len(said)) for old in range(new) if (old, new) not in updates]
        made.chance.shuffle(rest)
        for place, (old, new) in enumerate(rest[:24]):
            texts_of = texts if place < 10 else said
            made.add("relation", texts_of[old], texts_of[new], NO_UPDATE, held)


def _question(
    made: Examples, question: str, said: Sequence[str], current: set[int], stale: set[int], held: bool
) -> None:
    group, chance = made.group(), made.chance
    rest = [place for place in range(len(said)) if place not in current | stale]
    chance.shuffle(rest)
    # What no longer holds answers as well: whether it holds is asked apart.
    for place in sorted(current | stale):
        made.add("answers", question, said[place], 1, held, group)
    for place in rest[: 7 if current else 8]:
        made.add("answers", question, said[place], 0, held, group)

    def holds(older: int, newer: int, target: int) -> None:
        made.add("holds", f"{question} | {said[older]}", said[newer], target, held)

    for old in sorted(stale):
        for new in sorted(current):
            if old < new:
                holds(old, new, 1)
            else:
                holds(new, old, 0)
        for between in sorted(stale):
            if old < between:
                holds(old, between, BETWEEN)
    for place, most in [*((old, 3) for old in sorted(stale)), *((new, 5) for new in sorted(current))]:
        for later in [other for other in rest if other > place][:most]:
            holds(place, later, 0)
    if not current and len(said) > 2:
        older, newer = sorted(chance.sample(range(len(said)), 2))
        holds(older, newer, 0)


def _turns(made: Examples, turns: Sequence[Any]) -> None:
    for number, turn in enumerate(turns):
        held = number % HELD_OUT == 3
        text, kept = turn["text"], turn["keep"]
        made.add("keep", text, None, int(bool(kept)), held)
        rest = text
        for part in kept:
            rest = rest.replace(part, "  ")
            if part != text:
                made.add("keep", part, None, 1, held)
        for part in _SENTENCE.split(rest) if kept else ():
            if len(part.strip()) > 7:
                made.add("keep", part.strip(" ,;:-—，"), None, 0, held, weight=0.7)


def _scenes(made: Examples, scenes: Sequence[Any]) -> None:
    for number, scene in enumerate(scenes):
        held = number % HELD_OUT == 3
        for memory in scene["memories"]:
            made.add("standing", memory["text"], None, int(memory.get("standing", False)), held)
            made.add("keep", memory["text"], None, 1, held, weight=1.0)
        for turn in scene["turns"]:
            group = made.group()
            made.add("keep", turn["text"], None, 0, held, weight=0.3)
            for memory in scene["memories"]:
                key = memory["key"]
                target = 1 if key in turn["want"] else 0 if key in turn["never"] else NEUTRAL
                made.add("wanted", turn["text"], memory["text"], target, held, group)


def _notes(made: Examples, sets: Sequence[Any]) -> None:
    for number, kept in enumerate(sets):
        held = number % HELD_OUT == 3
        notes = {
            note["key"]: f"{note['title']}: {note['content']}" if note.get("title") else note["content"]
            for note in kept["notes"]
        }
        for query in kept["queries"]:
            group = made.group()
            others = [key for key in notes if key not in query["gold"]]
            made.chance.shuffle(others)
            for key in [*query["gold"], *others[:8]]:
                made.add("answers", query["text"], notes[key], int(key in query["gold"]), held, group)


def _mined(made: Examples, folder: Path, share: float) -> None:
    def lines(name: str) -> Iterator[Any]:
        with gzip.open(folder / name, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)

    talks = [talk["turns"] for talk in lines("conversations.jsonl.gz")]
    for conversation, turn, question, _, similar, *_ in lines("train_mined.jsonl.gz"):
        held = conversation % 20 == 0
        if made.chance.random() > (0.15 if held else share):
            continue
        turns = talks[conversation]
        wrong = [other for other in similar if abs(other - turn) > 1]
        hard, easier = wrong[:12], wrong[12:]
        chosen = made.chance.sample(hard, min(4, len(hard))) + made.chance.sample(easier, min(2, len(easier)))
        group = made.group()
        for place in (turn, *chosen):
            said = f"{turns[place][0]}: {turns[place][1]}"[:700]
            made.add("answers", question, said, int(place == turn), held, group)
