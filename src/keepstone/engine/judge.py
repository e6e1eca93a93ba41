"""One judgement for every kind of memory: what a newer text is to an older one. It takes its place, says the same,
holds beside it, or has nothing to do with it.

What is true and hidden costs more than what stands there twice, so an update is sure only where the same subject and
the same single matter are plainly restated with a word that says that it has changed. What only looks so is an update
that isn't sure: callers keep both and say so. `vetoes` hold over whatever else judges. Callers find the pairs, and hold
no transaction meanwhile.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal, get_args

from keepstone.engine.dedup import content_hash, superfluous
from keepstone.engine.language import tables
from keepstone.engine.language.dates import Days, days_in
from keepstone.engine.language.doubt import ASKS, IRONY, QUOTED, SUPPOSED, TENTATIVE
from keepstone.engine.language.scripts import DENSE
from keepstone.engine.language.sentences import lowered
from keepstone.engine.language.stopwords import STOP_WORDS, guess
from keepstone.engine.people.statements import statements
from keepstone.engine.terms import terms, words
from keepstone.providers.judge import Relation as Chances

Relation = Literal["update", "duplicate", "side_by_side", "unrelated"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
Veto = Literal["not_asserted", "other_thing", "other_person", "other_day", "several"]
Pair = tuple[str, str]  # the older text, then the newer


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the newer is to the older, how likely that is, and whether it may be acted on unasked."""

    relation: Relation
    certainty: float
    sure: bool


WORTH_JUDGING = 0.3  # cosine: below this two texts have hardly ever one matter
# A longer text says more than one thing: it is never replaced as a whole by what another says.
WHOLE = 2_000
_OPENING = 5  # words with which a sentence says whom it is about
_SUBJECT = 3  # words, before which a number belongs to what the sentence is about
_MODEL_SURE = {"update": 0.9, "duplicate": 0.8}
_MODEL_LIKELY = 0.3
# Of these a person has one at a time; under other keys several may hold.
_SINGLE = frozenset(
    f"{kind}:{key}"
    for kind, keys in {
        "place": "home origin birth", "identity": "age name pronouns", "date": "birth birthday", "work": "employer",
        "relation": "spouse status", "preference": "diet",
    }.items()
    for key in keys.split()
)  # fmt: skip
# Days are read as if said on either: what is the same both times does not hang on when it was said.
_TODAYS = date(1900, 2, 10), date(1901, 8, 20)

_TABLES = tables.load("judge")
_CHANGED = _TABLES.pattern("changed")
_ADDED = _TABLES.pattern("added")
_MANY = _TABLES.pattern("many")
_RELATIVE = _TABLES.pattern("relative")
_PERSON = _TABLES.pattern("person")
_NEGATED = _TABLES.pattern("negated")
_AROUND = _TABLES.pattern("around")
_MEASURES = _TABLES.pattern("measures")
_STATED = _TABLES.pattern("stated")
_RESTATED = _TABLES.pattern("restated")
_CODE = _TABLES.pattern("code")
_NUMBERED = _TABLES.pattern("numbered")
_NTH = _TABLES.pattern("nth")
_SAYING = frozenset(
    term
    for language in ("en", "de", "es", "zh")
    for word in tables.load("takeaways").words("saying", language)
    for term in terms(word, language)
)
_CALENDAR = tables.load("calendar")
_DAYS = frozenset(
    term
    for language in ("en", "de", "es", "zh")
    for names in (
        *tables.load("takeaways").words("days", language),
        *_CALENDAR.words("months", language),
        *_CALENDAR.words("weekdays", language),
    )
    for term in terms(names.replace("|", " "), language)
)
_SMALL = frozenset[str]().union(*STOP_WORDS.values())
_ARTICLES, _COPULAS, _AUXILIARIES = (
    frozenset(_TABLES.words(table)) for table in ("articles", "copulas", "auxiliaries")
)
_NAME = re.compile(r"(?<=[\w,;:] )[^\W\d_a-zß-öø-ÿ]\w+")
_WORD = re.compile(r"\w[\w'’-]*|[:：]")
_OWNER = re.compile(
    r"(?:(?<![\w-])(?P<owner>[\w-]{1,40}?)(?:['’]s|s['’]|s) "
    r"|(?<!\w)(?P<mine>my|our|mein\w{0,2}|unser\w{0,2}|mi|mon|ma) |(?<!\w)(?P<whose>\w{1,20}?)的?)$"
)
_OWNED = re.compile(r" (?:of|de|von|d['’])\s?(?P<owner>[\w-]+)")
_SELVES = {"my": "i", "mein": "ich", "meine": "ich", "mi": "yo", "mon": "je", "ma": "je", "our": "we", "unser": "wir"}
_DAY_AND_MONTH = re.compile(r"(?<![\d.])\d{1,2}\.\d{1,2}\.(?!\d)")
_CLAUSE = re.compile(r"[,;.!?，；。！？:：]")
_WEEKDAY = tables.late(lambda: re.compile("|".join(_CALENDAR.words("weekdays"))))


