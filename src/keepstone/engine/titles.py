"""Titles: what a text is called, from the words of the text itself.

Owns which sentence stands for a text. It must not invent: a title stands in the text as it was written, but for
markdown. The same text gives the same title at every time; the only thing known of other texts is which words are
common. A language model gives a better title, and is never needed for one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from keepstone.engine.ask_model import DATA_ONLY, refuses
from keepstone.engine.keyphrases import READ, word_weight
from keepstone.engine.language.scripts import DENSE, tokens, unspaced
from keepstone.engine.language.sentences import CLAUSE, lines, sentences, shortened
from keepstone.engine.language.stopwords import FUNCTION_WORDS
from keepstone.engine.language.tables import load
from keepstone.engine.quotation import quote_as
from keepstone.providers.llm import LanguageModel

LIMIT = 80
LIMIT_UNSPACED = 30
MOST_SENTENCES = 60
_TABLES = load("titles")
_EMPTY, _GENERIC, _OPENING, _POINTING, _LABEL, _PREAMBLE = (
    _TABLES.pattern(table) for table in ("empty", "generic", "opening", "pointing", "label", "preamble")
)
_SYSTEM = (
    f"You name notes. {DATA_ONLY} Reply with a title for the note in its language, at most 60 characters, specific, "
    "with names and numbers where they matter. Only the title, on one line."
)
_QUOTES = "\"'“”‘’«»„「」『』《》*_` "


def title(text: str) -> str:
    """What a text is called: its heading, or its most telling sentence, in one short line. Empty only for nothing."""
    plain = lines(text[:READ])
    for place, line in enumerate(plain[:2]):
        # Below a line such as "Sure, here it is:" only a heading proper names the whole.
        named = line.heading == "marked" or (line.heading == "bold" and place == 0)
        if named and not _GENERIC.fullmatch(line.text) and any(map(str.isalnum, line.text)):
            return _short(line.text)
    body = [(sentence, line.item) for line in plain if not line.heading for sentence in sentences(line.text)]
    counts = Counter(term for sentence, _ in body[:MOST_SENTENCES] for term in _telling(sentence))
    best = max(_candidates(body[:MOST_SENTENCES], counts), key=lambda pair: pair[0], default=(0.0, ""))[1]
    return best or _short(next((line.text for line in plain), "")) or _short(text)


async def title_by_model(model: LanguageModel, text: str) -> str:
    """A title from the language model; the text's own where the model's is none."""
    said = (await model.complete(system=_SYSTEM, prompt=quote_as("note", text[:READ]), max_tokens=60)).text
    first = next((line for line in said.splitlines() if line.strip(_QUOTES)), "")
    made = " ".join(_LABEL.sub("", first).split()).lstrip(_QUOTES + "#").rstrip(_QUOTES + ".。")
    if not any(map(str.isalnum, made)) or len(made) > 2 * LIMIT or refuses(made) or _PREAMBLE.match(made):
        return title(text)
    return shortened(made, LIMIT_UNSPACED if unspaced(made) else LIMIT)


def _short(text: str) -> str:
    short = shortened(text, LIMIT_UNSPACED if unspaced(text) else LIMIT)
    return short.rstrip(" .。:：,，;；、") or short


def _candidates(body: Sequence[tuple[str, bool]], counts: Mapping[str, int]) -> Iterator[tuple[float, str]]:
    """Every sentence as a title, and the clauses of one that is too long; with how much it tells."""
    for place, (sentence, item) in enumerate(body):
        opening = _OPENING.match(sentence)
        begin = opening.end() if opening and opening.end() < len(sentence) else 0
        starts = [begin]
        if len(sentence) - begin > LIMIT_UNSPACED:
            ends = (clause.end() for clause in CLAUSE.finditer(sentence, begin))
            starts += islice((end for end in ends if end < len(sentence) - 10), 5)
        for start in starts:
            short = _short(sentence[start:])
            if any(map(str.isalnum, short)) and _balanced(short):
                early = 1 / (1 + 0.2 * place) if place else 1.3
                worse = (0.4 if _EMPTY.match(sentence) else 1) * (0.75 if start > begin else 1)
                worse *= (0.5 if item else 1) * (0.6 if _POINTING.match(short) else 1)
                tells = sum(weight * counts.get(term, 1) for term, weight in _telling(short).items())
                yield tells * early * worse * (0.9 if short.endswith("…") else 1), short


def _balanced(phrase: str) -> bool:
    return all(phrase.count(left) == phrase.count(right) for left, right in ("()", "（）", "“”", "《》", "「」"))


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
