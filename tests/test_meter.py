"""The meter: each call has one line, whatever is retried and however many come at once; and what is told of it."""

import ast
import asyncio
import json
import os
import random
import signal
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from capsules import CAPSULES, at, get, rows
from conftest import Person, World, http
from fakes import FakeModel
from keepstone.access import meter, operator, plans
from keepstone.access.readscope import account_scope
from keepstone.app import make_app
from keepstone.errors import PaymentRequired, QuotaExceeded
from keepstone.model.plan import Plan
from keepstone.providers.llm import Completion
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.replies import Replies
from keepstone.services import Services
from keepstone.store.db import APP_ROLE, Database
from keepstone.store.roles import role_conninfo
from live import Live
from rooms import at_work, make_agent, make_room, say, sum_up
from upstream import Answer, ScriptedUpstream, asks, chunks, completion, error, events, response, says, streamed

OLGA = "olga@example.org"
JULY = datetime(2026, 7, 31, 23, 0, tzinfo=UTC)
AUGUST = datetime(2026, 8, 1, 0, 0, 1, tzinfo=UTC)
TALK = [
    {"speaker": "Anna", "text": "I finally moved to Lisbon last week."},
    {"speaker": "Ben", "text": "The ferry to the island leaves on the 14th of June."},
]
RECALL = {"scope_id": "team", "message": {"speaker": "Dora", "text": "ferry"}}
SOURCE = Path(__file__).parent.parent / "src" / "keepstone"


async def ingest(client: httpx.AsyncClient, auth: dict[str, str]) -> None:
    answer = await client.post("/v1/ingest", headers=auth, json={"scope_id": "team", "transcript": TALK})
    assert answer.status_code == 202, answer.text


