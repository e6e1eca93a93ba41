"""What a text is found by: its windows, each with its terms. Knows no database and no model, so that long texts can be
cut in another process.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Literal

from keepstone.engine.language.calendar import date_words
from keepstone.engine.language.scripts import latin
from keepstone.engine.quotation import own_words
from keepstone.engine.terms import terms
from keepstone.model.message import NewPassage
from keepstone.providers.windows import Cutter, Span

_WINDOW, _OVERLAP = 1000, 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Something that can be found: what a passage is cut from. `dated`: also by the words of its date, as talk is."""

    kind: Literal["message", "memory", "summary", "document"]
    id: str
    text: str
    at: datetime
    speaker: str | None = None
    dated: bool = True


def spoken(speaker: str | None, text: str) -> str:
    """A passage as the embedder reads it: who speaks is part of what is said."""
    return f"{speaker}: {text}" if speaker else text


def cut_sources(sources: Sequence[Source], cutter: Cutter, visibility: str) -> list[NewPassage]:
    """Their passages, which do not know their session yet."""
    passages: list[NewPassage] = []
    for source in sources:
        dated = _date_terms(source.at.date()) if source.dated else ()
        own = own_words(source.text)
        for part, (start, end) in enumerate(cutter(own) if own else []):
            window = own[start:end]
            passages.append(
                NewPassage(
                    source_kind=source.kind,
                    source_id=source.id,
                    part=part,
                    speaker=source.speaker,
                    at=source.at,
                    session=None,
                    visibility=visibility,
                    text=window,
                    foreign=not latin(window),
                    frequencies=dict(Counter([*terms(spoken(source.speaker, window)), *dated])),
                )
            )
    return passages


@lru_cache(maxsize=4096)
def _date_terms(day: date) -> tuple[str, ...]:
    return tuple(terms(date_words(day)))


def cut_by_length(text: str) -> list[Span]:
    """Where there is no embedder whose windows would be the right ones."""
    if len(text) <= _WINDOW:
        return [(0, len(text))]
    return [(start, min(start + _WINDOW, len(text))) for start in range(0, len(text) - _OVERLAP, _WINDOW - _OVERLAP)]
