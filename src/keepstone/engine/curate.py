"""The curator: cuts a conversation into segments, and says which of them are worth keeping and why.

Owns the score and its reasons. It must not keep anything by itself, nor reword: a segment's text is that of its
messages. Rules only, no clock and no database; a language model is asked about the grey zone alone, and only where the
caller has one.

Cues are tried only on messages that hold the letters which they need. What is asked, supposed or quoted decides
nothing.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from keepstone.engine.ask_model import DATA_ONLY, json_list
from keepstone.engine.cues import CHOICE, DODGE, ERRAND, NUMBER, OFFER, OPEN, SMALL_TALK, WAVERS, WORKED, cues_near
from keepstone.engine.keyphrases import tags as tags_of
from keepstone.engine.language.doubt import ASKED, JOKE, SUPPOSED, UNSURE, is_quoted
from keepstone.engine.language.sentences import around, lines, sentences
from keepstone.engine.language.tables import Rule
from keepstone.engine.quotation import quote_as
from keepstone.engine.segments import READ, Heard, SpokenMessage, asks, runs_of, share_a_word, telling_words
from keepstone.engine.titles import title as title_of
from keepstone.errors import UpstreamError
from keepstone.providers.llm import LanguageModel

Kind = Literal["decision", "answer", "thought", "note"]

# From KEEP on a segment is proposed; between the two of GREY the rules are not sure.
KEEP = 0.5
GREY = (0.35, 0.6)
MOST_ASKED = 20
# From so many telling words on, what a machine says is an essay.
ESSAY = 60

PHRASES = {
    "decision": "A decision was made",
    "conclusion": "A conclusion was drawn",
    "commitment": "Somebody promised something, or there is a date to keep",
    "numbers": "There are numbers or dates in it",
    "answered_question": "A question was answered",
    "code": "There is code in it",
    "fact": "A lasting fact was told",
    "idea": "An idea was written down",
    "model": "The language model judged it",
}


@dataclass(frozen=True, slots=True)
class Reason:
    code: str
    phrase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """`messages` are places in the conversation, from 0, in its order; `text` is theirs, as said.

    The title and the tags are made when they are asked for: most segments are never shown, and making them takes longer
    than all the rest. `named` is what the title is made of.
    """

    messages: tuple[int, ...]
    text: str
    score: float
    reasons: tuple[Reason, ...]
    kind: Kind
    named: str

    @property
    def title(self) -> str:
        return title_of(self.named)

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(tags_of(self.text[:READ]))


_SYSTEM = (
    "You judge pieces of a conversation: is each worth keeping for months (a decision, a conclusion, a commitment, a "
    "lasting fact, a question with a useful answer), or is it chatter? "
    f'{DATA_ONLY} Reply with JSON only, one object for each piece: [{{"n": 1, "score": 0.0 to 1.0}}]'
)


def curate(messages: Sequence[SpokenMessage]) -> list[Segment]:
    """The segments of a conversation in its order; every message with text is in one of them."""
    return [_judged(run) for run in runs_of(messages)]


async def refine(model: LanguageModel, segments: Sequence[Segment]) -> list[Segment]:
    """The same segments; those of the grey zone with the model's score, where it gives one that can be read."""
    asked = [place for place, segment in enumerate(segments) if GREY[0] <= segment.score < GREY[1]][:MOST_ASKED]
    if not asked:
        return list(segments)
    pieces = [quote_as("piece", segments[place].text[:1000], n=number) for number, place in enumerate(asked, 1)]
    reply = await model.complete(system=_SYSTEM, prompt="\n".join(pieces), max_tokens=40 * len(asked) + 40)
    given = _scores(reply.text)
    refined = list(segments)
    for number, place in enumerate(asked, 1):
        if number in given:
            reasons = (*refined[place].reasons, Reason("model", PHRASES["model"]))
            refined[place] = replace(refined[place], score=given[number], reasons=reasons)
    return refined


def _scores(reply: str) -> dict[int, float]:
    """What can be read of a model's reply; nothing of one that is nonsense."""
    try:
        entries = json_list(reply)
    except UpstreamError:
        return {}
    scores: dict[int, float] = {}
    for entry in entries:
        number, score = entry.get("n"), entry.get("score")
        # A truth value is a number to Python and no score; of "not a number" neither comparison holds.
        if type(number) is int and isinstance(score, int | float) and type(score) is not bool and 0 <= score <= 1:
            scores[number] = round(float(score), 3)
    return scores


def _judged(run: Sequence[Heard]) -> Segment:
    evidence, telling = _evidence(run)
    if ERRAND.search(run[0].low):
        evidence = {code: weight for code, weight in evidence.items() if code == "code"}
    score = 1 - math.prod(1 - weight for weight in evidence.values())
    if run[0].noise:
        score *= 0.1
    kind = _kind(run, evidence)
    return Segment(
        messages=tuple(message.index for message in run),
        text="\n\n".join(message.said.text for message in run),
        score=round(score, 3),
        reasons=tuple(Reason(code, PHRASES[code]) for code in sorted(evidence, key=lambda code: -evidence[code])),
        kind=kind,
        named=_named(run, kind, telling),
    )


