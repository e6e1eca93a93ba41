"""The prompt that a composer gives to an agent: its layers in a fixed order. Each has its share of the window; what one
leaves over goes to those that have more to say.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from keepstone.engine.dates import day, minute, zone_note
from keepstone.engine.quotation import EARLIER, FACTS, LANDMARKS, RECALL, SUMMARIES, one_line, own_words, quote
from keepstone.errors import Invalid
from keepstone.memory.audience import Audience
from keepstone.memory.names import speaker_key, told_apart
from keepstone.model.room import Fact, Landmark, RoomMemory, Summary, Utterance
from keepstone.store.summaries import Compaction

SHARE = 0.12  # of the window, that what was recalled, summaries and facts have in any case
FILLED = 0.65  # of the window, up to which they take what is free; a little below what has to be compacted
MOST_EARLIER = 10  # messages behind a compaction that stand in the prompt again


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSection:
    layer: str
    name: str
    tokens: int
    ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """`lines` are those of what is quoted in the first message, by its id; a compaction that is nowhere has none."""

    messages: list[dict[str, str]]
    sections: list[PromptSection]
    prompt_tokens: int
    window: int
    compacted: bool
    run_ids: list[str]
    visibility: list[str]
    lines: Mapping[str, str] = field(default_factory=dict[str, str])
    trace_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """What the layers hold for this message; `episodic`, `semantic`, `structured` and `earlier` the most wanted first.

    `behind` are the messages that the shorter summaries stand for. `said` is the message itself, where it was said in
    the room already. `compacted` are those of the last messages that the compaction stands for, `earlier` the same by
    how near they are to this one.
    """

    working: list[Utterance]
    said: str | None
    compacted: list[Utterance]
    compaction: Compaction | None
    episodic: list[Summary]
    behind: Mapping[str, frozenset[str]]
    semantic: list[RoomMemory]
    structured: list[Fact]
    landmarks: list[Landmark]
    earlier: list[Utterance] = field(default_factory=list[Utterance])

    @property
    def uncompacted(self) -> "Layers":
        """The same, as if nothing had been compacted that can still be read word for word."""
        whole = sorted([*self.compacted, *self.working], key=lambda message: (message.ts, message.seq))
        before = self.compaction
        stands_for_more = before is not None and bool(whole) and before.since < whole[0].ts
        return replace(self, working=whole, compacted=[], earlier=[], compaction=before if stands_for_more else None)


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
    """The prompt of these layers: landmarks all, of the others what there is room for."""
    said_before = [*layers.working, *layers.compacted]
    names = told_apart(audience.participants, said_before, audience.agents, audience.namesakes)
    verbatim = {message.id for message in layers.working} | {layers.said or ""}
    offered: dict[str, dict[str, str]] = {
        "semantic": {memory.id: _recalled(audience, memory, names) for memory in layers.semantic},
        "structured": {fact.id: _fact(fact, names) for fact in layers.structured},
        "episodic": {
            summary.id: _summed(audience, summary)
            for summary in layers.episodic
            if not layers.behind.get(summary.id, frozenset([summary.id])) <= verbatim
        },
        "earlier": {said.id: f"- {_said(audience, said, names)}" for said in layers.earlier[:MOST_EARLIER]},
    }
    bare = _prompt(audience, layers, text, names, {layer: {} for layer in offered}, size, count)
    kept = _shared_out(offered, int(SHARE * size), int(FILLED * size) - bare.prompt_tokens, count)
    shown = {summary.id: summary.starts_at for summary in layers.episodic}
    in_time = sorted(kept["episodic"], key=lambda name: shown[name], reverse=True)
    kept["episodic"] = {name: kept["episodic"][name] for name in in_time}
    return _prompt(audience, layers, text, names, kept, size, count)


def _shared_out(
    offered: Mapping[str, Mapping[str, str]], share: int, free: int, count: TokenCounts
) -> dict[str, dict[str, str]]:
    """Of each layer the first lines that its share holds; then of all, in the order of the layers, what is free holds.
    What was said earlier has no share of its own: it is there already, in fewer words.
    """
    kept = {layer: _within(0 if layer == "earlier" else share, count, lines) for layer, lines in offered.items()}
    left = free - sum(_cost(lines, count) for lines in kept.values())
    for layer in ("semantic", "structured", "earlier", "episodic"):
        rest = {name: line for name, line in offered[layer].items() if name not in kept[layer]}
        more = _within(left, count, rest)
        left -= _cost(more, count)
        kept[layer] = {name: line for name, line in offered[layer].items() if name in kept[layer] or name in more}
    return kept


def _prompt(
    audience: Audience, layers: Layers, text: str, names: Mapping[str, str], kept: Mapping[str, dict[str, str]],
    size: int, count: TokenCounts,
) -> Composed:  # fmt: skip
    episodic = kept["episodic"]
    if layers.compaction:
        episodic = {layers.compaction.id: f"- (compacted) {one_line(layers.compaction.content)}", **episodic}
    landmarks = {
        mark.id: f"- [{day(mark.created_at, audience.zone)}] {one_line(mark.text)}" for mark in layers.landmarks
    }
    lines = [as_message(audience, message, names) for message in layers.working]
    recalled = "\n".join(
        [
            zone_note(audience.zone),
            *_part(LANDMARKS, landmarks),
            *_part(FACTS, kept["structured"]),
            *_part(SUMMARIES, episodic),
            *_part(EARLIER, kept["earlier"]),
            *_part(RECALL, kept["semantic"]),
        ]
    )
    header = "\n".join([*_place(audience, names), quote(recalled)])
    agent = audience.agent
    system = f"{agent.instructions}\n\n{header}" if agent.instructions else header
    who = names.get(audience.user_id, audience.user_name)
    asked = {"role": "user", "content": f"{one_line(who)}: {text}" if who else text}
    messages = [{"role": "system", "content": system}, *lines, asked]
    sections = [
        PromptSection(layer="instructions", name="agent", tokens=count(agent.instructions), ids=[agent.slug]),
        PromptSection(
            layer="working", name=f"the last {len(lines)} messages", ids=[message.id for message in layers.working],
            tokens=sum(count(line["content"]) for line in lines),
        ),
        _section("episodic", "summaries", {**episodic, **kept["earlier"]}, count),
        _section("semantic", "recall", kept["semantic"], count),
        _section("structured", "facts", kept["structured"], count),
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
        lines={**landmarks, **kept["structured"], **episodic, **kept["earlier"], **kept["semantic"]},
    )


def shrunk(
    audience: Audience, layers: Layers, text: str, size: int, count: TokenCounts, composed: Composed
) -> Composed:
    """What does not fit the window at all goes without what can be done without, least needed first."""
    for part in ("earlier", "semantic", "episodic", "structured"):
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


def _within(most: int, count: TokenCounts, lines: Mapping[str, str]) -> dict[str, str]:
    """Lines by the ids of what they say: the first of them that fit."""
    kept: dict[str, str] = {}
    for name, text in lines.items():
        cost = count(text) + 1
        if cost <= most:
            kept[name] = text
            most -= cost
    return kept


def _cost(lines: Mapping[str, str], count: TokenCounts) -> int:
    return sum(count(line) + 1 for line in lines.values())


def _section(layer: str, name: str, lines: Mapping[str, str], count: TokenCounts) -> PromptSection:
    # A compaction that is for this prompt alone is nowhere, and has no id.
    return PromptSection(layer=layer, name=name, tokens=_cost(lines, count), ids=[key for key in lines if key])


def _place(audience: Audience, names: Mapping[str, str]) -> list[str]:
    people = ", ".join(f"{one_line(names[person.user_id])} ({person.user_id})" for person in audience.participants)
    where = (
        f"[DIRECT MESSAGE] with {people}; nobody else reads along"
        if audience.room.agent
        else f"[ROOM] {one_line(audience.room.name)} ({audience.room.id})"
    )
    lines = [f"You are {one_line(audience.agent.name)} ({audience.agent.slug}).", where]
    lines += [f"[PROJECT] {audience.project_id}"] if audience.project_id else []
    lines += [f"[PARTICIPANTS] {people}; agents: {', '.join(audience.agents)}"] if not audience.room.agent else []
    return lines


def _part(title: str, lines: Mapping[str, str]) -> list[str]:
    return [title, *lines.values()] if lines else []


def as_message(audience: Audience, message: Utterance, names: Mapping[str, str]) -> dict[str, str]:
    """The agent's own words are its own; everybody else is named."""
    if message.agent == audience.agent.slug:
        return {"role": "assistant", "content": message.text + _attached(message)}
    return {"role": "user", "content": _named(audience, message, names) + message.text + _attached(message)}


