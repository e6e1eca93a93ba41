"""A home of the version before: its vectors serve until there are those of the new encoder. Both encoders are tiny;
what surrounds them is what a start does.
"""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from conftest import HASHER
from keepstone.access.operator import principal_for
from keepstone.engine.cutting import Source, cut_sources, spoken
from keepstone.engine.late import pack
from keepstone.jobs.model_change import start_embedders
from keepstone.memory import scopes
from keepstone.providers.encoder import FORMER, former
from keepstone.runtime import open_services
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.store.migrate import migrate
from keepstone.store.vectors import literal
from test_model_change import states, work
from test_passages import LEFT, ask
from tiny_encoder import TOKENIZER, make_graph, write_encoder

LAST = "0011_token_budget.sql"  # of the version before
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TALK = ("We adopted a puppy in June", "The rent is due on Friday", "She paints by the lake")


async def write_home(home: Path, database: str) -> None:
    """As the version before left it, where somebody called Ada has a scope."""
    models = home / "models"
    models.mkdir()
    (models / FORMER.graph).write_bytes(make_graph(384, pooled=384))
    (models / FORMER.tokenizer).write_bytes(TOKENIZER.read_bytes())
    encoder = former(models)
    assert encoder is not None
    at = [NOON + timedelta(minutes=minute) for minute in range(len(TALK))]
    sources = [
        Source(kind="message", id=f"msg_{number}", text=text, at=at[number], speaker="Ada")
        for number, text in enumerate(TALK)
    ]
    cut = cut_sources(sources, encoder.cut, "private")
    made = await encoder.embed([spoken(passage.speaker, passage.text) for passage in cut])
    encoder.close()
    await migrate(database, upto=LAST)
    async with await psycopg.AsyncConnection.connect(database) as conn:
        await conn.execute("SET search_path = keepstone, public")
        await conn.execute("INSERT INTO accounts (account, id, name, plan) VALUES (1, 'acct_a', 'a', 'unlimited')")
        await conn.execute(
            "INSERT INTO users (account, id, email, role) VALUES (1, 'usr_a', 'ada@example.org', 'owner')"
        )
        await conn.execute(
            "INSERT INTO spaces (account, kind, name, owner, passages) VALUES (1, 'scope', 'team', 'usr_a', %s)",
            [len(cut)],
        )
        await conn.execute(
            "INSERT INTO vector_sets (account, vector_set, model, dimension, state) VALUES (1, 1, %s, 384, 'serving')",
            [FORMER.name],
        )
        for number, (passage, embedding) in enumerate(zip(cut, made, strict=True), 1):
            assert embedding.tokens is not None
            await conn.execute(
                "INSERT INTO messages (account, space, id, speaker, text, at)"
                " SELECT 1, space, %s, 'Ada', %s, %s FROM spaces",
                [passage.source_id, passage.text, passage.at],
            )
            await conn.execute(
                "INSERT INTO passages (account, space, source_kind, source_id, speaker, at, session, text, terms,"
                " term_count, pending) SELECT 1, space, 'message', %s, 'Ada', %s, 'talk', %s, %s, %s, false"
                "  FROM spaces",
                [passage.source_id, passage.at, passage.text, list(passage.frequencies), len(passage.frequencies)],
            )
            await conn.execute(
                "INSERT INTO terms (account, space, term, passage, frequency, length)"
                " SELECT 1, space, word, %s, 1, 5 FROM spaces, unnest(%s::text[]) word",
                [number, list(passage.frequencies)],
            )
            await conn.execute(
                "INSERT INTO vectors (account, space, vector_set, passage, embedding)"
                " SELECT 1, space, 1, %s, %s::halfvec FROM spaces", [number, literal(embedding.pooled)],
            )  # fmt: skip
            await conn.execute(
                "INSERT INTO token_vectors (account, space, vector_set, passage, tokens)"
                " SELECT 1, space, 1, %s, %s FROM spaces", [number, pack(embedding.tokens.vectors)],
            )  # fmt: skip
        await conn.execute("UPDATE spaces SET term_total = (SELECT sum(term_count) FROM passages)")


async def found(services: Services, text: str) -> tuple[str, float, str | None]:
    """What comes first, how far by late interaction, and what was missing."""
    principal, _ = await principal_for(services, "ada@example.org")
    matches = await scopes.recall(services, principal, "team", speaker="Ben", text=text, min_relevance=0.0)
    best = matches.evidence[0]
    return best.text, best.why["maxsim"], matches.degraded


async def test_the_vectors_of_the_version_before_serve_until_there_are_new_ones(
    empty_database: str, tmp_path: Path
) -> None:
    home, nowhere = tmp_path / "home", tmp_path / "nowhere"
    for folder in (home, nowhere):
        folder.mkdir(mode=0o700)
    await write_home(home, empty_database)
    encoder = write_encoder(tmp_path / "new", name="new/1", context=16)
    settings = Settings(home=home, encoder=str(encoder), models_from=nowhere)
    async with open_services(settings, empty_database, HASHER) as services:
        starting = asyncio.create_task(start_embedders(services))
        while not (await services.queue.counts())["todo"]:
            await asyncio.sleep(0.01)
        assert [model.name for model in services.embedders.former] == [FORMER.name]
        assert await states(empty_database) == {FORMER.name: ("serving", 3)}
        before = await found(services, "How is the dog?")
        assert before[0] == TALK[0], "a puppy is found by its meaning"
        assert before[2] is None
        await work(services, empty_database)
        assert await states(empty_database) == {FORMER.name: ("retired", 0), "new/1": ("serving", 3)}
        after = await found(services, "How is the dog?")
        assert after[0] == TALK[0]
        assert after[1:] != before[1:], "by other vectors"
        assert after[2] is None
        starting.cancel()
        with suppress(asyncio.CancelledError):
            await starting
    assert await ask(empty_database, LEFT) == [(0, 0, 0, 0)]
    async with open_services(settings, empty_database, HASHER) as services:
        await start_embedders(services)
        assert services.embedders.former == (), "a model that nobody needs is not even loaded"
        assert (await found(services, "How is the dog?"))[0] == TALK[0]
