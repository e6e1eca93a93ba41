"""What a prompt makes of its room: what one layer leaves over another has, nothing stands there twice, the nearest
comes first, and everybody can be told apart.
"""

import random
from datetime import UTC, datetime, timedelta

import httpx

from capsules import rows
from conftest import World, http, make_person
from keepstone.app import make_app
from keepstone.model.ids import new_id
from keepstone.model.principal import ReadScope
from keepstone.model.room import Summary, Tier
from keepstone.services import Services
from keepstone.store import summaries as store
from rooms import (
    Clock,
    at_work,
    compose,
    lines_under,
    make_agent,
    make_room,
    prompt,
    remember,
    say,
    section,
    space_of,
    sum_up,
    summaries,
)
from statements import sent
from workspaces import call

T = datetime(2026, 5, 4, 9, tzinfo=UTC)


async def chat(
    client: httpx.AsyncClient, auth: dict[str, str], room: str, number: int, *, start: datetime = T
) -> list[str]:
    """Messages of about 40 tokens each, each of something else."""
    return [
        (await say(client, auth, room, f"Crate {each} of the orchard holds {each * 7} jars of plum jam, and it is "
                   f"stacked on shelf {each % 9} of the northern cellar beside the honey.",
                   ts=start + timedelta(minutes=each)))["id"]
        for each in range(number)
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------------- the budget


async def test_with_half_of_a_small_window_free_nothing_is_missing_that_a_large_one_has(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    """Of one layer there is far more than its share, of the others little or nothing."""
    auth, me = world.owner.auth, world.owner.user.id
    await make_agent(client, auth, context_window=4000)
    room = await make_room(client, auth)
    for number in range(12):
        sort = f"The orchard at Lindau grows plum sort number {number}: it ripens in week {30 + number}"
        await remember(client, auth, me, f"{sort}, is picked by hand, and goes to the press of the village at once.")
    for number in range(30):
        value = {"value": f"{number} bar " * 5}
        await call(client, auth, "PUT", f"/facts/room/{room}/press_setting_{number}", json=value)
    asked = {"semantic": "When do the plums of the orchard at Lindau ripen?", "structured": "Which press settings?"}
    for crowded, question in asked.items():
        small = await compose(client, auth, room, question)
        large = await compose(client, auth, room, question, context_window=32_000)
        for layer in ("semantic", "structured", "episodic"):
            assert set(section(small, layer)["ids"]) == set(section(large, layer)["ids"])
        assert section(small, crowded)["tokens"] > 480  # more than a fixed share of 12 %
        assert small["tokens"]["ratio"] <= 0.7


async def test_what_is_free_goes_to_what_was_compacted_where_it_is_near_to_the_message(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth, context_window=2400)
    room = await make_room(client, auth)
    told = {
        "Who tunes the church organ?": "By the way, the church organ is tuned by Friedrich Aumann from Konstanz.",
        "Wann kommt der Schornsteinfeger?": "Übrigens kommt der Schornsteinfeger erst am dritten Juli um acht Uhr.",
        "消防检查是哪一天？": "消防检查改到六月十九日下午，由老周陪同。",
    }
    for number, text in enumerate(told.values()):
        await say(client, auth, room, text, ts=T - timedelta(minutes=30 - number))
    await chat(client, auth, room, 37)
    for question, text in told.items():
        composed = await compose(client, auth, room, question)
        assert len(section(composed, "working")["ids"]) < 37
        assert text in prompt(composed)
        assert composed["tokens"]["ratio"] <= 0.7


async def test_facts_are_chosen_by_what_is_asked(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    await make_agent(client, auth, context_window=1500)
    room = await make_room(client, auth)
    for number in range(80):
        value = {"value": f"barrel {number}, row {number % 7}, filled by the crew of the morning shift"}
        await call(client, auth, "PUT", f"/facts/room/{room}/aa_cellar_place_{number}", json=value)
    wanted = {
        "zz_wifi_password": ("kestrel-42", "What is the wifi password?"),
        "zz_notruf_hausmeister": ("0171 555 20", "Wie ist der Notruf vom Hausmeister?"),
        "zz_发票_抬头": ("北湖果园有限公司", "发票抬头写什么？"),
    }
    for key, (value, _) in wanted.items():
        await call(client, auth, "PUT", f"/facts/room/{room}/{key}", json={"value": value})
    for value, question in wanted.values():
        composed = await compose(client, auth, room, question)
        assert value in lines_under(composed, "[FACTS]")[0]
        assert len(section(composed, "structured")["ids"]) < 83


async def test_facts_are_chosen_by_what_they_mean_where_there_is_an_embedder(knowing: Services, world: World) -> None:
    auth = world.owner.auth
    async with http(make_app(knowing)) as client:
        await make_agent(client, auth, context_window=1500)
        room = await make_room(client, auth)
        for number in range(60):
            value = {"value": f"barrel {number}, row {number % 7}, filled by the morning crew"}
            await call(client, auth, "PUT", f"/facts/room/{room}/aa_cellar_place_{number}", json=value)
        await call(client, auth, "PUT", f"/facts/room/{room}/zz_favourite_dish", json={"value": "lasagne"})
        composed = await compose(client, auth, room, "What should I cook for her tonight?")
    assert '= "lasagne"' in lines_under(composed, "[FACTS]")[0]


# ------------------------------------------------------------------------------------------------------ once is enough


async def test_a_summary_of_what_stands_there_word_for_word_is_not_there_again(
    services: Services, world: World, database: str
) -> None:
    auth = world.owner.auth
    clock = Clock(T)
    async with at_work(services, database, clock=clock) as made, http(make_app(made)) as client:
        await make_agent(client, auth, context_window=16_000)
        room = await make_room(client, auth)
        await chat(client, auth, room, 10)
        clock.go(days=8)
        await sum_up(made)
        assert {one["tier"] for one in await summaries(client, auth, room)} == {"session", "day", "week"}
        composed = await compose(client, auth, room, "How many jars of plum jam?")
        assert section(composed, "episodic")["ids"] == []
        assert prompt(composed).count("Crate 3 of the orchard") == 1
        # As soon as one of the messages is not there any more, the summary stands for it.
        await chat(client, auth, room, 31, start=clock.now)
        composed = await compose(client, auth, room, "How many jars of plum jam?")
        assert len(section(composed, "working")["ids"]) == 40
        assert section(composed, "episodic")["ids"]


# --------------------------------------------------------------------------------------------------- whose window it is


async def test_only_an_agents_own_window_leaves_a_compaction(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth, context_window=16_000)
    room = await make_room(client, auth, world.member)
    ids = await chat(client, auth, room, 40)
    small = await compose(client, auth, room, "How many jars are in crate 2?", context_window=1500)
    assert small["tokens"]["prompt"] <= 0.7 * 1500
    assert small["compacted"]
    assert 0 < len(section(small, "working")["ids"]) < 40
    assert lines_under(small, "[SUMMARIES]")[0].startswith("- (compacted) olga: ")
    assert any("Crate 2 of the orchard holds 14 jars" in line for line in lines_under(small, "[EARLIER]"))
    assert await rows(database, "SELECT id FROM summaries") == []
    for reader in (auth, world.member.auth):
        whole = await compose(client, reader, room, "How many jars?")
        assert section(whole, "working")["ids"] == ids
        assert not whole["compacted"]


async def test_a_larger_window_shows_what_the_agents_own_had_compacted(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth, context_window=1500)
    room = await make_room(client, auth)
    ids = await chat(client, auth, room, 40)
    assert (await compose(client, auth, room, "How many jars?"))["compacted"]
    large = await compose(client, auth, room, "How many jars?", context_window=16_000)
    assert section(large, "working")["ids"] == ids
    assert lines_under(large, "[SUMMARIES]") == []
    # What it stands for beyond that can't be read any more, and so it stays.
    await chat(client, auth, room, 30, start=T + timedelta(hours=2))
    large = await compose(client, auth, room, "How many jars?", context_window=16_000)
    assert len(section(large, "working")["ids"]) == 40
    assert lines_under(large, "[SUMMARIES]")[0].startswith("- (compacted) olga: ")


# -------------------------------------------------------------------------------------------------------------- names


async def test_people_with_the_same_name_are_told_apart_everywhere(
    services: Services, world: World, database: str
) -> None:
    owner = world.owner
    clock = Clock(T)
    annas = [
        await make_person(services, f"{local}@example.org", account=owner.user.account)
        for local in ("anna.k", "anna.m", "scout")
    ]
    async with at_work(services, database, clock=clock) as made, http(make_app(made)) as client:
        for person in annas[:2]:
            await call(client, person.auth, "PATCH", "/me", json={"name": "Anna"})
        await make_agent(client, owner.auth, context_window=16_000)
        await make_agent(client, owner.auth, "herald")
        room = await make_room(client, owner.auth, *annas, agents=["scout", "herald"])
        for person, text in zip(annas, ("I feed the swans.", "I paint the jetty.", "I count the boats."), strict=True):
            await say(client, person.auth, room, text, ts=clock.go(minutes=1))
            fact = {"value": f"badge of {person.user.email}"}
            await call(client, person.auth, "PUT", f"/facts/user/{person.user.id}/badge", json=fact)
        await remember(client, annas[1].auth, annas[1].user.id, "Anna paints on Mondays.")
        composed = await compose(client, annas[0].auth, room, "Who paints the jetty?", agent="herald")
        told = prompt(composed)
        assert "Anna (anna.k): I feed the swans." in told
        assert "Anna (anna.m): I paint the jetty." in told
        assert "scout (scout): I count the boats." in told
        assert composed["messages"][-1]["content"] == "Anna (anna.k): Who paints the jetty?"
        assert any("Anna (anna.m)) Anna paints" in line for line in lines_under(composed, "[RECALL]"))
        assert any(line.startswith("- Anna (anna.m): badge") for line in lines_under(composed, "[FACTS]"))
        assert f"olga ({owner.user.id})" in told  # who can't be mistaken is called as ever
        # Of somebody who has left, no part of the address is told.
        await call(client, annas[1].auth, "DELETE", f"/rooms/{room}/participants/{annas[1].user.id}", expect=204)
        left = prompt(await compose(client, annas[0].auth, room, "Who paints the jetty?", agent="herald"))
        assert "anna.m" not in left
        assert f"Anna ({annas[1].user.id[:8]}): I paint the jetty." in left
        clock.go(hours=2)
        await sum_up(made)
        (summed,) = await summaries(client, owner.auth, room, "session")
    assert "anna.m" not in summed["content"]
    assert "Anna (anna.k)" in summed["content"]


async def test_an_address_is_told_whole_only_where_its_beginning_does_not_tell_two_apart(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    others = [
        await make_person(services, f"li@{host}.example", account=world.owner.user.account) for host in ("one", "two")
    ]
    await make_agent(client, world.owner.auth)
    room = await make_room(client, world.owner.auth, *others)
    await say(client, others[0].auth, room, "我负责采购。")
    await say(client, others[1].auth, room, "我负责仓库。")
    told = prompt(await compose(client, world.owner.auth, room, "谁负责仓库？"))
    assert "li (li@one.example): 我负责采购。" in told
    assert "li (li@two.example): 我负责仓库。" in told


async def test_summaries_tell_days_in_the_accounts_zone(services: Services, world: World, database: str) -> None:
    """A day begins at midnight there, which is the day before in London."""
    auth = world.owner.auth
    clock = Clock(T)
    async with at_work(services, database, clock=clock) as made, http(make_app(made)) as client:
        await call(client, auth, "PATCH", "/account", json={"timezone": "Asia/Tokyo"})
        await make_agent(client, auth, context_window=16_000)
        room = await make_room(client, auth)
        clock.go(days=2)
        await chat(client, auth, room, 45, start=datetime(2026, 5, 6, 3, tzinfo=UTC))
        clock.go(days=7)
        await sum_up(made)
        composed = await compose(client, auth, room, "How many jars of plum jam?")
        (week,) = await summaries(client, auth, room, "week")
    told = lines_under(composed, "[SUMMARIES]")
    assert any(line.startswith(("- (day, 2026-05-06)", "- (week, 2026-05-04)")) for line in told)
    assert not any("2026-05-05" in line or "2026-05-03" in line for line in told)
    assert "2026-05-05" not in week["content"]


# ------------------------------------------------------------------------------------------------- what it costs


async def test_a_prompt_takes_two_transactions_and_asks_nothing_twice(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    """One settles who reads it and what stands, the other searches: however much is said and remembered."""
    auth, me = world.owner.auth, world.owner.user.id
    await make_agent(client, auth)
    room = await make_room(client, auth)
    numbers: list[int] = []
    for size in (2, 12):
        await chat(client, auth, room, size)
        for number in range(size):
            await call(client, auth, "PUT", f"/facts/room/{room}/press_{number}", json={"value": number})
            await remember(client, auth, me, f"Plum sort {number} of size {size} ripens in week {30 + number}.")
        await compose(client, auth, room, "What is new?")  # the numbers of the spaces are read by whoever asks first
        with sent() as statements:
            composed = await compose(client, auth, room, "When do the plums ripen?")
        assert section(composed, "semantic")["ids"]
        assert sum(text.startswith("BEGIN") for text in statements) == 2
        for table in ("rooms", "room_agents", "members", "facts", "summaries", "messages"):
            told = [text for text in statements if f"FROM {table} " in text]
            assert len(told) == len(set(told))
        numbers.append(len(statements))
    assert numbers[0] == numbers[1]


async def test_before_the_last_messages_stand_a_week_the_days_after_it_and_the_sessions_after_those(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    """In one statement what tier after tier would be asked for, whichever there are."""
    await make_agent(client, world.owner.auth)
    tiers: tuple[tuple[Tier, int, int], ...] = (("week", 168, 2), ("day", 24, 6), ("session", 1, 40))
    chance = random.Random(7)
    for _ in range(8):
        room = await make_room(client, world.owner.auth)
        account, space = await space_of(database, room)
        made = [
            Summary(
                id=new_id("sum"), tier=tier, thread_id=None, content="x", starts_at=start,
                ends_at=start + timedelta(hours=length), message_count=1, source_ids=[], created_at=T,
            )
            for tier, length, most in tiers
            for hour in sorted(chance.sample(range(0, 800, length), chance.randint(0, most)))
            for start in [T + timedelta(hours=hour)]
        ]  # fmt: skip
        scope = ReadScope(account=account, spaces=(space,), visibilities=("public",))
        async with services.db.transaction(scope) as conn:
            for summary in made:
                await store.insert(conn, space, summary, visibility="public")
            weeks = await store.that_hold(conn, space, "week", limit=1)
            days = await store.that_hold(conn, space, "day", since=weeks[-1].ends_at if weeks else None, limit=3)
            last = [*weeks, *days][-1].ends_at if weeks or days else None
            sessions = await store.that_hold(conn, space, "session", since=last, limit=3)
            assert await store.before_now(conn, space) == [*weeks, *days, *sessions]