def read_pairs(pairs: Sequence[Pair]) -> list[tuple[Judgement, bool]]:
    """Each pair by its words alone, and whether nobody else need be asked."""
    return [_read(older, newer) for older, newer in pairs]


def judge_words(older: str, newer: str) -> Judgement:
    """One pair by its words alone."""
    return _read(older, newer)[0]


def says_the_same(older: str, newer: str) -> bool:
    """Whether the newer text adds nothing to the older one."""
    return superfluous(newer, older)


def looks_revised(older: str, newer: str) -> bool:
    """Whether the newer text looks like another choice in the matter of the older one, sure or not."""
    return _likeness(older, newer) is not None and vetoes(older, newer) in {None, "other_day"}


def vetoes(older: str, newer: str) -> Veto | None:
    """Why the newer text never takes the place of the older one, whoever else judges so; None if nothing speaks
    against it.
    """
    low, before = lowered(newer), lowered(older)
    if not_asserted(newer, low):
        return "not_asserted"
    changed = _CHANGED.search(low) is not None
    if _names_other_thing(before, low, changed=changed):
        return "other_thing"
    if _other_person(older, newer, changed=changed) or _other_relative(before, low):
        return "other_person"
    if _one_of_several(before, low):
        return "several"
    if not changed and (days := _days(before)) and (others := _days(low)) and not days & others:
        return "other_day"
    return None


# ------------------------------------------------------------------------------------------------------ by words


def _read(older: str, newer: str) -> tuple[Judgement, bool]:
    if content_hash(older) == content_hash(newer):
        return Judgement("duplicate", 1.0, sure=True), True
    if max(len(older), len(newer)) > WHOLE:
        return Judgement("side_by_side", 0.6, sure=False), True
    if says_the_same(older, newer):
        return Judgement("duplicate", 0.97, sure=True), True
    veto = vetoes(older, newer)
    likeness = _likeness(older, newer)
    if veto is None and likeness == "restated":
        return Judgement("update", 0.95, sure=True), True
    if veto in {None, "other_day"} and likeness:
        return Judgement("update", 0.5, sure=False), veto is not None
    apart: Relation = "side_by_side" if _shared(older, newer) else "unrelated"
    return Judgement(apart, 0.9 if veto else 0.6, sure=False), veto is not None


def weighed(words: Judgement, older: str, newer: str, chances: Chances) -> Judgement:
    """What a model has learned to hear in them; where it takes them for the same, held against the words. What looks
    like an update by either is named.
    """
    best: Relation = max(RELATIONS, key=lambda name: getattr(chances, name))
    if best not in _MODEL_SURE and (chances.update >= _MODEL_LIKELY or words.relation == "update"):
        best = "update"
    certainty: float = getattr(chances, best)
    sure = certainty >= _MODEL_SURE.get(best, 2.0) and _shared(older, newer)
    sure = sure and not (best == "duplicate" and _may_add(older, newer))
    return Judgement(best, certainty, sure=sure)


def _may_add(older: str, newer: str) -> bool:
    """Whether a newer text may say something that the older does not, however near they are: what is taken for the same
    is dropped, and "at ten" is near to "at nine". In scripts without capitals names are not told, and so nothing is.
    """
    low, before = lowered(newer), lowered(older)
    if DENSE.search(newer) or _CHANGED.search(low) or bool(_NEGATED.search(low)) != bool(_NEGATED.search(before)):
        return True
    known, said = _frame(older), _frame(newer)
    shared = known.subject & said.subject
    if said.values != known.values or max(known.words_beside(shared), said.words_beside(shared)) <= 1:
        return True
    return any(name.lower() not in before for name in _NAME.findall(newer))


def _likeness(older: str, newer: str) -> Literal["restated", "alike"] | None:
    """Whether the newer is of the same matter as the older: said to have changed, or only looking like it."""
    if _same_single_key(older, newer) or _same_topic(older, newer):
        return "restated"
    low = lowered(newer)
    if _ADDED.search(low):
        return None
    before, after = _frame(older), _frame(newer)
    shared = before.subject & after.subject
    if not shared:
        return None
    near = len(shared) / min(len(before.subject), len(after.subject))
    covered = len(shared) / len(before.subject)
    if _CHANGED.search(low):
        if before.head in after.subject and covered >= 0.6 and (len(shared) > 1 or len(before.subject) == 1):
            return "restated"
        return "alike" if near >= 0.5 else None
    apart = max(before.words_beside(shared), after.words_beside(shared))
    another = before.values != after.values
    return "alike" if near >= 0.5 and apart <= 1 and (another or apart) else None


