"""WhatsApp's export of a chat: a text with a line for each message, `_chat.txt` or `WhatsApp Chat with ….txt`, alone or
in a zip with what was attached.

How a line begins depends on the phone and its language: whether the day or the month stands first is not written down
anywhere, so the whole file is read for it before anything of it is brought over. Each chat becomes a scope of its own.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import PurePosixPath
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from keepstone.errors import Invalid
from keepstone.importers.bundle import Bundle, open_bundle
from keepstone.importers.items import Conversation, ImportedTurn, Item, LeftOut, Reading, Remark
from keepstone.importers.text import clean, digest, labels, named, wire_time

Order = Literal["dmy", "mdy", "ymd"]
_HEAD = re.compile(
    r"(?P<open>\[?)(?P<a>\d{1,4})(?P<between>[./-]|年) ?(?P<b>\d{1,2})(?:[./-]|月) ?(?P<c>\d{1,4})[.日]?,? ?"
    r"(?P<before>[^\W\d_]{0,8})\.? ?(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))? ?"
    r"(?P<after>(?:[^\W\d_]\.? ?){0,4})(?:\]|[-–] ) ?"
)
_AFTERNOON = {"pm", "下午", "晚上", "午後", "오후", "μμ", "م"}
_MORNING = {"am", "上午", "凌晨", "早上", "清晨", "午前", "오전", "πμ", "ص"}
# Marks of the direction in which a line runs; a left-to-right mark also begins what WhatsApp itself says.
_DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_SPACES = re.compile("[\u00a0\u202f\u2009]")
_OWN = "\u200e"
_ITSELF = "told by WhatsApp itself, such as who joined or that a picture is not in it"
_OMITTED = re.compile(r"<[^<>\n]{3,60}>")
_ATTACHED = re.compile("\u200e?<[^<>:\n]{2,30}: ?([^<>\n]{3,200})>\\s*$")
_BY_NAME = re.compile(r"([^/\n()]{1,150}\.\w{1,5}) \([^()\n]{3,40}\)")
_ITS_NAME = re.compile(r"(?:IMG|VID|AUD|PTT|STK|DOC)-\d{8}-WA\d{1,6}\..*")
_EDITED = re.compile("(?:\u200e<[^<>:\n]{3,60}>|<This message was edited>)\\s*$")
_DELETED = {
    "this message was deleted", "you deleted this message", "diese nachricht wurde gelöscht",
    "du hast diese nachricht gelöscht", "se eliminó este mensaje", "eliminaste este mensaje",
    "ce message a été supprimé", "vous avez supprimé ce message", "mensagem apagada", "você apagou esta mensagem",
    "questo messaggio è stato eliminato", "hai eliminato questo messaggio", "dit bericht is verwijderd", "此消息已删除",
    "您删除了此消息", "你已删除这条消息", "null",
}  # fmt: skip
_CALLED = re.compile(r"(?:\s-\s|\s(?:with|mit|con|avec|com|met|med|z|ile|dengan|с|与|と)\s)(.+)")
_CALLED_BETWEEN = re.compile(r"^[与與](.{1,200})的 ?WhatsApp")
_COPY = re.compile(r"\s?\(\d{1,3}\)$")
_TOGETHER = 500  # messages that go as one
_LONGEST_NAME = 100
_LONGEST_LINE = 1024 * 1024
_LONGEST = 8 * 1024 * 1024  # characters of one message
_SAMPLE = 20  # lines by which such a file is known


def read(reading: Reading) -> Iterator[Item]:
    with open_bundle(reading.file) as bundle:
        names = chats(bundle) or bundle.find(r".*\.txt") or ([] if bundle.is_zip else list(bundle.sizes)[:1])
        names = [name for name in names if is_chat(bundle, name, known=True)]
        if not names:
            raise Invalid(f"There is no chat in {reading.file.name}: is it WhatsApp's export?")
        reading.gauge.total = 2 * bundle.size(names)
        attached = {PurePosixPath(name).name for name in bundle.sizes} if bundle.is_zip else set[str]()
        for name in names:
            survey = _Survey()
            for line in _lines(bundle, name, reading):
                survey.see(line)
            yield from _ChatFile(name, reading, survey, attached).items(bundle)
        others = [name for name in bundle.sizes if name not in names]
        yield from (LeftOut(reason="attached file", what=name) for name in sorted(others) if bundle.is_zip)


def chats(bundle: Bundle) -> list[str]:
    """The texts that are called as WhatsApp calls them."""
    texts = {name: PurePosixPath(name).name.casefold() for name in bundle.find(r".*\.txt")}
    return [name for name, last in texts.items() if last.startswith("_chat") or "whatsapp" in last]


def is_chat(bundle: Bundle, name: str, *, known: bool = False) -> bool:
    """Whether a text looks like one. `known`: its name or somebody says so; else a log may look the same."""
    heads = 0
    with bundle.open(name) as file:
        for number in range(_SAMPLE):
            line = _plain(file.readline(4096).decode("utf-8-sig" if number == 0 else "utf-8", "replace"))
            head = _HEAD.match(line)
            log = head is not None and len(head["a"]) == 4 and head["between"] == "-" and head["open"] == "["
            heads += head is not None and (known or not log)
    return heads >= (1 if known else 2)


@dataclass(frozen=True, slots=True)
class _Line:
    """A message's first line, or one that goes on. `rest` is as it is written, `head` without marks of direction."""

    head: re.Match[str] | None
    rest: str


