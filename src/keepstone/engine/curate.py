"""The curator: cuts a conversation into segments, and says which of them are worth keeping and why.

Owns the cut, the cues and the score. It must not keep anything by itself, nor reword: a segment's text is that of its
messages. Rules only, no clock and no database; a language model is asked about the grey zone alone, and only where the
caller has one.

A cue is a needle and a pattern. The needle is looked for in the whole message, which costs next to nothing; the pattern
is tried only where it is found. What is asked, supposed or quoted decides nothing.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from keepstone.engine.ask_model import DATA_ONLY, json_list, quoted
from keepstone.engine.cues import (
    CHATTER,
    CHOICE,
    CUES,
    DODGE,
    ERRAND,
    LINKED,
    NOISE,
    NUMBER,
    OFFER,
    OPEN,
    RECALLED,
    REQUEST,
    SMALL_TALK,
    WAVERS,
    WORKED,
    Cue,
    without_blocks,
)
from keepstone.engine.keyphrases import tags as tags_of
from keepstone.engine.language.doubt import ASKED, JOKE, SUPPOSED, UNSURE, is_quoted
from keepstone.engine.language.scripts import DENSE, tokens
from keepstone.engine.language.sentences import FENCE, around, lines, sentences
from keepstone.engine.language.stopwords import COMMON, STOP_WORDS
from keepstone.engine.titles import title as title_of
from keepstone.errors import UpstreamError
from keepstone.providers.llm import LanguageModel

Kind = Literal["decision", "answer", "thought", "note"]

# From KEEP on a segment is proposed; between the two of GREY the rules are not sure.
KEEP = 0.5
GREY = (0.35, 0.6)
# A segment is something to read at once; a longer run is cut.
MOST = 8
READ = 8_000
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
class Said:
    """One message. `role` is "user", "assistant", "system" or "tool"; without one the speaker's name is looked at."""

    speaker: str
    text: str
    role: str = ""


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


_MACHINES = frozenset({"assistant", "ai", "bot", "model", "chatgpt", "claude", "gemini", "助手"})
_NOISY = frozenset({"system", "tool", "function", "developer"})
_SYSTEM = (
    "You judge pieces of a conversation: is each worth keeping for months (a decision, a conclusion, a commitment, a "
    "lasting fact, a question with a useful answer), or is it chatter? "
    f'{DATA_ONLY} Reply with JSON only, one object for each piece: [{{"n": 1, "score": 0.0 to 1.0}}]'
)


def curate(messages: Sequence[Said]) -> list[Segment]:
    """The segments of a conversation in its order; every message with text is in one of them."""
    heard = [_Heard(index, said) for index, said in enumerate(messages) if said.text.strip()]
    for each, after in pairwise(heard):
        # What a machine says before it uses a tool is about the tool.
        each.noise = each.noise or (each.machine and after.program)
    return [_judged(run) for run in _runs(heard)]


async def refine(model: LanguageModel, segments: Sequence[Segment]) -> list[Segment]:
    """The same segments; those of the grey zone with the model's score, where it gives one that can be read."""
    asked = [place for place, each in enumerate(segments) if GREY[0] <= each.score < GREY[1]][:MOST_ASKED]
    if not asked:
        return list(segments)
    pieces = [quoted("piece", segments[place].text[:1000], n=number) for number, place in enumerate(asked, 1)]
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


# --- a message --------------------------------------------------------------------------------------------------------


class _Heard:
    """A message, and what is asked of it more than once."""

    __slots__ = ("asks", "chatter", "index", "low", "machine", "noise", "plain", "program", "said", "speaker", "words")

    def __init__(self, index: int, said: Said) -> None:
        self.index, self.said = index, said
        self.plain = without_blocks(FENCE.sub("\n", said.text[:READ]), instead="")
        low = self.plain.lower().replace("’", "'")
        # Places in the one are places in the other; few letters of few scripts are not as long in small.
        self.low = low if len(low) == len(self.plain) else self.plain
        part = (said.role or said.speaker).casefold()
        # Two people may have one role, and are two all the same.
        self.speaker = (said.speaker or said.role).casefold()
        self.machine, self.program = part in _MACHINES, part in _NOISY
        self.words = _telling(self.low[:1500])
        self.noise = self.program or self._is_noise()
        self.chatter = len(self.low) < 80 and bool(CHATTER.fullmatch(self.low))
        self.asks = not self.noise and not self.machine and _asks(self.low)

    def _is_noise(self) -> bool:
        """Whether it is a program's output, or an old conversation handed in again."""
        if not self.low.strip() and "```" not in self.said.text:
            return True
        return bool(NOISE.match(self.low)) or (len(self.low) < 400 and bool(RECALLED.search(self.low)))


