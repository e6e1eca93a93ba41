"""The Python client against a real server: every resource, sync and async, streams, and the commands that use it."""

import io
import json
import re
import zipfile
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, assert_type

import pytest

from keepstone_client import AsyncKeepstone, ConnectionFailed, Keepstone, Page, Retries, errors
from keepstone_client.binding import AsyncPages
from keepstone_client.chats import ChatEvent, MemoriesInjected, MessageCreated, MessageDelta, MessageDone
from keepstone_client.graphs import Graph
from keepstone_client.scopes import Recalled, Turn
from live import Live
from upstream import ScriptedUpstream, chunks, completion, error, streamed

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
        KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=model.url, KEEPSTONE_LLM_API_KEY="sk",
        KEEPSTONE_LLM_MODEL="small", KEEPSTONE_WORKER="off", KEEPSTONE_INJECT_RELEVANCE="0.01",
    )  # fmt: skip
    yield made
    made.stop()


@pytest.fixture
def keepstone(server: Live) -> Generator[Keepstone]:
    with Keepstone(base_url=server.url, api_key=server.key) as made:
        yield made


@pytest.fixture
async def later(server: Live) -> AsyncGenerator[AsyncKeepstone]:
    async with AsyncKeepstone(base_url=server.url, api_key=server.key) as made:
        yield made


def test_the_server_is_alive_and_says_which_parts_are_not_ready(keepstone: Keepstone) -> None:
    assert keepstone.health.alive().status == "ok"
    ready = keepstone.health.ready()
    assert ready.status == "not_ready"  # a 503: there is no worker
    assert ready.database.ok
    assert not ready.worker.ok
    assert "keepstone_" in keepstone.health.metrics()


def test_the_operator_sets_providers_and_tries_them(
    keepstone: Keepstone, server: Live, model: ScriptedUpstream
) -> None:
    further = {"name": "further", "kind": "openai", "base_url": model.url, "models": ["other"], "key": "sk-" + "x" * 20}
    tried = keepstone.providers.test(provider=further)
    assert (tried.ok, tried.checks[-1].what) == (True, "completion")
    made = keepstone.providers.put([further])
    assert [one.name for one in made.providers] == ["env.llm", "further"]
    assert made.defaults.chat is not None
    assert (made.defaults.chat.fixed, made.defaults.chat.by) == (True, "KEEPSTONE_LLM_PROVIDER")
    assert (made.providers[1].key.is_set, made.providers[1].key.last4) == (True, "xxxx")
    assert keepstone.providers.get() == made
    with pytest.raises(errors.Conflict, match="KEEPSTONE_LLM_PROVIDER"):
        keepstone.providers.put([further], defaults={"chat": {"provider": "further"}})
    assert keepstone.providers.put([], revision=made.revision).revision == made.revision + 1


def test_who_am_i_people_keys_and_sessions(keepstone: Keepstone, server: Live) -> None:
    me = keepstone.me.get()
    assert me.user is not None
    assert me.user.email == "owner@localhost"
    assert me.via == "key"
    assert keepstone.me.update(name="Olga", language="en").name == "Olga"
    assert keepstone.me.update_account(name="Harbour").name == "Harbour"
    ada = keepstone.users.create("ada@example.org", name="Ada")
    assert keepstone.users.get(ada.id) == ada
    link = keepstone.invite_links.create(email="bob@example.org", role="owner")
    assert "/join/ci_" in link.url
    assert [one.id for one in keepstone.invite_links.list().items] == [link.id]
    keepstone.invite_links.revoke(link.id)
    assert keepstone.invite_links.list().items == ()
    assert keepstone.users.update(ada.id, role="owner").role == "owner"
    assert {one.email for one in keepstone.users.list(page_size=1)} >= {"owner@localhost", "ada@example.org"}
    key = keepstone.keys.create("for the tests", service=True, expires_at=datetime.now(UTC) + timedelta(days=1))
    assert key.key.startswith("ck_")
    assert keepstone.keys.get(key.id).user_id is None
    with Keepstone(base_url=server.url, api_key=key.key) as service:
        assert service.me.get().user is None
        assert service.acting_for("ada@example.org").me.get().user == keepstone.users.get(ada.id)
        with pytest.raises(errors.NotFound):
            service.acting_for("nobody@example.org").me.get()
    keepstone.keys.revoke(key.id)
    with Keepstone(base_url=server.url, api_key=key.key) as service, pytest.raises(errors.Unauthorized):
        service.me.get()
    assert key.id in {one.id for one in keepstone.keys.list()}
    with Keepstone(base_url=server.url, api_key=keepstone.me.token().token) as other:
        assert other.me.get().via == "jwt"
    assert list(keepstone.sessions.list()) == []
    keepstone.sessions.end_others()
    with pytest.raises(errors.NotFound):
        keepstone.sessions.end("ses_" + "x" * 24)
    keepstone.users.erase(ada.id)
    assert {one.action for one in keepstone.audit.list(page_size=5)} >= {"user.create", "key.create", "key.revoke"}
    assert "key.create" in keepstone.audit.export(action="key")


