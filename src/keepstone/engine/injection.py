"""What of a workspace stands before a turn, and how it is put to the model.

Two things are told apart. What the user wishes of every answer is theirs to ask, and the model is told to follow it;
everything else is quoted as data. Choosing is one function of what is known of each memory: how relevant the search
finds it, whether it is a standing wish, and how likely a learned judge finds that it is wanted, where there is one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from keepstone.engine.cues import CHATTER
from keepstone.engine.dates import day, zone_note
from keepstone.engine.language.scripts import tokens as words
from keepstone.engine.language.sentences import lowered
from keepstone.engine.language.stopwords import guess, is_stop
from keepstone.engine.quotation import one_line, own_words, quote, quote_wishes
from keepstone.engine.standing import StandingWish
from keepstone.providers.tokenizer import estimate as tokens

MOST_RECALLED, MOST_WISHES = 8, 12
FEW = 60  # memories of a workspace up to which each of them is looked at
# The relevance that is needed at least where there are more. Of few memories each is far more likely to be wanted than
# one of thousands that is found as well.
MANY_NEED = 0.15
LEAST = 0.02  # of many memories, what is found with less relevance is not looked at
# Of many memories a judge reads so many, and only where relevance alone does not decide: the turn waits for it. If it
# reads all that was found, a turn gets a little more of what it needs, and far more that it does not.
READ_OF_MANY = 1
_DOUBTFUL, _SURE = 0.1, 0.25
WISH_NEEDS = 0.3  # of the relevance that is needed, for a wish that is for some turns and may be for this one
# How much what the search finds counts beside a judge, and where both together are as much as relevance alone.
_SEARCH, _SHIFT = 0.5, 0.2
_DOUBT = 1e-4  # nothing is surer than that
WISHES_SHARE = 0.5  # of the tokens, at most

_FOLLOW = (
    "# The user's standing wishes\n"
    "The user has asked for these before. Follow them in your answer, unless they say otherwise in this conversation."
)
_LATER = " Where two disagree, the later one holds."


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionCandidate:
    """A memory that may stand before a turn. `wish` is None unless it is the user's own; `wanted` where nobody judged.
    `at` is when it was said so.
    """

    text: str
    at: datetime
    category: str | None = None
    relevance: float = 0.0
    wish: StandingWish | None = None
    wanted: float | None = None

    @property
    def worth(self) -> float:
        """How relevant it is, by all that is known: neither words nor a judge see everything."""
        if self.wanted is None:
            return self.relevance
        return 1 / (1 + math.exp(-_log_odds(self.wanted) - _SEARCH * _log_odds(self.relevance) - _SHIFT))


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedBlock:
    """`wishes` and `recalled` are the places of what is in the `text` among the candidates, `lines` the line of each
    of them.
    """

    text: str = ""
    wishes: tuple[int, ...] = ()
    recalled: tuple[int, ...] = ()
    lines: Mapping[int, str] = field(default_factory=dict[int, str])


def in_doubt(turn: str, candidates: Sequence[InjectionCandidate], *, few: bool) -> list[int]:
    """The places of those that a judge has to read before it is chosen: not of wishes that hold for the turn anyway."""
    if is_chatter(turn):
        return []
    undecided = [
        place
        for place, candidate in enumerate(candidates)
        if candidate.wish is None or not candidate.wish.applies_to(turn)
    ]
    if few:
        return undecided
    doubtful = [place for place in undecided if _DOUBTFUL <= candidates[place].relevance < _SURE]
    return sorted(doubtful, key=lambda place: -candidates[place].relevance)[:READ_OF_MANY]


def choose(
    turn: str, candidates: Sequence[InjectionCandidate], *, floor: float, few: bool
) -> tuple[list[int], list[int]]:
    """The places of the wishes that hold for this turn, the newest first, and of what it needs to know, the most
    wanted first. `floor` is the relevance that is needed; `few`: these are all memories that there are.
    """
    wishes = [
        place
        for place, candidate in enumerate(candidates)
        if candidate.wish is not None and (candidate.wish.applies_to(turn) or candidate.worth >= WISH_NEEDS * floor)
    ]
    wishes.sort(key=lambda place: candidates[place].at, reverse=True)
    needed = floor if few else max(floor, MANY_NEED)
    recalled = [
        place
        for place, candidate in enumerate([] if is_chatter(turn) else candidates)
        if candidate.wish is None and candidate.worth >= needed
    ]
    recalled.sort(key=lambda place: candidates[place].worth, reverse=True)
    return wishes[:MOST_WISHES], recalled[:MOST_RECALLED]


def put(
    candidates: Sequence[InjectionCandidate], wishes: Sequence[int], recalled: Sequence[int], *, max_tokens: int,
    zone: ZoneInfo,
) -> InjectedBlock:  # fmt: skip
    """As many of those as fit, in the order given; nothing where nothing fits."""
    for_wishes = int(WISHES_SHARE * max_tokens) if recalled else max_tokens
    kept_wishes, spent = _fitting(candidates, wishes, for_wishes - _COMMANDING, zone)
    spent += _COMMANDING if kept_wishes else 0
    kept, _ = _fitting(candidates, recalled, max_tokens - spent - _QUOTING, zone)
    parts: list[str] = []
    lines: dict[int, str] = {}
    if kept_wishes:
        in_time = sorted(kept_wishes, key=lambda place: candidates[place].at)
        lines = {place: _line(candidates[place], zone) for place in in_time}
        head = f"{_FOLLOW}{_LATER if len(lines) > 1 else ''} {zone_note(zone)}"
        parts.append(quote_wishes("\n".join([head, *lines.values()])))
    if kept:
        newest = max(kept, key=lambda place: candidates[place].at) if len(kept) > 1 else None
        recalled_lines = {place: _line(candidates[place], zone, newest=place == newest) for place in kept}
        parts.append(quote("\n".join([zone_note(zone), *recalled_lines.values()])))
        lines |= recalled_lines
    return InjectedBlock(text="\n\n".join(parts), wishes=tuple(kept_wishes), recalled=tuple(kept), lines=lines)


def is_chatter(turn: str) -> bool:
    """Whether a turn is about nothing: a greeting, thanks, and no more than small words beside."""
    rest, number = CHATTER.subn(" ", lowered(turn))
    if not number:
        return False
    language = guess(turn)
    return all(is_stop(word, language) for word in words(rest))


def _log_odds(chance: float) -> float:
    sure = min(max(chance, _DOUBT), 1 - _DOUBT)
    return math.log(sure / (1 - sure))


def _fitting(
    candidates: Sequence[InjectionCandidate], places: Sequence[int], room: int, zone: ZoneInfo
) -> tuple[list[int], int]:
    """Those that there is room for together, and what they take."""
    kept: list[int] = []
    spent = 0
    for place in places:
        cost = tokens(_line(candidates[place], zone, newest=True)) + 1
        if spent + cost <= room:
            kept.append(place)
            spent += cost
    return kept, spent


def _line(candidate: InjectionCandidate, zone: ZoneInfo, *, newest: bool = False) -> str:
    label = [f"kept {day(candidate.at, zone)}"]
    label += [one_line(candidate.category)] if candidate.category else []
    label += ["the newest"] if newest else []
    return f"- [{', '.join(label)}] {one_line(own_words(candidate.text))}"


_LONGEST_ZONE = zone_note(ZoneInfo("America/Argentina/Buenos_Aires"))
_COMMANDING = tokens(quote_wishes(f"{_FOLLOW}{_LATER} {_LONGEST_ZONE}"))  # what it costs beside its lines
_QUOTING = tokens(quote(_LONGEST_ZONE))