def _telling(low: str) -> list[str]:
    """The words that tell something; of a script without spaces every other pair of letters."""
    found: list[str] = []
    for raw in tokens(low):
        if not raw.isascii() and DENSE.match(raw):
            found += [raw[at : at + 2] for at in range(0, len(raw) - 1, 2)]
        elif raw not in COMMON and raw not in STOP_WORDS["en"]:
            found.append(raw)
    return found


def _asks(low: str) -> bool:
    return bool(ASKED.search(low) or REQUEST.match(low))


def _runs(heard: Sequence[_Heard]) -> list[list[_Heard]]:
    """Segments by their first message. Noise in between doesn't part a question from its answer."""
    runs: list[list[_Heard]] = []
    talk: list[_Heard] | None = None
    for each in heard:
        noise = runs[-1] if runs and runs[-1][-1].noise and runs[-1][-1].index == each.index - 1 else None
        run = noise if each.noise else talk
        if run is None or len(run) >= MOST or not (each.noise or _joins(run, each)):
            run = list[_Heard]()
            runs.append(run)
        run.append(each)
        talk = talk if each.noise else run
    return runs


def _joins(run: Sequence[_Heard], each: _Heard) -> bool:
    """Whether a message belongs to the segment before it."""
    last = run[-1]
    if each.machine:
        return True
    answered = any(said.speaker != run[0].speaker for said in run)
    if each.asks:
        # Asked twice before anybody answers, it is one question.
        return run[0].asks and not answered
    if run[0].asks and not answered:
        return True
    if each.chatter or last.chatter:
        return each.chatter and last.chatter
    return (
        len(each.low) < 30 or bool(LINKED.match(each.low)) or (last.machine and "?" in last.low) or _shared(run, each)
    )


def _shared(run: Sequence[_Heard], each: _Heard) -> bool:
    """Whether they speak of the same thing: a telling word in common."""
    return any(word in said.low for word in each.words if len(word) > 1 for said in run[-3:])


# --- a segment --------------------------------------------------------------------------------------------------------


def _judged(run: Sequence[_Heard]) -> Segment:
    errand = bool(ERRAND.search(run[0].low))
    found, telling = _evidence(run)
    if errand:
        found = {code: weight for code, weight in found.items() if code == "code"}
    score = 1 - math.prod(1 - weight for weight in found.values())
    if run[0].noise:
        score *= 0.1
    kind = _kind(run, found)
    return Segment(
        messages=tuple(each.index for each in run),
        text="\n\n".join(each.said.text for each in run),
        score=round(score, 3),
        reasons=tuple(Reason(code, PHRASES[code]) for code in sorted(found, key=lambda code: -found[code])),
        kind=kind,
        named=_named(run, kind, telling),
    )


def _evidence(run: Sequence[_Heard]) -> tuple[dict[str, float], str]:
    """The weight of each reason, and the sentence that has the strongest cue."""
    found: dict[str, float] = {}
    best, telling = 0.0, ""
    for each in run:
        for cue, start, end in _cues_of(each):
            found[cue.code] = max(found.get(cue.code, 0.0), cue.weight)
            if cue.weight > best:
                best, telling = cue.weight, each.plain[start:end].strip()
    found |= _counted(run)
    answer = 0.0 if run[0].noise else _answer(run)
    if answer:
        found["answered_question"] = answer
    if "decision" not in found and (choice := _choice(run)):
        found["decision"] = 0.6
        telling = telling or choice
    return found, telling