def test_a_capsule_lives_through_everything(keepstone: Keepstone) -> None:
    project = keepstone.projects.create("Islands")
    assert project.id in {one.id for one in keepstone.projects.list()}
    kept = keepstone.capsules.create(
        FERRY, title="Ferry", tags=["travel"], kind="decision", metadata={"n": [1, None]}, project_id=project.id
    )
    assert kept.metadata == {"n": [1, None]}
    (hit,) = keepstone.capsules.search("ferry", mode="literal", project_id=project.id)
    assert hit.id == kept.id
    assert hit.project is not None
    assert (hit.project.id, hit.project.name) == (project.id, "Islands")
    assert list(keepstone.capsules.search("ferry", mode="literal", project_id="none")) == []
    assert keepstone.capsules.update(kept.id, project_id="none").project is None
    assert kept.id in {one.id for one in keepstone.capsules.list(project_id="none")}
    keepstone.capsules.update(kept.id, project_id=project.id)
    assert hit.snippet is not None
    assert "<mark>" in hit.snippet
    changed = keepstone.capsules.update(kept.id, content_md=FERRY + " Bring cash.")
    assert [one.version for one in keepstone.capsules.history(kept.id)] == [4, 3, 2, 1]
    assert changed.version == 4
    assert ("travel", 1) in {(one.tag, one.count) for one in keepstone.capsules.tags()}
    assert sum(one.count for one in keepstone.capsules.timeline(bucket="month")) >= 1
    assert kept.id in {one.id for one in keepstone.capsules.related("the ferry to the island")}
    with pytest.raises(errors.Conflict):
        keepstone.capsules.map()
    other = keepstone.capsules.create("The last boat back is at six.", title="Back")
    merged = keepstone.capsules.merge([kept.id, other.id], into_id=kept.id)
    assert "at six" in merged.content_md
    assert {one.id for one in keepstone.capsules.trash()} == {other.id}
    assert keepstone.capsules.restore(other.id).deleted_at is None
    keepstone.capsules.delete(other.id)
    with pytest.raises(errors.NotFound):
        keepstone.capsules.get(other.id)
    with pytest.raises(errors.NotFound):
        keepstone.capsules.recover(other.id)
    assert keepstone.capsules.title(FERRY).title
    segments = keepstone.capsules.curate(
        [{"role": "user", "content": "We decided to take the ferry at nine on Friday, because the bridge is closed."}]
    )
    assert all(one.score > 0 for one in segments)
    assert keepstone.capsules.usage().count >= 1
    assert keepstone.capsules.digest().count >= 1
    assert list(keepstone.capsules.cold()) == []
    archive = keepstone.capsules.export_archive()
    assert keepstone.capsules.import_archive(archive).imported == 0
    assert keepstone.capsules.delete_all().deleted >= 1
    assert list(keepstone.capsules.list(page_size=1)) == []


def test_a_fault_has_its_path(keepstone: Keepstone) -> None:
    with pytest.raises(errors.Invalid) as caught:
        keepstone.capsules.create("")
    assert caught.value.details[0]["path"] == "body.content_md"
    assert caught.value.request_id
    with pytest.raises(errors.NotFound):
        keepstone.capsules.get("../me")
    with pytest.raises(errors.TooLarge):
        keepstone.capsules.create("x" * 1_100_000)


