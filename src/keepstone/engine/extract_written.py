"""What a text that a model wrote comes to: its results and choices, and of a compaction what it says of the user.

Owns the headings, labels and words by which they are known. It must not reword. An essay, a poem, code and a catalogue
come to nothing; neither does what is hedged, or said of the work itself.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from keepstone.engine.extract_refused import ASKED, LEANS, NAMED, pattern, small
from keepstone.engine.language.scripts import unspaced
from keepstone.engine.language.sentences import FENCE, Line, lines, sentences

Kind = Literal["deep_think", "research", "compaction"]
Section = Literal["", "result", "choice", "known"]

# Of a longer text the beginning and the end: there it says what it comes to.
READ = 40_000
# A longer line is no prose, a longer sentence no memory, a shorter one says nothing.
LINE = 2_000
SENTENCE = 400
SHORTEST = 24
# A part with more lines is a catalogue, whatever its heading says.
CATALOGUE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A sentence as it stands in the text, with how surely it is one to keep."""

    content: str
    category: str
    weight: int


# --- the words --------------------------------------------------------------------------------------------------------

_PARTS = {
    "result": r"""(?:(?:the |my |our |most important |main |key |overall |final |central |major |primary |core |
    executive )*(?:results?|findings?|take-?aways?|conclusions?|verdict|outcomes?|insights?|summary|bottom line|
    tl;?dr|in short)|(?:wichtigste )?(?:ergebnisse?|erkenntnisse?)|fazit|zusammenfassung|schlussfolgerung(?:en)?|
    conclusi(?:ón|ones)|resultados?|hallazgos?|resumen|(?:主要|关键|核心)?(?:结论|总结|结果|发现|要点))""",
    "choice": r"""(?:(?:the |my |our |main |key |final |overall )*(?:recommendations?|decisions?(?: made)?|decided|
    agreed|choice)|empfehlung(?:en)?|entscheidung(?:en)?|beschl(?:uss|üsse)|recomendaci(?:ón|ones)|decisi(?:ón|ones)|
    (?:最终)?(?:建议|决定|决策))""",
    "known": r"""(?:(?:the |key |known |important |user |about the |user's )*(?:facts?|preferences?|context|
    constraints?|profile|user|background|requirements?|setup|environment)|fakten|vorlieben|hechos|preferencias|
    contexto|事实|偏好|用户信息|背景)""",
    # Says what such a part should hold, and holds nothing.
    "outline": r"""(?:present|describe|summari[sz]e|discuss|include|explain|provide|state|highlight|restate|outline|
    list|give|conclude)\b""",
}
# Headings, and labels at the beginning of a sentence.
RESULTS = pattern(
    r"\W*<result>(?: (?:and|&) (?:<result>|<choice>))?(?: (?:of|so far|from) [\w ]{0,40})?\s*[:：]?\W*", _PARTS
)
CHOICES = pattern(r"\W*<choice>(?: (?:so far|made))?\s*[:：]?\W*", _PARTS)
KNOWN = pattern(r"\W*<known>\s*[:：]?\W*", _PARTS)
RESULT = pattern(r"\W*<result>\s*[:：]\s*(?!<outline>)\S", _PARTS)
CHOICE = pattern(r"\W*<choice>\s*[:：]\s*(?!<outline>)\S", _PARTS)
# Sums up: common in any essay, and so only with something exact in it.
SUMS_UP = pattern(r"""\W*(?:in (?:conclusion|short|summary|sum)|to (?:conclude|sum up|summari[sz]e)|overall|therefore|
    thus|hence|all in all|the bottom line is|insgesamt|kurz gesagt|daher|deshalb|zusammenfassend|
    en (?:conclusión|resumen)|por (?:lo )?tanto|en definitiva)\b,?\s|\W*(?:综上(?:所述)?|总之|因此|总的来说)""")
FOUND = pattern(r"""\b(?:(?:main|root|primary|real|underlying|most likely) (?:cause|reason|driver|bottleneck) (?:is|
    was|of\b.{1,40}\bis)|turns out that|turned out that|(?:key|main|most important) (?:finding|result|takeaway) (?:is|
    was)|(?:die )?(?:haupt)?ursache (?:ist|war)|la causa (?:principal )?es|we found that|the analysis shows|
    the data shows?)\b|(?:主要|根本)原因是|研究发现|结果表明""")
