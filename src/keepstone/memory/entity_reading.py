"""What of some messages is worth remembering for the entities that they are sent for.

By rules, or by the language model when there is one, as chats are read. What one person hands over and nobody answers
is no conversation: whoever sends it wants it remembered, so what was not read out of it is kept as it is, unless it
only asks or greets (`engine/extract/alone.py`). A secret is refused instead of passed over without a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from keepstone.access.meter import try_model
from keepstone.engine.extract import memories as extract
from keepstone.engine.extract.alone import left_over
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
    alone = len({(message.role, message.name) for message in messages if message.role != "system"}) == 1
    texts: list[ExtractedText] = []
    secret = False
    for message in spoken:
        own = own_words(message.content)
        found, by_model = await _extracted(services, principal, own)
        read = [(extracted.content, extracted.category) for extracted in found]
        if alone and not (found and by_model):  # in a model's own words it can't be told what it passed over
            over = left_over(own, [extracted.content for extracted in found])
            secret = secret or any(map(has_secret, over))
            read += [(content, None) for content in over if not has_secret(content)]
        texts += [
            ExtractedText(content=content, category=category, role=message.role, name=message.name)
            for content, category in read
        ]
    if secret and not texts:
        raise Invalid(
            "This looks like a password, a key or the number of a card, and nothing was kept: send it with infer=False "
            "if it is to be."
        )
    return texts


def word_for_word(messages: Sequence[EntityMessage]) -> list[ExtractedText]:
    """Each message as it is, but for what was recalled and quoted in it. Instructions to a model are no memories."""
    texts = [(message, own_words(message.content).strip()) for message in messages if message.role != "system"]
    return [
        ExtractedText(content=text, category=None, role=message.role, name=message.name)
        for message, text in texts
        if text
    ]


async def _extracted(services: Services, principal: Principal, text: str) -> tuple[list[extract.Extracted], bool]:
    """And whether the model found it. One that can't be reached, or answers with something else, is done without:
    somebody waits for the answer.
    """
    extracted = None
    if text.strip():
        extracted = await try_model(services, principal, lambda model: extract.extract_by_model(model, text, "tool"))
    if extracted is not None:
        return extracted, True
    return await services.offload.run(len(text), extract.extract_said, text, await listen(services, [text])), False
