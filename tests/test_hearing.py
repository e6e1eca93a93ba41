"""What people say in passing is heard by the judge, word for word, and what is no statement of theirs is not."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import cast

import httpx
import pytest

from capsules import rows
from conftest import World
from keepstone.engine.extract.heard import HOPELESS, NEVER, heard, passages, read_for
from keepstone.engine.extract.memories import extract_said
from keepstone.engine.language.sentences import sentences
from keepstone.engine.takeaways.due import days_meant, due_day, due_of
from keepstone.engine.takeaways.lists import items
from keepstone.engine.takeaways.messages import MOST_LISTED, judged_part, takeaways
from keepstone.jobs.worker import run_until_empty
from keepstone.memory import hearing
from keepstone.memory.room_memories import read_room
from keepstone.providers.judge import Judge
from keepstone.services import Services
from rooms import make_agent, make_room, memories, say, space_of

TUESDAY = date(2026, 9, 22)


@pytest.fixture(scope="module")
async def judge() -> AsyncGenerator[Judge]:
    loaded = Judge()
    yield loaded
    loaded.close()


async def kept(judge: Judge, text: str, *people: str) -> list[str]:
    plain = judged_part(text)
    read = read_for(plain)
    worth = dict(zip(read, await judge.worth_keeping(read) if read else [], strict=True))
    return [takeaway.text for takeaway in takeaways("Ann", text, ["Ann", *people], worth)]


@pytest.mark.parametrize(
    "text",
    [
        "the piano tuner can only do mornings, 95 euros, cash",
        "my brother in law runs the ferry kiosk at Kinsale since 2019",
        "we're 14 on Sunday, two of them don't eat pork",
        "Die Heizung im Vereinsheim läuft nicht vor dem 4. Oktober.",
        "Oma hat jetzt Pflegegrad 3, die Dame vom Dienst kommt Mo und Do um 8",
        "房东说押金不退，合同到明年三月十五号",
        "我们店每周二休息，别在那天送货",
    ],
)
async def test_what_is_said_in_passing_is_kept_word_for_word(judge: Judge, text: str) -> None:
    assert await kept(judge, text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "what does the piano tuner charge again?",
        "haha you wish",
        "ok see you there",
        "translate this into Dutch: The hall is closed on 4 October.",
        "if we had 10,000 euros we'd buy the bigger tent",
        "the alarm code is 4417, password hunter2-Xy99",
        "Kannst du mir den Plan nochmal schicken?",
        "Kürz das bitte auf drei Sätze",
        "把这段话翻译成德语：我们每周二休息",
        "哈哈笑死我了",
        'The sign said "No dogs on the lawn between May and September, fine 50 euros".',
        "```\nThe rent is 1,450 a month.\n```",
        "> We moved the party to 4 October.\nnice",
    ],
)
async def test_questions_errands_jokes_secrets_quotations_and_code_are_not(judge: Judge, text: str) -> None:
    assert await kept(judge, text) == []


async def test_of_a_message_only_what_says_something_is_kept_and_with_what_it_leans_on(judge: Judge) -> None:
    text = "Morning all! The new boiler is a Vaillant ecoTEC 40. It must be serviced every October. Phew, what a week."
    assert await kept(judge, text) == [
        "The new boiler is a Vaillant ecoTEC 40. It must be serviced every October."
    ]  # fmt: skip


async def test_a_question_at_the_end_is_left_off(judge: Judge) -> None:
    text = "my daughter Ines is allergic to cashews, can you tell the caterer?"
    assert await kept(judge, text) == ["my daughter Ines is allergic to cashews"]


async def test_what_rules_take_for_a_fact_and_the_judge_does_not_believe_is_dropped() -> None:
    text = "A standard pallet is 1.2 metres long."
    assert [takeaway.text for takeaway in takeaways("Ann", text)] == [text]
    assert takeaways("Ann", text, worth={text: 0.02}) == []


def test_without_a_judge_the_rules_decide_alone() -> None:
    assert takeaways("Ann", "the piano tuner can only do mornings, 95 euros, cash") == []
    assert [each.text for each in takeaways("Ann", "We decided to use Postgres.")] == ["We decided to use Postgres."]


def test_a_message_about_its_sentences_holds_none_of_them() -> None:
    sentence = "I live in Ghent and bake bread."
    text = f"{sentence} Is this correct?"
    worth = {sentence: 0.99, text: HOPELESS / 2}
    assert heard(text, worth) == []
    assert [passage.text for passage in heard(text, {**worth, text: 0.5})] == [sentence]


def test_what_leans_on_a_question_is_judged_with_it() -> None:
    text = "who picks up my parcel? it's number 612."
    [passage] = passages(text)
    assert (passage.sentence, passage.text) == (text, text)
    assert heard(text, {text: 0.2, "it's number 612.": 0.99}) == []


def test_what_may_be_meant_otherwise_has_to_be_exact() -> None:
    [vague] = passages("my knees hurt today")
    [exact] = passages("the vet comes today at 16:30, bring Milo")
    [plain] = passages("the vet is called Osei, 16:30 is fine")
    assert vague.bar == NEVER
    assert plain.bar < exact.bar < 1


async def test_a_chat_hears_the_same_and_is_surer_of_it(judge: Judge) -> None:
    text = "I'm allergic to penicillin, it was hives in 2011"
    assert [memory.content for memory in extract_said(text, {text: 0.95})] == [text]
    unsure = "the printer on floor 3 only takes A4"
    assert [memory.content for memory in extract_said(unsure, {unsure: 0.95})] == [unsure]
    assert extract_said(unsure, {unsure: 0.8}) == []
    assert extract_said(unsure) == []


# --- lists of what is to be done --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        (
            "Action items: Bob orders chairs, tables and lamps, Cara rings Dr. Weiss by Friday, and Emil pays 3,500.",
            ["Bob orders chairs, tables and lamps", "Cara rings Dr. Weiss by Friday", "Emil pays 3,500"],
        ),
        ("To-dos: Bob sends it; Cara does not book the hall", ["Bob sends it", "Cara does not book the hall"]),
        ("Next steps: 1. Bob calls the bank 2. Cara signs", ["Bob calls the bank", "Cara signs"]),
        ("Aufgaben: Jonas kauft Farbe, Lea mietet den Anhänger", ["Jonas kauft Farbe", "Lea mietet den Anhänger"]),
        ("待办：小李修复登录问题，小王明天发发票", ["小李修复登录问题", "小王明天发发票"]),
        ("Action items:\n- Bob calls the bank\n- Cara signs\nThanks!", ["Bob calls the bank", "Cara signs"]),
        ("## Aufgaben\n1. Farbe kaufen\n2. Anhänger mieten", ["Farbe kaufen", "Anhänger mieten"]),
        ("Tasks: Ann and Bob test the 2.5 build, Cara signs it", ["Ann and Bob test the 2.5 build", "Cara signs it"]),
        ("Todo: rotate the certificates, keys and tokens", []),
        ("Next steps: none", []),
        ("Shopping: eggs, milk", []),
    ],
)  # fmt: skip
def test_each_thing_to_do_is_one(text: str, listed: list[str]) -> None:
    assert items(text, ["Bob", "小李"]) == listed
    got = takeaways("Ann", text, ["Ann", "Bob", "小李"])
    if listed:
        assert [(each.type, each.text) for each in got] == [("action_item", item) for item in listed]
        assert got[0].assignee in {"Bob", "小李", None}


def test_a_long_list_has_an_end() -> None:
    text = "Action items:\n" + "\n".join(f"- Bob paints door {number}" for number in range(100))
    assert len(takeaways("Ann", text, ["Bob"])) == MOST_LISTED


# --- sentences that are not cut, days that are meant ------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Frau Okafor, Tel. 0341 555 01 22, nicht vor 9 Uhr.",
        "Er braucht z. B. Äpfel, d. h. Obst.",
        "Deliver to No. 4, Hauptstr. 12, approx. 20 boxes, not on Fri. 5 May.",
        "Prof. Ruiz and Dr. Adeyemi, room No. 17, said no.",
    ],
)
def test_numbers_and_short_forms_cut_no_sentence(text: str) -> None:
    assert sentences(text) == [text]


def test_no_is_an_answer_where_no_number_follows() -> None:
    assert sentences("Did he come? No. He stayed.") == ["Did he come?", "No.", "He stayed."]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I'll send it by tomorrow", "2026-09-23"),
        ("Ich schicke es bis übermorgen", "2026-09-24"),
        ("bis morgen", "2026-09-23"),
        ("明天之前提交", "2026-09-23"),
        ("by Friday", "2026-09-25"),
        ("before 3 March", "2027-03-03"),
        ("by 5 pm", "None"),
    ],
)
def test_words_for_a_day_mean_the_next_one(text: str, day: str) -> None:
    assert str(due_day(due_of(text) or "", TUESDAY)) == day


def test_only_words_that_change_their_meaning_are_read_beside_a_text() -> None:
    assert days_meant("Tomorrow we fly, on 3 May we are back", TUESDAY) == {"Tomorrow": date(2026, 9, 23)}
    assert days_meant("Guten Morgen, gestern kam die Post", TUESDAY) == {"gestern": date(2026, 9, 21)}
    assert days_meant("明天下午三点开会", TUESDAY) == {"明天": date(2026, 9, 23)}


# --- the job ----------------------------------------------------------------------------------------------------------


class Counting:
    """The judge, and what it was asked."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.asked: list[list[str]] = []

    async def worth_keeping(self, texts: list[str]) -> list[float]:
        self.asked.append(list(texts))
        return await self.judge.worth_keeping(texts)

    def __getattr__(self, name: str) -> object:
        return getattr(self.judge, name)


