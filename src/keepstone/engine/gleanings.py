"""Gleanings: what a single message of a room holds: facts, decisions, action items.

Owns which sentences those are, who has to do what until when, which decisions are firm, and which supersedes which. It
must not reword: by rules the text is a sentence of the message. What is asked, supposed, proposed, quoted or joked
holds nothing, and neither does small talk that sounds like a promise; a wrong action item costs more than a missed one.
No database and no clock: the due words stay as they were said. A language model finds more, and is never needed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast

from keepstone.engine.ask_model import DATA_ONLY, borne_out, json_list, quoted
from keepstone.engine.cues import CUES, NOISE, NUMBER, RECALLED, without_blocks
from keepstone.engine.extract import extract_said, has_secret
from keepstone.engine.extract import passed_over as refused
from keepstone.engine.language import doubt
from keepstone.engine.language.doubt import JOKE, QUOTED, SUPPOSED, UNSURE
from keepstone.engine.language.sentences import FENCE, lines, sentences, unmarked
from keepstone.engine.language.stopwords import guess
from keepstone.engine.pack import own_words
from keepstone.engine.rank import normalised
from keepstone.engine.terms import terms
from keepstone.providers.llm import LanguageModel

Type = Literal["fact", "decision", "action_item"]

MOST = 8
MOST_BY_MODEL = 5
READ = 5_000
# A longer sentence is prose, a log or a table.
SENTENCE = 400
FACT = 200
# Of the telling words of what a model gives, so many must stand in the message.
SUPPORT = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Gleaned:
    """`text` is a sentence of the message. `due` are the words that say until when, as said, without "by".

    `assignee` is a participant (or the speaker); None where nobody is named, or more than one.
    """

    type: Type
    text: str
    assignee: str | None = None
    due: str | None = None


def glean(speaker: str, text: str, participants: Sequence[str] = ()) -> list[Gleaned]:
    """What one message holds, in its order; mostly nothing."""
    plain = _said(text)
    if not plain.strip() or _is_aside(plain.lower()):
        return []
    told = {normalised(each.content): each.category or "" for each in extract_said(plain)}
    people = _People(speaker, participants)
    found: dict[str, Gleaned] = {}
    for sentence, boxed in _sentences(plain):
        each = _of_sentence(sentence, people, told, boxed=boxed)
        if each is not None and not has_secret(sentence):
            found.setdefault(normalised(sentence), each)
    return list(found.values())[:MOST]


def is_landmark(gleaned: Gleaned, text: str) -> bool:
    """Whether a decision is firm enough to be pinned for good. `text` is the message that it stands in."""
    if gleaned.type != "decision" or gleaned.text.rstrip().endswith(("?", "？")):
        return False
    low = _small(gleaned.text)
    firm = FIRM.search(low)
    if not firm or OPEN.search(low) or UNSURE.search(low) or SUPPOSED.search(low, 0, firm.start()):
        return False
    # Said of oneself it is a plan, and not what the room has agreed on.
    if (ALONE.search(low, 0, firm.end()) and not OURS.search(low)) or JOKE.search(_small(text)):
        return False
    return not any(match.start() <= firm.start() < match.end() for match in QUOTED.finditer(low))


def revises(new: str, old: str) -> bool:
    """Whether a newer decision takes the place of an older one: of the same thing, and another choice."""
    if normalised(new) == normalised(old):
        return False
    fresh, before = _frame(new), _frame(old)
    shared = fresh.subject & before.subject
    if not shared:
        return False
    near = len(shared) / min(len(fresh.subject), len(before.subject))
    most = max(len(fresh.subject), len(before.subject))
    if TURNED.search(_small(new)):
        # One word in common is enough where there is hardly another, or where what it names is given up.
        return near >= 0.5 and (len(shared) > 1 or most <= 2 or bool(ENDED.search(_small(new))))
    if (fresh.subject ^ before.subject) & _DAYS:
        return False
    # Without a word that says so: the same sentence but for one value, or for one word at the same place.
    if fresh.values != before.values and fresh.kinds & before.kinds:
        return near >= 0.6 and max(len(fresh.subject - shared), len(before.subject - shared)) <= 1
    places = (fresh.places(fresh.subject - shared), before.places(before.subject - shared))
    return near >= 0.5 and len(places[0]) == 1 and places[0] == places[1]


async def glean_by_model(
    model: LanguageModel, speaker: str, text: str, participants: Sequence[str] = ()
) -> list[Gleaned]:
    """What a model finds in a message, as far as the message bears it out. A reply that is no JSON is UpstreamError."""
    plain = _said(text)
    if not plain.strip():
        return []
    people = " ".join(", ".join(dict.fromkeys([speaker, *participants])).split())
    prompt = f"{quoted('people', people)}\n{quoted('message', ' '.join(plain.split()), speaker=speaker)}"
    reply = (await model.complete(system=_SYSTEM, prompt=prompt, max_tokens=500)).text
    known = _People(speaker, participants)
    gleanings: dict[str, Gleaned] = {}
    for entry in json_list(reply):
        gleaned = _supported(entry, plain, known)
        if gleaned is not None:
            gleanings.setdefault(normalised(gleaned.text), gleaned)
    return list(gleanings.values())[:MOST_BY_MODEL]


_SYSTEM = (
    "You read one message of a group chat and list what it holds: lasting facts, decisions that were made, and action "
    "items that somebody took on or was given. A question, a proposal, a condition, a joke, a quotation and small talk "
    f"hold nothing. {DATA_ONLY} Use the message's own words and nothing else; at most 5. "
    'Reply with JSON only: [{"type": "fact" | "decision" | "action_item", "text": "the sentence", "assignee": a name '
    'out of the people or null, "due": the words that say until when, or null}]. Nothing to list: []'
)


# --- a message --------------------------------------------------------------------------------------------------------


def _said(text: str) -> str:
    """The speaker's own words: nothing recalled, quoted or pasted as code."""
    # What stood around something that is taken out is not one sentence.
    own = own_words(text[:READ].replace("<recalled-memory", "\n<recalled-memory"))
    return _ASIDE.sub("", without_blocks(FENCE.sub("\n", own)))


