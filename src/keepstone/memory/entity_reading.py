"""What of some messages is worth remembering for the entities that they are sent for.

By rules, or by the language model when there is one, as chats are read. A message that is handed over alone is no
conversation: whoever sends it wants it remembered, so where nothing is read out of it, it is kept as it is, unless it
only asks or greets (`engine/extract/alone.py`). A secret is refused instead of passed over without a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from keepstone.access.meter import try_model
from keepstone.engine.extract import memories as extract
from keepstone.engine.extract.alone import says_something
from keepstone.engine.extract.secret import has_secret
from keepstone.engine.quotation import own_words
from keepstone.errors import Invalid
from keepstone.memory.hearing import listen
from keepstone.model.entity import EntityMessage, Ids
from keepstone.model.principal import Principal
from keepstone.services import Services


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
    return texts or _alone(messages, spoken)


def word_for_word(messages: Sequence[EntityMessage]) -> list[ExtractedText]:
    """Each message as it is, but for what was recalled and quoted in it. Instructions to a model are no memories."""
    texts = [(message, own_words(message.content).strip()) for message in messages if message.role != "system"]
    return [
        ExtractedText(content=text, category=None, role=message.role, name=message.name)
        for message, text in texts
        if text
    ]


def _alone(messages: Sequence[EntityMessage], spoken: Sequence[EntityMessage]) -> list[ExtractedText]:
    """The one message that was sent, as it is; what a model is told beside it is not said by anybody."""
    if len(spoken) != 1 or any(message.role != "system" for message in messages if message is not spoken[0]):
        return []
    (only,) = spoken
    text = own_words(only.content).strip()
    if not says_something(text):
        return []
    if has_secret(text):
        raise Invalid(
            "This looks like a password, a key or the number of a card, and nothing was kept: send it with infer=False "
            "if it is to be."
        )
    return [ExtractedText(content=text, category=None, role=only.role, name=only.name)]


async def _extracted(services: Services, principal: Principal, text: str) -> list[extract.Extracted]:
    """A model that can't be reached, or answers with something else, is done without: somebody waits for the answer."""
    extracted = None
    if text.strip():
        extracted = await try_model(services, principal, lambda model: extract.extract_by_model(model, text, "tool"))
    if extracted is not None:
        return extracted
    return await services.offload.run(len(text), extract.extract_said, text, await listen(services, [text]))
