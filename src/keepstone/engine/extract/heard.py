"""What a learned judge hears in what somebody said: which sentences it is asked about, and which of them are kept.

Owns from where on the judge is sure enough, and what a kept sentence takes along: the one before it where it leans on
that. It must not reword. Questions, errands, play, code and quotations are known by rules, whatever the judge says of
them; where words speak of a joke, a doubt or the moment it has to be surer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from keepstone.engine.extract import passed_over
from keepstone.engine.extract.turn import SENTENCE, joined, own_sentences, unmasked
from keepstone.engine.language.doubt import ASKS, JOKE, SUPPOSED, TENTATIVE
from keepstone.engine.language.sentences import lowered

Worth = Mapping[str, float]
"""How likely each text is worth keeping."""

# How sure the judge has to be of a sentence: with a number or a name in it, without, and where words speak against it.
LIKELY = 0.6
SURE = 0.85
SURER = 0.9
NEVER = 2.0
# A message of which the judge says as much is about something else than what stands in it.
HOPELESS = 0.05
_ENDS = " ,;-–—"


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence that may be kept, as `text`: with the one before it where it leans on that."""

    sentence: str
    text: str
    leans: bool
    bar: float


def heard(text: str, worth: Worth, *, least: float = 0.0) -> list[Passage]:
    """What is worth keeping of a text, in its order. `worth` is of what is `read_for` it."""
    if worth.get(text, 1.0) < HOPELESS:
        return []
    kept: list[Passage] = []
    for passage in passages(text):
        if worth.get(passage.sentence, 0.0) >= max(passage.bar, least):
            if passage.leans and kept and passage.text.startswith(kept[-1].text):
                kept.pop()
            kept.append(passage)
    return kept


def passages(text: str) -> Iterator[Passage]:
    """The sentences of a text that are its sender's own and assert something."""
    own, quotations = own_sentences(text)
    before, asked = "", False
    for raw in own:
        if len(raw) > SENTENCE:
            before = ""
            continue
        said = _asserted(raw)
        leans = bool(before and passed_over.LEANS.match(lowered(raw)))
        whole = joined(before, said) if said and leans else said or raw
        # What leans on a question is read with it: alone it says more than was meant.
        own_words, content = unmasked(said, quotations), unmasked(whole, quotations)
        sentence = content if leans and asked else own_words
        before, asked = whole if len(whole) <= SENTENCE else raw, not said
        if said and 2 * (len(own_words) - len(said)) <= len(own_words):
            yield Passage(sentence, content, leans, _bar(said))


def read_for(text: str) -> list[str]:
    """What a judge has to read of a text: its sentences, and if they are not all of it the whole."""
    sentences = [passage.sentence for passage in passages(text)]
    return [text, *sentences] if sentences and sentences != [text] else sentences


def _asserted(raw: str) -> str:
    """A sentence without the question at its end; nothing where it is one, or an errand."""
    low = lowered(raw)
    asked = ASKS.search(low)
    tail = passed_over.TAIL.search(low, 4) if asked else None
    if (asked and tail is None) or passed_over.ASKING.match(low) or passed_over.REQUEST.match(low):
        return ""
    return raw[: tail.start()].rstrip(_ENDS) if tail else raw


def _bar(said: str) -> float:
    """How sure the judge has to be of a sentence. One that may be meant otherwise has to be exact, at least."""
    low = lowered(said)
    exact = passed_over.SOLID.search(low) or passed_over.NAMED.search(said)
    supposed = SUPPOSED.search(low)
    if any(pattern.search(low) for pattern in (JOKE, TENTATIVE, passed_over.PASSING)) or (
        supposed is not None and supposed.start() < len(low) // 2
    ):
        return SURER if exact else NEVER
    return LIKELY if exact else SURE
