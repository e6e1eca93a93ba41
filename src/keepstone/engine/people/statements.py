"""What a message says of whom, read by rules: preferences, plans, relations, places, work, dates, health.

Owns how a clause is read, and the key under which a newer statement supersedes an older one; the rules themselves are
in `people.toml`. It must not guess: a statement keeps the words of the message, with its negation, and only the grammar
turns from "I" to a name. What fits no rule gives nothing, since junk in a memory costs more than a gap. No database, no
clock, no language model.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from keepstone.engine.language import tables
from keepstone.engine.language.doubt import IRONY
from keepstone.engine.people.clauses import asserted
from keepstone.engine.people.grammar import in_third_person, of_others
from keepstone.engine.quotation import own_words

Kind = Literal["preference", "plan", "relation", "place", "work", "possession", "date", "health", "identity"]

# Nobody says more of themselves in one message; what does is a document.
MOST = 8
# What comes after so many characters is not read: nobody types that much about themselves, and the time stays bounded.
READ = 100_000
# A longer object was not read to its end by any rule, and would be cut somewhere.
WORDY = 12

# One character for one, so that places in the text stay what they are.
_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'", "\u00a0": " "})

_TABLES = tables.load("people")
_LEAD = _TABLES.pattern("lead")
_SELF = re.compile(r"(?:i(?=['m\s])|we(?=['\s]))", re.IGNORECASE)
_CAPITAL = _TABLES.pattern("cap")
_CAPITALS = tables.late(lambda: re.compile(rf"({_CAPITAL.pattern})(?:\s+({_CAPITAL.pattern}))?"))
_MINE = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_END = _TABLES.pattern("end")
# An object that points at something outside the sentence, or a verb that says nothing by itself, is not remembered.
_POINTING = _TABLES.pattern("pointing")
_ADDRESSED = _TABLES.pattern("addressed")
# A negation behind the object would be lost with the rest of the clause: "I live in Rome no more".
_NEGATED = _TABLES.pattern("negated")
_DANGLING = _TABLES.pattern("dangling")
_HEAD = _TABLES.pattern("head")
_TAIL = _TABLES.pattern("tail")
_PREFERRED = _TABLES.pattern("preferred")
_WHEN = _TABLES.pattern("when")
_PLACE = re.compile(r"\b(?:in|to|from|In|aus)\s+(?P<first>\S+)")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a message says of a person. `start` and `end` are the characters of the message that say it."""

    subject: str
    kind: Kind
    key: str
    text: str
    start: int
    end: int


# What follows "I", "we" or a speaker's name; what begins with "my" or "our", wherever in a clause; whole clauses. Each
# rule has a kind, a key (made with the pattern's groups), and a form for where the message's words make no sentence.
_PREDICATES, _POSSESSIVES, _SENTENCES = (
    _TABLES.rules(table, whole_words=False) for table in ("predicate", "possessive", "sentence")
)


def statements(speaker: str, text: str, speakers: Collection[str] = ()) -> list[Statement]:
    """What one message says of its speaker and of the other speakers that it names, in the message's order."""
    plain = text[:READ].translate(_APOSTROPHES)
    if IRONY.search(plain.lower()):
        return []
    people = _people(speaker, speakers)
    lower = plain == plain.lower()
    by_key: dict[tuple[str, str], Statement] = {}
    for start, end in asserted(plain):
        for statement in _read(plain, start, end, speaker, people):
            if lower or not _uncapitalised(statement, plain):
                by_key.setdefault((statement.subject, statement.key), statement)
        if len(by_key) >= MOST:
            break
    return list(by_key.values())[:MOST]


def statements_of_turns(turns: Sequence[tuple[str, str]], speakers: Collection[str]) -> list[list[Statement]]:
    """What each turn, of a speaker and a text, says of people, as far as it is in their own words."""
    return [statements(speaker, own_words(text), speakers) for speaker, text in turns]


def _people(speaker: str, speakers: Collection[str]) -> Mapping[str, str]:
    """Speakers by their full name and by their first, unless two of them share it."""
    known: dict[str, str] = {}
    shared: set[str] = set()
    for person in {speaker, *speakers}:
        first = person.split(maxsplit=1)[0] if person.strip() else person
        for name in {person, first}:
            if known.setdefault(name, person) != person:
                shared.add(name)
    return {name: person for name, person in known.items() if name not in shared or name == person}


