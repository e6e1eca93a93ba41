"""The judge that ships: what it reads, in three languages, and what it learns from."""

import gzip
import json
import pickle
from pathlib import Path
from typing import Any, cast

import pytest
from training.judge_examples import NO_UPDATE, RELATIONS, examples
from training.judging import JUDGEMENTS

from keepstone.link import Link
from keepstone.providers.embedders import Embedders
from keepstone.providers.judge import Judge, Relation
from keepstone.providers.remote import RemoteJudge, ask_model


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge()


@pytest.mark.parametrize(
    ("older", "newer", "relation"),
    [
        ("I live in Turin.", "I live in Genoa now.", "update"),
        ("Sofia works at the town hall.", "Sofia quit her job at the town hall.", "update"),
        ("Das Treffen ist am Montag.", "Das Treffen ist jetzt am Donnerstag.", "update"),
        ("会议在两点", "会议改到五点", "update"),
        ("Tariq is allergic to walnuts.", "Tariq is allergic to shellfish.", "side_by_side"),
        ("Mira mag Oliven.", "Mira mag Kapern.", "side_by_side"),
        ("我喜欢喝茶", "我喜欢喝汤", "side_by_side"),
        ("The shed key hangs behind the door.", "Behind the door is where the key to the shed hangs.", "duplicate"),
    ],
)
async def test_it_hears_what_a_later_note_does_to_an_earlier_one(
    judge: Judge, older: str, newer: str, relation: str
) -> None:
    (chances,) = await judge.relations([(older, newer)])
    assert max(Relation._fields, key=lambda name: getattr(chances, name)) == relation
    assert sum(chances) == pytest.approx(1.0, abs=1e-3)


class NextDoor:
    """A link to a process that is this one."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    async def ask(self, kind: str, value: Any = None) -> Any:
        return await ask_model(Embedders(()), self.judge, kind, pickle.loads(pickle.dumps(value)))


async def test_another_process_judges_as_this_one_does(judge: Judge) -> None:
    remote = RemoteJudge(cast("Link", NextDoor(judge)))
    pairs = [("I live in Turin.", "I live in Genoa now."), ("Mira mag Oliven.", "Mira mag Kapern.")]
    texts = [text for pair in pairs for text in pair]
    for awaited in (True, False):
        assert await remote.relations(pairs, awaited=awaited) == await judge.relations(pairs, awaited=awaited)
    for name, given in (("answers", ("Where?", texts)), ("wanted", ("Where?", texts)), ("holds", ("Where?", pairs)),
                        ("worth_keeping", (texts,)), ("standing", (texts,))):  # fmt: skip
        assert await getattr(remote, name)(*given) == await getattr(judge, name)(*given)


async def test_it_says_what_answers_and_what_answers_instead(judge: Judge) -> None:
    turns = ["Ida: the ferry leaves at nine", "Ida: my cat is asleep", "Ida: new timetable, the ferry leaves at ten"]
    first, cat, newer = await judge.answers("When does the ferry leave?", turns)
    assert newer > 0.5 > cat
    assert first > 10 * cat
    pairs = [(turns[0], turns[2]), (turns[0], turns[1])]
    instead, beside = await judge.holds("When does the ferry leave?", pairs)
    assert instead > 0.5 > beside


async def test_it_says_what_is_worth_keeping_and_what_is_wanted(judge: Judge) -> None:
    kept, chatter = await judge.worth_keeping(["my new address is Elm Road 9, from 1 May", "haha yes, see you there"])
    assert kept > 0.5 > chatter
    wanted, noise = await judge.wanted("what can I cook tonight?", ["I can't eat gluten.", "My bike has 24 gears."])
    assert wanted > noise
    wish, fact = await judge.standing(["Please keep your answers short.", "My sister lives in Graz."])
    assert wish > 0.5 > fact


async def test_nothing_is_read_of_nothing_and_the_order_stays(judge: Judge) -> None:
    assert await judge.relations([]) == []
    assert await judge.answers("Where?", []) == []
    texts = ["word " * count for count in (900, 1, 40, 3)] + ["合" * 5_000, "\ud800", ""]
    together = await judge.worth_keeping(texts)
    alone = [(await judge.worth_keeping([text]))[0] for text in texts]
    assert together == pytest.approx(alone, abs=0.05)


async def test_a_text_is_judged_alike_in_any_company_and_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, question = Judge(), "Where does Anna live?"
    texts = ["Anna lives in Porto.", "Anna has a dog that barks at every bicycle, and a cat that does not care."]
    alone = [(await Judge().answers(question, [text]))[0] for text in texts]
    assert await judge.answers(question, texts) == alone
    monkeypatch.setattr(Judge, "_run", None)  # to read anything now would fail
    assert await judge.answers(question, texts[::-1]) == alone[::-1]
    judge.close()


def test_every_example_becomes_rows_and_a_tenth_is_held_out(tmp_path: Path) -> None:
    talk = {"turns": [["Ann", f"turn {number}", 0] for number in range(30)]}
    mined = [[0, 3, "what is said third?", 0, list(range(10, 28)), [1.0], 0.0]] * 20
    for name, rows in (("conversations", [talk]), ("train_mined", mined)):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    made = examples(JUDGEMENTS, tmp_path, share=1.0)
    heads = {row.head for row in made.rows}
    assert heads == {"relation", "answers", "keep", "wanted", "standing", "holds"}
    held = sum(row.held_out for row in made.rows if row.head == "relation")
    assert 0.05 < held / sum(row.head == "relation" for row in made.rows) < 0.15
    targets = {row.target for row in made.rows if row.head == "relation"}
    assert targets == {*range(len(RELATIONS)), NO_UPDATE}
    assert all(row.group >= 0 for row in made.rows if row.head == "answers")
    assert 0 < made.mined < made.groups
