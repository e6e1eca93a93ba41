"""Key phrases: tags of a text, topics of several, and names that set one group of texts apart from the others.

Owns which phrases stand for a text. It must not invent: a phrase stands in the text as it was written. Phrases are runs
of words between stop words and punctuation (as in RAKE), weighed by how often they stand in the text, how early,
whether they are written as a name, and what stands before them (as in YAKE); groups are told apart by c-TF-IDF. Chinese
has no spaces: its phrases are what lies between function words, and the substrings that come again.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from keepstone.engine.language.scripts import DENSE, placed_tokens, tokens
from keepstone.engine.language.sentences import lines, shortened
from keepstone.engine.language.stopwords import COMMON, FUNCTION_WORDS, STOP_WORDS, guess
from keepstone.engine.language.tables import load
from keepstone.engine.terms import stem

# What comes later is not looked at: the beginning of a document names what it is about.
READ = 12_000
LONGEST_PHRASE = 3
# A name of a group is at most so long. A phrase is one where so many of the group have it; a word alone has to stand in
# more of them.
NAME = 48
SHARED = 0.2
SHARED_WORD = 0.6
_TABLES = load("titles")
_BEFORE_NOUN, _BEFORE_VERB = frozenset(_TABLES.words("before_noun")), frozenset(_TABLES.words("before_verb"))
_POOR_ENDINGS, _NOT_AT_THE_END = _TABLES.words("poor_endings"), _TABLES.words("not_at_the_end")
_NOT_AT_THE_START, _NO_TOPIC = _TABLES.words("not_at_the_start"), frozenset(_TABLES.words("no_topic"))
_STOP_WORDS = STOP_WORDS["en"] | STOP_WORDS["de"]

# What stands at the beginning of a line before a colon is what the line is about.
_HEADING = re.compile(r"(?m)^[^\w\n]{0,8}([^\n:：.。,，]{2,28})[:：]")
HEADING = 2.0
_ENDING = " .。!！:：,，…"

# The stems of a phrase: the same for all its forms.
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A phrase at one place of a text."""

    key: Key
    form: str
    weight: float


def tags(text: str, limit: int = 5) -> list[str]:
    """The phrases that stand for one text, as written, best first."""
    return topics([text], limit)


def topics(texts: Sequence[str], limit: int) -> list[str]:
    """The phrases that stand for all of the texts; one that several texts share counts for more."""
    scores, forms = _scores(_phrases(text[:READ]) for text in texts)
    return _apart(scores, forms, limit)


def names(groups: Sequence[Sequence[str]], limit: int) -> list[list[str]]:
    """For each group of titles what one would call it: phrases that many of them share and other groups don't
    (c-TF-IDF), or else the titles that stand for most of it.
    """
    phrases = [[tuple(_phrases(title[:READ])) for title in titles] for titles in groups]
    scored = [_scores(read) for read in phrases]
    everywhere: Counter[Key] = Counter()
    for scores, _ in scored:
        everywhere.update(scores)
    average = sum(everywhere.values()) / max(len(groups), 1)
    named: list[list[str]] = []
    for titles, read, (scores, forms) in zip(groups, phrases, scored, strict=True):
        apart = {key: score * math.log1p(average / everywhere[key]) for key, score in scores.items()}
        named.append(_names(titles, read, apart, forms, limit))
    return named


def phrases_apart(groups: Sequence[Sequence[str]], limit: int = 12) -> list[list[str]]:
    """For each group of texts the phrases that set it apart and can be its name, best first: those that several texts
    share before those that one alone has, and what stands as a heading before a colon before all others.
    """
    read = [_read_group(texts) for texts in groups]
    scored = [_scores(phrases) for phrases in read]
    everywhere: Counter[Key] = Counter()
    for scores, _ in scored:
        everywhere.update(scores)
    average = sum(everywhere.values()) / max(len(groups), 1)
    found: list[list[str]] = []
    for texts, phrases, (scores, forms) in zip(groups, read, scored, strict=True):
        holders = Counter(key for each in phrases for key in {phrase.key for phrase in each})
        headings = Counter(heading for text in texts for heading in set(_HEADING.findall(text[:READ].casefold())))
        worth = {
            key: min(holders[key], 1 + 0.2 * len(texts))
            * score
            * math.log1p(average / everywhere[key])
            * (HEADING if headings[forms[key].casefold()] * 3 >= len(texts) else 1)
            for key, score in scores.items()
            if _can_name(forms[key])
        }
        found.append([forms[key] for key in sorted(worth, key=lambda key: (-worth[key], key))[:limit]])
    return found