def _lines(bundle: Bundle, name: str, reading: Reading) -> Iterator[_Line]:
    with bundle.open(name) as file:
        first = True
        while data := file.readline(_LONGEST_LINE):
            reading.gauge.done += len(data)
            text = data.decode("utf-8-sig" if first else "utf-8", "replace").rstrip("\r\n")
            first = False
            # Only what stands before the name is looked at, however long the line is.
            begin = _plain(text[:_LONGEST_NAME])
            head = _HEAD.match(begin)
            if head is None:
                yield _Line(None, text)
            else:
                # As far into the line as the head goes, counting the marks that it was read without.
                yield _Line(head, text[_place(text, head.end()) :])


def _plain(text: str) -> str:
    return _SPACES.sub(" ", _DIRECTIONS.sub("", text))


def _place(text: str, letters: int) -> int:
    """Where in a text so many letters end, not counting marks of direction."""
    place = 0
    while letters and place < len(text):
        letters -= _DIRECTIONS.match(text, place) is None
        place += 1
    return place


@dataclass(slots=True)
class _Survey:
    """What all dates of a file together say of how they are written."""

    first: int = 0
    second: int = 0
    years_first: bool = False
    dotted: bool = False
    halves: bool = False
    back: Counter[str] = field(default_factory=Counter[str])  # how often time would go backwards
    last: dict[str, tuple[int, int, int]] = field(default_factory=dict[str, tuple[int, int, int]])

    def see(self, line: _Line) -> None:
        if line.head is None:
            return
        a, b, c = (int(line.head[name]) for name in "abc")
        if a > 31:
            self.years_first = True
            return
        self.first, self.second = max(self.first, a), max(self.second, b)
        self.dotted = self.dotted or line.head["between"] == "."
        self.halves = self.halves or _half(line.head) is not None
        for order, day in (("dmy", (c, b, a)), ("mdy", (c, a, b))):
            self.back[order] += day < self.last.get(order, day)
            self.last[order] = day

    def order(self, reading: Reading) -> tuple[Order, bool]:
        """And whether it is more than a guess."""
        if self.years_first:
            return "ymd", True
        if (self.first > 12) != (self.second > 12):
            return ("dmy" if self.first > 12 else "mdy"), True
        if reading.dates is not None:
            return reading.dates, True
        if self.dotted:  # nobody writes the month first with dots
            return "dmy", True
        if self.back["dmy"] != self.back["mdy"]:
            return ("dmy" if self.back["dmy"] < self.back["mdy"] else "mdy"), True
        american = self.halves and reading.language in {"en", "en-US"}
        return ("mdy" if american else "dmy"), False