async def test_scopes_sync_and_async_say_the_same(keepstone: Keepstone, later: AsyncKeepstone) -> None:
    transcript = [Turn(speaker="Ada", text=FERRY, id="1"), {"speaker": "Ben", "text": "Thank you!", "reply_to": "1"}]
    stored = keepstone.scopes.ingest("harbour", transcript)
    assert stored.ingested == 2
    found = keepstone.scopes.recall(
        "harbour", "When does the ferry leave?", speaker="Ben", explain=True, max_tokens=200
    )
    assert found.evidence[0].id == "1"
    assert found.evidence[0].why
    again = await later.scopes.recall(
        "harbour", "When does the ferry leave?", speaker="Ben", explain=True, max_tokens=200
    )
    assert again.trace_id not in {None, found.trace_id}
    assert replace(again, trace_id=found.trace_id) == found
    everything = keepstone.everything.find("harbo", limit=3)
    scope = next(group for group in everything.groups if group.kind == "scope").items[0]
    assert (scope.id, scope.where.scope_id, scope.where.place) == ("harbour", "harbour", "scope")
    assert await later.everything.find("harbo", limit=3) == everything
    trace = keepstone.traces.get(str(found.trace_id))
    assert trace.text == found.context
    assert trace.candidates[0].id == found.evidence[0].message_id
    listed = [one async for one in later.traces.list(kind="recall", space="scope:harbour", page_size=1)]
    assert [one.id for one in listed] == [again.trace_id, found.trace_id]
    assert "scope:harbour" in {one.space for one in keepstone.traces.places()}
    # Type checkers see the same for both clients, apart from the waiting.
    assert_type(found, Recalled)
    assert_type(again, Recalled)
    # Nothing that is said there has anything to do with it, so no model is asked.
    asked = await later.scopes.ask("empty", "When does the ferry leave?")
    assert asked.abstained


@pytest.mark.parametrize("name", ["harbour/east", "..", "a/../b", "Übersee 日本", "100% & more?", "a/messages"])
async def test_a_scope_is_listed_and_read_by_whatever_name_it_has(
    keepstone: Keepstone, later: AsyncKeepstone, name: str
) -> None:
    when = datetime(2026, 3, 1, 9, tzinfo=UTC)
    keepstone.scopes.ingest(name, [Turn(speaker="Ada", text=FERRY, id="1", ts=when), {"speaker": "Ben", "text": "Oh."}])
    mine = next(scope for scope in keepstone.scopes.list() if scope.scope_id == name)
    assert mine.messages == 2
    assert mine.last_at is not None
    assert mine.last_at > when
    (first, second) = keepstone.scopes.messages(name)
    assert (first.id, first.text, first.ts, second.speaker) == ("1", FERRY, when, "Ben")
    assert [one.speaker async for one in later.scopes.messages(name, speaker="Ben", page_size=1)] == ["Ben"]
    assert [one.id for one in keepstone.scopes.messages(name, since=when, until=when + timedelta(days=1))] == ["1"]
    assert list(keepstone.scopes.people(name)) == []  # nobody has read it yet: there is no worker
    unknown = f"stmt_{'0' * 24}"
    for call in (
        lambda: keepstone.scopes.statement(name, unknown), lambda: keepstone.scopes.correct(name, unknown, text="x"),
        lambda: keepstone.scopes.forget(name, unknown), lambda: keepstone.scopes.restore(name, unknown),
        lambda: keepstone.scopes.history(name, unknown),
    ):  # fmt: skip
        with pytest.raises(errors.NotFound, match="no such statement"):
            call()


async def test_the_async_client_goes_through_lists(later: AsyncKeepstone) -> None:
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


