"""Looking for capsules: by words, by meaning, or both; what is related to a text, and what says nearly the same."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Literal

from keepstone.access.readscope import account_scope, space_scope
from keepstone.engine import floors, lookup, second_look, traced
from keepstone.engine.embed import FirstVector
from keepstone.engine.gathered import CANDIDATES, NOTES, SEVERAL_NOTES, SearchPlace, Style
from keepstone.engine.question import Question
from keepstone.engine.search import Matches
from keepstone.engine.snippets import snippet
from keepstone.memory import filtered
from keepstone.memory.capsule_words import begun_by_words, by_words, survey_vault
from keepstone.memory.filtered import remembered
from keepstone.model.capsule import FoundCapsule, Similar
from keepstone.model.page import Page, PageRequest, RankedPage
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import capsules as store
from keepstone.store import memories
from keepstone.store.db import Connection, enter

Mode = Literal["literal", "semantic", "hybrid"]
LIKELY_DUPLICATE = 0.85  # cosine
RELATED = 5
_SHOWN_SIMILAR = 5
_NEAREST = 200  # among which those of the last week are looked for: that many older ones nobody keeps


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """`degraded` says `literal` when nothing could be found by meaning."""

    page: Page[FoundCapsule]
    degraded: str | None = None
    trace_id: str | None = None


async def find(
    services: Services, principal: Principal, text: str, mode: Mode, wanted: store.CapsuleFilter, page: PageRequest,
    min_relevance: float | None = None,
) -> Results:  # fmt: skip
    """What is found, the best first, page by page; and it counts as used."""
    return _found(services, principal, await _find(services, principal, text, mode, wanted, page, min_relevance))


async def _find(
    services: Services, principal: Principal, text: str, mode: Mode, wanted: store.CapsuleFilter, page: PageRequest,
    min_relevance: float | None,
) -> Results:  # fmt: skip
    """Literal: every word of it, or words that begin so. Semantic and hybrid: what is relevant enough, as far as it is
    ranked.
    """
    # A list that was begun by words, since nothing could be found by meaning then, goes on so.
    if mode == "literal" or begun_by_words(page):
        degraded = None if mode == "literal" else "literal"
        return Results(page=await by_words(services, principal, text, wanted, page), degraded=degraded)
    ranked = RankedPage.of(page, services.clock())
    style = Style(talk=False, words=mode == "hybrid", several=True)
    floor = floors.SEARCH if min_relevance is None else min_relevance
    found = await _by_meaning(services, principal, text, wanted, ranked.deep, style, floor)
    degraded = "literal" if found.degraded else None
    if degraded:
        every_word = await by_words(services, principal, text, wanted, page) if page.after is None else None
        if every_word is not None and every_word.items:
            return Results(page=every_word, degraded=degraded, trace_id=found.hand_out(every_word.items))
        # A question in whole sentences: some of its words have to do.
        found = await _by_meaning(services, principal, text, wanted, ranked.deep, NOTES, min_relevance or 0.0)
    shown = ranked.cut(found.capsules, lambda hit: (hit.capsule.created_at, hit.capsule.id))
    return Results(page=shown, degraded=degraded, trace_id=found.hand_out(shown.items))


def _found(services: Services, principal: Principal, results: Results) -> Results:
    """What is shown was used; that is put down after the answer. The cold tier takes what nobody reads or finds."""
    if results.page.items:
        space = results.page.items[0].capsule.space

        async def write(ids: list[str]) -> None:
            async with services.db.transaction(space_scope(principal, space)) as conn:
                await memories.touch(conn, ids)

        services.found.note((principal.account, space), [hit.capsule.id for hit in results.page.items], write)
    return results


async def related(
    services: Services, principal: Principal, text: str, project_id: str | None = None,
    min_relevance: float | None = None,
) -> list[FoundCapsule]:  # fmt: skip
    """The few that fit to what is being written: for chips above an input."""
    wanted = store.CapsuleFilter(project_id=project_id)
    floor = floors.RELATED if min_relevance is None else min_relevance
    found = await _by_meaning(services, principal, text, wanted, RELATED, SEVERAL_NOTES, floor)
    found.hand_out(found.capsules)
    return found.capsules


async def similar_to(
    conn: Connection, services: Services, principal: Principal, space: int, first: FirstVector | None, *,
    since: datetime,
) -> list[Similar]:  # fmt: skip
    """What was kept since then and begins nearly the same, the nearest first."""
    near = await lookup.nearest(
        conn, space, first, above=LIKELY_DUPLICATE, limit=_NEAREST, since=since, beginnings=True,
        view=services.resident.at_hand(principal.account, space),
    )  # fmt: skip
    titles = await store.titles(conn, space, list(near)) if near else {}
    similar = [
        Similar(id=capsule_id, title=titles[capsule_id], similarity=round(similarity, 4))
        for capsule_id, similarity in near.items()
        if capsule_id in titles
    ]
    return sorted(similar, key=lambda capsule: (-capsule.similarity, capsule.id))[:_SHOWN_SIMILAR]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FoundByMeaning:
    """What a search found; `first` is what it looked at, `last` the same after a second look."""

    capsules: list[FoundCapsule]
    trace: traced.TraceDraft
    floor: float
    first: Matches = field(default_factory=lambda: Matches(hits=[]))
    last: Matches = field(default_factory=lambda: Matches(hits=[]))

    @property
    def degraded(self) -> bool:
        """By words alone."""
        return self.last.degraded is not None

    def hand_out(self, shown: Sequence[FoundCapsule]) -> str | None:
        """Ends the trace: this is what the caller gets. Returns its id."""
        handed = {item.capsule.id: (item.capsule.user_id, item.capsule.content_md) for item in shown}
        self.trace.end(lambda: traced.of_search(self.first, handed, last=self.last, floor=self.floor))
        return self.trace.id


async def _by_meaning(
    services: Services, principal: Principal, text: str, wanted: store.CapsuleFilter, limit: int, style: Style,
    floor: float,
) -> _FoundByMeaning:  # fmt: skip
    trace = traced.begin(services, principal, "search", text, limit=limit, min_relevance=floor)
    question = Question(text=text, speaker=None, asked_at=services.clock(), zone=principal.timezone)
    asked = await lookup.ask(services, question, _survey(services, principal, wanted), any_language=True)
    trace.asked_of(asked.place.scope, question=asked.question)
    trace.step("look up")
    if asked.place.empty:
        return _FoundByMeaning(capsules=[], trace=trace, floor=floor)
    async with services.db.transaction(asked.place.scope) as conn:
        first = await lookup.find(conn, asked, limit=max(limit, CANDIDATES), style=style)
        matches = second_look.by_meaning(asked.question, first, floor)
        matches = replace(matches, hits=matches.hits[: max(limit, second_look.KEPT)])
        capsules = await memories.by_ids(conn, store.SHAPE, matches.ids)
    trace.step("search")
    said = {name: (capsule.title, capsule.content_md) for name, capsule in capsules.items()}
    matches = await second_look.judged(services, asked.question, matches, said, floor)
    shown = [
        FoundCapsule(capsule=capsules[hit.source_id], relevance=hit.relevance, snippet=snippet(hit.window, text))
        for hit in second_look.above(matches, floor)
        if hit.source_id in capsules
    ][:limit]
    trace.step("judge")
    return _FoundByMeaning(capsules=shown, trace=trace, floor=floor, first=first, last=matches)


async def _survey(services: Services, principal: Principal, wanted: store.CapsuleFilter) -> SearchPlace:
    """The caller's vault, and which of its capsules are meant."""
    async with services.db.transaction(account_scope(principal)) as conn:
        space, size, wanted = await survey_vault(conn, principal, wanted)
        place = SearchPlace(scope=space_scope(principal, space), size=size)
        if wanted.anything:
            return place
        await enter(conn, place.scope)

        passing = await remembered(
            services, conn, place.scope, space, wanted,
            lambda conn, most: store.passages_of(conn, space, wanted, most=most),
            lambda conn, passages: store.which_pass(conn, space, wanted, passages),
        )  # fmt: skip
        # All that are meant are looked at, however many they are.
        return await lookup.narrowed(place, partial(passing.passages_of, conn), passing.passes, few=filtered.MOST)