CHOSEN = pattern(r"""\b(?:(?:i|we) (?:strongly |would )?recommend|recommendation is|
    (?:best|right|safest) (?:option|choice|approach) is|(?:we|team|they|board)(?: have| has)? (?:decided|agreed|opted)|
    conviene|recomiendo|se recomienda|decidió|empfehle|entschied\w*|empfehlung)\b|建议(?:采用|选择|使用)|
    推荐(?:采用|选择|使用)|决定""")
DECIDED = pattern(r"\b(?:decided|agreed|chose)\b")
ADVISED = pattern(r"""\b(?:should|recommended|is to (?:use|keep|order|choose|adopt)|must|sollten?|debería|conviene)\b|
    应该|采用|应当""")
IMPERATIVE = pattern(r"""\W*(?:use|keep|add|choose|adopt|switch|move|drop|order|migrate|replace|split|start|stay|buy|
    hire|ship|upgrade|remove|enable|disable|avoid|set|run|postpone|wait)\b""")
# What was measured, with a number: a finding in a report, and no more than colour in an essay.
MEASURED = pattern(r"""\b(?:found|measured|show(?:s|ed)|rose|fell|grew|dropped|increased|decreased|reduced|improved|
    outperform\w*|declined|doubled|halved|saved?|achieved)\b.*\d.*(?:%|percent|\$|€|£|\b(?:times|million|billion|
    seconds|minutes|hours|days|ms|gb|mb|tokens|points)\b)""")
# Of the work itself, of the reader, or of nobody.
META = pattern(r"""\b(?:i will|i'll|let me|let us|let's|as an ai|would you like|feel free|let me know|i hope|happy to|
    this (?:report|essay|section|document|article)|we searched|i (?:looked|searched|compared|found several|wasn't|
    was not|couldn't|could not)|further (?:studies|research|work)|more (?:work|research) is|next,? (?:i|we)|
    here(?:'s| is| are) (?:what|the|a|some)|be sure to|remember to|consider your|
    recommend (?:check|consult|visit|watch|explor|try|contact|read|reach|tak|attend|start|spend)\w*|
    (?:the )?(?:user|assistant|conversation) (?:then |also |first |later |politely )?(?:asked|requested|wanted to know|
    inquired|thanked|greeted|laughed|explained|provided|replied|listed|rewrote|told|will|covered|moved|ended|suggested|
    answered|gave|offered|described|discussed|expressed interest|may)|open question|
    to be (?:decided|determined|discussed)|unclear|tbd|ich werde|sag mir|avísame|dime si|voy a)\b|请告诉我|如果需要|
    如需|我将|接下来我""")
# Tried on the sentence as it is written: "may" doubts, and May is a month.
HEDGED = pattern(r"""\b(?:may|might|could|[Pp]erhaps|[Mm]aybe|[Pp]ossibly|[Pp]robably|[Ii]t depends|not sure|unsure|
    seems?|appears?|arguably|either way|[Vv]ielleicht|könnte|möglicherweise|[Qq]uizás?|[Tt]al vez|podría)\b|可能|也许|
    或许|大概""")
# In a summary of a conversation: what is so, and was not only done in it.
STATED = pattern(r"""^\W*(?:[\w ]{0,20}: )?(?:the )?user(?:'s [\w -]{1,30}?)?(?:, [\w ]+,)? (?:is|are|has|have|
    prefers?|works?|lives?|wants|needs|uses?|likes?|hates?|owns?|runs?|plans?|decided|chose|agreed|said that they|
    speaks?|learns?|studies|dislikes?)\b(?! to know)|^\W*(?:they|he|she|the team|the client) (?:prefers?|
    works? (?:as|at|for|in)|lives? in|decided|chose|agreed)\b|^\W*\w+ (?:decided|agreed|chose) |
    用户(?:是|在|有|喜欢|决定|希望|的)|(?:benutzer|nutzer|usuario)\w* (?:ist|hat|möchte|mag|arbeitet|wohnt|es|tiene|
    prefiere|vive|trabaja|quiere)\b""")
