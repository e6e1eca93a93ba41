"""What stood before a model in a turn, and what did not, in a trace's words."""

from collections.abc import Collection, Sequence

from keepstone.engine.injection import MANY_NEED, InjectedBlock, InjectionCandidate, is_chatter
from keepstone.engine.search import Hit
from keepstone.engine.traced import TraceDescription, cut_up
from keepstone.memory.workspace_search import MayMatter
from keepstone.model.chat import ChatMemory
from keepstone.model.memory import Recalled
from keepstone.model.trace import LeftOut, TraceCandidate
from keepstone.services import Services


def injection_described(
    services: Services, said: str, found: MayMatter | None, memories: Sequence[Recalled[ChatMemory]],
    given: Sequence[InjectionCandidate], chosen: Collection[int], block: InjectedBlock, *, few: bool,
) -> TraceDescription:  # fmt: skip
    """`memories` and `given` are the same in the same order; `chosen` were to stand there if there was room."""
    hits = {hit.source_id: hit for hit in found.matches.hits} if found and found.matches else {}
    floor = services.settings.inject_relevance if few else max(services.settings.inject_relevance, MANY_NEED)

    def why_not(number: int, candidate: InjectionCandidate) -> LeftOut | None:
        if number in block.lines:
            return None
        if number in chosen:
            return "no_room"
        wanted = candidate.wish is None and candidate.worth >= floor and not is_chatter(said)
        return "over_limit" if wanted else "below_floor"

    candidates = [
        TraceCandidate(
            id=item.memory.id, kind="memory", text=item.memory.content, score=_score(hits.get(item.memory.id)),
            relevance=round(candidate.worth, 4), why=_why(hits.get(item.memory.id), candidate),
            left_out=why_not(number, candidate),
        )
        for number, (item, candidate) in enumerate(zip(memories, given, strict=True))
    ]  # fmt: skip
    candidates.sort(key=lambda one: (one.left_out is not None, -(one.relevance or 0.0)))
    candidates += [
        TraceCandidate(id=memory.id, kind="memory", text=memory.content, left_out="superseded")
        for memory in (found.superseded if found else ())
    ]
    return TraceDescription(
        candidates=candidates,
        handed=cut_up(block.text, [((memories[number].memory.id,), line) for number, line in block.lines.items()]),
        people={item.memory.user_id for item in memories if item.memory.user_id is not None},
        parameters={"min_relevance": floor},
    )


def _score(hit: Hit | None) -> float | None:
    return None if hit is None else round(hit.score, 4)


def _why(hit: Hit | None, candidate: InjectionCandidate) -> dict[str, float]:
    """What the search goes by; how relevant it found it; what a judge thinks; and whether it is a standing wish."""
    why = dict(hit.why) if hit is not None else {}
    why["found"] = round(candidate.relevance, 4)
    why |= {"judged": round(candidate.wanted, 4)} if candidate.wanted is not None else {}
    return why | ({"wish": 1.0} if candidate.wish is not None else {})
