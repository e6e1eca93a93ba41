"""Rank: from what is known of each candidate to an order.

Owns the formula, its weights, who is named in a question, and what counts as the same thing said twice. It must not
fetch: candidates come with their features. The weights are set by hand; rankers that were learned did better on one set
and worse on the others.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from keepstone.engine.language.scripts import is_dense
from keepstone.engine.language.stopwords import LATIN_LANGUAGES, is_stop

Floats = npt.NDArray[np.float64]

MISSING = float("nan")
FAR = 5.0  # below another score: it is of something else

NAME = re.compile(r"[^\W_]+(?:[-'’][^\W_]{2,})*")
FIRST_PERSON = re.compile(
    r"\b(?:i|i['’]m|i['’]ve|i['’]d|me|my|mine|myself|ich|mich|mir|meine?[nmrs]?|je|moi|mon|mes|yo|mis?)\b|我",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """What is known of those that may answer, a column each. What is missing (NaN) is neither for nor against them.

    `position` counts the turns of a session, so that neighbours are one apart; `links` are pairs of places of which one
    answers the other. `spoken` is 1 for a person named in the question, `near` is the time's nearness, `fresh` how new
    it is where that was asked for, `latin` whether an English model can read it.
    """

    session: npt.NDArray[np.int64]
    position: npt.NDArray[np.int64]
    chars: Floats
    bm25: Floats
    maxsim: Floats
    pooled: Floats
    multilingual: Floats
    spoken: Floats
    near: Floats
    fresh: Floats
    latin: npt.NDArray[np.bool_]
    links: npt.NDArray[np.int64]  # [pairs, 2]

    def __len__(self) -> int:
        return len(self.position)

    def take(self, places: Sequence[int]) -> "Candidates":
        """These alone, in this order, linked to nothing."""
        chosen = np.asarray(places, dtype=np.int64)
        columns = {field.name: getattr(self, field.name)[chosen] for field in fields(self) if field.name != "links"}
        return Candidates(**columns, links=self.links[:0])


@dataclass(frozen=True, slots=True)
class Weights:
    """What each feature and each step counts. 0 switches it off, and changes nothing else.

    The defaults are for English, and as they were confirmed on conversations that nothing was tuned on. A little more
    of pooled, speaker, neighbour and session does better on the parts of LoCoMo and QMSum in the bench, by less than
    chance would.
    """

    maxsim: float = 1.0
    bm25: float = 0.2
    pooled: float = 0.2
    multilingual: float = 0.0
    # In place of maxsim and pooled for a passage in a script that the English model can't read.
    foreign: float = 1.0
    speaker: float = 0.5
    time: float = 0.5
    fresh: float = 0.3
    neighbour: float = 0.3
    session: float = 0.2
    length: float = 0.3
    # Up to here a passage is not long.
    chars: int = 400

    def without(self, *steps: str) -> "Weights":
        return replace(self, **dict.fromkeys(steps, 0.0))


ENGLISH = Weights()
# Languages in Latin letters: their names and loan words make MaxSim of some use, and the English pooled vector of none.
# Much weight for the multilingual vector is also what lets a German question find an English passage. What the words
# and the meaning weigh together is more than in English; so does the time.
EUROPEAN = Weights(maxsim=0.5, bm25=0.5, pooled=0.0, multilingual=1.0, time=0.7)
# Other scripts, of which the English model knows nothing.
OTHER = Weights(maxsim=0.0, bm25=1.0, pooled=0.0, multilingual=1.0, time=0.7)


def weights_for(language: str) -> Weights:
    """The weights for a question in this language (`stopwords.guess`)."""
    if language == "en":
        return ENGLISH
    return EUROPEAN if language in LATIN_LANGUAGES else OTHER


def z(values: npt.ArrayLike) -> Floats:
    """Standard scores among what is known; 0 for what is missing, and for all when they don't differ."""
    known = np.asarray(values, dtype=np.float64)
    mask = np.isfinite(known)
    scores = np.zeros(known.shape, dtype=np.float64)
    if mask.any():
        centred = known[mask] - known[mask].mean()
        spread = float(centred.std())
        # A spread that is only rounding would blow up noise.
        if spread > 1e-9 * max(1.0, float(np.abs(known[mask]).max())):
            scores[mask] = centred / spread
    return scores


def base(candidates: Candidates, weights: Weights = ENGLISH) -> Floats:
    """What each candidate is worth by itself."""
    latin = candidates.latin
    score = np.zeros(len(candidates), dtype=np.float64)
    words = z(candidates.bm25)
    score += weights.bm25 * words
    for weight, column in ((weights.maxsim, candidates.maxsim), (weights.pooled, candidates.pooled)):
        if weight:
            score += weight * _told(column, latin, words)
    share = np.where(latin, weights.multilingual, max(weights.foreign, weights.multilingual))
    if share.any():
        score += share * z(candidates.multilingual)
    for weight, column in (
        (weights.speaker, candidates.spoken), (weights.time, candidates.near), (weights.fresh, candidates.fresh)
    ):  # fmt: skip
        if weight:
            score += weight * column
    return score


