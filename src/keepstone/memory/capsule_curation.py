"""What of a conversation is worth keeping, and what to call it. Reads and writes nothing of anybody's memory."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from keepstone.access.meter import metered
from keepstone.access.require import require_user
from keepstone.engine import curate as engine
from keepstone.engine.keyphrases import tags
from keepstone.engine.segments import SpokenMessage
from keepstone.errors import UpstreamError
from keepstone.memory.capsules import make_title
from keepstone.model.principal import Principal
from keepstone.services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    title: str
    tags: list[str]


async def name(services: Services, principal: Principal, content_md: str) -> Name:
    """A title, by the language model when there is one, and tags from the text."""
    require_user(principal)
    return Name(title=await make_title(services, principal, content_md), tags=tags(content_md))


async def curate(
    services: Services, principal: Principal, said: Sequence[SpokenMessage], *, refined: bool
) -> list[engine.Segment]:
    """By rules; what they are in doubt about by the language model, if there is one and the caller asks."""
    require_user(principal)
    segments = engine.curate(said)
    model = metered(services, principal) if refined else None
    if model is not None:
        with suppress(UpstreamError):
            segments = await engine.refine(model, segments)
    return [segment for segment in segments if segment.score >= engine.GREY[0]]