def _is_aside(low: str) -> bool:
    """Whether a message is a joke, a program's output, or tells what a memory holds."""
    return bool(JOKE.search(low) or NOISE.match(low) or RECALLED.search(low))


def _sentences(plain: str) -> Iterator[tuple[str, bool]]:
    """The sentences up to where a text is handed in, each with whether it stands behind a box to be ticked."""
    boxed = {unmarked(match.group()) for match in _BOX.finditer(plain)}
    for line in lines(plain):
        for sentence in sentences(line.text):
            if refused.ERRAND.search(_small(sentence)):
                return
            if len(sentence) <= SENTENCE:
                yield sentence, line.text in boxed


def _of_sentence(sentence: str, people: "_People", told: dict[str, str], *, boxed: bool) -> Gleaned | None:
    low = _small(sentence)
    if boxed or LABEL.match(low):
        return _action(sentence, people.named(sentence))
    assigned = people.asked(sentence)
    if assigned or _doubtful(low):
        return _action(sentence, *assigned) if assigned else None
    category = _category(sentence, told)
    if _decides(sentence, low) or (category == "decision" and not NOT_YET.search(low)):
        return Gleaned(type="decision", text=sentence)
    assigned = people.promised(sentence)
    if assigned:
        return _action(sentence, *assigned)
    return Gleaned(type="fact", text=sentence) if category or _tells(sentence, low, people) else None


def _category(sentence: str, told: dict[str, str]) -> str:
    """What extraction makes of a sentence; it may have joined two of them, or cut one short."""
    whole = normalised(sentence)
    if len(set(terms(sentence))) < 2 or CHEERS.search(_small(sentence)):
        return ""
    return next((kind for content, kind in told.items() if _is_of(whole, content)), "")


def _is_of(whole: str, content: str) -> bool:
    if whole in content:
        # Of two that were joined, the one that the other leans on says the lesser part.
        return 2 * len(whole) > len(content)
    return len(content) > 12 and whole.startswith(content)


def _action(sentence: str, assignee: str | None) -> Gleaned:
    return Gleaned(type="action_item", text=sentence, assignee=assignee, due=due_of(sentence))


def due_of(sentence: str) -> str | None:
    """The words that say until when: those with "by" before others, since what is to be done may have a day in it."""
    found = list(DUE.finditer(sentence.replace("’", "'")))
    if found:
        match = next((each for each in found if each["by"] or each["before"]), found[0])
        return sentence[match.start("before" if match["before"] else "when") : match.end()].strip()
    dense = DUE_ZH.search(sentence)
    return dense.group().strip() if dense else None


def _is_timed(sentence: str) -> bool:
    """Whether it says until when, and not only when."""
    if any(each["by"] or each["before"] for each in DUE.finditer(sentence)):
        return True
    dense = DUE_ZH.search(sentence)
    return dense is not None and dense.group().endswith("前")


def _doubtful(low: str) -> bool:
    return bool(doubt.ASKS.search(low) or UNSURE.search(low) or OPEN.search(low) or _supposed(low))


