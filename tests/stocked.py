"""A database with something of every kind in it, and what is asked to see that it is all there, found as before."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import graphs
import rooms
from capsules import keep
from conftest import HASHER, Person, http
from keepstone.app import make_app
from keepstone.jobs.worker import run_until_empty
from keepstone.providers.embedder import Embedder
from keepstone.providers.embedders import Embedders
from keepstone.runtime import open_migrated
from keepstone.services import Services
from keepstone.settings import Settings
from workspaces import call

# What differs between two answers that say the same.
VOLATILE = frozenset({"trace_id", "query_id", "milliseconds", "last_used_at", "charged", "balance", "usage", "credits"})


@dataclass(frozen=True)
class Stock:
    """Whose it is, and what has a name."""

    owner: Person
    room: str


async def stock(services: Services, owner: Person) -> Stock:
    """With its vectors, where the services have embedders."""
    auth = owner.auth
    async with http(make_app(services)) as client:
        transcript = [
            {"speaker": "Ben", "text": "We adopted a puppy from the shelter on Saturday, she is called Luna."},
            {"speaker": "Anna", "text": "I can't eat peanuts, they send me to the hospital."},
        ]
        body = {"scope_id": "team", "transcript": transcript}
        await call(client, auth, "POST", "/ingest", json=body, expect=202)
        kept = await keep(client, auth, "The ferry leaves at nine from pier three.", title="Ferry", tags=["travel"])
        await call(client, auth, "DELETE", f"/memory/capsules/{kept['id']}", expect=204)
        await keep(client, auth, 'Rufus barks\tat \\N postmen,\nand at "others".', title="Dog")
        await graphs.store(client, auth, **graphs.FIRST)
        await rooms.make_agent(client, auth)
        room = await rooms.make_room(client, auth)
        await rooms.say(client, auth, room, "Our API gateway runs on port 8443.")
    await run_until_empty(services)
    return Stock(owner, room)


async def found(services: Services, stocked: Stock) -> dict[str, Any]:
    """By meaning as well: the questions share no word with what answers them."""
    auth = stocked.owner.auth
    async with http(make_app(services)) as client:
        recall = {"scope_id": "team", "message": {"speaker": "Dora", "text": "Which pet does he own?"}}
        asked = [
            ("POST", "/recall", recall),
            ("GET", "/memory/capsules", None),
            ("POST", "/graphs/default/recall", {"query": "How fast must the interface be?"}),
            ("GET", f"/rooms/{stocked.room}/messages", None),
            ("GET", "/memory/trash", None),
        ]
        return {path: _plain(await call(client, auth, method, path, json=body)) for method, path, body in asked}


@asynccontextmanager
async def services_on(home: Path, conninfo: str, embedders: tuple[Embedder, ...] = ()) -> AsyncGenerator[Services]:
    """What a server would serve from that database."""
    async with open_migrated(Settings(home=home, database_pool=10), conninfo, HASHER) as opened:
        yield replace(opened, embedders=Embedders(embedders))


def _plain(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: _plain(value) for name, value in answer.items() if name not in VOLATILE}
    return [_plain(one) for one in answer] if isinstance(answer, list) else answer
