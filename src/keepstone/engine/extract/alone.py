"""Whether a text that somebody handed over alone says anything at all.

Owns where that line goes. It does not judge what is worth keeping: whoever hands over one text, and no conversation
around it, has judged that, and an extraction that finds nothing in it is wrong. So "Vegetarian", "Name: Alice" and
"Call Anna on Sundays" say something. What only asks or greets does not: a sentence says nothing when it is a question
or wants a text written now, or when nothing is left of it without greetings, thanks and small words. In doubt it says
something: what was kept in vain can be deleted, and what was lost is gone.
"""

from keepstone.engine.cues import CHATTER, GREETING, SMALL_TALK
from keepstone.engine.extract import passed_over
from keepstone.engine.injection import is_chatter
from keepstone.engine.language.doubt import ASKS
from keepstone.engine.language.sentences import has_words, lines, lowered, sentences
from keepstone.engine.segments import telling_words

_READ = 2_000  # characters: nobody greets longer, and who asks for longer says something by the way


def says_something(text: str) -> bool:
    if len(text) > _READ:
        return has_words(text)
    spoken = (sentence for line in lines(text) for sentence in sentences(line.text))
    return any(has_words(sentence) and not _asks(sentence) and not _greets(sentence) for sentence in spoken)


def _asks(sentence: str) -> bool:
    low = lowered(sentence)
    return bool(ASKS.search(low) or passed_over.OUTRIGHT.match(low) or passed_over.WANTED_ONCE.match(low))


def _greets(sentence: str) -> bool:
    low = lowered(sentence)
    if CHATTER.fullmatch(low) or is_chatter(sentence):
        return True
    rest = GREETING.sub(" ", SMALL_TALK.sub(" ", low))
    return rest != low and not telling_words(rest)
