"""The prompt that a composer gives to an agent: its layers in a fixed order, each within its share of the window."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from keepstone.engine.quotation import one_line, quote
from keepstone.errors import Invalid
from keepstone.memory.audience import Audience
from keepstone.model.room import Fact, Landmark, RoomMemory, Summary, Utterance
from keepstone.store.summaries import Compaction

SHARE = 0.12  # of the window, at most, for what was recalled, for summaries, and for facts


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSection:
    layer: str
    name: str
    tokens: int
    ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    messages: list[dict[str, str]]
    sections: list[PromptSection]
    prompt_tokens: int
    window: int
    compacted: bool
    run_ids: list[str]
    visibility: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """What the layers hold for this message."""

    working: list[Utterance]
    compacted: list[str]  # of the last messages those that the compaction stands for
    compaction: Compaction | None
    episodic: list[Summary]
    semantic: list[RoomMemory]
    structured: list[Fact]
    landmarks: list[Landmark]


@dataclass(slots=True)
class TokenCounts:
    """Texts with their tokens, each counted once."""

    count: Callable[[str], int]
    known: dict[str, int] = field(default_factory=dict[str, int])

    def __call__(self, text: str) -> int:
        if text not in self.known:
            self.known[text] = self.count(text)
        return self.known[text]


def fit(audience: Audience, layers: Layers, text: str, size: int, count: TokenCounts) -> Composed:
    """The prompt of these layers: landmarks all, of the others what their share of the window holds."""
    share = int(SHARE * size)
    episodic = _within(share, count, {summary.id: _summed(summary) for summary in reversed(layers.episodic)})
    if layers.compaction:
        episodic = {layers.compaction.id: f"- (compacted) {one_line(layers.compaction.content)}", **episodic}
    semantic = _within(share, count, {memory.id: _recalled(audience, memory) for memory in layers.semantic})
    structured = _within(share, count, {fact.id: _fact(audience, fact) for fact in layers.structured})
    landmarks = {mark.id: f"- [{mark.created_at:%Y-%m-%d}] {one_line(mark.text)}" for mark in layers.landmarks}
    lines = [as_message(audience, message) for message in layers.working]
    recalled = "\n".join(
        [
            *_part("[LANDMARKS] decided, and still in force", landmarks),
            *_part("[FACTS] exact values", structured),
            *_part("[SUMMARIES] earlier conversation", episodic),
            *_part("[RECALL] what may matter now", semantic),
        ]
    )
    header = "\n".join([*_place(audience), quote(recalled)])
    agent = audience.agent
    system = f"{agent.instructions}\n\n{header}" if agent.instructions else header
    asked = {"role": "user", "content": f"{audience.user_name}: {text}" if audience.user_name else text}
    messages = [{"role": "system", "content": system}, *lines, asked]
    sections = [
        PromptSection(layer="instructions", name="agent", tokens=count(agent.instructions), ids=[agent.slug]),
        PromptSection(
            layer="working", name=f"the last {len(lines)} messages", ids=[message.id for message in layers.working],
            tokens=sum(count(line["content"]) for line in lines),
        ),
        _section("episodic", "summaries", episodic, count),
        _section("semantic", "recall", semantic, count),
        _section("structured", "facts", structured, count),
        _section("landmarks", "landmarks", landmarks, count),
        PromptSection(layer="message", name="latest message", tokens=count(asked["content"]), ids=[]),
    ]  # fmt: skip
    return Composed(
        messages=messages,
        sections=sections,
        prompt_tokens=sum(count(message["content"]) + 4 for message in messages) + 3,
        window=size,
        compacted=False,
        run_ids=audience.run_ids,
        visibility=audience.visibility,
    )


def shrunk(
    audience: Audience, layers: Layers, text: str, size: int, count: TokenCounts, composed: Composed
) -> Composed:
    """What does not fit the window at all goes without what can be done without, least needed first."""
    for part in ("semantic", "episodic", "structured"):
        if composed.prompt_tokens <= size:
            return composed
        layers = replace(layers, **{part: []})
        composed = fit(audience, layers, text, size, count)
    while composed.prompt_tokens > size and layers.working:
        layers = replace(layers, working=layers.working[max(1, len(layers.working) // 4) :])
        composed = fit(audience, layers, text, size, count)
    if composed.prompt_tokens > size:
        raise Invalid(
            f"The message, the agent's instructions and the landmarks alone take {composed.prompt_tokens} tokens, and "
            f"the window has {size}: shorten the message, or give the agent a larger window."
        )
    return composed


def _within(most: int, count: TokenCounts, lines: dict[str, str]) -> dict[str, str]:
    """Lines by the ids of what they say: the first of them that fit."""
    kept: dict[str, str] = {}
    for name, text in lines.items():
        cost = count(text) + 1
        if cost <= most:
            kept[name] = text
            most -= cost
    return kept


def _section(layer: str, name: str, lines: dict[str, str], count: TokenCounts) -> PromptSection:
    spent = sum(count(line) + 1 for line in lines.values())
    return PromptSection(layer=layer, name=name, tokens=spent, ids=list(lines))


def _place(audience: Audience) -> list[str]:
    people = ", ".join(
        f"{one_line(person.name or person.email)} ({person.user_id})" for person in audience.participants
    )
    where = (
        f"[DIRECT MESSAGE] with {people}; nobody else reads along"
        if audience.room.agent
        else f"[ROOM] {one_line(audience.room.name)} ({audience.room.id})"
    )
    lines = [f"You are {one_line(audience.agent.name)} ({audience.agent.slug}).", where]
    lines += [f"[PROJECT] {audience.project_id}"] if audience.project_id else []
    lines += [f"[PARTICIPANTS] {people}; agents: {', '.join(audience.agents)}"] if not audience.room.agent else []
    return lines


def _part(title: str, lines: dict[str, str]) -> list[str]:
    return [title, *lines.values()] if lines else []


def as_message(audience: Audience, message: Utterance) -> dict[str, str]:
    """The agent's own words are its own; everybody else is named."""
    names = [given.get("name") or given.get("url") or given.get("id") or "file" for given in message.attachments]
    attached = "".join(f" [attachment: {one_line(str(name))}]" for name in names)
    if message.agent == audience.agent.slug:
        return {"role": "assistant", "content": message.text + attached}
    named = f"[{message.ts:%Y-%m-%d %H:%M}] {one_line(message.name)}: {message.text}{attached}"
    return {"role": "user", "content": named}


def _summed(summary: Summary) -> str:
    return f"- ({summary.tier}, {summary.starts_at:%Y-%m-%d}) {one_line(summary.content)}"


def _recalled(audience: Audience, memory: RoomMemory) -> str:
    who = _names(audience).get(memory.user_id or "")
    label = ", ".join([memory.type, *([one_line(who)] if who else [])])
    return f"- [{memory.created_at:%Y-%m-%d}] ({label}) {one_line(memory.text)}"


def _fact(audience: Audience, fact: Fact) -> str:
    whose = _names(audience).get(fact.scope_id, fact.scope_kind) if fact.scope_kind == "user" else fact.scope_kind
    return f"- {one_line(whose)}: {one_line(fact.key)} = {one_line(fact.value)}"


def _names(audience: Audience) -> dict[str, str]:
    return {person.user_id: person.name or person.email for person in audience.participants}
