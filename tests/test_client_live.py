"""The Python client against a real server: every resource, sync and async, streams, and the commands that use it."""

import json
import re
from collections.abc import AsyncGenerator, Generator
from datetime import UTC, datetime, timedelta
from typing import assert_type

import pytest

from cairn_client import AsyncCairn, Cairn, ConnectionFailed, Page, Retries, errors
from cairn_client.binding import AsyncPages
from cairn_client.chats import ChatEvent, MemoriesInjected, MessageCreated, MessageDelta, MessageDone
from cairn_client.graphs import Graph
from cairn_client.scopes import Recalled, Turn
from live import Live
from upstream import ScriptedUpstream, chunks, completion, error, streamed

pytestmark = pytest.mark.xdist_group("client")

FERRY = "The ferry to the island leaves at nine from pier 3."


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    made.otherwise = lambda request: completion("Ferries")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def server(model: ScriptedUpstream) -> Generator[Live]:
    # No jobs: they would ask the same model, in between.
    made = Live(
        CAIRN_LLM_PROVIDER="openai", CAIRN_LLM_BASE_URL=model.url, CAIRN_LLM_API_KEY="sk", CAIRN_LLM_MODEL="small",
        CAIRN_WORKER="off", CAIRN_INJECT_RELEVANCE="0.01",
    )  # fmt: skip
    yield made
    made.stop()


@pytest.fixture
def cairn(server: Live) -> Generator[Cairn]:
    with Cairn(base_url=server.url, api_key=server.key) as made:
        yield made


@pytest.fixture
async def later(server: Live) -> AsyncGenerator[AsyncCairn]:
    async with AsyncCairn(base_url=server.url, api_key=server.key) as made:
        yield made


def test_the_server_is_alive_and_says_which_parts_are_not_ready(cairn: Cairn) -> None:
    assert cairn.health.alive().status == "ok"
    ready = cairn.health.ready()
    assert ready.status == "not_ready"  # a 503: there is no worker
    assert ready.database.ok
    assert not ready.worker.ok
    assert "cairn_" in cairn.health.metrics()


def test_who_am_i_people_keys_and_sessions(cairn: Cairn, server: Live) -> None:
    me = cairn.me.get()
    assert me.user is not None
    assert me.user.email == "owner@localhost"
    assert me.via == "key"
    assert cairn.me.update(name="Olga", language="en").name == "Olga"
    assert cairn.me.update_account(name="Harbour").name == "Harbour"
    ada = cairn.users.create("ada@example.org", name="Ada")
    assert cairn.users.get(ada.id) == ada
    assert cairn.users.update(ada.id, role="owner").role == "owner"
    assert {one.email for one in cairn.users.list(page_size=1)} >= {"owner@localhost", "ada@example.org"}
    key = cairn.keys.create("for the tests", service=True, expires_at=datetime.now(UTC) + timedelta(days=1))
    assert key.key.startswith("ck_")
    assert cairn.keys.get(key.id).user_id is None
    with Cairn(base_url=server.url, api_key=key.key) as service:
        assert service.me.get().user is None
        assert service.acting_for("ada@example.org").me.get().user == cairn.users.get(ada.id)
        with pytest.raises(errors.NotFound):
            service.acting_for("nobody@example.org").me.get()
    cairn.keys.revoke(key.id)
    with Cairn(base_url=server.url, api_key=key.key) as service, pytest.raises(errors.Unauthorized):
        service.me.get()
    assert key.id in {one.id for one in cairn.keys.list()}
    with Cairn(base_url=server.url, api_key=cairn.me.token().token) as other:
        assert other.me.get().via == "jwt"
    assert list(cairn.sessions.list()) == []
    with pytest.raises(errors.NotFound):
        cairn.sessions.end("ses_" + "x" * 24)
    cairn.users.erase(ada.id)
    assert {one.action for one in cairn.audit.list(page_size=5)} >= {"user.create", "key.create", "key.revoke"}