def test_a_graph_and_its_nodes(keepstone: Keepstone) -> None:
    graph = keepstone.graphs.create("Harbour")
    pier = keepstone.graphs.add_node(
        graph.id, "The ferry leaves from pier 3.", node_type="fact", metadata={"place": "quay"}
    )
    again = keepstone.graphs.add_node(
        graph.id, "The ferry leaves from pier 3.", node_type="fact", metadata={"place": "quay"}
    )
    assert (again.id, again.existing) == (pier.id, True)
    moved = keepstone.graphs.add_node(graph.id, "The ferry leaves from pier 5.", node_type="fact", supersedes=[pier.id])
    assert moved.superseded == (pier.id,)
    assert keepstone.graphs.node(graph.id, pier.id).superseded_by == moved.id
    assert keepstone.graphs.revive_node(graph.id, pier.id).superseded_by is None
    third = keepstone.graphs.add_node(
        graph.id, "The ferry leaves from pier 5 now.", node_type="fact", supersede=[pier.id]
    )
    assert (third.superseded, third.may_supersede) == ((pier.id,), ())
    boat = keepstone.graphs.add_node(graph.id, "The ferry is called Sirius.", metadata={"place": "sea"})
    edge = keepstone.graphs.add_edge(graph.id, boat.id, moved.id, "leaves_from", metadata={"sure": True})
    assert {one.edge_type for one in keepstone.graphs.edges(graph.id, page_size=1)} == {"supersedes", "leaves_from"}
    (neighbor,) = keepstone.graphs.neighbors(graph.id, boat.id, depth=1, direction="out", edge_type="leaves_from")
    assert neighbor.node.id == moved.id
    assert [one.id for one in keepstone.graphs.nodes(graph.id, metadata_filter={"place": "sea"})] == [boat.id]
    assert [one.node.id for one in keepstone.graphs.node_edges(graph.id, boat.id, page_size=1)] == [moved.id]
    counts = keepstone.graphs.counts(graph.id)
    assert (counts.nodes, counts.superseded, counts.edges) == (3, 1, 2)
    assert not keepstone.graphs.edges(graph.id, as_of=pier.valid_from - timedelta(days=1)).first().items
    drawn = keepstone.graphs.picture(graph.id, superseded=True, limit=3)
    assert len(drawn.nodes) == 3
    assert drawn.more
    recalled = keepstone.graphs.recall(
        graph.id, "Which pier does the ferry leave from?", min_relevance=0, start=moved.created_at
    )
    assert moved.id in {one.id for one in recalled.results}
    assert recalled.query_id.startswith("qry_")
    assert keepstone.graphs.update_node(graph.id, boat.id, content="The ferry is called Vega.").version == 2
    (shelved,) = keepstone.everything.list(kind="node", q="vega")
    assert (shelved.id, shelved.place and shelved.place.id) == (boat.id, graph.id)
    assert keepstone.everything.counts(kind="node", q="vega").kind[0].count == 1
    assert [one.version for one in keepstone.everything.get(boat.id).versions] == [2, 1]
    assert len(keepstone.graphs.node_history(graph.id, boat.id)) == 2
    keepstone.graphs.delete_edge(graph.id, edge.id)
    keepstone.graphs.delete_node(graph.id, boat.id)
    assert [one.id for one in keepstone.graphs.nodes(graph.id, deleted=True)] == [boat.id]
    assert keepstone.graphs.restore_node(graph.id, boat.id) == keepstone.graphs.node(graph.id, boat.id)
    keepstone.graphs.delete_node(graph.id, boat.id)
    (gone,) = keepstone.trash.list(kind="node", q="vega")
    assert [(one.kind, one.count) for one in keepstone.trash.counts(q="vega")] == [("node", 1)]
    (back,) = keepstone.trash.restore([{"kind": gone.kind, "id": gone.id}])
    assert (back.restored, back.place) == (True, gone.place)
    keepstone.graphs.delete(graph.id)
    assert keepstone.graphs.restore(graph.id).id == keepstone.graphs.get(graph.id).id
    month = keepstone.usage.get(by=["action"]).month
    assert month.queries >= 1


def test_a_project_is_shared_and_people_are_invited_to_its_room(keepstone: Keepstone, server: Live) -> None:
    cora = keepstone.users.create("cora@example.org", name="Cora")
    key = keepstone.keys.create("speaks for all", service=True)
    project = keepstone.projects.create("Harvest")
    assert keepstone.projects.rename(project.id, "Late harvest") == keepstone.projects.get(project.id)
    members = keepstone.projects.set_member(project.id, cora.email, role="viewer")
    assert members == keepstone.projects.members(project.id)
    assert [one.role for one in members] == ["owner", "viewer"]
    room = keepstone.rooms.create("Barn", participants=[cora.email])
    assert [(one.status, one.joined_at is None) for one in room.participants] == [("joined", False), ("invited", True)]
    assert keepstone.rooms.move(room.id, project.id).project_id == project.id
    assert keepstone.rooms.move(room.id, None).project_id is None
    (sent,) = keepstone.invitations.list(sent=True)
    assert (sent.room_id, sent.user_name) == (room.id, "Cora")
    keepstone.invitations.withdraw(sent.id)
    with Keepstone(base_url=server.url, api_key=key.key) as service:
        for_cora = service.acting_for(cora.email)
        assert list(for_cora.invitations.list()) == []
        for answer in (for_cora.invitations.decline, for_cora.invitations.accept):
            keepstone.rooms.add_participant(room.id, cora.id)
            (got,) = for_cora.invitations.list()
            answer(got.id)
        assert for_cora.rooms.get(room.id).invitation_id is None
    keepstone.projects.remove_member(project.id, cora.id)
    keepstone.projects.delete(project.id)
    assert [one.id for one in keepstone.projects.list(deleted=True)] == [project.id]
    assert keepstone.projects.restore(project.id).name == "Late harvest"
    keepstone.rooms.delete(room.id)