def _same_single_key(older: str, newer: str) -> bool:
    """Whether each says one thing of the same person, of which only one can hold."""
    matter = _matter(newer)
    return matter is not None and matter == _matter(older)


def _same_topic(older: str, newer: str) -> bool:
    """In Chinese: what the older says where or what it is, and of which the newer says at once that it is changed."""
    before, after = _STATED.match(older), _RESTATED.match(newer)
    return before is not None and after is not None and before["topic"] == after["topic"]


@lru_cache(maxsize=1024)
def _matter(text: str) -> tuple[str, str] | None:
    """Of whom a text says one thing of which only one can hold, and what it is of them."""
    first = _WORD.search(text)
    said = statements("-", text, {first.group()} if first else ())
    if len(said) != 1 or not (said[0].key in _SINGLE or said[0].key.startswith("preference:favourite ")):
        return None
    return said[0].subject, said[0].key


class _Frame:
    """What a text is about, what that begins with, and the values in it: numbers and days, which are what changes."""

    __slots__ = ("_words", "head", "subject", "values")

    def __init__(self, text: str) -> None:
        language = guess(text)
        telling = terms(text, language)
        self.values = frozenset(term for term in telling if term[0].isdigit() or term in _DAYS)
        subject = [term for term in telling if term not in self.values and term not in _SAYING]
        self.subject, self.head = frozenset(subject), subject[0] if subject else ""
        self._words: dict[int, set[str]] = {}
        for word in words(text, language):
            if word.term in self.subject:
                self._words.setdefault(word.start, set()).add(word.term)

    def words_beside(self, shared: frozenset[str]) -> int:
        """How many of its words are not among these. One word may have several terms."""
        return sum(not own & shared for own in self._words.values())


# A summary compares each with many.
@lru_cache(maxsize=1024)
def _frame(text: str) -> _Frame:
    return _Frame(text)


def _shared(older: str, newer: str) -> bool:
    return bool(_frame(older).subject & _frame(newer).subject)


# -------------------------------------------------------------------------------------------------------- vetoes


def not_asserted(text: str, low: str | None = None) -> bool:
    """Asked, supposed, hedged, joked or quoted. `low` is the text in small letters."""
    low = lowered(text) if low is None else low
    if ASKS.search(low) or IRONY.search(low) or SUPPOSED.search(low) or TENTATIVE.search(low):
        return True
    return sum(match.end() - match.start() for match in QUOTED.finditer(text)) > len(text) / 2


def _names_other_thing(older: str, newer: str, *, changed: bool) -> bool:
    """Whether what tells things of one kind apart differs: "invoice 4471" and "invoice 4474". Said to have changed, it
    may be a value, "from room 3 to room 4", unless the sentence begins with it.
    """
    left, right = _marks(older), _marks(newer)
    for kind in left.keys() & right.keys():
        if left[kind].keys() & right[kind].keys():
            continue
        begins = max(min(left[kind].values()), min(right[kind].values())) < _SUBJECT
        mentioned = any(re.search(rf"(?<!\d){re.escape(mark)}(?!\d)", newer) for mark in left[kind])
        if not mentioned and (begins or not changed):
            return True
    return False


def _marks(low: str) -> dict[str, dict[str, int]]:
    """Numbers and codes that name things, by the kind of thing, each with how many words stand before it."""
    marks: dict[str, dict[str, int]] = {}

    def add(kind: str, mark: str, start: int) -> None:
        marks.setdefault(kind, {}).setdefault(mark, len(_WORD.findall(low, 0, start)))

    for match in _CODE.finditer(low):
        add("", match.group(), match.start())
    for match in _NUMBERED.finditer(low):
        noun = match["noun"]
        if len(noun) > 1 and noun not in _SMALL and noun not in _MONTH_NAMES and not _MEASURES.fullmatch(noun):
            add(noun, match["number"], match.start())
    for match in _NTH.finditer(low):
        add(match["of"] or match["what"], match["nth"] or match["mark"], match.start())
    return marks


_MONTH_NAMES = frozenset(name for names in _CALENDAR.words("months") for name in names.split("|"))


