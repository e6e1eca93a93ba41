"""Looking into a workspace: for memories alone, or for memories, documents, artifacts and messages of chats."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Literal

from keepstone.access.readscope import space_scope
from keepstone.engine import floors, lookup, traced
from keepstone.engine.gathered import NOTES, SearchPlace
from keepstone.engine.injection import FEW, LEAST
from keepstone.engine.search import Hit, Matches
from keepstone.engine.snippets import snippet
from keepstone.memory import shelf, workspaces
from keepstone.model.chat import ChatMemory
from keepstone.model.document import Document
from keepstone.model.memory import Recalled
from keepstone.model.principal import Principal
from keepstone.model.workspace import Workspace
from keepstone.services import Services
from keepstone.store import candidates, chat_memories, chats, documents, passages
from keepstone.store.chats import SaidInChat
from keepstone.store.db import Connection, enter

Type = Literal["memory", "document", "artifact", "message"]
TYPES: tuple[Type, ...] = ("memory", "document", "artifact", "message")
PUT_THERE: tuple[Type, ...] = ("memory", "document", "artifact")  # and not only said
RECALL, MOST_RECALLED = 5, 20
# Whoever looks sees more than what is put before a model unasked: also what is about as near to the question as
# something above the floor.
_AS_NEAR = 0.9
_NEARNESS = ("maxsim", "meaning", "multilingual", "bm25")
_MOST_STANDING = 100
_LOOKED_AT = 50  # results at least, so that one page after the other is cut from the same list
_FOUND_OF_MANY = 20  # results for a turn: more than it is given, as some of them may no longer hold


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceResult:
    """`place` is where in a document: page, heading, and the characters from start to end; or of a message: in which
    chat, by whom, and when.
    """

    type: Type
    id: str
    title: str | None
    text: str
    snippet: str
    relevance: float
    category: str | None = None
    place: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceResults:
    """`degraded` says `terms` when nothing could be found by meaning."""

    items: list[WorkspaceResult]
    degraded: str | None


async def recall(
    services: Services,
    principal: Principal,
    workspace_id: str | None,
    query: str,
    *,
    limit: int = RECALL,
    offset: int = 0,
    floor: float | None = None,
) -> list[Recalled[ChatMemory]]:
    """The memories that the query is about, the most relevant first; with a `floor` none of less relevance."""
    trace = traced.begin(services, principal, "recall", query, limit=limit, offset=offset or None, min_relevance=floor)
    question = lookup.question(query, asked_at=services.clock(), zone=principal.timezone)
    asked = await lookup.ask(services, question, _survey(services, principal, workspace_id, {"memory"}))
    trace.asked_of(asked.place.scope, question=asked.question)
    trace.step("look up")
    if asked.place.empty:
        trace.end()
        return []
    async with services.db.transaction(asked.place.scope) as conn:
        many = offset + limit if floor is not None else max(offset + limit, _LOOKED_AT)
        matches = await lookup.find(conn, asked, limit=many, floor=floor, style=NOTES)
        worth = matches.hits if floor is not None else worth_showing(matches.hits)
        hits = worth[offset : offset + limit]
        recalled = shelf.recalled(hits, await chat_memories.by_ids(conn, [hit.source_id for hit in hits]))
    trace.step("search")
    handed = {item.memory.id: (item.memory.user_id, item.memory.content) for item in recalled}
    trace.end(lambda: traced.of_search(matches, handed, worth=worth))
    return recalled


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMemories:
    """What a turn may need whatever it is about: all that a workspace remembers where those are `few`, else the
    standing wishes, which no question finds.
    """

    memories: Sequence[ChatMemory]
    few: bool


async def known_memories(conn: Connection, workspace: Workspace) -> KnownMemories:
    # Superseded ones are counted too, so only a small number says for sure that there are few.
    few = workspace.memory_count <= FEW or not await chat_memories.more_than(conn, workspace.space, FEW)
    if few:
        return KnownMemories(memories=await chat_memories.newest(conn, workspace.space, FEW), few=True)
    return KnownMemories(memories=await chat_memories.standing(conn, workspace.space, _MOST_STANDING), few=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MayMatter:
    """`superseded` no longer holds; `matches` is what the question found, if it was looked for."""

    holding: list[Recalled[ChatMemory]]
    superseded: list[ChatMemory]
    matches: Matches | None


async def may_matter(services: Services, known: KnownMemories, asked: lookup.AskedOf[SearchPlace] | None) -> MayMatter:
    """What may have to do with a turn: what is known whatever it is about, and of many what the question finds."""
    relevance: dict[str, float] = {}
    matches: Matches | None = None
    memories = list(known.memories)
    if asked is not None and not asked.place.empty:
        limit, floor = (_LOOKED_AT, None) if known.few else (_FOUND_OF_MANY, LEAST)
        async with services.db.transaction(asked.place.scope) as conn:
            matches = await lookup.find(conn, asked, limit=limit, floor=floor, style=NOTES, count=2 * _LOOKED_AT)
            relevance = {hit.source_id: hit.relevance for hit in reversed(matches.hits)}
            listed = {memory.id for memory in memories}
            unread = [] if known.few else [name for name in relevance if name not in listed]
            memories += (await chat_memories.by_ids(conn, unread)).values() if unread else ()
    holding = [memory for memory in memories if memory.superseded_by is None]
    return MayMatter(
        holding=[Recalled(memory=memory, relevance=relevance.get(memory.id, 0.0)) for memory in holding],
        superseded=[memory for memory in memories if memory.superseded_by is not None],
        matches=matches,
    )


async def find(
    services: Services,
    principal: Principal,
    workspace_id: str | None,
    query: str,
    *,
    limit: int = 10,
    offset: int = 0,
    types: Sequence[Type] = (),
    but_chat: str | None = None,
) -> WorkspaceResults:
    """Memories, parts of documents and artifacts, and what was said in chats, in one order, each with what and where it
    is. `but_chat` is one whose messages are not wanted: whoever asks has them before them.
    """
    trace = traced.begin(services, principal, "search", query, limit=limit, offset=offset or None)
    question = lookup.question(query, asked_at=services.clock(), zone=principal.timezone)
    wanted = set(types) or set(TYPES)
    asked = await lookup.ask(services, question, _survey(services, principal, workspace_id, wanted, but_chat))
    trace.asked_of(asked.place.scope, question=asked.question)
    trace.step("look up")
    if asked.place.empty:
        trace.end()
        return WorkspaceResults(items=[], degraded=None)
    mixed = len(wanted & {"document", "artifact"}) == 1  # some of what is found is not wanted
    many = max(_LOOKED_AT, 4 * (limit + offset) + 20 if mixed else limit + offset)
    async with services.db.transaction(asked.place.scope) as conn:
        matches = await lookup.find(conn, asked, limit=many, style=NOTES)
        hits = worth_showing(matches.hits)
        memories = await chat_memories.by_ids(conn, _ids(hits, "memory"))
        papers = await documents.by_ids(conn, _ids(hits, "document"))
        await enter(conn, workspaces.scope_of(principal, asked.place.workspace))  # where what was said lies
        said = await chats.said_in_chats(conn, _ids(hits, "message"))
    known = {**memories, **papers, **said}
    results = [_result(hit, query, known[hit.source_id]) for hit in hits if hit.source_id in known]
    kept = [result for result in results if result.type in wanted][offset : offset + limit]
    trace.step("search")
    whose = {name: memory.user_id for name, memory in memories.items()}
    whose |= {name: paper.created_by for name, paper in papers.items()}
    whose |= {name: message.user_id for name, message in said.items()}
    handed = {item.id: (whose[item.id], item.text) for item in kept}
    trace.end(lambda: traced.of_search(matches, handed, worth=hits))
    return WorkspaceResults(items=kept, degraded=matches.degraded)


def worth_showing(hits: Sequence[Hit]) -> list[Hit]:
    """Relevance is the chance to be what was asked for, and falls down the list even where all are alike. So whoever
    has twenty memories of one thing, and asks for them, gets what is as near to the question as the relevant ones.
    """
    sure = [hit for hit in hits if hit.relevance >= floors.WORKSPACE]
    best = {name: max((hit.why.get(name, 0.0) for hit in sure), default=0.0) for name in _NEARNESS}
    return [
        hit
        for hit in hits
        if hit.relevance >= floors.WORKSPACE
        or any(best[name] > 0 and hit.why.get(name, 0.0) >= _AS_NEAR * best[name] for name in _NEARNESS)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _WorkspacePlace(SearchPlace):
    workspace: Workspace


async def _survey(
    services: Services,
    principal: Principal,
    workspace_id: str | None,
    wanted: Collection[Type],
    but_chat: str | None = None,
) -> _WorkspacePlace:
    """Of its parts, those in which what is wanted lies, without what was said in one chat."""
    async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
        lies_in: dict[Type, int] = {
            "memory": workspace.space, "document": workspace.library, "artifact": workspace.library,
            "message": workspace.talk,
        }  # fmt: skip
        scope = space_scope(principal, *sorted({lies_in[one] for one in wanted}))

        async def passes(conn: Connection, some: Sequence[int]) -> set[int]:
            return await passages.not_of_session(conn, scope.spaces, some, str(but_chat))

        return _WorkspacePlace(
            scope=scope, size=await candidates.survey(conn, scope.spaces), workspace=workspace,
            passes=passes if but_chat is not None and "message" in wanted else None,
        )  # fmt: skip


def _ids(hits: Sequence[Hit], kind: str) -> list[str]:
    return [hit.source_id for hit in hits if hit.source_kind == kind]


def _result(hit: Hit, query: str, source: ChatMemory | Document | SaidInChat) -> WorkspaceResult:
    shown = snippet(hit.window, query)
    if isinstance(source, SaidInChat):
        said_at = source.created_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return WorkspaceResult(
            type="message", id=source.id, title=source.chat_title, text=hit.window, snippet=shown,
            relevance=hit.relevance, place={"chat_id": source.chat_id, "role": source.role, "said_at": said_at},
        )  # fmt: skip
    if isinstance(source, ChatMemory):
        return WorkspaceResult(
            type="memory", id=source.id, title=source.summary, text=source.content, snippet=shown,
            relevance=hit.relevance, category=source.category,
        )  # fmt: skip
    return WorkspaceResult(
        type="artifact" if source.kind == "artifact" else "document", id=source.id, title=source.name, text=hit.window,
        snippet=shown, relevance=hit.relevance, place=hit.place,
    )  # fmt: skip