def test_a_room_and_its_agents(keepstone: Keepstone) -> None:
    me = keepstone.me.get().user
    assert me is not None
    agent = keepstone.agents.create("pilot", "Pilot", context_window=8000, instructions="Be brief.")
    assert keepstone.agents.update("pilot", name="The pilot").name == keepstone.agents.get("pilot").name == "The pilot"
    assert [one.slug for one in keepstone.agents.list()] == [agent.slug]
    room = keepstone.rooms.create("Bridge")
    assert keepstone.rooms.add_agent(room.id, "pilot").agents == ("pilot",)
    bea = keepstone.users.create("bea@example.org")
    assert len(keepstone.rooms.add_participant(room.id, bea.email).participants) == 2
    keepstone.rooms.remove_participant(room.id, bea.id)
    thread = keepstone.rooms.open_thread(room.id, title="Departure")
    said = keepstone.rooms.say(room.id, FERRY, id="own-1", thread_id=thread.id, attachments=[{"name": "chart.png"}])
    assert keepstone.rooms.say(room.id, FERRY, id="own-1", thread_id=thread.id).id == said.id
    keepstone.rooms.say(room.id, "Noted.", agent="pilot", ts=said.ts + timedelta(seconds=1))
    assert [one.text for one in keepstone.rooms.working(room.id)] == [FERRY, "Noted."]
    assert [one.id for one in keepstone.rooms.messages(room.id, thread_id=thread.id)] == [said.id]
    keepstone.rooms.mark_read(room.id, said.id)
    assert next(one.unread for one in keepstone.rooms.list() if one.id == room.id) == 0
    assert keepstone.rooms.close_thread(room.id, thread.id).closed_at is not None
    assert [one.title for one in keepstone.rooms.threads(room.id)] == ["Departure"]
    mark = keepstone.rooms.add_landmark(room.id, "Departure is always at nine.")
    newer = keepstone.rooms.add_landmark(room.id, "Departure is always at ten.", supersedes=[mark.id])
    assert [one.id for one in keepstone.rooms.landmarks(room.id)] == [newer.id]
    assert len(keepstone.rooms.landmarks(room.id, superseded=True)) == 2
    assert keepstone.rooms.revive_landmark(room.id, mark.id).superseded_by is None
    suggested = keepstone.rooms.add_landmark(room.id, "Departure is now always at ten.", supersede="suggest")
    assert (suggested.superseded, mark.id in suggested.may_supersede) == ((), True)
    composed = keepstone.rooms.compose(room.id, "When do we leave?", agent="pilot", user=me.id)
    assert "at ten" in "".join(one.content for one in composed.messages)
    assert composed.filter.run_ids
    told = keepstone.rooms.say(room.id, "At ten.", agent="pilot", trace_id=composed.trace_id)
    assert keepstone.traces.get(str(told.trace_id)).space == room.id
    assert list(keepstone.rooms.summaries(room.id, tier="thread")) == []  # a job makes them
    assert list(keepstone.rooms.memories(room.id, agent="pilot")) == []
    assert keepstone.rooms.rename(room.id, "Wheelhouse").name == keepstone.rooms.get(room.id).name == "Wheelhouse"
    keepstone.dms.say("pilot", "Between us: I get seasick.", id="dm-1")
    keepstone.dms.say("pilot", "I won't tell.", by_agent=True)
    assert [one.text for one in keepstone.dms.working("pilot")] == ["Between us: I get seasick.", "I won't tell."]
    assert len(list(keepstone.dms.messages("pilot", page_size=1))) == 2
    pinned = keepstone.dms.add_landmark("pilot", "Has pills in the left drawer.")
    assert keepstone.dms.landmarks("pilot") == (keepstone.dms.revive_landmark("pilot", pinned.id),)
    assert list(keepstone.dms.summaries("pilot")) == list(keepstone.dms.memories("pilot")) == []
    assert "left drawer" in "".join(one.content for one in keepstone.dms.compose("pilot", "Where?").messages)
    known = keepstone.profiles.remember(me.id, "Sails since childhood.")
    assert [one.id for one in keepstone.profiles.memories(me.id)] == [known.id]
    sells = keepstone.profiles.remember(me.id, "Sails no more.", supersede=[known.id])
    assert (sells.superseded, [one.id for one in keepstone.profiles.memories(me.id)]) == ((known.id,), [sells.id])
    assert keepstone.profiles.revive_memory(me.id, known.id).superseded_by is None
    project = keepstone.projects.create("Refit")
    planned = keepstone.projects.remember(project.id, "The hull is painted in May.", type="decision")
    same = keepstone.projects.revive_memory(project.id, planned.id)
    assert list(keepstone.projects.memories(project.id, superseded=True)) == [same]
    keepstone.rooms.remove_agent(room.id, "pilot")
    keepstone.rooms.delete(room.id)
    assert room.id in {one.id for one in keepstone.rooms.list(deleted=True)}
    assert keepstone.rooms.restore(room.id).id in {one.id for one in keepstone.rooms.list()}
    keepstone.agents.delete("pilot")