def _told(values: Floats, readable: npt.NDArray[np.bool_], words: Floats) -> Floats:
    """Standard scores of what a model says of the passages that it can read. Of one whose vectors are still to come,
    when others have theirs, its words have to speak.
    """
    known = np.where(readable, values, MISSING)
    return np.where(readable & np.isnan(values) & np.isfinite(known).any(), words, z(known))


def scores(candidates: Candidates, weights: Weights = ENGLISH) -> Floats:
    """What each candidate is worth among the others: also by what is said around it, and less for great length."""
    alone = base(candidates, weights)
    score = alone.copy()
    if weights.neighbour:
        score += weights.neighbour * neighbours(candidates, alone)
    if weights.session:
        score += weights.session * in_session(candidates, alone)
    if weights.length:
        score -= weights.length * np.log(np.maximum(candidates.chars, weights.chars) / weights.chars)
    return score


def with_first(scores: Floats, pairs: Sequence[tuple[int, int]]) -> Floats:
    """The scores, with the second of each pair just above the first, unless it is far from what was asked."""
    changed = scores.copy()
    for last, first in pairs:
        if changed[first] <= changed[last] and scores[first] >= scores[last] - FAR:
            changed[first] = changed[last] + 1e-6
    return changed


def neighbours(candidates: Candidates, alone: Floats) -> Floats:
    """The best of the turns before and after and of those linked to it, among the candidates; 0, the mean, for none."""
    best = np.full(len(candidates), -np.inf)
    said = np.lexsort((candidates.position, candidates.session))
    session, position = candidates.session[said], candidates.position[said]
    beside = np.flatnonzero((session[1:] == session[:-1]) & (position[1:] - position[:-1] == 1))
    before, after = said[beside], said[beside + 1]
    best[before] = alone[after]
    best[after] = np.maximum(best[after], alone[before])
    for one, other in (candidates.links.T, candidates.links[:, ::-1].T):
        np.maximum.at(best, one, alone[other])
    return np.where(np.isneginf(best), 0.0, best)


def in_session(candidates: Candidates, alone: Floats) -> Floats:
    """The best of the session that each candidate is from."""
    _, session = np.unique(candidates.session, return_inverse=True)
    best = np.full(len(candidates), -np.inf)
    np.maximum.at(best, session, alone)
    return best[session]


def order(values: npt.ArrayLike) -> list[int]:
    """Indices from the best; what is equal stays as it came."""
    return [int(index) for index in np.argsort(-np.asarray(values, dtype=np.float64), kind="stable")]


def collapse(ranked: Sequence[int], text_of: Callable[[int], str]) -> list[int]:
    """The ranked indices without those that say what a better one says in the same words."""
    best: dict[str, int] = {}
    for index in ranked:
        best.setdefault(normalised(text_of(index)), index)
    return list(best.values())


def normalised(text: str) -> str:
    """A text without what makes no difference: case, width, spaces, punctuation. Never empty for a text that isn't."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"\w+", folded)) or folded.strip()


def named(question: str, speakers: Collection[str], asker: str | None = None) -> frozenset[str]:
    """Which of the speakers a question is about: those it names, and whoever asks when it says "I"."""
    said = NAME.findall(re.sub(r"['’]s\b", "", question))
    # In a question without capitals nobody is written with one.
    capitals = any(word[0].isupper() for word in said[1:]) or not any(word.islower() for word in said)
    names = {word.casefold() for word in said if _may_be_name(word, capitals)}
    about = {speaker for speaker in speakers if _in_full(speaker, said, question)}
    # "Professor E" is not about Professor B.
    names -= {part.casefold() for speaker in about for part in NAME.findall(speaker)}
    about |= {speaker for speaker in speakers if _in_part(speaker, names)}
    if asker is not None and asker in speakers and FIRST_PERSON.search(question):
        about.add(asker)
    return frozenset(about)


def _may_be_name(word: str, capitals: bool) -> bool:
    if is_stop(word):
        return False
    return not capitals or not word[0].islower()


def _in_full(speaker: str, said: Sequence[str], question: str) -> bool:
    if is_dense(speaker):
        return len(speaker) > 1 and speaker in question
    parts = NAME.findall(speaker)
    return len(parts) > 1 and f" {' '.join(parts)} ".casefold() in f" {' '.join(said)} ".casefold()


def _in_part(speaker: str, names: set[str]) -> bool:
    parts = [part.casefold() for part in NAME.findall(speaker)]
    if any(len(part) > 1 and part in names for part in parts):
        return True
    # Mel is Melanie. Only for the first part: family names are not cut.
    return any(3 <= len(name) < len(parts[0]) and parts[0].startswith(name) for name in names) if parts else False
