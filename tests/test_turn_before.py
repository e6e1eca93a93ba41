"""A turn is embedded with the one before it, as long as that is there; and with none that others may not see."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from conftest import World
from fakes import HearingEmbedder, WordEmbedder
from keepstone.access.readscope import job_scope
from keepstone.engine.embed import embed_slices, fill_space
from keepstone.jobs.worker import run_until_empty
from keepstone.memory import scopes
from keepstone.model.ids import new_id
from keepstone.model.message import Message
from keepstone.providers.embedder import Embedding, Span
from keepstone.providers.embedders import Embedders
from keepstone.services import Services
from keepstone.store import passages, spaces
from keepstone.store.db import fetch_value
from test_passages import LEFT, ask

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TALK = (("Anna", "We moved to Zurich"), ("Ben", "When was that"), ("Anna", "In the spring"), ("Ben", "How nice"))


def turn(minute: float, speaker: str, text: str) -> Message:
    at = NOON + timedelta(minutes=minute)
    return Message(id=new_id("msg"), client_id=None, speaker=speaker, text=text, at=at, reply_to=None, metadata={})


@pytest.fixture
def embedder(services: Services) -> HearingEmbedder:
    services.embedders.active = (HearingEmbedder(),)
    return services.embedders.active[0]  # pyright: ignore[reportReturnType]


async def say(services: Services, world: World, *messages: Message) -> list[str]:
    await scopes.ingest(services, world.owner.principal, "team", messages)
    await run_until_empty(services)
    return [message.id for message in messages]


async def said(services: Services, world: World) -> list[str]:
    return await say(services, world, *(turn(minute, *spoken) for minute, spoken in enumerate(TALK)))


async def unsay(services: Services, world: World, database: str, *message_ids: str) -> None:
    account = world.owner.user.account
    [(space,)] = await ask(database, "SELECT space FROM spaces WHERE name = 'team'")
    async with services.db.transaction(job_scope(account, space)) as conn:
        await spaces.lock(conn, [space])
        await passages.delete(conn, "message", message_ids)


async def embed_waiting(services: Services) -> None:
    await services.queue.add_anywhere("embed_pending", timestamp=0)
    await run_until_empty(services)


async def without_vectors(database: str) -> list[str]:
    """What waits for vectors; nothing that does has any, and everything else has all."""
    query = """
        SELECT p.text, p.pending, v.passage IS NULL, t.passage IS NULL
          FROM passages p LEFT JOIN vectors v USING (account, space, passage)
          LEFT JOIN token_vectors t USING (account, space, passage) ORDER BY p.at, p.passage
    """
    rows = await ask(database, query)
    assert all(len({pending, *missing}) == 1 for _, pending, *missing in rows), rows
    return [text for text, pending, *_ in rows if pending]


async def stored(database: str) -> dict[str, tuple[str, bytes]]:
    rows = await ask(
        database,
        "SELECT p.text, v.embedding::text, t.tokens FROM passages p JOIN vectors v USING (account, space, passage)"
        " JOIN token_vectors t USING (account, space, vector_set, passage)",
    )
    return {text: (vector, tokens) for text, vector, tokens in rows}


async def test_each_turn_is_read_with_the_one_before_in_its_session(
    services: Services, world: World, embedder: HearingEmbedder, database: str
) -> None:
    await said(services, world)
    await say(services, world, turn(200, "Cleo", "Later that day"))
    assert embedder.heard == {
        "Anna: We moved to Zurich": "",
        "Ben: When was that": "Anna: We moved to Zurich",
        "Anna: In the spring": "Ben: When was that",
        "Ben: How nice": "Anna: In the spring",
        "Cleo: Later that day": "",
    }
    assert await without_vectors(database) == []


async def test_of_a_long_turn_the_first_window_has_one_before_and_the_last_is_one(
    services: Services, world: World, embedder: HearingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def windows(text: str) -> list[Span]:
        return [(start, min(start + 1000, len(text))) for start in range(0, len(text), 1000)]

    monkeypatch.setattr(embedder, "cut", windows)
    long = "a" * 1000 + "b" * 1000 + "c" * 700
    await say(services, world, turn(0, "Anna", "Hello"), turn(1, "Ben", long), turn(1, "Anna", "I see"))
    assert embedder.heard == {
        "Anna: Hello": "",
        "Ben: " + "a" * 1000: "Anna: Hello",
        "Ben: " + "b" * 1000: "",
        "Ben: " + "c" * 700: "",
        "Anna: I see": "c" * 400,
    }


async def test_who_spoke_next_is_embedded_anew_when_a_turn_goes(
    services: Services, world: World, embedder: HearingEmbedder, database: str
) -> None:
    ids = await said(services, world)
    first = await stored(database)
    await unsay(services, world, database, ids[1])
    assert await without_vectors(database) == ["In the spring"], "its vectors are gone with the turn that they know of"
    embedder.heard.clear()
    await embed_waiting(services)
    assert embedder.heard == {"Anna: In the spring": "Anna: We moved to Zurich"}
    assert await without_vectors(database) == []
    assert (await stored(database))["In the spring"] != first["In the spring"]
    await unsay(services, world, database, ids[0], ids[2])
    assert await without_vectors(database) == ["How nice"]
    await embed_waiting(services)
    assert embedder.heard["Ben: How nice"] == ""
    assert await ask(database, LEFT) == [(0, 0, 0, 0)]


async def test_what_goes_together_leaves_nobody_waiting(
    services: Services, world: World, embedder: HearingEmbedder, database: str
) -> None:
    ids = await said(services, world)
    await unsay(services, world, database, *ids[1:])
    assert await without_vectors(database) == []
    assert set(await stored(database)) == {"We moved to Zurich"}


async def test_a_turn_that_comes_late_is_read_with_the_one_after(
    services: Services, world: World, embedder: HearingEmbedder, database: str
) -> None:
    await said(services, world)
    embedder.heard.clear()
    await say(services, world, turn(1.5, "Cleo", "Sorry I am late"))
    assert embedder.heard == {
        "Cleo: Sorry I am late": "Ben: When was that",
        "Anna: In the spring": "Cleo: Sorry I am late",
    }
    assert await without_vectors(database) == []
    made = await stored(database)
    await ask(database, "TRUNCATE vectors, token_vectors")
    [(account, space)] = await ask(database, "SELECT account, space FROM spaces WHERE name = 'team'")
    assert await fill_space(services, job_scope(account, space), space) == 5
    assert await stored(database) == made, "`keepstone reembed` makes the same"


async def test_what_is_deleted_while_an_embedder_reads_it_is_not_kept(
    services: Services, world: World, embedder: HearingEmbedder, database: str
) -> None:
    messages = [turn(minute, *spoken) for minute, spoken in enumerate(TALK)]
    await scopes.ingest(services, world.owner.principal, "team", messages)
    [(account, space)] = await ask(database, "SELECT account, space FROM spaces WHERE name = 'team'")
    made = embedder.embed

    class Slow(HearingEmbedder):
        async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
            await unsay(services, world, database, messages[1].id)
            return await made(texts, before)

    services.embedders.active = (Slow(),)
    assert await embed_slices(services, job_scope(account, space), space), "something is left to do"
    assert await without_vectors(database) == ["In the spring"]
    services.embedders.active = (embedder,)
    assert not await embed_slices(services, job_scope(account, space), space)
    assert embedder.heard["Anna: In the spring"] == "Anna: We moved to Zurich"
    assert await without_vectors(database) == []


async def test_a_model_that_reads_no_context_is_given_none(
    services: Services, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    class Deaf(WordEmbedder):
        async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
            given.append(before)
            return await super().embed(texts)

    async def not_asked(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(passages, "turns_before", not_asked)
    await said(replace(services, embedders=Embedders((Deaf(),))), world)
    services.embedders.active = (Deaf(),)
    await embed_waiting(services)
    assert given == [None]


async def test_a_passage_can_only_be_deleted_or_wait(services: Services, world: World, database: str) -> None:
    await said(services, world)
    grants = await ask(
        database,
        "SELECT column_name FROM information_schema.column_privileges"
        " WHERE table_name = 'passages' AND grantee = 'keepstone_app' AND privilege_type = 'UPDATE'",
    )
    assert grants == [("pending",)], "else a turn could change, or get other readers, and the next would still know it"


async def test_in_a_space_that_was_just_filled_little_is_read_for_each_turn(
    services: Services, world: World, database: str
) -> None:
    """The database has no statistics of it yet, and must not read all of the space for each."""
    await scopes.ingest(
        services,
        world.owner.principal,
        "team",
        [turn(number, "Anna", f"Said as number {number}") for number in range(600)],
    )
    [(account, space)] = await ask(database, "SELECT account, space FROM spaces WHERE name = 'team'")
    numbers = [row[0] for row in await ask(database, "SELECT passage FROM passages ORDER BY passage DESC LIMIT 30")]
    async with services.db.transaction(job_scope(account, space)) as conn:
        before = await passages.turns_before(conn, space, numbers)
        read = await fetch_value(
            conn, "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'passages'"
        )
    assert before[numbers[0]] == ("Anna", "Said as number 598")
    assert len(before) == 30
    assert read < 10 * len(numbers)
