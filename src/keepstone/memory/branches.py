"""Branches of a chat: a question worded anew, an answer asked for again, and the way back to what stood there before.

Nothing that was said is rewritten: another message takes its place, and what stood there stays, aside.
"""

from dataclasses import dataclass

from keepstone.access.readscope import account_scope
from keepstone.errors import Forbidden, Invalid
from keepstone.memory.chats import find_chat, find_message
from keepstone.model.chat import ChatMessage
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import chats as store


@dataclass(frozen=True, slots=True, kw_only=True)
class Instead:
    """`message` is left for another one. Where it is an answer, `question` is what is answered anew."""

    message: ChatMessage
    question: ChatMessage | None = None


async def find_instead(services: Services, principal: Principal, chat_id: str, message_id: str) -> Instead:
    """What another message is to stand in the place of: a question of the caller's own, or any answer."""
    async with services.db.transaction(account_scope(principal)) as conn:
        await find_chat(conn, principal, chat_id, needs="member")
        message = await find_message(conn, chat_id, message_id)
        if message.aside:
            raise Invalid("This message is on another branch: choose that first.")
        if message.role == "user":
            if message.user_id != principal.user_id:
                raise Forbidden("Only who asked this can word it anew: ask a question of your own.")
            return Instead(message=message)
        said = await store.messages(conn, chat_id, before=message.seq)
    question = next((one for one in reversed(said) if one.role == "user"), None)
    if question is None:
        raise Invalid("Nothing was asked before this answer: ask something.")
    return Instead(message=message, question=question)