def test_a_capsule_lives_through_everything(cairn: Cairn) -> None:
    project = cairn.projects.create("Islands")
    assert project.id in {one.id for one in cairn.projects.list()}
    kept = cairn.capsules.create(
        FERRY, title="Ferry", tags=["travel"], kind="decision", metadata={"n": [1, None]}, project_id=project.id
    )
    assert kept.metadata == {"n": [1, None]}
    (hit,) = cairn.capsules.search("ferry", mode="literal", project_id=project.id)
    assert hit.id == kept.id
    assert hit.snippet is not None
    assert "<mark>" in hit.snippet
    changed = cairn.capsules.update(kept.id, content_md=FERRY + " Bring cash.")
    assert [one.version for one in cairn.capsules.history(kept.id)] == [changed.version, 1] == [2, 1]
    assert ("travel", 1) in {(one.tag, one.count) for one in cairn.capsules.tags()}
    assert sum(one.count for one in cairn.capsules.timeline(bucket="month")) >= 1
    assert kept.id in {one.id for one in cairn.capsules.related("the ferry to the island")}
    with pytest.raises(errors.Conflict):
        cairn.capsules.map()
    other = cairn.capsules.create("The last boat back is at six.", title="Back")
    merged = cairn.capsules.merge([kept.id, other.id], into_id=kept.id)
    assert "at six" in merged.content_md
    assert {one.id for one in cairn.capsules.trash()} == {other.id}
    assert cairn.capsules.restore(other.id).deleted_at is None
    cairn.capsules.delete(other.id)
    with pytest.raises(errors.NotFound):
        cairn.capsules.get(other.id)
    with pytest.raises(errors.NotFound):
        cairn.capsules.recover(other.id)
    assert cairn.capsules.title(FERRY).title
    segments = cairn.capsules.curate(
        [{"role": "user", "content": "We decided to take the ferry at nine on Friday, because the bridge is closed."}]
    )
    assert all(one.score > 0 for one in segments)
    assert cairn.capsules.usage().count >= 1
    assert cairn.capsules.digest().count >= 1
    assert list(cairn.capsules.cold()) == []
    archive = cairn.capsules.export_archive()
    assert cairn.capsules.import_archive(archive).imported == 0
    assert cairn.capsules.delete_all().deleted >= 1
    assert list(cairn.capsules.list(page_size=1)) == []


def test_a_fault_has_its_path(cairn: Cairn) -> None:
    with pytest.raises(errors.Invalid) as caught:
        cairn.capsules.create("")
    assert caught.value.details[0]["path"] == "body.content_md"
    assert caught.value.request_id
    with pytest.raises(errors.NotFound):
        cairn.capsules.get("../me")
    with pytest.raises(errors.TooLarge):
        cairn.capsules.create("x" * 1_100_000)


async def test_scopes_sync_and_async_say_the_same(cairn: Cairn, later: AsyncCairn) -> None:
    transcript = [Turn(speaker="Ada", text=FERRY, id="1"), {"speaker": "Ben", "text": "Thank you!", "reply_to": "1"}]
    stored = cairn.scopes.ingest("harbour", transcript)
    assert stored.ingested == 2
    found = cairn.scopes.recall("harbour", "When does the ferry leave?", speaker="Ben", explain=True, max_tokens=200)
    assert found.evidence[0].id == "1"
    assert found.evidence[0].why
    again = await later.scopes.recall(
        "harbour", "When does the ferry leave?", speaker="Ben", explain=True, max_tokens=200
    )
    assert again == found
    # Type checkers see the same for both clients, apart from the waiting.
    assert_type(found, Recalled)
    assert_type(again, Recalled)
    # Nothing that is said there has anything to do with it, so no model is asked.
    asked = await later.scopes.ask("empty", "When does the ferry leave?")
    assert asked.abstained


