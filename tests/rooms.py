"""What the tests of rooms share: agents, rooms, saying something, a clock of one's own, and the prompt."""

import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import httpx

from capsules import rows
from conftest import Person
from keepstone.jobs import tasks
from keepstone.jobs.worker import run_until_empty
from keepstone.model.ids import is_id
from keepstone.services import Services
from keepstone.store.db import WORKER_ROLE
from keepstone.store.queue import Queue
from keepstone.store.roles import role_conninfo
from servers import LocalServer
from workspaces import Auth, call

ORDER = ["instructions", "working", "episodic", "semantic", "structured", "landmarks", "message"]


@dataclass
class Clock:
    """Stands still until it is set."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def go(self, **by: float) -> datetime:
        self.now += timedelta(**by)
        return self.now


@asynccontextmanager
async def at_work(services: Services, database: str, **changes: Any) -> AsyncGenerator[Services]:
    """Services with a clock, a language model or a Redis of their own, which their jobs have too."""
    queue = Queue(role_conninfo(database, WORKER_ROLE))
    made = replace(services, queue=queue, **changes)
    tasks.register_tasks(made)
    await queue.open()
    try:
        yield made
    finally:
        await queue.close()


async def sum_up(services: Services) -> None:
    """What is waiting, and what the scheduler would have called."""
    await run_until_empty(services)
    await tasks.sum_up_rooms(services)
    await run_until_empty(services)


async def make_agent(client: httpx.AsyncClient, auth: Auth, slug: str = "scout", **more: Any) -> str:
    body = {"slug": slug, "name": slug.capitalize(), **more}
    return (await call(client, auth, "POST", "/agents", json=body, expect=201))["slug"]


async def make_room(
    client: httpx.AsyncClient, auth: Auth, *people: Person, agents: Sequence[str] = ("scout",), **more: Any
) -> str:
    """With agents that are there, and people who come."""
    ids = [person.user.id for person in people]
    body = {"name": "Island", "participants": ids, "agents": list(agents), **more}
    room = (await call(client, auth, "POST", "/rooms", json=body, expect=201))["id"]
    for person in people:
        await come(client, person, room)
    return room


async def come(client: httpx.AsyncClient, person: Person, room: str) -> Any:
    """Accept the invitation to this room."""
    asked = (await call(client, person.auth, "GET", "/invitations"))["items"]
    [invitation] = [one["id"] for one in asked if one["room_id"] == room]
    return await call(client, person.auth, "POST", f"/invitations/{invitation}/accept")


async def let_in(client: httpx.AsyncClient, auth: Auth, person: Person, room: str) -> Any:
    """Invite somebody, who comes."""
    await call(client, auth, "POST", f"/rooms/{room}/participants", json={"user": person.user.id})
    return await come(client, person, room)


def place(where: str) -> str:
    """A room by its id, the direct messages with an agent by its slug."""
    return f"/rooms/{where}" if is_id("room", where) else f"/dms/{where}"


async def say(client: httpx.AsyncClient, auth: Auth, where: str, text: str, *, expect: Any = 201, **more: Any) -> Any:
    given = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in more.items()}
    return await call(client, auth, "POST", f"{place(where)}/messages", json={"text": text, **given}, expect=expect)


async def working(client: httpx.AsyncClient, auth: Auth, where: str) -> list[Any]:
    return (await call(client, auth, "GET", f"{place(where)}/working"))["items"]


async def messages(client: httpx.AsyncClient, auth: Auth, where: str, **params: Any) -> list[Any]:
    return (await call(client, auth, "GET", f"{place(where)}/messages", params=params))["items"]


async def memories(client: httpx.AsyncClient, auth: Auth, where: str, **params: Any) -> list[Any]:
    return (await call(client, auth, "GET", f"{place(where)}/memories", params=params))["items"]


async def landmarks(client: httpx.AsyncClient, auth: Auth, where: str, **params: Any) -> list[Any]:
    return (await call(client, auth, "GET", f"{place(where)}/landmarks", params=params))["items"]


async def summaries(client: httpx.AsyncClient, auth: Auth, where: str, tier: str | None = None) -> list[Any]:
    """Those that hold, in the order of their time."""
    params = {"limit": 200} | ({"tier": tier} if tier else {})
    return (await call(client, auth, "GET", f"{place(where)}/summaries", params=params))["items"][::-1]


async def compose(
    client: httpx.AsyncClient, auth: Auth, where: str, text: str, *, agent: str = "scout", user: str | None = None,
    expect: Any = 200, **more: Any,
) -> Any:  # fmt: skip
    message = {"text": text} | ({"user": user} if user else {})
    body = {"message": message, **({"agent": agent} if is_id("room", where) else {}), **more}
    return await call(client, auth, "POST", f"{place(where)}/compose", json=body, expect=expect)


def prompt(composed: Any) -> str:
    """All of it, as the agent would read it."""
    return "\n".join(one["content"] for one in composed["messages"])


def section(composed: Any, layer: str) -> Any:
    return next(one for one in composed["sections"] if one["layer"] == layer)


def lines_under(composed: Any, title: str) -> list[str]:
    """The lines of one part of the header, such as `[RECALL]`."""
    system = composed["messages"][0]["content"]
    found = re.search(rf"^{re.escape(title)}[^\n]*\n((?:- [^\n]*\n)*)", system, re.MULTILINE)
    return found[1].splitlines() if found else []


async def remember(client: httpx.AsyncClient, auth: Auth, where: str, text: str, **more: Any) -> Any:
    """In a profile or a project, by its id."""
    kind = "profiles" if is_id("usr", where) else "projects"
    return await call(client, auth, "POST", f"/{kind}/{where}/memories", json={"text": text, **more}, expect=201)


async def space_of(database: str, name: str) -> tuple[int, int]:
    """Account and space of a room."""
    ((account, space),) = await rows(database, "SELECT account, space FROM spaces WHERE name = %s", [name])
    return account, space


async def counts(database: str) -> dict[str, int]:
    """How many rows every table has."""
    names = await rows(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'keepstone'")
    found: dict[str, int] = {}
    for (name,) in names:
        ((number,),) = await rows(database, f'SELECT count(*) FROM keepstone."{name}"')
        found[name] = number
    return found


class Model(LocalServer):
    """A language model's endpoint on a port of its own. It says what `reply` makes of the prompt, or fails."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.status = 200
        self.takeaways = "[]"
        super().__init__(self._answer)

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    def reply(self, prompt: str) -> str:
        """Of a summary the first line that somebody said, as a model that leaves out much would."""
        if "<message speaker=" in prompt:
            return self.takeaways
        said = [line for line in prompt.splitlines() if re.match(r"[^\[<:]+: \S", line)]
        return f"In short, {said[0]}" if said else "Nothing much happened."

    def _answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        given = json.loads(body)["messages"][-1]["content"]
        self.prompts.append(given)
        if self.status != 200:
            return self.status, b'{"error": {"message": "no"}}'
        message = {"role": "assistant", "content": self.reply(given)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return 200, json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m",
                                "choices": [choice]}).encode()  # fmt: skip
