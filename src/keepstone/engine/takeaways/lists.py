"""Lists of what is to be done: "Action items: Bob fixes the login, Cara sends the invoice.", or a line for each.

Owns where such a list begins and ends and where an item of it does. An item is what was written; a comma parts two of
them only where somebody else, or something else to do, begins behind it.
"""

import re
from collections.abc import Sequence

from keepstone.engine.language import tables
from keepstone.engine.language.scripts import unspaced
from keepstone.engine.language.sentences import Line, lines, lowered, sentences
from keepstone.engine.language.stopwords import guess, is_stop

_TABLES = tables.load("takeaways")
# At the beginning of a line, and alone in it.
_LABEL = _TABLES.pattern("label")
_LIST = _TABLES.pattern("list_label")
_COLON = re.compile(r"[:：] ?")
# Spaces are single in a line.
_NUMBERED = re.compile(r"(?:^|(?<=[ ,;，；。]))[(（]?\d{1,2}[.)）、] ?(?=[^\d\s])")
_PARTED = re.compile(r"[;；] ?|(?:(?<!\d)[,，]|[,，](?!\d)) ?(?:(?:and|und|y) )?| (?:and|und|y) (?=[A-ZÄÖÜ@])")
_JOINED = re.compile(r",? (?:and|und|y)$")
# Who does it, and what: a name and a word that joins nothing.
_DOER = re.compile(
    r"@?[A-ZÄÖÜ][\w.-]{0,30}(?: [A-ZÄÖÜ][\w.-]{0,30})?:? (?!(?:and|or|und|oder|y|o|&)\b)[a-zäöü]\S{0,30} \S"
)
_FINITE = re.compile(r"\S{1,30} (?:[a-zäöü]{1,30}[st]|to|will|wird|muss) \S")
_DENSE_CLAUSE = re.compile(r"[^,，;；。]{4}")
_DO = _TABLES.pattern("does")
_ENDS = " .,;，；。"
_BEGINNING = 80  # characters of an item by which it is known


def items(plain: str, names: Sequence[str]) -> list[str]:
    """Each thing to be done that stands in a list with a label, in the order of the text; nothing else."""
    listed: list[str] = []
    open_list = False
    for line in lines(plain) if plain.strip() else ():
        low = lowered(line.text)
        if _LIST.fullmatch(low):
            open_list = True
        elif open_list and line.item:
            listed.append(line.text.strip())
        else:
            open_list = False
            if _LABEL.match(low):
                listed += _in_line(line, names)
    return listed


def _in_line(line: Line, names: Sequence[str]) -> list[str]:
    """What stands behind the label in its line, if it is more than one thing."""
    label = _COLON.search(line.text)
    rest = line.text[label.end() :] if label else ""
    numbered = [part for part in _NUMBERED.split(rest) if part.strip()]
    if len(numbered) > 1 and _NUMBERED.match(rest):
        return [part.strip(_ENDS) for part in numbered]
    parts: list[str] = []
    for sentence in sentences(rest):
        own = _parts(sentence, names)
        if parts and not (_begins(own[0], names) and _goes_on(sentence, names)):
            break
        parts += own
    return parts if len(parts) > 1 else []


def _parts(sentence: str, names: Sequence[str]) -> list[str]:
    """A sentence parted where an item begins; what begins none belongs to the one before."""
    ends: list[int] = []
    for mark in _PARTED.finditer(sentence):
        beginning = sentence[mark.end() : mark.end() + _BEGINNING]
        if beginning and (mark.group()[0] in ";；" or _begins(beginning, names)):
            ends += [mark.end()]
    pieces: list[str] = []
    begin = 0
    for end in [*ends, len(sentence)]:
        piece = _JOINED.sub("", sentence[begin:end].strip(_ENDS))
        if " " in piece or unspaced(piece):  # one word is somebody who does it with the next
            pieces.append(piece)
            begin = end
    return pieces or [sentence]


def _goes_on(sentence: str, names: Sequence[str]) -> bool:
    """Whether a sentence behind the first one still says who does what: every sentence begins with a capital."""
    first = sentence.split(maxsplit=1)[0]
    return _is_named(sentence, names) or bool(_FINITE.match(sentence) and not is_stop(first.lower(), guess(sentence)))


def _begins(text: str, names: Sequence[str]) -> bool:
    if _is_named(text, names):
        return True
    if unspaced(text):
        return _DENSE_CLAUSE.match(text) is not None
    return bool(_DOER.match(text) or _DO.match(lowered(text)))


def _is_named(text: str, names: Sequence[str]) -> bool:
    low = lowered(text.lstrip("@"))
    return any(low.startswith(lowered(name)) for name in names if name)
