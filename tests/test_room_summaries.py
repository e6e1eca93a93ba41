"""Episodic memory: threads, sessions, days and weeks, in the account's time zone, made anew when told late."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import httpx
import psycopg
import pytest

from capsules import rows
from conftest import World, http
from keepstone.app import make_app
from keepstone.jobs import tasks
from keepstone.jobs.worker import run_until_empty
from keepstone.memory.room_summaries import due_rooms
from keepstone.model.ids import new_id
from keepstone.providers.chat_model import ChatModel
from keepstone.providers.llm import Completion, LanguageModel
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.services import Services
from rooms import (
    Clock,
    Model,
    at_work,
    compose,
    lines_under,
    make_agent,
    make_room,
    prompt,
    say,
    section,
    space_of,
    sum_up,
    summaries,
)
from workspaces import call

MONDAY = datetime(2026, 5, 4, 9, tzinfo=UTC)
TALK = [
    ("owner", "We decided to rent the blue boat for 900 euros."),
    ("member", "I'll call the harbour master by Friday."),
    ("owner", "haha nice"),
    ("member", "The harbour closes at 18:00 in winter."),
]


@dataclass
class Stage:
    """A room, a clock, and jobs that go by it."""

    services: Services
    client: httpx.AsyncClient
    world: World
    clock: Clock
    room: str
    database: str

    async def say(self, text: str, *, who: str = "owner", **more: Any) -> Any:
        auth = getattr(self.world, who).auth
        return await say(self.client, auth, self.room, text, **{"ts": self.clock.now, **more})

    async def talk(self, about: str = "") -> list[str]:
        """Four turns, a minute apart; the clock stands at the last of them."""
        ids: list[str] = []
        for place, (who, text) in enumerate(TALK):
            self.clock.go(minutes=1 if place else 0)
            ids.append((await self.say(f"{text}{about and ' ' + about}", who=who))["id"])
        return ids

    async def run(self) -> None:
        await sum_up(self.services)

    async def of(self, tier: str) -> list[Any]:
        return await summaries(self.client, self.world.owner.auth, self.room, tier)

    async def all(self) -> list[tuple[Any, ...]]:
        """Every summary, also those that no longer hold, and the passages of them."""
        query = "SELECT id, tier, content, starts_at, ends_at, source_ids, superseded_at FROM summaries ORDER BY id"
        found = "SELECT source_id, text FROM passages WHERE source_kind = 'summary' ORDER BY source_id, part"
        return await rows(self.database, query) + await rows(self.database, found)


@asynccontextmanager
async def staged(
    services: Services, database: str, world: World, *, zone: str = "UTC", llm: LanguageModel | None = None
) -> AsyncGenerator[Stage]:
    clock = Clock(MONDAY)
    async with at_work(services, database, clock=clock, llm=llm) as made, http(make_app(made)) as client:
        await call(client, world.owner.auth, "PATCH", "/account", json={"timezone": zone})
        await make_agent(client, world.owner.auth)
        room = await make_room(client, world.owner.auth, world.member)
        yield Stage(made, client, world, clock, room, database)


@pytest.fixture
async def stage(services: Services, database: str, world: World) -> AsyncGenerator[Stage]:
    async with staged(services, database, world) as made:
        yield made


@pytest.fixture(scope="module")
def served() -> Generator[Model]:
    made = Model()
    yield made
    made.stop()


@pytest.fixture
async def model(served: Model) -> AsyncGenerator[LanguageModel]:
    served.status, served.takeaways = 200, "[]"
    served.prompts.clear()
    made = ChatModel(OpenAIUpstream(served.base_url, "key", "small"), retries=0)
    yield made
    await made.close()


def spoken(content: str, said: dict[str, str]) -> bool:
    """Whether every line is a sentence of somebody who is named before it, or the heading of a day."""
    for line in content.splitlines():
        speaker, _, sentence = line.partition(": ")
        if not line.startswith("## ") and (speaker not in said or sentence not in said[speaker]):
            return False
    return True


# ------------------------------------------------------------------------------------------------------- threads


async def test_a_thread_is_summed_up_when_it_is_closed(stage: Stage) -> None:
    thread = new_id("thr")
    said = [await stage.say(text, who=who, thread_id=thread) for who, text in TALK]
    await stage.say("The dog needs 2 walks.", thread_id=None)
    await stage.run()
    assert await stage.of("thread") == []
    path = f"/rooms/{stage.room}/threads/{thread}/close"
    await call(stage.client, stage.world.member.auth, "POST", path)
    await stage.run()
    (made,) = await stage.of("thread")
    assert made["source_ids"] == [one["id"] for one in said]
    assert (made["message_count"], made["thread_id"]) == (4, thread)
    assert "olga: We decided to rent the blue boat for 900 euros." in made["content"]
    assert "haha" not in made["content"]
    assert "dog" not in made["content"]


async def test_a_message_in_a_closed_thread_makes_its_summary_anew(stage: Stage) -> None:
    thread = new_id("thr")
    await stage.say(TALK[0][1], thread_id=thread)
    await call(stage.client, stage.world.owner.auth, "POST", f"/rooms/{stage.room}/threads/{thread}/close")
    await stage.run()
    (before,) = await stage.of("thread")
    await stage.say("We decided to sell the old oars for 40 euros.", thread_id=thread)
    await stage.run()
    (after,) = await stage.of("thread")
    assert after["id"] != before["id"]
    assert "oars" in after["content"]
    assert after["message_count"] == 2


async def test_a_thread_is_summed_up_when_it_has_more_than_fifty_messages(stage: Stage) -> None:
    thread = new_id("thr")
    counted: list[int] = []
    for number in range(80):
        stage.clock.go(seconds=10)
        await stage.say(f"Box {number} holds {number} red plates.", thread_id=thread)
        if number + 1 in {50, 51, 75, 76}:
            await run_until_empty(stage.services)
            counted.append(max([one["message_count"] for one in await stage.of("thread")], default=0))
    assert counted == [0, 51, 51, 76]
    assert len(await stage.of("thread")) == 1


async def test_a_session_tells_what_its_threads_came_to(stage: Stage) -> None:
    thread = new_id("thr")
    await stage.say("We decided to rent the blue boat for 900 euros.", thread_id=thread)
    await stage.say("We decided to feed the dog at 7.")
    await call(stage.client, stage.world.owner.auth, "POST", f"/rooms/{stage.room}/threads/{thread}/close")
    stage.clock.go(hours=2)
    await stage.run()
    (session,) = await stage.of("session")
    assert "boat" in session["content"]
    assert "dog" in session["content"]
    assert session["message_count"] == 2


# ------------------------------------------------------------------------------------------------------ sessions


async def test_a_session_is_over_after_an_hour_of_silence(stage: Stage) -> None:
    ids = await stage.talk()
    begun, ended = MONDAY, stage.clock.now
    stage.clock.go(minutes=59, seconds=59)
    await stage.run()
    assert await stage.of("session") == []
    stage.clock.go(seconds=1)
    await stage.run()
    (made,) = await stage.of("session")
    assert made["source_ids"] == ids
    assert (made["starts_at"], made["ends_at"]) == (f"{begun:%Y-%m-%dT%H:%M:%SZ}", f"{ended:%Y-%m-%dT%H:%M:%SZ}")
    assert made["message_count"] == 4


async def test_an_hour_apart_are_two_sessions_and_less_is_one(stage: Stage) -> None:
    await stage.say("We decided to buy 3 oars.")
    stage.clock.go(minutes=59, seconds=59)
    await stage.say("We decided to buy 4 lamps.")
    stage.clock.go(hours=1)
    await stage.say("We decided to buy 5 ropes.")
    stage.clock.go(hours=1)
    await stage.run()
    assert [one["message_count"] for one in await stage.of("session")] == [2, 1]


async def test_one_that_is_under_way_waits_and_is_then_whole(stage: Stage) -> None:
    await stage.talk("First.")
    stage.clock.go(hours=3)
    await stage.say("We decided to buy 3 oars.")
    stage.clock.go(minutes=30)
    await stage.run()
    assert [one["message_count"] for one in await stage.of("session")] == [4]
    await stage.say("We decided to buy 4 lamps.")
    stage.clock.go(minutes=45)
    await stage.run()
    assert [one["message_count"] for one in await stage.of("session")] == [4]
    stage.clock.go(minutes=15)
    await stage.run()
    assert [one["message_count"] for one in await stage.of("session")] == [4, 2]


async def test_a_message_between_two_sessions_makes_one_of_them(stage: Stage) -> None:
    await stage.say("We decided to buy 3 oars.")
    stage.clock.go(minutes=90)
    await stage.say("We decided to buy 4 lamps.")
    stage.clock.go(hours=2)
    await stage.run()
    before = await stage.of("session")
    assert [one["message_count"] for one in before] == [1, 1]
    await stage.say("We decided to buy 5 ropes.", ts=MONDAY + timedelta(minutes=45))
    await stage.run()
    (joined,) = await stage.of("session")
    assert joined["message_count"] == 3
    assert [word in joined["content"] for word in ("oars", "ropes", "lamps")] == [True] * 3
    assert {one[0] for one in await stage.all() if len(one) == 7 and one[6] is not None} == {
        one["id"] for one in before
    }


async def test_what_is_said_while_the_summary_is_written_is_not_forgotten(
    services: Services, database: str, world: World
) -> None:
    class Interrupted:
        """Somebody speaks while it thinks."""

        name = "small"

        def __init__(self) -> None:
            self.stage: Stage | None = None

        async def complete(self, *, system: str, prompt: str, max_tokens: int) -> Completion:
            stage, self.stage = self.stage, None
            if stage is not None:
                await stage.say("We decided to buy 4 lamps.", ts=stage.clock.now)
            return Completion(text="They spoke of boats.", tokens_in=1, tokens_out=1)

        async def close(self) -> None: ...

    interrupted = Interrupted()
    async with staged(services, database, world, llm=interrupted) as stage:
        await stage.talk()
        await run_until_empty(stage.services)
        stage.clock.go(hours=5)
        interrupted.stage = stage
        await tasks.sum_up_rooms(stage.services)
        assert interrupted.stage is None
        stage.clock.go(hours=5)
        await stage.run()
        assert [one["message_count"] for one in await stage.of("session")] == [4, 1]


async def test_a_history_that_is_longer_than_what_is_read_at_once_is_summed_up_to_its_end(stage: Stage) -> None:
    account, space = await space_of(stage.database, stage.room)
    total, each = 20_400, 600
    at = MONDAY
    with psycopg.connect(stage.database, autocommit=True) as conn:
        copying = "COPY keepstone.messages (account, space, id, speaker, user_id, text, at, visibility) FROM STDIN"
        with conn.cursor() as cursor, cursor.copy(copying) as copy:
            for number in range(total):
                at = MONDAY + timedelta(hours=3 * (number // each), seconds=number % each)
                text = f"We decided to buy {number} lamps." if number % each == 7 else "ok"
                copy.write_row((account, space, new_id("msg"), "olga", stage.world.owner.user.id, text, at, "public"))
        conn.execute("UPDATE keepstone.rooms SET dirty_from = %s, last_at = %s", [MONDAY, at])
        conn.execute(
            "UPDATE keepstone.rooms SET last_seq = (SELECT max(seq) FROM keepstone.messages), takeaways_seq = 999999"
        )
    stage.clock.now = at + timedelta(days=9)
    await tasks.sum_up_rooms(stage.services)
    found = await stage.of("session")
    assert [one["message_count"] for one in found] == [each] * (total // each)
    assert f"We decided to buy {total - each + 7} lamps." in found[-1]["content"]
    assert len(await stage.of("week")) == 1
    before = await stage.all()
    await rows(stage.database, "UPDATE rooms SET dirty_from = %s RETURNING 1", [MONDAY])
    await tasks.sum_up_rooms(stage.services)
    assert await stage.all() == before


# ------------------------------------------------------------------------------------------------- days and weeks


@pytest.mark.parametrize(
    ("zone", "monday"),
    [
        ("UTC", datetime(2026, 5, 4)),
        ("Asia/Tokyo", datetime(2026, 5, 4)),
        ("America/New_York", datetime(2026, 3, 2)),  # on Sunday the 8th an hour is skipped
        ("America/New_York", datetime(2026, 10, 26)),  # on Sunday the 1st an hour comes twice
        ("Pacific/Chatham", datetime(2026, 5, 4)),  # 12:45 ahead
    ],
)
async def test_days_and_weeks_are_those_of_the_accounts_time_zone(
    services: Services, database: str, world: World, zone: str, monday: datetime
) -> None:
    local = ZoneInfo(zone)

    def midnight(days: int) -> datetime:
        return (monday + timedelta(days=days)).replace(tzinfo=local).astimezone(UTC)

    async with staged(services, database, world, zone=zone) as stage:
        for day in range(8):  # a minute after midnight, and late in the evening, of every day and of the next Monday
            for at, what in ((midnight(day) + timedelta(minutes=1), "lamps"), (midnight(day + 1), "oars")):
                stage.clock.now = at if what == "lamps" else at - timedelta(minutes=90)
                await stage.say(f"We decided to buy {10 + day} {what}.")
        stage.clock.now = midnight(8) - timedelta(minutes=1)
        await stage.run()
        days = await stage.of("day")
        assert [(one["starts_at"], one["ends_at"]) for one in days] == [
            (f"{midnight(day):%Y-%m-%dT%H:%M:%SZ}", f"{midnight(day + 1):%Y-%m-%dT%H:%M:%SZ}") for day in range(7)
        ]
        assert [one["message_count"] for one in days] == [2] * 7
        (week,) = await stage.of("week")
        assert (week["starts_at"], week["ends_at"]) == (
            f"{midnight(0):%Y-%m-%dT%H:%M:%SZ}", f"{midnight(7):%Y-%m-%dT%H:%M:%SZ}",
        )  # fmt: skip
        assert week["source_ids"] == [one["id"] for one in days]
        for day, one in enumerate(days):
            assert f"{10 + day} lamps" in one["content"]
            assert f"{10 + day} oars" in one["content"]
        stage.clock.now = midnight(9)
        await stage.run()
        assert len(await stage.of("day")) == 8
        assert len(await stage.of("week")) == 1
        stage.clock.now = midnight(14)
        await stage.run()
        assert len(await stage.of("week")) == 2


async def test_a_session_over_midnight_belongs_to_the_day_in_which_it_began(stage: Stage) -> None:
    stage.clock.now = datetime(2026, 5, 10, 23, 40, tzinfo=UTC)  # a Sunday
    await stage.say("We decided to buy 3 oars.")
    stage.clock.go(minutes=30)
    await stage.say("We decided to buy 4 lamps.")
    await stage.run()  # Sunday is over, and the session is not
    assert [len(await stage.of(tier)) for tier in ("session", "day", "week")] == [0, 0, 0]
    stage.clock.go(hours=2)
    await stage.run()
    for tier in ("session", "day", "week"):
        (made,) = await stage.of(tier)
        assert made["message_count"] == 2
    assert (await stage.of("day"))[0]["starts_at"] == "2026-05-10T00:00:00Z"


async def test_a_day_without_a_word_has_no_summary_and_a_year_of_silence_costs_nothing(stage: Stage) -> None:
    await stage.talk()
    stage.clock.go(days=400)
    await stage.say("We decided to buy 3 oars.")
    stage.clock.go(days=20)
    await stage.run()
    assert [len(await stage.of(tier)) for tier in ("session", "day", "week")] == [2, 2, 2]
    due = await rows(stage.database, "SELECT dirty_from, days_from, weeks_from FROM rooms")
    assert due == [(None, None, None)]
    assert await due_rooms(stage.services) == []


async def test_a_day_that_is_not_over_has_no_summary_yet(stage: Stage) -> None:
    await stage.talk()
    stage.clock.now = MONDAY.replace(hour=23, minute=59)
    await stage.run()
    assert [len(await stage.of(tier)) for tier in ("session", "day", "week")] == [1, 0, 0]
    stage.clock.go(minutes=1)
    await stage.run()
    assert [len(await stage.of(tier)) for tier in ("session", "day", "week")] == [1, 1, 0]
    stage.clock.now = datetime(2026, 5, 11, tzinfo=UTC)
    await stage.run()
    assert [len(await stage.of(tier)) for tier in ("session", "day", "week")] == [1, 1, 1]


async def test_what_is_told_late_makes_session_day_and_week_anew(stage: Stage) -> None:
    for day in range(3):
        stage.clock.now = MONDAY + timedelta(days=day)
        await stage.talk(f"On day {day}.")
    stage.clock.now = MONDAY + timedelta(days=10)
    await stage.run()
    before = {tier: await stage.of(tier) for tier in ("session", "day", "week")}
    assert [len(one) for one in before.values()] == [3, 3, 1]
    await stage.say("We decided to paint the mast green in June.", ts=MONDAY + timedelta(days=1, minutes=10))
    await stage.run()
    after = {tier: await stage.of(tier) for tier in ("session", "day", "week")}
    for tier in ("session", "day"):
        assert [one["id"] for one in after[tier]][::2] == [one["id"] for one in before[tier]][::2]
        assert after[tier][1]["id"] != before[tier][1]["id"]
        assert "mast" in after[tier][1]["content"]
        assert after[tier][1]["message_count"] == 5
    assert after["week"][0]["id"] != before["week"][0]["id"]
    assert "mast" in after["week"][0]["content"]
    assert after["week"][0]["message_count"] == 13
    kept = await stage.all()
    ended = {one[0] for one in kept if len(one) == 7 and one[6] is not None}
    assert ended == {before[tier][place]["id"] for tier, place in (("session", 1), ("day", 1), ("week", 0))}
    held = {one["id"] for tier in after.values() for one in tier}
    assert {one[0] for one in kept if len(one) == 2} == held


async def test_what_is_told_of_a_day_without_a_word_gives_it_one(stage: Stage) -> None:
    await stage.talk()
    stage.clock.now = MONDAY + timedelta(days=20)
    await stage.run()
    await stage.say("We decided to paint the mast green.", ts=MONDAY + timedelta(days=1))
    await stage.say("We decided to paint the hull red.", ts=MONDAY - timedelta(days=7))
    await stage.run()
    assert [one["starts_at"][:10] for one in await stage.of("day")] == ["2026-04-27", "2026-05-04", "2026-05-05"]
    assert [one["starts_at"][:10] for one in await stage.of("week")] == ["2026-04-27", "2026-05-04"]


async def test_run_again_nothing_changes(stage: Stage) -> None:
    for day in range(9):
        stage.clock.now = MONDAY + timedelta(days=day)
        await stage.talk(f"On day {day}.")
    stage.clock.now = MONDAY + timedelta(days=30)
    await stage.run()
    before = await stage.all()
    for _ in range(2):
        await stage.run()
        assert await stage.all() == before
    await rows(stage.database, "UPDATE rooms SET dirty_from = %s RETURNING 1", [MONDAY - timedelta(days=50)])
    await stage.run()
    assert await stage.all() == before


async def test_only_rooms_where_something_is_over_are_due(stage: Stage) -> None:
    async def is_due() -> bool:
        return await due_rooms(stage.services) != []

    async def after(**time: float) -> bool:
        stage.clock.go(**time)
        before = await is_due()
        await stage.run()
        assert not await is_due(), "it is done"
        return before

    assert not await after(minutes=0)
    await stage.talk()
    assert not await after(minutes=59), "the session is under way"
    assert await after(minutes=1)
    assert not await after(hours=2), "the day is under way"
    assert await after(hours=12)
    assert not await after(days=5), "the week is under way"
    assert await after(days=1)
    assert not await after(days=50)
    await stage.say("We decided to buy 3 oars.")
    stage.clock.go(hours=2)
    await stage.say("We decided to buy 4 lamps.")
    assert await after(minutes=5), "the one before is over"
    assert not await after(minutes=5)
    await stage.say("We decided to buy 5 ropes.", ts=MONDAY)
    assert await after(minutes=0), "of a time that is long over"


async def test_another_time_zone_from_now_on_leaves_one_summary_a_day(stage: Stage) -> None:
    await stage.talk()
    stage.clock.now = MONDAY + timedelta(days=10)
    await stage.run()
    await call(stage.client, stage.world.owner.auth, "PATCH", "/account", json={"timezone": "Asia/Tokyo"})
    await stage.say("We decided to paint the mast green.", ts=MONDAY + timedelta(minutes=20))
    await stage.run()
    assert len(await stage.of("session")) == 1
    for tier in ("day", "week"):
        assert "mast" in (await stage.of(tier))[-1]["content"]


async def test_one_room_that_fails_does_not_keep_the_others_waiting(stage: Stage) -> None:
    await stage.talk()
    await make_agent(stage.client, stage.world.stranger.auth)
    theirs = await make_room(stage.client, stage.world.stranger.auth)
    await say(stage.client, stage.world.stranger.auth, theirs, "We decided to buy 3 oars.", ts=MONDAY)
    await run_until_empty(stage.services)
    await rows(stage.database, "UPDATE accounts SET timezone = 'No/Where' WHERE account = %s RETURNING 1",
               [stage.world.owner.user.account])  # fmt: skip
    stage.clock.go(days=1)
    with pytest.raises(ZoneInfoNotFoundError):
        await tasks.sum_up_rooms(stage.services)
    assert len(await summaries(stage.client, stage.world.stranger.auth, theirs, "day")) == 1
    await rows(stage.database, "UPDATE accounts SET timezone = 'UTC' RETURNING 1")
    await stage.run()
    assert len(await stage.of("day")) == 1


@pytest.mark.parametrize("ts", ["0001-01-01T00:00:00Z", "1899-12-31T00:00:00Z", "9999-12-31T23:59:59Z"])
async def test_a_time_that_has_no_day_before_or_after_it_is_refused(stage: Stage, ts: str) -> None:
    await say(stage.client, stage.world.owner.auth, stage.room, "When?", ts=ts, expect=422)
    await stage.run()


async def test_a_room_in_the_trash_is_not_summed_up(stage: Stage) -> None:
    await stage.talk()
    await call(stage.client, stage.world.owner.auth, "DELETE", f"/rooms/{stage.room}", expect=204)
    stage.clock.go(days=9)
    await stage.run()
    assert await stage.all() == []
    await call(stage.client, stage.world.owner.auth, "POST", f"/rooms/{stage.room}/restore")
    await stage.run()
    assert len(await stage.of("week")) == 1


# --------------------------------------------------------------------------------------------------- their words


async def test_without_a_language_model_nothing_is_said_that_nobody_said(stage: Stage) -> None:
    said: dict[str, str] = {"olga": "", "max": ""}
    for day in range(7):
        stage.clock.now = MONDAY + timedelta(days=day)
        for number in range(12):
            who = "owner" if number % 2 else "member"
            text = f"We decided to buy {day * 100 + number} lamps for room {number}. The rest is for Tuesday! Ok?"
            await stage.say(text, who=who)
            said["olga" if number % 2 else "max"] += f"{text}\n"
            stage.clock.go(minutes=5)
    stage.clock.go(days=8)
    await stage.run()
    for tier in ("session", "day", "week"):
        found = await stage.of(tier)
        assert found
        for one in found:
            assert spoken(one["content"], said), one["content"]
            assert len(one["content"]) <= 1_800


async def test_a_language_model_writes_them_and_what_it_makes_up_is_left_out(
    services: Services, database: str, world: World, served: Model, model: LanguageModel
) -> None:
    served.reply = lambda prompt: (  # type: ignore[method-assign]
        "[]" if "<message speaker=" in prompt else "They rent the blue boat for 900 euros.\nIt sinks on 31 December."
    )
    try:
        async with staged(services, database, world, llm=model) as stage:
            await stage.talk()
            stage.clock.go(days=8)
            await stage.run()
            for tier in ("session", "day", "week"):
                (made,) = await stage.of(tier)
                assert made["content"] == "They rent the blue boat for 900 euros."
        asked = [one for one in served.prompts if "Write the summary of this" in one]
        assert [one.rsplit(" ", 1)[1] for one in asked] == ["session.", "day.", "week."]
    finally:
        del served.reply


@pytest.mark.parametrize("fault", ["it answers 500", "it says nothing", "it makes up everything"])
async def test_a_language_model_that_fails_is_done_without(
    services: Services, database: str, world: World, served: Model, model: LanguageModel, fault: str
) -> None:
    served.status = 500 if "500" in fault else 200
    wrong = "" if "nothing" in fault else "In 1743 there were 12345 ships."
    served.reply = lambda prompt: wrong  # type: ignore[method-assign]
    try:
        async with staged(services, database, world, llm=model) as stage:
            thread = new_id("thr")
            for who, text in TALK:
                await stage.say(text, who=who, thread_id=thread)
            await call(stage.client, world.owner.auth, "POST", f"/rooms/{stage.room}/threads/{thread}/close")
            stage.clock.go(days=8)
            await stage.run()
            said = {"olga": "\n".join(text for who, text in TALK if who == "owner")}
            said["max"] = "\n".join(text for who, text in TALK if who == "member")
            for tier in ("thread", "session", "day", "week"):
                (made,) = await stage.of(tier)
                assert spoken(made["content"], said), made["content"]
                assert "900 euros" in made["content"]
            assert served.prompts
            found = (await stage.client.get(f"/v1/rooms/{stage.room}/memories", headers=world.owner.auth)).json()
            assert any("blue boat" in one["text"] for one in found["items"])
    finally:
        del served.reply


# ---------------------------------------------------------------------------------------------------- found again


async def test_what_was_discussed_weeks_ago_is_found_by_the_composer(stage: Stage) -> None:
    auth = stage.world.owner.auth
    await stage.say("We talked to the ornithologist about the puffin colony on the northern cliff.")
    for week in range(1, 7):
        stage.clock.now = MONDAY + timedelta(days=7 * week)
        for number in range(10):
            await stage.say(f"Week {week}: box {number} of plates arrived, {number * 7} of them blue.")
            stage.clock.go(minutes=1)
    stage.clock.go(days=10)
    await stage.run()
    composed = await compose(stage.client, auth, stage.room, "What did we hear of the puffin colony?")
    shown = lines_under(composed, "[SUMMARIES]")
    assert any("puffin" in line for line in shown)
    ids = section(composed, "episodic")["ids"]
    everything = await summaries(stage.client, auth, stage.room)
    assert {one["id"] for one in everything if "puffin" in one["content"]} & set(ids)
    assert "puffin" not in prompt(await compose(stage.client, auth, stage.room, "How many plates are blue?"))


async def test_summaries_of_direct_messages_are_private(stage: Stage) -> None:
    owner, member = stage.world.owner, stage.world.member
    await say(stage.client, owner.auth, "scout", "We decided to sell the boat for 900 euros.", ts=MONDAY)
    stage.clock.go(days=8)
    await stage.run()
    assert len(await summaries(stage.client, owner.auth, "scout", "week")) == 1
    assert await summaries(stage.client, member.auth, "scout") == []
    assert {one[0] for one in await rows(stage.database, "SELECT visibility FROM summaries")} == {"private"}
    assert {one[0] for one in await rows(stage.database, "SELECT visibility FROM passages")} == {"private"}
    for auth, where in ((member.auth, "scout"), (owner.auth, stage.room)):
        assert "900" not in prompt(await compose(stage.client, auth, where, "For how much do we sell the boat?"))
    assert "900" in prompt(await compose(stage.client, owner.auth, "scout", "For how much do we sell the boat?"))


async def test_summaries_come_page_by_page_the_latest_first(stage: Stage) -> None:
    for day in range(5):
        stage.clock.now = MONDAY + timedelta(days=day)
        await stage.talk()
    stage.clock.go(days=9)
    await stage.run()
    auth, path = stage.world.owner.auth, f"/rooms/{stage.room}/summaries"
    first = await call(stage.client, auth, "GET", path, params={"tier": "day", "limit": 3})
    rest = await call(stage.client, auth, "GET", path, params={"tier": "day", "cursor": first["next_cursor"]})
    starts = [one["starts_at"] for one in first["items"] + rest["items"]]
    assert len(starts) == 5
    assert starts == sorted(starts, reverse=True)
    await call(stage.client, auth, "GET", path, params={"tier": "month"}, expect=422)
