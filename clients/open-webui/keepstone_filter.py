"""
title: Keepstone
author: Keepstone
version: 0.1.0
license: Apache-2.0
required_open_webui_version: 0.12.4
description: Long-term memory on your own Keepstone server: recalls what earlier chats said, and keeps each turn.
"""

# A filter of Open WebUI: `inlet` sees a request before the model does, `outlet` a turn when it is over. Each user's
# turns lie in one scope of their own. With a service key that is a scope of the Keepstone user with their e-mail
# address, with a user's key one of that user's; its name has the Open WebUI user's id in both, so no two share one.
# It needs nothing that Open WebUI does not have: `requirements` would make it run pip.

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import httpx
from pydantic import BaseModel, Field

log = logging.getLogger(__name__)

Json = dict[str, Any]
Emitter = Callable[[Json], Awaitable[None]]

ASSISTANT = "Assistant"
LONGEST_QUESTION = 8_000  # characters
TEMPORARY = ("temporary:", "local:")  # how the ids of chats begin that nobody wants to keep
CHANNEL = "channel:"  # read by others, too
# What Open WebUI shows folded: what a model thought, and what tools said.
FOLDED = re.compile(r'<details\b[^<>]*\btype="[^<>]*>.*?(?:</details>|\Z)', re.DOTALL)


class Trouble(Exception):
    """Something to say in the chat."""


class Filter:
    class Valves(BaseModel):
        url: str = Field(default="http://127.0.0.1:8420", description="Where Keepstone is, as Open WebUI reaches it.")
        api_key: str = Field(
            default="",
            description="Keepstone's: a service key, which speaks for each user by their e-mail address, or a user's.",
            json_schema_extra={"input": {"type": "password"}},
        )
        max_tokens: int = Field(default=1_000, ge=50, description="How long what is recalled may be.")
        min_relevance: float = Field(default=0.5, ge=0, le=1, description="How likely it has to be what was asked for.")
        timeout: float = Field(default=3.0, gt=0, description="Seconds that a chat waits for Keepstone at most.")
        show_status: bool = Field(default=True, description="Say in the chat what was looked up.")
        priority: int = Field(default=0, description="Filters with a lower one run first.")

    class UserValves(BaseModel):
        recall: bool = Field(default=True, description="Look up what was said in your earlier chats.")
        keep: bool = Field(default=True, description="Keep what you say and what is answered.")

    def __init__(self) -> None:
        self.valves = self.Valves()
        self._speaks_for_others: dict[tuple[str, str], bool] = {}

    async def inlet(
        self,
        body: Json,
        __user__: Json | None = None,
        __metadata__: Json | None = None,
        __event_emitter__: Emitter | None = None,
    ) -> Json:
        about = __metadata__ or {}
        chat_id = str(about.get("chat_id") or "")
        if not _wants(__user__, "recall") or about.get("task") or chat_id.startswith(CHANNEL):
            return body

        async def look_up() -> str | None:
            question = _last_said(body.get("messages") or [])
            if not question:
                return None
            found = await self._ask(
                __user__ or {},
                "/v1/recall",
                {
                    "message": {"speaker": _name(__user__), "text": question[-LONGEST_QUESTION:]},
                    "max_tokens": self.valves.max_tokens, "min_relevance": self.valves.min_relevance,
                },
            )  # fmt: skip
            recalled, number = _from_elsewhere(found, chat_id)
            if not number:
                return None
            body["messages"] = _put_in(body["messages"], recalled)
            return f"Looked up {number} {'memory' if number == 1 else 'memories'}"

        await self._tell(look_up, "Nothing was looked up", __event_emitter__)
        return body

    async def outlet(
        self,
        body: Json,
        __user__: Json | None = None,
        __metadata__: Json | None = None,
        __event_emitter__: Emitter | None = None,
    ) -> Json:
        chat_id = str(body.get("chat_id") or (__metadata__ or {}).get("chat_id") or "")
        if not _wants(__user__, "keep") or not chat_id or chat_id.startswith((*TEMPORARY, CHANNEL)):
            return body

        async def keep() -> None:
            turns = _turn(body, chat_id, _name(__user__))
            if turns:
                await self._ask(__user__ or {}, "/v1/ingest", {"transcript": turns})

        await self._tell(keep, "This turn was not kept", __event_emitter__)
        return body

    async def _tell(self, work: Callable[[], Awaitable[str | None]], failed: str, emit: Emitter | None) -> None:
        """Do it in time, and say in the chat what came of it. Memory is never a reason for a chat to fail."""
        try:
            said = await asyncio.wait_for(work(), self.valves.timeout)
        except TimeoutError:
            said = f"{failed}: Keepstone took longer than {self.valves.timeout:g} seconds"
        except Trouble as fault:
            said = f"{failed}: {fault}"
        except httpx.HTTPError as fault:
            log.warning("%s: %s", failed, type(fault).__name__)
            said = f"{failed}: Keepstone can't be reached"
        except Exception as fault:
            log.warning("%s: %s", failed, type(fault).__name__)
            said = f"{failed}: Keepstone's answer was not understood"
        if said and emit is not None and self.valves.show_status:
            try:
                await emit({"type": "status", "data": {"description": said, "done": True}})
            except Exception as fault:
                log.warning("The chat was not told: %s", type(fault).__name__)

    async def _ask(self, user: Json, path: str, asked: Json) -> Json:
        """Of the scope of that user, and no other's."""
        url, key, user_id = self.valves.url.rstrip("/"), self.valves.api_key.strip(), str(user.get("id") or "")
        if not key:
            raise Trouble("there is no key of Keepstone. Whoever runs Open WebUI sets it in this function's valves")
        if not user_id:
            raise Trouble("Open WebUI did not say who you are")
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=self.valves.timeout) as web:
            if (url, key) not in self._speaks_for_others:
                whose = _answer(await web.get("/v1/me"))
                self._speaks_for_others[url, key] = whose["user"] is None
            named: dict[str, str] = {}
            if self._speaks_for_others[url, key]:
                if not user.get("email"):
                    raise Trouble("Open WebUI did not say your e-mail address")
                named["X-Keepstone-User"] = str(user["email"])
            scope = f"open-webui/{user_id}"
            return _answer(await web.post(path, headers=named, json={"scope_id": scope, **asked}))


