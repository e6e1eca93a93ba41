"""Phrases mean what docs/language.md says of them, and every rule table of the package can be read."""

import re

import pytest

from keepstone.engine.language import phrases, tables


def pattern(*written: str, language: str = "en") -> re.Pattern[str]:
    listed = ", ".join(f"'''{phrase}'''" for phrase in written)
    return tables.parse(
        "test", f"[spoken]\n{language} = [{listed}]\n[drink]\nen = ['tea', 'hot (milk|cocoa)']"
    ).pattern("spoken")


@pytest.mark.parametrize(
    ("phrase", "fits", "fails"),
    [
        ("just kidding", ["i'm just kidding!"], ["just kiddingly", "adjust kidding"]),
        ("(my|our) mind", ["in my mind", "our mind"], ["your mind"]),
        ("not [a ]bit", ["not bit", "not a bit"], ["not a a bit"]),
        ("[very |so ]*good", ["very very so good", "good"], ["verygood"]),
        ("haha*", ["haha", "hahahaha"], ["ahaha"]),
        ("my + sister", ["my little sister"], ["my sister"]),
        ("at #[#]:##", ["at 9:30", "at 12:00"], ["at 9", "at 123:00"]),
        ("would!( rather)", ["i would say"], ["i would rather"]),
        ("deadline&( is)", ["the deadline is"], ["the deadline was"]),
        ("i like <drink>", ["i like tea", "i like hot cocoa"], ["i like hot"]),
        ("like <3…5> better", ["like beer better"], ["like x better", "like coffees better"]),
        ("decided <…> now", ["decided on all of it now"], ["decided"]),
        ("~ing", ["going"], ["things"]),
        ("allerg~", ["an allergy"], ["nonallergic"]),
        ("^so", ["so what", "- so be it"], ["and so on"]),
        ("again$", ["not again!"], ["again and again not"]),
        ("is <3…>", ["it is so!!"], ["it is"]),
        ("from {[a-f]+}", ["from abc"], ["from xyz"]),
        (r"2 \* 3", ["2 * 3"], ["2  3"]),
        ("i'll_<1…9>_send", ["i'll now send"], ["i'llsend"]),
    ],
)
def test_a_phrase_fits_what_is_said_so(phrase: str, fits: list[str], fails: list[str]) -> None:
    found = pattern(phrase)
    for text in fits:
        assert found.search(text), text
    for text in fails:
        assert not found.search(text), text


def test_a_part_with_a_name_is_known_by_it() -> None:
    match = pattern("i love (what: tea|<drink>)").search("well, i love hot milk")
    assert match is not None
    assert match["what"] == "hot milk"


def test_chinese_has_no_spaces_to_tell_words_by() -> None:
    assert pattern("决定", language="zh").search("我们决定用它")


def test_a_phrase_can_be_written_over_several_lines() -> None:
    assert pattern("(tea|\n    coffee)").search("some coffee")


def test_rules_carry_what_their_entry_says_and_keep_their_order() -> None:
    given = tables.parse("test", "[[cue]]\nweight = 0.5\nen = ['so be it', 'fine']\nzh = ['好']\n[[cue]]\nen = ['no']")
    rules = given.rules("cue")
    assert [rule.about for rule in rules] == [{"weight": 0.5}] * 3 + [{}]
    assert [bool(rule.pattern.search("fine, 好")) for rule in rules] == [False, True, True, False]


@pytest.mark.parametrize(
    ("phrase", "needles"),
    [
        ("we decided", {"we decided"}),
        ("(we|i) [all ]decided", {" decided", "decided"}),
        ("(agree|settl)ed", {"agree", "settl"}),
        ("(work|worked)", {"work"}),
        ("go<…>[now]", {"go"}),
        ("would!( rather)", {"would"}),
        ("#*", set()),
        ("i|we", {"i", "we"}),
    ],
)
def test_a_rule_knows_letters_without_which_it_does_not_fit(phrase: str, needles: set[str]) -> None:
    (rule,) = tables.parse("test", f"[[cue]]\nen = ['{phrase}']").rules("cue")
    assert set(rule.needles) <= needles
    assert bool(rule.needles) == bool(needles)


def test_only_rules_whose_letters_are_in_a_text_are_tried() -> None:
    rules = tables.parse("test", "[[cue]]\nen = ['agreed', '#', '(settled|final)']").rules("cue")
    index = tables.RuleIndex(rules)
    assert index.near("that's final, agreed") == list(rules)
    assert index.near("nothing") == [rules[1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[spoken]\nen = ['(a']", r"test.toml, \[spoken\]: a \"\)\" is missing"),
        ("[spoken]\nen = ['a]']", r"\[spoken\]: a \"\]\" is missing or too many"),
        ("[spoken]\nen = ['<tea>']", r"there is no table <tea>"),
        ("[spoken]\nen = ['<spoken>']", r"<spoken> stands for itself"),
        ("[spoken]\nen = 'a'", r"en must be a list of phrases"),
        ("[spoken]\nxx = ['a']", r"xx is none of en, de"),
        ("[spoken]\nen = ['{[}']", r"unterminated character set"),
        ("[spoken", r"test.toml: Expected '\]'"),
    ],
)
def test_what_is_wrong_in_a_table_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tables.parse("test", text).pattern("spoken").search("a")


# Stop words are bare words, and no phrases.
@pytest.mark.parametrize("name", sorted({path.stem for path in tables.FOLDER.glob("*.toml")} - {"stopwords"}))
def test_every_table_of_the_package_can_be_read(name: str) -> None:
    given = tables.load(name)
    for table, entry in given.data.items():
        if isinstance(entry, list) and table != "uses":
            assert [rule.pattern.search("") for rule in given.rules(table)]
        elif isinstance(entry, dict) and table != "shapes":
            assert given.pattern(table).pattern


def test_phrases_are_read_in_time_that_grows_with_their_length() -> None:
    assert phrases.read("(a|b) " * 2_000, lambda _: phrases.Phrase("", ())).source


@pytest.mark.parametrize("name", ["search", "subn", "flags", "groupindex"])
def test_a_pattern_is_made_once_whatever_is_asked_of_it(name: str) -> None:
    made: list[int] = []

    def make() -> re.Pattern[str]:
        made.append(1)
        return re.compile("boat")

    pattern = tables.late(make)
    assert made == []
    for _ in range(3):
        getattr(pattern, name)
    assert made == [1]
