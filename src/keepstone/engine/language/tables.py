"""Rule tables: the phrases by which the engine knows things, read from the data files in `rules/`.

Owns how those files are written (`docs/language.md`) and loads each once. A table holds phrases, under their language;
`phrases` says what a phrase means. A shape is a regular expression in which tables can be named, for what no phrase can
say. What is done with what the tables find is the business of the modules that load them. A mistake in a file is a
ValueError that names the file and the table.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from keepstone.engine.language import phrases
from keepstone.engine.language.phrases import Phrase

FOLDER = Path(__file__).parent / "rules"
# Phrases of these are whole words. In those of the others, and in signs, a phrase may stand anywhere.
SPACED = ("en", "de", "es", "fr", "it", "pt", "nl")
LANGUAGES = (*SPACED, "zh", "ja", "signs")
_SETTINGS = frozenset({"ignore_case", "any_space", "uses", "shapes"})
_BEGINS, _ENDS = r"(?<!\w)", r"(?!\w)"
_BREAK = re.compile(r"\n\s*")
_NAMED = re.compile(r"(?<!\(\?P)<(?!phrase>)([a-z]\w*)>")


class LatePattern:
    """A regular expression that is made when it is first used: to make all of them takes a program longer to start than
    everything else together. It answers as a compiled one does.
    """

    def __init__(self, make: Callable[[], re.Pattern[str]]) -> None:
        self._made = cache(make)

    def __getattr__(self, name: str) -> Any:
        made = self._made()
        self.pattern, self.search, self.match, self.fullmatch = made.pattern, made.search, made.match, made.fullmatch
        self.finditer, self.findall, self.sub, self.split = made.finditer, made.findall, made.sub, made.split
        return getattr(made, name)  # from now on those above are found without coming by here


def late(make: Callable[[], re.Pattern[str]]) -> re.Pattern[str]:
    return cast("re.Pattern[str]", LatePattern(make))


@dataclass(frozen=True, slots=True)
class Rule:
    """A phrase of a table of rules, and what else its entry says. One of the needles is in whatever it fits."""

    pattern: re.Pattern[str]
    needles: tuple[str, ...]
    about: Mapping[str, Any]


class RuleIndex:
    """Says of which rules one of the needles is in a text, which is much quicker than to try them all."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        places: dict[str, list[int]] = {}
        for place, rule in enumerate(rules):
            for needle in rule.needles or ("",):
                places.setdefault(needle, []).append(place)
        self._places = tuple(places.items())

    def near(self, text: str) -> list[Rule]:
        """The rules that are worth trying on a text, in their order."""
        places = {place for needle, holders in self._places if needle in text for place in holders}
        return [self._rules[place] for place in sorted(places)]


