"""Parts of public benchmarks: conversations, meetings and paragraphs, with questions and what answers them.

Owns where the data lies, `KEEPSTONE_BENCH_DATA` or the folder `shared/data` beside the repository, and its formats.
"""

import gzip
import json
import os
import re
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keepstone.engine.cutting import spoken

Json = Any

SETS = ("locomo", "longmemeval", "qmsum", "xquad")


@dataclass(frozen=True)
class Turn:
    """One turn as it was said; a paragraph has no speaker."""

    key: Hashable
    speaker: str
    text: str
    session: Hashable
    at: datetime | None = None

    @property
    def passage(self) -> str:
        return spoken(self.speaker, self.text)


@dataclass(frozen=True)
class Question:
    """`turns` are the gold turns where `gold` are sessions."""

    text: str
    gold: frozenset[Hashable]
    category: str
    now: datetime | None = None
    asker: str | None = None
    turns: frozenset[Hashable] = frozenset()


@dataclass(frozen=True)
class Collection:
    """A space and what is asked of it."""

    name: str
    turns: list[Turn]
    questions: list[Question]
    by_session: bool = False


def folder() -> Path:
    return Path(os.environ.get("KEEPSTONE_BENCH_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))


def load(name: str) -> Json:
    return json.loads(gzip.decompress((folder() / name).read_bytes()))


def locomo(*, answerable: bool = True) -> list[Collection]:
    """With the questions that have gold turns, or with those that were made up to have none."""
    collections: list[Collection] = []
    for sample in load("locomo_dev.json.gz"):
        turns: list[Turn] = []
        conversation = sample["conversation"]
        for name, said in conversation.items():
            if isinstance(said, list):
                at = datetime.strptime(conversation[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
                turns += [Turn(turn["dia_id"], turn["speaker"], turn["text"], name, at) for turn in said]
        now = max(turn.at for turn in turns if turn.at)
        known = {turn.key for turn in turns}
        questions = [
            Question(qa["question"], gold, f"category {qa['category']}", now)
            for qa in sample["qa"]
            if qa["category"] != 5
            # A few strings join several ids.
            and (gold := frozenset(re.findall(r"D\d+:\d+", " ".join(qa["evidence"]))) & known)
        ]
        if not answerable:
            questions = [
                Question(qa["question"], frozenset(), "category 5", now) for qa in sample["qa"] if qa["category"] == 5
            ]
        collections.append(Collection(f"locomo {sample['sample_id']}", turns, questions))
    return collections


def longmemeval(*, answerable: bool = True) -> list[Collection]:
    """With the questions that have gold sessions, or with those that were made up to have none."""
    collections: list[Collection] = []
    for entry in load("longmemeval_s_dev.json.gz"):
        if entry["question_id"].endswith("_abs") == answerable:
            continue
        turns: list[Turn] = []
        gold: set[Hashable] = set()
        parts = zip(entry["haystack_session_ids"], entry["haystack_dates"], entry["haystack_sessions"], strict=True)
        for number, (name, date, said) in enumerate(parts):
            # The ids tell which sessions are gold, so they are not used for anything else.
            if name in entry["answer_session_ids"]:
                gold.add(number)
            at = _longmemeval_date(date)
            turns += [
                Turn((number, position), turn["role"], turn["content"], number, at)
                for position, turn in enumerate(said)
            ]
        question = Question(
            entry["question"],
            frozenset(gold),
            entry["question_type"],
            _longmemeval_date(entry["question_date"]),
            "user",
            frozenset(
                (number, position)
                for number, said in enumerate(entry["haystack_sessions"])
                for position, turn in enumerate(said)
                if turn.get("has_answer")
            ),
        )
        collections.append(Collection(f"longmemeval {entry['question_id']}", turns, [question], by_session=True))
    return collections


def _longmemeval_date(text: str) -> datetime:
    return datetime.strptime(re.sub(r" \(\w+\)", "", text), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


def qmsum() -> list[Collection]:
    collections: list[Collection] = []
    for number, meeting in enumerate(load("qmsum_dev.json.gz")):
        turns = [
            Turn(position, turn["speaker"], turn["content"], "meeting")
            for position, turn in enumerate(meeting["meeting_transcripts"])
        ]
        questions = [
            Question(
                query["query"],
                frozenset(
                    place
                    for first, last in query["relevant_text_span"]
                    for place in range(int(first), min(int(last), len(turns) - 1) + 1)
                ),
                "specific",
            )
            for query in meeting["specific_query_list"]
        ]
        collections.append(Collection(f"qmsum {number}", turns, [question for question in questions if question.gold]))
    return collections


def xquad() -> list[Collection]:
    data = load("xquad_dev.json.gz")
    collections: list[Collection] = []
    for asked, told in (("zh", "zh"), ("zh", "en"), ("de", "de"), ("de", "en"), ("en", "en"), ("en", "zh")):
        turns = [Turn(number, "", entry["paragraph"], number) for number, entry in enumerate(data[told])]
        place = {asking["id"]: number for number, entry in enumerate(data[told]) for asking in entry["questions"]}
        questions = [
            Question(asking["question"], frozenset({place[asking["id"]]}), f"{asked} → {told}")
            for entry in data[asked]
            for asking in entry["questions"]
        ]
        collections.append(Collection(f"xquad {asked} → {told}", turns, questions))
    return collections


LOADERS = {"locomo": locomo, "longmemeval": longmemeval, "qmsum": qmsum, "xquad": xquad}
