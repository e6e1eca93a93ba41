"""The language layer: scripts, stop words, the calendar, sentences, and what is not meant as it is said."""

import pytest

from keepstone.engine.language import doubt
from keepstone.engine.language.calendar import ENGLISH_MONTHS, MONTHS, WEEKDAYS, number
from keepstone.engine.language.scripts import is_dense, tokens
from keepstone.engine.language.sentences import has_words, lines, lowered, sentences, unmarked
from keepstone.engine.language.stopwords import FUNCTION_WORDS, STOP_WORDS, guess, is_stop
from keepstone.engine.terms import terms

# Each was once read again from every one of its characters, or could be.
HOSTILE = ["a", "a-", "a.b-", "a@", "1-", "aB", "?", "“", '"', "![", "[a](", "(", "*", "> ", "吗,", "2023 ", "if "]


def test_every_month_and_day_has_its_number_in_every_language() -> None:
    assert {MONTHS[name] for name in ("march", "märz", "mars", "marzo", "março")} == {3}
    assert set(MONTHS.values()) == set(range(1, 13))
    assert {WEEKDAYS[name] for name in ("friday", "freitag", "viernes", "周五", "星期五")} == {4}
    assert ENGLISH_MONTHS[4] == "May"


@pytest.mark.parametrize(
    ("written", "value"), [("7", 7), ("a", 1), ("zwölf", 12), ("十", 10), ("十五", 15), ("二十", 20), ("三十一", 31)]
)
def test_a_number_is_read_in_digits_words_and_chinese(written: str, value: int) -> None:
    assert number(written) == value


@pytest.mark.parametrize("written", ["", "many", "二三", "十十", "上十"])
def test_what_is_no_number_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="no number"):
        number(written)


def test_a_language_is_known_by_its_small_words_or_its_letters() -> None:
    assert guess("Wir haben das nicht gewusst") == "de"
    assert guess("Привет") == "ru"
    assert guess("東京に住んでいます") == "ja"
    assert guess("ok") == "en"
    assert all(language in STOP_WORDS for language in ("en", "de", "fr", "es", "it", "pt", "nl"))
    assert is_stop("Don’t")
    assert not is_stop("May")


def test_a_text_without_spaces_is_parted_at_its_function_words() -> None:
    assert FUNCTION_WORDS.split("我们的数据库为什么慢") == ["", "", "数据库", "慢"]
    assert is_dense("数据库很慢 ok")
    assert not is_dense("the 数据 base")


def test_an_address_a_number_and_a_name_stay_whole() -> None:
    assert tokens("Mail ana.de-la+x@mail.example.org by 2023-05-07, O'Brien") == [
        *("Mail", "ana.de-la+x@mail.example.org", "by", "2023-05-07", "O'Brien")
    ]


def test_small_letters_are_as_many_as_the_text_has() -> None:
    assert lowered("I’M HERE") == "i'm here"
    assert lowered("İstanbul") == "İstanbul"


def test_a_link_gives_its_text_also_with_brackets_in_its_address() -> None:
    assert unmarked("see [Rust (language)](https://en.wikipedia.org/wiki/Rust_(language)) now") == (
        "see Rust (language) now"
    )
    assert unmarked('![a cat](cat.png) and [docs](https://example.org "Docs")') == "a cat and docs"


@pytest.mark.parametrize("text", ["lol we sold the house", "only kidding", "nur spaß", "哈哈", "🤣"])
def test_a_joke_is_known(text: str) -> None:
    assert doubt.JOKE.search(text)


def test_laughter_alone_is_no_irony() -> None:
    assert not doubt.IRONY.search("i love pizza haha")
    assert doubt.IRONY.search("yeah, right")
    assert doubt.IRONY.search("i love mondays /s")
    assert not doubt.JOKE.search("the scholar hahned")


def test_a_question_is_told_from_a_statement() -> None:
    assert all(doubt.ASKS.search(text) for text in ("really?", "really?!)", "¿vienes", "你来吗", "为什么。"))
    assert not doubt.ASKS.search("is it? yes, it is.")
    assert doubt.ASKED.search("is it? yes, it is.")
    assert not doubt.ASKED.search("it is.")


def test_what_is_supposed_open_or_only_thought_of_is_told_apart() -> None:
    assert doubt.SUPPOSED.search("if we move")
    assert doubt.UNSURE.search("we have not decided, vielleicht")
    assert not doubt.UNSURE.search("i would move")
    assert doubt.TENTATIVE.search("i would move")
    assert not doubt.TENTATIVE.search("i would rather stay")


def test_a_place_within_quotation_marks_is_quoted() -> None:
    text = 'he said "we decided it" and left'
    assert doubt.is_quoted(text, text.index("decided"))
    assert not doubt.is_quoted(text, text.index("left"))
    assert doubt.is_quoted("„wir gehen heim“ sagte sie", 5)


@pytest.mark.parametrize("mark", HOSTILE)
def test_a_long_text_of_one_mark_is_read_once(mark: str) -> None:
    text = mark * (100_000 // len(mark)) + "x"
    terms(text)
    sentences(text)
    lines(text)
    assert has_words(text)
    for pattern in (doubt.JOKE, doubt.SUPPOSED, doubt.TENTATIVE, doubt.ASKED, doubt.ASKS, doubt.QUOTED):
        list(pattern.finditer(text))
