"""Memories out of a text, by rules or by a language model, and a text as one memory.

Owns how many there are, their length and their summaries. It must not reword: by rules a memory is what was written,
with the sentence before it where it leans on that. What is asked, supposed, quoted, passing or meant for this turn
alone is nothing to remember, and a secret never is; junk in a memory costs more than a gap. No database and no clock. A
language model finds more, and is never needed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from keepstone.engine import titles
from keepstone.engine.ask_model import DATA_ONLY, borne_out, json_list, refuses
from keepstone.engine.extract import passed_over, report
from keepstone.engine.extract.heard import SURER, Worth, heard
from keepstone.engine.extract.secret import has_secret
from keepstone.engine.extract.turn import said
from keepstone.engine.language.scripts import unspaced
from keepstone.engine.language.sentences import lowered
from keepstone.engine.quotation import own_words, quote_as
from keepstone.engine.rank import normalised
from keepstone.providers.llm import LanguageModel

CATEGORIES = ("preference", "fact", "instruction", "decision")
# Characters of one memory.
LONGEST = 2_000
MOST_SAID = 8
MOST_WRITTEN = 5
READ_BY_MODEL = 20_000
# Of the telling words of what a model gives, so many must stand in the text.
SUPPORT = 0.5
ALIKE = 0.85

_EXTRACT = (
    "You pick out what is worth remembering for months: lasting preferences, facts about people, work and projects, "
    "standing instructions, decisions, results. No questions, no errands, no moods, no small talk, no general "
    f"knowledge, no passwords or keys. {DATA_ONLY} Keep its language, names, numbers and dates, and add nothing. Reply "
    'with JSON only, at most 5 entries, [] if there is nothing: [{"content": "one sentence that stands alone", '
    '"category": "preference, fact, instruction or decision", "summary": "at most 80 characters"}]'
)
_SYNTHESIZE = (
    "You rewrite a message that somebody wants to remember as a statement that stands alone: everything in it that "
    f"matters, with its names, numbers and dates, in its language, in at most 1500 characters. {DATA_ONLY} Add "
    "nothing. Reply with the statement only."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """`category` is one of CATEGORIES; `summary` is a short line that stands for the content."""

    content: str
    category: str | None
    summary: str | None


def extract_said(text: str, worth: Worth | None = None) -> list[Extracted]:
    """What a user said in one turn that holds beyond it, in its order: by rules, and where a judge says what is `worth`
    keeping of the user's own words, by that too. Most turns are for an answer, so it has to be surer there.
    """
    own = own_words(text)
    contents = said(own)
    for passage in heard(own, worth, least=SURER) if worth else ():
        plain = f" {normalised(passage.text)} "
        known = (f" {normalised(content)} " for content, _ in contents)
        if not any(plain in other or other in plain for other in known):
            contents.append((passage.text, "fact"))
    place = normalised(own)
    return _memories(sorted(contents, key=lambda content: place.find(normalised(content[0]))), MOST_SAID)


def extract_written(text: str, kind: report.Kind) -> list[Extracted]:
    """What a text that a model wrote comes to, in its order; if that is much, what is surest."""
    tellings = report.tellings(own_words(text), kind)
    surest = sorted(tellings, key=lambda telling: -telling.weight)
    kept = _memories(((telling.content, telling.category) for telling in surest), MOST_WRITTEN)
    place = {cut(telling.content): at for at, telling in enumerate(tellings)}
    return sorted(kept, key=lambda memory: place[memory.content])


async def extract_by_model(model: LanguageModel, text: str, kind: str) -> list[Extracted]:
    """What a language model finds in a text of some kind, as far as the text bears it out.

    Raises UpstreamError where there is no reply, and with the code `not_understood` where it is no JSON.
    """
    own = own_words(text)[:READ_BY_MODEL]
    prompt = f"Kind: {kind}\n{quote_as('text', own)}"
    # What is found is word for word in the text, so there is no more of it than of that.
    reply = (await model.complete(system=_EXTRACT, prompt=prompt, max_tokens=min(2_000, 200 + len(own)))).text
    supported = [entry for entry in _entries(reply) if borne_out(entry.content, own, share=SUPPORT)]
    return [entry for entry in supported if not has_secret(entry.content)][:MOST_WRITTEN]


def synthesize(text: str) -> str:
    """A message that somebody wants remembered, as its telling sentences; as it is where it has none."""
    own = own_words(text).strip()
    memories = extract_said(own) or extract_written(own, "deep_think")
    return cut("\n".join(memory.content for memory in memories) or own)


async def synthesize_by_model(model: LanguageModel, text: str) -> str:
    """A message that somebody wants remembered, in the words of a language model; by rules where it gives none."""
    own = own_words(text).strip()[:READ_BY_MODEL]
    reply = (await model.complete(system=_SYNTHESIZE, prompt=quote_as("text", own), max_tokens=700)).text.strip()
    return cut(reply) if any(map(str.isalnum, reply)) and not refuses(reply) else synthesize(text)


def cut(text: str) -> str:
    """At most LONGEST characters, cut after a word."""
    text = text.strip()
    if len(text) <= LONGEST:
        return text
    head = text[: LONGEST + 1]
    space = max(head.rfind(mark) for mark in " \n\t")
    return head[: space if space > LONGEST // 2 else LONGEST].rstrip()


def summary(text: str) -> str | None:
    """A short line that stands for a text, without the article or the call to remember that it begins with."""
    line = " ".join(text.split())
    made = line if len(line) <= titles.LIMIT and not unspaced(line) else titles.title(text)
    bare = passed_over.OPENING.sub("", made, count=1).rstrip(" .。!！,，;；") or made
    return bare[:1].upper() + bare[1:] if any(map(str.isalnum, bare)) else None


_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_NEGATIONS = frozenset(passed_over.NEGATIONS)


def _memories(given: Iterable[tuple[str, str]], most: int) -> list[Extracted]:
    """The first of those that are alike, without secrets."""
    kept: list[Extracted] = []
    for content, category in given:
        short = cut(content)
        if len(kept) < most and not has_secret(content) and not any(_alike(short, memory.content) for memory in kept):
            kept.append(Extracted(content=short, category=category, summary=summary(short)))
    return kept


def _alike(content: str, other: str) -> bool:
    """Whether they say the same in nearly the same words. Another number or a negation makes another thing of it."""
    first, second = (frozenset(_WORD.findall(lowered(text))) for text in (content, other))
    shared = 2 * len(first & second) > ALIKE * (len(first) + len(second))
    return shared and not any(word in _NEGATIONS or word[0].isdigit() for word in first ^ second)


# --- what a model gives -----------------------------------------------------------------------------------------------


def _entries(reply: str) -> Iterator[Extracted]:
    """The entries of a reply that have the right shape. One that is no JSON is a failure, and can be tried again."""
    for entry in json_list(reply):
        content, category, short = (entry.get(name) for name in ("content", "category", "summary"))
        if isinstance(content, str) and content.strip() and category in CATEGORIES:
            line = " ".join(short.split()) if isinstance(short, str) else ""
            made = line if 0 < len(line) <= 2 * titles.LIMIT and not has_secret(line) else summary(content)
            yield Extracted(content=cut(content), category=category, summary=made)