async def test_the_async_client_goes_through_lists(later: AsyncCairn) -> None:
    names = {f"Graph {number}" for number in range(3)}
    for name in sorted(names):
        await later.graphs.create(name)
    assert names <= {one.name async for one in later.graphs.list(page_size=2)}
    assert {len(page) async for page in later.graphs.list(page_size=1).pages()} == {1}
    first = await later.graphs.list(page_size=2).first()
    assert first.has_more
    assert_type(first, Page[Graph])
    assert_type(later.graphs.list(), AsyncPages[Graph])
    assert (await later.request("GET", "/v1/graphs", params={"limit": 1}))["has_more"]


def test_a_graph_and_its_nodes(cairn: Cairn) -> None:
    graph = cairn.graphs.create("Harbour")
    pier = cairn.graphs.add_node(
        graph.id, "The ferry leaves from pier 3.", node_type="fact", metadata={"place": "quay"}
    )
    again = cairn.graphs.add_node(
        graph.id, "The ferry leaves from pier 3.", node_type="fact", metadata={"place": "quay"}
    )
    assert (again.id, again.existing) == (pier.id, True)
    moved = cairn.graphs.add_node(graph.id, "The ferry leaves from pier 5.", node_type="fact", supersedes=[pier.id])
    assert moved.superseded == (pier.id,)
    boat = cairn.graphs.add_node(graph.id, "The ferry is called Sirius.", metadata={"place": "sea"})
    edge = cairn.graphs.add_edge(graph.id, boat.id, moved.id, "leaves_from", metadata={"sure": True})
    assert {one.edge_type for one in cairn.graphs.edges(graph.id, page_size=1)} == {"supersedes", "leaves_from"}
    (neighbor,) = cairn.graphs.neighbors(graph.id, boat.id, depth=1, direction="out", edge_type="leaves_from")
    assert neighbor.node.id == moved.id
    assert [one.id for one in cairn.graphs.nodes(graph.id, metadata_filter={"place": "sea"})] == [boat.id]
    recalled = cairn.graphs.recall(
        graph.id, "Which pier does the ferry leave from?", min_relevance=0, start=moved.created_at
    )
    assert moved.id in {one.id for one in recalled.results}
    assert recalled.query_id.startswith("qry_")
    assert cairn.graphs.update_node(graph.id, boat.id, content="The ferry is called Vega.").version == 2
    assert len(cairn.graphs.node_history(graph.id, boat.id)) == 2
    cairn.graphs.delete_edge(graph.id, edge.id)
    cairn.graphs.delete_node(graph.id, boat.id)
    assert [one.id for one in cairn.graphs.nodes(graph.id, deleted=True)] == [boat.id]
    assert cairn.graphs.restore_node(graph.id, boat.id) == cairn.graphs.node(graph.id, boat.id)
    cairn.graphs.delete(graph.id)
    assert cairn.graphs.restore(graph.id).id == cairn.graphs.get(graph.id).id
    month = cairn.usage.get(by=["action"]).month
    assert month.queries >= 1


