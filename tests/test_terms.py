"""Terms: every language finds itself again, and nothing that people write breaks the tokenizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepstone.engine import terms
from keepstone.engine.language.scripts import latin
from keepstone.engine.language.stopwords import guess
from keepstone.engine.terms import Word


def test_words_are_folded_and_stemmed() -> None:
    assert terms.terms("Caroline's RUNNING shoes") == ["carolin", "run", "shoe"]


def test_stop_words_are_dropped_where_something_else_is_left() -> None:
    assert terms.terms("the cat is on the mat") == ["cat", "mat"]


def test_a_text_of_stop_words_alone_keeps_them() -> None:
    assert terms.terms("Who are you?") == ["who", "are", "you"]


def test_a_month_is_no_stop_word() -> None:
    assert "may" in terms.terms("What happened in May?")


def test_a_date_is_found_by_its_words_and_by_itself() -> None:
    assert set(terms.terms("7 May 2023")) <= set(terms.terms("on 2023-05-07"))
    assert set(terms.terms("2023/5/7")) == set(terms.terms("2023-05-07"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000", ["1000"]),
        ("3.50", ["3.50"]),
        ("13:45", ["13:45"]),
        ("the 7th", ["7"]),
        ("U.S.A.", ["usa"]),
        ("ｆｕｌｌ", ["full"]),
    ],
)
def test_numbers_and_short_forms_stay_whole(text: str, expected: list[str]) -> None:
    assert terms.terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", {"getusername", "get", "user", "name"}),
        ("snake_case_id", {"snake_case_id", "snake", "case", "id"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("config.yaml", {"config.yaml", "config", "yaml"}),
        ("ada.lovelace@example.org", {"ada.lovelace@example.org", "ada", "lovelac", "exampl", "org"}),
    ],
)
def test_identifiers_and_addresses_are_found_whole_and_by_their_parts(text: str, expected: set[str]) -> None:
    assert set(terms.terms(text)) == expected


def test_chinese_is_cut_into_pairs_with_single_characters_kept() -> None:
    assert terms.terms("北京大学") == ["北", "北京", "京", "京大", "大", "大学", "学"]
    assert set(terms.terms("茶")) <= set(terms.terms("我喜欢喝茶"))


def test_kana_and_hangul_are_cut_into_pairs() -> None:
    assert terms.terms("カメラ") == ["カメ", "メラ"]
    assert terms.terms("한국어") == ["한국", "국어"]


def test_words_of_two_scripts_side_by_side_are_told_apart() -> None:
    assert set(terms.terms("iphone")) <= set(terms.terms("我买了iphone手机"))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("When did Caroline go to the support group?", "en"),
        ("Wann wurden die Häuser in München gebaut?", "de"),
        ("Où est-ce que tu as acheté les chaussures ?", "fr"),
        ("¿Cuándo fue la última vez que viajaste con tu hermana?", "es"),
        ("Quando sei andata con la tua sorella al mare?", "it"),
        ("Quando foi que você viajou com os seus pais?", "pt"),
        ("Waar heb je het nieuwe boek van mijn vader gezien?", "nl"),
        ("Когда вы переехали?", "ru"),
        ("你什么时候搬家的", "zh"),
        ("いつ引っ越しましたか", "ja"),
        ("언제 이사했어요", "ko"),
        ("Berlin", "en"),
        ("", "en"),
    ],
)
def test_the_language_is_guessed(text: str, language: str) -> None:
    assert guess(text) == language


def test_german_inflections_meet() -> None:
    assert set(terms.terms("das Haus in der Stadt", "de")) == set(terms.terms("die Häuser in den Städten", "de"))


def test_diacritics_make_no_difference() -> None:
    assert terms.terms("café Zoë Łódź") == terms.terms("cafe Zoe Lodz")
    assert terms.terms("cafe\u0301") == terms.terms("café")


def test_marks_of_indic_scripts_do_not_cut_words() -> None:
    assert len(terms.terms("हिन्दी भाषा")) == 2


def test_most_letters_decide_what_an_english_model_can_read() -> None:
    assert latin("Zoë lives in Köln")
    assert latin("42")
    assert not latin("我住在北京 OK")


@given(st.text(alphabet=st.characters()))
def test_no_text_breaks_it_and_terms_are_never_empty(text: str) -> None:
    found = terms.terms(text)
    assert all(found)
    assert found == terms.terms(text)
    guess(text)


@given(st.text())
def test_every_word_has_its_place_in_the_text(text: str) -> None:
    for word in terms.words(text):
        assert 0 <= word.start < word.end <= len(text)


@given(st.text())
def test_every_term_is_a_word_with_a_place(text: str) -> None:
    assert set(terms.terms(text)) <= {word.term for word in terms.words(text)}


def test_a_place_covers_the_whole_word() -> None:
    assert terms.words("Mel's shoes") == [Word(0, 5, "mel"), Word(6, 11, "shoe")]


@pytest.mark.parametrize("letter", ["a", "aB", "f0", "é", "a_", "ﷺ", "ΐ", "a'", "x@y.", "न"])
def test_a_run_that_nobody_says_is_cut_and_found_by_itself_and_by_its_beginning(letter: str) -> None:
    run = letter * 4_000
    found = set(terms.terms(run))
    assert found == {word.term for word in terms.words(run)}
    assert max(len(term.encode()) for term in found) <= 400  # an entry of the database's index takes 2,600
    assert found & set(terms.terms(run[:100]))


def test_a_name_of_up_to_a_hundred_characters_stays_whole() -> None:
    name = "org.example." + "deeply." * 11 + "NestedName1"
    assert len(name) == 100
    assert terms.terms(name)[0] == name.casefold()
    assert set(terms.terms(name + "x")) == {"org", "exampl", "deepli", "nestedname1x", "nest", "name1x"}


def test_words_beside_a_long_run_are_terms_as_ever() -> None:
    assert terms.terms("harbour " + "x" * 250 + " lighthouse") == [
        "harbour", "x" * 100, "x" * 100, "x" * 50, "lighthous",
    ]  # fmt: skip
