"""Dates that a model or a person reads are the account's, and say so."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from conftest import World
from keepstone.engine.dates import day, labelled_day, minute, zone_named
from keepstone.jobs.worker import run_until_empty
from keepstone.services import Services
from rooms import compose, lines_under, make_agent, make_room, prompt, remember, say
from workspaces import call

LATE = datetime(2026, 5, 4, 22, 30, tzinfo=UTC)  # half past midnight in Berlin, half past six in Shanghai


@pytest.mark.parametrize(
    ("zone", "told"),
    [("UTC", "2026-05-04 22:30"), ("Europe/Berlin", "2026-05-05 00:30"), ("Asia/Shanghai", "2026-05-05 06:30"),
     ("America/New_York", "2026-05-04 18:30")],
)  # fmt: skip
def test_a_day_is_that_of_its_zone(zone: str, told: str) -> None:
    assert minute(LATE, zone_named(zone)) == told
    assert day(LATE, zone_named(zone)) == told[:10]
    assert labelled_day(LATE, zone_named(zone)) == f"{told[:10]} {zone}"


def test_the_first_and_the_last_day_there_are_can_be_told_and_so_can_those_of_a_zone_that_is_gone() -> None:
    assert day(datetime.max.replace(tzinfo=UTC), zone_named("Asia/Shanghai")).startswith("9999-12-31")
    assert day(datetime.min.replace(tzinfo=UTC), zone_named("America/New_York")).endswith("01-01")
    assert zone_named("Mars/Olympus").key == "UTC"


async def ask_scope(client: httpx.AsyncClient, auth: dict[str, str]) -> tuple[str, str]:
    """The context of a recall, and an answer."""
    said = [{"speaker": "Mia", "text": "The heron nests behind the old boathouse.", "ts": LATE.isoformat()}]
    await call(client, auth, "POST", "/ingest", json={"scope_id": "lake", "transcript": said}, expect=202)
    message = {"speaker": "Ben", "text": "Where does the heron nest?"}
    recalled = await call(client, auth, "POST", "/recall", json={"scope_id": "lake", "message": message})
    answered = await call(client, auth, "POST", "/ask", json={"scope_id": "lake", "question": message["text"]})
    return recalled["context"], answered["answer"]


@pytest.mark.parametrize(("zone", "told"), [("Europe/Berlin", "2026-05-05"), (None, "2026-05-04")])
async def test_scopes_tell_dates_in_the_accounts_zone_and_say_so(
    client: httpx.AsyncClient, services: Services, world: World, zone: str | None, told: str
) -> None:
    if zone:
        await call(client, world.owner.auth, "PATCH", "/account", json={"timezone": zone})
    context, answer = await ask_scope(client, world.owner.auth)
    assert f"(Dates are those of {zone or 'UTC'}.)\n[{told}] Mia: The heron" in context
    assert answer == f"[{told} {zone or 'UTC'}] Mia: The heron nests behind the old boathouse."


async def tool(client: httpx.AsyncClient, auth: dict[str, str], path: str, name: str, **arguments: Any) -> str:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    answer = await client.post(path, headers=auth, json=body)
    return answer.json()["result"]["content"][0]["text"]


async def test_tools_and_prompts_tell_dates_in_the_accounts_zone_and_say_so(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.owner.auth
    await call(client, auth, "PATCH", "/account", json={"timezone": "Pacific/Kiritimati"})  # a day ahead for 14 hours
    today = day(services.clock(), zone_named("Pacific/Kiritimati"))
    asked = {"mode": "save_memory", "content_md": "The heron nests behind the old boathouse."}
    assert f"({today} Pacific/Kiritimati; note" in await tool(client, auth, "/v1/mcp", "conductor_ask", **asked)
    await tool(client, auth, "/v1/graph/mcp", "memory_store", content="The heron nests behind the boathouse.")
    found = await tool(client, auth, "/v1/graph/mcp", "memory_recall", query="Where does the heron nest?")
    assert f"{today} Pacific/Kiritimati" in found


async def test_a_composed_prompt_tells_dates_in_the_accounts_zone_and_says_so(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.owner.auth
    await call(client, auth, "PATCH", "/account", json={"timezone": "Europe/Berlin"})
    await make_agent(client, auth, context_window=8000)
    room = await make_room(client, auth)
    await say(client, auth, room, "We decided to feed the heron at dusk.", ts=LATE)
    await remember(client, auth, world.owner.user.id, "The heron likes trout.")
    await run_until_empty(services)
    composed = await compose(client, auth, room, "When is the heron fed?")
    assert "(Dates are those of Europe/Berlin.)" in composed["messages"][0]["content"]
    assert lines_under(composed, "[LANDMARKS]") == ["- [2026-05-05] We decided to feed the heron at dusk."]
    assert "[2026-05-05 00:30] olga: We decided" in prompt(composed)
    assert "2026-05-04" not in prompt(composed)
