"""Time: what a question says about when, read against the time of asking."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import growth
from keepstone.engine import when
from keepstone.engine.language.calendar import date_words
from keepstone.engine.language.scripts import is_dense
from keepstone.engine.when import Window

NOW = datetime(2023, 6, 14, 15, 0, tzinfo=UTC)  # a Wednesday
WORDS = """last next since before two 3 31 99 weeks years ago may 2023 0000-00-00 monday summer 去年 前 vorletzten 上上
    六月 q2 29 february on the 31st of 2/29 easter half"""
MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))


def days(text: str, now: datetime = NOW) -> list[tuple[date, date]]:
    """First and last day of each window."""
    return [(window.start.date(), (window.end - timedelta(days=1)).date()) for window in when.windows(text, now)]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("on 7 May 2023", (2023, 5, 7), (2023, 5, 7)),
        ("on May 7th, 2023", (2023, 5, 7), (2023, 5, 7)),
        ("on 2023-05-07", (2023, 5, 7), (2023, 5, 7)),
        ("am 7. Mai 2023", (2023, 5, 7), (2023, 5, 7)),
        ("am 07.05.2023", (2023, 5, 7), (2023, 5, 7)),
        ("2023年5月7日", (2023, 5, 7), (2023, 5, 7)),
        ("in May", (2023, 5, 1), (2023, 5, 31)),
        ("last May", (2023, 5, 1), (2023, 5, 31)),
        ("in October", (2022, 10, 1), (2022, 10, 31)),
        ("late October 2022", (2022, 10, 20), (2022, 10, 31)),
        ("in summer 2022", (2022, 6, 1), (2022, 8, 31)),
        ("last summer", (2022, 6, 1), (2022, 8, 31)),
        ("last winter", (2022, 12, 1), (2023, 2, 28)),
        ("in 2022", (2022, 1, 1), (2022, 12, 31)),
        ("yesterday", (2023, 6, 13), (2023, 6, 13)),
        ("three days ago", (2023, 6, 11), (2023, 6, 11)),
        ("two weeks ago", (2023, 5, 28), (2023, 6, 3)),
        ("vor drei Wochen", (2023, 5, 21), (2023, 5, 27)),
        ("三天前", (2023, 6, 11), (2023, 6, 11)),
        ("二十天前", (2023, 5, 25), (2023, 5, 25)),
        ("二三天前", (2023, 6, 11), (2023, 6, 11)),
        ("el viernes", (2023, 6, 9), (2023, 6, 9)),
        ("last week", (2023, 6, 5), (2023, 6, 11)),
        ("上周", (2023, 6, 5), (2023, 6, 11)),
        ("上周一", (2023, 6, 5), (2023, 6, 5)),
        ("letzten Monat", (2023, 5, 1), (2023, 5, 31)),
        ("去年", (2022, 1, 1), (2022, 12, 31)),
        ("last weekend", (2023, 6, 10), (2023, 6, 11)),
        ("in the last 3 months", (2023, 3, 16), (2023, 6, 14)),
        ("since Monday", (2023, 6, 12), (2023, 6, 14)),
        ("recently", (2023, 5, 15), (2023, 6, 14)),
        ("last Christmas", (2022, 12, 23), (2022, 12, 27)),
        ("two weeks before August 11, 2022", (2022, 7, 25), (2022, 7, 31)),
        ("last weekend before April 10, 2023", (2023, 3, 31), (2023, 4, 6)),
        ("between March 3 and April 5, 2023", (2023, 3, 3), (2023, 4, 5)),
        ("before 2022", (2021, 1, 1), (2021, 12, 31)),
        ("on 30 February 2023", (2023, 2, 1), (2023, 2, 28)),
    ],
)
def test_an_expression_means_these_days(text: str, first: tuple[int, int, int], last: tuple[int, int, int]) -> None:
    assert days(f"What happened {text}?") == [(date(*first), date(*last))]


# (what is asked, first day, last day), asked on Wednesday, 14 June 2023
SAID = [
    # in numbers
    ("2023-03-10", "03-10", "03-10"),
    ("10.03.2023", "03-10", "03-10"),
    ("am 10.03.", "03-10", "03-10"),
    ("vom 3.4.23", "04-03", "04-03"),
    ("since 2023-03", "03-01", "06-14"),
    ("in 05/2023", "05-01", "05-31"),
    ("on the 10th", "06-10", "06-10"),
    ("on the 20th", "05-20", "05-20"),
    ("on the 2nd of last month", "05-02", "05-02"),
    ("on 6/6", "06-06", "06-06"),
    # English
    ("on March 10", "03-10", "03-10"),
    ("on May 3-7", "05-03", "05-07"),
    ("from 3 to 7 May", "05-03", "05-07"),
    ("March 10 last year", "2022-03-10", "2022-03-10"),
    ("in June last year", "2022-06-01", "2022-06-30"),
    ("last year in June", "2022-06-01", "2022-06-30"),
    ("since March", "03-01", "06-14"),
    ("between March and May", "03-01", "05-31"),
    ("between May and July", "2022-05-01", "2022-07-31"),
    ("between November and February", "2022-11-01", "02-28"),
    ("last spring", "03-01", "05-31"),
    ("two springs", None, None),
    ("in the spring of 2021", "2021-03-01", "2021-05-31"),
    ("two weekends ago", "06-03", "06-04"),
    ("the weekend before last", "06-03", "06-04"),
    ("the week before last", "05-29", "06-04"),
    ("the month before last", "04-01", "04-30"),
    ("over the weekend", "06-10", "06-11"),
    ("in Q1", "01-01", "03-31"),
    ("in Q4", "2022-10-01", "2022-12-31"),
    ("in the second quarter of 2022", "2022-04-01", "2022-06-30"),
    ("last quarter", "01-01", "03-31"),
    ("on Tuesday last week", "06-06", "06-06"),
    ("on the Friday two weeks ago", "06-02", "06-02"),
    ("three Fridays ago", "05-26", "05-26"),
    ("this Saturday", "06-17", "06-17"),
    ("a few days ago", "06-09", "06-13"),
    ("half a year ago", "2022-12-01", "2022-12-31"),
    ("a fortnight ago", "05-31", "05-31"),
    ("two hours ago", "06-14", "06-14"),
    ("since Easter", "04-06", "06-14"),
    ("in early 2023", "01-01", "04-28"),
    ("at the end of last month", "05-20", "05-31"),
    ("since the beginning of the year", "01-01", "06-14"),
    ("the summer before last", "2021-06-01", "2021-08-31"),
    ("the Friday before last", "06-02", "06-02"),
    ("in the second half of 2022", "2022-07-01", "2022-12-31"),
    ("two weeks ago on Friday", "06-02", "06-02"),
    ("three nights ago", "06-11", "06-11"),
    ("over the last weeks", "05-17", "06-14"),
    # German
    ("im Juni", "06-01", "06-30"),
    ("letzten Juni", "2022-06-01", "2022-06-30"),
    ("im Juni letzten Jahres", "2022-06-01", "2022-06-30"),
    ("Ende März", "03-20", "03-31"),
    ("Anfang letzten Monats", "05-01", "05-11"),
    ("am 10. März", "03-10", "03-10"),
    ("vom 3. bis 7. Mai", "05-03", "05-07"),
    ("zwischen Februar und April", "02-01", "04-30"),
    ("seit dem 10. März", "03-10", "06-14"),
    ("vorletzte Woche", "05-29", "06-04"),
    ("vorletzten Monat", "04-01", "04-30"),
    ("letzte Woche am Freitag", "06-09", "06-09"),
    ("am Freitag vor zwei Wochen", "06-02", "06-02"),
    ("am Montagabend", "06-12", "06-12"),
    ("vor drei Tagen", "06-11", "06-11"),
    ("vor 10 Tagen", "06-04", "06-04"),
    ("vor einem Monat", "04-30", "05-30"),
    ("vor zwei Wochenenden", "06-03", "06-04"),
    ("gestern Abend", "06-13", "06-13"),
    ("vorgestern", "06-12", "06-12"),
    ("am Wochenende", "06-10", "06-11"),
    ("im Frühling", "03-01", "05-31"),
    ("letzten Herbst", "2022-09-01", "2022-11-30"),
    ("vorletzten Sommer", "2021-06-01", "2021-08-31"),
    ("im ersten Quartal", "01-01", "03-31"),
    ("letztes Jahr", "2022-01-01", "2022-12-31"),
    ("nach Ostern", "04-06", "06-14"),
    ("zwei Wochen vor Weihnachten", "2022-12-06", "2022-12-12"),
    ("seit drei Wochen", "05-24", "06-14"),
    # Chinese
    ("六月", "06-01", "06-30"),
    ("十一月", "2022-11-01", "2022-11-30"),
    ("三月十号", "03-10", "03-10"),
    ("3月10日", "03-10", "03-10"),
    ("3月1日到5日", "03-01", "03-05"),
    ("去年六月", "2022-06-01", "2022-06-30"),
    ("五月底", "05-20", "05-31"),
    ("三月到五月", "03-01", "05-31"),
    ("五月以来", "05-01", "06-14"),
    ("上个月", "05-01", "05-31"),
    ("上上个月", "04-01", "04-30"),
    ("上个月5号", "05-05", "05-05"),
    ("上上周", "05-29", "06-04"),
    ("上周末", "06-10", "06-11"),
    ("上星期五", "06-09", "06-09"),
    ("上上周五", "06-02", "06-02"),
    ("这周一", "06-12", "06-12"),
    ("三天前", "06-11", "06-11"),
    ("两个星期前", "05-28", "06-03"),
    ("两周前的周五", "06-02", "06-02"),
    ("半年前", "2022-12-01", "2022-12-31"),
    ("昨天晚上", "06-13", "06-13"),
    ("大前天", "06-11", "06-11"),
    ("去年春天", "2022-03-01", "2022-05-31"),
    ("2022年夏天", "2022-06-01", "2022-08-31"),
    ("前年", "2021-01-01", "2021-12-31"),
    ("今年第一季度", "01-01", "03-31"),
    ("过去三个月", "03-16", "06-14"),
    ("2020 年之前", "2019-01-01", "2019-12-31"),
    ("这周六", "06-17", "06-17"),
    ("去年下半年", "2022-07-01", "2022-12-31"),
]


@pytest.mark.parametrize(("text", "first", "last"), SAID)
def test_times_are_understood_as_people_say_them(text: str, first: str | None, last: str | None) -> None:
    def day(written: str) -> date:
        return date.fromisoformat(written if len(written) > 5 else f"2023-{written}")

    expected = [(day(first), day(last))] if first and last else []
    frame = "我们{}说了什么？" if is_dense(text) else "so, {}, who was there"
    for question in (text, f"{text}?", frame.format(text)):
        assert days(question) == expected, question


@pytest.mark.parametrize(
    "text",
    [
        "May I ask you something?",
        "They march on",
        "How many days ago did I buy it?",
        "I paid 2000 dollars",
        "What did the 2500 € sofa cost before, 2050 €?",
        "This may be wrong, and this march is long",
        "Of the 12 may fail? They may 10 times",
        "Which of the second ones was it, 30 seconds in?",
        "Is Python 3.10. older than v2023.1.4 or 2023.3.2?",
        "On port 2024 with version 2022, room 1999",
        "Which film did I rate 9/10, open 24/7?",
        "on 3/10 of them",
        "Do I like mayo?",
        "Where did she live before?",
        "Wo hat sie früher gewohnt, und vorher?",
        "她以前住在哪里？",
        "上海的周围有什么？早上周围很吵",
        "三个月能学会吗？十个月呢？",
        "第一次是谁？第三月台在哪？",
        "Call 555-0199, ext. 12-14",
        "We were on the 5th floor",
        "Wir waren im 3. Stock",
        "Mondays are hard; wir tagen montags",
        "What do I do every Saturday, and every May? 每周五呢？",
        "Who was the first quarterback?",
    ],
)
def test_what_names_no_time_prefers_none(text: str) -> None:
    assert days(text) == []


def test_a_date_that_is_written_both_ways_may_be_either() -> None:
    assert days("5/7/2023") == [(date(2023, 5, 7), date(2023, 5, 7)), (date(2023, 7, 5), date(2023, 7, 5))]


def test_days_are_those_of_who_asks() -> None:
    there = timezone(timedelta(hours=9))
    [window] = when.windows("today", datetime(2023, 6, 14, 1, 0, tzinfo=there))
    assert window.start == datetime(2023, 6, 13, 15, 0, tzinfo=UTC)


@given(st.text(), MOMENTS)
def test_no_text_breaks_it(text: str, now: datetime) -> None:
    for window in when.windows(text, now):
        assert window.start < window.end


@given(
    st.lists(st.sampled_from(WORDS.split())),
    st.sampled_from([datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC), NOW]),
)
def test_no_words_about_time_break_it_at_the_ends_of_the_calendar(words: list[str], now: datetime) -> None:
    for window in when.windows(" ".join(words), now):
        assert window.start < window.end


@given(MOMENTS, MOMENTS, MOMENTS)
def test_nearness_is_between_0_and_1_and_1_inside(one: datetime, two: datetime, at: datetime) -> None:
    window = Window(min(one, two), max(one, two) + timedelta(days=1))
    [near] = when.timeprox([at.timestamp()], [window])
    assert 0 <= near <= 1
    if window.start <= at <= window.end:
        assert near == 1


def test_nearness_falls_softly_after_a_week_of_grace() -> None:
    window = Window(datetime(2023, 5, 1, tzinfo=UTC), datetime(2023, 5, 11, tzinfo=UTC))
    at = [datetime(2023, 5, day, tzinfo=UTC).timestamp() for day in (18, 19, 31)]
    assert np.allclose(when.timeprox(at, [window]), [1.0, math.exp(-1 / 4.5), math.exp(-13 / 4.5)])


def test_of_several_windows_the_nearest_counts() -> None:
    windows = [when.windows(text, NOW)[0] for text in ("in 2020", "yesterday")]
    assert when.timeprox([NOW.timestamp()], windows).tolist() == [1.0]


def test_without_a_preference_or_a_date_nothing_is_near() -> None:
    assert when.timeprox([NOW.timestamp()], []).tolist() == [0.0]
    assert when.timeprox([math.nan], when.windows("today", NOW)).tolist() == [0.0]


def test_a_date_has_words() -> None:
    assert date_words(NOW) == "Wednesday 14 June 2023"


@pytest.mark.parametrize(
    "unit",
    [
        *("2023 ", "the week before 2022 ", "since may ", "in the last ", "between may and ", "3/10 ", "10. märz bis "),
        *("am 10.", "vor ein paar ", "letzten ", "六月", "上上", "三", "two "),
    ],
)
def test_the_work_on_a_long_question_grows_as_it_does(unit: str) -> None:
    assert growth.growth(lambda text: when.windows(text, NOW), growth.repeated(unit), 1_000, 4_000) < growth.STEEP


def test_the_fewer_days_are_named_the_more_they_count() -> None:
    at = [datetime(2023, 6, 13, 12, tzinfo=UTC).timestamp()]
    asked = ("yesterday", "this week", "in June", "this year", "recently")
    near = [float(when.nearness(at, when.windows(text, NOW))[0]) for text in asked]
    assert near == sorted(near, reverse=True)
    assert near[0] == 1 + when.VERY_DAY
    assert near[-1] == 1  # nobody means certain days by that


@pytest.mark.parametrize(
    ("text", "day", "others"),
    [
        ("10 days ago", "06-04", ("06-03", "06-05", "06-08")),
        ("on March 10", "03-10", ("03-09", "03-11", "06-10")),
        ("two weeks ago", "05-31", ("05-28", "06-03", "06-07", "05-24")),
        ("vorletzte Woche", "05-29", ("05-28", "06-05")),
        ("上周末", "06-10", ("06-09", "06-12")),
    ],
)
def test_the_very_day_is_nearer_than_any_other(text: str, day: str, others: tuple[str, ...]) -> None:
    noon = [datetime.fromisoformat(f"2023-{other}T12:00:00+00:00").timestamp() for other in (day, *others)]
    very_day, *rest = when.nearness(noon, when.windows(text, NOW))
    assert very_day > max(rest) + 0.5


@pytest.mark.parametrize(
    ("text", "strong"),
    [
        ("When does the ferry leave on the 12th?", False),
        ("Who's coming on March 10?", False),
        ("Where will we stay in May?", False),
        ("What do I have to do today?", False),
        ("What did I do today?", True),
        ("Wann fährt die Fähre am 10. März?", False),
        ("Haben wir im Mai sonntags offen?", False),
        ("我们三月十号要去哪里？", False),
        ("When did the ferry leave on the 12th?", True),
        ("Do you remember who was there on March 10?", True),
        ("March 10", True),
        ("Wer ist am 10. März gekommen?", True),
        ("Was haben wir im Mai besprochen?", True),
        ("我们三月十号开会说了什么？", True),
        ("Where is what I noted 10 days ago?", True),
        ("Is there a note of 2023-03-10?", True),
    ],
)
def test_a_day_that_is_still_to_come_says_little_about_when_it_was_spoken_of(text: str, strong: bool) -> None:
    [window] = when.windows(text, NOW)
    assert window.vague is not strong


def test_what_is_told_the_day_after_is_nearer_than_what_was_said_before() -> None:
    window = when.windows("on 7 May 2023", NOW)
    before, after = when.said_then([datetime(2023, 5, day, 12, tzinfo=UTC).timestamp() for day in (5, 9)], window)
    assert after > before


def test_certain_times_are_looked_into_and_vague_or_long_ones_not() -> None:
    for text, count in (("10 days ago", 1), ("im Juni", 1), ("去年春天", 1), ("recently", 0), ("last year", 0)):
        assert len(when.looked_into(when.windows(text, NOW))) == count, text
    many = when.windows(" ".join(f"on May {day}," for day in range(1, 20)), NOW)
    assert len(many) > len(when.looked_into(many)) > 0
