"""No text makes a regular expression, or what reads texts, work longer than it is long."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import growth
from keepstone.engine import (
    curate,
    dedup,
    keyphrases,
    quotation,
    segments,
    snippets,
    standing,
    summarise,
    terms,
    titles,
    when,
)
from keepstone.engine.extract import memories
from keepstone.engine.extract.heard import passages
from keepstone.engine.language import sentences, tables
from keepstone.engine.people.statements import statements
from keepstone.engine.takeaways.messages import takeaways
from keepstone.importers import marks
from keepstone.providers import tokenizer
from keepstone.relay.dialects.written_calls import written_calls

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_READERS: dict[str, Callable[[str], object]] = {
    "terms": terms.terms,
    "words": terms.words,
    "title": titles.title,
    "tags": keyphrases.tags,
    "snippet": lambda text: snippets.snippet(text, text),
    "lines": sentences.lines,
    "shortened": lambda text: sentences.shortened(text, 80),
    "windows": lambda text: when.windows(text, _NOW),
    "content_hash": dedup.content_hash,
    "superfluous": lambda text: dedup.superfluous(text, text),
    "summarise": lambda text: summarise.summarise([summarise.RoomLine("Ana", text, _NOW)]),
    "curate": lambda text: curate.curate([segments.SpokenMessage("Ana", text)]),
    "extract_said": memories.extract_said,
    "passages": lambda text: list(passages(text)),
    "extract_written": lambda text: memories.extract_written(text, "research"),
    "statements": lambda text: statements("Ana", text, ("Ana", "Bo")),
    "takeaways": lambda text: takeaways("Ana", text, ("Ana", "Bo")),
    "tokens": tokenizer.careful,
    "own_words": quotation.own_words,
    "cut-off quotations": lambda text: quotation.own_words(text.replace("a", "0123456789</recalled-memory>")),
    "retold": quotation.retold,
    "untagged": lambda text: quotation.untagged("<|" + text),
    "standing_wish": standing.standing_wish,
    "unmarked": lambda text: marks.unmarked(f"\ue200{text}\ue202{text}"),
    "written_calls": lambda text: written_calls(f"```{text}x_save", {"x_save"}),
}
_UNITS = ("a", "f0", "aA", " ", "\n", "A ", "a. ", "中", "哈", "- a\n", "[a](", "1/", "I am a ", "`a", "((")


@pytest.fixture(scope="module")
def known() -> dict[str, re.Pattern[Any]]:
    return growth.patterns()


def test_no_pattern_takes_longer_than_a_text_is_long(known: dict[str, re.Pattern[Any]]) -> None:
    assert len(known) > 800
    steep = {place: text for place, pattern in known.items() if (text := growth.steep(pattern))}
    assert not steep


@pytest.mark.parametrize("name", _READERS)
def test_no_reader_takes_longer_than_a_text_is_long(name: str) -> None:
    grown = {unit: growth.growth(_READERS[name], growth.repeated(unit), 1_500, 6_000) for unit in _UNITS}
    assert {unit: ratio for unit, ratio in grown.items() if ratio >= growth.STEEP} == {}


@pytest.mark.parametrize(
    "source",
    [
        r"(?:a+)+b",  # explodes
        r"(?:x{1,80}\W{0,80}){1,6}y",  # explodes though nothing is repeated without end
        r"\s+$",  # begins anew at every space
        r"[\w.+-]+@[\w-]+\.\w+",
        r"the .*deadline",
        r"#\d+[\w/-]*[^\W\d][\w/-]*",
    ],
)
def test_a_pattern_that_takes_longer_is_noticed(source: str) -> None:
    assert growth.steep(re.compile(source, re.DOTALL))


@pytest.mark.parametrize("source", [r"(?<!\s)\s++$", r"[^\W\d]{1,64}+@\w{1,80}", r"\d{4}-\d\d", r"(?<![ab])[ab]++c"])
def test_one_that_does_not_is_let_pass(source: str) -> None:
    assert not growth.steep(re.compile(source))


def test_patterns_are_found_wherever_they_are_written(known: dict[str, re.Pattern[Any]]) -> None:
    assert "engine.terms._CAMEL" in known  # in a variable
    assert any(place.startswith("providers.anthropic_request:") for place in known)  # in a call
    assert any(place.startswith("when.toml") or "dates._INDEX" in place for place in known)  # in a rule


def test_nothing_in_a_rule_is_repeated_without_end() -> None:
    rules = tables.parse("planted", '[[planted]]\nen = ["like <…> better", "so+ {x*y{2,}}"]\n[shapes]\nany = ".*?a+"\n')
    sources = [rule.pattern.pattern for rule in rules.rules("planted")] + [rules.pattern("any").pattern]
    assert sources == [
        r"(?<!\w)(?:like .{0,400} better)(?!\w)",
        r"(?<!\w)(?:so\w{1,80} x{0,80}y{2,80})(?!\w)",
        ".{0,400}?a{1,80}",
    ]
