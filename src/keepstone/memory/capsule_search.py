"""Looking for capsules: by words, by meaning, or both; what is related to a text, and what says nearly the same."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import require_user
from keepstone.engine.bm25 import full_match, idf
from keepstone.engine.embed import First
from keepstone.engine.search import Question, Style, read, read_for, search
from keepstone.engine.snippets import snippet
from keepstone.engine.terms import terms
from keepstone.errors import NotFound
from keepstone.memory.projects import require_project
from keepstone.model.capsule import Found, Similar
from keepstone.model.page import Page, PageRequest, cut_page
from keepstone.model.principal import Principal, ReadScope
from keepstone.services import Services
from keepstone.store import candidates
from keepstone.store import capsules as store
from keepstone.store.db import Connection, enter

Mode = Literal["literal", "semantic", "hybrid"]
NEARLY_THE_SAME = 0.85  # cosine
RELATED = 5
RELATED_FROM = 0.3  # relevance below which a suggestion would only be in the way
_MOST_MATCHES = 100_000
_SHOWN_SIMILAR = 5
_NEAREST = 200  # among which those of the last week are looked for: that many older ones nobody keeps


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """`degraded` says `literal` when nothing could be found by meaning."""

    page: Page[Found]
    degraded: str | None = None


async def find(
    services: Services, principal: Principal, text: str, mode: Mode, wanted: store.Wanted, page: PageRequest
) -> Results:
    """Literal: every word of it, the newest first, page by page. Semantic and hybrid: the best, on one page."""
    if mode == "literal":
        return Results(page=await _literal(services, principal, text, wanted, page))
    found, degraded = await _by_meaning(
        services, principal, text, wanted, page.limit, Style(talk=False, words=mode == "hybrid")
    )
    if degraded:
        every_word = await _literal(services, principal, text, wanted, page)
        if every_word.items or page.after is not None:
            return Results(page=every_word, degraded="literal")
        # A question in whole sentences: some of its words have to do.
        found, _ = await _by_meaning(services, principal, text, wanted, page.limit, Style(talk=False))
        return Results(page=Page(items=found, next_cursor=None), degraded="literal")
    return Results(page=Page(items=found, next_cursor=None))


async def related(services: Services, principal: Principal, text: str, project_id: str | None = None) -> list[Found]:
    """The few that fit to what is being written: for chips above an input."""
    wanted = store.Wanted(project_id=project_id)
    found, _ = await _by_meaning(services, principal, text, wanted, RELATED, Style(talk=False))
    return [one for one in found if one.relevance >= RELATED_FROM]


async def similar_to(conn: Connection, space: int, first: First | None, *, since: datetime) -> list[Similar]:
    """What was kept since then and begins nearly the same, the nearest first."""
    size = await candidates.survey(conn, [space])
    if first is None or first.model not in size.sets:
        return []
    vector, number = first.embedding.pooled, size.sets[first.model]
    near = await candidates.by_vector(conn, [space], number, vector, limit=_NEAREST, indexed=size.indexed)
    close = {passage: value for passage, value in near.items() if value >= NEARLY_THE_SAME}
    placed = [one for one in await candidates.alone(conn, [space], list(close)) if one.part == 0 and one.at >= since]
    titles = await store.titles(conn, space, [one.source_id for one in placed])
    found = [
        Similar(id=one.source_id, title=titles[one.source_id], similarity=round(close[one.passage], 4))
        for one in placed
        if one.source_id in titles
    ]
    return sorted(found, key=lambda one: (-one.similarity, one.id))[:_SHOWN_SIMILAR]


async def _by_meaning(
    services: Services, principal: Principal, text: str, wanted: store.Wanted, limit: int, style: Style
) -> tuple[list[Found], bool]:
    question = Question(text=text, speaker=None, asked_at=services.clock())
    (scope, _, size, ids), asked = await asyncio.gather(_survey(services, principal, wanted), read(services, question))
    if not size.passages or ids == ():
        return [], False
    if ids is not None:
        asked = asked.within(ids)
    asked = await read_for(services, asked, size)
    async with services.db.transaction(scope) as conn:
        found = await search(conn, scope, asked, size, limit=limit, style=style)
        capsules = await store.by_ids(conn, [hit.source_id for hit in found.hits])
    shown = [
        Found(capsule=capsules[hit.source_id], relevance=hit.relevance, snippet=snippet(hit.window, text))
        for hit in found.hits
        if hit.source_id in capsules
    ]
    return shown, found.degraded is not None


async def _survey(
    services: Services, principal: Principal, wanted: store.Wanted
) -> tuple[ReadScope, int, candidates.Survey, tuple[str, ...] | None]:
    """The caller's vault, how large it is, and which capsules are meant; None for all."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        await require_project(conn, principal, wanted.project_id)
        found = await candidates.find_and_survey(conn, kind="vault", name=user_id, owner=user_id)
        if found is None:
            raise NotFound("There is no such user.")
        space, size = found
        scope = space_scope(principal, space)
        if wanted.anything:
            return scope, space, size, None
        await enter(conn, scope)
        return scope, space, size, tuple(await store.ids_of(conn, space, wanted))


async def _literal(
    services: Services, principal: Principal, text: str, wanted: store.Wanted, page: PageRequest
) -> Page[Found]:
    asked = list(dict.fromkeys(terms(text)))
    scope, space, size, _ = await _survey(services, principal, wanted)
    async with services.db.transaction(scope) as conn:
        matched = await store.with_all_terms(conn, space, asked, limit=_MOST_MATCHES)
        capsules = await store.page(conn, space, wanted, after=page.after, limit=page.limit + 1, ids=list(matched))
        best = [matched[capsule.id] for capsule in capsules]
        windows = {one.passage: one.text for one in await candidates.alone(conn, [space], best)}
        frequencies = await candidates.document_frequencies(conn, [space], asked)
        weights = {term: float(idf(n, size.passages)) for term, n in frequencies.items()}
        scores = await candidates.scores(conn, [space], weights, best, average=size.average)
    full = full_match(frequencies, size.passages)
    found = [
        Found(
            capsule=capsule,
            relevance=round(min(1.0, scores.get(matched[capsule.id], 0.0) / full), 4),
            snippet=snippet(windows.get(matched[capsule.id], capsule.content_md), text),
        )
        for capsule in capsules
    ]
    return cut_page(found, page, lambda one: (one.capsule.created_at, one.capsule.id))
