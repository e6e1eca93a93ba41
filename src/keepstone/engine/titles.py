"""Titles: what a text is called, from the words of the text itself.

Owns which sentence stands for a text, and what of it. It must not invent: a title stands in the text as it was written,
but for markdown, for what stands in brackets and for what an ellipsis stands for. What it says must be what the text
says: a negation or a condition is never cut off. The same text gives the same title at every time; the only thing known
of other texts is which words are common. A language model gives a better title, and is never needed for one.

The first claim leads: greetings, scenery and what only leads up to it are passed over, and what is marked as the
decision or the conclusion goes before it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from math import log1p, sqrt

from keepstone.engine.ask_model import DATA_ONLY, refuses
from keepstone.engine.keyphrases import READ, word_weight
from keepstone.engine.language.calendar import MONTHS, WEEKDAYS
from keepstone.engine.language.doubt import ASKS, IRONY, JOKE
from keepstone.engine.language.scripts import DENSE, tokens, unspaced
from keepstone.engine.language.sentences import CLAUSE, SPACES, Line, lines, lowered, sentences, shortened
from keepstone.engine.language.stopwords import FUNCTION_WORDS, guess, is_stop
from keepstone.engine.language.tables import load
from keepstone.engine.quotation import quote_as
from keepstone.providers.llm import LanguageModel

LIMIT = 80
LIMIT_UNSPACED = 30
MOST_SENTENCES = 60
# More words than these tell no more: the first claim leads, not the longest.
ENOUGH = 3.0
# Of less weight a sentence says nothing.
POOR = 0.5
_TABLES = load("titles")
_EMPTY, _GENERIC, _OPENING, _POINTING, _LABEL, _PREAMBLE = (
    _TABLES.pattern(table) for table in ("empty", "generic", "opening", "pointing", "label", "preamble")
)
_MARKER, _DECISIVE_ALONE, _ATTENDING, _SCENERY, _WEIGHING, _DEPENDING = (
    _TABLES.pattern(table) for table in ("marker", "decisive_alone", "attending", "scenery", "weighing", "depending")
)
_CONCLUDING, _NORMATIVE, _CONDITION, _NEGATION, _JOINING, _MINUTES = (
    _TABLES.pattern(table) for table in ("concluding", "normative", "condition", "negation", "joining", "minutes")
)
_OTHERWISE, _NO_LONGER, _NOW, _BUT, _STORY, _ANYWAY, _ANNOUNCES = (
    _TABLES.pattern(table) for table in ("otherwise", "no_longer", "now", "but", "story", "anyway", "announces")
)
# A number, or a name that begins no sentence.
_HARD = re.compile(r"\d|[一二三四五六七八九十百千万]|(?<=[\w,;:] )[^\W\d_a-z][^\W\d_]")
_OCCASIONS = frozenset(_TABLES.words("occasion"))
_OCCASIONS_DE = _TABLES.words("occasion", "de")
_OCCASIONS_ZH = re.compile("|".join(sorted(_TABLES.words("occasion", "zh"), key=len, reverse=True)))
_BRACKETS = re.compile(r" ?(?:\([^()]{0,120}\)|（[^（）]{0,120}）)")
_REPLY = re.compile(r"(?:(?:re|fwd?|aw|wg|回复|转发)\s*[:：]\s*)+", re.IGNORECASE)
_SYSTEM = (
    f"You name notes. {DATA_ONLY} Reply with a title for the note in its language, at most 60 characters, specific, "
    "with names and numbers where they matter. Only the title, on one line."
)
_QUOTES = "\"'“”‘’«»„「」『』《》*_` "
_TRAILING = " .。:：,，;；、!！"


@dataclass(frozen=True, slots=True)
class _Claim:
    """A sentence without what leads up to it. `weight` says how far it can stand for the text; `marked`: that it says
    so itself; `item`: that it is one of a list.
    """

    text: str
    weight: float
    marked: bool
    item: bool


def title(text: str) -> str:
    """What a text is called: its heading, or its first claim, in one short line. Empty only for nothing."""
    plain = lines(text[:READ])
    for place, line in enumerate(plain[:2]):
        # Below a line such as "Sure, here it is:" only a heading proper names the whole.
        named = line.heading == "marked" or (line.heading == "bold" and place == 0)
        if named and any(map(str.isalnum, line.text)) and not _names_nothing(line.text):
            return _fitted(line.text)
    claims = list(islice(_claims(plain), MOST_SENTENCES))
    counts = Counter(term for claim in claims for term in _telling(claim.text))
    best = max(_candidates(claims, counts), key=lambda pair: pair[0], default=(0.0, ""))[1]
    return best or _fitted(next((line.text for line in plain), "")) or _fitted(text)


async def title_by_model(model: LanguageModel, text: str) -> str:
    """A title from the language model; the text's own where the model's is none."""
    said = (await model.complete(system=_SYSTEM, prompt=quote_as("note", text[:READ]), max_tokens=60)).text
    first = next((line for line in said.splitlines() if line.strip(_QUOTES)), "")
    made = " ".join(_LABEL.sub("", first).split()).lstrip(_QUOTES + "#").rstrip(_QUOTES + ".。")
    if not any(map(str.isalnum, made)) or len(made) > 2 * LIMIT or refuses(made) or _PREAMBLE.match(made):
        return title(text)
    return shortened(made, LIMIT_UNSPACED if unspaced(made) else LIMIT)


# --- which sentence ---------------------------------------------------------------------------------------------------


def _names_nothing(heading: str) -> bool:
    """Whether any text could have this heading, or it only says on which occasion it was written."""
    if _GENERIC.fullmatch(heading) or _MINUTES.match(heading):
        return True
    words = [word.casefold() for word in tokens(heading)]
    language = guess(heading)
    occasions = [word for word in words if _is_occasion(word)]
    rest = (word for word in words if word not in occasions)
    dated = any(map(str.isdigit, heading)) or _OCCASIONS.intersection(occasions)
    return bool(occasions and dated) and all(
        any(map(str.isdigit, word)) or word in MONTHS or word in WEEKDAYS or is_stop(word) or is_stop(word, language)
        for word in rest
    )


def _is_occasion(word: str) -> bool:
    return word in _OCCASIONS or word.endswith((*_OCCASIONS_DE, "会")) or not _OCCASIONS_ZH.sub("", word)


def _claims(plain: Sequence[Line]) -> Iterator[_Claim]:
    marked = weighed = False
    for place, line in enumerate(plain):
        if line.heading or (place == 0 and len(plain) > 1 and _names_nothing(line.text)):
            # What stands below "Decision" is one.
            marked = bool(_MARKER.fullmatch(f"{line.text.rstrip(' :：')}:"))
            continue
        if _ATTENDING.match(line.text):
            continue
        for sentence in sentences(line.text):
            claim = _claim(sentence, line.item, marked=marked)
            if claim is None:
                continue
            low = lowered(claim.text)
            # What came of it is what counts, where it was said before what it was about.
            yield replace(claim, weight=2 * claim.weight) if weighed and _CONCLUDING.search(low) else claim
            marked, weighed = False, weighed or bool(_WEIGHING.search(low))


def _claim(sentence: str, item: bool, *, marked: bool) -> _Claim | None:
    begin = _announced(sentence)
    turned = _BUT.search(sentence, begin) if _SCENERY.match(lowered(sentence[begin:])) else None
    begin = turned.end() if turned else begin
    for _ in range(6):
        named = _MARKER.match(sentence, begin) or _DECISIVE_ALONE.match(sentence, begin)
        if named:
            marked = True
            if named.groupdict().get("topic", "").strip():
                break  # "Decision on the roof: slate" says what was decided on
        match = named or _OPENING.match(sentence, begin)
        if match is None or match.end() == begin:
            break
        begin = match.end()
    text = _REPLY.sub("", sentence[begin:]) if marked else sentence[begin:]
    if not any(map(str.isalnum, text)):
        return None if begin else _Claim(sentence, 0.05, marked=False, item=item)
    low = lowered(text)
    weight = 1.0
    for pattern, factor in ((_EMPTY, 0.1), (_POINTING, 0.6), (_DEPENDING, 0.6)):
        weight *= factor if pattern.match(text) else 1.0
    for pattern, factor in (
        (_SCENERY, 0.25),
        (_STORY, 0.6),
        (_WEIGHING, 0.35),
        (ASKS, 0.25),
        (JOKE, 0.3),
        (IRONY, 0.5),
    ):
        weight *= factor if pattern.search(low) else 1.0
    if not (_NORMATIVE.search(low) or _HARD.search(text)):
        weight *= 0.75
    for pattern, factor in ((_NORMATIVE, 1.25), (_CONCLUDING, 1.8)):
        weight *= factor if pattern.search(low) else 1.0
    weight *= 1.5 if begin and _ANYWAY.match(sentence) else 1.0
    return _Claim(text, weight, marked=marked, item=item)


def _announced(sentence: str) -> int:
    """Where what is announced begins, if a clause stands before the announcement: "long talk, so decided: we stay"."""
    for clause in islice(CLAUSE.finditer(sentence), 3):
        start = clause.end()
        if clause.group() in ",，" and (_MARKER.match(sentence, start) or _ANNOUNCES.match(sentence, start)):
            return start
    return 0


def _candidates(claims: Sequence[_Claim], counts: Mapping[str, int]) -> Iterator[tuple[float, str]]:
    """Every claim as a title, with how well it stands for the text."""
    before = 0
    prose = any(claim.weight > POOR and not claim.item for claim in claims)
    for claim, following in zip_longest(claims, claims[1:]):
        short = _with_what_holds_now(_fitted(claim.text), following)
        if any(map(str.isalnum, short)):
            tells = sum(weight * sqrt(counts.get(term, 1)) for term, weight in _telling(short).items())
            early = 1.0 if not before else 0.4 + 0.2 / before
            listed = claim.item and prose
            score = log1p(min(tells, ENOUGH)) * claim.weight * early * (0.3 if listed else 1.0)
            yield score + (10.0 / (1 + before) if claim.marked else 0.0), short
            before += claim.weight > POOR and not listed


def _telling(phrase: str) -> dict[str, float]:
    """The terms of a phrase, each with how much it tells by itself."""
    weights: dict[str, float] = {}
    for index, raw in enumerate(tokens(phrase)):
        if DENSE.match(raw):
            for inner in FUNCTION_WORDS.split(raw):
                weights |= {inner[at : at + 2]: 0.6 for at in range(len(inner) - 1)}
        else:
            weight = word_weight(raw) * (1.3 if index and raw[0].isupper() else 1.0)
            if weight:
                weights[raw.casefold()] = weight
    return weights


# --- what of it -------------------------------------------------------------------------------------------------------


def _fitted(text: str) -> str:
    """A claim in one short line: whole, or without its asides, or cut after a clause."""
    text = _OTHERWISE.sub("", SPACES.sub(" ", text).strip())
    limit = LIMIT_UNSPACED if unspaced(text) else LIMIT
    whole = text.rstrip(_TRAILING) or text
    if len(whole) <= limit:
        return whole
    whole = _BRACKETS.sub("", whole).strip() or whole
    if len(whole) <= limit:
        return whole
    label = whole.find(": ", 0, limit // 2 + 10) + 1 or whole.find("：", 0, limit // 2) + 1
    if label and len(whole) - label > limit // 2:
        return _fitted(whole[label:])
    return _with_condition(whole, limit) or _first_clauses(whole, limit)


def _first_clauses(text: str, limit: int) -> str:
    """As many clauses as fit, but none that ends in a negation; else as many words, with an ellipsis."""
    for cut in sorted(_boundaries(text, limit), reverse=True):
        kept = text[:cut].rstrip(_TRAILING + "-–—(（")
        if len(kept) >= limit // 3 and _balanced(kept) and not _breaks_off(kept):
            return kept
    short = shortened(text, limit)
    while short.endswith("…") and " " in short and _breaks_off(short[:-1]):
        short = short[:-1].rsplit(" ", 1)[0].rstrip(_TRAILING) + "…"
    return short


def _boundaries(text: str, limit: int) -> Iterator[int]:
    for pattern in (CLAUSE, _JOINING):
        for match in pattern.finditer(text, 0, limit + 1):
            if match.start() <= limit:
                yield match.start()


def _breaks_off(kept: str) -> bool:
    """Whether what is negated, or what a small word leads to, would stand behind the end."""
    last = kept[-4:] if DENSE.match(kept[-1:]) else kept.rsplit(" ", 1)[-1]
    return bool(_NEGATION.search(last.casefold())) or (not DENSE.match(kept[-1:]) and is_stop(last, guess(kept)))


def _with_condition(text: str, limit: int) -> str:
    """The first clauses; with the condition or negation that stands behind them, if it would be lost."""
    begun = _first_clauses(text, limit)
    end = len(begun.rstrip("…"))
    turn = _CONDITION.search(text, end) or (None if _NEGATION.search(begun) else _NEGATION.search(text, end))
    if turn is None or _CONDITION.search(begun):
        return begun
    start = turn.start()
    if not DENSE.match(turn.group()) and not _CONDITION.match(turn.group()):
        start = text.rfind(" ", 0, max(start - 1, 0)) + 1  # "is not allowed", with its verb
    if start - end < 3:
        return shortened(text, limit)
    rest = _first_clauses(text[start:], limit // 2)
    return f"{_first_clauses(text[:start], limit - len(rest) - 3).rstrip('…')} … {rest}"


def _with_what_holds_now(short: str, following: _Claim | None) -> str:
    """What no longer holds, together with what the next sentence says that holds now, if both fit."""
    if following is None or not _NO_LONGER.search(short) or not _NOW.match(following.text):
        return short
    limit = LIMIT_UNSPACED if unspaced(short) else LIMIT
    clause = CLAUSE.search(short)
    gone = short[: clause.start()] if clause else short
    now = _first_clauses(following.text.rstrip(_TRAILING), max(limit - len(gone) - 3, 2))
    return f"{gone} … {now}" if not now.endswith("…") and len(gone) + len(now) + 3 <= limit else short


def _balanced(phrase: str) -> bool:
    return all(phrase.count(left) == phrase.count(right) for left, right in ("()", "（）", "“”", "《》", "「」"))
