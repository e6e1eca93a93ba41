"""What a prompt was composed of, and what had no room in it, in a trace's words; and who else may read that."""

from dataclasses import dataclass

from keepstone.engine.search import Matches
from keepstone.engine.traced import TraceDescription, TraceDraft, cut_up, found
from keepstone.memory.audience import Audience
from keepstone.memory.prompt import Composed, Layers
from keepstone.model.trace import HandedPiece, LeftOut, TraceCandidate


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLayers:
    """The layers as they were read, and what the search behind them looked at."""

    layers: Layers
    matches: Matches | None


def end_trace(trace: TraceDraft, audience: Audience, composed: Composed, layers: Layers, read: ReadLayers) -> None:
    """What was composed in a room for a message that was said there is also for the others in it, as far as each of
    them sees what it quotes. What nobody said there yet is the asker's alone, and so are direct messages.
    """
    trace.question_id = layers.said
    in_room = audience.room.agent is None and layers.said is not None
    trace.end(
        lambda: _described(audience, composed, layers, read),
        tokens=composed.prompt_tokens,
        readers=[person.user_id for person in audience.participants] if in_room else [],
    )


def _described(audience: Audience, composed: Composed, layers: Layers, read: ReadLayers) -> TraceDescription:
    [first, *said, asked] = composed.messages
    instructions = audience.agent.instructions
    quoted = [
        ([name] if name else _behind(layers, read.layers), line) for name, line in composed.lines.items()
    ]  # fmt: skip
    quoted += [([f"agent:{audience.agent.slug}"], instructions)] if instructions else []
    words = [
        HandedPiece(role=line["role"], text=line["content"], sources=[message.id])
        for line, message in zip(said, layers.working[len(layers.working) - len(said) :], strict=True)
    ]
    own = HandedPiece(role=asked["role"], text=asked["content"], sources=[layers.said] if layers.said else [])
    return TraceDescription(
        candidates=_candidates(composed, read),
        handed=[*cut_up(first["content"], quoted, role=first["role"]), *words, own],
        people={person.user_id for person in audience.participants},
        parameters={
            "window": composed.window,
            "compacted": composed.compacted,
            "sections": [
                {"layer": part.layer, "name": part.name, "tokens": part.tokens, "ids": part.ids}
                for part in composed.sections
            ],
        },
    )


def _behind(*layers: Layers) -> list[str]:
    """All that a compaction may stand for that is nowhere but in this prompt."""
    names = [message.id for layer in layers for message in layer.compacted]
    for layer in layers:
        if layer.compaction is not None:
            names += [*filter(None, [layer.compaction.id]), *layer.compaction.source_ids]
    return list(dict.fromkeys(names))


def _candidates(composed: Composed, read: ReadLayers) -> list[TraceCandidate]:
    """What was found, with its scores; then what stood there anyway."""
    layers, used = read.layers, composed.lines
    candidates = found(read.matches, used, otherwise="no_room") if read.matches is not None else []
    known = {candidate.id for candidate in candidates}
    verbatim = {message.id for message in layers.working} | {layers.said or ""}

    def why_not(name: str) -> LeftOut | None:
        if name in used:
            return None
        behind = layers.behind.get(name)
        return "duplicate" if behind is not None and behind <= verbatim else "no_room"

    standing = [
        *(("landmark", mark.id, mark.text) for mark in layers.landmarks),
        *(("fact", fact.id, f"{fact.key} = {fact.value}") for fact in layers.structured),
        *(("summary", summary.id, summary.content) for summary in layers.episodic),
    ]
    candidates += [
        TraceCandidate(id=name, kind=kind, text=text, left_out=why_not(name))
        for kind, name, text in standing
        if name not in known
    ]
    # What was handed out first: of very many, those that were not are cut off.
    return sorted(candidates, key=lambda candidate: candidate.left_out is not None)