def _supposed(low: str) -> bool:
    match = SUPPOSED.search(low)
    return bool(match and match.start() < len(low) // 2) or bool(refused.PLAY.match(low))


def _unquoted(low: str, match: re.Match[str] | None) -> bool:
    if match is None:
        return False
    return not any(quote.start() <= match.start() < quote.end() for quote in QUOTED.finditer(low))


def _decides(sentence: str, low: str) -> bool:
    """Whether a sentence says that something was settled: by words of this module or by the strong ones of the cues."""
    if NOT_YET.search(low) or REPORTED.search(low):
        return False
    if _unquoted(low, DECIDES.search(low)):
        return True
    if _unquoted(low, DECIDES_NAMED.search(low)) and (refused.SOLID.search(low) or refused.NAMED.search(sentence)):
        return True
    return any(cue.needle in low and _unquoted(low, cue.pattern.search(low)) for cue in _STRONG)


_STRONG = tuple(cue for cue in CUES if cue.code == "decision" and cue.weight >= 0.75)


def _tells(sentence: str, low: str, people: "_People") -> bool:
    """Whether a sentence states something exact of a thing or of a person that it names."""
    if not 12 <= len(low) <= FACT or refused.ASKING.match(low) or refused.REPORTED.search(low) or LEANS.match(low):
        return False
    if not STATES.search(low) or FEELS.search(low) or not _unquoted(low, STATES.search(low)):
        return False
    exact = len(NUMBER.findall(low)) + bool(re.search(r"\d", low)) + len(refused.NAMED.findall(sentence))
    about = bool(ABOUT.match(low) or people.begins(sentence))
    return exact >= 1 and about and len(set(terms(sentence))) >= 3


def _small(text: str) -> str:
    low = text.lower().replace("’", "'")
    return low if len(low) == len(text) else text


# --- one decision and another -----------------------------------------------------------------------------------------


class _Frame:
    """What a decision is about, and the values in it: numbers and days, which are chosen and never what it is about."""

    __slots__ = ("kinds", "language", "subject", "text", "values")

    def __init__(self, text: str) -> None:
        self.text, self.language = text, guess(text)
        found = set(terms(text, self.language))
        # "The invoice for March" and that for April are two things.
        whose = {term for match in _WHOSE.finditer(text) for term in terms(match[1], self.language)}
        self.values = {term for term in found - whose if term[0].isdigit() or term in _DAYS}
        self.kinds = {"day" if term in _DAYS else "number" for term in self.values}
        self.subject = found - self.values - _SAYING

    def places(self, apart: set[str]) -> list[str]:
        """For each word that differs the small word before it: "for Redis" and "for Kafka" stand at the same place."""
        words = _WORD.findall(_small(self.text))
        raw = _WORD.findall(self.text)
        return [
            before for before, word in zip(["", *words], raw, strict=False) if apart & {*terms(word, self.language)}
        ]


# A summary compares each with many.
@lru_cache(maxsize=1024)
def _frame(text: str) -> _Frame:
    return _Frame(text)


# --- what a model gives -----------------------------------------------------------------------------------------------


def _supported(entry: dict[str, Any], plain: str, people: "_People") -> Gleaned | None:
    """What a model gave as far as the message says it; None when it does not."""
    kind, text = entry.get("type"), entry.get("text")
    if kind not in ("fact", "decision", "action_item") or not isinstance(text, str):
        return None
    text = " ".join(text.split())
    if len(text) > SENTENCE or has_secret(text) or not borne_out(text, plain, share=SUPPORT):
        return None
    due, assignee = entry.get("due"), entry.get("assignee")
    stands = isinstance(due, str) and due.strip() and normalised(due) in normalised(plain)
    return Gleaned(
        type=kind,
        text=text,
        assignee=people.known(assignee) if kind == "action_item" and isinstance(assignee, str) else None,
        due=cast("str", due).strip() if kind == "action_item" and stands else None,
    )


# --- people -----------------------------------------------------------------------------------------------------------


class _People:
    """The participants of a room, and what a sentence gives them to do."""

    __slots__ = ("_named", "_names", "_self")

    def __init__(self, speaker: str, participants: Sequence[str]) -> None:
        self._self = speaker
        self._names: dict[str, str] = {}
        for name in participants:
            short = name.split()[0] if name.split() else ""
            for each in (name, short):
                if each.strip() and any(map(str.isalnum, each)):
                    self._names.setdefault(_small(each), name)
        longest = sorted(self._names, key=len, reverse=True)
        any_of = "|".join(_bounded(name) for name in longest) or r"(?!)"
        self._named = re.compile(any_of)

    def known(self, name: str) -> str | None:
        if _small(name.strip().lstrip("@")) == _small(self._self):
            return self._self
        return self._names.get(_small(name.strip().lstrip("@")))

    def named(self, sentence: str) -> str | None:
        """The one participant that a sentence names; None when it names none or several."""
        return _only([self._names[match.group()] for match in self._named.finditer(_small(sentence))])

    def begins(self, sentence: str) -> bool:
        return bool(self._named.match(_small(sentence)))

    def asked(self, sentence: str) -> tuple[str | None] | None:
        """Whom a sentence asks or tells to do something; None when it does not, or nobody is named."""
        low = _small(sentence)
        called = [match for match in self._named.finditer(low) if self._addresses(low, match)]
        for match in called:
            rest = low[match.end() :]
            if ASKS.match(rest) or (_ahead(low, match) and TOLD.match(rest)) or ASKS_ZH.match(rest):
                several = len({self._names[each.group()] for each in called}) > 1
                return (None if several else self._names[match.group()],)
        if called and called[-1].end() >= len(low.rstrip(" ?!.？。！")) and CAN_YOU.match(low):
            return (self._names[called[-1].group()],)
        plea = PLEASE.match(low)
        if plea and not doubt.ASKS.search(low) and due_of(sentence):
            return (None,)
        return None

    def _addresses(self, low: str, match: re.Match[str]) -> bool:
        """Whether a name is called out: at the beginning, after an "@", or set off by commas."""
        before = low[: match.start()]
        at_sign = before.endswith("@")
        if self._names[match.group()] == self._self and not at_sign:
            return False
        after = low[match.end() : match.end() + 1]
        alone = not self._named.sub("", before).strip(" @,，&+/") or bool(GREETS.fullmatch(before))
        return at_sign or alone or (bool(re.search(r"[,，]\s*$", before)) and after in {"", "?", ",", ".", "!", "？"})

    def promised(self, sentence: str) -> tuple[str | None] | None:
        """Who takes something on in a sentence; a tuple with None when somebody has to, and nobody says who."""
        low = _small(sentence)
        for pattern in () if AT_ONCE.search(low) else (WILL, WILL_DE, WILL_ES, WILL_ZH):
            if _unquoted(low, pattern.search(low)):
                return (self._self,)
        if _unquoted(low, OWES.search(low)) and _is_timed(sentence):
            return (self._self,)
        for match in self._named.finditer(low):
            rest = low[match.end() :]
            if HAS_TO.match(rest) and _ahead(low, match):
                others = {self._names[each.group()] for each in self._named.finditer(low, 0, match.end())}
                return (self._names[match.group()] if len(others) == 1 else None,)
        if _unquoted(low, NEEDED.search(low)) or (SHOULD.search(low) and _is_timed(sentence)):
            return (None,)
        return None


def _bounded(name: str) -> str:
    """A name that is no part of a longer word; in a script without spaces there is nothing to tell it by."""
    escaped = re.escape(name)
    return rf"(?<![^\W_])(?<!-){escaped}(?![^\W_]|-\w)" if name.isascii() else escaped


def _ahead(low: str, match: re.Match[str]) -> bool:
    """Whether a name begins the sentence or a clause of it."""
    before = low[: match.start()].rstrip(" @")
    return (
        not before
        or before[-1] in ",;:：，；"
        or bool(re.search(r"(?:\band|&|\bso|\bok|\bthen|\brecap|[@\w]\s*,)$", before))
    )


def _only(names: Sequence[str]) -> str | None:
    return names[0] if len(set(names)) == 1 else None


# --- the words --------------------------------------------------------------------------------------------------------

_ASIDE = re.compile(r"^[ \t]*>[^\n]*", re.MULTILINE)
_BOX = re.compile(r"^[ \t]*[-*+][ \t]+\[ \][ \t]+\S[^\n]*", re.MULTILINE)

_DAY = (
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?\b|"
    r"(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)\b|(?:lunes|martes|miércoles|jueves|viernes|"
    r"sábado|domingo)\b"
)
_MONTH = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?|"
    r"sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)\b"
)
_CLOCK = r"(?:\d{1,2}(?::\d\d)?\s?(?:am|pm|uhr|o'clock|h)\b|\d{1,2}:\d\d\b)"
_PART = r"(?:morning|noon|afternoon|evening|night|midday)"
_WHEN = (
    rf"(?:(?:the )?end of (?:the |this |next )?(?:day|week|month|year|quarter|sprint|business|{_MONTH})\b|eod\b|eow\b|"
    rf"cob\b|(?:noon|midnight)(?: (?:tomorrow|today|on (?:{_DAY})))?\b|tomorrow(?: {_PART})?(?:(?: at)? {_CLOCK})?\b|"
    rf"today\b|tonight\b|(?:early |late )?(?:next|this|the coming) (?:week(?:end)?\b|month\b|quarter\b|sprint\b|"
    rf"{_PART}\b|{_DAY}|{_MONTH})|(?:the )?(?:{_DAY})(?: {_PART}\b| standup\b| meeting\b| call\b| review\b)?"
    rf"(?:,? (?:the )?\d{{1,2}}(?:st|nd|rd|th)\b)?(?:,?(?: at)? (?:{_CLOCK}|\d{{1,2}}\b(?!\s?\w)))?|"
    rf"(?:the )?\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of)? {_MONTH}(?:,? \d{{4}}\b)?|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b"
    rf"(?:,? \d{{4}}\b)?|the \d{{1,2}}(?:st|nd|rd|th)\b|\d{{4}}-\d\d-\d\d|{_CLOCK}|q[1-4]\b|christmas\b|easter\b|"
    r"heute(?: abend)?\b|morgen(?: früh| abend)?\b|übermorgen\b|(?:nächste|diese|kommende)[rns]? "
    rf"(?:woche|monat|{_DAY})\b|ende (?:der woche|des monats|{_MONTH})|hoy\b|mañana\b|esta (?:semana|tarde|noche)\b|"
    rf"la semana que viene\b|\d{{1,2}} de \w+)"
)
_WHEN_ZH = (
    r"(?:(?:今|明|后)[天晚早](?:上午|下午|晚上|早上)?|(?:这|本|下)?(?:周|星期|礼拜)[一二三四五六日天末]|(?:这|本|下)周|"
    r"\d{1,2}\s?月\s?\d{1,2}\s?[日号]|(?<!\d)\d{1,2}\s?[号日]|(?:本|下)?月底|年底|下班)(?:(?:上午|下午|"
    r"晚上)?[\d一二三四五六七八九十]{1,2}点)?"
)
# "by" and its like say nothing more than "due" does; "before" does.
DUE = re.compile(
    r"(?<!\w)(?:(?P<by>by|until|till|no later than|due(?: on| by)?|bis(?: zum| spätestens)?|hasta(?: el)?|para el)\s+|"
    r"(?P<before>(?:before|within|vor|antes (?:del?|de la))\s+|in (?=(?:\d+|an?|two|three|a few) (?:hour|day|week)))|"
    rf"(?:on|at|for|am|el)\s+)?(?P<when>{_WHEN}|(?:\d+|an?|two|three|a few) (?:hours?|days?|weeks?)\b)",
    re.IGNORECASE,
)
DUE_ZH = re.compile(
    r"(?:(?:今|明|后)[天晚早](?:上午|下午|晚上|早上)?|(?:这|本|下)?(?:周|星期|礼拜)[一二三四五六日天末]|[这本下]周|"
    r"\d{1,2}\s?月\s?\d{1,2}"
    r"\s?[日号]|(?<!\d)\d{1,2}\s?[号日]|[本下]?月底|年底|下班)(?:(?:上午|下午|"
    r"晚上)?[\d一二三四五六七八九十]{1,2}点)?\s?(?:之前|以前|前)?"
)

