"""What a single message of a room holds: facts, decisions, action items.

Owns which sentences those are. It must not reword: by rules the text is a sentence of the message. What is asked,
supposed, proposed, quoted or joked holds nothing, and neither does small talk that sounds like a promise. No database
and no clock: the due words stay as they were said. A language model finds more, and is never needed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, cast

from keepstone.engine.ask_model import DATA_ONLY, borne_out, json_list
from keepstone.engine.cues import NOISE, NUMBER, RECALLED, own_prose
from keepstone.engine.extract import passed_over
from keepstone.engine.extract.heard import Worth, heard
from keepstone.engine.extract.memories import extract_said
from keepstone.engine.extract.secret import has_secret
from keepstone.engine.language import tables
from keepstone.engine.language.doubt import ASKS, JOKE, SUPPOSED, UNSURE
from keepstone.engine.language.sentences import lines, lowered, sentences, unmarked
from keepstone.engine.quotation import quote_as
from keepstone.engine.rank import normalised
from keepstone.engine.takeaways.decisions import decides, is_firm, is_open, is_proposed, is_said
from keepstone.engine.takeaways.due import due_of
from keepstone.engine.takeaways.lists import items
from keepstone.engine.takeaways.participants import Participants
from keepstone.engine.terms import terms
from keepstone.providers.llm import LanguageModel

Type = Literal["fact", "decision", "action_item"]

MOST = 8
MOST_LISTED = 24
MOST_BY_MODEL = 5
READ = 5_000
# A longer sentence is prose, a log or a table.
SENTENCE = 400
FACT = 200
# Of the telling words of what a model gives, so many must stand in the message.
SUPPORT = 0.6
# What rules take for a fact, and a judge finds as little in, is none.
DISBELIEVED = 0.1

_TABLES = tables.load("takeaways")
_LABEL = _TABLES.pattern("label")
# What something is, has, costs or does for long; about what; and what takes it away again.
_STATES = _TABLES.pattern("states")
_CHANGES = _TABLES.pattern("changes")
_ABOUT = _TABLES.pattern("about")
_LEANS = _TABLES.pattern("leans")
_FEELS = _TABLES.pattern("feels")
_CHEERS = _TABLES.pattern("cheers")
_BOX = re.compile(r"^[ \t]*[-*+][ \t]+\[ \][ \t]+\S[^\n]*", re.MULTILINE)

_SYSTEM = (
    "You read one message of a group chat and list what it holds: lasting facts, decisions that were made, and action "
    "items that somebody took on or was given. A question, a proposal, a condition, a joke, a quotation and small talk "
    f"hold nothing. {DATA_ONLY} Use the message's own words and nothing else; at most 5. "
    'Reply with JSON only: [{"type": "fact" | "decision" | "action_item", "text": "the sentence", "assignee": a name '
    'out of the people or null, "due": the words that say until when, or null}]. Nothing to list: []'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeaway:
    """`text` is a sentence of the message. `due` are the words that say until when, as said, without "by".

    `assignee` is a participant (or the speaker); None where nobody is named, or more than one.
    """

    type: Type
    text: str
    assignee: str | None = None
    due: str | None = None


def judged_part(text: str) -> str:
    """What of a message is read, and a judge asked about: its sender's own prose."""
    return own_prose(text[:READ])


def takeaways(
    speaker: str, text: str, participants: Sequence[str] = (), worth: Worth | None = None
) -> list[Takeaway]:  # fmt: skip
    """What one message holds, in its order; mostly nothing. `worth` is what a judge says of its `judged_part` and the
    sentences of that.
    """
    plain = judged_part(text)
    low = plain.lower()
    if not plain.strip() or NOISE.match(low) or RECALLED.search(low) or (worth is None and JOKE.search(low)):
        return []
    people = Participants(speaker, participants)
    todo = [item for item in items(plain, participants) if not has_secret(item)][:MOST_LISTED]
    listed = [_action(item, people.named(item)) for item in todo]
    kept = {normalised(takeaway.text): takeaway for takeaway in listed}
    single = () if JOKE.search(low) else _by_rules(plain, people, worth or {})
    for takeaway in chain(single, _by_judge(plain, worth or {})):
        if len(kept) < MOST + len(listed) and not has_secret(takeaway.text):
            _add(kept, takeaway)
    order = normalised(plain)
    return sorted(kept.values(), key=lambda takeaway: order.find(normalised(takeaway.text)))


def _by_rules(plain: str, people: Participants, worth: Worth) -> Iterator[Takeaway]:
    extracted = {normalised(memory.content): memory.category or "" for memory in extract_said(plain)}
    for sentence, boxed in _sentences(plain):
        takeaway = _of_sentence(sentence, people, extracted, boxed=boxed)
        if takeaway is not None and (worth.get(sentence, 1.0) >= DISBELIEVED or takeaway.type != "fact"):
            yield takeaway


def _by_judge(plain: str, worth: Worth) -> Iterator[Takeaway]:
    for passage in heard(plain, worth):
        yield Takeaway(type="fact", text=passage.text)