async def recall(client: httpx.AsyncClient, auth: dict[str, str], **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await client.post("/v1/recall", headers=auth | named, json=RECALL)


async def balance(database: str, person: Person) -> int | None:
    ((left,),) = await rows(database, "SELECT credits FROM accounts WHERE account = %s", [person.user.account])
    return left


async def sums(database: str, person: Person) -> tuple[Any, Any]:
    """Credits of the ledger, and of the months: always the same."""
    found: list[Any] = []
    for query in (
        "SELECT coalesce(sum(credits), 0)::int FROM usage_ledger WHERE account = %s",
        "SELECT coalesce(sum(credits), 0)::int FROM usage_months WHERE account = %s",
    ):
        ((total,),) = await rows(database, query, [person.user.account])
        found.append(total)
    return found[0], found[1]


@asynccontextmanager
async def patient(services: Services, database: str) -> AsyncGenerator[Services]:
    """With connections for which a thousand may wait."""
    db = Database(role_conninfo(database, APP_ROLE), owner=database, size=10, wait_seconds=300)
    await db.open()
    try:
        yield replace(services, db=db)
    finally:
        await db.close()


# ------------------------------------------------------------------------------------------------------- credits


async def test_a_thousand_calls_at_once_on_a_balance_of_five_hundred_leave_nothing_and_refuse_five_hundred(
    services: Services, world: World, database: str
) -> None:
    async with patient(services, database) as waiting, http(make_app(waiting), timeout=None) as client:
        await ingest(client, world.owner.auth)
        await operator.set_allowance(services, OLGA, credit_count=500)
        begun = time.perf_counter()
        answers = await asyncio.gather(*(recall(client, world.owner.auth) for _ in range(1000)))
        seconds = time.perf_counter() - begun
    codes = sorted(answer.status_code for answer in answers)
    assert codes == [200] * 500 + [402] * 500
    assert await balance(database, world.owner) == 0
    assert await sums(database, world.owner) == (500, 500)
    ((calls, distinct),) = await rows(database, "SELECT count(*), count(DISTINCT call_id) FROM usage_ledger")
    assert (calls, distinct) == (500, 500)
    refused = next(answer for answer in answers if answer.status_code == 402).json()["error"]
    assert refused["code"] == "PAYMENT_REQUIRED"
    assert refused["upgrade_url"].endswith("/pricing")
    print(f"1,000 recalls at once on 500 credits: {seconds:.1f} s")  # noqa: T201


async def test_a_call_that_is_repeated_is_answered_and_paid_once_also_when_nothing_is_left(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    """Its answer may have been lost on the way; the credit was not."""
    await ingest(client, world.owner.auth)
    await operator.set_allowance(services, OLGA, credit_count=1)
    for _ in range(3):
        assert (await recall(client, world.owner.auth, X_Request_Id="the-same-request")).status_code == 200
    assert (await recall(client, world.owner.auth)).status_code == 402
    assert await balance(database, world.owner) == 0
    at_once = await asyncio.gather(
        *(recall(client, world.owner.auth, X_Request_Id="the-same-request") for _ in range(10))
    )
    assert {answer.status_code for answer in at_once} == {200}
    assert await sums(database, world.owner) == (1, 1)


async def test_one_request_id_for_a_recall_and_a_question_is_two_calls(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    await ingest(client, world.owner.auth)
    await operator.set_allowance(services, OLGA, credit_count=10)
    named = world.owner.auth | {"X-Request-Id": "one-for-everything"}
    assert (await client.post("/v1/recall", headers=named, json=RECALL)).status_code == 200
    asked = await client.post("/v1/ask", headers=named, json={"scope_id": "team", "question": "ferry"})
    assert asked.json()["usage"] == {"credits": 5}
    assert await balance(database, world.owner) == 4


class Counted:
    """A language model that says how often it was asked."""

    name = "counted"

    def __init__(self) -> None:
        self.asked = 0

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> Completion:
        self.asked += 1
        await asyncio.sleep(0)
        return Completion(text="On the 14th of June [2].", tokens_in=1, tokens_out=1)

    async def close(self) -> None:
        pass


ASK = {"scope_id": "team", "question": "When does the ferry leave?"}


async def ask(
    client: httpx.AsyncClient, auth: dict[str, str], name: str | None = "the-same-request", **more: Any
) -> Any:
    named = {"X-Request-Id": name} if name else {}
    answer = await client.post("/v1/ask", headers=auth | named, json=ASK | more)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_question_that_is_repeated_gets_the_same_answer_and_the_model_is_asked_once(
    services: Services, world: World, database: str
) -> None:
    await operator.set_allowance(services, OLGA, credit_count=100)
    model = Counted()
    async with http(make_app(replace(services, llm=model))) as client:
        await ingest(client, world.owner.auth)
        answers = await asyncio.gather(*(ask(client, world.owner.auth) for _ in range(10)))
        answers += [await ask(client, world.owner.auth) for _ in range(10)]
        assert [answer == answers[0] for answer in answers] == [True] * 20
        assert (model.asked, await balance(database, world.owner)) == (1, 95)
        for _ in range(2):
            await ask(client, world.owner.auth, None)
        assert (model.asked, await balance(database, world.owner)) == (3, 85), "without an id each is its own"


async def test_another_parameter_is_another_call(services: Services, world: World, database: str) -> None:
    await operator.set_allowance(services, OLGA, credit_count=100)
    async with http(make_app(services)) as client:
        await ingest(client, world.owner.auth)
        others: list[dict[str, Any]] = [{}, {"max_tokens": 10}, {"as_of": "2026-01-01T00:00:00Z"}]
        for more in others:
            await ask(client, world.owner.auth, **more)
        assert await balance(database, world.owner) == 95, "what says nothing costs nothing"
        named = world.owner.auth | {"X-Request-Id": "the-same-request"}
        message = RECALL["message"]
        for more in (
            {}, {"limit": 3}, {"max_tokens": 10}, {"as_of": "2026-01-01T00:00:00Z"}, {"min_relevance": 0.1},
            {"message": {"speaker": "Anna", "text": "ferry"}},
            {"message": {"speaker": "Dora", "text": "ferry", "ts": "2026-01-01T00:00:00Z"}}, {"message": message},
        ):  # fmt: skip
            assert (await client.post("/v1/recall", headers=named, json=RECALL | more)).status_code == 200
        assert await balance(database, world.owner) == 88, "the last is the first again"


async def test_of_two_people_in_an_account_each_gets_their_own_answer(services: Services, world: World) -> None:
    async with http(make_app(services)) as client:
        await ingest(client, world.owner.auth)
        assert (await ask(client, world.owner.auth))["evidence"]
        assert (await ask(client, world.member.auth))["evidence"] == []


@pytest.mark.parametrize(("minutes", "paid"), [(1, 5), (9, 5), (21, 10), (60 * 24, 10)])
async def test_the_same_again_is_free_for_some_minutes_and_not_for_ever(
    services: Services, world: World, database: str, minutes: int, paid: int
) -> None:
    """Also in another process, which has only the ledger to know it by."""
    await operator.set_allowance(services, OLGA, credit_count=100)
    for now in (JULY - timedelta(days=9), JULY - timedelta(days=9) + timedelta(minutes=minutes)):
        async with http(make_app(replace(services, clock=lambda now=now: now, replies=Replies()))) as client:
            await ingest(client, world.owner.auth)
            await ask(client, world.owner.auth)
    assert await balance(database, world.owner) == 100 - paid


async def test_a_plan_raises_the_credits_once_a_month_and_takes_none(
    services: Services, world: World, database: str
) -> None:
    await plans.put_plan(services, Plan(name="monthly", monthly_credits=3))
    async with at(services, JULY) as client:
        await ingest(client, world.owner.auth)
        assert (await recall(client, world.owner.auth)).status_code == 200
        assert await balance(database, world.owner) is None, "not counted"
    july = replace(services, clock=lambda: JULY)
    await operator.set_allowance(july, OLGA, plan="monthly")
    async with at(services, JULY) as client:
        codes = [(await recall(client, world.owner.auth)).status_code for _ in range(4)]
        assert codes == [200] * 3 + [402]
        shown = await get(client, world.owner.auth, "/v1/usage")
        assert (shown["month"]["credits"], shown["month"]["credits_left"]) == (4, 0)
    async with at(services, AUGUST) as client:
        shown = await get(client, world.owner.auth, "/v1/usage")
        assert (shown["month"]["credits"], shown["month"]["credits_left"]) == (0, 3), "before the first call already"
        codes = await asyncio.gather(*(recall(client, world.owner.auth) for _ in range(12)))
        assert sorted(answer.status_code for answer in codes) == [200] * 3 + [402] * 9, "raised once"
    assert await sums(database, world.owner) == (7, 7)
    august = replace(services, clock=lambda: AUGUST)
    await operator.set_allowance(august, OLGA, credit_count=50)
    async with at(services, AUGUST + timedelta(days=31)) as client:
        assert (await recall(client, world.owner.auth)).status_code == 200
    assert await balance(database, world.owner) == 49, "what was bought beyond it stays"
    await operator.set_allowance(august, OLGA, credit_count=1)
    async with at(services, AUGUST + timedelta(days=3)) as client:
        assert [(await recall(client, world.owner.auth)).status_code for _ in range(2)] == [200, 402], "as it was set"


async def test_another_plan_brings_its_credits_at_once(services: Services, world: World, database: str) -> None:
    await plans.put_plan(services, Plan(name="small", monthly_credits=2))
    await plans.put_plan(services, Plan(name="large", monthly_credits=20))
    for plan, left in (("small", 2), ("large", 20), ("large", 20), ("small", 20), ("unlimited", 20)):
        await operator.set_allowance(services, OLGA, plan=plan)
        assert await balance(database, world.owner) == left
    await operator.set_allowance(services, OLGA, plan="large", credit_count=5)
    assert await balance(database, world.owner) == 5


# ------------------------------------------------------------------------------------------- queries of a month


async def query(services: Services, person: Person, call_id: str, **more: Any) -> bool:
    """One of a graph, without the graph."""
    try:
        async with services.db.transaction(account_scope(person.user.account)) as conn:
            await meter.begin(services, conn, "memory_recall", call_id, **more)
        async with services.db.transaction(account_scope(person.user.account)) as conn:
            await meter.charge(services, conn, person.principal, "memory_recall", call_id, **more)
    except QuotaExceeded:
        return False
    return True


async def test_a_month_has_as_many_queries_as_the_plan_says_however_many_come_at_once(
    services: Services, world: World, database: str
) -> None:
    await plans.put_plan(services, Plan(name="hundred", monthly_queries=100))
    await operator.set_allowance(services, OLGA, plan="hundred")
    async with patient(services, database) as waiting:
        july, august = replace(waiting, clock=lambda: JULY), replace(waiting, clock=lambda: AUGUST)
        done = await asyncio.gather(*(query(july, world.owner, f"call {number}") for number in range(400)))
        assert sum(done) == 100
        again = [number for number, good in enumerate(done) if good][:10]
        assert all([await query(july, world.owner, f"call {number}") for number in again]), "they were counted"
        assert not await query(july, world.member, "another user"), "it is the account's"
        assert await query(july, world.stranger, "another account")
        with pytest.raises(QuotaExceeded) as fault:
            async with july.db.transaction(account_scope(world.owner.user.account)) as conn:
                await meter.begin(july, conn, "memory_recall", "one more", code="QUOTA_EXCEEDED")
        assert await query(august, world.owner, "one more"), "a new month"
    assert fault.value.code == "QUOTA_EXCEEDED"
    assert fault.value.details == {"queries": 100, "monthly_queries": 100, "resets_at": "2026-08-01T00:00:00Z"}
    assert fault.value.retry_after == 3600
    assert fault.value.upgrade_url is not None
    months = "SELECT month::text, queries FROM usage_months WHERE account = %s ORDER BY 1"
    assert await rows(database, months, [world.owner.user.account]) == [("2026-07-01", 100), ("2026-08-01", 1)]


async def test_a_refused_charge_leaves_nothing_behind(services: Services, world: World, database: str) -> None:
    await plans.put_plan(services, Plan(name="none", monthly_queries=0))
    await operator.set_allowance(services, OLGA, plan="none", credit_count=0)
    scope = account_scope(world.owner.user.account)
    for action, refusal in (("memory_recall", QuotaExceeded), ("recall", PaymentRequired), ("ask", PaymentRequired)):
        with pytest.raises(refusal):
            async with services.db.transaction(scope) as conn:
                await meter.charge(services, conn, world.owner.principal, action, "a call")
        with pytest.raises(refusal):
            async with services.db.transaction(scope) as conn:
                await meter.begin(services, conn, action)
    assert await rows(database, "SELECT * FROM usage_ledger") == []
    assert await rows(database, "SELECT * FROM usage_months") == []
    default = QuotaExceeded("x")
    assert default.code == "quota_exceeded"


# ------------------------------------------------------------------------------------------------------ crashes


def test_kills_in_the_middle_of_a_thousand_calls_neither_lose_nor_double_one(tmp_path: Path) -> None:
    """Keepstone is killed three times, and its Postgres once: a call without an answer is asked again by its own id."""
    calls, given, at_once = 1000, 700, 40
    chance = random.Random(8)
    server = Live(tmp_path / "home")
    try:
        made = httpx.post(f"{server.url}/v1/ingest", headers=server.auth, json={"scope_id": "team", "transcript": TALK})
        assert made.status_code == 202
        assert server.cli("users", "set", "owner@localhost", "--credits", str(given)).returncode == 0
        answers: dict[str, int] = {}
        for kill_after in (150, 350, 550):
            killing = _Killing(server, kill_after, chance.uniform(0, 0.05), postgres=kill_after == 350)
            asyncio.run(_ask_all(server, calls, answers, at_once, killing))
            assert killing.done
            server.stop(signal.SIGKILL)
            server = Live(tmp_path / "home")
            used = _used(server)
            taken = given - used["month"]["credits_left"]
            assert used["totals"]["calls"] == used["totals"]["credits"] == used["month"]["credits"] == taken
            paid = sum(status == 200 for status in answers.values())
            assert paid <= taken <= paid + at_once, "what was answered is paid; the rest was under way"
            print(f"killed: {len(answers)} answered, {paid} of them as paid, {taken} paid")  # noqa: T201
        asyncio.run(_ask_all(server, calls, answers, at_once, None))
        assert sorted(answers.values()) == [200] * given + [402] * (calls - given)
        used = _used(server)
        assert (used["totals"]["calls"], used["totals"]["credits"]) == (given, given), "one line a call"
        assert used["month"]["credits"] == given, "the month is the sum of its lines"
        assert used["month"]["credits_left"] == 0, "and what was taken from the balance is the same"
    finally:
        server.stop(signal.SIGKILL)


def _used(server: Live) -> Any:
    return httpx.get(f"{server.url}/v1/usage", headers=server.auth, timeout=60).json()


class _Killing:
    """A moment after so many answers; Postgres first, if it is to go too."""

    def __init__(self, server: Live, after: int, moment: float, *, postgres: bool) -> None:
        self.after = after
        self.done = False
        self._server = server
        self._moment = moment
        self._postgres = postgres

    def begin(self) -> None:
        self.after = -1
        asyncio.get_running_loop().call_later(self._moment, self._kill)

    def _kill(self) -> None:
        if self._postgres:
            pid = (self._server.home / "postgres" / "data" / "postmaster.pid").read_text().split()[0]
            os.kill(int(pid), signal.SIGKILL)
            self._postgres = False
            asyncio.get_running_loop().call_later(1, self._kill)
            return
        self._server.process.send_signal(signal.SIGKILL)
        self.done = True


async def _ask_all(
    server: Live, calls: int, answers: dict[str, int], at_once: int, killing: _Killing | None
) -> None:  # fmt: skip
    """Each call that has no answer yet, until the server is gone."""
    todo = [call_id for call_id in (f"call-number-{number}" for number in range(calls)) if call_id not in answers]

    async def ask(client: httpx.AsyncClient) -> None:
        while todo:
            call_id = todo.pop()
            while call_id not in answers:
                named = server.auth | {"X-Request-Id": call_id}
                try:
                    answer = await client.post("/v1/recall", headers=named, json=RECALL)
                except httpx.TransportError:
                    assert killing is not None, "the server is there"
                    return
                if answer.status_code in {200, 402}:
                    answers[call_id] = answer.status_code
                else:
                    assert answer.status_code == 503, answer.text
                    await asyncio.sleep(0.05)
                if killing is not None and len(answers) == killing.after:
                    killing.begin()

    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        await asyncio.gather(*(ask(client) for _ in range(at_once)))


# ------------------------------------------------------------------------------------------------- language models


async def lines(database: str) -> list[tuple[Any, ...]]:
    """Of language models: whose, with what, how much, where."""
    query = """
        SELECT user_id, credential_id, tokens_in, tokens_out, details FROM usage_ledger WHERE action = 'llm' ORDER BY at
    """
    return await rows(database, query)


async def test_what_a_language_model_reads_and_writes_is_noted_by_user_and_key(
    services: Services, world: World, database: str
) -> None:
    async with http(make_app(replace(services, llm=FakeModel("A title", tokens_in=7, tokens_out=3)))) as client:
        await ingest(client, world.owner.auth)
        await client.post("/v1/ask", headers=world.owner.auth, json={"scope_id": "team", "question": "ferry?"})
        made = await client.post(CAPSULES, headers=world.member.auth, json={"content_md": "We took the early ferry."})
        assert made.json()["title"] == "A title"
        named = world.service_auth | {"X-Keepstone-User": world.member.user.id}
        await client.post(f"{CAPSULES}/title", headers=named, json={"content_md": "Something else."})
    olga, max_ = world.owner, world.member
    found = await lines(database)
    assert found[:2] == [(olga.user.id, olga.key_id, 7, 3, {}), (max_.user.id, max_.key_id, 7, 3, {})]
    assert found[2][0] == max_.user.id
    assert found[2][1].startswith("key_"), "the service key's"
    assert found[2][1] != max_.key_id
    assert await rows(database, "SELECT tokens_in, tokens_out, credits FROM usage_months") == [(21, 9, 5)]


async def test_what_is_done_for_a_room_is_noted_with_the_room(services: Services, world: World, database: str) -> None:
    model = FakeModel("[]", tokens_in=7, tokens_out=3)
    async with at_work(services, database, llm=model) as working, http(make_app(working)) as client:
        await make_agent(client, world.owner.auth)
        room = await make_room(client, world.owner.auth)
        await say(client, world.owner.auth, room, "We decided to take the ferry at nine.")
        await sum_up(working)
    found = await lines(database)
    assert found, "it was read"
    assert {line[4].get("room") for line in found} == {room}
    assert found[0][:2] == (world.owner.user.id, None), "a job has no key"
    async with http(make_app(services)) as client:
        used = await get(client, world.owner.auth, "/v1/usage", by="room,action")
    assert [(row["room"], row["action"], row["tokens_in"]) for row in used["rows"]] == [(room, "llm", 7 * len(found))]


async def test_a_line_that_cant_be_written_does_not_break_the_call(
    services: Services, world: World, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
        await conn.execute("ALTER TABLE keepstone.usage_ledger ADD CHECK (action <> 'llm')")
    async with http(make_app(replace(services, llm=FakeModel("A title", tokens_in=7, tokens_out=3)))) as client:
        made = await client.post(CAPSULES, headers=world.owner.auth, json={"content_md": "We took the early ferry."})
    assert (made.status_code, made.json()["title"]) == (201, "A title")
    ours = [record.message for record in caplog.records if record.name.startswith("keepstone")]
    assert ours == ["tokens not noted"]
    assert "ferry" not in caplog.text


LOOKS = {"outage_of", "name_of", "away"}  # they ask nothing of a model
CHOOSES = {"access/meter.py", "runtime.py", "providers/choose.py", "jobs/provider_change.py"}


def test_every_use_of_the_language_model_goes_past_the_meter() -> None:
    """`services.llm` may be looked for, chosen, and asked whether it is there; it is called through `metered`."""
    wrong: list[str] = []
    for path in SOURCE.rglob("*.py"):
        short = str(path.relative_to(SOURCE))
        tree = ast.parse(path.read_text())
        compared = {id(node.left) for node in ast.walk(tree) if isinstance(node, ast.Compare)}
        looked_at = {
            id(given)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in LOOKS
            for given in node.args
        }
        wrong += [
            f"{short}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and node.attr == "llm" and id(node) not in compared
            and id(node) not in looked_at and short not in CHOOSES
        ]  # fmt: skip
    assert wrong == []


# ---------------------------------------------------------------------------------------------------------- proxy


@pytest.fixture(scope="module")
def scripted() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    yield made
    made.stop()


@pytest.fixture
async def proxied(services: Services, scripted: ScriptedUpstream) -> AsyncGenerator[httpx.AsyncClient]:
    scripted.script()
    direct = OpenAIUpstream(scripted.url, "sk-of-the-operator", "small")
    async with http(make_app(replace(services, upstream=direct))) as client:
        yield client
    await direct.close()


HI = [{"role": "user", "content": "hi"}]
SAVES = asks("x_save_memory", "o1", content="Olga takes the ferry.")


@pytest.mark.parametrize(
    ("path", "body", "answers", "noted"),
    [
        ("chat/completions", {"messages": HI}, [completion("hello")], (7, 3, {})),
        ("chat/completions", {"messages": HI}, [completion(None, SAVES), completion("saved")], (14, 6, {})),
        ("chat/completions", {"messages": HI, "stream": True}, [streamed(*chunks("hi", usage=True))], (7, 3, {})),
        ("responses", {"input": "hi"}, [response(says("hello"))], (7, 3, {})),
        ("responses", {"input": "hi", "stream": True}, [streamed(*events(says("hello")))], (7, 3, {})),
    ],
)
@pytest.mark.parametrize("memory", ["on", "off"])
async def test_what_an_upstream_says_it_used_is_noted(
    proxied: httpx.AsyncClient, scripted: ScriptedUpstream, world: World, database: str, path: str, memory: str,
    body: dict[str, Any], answers: Sequence[Answer], noted: tuple[Any, ...],
) -> None:  # fmt: skip
    if memory == "off" and len(answers) > 1:
        pytest.skip("without memory there are no tools of ours")
    scripted.script(*answers)
    answer = await proxied.post(f"/v1/{path}", headers=world.owner.auth | {"X-Keepstone-Memory": memory}, json=body)
    assert answer.status_code == 200
    assert await lines(database) == [(world.owner.user.id, world.owner.key_id, *noted)]


async def test_when_the_tokens_of_a_month_are_used_up_no_model_is_asked_until_the_next(
    services: Services, world: World, scripted: ScriptedUpstream
) -> None:
    await plans.put_plan(services, Plan(name="few-tokens", monthly_tokens=15))
    await operator.set_allowance(services, OLGA, plan="few-tokens")
    model = FakeModel("A title", tokens_in=7, tokens_out=3)
    scripted.script()
    scripted.otherwise = lambda request: completion("hello")
    direct = OpenAIUpstream(scripted.url, "sk", "small")
    spoken = {"messages": [{"role": "user", "content": "hi"}]}
    working = replace(services, llm=model, upstream=direct)
    titles: list[str] = []
    async with http(make_app(replace(working, clock=lambda: JULY))) as client:
        for text in ("We took the early ferry.", "The cook is from Ghent.", "The lamp was red."):
            made = await client.post(CAPSULES, headers=world.owner.auth, json={"content_md": text})
            assert made.status_code == 201, made.text
            titles.append(made.json()["title"])
        assert [title == "A title" for title in titles] == [True, True, False], "then by the rules"
        assert (await get(client, world.owner.auth, "/v1/usage"))["month"]["tokens_left"] == 0
        refused = await client.post("/v1/chat/completions", headers=world.owner.auth, json=spoken)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "insufficient_quota")
        assert not scripted.received
    async with http(make_app(replace(working, clock=lambda: AUGUST))) as client:
        answered = await client.post("/v1/chat/completions", headers=world.owner.auth, json=spoken)
        assert answered.status_code == 200, answered.text
        stranger = await client.post("/v1/chat/completions", headers=world.stranger.auth, json=spoken)
        assert stranger.status_code == 200, "another account's tokens are its own"
    await direct.close()


async def test_what_an_upstream_does_not_say_is_guessed(
    proxied: httpx.AsyncClient, scripted: ScriptedUpstream, world: World, database: str
) -> None:
    scripted.script(streamed(*chunks("one two three four five")))
    body = {"messages": [{"role": "user", "content": "x" * 4000}], "stream": True}
    await proxied.post("/v1/chat/completions", headers=world.owner.auth | {"X-Keepstone-Memory": "off"}, json=body)
    ((_, _, read, written, details),) = await lines(database)
    assert 1000 < read < 1100
    assert 4 <= written <= 8
    assert details == {"estimated": True}


async def test_a_stream_that_breaks_off_is_guessed_and_a_refusal_costs_nothing(
    proxied: httpx.AsyncClient, scripted: ScriptedUpstream, world: World, database: str
) -> None:
    scripted.script(error(400, "no such model"))
    await proxied.post("/v1/chat/completions", headers=world.owner.auth, json={"messages": HI})
    assert await lines(database) == []
    scripted.script(streamed(*chunks("half of it is there")[:4], ending="cut"))
    cut = await proxied.post("/v1/chat/completions", headers=world.owner.auth, json={"messages": HI, "stream": True})
    assert "error" in cut.text
    ((_, _, read, written, details),) = await lines(database)
    assert (read > 0, written > 0, details) == (True, True, {"estimated": True})


async def test_an_answer_in_a_chat_of_the_dashboard_is_noted(
    services: Services, scripted: ScriptedUpstream, world: World, database: str
) -> None:
    scripted.script(streamed(*chunks("At nine.", usage=True)))
    direct = OpenAIUpstream(scripted.url, "sk-of-the-operator", "small")
    async with http(make_app(replace(services, upstream=direct))) as client:
        chat = (await client.post("/v1/chats", headers=world.owner.auth, json={"title": "Island"})).json()["id"]
        path = f"/v1/chats/{chat}/messages"
        said = await client.post(path, headers=world.owner.auth, json={"content": "When does the ferry leave?"})
        assert "message.done" in said.text
    await direct.close()
    assert await lines(database) == [(world.owner.user.id, world.owner.key_id, 7, 3, {})]


# ---------------------------------------------------------------------------------------------------------- usage


async def used_something(services: Services, world: World) -> None:
    """In July by the owner, the member and a service key; in August by the owner. The stranger too."""
    async with at(services, JULY) as client:
        for auth in (world.owner.auth, world.member.auth, world.stranger.auth, world.service_auth):
            await ingest(client, auth)
            await recall(client, auth)
        await recall(client, world.owner.auth)
    async with at(services, JULY - timedelta(days=1)) as client:
        await client.post("/v1/ask", headers=world.owner.auth, json={"scope_id": "team", "question": "ferry?"})
    async with at(services, AUGUST) as client:
        await recall(client, world.owner.auth)


async def test_usage_by_day_and_action_with_what_is_left(services: Services, world: World) -> None:
    await plans.put_plan(services, Plan(name="team", monthly_queries=10, key_per_minute=600, capacity_bytes=1000))
    await operator.set_allowance(replace(services, clock=lambda: JULY), OLGA, plan="team", credit_count=100)
    await used_something(services, world)
    async with at(services, AUGUST) as client:
        shown = await get(client, world.owner.auth, "/v1/usage", **{"from": "2026-07-01", "to": "2026-07-31"})
        assert shown["from"] == "2026-07-01T00:00:00Z"
        assert shown["to"] == "2026-08-01T00:00:00Z"
        none = {"queries": 0, "tokens_in": 0, "tokens_out": 0, "key": None, "room": None}
        assert shown["rows"] == [
            {"day": "2026-07-30", "action": "ask", "calls": 1, "credits": 5, **none},
            {"day": "2026-07-31", "action": "recall", "calls": 4, "credits": 4, **none},
        ]
        assert shown["totals"] == {"calls": 5, "queries": 0, "credits": 9, "tokens_in": 0, "tokens_out": 0}
        assert shown["plan"] == {
            "name": "team", "capacity_bytes": 1000, "monthly_queries": 10, "monthly_credits": None,
            "monthly_tokens": None, "key_per_minute": 600, "account_per_minute": None,
        }  # fmt: skip
        assert shown["month"] == {
            "month": "2026-08-01", "resets_at": "2026-09-01T00:00:00Z", "queries": 0, "credits": 1, "tokens_in": 0,
            "tokens_out": 0, "queries_left": 10, "credits_left": 90, "tokens_left": None,
        }  # fmt: skip
        assert shown["truncated"] is False
        this_month = await get(client, world.owner.auth, "/v1/usage")
        assert [row["day"] for row in this_month["rows"]] == ["2026-08-01"]
        exact = {"from": "2026-07-31T22:59:59Z", "to": "2026-07-31T23:00:00Z"}
        assert (await get(client, world.owner.auth, "/v1/usage", **exact))["rows"] == []
        for midnight in ("2026-07-31T00:00:00", "2026-07-31T00:00:00Z", "2026-07-31T02:00:00+02:00"):
            until = await get(client, world.owner.auth, "/v1/usage", **{"from": "2026-07-30", "to": midnight})
            assert [row["day"] for row in until["rows"]] == ["2026-07-30"], "a time, also at midnight, is no day"
        july = {"from": "2026-07-01", "to": "2026-07-31"}
        by_day = await get(client, world.owner.auth, "/v1/usage", by="day", **july)
        assert [(row["day"], row["action"], row["credits"]) for row in by_day["rows"]] == [
            ("2026-07-30", None, 5), ("2026-07-31", None, 4)
        ]  # fmt: skip
        by_action = await get(client, world.owner.auth, "/v1/usage", by="action", **july)
        assert [(row["action"], row["calls"]) for row in by_action["rows"]] == [("ask", 1), ("recall", 4)]
        by_key = await get(client, world.owner.auth, "/v1/usage", by="key", **july)
        assert {row["key"]: row["credits"] for row in by_key["rows"]}[world.member.key_id] == 1
        assert len(by_key["rows"]) == 3


async def test_an_owner_sees_the_accounts_a_member_their_own_and_a_service_key_its_own(
    services: Services, world: World
) -> None:
    await used_something(services, world)
    async with at(services, AUGUST) as client:
        july = {"from": "2026-07-01", "to": "2026-07-31"}
        people = ((world.owner.auth, 5), (world.member.auth, 1), (world.service_auth, 1), (world.stranger.auth, 1))
        for auth, calls in people:
            shown = await get(client, auth, "/v1/usage", **july)
            assert shown["totals"]["calls"] == calls
        named = world.service_auth | {"X-Keepstone-User": world.member.user.id}
        assert (await get(client, named, "/v1/usage", **july))["totals"]["calls"] == 1, "as the member"
        member = await get(client, world.member.auth, "/v1/usage", by="key", **july)
        assert [row["key"] for row in member["rows"]] == [world.member.key_id]
        assert member["month"]["credits"] == 1, "what is left is the account's"
        assert (await client.get("/v1/usage")).status_code == 401


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"from": "2026-07-02", "to": "2026-07-01"}, 400), ({"from": "2020-01-01", "to": "2026-07-01"}, 400),
        ({"by": "hour"}, 422), ({"by": "day,"}, 422), ({"from": "yesterday"}, 422),
        ({"to": "9999-12-31"}, 422), ({"from": "9999-12-31"}, 400),
    ],
)  # fmt: skip
async def test_a_time_that_cant_be_is_refused(
    client: httpx.AsyncClient, world: World, params: dict[str, str], status: int
) -> None:
    answer = await client.get("/v1/usage", headers=world.owner.auth, params=params)
    assert answer.status_code == status, answer.text


