"""What an import did: how much was read, written, there already, left out for which reason, and how it was read where
that could be done in two ways.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keepstone.importers.items import Archived, ArchivedRecord, Conversation, Item, LeftOut, Note, Remark

_EXAMPLES = 20
_SAMPLES, _SAMPLED = 6, 280  # of a dry run, and characters of each
_PLURALS = {"memory": "memories", "summary": "summaries"}


@dataclass(slots=True)
class Report:
    read: Counter[str] = field(default_factory=Counter[str])
    written: Counter[str] = field(default_factory=Counter[str])
    already_there: Counter[str] = field(default_factory=Counter[str])
    left_out: Counter[str] = field(default_factory=Counter[str])
    examples: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    samples: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    remarks: list[str] = field(default_factory=list[str])

    def sample(self, item: Item) -> None:
        """The first of each kind, so that whoever looks before they bring them in sees what they are."""
        match item:
            case Conversation():
                kind, title = "conversation", item.title
                text = "\n".join(f"{turn.speaker}: {turn.text}" for turn in item.turns[:3])
            case Note():
                kind, title, text = "note", item.title, item.content_md
            case Archived():
                kind, title = "note", str(item.capsule.get("title") or "")
                text = str(item.capsule.get("content_md") or "")
            case ArchivedRecord():
                kind = str(item.data.get("record") or "")
                title = str(item.data.get("title") or item.data.get("name") or "")
                text = str(item.data.get("content_md") or item.data.get("content") or item.data.get("text") or "")
            case LeftOut() | Remark():
                return
        if text.strip() and sum(one["kind"] == kind for one in self.samples) < _SAMPLES:
            self.samples.append({"kind": kind, "title": title[:_SAMPLED], "text": text[:_SAMPLED]})

    def count(self, item: Item) -> None:
        match item:
            case Conversation():
                self.read["conversations"] += 1
                self.read["messages"] += len(item.turns)
            case Note() | Archived():
                self.read["notes"] += 1
            case ArchivedRecord():
                kind = str(item.data.get("record") or "")
                if kind not in {"space", "part", "statement"}:
                    self.read[_PLURALS.get(kind, f"{kind}s")] += 1
            case LeftOut():
                self.leave(item.reason, item.what, item.count)
            case Remark():
                if item.text not in self.remarks and len(self.remarks) < _EXAMPLES:
                    self.remarks.append(item.text)

    def leave(self, reason: str, what: str, count: int = 1) -> None:
        self.left_out[reason] += count
        examples = self.examples.setdefault(reason, [])
        if len(examples) < _EXAMPLES:
            examples.append(what)

    def take_over(self, read: Mapping[str, int], written: Mapping[str, int], already_there: Mapping[str, int]) -> None:
        """What another tells, in place of what was counted."""
        for counted, told in ((self.read, read), (self.written, written), (self.already_there, already_there)):
            counted.clear()
            counted.update(told)

    def as_json(self) -> dict[str, Any]:
        return {
            "read": dict(self.read),
            "written": dict(self.written),
            "already_there": dict(self.already_there),
            "left_out": [
                {"reason": reason, "count": count, "examples": self.examples[reason]}
                for reason, count in self.left_out.most_common()
            ],
            "samples": self.samples,
            "remarks": self.remarks,
        }
