"""What is asked before talk is searched: in one message, and held to what the caller may see."""

from dataclasses import replace
from datetime import date

import httpx
import psycopg
import pytest

from conftest import World
from keepstone.access.readscope import space_scope
from keepstone.jobs.worker import run_until_empty
from keepstone.model.principal import Principal, ReadScope
from keepstone.services import Services
from keepstone.store.surveys import TalkSurvey, survey_talk
from statements import sent
from test_scopes import ingest, recall

PEOPLE = [
    {"speaker": "Anna", "text": "I live in Lisbon and work as a nurse."},
    {"speaker": "Ben", "text": "My sister Carla is a carpenter. I love olives."},
]


async def surveyed(services: Services, principal: Principal, scope: ReadScope | None = None) -> TalkSurvey | None:
    return await survey_talk(
        services.db, scope or space_scope(principal), kind="scope", name="team", owner=principal.user_id,
        month=date(2026, 5, 1), call_ids=["no such call"],
    )  # fmt: skip


async def test_a_space_its_people_and_the_accounts_standing_come_at_once(
    services: Services, client: httpx.AsyncClient, world: World
) -> None:
    owner = world.owner.principal
    assert await surveyed(services, owner) is None
    await ingest(client, world.owner.auth, PEOPLE)
    await run_until_empty(services)
    with sent() as statements:
        known = await surveyed(services, owner)
    assert len(statements) == 1
    assert known is not None
    assert known.size.passages == 2
    assert "Anna" in known.subjects
    assert not known.standing.known
    assert known.standing.queries == 0


async def test_it_reaches_no_further_than_the_scope_and_leaves_nothing_behind(
    services: Services, client: httpx.AsyncClient, world: World
) -> None:
    owner = world.owner.principal
    await ingest(client, world.owner.auth, PEOPLE)
    await run_until_empty(services)
    known = await surveyed(services, owner)
    assert known is not None
    assert known.subjects
    scope = space_scope(owner)
    assert await surveyed(services, owner, replace(scope, within=frozenset({known.space + 1}))) is None
    assert await surveyed(services, owner, replace(scope, within=frozenset({known.space}))) == known
    assert await surveyed(services, owner, replace(scope, account=world.stranger.principal.account)) is None
    assert await surveyed(services, world.member.principal) is None
    unseen = await surveyed(services, owner, replace(scope, visibilities=("public",)))
    assert unseen is not None
    assert unseen.subjects == [], "of what the caller may not see, nobody is named"
    for _ in range(12):  # whichever connection of the pool it was
        async with services.db.unscoped() as conn:
            with pytest.raises(psycopg.Error):
                await conn.execute(
                    "SELECT count(*) FROM spaces WHERE account = %(account)s", {"account": owner.account}
                )


async def test_what_a_recall_sends_is_few_statements(
    services: Services, client: httpx.AsyncClient, world: World
) -> None:
    await ingest(client, world.owner.auth, PEOPLE)
    await run_until_empty(services)
    await recall(client, world.owner.auth, "Where does Anna live?")
    with sent() as statements:
        found = await recall(client, world.owner.auth, "Where does Anna live?")
    assert found["people"]
    # The credential, the survey, a transaction, its texts, the messages, the people and the charge.
    assert len(statements) <= 7, statements
