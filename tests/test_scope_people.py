"""What is known of people in a scope can be looked at and corrected, and what was said stays as it is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from fastapi import FastAPI

from adapters import awaited
from capsules import rows
from conftest import World, http
from keepstone.access.readscope import job_scope
from keepstone.app import make_app
from keepstone.engine.index import note_people
from keepstone.jobs import tasks
from keepstone.jobs.worker import run_until_empty
from keepstone.services import Services
from test_scopes import ingest, recall

PORTO = {"speaker": "Anna", "text": "I live in Porto.", "ts": "2026-01-01T10:00:00Z", "id": "porto"}
PEANUTS = {"speaker": "Ben", "text": "I'm allergic to peanuts.", "ts": "2026-01-02T10:00:00Z", "id": "peanuts"}
LISBON = {"speaker": "Anna", "text": "I live in Lisbon now.", "ts": "2026-03-01T10:00:00Z", "id": "lisbon"}
TALK = [PORTO, PEANUTS, LISBON]


def people_of(scope: str) -> str:
    return f"/v1/scopes/{quote(scope, safe='')}/people"


async def call(
    client: httpx.AsyncClient, auth: dict[str, str], method: str, path: str, expect: int = 200, **more: Any
) -> Any:
    answer = await client.request(method, path, headers=auth, **more)
    assert answer.status_code == expect, answer.text
    return answer.json() if answer.content else None


async def known(client: httpx.AsyncClient, auth: dict[str, str], scope: str = "team", **params: Any) -> list[Any]:
    return (await call(client, auth, "GET", people_of(scope), params=params))["items"]


async def facts(client: httpx.AsyncClient, auth: dict[str, str], of: str = "Anna", scope: str = "team") -> list[str]:
    found = await recall(client, auth, f"What about {of}?", scope)
    return next((one["facts"] for one in found["people"] if one["speaker"] == of), [])


@pytest.fixture
async def auth(client: httpx.AsyncClient, services: Services, world: World) -> dict[str, str]:
    await ingest(client, world.owner.auth, TALK)
    await run_until_empty(services)
    return world.owner.auth


async def read_again(services: Services, world: World, database: str) -> None:
    """As a job does that begins anew, because the one before was killed."""
    ((space,),) = await rows(database, "UPDATE spaces SET people_read = 0 WHERE name = 'team' RETURNING space")
    await note_people(services, job_scope(world.owner.principal.account, space), space)


async def test_what_is_known_of_whom_is_listed_with_the_message_that_says_so(
    client: httpx.AsyncClient, auth: dict[str, str]
) -> None:
    lisbon, peanuts = await known(client, auth)
    assert (lisbon["speaker"], lisbon["text"], lisbon["kind"], lisbon["holds"]) == (
        "Anna", "Anna lives in Lisbon", "place", True,
    )  # fmt: skip
    assert (lisbon["version"], lisbon["deleted_at"]) == (1, None)
    said = lisbon["message"]
    assert (said["id"], said["speaker"], said["text"], said["ts"]) == (
        "lisbon", "Anna", LISBON["text"], "2026-03-01T10:00:00Z",
    )  # fmt: skip
    assert said["message_id"].startswith("msg_")
    assert peanuts["speaker"] == "Ben"
    assert [one["text"] for one in await known(client, auth, speaker="Ben")] == ["Ben is allergic to peanuts"]
    everything = await known(client, auth, superseded=True)
    assert [(one["message"]["id"], one["holds"]) for one in everything] == [
        ("lisbon", True), ("peanuts", True), ("porto", False),
    ]  # fmt: skip
    assert await known(client, auth, scope="never used") == []


async def test_the_list_has_pages(client: httpx.AsyncClient, auth: dict[str, str]) -> None:
    first = await call(client, auth, "GET", people_of("team"), params={"limit": 1})
    assert first["has_more"] is True
    second = await call(client, auth, "GET", people_of("team"), params={"limit": 1, "cursor": first["next_cursor"]})
    assert [one["speaker"] for page in (first, second) for one in page["items"]] == ["Anna", "Ben"]
    assert second["has_more"] is False


async def test_a_correction_is_shown_at_once_and_stays_when_the_message_is_read_again(
    client: httpx.AsyncClient, services: Services, world: World, auth: dict[str, str], database: str
) -> None:
    lisbon = (await known(client, auth))[0]
    path = f"{people_of('team')}/{lisbon['id']}"
    done = await call(client, auth, "PATCH", path, json={"text": "Anna lives in Setúbal"})
    assert (done["text"], done["version"], done["holds"]) == ("Anna lives in Setúbal", 2, True)
    assert await facts(client, auth) == ["Anna lives in Setúbal"]
    await read_again(services, world, database)
    assert await facts(client, auth) == ["Anna lives in Setúbal"]
    assert (await call(client, auth, "GET", path))["text"] == "Anna lives in Setúbal"
    versions = (await call(client, auth, "GET", f"{path}/history"))["items"]
    assert [(one["version"], one["change"], one["text"], one["changed_by"]) for one in versions] == [
        (2, "updated", "Anna lives in Setúbal", world.owner.user.id), (1, "created", "Anna lives in Lisbon", None),
    ]  # fmt: skip
    found = await recall(client, auth, "Where does Anna live?")
    assert LISBON["text"] in [item["text"] for item in found["evidence"]], "what was said stays as it was said"


async def test_what_is_said_later_takes_the_place_of_a_correction(
    client: httpx.AsyncClient, services: Services, auth: dict[str, str]
) -> None:
    lisbon = (await known(client, auth))[0]
    await call(client, auth, "PATCH", f"{people_of('team')}/{lisbon['id']}", json={"text": "Anna lives in Setúbal"})
    await ingest(client, auth, [{"speaker": "Anna", "text": "I live in Rome.", "ts": "2026-04-01T10:00:00Z"}])
    await run_until_empty(services)
    assert await facts(client, auth) == ["Anna lives in Rome"]


async def test_a_correction_about_something_else_leaves_the_place_to_what_was_said_before(
    client: httpx.AsyncClient, auth: dict[str, str]
) -> None:
    lisbon = (await known(client, auth))[0]
    await call(client, auth, "PATCH", f"{people_of('team')}/{lisbon['id']}", json={"text": "Anna likes Lisbon"})
    assert set(await facts(client, auth)) == {"Anna likes Lisbon", "Anna lives in Porto"}


async def test_a_statement_can_be_given_to_whom_it_is_about(client: httpx.AsyncClient, auth: dict[str, str]) -> None:
    peanuts = (await known(client, auth, speaker="Ben"))[0]
    change = {"speaker": "Cleo", "text": "Cleo is allergic to peanuts"}
    await call(client, auth, "PATCH", f"{people_of('team')}/{peanuts['id']}", json=change)
    assert await facts(client, auth, of="Ben") == []
    assert await facts(client, auth, of="Cleo") == ["Cleo is allergic to peanuts"]


async def test_what_somebody_took_back_is_gone_at_once_and_not_made_again(
    client: httpx.AsyncClient, services: Services, world: World, auth: dict[str, str], database: str
) -> None:
    peanuts = (await known(client, auth, speaker="Ben"))[0]
    path = f"{people_of('team')}/{peanuts['id']}"
    await call(client, auth, "DELETE", path, expect=204)
    assert await facts(client, auth, of="Ben") == []
    await read_again(services, world, database)
    assert await facts(client, auth, of="Ben") == []
    for method in ("GET", "PATCH", "DELETE"):
        await call(client, auth, method, path, expect=404, json={"text": "x"} if method == "PATCH" else None)
    (trashed,) = await known(client, auth, deleted=True)
    assert (trashed["id"], trashed["holds"], trashed["text"]) == (peanuts["id"], False, "Ben is allergic to peanuts")
    assert [one["speaker"] for one in await known(client, auth, superseded=True)] == ["Anna", "Anna"]


async def test_who_speaks_since_does_not_bring_back_what_was_taken_back(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    """With one more speaker the same message says more, and each of it stands in another place."""
    auth = world.owner.auth
    await ingest(client, auth, [{"speaker": "Anna", "text": "Ben likes tea. I live in Porto.", "id": "both"}])
    await run_until_empty(services)
    (porto,) = await known(client, auth)
    await call(client, auth, "DELETE", f"{people_of('team')}/{porto['id']}", expect=204)
    await ingest(client, auth, [{"speaker": "Ben", "text": "Hello!"}])
    await run_until_empty(services)
    await read_again(services, world, database)
    assert await known(client, auth, superseded=True) == []


async def test_out_of_the_trash_it_holds_again(client: httpx.AsyncClient, world: World, auth: dict[str, str]) -> None:
    peanuts = (await known(client, auth, speaker="Ben"))[0]
    path = f"{people_of('team')}/{peanuts['id']}"
    await call(client, auth, "POST", f"{path}/restore", expect=404)
    await call(client, auth, "DELETE", path, expect=204)
    back = await call(client, auth, "POST", f"{path}/restore")
    assert (back["holds"], back["deleted_at"], back["version"]) == (True, None, 3)
    assert await facts(client, auth, of="Ben") == ["Ben is allergic to peanuts"]
    assert await known(client, auth, deleted=True) == []
    changes = [one["change"] for one in (await call(client, auth, "GET", f"{path}/history"))["items"]]
    assert changes == ["restored", "deleted", "created"]


async def test_without_the_newer_one_the_older_holds_again(client: httpx.AsyncClient, auth: dict[str, str]) -> None:
    lisbon = (await known(client, auth))[0]
    await call(client, auth, "DELETE", f"{people_of('team')}/{lisbon['id']}", expect=204)
    assert await facts(client, auth) == ["Anna lives in Porto"]


async def test_what_was_ended_in_other_words_holds_again_without_them(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.owner.auth
    told = [
        {"speaker": "Anna", "text": "I work at Siemens.", "ts": "2026-01-01T10:00:00Z"},
        {"speaker": "Anna", "text": "I quit Siemens.", "ts": "2026-03-01T10:00:00Z"},
    ]
    await ingest(client, auth, told)
    await run_until_empty(services)
    (quit_,) = await known(client, auth)
    assert quit_["text"] == "Anna quit Siemens"
    await call(client, auth, "DELETE", f"{people_of('team')}/{quit_['id']}", expect=204)
    assert await facts(client, auth) == ["Anna works at Siemens"]


async def test_what_was_said_several_times_is_taken_back_and_brought_back_at_once(
    client: httpx.AsyncClient, services: Services, world: World, auth: dict[str, str]
) -> None:
    await ingest(client, auth, [{**PEANUTS, "id": "again", "ts": "2026-02-02T10:00:00Z"}])
    await run_until_empty(services)
    (peanuts,) = await known(client, auth, speaker="Ben")
    await call(client, auth, "DELETE", f"{people_of('team')}/{peanuts['id']}", expect=204)
    assert await facts(client, auth, of="Ben") == []
    assert len(await known(client, auth, deleted=True)) == 2
    older = (await known(client, auth, deleted=True))[0]
    await call(client, auth, "POST", f"{people_of('team')}/{older['id']}/restore")
    assert await known(client, auth, deleted=True) == []
    assert await facts(client, auth, of="Ben") == ["Ben is allergic to peanuts"]


async def test_a_change_of_nothing_makes_no_version(client: httpx.AsyncClient, auth: dict[str, str]) -> None:
    lisbon = (await known(client, auth))[0]
    path = f"{people_of('team')}/{lisbon['id']}"
    for body in ({}, {"text": lisbon["text"]}, {"text": None, "speaker": None}, {"speaker": "Anna"}):
        assert (await call(client, auth, "PATCH", path, json=body))["version"] == 1
    assert len((await call(client, auth, "GET", f"{path}/history"))["items"]) == 1


async def test_a_text_that_says_nothing_is_refused(client: httpx.AsyncClient, auth: dict[str, str]) -> None:
    lisbon = (await known(client, auth))[0]
    path = f"{people_of('team')}/{lisbon['id']}"
    for text in ("", "  ", "x" * 2001):
        refused = await call(client, auth, "PATCH", path, expect=422, json={"text": text})
        assert "text" in str(refused["error"]["details"])


async def test_each_correction_has_its_line_in_the_audit_trail_and_no_text_in_it(
    client: httpx.AsyncClient, auth: dict[str, str], database: str
) -> None:
    lisbon = (await known(client, auth))[0]
    path = f"{people_of('team')}/{lisbon['id']}"
    await call(client, auth, "PATCH", path, json={"text": "Anna lives in Setúbal"})
    await call(client, auth, "DELETE", path, expect=204)
    await call(client, auth, "POST", f"{path}/restore")
    lines = await rows(
        database,
        "SELECT action, object_id, details::text FROM audit WHERE action LIKE 'statement.%' ORDER BY at",
    )
    assert lines == [(f"statement.{verb}", lisbon["id"], "{}") for verb in ("update", "delete", "restore")]


async def test_after_30_days_its_words_are_gone_and_it_is_still_not_made_again(
    client: httpx.AsyncClient, services: Services, world: World, auth: dict[str, str], database: str
) -> None:
    peanuts = (await known(client, auth, speaker="Ben"))[0]
    path = f"{people_of('team')}/{peanuts['id']}"
    await call(client, auth, "DELETE", path, expect=204)
    later = replace(services, clock=lambda: datetime.now(UTC) + timedelta(days=31))
    async with http(make_app(later)) as then:
        assert await known(then, auth, deleted=True) == [], "what can't be brought back is not listed"
        await call(then, auth, "POST", f"{path}/restore", expect=404)
    await rows(
        database,
        "UPDATE statements SET deleted_at = now() - interval '31 days' WHERE deleted_at IS NOT NULL RETURNING 1",
    )
    await tasks.purge_memories(services)
    await tasks.purge_memories(services)
    left = await rows(database, "SELECT subject, key, text FROM statements WHERE deleted_at IS NOT NULL")
    assert left == [("", "", "")]
    assert await rows(database, "SELECT 1 FROM statement_versions") == []
    lines = await rows(database, "SELECT object_id FROM audit WHERE action = 'statement.purge'")
    assert lines == [(peanuts["id"],)]
    for end in ("", "/history"):
        await call(client, auth, "GET", f"{path}{end}", expect=404)
    await read_again(services, world, database)
    assert await facts(client, auth, of="Ben") == []
    assert [one["speaker"] for one in await known(client, auth, superseded=True)] == ["Anna", "Anna"]


async def test_nobody_else_sees_or_corrects_it(
    client: httpx.AsyncClient, services: Services, world: World, auth: dict[str, str]
) -> None:
    lisbon = (await known(client, auth))[0]
    await ingest(client, world.member.auth, [{"speaker": "Max", "text": "I live in Oslo."}])
    await run_until_empty(services)
    path = f"{people_of('team')}/{lisbon['id']}"
    for other in (world.member, world.stranger):
        for method, end in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/restore"), ("GET", "/history")):
            body = {"text": "x"} if method == "PATCH" else None
            await call(client, other.auth, method, f"{path}{end}", expect=404, json=body)
    assert [one["speaker"] for one in await known(client, world.member.auth)] == ["Max"]
    assert (await known(client, auth))[0] == lisbon


async def test_the_client_corrects_it_too(app: FastAPI, world: World, auth: dict[str, str]) -> None:
    assert auth == world.owner.auth
    async with awaited(app, world.owner.key) as keepstone:
        scopes = keepstone.scopes
        (peanuts,) = [one async for one in scopes.people("team", speaker="Ben")]
        assert (peanuts.text, peanuts.message.id) == ("Ben is allergic to peanuts", "peanuts")
        assert (await scopes.statement("team", peanuts.id)) == peanuts
        done = await scopes.correct("team", peanuts.id, text="Ben is allergic to walnuts")
        assert (done.text, done.version) == ("Ben is allergic to walnuts", 2)
        await scopes.forget("team", peanuts.id)
        assert [one.id async for one in scopes.people("team", deleted=True)] == [peanuts.id]
        assert (await scopes.restore("team", peanuts.id)).holds
        changes = [version.change for version in await scopes.history("team", peanuts.id)]
        assert changes == ["restored", "deleted", "updated", "created"]


async def test_rooms_keep_no_statements_that_nobody_could_correct(
    services: Services, world: World, database: str
) -> None:
    """A space of another kind may be read for its vectors; what is known of people is asked of scopes alone."""
    ((space,),) = await rows(
        database,
        "INSERT INTO spaces (account, kind, name) VALUES (%s, 'room', 'room_x') RETURNING space",
        [world.owner.principal.account],
    )
    await rows(
        database,
        "INSERT INTO messages (account, space, id, speaker, text, at)"
        " VALUES (%s, %s, 'msg_x', 'Anna', 'I live in Porto.', now()) RETURNING 1",
        [world.owner.principal.account, space],
    )
    assert await note_people(services, job_scope(world.owner.principal.account, space), space) == 0