def _evidence(run: Sequence[Heard]) -> tuple[dict[str, float], str]:
    """The weight of each reason, and the sentence that has the strongest cue."""
    evidence: dict[str, float] = {}
    best, telling = 0.0, ""
    for message in run:
        for cue, start, end in _cues_of(message):
            code, weight = cue.about["kind"], cue.about["weight"]
            evidence[code] = max(evidence.get(code, 0.0), weight)
            if weight > best:
                best, telling = weight, message.plain[start:end].strip()
    evidence |= _counted(run)
    answer = 0.0 if run[0].noise else _answer(run)
    if answer:
        evidence["answered_question"] = answer
    if "decision" not in evidence and (choice := _choice(run)):
        evidence["decision"] = 0.6
        telling = telling or choice
    return evidence, telling


def _choice(run: Sequence[Heard]) -> str:
    """What somebody replied who was put a choice; nothing where nobody was."""
    for place, message in enumerate(run):
        put = len(message.words) < ESSAY // 2 and CHOICE.search(message.low)
        if put and ASKED.search(message.low) and not OFFER.search(message.low):
            for reply in run[place + 1 :]:
                by_another = not (place and message.speaker == reply.speaker)
                plain = by_another and not (reply.machine or reply.chatter or reply.asks)
                near = len(reply.low) < 60 or (len(reply.low) < 160 and share_a_word([message], reply))
                if plain and near and not WAVERS.search(reply.low) and len(reply.words) > 1:
                    return reply.said.text
    return ""


def _cues_of(message: Heard) -> Iterator[tuple[Rule, int, int]]:
    if JOKE.search(message.low) or len(message.words) < 2:
        return
    for cue in cues_near(message.low):
        if _may_say(message, cue):
            for match in cue.pattern.finditer(message.low):
                start, end = around(message.low, match.start())
                if _asserted(message.low[start:end], match.start() - start):
                    yield cue, start, end
                    break


def _may_say(message: Heard, cue: Rule) -> bool:
    """A machine's essay ends with a conclusion by custom; what it says in few words is about this conversation."""
    if message.machine:
        return not cue.about.get("person") and len(message.words) < ESSAY
    return cue.about["kind"] != "idea" or not message.asks


def _asserted(sentence: str, place: int) -> bool:
    """Whether what stands at a place of a sentence is said, and not asked, supposed, doubted or quoted."""
    if sentence.rstrip().endswith(("?", "？")) or UNSURE.search(sentence):
        return False
    return not SUPPOSED.search(sentence, 0, place) and not is_quoted(sentence, place)


def _counted(run: Sequence[Heard]) -> Mapping[str, float]:
    """What numbers and code are worth: a person's figures more than those in a machine's prose."""
    weights: dict[str, float] = {}
    of_people = of_machines = 0.0
    for message in run:
        numbers = len(NUMBER.findall(message.low[:2000]))
        of_machines += numbers if message.machine else 0
        of_people += 0 if message.machine else numbers * (0.5 if message.asks else 1)
    worth = max(min(0.15 + 0.15 * of_people, 0.6) if of_people else 0.0, min(0.1 * of_machines, 0.3))
    if worth:
        weights["numbers"] = worth
    if any("```" in message.said.text for message in run):
        weights["code"] = 0.45
    elif any("`" in message.said.text for message in run):
        weights["code"] = 0.2
    return weights


def _answer(run: Sequence[Heard]) -> float:
    """How much of an answer a question got. What a machine answers at length was a question, however it was put."""
    question = run[0]
    if SMALL_TALK.search(question.low) or question.machine or question.chatter:
        return 0.0
    replies = [message for message in run if message.speaker != question.speaker and not message.chatter]
    if not replies:
        return 0.0
    size = sum(len(reply.words) for reply in replies)
    code = any("```" in reply.said.text for reply in replies)
    if (size < 4 and not code) or (size < 30 and any(DODGE.search(reply.low) for reply in replies)):
        return 0.0
    if not question.asks and not code and size < 20:
        return 0.0
    # A short answer is kept whole; a long one on an open question is rather read and left.
    worth = 0.55 - (0.15 if OPEN.search(question.low) else 0) - (0.1 if size > 120 else 0)
    if any(WORKED.search(message.low) for message in run[1:] if not message.machine):
        worth += 0.2
    return worth if any(reply.machine for reply in replies) else 0.7 * worth


def _kind(run: Sequence[Heard], evidence: Mapping[str, float]) -> Kind:
    if "decision" in evidence:
        return "decision"
    if "answered_question" in evidence:
        return "answer"
    if "idea" in evidence or ("conclusion" in evidence and not run[0].machine):
        return "thought"
    return "note"


def _named(run: Sequence[Heard], kind: Kind, telling: str) -> str:
    """What the title is made of: the question, the sentence with the strongest cue, or all of it."""
    if kind == "answer":
        said = (sentence for line in lines(run[0].plain) for sentence in sentences(line.text))
        question = max((sentence for sentence in said if asks(sentence.lower())), key=len, default="")
        # "Any recommendations?" doesn't name what it asks about.
        return question if len(telling_words(question.lower())) > 2 else run[0].said.text
    return telling or "\n\n".join(message.said.text for message in run)
