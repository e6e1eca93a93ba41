"""Texts that somebody worked on with a model beside their talk, ChatGPT's canvas and Claude's artifacts, as they were
in the end: written, then edited again and again, all of which is replayed.

An edit of a canvas is a regular expression of a stranger's. None is run: the usual ones replace everything or are
literal, and what the others would have changed is told.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime

from keepstone.importers.items import LeftOut, Note, SourceProject
from keepstone.importers.text import clean, first_line, labels, titled

LARGEST_DRAFT = 8 * 1024 * 1024  # characters
_WORK = 64 * 1024 * 1024  # characters that all edits of one conversation may go through and write
_EVERYTHING = {
    form
    for whole in (".*", ".+", "[\\s\\S]*", "[\\s\\S]+", "(.*)", "(.|\\n)*")
    for form in (whole, f"^{whole}$", f"^{whole}", f"{whole}$", f"\\A{whole}\\Z")
}
_FLAGS = re.compile(r"\(\?[a-zA-Z]{1,6}\)")
_SPECIAL = set(".^$*+?{}[]()|")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
_FENCE = re.compile(r"^[ ]{0,3}(`{3,})", re.MULTILINE)


@dataclass(slots=True)
class Draft:
    id: str
    title: str
    text: str
    language: str = ""  # of a program; empty for a text
    begun: datetime | None = None
    changed: datetime | None = None
    edits: int = 0
    lost: int = 0  # edits that could not be replayed


@dataclass(slots=True)
class Drafts:
    """Those of one conversation, the latest last."""

    held: dict[str, Draft] = field(default_factory=dict[str, Draft])
    _work: int = _WORK

    def write(self, name: str, title: str, text: str, at: datetime | None, *, language: str = "") -> None:
        """A new one, or one that is there written anew."""
        former = self.held.pop(name, None)
        draft = Draft(
            id=name, title=title or (former.title if former else ""), text=text[:LARGEST_DRAFT],
            language=language or (former.language if former else ""), begun=former.begun if former else at, changed=at,
            edits=former.edits + 1 if former else 0, lost=int(len(text) > LARGEST_DRAFT),
        )  # fmt: skip
        self.held[name] = draft

    @property
    def latest(self) -> str:
        return next(reversed(self.held), "")

    def replace(self, name: str, old: str, new: str, at: datetime | None, *, every: bool = False) -> None:
        """One place, or all, of a literal text."""
        draft = self.held.get(name)
        if draft is None:
            return
        self._work -= len(draft.text) + len(new)
        places = draft.text.count(old) if old and self._work > 0 else 0
        times = places if every else min(places, 1)
        if not places or len(draft.text) + times * (len(new) - len(old)) > LARGEST_DRAFT:
            draft.lost += 1
            return
        self._work -= times * len(new)
        draft.text = draft.text.replace(old, new, times)
        draft.edits, draft.changed = draft.edits + 1, at or draft.changed

    def edit(self, name: str, pattern: str, new: str, at: datetime | None, *, every: bool = False) -> None:
        """By a regular expression, as far as it is one that has not to be run."""
        draft = self.held.get(name)
        if draft is None:
            return
        bare = _FLAGS.sub("", pattern, count=1)
        if bare in _EVERYTHING:
            self._work -= len(new)
            if self._work < 0 or len(new) > LARGEST_DRAFT:
                draft.lost += 1
            else:
                draft.text, draft.edits, draft.changed = new, draft.edits + 1, at or draft.changed
            return
        literal = _literal(bare)
        # Many are meant to the letter, with a dot or a bracket that nobody escaped.
        self.replace(name, pattern if literal is None else literal, new, at, every=every)

    def notes(
        self, source: str, kind: str, talk: str, place: str, project: SourceProject | None
    ) -> list[Note | LeftOut]:
        """What they became. `kind` is what they are called there."""
        made: list[Note | LeftOut] = []
        for draft in self.held.values():
            title = titled(draft.title or first_line(draft.text), kind.capitalize())
            if draft.lost:
                made.append(LeftOut(reason=f"edit of {kind} that can't be replayed", what=f"{title} in {place}",
                                    count=draft.lost))  # fmt: skip
            if not draft.text.strip():
                made.append(LeftOut(reason=f"empty {kind}", what=f"{title} in {place}"))
                continue
            about = {"source": source, "conversation_id": talk, "edits": draft.edits}
            made.append(
                Note(
                    id=f"{kind}:{talk}:{draft.id}", title=title, content_md=clean(fenced(draft.text, draft.language)),
                    kind="document", tags=labels(source, kind, project.name if project else None),
                    created_at=draft.begun, updated_at=draft.changed, project=project,
                    metadata=about | ({"language": draft.language} if draft.language else {}),
                )
            )  # fmt: skip
        return made


def fenced(text: str, language: str) -> str:
    """A program as a block of code, whatever fences are in it."""
    if not language:
        return text
    longest = max((len(fence) for fence in _FENCE.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    name = language if _LANGUAGE.fullmatch(language) else ""
    return f"{fence}{name}\n{text.rstrip()}\n{fence}"


def _literal(pattern: str) -> str | None:
    """The text that a pattern stands for, if it stands for one alone."""
    letters: list[str] = []
    escaped = False
    for letter in pattern:
        if escaped:
            if letter.isalnum() and letter not in _ESCAPES:
                return None
            letters.append(_ESCAPES.get(letter, letter))
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter in _SPECIAL:
            return None
        else:
            letters.append(letter)
    return None if escaped else "".join(letters)
