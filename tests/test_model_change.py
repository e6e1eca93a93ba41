"""Another model takes over while the one before it serves: search is never empty, never mixed, and it goes on after a
crash. Both models are made up; a whole start is in `test_upgrade`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from capsules import keep
from conftest import World, http
from fakes import HearingEmbedder, LetterEmbedder, WordEmbedder
from keepstone.access.readscope import account_scope, job_scope
from keepstone.app import make_app
from keepstone.cli.models import take_over
from keepstone.engine import embed
from keepstone.errors import UpstreamError
from keepstone.jobs import model_change
from keepstone.jobs.worker import run_until_empty
from keepstone.memory import scopes
from keepstone.model.ids import new_id
from keepstone.model.message import Message
from keepstone.providers.embedder import Embedding
from keepstone.providers.embedders import Embedders
from keepstone.services import Services
from keepstone.store import inspect, vectors
from test_jobs import fetching
from test_passages import LEFT, ask
from test_rowsecurity import as_owner
from test_search import later

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TALK = [("Anna", f"We saw {number} herons by the river on walk {number}") for number in range(80)]
QUESTION = "Who saw 7 herons on walk 7"


class Former(WordEmbedder):
    """Puts the same words elsewhere than the new one does."""

    name, dimension = "former/1", 32

    def __init__(self) -> None:
        self.asked = 0
        self.read: list[str] = []

    async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
        self.read += texts
        return await super().embed(texts)

    async def embed_question(self, text: str) -> Embedding:
        self.asked += 1
        return (await super().embed([text]))[0]


class New(HearingEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.read: list[str] = []

    async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
        self.read += texts
        return await super().embed(texts, before)

    async def embed_question(self, text: str) -> Embedding:
        self.asked += 1
        return (await super().embed([text]))[0]


def turn(minute: float, speaker: str, text: str) -> Message:
    at = NOON + timedelta(minutes=minute)
    return Message(id=new_id("msg"), client_id=None, speaker=speaker, text=text, at=at, reply_to=None, metadata={})


async def say(services: Services, world: World, *messages: Message) -> None:
    await scopes.ingest(services, world.owner.principal, "team", messages)


async def recall(services: Services, world: World, text: str = QUESTION) -> Any:
    async with http(make_app(services)) as client:
        body = {"scope_id": "team", "message": {"speaker": "Dora", "text": text}, "limit": 5, "explain": True}
        told = (await client.post("/v1/recall", headers=world.owner.auth, json=body)).json()
        return {name: value for name, value in told.items() if name != "trace_id"}  # each has its own


async def states(database: str) -> dict[str, tuple[str, int]]:
    """Of each model the state of its set, and how many vectors it has."""
    rows = await ask(
        database,
        "SELECT s.model, s.state,"
        " (SELECT count(*) FROM vectors v WHERE v.account = s.account AND v.vector_set = s.vector_set)"
        " + (SELECT count(*) FROM token_vectors v"
        "    WHERE v.account = s.account AND v.vector_set = s.vector_set AND s.state = 'retired')"
        " FROM vector_sets s",
    )
    return {model: (state, vectors) for model, state, vectors in rows}


async def work(services: Services, database: str) -> None:
    """What a running server does within two minutes."""
    await services.queue.add_anywhere("embed_pending", timestamp=0)
    await run_until_empty(services)
    await later(database)
    await ask(database, "UPDATE vector_sets SET retired_at = now() - interval '61 s' WHERE retired_at IS NOT NULL")
    await run_until_empty(services)


@pytest.fixture
async def before(services: Services, world: World) -> Any:
    """What the version before found."""
    services.embedders.active = (Former(),)
    await say(services, world, *(turn(minute, *spoken) for minute, spoken in enumerate(TALK)))
    await run_until_empty(services)
    return await recall(services, world)


@pytest.fixture
def new() -> New:
    return New()


@pytest.fixture
def former() -> Former:
    return Former()


@pytest.fixture
async def upgraded(services: Services, before: Any, new: New, former: Former) -> Services:
    """The version after, just started."""
    services.embedders.active, services.embedders.former = (new,), (former,)
    assert await embed.await_vectors(services) == 0, "everything is found by meaning as it is"
    return services


async def test_the_former_model_serves_until_all_of_the_new_vectors_are_there(
    upgraded: Services, world: World, before: Any, new: New, former: Former, database: str
) -> None:
    assert await recall(upgraded, world) == before
    account = world.owner.user.account
    assert await model_change.renew_slice(upgraded, account)
    assert await states(database) == {"former/1": ("serving", 80), "hearing/1": ("filling", 32)}
    assert await recall(upgraded, world) == before, "found as by the version before, to the last digit"
    assert (await model_change.finish(upgraded, account)) is False, "not yet"
    async with http(make_app(upgraded)) as client:
        ready = (await client.get("/readyz")).json()
    assert ready["pending_embeddings"] == 0
    assert ready["embedder"]["details"] == {
        "models": ["hearing/1"],
        "former_models": ["former/1"],
        "filling": [{"model": "hearing/1", "accounts": 1, "lacking": 48}],
    }
    async with as_owner(database) as conn:
        assert await inspect.filling(conn) == [("hearing/1", 1, 48)]
    await say(upgraded, world, turn(80, "Ben", "The otter came back at dusk"))
    await run_until_empty(upgraded)
    assert (await states(database))["former/1"] == ("serving", 81), "what is new is found as well"
    found = await recall(upgraded, world, "When did the otter come back")
    assert found["evidence"][0]["text"] == "The otter came back at dusk"
    assert found["degraded"] is None
    asked = former.asked
    await work(upgraded, database)
    assert await states(database) == {"former/1": ("retired", 0), "hearing/1": ("serving", 81)}
    found = await recall(upgraded, world)
    assert found["evidence"][0]["text"] == TALK[7][1]
    assert found["degraded"] is None
    assert former.asked == asked, "nobody asks it any more"
    assert len(new.read) == len(set(new.read)) == 81, "nothing was read twice"
    assert new.heard[f"Anna: {TALK[40][1]}"] == f"Anna: {TALK[39][1]}"
    assert await ask(database, LEFT) == [(0, 0, 0, 0)]
    await work(upgraded, database)
    assert await states(database) == {"former/1": ("retired", 0), "hearing/1": ("serving", 81)}
    assert len(new.read) == 81


async def test_it_goes_on_where_it_was_interrupted(upgraded: Services, world: World, new: New, database: str) -> None:
    account = world.owner.user.account
    assert await model_change.renew_slice(upgraded, account)

    class Killed(New):
        async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
            raise UpstreamError("Power cut.")

    upgraded.embedders.active = (Killed(),)
    with pytest.raises(UpstreamError):
        await model_change.renew_slice(upgraded, account)
    again = New()
    upgraded.embedders.active = (again,)
    assert await embed.await_vectors(upgraded) == 0
    await work(upgraded, database)
    assert await states(database) == {"former/1": ("retired", 0), "hearing/1": ("serving", 80)}
    assert len(again.read) == 48, "what was made before is not made again"
    assert not set(again.read) & set(new.read)


async def test_what_is_lost_on_the_way_is_made_before_it_serves(
    upgraded: Services, world: World, before: Any, database: str
) -> None:
    account = world.owner.user.account
    while await model_change.renew_slice(upgraded, account):
        pass
    lost = "p.account = v.account AND p.passage = v.passage AND p.text = %s AND v.vector_set = 2"
    await ask(database, f"DELETE FROM vectors v USING passages p WHERE {lost}", [TALK[3][1]])
    assert await model_change.finish(upgraded, account) is False
    assert await recall(upgraded, world) == before
    await work(upgraded, database)
    assert await states(database) == {"former/1": ("retired", 0), "hearing/1": ("serving", 80)}


async def test_where_the_former_model_cant_be_asked_the_new_one_serves_at_once(
    services: Services, world: World, before: Any, database: str
) -> None:
    services.embedders.active = (New(),)
    assert await embed.await_vectors(services) == 80
    found = await recall(services, world)
    assert found["degraded"] == "terms"
    assert found["evidence"][0]["text"] == TALK[7][1]
    await work(services, database)
    assert (await states(database))["hearing/1"] == ("serving", 80)
    assert (await recall(services, world))["degraded"] is None


async def test_when_the_former_model_is_lost_half_way_the_new_one_serves_what_it_has(
    upgraded: Services, world: World, database: str
) -> None:
    assert await model_change.renew_slice(upgraded, world.owner.user.account)
    upgraded.embedders.former = ()
    assert await embed.await_vectors(upgraded) == 48
    assert (await states(database))["hearing/1"] == ("serving", 32)
    assert (await recall(upgraded, world))["degraded"] is None
    await work(upgraded, database)
    assert (await states(database))["hearing/1"] == ("serving", 80)


async def test_somebody_may_go_back(upgraded: Services, world: World, before: Any, database: str) -> None:
    await work(upgraded, database)
    upgraded.embedders.active, upgraded.embedders.former = (Former(),), (New(),)
    assert await embed.await_vectors(upgraded) == 0
    assert (await states(database))["former/1"] == ("filling", 0)
    assert (await recall(upgraded, world))["degraded"] is None
    await work(upgraded, database)
    assert await states(database) == {"former/1": ("serving", 80), "hearing/1": ("retired", 0)}
    assert await recall(upgraded, world) == before


async def test_a_large_space_has_its_index_before_the_new_vectors_serve(
    upgraded: Services, world: World, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (embed, model_change):
        monkeypatch.setattr(module, "LARGE", 50)
    account = world.owner.user.account
    [(space,)] = await ask(database, "SELECT space FROM spaces WHERE name = 'team'")
    await embed.index_space(upgraded, job_scope(account, space), space)
    indexes = "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'near_%' ORDER BY 1"
    assert await ask(database, indexes) == [(f"near_{space}_1",)], "a set that is being filled has none"
    while await model_change.renew_slice(upgraded, account):
        pass
    assert await model_change.finish(upgraded, account)
    assert await ask(database, "SELECT indexed_sets FROM spaces WHERE name = 'team'") == [([2],)]
    await model_change.delete_retired(upgraded)
    assert len(await ask(database, indexes)) == 2, "whoever began before it has still what they search by"
    assert (await states(database))["former/1"] == ("retired", 80)
    await ask(database, "UPDATE vector_sets SET retired_at = now() - interval '61 s' WHERE retired_at IS NOT NULL")
    await model_change.delete_retired(upgraded)
    assert await ask(database, indexes) == [(f"near_{space}_2",)]
    assert (await states(database))["former/1"] == ("retired", 0)
    assert (await recall(upgraded, world))["evidence"][0]["text"] == TALK[7][1]


async def test_each_account_is_searched_by_what_serves_it(
    upgraded: Services, world: World, former: Former, database: str
) -> None:
    """The stranger's account, which comes later, has never seen the former model."""
    await scopes.ingest(upgraded, world.stranger.principal, "team", [turn(0, "Max", "The lighthouse is red")])
    await run_until_empty(upgraded)
    rows = await ask(database, "SELECT account, model, state FROM vector_sets ORDER BY 1, 2")
    ours, theirs = world.owner.user.account, world.stranger.user.account
    assert rows == [(ours, "former/1", "serving"), (theirs, "hearing/1", "serving")]
    async with http(make_app(upgraded)) as client:
        body = {"scope_id": "team", "message": {"speaker": "Max", "text": "What colour is the lighthouse"}}
        found = (await client.post("/v1/recall", headers=world.stranger.auth, json=body)).json()
    assert found["degraded"] is None
    assert former.asked == 0
    await recall(upgraded, world)
    assert former.asked == 1