LABEL = re.compile(
    r"\W*(?:to-?\s?dos?|action(?: items?)?|next steps?|tasks?|follow[- ]?ups?|nächste[rs]? schritte?|aufgaben?|"
    r"zu erledigen|tareas?|pendientes?|(?:próximo|siguiente)s? pasos?|待办(?:事项)?|下一步|行动项|任务)"
    r"(?: (?:for|für|para) @?[\w-]+(?: [\w-]+)?)?\s?[:：]\s*(?!none|nothing|n/a|-|keine|无|没有)\S"
)
GREETS = re.compile(
    r"\W*(?:(?:hi|hey|hello|ok|okay|so|and|also|oh|then|great|thanks|please|cool|hallo|hola)\b[\s,!.@]*){1,3}"
)
# What is asked of somebody and is no work.
_IDLE = (
    r"(?:believe|hear|see|imagine|remember|tell me|tell us|say|think|explain|help|understand|feel|relate|guess|not|"
    r"stop|please not|be|clarify|elaborate|smell|come|join|make it|wait|live|talk|repeat|recommend|do that|do it|"
    r"do this)\b"
)
ASKS = re.compile(
    rf"\s?[,:，]?\s*(?:(?:can|could|would|will) you(?: (?:please|pls|also|maybe|just|quickly|kindly))*|"
    rf"(?:and )?(?:please|pls)|"
    rf"i need you to|you (?:need|have) to|your turn to|kannst du(?: bitte)?|könntest du(?: bitte)?|bitte|"
    rf"¿?(?:puedes|podrías)|por favor,?)\s+(?!{_IDLE}|don't|do not|no\b|stop\b|never\b|nicht\b)\S+\s+\S+"
)
ASKS_ZH = re.compile(
    r"\s?[,:，：]?\s*(?:你(?:能|可以)(?!不能|想|看到|听).{3,}|(?:麻烦|请)你?(?!问|教|假).{3,}|你(?:来|去|负责|今天|"
    r"明天|记得|把).{3,}|负责.{2,})"
)
# What somebody is told who is called by name.
_DO = (
    r"(?:run|send|write|post|fix|check|review|update|add|prepare|book|call|ask|make|create|deploy|order|bring|draft|"
    r"look|"
    r"find|summari[sz]e|merge|test|schedule|upload|share|e?mail|investigate|open|close|file|set|move|rename|delete|"
    r"remove|"
    r"roll|restart|confirm|print|buy|pick|sign|translate|list|compare|search|collect|finish|submit|forward|invite|"
    r"contact|pay|clean|revert|rebase|document|measure|compile|generate|analy[sz]e|research|plan|fetch|show|pull)"
)
TOLD = re.compile(
    rf"\s?[,:]\s*{_DO}\s+(?!me\b.{{0,20}}$)\S+|\s{_DO} (?:the|a|an|our|all|this|my)\b|\s?[,:]?\s*your turn to \S+"
)
CAN_YOU = re.compile(
    rf"\W*(?:can|could|would|will) you (?:please )?(?!{_IDLE})\S+ \S+|\W*please (?!{_IDLE}|don't)\S+ \S+"
)
PLEASE = re.compile(
    rf"\W*(?:everyone|everybody|all|folks|team)?[,:]?\s*(?:please|bitte|por favor,?) (?:{_DO}|fill|read|vote|\w+t|"
    rf"\w+e)\b"
)