def _other_person(older: str, newer: str, *, changed: bool) -> bool:
    """Whether the same is said of somebody or something else: other words where the sentence begins, then the same."""
    who, whom = _PERSON.search(older), _PERSON.search(newer)
    if who and whom:
        return who["who"] != whom["who"] and who["who"] not in newer and whom["who"] not in older
    if DENSE.search(older) or DENSE.search(newer):
        return False
    left, right = _opening(older), _opening(newer)
    for width in range(1, 4):
        for other in range(1, 4):
            if len(left) > width and len(right) > other and left[width].lower() == right[other].lower():
                return _apart(left[:width], right[:other], left[width].lower(), older, newer, changed=changed)
    return False


def _apart(first: Sequence[str], second: Sequence[str], verb: str, older: str, newer: str, *, changed: bool) -> bool:
    """Whether these are two subjects of that verb, and neither is spoken of in the other text."""
    differ = [word for word in first if word not in second], [word for word in second if word not in first]
    if not all(differ) or (verb in _SMALL and verb not in _AUXILIARIES | _COPULAS):
        return False
    if any(word.lower() in _SMALL for side in differ for word in side):
        return False
    if any(word.lower() in newer.lower() for word in differ[0]) or any(
        word.lower() in older.lower() for word in differ[1]
    ):
        return False
    named = all(side[0][0].isupper() for side in differ)
    return not changed or (named and verb not in _COPULAS)


def _opening(text: str) -> list[str]:
    """The first words, without an article, a possessive's "'s" a word of its own."""
    said = [part for word in _WORD.findall(text[:200]) for part in re.split(r"(?<=\w)(?=['’]s$)", word)]
    while said and said[0].lower() in _ARTICLES:
        said = said[1:]
    return said[: _OPENING + 1]


def _other_relative(older: str, newer: str) -> bool:
    """Whether one is of somebody, and the other of who belongs to them, or of somebody else who does: "Priya" and
    "Priya's daughter", "my sister" and "my brother".
    """
    left, right = _relative(older), _relative(newer)
    if left is not None and right is not None:
        return left[0] != right[0] and left[0] not in newer and right[0] not in older
    for relative, other in ((left, newer), (right, older)):
        if relative is not None and relative[1] and relative[0] not in other:
            words = _begin(other).replace("'s", "").split()
            if _SELVES.get(relative[1], relative[1]) in (words or [""])[0]:
                return True
    return False


def _relative(low: str) -> tuple[str, str] | None:
    """Who belongs to somebody, and to whom, where the sentence begins."""
    begin = _begin(low)
    for match in _RELATIVE.finditer(begin):
        owner = _OWNER.search(begin[: match.start()]) or _OWNED.match(begin, match.end())
        if owner is not None or not match.start():
            return match.group(), next((name for name in owner.groups() if name), "") if owner else ""
    return None


def _begin(low: str) -> str:
    """The first words of a text, without an article."""
    if DENSE.search(low):
        return low.strip()[:10]
    return " ".join(_opening(low)).replace(" 's", "'s")


def _one_of_several(older: str, newer: str) -> bool:
    """Whether both say something of which there may be several, and of other things: what she likes, where he was."""
    if (_NEGATED.search(older) is None) != (_NEGATED.search(newer) is None):
        return False
    left, right = _predicates(older), _predicates(newer)
    mentioned = set(terms(newer))
    return any(left[verb] is not None and left[verb] not in mentioned for verb in left.keys() & right.keys())


def _predicates(low: str) -> dict[str, str | None]:
    """What is said in such words, with the first term of what it is said of."""
    said: list[tuple[str, str]] = []
    for match in _MANY.finditer(low):
        end = _CLAUSE.search(low, match.end())
        said.append((match.group(), low[match.end() : end.start() if end else len(low)]))
    said += [("allergic", match["before"] or match["between"]) for match in _AROUND.finditer(low)]
    predicates: dict[str, str | None] = {}
    for verb, what in said:
        objects = [term for term in terms(what) if not term[0].isdigit() and term not in _DAYS]
        predicates.setdefault((terms(verb) or [verb])[0], objects[0] if objects else None)
    return predicates


def _days(low: str) -> set[object]:
    """The days of the year that a text names, and its weekdays; not those that hang on when it was said."""
    first, second = ([_day_of_year(days, today) for days in days_in(low, today)] for today in _TODAYS)
    return set(first) & set(second) | set(_WEEKDAY.findall(low)) | set(_DAY_AND_MONTH.findall(low))


def _day_of_year(days: Days, today: date) -> tuple[int, ...]:
    year = days.first.year - today.year
    begin = (days.first.month, days.first.day, days.last.month, days.last.day)
    return begin if -1 <= year <= 1 else (days.first.year, *begin)
