"""Looking for capsules: by words, by meaning, or both; what is related to a text, and what says nearly the same."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import require_user
from keepstone.engine import lookup
from keepstone.engine.bm25 import full_match, idf
from keepstone.engine.embed import FirstVector
from keepstone.engine.gather import NOTES, SEVERAL_NOTES, SearchPlace, Style
from keepstone.engine.question import Question
from keepstone.engine.snippets import snippet
from keepstone.engine.terms import terms
from keepstone.errors import NotFound
from keepstone.memory.projects import require_project
from keepstone.model.capsule import FoundCapsule, Similar
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import candidates, memories
from keepstone.store import capsules as store
from keepstone.store.db import Connection, enter

Mode = Literal["literal", "semantic", "hybrid"]
LIKELY_DUPLICATE = 0.85  # cosine
RELATED = 5
RELATED_FROM = 0.3  # relevance below which a suggestion would only be in the way
_MOST_MATCHES = 100_000
_SHOWN_SIMILAR = 5
_NEAREST = 200  # among which those of the last week are looked for: that many older ones nobody keeps


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """`degraded` says `literal` when nothing could be found by meaning."""

    page: Page[FoundCapsule]
    degraded: str | None = None


async def find(
    services: Services, principal: Principal, text: str, mode: Mode, wanted: store.CapsuleFilter, page: PageRequest
) -> Results:
    """Literal: every word of it, the newest first, page by page. Semantic and hybrid: the best, on one page."""
    if mode == "literal":
        return Results(page=await _literal(services, principal, text, wanted, page))
    style = Style(talk=False, words=mode == "hybrid")
    capsules, degraded = await _by_meaning(services, principal, text, wanted, page.limit, style)
    if degraded:
        every_word = await _literal(services, principal, text, wanted, page)
        if every_word.items or page.after is not None:
            return Results(page=every_word, degraded="literal")
        # A question in whole sentences: some of its words have to do.
        capsules, _ = await _by_meaning(services, principal, text, wanted, page.limit, NOTES)
    return Results(page=Page(items=capsules, next_cursor=None), degraded="literal" if degraded else None)


async def related(
    services: Services, principal: Principal, text: str, project_id: str | None = None
) -> list[FoundCapsule]:
    """The few that fit to what is being written: for chips above an input."""
    wanted = store.CapsuleFilter(project_id=project_id)
    capsules, _ = await _by_meaning(services, principal, text, wanted, RELATED, SEVERAL_NOTES)
    return [capsule for capsule in capsules if capsule.relevance >= RELATED_FROM]


async def similar_to(conn: Connection, space: int, first: FirstVector | None, *, since: datetime) -> list[Similar]:
    """What was kept since then and begins nearly the same, the nearest first."""
    near = await lookup.nearest(
        conn, space, first, above=LIKELY_DUPLICATE, limit=_NEAREST, since=since, beginnings=True
    )  # fmt: skip
    titles = await store.titles(conn, space, list(near))
    similar = [
        Similar(id=capsule_id, title=titles[capsule_id], similarity=round(similarity, 4))
        for capsule_id, similarity in near.items()
        if capsule_id in titles
    ]
    return sorted(similar, key=lambda capsule: (-capsule.similarity, capsule.id))[:_SHOWN_SIMILAR]


async def _by_meaning(
    services: Services, principal: Principal, text: str, wanted: store.CapsuleFilter, limit: int, style: Style
) -> tuple[list[FoundCapsule], bool]:
    question = Question(text=text, speaker=None, asked_at=services.clock())
    asked = await lookup.ask(services, question, _survey(services, principal, wanted))
    if asked.place.empty:
        return [], False
    async with services.db.transaction(asked.place.scope) as conn:
        matches = await lookup.find(conn, asked, limit=limit, style=style)
        capsules = await memories.by_ids(conn, store.SHAPE, matches.ids)
    shown = [
        FoundCapsule(capsule=capsules[hit.source_id], relevance=hit.relevance, snippet=snippet(hit.window, text))
        for hit in matches.hits
        if hit.source_id in capsules
    ]
    return shown, matches.degraded is not None


async def _survey(services: Services, principal: Principal, wanted: store.CapsuleFilter) -> SearchPlace:
    """The caller's vault, and which of its capsules are meant."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        await require_project(conn, principal, wanted.project_id)
        vault = await candidates.find_and_survey(conn, kind="vault", name=user_id, owner=user_id)
        if vault is None:
            raise NotFound("There is no such user.")
        space, size = vault
        place = SearchPlace(scope=space_scope(principal, space), size=size)
        if wanted.anything:
            return place
        await enter(conn, place.scope)
        return replace(place, sources=tuple(await store.ids_of(conn, space, wanted)))


async def _literal(
    services: Services, principal: Principal, text: str, wanted: store.CapsuleFilter, page: PageRequest
) -> Page[FoundCapsule]:
    asked = list(dict.fromkeys(terms(text)))
    place = await _survey(services, principal, wanted)
    space, size = place.space, place.size
    async with services.db.transaction(place.scope) as conn:
        matched = await store.with_all_terms(conn, space, asked, limit=_MOST_MATCHES)
        capsules = await store.page(conn, space, wanted, page, ids=list(matched))
        best = [matched[capsule.id] for capsule in capsules.items]
        windows = {row.passage: row.text for row in await candidates.alone(conn, [space], best)}
        frequencies = await candidates.document_frequencies(conn, [space], asked)
        weights = {term: float(idf(n, size.passages)) for term, n in frequencies.items()}
        scores = await candidates.scores(conn, [space], weights, best, average=size.average)
    full = full_match(frequencies, size.passages)
    shown = [
        FoundCapsule(
            capsule=capsule,
            relevance=round(min(1.0, scores.get(matched[capsule.id], 0.0) / full), 4),
            snippet=snippet(windows.get(matched[capsule.id], capsule.content_md), text),
        )
        for capsule in capsules.items
    ]
    return Page(items=shown, next_cursor=capsules.next_cursor)
