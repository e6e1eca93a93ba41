"""Every route of this surface, twice: under `/chat/api` for a browser's session, under `/v1` for any credential.

What is below one chat is `/chat/api/{chat_id}/…` and `/v1/chats/{chat_id}/…`; `/v1/{chat_id}/…` is the same.
"""

from keepstone.surfaces.chat import chats, documents, memories, messages, workspaces
from keepstone.surfaces.http.caller import BROWSER
from keepstone.surfaces.http.router import Router

router = Router()

for _prefix in (BROWSER, "/v1"):
    for _part in (workspaces.router, chats.router, memories.of_workspace, documents.router):
        router.include_router(_part, prefix=_prefix)
for _part in (memories.of_chat, chats.of_chat, messages.of_chat):
    router.include_router(_part, prefix=BROWSER)
    router.include_router(_part, prefix="/v1/chats")
    router.include_router(_part, prefix="/v1", include_in_schema=False)
