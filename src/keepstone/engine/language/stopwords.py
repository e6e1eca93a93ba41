"""Stop words and others that tell little, and the language that they betray.

Owns the lists of `rules/stopwords.toml` and the guess of a text's language.
"""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain, islice

from keepstone.engine.language.scripts import language_of_script, tokens
from keepstone.engine.language.tables import load


def _lists(table: str) -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in load("stopwords").data[table].items()}


STOP_WORDS = _lists("stop_words")
# Common in any conversation, and so telling little of one.
COMMON = frozenset[str]().union(*_lists("common").values())
# What stands between the words of a text without spaces; it is parted at the longer ones first.
FUNCTION_WORDS = re.compile("|".join(sorted(_lists("function_words")["zh"], key=lambda word: (-len(word), word))))
# Nothing is said by one of these where all other words are the same.
FILLERS = frozenset[str]().union(*_lists("fillers").values())
# The languages with a list: all are written in Latin letters.
LATIN_LANGUAGES = frozenset(STOP_WORDS)
# How many words the language is guessed from: enough to be sure, few enough to cost nothing in a long document.
_SAMPLE = 200
_LANGUAGES_OF = {
    word: tuple(language for language, words in STOP_WORDS.items() if word in words)
    for word in chain.from_iterable(STOP_WORDS.values())
}


def is_stop(word: str, language: str = "en") -> bool:
    """Whether a word is too common to tell one text from another."""
    return word.replace("’", "'").casefold() in STOP_WORDS.get(language, STOP_WORDS["en"])


def guess(text: str) -> str:
    """The language of a text, two letters. Of the Latin ones English unless another's small words outnumber its."""
    return guess_from(tokens(text[: _SAMPLE * 20]))


def guess_from(words: Iterable[str]) -> str:
    """The same for a text that is cut into its tokens."""
    counts: Counter[str] = Counter()
    sample = list(islice(words, _SAMPLE))
    if "".join(sample).isascii():
        counts.update(chain.from_iterable(filter(None, map(_LANGUAGES_OF.get, map(str.lower, sample)))))
    else:
        for word in sample:
            language = None if word.isascii() else language_of_script(word)
            # A run of characters without spaces is many words.
            counts.update({language: 2 + len(word) // 2} if language else _LANGUAGES_OF.get(word.lower(), ()))
    if not counts:
        return "en"
    best = max(counts, key=counts.__getitem__)
    if best in LATIN_LANGUAGES and (counts[best] < 2 or counts[best] <= counts.get("en", 0)):
        return "en"
    if best in {"zh", "ja"}:
        # Japanese is written with Han as well; Chinese never with kana.
        return "ja" if "ja" in counts else "zh"
    return best