async def test_the_operator_sees_every_accounts_numbers_and_no_text(
    app: FastAPI, services: Services, world: World
) -> None:
    await used_something(services, world)
    path = "/x_console/api/usage"
    july = {"from": "2026-07-01", "to": "2026-07-31"}
    await operator.set_allowance(services, "max@example.org", admin=True)
    async with http(app, headers=world.member.auth) as here, http(app, address="192.0.2.7") as away:
        every = (await here.get(path, params=july)).json()
        assert [(one["account_id"], one["calls"], one["credits"]) for one in every["accounts"]] == [
            (world.owner.principal.account_id, 5, 9), (world.stranger.principal.account_id, 1, 1)
        ]  # fmt: skip
        assert every["accounts"][0]["plan"] == "unlimited"
        account_id = world.stranger.principal.account_id
        one = await here.get(path, params=july | {"account_id": account_id})
        assert one.json()["totals"]["calls"] == 1
        assert one.json()["rows"][0]["action"] == "recall"
        for text in ("ferry", "Lisbon", "Dora"):
            assert text not in one.text + json.dumps(every)
        nobody = {"account_id": "acct_" + "0" * 24}
        assert (await here.get(path, params=nobody)).status_code == 404
        assert (await here.get(path, params={"account_id": "x"})).status_code == 422
        for auth, status in ((dict[str, str](), 401), (world.owner.auth, 403), (world.service_auth, 403)):
            assert (await away.get(path, headers=auth)).status_code == status