def test_a_room_and_its_agents(cairn: Cairn) -> None:
    me = cairn.me.get().user
    assert me is not None
    agent = cairn.agents.create("pilot", "Pilot", context_window=8000, instructions="Be brief.")
    assert cairn.agents.update("pilot", name="The pilot").name == cairn.agents.get("pilot").name == "The pilot"
    assert [one.slug for one in cairn.agents.list()] == [agent.slug]
    room = cairn.rooms.create("Bridge")
    assert cairn.rooms.add_agent(room.id, "pilot").agents == ("pilot",)
    bea = cairn.users.create("bea@example.org")
    assert len(cairn.rooms.add_participant(room.id, bea.email).participants) == 2
    cairn.rooms.remove_participant(room.id, bea.id)
    thread = cairn.rooms.open_thread(room.id, title="Departure")
    said = cairn.rooms.say(room.id, FERRY, id="own-1", thread_id=thread.id, attachments=[{"name": "chart.png"}])
    assert cairn.rooms.say(room.id, FERRY, id="own-1", thread_id=thread.id).id == said.id
    cairn.rooms.say(room.id, "Noted.", agent="pilot", ts=said.ts + timedelta(seconds=1))
    assert [one.text for one in cairn.rooms.working(room.id)] == [FERRY, "Noted."]
    assert [one.id for one in cairn.rooms.messages(room.id, thread_id=thread.id)] == [said.id]
    assert cairn.rooms.close_thread(room.id, thread.id).closed_at is not None
    assert [one.title for one in cairn.rooms.threads(room.id)] == ["Departure"]
    mark = cairn.rooms.add_landmark(room.id, "Departure is always at nine.")
    newer = cairn.rooms.add_landmark(room.id, "Departure is always at ten.", supersedes=[mark.id])
    assert [one.id for one in cairn.rooms.landmarks(room.id)] == [newer.id]
    assert len(cairn.rooms.landmarks(room.id, superseded=True)) == 2
    composed = cairn.rooms.compose(room.id, "When do we leave?", agent="pilot", user=me.id)
    assert "at ten" in "".join(one.content for one in composed.messages)
    assert composed.filter.run_ids
    assert list(cairn.rooms.summaries(room.id, tier="thread")) == []  # a job makes them
    assert list(cairn.rooms.memories(room.id, agent="pilot")) == []
    assert cairn.rooms.rename(room.id, "Wheelhouse").name == cairn.rooms.get(room.id).name == "Wheelhouse"
    cairn.dms.say("pilot", "Between us: I get seasick.", id="dm-1")
    cairn.dms.say("pilot", "I won't tell.", by_agent=True)
    assert [one.text for one in cairn.dms.working("pilot")] == ["Between us: I get seasick.", "I won't tell."]
    assert len(list(cairn.dms.messages("pilot", page_size=1))) == 2
    pinned = cairn.dms.add_landmark("pilot", "Has pills in the left drawer.")
    assert cairn.dms.landmarks("pilot") == (pinned,)
    assert list(cairn.dms.summaries("pilot")) == list(cairn.dms.memories("pilot")) == []
    assert "left drawer" in "".join(one.content for one in cairn.dms.compose("pilot", "Where?").messages)
    known = cairn.profiles.remember(me.id, "Sails since childhood.")
    assert list(cairn.profiles.memories(me.id)) == [known]
    project = cairn.projects.create("Refit")
    planned = cairn.projects.remember(project.id, "The hull is painted in May.", type="decision")
    assert list(cairn.projects.memories(project.id)) == [planned]
    cairn.rooms.remove_agent(room.id, "pilot")
    cairn.rooms.delete(room.id)
    assert [one.id for one in cairn.rooms.list(deleted=True)] == [room.id]
    assert cairn.rooms.restore(room.id).id in {one.id for one in cairn.rooms.list()}
    cairn.agents.delete("pilot")


@pytest.mark.parametrize("value", [None, 0, "ö", [1, {"a": None}], {"b": False}])
def test_a_fact_is_any_json_value(cairn: Cairn, value: object) -> None:
    put = cairn.facts.put("global", "global", "price", value)
    assert cairn.facts.get("global", "global", "price").value == put.value == value
    assert cairn.facts.get("global", "global", "price", as_of=put.valid_from).value == value
    assert put in cairn.facts.list("global")
    cairn.facts.delete("global", "global", "price")
    assert put.id in {one.id for one in cairn.facts.history("global", "global", "price")}
    with pytest.raises(errors.NotFound):
        cairn.facts.get("global", "global", "price")


