"""Reading what was said or written once more, for what is worth remembering: after a turn in which a tool was used, and
over longer texts that a model wrote.

By rules, or by the language model when there is one. What recall and search found is never read: only what the user
said in the turn, or what the model wrote at its end.
"""

from keepstone.access.meter import metered
from keepstone.access.principals import worker_for
from keepstone.access.readscope import job_scope
from keepstone.engine.extract import memories as extract
from keepstone.engine.quotation import own_words
from keepstone.engine.standing import asked_for
from keepstone.errors import Forbidden, Invalid, NotFound, UpstreamError
from keepstone.memory.chat_memories import NewMemory, save
from keepstone.memory.hearing import listen
from keepstone.model.chat import ChatMemory, Distillation, SourceType
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import chats, distillations, summaries
from keepstone.store.db import Connection

PATIENCE = 3  # attempts with a language model that can't be reached
LEAST = 200  # characters of what a model wrote, to be worth reading again
_SOURCES: dict[str, SourceType] = {
    "tool": "model",
    "deep_think": "auto_deep_think",
    "research": "auto_research",
    "compaction": "auto_compaction",
}


async def distil(services: Services, account: int, space: int, distillation: int) -> list[ChatMemory]:
    """Returns what is remembered now and was not before. Runs twice without harm: the second time it finds itself done,
    and what was saved is not saved again.
    """
    async with services.db.transaction(job_scope(account, space)) as conn:
        asked = await distillations.begin(conn, distillation)
        if asked is None:
            return []
        chat = await chats.get(conn, asked.chat_id)
        text, author = await _source(conn, asked)
    made: list[ChatMemory] = []
    if chat is not None and chat.deleted_at is None and text and asked.user_id is not None:
        principal = worker_for(account, asked.user_id)
        worth_keeping = await _extracted(services, principal, asked, own_words(text))
        async with services.db.transaction(job_scope(account, space)) as conn:
            if (await _source(conn, asked))[0] is None:  # erased while the model read it
                return []
        for extracted in worth_keeping:
            new = NewMemory(
                content=extracted.content, category=extracted.category, summary=extracted.summary,
                source_type=_SOURCES[asked.kind],
                source_message_id=asked.source_id if asked.kind != "compaction" else None,
                worded_by=author if author and asked_for(extracted.content, text) else None,
            )  # fmt: skip
            try:
                saved = await save(services, principal, new, workspace_id=chat.workspace_id, chat_id=chat.id)
            except (NotFound, Forbidden, Invalid):
                break  # they have left the workspace meanwhile
            if not saved.existing:
                made.append(saved.memory)
    async with services.db.transaction(job_scope(account, space)) as conn:
        await distillations.finish(conn, distillation, [memory.id for memory in made])
    return made


async def _source(conn: Connection, asked: Distillation) -> tuple[str | None, str | None]:
    """What is to be read, and whose words it is; a model's are nobody's."""
    if asked.kind == "compaction":
        return await summaries.content(conn, asked.source_id), None
    message = await chats.message(conn, asked.chat_id, asked.source_id)
    return (message.content, message.user_id) if message else (None, None)


async def _extracted(
    services: Services, principal: Principal, asked: Distillation, text: str
) -> list[extract.Extracted]:  # fmt: skip
    """A model that answers with something else, or not at all for a while, is done without."""
    model = await metered(services, principal)
    if model is not None:
        try:
            return await extract.extract_by_model(model, text, asked.kind)
        except UpstreamError as fault:
            if fault.code != "not_understood" and asked.attempts < PATIENCE:
                raise
    if asked.kind == "tool":
        return await services.offload.run(len(text), extract.extract_said, text, await listen(services, [text]))
    return await services.offload.run(len(text), extract.extract_written, text, asked.kind)
