"""Traces while they are being made: an operation begins one, says how long each step took, and at its end what came of
it. What that means in words is put off: the log of traces asks for it in a thread, after the answer.

Owns how much of a trace is kept, and which piece of what was handed out quotes what: a piece is shown again only while
all that it quotes is there (`memory/traces.py`).
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from keepstone.engine.question import EmbeddedQuestion
from keepstone.engine.search import Hit, Matches
from keepstone.engine.when import Window
from keepstone.model.ids import new_id
from keepstone.model.principal import Principal, ReadScope
from keepstone.model.trace import HandedPiece, LeftOut, StoredTrace, TraceCandidate, TraceKind, TraceStep
from keepstone.observe.tracing import name_trace, request_under_way
from keepstone.providers.tokenizer import estimate as tokens
from keepstone.services import Services
from keepstone.store.arrays import storable
from keepstone.store.trace_log import TraceLog

MOST_CANDIDATES = 50
LONGEST_QUESTION = 4_000  # characters, and so are the next three
LONGEST_CANDIDATE = 1_000
LONGEST_FOUND = 4_000  # of each thing that a search found: it is there to be read
LONGEST_HANDED = 200_000  # of all pieces together
_FIELDS = {kind: tuple(kind.__dataclass_fields__) for kind in (TraceCandidate, HandedPiece, TraceStep)}
_WITHOUT_REQUEST = "(none)"  # a job, or the command line


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceDescription:
    """What came of it. `prompt` is what a model was asked for it; `people` are users who are named or quoted."""

    candidates: Sequence[TraceCandidate] = ()
    prompt: Sequence[HandedPiece] = ()
    handed: Sequence[HandedPiece] = ()
    people: Collection[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True, kw_only=True)
class TraceDraft:
    """`id` is None where no traces are kept: then all of this does nothing."""

    id: str | None
    log: TraceLog
    at: datetime
    kind: TraceKind
    surface: str
    request_id: str | None
    user_id: str | None
    reader: str
    question: str
    speaker: str | None
    parameters: dict[str, Any]
    question_id: str | None = None
    times: Sequence[Window] = ()
    scope: ReadScope | None = None
    space: int | None = None
    tokens: int | None = None
    begun: float = field(default_factory=time.perf_counter)
    marked: float = field(default_factory=time.perf_counter)
    steps: list[TraceStep] = field(default_factory=list[TraceStep])
    readers: Collection[str] = ()
    describe: Callable[[], TraceDescription] = TraceDescription

    def step(self, name: str, tokens: int | None = None) -> None:
        """What came since the last step, or since the beginning, was this."""
        now = time.perf_counter()
        self.steps.append(TraceStep(name=name, milliseconds=round(1000 * (now - self.marked), 3), tokens=tokens))
        self.marked = now

    def asked_of(self, scope: ReadScope, space: int | None = None, *, question: EmbeddedQuestion | None = None) -> None:
        """What it is made of, and where it was asked: in the first of these spaces, if nothing is said; and how the
        question was understood.
        """
        self.scope = scope
        self.times = question.question.times if question is not None else ()
        self.space = space or next(iter(scope.spaces), None)

    def end(
        self,
        describe: Callable[[], TraceDescription] = TraceDescription,
        *,
        tokens: int | None = None,
        readers: Collection[str] = (),
    ) -> None:
        """It is answered. `readers` are users beside who asked who could see all of it."""
        if self.id is None or self.scope is None:
            return
        self.describe, self.tokens, self.readers = describe, tokens, readers
        self.marked = time.perf_counter()
        self.log.put(self)
        name_trace(self.id)

    @property
    def _scope(self) -> ReadScope:
        if self.scope is None:
            raise RuntimeError("a trace is of some space")
        return self.scope

    @property
    def account_scope(self) -> ReadScope:
        return self._scope.bare

    def row(self) -> StoredTrace:
        described, scope = self.describe(), self._scope
        candidates = [_cut_candidate(candidate) for candidate in described.candidates[:MOST_CANDIDATES]]
        handed, whole = _within(described.handed)
        prompt, all_of_it = _within(described.prompt)
        pieces = [*prompt, *handed]
        quoted = [*(candidate.id for candidate in candidates), *(name for piece in pieces for name in piece.sources)]
        times = [{"from": one.start.isoformat(), "to": one.end.isoformat()} for one in self.times]
        quoted += [self.question_id] if self.question_id else []
        content = {
            "question": storable(self.question[:LONGEST_QUESTION]),
            "question_id": self.question_id,
            "speaker": self.speaker and storable(self.speaker),
            "request_id": self.request_id,
            "visibilities": list(scope.visibilities),
            "parameters": _plain({**self.parameters, **described.parameters, **({"times": times} if times else {})}),
            "steps": [_sparse(step) for step in self.steps],
            "candidates": [_sparse(candidate) for candidate in candidates],
            "prompt": [_sparse(piece) for piece in prompt],
            "handed_out": [_sparse(piece) for piece in handed],
            "cut": not (whole and all_of_it)
            or len(described.candidates) > MOST_CANDIDATES
            or len(self.question) > LONGEST_QUESTION,
        }
        return StoredTrace(
            id=self.id or "",
            at=self.at,
            kind=self.kind,
            surface=self.surface,
            user_id=self.user_id,
            readers=list(dict.fromkeys([self.reader, *self.readers])),
            people=sorted(set(described.people)),
            space=self.space or None,
            spaces=[space for space in scope.spaces if space],
            sources=list(dict.fromkeys(filter(None, quoted))),
            tokens=sum(tokens(piece.text or "") for piece in handed) if self.tokens is None else self.tokens,
            milliseconds=round(1000 * (self.marked - self.begun), 3),
            content=content,
        )


def begin(
    services: Services, principal: Principal, kind: TraceKind, question: str, *, speaker: str | None = None,
    **parameters: Any,
) -> TraceDraft:  # fmt: skip
    request = request_under_way.get()
    return TraceDraft(
        id=new_id("trc") if services.settings.trace_days else None,
        log=services.traces,
        at=services.clock(),
        kind=kind,
        surface=request.surface if request else _WITHOUT_REQUEST,
        request_id=request.request_id if request else None,
        user_id=principal.user_id,
        reader=principal.reader,
        question=question,
        speaker=speaker,
        parameters={name: value for name, value in parameters.items() if value is not None},
    )


def found(
    first: Matches, used: Collection[str], *, last: Matches | None = None, floor: float | None = None,
    otherwise: LeftOut = "over_limit", reasons: Mapping[str, LeftOut] | None = None,
) -> list[TraceCandidate]:  # fmt: skip
    """All that a search looked at, the best first. `last` is the same after a second look; `otherwise` is why something
    was left out that is relevant enough, unless `reasons` says another.
    """
    final = last or first
    kept = {hit.source_id for hit in final.hits}
    dropped = [hit for hit in first.hits if hit.source_id not in kept]
    candidates: list[TraceCandidate] = []
    for hit in final.hits:
        below = floor is not None and hit.relevance < floor
        reason = (reasons or {}).get(hit.source_id) or ("below_floor" if below else otherwise)
        candidates.append(_candidate(hit, None if hit.source_id in used else reason))
    candidates += [_candidate(hit, "below_floor") for hit in dropped]
    candidates += [_candidate(hit, reason) for hit, reason in first.rest.hits()] if first.rest is not None else ()
    return candidates


def of_search(
    first: Matches, handed: Mapping[str, tuple[str | None, str]], *, last: Matches | None = None,
    floor: float | None = None, worth: Sequence[Hit] | None = None,
) -> TraceDescription:  # fmt: skip
    """A search that handed out what it found, each with whose it is. `worth` are the hits that were worth it, where
    their relevance alone does not say so.
    """
    unworthy: dict[str, LeftOut] = {}
    if worth is not None:
        kept = {hit.source_id for hit in worth}
        unworthy = {hit.source_id: "below_floor" for hit in first.hits if hit.source_id not in kept}
    return TraceDescription(
        candidates=found(first, handed, last=last, floor=floor, reasons=unworthy),
        handed=[HandedPiece(text=text[:LONGEST_FOUND], sources=[name]) for name, (_, text) in handed.items()],
        people={user for user, _ in handed.values() if user is not None},
    )


def cut_up(
    text: str, quoted: Iterable[tuple[Sequence[str], str]], *, statements: Iterable[tuple[str, str]] = (),
    role: str | None = None,
) -> list[HandedPiece]:  # fmt: skip
    """A text in pieces: where it quotes something, and what stands between. `quoted` are ids and the words that stand
    for them in the text, `statements` likewise what is said of people. What can't be found in it may be anywhere.
    """
    wanted = [
        *(_Mark(sources=list(sources), words=words) for sources, words in quoted),
        *(_Mark(statements=[said], words=words) for said, words in statements),
    ]
    anywhere = [name for mark in wanted if not mark.words or mark.words not in text for name in mark.sources]
    marks: list[_Mark] = []
    for mark in sorted((place for mark in wanted for place in _places(text, mark)), key=lambda mark: mark.start):
        if marks and mark.start < marks[-1].stop:
            marks[-1] = marks[-1].joined(mark, text)
        else:
            marks.append(mark)
    pieces: list[HandedPiece] = []
    end = 0
    for mark in [*marks, _Mark(start=len(text))]:
        if mark.start > end:
            pieces.append(HandedPiece(text=text[end : mark.start], sources=anywhere, role=role))
        if mark.words:
            names = list(dict.fromkeys([*mark.sources, *anywhere]))
            pieces.append(HandedPiece(text=mark.words, sources=names, statements=mark.statements, role=role))
        end = mark.stop
    return pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """Words that stand for something, and where they begin."""

    words: str = ""
    start: int = 0
    sources: list[str] = field(default_factory=list[str])
    statements: list[str] = field(default_factory=list[str])

    @property
    def stop(self) -> int:
        return self.start + len(self.words)

    def joined(self, other: "_Mark", text: str) -> "_Mark":
        """Both, where one begins within the other."""
        return _Mark(
            words=text[self.start : max(self.stop, other.stop)], start=self.start,
            sources=[*self.sources, *other.sources], statements=[*self.statements, *other.statements],
        )  # fmt: skip


def _places(text: str, mark: _Mark) -> list[_Mark]:
    """Wherever in the text its words stand."""
    places: list[_Mark] = []
    at = text.find(mark.words) if mark.words else -1
    while at >= 0:
        places.append(replace(mark, start=at))
        at = text.find(mark.words, at + len(mark.words))
    return places


def _candidate(hit: Hit, left_out: LeftOut | None) -> TraceCandidate:
    judged = hit.relevance > 0 or left_out not in {"duplicate", "over_limit"}
    return TraceCandidate(
        id=hit.source_id, kind=hit.source_kind, text=hit.window, score=round(hit.score, 4),
        relevance=round(hit.relevance, 4) if judged else None, why=hit.why, left_out=left_out,
    )  # fmt: skip


def _cut_candidate(candidate: TraceCandidate) -> TraceCandidate:
    text = candidate.text and storable(candidate.text[:LONGEST_CANDIDATE])
    return candidate if text is candidate.text else replace(candidate, text=text)


def _within(handed: Sequence[HandedPiece]) -> tuple[list[HandedPiece], bool]:
    """As much of it as is kept, and whether that is all."""
    kept: list[HandedPiece] = []
    room = LONGEST_HANDED
    for piece in handed:
        text = storable((piece.text or "")[:room])
        if room <= 0:
            return kept, False
        kept.append(piece if text is piece.text else replace(piece, text=text))
        room -= len(piece.text or "")
    return kept, room >= 0


def _sparse(part: TraceCandidate | HandedPiece | TraceStep) -> dict[str, Any]:
    """Without what says nothing. Its values are not copied, as `asdict` would."""
    values = {name: getattr(part, name) for name in _FIELDS[type(part)]}
    return {name: value for name, value in values.items() if value is not None and value not in ([], {})}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has them."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else storable(value) if isinstance(value, str) else value
        for name, value in values.items()
    }