@dataclass(frozen=True, slots=True)
class RuleTables:
    """The tables of one file, with those of the files that it uses."""

    name: str
    data: Mapping[str, Any]
    used: Sequence["RuleTables"] = ()
    _read: dict[str, Phrase] = field(default_factory=dict[str, Phrase], compare=False)

    def words(self, table: str, *languages: str) -> tuple[str, ...]:
        """The phrases of a table as they are written; those of all languages where none is named."""
        return tuple(written for language, written in self._listed(table) if language in (languages or LANGUAGES))

    def pattern(self, table: str) -> re.Pattern[str]:
        """One pattern for all phrases of a table, in its frame where it has one; or a shape."""
        return late(lambda: self._compiled(table, self._source(table)))

    def rules(self, table: str, *, whole_words: bool = True) -> tuple[Rule, ...]:
        """The phrases of a table of rules, in the order of the file."""
        entries = self.data.get(table)
        if not isinstance(entries, list):
            raise self._wrong(table, f"write [[{table}]] before each rule")
        rules: list[Rule] = []
        for entry in cast("list[dict[str, Any]]", entries):
            about = {key: value for key, value in entry.items() if key not in LANGUAGES}
            for language, written in self._written(table, entry):
                phrase = self._phrase(table, written)
                source = _bounded([phrase]) if whole_words and language in SPACED else phrase.source
                rules.append(Rule(late(partial(self._compiled, table, source)), phrase.needles, about))
        return tuple(rules)

    def _written(self, table: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for language in LANGUAGES:
            given: Any = entry.get(language, [])
            for written in cast("list[Any]", given if isinstance(given, list) else [None]):
                if not isinstance(written, str):
                    raise self._wrong(table, f'{language} must be a list of phrases: ["one", "another"]')
                yield language, _BREAK.sub("", written)

    def _listed(self, table: str) -> Iterator[tuple[str, str]]:
        entry = self.data.get(table)
        if not isinstance(entry, dict) or table in _SETTINGS:
            raise self._wrong(table, "there is no such table of phrases")
        if unknown := sorted(cast("dict[str, Any]", entry).keys() - {*LANGUAGES, "frame"}):
            raise self._wrong(table, f"{unknown[0]} is none of {', '.join(LANGUAGES)}")
        return self._written(table, cast("dict[str, Any]", entry))

    def _source(self, table: str) -> str:
        """The regular expression of a table or shape."""
        shape = self._shapes().get(table)
        if shape is not None:
            return self._filled(table, shape)
        written = list(self._listed(table))
        spaced = [self._phrase(table, phrase) for language, phrase in written if language in SPACED]
        dense = [self._phrase(table, phrase).source for language, phrase in written if language not in SPACED]
        either = "|".join([_bounded(spaced), *dense] if spaced else dense)
        frame = cast("str | None", self.data[table].get("frame"))
        return either if frame is None else self._filled(table, frame).replace("<phrase>", f"(?:{either})")

    def _shapes(self) -> Mapping[str, str]:
        return cast("Mapping[str, str]", self.data.get("shapes", {}))

    def _filled(self, table: str, shape: str) -> str:
        """A shape with its tables put in."""
        opened = _NAMED.sub(lambda name: f"(?:{self._named(table, name[1]).source})", _BREAK.sub("", shape))
        return opened.replace(" ", r"\s++") if self.data.get("any_space") else opened

    def _phrase(self, table: str, written: str) -> Phrase:
        try:
            return phrases.read(
                written, lambda name: self._named(table, name), space=r"\s++" if self.data.get("any_space") else " "
            )
        except phrases.Unreadable as error:
            raise self._wrong(table, f"{error} in {written!r}") from error

    def _named(self, table: str, name: str) -> Phrase:
        """What `<name>` stands for: a shape, or any of the phrases of a table."""
        for tables in (self, *self.used):
            if name in tables._read:
                return tables._read[name]
            if name in tables._shapes() or isinstance(tables.data.get(name, {}).get("frame"), str):
                tables._read[name] = Phrase(tables._source(name), ())
            elif name in tables.data:
                if name == table:
                    raise self._wrong(table, f"<{name}> stands for itself")
                listed = [tables._phrase(name, written) for _, written in tables._listed(name)]
                tables._read[name] = phrases.either(listed)
            if name in tables._read:
                return tables._read[name]
        raise self._wrong(table, f"there is no table <{name}>")

    def _compiled(self, table: str, source: str) -> re.Pattern[str]:
        try:
            return re.compile(phrases.bounded(source), re.IGNORECASE if self.data.get("ignore_case") else re.NOFLAG)
        except re.error as error:
            raise self._wrong(table, f"{error} in {source[:200]!r}") from error

    def _wrong(self, table: str, problem: str) -> ValueError:
        return ValueError(f"{self.name}.toml, [{table}]: {problem}.")


@cache
def load(name: str) -> RuleTables:
    """The tables of `rules/NAME.toml`."""
    return parse(name, (FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def parse(name: str, text: str) -> RuleTables:
    """The tables in the text of a file."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name}.toml: {error}") from error
    return RuleTables(name, data, tuple(load(other) for other in data.get("uses", [])))


def _bounded(given: Sequence[Phrase]) -> str:
    """Phrases where words begin and end. Those that share both tests are tried behind one of them."""
    ends: dict[tuple[bool, bool], list[str]] = {}
    for phrase in given:
        ends.setdefault((phrase.begins, phrase.ends), []).append(phrase.source)
    return "|".join(
        f"{_BEGINS if begins else ''}(?:{'|'.join(sources)}){_ENDS if ends else ''}"
        for (begins, ends), sources in ends.items()
    )
