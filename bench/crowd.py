"""The people of a load test: accounts with a key each, made as the server makes them, and how much each of them has.

Sizes follow Zipf: of 2,000 people the first has an eighth of everything, and half of them less than two hundredths of a
per cent each. What they ask follows the same order.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.client import Client
from keepstone.access import keys, operator, users
from keepstone.runtime import open_all
from keepstone.services import Services
from keepstone.settings import Settings

AGENT = "scout"
SCOPE = "talk"
AT_ONCE = 8  # people who move in


@dataclass(frozen=True)
class Person:
    """With what their program needs to know. `share` is theirs of all passages."""

    email: str
    account: int
    key: str
    share: float
    room: str
    chat: str

    @property
    def auth(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


def zipf(size: int, exponent: float = 1.0) -> npt.NDArray[np.float64]:
    """Shares that sum up to 1, the largest first."""
    weights = 1.0 / np.arange(1, size + 1) ** exponent
    return weights / weights.sum()


def move_in(size: int, url: str, settings: Settings) -> list[Person]:
    """So many accounts on this server, each with a scope, a room with an agent, a graph, a vault and a chat, and one
    sentence in each of them.
    """
    keyed = asyncio.run(_accounts(size, settings))
    shares = zipf(size).tolist()
    found: list[Person | None] = [None] * size

    def furnish(place: int) -> None:
        email, account, key = keyed[place]
        found[place] = _furnished(Client(url, {"Authorization": f"Bearer {key}"}), email, account, key, shares[place])

    in_turn(furnish, size, AT_ONCE)
    return [person for person in found if person is not None]


async def _accounts(size: int, settings: Settings) -> list[tuple[str, int, str]]:
    async with open_all(settings) as services:
        return [await _account(services, f"person{number}@example.org") for number in range(size)]


async def _account(services: Services, email: str) -> tuple[str, int, str]:
    user = await users.create_user(services, email=email, name=email.partition("@")[0].title())
    principal, _ = await operator.principal_for(services, email)
    _, key = await keys.create_key(services, principal, name="load")
    return email, user.account, key


def _furnished(client: Client, email: str, account: int, key: str, share: float) -> Person:
    name = email.partition("@")[0].title()
    first = f"{name} keeps a boat called Halcyon {account} in the old harbour."
    client.post("/v1/ingest", {"scope_id": SCOPE, "transcript": [{"speaker": name, "text": first}]})
    client.post("/v1/memory/capsules", {"content_md": f"The boat Halcyon {account} needs a new mast before spring."})
    client.post("/v1/graphs/default/nodes", {"content": f"Halcyon {account} is moored at pier four."})
    client.post("/v1/agents", {"slug": AGENT, "name": "Scout", "instructions": "You help this team. Be brief."})
    room = client.post("/v1/rooms", {"name": "Harbour", "agents": [AGENT]})["id"]
    client.post(f"/v1/rooms/{room}/messages", {"text": "Shall we paint the boat this week?"})
    chat = client.post("/v1/chats", {})["id"]
    client.close()
    return Person(email, account, key, share, room, chat)


def in_turn(work: Callable[[int], None], size: int, several: int) -> None:
    """Each number once, so many at a time. The first fault ends it."""
    numbers, faults, lock = iter(range(size)), list[Exception](), threading.Lock()

    def take() -> None:
        while not faults:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            try:
                work(number)
            except Exception as fault:  # handed to whoever waits
                faults.append(fault)

    threads = [threading.Thread(target=take) for _ in range(several)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def keep(people: Sequence[Person], file: Path, **more: Any) -> None:
    file.write_text(json.dumps({**more, "people": [asdict(person) for person in people]}))


def known(file: Path) -> tuple[list[Person], dict[str, Any]]:
    """The people of a former run, and what was noted with them; nobody where there was none."""
    if not file.exists():
        return [], {}
    stored = json.loads(file.read_text())
    return [Person(**person) for person in stored.pop("people")], stored