async def test_what_is_saved_meanwhile_is_compared_with_what_serves(
    services: Services, world: World, database: str
) -> None:
    services.embedders.active = (Former(),)
    async with http(make_app(services)) as client:
        known = await keep(client, world.owner.auth, "The gate code is 4711", title="Gate")
        services.embedders.active, services.embedders.former = (New(),), (Former(),)
        await embed.await_vectors(services)
        for since in ("now", "today"):
            again = await keep(client, world.owner.auth, f"The gate code is 4711 {since}", title="Gate")
            assert known["id"] in [similar["id"] for similar in again["similar"]]
            await work(services, database)


async def test_what_is_new_has_its_vectors_before_what_gets_others(
    upgraded: Services, world: World, database: str
) -> None:
    account = world.owner.user.account
    async with upgraded.db.transaction(account_scope(account)) as conn:
        await upgraded.queue.add(conn, "renew_vectors", account=account)
        await upgraded.queue.add(conn, "embed_space", account=account, space=1)
    async with fetching(database) as fetch:
        tasks = dict(await ask(database, "SELECT id, task_name FROM procrastinate_jobs"))
        taken = [tasks[await fetch() or 0] for _ in tasks]
    assert taken == ["embed_space", "renew_vectors"]


async def test_reembed_leaves_to_a_running_server_what_serves_there(
    upgraded: Services, world: World, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    [(account, space)] = await ask(database, "SELECT account, space FROM spaces WHERE name = 'team'")
    assert await embed.fill_space(upgraded, job_scope(account, space), space) == 80

    async def one_works() -> int:
        return 1

    with monkeypatch.context() as running:
        running.setattr(upgraded.queue, "live_workers", one_works)
        assert await take_over(upgraded) == {"accounts_changed": 0, "accounts_waiting": 1}
    assert (await states(database))["former/1"] == ("serving", 80)
    assert await take_over(upgraded) == {"accounts_changed": 1, "accounts_waiting": 0}
    assert await states(database) == {"former/1": ("retired", 80), "hearing/1": ("serving", 80)}
    assert await take_over(upgraded) == {"accounts_changed": 0, "accounts_waiting": 0}


async def test_a_former_model_is_let_go_when_it_serves_nobody(upgraded: Services, database: str) -> None:
    async def serving() -> set[str]:
        async with upgraded.db.of_server() as conn:
            return await vectors.serving_models(conn)

    assert upgraded.embedders.let_go(await serving()) == ()
    await work(upgraded, database)
    [gone] = upgraded.embedders.let_go(await serving())
    assert gone.name == "former/1"
    assert upgraded.embedders.former == ()
    assert (await model_change.changing_accounts(upgraded)) == []


def test_only_the_leading_model_takes_anybodys_place() -> None:
    new, former = New(), Former()
    known = Embedders((new,), (former,))
    assert known.instead_of(new) == ["former/1"]
    assert known.outgoing({"former/1"}) == (former,)
    assert known.outgoing({"former/1", "hearing/1"}) == ()
    assert known.outgoing(set()) == ()
    beside = LetterEmbedder()
    known = Embedders((beside, new), (former,))
    assert (known.instead_of(beside), known.instead_of(new)) == ([], ["former/1"])
    assert Embedders((beside,), (former,)).instead_of(beside) == ["former/1"], "an endpoint leads alone"