# What one says to do and is talk.
_TALK = (
    r"(?:be|definitely|also|then|personally|happily|think|see|let|get back|never|always|admit|say|tell you|bet|wait|"
    r"pass|live|believe|have|go|miss|need|"
    r"probably|still|stop|leave (?:it|you|now|for)|try|join|come|stay|sleep|survive|manage|assume|guess|hate|love|like|"
    r"want|"
    r"remember|forget|understand|die|shut|grab|head|eat|skip|stick|keep|reach|make (?:it|this|that|my|sure|"
    r"an? difference)|do (?:it|that|more|my best)|chat|take (?:it|that|a (?:look|shot|break)|"
    r"the (?:bus|train|other))|know|feel|end up|look forward|not|give (?:it|you|up)|ask again|find out|hop|drop (?:off|"
    r"out)|"
    r"just|start by|use|stand|run late|figure|watch|show up|repeat|explain|regret|cry|laugh|drive myself|the|an?|my|"
    r"our|your|bed|work|make it (?:short|more|better)\w*|help|enjoy|start (?:crying|to))\b"
)
_AT = r"(?:^|[,;:.(—–]\s*|\b(?:and|but|so|then|ok|okay|yes|yep|sure|great|also|now)[\s,]+)"
WILL = re.compile(
    rf"{_AT}(?:i'll|i will|i'm going to|i am going to|i'm gonna)(?: also| then| personally| definitely|"
    rf" happily)? (?!{_TALK})"
    r"[a-z-]+\s+\S|\bi(?:'ll| will) take (?:care of|over|on)\b \S|\bi(?:'ll| will) (?:get|give|have) .{3,60}\b(?:by|"
    r"before)\b|"
    r"^\W*i(?:'m| am) (?:responsible for|in charge of|taking over|taking on) \S"
)
# Done before anybody reads of it.
AT_ONCE = re.compile(
    r"\b(?:right )?now\b|\bright away\b|\bin an? (?:moment|minute|sec\w*|bit)\b|\bgleich\b|帮你|马上就?[来好]"
)
# Has to be done until some time, or it is a sigh.
OWES = re.compile(
    rf"{_AT}i(?:'ve)? (?:still |also )?(?:(?:have|need|got) to (?!{_TALK})\w+ \S|must (?!{_TALK})\w+ \S|"
    rf"(?:have )?promised \S|owe \S).*\b(?:by|before|until)\b"
)
HAS_TO = re.compile(
    rf"(?:'ll| will| is going to| is gonna| agreed to| promised to| offered to| volunteered to| has to| needs to| must|"
    rf" to| takes care of| is responsible for| is taking over)\s+(?!{_TALK}|you\b|me\b|know\b|us\b|the\b(?=\W*$)|"
    rf"finance\b)\S+(?:\s|$)|\s?(?:来)?负责(?!人).{{2,}}|"
    rf" (?:kümmert sich um|übernimmt|muss|se encarga de|se ocupa de) \S"
)
NEEDED = re.compile(
    rf"{_AT}(?:somebody|someone|jemand|one of us|one of you) (?:needs to|has to|must|should|muss|"
    rf"sollte) (?!{_TALK})\S+|"
    rf"{_AT}(?:please )?(?:don't|do not|let's not) forget to \w+(?: \w+)? (?:the|our|my|this|that|all|your)\b|"
    rf"{_AT}remember to {_DO}\b|\bnicht vergessen\b.{{4,}}|"
    rf"{_AT}(?:we|you) (?:still |also )?(?:need|have) to (?:renew|submit|file|order|book|send|sign|pay|fix|update|"
    rf"back up|hire) \S+|"
    r"(?:别忘了|记得)(?!我|你|那|上).{3,}"
)
# With a day until when.
SHOULD = re.compile(
    rf"{_AT}(?:we|you|they|y'all) (?:still |also |all )?(?:need|have|must|ought)(?: to)? (?!{_TALK})\S+ \S|"
    rf"\bwir müssen\b|\bihr müsst\b|"
    r"\b(?:tenemos|hay) que\b|(?:我们|大家|必须|需要|得|要).{0,20}(?:提交|完成|交|发|给|做完|上线)"
)
WILL_DE = re.compile(
    r"(?:^|[,;:.]\s*)(?:ja|ok|gut|dann|gerne)?[,\s]*(?:ich (?:kümmere mich um|übernehme|erledige|besorge|organisiere|"
    r"schicke|sende|"
    r"schreibe|sammle|bestelle|buche|reserviere|reiche|bereite|prüfe|melde|bringe|rufe) (?!mir\b|gleich zurück)\S+|"
    r"ich werde .{3,}(?:en|ern|eln)\W*$|"
    r"ich (?:frage|mache|lese|hole|klär\w*) .{3,60}\bbis\b)"
)
WILL_ES = re.compile(
    r"\b(?:yo )?me (?:encargo|ocupo) de \S+|(?:^|[,;.]\s*)(?:yo )?(?:enviaré|mandaré|llamaré|haré|prepararé|escribiré|"
    r"compraré|"
    r"traeré|reservaré|pagaré|revisaré) \S+|(?:^|[,;.]\s*)(?:yo )?voy a (?:enviar|mandar|llamar|preparar|escribir|"
    r"comprar|"
    r"reservar|pagar|revisar) \S+"
)
WILL_ZH = re.compile(
    r"(?:我|由我)(?:来)?负责.{2,}|我来(?!晚|了|过|自|说|不|到|这).{2,}|(?:交给|包在)我|我(?:会|去|明天|今天|今晚|"
    r"周[一二三四五六日末]|下周|马上).{0,12}"
    r"(?:发|写|提交|联系|准备|整理|更新|修复|修改|完成|订|买|打电话)"
)