def test_what_was_said_and_is_remembered_in_rooms_is_corrected(keepstone: Keepstone) -> None:
    me = keepstone.me.get().user
    assert me is not None
    keepstone.agents.create("mate", "Mate")
    room = keepstone.rooms.create("Deck", agents=["mate"])
    project = keepstone.projects.create("Paint")
    for place, where in ((keepstone.rooms, room.id), (keepstone.dms, "mate")):
        said = place.say(where, "We sail at nine.")
        changed = place.change_message(where, said.id, text=FERRY, attachments=[{"name": "chart.png"}])
        assert changed == place.message(where, said.id)
        assert (changed.text, changed.edited_at is not None) == (FERRY, True)
        assert [one.text for one in place.message_history(where, said.id)] == [FERRY, "We sail at nine."]
        place.delete_message(where, said.id)
        assert [(one.kind, one.id) for one in place.trash(where, page_size=1)] == [("message", said.id)]
        assert place.restore_message(where, said.id) == changed
        mark = place.add_landmark(where, "Never sail on Mondays.")
        assert place.change_landmark(where, mark.id, text="Never sail on Fridays.").version == 2
        assert [one.change for one in place.landmark_history(where, mark.id)] == ["updated", "created"]
        place.delete_landmark(where, mark.id)
        assert place.restore_landmark(where, mark.id) == place.landmark(where, mark.id)
        nobodys = "mem_" + "x" * 24  # no job takes any here
        for missing in (place.memory, place.delete_memory, place.restore_memory, place.memory_history):
            with pytest.raises(errors.NotFound):
                missing(where, nobodys)
        with pytest.raises(errors.NotFound):
            place.change_memory(where, nobodys, text="x")
    for place, where in ((keepstone.profiles, me.id), (keepstone.projects, project.id)):
        known = place.remember(where, "The deck is painted blue.")
        changed = place.change_memory(where, known.id, text="The deck is painted red.", type="decision")
        assert (changed.type, changed) == ("decision", place.memory(where, known.id))
        assert [one.text for one in place.memory_history(where, known.id)][1] == "The deck is painted blue."
        place.delete_memory(where, known.id)
        assert [one.id for one in place.trash(where)] == [known.id]
        assert place.restore_memory(where, known.id).text == "The deck is painted red."


@pytest.mark.parametrize("value", [None, 0, "ö", [1, {"a": None}], {"b": False}])
def test_a_fact_is_any_json_value(keepstone: Keepstone, value: object) -> None:
    put = keepstone.facts.put("global", "global", "price", value)
    assert keepstone.facts.get("global", "global", "price").value == put.value == value
    assert keepstone.facts.get("global", "global", "price", as_of=put.valid_from).value == value
    assert put in keepstone.facts.list("global")
    keepstone.facts.delete("global", "global", "price")
    assert put.id in {one.id for one in keepstone.facts.history("global", "global", "price")}
    with pytest.raises(errors.NotFound):
        keepstone.facts.get("global", "global", "price")