def _said(audience: Audience, message: Utterance, names: Mapping[str, str]) -> str:
    """On one line, among what is quoted."""
    return _named(audience, message, names) + one_line(own_words(message.text)) + _attached(message)


def _named(audience: Audience, message: Utterance, names: Mapping[str, str]) -> str:
    who = names.get(speaker_key(message), message.name)
    return f"[{minute(message.ts, audience.zone)}] {one_line(who)}: "


def _attached(message: Utterance) -> str:
    names = [given.get("name") or given.get("url") or given.get("id") or "file" for given in message.attachments]
    return "".join(f" [attachment: {one_line(str(name))}]" for name in names)


def _summed(audience: Audience, summary: Summary) -> str:
    return f"- ({summary.tier}, {day(summary.starts_at, audience.zone)}) {one_line(summary.content)}"


def _recalled(audience: Audience, memory: RoomMemory, names: Mapping[str, str]) -> str:
    who = names.get(memory.user_id or "")
    label = ", ".join([memory.type, *([one_line(who)] if who else [])])
    return f"- [{day(memory.created_at, audience.zone)}] ({label}) {one_line(memory.text)}"


def _fact(fact: Fact, names: Mapping[str, str]) -> str:
    whose = names.get(fact.scope_id, fact.scope_kind) if fact.scope_kind == "user" else fact.scope_kind
    return f"- {one_line(whose)}: {one_line(fact.key)} = {one_line(fact.value)}"
