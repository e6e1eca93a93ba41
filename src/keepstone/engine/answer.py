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
_SYSTEM = (
    f"You answer a question from quoted lines of an earlier conversation. {DATA_ONLY} Use nothing else. Cite each line "
    "you use by its number in square brackets, like [2]. Answer in the language of the question, in one to three "
    f"sentences. If the lines do not hold the answer, reply exactly: {_NOTHING}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """`text` is None when the evidence does not hold the answer. `cited` are places in the evidence, from 0."""

    text: str | None
    cited: tuple[int, ...] = ()


async def answer(
    model: LanguageModel, question: str, evidence: Sequence[Evidence], *, max_tokens: int, zone: ZoneInfo
) -> Answered:
    lines = "\n".join(f"[{number}] {line(item, zone)}" for number, item in enumerate(evidence, 1))
    prompt = f"{zone_note(zone)}\n{quote_as('evidence', lines)}\n\nQuestion: {question}"
    said = (await model.complete(system=_SYSTEM, prompt=prompt, max_tokens=max_tokens)).text.strip()
    if not said or _NOTHING in said.upper():
        return Answered(text=None)
    places = [int(number) - 1 for number in re.findall(r"\[(\d{1,3})\]", said)]
    cited = tuple(dict.fromkeys(place for place in places if 0 <= place < len(evidence)))
    return Answered(text=said, cited=cited)
