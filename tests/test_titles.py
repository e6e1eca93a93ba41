"""A title is one short line out of the text, and tags are phrases of it; groups get the phrases that set them apart.

`titled.json` holds texts with what a title of each has to say, and with what it should not.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import FakeModel
from keepstone.engine.keyphrases import names, tags, topics
from keepstone.engine.language.scripts import unspaced
from keepstone.engine.language.sentences import lines, sentences, shortened
from keepstone.engine.titles import LIMIT, LIMIT_UNSPACED, title, title_by_model
from keepstone.errors import UpstreamError

MARKED = st.text(
    alphabet=st.sampled_from(list("abAB12 .,!?:#*_`~-|>[]()\n\t。，！：（）中文题目决定é…\"'")), max_size=400
)
LABELLED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "titled.json").read_text(encoding="utf-8"))
LONG = (
    "The committee met in Geneva on 14 March 2024 and talked for hours about the budget of the new observatory, "
    "its telescopes, the road to the summit and who should pay for the electricity line"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Moving to Postgres\n\nWe had MySQL before.", "Moving to Postgres"),
        ("Moving to Postgres\n===\n\nWe had MySQL before.", "Moving to Postgres"),
        ("**Moving to Postgres**\n\nWe had MySQL before.", "Moving to Postgres"),
        ("Sure, here it is:\n\n## Eight weeks to 10 km ##\n\nRun.", "Eight weeks to 10 km"),
        ("## Summary\n\nWe chose *Postgres 16* over [MySQL](https://x.example).", "We chose Postgres 16 over MySQL"),
        ("Hi! Thanks for asking. The rent is 1,150 € a month.", "The rent is 1,150 € a month"),
        ("So, in short: we ship on Monday.", "we ship on Monday"),
        ("- [ ] call **Dana** about `config.toml`", "call Dana about config.toml"),
        ("我们决定用 `Redis`。", "我们决定用 Redis"),
        ("# 八周跑完十公里\n\n每周三次。", "八周跑完十公里"),
        ("Umzug am 1. März nach Köln.", "Umzug am 1. März nach Köln"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("ok", "ok"),
        ("!!!", "!!!"),
    ],
)
def test_a_title_is_the_heading_or_the_most_telling_sentence(text: str, expected: str) -> None:
    assert title(text) == expected


def test_a_title_says_what_the_text_says() -> None:
    bad = [
        (made, each["text"])
        for each in LABELLED
        for made in [title(each["text"])]
        if not all(needed.lower() in made.lower() for needed in each["must"])
        or any(other.lower() in made.lower() for other in each["must_not"])
    ]
    assert len(LABELLED) >= 60
    assert len(bad) <= 0.05 * len(LABELLED), bad


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No Kubernetes this year.", "No Kubernetes this year"),
        ("No, we keep the old server.", "we keep the old server"),
        ("Decision on the roof: slate, not tiles.", "Decision on the roof: slate, not tiles"),
        ("Update on the ferry: it sails again on 3 May.", "Update on the ferry: it sails again on 3 May"),
        ("## Decision\n\nWe sell the van.", "We sell the van"),
        ("Well 4 is dry.", "Well 4 is dry"),
        ("Morning shift starts at 6.", "Morning shift starts at 6"),
    ],
)
def test_what_leads_up_to_a_claim_goes_and_nothing_else(text: str, expected: str) -> None:
    assert title(text) == expected


def test_a_long_sentence_keeps_its_negation_and_its_condition() -> None:
    closed = "The reading room, the map collection, the small café, the garden and the whole first floor"
    assert title(f"{closed} are not open on Mondays.").endswith("are not open on Mondays")
    booked = "Members may book the large court, the small court and both of the tennis halls on any evening of the week"
    assert title(f"{booked}, but only with a coach.").endswith("but only with a coach")
    assert not title(f"{LONG[:68]}, at 14:15 sharp in the old town hall.").endswith("14")


def test_a_long_sentence_is_cut_after_a_clause_or_a_word() -> None:
    made = title(LONG)
    assert len(made) <= LIMIT
    assert made.rstrip("…") in LONG
    assert "Geneva on 14 March 2024" in made


def test_a_chinese_title_is_shorter() -> None:
    text = (
        "升级之后接口的延迟从一百二十毫秒变成四百八十毫秒而且连接池的默认大小也从二十改成了四所以请求都在排队等待连接"
    )
    assert 5 < len(title(text)) <= LIMIT_UNSPACED


@given(MARKED | st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_a_title_is_never_empty_nor_long_nor_of_two_lines(text: str) -> None:
    made = title(text)
    assert bool(made) == bool(text.strip())
    assert len(made) <= LIMIT
    assert len(made.splitlines()) <= 1
    assert made == title(text)


@given(MARKED, st.integers(min_value=0, max_value=7))
@settings(max_examples=200, deadline=None)
def test_tags_stand_in_the_text_and_are_no_more_than_asked_for(text: str, limit: int) -> None:
    made = tags(text, limit)
    plain = "\n".join(line.text for line in lines(text))
    assert len(made) == len(set(made)) <= limit
    assert all(each in plain for each in made)
    assert made == tags(text, limit)


@given(st.text(max_size=200), st.integers(min_value=8, max_value=100))
@settings(deadline=None)
def test_what_is_shortened_fits(text: str, limit: int) -> None:
    assert len(shortened(text, limit)) <= limit


def test_a_text_of_nothing_but_one_mark_takes_no_time() -> None:
    for mark in ("#", "# ", "*", ".", ". ", ">", "(", "1", "1.", "-", "`", "_", "。", "中", "|"):
        assert len(title(mark * 20_000)) <= LIMIT
        assert len(tags(mark * 20_000)) <= 5


def test_sentences_end_where_they_end() -> None:
    assert sentences("We met Dr. Berg at 9.30 a.m. today. It was fine! 好的。下一句") == [
        "We met Dr. Berg at 9.30 a.m. today.",
        "It was fine!",
        "好的。",
        "下一句",
    ]


def test_only_a_script_without_spaces_is_unspaced() -> None:
    assert unspaced("我们决定用 PostgreSQL")
    assert not unspaced("We chose 北京")
    assert not unspaced("Grüße aus Köln")


def test_tags_name_what_a_text_is_about() -> None:
    text = "The connection pool was too small. Postgres refused connections, so the connection pool grew to 20."
    assert "connection pool" in tags(text)
    assert "Postgres" in tags(text)


def test_chinese_tags_are_what_comes_again() -> None:
    made = tags("布隆过滤器可以判断元素在不在集合里。数据库常用布隆过滤器来跳过文件。")
    assert made[0] == "布隆过滤器"


def test_a_tag_is_written_as_in_the_text() -> None:
    assert "LangGraph" in tags("We moved to LangGraph. LangGraph has checkpoints.")


def test_topics_of_many_texts_are_what_they_share() -> None:
    texts = ["The garden needs water.", "I bought a hose for the garden.", "The garden is dry, and my car is broken."]
    assert topics(texts, 1) == ["garden"]


def test_a_group_is_named_by_a_phrase_that_it_shares_and_others_do_not() -> None:
    garden = ["The user asked about tomatoes.", "The user waters the tomatoes in the morning."]
    servers = ["The user asked about nginx.", "The user restarts nginx in the morning."]
    assert names([garden, servers], 1) == [["tomatoes"], ["nginx"]]
    rates = ["The exchange rate fell again", "Where to see the exchange rate", "No exchange rate on Sundays", "Rate it"]
    assert names([rates, servers], 1)[0] == ["exchange rate"]
    assert names([["连接池太小", "连接池改成二十", "连接池又满了"], garden], 1) == [["连接池"], ["tomatoes"]]


def test_a_group_that_shares_no_phrase_is_named_by_the_title_that_stands_for_most_of_it() -> None:
    access = [
        "API rejects a valid token",
        "Auth token expires too early",
        "Login bug after the reset",
        "OAuth redirect fails",
    ]
    [[name]] = names([access], 1)
    assert name in access
    assert "token" in name
    everything = names([access], 5)[0]
    assert len(everything) == len(set(everything)) == 4
    assert all(len(each) <= 48 for each in names([[LONG, "另一个"]], 5)[0])


def test_nothing_has_no_topics() -> None:
    assert topics([], 5) == []
    assert names([], 5) == []
    assert names([[], ["Postgres."]], 1) == [[], ["Postgres"]]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('"Postgres over MySQL"\n', "Postgres over MySQL"),
        ("Title: **Postgres over MySQL**.\nI hope this helps", "Postgres over MySQL"),
        ("标题：选用 Postgres", "选用 Postgres"),
        ("", "We chose Postgres"),
        ("***", "We chose Postgres"),
        ("I'm sorry, I can't do that", "We chose Postgres"),
        ("word " * 100, "We chose Postgres"),
    ],
)
async def test_a_model_gives_a_clean_title_or_the_text_its_own(said: str, expected: str) -> None:
    assert await title_by_model(FakeModel(said), "We chose Postgres.") == expected


async def test_a_models_title_is_cut_like_any_other() -> None:
    assert len(await title_by_model(FakeModel(LONG[:150]), "We chose Postgres.")) <= LIMIT


async def test_a_model_that_fails_is_the_callers_business() -> None:
    with pytest.raises(UpstreamError):
        await title_by_model(FakeModel(None), "We chose Postgres.")