def _answer(response: httpx.Response) -> Json:
    if response.status_code == 404:
        raise Trouble("Keepstone knows nobody by your e-mail address. Whoever runs it can add you")
    if response.status_code in {401, 403}:
        raise Trouble("Keepstone refuses the key in this function's valves")
    if not response.is_success:
        log.warning("Keepstone answered with %d", response.status_code)
        raise Trouble(f"Keepstone answered with {response.status_code}")
    return response.json()


def _wants(user: Json | None, what: str) -> bool:
    """Open WebUI gives what the user chose as an object; whoever tests a filter by hand, as a dictionary."""
    chosen = (user or {}).get("valves")
    return bool(chosen.get(what, True) if isinstance(chosen, dict) else getattr(chosen, what, True))


def _name(user: Json | None) -> str:
    return str((user or {}).get("name") or "User")[:200]


def _text(content: Any) -> str:
    """Of a message, which may hold images and files beside it."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part.get("text") or "") for part in parts if isinstance(part, dict) and part.get("type") == "text"
    )


def _last_said(messages: list[Json]) -> str:
    said = next((message for message in reversed(messages) if message.get("role") == "user"), {})
    return _clean(_text(said.get("content")))


def _clean(text: str) -> str:
    """Without what JSON may hold and no text: half surrogates, and NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ").strip()


def _from_elsewhere(found: Json, chat_id: str) -> tuple[str, int]:
    """What was recalled, without what the model reads in this chat anyway, and how much it is."""
    here = [item for item in found["evidence"] if chat_id and item["metadata"].get("session_id") == chat_id]
    number = len(found["evidence"]) - len(here) or len(found["people"])
    ends = tuple(f"] {item['speaker']}: {' '.join(item['text'].split())}" for item in here)
    lines = found["context"].split("\n")
    return "\n".join(line for line in lines if not (ends and line.endswith(ends))), number


def _put_in(messages: list[Json], recalled: str) -> list[Json]:
    """After what the model is told to be, as the server marked it: quoted data."""
    first = messages[0] if messages else {}
    if first.get("role") != "system":
        return [{"role": "system", "content": recalled}, *messages]
    content = first.get("content")
    if isinstance(content, list):
        return [{**first, "content": [*content, {"type": "text", "text": recalled}]}, *messages[1:]]
    return [{**first, "content": f"{content or ''}\n\n{recalled}".strip()}, *messages[1:]]


def _turn(body: Json, chat_id: str, name: str) -> list[Json]:
    """The last thing that the user said, and the answer. Their ids are Open WebUI's: kept twice they are there once."""
    said: list[Json] = [one for one in body.get("messages") or [] if one.get("role") in {"user", "assistant"}]
    begins = max((place for place, one in enumerate(said) if one["role"] == "user"), default=len(said))
    turns: list[Json] = []
    for message in said[begins:]:
        mine = message["role"] == "user"
        text = _clean(_text(message.get("content")) if mine else FOLDED.sub("", _text(message.get("content"))))
        if not text or not message.get("id"):
            continue
        turn: Json = {
            "id": str(message["id"])[:255], "speaker": name if mine else ASSISTANT, "text": text,
            "metadata": {"source": "open-webui", "session_id": chat_id, "role": message["role"]},
        }  # fmt: skip
        if isinstance(message.get("timestamp"), (int, float)):
            turn["ts"] = datetime.fromtimestamp(message["timestamp"], UTC).isoformat()
        if turns:
            turn["reply_to"] = turns[0]["id"]
        turns.append(turn)
    return turns