def test_workspaces_memories_and_files(keepstone: Keepstone) -> None:
    place = keepstone.workspaces.create("Harbour")
    assert keepstone.workspaces.rename(place.id, "Port").name == keepstone.workspaces.get(place.id).name == "Port"
    cleo = keepstone.users.create("cleo@example.org")
    assert {one.role for one in keepstone.workspaces.set_member(place.id, cleo.email, role="viewer")} == {
        "owner",
        "viewer",
    }
    keepstone.workspaces.remove_member(place.id, cleo.id)
    assert len(keepstone.workspaces.members(place.id)) == 1
    memory = keepstone.memories.create(place.id, FERRY, category="travel")
    assert keepstone.memories.create(place.id, FERRY).deduplicated
    assert keepstone.memories.update(place.id, memory.id, "The ferry leaves at ten.").version == 2
    assert [one.version for one in keepstone.memories.history(place.id, memory.id)] == [2, 1]
    keepstone.memories.delete(place.id, memory.id)
    assert [one.id for one in keepstone.memories.list(place.id, deleted=True)] == [memory.id]
    assert keepstone.memories.restore(place.id, memory.id) == keepstone.memories.get(place.id, memory.id)
    assert keepstone.memories.rerun_extraction(place.id, memory.id).id == memory.id
    newer = keepstone.memories.create(place.id, "The ferry leaves at noon.", supersede=[memory.id])
    assert newer.superseded == (memory.id,)
    assert [one.id for one in keepstone.memories.list(place.id)] == [newer.id]
    assert {one.superseded_by for one in keepstone.memories.list(place.id, superseded=True)} == {newer.id, None}
    assert keepstone.memories.revive(place.id, memory.id).superseded_by is None
    file = keepstone.files.upload(place.id, "fares ö.md", b"# Fares\n\nA crossing costs three crowns.\n")
    assert file.change == "created"
    again = keepstone.files.upload(place.id, "fares ö.md", b"# Fares\n\nA crossing costs four crowns.\n")
    assert (again.id, again.version, again.change) == (file.id, 2, "updated")
    assert b"three" in keepstone.files.content(place.id, file.id, version=1)
    assert keepstone.files.revert(place.id, file.id, 1).version == 3
    file = keepstone.files.get(place.id, keepstone.files.revert(place.id, file.id, 2).id)
    assert (file.name, file.media_type) == ("fares ö.md", "text/markdown")
    assert keepstone.files.content(place.id, file.id) == b"# Fares\n\nA crossing costs four crowns.\n"
    assert "four crowns" in keepstone.files.chunks(place.id, file.id, limit=1).items[0].text
    (found,) = keepstone.workspaces.search(place.id, "crowns", type=["document"])
    assert found.id == file.id
    keepstone.files.delete(place.id, file.id)
    assert list(keepstone.files.list(place.id)) == []
    assert keepstone.files.restore(place.id, file.id) == keepstone.files.get(place.id, file.id)
    assert keepstone.files.history(place.id, file.id)[-1].version == 1
    plan = keepstone.artifacts.create(place.id, "Plan", "Leave at nine.")
    keepstone.artifacts.update(place.id, plan.id, content="Leave at ten.")
    assert keepstone.artifacts.get(place.id, plan.id, version=1).content == "Leave at nine."
    assert keepstone.artifacts.revert(place.id, plan.id, 1).content == "Leave at nine."
    assert len(keepstone.artifacts.history(place.id, plan.id)) == 3
    keepstone.artifacts.delete(place.id, plan.id)
    assert keepstone.artifacts.restore(place.id, plan.id).id in {one.id for one in keepstone.artifacts.list(place.id)}
    assert list(keepstone.workspaces.extractions(place.id)) == []
    keepstone.workspaces.delete(place.id)
    assert [one.id for one in keepstone.workspaces.list(deleted=True)] == [place.id]
    assert keepstone.workspaces.restore(place.id).id == place.id


def test_a_chat_answers_as_a_stream(keepstone: Keepstone, model: ScriptedUpstream) -> None:
    place = keepstone.workspaces.create("Talk")
    keepstone.memories.create(place.id, FERRY)
    chat = keepstone.chats.create(title="Crossing", workspace_id=place.id)
    model.script(streamed(*chunks("At nine, from pier 3.", usage=True), size=7))
    with keepstone.chats.say(chat.id, "When does the ferry leave?") as events:
        found = list(events)
    assert [type(one) for one in found[:3]] == [MessageCreated, MemoriesInjected, MessageDelta]
    assert "".join(one.delta for one in found if isinstance(one, MessageDelta)) == "At nine, from pier 3."
    assert_type(found, list[ChatEvent])
    done = found[-1]
    assert isinstance(done, MessageDone)
    assert done.message.content == "At nine, from pier 3."
    assert {one.id for one in keepstone.chats.messages(chat.id)} >= {done.message.id}
    saved = keepstone.chats.remember(chat.id, message_id=done.message.id)
    assert keepstone.chats.memory(chat.id, saved.id).content == "At nine, from pier 3."
    assert keepstone.chats.remember(chat.id, "Bring cash.", category="todo").category == "todo"
    assert keepstone.chats.update_memory(chat.id, saved.id, "At ten, from pier 3.").version == 2
    assert keepstone.chats.rerun_extraction(chat.id, saved.id).id == saved.id
    keepstone.chats.delete_memory(chat.id, saved.id)
    assert saved.id not in {one.id for one in keepstone.chats.memories(chat.id)}
    assert keepstone.chats.update(chat.id, title="Over").workspace_id == place.id
    assert keepstone.chats.update(chat.id, workspace_id=None).workspace_id != place.id
    keepstone.chats.delete(chat.id)
    assert [one.id for one in keepstone.chats.list(deleted=True)] == [chat.id]
    assert keepstone.chats.restore(chat.id) == keepstone.chats.get(chat.id)


