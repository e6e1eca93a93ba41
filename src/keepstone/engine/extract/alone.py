"""What a text says that somebody handed over alone, and that was not read out of it.

Owns where that line goes. It does not judge what is worth keeping: whoever hands over a text, and no conversation
around it, has judged that, and an extraction that passes over some of it is wrong. So "Vegetarian", "Name: Alice" and
"Call Anna on Sundays" say something. What only asks or greets does not: a sentence says nothing when it is a question
or wants a text written now, or when nothing is left of it without greetings, thanks and small words. In doubt it says
something: what was kept in vain can be deleted, and what was lost is gone.
"""

from collections.abc import Sequence

from keepstone.engine.cues import CHATTER, GREETING, SMALL_TALK
from keepstone.engine.extract import passed_over
from keepstone.engine.injection import is_chatter
from keepstone.engine.language.doubt import ASKS
from keepstone.engine.language.sentences import has_words, lines, lowered, sentences
from keepstone.engine.rank import normalised
from keepstone.engine.segments import telling_words

_NOTE = 400  # characters: of what is longer, that is kept which was read out of it, or else the whole


def left_over(text: str, read: Sequence[str]) -> list[str]:
    """What it says beside what was read out of it: word for word, neighbouring sentences together."""
    if len(text) > _NOTE:
        return [] if read or not has_words(text) else [text.strip()]
    spoken = [sentence for line in lines(text) for sentence in sentences(line.text)]
    parts: list[str] = []
    start, place = 0, 0
    begun = False
    for number, sentence in enumerate(spoken):
        found = text.find(sentence, place)
        at = max(found, place)  # one with marks within stands behind the one before it
        wanted = says_something(sentence) and not _is_in(sentence, read)
        if wanted and not begun:
            start = at if number else 0
        if begun and not wanted:
            parts.append(text[start:at])
        begun, place = wanted, at if found < 0 else at + len(sentence)
    return [part.strip() for part in [*parts, *([text[start:]] if begun else [])]]


def says_something(sentence: str) -> bool:
    return has_words(sentence) and not _asks(sentence) and not _greets(sentence)


def _is_in(sentence: str, read: Sequence[str]) -> bool:
    plain = f" {normalised(sentence)} "
    known = (f" {normalised(content)} " for content in read)
    return any(plain in other or other in plain for other in known)


def _asks(sentence: str) -> bool:
    low = lowered(sentence)
    return bool(ASKS.search(low) or passed_over.OUTRIGHT.match(low) or passed_over.WANTED_ONCE.match(low))


def _greets(sentence: str) -> bool:
    low = lowered(sentence)
    if CHATTER.fullmatch(low) or is_chatter(sentence):
        return True
    rest = GREETING.sub(" ", SMALL_TALK.sub(" ", low))
    return rest != low and not telling_words(rest)