# Settled, in other words than those of the curator.
_US = r"(?:we|wir|everyone|everybody|the (?:team|board|group|committee|council|family)|all of us|they all|board|team)"
DECIDES = re.compile(
    rf"^\W*(?:final(?: decision| answer| call| version)?|decision|decided|agreed|resolved|settled|verdict|entscheidung|"
    rf"beschluss|"
    r"entschieden|decisión|decidido|acordado|结论|决定|最终决定|最终方案|已决定)\s?[:：]\s*\S"
    rf"|\b{_US}(?:'ve| have| has)? (?:all |finally |just |now |also |unanimously )*(?:decided|agreed|voted|settled|"
    rf"opted|resolved|chose|chosen|approved|signed off)\b(?! (?:nothing|with you))"
    rf"|\b{_US}(?: all| now| just| then| only)? (?:go|goes|are going|'re going) with (?!that\b|this\b|it\b|the flow)\S"
    r"|\b(?:we're|we'll|we will|let's) (?:just |all |then )?(?:go|going) with (?!that\b|this\b|it\b|the flow|your)\S"
    r"|\b(?:we're|we are) (?:now |all )?(?:switching|dropping|moving|keeping|staying|sticking|cancell?ing|postponing|"
    r"replacing|hiring|"
    r"merging|scrapping|migrating|renaming|raising|closing|selling|buying|not going to|not doing|"
    r"no longer)\b(?!.*\b(?:furniture|tonight)\b)"
    r"|^\W*(?:ok(?:ay)?|alright|good|great|right|so|then|yes|fine|recap)?[\s,:.]*(?:so )?we(?:'ll| will|"
    r" won't)? (?:only |not |no longer )?"
    r"(?:stay|stick|rent|ship|launch|drop|take|use|keep(?! (?:\w+in[g']|on|each|up|everyone))|submit|switch|postpone|"
    r"cancel|hire|adopt|start with|make \w+ an offer|sign on|meet every)\b"
    r"(?! (?:it|this|that|care|up|you|a (?:break|look)|in touch|tuned|positive)\b)"
    r"|\blet's (?:keep(?! (?:\w+in[g']|on|each|up|everyone))|stick with|drop|stay with|switch to|postpone|ship|move|"
    r"cancel|rename|do \w+(?: \w+)? instead)\b (?!it\b|this (?:short|up)|in touch|going|moving|you)"
    r"|\blet's .{3,60}\binstead\b|\bchange of plans?\b|\bchanged (?:my|our) minds?\b.{3,}"
    r"|^\W*(?!it\b|that\b|what\b|as\b|here\b|there\b|yes\b|no\b)(?:(?!how\b|what\b|as\b|"
    r"love\b)[\w'-]+,? ){1,3}it is\b(?:[.,!;]|\W*$)|\bthe plan is (?:to|that)\b|\bit(?:'s| is) (?:settled|decided|"
    r"official|final)\b|\bthat's settled\b"
    r"|\b(?:from now on|going forward)\b(?=.*\b(?:we|nobody|everyone|everybody|all|no|every)\b)|\b(?:we|nobody|"
    r"everyone|everybody|all|no|every|called)\b.*\b(?:from now on|going forward)\b|\bas (?:discussed|agreed),|"
    r"\bas of (?:now|today|next)\b.*\bwe\b|\bwe no longer\b|\bwins with\b"
    r"|\bwir (?:nehmen|bleiben bei|wechseln|streichen|verschieben|verzichten|machen es so|legen .{0,30}ein)\b|"
    r"\b(?:haben|habe) uns .{0,60}\b(?:geeinigt|entschieden)\b|"
    r"\b(?:haben|wurde|hat) .{0,60}\b(?:entschieden|beschlossen)\b"
    r"|\b(?:hemos|han|se ha) (?:decidido|acordado)\b|\b(?:decidimos|acordamos|optamos por|nos quedamos con)\b"
    r"|那就(?:选|用|按|定|改|买|去|先|下|周)|就这么(?:定|办)|定在|(?:我们|大家|团队|最终|已经?)(?:都)?(?:决定|同意|"
    r"选了|选择了|改用|改成|敲定)|拍板"
)
# Only with a number or a name: "let's use another approach" settles nothing.
DECIDES_NAMED = re.compile(
    r"\blet's (?:use|hire|start with|make it|meet|take|book|do|buy|get|order) (?!it\b|this\b|that\b|you\b)\S"
)
FIRM = re.compile(
    DECIDES_NAMED.pattern
    + "|"
    + DECIDES.pattern
    + "|"
    + "|".join(cue.pattern.pattern for cue in CUES if cue.code == "decision" and cue.weight >= 0.7)
)
NOT_YET = re.compile(
    r"\bdecided to (?:ask|look|try|check|see)\b|\b(?:(?:not|never|nothing|hasn't|haven't|isn't|wasn't|nobody|"
    r"no one)\b.{0,30}\b(?:decid\w*|agreed|final|settled|chosen|approved)|to be decided|tbd|undecided|"
    r"(?:decide|decided|agree) (?:anything|nothing)|nicht(?:s)? .{0,20}(?:entschieden|beschlossen)|no (?:hemos|se ha|"
    r"han) (?:decidido|acordado))\b|(?:没|未|还没有?)(?:有)?(?:决定|定)"
)
# Proposed, or put to the others.
OPEN = re.compile(
    r"^\W*(?:proposal|suggestion|idea|option|draft|question|vorschlag|idee|propuesta|提议|建议|"
    r"方案[一二三abc])\s?\w?\s?[:：]|\b(?:i (?:don't think|think|guess|suggest|propose|vote|recommend|feel|believe|"
    r"wonder|hope|"
    r"wish|doubt)|"
    r"we (?:could|should|might|can)|could (?:also|go)|i'd|i would|i could|would (?:be|love|prefer)|how about|"
    r"what about|why don't|thinking (?:of|about)|considering|let's see|"
    r"wir (?:könnten|sollten)|ich (?:denke|glaube|würde)|podríamos|deberíamos|creo que|probably|were going to|used to|"
    r"supposed to|as if|almost|once)\b|要不|我觉得|不如|可以考虑|吧$"
)
# Others decided, long ago or by hearsay.
REPORTED = re.compile(
    r"^\W*(?:they|he|she) (?:'ve |have |has )?(?:decided|agreed|chose)|\b(?:i (?:read|heard)|apparently|rumou?r|"
    r"somewhere|(?:said|says|told (?:me|us)|claims?)\b)"
)
ALONE = re.compile(r"\b(?:i|i'm|i'll|i've|my|ich|yo)\b|我(?!们)|^\W*你")
OURS = re.compile(r"\b(?:we|we're|we'll|we've|us|our|let's|wir|uns|nosotros|team|everyone)\b|我们|大家")

