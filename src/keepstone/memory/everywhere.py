"""One search over everything that the caller may see: capsules, chats, memories, documents, rooms, nodes and scopes.

For somebody who types and looks: what is called so first, then what has the words or others that begin so, then what
means the same and is relevant enough, so that nothing is found where there is nothing. It is asked with every pause of
a hand, so it costs no credit, is no query of the month, and leaves no trace; what it may look at is bounded, and it
waits for meaning only so long.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from keepstone.access.readscope import account_scope, space_scope
from keepstone.engine import floors, lookup, second_look
from keepstone.engine.gathered import CANDIDATES, SEVERAL_NOTES
from keepstone.engine.language.scripts import HAN
from keepstone.engine.snippets import snippet
from keepstone.engine.terms import AskedWord, asked_words, words
from keepstone.model.found import FoundEverywhere, FoundGroup, FoundThing, SearchedSpace, ThingKind, WhereFound
from keepstone.model.principal import KeySurface, Principal
from keepstone.services import Services
from keepstone.store import everywhere as store
from keepstone.store.db import Connection, enter
from keepstone.store.everywhere import FoundRow

MOST = 20
_PATIENCE = 3.0  # seconds for what means the same
_WORDED = 150  # passages with the words that are looked at
_SHORT = 3  # letters from which on a name may also have it inside a word
_TITLE, _SNIPPET = 90, 180  # characters
# Which way in each kind of place is behind: a key that is not for it sees nothing of it.
_SURFACE: Mapping[str, KeySurface] = {
    "vault": "capsules", "workspace": "workspaces", "room": "rooms", "dm": "rooms", "profile": "rooms",
    "project": "rooms", "entity": "mem0", "graph": "graphs", "scope": "scopes",
}  # fmt: skip
_OF_MEMORY: Mapping[str, ThingKind] = {"capsule": "capsule", "node": "node"}
_TALKED_IN: Mapping[str, ThingKind] = {"room": "room", "dm": "room", "scope": "scope"}
_ORDER: tuple[ThingKind, ...] = ("capsule", "chat", "memory", "document", "room", "node", "scope")
_BREAKS = re.compile(r"[\W_]+")
_MARKUP = re.compile(r"^[\s#>*+-]+|[*_`]+")


@dataclass(slots=True, kw_only=True)
class _Hits:
    """What was found before it is known what it is: by its words, the latest first, and by its meaning, with how
    relevant it is; of each the text that speaks for it.
    """

    named: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    texts: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    worded: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    relevance: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])

    def ids(self, kind: str) -> list[str]:
        found = (name for source, name in (*self.worded, *self.relevance) if source == kind)
        return list(dict.fromkeys([*self.named.get(kind, ()), *found]))

    def rank(self, source: str, name: str, called: int) -> tuple[float, ...]:
        """The larger, the better: how well its name fits, whether it has the words, how relevant it is."""
        key = (source, name)
        return called, key in self.worded, self.relevance.get(key, 0.0), -self.worded.get(key, 0)


async def find_everything(services: Services, principal: Principal, q: str, *, limit: int = 5) -> FoundEverywhere:
    """The best of each kind, at most `limit`; the kind with the best of all first."""
    text = q.strip()
    told = _plain(text)
    if not told:
        return FoundEverywhere(groups=[], degraded=None)
    surfaces = principal.reach.surfaces
    kinds = [kind for kind, surface in _SURFACE.items() if surfaces is None or surface in surfaces]
    names = [f" {word}" if len(word) < _SHORT and not HAN.search(word) else word for word in told.split()]
    async with services.db.transaction(account_scope(principal)) as conn:
        spaces = {one.space: one for one in await store.spaces_of(conn, principal.user_id, kinds, names)}
        # In no space: a key that was made for some has nothing to do with them.
        meets = principal.user_id is not None and "dm" in kinds and principal.reach.spaces is None
        agents = await store.agents_named(conn, names, limit) if meets else {}
        await enter(conn, space_scope(principal, *spaces))
        hits = _Hits(named=await store.named(conn, list(spaces), names, 2 * limit))
        asked = asked_words(text)
        if asked and spaces:
            _note_words(hits, await store.with_words(conn, list(spaces), _as_stored(asked), _WORDED), asked)
    degraded = None
    if spaces and len(told) >= (2 if HAN.search(told) else _SHORT):
        try:
            async with asyncio.timeout(_PATIENCE):
                degraded = await _note_meaning(services, principal, text, list(spaces), hits)
        except TimeoutError:
            degraded = "literal"
    async with services.db.transaction(space_scope(principal, *spaces)) as conn:
        things = await _things(conn, hits, spaces, text, services.clock())
    things += _places(spaces.values(), agents, told)
    return FoundEverywhere(groups=_grouped(things, limit), degraded=degraded)


def _as_stored(asked: Sequence[AskedWord]) -> list[tuple[str, str | None]]:
    return [(word.term, word.beginning) for word in asked]


def _note_words(hits: _Hits, passages: Sequence[store.WordedPassage], asked: Sequence[AskedWord]) -> None:
    for place, passage in enumerate(passages):
        there = [(word.term, passage.text[word.start : word.end]) for word in words(passage.text)]
        if all(any(one.met_by(*word) for word in there) for one in asked):
            key = (passage.source_kind, passage.source_id)
            hits.worded.setdefault(key, place)
            hits.texts.setdefault(key, passage.text)


async def _note_meaning(
    services: Services, principal: Principal, text: str, spaces: Sequence[int], hits: _Hits
) -> str | None:
    """`literal` if there was no embedder to ask."""

    async def survey() -> lookup.SearchPlace:
        async with services.db.transaction(scope) as conn:
            return await lookup.survey(conn, scope)

    scope = space_scope(principal, *spaces)
    question = lookup.question(text, asked_at=services.clock(), zone=principal.timezone)
    asked = await lookup.ask(services, question, survey(), any_language=True)
    if asked.place.empty:
        return None
    async with services.db.transaction(asked.place.scope) as conn:
        found = await lookup.find(conn, asked, limit=CANDIDATES, style=SEVERAL_NOTES)
    for hit in second_look.above(second_look.by_meaning(asked.question, found, floors.SEARCH), floors.SEARCH):
        key = (hit.source_kind, hit.source_id)
        hits.relevance.setdefault(key, hit.relevance)
        hits.texts.setdefault(key, hit.window)
    return None if found.degraded is None else "literal"


_Ranked = tuple[tuple[float, ...], FoundThing]


async def _things(
    conn: Connection, hits: _Hits, spaces: Mapping[int, SearchedSpace], text: str, now: datetime
) -> list[_Ranked]:
    told = _plain(text)
    said = await store.messages_found(conn, hits.ids("message"))
    rows = {
        "memory": await store.memories_found(conn, hits.ids("memory"), now),
        "document": await store.documents_found(conn, hits.ids("document")),
        "chat": await store.chats_found(conn, hits.ids("chat")),
        "message": said,
    }
    things: list[_Ranked] = []
    for source, found in rows.items():
        for row in found.values():
            place = spaces.get(row.space)
            if place is None:
                continue
            window = hits.texts.get((source, row.id), row.beginning)
            shown = snippet(window, text, _SNIPPET, begun=True) if window else None
            thing = _message(row, place, shown) if source == "message" else _thing(source, row, place, shown)
            called = _called(thing.title, told) if source != "message" else 0
            things.append((hits.rank(source, row.id, called), thing))
    return things


def _thing(source: str, row: FoundRow, place: SearchedSpace, shown: str | None) -> FoundThing:
    kind: ThingKind = "document" if source == "document" else "chat" if source == "chat" else "memory"
    if source == "memory":
        kind = _OF_MEMORY.get(row.kind, "memory")
    where = _where(place, chat_id=row.id if source == "chat" else None)
    return FoundThing(
        kind=kind, id=row.id, title=row.title or _beginning(row.beginning), snippet=shown, where=where, at=row.at
    )


def _message(row: FoundRow, place: SearchedSpace, shown: str | None) -> FoundThing:
    """What was said is found where it was said: the chat, the room, the scope."""
    where = _where(place, chat_id=row.inside, message_id=row.id)
    if row.inside is not None:
        return FoundThing(kind="chat", id=row.inside, title=row.title, snippet=shown, where=where, at=row.at)
    kind: ThingKind = "scope" if place.kind == "scope" else "room"
    return FoundThing(kind=kind, id=place.name, title=place.title, snippet=shown, where=where, at=row.at)


def _places(
    spaces: Iterable[SearchedSpace], agents: Mapping[str, tuple[str, datetime]], told: str
) -> list[_Ranked]:  # fmt: skip
    """Rooms, direct messages and scopes that are called so; also an agent that nobody has talked with yet."""
    found: dict[tuple[str, str], _Ranked] = {}
    for slug, (name, at) in agents.items():
        where = WhereFound(place="dm", name=name, agent=slug)
        thing = FoundThing(kind="room", id=slug, title=name, snippet=None, where=where, at=at)
        found["room", slug] = ((max(_called(name, told), _called(slug, told)), 0, 0, 0), thing)
    for place in spaces:
        kind = _TALKED_IN.get(place.kind)
        called = _called(place.title, told)
        if kind is not None and place.part is None and called:
            thing = FoundThing(
                kind=kind, id=place.name, title=place.title, snippet=None, where=_where(place), at=place.at
            )
            found[kind, place.name] = ((called, 0, 0, 0), thing)
    return list(found.values())


def _where(place: SearchedSpace, *, chat_id: str | None = None, message_id: str | None = None) -> WhereFound:
    """A memory of a room is of the agent in whose part it lies."""
    agent = place.name if place.kind == "dm" else place.part if place.kind in {"room", "profile", "project"} else None
    return WhereFound(
        place=place.kind, name=place.title, chat_id=chat_id, message_id=message_id, agent=agent or None,
        workspace_id=place.name if place.kind == "workspace" else None,
        room_id=place.name if place.kind == "room" else None,
        project_id=place.name if place.kind == "project" else None,
        graph_id=place.name if place.kind == "graph" else None,
        scope_id=place.name if place.kind == "scope" else None, entity=place.entity,
    )  # fmt: skip


def _grouped(things: Sequence[_Ranked], limit: int) -> list[FoundGroup]:
    """Each thing once, under its best; what several agents remember of a room in the same words, too."""
    things = sorted(things, key=lambda one: (one[0], one[1].at), reverse=True)
    groups: dict[ThingKind, dict[tuple[str, ...], FoundThing]] = {}
    for _, thing in things:
        group = groups.setdefault(thing.kind, {})
        same = (
            (thing.title, str(thing.where.room_id)) if thing.kind == "memory" and thing.where.room_id else (thing.id,)
        )
        if same in group:
            # Called so, and spoken of there: shown by its name, with what was said.
            known = group[same]
            if known.snippet is None and thing.snippet is not None:
                group[same] = FoundThing(
                    kind=known.kind, id=known.id, title=known.title, snippet=thing.snippet, where=thing.where,
                    at=known.at,
                )  # fmt: skip
        elif len(group) < limit:
            group[same] = thing
    best = {thing.kind: rank for rank, thing in reversed(things)}
    order = sorted(groups, key=lambda kind: (*(-part for part in best[kind][:2]), _ORDER.index(kind)))
    return [FoundGroup(kind=kind, items=list(groups[kind].values())) for kind in order]


def _plain(text: str) -> str:
    return _BREAKS.sub(" ", text.casefold()).strip()


def _called(name: str, told: str) -> int:
    """How well a name fits: it is that, begins so, has words that begin so, has it somewhere; or not at all."""
    plain = _plain(name)
    if plain == told:
        return 4
    if plain.startswith(told):
        return 3
    if all(f" {word}" in f" {plain}" for word in told.split()):
        return 2
    short = len(told) < _SHORT and not HAN.search(told)
    return int(not short and all(word in plain for word in told.split()))


def _beginning(text: str) -> str:
    """Of what has no name, its first line."""
    line = next((one for one in (_MARKUP.sub("", line).strip() for line in text.splitlines()) if one), "")
    return line if len(line) <= _TITLE else f"{line[:_TITLE].rsplit(' ', 1)[0]} …"
