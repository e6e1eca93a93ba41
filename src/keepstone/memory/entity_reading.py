"""What of some messages is worth remembering for the entities that they are sent for.

By rules, or by the language model when there is one, as chats are read. What is a single statement, handed over alone,
is kept as it is: whoever sends one sentence wants that remembered.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from keepstone.access.meter import try_model
from keepstone.engine.extract import memories as extract
from keepstone.engine.extract import passed_over
from keepstone.engine.extract.secret import has_secret
from keepstone.engine.language.doubt import ASKS, JOKE
from keepstone.engine.language.scripts import DENSE
from keepstone.engine.language.sentences import lowered
from keepstone.engine.quotation import own_words
from keepstone.memory.hearing import listen
from keepstone.model.entity import EntityMessage, Ids
from keepstone.model.principal import Principal
from keepstone.services import Services

_STATEMENT = 400  # characters: what is longer is a text, not a statement
_FEWEST_WORDS = 3
_NO_STATEMENT = (
    ASKS,
    passed_over.ASKING,
    passed_over.REQUEST,
    passed_over.PLAY,
    JOKE,
    passed_over.MACHINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedText:
    """`category` is what it is taken for; without one it was kept as it is."""

    content: str
    category: str | None
    role: str
    name: str | None


async def read_messages(
    services: Services, principal: Principal, ids: Ids, messages: Sequence[EntityMessage]
) -> list[ExtractedText]:
    """What an assistant says is about itself, so it is read only where an agent is remembered for, and no user."""
    heard = {"user"} if ids.user_id is not None or ids.agent_id is None else {"user", "assistant"}
    spoken = [message for message in messages if message.role in heard]
    texts = [
        ExtractedText(content=extracted.content, category=extracted.category, role=message.role, name=message.name)
        for message in spoken
        for extracted in await _extracted(services, principal, own_words(message.content))
    ]
    if not texts and len(messages) == 1 and spoken and is_statement(own_words(spoken[0].content)):
        only = spoken[0]
        return [ExtractedText(content=own_words(only.content).strip(), category=None, role=only.role, name=only.name)]
    return texts


def word_for_word(messages: Sequence[EntityMessage]) -> list[ExtractedText]:
    """Each message as it is, but for what was recalled and quoted in it. Instructions to a model are no memories."""
    texts = [(message, own_words(message.content).strip()) for message in messages if message.role != "system"]
    return [
        ExtractedText(content=text, category=None, role=message.role, name=message.name)
        for message, text in texts
        if text
    ]


def is_statement(text: str) -> bool:
    """Whether it says something in one breath: no question, no errand, no greeting, nothing secret."""
    plain = text.strip()
    low = lowered(plain)
    if not plain or len(plain) > _STATEMENT or has_secret(plain):
        return False
    if len(plain.split()) < _FEWEST_WORDS and not DENSE.search(plain):
        return False
    return not any(pattern.search(low) for pattern in _NO_STATEMENT)


async def _extracted(services: Services, principal: Principal, text: str) -> list[extract.Extracted]:
    """A model that can't be reached, or answers with something else, is done without: somebody waits for the answer."""
    extracted = None
    if text.strip():
        extracted = await try_model(services, principal, lambda model: extract.extract_by_model(model, text, "tool"))
    if extracted is not None:
        return extracted
    return await services.offload.run(len(text), extract.extract_said, text, await listen(services, [text]))
