"""What `conductor_ask` does: a mode is an operation on the caller's capsules, and what comes back is put into words.

Stored text is kept and given back as it was saved; what the index takes in of it, without quotations, is the engine's
business.
"""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from keepstone.access.rates import RATE_LIMITED, admit
from keepstone.engine.dates import labelled_day, zone_named
from keepstone.engine.quotation import quote
from keepstone.errors import KeepstoneError
from keepstone.memory import capsule_search, capsules
from keepstone.memory.again import told_as
from keepstone.model.capsule import Capsule, FoundCapsule, NewCapsule
from keepstone.model.memory import TRASH_DAYS
from keepstone.model.page import PageRequest
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store.capsules import CapsuleFilter
from keepstone.surfaces.mcp.answer import ToolRefusal, answered, result, shown
from keepstone.surfaces.mcp.arguments import ConductorArguments, read_arguments
from keepstone.surfaces.mcp.tool import CAPSULE_FIELDS, NAMED_FIELDS

READS = frozenset({"search_memory", "get_memory"})
_ADVICE = {
    "conflict": "With forget_memory you can remove one of two that are the same.",
    "quota_exceeded": "Tell the user. forget_memory makes room.",
    "capsule_too_large": "Save it in several parts.",
    RATE_LIMITED: "Wait a little, then try again.",
    "UPSTREAM_ERROR": "Try once more; if it fails again, tell the user.",
    "disk_full": "Nothing can be stored on this server now. Tell the user, who has to tell whoever runs it.",
    "unavailable": "Try once more in a few seconds; if it fails again, tell the user.",
}


async def ask(
    services: Services, principal: Principal, raw: Mapping[str, Any], *, request_id: str = ""
) -> dict[str, Any]:
    """One call of the tool. Whatever goes wrong is an answer that says what to do."""

    async def work() -> dict[str, Any]:
        await admit(services, principal)
        arguments = read_arguments(raw)
        if arguments.mode not in READS:
            principal.reach.require_write()
        if arguments.mode not in {*READS, "forget_memory"}:
            services.disk.require_room()
        text, structured = await _do(services, principal, arguments)
        return result(text, {"mode": arguments.mode, **structured})

    def refuse(fault: KeepstoneError) -> ToolRefusal:
        return ToolRefusal(fault.code, _advice(fault.code, raw))

    return await answered(work(), refuse, request_id=request_id)


async def _do(services: Services, principal: Principal, asked: ConductorArguments) -> tuple[str, dict[str, Any]]:
    capsule_id = asked.id or ""
    match asked.mode:
        case "save_memory":
            return await _save(services, principal, asked)
        case "search_memory":
            return await _search(services, principal, asked)
        case "get_memory":
            capsule = await capsules.get(services, principal, capsule_id)
            return quote(f"{_line(capsule, principal)}\n\n{capsule.content_md}"), {"capsule": _shown(capsule)}
        case "update_memory":
            after = await capsules.update(services, principal, capsule_id, asked.changes)
            said = f"Changed ({', '.join(asked.changes)}); what it was stays in its history."
            return f"{said}\n{quote(_line(after, principal))}", {"capsule": _shown(after)}
        case "forget_memory":
            await capsules.delete(services, principal, capsule_id)
            said = f"Forgotten. For {TRASH_DAYS} days restore_memory brings it back: keep the id {capsule_id} at hand."
            return said, {"forgotten": capsule_id}
        case "restore_memory":
            back = await capsules.restore(services, principal, capsule_id)
            return f"Restored.\n{quote(_line(back, principal))}", {"capsule": _shown(back)}