# What something is, has, costs or does for long; and about what.
STATES = re.compile(
    r"\b(?:is|are|was|has|have|costs?|runs?|starts?|begins?|ends?|expires?|holds?|lands?|leaves|closes|opens|delivers?|"
    r"uses|owns?|"
    r"handles|lives|works|went (?:from|up|down)|goes up|rose|fell|dropped|grew|charges|pays|speaks|belongs|consists|"
    r"weighs|freezes|"
    r"takes|meets|reports to|listens|turns|ist|sind|hat|kostet|läuft|steht|liegt|beginnt|endet|steigt|heißt|es|está|"
    r"son|tiene|cuesta|"
    r"empieza|termina|vence)\b|'s (?=\w+ing\b|at\b|in\b|on\b|the\b|our\b|\d)|是|在|为|有|要求"
)
ABOUT = re.compile(
    r"\W*(?:(?:fyi|for the record|note|heads up|(?:quick )?update|info|reminder|by the way|btw|also|and|but|ok|so|yes|"
    r"no)\b[\s,:]*)*"
    r"(?:the|our|my|mom's|dad's|mum's|his|her|their|each|every|all (?:of )?(?:the|our)|an? \w+ \w+|we have \w+|i'm|"
    r"i am|[\w.-]+'s|der|die|das|"
    r"unsere?[rs]?|meine?|el|la|los|las|nuestr[oa]s?|mi)\b|\W*(?:我们的|我的|客户|公司|项目|合同|服务器|.{2,8}的)"
)
LEANS = re.compile(
    r"\W*(?:(?:and|so|yes|but|no)\b[\s,]*)*(?:(?:the|my|our) (?:\w+ )?(?:fact|idea|reason|thing|point|suggestion|"
    r"problem|questions?|issue)|it|that|this|those|these|they|there|he|she|what|here|that's|it's|es|eso|esto|这|那|"
    r"它)\b"
)
FEELS = re.compile(
    r"\b(?:today|right now|at the moment|again|so (?:hard|tired|good|bad|proud|happy)|awful|gorgeous|insane|amazing|"
    r"beautiful|great|awesome|"
    r"error|query|output|line \d+|code is|crash\w*|annoying|terrible|lovely|nice|weird|strange|funny|acting up|broken|"
    r"late|tired|heute|gerade|hoy|ahora)\b|今天|好累"
)