NOTED = pattern(r"\b(?:lives in|works (?:as|at|for) |ends on|starts on|is called|is building|is preparing|expires)\b")
# An entry of a list of things that there are.
ENTRY = pattern(r"^[^:：]{2,50}[:：] (?:an?|another|the|this|known|great|popular)\b")
NUMBERED = pattern(r"\d")
YOURS = pattern(r"\b(?:you|your|you're|you'll)\b")
# Rows of a table, and lines that are none.
_ROW = re.compile(rf"^[ \t]*\|[^\n]*|[^\n]{{{LINE},}}", re.MULTILINE)


# --- reading ----------------------------------------------------------------------------------------------------------


def told(text: str, kind: Kind) -> list[Told]:
    """Every sentence that may be kept, in the order of the text."""
    read = text if len(text) <= READ else f"{text[: READ // 2]}\n\n{text[-READ // 2 :]}"
    plain = _ROW.sub("", FENCE.sub("\n", read))
    found: list[Told] = []
    for section, part in _parts(lines(plain) if plain.strip() else ()):
        for line in part:
            found += _of_line(line, section, kind)
    return found


def _parts(read: Iterable[Line]) -> Iterator[tuple[Section, list[Line]]]:
    """The lines under each heading, with what the heading announces."""
    section: Section = ""
    part: list[Line] = []
    for line in read:
        named = _section(line)
        if named is None:
            part.append(line)
        else:
            yield section if len(part) <= CATALOGUE else "", part
            section, part = named, []
    yield section if len(part) <= CATALOGUE else "", part


def _section(line: Line) -> Section | None:
    """What a heading announces; None for a line that is none."""
    low = small(line.text)
    if not line.heading and (len(low) > 60 or line.item):
        return None
    if CHOICES.fullmatch(low):
        return "choice"
    if RESULTS.fullmatch(low):
        return "result"
    if KNOWN.fullmatch(low):
        return "known"
    return "" if line.heading or low.endswith((":", "：")) else None


def _of_line(line: Line, section: Section, kind: Kind) -> Iterator[Told]:
    for sentence in sentences(line.text):
        low = small(sentence)
        if _says_something(sentence, low):
            weight = _weight(sentence, low, section, kind, item=line.item)
            if weight:
                yield Told(content=sentence, category=_category(low, section), weight=weight)


def _says_something(sentence: str, low: str) -> bool:
    size = len(sentence) * (3 if unspaced(sentence) else 1)
    if size < SHORTEST or len(sentence) > SENTENCE or low.endswith((":", "：")):
        return False
    return not (ASKED.search(low) or META.search(low) or HEDGED.search(sentence))


def _weight(sentence: str, low: str, section: Section, kind: Kind, *, item: bool) -> int:
    """How surely a sentence is one to keep; 0 when it is not."""
    if RESULT.match(low) or CHOICE.match(low):
        return 4
    exact = bool(NUMBERED.search(low) or NAMED.search(sentence))
    if kind == "compaction" and _of_the_user(low, section, exact=exact):
        return 3
    if ENTRY.match(low) or LEANS.match(low):
        return 2 if FOUND.search(low) else 0
    if section == "choice" or (section == "result" and (item or exact or IMPERATIVE.match(low))):
        return 3
    if FOUND.search(low) or (exact and CHOSEN.search(low) and not YOURS.search(low)):
        return 2
    return 1 if exact and not YOURS.search(low) and _sums_up(low, kind) else 0


def _of_the_user(low: str, section: Section, *, exact: bool) -> bool:
    if YOURS.search(low):
        return False
    return section == "known" or bool(STATED.search(low)) or (exact and bool(NOTED.search(low)))


def _sums_up(low: str, kind: Kind) -> bool:
    counted = bool(NUMBERED.search(low))
    if SUMS_UP.match(low):
        return counted or bool(ADVISED.search(low))
    return kind == "research" and counted and bool(MEASURED.search(low))


def _category(low: str, section: Section) -> str:
    if section == "choice" or CHOICE.match(low) or CHOSEN.search(low) or DECIDED.search(low):
        return "decision"
    concluded = section == "result" or RESULT.match(low) or SUMS_UP.match(low)
    return "decision" if concluded and (IMPERATIVE.match(low) or ADVISED.search(low)) else "fact"