def _add(kept: dict[str, Takeaway], new: Takeaway) -> None:
    """Each once. What takes along the sentence that it leans on takes its place; several things in one stay apart."""
    key = normalised(new.text)
    if any(f" {key} " in f" {known} " for known in kept):
        return
    within = [known for known in kept if f" {known} " in f" {key} "]
    if len(within) < 2:
        kept[key] = replace(kept.pop(within[0]), text=new.text) if within else new


def is_landmark(takeaway: Takeaway, text: str) -> bool:
    """Whether it is a decision firm enough to be pinned for good. `text` is the message that it stands in."""
    return takeaway.type == "decision" and is_firm(takeaway.text, text)


async def takeaways_by_model(
    model: LanguageModel, speaker: str, text: str, participants: Sequence[str] = ()
) -> list[Takeaway]:
    """What a model finds in a message, as far as the message bears it out. A reply that is no JSON is UpstreamError."""
    plain = judged_part(text)
    if not plain.strip():
        return []
    people = " ".join(", ".join(dict.fromkeys([speaker, *participants])).split())
    prompt = f"{quote_as('people', people)}\n{quote_as('message', ' '.join(plain.split()), speaker=speaker)}"
    reply = (await model.complete(system=_SYSTEM, prompt=prompt, max_tokens=500)).text
    known = Participants(speaker, participants)
    kept: dict[str, Takeaway] = {}
    for entry in json_list(reply):
        takeaway = _supported(entry, plain, known)
        if takeaway is not None:
            kept.setdefault(normalised(takeaway.text), takeaway)
    return list(kept.values())[:MOST_BY_MODEL]


def _sentences(plain: str) -> Iterator[tuple[str, bool]]:
    """The sentences up to where a text is handed in, each with whether it stands behind a box to be ticked."""
    boxes = {unmarked(match.group()) for match in _BOX.finditer(plain)}
    for line in lines(plain):
        for sentence in sentences(line.text):
            if passed_over.ERRAND.search(lowered(sentence)):
                return
            if len(sentence) <= SENTENCE:
                yield sentence, line.text in boxes


def _of_sentence(sentence: str, people: Participants, extracted: dict[str, str], *, boxed: bool) -> Takeaway | None:
    low = lowered(sentence)
    if boxed or _LABEL.match(low):
        return _action(sentence, people.named(sentence))
    assigned = people.asked(sentence)
    if assigned or _doubtful(low):
        return _action(sentence, *assigned) if assigned else None
    category = _category(sentence, extracted)
    if decides(sentence, low) or (category == "decision" and not is_open(low)):
        return Takeaway(type="decision", text=sentence)
    assigned = people.promised(sentence)
    if assigned:
        return _action(sentence, *assigned)
    tells = category or is_said(low, _CHANGES.search(low)) or _tells(sentence, low, people)
    return Takeaway(type="fact", text=sentence) if tells else None


def _category(sentence: str, extracted: dict[str, str]) -> str:
    """What extraction makes of a sentence; it may have joined two of them, or cut one short."""
    plain = normalised(sentence)
    if len(set(terms(sentence))) < 2 or _CHEERS.search(lowered(sentence)):
        return ""
    return next((category for content, category in extracted.items() if _is_of(plain, content)), "")


def _is_of(sentence: str, content: str) -> bool:
    if sentence in content:
        # Of two that were joined, the one that the other leans on says the lesser part.
        return 2 * len(sentence) > len(content)
    return len(content) > 12 and sentence.startswith(content)


def _action(sentence: str, assignee: str | None) -> Takeaway:
    return Takeaway(type="action_item", text=sentence, assignee=assignee, due=due_of(sentence))


def _doubtful(low: str) -> bool:
    return bool(ASKS.search(low) or UNSURE.search(low) or is_proposed(low) or _supposed(low))


def _supposed(low: str) -> bool:
    match = SUPPOSED.search(low)
    return bool(match and match.start() < len(low) // 2) or bool(passed_over.PLAY.match(low))


def _tells(sentence: str, low: str, people: Participants) -> bool:
    """Whether a sentence states something exact of a thing or of a person that it names."""
    if not 12 <= len(low) <= FACT or any(
        pattern(low) for pattern in (passed_over.ASKING.match, passed_over.REPORTED.search, _LEANS.match)
    ):
        return False
    if not is_said(low, _STATES.search(low)) or _FEELS.search(low):
        return False
    exact = NUMBER.search(low) or any(map(str.isdecimal, low)) or passed_over.NAMED.search(sentence)
    about = _ABOUT.match(low) or people.begins(sentence)
    return bool(exact and about) and len(set(terms(sentence))) >= 3


def _supported(entry: dict[str, Any], plain: str, people: Participants) -> Takeaway | None:
    """What a model gave as far as the message says it; None when it does not."""
    kind, text = entry.get("type"), entry.get("text")
    if kind not in ("fact", "decision", "action_item") or not isinstance(text, str):
        return None
    text = " ".join(text.split())
    if len(text) > SENTENCE or has_secret(text) or not borne_out(text, plain, share=SUPPORT):
        return None
    due, assignee = entry.get("due"), entry.get("assignee")
    stands = isinstance(due, str) and due.strip() and normalised(due) in normalised(plain)
    return Takeaway(
        type=kind,
        text=text,
        assignee=people.known(assignee) if kind == "action_item" and isinstance(assignee, str) else None,
        due=cast("str", due).strip() if kind == "action_item" and stands else None,
    )