def _read_group(texts: Sequence[str]) -> list[tuple[_Phrase, ...]]:
    """The phrases of each. A word that is written without spaces is known by coming again, in whichever of them."""
    again = _recurring([line.text for text in texts for line in lines(text[:READ])])
    return [tuple(_phrases(text[:READ], again)) for text in texts]


def _can_name(form: str) -> bool:
    if DENSE.match(form):
        return not form.startswith(_NOT_AT_THE_START) and form not in _NO_TOPIC
    return any(word not in _NO_TOPIC for word in form.casefold().split())


def _names(
    titles: Sequence[str], read: Sequence[Iterable[_Phrase]], scores: Mapping[Key, float], forms: Mapping[Key, str],
    limit: int,
) -> list[str]:  # fmt: skip
    """`read`: the phrases of each title."""
    holders: defaultdict[Key, set[int]] = defaultdict(set)
    for place, phrases in enumerate(read):
        for phrase in phrases:
            holders[phrase.key].add(place)
    chosen: list[Key] = []
    covered: set[int] = set()
    # Two words say what one alone leaves open: "exchange rate" before "rate".
    for key in sorted(scores, key=lambda key: (-scores[key] * (len(key) + (len(forms[key]) > 3)), key)):
        least = max(2, (SHARED if len(key) > 1 or DENSE.match(forms[key]) else SHARED_WORD) * len(titles))
        if len(chosen) < limit and len(holders[key]) >= least and not any(_overlap(key, other) for other in chosen):
            chosen.append(key)
            covered |= holders[key]
    named = [forms[key] for key in chosen]
    weights = [_central(phrases, scores) for phrases in read]
    for place in sorted(range(len(titles)), key=lambda place: (-weights[place], place)):
        short = shortened(titles[place].rstrip(_ENDING), NAME).rstrip(_ENDING.replace("…", ""))
        if len(named) < limit and place not in covered and short and short not in named:
            named.append(short)
    return named


def _central(phrases: Iterable[_Phrase], scores: Mapping[Key, float]) -> float:
    """How much of what its group is about a title says, for its length."""
    keys = {phrase.key for phrase in phrases}
    return sum(scores.get(key, 0.0) for key in keys) / (len(keys) + 2) ** 0.5


@lru_cache(maxsize=1 << 14)
def word_weight(raw: str) -> float:
    """What a word tells: nothing for a stop word, little for a common one, more for a number or a name."""
    low = raw.replace("’", "'").casefold()
    if low in _STOP_WORDS:
        return 0.0
    if low in COMMON or len(low) < 2:
        return 0.25
    return 1.2 if any(map(str.isdigit, raw)) else 1.0


def _scores(texts: Iterable[Iterable[_Phrase]]) -> tuple[dict[Key, float], dict[Key, str]]:
    """How much each phrase of these texts says of them, and the form in which it is written most often."""
    scores: defaultdict[Key, float] = defaultdict(float)
    forms: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    for phrases in texts:
        counts: Counter[Key] = Counter()
        best: dict[Key, float] = {}
        for phrase in phrases:
            counts[phrase.key] += 1
            best[phrase.key] = max(best.get(phrase.key, 0.0), phrase.weight)
            forms[phrase.key][phrase.form] += 1
        for key, count in counts.items():
            scores[key] += best[key] * math.log1p(count)
    return dict(scores), {key: written.most_common(1)[0][0] for key, written in forms.items()}


def _phrases(text: str, again: frozenset[str] | None = None) -> Iterator[_Phrase]:
    """`again` are substrings that come again, if they are known; else those of this text."""
    read = [line.text for line in lines(text)]
    again = _recurring(read) if again is None else again
    language = guess(text[:2000])
    for place, line in enumerate(read):
        early = 1 / (1 + 0.03 * place)
        for phrase in (*_spaced(line, language), *_dense(line, again)):
            yield _Phrase(phrase.key, phrase.form, phrase.weight * early)


