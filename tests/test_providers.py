"""Providers that the operator sets over the API: stored sealed, never shown again, and used without a restart."""

import json
import logging
import stat
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from capsules import CAPSULES
from conftest import HASHER, World, http
from fakes import LetterEmbedder, WordEmbedder
from keepstone.app import make_app
from keepstone.jobs.model_change import change_embedders
from keepstone.jobs.provider_change import ProviderChange
from keepstone.jobs.worker import run_until_empty
from keepstone.model.provider import Provider
from keepstone.providers.sealed import SealBroken, seal, unseal
from keepstone.runtime import open_migrated
from keepstone.services import Services
from keepstone.settings import Settings, read_settings
from mails import mailbox
from test_passages import ask
from upstream import Answer, Received, ScriptedUpstream, completion, error, whole

PATH, TRY = "/v1/settings/providers", "/v1/settings/providers/test"
KEY = "sk-a-secret-that-nobody-sees-7788"


def answering(name: str) -> Any:
    """An endpoint with everything, which says who it is."""

    def answer(request: Received) -> Answer:
        if request.path.endswith("/models"):
            return whole({"object": "list", "data": [{"id": f"{name}-large"}, {"id": f"{name}-small"}]})
        if request.path.endswith("/embeddings"):
            given = request.json["input"]
            return whole({"data": [{"index": n, "embedding": [1.0, 0.5, 0.25]} for n in range(len(given))]})
        return completion(f"{name} says hello")

    return answer


@pytest.fixture
def first() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    made.otherwise = answering("first")
    yield made
    made.stop()


@pytest.fixture
def second() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    made.otherwise = answering("second")
    yield made
    made.stop()


def provider(upstream: ScriptedUpstream, name: str = "main", **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "openai", "base_url": upstream.url, "models": [f"{name}-large"], "key": KEY, **more}


