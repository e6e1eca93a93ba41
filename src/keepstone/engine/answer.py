"""From evidence to an answer by a language model: only from what is quoted, with its numbers, or not at all."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from keepstone.engine.ask_model import DATA_ONLY
from keepstone.engine.dates import zone_note
from keepstone.engine.pack import Evidence, line
from keepstone.engine.quotation import quote_as
from keepstone.providers.llm import LanguageModel

_NOTHING = "NOT IN THE EVIDENCE"
_CITED = re.compile(r"\[(\d{1,3})\]")
_SYSTEM = (
    f"You answer a question from quoted lines of an earlier conversation. {DATA_ONLY} Use nothing else. Cite each line "
    "you use by its number in square brackets, like [2]. Answer in the language of the question, in one to three "
    f"sentences. If the lines do not hold the answer, reply exactly: {_NOTHING}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """`text` is None when the evidence does not hold the answer. `cited` are places in the evidence, from 0, and
    `lines` all of it, as the `prompt` has it.
    """

    text: str | None
    prompt: str
    lines: Sequence[str]
    system: str = _SYSTEM
    cited: tuple[int, ...] = ()


async def answer(
    model: LanguageModel, question: str, evidence: Sequence[Evidence], *, max_tokens: int, zone: ZoneInfo
) -> Answered:
    lines = [f"[{number}] {line(item, zone)}" for number, item in enumerate(evidence, 1)]
    evidence_lines = quote_as("evidence", "\n".join(lines))
    prompt = f"{zone_note(zone)}\n{evidence_lines}\n\nQuestion: {question}"
    said = (await model.complete(system=_SYSTEM, prompt=prompt, max_tokens=max_tokens)).text.strip()
    if not said or _NOTHING in said.upper():
        return Answered(text=None, prompt=prompt, lines=lines)
    places = [int(number) - 1 for number in _CITED.findall(said)]
    cited = tuple(dict.fromkeys(place for place in places if 0 <= place < len(evidence)))
    return Answered(text=_renumbered(said, cited), prompt=prompt, lines=lines, cited=cited)


def _renumbered(said: str, cited: Sequence[int]) -> str:
    """With the numbers of what is handed out beside it: [1] is the first of those that are cited."""
    now = {place + 1: number for number, place in enumerate(cited, 1)}
    return _CITED.sub(lambda found: f"[{now.get(int(found[1]), found[1])}]", said)