async def _save(services: Services, principal: Principal, asked: ConductorArguments) -> tuple[str, dict[str, Any]]:
    new = NewCapsule(
        content_md=asked.content_md or "", title=asked.title, kind=asked.kind or "note", tags=asked.tags or [],
        project_id=asked.project_id,
    )  # fmt: skip
    made = await capsules.create(services, principal, new)
    text = f"This was saved already.{told_as(made.added)}" if made.existing else "Saved."
    text += f"\n{_line(made.capsule, principal)}"
    if made.similar:
        near = "\n".join(f"- {near.id} {near.title}" for near in made.similar)
        text += (
            f"\nKept in the last week and nearly the same:\n{quote(near)}\nIf it is the same thing, ask the user "
            "whether to put it into one with update_memory and remove the other with forget_memory."
        )
    if made.capsule.moved_to_cold:
        moved = ", ".join(made.capsule.moved_to_cold)
        text += f"\nThe plan is full. What was not used for longest was moved to the cold tier, for 30 days: {moved}."
    similar = [{"id": near.id, "title": near.title, "similarity": near.similarity} for near in made.similar]
    return text, {
        "capsule": _shown(made.capsule), "similar": similar, "existing": made.existing, "added": made.added,
        "moved_to_cold": list(made.capsule.moved_to_cold),
    }  # fmt: skip


async def _search(services: Services, principal: Principal, asked: ConductorArguments) -> tuple[str, dict[str, Any]]:
    tags = asked.tags or []
    wanted = CapsuleFilter(tags=tuple(tags), kind=asked.kind, project_id=asked.project_id)
    page = PageRequest(limit=asked.limit)
    results = await capsule_search.find(
        services, principal, asked.query or "", "hybrid", wanted, page, asked.min_relevance
    )
    hits = results.page.items
    structured: dict[str, Any] = {"hits": [_hit(hit) for hit in hits]}
    if results.degraded:
        structured["degraded"] = results.degraded
    if results.trace_id:
        structured["trace_id"] = results.trace_id
    if not hits:
        shown_all = asked.min_relevance == 0
        return _nothing(not wanted.anything, results.degraded is not None, shown_all), structured
    return _listed(hits, principal, degraded=results.degraded is not None), structured


def _nothing(narrowed: bool, degraded: bool, shown_all: bool) -> str:
    tries = ["Try other words"] if shown_all else ["Try other words", "set min_relevance to 0"]
    if degraded:
        tries = ["Only words can be looked for just now: try again with those that must stand in it"]
    if narrowed:
        tries.append("leave tags, kind and project_id out")
    return f"Nothing found. {', or '.join(tries)}. If it stays so, it was not saved."


def _listed(hits: Sequence[FoundCapsule], principal: Principal, *, degraded: bool) -> str:
    by_words = " by words alone" if degraded else ""
    lines = [f"{_line(hit.capsule, principal, f'relevance {hit.relevance:.2f}')}\n  {_snippet(hit)}" for hit in hits]
    return (
        f"{len(hits)} found{by_words}, the best first:\n{quote(chr(10).join(lines))}\n"
        "get_memory with an id gives the whole text."
    )


def _line(capsule: Capsule, reader: Principal, *more: str) -> str:
    tags = [f"tags: {', '.join(capsule.tags)}"] if capsule.tags else []
    project = [f"project: {' '.join(capsule.project['name'].split())}"] if capsule.project else []
    about = "; ".join([capsule.kind, *tags, *project, *more])
    kept = labelled_day(capsule.created_at, zone_named(reader.timezone))
    return f"- {capsule.id} **{' '.join(capsule.title.split())}** ({kept}; {about})"


def _snippet(hit: FoundCapsule) -> str:
    """Without its HTML and marks, and without the title, which stands beside it."""
    plain = html.unescape(hit.snippet.replace("<mark>", "").replace("</mark>", ""))
    return plain.removeprefix(" ".join(hit.capsule.title.split())).strip() or plain


def _shown(capsule: Capsule) -> dict[str, Any]:
    return shown(capsule, CAPSULE_FIELDS, project_id=capsule.in_project)


def _hit(hit: FoundCapsule) -> dict[str, Any]:
    brief = shown(hit.capsule, NAMED_FIELDS, project_id=hit.capsule.in_project)
    return {**brief, "snippet": _snippet(hit), "relevance": hit.relevance}


def _advice(code: str, raw: Mapping[str, Any]) -> str:
    if code != "not_found":
        return _ADVICE.get(code, "")
    advice = ["Leave project_id out, or ask the user for it."] if raw.get("project_id") else []
    if raw.get("id"):
        advice.append(
            "Look for it with search_memory and use the id that it shows; what was forgotten comes back with "
            f"restore_memory, within {TRASH_DAYS} days."
        )
    return " ".join(advice)
