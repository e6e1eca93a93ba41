"""Time: what a question says about when, read against the time of asking."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepstone.engine import when
from keepstone.engine.when import Window

NOW = datetime(2023, 6, 14, 15, 0, tzinfo=UTC)  # a Wednesday
WORDS = "last next since before two 3 31 99 weeks years ago may 2023 0000-00-00 monday summer 去年 前"
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


@pytest.mark.parametrize(
    "text",
    [
        "May I ask you something?",
        "They march on",
        "How many days ago did I buy it?",
        "I paid 2000 dollars",
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
    assert when.date_words(NOW) == "Wednesday 14 June 2023"


def test_a_long_question_of_nothing_but_dates_is_read_once() -> None:
    for text in ("2023 ", "the week before 2022 ", "and 2022 ", "since may ", "in the last "):
        when.windows(text * (50_000 // len(text)), NOW)
