"""Looking for capsules by their words: every word that is asked for stands in what is found, or one that begins so.
What fits best comes first; of what fits alike, the newest.

All that match are compared with each other where the words are rare. Of common words there may be tens of thousands,
of which nobody wants the oldest: they come by their time, a window of the newest after another, each in its order.
A cursor carries the numbers that relevance was reckoned with, so that the order is the same on every page.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import require_user
from keepstone.engine.bm25 import full_match, idf
from keepstone.engine.snippets import snippet
from keepstone.engine.terms import asked_words
from keepstone.errors import NotFound
from keepstone.memory.projects import require_project
from keepstone.model.capsule import FoundCapsule
from keepstone.model.page import Page, PageRequest, not_ours, write_cursor
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import candidates, memories, projects
from keepstone.store import capsule_words as store
from keepstone.store.capsule_words import AskedWords, CapsuleWindow, Place, WordMatch
from keepstone.store.capsules import SHAPE, CapsuleFilter
from keepstone.store.db import Connection, enter

NO_PROJECT = "none"  # in the place of a project's id: what is in none
_WINDOW = 100  # of common words so many are compared at once
_SCORED = 6  # decimals of a score: the database may add up in another order


@dataclass(frozen=True, slots=True, kw_only=True)
class _WordMark:
    """Where a page begins: the window, the last of it that was seen, and what was known when the first was asked."""

    window: CapsuleWindow
    last: tuple[float, Place] | None
    counts: Sequence[int]
    total: int
    average: float

    def write(self, asked_at: datetime, newest: int) -> str:
        places = [None if at is None else [at[0].isoformat(), at[1]] for at in (self.window.after, self.window.to)]
        last = None if self.last is None else [self.last[0], self.last[1][0].isoformat(), self.last[1][1]]
        told = [*places, last, newest, self.total, round(self.average, 4), list(self.counts)]
        return write_cursor((asked_at, json.dumps(told, separators=(",", ":"))))


def begun_by_words(page: PageRequest) -> bool:
    """Whether it goes on with a list that `by_words` began."""
    return page.after is not None and page.after[1].startswith("[")


async def meant(conn: Connection, principal: Principal, wanted: CapsuleFilter) -> CapsuleFilter:
    """With `NO_PROJECT` those that are in none of the caller's projects. A project that they are not in is refused."""
    if wanted.project_id == NO_PROJECT:
        own = await projects.ids_of(conn, require_user(principal))
        return replace(wanted, project_id=None, outside=tuple(own))
    await require_project(conn, principal, wanted.project_id)
    return wanted


async def survey_vault(
    conn: Connection, principal: Principal, wanted: CapsuleFilter
) -> tuple[int, candidates.Survey, CapsuleFilter]:  # fmt: skip
    """The number of the caller's vault, how large it is, and which capsules of it are meant."""
    user_id = require_user(principal)
    wanted = await meant(conn, principal, wanted)
    vault = await candidates.find_and_survey(conn, kind="vault", name=user_id, owner=user_id)
    if vault is None:
        raise NotFound("There is no such user.")
    return *vault, wanted


async def by_words(
    services: Services, principal: Principal, text: str, wanted: CapsuleFilter, page: PageRequest
) -> Page[FoundCapsule]:
    words = [(word.term, word.beginning) for word in asked_words(text)]
    async with services.db.transaction(account_scope(principal)) as conn:
        space, size, wanted = await survey_vault(conn, principal, wanted)
        await enter(conn, space_scope(principal, space))
        mark = _read(page, words)
        if mark is None:
            counts = await store.count(conn, space, words) if words else []
            mark = _WordMark(
                window=CapsuleWindow(), last=None, counts=counts, total=size.passages, average=size.average
            )
        if not words or not all(mark.counts):
            return Page(items=[], next_cursor=None)
        asked = AskedWords(
            words=words, counts=mark.counts, total=mark.total, average=mark.average,
            weights=[float(idf(number, mark.total)) for number in mark.counts],
        )  # fmt: skip
        window = page.limit * -(-_WINDOW // page.limit)
        matched = await store.with_all_words(conn, space, wanted, asked, mark.window, limit=window + 1)
        further = min(asked.counts) > store.RANKED and (len(matched) > window or mark.window.to is not None)
        if further and mark.window.to is None:
            matched = matched[:window]
            mark = replace(mark, window=replace(mark.window, to=_place(matched[-1])))
        scores = await store.fits(conn, space, asked, [match.passage for match in matched])
        ranked = sorted(matched, key=lambda match: _order(_score(scores, match), _place(match)))
        if mark.last is not None:
            ranked = [match for match in ranked if _order(_score(scores, match), _place(match)) > _order(*mark.last)]
        shown = ranked[: page.limit]
        capsules = await memories.by_ids(conn, SHAPE, [match.id for match in shown])
        windows = await candidates.read(conn, [space], [match.passage for match in shown])
        known = mark.window.known or (services.clock(), await store.newest_passage(conn, space))
    full = full_match({str(place): number for place, number in enumerate(mark.counts)}, mark.total)
    hits = [
        FoundCapsule(
            capsule=capsules[match.id],
            relevance=round(min(1.0, scores.get(match.passage, 0.0) / full), 4),
            snippet=snippet(windows[match.passage].text, text, begun=True),
        )
        for match in shown
        if match.id in capsules and match.passage in windows
    ]
    if len(ranked) > page.limit:
        mark = replace(mark, last=(_score(scores, shown[-1]), _place(shown[-1])))
    elif further:
        mark = replace(mark, last=None, window=replace(mark.window, after=mark.window.to, to=None))
    else:
        return Page(items=hits, next_cursor=None)
    return Page(items=hits, next_cursor=mark.write(*known))


def _score(scores: Any, match: WordMatch) -> float:
    return round(scores.get(match.passage, 0.0), _SCORED)


def _place(match: WordMatch) -> Place:
    return match.created_at, match.id


def _order(score: float, place: Place) -> tuple[float, float, list[int]]:
    """What fits best first, then the newest."""
    return -score, -place[0].timestamp(), [-ord(letter) for letter in place[1]]


def _read(page: PageRequest, words: Sequence[Any]) -> _WordMark | None:
    """What a cursor of ours says; None on the first page."""
    if page.after is None:
        return None
    asked_at, text = page.after
    try:
        after, to, last, newest, total, average, counts = json.loads(text)
        mark = _WordMark(
            window=CapsuleWindow(after=_read_place(after), to=_read_place(to), known=(asked_at, int(newest))),
            last=None if last is None else (float(last[0]), _read_place(last[1:])),
            counts=[int(number) for number in counts], total=int(total), average=float(average),
        )  # fmt: skip
    except (ValueError, TypeError, IndexError, OverflowError, RecursionError):
        raise not_ours() from None
    if len(mark.counts) != len(words) or not all(0 <= number < 2**60 for number in (*mark.counts, mark.total, newest)):
        raise not_ours()
    return mark


def _read_place(given: Any) -> Any:
    if given is None:
        return None
    at, capsule_id = given
    made = datetime.fromisoformat(at)
    if made.tzinfo is None or not isinstance(capsule_id, str):
        raise ValueError
    return made, capsule_id
