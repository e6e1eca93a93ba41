"""Slack's export: a zip with a folder for each channel, in it a file for each day, and who and what there is in
`users.json`, `channels.json`, `groups.json` (private ones), `mpims.json` and `dms.json`.

A channel is a group that talks: each becomes a scope of its own, with who said it, when, and what it answers.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from keepstone.errors import Invalid
from keepstone.importers.bundle import Bundle, open_bundle
from keepstone.importers.items import Conversation, ImportedTurn, Item, LeftOut, Reading
from keepstone.importers.stream import elements
from keepstone.importers.text import clean, elements_of, fields, labels, moment, named, objects_of, titled, wire_time

DAYS = r"\d{4}-\d{2}-\d{2}\.json"
PLACES = r"(?:channels|groups|mpims|dms)\.json"
_USERS = r"(?:org_)?users\.json"
# What somebody said; all other kinds tell that somebody came, went, or changed something.
_SPOKEN = {None, "", "bot_message", "me_message", "thread_broadcast", "reply_broadcast", "file_share", "file_comment"}
_TOGETHER = 500  # messages that go as one
_MOST = 200_000  # people or channels of a workspace, which are held in memory; the rest go by their ids
_LINK = re.compile(r"<([^<>|\n]{1,4000})(?:\|([^<>\n]{0,4000}))?>")


def read(reading: Reading) -> Iterator[Item]:
    with open_bundle(reading.file) as bundle:
        days = sorted(bundle.find(DAYS), key=lambda name: (name.rpartition("/")[0], name))
        if not days and not bundle.is_zip and reading.file.is_file():
            days = [reading.file.name]  # one day of one channel
        if not days:
            raise Invalid(f"There is no day of a channel in {reading.file.name}: is it Slack's export?")
        reading.gauge.total = bundle.size(days)
        people = _people(bundle)
        places = _places(bundle, people)
        found = False
        for name in days:
            folder = name.rpartition("/")[0].rpartition("/")[2]
            place = places.get(folder) or _Channel(id=folder or "slack", name=folder or "slack")
            for item in _Day(place, people, name).items(bundle, reading):
                found = True
                yield item
        if not found:
            raise Invalid(f"There is no message in {reading.file.name}: is it Slack's export?")
        others = [name for name in bundle.sizes if not name.endswith(".json")]
        yield from (LeftOut(reason="attached file", what=name) for name in sorted(others))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Channel:
    """A channel, a group or a direct message."""

    id: str
    name: str
    channel: bool = True


def _each(bundle: Bundle, pattern: str) -> Iterator[dict[str, Any]]:
    for name in bundle.find(pattern):
        with bundle.open(name) as file:
            yield from (fields(element) for element in islice(elements(file, name), _MOST))


def _people(bundle: Bundle) -> dict[str, str]:
    """How each is called; two of one name by their handles too."""
    names: dict[str, str] = {}
    handles: dict[str, str] = {}
    for user in _each(bundle, _USERS):
        key, profile = str(user.get("id") or ""), fields(user.get("profile"))
        handles[key] = named(user.get("name"), key)
        shown = profile.get("display_name") or profile.get("real_name") or user.get("real_name")
        names[key] = named(shown, handles[key])
    shared = {name for name, count in Counter(names.values()).items() if count > 1}
    return {
        key: f"{name[:120]} ({handles[key][:120]})" if name in shared and name != handles[key] else name
        for key, name in names.items()
    }


def _places(bundle: Bundle, people: dict[str, str]) -> dict[str, _Channel]:
    """By the folder: a channel's is called as it, a direct message's by its id."""
    places: dict[str, _Channel] = {}
    for entry in _each(bundle, PLACES):
        key, name = str(entry.get("id") or ""), str(entry.get("name") or "")
        members = [people.get(str(member), str(member)) for member in elements_of(entry.get("members"))]
        among = not name or name.startswith("mpdm-")
        told = ", ".join(sorted(members)) if among and members else name or key
        place = _Channel(id=key or name, name=told, channel=not among)
        places[name or key] = places[key] = place
    return places


@dataclass(slots=True)
class _Day:
    """What was said in a place on a day."""

    place: _Channel
    people: dict[str, str]
    file: str
    left: Counter[str] = field(default_factory=Counter[str])

    def items(self, bundle: Bundle, reading: Reading) -> Iterator[Item]:
        turns: list[ImportedTurn] = []
        part = 0
        with bundle.open(self.file) as file:
            for element in elements(file, self.file, reading.gauge):
                turn = self._turn(fields(element))
                if turn is None:
                    continue
                turns.append(turn)
                if len(turns) == _TOGETHER:
                    yield self._talk(turns, part)
                    turns, part = [], part + 1
        if turns:
            yield self._talk(turns, part)
        for reason, count in (+self.left).items():
            yield LeftOut(reason=reason, what=f"{self.place.name} ({self.file})", count=count)

    def _talk(self, turns: list[ImportedTurn], part: int) -> Conversation:
        title = titled(f"#{self.place.name}" if self.place.channel else self.place.name, "Slack")
        return Conversation(
            title=title, id=f"{self.place.id}:{self.file.rpartition('/')[2]}:{part}", turns=turns,
            scope=f"slack:{self.place.name}"[:255],
        )  # fmt: skip

    def _turn(self, message: dict[str, Any]) -> ImportedTurn | None:
        subtype, ts = message.get("subtype"), str(message.get("ts") or "")
        if message.get("type") not in {None, "message"} or subtype not in _SPOKEN or message.get("hidden"):
            self.left["told by Slack itself, such as who joined"] += 1
            return None
        files = [str(file.get("name") or file.get("title") or "file") for file in objects_of(message.get("files"))]
        self.left["attachment"] += len(files)
        text = self._words(message)
        if not text.strip() or not ts:
            self.left["empty message"] += not files
            return None
        thread, edited = str(message.get("thread_ts") or ""), moment(fields(message.get("edited")).get("ts"))
        bot = subtype == "bot_message" or bool(message.get("bot_id"))
        return ImportedTurn(
            id=f"slack:{self.place.id}:{ts}"[:255],
            speaker=self._speaker(message),
            text=clean(text),
            at=moment(ts),
            reply_to=f"slack:{self.place.id}:{thread}"[:255] if thread and thread != ts else None,
            metadata={"source": "slack", "channel": clean(self.place.name)}
            | ({"bot": True} if bot else {})
            | ({"edited_at": wire_time(edited)} if edited else {})
            | ({"attachments": labels(*files)} if files else {}),
        )

    def _speaker(self, message: dict[str, Any]) -> str:
        key, profile = str(message.get("user") or ""), fields(message.get("user_profile"))
        bot = message.get("username") or fields(message.get("bot_profile")).get("name")
        said = self.people.get(key) or bot or profile.get("display_name") or profile.get("real_name")
        return named(said or key or message.get("bot_id"), "unknown")

    def _words(self, message: dict[str, Any]) -> str:
        """Its text; of a bot that says it all in boxes, that of the boxes."""
        text = str(message.get("text") or "")
        if not text.strip():
            boxes = objects_of(message.get("attachments"))
            text = "\n\n".join(str(box.get("text") or box.get("fallback") or "") for box in boxes)
        text = _LINK.sub(self._readable, text)
        return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")  # all that Slack escapes

    def _readable(self, link: re.Match[str]) -> str:
        """`<@U1>`, `<#C1|general>`, `<!here>`, `<https://…|words>`: as it is read there."""
        target, words = link[1], link[2] or ""
        if target.startswith("@"):
            return f"@{self.people.get(target[1:]) or words or target[1:]}"
        if target.startswith("#"):
            return f"#{words or target[1:]}"
        if target.startswith("!"):
            return words or f"@{target[1:].partition('^')[0]}"
        address = target.removeprefix("mailto:").removeprefix("tel:")
        if not words or words == address:
            return address
        return f"[{words}]({target})"
