"""The curator finds what is worth keeping, says why, and makes nothing up.

`curated.json` holds snippets with what a person would keep. Half of them were used to adjust the rules ("adjust"), the
other half was not ("held").
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import FakeModel
from keepstone.engine.curate import GREY, KEEP, PHRASES, Segment, curate, refine
from keepstone.engine.segments import SpokenMessage
from keepstone.errors import UpstreamError

LABELLED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "curated.json").read_text(encoding="utf-8"))
SPEAKERS = st.sampled_from(["user", "assistant", "tool", "system", "Maria", "小李"])
PIECES = st.sampled_from(
    ["We decided to go with Postgres. ", "thanks!", "why is that?", "\n```\nx = 1\n```\n", "那就选方案二吧。",
     "by Friday ",
     "<memory>", "</memory>", "I'll send it ", "12,500 € ", "’", "İ", "ok cool", "{\"a\": 1}", "\n", "  ", "or ", "? "]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=80)


def said(*turns: tuple[str, str]) -> list[SpokenMessage]:
    return [SpokenMessage(speaker, text) for speaker, text in turns]


def only(*turns: tuple[str, str]) -> Segment:
    [segment] = curate(said(*turns))
    return segment


def codes(segment: Segment) -> set[str]:
    return {reason.code for reason in segment.reasons}


def figures(half: str, language: str | None = None) -> tuple[float, float]:
    """Precision and recall of what is proposed."""
    right = wrong = missed = 0
    for each in LABELLED:
        if each["half"] == half and language in {None, each["language"]}:
            found = any(
                segment.score >= KEEP for segment in curate([SpokenMessage(*turn) for turn in each["messages"]])
            )
            right += found and each["keep"]
            wrong += found and not each["keep"]
            missed += each["keep"] and not found
    return right / (right + wrong), right / (right + missed)


def test_the_labelled_set_is_large_and_in_two_halves() -> None:
    halves = [each["half"] for each in LABELLED]
    assert len(halves) >= 200
    assert abs(halves.count("adjust") - halves.count("held")) <= 2
    assert sum(each["language"] == "zh" for each in LABELLED) > 60


@pytest.mark.parametrize(("half", "floor"), [("adjust", 0.97), ("held", 0.88)])
def test_what_is_proposed_is_worth_keeping_and_little_is_missed(half: str, floor: float) -> None:
    precision, recall = figures(half)
    assert precision >= floor
    assert recall >= floor


@pytest.mark.parametrize("language", ["en", "zh"])
def test_neither_language_is_left_behind_on_what_was_held_out(language: str) -> None:
    precision, recall = figures("held", language)
    assert precision >= 0.85
    assert recall >= 0.85


@given(st.lists(st.builds(SpokenMessage, SPEAKERS, TEXTS), max_size=14))
@settings(max_examples=200, deadline=None)
def test_every_message_is_in_one_segment_and_no_text_is_made_up(messages: list[SpokenMessage]) -> None:
    segments = curate(messages)
    places = [place for segment in segments for place in segment.messages]
    assert sorted(places) == [place for place, each in enumerate(messages) if each.text.strip()]
    for segment in segments:
        assert list(segment.messages) == sorted(segment.messages)
        assert segment.text == "\n\n".join(messages[place].text for place in segment.messages)
        assert 0 <= segment.score <= 1
        assert 0 < len(segment.title) <= 80
        assert len(segment.title.splitlines()) == 1
        assert len(segment.tags) <= 5
        assert codes(segment) <= PHRASES.keys()
    assert segments == curate(messages)


def test_a_text_of_nothing_but_one_mark_takes_no_time() -> None:
    for mark in ("1", "1.", "a ", "<memory>", "= ", '"', "hi ", "。", "中", "号", "+1", "```\n", "my ", "> "):
        [segment] = curate(said(("user", mark * 20_000)))
        assert len(segment.title) <= 80


def test_nothing_gives_nothing() -> None:
    assert curate([]) == []
    assert curate(said(("user", "  \n"))) == []


def test_a_question_and_its_answer_are_one_segment_and_the_next_question_begins_another() -> None:
    segments = curate(
        said(
            ("user", "How do I undo the last commit?"),
            ("assistant", "Use `git reset --soft HEAD~1`; your changes stay staged."),
            ("user", "thanks!"),
            ("user", "Which port does Postgres listen on by default?"),
            ("assistant", "Port 5432, unless `port` in postgresql.conf says otherwise."),
        )
    )
    assert [segment.messages for segment in segments] == [(0, 1), (2,), (3, 4)]
    assert [segment.kind for segment in segments] == ["answer", "note", "answer"]
    assert [segment.score >= KEEP for segment in segments] == [True, False, True]


def test_a_tool_between_a_question_and_its_answer_does_not_part_them() -> None:
    segments = curate(
        said(
            ("user", "Which port does our staging database listen on?"),
            ("assistant", "Let me look that up."),
            ("tool", '{"port": 6432}'),
            ("assistant", "Staging listens on port 6432, behind pgbouncer; the server itself on 5432."),
        )
    )
    assert [segment.messages for segment in segments] == [(0, 3), (1, 2)]
    assert segments[0].score >= KEEP > segments[1].score


def test_a_decision_is_named_by_the_sentence_that_makes_it() -> None:
    segment = only(
        ("Maria", "Ship on Thursday or wait?"),
        ("Tom", "I'd wait."),
        ("Maria", "Agreed, we ship on Monday with the fix."),
    )
    assert segment.kind == "decision"
    assert segment.title == "Agreed, we ship on Monday with the fix"
    assert segment.reasons[0].phrase == PHRASES["decision"]


def test_an_answer_is_named_by_its_question() -> None:
    segment = only(
        ("user", "I have a beagle. Can dogs eat raw mango with the skin?"),
        ("assistant", "A little without the skin and the pit; the pit holds traces of cyanide."),
    )
    assert segment.kind == "answer"
    assert segment.title == "Can dogs eat raw mango with the skin?"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("We decided to drop Windows 7 support.", "decision"),
        ("Turns out the flaky test compared local dates.", "conclusion"),
        ("I'll send the signed contract to Dana by Friday.", "commitment"),
        ("Kitchen: 14,500 € in total, 6,200 € cabinets, 3,100 € appliances.", "numbers"),
        ("I'm allergic to penicillin and to latex.", "fact"),
        ("Idea: ask new users for one decision of last week.", "idea"),
        ("我们决定用 PostgreSQL，不用 MongoDB。", "decision"),
        ("原来测试不稳定是因为时区不对。", "conclusion"),
        ("我周五之前把签好的合同发给张总。", "commitment"),
        ("Wir haben uns für Postgres entschieden, wegen der Transaktionen.", "decision"),
    ],
)
def test_a_reason_says_why(text: str, code: str) -> None:
    segment = only(("user", text))
    assert code in codes(segment)
    assert segment.score >= KEEP


@pytest.mark.parametrize(
    "text",
    [
        "If we decided to move to Kubernetes, we'd need somebody for it.",
        "We haven't decided between React and Vue.",
        "Have we decided on Postgres?",
        'The sign says "we decided to close on Friday", what a pity',
        "lol we decided to eat the whole cake for dinner",
        "如果我们决定上 Kubernetes，需要招个人。",
        "我们还没决定用哪个框架。",
    ],
)
def test_what_is_asked_supposed_open_quoted_or_a_joke_is_no_decision(text: str) -> None:
    assert "decision" not in codes(only(("user", text)))


def test_recalled_text_is_not_said_again_but_what_stands_beside_it_is() -> None:
    recalled = "<memory>We decided to use Postgres on 2025-03-01.</memory>"
    assert only(("user", recalled)).score < GREY[0]
    beside = only(("user", f"{recalled}\nWe chose Kafka over RabbitMQ for the events."))
    assert beside.title == "We chose Kafka over RabbitMQ for the events"


def test_a_role_is_stronger_than_a_name() -> None:
    decided = "I've decided to look at the configuration of the proxy first."
    assert curate([SpokenMessage("Robo", decided, role="assistant")])[0].score < KEEP
    assert curate([SpokenMessage("assistant", decided, role="user")])[0].score >= KEEP


def test_two_people_of_one_role_answer_each_other() -> None:
    turns = (("Maria", "Ship on Thursday or wait?"), ("Tom", "Wait for the fix, ship on Monday."))
    [segment] = curate([SpokenMessage(speaker, text, role="user") for speaker, text in turns])
    assert segment.messages == (0, 1)
    assert segment.kind == "decision"


def grey() -> list[Segment]:
    segments = curate(
        said(
            ("user", "We decided to drop Windows 7 support in the next release."),
            ("user", "Which countries did Humboldt travel through?"),
            ("assistant", "Venezuela, Cuba, Colombia, Ecuador, Peru and Mexico, in five years."),
            ("user", "thanks!"),
        )
    )
    assert [GREY[0] <= segment.score < GREY[1] for segment in segments] == [False, True, False]
    return segments


async def test_a_model_is_asked_once_and_only_about_the_grey_zone() -> None:
    model = FakeModel('Here you are: [{"n": 1, "score": 0.9}, {"n": 2, "score": 0.1}]')
    before = grey()
    after = await refine(model, before)
    [prompt] = model.prompts
    assert "Humboldt" in prompt
    assert "Windows" not in prompt
    assert after[1].score == 0.9
    assert "model" in codes(after[1])
    assert (after[0], after[2]) == (before[0], before[2])


async def test_without_a_grey_zone_no_model_is_asked() -> None:
    model = FakeModel("[]")
    segments = curate(said(("user", "thanks!")))
    assert await refine(model, segments) == segments
    assert model.prompts == []


@pytest.mark.parametrize(
    "nonsense",
    [
        "", "no idea", "[", "][", '[{"n": 1}]', '[{"n": 1, "score": 7}]', '[{"n": 1, "score": true}]', "[1, null]",
        '[{"n": "1", "score": 0.9}]', '[{"n": 1, "score": NaN}]', '[{"n": 9, "score": 0.9}]', "[" * 9000 + "]" * 9000,
        '[{"n": true, "score": 0.9}]', '[{"n": [1], "score": [0.9]}]',
    ],
)  # fmt: skip
async def test_on_nonsense_the_rules_score_stays(nonsense: str) -> None:
    before = grey()
    assert await refine(FakeModel(nonsense), before) == before


async def test_a_model_that_fails_is_the_callers_business() -> None:
    with pytest.raises(UpstreamError):
        await refine(FakeModel(None), grey())


TWO_MATTERS = [
    [
        ("user", "Why does the invoice search take nine seconds?"),
        ("assistant", "It reads the whole table, since nothing is indexed by customer. An index brings it to 20 ms."),
        ("user", "Ok. Also, we decided to open the Graz branch on 4 October."),
    ],
    [
        ("user", "Why does the invoice search take nine seconds?"),
        ("assistant", "It reads the whole table, since nothing is indexed by customer. An index brings it to 20 ms."),
        ("user", "Thanks! Go-live is decided: we launch on Monday."),
        ("assistant", "Noted."),
    ],
    [
        ("user", "Warum braucht die Rechnungssuche neun Sekunden?"),
        ("assistant", "Sie liest die ganze Tabelle, weil ein Index auf dem Kunden fehlt. Damit sind es 20 ms."),
        ("user", "Alles klar, danke. Übrigens haben wir entschieden, die Filiale in Graz am 4. Oktober zu eröffnen."),
    ],
    [
        ("user", "发票搜索为什么要九秒？"),
        ("assistant", "因为客户字段上没有索引，每次都要扫描整张表，加上索引就只要二十毫秒。"),
        ("user", "好的。我们决定十月四号开格拉茨分店。"),
    ],
]


@pytest.mark.parametrize("turns", TWO_MATTERS)
def test_what_comes_after_an_answer_and_is_of_something_else_is_a_segment_of_its_own(
    turns: list[tuple[str, str]],
) -> None:
    answer, decision = curate(said(*turns))
    assert answer.messages == (0, 1)
    assert decision.messages[0] == 2
    assert decision.score >= KEEP
    assert "decision" in codes(decision)
    assert "answered_question" not in codes(decision)


@pytest.mark.parametrize(
    "turns",
    [
        [("user", "Which queue fits us, Kafka or Redis?"), ("assistant", "Redis is plenty for 200 jobs a minute."),
         ("user", "Ok, then we decided: Redis.")],
        [("user", "How long may a lease run?"), ("assistant", "At most 12 months, and it can be renewed once."),
         ("user", "Great, that settles it.")],
        [("user", "Wie lange darf der Vertrag laufen?"), ("assistant", "Höchstens 12 Monate."),
         ("user", "Gut, dann nehmen wir zwölf Monate.")],
        [("user", "租约最长多久？"), ("assistant", "最长十二个月，可以续签一次。"), ("user", "好的，那就签十二个月。")],
    ],
)  # fmt: skip
def test_what_leads_on_from_an_answer_stays_with_it(turns: list[tuple[str, str]]) -> None:
    assert len(curate(said(*turns))) == 1


@pytest.mark.parametrize(
    "turns",
    [
        [("Ann", "Good morning!"), ("Ben", "Morning! How was the weekend?"),
         ("Ann", "We decided to move the mail server to Graz.")],
        [("user", "Hello there, how are you?"), ("assistant", "I'm doing great, thank you! How can I help you today?"),
         ("user", "We decided to move the mail server to Graz.")],
        [("user", "Guten Morgen, wie geht es dir?"), ("assistant", "Guten Morgen! Womit kann ich helfen?"),
         ("user", "Wir haben entschieden, den Mailserver nach Graz zu ziehen.")],
        [("user", "大家早上好"), ("小李", "早上好！周末过得怎么样？"), ("user", "我们决定把邮件服务器搬到格拉茨。")],
    ],
)  # fmt: skip
def test_a_greeting_is_not_kept_nor_goes_along_with_what_is(turns: list[tuple[str, str]]) -> None:
    *greetings, decision = curate(said(*turns))
    assert decision.messages == (2,)
    assert decision.score >= KEEP
    assert all(segment.score < GREY[0] for segment in greetings)


def test_a_question_behind_a_greeting_is_a_question() -> None:
    segment = only(("user", "Hi! Which port does the gateway use?"), ("assistant", "The gateway listens on port 8443."))
    assert "answered_question" in codes(segment)