def test_workspaces_memories_and_files(cairn: Cairn) -> None:
    place = cairn.workspaces.create("Harbour")
    assert cairn.workspaces.rename(place.id, "Port").name == cairn.workspaces.get(place.id).name == "Port"
    cleo = cairn.users.create("cleo@example.org")
    assert {one.role for one in cairn.workspaces.set_member(place.id, cleo.email, role="viewer")} == {"owner", "viewer"}
    cairn.workspaces.remove_member(place.id, cleo.id)
    assert len(cairn.workspaces.members(place.id)) == 1
    memory = cairn.memories.create(place.id, FERRY, category="travel")
    assert cairn.memories.create(place.id, FERRY).deduplicated
    assert cairn.memories.update(place.id, memory.id, "The ferry leaves at ten.").version == 2
    assert [one.version for one in cairn.memories.history(place.id, memory.id)] == [2, 1]
    cairn.memories.delete(place.id, memory.id)
    assert [one.id for one in cairn.memories.list(place.id, deleted=True)] == [memory.id]
    assert cairn.memories.restore(place.id, memory.id) == cairn.memories.get(place.id, memory.id)
    assert cairn.memories.rerun_extraction(place.id, memory.id).id == memory.id
    file = cairn.files.upload(place.id, "fares ö.md", b"# Fares\n\nA crossing costs four crowns.\n")
    assert (file.name, file.media_type) == ("fares ö.md", "text/markdown")
    assert cairn.files.content(place.id, file.id) == b"# Fares\n\nA crossing costs four crowns.\n"
    assert "four crowns" in cairn.files.chunks(place.id, file.id, limit=1).items[0].text
    (found,) = cairn.workspaces.search(place.id, "crowns", type=["document"])
    assert found.id == file.id
    cairn.files.delete(place.id, file.id)
    assert list(cairn.files.list(place.id)) == []
    assert cairn.files.restore(place.id, file.id) == cairn.files.get(place.id, file.id)
    assert cairn.files.history(place.id, file.id)[-1].version == 1
    plan = cairn.artifacts.create(place.id, "Plan", "Leave at nine.")
    cairn.artifacts.update(place.id, plan.id, content="Leave at ten.")
    assert cairn.artifacts.get(place.id, plan.id, version=1).content == "Leave at nine."
    assert cairn.artifacts.revert(place.id, plan.id, 1).content == "Leave at nine."
    assert len(cairn.artifacts.history(place.id, plan.id)) == 3
    cairn.artifacts.delete(place.id, plan.id)
    assert cairn.artifacts.restore(place.id, plan.id).id in {one.id for one in cairn.artifacts.list(place.id)}
    assert list(cairn.workspaces.extractions(place.id)) == []
    cairn.workspaces.delete(place.id)
    assert [one.id for one in cairn.workspaces.list(deleted=True)] == [place.id]
    assert cairn.workspaces.restore(place.id).id == place.id


def test_a_chat_answers_as_a_stream(cairn: Cairn, model: ScriptedUpstream) -> None:
    place = cairn.workspaces.create("Talk")
    cairn.memories.create(place.id, FERRY)
    chat = cairn.chats.create(title="Crossing", workspace_id=place.id)
    model.script(streamed(*chunks("At nine, from pier 3.", usage=True), size=7))
    with cairn.chats.say(chat.id, "When does the ferry leave?") as events:
        found = list(events)
    assert [type(one) for one in found[:3]] == [MessageCreated, MemoriesInjected, MessageDelta]
    assert "".join(one.delta for one in found if isinstance(one, MessageDelta)) == "At nine, from pier 3."
    assert_type(found, list[ChatEvent])
    done = found[-1]
    assert isinstance(done, MessageDone)
    assert done.message.content == "At nine, from pier 3."
    assert {one.id for one in cairn.chats.messages(chat.id)} >= {done.message.id}
    saved = cairn.chats.remember(chat.id, message_id=done.message.id)
    assert cairn.chats.memory(chat.id, saved.id).content == "At nine, from pier 3."
    assert cairn.chats.remember(chat.id, "Bring cash.", category="todo").category == "todo"
    assert cairn.chats.update_memory(chat.id, saved.id, "At ten, from pier 3.").version == 2
    assert cairn.chats.rerun_extraction(chat.id, saved.id).id == saved.id
    cairn.chats.delete_memory(chat.id, saved.id)
    assert saved.id not in {one.id for one in cairn.chats.memories(chat.id)}
    assert cairn.chats.update(chat.id, title="Over").workspace_id == place.id
    assert cairn.chats.update(chat.id, workspace_id=None).workspace_id != place.id
    cairn.chats.delete(chat.id)
    assert [one.id for one in cairn.chats.list(deleted=True)] == [chat.id]
    assert cairn.chats.restore(chat.id) == cairn.chats.get(chat.id)