@dataclass(slots=True)
class _ChatFile:
    file: str
    reading: Reading
    survey: _Survey
    attached: set[str]
    left: Counter[str] = field(default_factory=Counter[str])
    same: Counter[str] = field(default_factory=Counter[str])  # at one time
    then: datetime | None = None

    def items(self, bundle: Bundle) -> Iterator[Item]:
        order, sure = self.survey.order(self.reading)
        name = self._called(bundle)
        if not sure:
            first, other = ("day", "mdy") if order == "dmy" else ("month", "dmy")
            yield Remark(
                text=f"Whether the day or the month stands first in {name} can't be seen from its dates: they are read "
                f"with the {first} first. If that is wrong, import it with dates={other}."
            )
        zone = _zone(self.reading.zone)
        turns: list[ImportedTurn] = []
        part = 0
        for head, lines in self._messages(bundle):
            turn = self._turn(head, lines, order, zone)
            if turn is None:
                continue
            turns.append(turn)
            if len(turns) == _TOGETHER:
                yield self._talk(name, turns, part)
                turns, part = [], part + 1
        if turns:
            yield self._talk(name, turns, part)
        for reason, count in self.left.items():
            yield LeftOut(reason=reason, what=name, count=count)

    def _talk(self, name: str, turns: list[ImportedTurn], part: int) -> Conversation:
        return Conversation(id=f"{name}:{part}", title=name, turns=turns, scope=f"whatsapp:{name}"[:255])

    def _messages(self, bundle: Bundle) -> Iterator[tuple[re.Match[str], list[str]]]:
        """Each with its lines."""
        head: re.Match[str] | None = None
        lines: list[str] = []
        size = 0
        for line in _lines(bundle, self.file, self.reading):
            if line.head is not None:
                if head is not None:
                    yield head, lines
                head, lines, size = line.head, [line.rest], len(line.rest)
            elif head is None:
                self.left["line before the first message"] += bool(line.rest.strip())
            elif size + len(line.rest) > _LONGEST:
                self.left["line of a message of more than 8 MB"] += 1
            else:
                lines.append(line.rest)
                size += len(line.rest) + 1
        if head is not None:
            yield head, lines

    def _turn(self, head: re.Match[str], lines: list[str], order: Order, zone: tzinfo) -> ImportedTurn | None:
        """What somebody said, or nothing: then it is counted why."""
        name, colon, first = lines[0].partition(":")
        speaker = _plain(name).strip().removeprefix("~").strip()
        if not colon or not speaker or len(speaker) > _LONGEST_NAME or '"' in speaker or "“" in speaker:
            return self._leave(_ITSELF)
        text = "\n".join([first.removeprefix(" "), *lines[1:]])
        edited = _EDITED.search(text)
        text = text[: edited.start()].rstrip() if edited and edited.start() else text
        text, file = self._without_file(text)
        if file:
            self._leave("attachment")
        if text.startswith(_OWN) or _OMITTED.fullmatch(text.strip()):
            return self._leave("attachment" if _OMITTED.fullmatch(_plain(text).strip()) else _ITSELF)
        text = _DIRECTIONS.sub("", text).strip()
        if not text:
            return None if file else self._leave("empty message")
        if text.casefold().strip(" .") in _DELETED:
            return self._leave("deleted there")
        at = _time(head, order, zone)
        if at is None:
            return self._leave("message with a date that is none")
        return ImportedTurn(
            id=self._id(at, speaker, text), speaker=named(speaker, "unknown"), text=clean(text), at=at,
            metadata={"source": "whatsapp"} | ({"edited": True} if edited else {})
            | ({"attachments": labels(file)} if file else {}),
        )  # fmt: skip

    def _leave(self, reason: str) -> None:
        self.left[reason] += 1

    def _without_file(self, text: str) -> tuple[str, str]:
        """Without what stands for an attached file, and the name of that."""
        found = _ATTACHED.search(text)
        if found:
            return text[: found.start()].rstrip(), _plain(found[1]).strip()
        first, _, rest = text.partition("\n")
        found = _BY_NAME.fullmatch(_plain(first[:220]).strip())
        if found and (found[1] in self.attached or _ITS_NAME.fullmatch(found[1])):
            return rest, found[1]
        return text, ""

    def _id(self, at: datetime, speaker: str, text: str) -> str:
        """WhatsApp tells none. Who says the same again within the minute says it twice."""
        if at != self.then:
            self.then, self.same = at, Counter()
        key = digest(wire_time(at), speaker, text)[:40]
        self.same[key] += 1
        return f"whatsapp:{key}" + (f":{self.same[key]}" if self.same[key] > 1 else "")

    def _called(self, bundle: Bundle) -> str:
        """By the file's name, or that of the zip; else by who tells first that nobody else reads along."""
        stems = [_COPY.sub("", _plain(PurePosixPath(path).stem).replace("_", " ").strip())
                 for path in (self.file, self.reading.file.name)]  # fmt: skip
        for stem in stems:
            found = _CALLED.search(stem) or _CALLED_BETWEEN.search(stem)
            if "whatsapp" in stem.casefold() and found:
                return named(found[1], "chat")[:200]
        with bundle.open(self.file) as file:
            line = file.readline(4096).decode("utf-8-sig", "replace")
        head = _HEAD.match(_plain(line[:_LONGEST_NAME]))
        name, colon, text = line[_place(line, head.end()) :].partition(":") if head else ("", "", "")
        own = colon and text.lstrip(" ").startswith(_OWN)
        return named(_plain(name).strip() if own else stems[0], "chat")[:200]


def _half(head: re.Match[str]) -> bool | None:
    """Whether it is the second half of the day; None where hours are counted to 24."""
    for name in ("before", "after"):
        word = head[name].replace(".", "").replace(" ", "").casefold()
        if word in _AFTERNOON:
            return True
        if word in _MORNING:
            return False
        if word == "中午":
            return int(head["hour"]) not in {10, 11}
    return None


def _time(head: re.Match[str], order: Order, zone: tzinfo) -> datetime | None:
    a, b, c = (int(head[name]) for name in "abc")
    year, month, day = (a, b, c) if order == "ymd" else (c, b, a) if order == "dmy" else (c, a, b)
    hour, half = int(head["hour"]), _half(head)
    if half is not None:
        hour = hour % 12 + 12 * half
    try:
        local = datetime(
            year + 2000 if year < 100 else year, month, day, hour, int(head["minute"]), int(head["second"] or 0),
            tzinfo=zone,
        )  # fmt: skip
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC
