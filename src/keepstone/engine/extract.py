"""Extraction: what of a chat turn or of a longer text is worth remembering, as short memories.

Owns which sentences are kept, and under which category. It must not reword: by rules a memory is what was written, with
the sentence before it where it leans on that. What is asked, supposed, quoted, passing or meant for this turn alone is
nothing to remember, and a secret never is; junk in a memory costs more than a gap. No database and no clock. A language
model finds more, and is never needed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from keepstone.engine import extract_refused as refused
from keepstone.engine import extract_written as written
from keepstone.engine import titles
from keepstone.engine.ask_model import DATA_ONLY, borne_out, json_list, quoted, refuses
from keepstone.engine.extract_refused import small
from keepstone.engine.extract_said import said
from keepstone.engine.language.scripts import unspaced
from keepstone.engine.pack import own_words
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


def extract_said(text: str) -> list[Extracted]:
    """What a user said in one turn that holds beyond it, in its order."""
    return _memories(said(own_words(text)), MOST_SAID)


def extract_written(text: str, kind: written.Kind) -> list[Extracted]:
    """What a text that a model wrote comes to, in its order; if that is much, what is surest."""
    found = written.told(own_words(text), kind)
    surest = sorted(found, key=lambda each: -each.weight)
    kept = _memories(((each.content, each.category) for each in surest), MOST_WRITTEN)
    place = {cut(each.content): at for at, each in enumerate(found)}
    return sorted(kept, key=lambda each: place[each.content])


async def extract_by_model(model: LanguageModel, text: str, kind: str) -> list[Extracted]:
    """What a language model finds in a text of some kind, as far as the text bears it out.

    Raises UpstreamError where there is no reply, and with the code `not_understood` where it is no JSON.
    """
    own = own_words(text)[:READ_BY_MODEL]
    prompt = f"Kind: {kind}\n{quoted('text', own)}"
    # What is found is word for word in the text, so there is no more of it than of that.
    reply = (await model.complete(system=_EXTRACT, prompt=prompt, max_tokens=min(2_000, 200 + len(own)))).text
    supported = [entry for entry in _entries(reply) if borne_out(entry.content, own, share=SUPPORT)]
    return [entry for entry in supported if not has_secret(entry.content)][:MOST_WRITTEN]


def synthesize(text: str) -> str:
    """A message that somebody wants remembered, as its telling sentences; as it is where it has none."""
    own = own_words(text).strip()
    found = extract_said(own) or extract_written(own, "deep_think")
    return cut("\n".join(each.content for each in found) or own)


async def synthesize_by_model(model: LanguageModel, text: str) -> str:
    """A message that somebody wants remembered, in the words of a language model; by rules where it gives none."""
    own = own_words(text).strip()[:READ_BY_MODEL]
    reply = (await model.complete(system=_SYNTHESIZE, prompt=quoted("text", own), max_tokens=700)).text.strip()
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
    whole = " ".join(text.split())
    made = whole if len(whole) <= titles.LIMIT and not unspaced(whole) else titles.title(text)
    bare = _OPENING.sub("", made, count=1).rstrip(" .。!！,，;；") or made
    return bare[:1].upper() + bare[1:] if any(map(str.isalnum, bare)) else None


def has_secret(text: str) -> bool:
    """Whether there is a password, a key, a token or the number of a card in it, or what looks like one."""
    if refused.SECRET.search(text) or any(map(_mixed, refused.OPAQUE.findall(text))):
        return True
    return any(map(_checks, refused.CARD.findall(text)))


_OPENING = refused.pattern(r"(?i:\W*(?:<lead><told>)?(?:(?:the|an?)\s+)?)")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_TURNS = frozenset(
    ("not", "no", "never", "don't", "doesn't", "can't", "won't", "isn't", "nicht", "kein", "keine", "nie")
)


def _memories(found: Iterable[tuple[str, str]], most: int) -> list[Extracted]:
    """The first of those that are alike, without secrets."""
    kept: list[Extracted] = []
    for content, category in found:
        short = cut(content)
        if len(kept) < most and not has_secret(content) and not any(_alike(short, each.content) for each in kept):
            kept.append(Extracted(content=short, category=category, summary=summary(short)))
    return kept


def _alike(one: str, other: str) -> bool:
    """Whether they say the same in nearly the same words. Another number or a negation makes another thing of it."""
    first, second = (frozenset(_WORD.findall(small(text))) for text in (one, other))
    shared = 2 * len(first & second) > ALIKE * (len(first) + len(second))
    return shared and not any(word in _TURNS or word[0].isdigit() for word in first ^ second)


def _mixed(run: str) -> bool:
    """Whether a long run has digits, capitals and small letters: no word has."""
    return any(map(str.isdigit, run)) and any(map(str.isupper, run)) and any(map(str.islower, run))


def _checks(number: str) -> bool:
    """Whether the last digit is the right one for the number of a card (Luhn)."""
    digits = [int(digit) for digit in number if digit.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


# --- what a model gives -----------------------------------------------------------------------------------------------


def _entries(reply: str) -> Iterator[Extracted]:
    """The entries of a reply that have the right shape. One that is no JSON is a failure, and can be tried again."""
    for entry in json_list(reply):
        content, category, short = (entry.get(name) for name in ("content", "category", "summary"))
        if isinstance(content, str) and content.strip() and category in CATEGORIES:
            line = " ".join(short.split()) if isinstance(short, str) else ""
            made = line if 0 < len(line) <= 2 * titles.LIMIT and not has_secret(line) else summary(content)
            yield Extracted(content=cut(content), category=category, summary=made)