def _choice(run: Sequence[_Heard]) -> str:
    """What somebody replied who was put a choice; nothing where nobody was."""
    for place, each in enumerate(run):
        put = len(each.words) < ESSAY // 2 and CHOICE.search(each.low)
        if put and ASKED.search(each.low) and not OFFER.search(each.low):
            for reply in run[place + 1 :]:
                plain = not (reply.machine or reply.chatter or reply.asks or (place and each.speaker == reply.speaker))
                near = len(reply.low) < 60 or (len(reply.low) < 160 and _shared([each], reply))
                if plain and near and not WAVERS.search(reply.low) and len(reply.words) > 1:
                    return reply.said.text
    return ""


def _cues_of(each: _Heard) -> Iterator[tuple[Cue, int, int]]:
    if JOKE.search(each.low) or len(each.words) < 2:
        return
    for cue in CUES:
        if cue.needle in each.low and _may_say(each, cue):
            for match in cue.pattern.finditer(each.low):
                start, end = around(each.low, match.start())
                if _asserted(each.low[start:end], match.start() - start):
                    yield cue, start, end
                    break


def _may_say(each: _Heard, cue: Cue) -> bool:
    """A machine's essay ends with a conclusion by custom; what it says in few words is about this conversation."""
    if each.machine:
        return not cue.person and len(each.words) < ESSAY
    return cue.code != "idea" or not each.asks


def _asserted(sentence: str, place: int) -> bool:
    """Whether what stands at a place of a sentence is said, and not asked, supposed, doubted or quoted."""
    if sentence.rstrip().endswith(("?", "？")) or UNSURE.search(sentence):
        return False
    if SUPPOSED.search(sentence, 0, place):
        return False
    return not is_quoted(sentence, place)


def _counted(run: Sequence[_Heard]) -> Mapping[str, float]:
    """What numbers and code are worth: a person's figures more than those in a machine's prose."""
    found: dict[str, float] = {}
    people = [each for each in run if not each.machine]
    told = sum(len(NUMBER.findall(each.low[:2000])) * (0.5 if each.asks else 1) for each in people)
    other = sum(len(NUMBER.findall(each.low[:2000])) for each in run if each.machine)
    numbers = max(min(0.15 + 0.15 * told, 0.6) if told else 0.0, min(0.1 * other, 0.3))
    if numbers:
        found["numbers"] = numbers
    if any("```" in each.said.text for each in run):
        found["code"] = 0.45
    elif any("`" in each.said.text for each in run):
        found["code"] = 0.2
    return found


def _answer(run: Sequence[_Heard]) -> float:
    """How much of an answer a question got. What a machine answers at length was a question, however it was put."""
    if SMALL_TALK.search(run[0].low) or run[0].machine or run[0].chatter:
        return 0.0
    replies = [each for each in run if each.speaker != run[0].speaker and not each.chatter]
    if not replies:
        return 0.0
    size = sum(len(each.words) for each in replies)
    code = any("```" in each.said.text for each in replies)
    if (size < 4 and not code) or (size < 30 and any(DODGE.search(each.low) for each in replies)):
        return 0.0
    if not run[0].asks and not code and size < 20:
        return 0.0
    # A short answer is kept whole; a long one on an open question is rather read and left.
    worth = 0.55 - (0.15 if OPEN.search(run[0].low) else 0) - (0.1 if size > 120 else 0)
    if any(WORKED.search(each.low) for each in run[1:] if not each.machine):
        worth += 0.2
    return worth if any(each.machine for each in replies) else 0.7 * worth


def _kind(run: Sequence[_Heard], found: Mapping[str, float]) -> Kind:
    if "decision" in found:
        return "decision"
    if "answered_question" in found:
        return "answer"
    if "idea" in found or ("conclusion" in found and not run[0].machine):
        return "thought"
    return "note"


def _named(run: Sequence[_Heard], kind: Kind, telling: str) -> str:
    """What the title is made of: the question, the sentence with the strongest cue, or all of it."""
    if kind == "answer":
        asked = [each for line in lines(run[0].plain) for each in sentences(line.text) if _asks(each.lower())]
        best = max(asked, key=len, default="")
        # "Any recommendations?" doesn't name what it asks about.
        return best if len(_telling(best.lower())) > 2 else run[0].said.text
    return telling or "\n\n".join(each.said.text for each in run)