def _read(plain: str, start: int, end: int, speaker: str, people: Mapping[str, str]) -> Iterator[Statement]:
    """The statements of one clause: one of its subject, and those of "my sister Ana" wherever it stands."""
    clause = plain[start:end]
    lead = _LEAD.match(clause)
    begin = lead.end() if lead else 0
    subject, after = _subject(clause, begin, speaker, people)
    if subject is not None:
        for rule in _PREDICATES:
            match = rule.pattern.match(clause, after)
            if match and (not rule.about.get("timed") or _WHEN.search(clause)):
                head = clause[after : match.start("what")]
                head = subject + (in_third_person(head) if _SELF.match(clause, begin) else head)
                yield from _made(rule, match, subject, head, start, begin)
                # What this rule refuses is not for a weaker one.
                break
    for mine in _MINE.finditer(clause):
        for rule in _POSSESSIVES:
            match = rule.pattern.match(clause, mine.start())
            if match:
                head = f"{speaker}'s{clause[mine.end() : match.start('what')]}"
                yield from _made(rule, match, speaker, head, start, mine.start())
                break
    for rule in _SENTENCES:
        match = rule.pattern.match(clause, begin)
        if match:
            yield from _made(rule, match, speaker, "", start, begin)
            break


def _subject(clause: str, begin: int, speaker: str, people: Mapping[str, str]) -> tuple[str | None, int]:
    """Whom a clause is about, and where what it says of them begins."""
    match = _SELF.match(clause, begin)
    if match:
        return speaker, match.end()
    match = _CAPITALS.match(clause, begin)
    if match and match.group() in people:
        return people[match.group()], match.end()
    if match and match[1] in people:
        return people[match[1]], match.end(1)
    return None, begin


def _made(
    rule: tables.Rule, match: re.Match[str], subject: str, head: str, start: int, begin: int
) -> Iterator[Statement]:  # fmt: skip
    kind: Kind = rule.about["kind"]
    phrase = _phrase(kind, match)
    if phrase is None:
        return
    groups = {name: value or "" for name, value in match.groupdict().items()}
    apart = match.string[match.end("slot") : match.start("what")].strip(" ,") if "slot" in groups else ""
    if "form" in rule.about and not apart:
        article = "an" if groups.get("slot", "")[:1] in "aeiou" else "a"
        text = rule.about["form"].format(**{**groups, "who": subject, "a": article})
    else:
        text = head + of_others(phrase)
    early = _WHEN.search(match.string, 0, begin)
    if early:
        text += f" {early.group().lower()}"
    key, end = _key(rule, groups, head, phrase), match.start("what") + len(phrase)
    yield Statement(subject, kind, key, " ".join(text.split()), start + begin, start + end)


def _phrase(kind: Kind, match: re.Match[str]) -> str | None:
    """The object of a match, cut where the phrase ends; None where it is nothing to remember."""
    start, end = match.span("what")
    cut = _END.search(match.string, start, end)
    phrase = match.string[start : cut.start() if cut else match.end()].rstrip(" \t.,!?~*_-")
    if kind == "plan" and (timed := _WHEN.search(phrase)):
        phrase = phrase[: timed.end()]
    if _NEGATED.search(match.string, max(start + len(phrase), match.end() if match.end() > end else 0)):
        return None
    if not any(map(str.isalnum, phrase)) or len(phrase.split()) > WORDY or _DANGLING.search(phrase):
        return None
    if kind in {"preference", "plan", "health"} and (
        _POINTING.match(phrase) or _ADDRESSED.search(_WHEN.sub("", phrase))
    ):
        return None
    return phrase


def _key(rule: tables.Rule, groups: Mapping[str, str], head: str, phrase: str) -> str:
    what = groups["what"] if "name" in groups else phrase
    if rule.about["kind"] == "plan":
        what = _WHEN.sub("", what)
    if "prefer" in head or " than " in what:
        what = _PREFERRED.sub("", what)
    plain = {name: _plain(value) for name, value in {**groups, "what": what}.items()}
    return " ".join(f"{rule.about['kind']}:{rule.about['key'].format(**plain)}".split())[:80]


def _plain(phrase: str) -> str:
    """A phrase without what changes from one time it is said to the next."""
    return _HEAD.sub("", _TAIL.sub("", phrase.strip()).casefold()).strip("\"'“”.,!? ")


def _uncapitalised(statement: Statement, plain: str) -> bool:
    """Whether a place is written small in a message that has capitals: "I live in fear", and not "i live in rome"."""
    if statement.kind != "place" and statement.key != "plan:move":
        return False
    where = _PLACE.search(plain, statement.start, statement.end)
    return where is not None and where["first"].islower() and where["first"] not in {"a", "an", "the"}
