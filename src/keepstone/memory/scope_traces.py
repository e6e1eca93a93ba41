"""What a recall and an answer from a scope were made of, in a trace's words."""

from collections.abc import Collection, Mapping, Sequence
from zoneinfo import ZoneInfo

from keepstone.engine.answer import Answered
from keepstone.engine.pack import Evidence, line
from keepstone.engine.quotation import one_line
from keepstone.engine.search import Matches
from keepstone.engine.traced import TraceDescription, cut_up, found
from keepstone.model.trace import HandedPiece, LeftOut


def of_recall(
    matches: Matches, evidence: Sequence[Evidence], people: Mapping[str, Sequence[str]], context: str, zone: ZoneInfo
) -> TraceDescription:
    """Evidence that the context has no room for was still handed out beside it, and is marked for that."""
    turns = [turn for item in evidence for turn in (item, item.before) if turn is not None]
    lines = {turn.message_id: line(turn, zone) for turn in turns}
    facts = [fact for known in people.values() for fact in known]
    in_context = {name: text for name, text in lines.items() if text in context}
    no_room: dict[str, LeftOut] = {name: "no_room" for name in lines if name not in in_context}
    return TraceDescription(
        candidates=found(matches, in_context, otherwise="gone", reasons=no_room),
        parameters={"people": list(people)} if people else {},
        handed=cut_up(
            context,
            [((name,), text) for name, text in in_context.items()],
            statements=[(fact, text) for fact in facts if (text := f"- {one_line(fact)}") in context],
        ),
    )


def of_answer(
    matches: Matches, evidence: Sequence[Evidence], read: Sequence[Evidence], outdated: Collection[str], answer: str,
    zone: ZoneInfo, answered: Answered | None,
) -> TraceDescription:  # fmt: skip
    """`read` is what a model had before it: its words may be of any of that, so the answer is one piece. Without a
    model it quotes, line by line. `outdated` are ids of what no longer holds; `answered` is what the model was asked.
    """
    superseded: dict[str, LeftOut] = dict.fromkeys(outdated, "superseded")
    used = {item.message_id for item in evidence}
    prompt: list[HandedPiece] = []
    if answered is not None:
        lines = [((item.message_id,), text) for item, text in zip(read, answered.lines, strict=True)]
        prompt = [HandedPiece(text=answered.system, role="system"), *cut_up(answered.prompt, lines, role="user")]
    if read:
        handed = [HandedPiece(text=answer, sources=[item.message_id for item in read])] if answer else []
    else:
        labelled = {item.message_id: line(item, zone, labelled=True) for item in evidence}
        used = {name for name, text in labelled.items() if text in answer}
        handed = cut_up(answer, [((name,), labelled[name]) for name in labelled if name in used])
    candidates = found(matches, used, otherwise="below_floor", reasons=superseded)
    return TraceDescription(candidates=candidates, prompt=prompt, handed=handed)
