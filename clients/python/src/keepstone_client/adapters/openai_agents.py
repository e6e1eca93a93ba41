"""A `Session` of the OpenAI Agents SDK on a Keepstone store: a conversation that is there next time, item by item.

await Runner.run(agent, "Hello", session=KeepstoneSession("customer-42"))
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from agents.items import TResponseInputItem
from agents.memory import SessionABC, SessionSettings
from agents.memory.session_settings import coerce_session_settings, resolve_session_limit

from keepstone_client import stores
from keepstone_client.binding import Async
from keepstone_client.client import AsyncKeepstone
from keepstone_client.errors import Conflict
from keepstone_client.stores import FoundItem, Stores

STORE = "sessions"
_HEAD = "head"  # how many items there are; whoever changes a session changes this with it
_AT_ONCE = 500
_ROUNDS = 20


class KeepstoneSession(SessionABC):
    """Items are kept word for word, in the order in which they were added, also by several at once. What was popped
    or cleared lies in the store's trash. Without a client, one is made from the environment for each call.
    """

    def __init__(
        self,
        session_id: str,
        client: AsyncKeepstone | None = None,
        *,
        store: str = STORE,
        namespace: Sequence[str] = (),
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or {})
        self._client = client
        self._store = store
        self._namespace = (*namespace, session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        wanted = resolve_session_limit(limit, self.session_settings)
        async with self._kept() as kept:
            number, _ = await self._head(kept)
            first = 0 if wanted is None or wanted < 0 else max(0, number - wanted)
            return await self._between(kept, first, number)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        async with self._kept() as kept:
            for start in range(0, len(items), _AT_ONCE):
                await self._append(kept, items[start : start + _AT_ONCE])

    async def pop_item(self) -> TResponseInputItem | None:
        async with self._kept() as kept:
            for round_ in range(_ROUNDS):
                number, version = await self._head(kept)
                if number == 0:
                    return None
                key = _key(number - 1)
                steps = [
                    self._set_head(number - 1, version),
                    stores.get(self._namespace, key),
                    stores.delete(self._namespace, key),
                ]
                try:
                    outcomes = await kept.batch(self._store, steps)
                except Conflict:
                    await _turn(round_)
                    continue
                item = outcomes[1].item
                if item is not None:
                    return item.value["item"]
        raise _busy()

    async def clear_session(self) -> None:
        async with self._kept() as kept:
            for round_ in range(_ROUNDS):
                number, version = await self._head(kept)
                if number == 0:
                    return
                first = max(0, number - _AT_ONCE)
                gone = [stores.delete(self._namespace, _key(place)) for place in range(first, number)]
                try:
                    await kept.batch(self._store, [self._set_head(first, version), *gone])
                except Conflict:
                    await _turn(round_)
                    continue
                if first == 0:
                    return
        raise _busy()

    async def search(self, query: str, *, limit: int = 10) -> list[tuple[TResponseInputItem, float | None]]:
        """What was said in this session about it, the most relevant first."""
        async with self._kept() as kept:
            found: tuple[FoundItem, ...] = await kept.search(self._store, self._namespace, query=query, limit=limit)
        return [(one.value["item"], one.score) for one in found]

    async def _append(self, kept: Stores[Async], items: Sequence[TResponseInputItem]) -> None:
        for round_ in range(_ROUNDS):
            number, version = await self._head(kept)
            puts = [self._put(number + place, item) for place, item in enumerate(items)]
            try:
                await kept.batch(self._store, [self._set_head(number + len(items), version), *puts])
            except Conflict:
                await _turn(round_)
                continue
            return
        raise _busy()

    async def _between(self, kept: Stores[Async], first: int, end: int) -> list[TResponseInputItem]:
        found = list[TResponseInputItem]()
        for start in range(first, end, _AT_ONCE):
            keys = [_key(place) for place in range(start, min(start + _AT_ONCE, end))]
            outcomes = await kept.batch(self._store, [stores.get(self._namespace, key) for key in keys])
            found += [one.item.value["item"] for one in outcomes if one.item is not None]
        return found

    async def _head(self, kept: Stores[Async]) -> tuple[int, int]:
        """How many items there are, and the version of what says so."""
        [outcome] = await kept.batch(self._store, [stores.get(self._namespace, _HEAD)])
        return (int(outcome.item.value["items"]), outcome.item.version) if outcome.item else (0, 0)

    def _set_head(self, number: int, version: int) -> dict[str, Any]:
        return stores.put(self._namespace, _HEAD, {"items": number}, index=False, if_version=version)

    def _put(self, place: int, item: TResponseInputItem) -> dict[str, Any]:
        said = _said(cast("Mapping[str, Any]", item))
        value = {"item": item, **({"text": said} if said else {})}
        return stores.put(self._namespace, _key(place), value, index=["text"] if said else False)

    @asynccontextmanager
    async def _kept(self) -> AsyncGenerator[Stores[Async]]:
        if self._client is not None:
            yield Stores[Async](self._client)
            return
        async with AsyncKeepstone() as client:
            yield Stores[Async](client)


def _key(place: int) -> str:
    return f"{place:09}"


def _said(item: Mapping[str, Any]) -> str:
    """The words of an item, by which it is found."""
    content = item.get("content", item.get("output"))
    if isinstance(content, str):
        return content
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    texts = [cast("Mapping[str, Any]", part).get("text") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))


async def _turn(round_: int) -> None:
    """Let the other finish."""
    await asyncio.sleep(min(0.01 * 2**round_, 0.5))


def _busy() -> RuntimeError:
    return RuntimeError("Too many others change this session just now: try again.")
