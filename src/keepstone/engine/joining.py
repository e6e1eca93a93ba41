"""Several texts as one that says each thing once: what the first has not said is added to it, in the words and the
order of the others.

What is the same is `dedup`'s to know. Code is added whole or not at all.
"""

from collections.abc import Iterator, Sequence

from keepstone.engine.dedup import SaidAlready
from keepstone.engine.language.sentences import FENCE, LEAD, has_words, sentences, unmarked

SEPARATOR = "\n\n---\n\n"


def joined(first: str, others: Sequence[str]) -> str:
    """What all of them say, between rules."""
    said, whole = SaidAlready(_statements(first)), first
    for other in others:
        if other.strip() in whole:
            continue
        new = "".join(_new_pieces(other, said, whole)).strip("\n")
        if new.strip() and (has_words(new) or not has_words(other)):
            whole += SEPARATOR + new
            said.add(_statements(new))
    return whole


def _new_pieces(text: str, said: SaidAlready, whole: str) -> Iterator[str]:
    """The text without what was said already, line by line."""
    place = 0
    for fence in FENCE.finditer(text):
        yield from _new_lines(text[place : fence.start()], said)
        if fence.group().strip() not in whole:
            yield fence.group()
        place = fence.end()
    yield from _new_lines(text[place:], said)


def _new_lines(text: str, said: SaidAlready) -> Iterator[str]:
    """An empty line stays where something stands between it and the one before."""
    empty = False
    for line in text.splitlines(keepends=True):
        if not line.strip():
            if not empty:
                yield line
            empty = True
            continue
        left = _new_of(line, said)
        if left:
            yield left
            empty = False


def _new_of(line: str, said: SaidAlready) -> str:
    """What of a line is new; as it stands, where all of it is."""
    pieces = sentences(line.strip())
    new = [piece for piece in pieces if not has_words(piece) or not said.says(unmarked(piece))]
    if len(new) == len(pieces):
        return line
    if not any(map(has_words, new)):
        return ""
    lead = LEAD.match(line)
    before = lead.group() if lead and not new[0].startswith(lead.group().strip()) else ""
    return before + " ".join(new) + ("\n" if line.endswith("\n") else "")


def _statements(text: str) -> Iterator[str]:
    for line in FENCE.sub("\n", text).splitlines():
        yield from map(unmarked, sentences(line.strip()))