async def said(client: httpx.AsyncClient, auth: dict[str, str], **more: Any) -> str:
    body = {"messages": [{"role": "user", "content": "Hello"}], **more}
    headers = {**auth, "X-Keepstone-Memory": "off"}
    answer = await client.post("/v1/chat/completions", headers=headers, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["choices"][0]["message"]["content"]


async def test_without_any_they_are_what_is_built_in(console: httpx.AsyncClient) -> None:
    assert (await console.get(PATH)).json() == {
        "revision": 0,
        "providers": [],
        "defaults": {
            "chat": None,
            "extraction": None,
            "embeddings": {"provider": "builtin", "model": None, "fixed": False, "by": None},
            "mail": None,
        },
    }


async def test_a_language_model_is_set_and_used_at_once_and_its_key_is_never_shown_again(
    console: httpx.AsyncClient, client: httpx.AsyncClient, world: World, first: ScriptedUpstream, database: str,
    tmp_path: Path, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    none = await client.post("/v1/chat/completions", headers=world.owner.auth, json={"messages": []})
    assert none.status_code in {400, 503}
    body = {"providers": [provider(first)], "defaults": {"chat": {"provider": "main"}}}
    put = await console.put(PATH, json=body)
    assert put.status_code == 200, put.text
    [shown] = put.json()["providers"]
    assert shown["key"] == {"set": True, "last4": KEY[-4:], "usable": True}
    assert (shown["fixed"], shown["by"]) == (False, None)
    assert await said(client, world.owner.auth) == "first says hello"
    asked = first.received[-1]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.json["model"] == "main-large"
    seen = put.text + (await console.get(PATH)).text + (await console.get("/metrics")).text + caplog.text
    seen += (await console.get("/v1/audit")).text + (await console.get("/x_console/api/audit")).text
    rows = await ask(database, "SELECT document::text FROM provider_settings")
    assert KEY not in seen + rows[0][0]
    assert json.loads(rows[0][0])["providers"][0]["sealed"]
    file = tmp_path / "providers-key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_each_change_is_a_line_of_the_audit_trail(
    console: httpx.AsyncClient, first: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    body = {"providers": [provider(first), provider(second, "other")], "defaults": {"chat": {"provider": "main"}}}
    await console.put(PATH, json=body)
    await console.put(PATH, json={"providers": [{**provider(second, "other"), "models": ["x"]}]})
    lines = (await console.get("/v1/audit", params={"action": "provider"})).json()["items"]
    told = [(line["action"], line["object_id"], line["details"]["revision"]) for line in reversed(lines)]
    assert sorted(told, key=lambda line: line[2]) == [
        ("provider.set", "main", 1), ("provider.set", "other", 1), ("provider.default", "main", 1),
        ("provider.set", "other", 2), ("provider.remove", "main", 2), ("provider.default", None, 2),
    ]  # fmt: skip


async def test_only_the_operator_may(client: httpx.AsyncClient, world: World, first: ScriptedUpstream) -> None:
    """An owner of another account can't have the server call an address on the operator's network."""
    for auth in (world.stranger.auth, world.service_auth):
        headers = {**auth, "X-Keepstone-User": world.stranger.user.id} if auth is world.stranger.auth else auth
        assert (await client.get(PATH, headers=headers)).status_code == 403
        assert (await client.put(PATH, headers=headers, json={"providers": [provider(first)]})).status_code == 403
        assert (await client.post(TRY, headers=headers, json={"provider": provider(first)})).status_code == 403
    assert first.received == []


async def test_requests_under_way_end_with_the_one_they_began_with(
    app: FastAPI, services: Services, console: httpx.AsyncClient, first: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    await console.put(PATH, json={"providers": [provider(first)], "defaults": {"chat": {"provider": "main"}}})
    begun: Services = app.state.followed.services
    await console.put(PATH, json={"providers": [provider(second)], "defaults": {"chat": {"provider": "main"}}})
    now: Services = app.state.followed.services
    assert begun.upstream is not None
    assert now.upstream is not None
    for has, name in ((begun, "first"), (now, "second")):
        assert has.upstream is not None
        answer = await has.upstream.send("GET", "/models")
        assert f"{name}-large".encode() in await answer.read()


async def test_clients_reach_each_provider_by_the_models_that_it_has(
    console: httpx.AsyncClient, client: httpx.AsyncClient, world: World, first: ScriptedUpstream,
    second: ScriptedUpstream,
) -> None:  # fmt: skip
    providers = [provider(first), provider(second, "other", models=["other-*", "tiny"])]
    await console.put(PATH, json={"providers": providers, "defaults": {"chat": {"provider": "main"}}})
    auth = world.owner.auth
    assert await said(client, auth) == "first says hello"
    assert await said(client, auth, model="main-large") == "first says hello"
    assert await said(client, auth, model="other-7b") == "second says hello"
    assert second.received[-1].json["model"] == "other-7b"
    refused = await client.post("/v1/chat/completions", headers=auth, json={"model": "gpt-9", "messages": []})
    assert refused.json()["error"]["code"] == "model_not_allowed"
    listed = [model["id"] for model in (await client.get("/v1/models", headers=auth)).json()["data"]]
    assert "tiny" in listed
    assert "other-*" not in listed
    assert (await client.get("/v1/models/tiny", headers=auth)).status_code == 200


async def test_extraction_has_a_model_of_its_own(
    services: Services, console: httpx.AsyncClient, app: FastAPI, first: ScriptedUpstream, second: ScriptedUpstream
) -> None:
    defaults = {"chat": {"provider": "main"}, "extraction": {"provider": "other", "model": "cheap"}}
    await console.put(PATH, json={"providers": [provider(first), provider(second, "other")], "defaults": defaults})
    now: Services = app.state.followed.services
    assert now.llm is not None
    assert (await now.llm.complete(system="s", prompt="p", max_tokens=5)).text == "second says hello"
    assert second.received[-1].json["model"] == "cheap"


async def test_a_key_stays_with_its_address(console: httpx.AsyncClient, first: ScriptedUpstream) -> None:
    """Whoever gets hold of the operator's session can't have a stored key sent elsewhere."""
    await console.put(PATH, json={"providers": [provider(first)]})
    kept = {name: value for name, value in provider(first).items() if name != "key"}
    again = await console.put(PATH, json={"providers": [{**kept, "models": ["other"]}]})
    assert again.json()["providers"][0]["key"]["set"] is True
    moved = {**kept, "base_url": "http://127.0.0.1:1/v1"}
    for answer in (
        await console.put(PATH, json={"providers": [moved]}),
        await console.post(TRY, json={"provider": moved}),
    ):
        assert answer.status_code == 400
        assert "another address" in answer.json()["error"]["message"]
    without = await console.put(PATH, json={"providers": [{**moved, "key": None}]})
    assert without.json()["providers"][0]["key"] == {"set": False, "last4": None, "usable": True}


def test_a_seal_opens_only_what_it_was_made_for(tmp_path: Path) -> None:
    own = Settings(home=tmp_path)
    one = Provider(name="main", kind="openai", base_url="https://api.example.org/v1")
    one = replace(one, sealed=seal(own, one, KEY))
    assert unseal(own, one) == KEY
    assert KEY not in (one.sealed or "")
    for other in (
        replace(one, name="other"),
        replace(one, kind="anthropic"),
        replace(one, base_url="https://evil.example"),
        replace(one, sealed=(one.sealed or "")[:-8] + "AAAAAAA="),
        replace(one, sealed="no seal"),
    ):
        with pytest.raises(SealBroken):
            unseal(own, other)
    (tmp_path / "providers-key").unlink()
    with pytest.raises(SealBroken):
        unseal(own, one)


def test_servers_that_share_a_secret_open_what_another_has_sealed(tmp_path: Path) -> None:
    one = Provider(name="main", kind="openai", base_url="https://api.example.org/v1")
    alone = Settings(home=tmp_path / "a")
    first, second = (Settings(home=tmp_path / name, jwt_secret="s" * 32) for name in "ab")
    stranger = Settings(home=tmp_path / "b", jwt_secret="t" * 32)
    for settings in (first, second):
        settings.home.mkdir()
    before, after = (replace(one, sealed=seal(settings, one, KEY)) for settings in (alone, first))
    assert unseal(first, before) == KEY, "what was sealed before they shared one is good where its file lies"
    assert unseal(second, after) == KEY
    for settings, sealed in ((second, before), (stranger, after), (alone, after)):
        with pytest.raises(SealBroken):
            unseal(settings, sealed)


async def test_where_the_file_of_the_keys_is_lost_the_server_says_so_and_goes_on(
    console: httpx.AsyncClient, client: httpx.AsyncClient, world: World, first: ScriptedUpstream, tmp_path: Path
) -> None:
    await console.put(PATH, json={"providers": [provider(first)], "defaults": {"chat": {"provider": "main"}}})
    (tmp_path / "providers-key").unlink()
    await console.put(PATH, json={"providers": [{**provider(first), "key": KEY}]})
    (tmp_path / "providers-key").unlink()
    assert (await console.get(PATH)).json()["providers"][0]["key"]["usable"] is False
    tried = await console.post(TRY, json={"name": "main"})
    assert tried.status_code == 409
    assert "Give it again" in tried.json()["error"]["message"]


@pytest.mark.parametrize(
    ("providers", "defaults", "told"),
    [
        ([{"name": "a", "kind": "openai", "base_url": "ftp://x"}], {}, "http(s)"),
        ([{"name": "a", "kind": "openai", "base_url": "http://user:pw@x/v1"}], {}, "goes into `key`"),
        ([{"name": "a", "kind": "openai", "base_url": "http://x/v1?key=1"}], {}, "nothing stands behind"),
        ([{"name": "a", "kind": "smtp", "base_url": "smtp://me:pw@x"}], {}, "goes into `key`"),
        ([{"name": "a", "kind": "embeddings", "models": ["m"]}], {}, "needs its address"),
        ([{"name": "a", "kind": "embeddings", "base_url": "http://x/v1"}], {}, "which model"),
        ([{"name": "a", "kind": "openai", "key": "a\nb"}], {}, "without spaces"),
        ([{"name": "a", "kind": "smtp", "base_url": "smtp://me@x", "key": "käse"}], {}, "plain letters"),
        ([{"name": "builtin", "kind": "openai"}], {}, "can't be called"),
        ([{"name": "a", "kind": "openai"}] * 2, {}, "same name"),
        ([], {"chat": {"provider": "a"}}, "name one of the providers"),
        ([{"name": "a", "kind": "smtp", "base_url": "smtp://x"}], {"chat": {"provider": "a"}}, "name one of"),
        ([{"name": "a", "kind": "openai"}], {"embeddings": {"provider": "a"}}, "which model"),
    ],
)
async def test_what_cant_be_used_is_refused_with_what_to_do(
    console: httpx.AsyncClient, providers: list[Any], defaults: dict[str, Any], told: str
) -> None:
    answer = await console.put(PATH, json={"providers": providers, "defaults": defaults})
    assert answer.status_code == 400, answer.text
    assert told in answer.json()["error"]["message"]
    assert (await console.get(PATH)).json()["revision"] == 0


async def test_a_key_that_cant_be_used_is_not_told_back(console: httpx.AsyncClient) -> None:
    for key in (KEY * 200, f"{KEY} {KEY}", {"it is": KEY}, f"{KEY}\x00"):
        answer = await console.put(PATH, json={"providers": [{"name": "a", "kind": "openai", "key": key}]})
        assert answer.status_code in {400, 422}
        assert KEY not in answer.text


async def test_who_reads_before_another_changes_is_told_so(console: httpx.AsyncClient) -> None:
    first_put = {"providers": [{"name": "a", "kind": "openai"}], "revision": 0}
    assert (await console.put(PATH, json=first_put)).json()["revision"] == 1
    assert (await console.put(PATH, json=first_put)).status_code == 409


# ------------------------------------------------------------------------------------------- the environment


@asynccontextmanager
async def with_environment(
    database: str, home: Path, world: World, **variables: str
) -> AsyncGenerator[httpx.AsyncClient]:
    settings = read_settings({"KEEPSTONE_HOME": str(home), **variables})
    async with (
        open_migrated(settings, database, HASHER) as services,
        http(make_app(services), headers=world.stranger.auth) as client,
    ):
        yield client


async def test_the_environment_wins_and_is_shown_as_fixed(
    operator_auth: dict[str, str], console: httpx.AsyncClient, world: World, database: str, tmp_path: Path,
    first: ScriptedUpstream, second: ScriptedUpstream,
) -> None:  # fmt: skip
    body = {"providers": [provider(second)], "defaults": {"chat": {"provider": "main"}}}
    await console.put(PATH, json=body)
    async with with_environment(
        database, tmp_path, world, KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=first.url,
        KEEPSTONE_LLM_API_KEY=KEY, KEEPSTONE_LLM_MODEL="m-1", KEEPSTONE_EMBEDDINGS_PROVIDER="builtin",
        KEEPSTONE_SMTP_URL="smtp://me:pass-word-of-mail@mail.example.org:587",
    ) as client:  # fmt: skip
        assert await said(client, operator_auth) == "first says hello"
        answer = await client.get(PATH)
        shown = answer.json()
        by_name = {one["name"]: one for one in shown["providers"]}
        assert by_name["env.llm"] == {
            "name": "env.llm", "kind": "openai", "base_url": first.url, "models": ["m-1"], "sender": None,
            "key": {"set": True, "last4": KEY[-4:], "usable": True}, "fixed": True, "by": "KEEPSTONE_LLM_PROVIDER",
        }  # fmt: skip
        assert by_name["env.smtp"]["base_url"] == "smtp://me@mail.example.org:587"
        assert "pass-word-of-mail" not in answer.text
        fixed = {use: (one["provider"], one["by"]) for use, one in shown["defaults"].items()}
        assert fixed == {
            "chat": ("env.llm", "KEEPSTONE_LLM_PROVIDER"),
            "extraction": ("env.llm", "KEEPSTONE_LLM_PROVIDER"),
            "embeddings": ("builtin", "KEEPSTONE_EMBEDDINGS_PROVIDER"),
            "mail": ("env.smtp", "KEEPSTONE_SMTP_URL"),
        }
        refused = await client.put(PATH, json=body)
        assert refused.status_code == 409
        assert refused.json()["error"]["code"] == "fixed_by_environment"
        assert "KEEPSTONE_LLM_PROVIDER" in refused.json()["error"]["message"]
        for defaults in ({"embeddings": {"provider": "none"}}, {"mail": {"provider": "main"}}):
            assert (await client.put(PATH, json={"providers": [], "defaults": defaults})).status_code == 409
        tried = (await client.post(TRY, json={"name": "env.llm"})).json()
        assert tried["ok"] is True


async def test_what_was_set_is_there_after_a_restart(
    operator_auth: dict[str, str], console: httpx.AsyncClient, world: World, database: str, tmp_path: Path,
    first: ScriptedUpstream,
) -> None:  # fmt: skip
    await console.put(PATH, json={"providers": [provider(first)], "defaults": {"chat": {"provider": "main"}}})
    async with with_environment(database, tmp_path, world) as client:
        assert await said(client, operator_auth) == "first says hello"


async def test_another_process_and_its_jobs_use_it_as_soon_as_they_look(
    console: httpx.AsyncClient, operator_auth: dict[str, str], settings: Settings, database: str,
    first: ScriptedUpstream,
) -> None:  # fmt: skip
    async with open_migrated(settings, database, HASHER) as other, http(make_app(other)) as elsewhere:
        assert other.upstream is None
        seen: list[Services] = []

        async def look(services: Services) -> None:
            seen.append(services)

        followed = other.standing.follow(other)
        await console.put(PATH, json={"providers": [provider(first)], "defaults": {"chat": {"provider": "main"}}})
        await other.standing.renew()
        await look(followed.services)
        assert seen[0].upstream is not None
        assert await said(elsewhere, operator_auth) == "first says hello"


# ------------------------------------------------------------------------------------------------- the test


async def test_a_trial_says_what_came_back_and_stores_nothing(
    console: httpx.AsyncClient, first: ScriptedUpstream
) -> None:
    tried = (await console.post(TRY, json={"provider": provider(first)})).json()
    assert tried["ok"] is True
    assert tried["models"] == ["first-large", "first-small"]
    assert [(check["what"], check["ok"], check["said"]) for check in tried["checks"]] == [
        ("models", True, "It lists 2 models."),
        ("completion", True, "main-large answered: first says hello"),
    ]
    tried = (await console.post(TRY, json={"provider": provider(first), "use": "embeddings"})).json()
    assert (tried["ok"], tried["dimension"]) == (True, 3)
    assert tried["checks"][0]["said"] == "It gave a vector of 3 dimensions."
    assert (await console.get(PATH)).json()["revision"] == 0


async def test_a_trial_that_fails_says_why_without_the_key(console: httpx.AsyncClient, first: ScriptedUpstream) -> None:
    first.otherwise = lambda request: error(401, f"Incorrect API key provided: {KEY}")
    for use in ("chat", "embeddings"):
        answer = await console.post(TRY, json={"provider": provider(first), "use": use})
        tried = answer.json()
        assert tried["ok"] is False
        assert "401" in tried["checks"][-1]["said"]
        assert KEY not in answer.text
    nobody = provider(first, base_url="http://127.0.0.1:1/v1")
    tried = (await console.post(TRY, json={"provider": nobody})).json()
    assert "could not be reached" in tried["checks"][-1]["said"]
    mail = {"name": "post", "kind": "smtp", "base_url": "smtp://me@127.0.0.1:1", "key": "p w"}
    tried = (await console.post(TRY, json={"provider": mail})).json()
    assert tried["checks"] == [
        {**tried["checks"][0], "what": "mail", "ok": False, "said": "The mail server could not be reached in time."}
    ]
    assert (await console.post(TRY, json={"name": "nobody"})).status_code == 404
    assert (await console.post(TRY, json={})).status_code == 422
    assert (await console.post(TRY, json={"provider": mail, "use": "chat"})).status_code == 400


# ------------------------------------------------------------------------------------------------- mail


async def test_mail_is_tried_and_then_sent_by_the_server_that_was_set(
    services: Services, console: httpx.AsyncClient, client: httpx.AsyncClient, world: World
) -> None:
    async with mailbox() as box:
        box.password = "cheese & bread"
        host = box.url.removeprefix("smtp://")
        post = {"name": "post", "kind": "smtp", "base_url": f"smtp://me@{host}", "sender": "k@example.org"}
        wrong = (await console.post(TRY, json={"provider": {**post, "key": "wurst"}})).json()
        assert (wrong["ok"], wrong["checks"][0]["said"]) == (False, "The mail server refused the user or the password.")
        tried = (await console.post(TRY, json={"provider": {**post, "key": box.password}})).json()
        assert (tried["ok"], tried["checks"][0]["said"]) == (True, "The mail server let us in.")
        assert box.commands[-2:] == ["NOOP", "QUIT"]
        body = {"providers": [{**post, "key": box.password}], "defaults": {"mail": {"provider": "post"}}}
        assert (await console.put(PATH, json=body)).is_success
        await client.patch("/v1/me", headers=world.owner.auth, json={"weekly_digest": True})
        await client.post(CAPSULES, headers=world.owner.auth, json={"title": "Cake", "content_md": "Cherries"})
        await services.queue.add_anywhere("send_digests", timestamp=0)
        await run_until_empty(services)
        [sent] = box.messages
        assert (sent["From"], sent["To"]) == ("k@example.org", "olga@example.org")


# ------------------------------------------------------------------------------------------------- embeddings


async def states(database: str) -> dict[str, str]:
    return dict(await ask(database, "SELECT model, state FROM vector_sets ORDER BY model"))


async def test_an_endpoint_takes_the_place_of_all_that_is_built_in(
    services: Services, app: FastAPI, console: httpx.AsyncClient, client: httpx.AsyncClient, world: World,
    database: str, first: ScriptedUpstream,
) -> None:  # fmt: skip
    services.embedders.active = (WordEmbedder(), LetterEmbedder())
    assert [one.multilingual for one in services.embedders.active] == [False, True]
    before = {one.name for one in services.embedders.active}
    told = {"scope_id": "team", "transcript": [{"speaker": "Ben", "text": "The ferry leaves at noon"}]}
    await client.post("/v1/ingest", headers=world.owner.auth, json=told)
    await run_until_empty(services)
    assert await states(database) == dict.fromkeys(before, "serving")
    one = {"name": "vectors", "kind": "embeddings", "base_url": first.url, "models": ["large"]}
    await console.put(PATH, json={"providers": [one], "defaults": {"embeddings": {"provider": "vectors"}}})
    now: Services = app.state.followed.services
    await change_embedders(now)
    assert [one.name for one in services.embedders.active] == ["openai/large"]
    assert {one.name for one in services.embedders.former} == before
    question = {"scope_id": "team", "message": {"speaker": "Dora", "text": "When does the ferry leave?"}}
    found = (await client.post("/v1/recall", headers=world.owner.auth, json=question)).json()
    assert found["degraded"] != "terms", "those before serve"
    await run_until_empty(services)
    assert await states(database) == {**dict.fromkeys(before, "retired"), "openai/large": "serving"}
    found = (await client.post("/v1/recall", headers=world.owner.auth, json=question)).json()
    assert found["degraded"] != "terms"
    services.embedders.close()


async def test_other_embeddings_serve_when_they_are_complete_and_the_old_ones_until_then(
    services: Services, console: httpx.AsyncClient, client: httpx.AsyncClient, world: World, database: str,
    first: ScriptedUpstream, second: ScriptedUpstream,
) -> None:  # fmt: skip
    standing = services.standing
    assert isinstance(standing, ProviderChange)

    def chosen(upstream: ScriptedUpstream, model: str) -> dict[str, Any]:
        one = {"name": "vectors", "kind": "embeddings", "base_url": upstream.url, "models": [model], "key": None}
        return {"providers": [one], "defaults": {"embeddings": {"provider": "vectors"}}}

    assert (await console.put(PATH, json=chosen(first, "small"))).is_success
    standing.start()
    await standing.settled()
    told = {"scope_id": "team", "transcript": [{"speaker": "Ben", "text": "The ferry leaves at noon"}]}
    await client.post("/v1/ingest", headers=world.owner.auth, json=told)
    await run_until_empty(services)
    assert await states(database) == {"openai/small": "serving"}
    assert (await console.put(PATH, json=chosen(second, "large"))).is_success
    await standing.settled()
    assert [one.name for one in services.embedders.active] == ["openai/large"]
    assert [one.name for one in services.embedders.former] == ["openai/small"]
    question = {"scope_id": "team", "message": {"speaker": "Dora", "text": "When does the ferry leave?"}}
    before = len(first.received)
    found = (await client.post("/v1/recall", headers=world.owner.auth, json=question)).json()
    assert found["degraded"] != "terms"
    assert len(first.received) == before + 1, "asked by the old one, whose vectors serve"
    await run_until_empty(services)
    assert await states(database) == {"openai/large": "serving", "openai/small": "retired"}
    before = len(first.received)
    found = (await client.post("/v1/recall", headers=world.owner.auth, json=question)).json()
    assert found["degraded"] != "terms"
    assert len(first.received) == before
    services.embedders.close()