CHEERS = re.compile(r"\bgiv(?:e|ing) up\b|\bkeep (?:going|pushing|it up|up)\b|\bproud of\b|\bgood luck\b")
# Says in a decision that another one was made before.
TURNED = re.compile(
    r"\b(?:instead|actually|no longer|any ?more|changed?|changing|now|rather than|scratch that|correction|"
    r"on second thought|after all|"
    r"postponed?|moved?|moves|moving|switch(?:ed|ing)?|pushed|delayed|replac\w+|revert\w*|not .{1,30} but|stattdessen|"
    r"doch|nicht mehr|"
    r"verschieben|verschoben|geändert|jetzt|ya no|en vez|en lugar|ahora|cambi\w+)\b|改[成为到用]|不再|换成|取消|推迟|"
    r"而不是"
)
ENDED = re.compile(r"\bno longer\b|\bany ?more\b|\bnicht mehr\b|\bya no\b|不再")
# The words with which a decision is made, not those that it is about.
_SAYING = frozenset(
    terms(
        "decide decided decision agree agreed go going gone goes use uses using used choose chose chosen pick picked "
        "take takes taking final finally settle settled instead actually now longer anymore change changed changing "
        "move moved moves moving switch switched switching keep keeping stay ok okay plan make made want need think "
        "will let's team everyone back new rather correction second thought postpone postponed push pushed delay "
        "delayed replace replaced please yes get do good hold",
        "en",
    )
    + terms("wir nehmen entschieden beschlossen jetzt doch stattdessen bleiben machen", "de")
    + terms("hemos decidido usamos ahora mejor", "es")
    + terms("我们决定用 我们改成 改为 改到 改用 不再 换成 取消 推迟 那就 定在", "zh")
)
_DAYS = frozenset(
    terms(
        "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
        "september october november december today tomorrow tonight noon morning afternoon evening week month year",
        "en",
    )
    + terms("montag dienstag mittwoch donnerstag freitag samstag sonntag januar märz mai juni juli oktober", "de")
    + terms("lunes martes miércoles jueves viernes sábado domingo", "es")
)
_WHOSE = re.compile(r"\b(?:for|of|für|de|von)\s+([\w-]+)", re.IGNORECASE)
_WORD = re.compile(r"[\w'’.-]*[\w]")