async def test_a_stream_is_awaited_too_and_a_model_that_fails_is_an_error(
    later: AsyncCairn, model: ScriptedUpstream
) -> None:
    chat = await later.chats.create()
    model.script(streamed(*chunks("Ahoy, sailor")))
    done = assert_type(await later.chats.say(chat.id, "Hello").done(), MessageDone)
    assert done.message.content == "Ahoy, sailor"
    model.script(*[error(400, "no such model")] * 3)
    with pytest.raises(errors.CairnError) as caught:
        await later.chats.say(chat.id, "Hello").done()
    assert caught.value.code == "UPSTREAM_ERROR"
    with pytest.raises(errors.NotFound):
        await later.chats.say("chat_" + "x" * 24, "Hello").done()


def test_nobody_there() -> None:
    cairn = Cairn(base_url="http://127.0.0.1:1", api_key="ck_x", retries=Retries(base=0))
    with cairn, pytest.raises(ConnectionFailed, match=r"127\.0\.0\.1:1"):
        cairn.me.get()


def test_the_commands_keep_and_find(server: Live, cairn: Cairn) -> None:
    kept = server.cli("save", FERRY, "--title", "Ferry", "--tag", "a", "--tag", "b", "--url", server.url)
    assert kept.returncode == 0, kept.stderr
    made = re.match(r"cap_\w{24}", kept.stdout)
    assert made is not None
    assert cairn.capsules.get(made[0]).tags == ("a", "b")
    piped = server.cli("save", "--json", "--kind", "thought", "--url", server.url, stdin="Boats are slow.\n")
    assert json.loads(piped.stdout)["content_md"] == "Boats are slow."
    found = server.cli("search", "ferry", "--mode", "literal", "--url", server.url)
    assert any(line.startswith(made[0]) and line.endswith("Ferry") for line in found.stdout.splitlines())
    assert (
        json.loads(server.cli("search", "slow", "--json", "--url", server.url).stdout)["items"][0]["kind"] == "thought"
    )
    none = server.cli("search", "zeppelin", "--mode", "literal", "--url", server.url)
    assert (none.returncode, none.stdout) == (0, "")
    assert "Nothing" in none.stderr


def test_the_commands_recall_and_ask(server: Live, cairn: Cairn, model: ScriptedUpstream) -> None:
    cairn.scopes.ingest("quay", [Turn(speaker="Ada", text=FERRY)])
    recalled = server.cli("recall", "quay", "When does the ferry leave?", "--speaker", "Ben", "--url", server.url)
    assert FERRY in recalled.stdout
    nothing = server.cli("recall", "nowhere", "-", "--url", server.url, stdin="When?")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert json.loads(server.cli("recall", "nowhere", "When?", "--json", "--url", server.url).stdout)["evidence"] == []
    model.script()
    model.otherwise = lambda request: completion("At nine [1].")
    asked = server.cli("ask", "quay", "When does the ferry leave?", "--url", server.url)
    assert asked.returncode == 0, asked.stderr
    assert "At nine" in asked.stdout or FERRY in asked.stdout
    assert "Ada: " in asked.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("search", "x", "--url", "http://127.0.0.1:1"), "No Cairn answers at http://127.0.0.1:1"),
        (("search", "x", "--key", "ck_wrong"), "--key"),
        (("search", "x", "--url", "https://elsewhere.example"), "names another machine"),
        (("search", "x", "--url", "harbour"), "--url is harbour"),
        (("search", "x", "--user", "nobody@example.org"), "cairn: "),
        (("save", ""), "content_md"),
        (("save", "-"), "no text on standard input"),
    ],
)
def test_what_a_command_cant_do_is_one_line(server: Live, words: tuple[str, ...], told: str) -> None:
    where = () if "--url" in words else ("--url", server.url)
    failed = server.cli(*words, *where)
    assert failed.returncode == 1
    assert told in failed.stderr
    assert len(failed.stderr.strip().splitlines()) == 1