async def test_a_room_remembers_what_was_said_in_passing_with_who_and_when(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth)
    room = await make_room(client, auth)
    said = "I start at Brandt & Co tomorrow, 30 hours a week"
    await say(client, auth, room, said, ts=datetime(2026, 9, 22, 12, tzinfo=UTC))
    await say(client, auth, room, "lol ok")
    await run_until_empty(services)
    [memory] = await memories(client, auth, room)
    assert memory["text"] == said
    assert memory["metadata"] == {"speaker": "olga", "days": {"tomorrow": "2026-09-23"}}


async def test_each_sentence_is_read_once_and_reading_again_changes_nothing(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth)
    room = await make_room(client, auth)
    for number in range(5):
        await say(client, auth, room, f"the {number}th hive weighs {20 + number} kilos. ok bye.")
    assert services.judge is not None
    counting = Counting(services.judge)
    judged = replace(services, judge=cast("Judge", counting))
    account, space = await space_of(database, room)
    await read_room(judged, account, space)
    [asked] = counting.asked
    assert len(asked) == len(set(asked))
    remembered = await memories(client, auth, room)
    assert {memory["text"].split(" weighs ")[0] for memory in remembered} == {
        f"the {number}th hive" for number in range(5)
    }
    await rows(database, "UPDATE keepstone.rooms SET takeaways_seq = 0 RETURNING 1")
    await read_room(judged, account, space)
    assert await memories(client, auth, room) == remembered


async def test_what_stands_twice_is_read_once_and_nothing_without_a_judge(services: Services, judge: Judge) -> None:
    counting = Counting(judge)
    judged = replace(services, judge=cast("Judge", counting))
    text = "the hive weighs 20 kilos."
    assert set(await hearing.listen(judged, [f"{text} ok then.", text]) or ()) == {f"{text} ok then.", text, "ok then."}
    assert [len(asked) for asked in counting.asked] == [3]
    assert await hearing.listen(replace(services, judge=None), [text]) is None
    assert await hearing.listen(judged, []) == {}
