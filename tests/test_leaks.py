"""Nobody sees another's: the walk over all routes finds nothing, and it would find something."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI

from conftest import World
from fakes import HearingEmbedder
from keepstone.access.readscope import job_scope
from keepstone.app import make_app
from keepstone.engine.embed import embed_slices
from keepstone.model.message import NewPassage
from keepstone.providers.embedders import Embedders
from keepstone.services import Services
from keepstone.store import passages, spaces
from leaks import CANARY, routes_of, walk
from test_passages import ask

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


async def test_no_route_shows_or_changes_anything_of_somebody_else(
    app: FastAPI, services: Services, world: World, database: str
) -> None:
    findings = await walk(app, services, world, database)
    assert findings == [], "\n".join(findings)


async def test_the_walk_reaches_every_route(app: FastAPI) -> None:
    labels = {label for label, _, _ in routes_of(app)}
    described = {f"{method.upper()} {path}" for path, methods in app.openapi()["paths"].items() for method in methods}
    assert described < labels
    assert {"GET /", "POST /login", "GET /openapi.json", "DELETE /v1/users/{user_id}"} <= labels


async def test_the_walk_finds_a_leak_a_forgotten_check_and_what_it_cant_exercise(
    services: Services, world: World, database: str
) -> None:
    app = make_app(services)

    async def everybody() -> dict[str, str]:
        return {"name": CANARY}

    async def unchecked(key_id: str) -> dict[str, str]:
        return {"thanks": "it is gone"}

    async def unknown(thing_id: str) -> None:
        return None

    async def body(name: dict[str, str]) -> None:
        return None

    app.add_api_route("/v1/leak", everybody)
    app.add_api_route("/v1/unchecked/{key_id}", unchecked, methods=["DELETE"])
    app.add_api_route("/v1/unknown/{thing_id}", unknown)
    app.add_api_route("/v1/body", body, methods=["POST"])
    findings = await walk(app, services, world, database)
    assert f"GET /v1/leak: another account sees '{CANARY}'" in findings
    assert f"GET /v1/leak: nobody sees '{CANARY}'" in findings
    assert "DELETE /v1/unchecked/{key_id}: another account gets 200, not 404" in findings
    assert "GET /v1/unknown/{thing_id}: the walk has no thing_id of the victim's" in findings
    assert "POST /v1/body: the walk does not know what to send" in findings


async def test_a_turn_that_somebody_may_not_see_leaves_no_trace_in_the_vectors_of_the_next(
    services: Services, world: World, database: str
) -> None:
    """Of the same session, just before: for other readers, in another space, or of another account."""

    async def embedded(name: str, *, beside: tuple[str, str] | None = None) -> list[Any]:
        """The vectors of a turn that others may read."""
        account = world.owner.user.account
        async with services.db.transaction(job_scope(account)) as conn:
            here = await spaces.ensure(conn, kind="room", name=name)
            there = await spaces.ensure(conn, kind="room", name=f"{name} of others")
        for space, visibility, text in [
            *([(here if beside[0] == "here" else there, beside[1], CANARY)] if beside else []),
            (here, "shared", "That will be all."),
        ]:
            async with services.db.transaction(job_scope(account, space)) as conn:
                said = NewPassage(
                    source_kind="message", source_id=f"{name} {text}", part=0, speaker="olga", at=NOON, session="talk",
                    visibility=visibility, text=text, foreign=False, frequencies={"word": 1},
                )  # fmt: skip
                await passages.insert(conn, space, [said])
            await embed_slices(listening, job_scope(account, space), space)
        query = """
            SELECT v.embedding::text, t.tokens FROM passages p JOIN vectors v USING (account, space, passage)
              JOIN token_vectors t USING (account, space, vector_set, passage)
             WHERE p.source_id = %s
        """
        return await ask(database, query, [f"{name} That will be all."])

    listening = replace(services, embedders=Embedders((HearingEmbedder(),)))
    alone = await embedded("alone")
    assert len(alone) == 1
    assert await embedded("private before", beside=("here", "private")) == alone
    assert await embedded("public before", beside=("here", "public")) == alone
    assert await embedded("elsewhere before", beside=("there", "shared")) == alone
    assert await embedded("heard", beside=("here", "shared")) != alone, "who may read both has both in it"
