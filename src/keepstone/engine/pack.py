"""Packing: evidence to a context that can be put into a prompt, under a budget of tokens.

It is quoted data: nothing in it is an instruction, and it is marked, so that it is never taken in again as something
that somebody said.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from keepstone.engine.dates import day, labelled_day, zone_note
from keepstone.engine.quotation import one_line, own_words, quote
from keepstone.engine.terms import terms
from keepstone.providers.tokenizer import estimate as tokens

_QUOTING = tokens(quote(""))  # what a quotation costs beside its lines
_FACTS_EACH = 8
_ROOM_FOR_NOTE = 100  # tokens: in less, what was said is worth more than whose its dates are
_SPEAKS_FOR_ITSELF = 160  # characters
_FEW_TERMS = 4
_REFERS = re.compile(
    r"^\W*+(?:(?:yes|yeah|yep|yup|no|nope|nah|sure|ok|okay|right|exactly|true|same|agreed|definitely|absolutely"
    r"|of course|it|it's|that|that's|this|those|these|they|he|she|so do|me too|me neither|ja|nein|genau|doch|stimmt|das"
    r"|oui|non|sí)\b|是|对|不|好|嗯|没错|可以|他|她|它|这|那)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A turn that was found. `excerpt` stands for a long one in a prompt; `before` is the turn that it can't be
    understood without; `order` is that of the talk.
    """

    message_id: str
    id: str | None
    speaker: str
    text: str
    ts: datetime
    relevance: float
    order: int = 0
    session: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    why: dict[str, float] = field(default_factory=dict[str, float])
    excerpt: str | None = None
    before: "Evidence | None" = None


def context(
    evidence: Sequence[Evidence], *, max_tokens: int | None, zone: ZoneInfo,
    people: Mapping[str, Sequence[str]] | None = None,
) -> str:  # fmt: skip
    """The best evidence that fits, in the order in which it was said, after what is known of the people.

    A turn that says nothing alone comes with the one before it, if both fit. Empty when there is nothing, or nothing
    fits.
    """
    kept: dict[str, Evidence] = {}
    known: list[str] = []
    note = zone_note(zone) if max_tokens is None or max_tokens >= _ROOM_FOR_NOTE else ""
    spent = _QUOTING + (tokens(note) + 1 if note else 0)
    for fact in (fact for facts in (people or {}).values() for fact in facts[:_FACTS_EACH]):
        cost = tokens(f"- {fact}") + 1
        if max_tokens is not None and spent + cost > max_tokens // 3:
            break
        known.append(f"- {one_line(fact)}")
        spent += cost
    for item in evidence:
        for wanted in ([item.before, item] if item.before else [item], [item]):
            new = {turn.message_id: turn for turn in wanted if turn and turn.message_id not in kept}
            # Without a limit nothing has to be counted.
            cost = 0 if max_tokens is None else sum(tokens(line(turn, zone)) + 1 for turn in new.values())
            if max_tokens is None or spent + cost <= max_tokens:
                kept |= new
                spent += cost
                break
    if not kept and not known:
        return ""
    said = sorted(kept.values(), key=lambda item: (item.ts, item.order))
    return quote("\n".join([*([note] if said and note else []), *known, *(line(item, zone) for item in said)]))


def begins_at(costs: Sequence[int], room: float) -> int:
    """Where the last of them begin that there is room for together."""
    start = len(costs)
    while start > 0 and costs[start - 1] <= room:
        start -= 1
        room -= costs[start]
    return start


def depends(text: str) -> bool:
    """Whether a turn can hardly be understood without the one before it: a few words, or one that begins with a
    reference to it."""
    own = own_words(text)
    if len(own) > _SPEAKS_FOR_ITSELF:
        return False
    return _REFERS.match(own) is not None or len(set(terms(own))) < _FEW_TERMS


def quoted(
    evidence: Sequence[Evidence], *, max_tokens: int | None, zone: ZoneInfo, outdated: Collection[str] = ()
) -> str:
    """The evidence as an answer for a person: the best first, as much as fits. `outdated` are ids of messages."""
    kept: list[str] = []
    for item in evidence:
        shown = line(item, zone, labelled=True)
        if item.message_id in outdated:
            shown = f"Earlier: {shown}"
        if max_tokens is not None and tokens("\n".join([*kept, shown])) > max_tokens:
            break
        kept.append(shown)
    return "\n".join(kept)


def line(item: Evidence, zone: ZoneInfo, *, labelled: bool = False) -> str:
    """One turn with its day and its speaker; `labelled` where nothing beside it says whose day that is."""
    at = labelled_day(item.ts, zone) if labelled else day(item.ts, zone)
    return f"[{at}] {one_line(item.speaker)}: {one_line(own_words(item.excerpt or item.text))}"
