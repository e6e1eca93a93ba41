"""Whom a turn speaks of: in talk, "I" is its speaker, "you" is another, and a name is who bears it.

The words of a question about the wrong person ("Which instrument does Anna play?", where Ben plays the cello) are found
in turns that would answer it well of somebody else. So what speaks of the person is set against what speaks of others.
It tells nothing, and says so, where nobody who talks is named, or everybody.
"""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keepstone.engine.language.tables import load
from keepstone.engine.rank import NAME

Floats = npt.NDArray[np.float64]

SPEAKER = 1 / 3  # how far a turn is about whoever says it, whatever it says
NAMED = 0.6  # how far a turn is about a person whom another speaks of by name
_TABLES = load("about")
_PERSON_OF = {word: person for person in ("speaker", "addressed", "others") for word in _TABLES.words(person)}
_CALLS = frozenset(_TABLES.words("calls"))
_WORD = re.compile(r"[\w']+")
LONGEST_CALL = 12


def balance(turns: Sequence[tuple[str | None, str]], about: frozenset[str], matched: Floats) -> float | None:
    """How much better a question about these people is matched by what speaks of them than by what speaks of another.

    `turns` are speakers and texts, `matched` how well each has what is asked for, the names left aside.
    """
    place_of = {speaker: place for place, speaker in enumerate(dict.fromkeys(speaker for speaker, _ in turns))}
    others = [place for speaker, place in place_of.items() if speaker not in about]
    if not others or len(others) == len(place_of):
        return None
    speaker = np.array([place_of[speaker] for speaker, _ in turns])
    of_speaker = np.array([_of_speaker(text) for _, text in turns], dtype=np.float64)
    own = SPEAKER + (1.0 - SPEAKER) * of_speaker
    addressed = (1.0 - SPEAKER) * (1.0 - of_speaker) / (len(place_of) - 1)
    meant = len(place_of) - len(others)
    share = np.where(np.isin(speaker, others), addressed * meant, own)
    called = [first.group() for name in about if (first := NAME.search(name))]
    named = [any(name in text and _speaks_of(text, name) for name in called) for _, text in turns]
    share = np.where(named, np.maximum(share, NAMED), share)
    # What each of the others says is about them, and the rest is said to them.
    of_others = np.where(speaker == np.array(others)[:, None], own, addressed)
    return float((matched * share).max() - (matched * of_others).max())


def without_names(
    question: str, spans: Sequence[tuple[int, int]], weights: Sequence[float], about: frozenset[str]
) -> list[float]:
    """The weights of a question's words, 0 for those that name these people; Mel is Melanie."""
    parts = {part.casefold() for name in about for part in NAME.findall(name)}

    def names(start: int, end: int) -> bool:
        word = question[start:end].casefold()
        return word in parts or (len(word) > 2 and any(part.startswith(word) for part in parts))

    return [0.0 if names(*span) else weight for span, weight in zip(spans, weights, strict=True)]


def _of_speaker(text: str) -> float:
    """How far a turn is about whoever says it, rather than about whom it is said to."""
    said = list(filter(None, map(_PERSON_OF.get, _WORD.findall(text.lower().replace("’", "'")))))
    return (said.count("speaker") + said.count("others") / 2 + 0.5) / (len(said) + 1)


def _speaks_of(text: str, name: str) -> bool:
    """Whether somebody is named in a sentence that goes on: "Anna plays", "Anna's cello". "Hey Anna" calls her."""
    for match in re.finditer(rf"\b{re.escape(name)}(?:['’]s\b|\s[^\W\d_A-Z])", text):
        before = NAME.findall(text[max(match.start() - LONGEST_CALL, 0) : match.start()])
        if not before or before[-1].casefold() not in _CALLS:
            return True
    return False
