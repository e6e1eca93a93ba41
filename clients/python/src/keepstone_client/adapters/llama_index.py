"""A memory block for LlamaIndex on a Keepstone scope: what leaves the short-term memory is kept word for word, and what
matters to the arriving message comes back.

    memory = Memory.from_defaults(session_id="…", memory_blocks=[KeepstoneMemoryBlock(scope_id="customer-42")])
"""

from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field, PrivateAttr

from keepstone_client.client import AsyncKeepstone
from keepstone_client.scopes import Turn


class KeepstoneMemoryBlock(BaseMemoryBlock[str]):
    """The scope belongs to the user whose key it is. `speakers` names who speaks in a role, as the scope shall know
    them. What it gives is marked as quoted data, and is not taken in again.
    """

    name: str = "keepstone"
    description: str | None = "What was said before, as far as it matters to the last message."
    priority: int = 1
    scope_id: str
    limit: int = 10
    max_tokens: int | None = 1_000
    min_relevance: float | None = None
    speakers: dict[str, str] = Field(default_factory=dict)
    _client: AsyncKeepstone = PrivateAttr()

    def __init__(self, scope_id: str, client: AsyncKeepstone | None = None, **options: Any) -> None:
        super().__init__(scope_id=scope_id, **options)  # pyright: ignore[reportCallIssue] (a field of this class)
        self._client = client or AsyncKeepstone()

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:  # noqa: ARG002
        asked = next((one for one in reversed(messages or []) if one.role == MessageRole.USER and _said(one)), None)
        if asked is None:
            return ""
        found = await self._client.scopes.recall(
            self.scope_id, _said(asked), speaker=self._speaker(asked), limit=self.limit, max_tokens=self.max_tokens,
            min_relevance=self.min_relevance,
        )  # fmt: skip
        return found.context

    async def _aput(self, messages: list[ChatMessage]) -> None:
        turns = [Turn(speaker=self._speaker(one), text=_said(one)) for one in messages if _said(one)]
        if turns:
            await self._client.scopes.ingest(self.scope_id, turns)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The oldest lines go first. The first and the last line stay: between them is what is quoted. A token has
        about four characters."""
        opening, *lines, closing = content.split("\n") if content.count("\n") > 1 else (content, "")
        left = len(content) - 4 * tokens_to_truncate
        while lines and sum(len(line) + 1 for line in (opening, *lines, closing)) > left:
            lines = lines[1:]
        return "\n".join([opening, *lines, closing]) if lines else None

    def _speaker(self, message: ChatMessage) -> str:
        return self.speakers.get(message.role.value, message.role.value)


def _said(message: ChatMessage) -> str:
    return (message.content or "").strip()
