"""Search: from a question to the turns that answer it, inside a read scope. No language model, no surface.

The candidates by terms and by meaning and the turns beside them come as columns, from memory (`in_memory`) or from the
database (`gather`); here they get one order (`rank`), and what is returned its text and a relevance (`calibrate`).
`lookup` is the way in.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

import numpy as np

from keepstone.engine import about, in_memory, rank
from keepstone.engine.calibrate import FULL_MATCH, relevance
from keepstone.engine.features import PassageGroups, group_by_source, latin, links, positions
from keepstone.engine.gather import gather
from keepstone.engine.gathered import CANDIDATES, TALK, Floats, Gathered, SearchPlace, Style
from keepstone.engine.late import weighted
from keepstone.engine.question import EmbeddedQuestion, Question
from keepstone.engine.when import asks_of, freshness, nearness
from keepstone.model.trace import LeftOut
from keepstone.resident import View
from keepstone.store.candidates import ReadPassage, read
from keepstone.store.db import Connection

PERSON_TURNS = 40  # to see whether they speak of whom a question names

Place_co = TypeVar("Place_co", bound=SearchPlace, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A turn that was found, with the windows of it that were looked at."""

    source_kind: str
    source_id: str
    speaker: str | None
    at: datetime
    session: str | None
    text: str
    window: str  # the part of it that speaks most for it
    score: float
    relevance: float
    why: dict[str, float]
    place: dict[str, Any] | None = None  # of a part of a document: where in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """`degraded` says what was missing: `terms` means that nothing could be found by meaning. `rest` is what else was
    looked at.
    """

    hits: list[Hit]
    rest: "Rest | None" = None
    answerable: float = 0.0  # the probability that the space speaks of it at all
    degraded: str | None = None
    full_match: float = 0.0  # what the words of the question could give at most (BM25)

    @property
    def ids(self) -> list[str]:
        """The sources of the hits, the best first."""
        return [hit.source_id for hit in self.hits]


@dataclass(frozen=True, slots=True)
class AskedOf(Generic[Place_co]):
    """A question, embedded as the place needs it, and the place: with the numbers of its spaces, where they stand in
    memory.
    """

    place: Place_co
    question: EmbeddedQuestion
    views: Sequence[View] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSet:
    """The candidates with their features, and what is known of the passages of each. `late` is by passage."""

    gathered: Gathered
    groups: PassageGroups
    candidates: rank.Candidates
    late: Floats
    named: frozenset[str]  # whom the question is about

    def passages(self, groups: Collection[int]) -> dict[int, int]:
        """The passages of these groups, each with its group."""
        if len(self.groups) == len(self.gathered):
            return dict(zip(self.gathered.passage[list(groups)].tolist(), groups, strict=True))
        owner = self.groups.owner
        places = np.flatnonzero(np.isin(owner, list(groups)))
        return dict(zip(self.gathered.passage[places].tolist(), owner[places].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of the passages that the caller may read, by the group that they are of: those of its windows that were
    looked at. A group of which nothing may be read is not here.
    """

    described: CandidateSet
    rows: Mapping[int, Sequence[ReadPassage]]

    def text(self, group: int) -> str:
        rows = self.rows[group]
        return rows[0].text if len(rows) == 1 else " … ".join(row.text for row in rows)

    def telling(self, group: int) -> str:
        """The window of a group that is the best by most of what is known."""
        gathered, rows = self.described.gathered, self.rows[group]
        if len(rows) == 1:
            return rows[0].text
        text_of = {row.passage: row.text for row in rows}
        windows = self.described.groups.windows(group)
        read = [place for place in windows if int(gathered.passage[place]) in text_of]
        points = dict.fromkeys(read, 0)
        for column in (gathered.bm25, self.described.late, gathered.multilingual, gathered.pooled):
            values = column[read]
            if np.isfinite(values).any():
                worst_first = np.argsort(-np.nan_to_num(values, nan=-1.0), kind="stable")[::-1]
                for score, index in enumerate(worst_first):
                    points[read[index]] += score
        best = max(read, key=lambda place: points[place])
        return text_of[int(gathered.passage[best])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What was read and is no hit: put into words only for whoever wants to know why. `believed` is by `order`."""

    texts: Texts
    scores: rank.Floats
    best: Sequence[int]
    order: Sequence[int]
    believed: Sequence[float]
    floor: float | None
    several: bool

    def hits(self) -> list[tuple[Hit, LeftOut]]:
        """The best first; of what was not among the first of its kind nobody has said how relevant it is."""
        believed = dict(zip(self.order, self.believed, strict=True))
        last = self.best.index(self.order[-1]) if self.order else len(self.best)
        found: list[tuple[Hit, LeftOut]] = []
        for place, group in enumerate(self.best):
            reason: LeftOut = "below_floor"
            if group not in believed:
                reason = "duplicate" if place < last and not self.several else "over_limit"
            elif self.floor is None or believed[group] >= self.floor:
                continue
            if group in self.texts.rows:
                found.append((_hit(self.texts, group, float(self.scores[group]), believed.get(group, 0.0)), reason))
        return found


async def find(
    conn: Connection,
    asked_of: AskedOf[SearchPlace],
    *,
    limit: int,
    floor: float | None = None,
    style: Style = TALK,
    count: int | None = None,
    enough: int = CANDIDATES,
) -> Matches:
    """The best turns, at most `limit`, none below the relevance `floor`.

    `conn` is in a transaction with the place's scope. `count` candidates are looked at by their words and as many by
    their meaning: twice the limit if nothing is said. Under a filter that many pass, `enough` of those are wanted that
    do.
    """
    place, asked, views = asked_of.place, asked_of.question, asked_of.views
    if place.empty:
        return Matches(hits=[])
    many = max(CANDIDATES, count or 2 * limit)
    if views is None:
        gathered = await gather(conn, place, asked, style, count=many, enough=enough)
    else:
        gathered = await in_memory.gather(conn, views, place, asked, style, count=many, enough=enough)
    degraded = None if gathered.by_meaning else "terms"
    if not len(gathered):
        return Matches(hits=[], degraded=degraded)
    described = describe(asked, gathered)
    scores = rank.scores(described.candidates, weights_of(asked, style))
    scores = _with_what_holds(asked.question, scores, described)
    best, spoken_of = best_of(scores, limit), of_person(asked.question, described)
    texts = await read_texts(conn, place, described, [*best, *spoken_of])
    order = distinct(texts, best, limit, several=style.several)
    answerable, believed = relevance(
        described.candidates, scores, order, gathered.terms,
        person=person(spoken_of, texts), talk=style.talk, several=style.several, seen_by=asked.embedded,
    )  # fmt: skip
    return Matches(
        hits=[
            _hit(texts, index, float(scores[index]), probability)
            for index, probability in zip(order, believed, strict=True)
            if floor is None or probability >= floor
        ],
        rest=Rest(
            texts=texts, scores=scores, best=best, order=order, believed=believed, floor=floor, several=style.several
        ),
        answerable=answerable,
        degraded=degraded,
        full_match=FULL_MATCH * gathered.terms.total,
    )


def _with_what_holds(question: Question, scores: rank.Floats, described: CandidateSet) -> rank.Floats:
    """What holds before what it revised; asked about the past, the other way round. Who names a time means what was
    said then.
    """
    gathered, groups, near = described.gathered, described.groups, described.candidates.near
    asks = asks_of(question.text) if gathered.revised else "change"
    if asks == "change":
        return scores
    place = {passage: index for index, passage in enumerate(gathered.passage.tolist())}
    rows = [(place[old], place[new]) for old, new in gathered.revised if old in place and new in place]
    # The newest last.
    rows.sort(key=lambda pair: (gathered.at[groups.first[groups.owner[pair[1]]]], pair))
    revised = [(int(groups.owner[old]), int(groups.owner[new])) for old, new in rows]
    pairs = [(older, newer) for older, newer in revised if near[older] <= near[newer]]
    if asks == "before":
        pairs = [(newer, older) for older, newer in reversed(revised)]
    return rank.with_first(scores, pairs)


def describe(asked: EmbeddedQuestion, gathered: Gathered) -> CandidateSet:
    """Each candidate with all that `rank` and `calibrate` go by."""
    question, groups = asked.question, group_by_source(gathered)
    first = groups.first
    at, tokens = gathered.at[first], gathered.tokens
    late = np.full(len(gathered), np.nan)
    if tokens is not None:
        late = np.where(np.isnan(tokens.best).any(axis=1), np.nan, weighted(tokens.best, tokens.weights))
    known = {speaker or "" for speaker in gathered.speakers}
    named = rank.named(question.text, known, question.speaker)
    spoken = np.array([(speaker or "") in named for speaker in gathered.speakers], dtype=np.float64)
    candidates = rank.Candidates(
        session=gathered.session[first],
        position=positions(gathered, groups),
        chars=np.bincount(groups.owner, weights=gathered.chars, minlength=len(groups)).astype(np.float64),
        bm25=groups.best(gathered.bm25, otherwise=0.0),
        maxsim=groups.best(late),
        pooled=groups.best(gathered.pooled),
        multilingual=groups.best(gathered.multilingual),
        spoken=spoken[gathered.speaker[first]] if len(spoken) else np.zeros(len(first)),
        near=nearness(at, question.times),
        fresh=freshness(question.text, at),
        latin=latin(gathered, groups),
        links=links(gathered, groups),
    )
    return CandidateSet(
        gathered=gathered, groups=groups, candidates=candidates, late=np.asarray(late, dtype=np.float64), named=named
    )  # fmt: skip


def best_of(scores: rank.Floats, limit: int) -> list[int]:
    """The places of the best candidates, in order: half as many again are enough to fill the places left free."""
    return rank.order(scores)[: limit + limit // 2 + 10]


async def read_texts(
    conn: Connection, place: SearchPlace, described: CandidateSet, groups: Sequence[int]
) -> Texts:  # fmt: skip
    group_of = described.passages(dict.fromkeys(groups))
    read_rows = await read(conn, place.scope.spaces, list(group_of))
    rows: dict[int, list[ReadPassage]] = {}
    for passage, group in group_of.items():
        if passage in read_rows:
            rows.setdefault(group, []).append(read_rows[passage])
    return Texts(described, rows)


def distinct(texts: Texts, best: Sequence[int], limit: int, *, several: bool) -> list[int]:
    """Of the best those that are there. Unless `several` may answer, the same thing said twice takes one place."""
    there = [group for group in best if group in texts.rows]
    return (there if several else rank.collapse(there, texts.text))[:limit]


# With pooled vectors of any model and nothing finer; and with nothing but terms.
_POOLED = rank.Weights(maxsim=0.0, bm25=0.5, pooled=1.0, multilingual=1.0)
_TERMS = rank.Weights(maxsim=0.0, bm25=1.0, pooled=0.0)


def weights_of(asked: EmbeddedQuestion, style: Style) -> rank.Weights:
    """What each feature counts for this question, and for what the embedders gave for it."""
    weights = rank.weights_for(asked.question.language)
    if not asked.embedded:
        weights = _TERMS
    elif all(embedding.tokens is None for _, embedding in asked.embedded.values()):
        weights = _POOLED
    if not style.talk:
        # A long note is found by one of its windows, none of which is long.
        weights = weights.without("neighbour", "session", "length")
    return weights if style.words else weights.without("bm25")


def of_person(question: Question, described: CandidateSet) -> dict[int, float]:
    """The turns that have most of what is asked for, whoever it is asked of, and how well they match it."""
    tokens, named = described.gathered.tokens, described.named
    # What was said to me, or by me to somebody, is said of both.
    if tokens is None or not named or rank.FIRST_PERSON.search(question.text):
        return {}
    weights = about.without_names(question.text, tokens.spans, tokens.weights, named)
    matched = described.groups.best(weighted(tokens.best, weights), 0.0)
    return {index: float(matched[index]) for index in rank.order(matched)[:PERSON_TURNS]}


def person(spoken_of: Mapping[int, float], texts: Texts) -> float | None:
    """How far it speaks of whom the question names, rather than of others."""
    there = [index for index in spoken_of if index in texts.rows]
    if not there:
        return None
    turns = [(texts.rows[index][0].speaker, texts.text(index)) for index in there]
    return about.balance(turns, texts.described.named, np.array([spoken_of[index] for index in there]))


def _hit(texts: Texts, index: int, score: float, believed: float) -> Hit:
    candidates, first = texts.described.candidates, texts.rows[index][0]
    features = {
        "maxsim": candidates.maxsim,
        "bm25": candidates.bm25,
        "meaning": candidates.pooled,
        "multilingual": candidates.multilingual,
        "speaker": candidates.spoken,
        "time": candidates.near,
        "freshness": candidates.fresh,
    }
    why = {name: float(column[index]) for name, column in features.items()}
    return Hit(
        source_kind=first.source_kind, source_id=first.source_id, speaker=first.speaker, at=first.at,
        session=first.session, text=texts.text(index), window=texts.telling(index),
        score=score, relevance=believed, place=first.place,
        why={name: round(value, 4) for name, value in why.items() if not math.isnan(value)},
    )  # fmt: skip