async def test_a_stream_is_awaited_too_and_a_model_that_fails_is_an_error(
    later: AsyncKeepstone, model: ScriptedUpstream
) -> None:
    chat = await later.chats.create()
    model.script(streamed(*chunks("Ahoy, sailor")))
    done = assert_type(await later.chats.say(chat.id, "Hello").done(), MessageDone)
    assert done.message.content == "Ahoy, sailor"
    model.script(*[error(400, "no such model")] * 3)
    with pytest.raises(errors.KeepstoneError) as caught:
        await later.chats.say(chat.id, "Hello").done()
    assert caught.value.code == "UPSTREAM_ERROR"
    with pytest.raises(errors.NotFound):
        await later.chats.say("chat_" + "x" * 24, "Hello").done()


def test_nobody_there() -> None:
    keepstone = Keepstone(base_url="http://127.0.0.1:1", api_key="ck_x", retries=Retries(base=0))
    with keepstone, pytest.raises(ConnectionFailed, match=r"127\.0\.0\.1:1"):
        keepstone.me.get()


def test_the_commands_keep_and_find(server: Live, keepstone: Keepstone) -> None:
    kept = server.cli("save", FERRY, "--title", "Ferry", "--tag", "a", "--tag", "b", "--url", server.url)
    assert kept.returncode == 0, kept.stderr
    made = re.match(r"cap_\w{24}", kept.stdout)
    assert made is not None
    assert keepstone.capsules.get(made[0]).tags == ("a", "b")
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


def test_the_commands_recall_and_ask(server: Live, keepstone: Keepstone, model: ScriptedUpstream) -> None:
    keepstone.scopes.ingest("quay", [Turn(speaker="Ada", text=FERRY)])
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
    silent = server.cli("ask", "nowhere", "When does the ferry leave?", "--url", server.url)
    assert (silent.returncode, silent.stdout) == (0, "")
    assert "Nothing that was said in this scope answers it." in silent.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("search", "x", "--url", "http://127.0.0.1:1"), "No Keepstone answers at http://127.0.0.1:1"),
        (("search", "x", "--key", "ck_wrong"), "--key"),
        (("search", "x", "--url", "https://elsewhere.example"), "names another machine"),
        (("search", "x", "--url", "harbour"), "--url is harbour"),
        (("search", "x", "--user", "nobody@example.org"), "keepstone: "),
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


def test_an_export_is_uploaded_watched_and_cancelled(keepstone: Keepstone, tmp_path: Path) -> None:
    talk = tmp_path / "talk.jsonl"
    talk.write_text(json.dumps({"speaker": "Ada", "text": FERRY}) + "\n")
    with talk.open("rb") as file:
        made = keepstone.imports.create(file, name=talk.name, dry_run=True)
    assert (made.source, made.state, made.dry_run, made.is_over) == ("jsonl", "waiting", True, False)
    assert keepstone.imports.get(made.id) == made
    assert [one.id for one in keepstone.imports.list()] == [made.id]
    assert keepstone.imports.cancel(made.id).is_over  # no worker runs here
    with pytest.raises(errors.KeepstoneError, match="What kind of file"):
        keepstone.imports.create(b"?")


def test_everything_is_taken_out_in_pieces(keepstone: Keepstone) -> None:
    keepstone.capsules.create(FERRY, title="Ferry")
    forms: tuple[tuple[Literal["json", "markdown"], str], ...] = (
        ("json", "capsules.jsonl"), ("markdown", "capsules/ferry-")
    )  # fmt: skip
    for form, name in forms:
        held = io.BytesIO(b"".join(keepstone.exports.everything(form=form)))
        with zipfile.ZipFile(held) as archive:
            assert any(one.startswith(name) for one in archive.namelist())


async def test_the_async_client_takes_it_out_too(later: AsyncKeepstone) -> None:
    pieces = [piece async for piece in later.exports.everything()]
    assert zipfile.is_zipfile(io.BytesIO(b"".join(pieces)))
