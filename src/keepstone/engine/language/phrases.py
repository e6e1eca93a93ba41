r"""Phrases: what people say, as it is written in the rule tables, made into regular expressions.

Owns the little language of those tables. A phrase is written in small letters, as it is said, with a few marks:

    (my|our) mind        one of these
    not [a ]bit          perhaps this; "[s|es]" is perhaps one of these, "[very ]*" perhaps more than once
    haha*                and whatever letters follow; "+": at least one
    will_                a word begins or ends here
    ^so                  nothing but marks before it; "$": nothing but marks after it
    #                    a digit
    would!( rather)      but not before this
    <unit> ago           any phrase of the table of that name
    like <3…20> better   anything of 3 to 20 characters; "<…>" is anything
    ~ing                 the word may begin earlier; "allerg~": it may go on
    (what: tea|coffee)   one of these, which is then known as "what"
    {[a-f]+}             a regular expression, for what can't be said otherwise
    \*                   the mark itself

A phrase begins and ends where words do, in a language that is written with spaces.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

_TOKEN = re.compile(
    r"\\(?P<literal>.)|<(?P<least>\d*)…(?P<most>\d*)>|<(?P<table>\w+)>|\((?P<part>[a-z]+): |"
    r"(?P<mark>[!&]\(|[()\[\]|*+#_^$])|\{(?P<raw>(?:[^{}]|\{[\d,]*\})*)\}|(?P<letter>.)",
    re.DOTALL,
)
_MARKS = {"*": r"\w*", "+": r"\w+", "#": r"\d", "_": r"\b", "^": r"^\W*", "$": r"\W*$"}
# Where it is said otherwise, or where no word can begin or end.
_OPEN = re.compile(r"[~^ ]|<\d*…")
_OPEN_ENDED = re.compile(r"(?:[~$ ]|…\d*>)$")
# More needles than these are not looked for: to try the phrase is quicker.
_NEEDLES = 24


# How often at most something is repeated in a rule, by what it is: anything, or a group, or a kind of letter. No phrase
# is longer, and where every repetition ends somewhere, the work on a text grows as the text does and no faster.
_ANYTHING, _GROUPS, _ALIKE = 400, 20, 80
_REPEATED = re.compile(
    r"(?P<anything>\.|\\S|\[\^?\]?(?:\\.|[^\]\\]){0,400}\])|(?P<group>\))|(?:(?P<mark>[*+])|\{(?P<least>\d*),\})(?P<manner>[?+]?)"
    r"|\\.|\(\?(?:<?[=!]|[:>]|P<\w+>)|[?}][?+]?|.",
    re.DOTALL,
)


class Unreadable(ValueError):
    """A phrase that is not written as phrases are; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A regular expression. One of the needles is in whatever it matches; without any, nothing is known of it.

    `begins` and `ends` say whether a word has to begin and to end with it.
    """

    source: str
    needles: tuple[str, ...]
    begins: bool = True
    ends: bool = True


def read(written: str, named: Callable[[str], Phrase], *, space: str = " ") -> Phrase:
    """The phrase that is written; `named` gives what stands for a table."""
    reader = _Reader(written.removeprefix("~").removesuffix("~"), named, space)
    return replace(reader.everything(), begins=not _OPEN.match(written), ends=not _OPEN_ENDED.search(written))


def bounded(source: str) -> str:
    """The same regular expression, in which nothing is repeated without end."""
    parts: list[str] = []
    most = _ALIKE
    for token in _REPEATED.finditer(source):
        if token["mark"] or token["least"] is not None:
            least = int(token["mark"] == "+") if token["mark"] else int(token["least"] or 0)
            parts.append(f"{{{least},{most}}}{token['manner']}")
        else:
            parts.append(token.group())
            most = _ANYTHING if token["anything"] else _GROUPS if token["group"] else _ALIKE
    return "".join(parts)


def either(given: Sequence[Phrase]) -> Phrase:
    """Any of these."""
    sure = all(phrase.needles for phrase in given)
    known = {needle for phrase in given if sure for needle in phrase.needles}
    # Where a longer one is, a shorter one that it holds is too.
    needles = tuple(sorted(needle for needle in known if not any(other in needle for other in known - {needle})))
    return Phrase("|".join(phrase.source for phrase in given), needles if len(needles) <= _NEEDLES else ())


class _Reader:
    """Goes through a phrase from left to right."""

    def __init__(self, written: str, named: Callable[[str], Phrase], space: str) -> None:
        self._tokens = list(_TOKEN.finditer(written))
        self._place = 0
        self._named = named
        self._space = space

    def everything(self) -> Phrase:
        phrase = self._alternatives("")
        if self._place < len(self._tokens):
            raise Unreadable(f'a "{self._tokens[self._place].group()}" too many')
        return phrase

    def _alternatives(self, closing: str) -> Phrase:
        """What stands up to a closing bracket."""
        given = [self._sequence()]
        while self._mark() == "|":
            self._place += 1
            given.append(self._sequence())
        if self._mark() != closing:
            raise Unreadable(f'a "{closing or self._mark()}" is missing or too many')
        self._place += bool(closing)
        return either(given)

    def _mark(self) -> str:
        return (self._tokens[self._place]["mark"] or "") if self._place < len(self._tokens) else ""

    def _sequence(self) -> Phrase:
        """What is said one after the other. Of the needles of its parts those are taken that are rarest."""
        sources: list[str] = []
        offers: list[tuple[str, ...]] = []
        run = ""
        while self._place < len(self._tokens) and self._mark() not in {"|", ")", "]"}:
            token = self._tokens[self._place]
            self._place += 1
            letter = token["literal"] or token["letter"]
            if letter:
                sources.append(self._space if letter == " " else re.escape(letter))
                run += letter
                if letter != " " or self._space == " ":
                    continue
                run = run[:-1]
            part = Phrase("", ()) if letter else self._part(token)
            sources.append(part.source)
            if token["mark"] not in {"!(", "&(", "_"}:
                offers += [(run,), part.needles]
                run = ""
        offers.append((run,))
        best = max((offer for offer in offers if all(offer)), key=_rarity, default=())
        return Phrase("".join(sources), best)

    def _part(self, token: re.Match[str]) -> Phrase:
        if token["table"]:
            named = self._named(token["table"])
            return Phrase(f"(?:{named.source})", named.needles)
        if token["part"] or token["mark"] == "(":
            within = self._alternatives(")")
            name = f"P<{token['part']}>" if token["part"] else ":"
            return Phrase(f"(?{name}{within.source})", within.needles)
        source = _MARKS.get(token["mark"] or "")
        if source is None and token["mark"] == "[":
            within = self._alternatives("]")
            again = self._mark() == "*"
            self._place += again
            source = f"(?:{within.source}){'*' if again else '?'}"
        elif source is None and token["mark"]:
            source = f"(?{'!' if token['mark'] == '!(' else '='}{self._alternatives(')').source})"
        elif source is None:
            source = token["raw"] if token["raw"] is not None else f".{{{token['least'] or 0},{token['most']}}}"
        return Phrase(source, ())


def _rarity(needles: Sequence[str]) -> float:
    """Long needles are found in few texts, and few are quickly looked for."""
    return min((len(needle.strip()) for needle in needles), default=-100) - 0.15 * len(needles)