def _spaced(line: str, language: str) -> Iterator[_Phrase]:
    """Runs of telling words with nothing but a space or a hyphen between."""
    run: list[re.Match[str]] = []
    before, previous = "", ""
    for match in placed_tokens(line):
        raw = match.group()
        if run and line[run[-1].end() : match.start()] not in {" ", "-", " & "}:
            yield from _run(run, before, language)
            run = []
        if DENSE.match(raw) or word_weight(raw) < 1:
            yield from _run(run, before, language)
            run = []
        else:
            before = before if run else previous
            run.append(match)
        previous = raw.casefold()
    yield from _run(run, before, language)


def _run(run: Sequence[re.Match[str]], before: str, language: str) -> Iterator[_Phrase]:
    if not run:
        return
    usage = 1.3 if before in _BEFORE_NOUN else 0.6 if before in _BEFORE_VERB else 1.0
    for size in range(1, min(len(run), LONGEST_PHRASE) + 1):
        for at in range(len(run) - size + 1):
            raw = [match.group() for match in run[at : at + size]]
            named = sum(word[0].isupper() for word in raw) if run[at].start() > 0 else sum(map(str.isupper, raw))
            if _is_phrase(raw, named, language):
                form = run[at].string[run[at].start() : run[at + size - 1].end()]
                weight = size**0.4 * (1 + 0.5 * named / size) * (1.0 if at else usage)
                weight *= 0.7 if raw[-1].endswith(_POOR_ENDINGS) else 1.0
                yield _Phrase(tuple(stem(word.casefold(), language) for word in raw), form, weight)


def _is_phrase(raw: Sequence[str], named: int, language: str) -> bool:
    """Whether words in a row can be one thing's name: three only as a proper name, and no number alone."""
    first, last = raw[0], raw[-1]
    if first[0].isdigit() and first[-1].isdigit():
        return False
    if last[0].isdigit() and last[-1].isdigit() and not first[0].isupper():
        return False
    if language == "de" and last[0].islower():
        return False  # nouns are written with a capital
    return len(first) > 2 if len(raw) == 1 else named == len(raw) or len(raw) < LONGEST_PHRASE


def _dense(line: str, again: frozenset[str]) -> Iterator[_Phrase]:
    for inner in _between_function_words(line):
        known = [part for part in _parts(inner) if part in again]
        for run in known or ([inner] if 2 <= len(inner) <= 5 else []):
            part = run[:-1] if len(run) > 2 and run[-1] in _NOT_AT_THE_END else run
            if part not in COMMON:
                yield _Phrase((part,), part, 0.8 + 0.1 * min(len(part), 5))


def _between_function_words(line: str) -> Iterator[str]:
    dense = (raw for raw in tokens(line) if DENSE.match(raw)) if not line.isascii() else ()
    return (inner for raw in dense for inner in FUNCTION_WORDS.split(raw))


def _parts(run: str) -> Iterator[str]:
    return (run[at : at + size] for size in range(2, 7) for at in range(len(run) - size + 1))


def _recurring(read: Iterable[str]) -> frozenset[str]:
    """Substrings that come again, other than as a part of a longer one that does."""
    counts = Counter(part for line in read for inner in _between_function_words(line) for part in _parts(inner))
    covered: Counter[str] = Counter()
    recurring: set[str] = set()
    for part in sorted((part for part, count in counts.items() if count > 1), key=lambda part: (-len(part), part)):
        alone = counts[part] - covered[part]
        if alone > 1:
            recurring.add(part)
            covered.update({inner: alone * part.count(inner) for inner in set(_parts(part)) if inner != part})
    return frozenset(recurring)


def _apart(scores: Mapping[Key, float], forms: Mapping[Key, str], limit: int) -> list[str]:
    """The best phrases of which none repeats a word of another."""
    chosen: list[Key] = []
    for key in sorted(scores, key=lambda key: (-scores[key], key)):
        if len(chosen) >= limit:
            break
        if not any(_overlap(key, other) for other in chosen):
            chosen.append(key)
    return [forms[key] for key in chosen]


def _overlap(left: Key, right: Key) -> bool:
    return any(a == b or (not a.isascii() and (a in b or b in a)) for a in left for b in right)
