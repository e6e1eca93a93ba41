"""Traces: what was asked, found, left out and handed out is kept for a while, and read by who could read it then and
still can.
"""

import json
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from typing import Any

import httpx
import psycopg
import pytest

from capsules import rows
from conftest import World, http
from graphs import store as store_node
from keepstone.access.readscope import account_scope
from keepstone.app import make_app
from keepstone.engine.traced import cut_up
from keepstone.jobs import tasks
from keepstone.model.ids import is_id
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.services import Services
from keepstone.store import trace_log
from keepstone.store.db import fetch_value
from rooms import compose, make_agent, make_room, prompt, remember, say
from upstream import Answer, ScriptedUpstream, chunks, completion, events, response, says, streamed
from workspaces import Auth, call, keep, let_in, make_chat, make_workspace

SAID = [
    {"speaker": "ada", "text": "The ferry to Bergen leaves at nine from the north pier."},
    {"speaker": "bob", "text": "I live in Oslo."},
    {"speaker": "ada", "text": "Remember to water the tomatoes on Sunday."},
]


async def trace_of(client: httpx.AsyncClient, auth: Auth, trace_id: str, *, expect: int = 200) -> Any:
    return await call(client, auth, "GET", f"/traces/{trace_id}", expect=expect)


async def listed(client: httpx.AsyncClient, auth: Auth, **params: Any) -> list[Any]:
    return (await call(client, auth, "GET", "/traces", params=params))["items"]


async def sent(client: httpx.AsyncClient, auth: Auth, method: str, path: str, **options: Any) -> tuple[Any, str]:
    """The body of the answer and the trace that its header names."""
    answer = await client.request(method, f"/v1{path}", headers=auth, **options)
    assert answer.is_success, answer.text
    trace_id = answer.headers["x-keepstone-trace"]
    assert is_id("trc", trace_id)
    return answer.json(), trace_id


def handed(trace: Any) -> str:
    """The whole text that was handed out, as far as it is still shown."""
    return "".join(piece["text"] or "" for piece in trace["handed_out"])


async def ingest(client: httpx.AsyncClient, auth: Auth, scope: str = "team") -> None:
    await call(client, auth, "POST", "/ingest", json={"scope_id": scope, "transcript": SAID}, expect=202)


async def recall(client: httpx.AsyncClient, auth: Auth, scope: str = "team", **more: Any) -> tuple[Any, str]:
    message = {"speaker": "bob", "text": "When does the ferry leave?"}
    return await sent(client, auth, "POST", "/recall", json={"scope_id": scope, "message": message, **more})


# ------------------------------------------------------------------------------------------------------ what is in one


async def test_a_recall_is_kept_with_what_it_found_and_the_exact_context(
    client: httpx.AsyncClient, world: World
) -> None:
    await ingest(client, world.owner.auth)
    answer, trace_id = await recall(client, world.owner.auth, limit=2)
    assert answer["trace_id"] == trace_id
    trace = await trace_of(client, world.owner.auth, trace_id)
    assert (trace["kind"], trace["surface"], trace["space"]) == ("recall", "POST /v1/recall", "scope:team")
    assert (trace["question"], trace["speaker"]) == ("When does the ferry leave?", "bob")
    assert trace["user_id"] == world.owner.user.id
    assert handed(trace) == answer["context"]
    assert trace["tokens"] > 0
    assert [step["name"] for step in trace["steps"]] == ["look up", "search", "pack"]
    assert all(step["milliseconds"] >= 0 for step in trace["steps"])
    best = trace["candidates"][0]
    assert best["id"] == answer["evidence"][0]["message_id"]
    assert best["why"]["bm25"] > 0
    assert best["left_out"] is None
    assert (trace["withheld"], trace["cut"]) == (0, False)


async def test_a_trace_says_what_was_left_out_and_why(client: httpx.AsyncClient, world: World) -> None:
    await ingest(client, world.owner.auth)
    _, trace_id = await recall(client, world.owner.auth, min_relevance=0.999999)
    trace = await trace_of(client, world.owner.auth, trace_id)
    assert {candidate["left_out"] for candidate in trace["candidates"]} == {"below_floor"}
    _, trace_id = await recall(client, world.owner.auth, max_tokens=1)
    trace = await trace_of(client, world.owner.auth, trace_id)
    assert "no_room" in {candidate["left_out"] for candidate in trace["candidates"]}
    _, trace_id = await recall(client, world.owner.auth, limit=1)
    trace = await trace_of(client, world.owner.auth, trace_id)
    assert [candidate["left_out"] for candidate in trace["candidates"]][:2] == [None, "over_limit"]


async def test_ask_is_kept_with_its_answer(client: httpx.AsyncClient, world: World) -> None:
    await ingest(client, world.owner.auth)
    body = {"scope_id": "team", "question": "When does the ferry to Bergen leave?"}
    answer, trace_id = await sent(client, world.owner.auth, "POST", "/ask", json=body)
    trace = await trace_of(client, world.owner.auth, trace_id)
    assert trace["kind"] == "ask"
    assert answer["answer"]
    assert handed(trace) == answer["answer"]


async def test_every_search_leaves_a_trace(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    fact = "The ferry to Bergen leaves at nine."
    workspace = await make_workspace(client, auth)
    await keep(client, auth, workspace, fact)
    await store_node(client, auth, fact)
    await call(client, auth, "POST", "/memory/capsules", json={"content_md": fact}, expect=201)
    item = {"namespace": ["trip"], "key": "ferry", "value": {"text": fact}}
    await call(client, auth, "PUT", "/stores/mine/items", json=item, expect=(200, 201))
    added = {"messages": [{"role": "user", "content": fact}], "infer": False, "user_id": "ann"}
    assert (await client.post("/v3/memories/add/", json=added, headers=auth)).is_success
    question = "ferry Bergen nine"
    mem0 = {"query": question, "threshold": 0, "filters": {"user_id": "ann"}}
    searches: list[tuple[str, str, dict[str, Any], str]] = [
        ("POST", "/graphs/default/recall", {"json": {"query": question, "min_relevance": 0}}, "recall"),
        ("GET", "/memory/capsules", {"params": {"q": question, "mode": "hybrid", "min_relevance": 0}}, "search"),
        ("GET", f"/workspaces/{workspace}/search", {"params": {"q": question}}, "search"),
        ("POST", "/stores/mine/search", {"json": {"query": question}}, "search"),
        ("POST", "/../v3/memories/search/", {"json": mem0}, "search"),
    ]
    for method, path, options, kind in searches:
        answer = await client.request(method, f"/v1{path}".replace("/v1/..", ""), headers=auth, **options)
        trace = await trace_of(client, auth, answer.headers["x-keepstone-trace"])
        assert trace["kind"] == kind, path
        assert "ferry to Bergen" in handed(trace), path
        assert trace["candidates"][0]["left_out"] is None, path


async def test_mcp_names_the_trace_in_its_answer_and_in_the_header(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    await store_node(client, auth, "The ferry leaves at nine.")
    await call(client, auth, "POST", "/memory/capsules", json={"content_md": "The ferry leaves at nine."}, expect=201)
    for path, name, arguments in (
        ("/v1/graph/mcp", "memory_recall", {"query": "ferry", "min_relevance": 0}),
        ("/v1/mcp", "conductor_ask", {"mode": "search_memory", "query": "ferry", "min_relevance": 0}),
    ):
        params = {"name": name, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await client.post(path, json=body, headers=auth)
        trace_id = answer.json()["result"]["structuredContent"]["trace_id"]
        assert answer.headers["x-keepstone-trace"] == trace_id
        assert (await trace_of(client, auth, trace_id))["surface"] == f"POST {path}"


async def test_a_composition_is_kept_word_for_word(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    await make_agent(client, auth, instructions="Be brief.")
    room = await make_room(client, auth)
    await say(client, auth, room, "We decided to sail to Bergen.")
    await remember(client, auth, world.owner.user.id, "Olga is afraid of the sea.")
    answer = await compose(client, auth, room, "Who is afraid of the sea?")
    trace = await trace_of(client, auth, answer["trace_id"])
    assert (trace["kind"], trace["space"]) == ("composition", room)
    roles: list[list[str]] = []
    for piece in trace["handed_out"]:
        if not roles or piece["role"] == "user" or roles[-1][0] != piece["role"]:
            roles.append([piece["role"], ""])
        roles[-1][1] += piece["text"]
    assert roles == [[message["role"], message["content"]] for message in answer["messages"]]
    assert trace["tokens"] == answer["tokens"]["prompt"]
    assert trace["parameters"]["sections"] == answer["sections"]
    assert "Olga is afraid of the sea." in {candidate["text"] for candidate in trace["candidates"]}


@pytest.fixture(scope="module")
def scripted() -> Generator[ScriptedUpstream]:
    made = ScriptedUpstream()
    yield made
    made.stop()


@pytest.fixture
async def talking(services: Services, scripted: ScriptedUpstream) -> AsyncGenerator[httpx.AsyncClient]:
    """A server with a language model."""
    upstream = OpenAIUpstream(scripted.url, "sk-of-the-operator", "small")
    settings = replace(services.settings, inject_relevance=0.01)
    async with http(make_app(replace(services, upstream=upstream, settings=settings))) as client:
        yield client
    await upstream.close()


FERRY = "When does the ferry leave?"


@pytest.mark.parametrize("path", ["chat/completions", "responses"])
@pytest.mark.parametrize("stream", [False, True])
async def test_what_is_injected_is_kept_and_the_answer_names_it(
    talking: httpx.AsyncClient, scripted: ScriptedUpstream, world: World, path: str, stream: bool
) -> None:
    auth = world.owner.auth
    workspace = await make_workspace(talking, auth)
    await keep(talking, auth, workspace, "The ferry leaves at nine.")
    chat = await make_chat(talking, auth, workspace)
    answers: dict[Any, Answer] = {
        ("chat/completions", False): completion("At nine."), ("chat/completions", True): streamed(*chunks("At nine.")),
        ("responses", False): response(says("At nine.")), ("responses", True): streamed(*events(says("At nine."))),
    }  # fmt: skip
    scripted.script(answers[path, stream])
    asked = {"messages": [{"role": "user", "content": FERRY}], "input": FERRY, "stream": stream}
    body = {name: asked[name] for name in ({"messages", "stream"} if path != "responses" else {"input", "stream"})}
    answer = await talking.post(f"/v1/{path}", json=body, headers=auth | {"X-Keepstone-Chat": chat})
    assert answer.is_success
    trace = await trace_of(talking, auth, answer.headers["x-keepstone-trace"])
    assert (trace["kind"], trace["space"], trace["question"]) == ("injection", workspace, FERRY)
    assert "The ferry leaves at nine." in handed(trace)
    assert json.dumps(handed(trace))[1:-1] in scripted.received[-1].body.decode()
    [candidate] = trace["candidates"]
    assert (candidate["left_out"], candidate["text"]) == (None, "The ferry leaves at nine.")
    said = (await call(talking, auth, "GET", f"/chats/{chat}/messages"))["items"][-1]
    assert said["role"] == "assistant"
    assert said["metadata"]["trace_id"] == trace["id"]


async def test_the_dashboards_conversation_names_the_trace_of_its_answer(
    talking: httpx.AsyncClient, scripted: ScriptedUpstream, world: World
) -> None:
    auth = world.owner.auth
    chat = await make_chat(talking, auth)
    scripted.script(streamed(*chunks("At nine.")))
    answer = await talking.post(f"/v1/chats/{chat}/messages", json={"content": FERRY}, headers=auth)
    trace_id = answer.headers["x-keepstone-trace"]
    assert f'"trace_id": "{trace_id}"' in answer.text
    trace = await trace_of(talking, auth, trace_id)
    assert trace["kind"] == "injection"
    assert trace["surface"].endswith("/{chat_id}/messages")


# --------------------------------------------------------------------------------------------------------- who reads it


async def test_nobody_but_who_asked_reads_a_trace(client: httpx.AsyncClient, world: World) -> None:
    await ingest(client, world.owner.auth)
    _, trace_id = await recall(client, world.owner.auth)
    for auth in (world.member.auth, world.stranger.auth, world.service_auth):
        await trace_of(client, auth, trace_id, expect=404)
        assert await listed(client, auth) == []
    for_max = world.service_auth | {"X-Keepstone-User": world.member.user.id}
    await trace_of(client, for_max, trace_id, expect=404)
    for_olga = world.service_auth | {"X-Keepstone-User": world.owner.user.id}
    assert (await trace_of(client, for_olga, trace_id))["question"]
    assert [line["id"] for line in await listed(client, for_olga)] == [trace_id]


async def test_the_database_itself_shows_a_trace_to_its_readers_alone(
    services: Services, client: httpx.AsyncClient, world: World
) -> None:
    await ingest(client, world.owner.auth)
    await recall(client, world.owner.auth)
    await services.traces.flush()
    olga, scope = world.owner.user, account_scope(world.owner.principal)
    for reader, number in ((None, 0), (world.member.user.id, 0), (olga.id, 1)):
        async with services.db.transaction(replace(scope, reader=reader)) as conn:
            assert await fetch_value(conn, "SELECT count(*) FROM traces WHERE account = %(account)s") == number
    for change in ("UPDATE traces SET readers = '{}'", "DELETE FROM traces"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with services.db.transaction(replace(scope, reader=olga.id)) as conn:
                await conn.execute(change.encode())


async def test_what_a_service_key_asked_for_nobody_is_the_accounts(client: httpx.AsyncClient, world: World) -> None:
    await ingest(client, world.service_auth)
    _, trace_id = await recall(client, world.service_auth)
    assert handed(await trace_of(client, world.service_auth, trace_id))
    assert [line["id"] for line in await listed(client, world.service_auth)] == [trace_id]
    for auth in (world.owner.auth, world.member.auth, world.stranger.auth):
        await trace_of(client, auth, trace_id, expect=404)


async def test_who_has_left_a_workspace_reads_its_traces_no_longer(client: httpx.AsyncClient, world: World) -> None:
    mine, his, max_ = world.owner.auth, world.member.auth, world.member.user.id
    workspace = await make_workspace(client, mine)
    await let_in(client, mine, workspace, world.member)
    await keep(client, mine, workspace, "The ferry leaves at nine.")
    _, trace_id = await sent(client, his, "GET", f"/workspaces/{workspace}/search", params={"q": "ferry"})
    assert "nine" in handed(await trace_of(client, his, trace_id))
    await trace_of(client, mine, trace_id, expect=404)  # asked by another
    await call(client, mine, "DELETE", f"/workspaces/{workspace}/members/{max_}", expect=204)
    await trace_of(client, his, trace_id, expect=404)
    assert await listed(client, his) == []
    await call(client, his, "GET", "/traces", params={"space": workspace}, expect=404)


async def test_a_trace_shows_no_text_of_what_was_deleted(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    workspace = await make_workspace(client, auth)
    gone = await keep(client, auth, workspace, "The ferry leaves at nine.")
    await keep(client, auth, workspace, "The ferry to Oslo is green.")
    _, trace_id = await sent(client, auth, "GET", f"/workspaces/{workspace}/search", params={"q": "ferry"})
    assert "nine" in handed(await trace_of(client, auth, trace_id))
    await call(client, auth, "DELETE", f"/workspaces/{workspace}/memories/{gone['id']}", expect=204)
    after = await trace_of(client, auth, trace_id)
    assert "nine" not in str(after)
    assert "green" in handed(after)
    assert after["withheld"] == 2  # a candidate, and a piece of what was handed out
    await call(client, auth, "POST", f"/workspaces/{workspace}/memories/{gone['id']}/restore")
    assert "nine" in handed(await trace_of(client, auth, trace_id))


async def test_in_a_room_others_read_what_they_see_of_a_prompt_and_no_profile(
    client: httpx.AsyncClient, world: World
) -> None:
    mine, his = world.owner.auth, world.member.auth
    await make_agent(client, mine)
    room = await make_room(client, mine, world.member)
    await remember(client, mine, world.owner.user.id, "Olga is afraid of the sea.")
    await remember(client, his, world.member.user.id, "Max is fond of the sea.")
    await say(client, mine, room, "Who is fond of the sea?")
    answer = await compose(client, mine, room, "Who is fond of the sea?")
    assert "Olga is afraid" in prompt(answer)
    own = await trace_of(client, mine, answer["trace_id"])
    assert "Olga is afraid" in handed(own)
    assert "Max is fond" in handed(own)  # as the prompt that she was given has it
    others = await trace_of(client, his, answer["trace_id"])
    assert others["question"] == "Who is fond of the sea?"
    assert "afraid" not in str(others)
    assert "Max is fond" in handed(others)
    memory = next(one["id"] for one in own["candidates"] if "afraid" in one["text"])
    assert memory not in str(others)
    assert [line["id"] for line in await listed(client, his, space=room)] == [answer["trace_id"]]
    assert await listed(client, his) == []
    await trace_of(client, world.stranger.auth, answer["trace_id"], expect=404)
    await call(client, mine, "DELETE", f"/rooms/{room}/participants/{world.member.user.id}", expect=204)
    await trace_of(client, his, answer["trace_id"], expect=404)
    assert "Max is fond" not in str(await trace_of(client, mine, answer["trace_id"]))


async def test_what_nobody_said_in_the_room_yet_is_for_who_asked_alone(client: httpx.AsyncClient, world: World) -> None:
    await make_agent(client, world.owner.auth)
    room = await make_room(client, world.owner.auth, world.member)
    answer = await compose(client, world.owner.auth, room, "How do I tell Max that he is late?")
    assert "late" in handed(await trace_of(client, world.owner.auth, answer["trace_id"]))
    await trace_of(client, world.member.auth, answer["trace_id"], expect=404)
    assert await listed(client, world.member.auth, space=room) == []


async def test_who_joins_later_reads_no_earlier_trace(client: httpx.AsyncClient, world: World) -> None:
    mine, his = world.owner.auth, world.member.auth
    await make_agent(client, mine)
    room = await make_room(client, mine)
    await say(client, mine, room, "Where do we sail?")
    answer = await compose(client, mine, room, "Where do we sail?")
    await call(client, mine, "POST", f"/rooms/{room}/participants", json={"user": world.member.user.id})
    await trace_of(client, his, answer["trace_id"], expect=404)


async def test_a_key_for_some_spaces_reads_only_their_traces(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    for scope in ("team", "other"):
        await ingest(client, auth, scope)
    _, of_team = await recall(client, auth, "team")
    _, of_other = await recall(client, auth, "other")
    _, of_nothing = await recall(client, auth, "empty")
    made = await call(client, auth, "POST", "/keys", json={"name": "k", "spaces": ["scope:team"]}, expect=201)
    limited = {"Authorization": f"Bearer {made['key']}"}
    assert [line["id"] for line in await listed(client, limited)] == [of_team]
    assert handed(await trace_of(client, limited, of_team))
    for trace_id in (of_other, of_nothing):
        await trace_of(client, limited, trace_id, expect=404)
    made = await call(client, auth, "POST", "/keys", json={"name": "k", "surfaces": ["scopes"]}, expect=201)
    await call(client, {"Authorization": f"Bearer {made['key']}"}, "GET", "/traces", expect=403)


# ---------------------------------------------------------------------------------------------------- named by messages


async def test_an_agents_message_names_the_trace_of_its_prompt(client: httpx.AsyncClient, world: World) -> None:
    mine, his = world.owner.auth, world.member.auth
    await make_agent(client, mine)
    room = await make_room(client, mine, world.member)
    await say(client, mine, room, "Where do we sail?")
    trace_id = (await compose(client, mine, room, "Where do we sail?"))["trace_id"]
    said = await say(client, mine, room, "To Bergen.", agent="scout", trace_id=trace_id)
    assert said["trace_id"] == trace_id
    shown = (await call(client, his, "GET", f"/rooms/{room}/messages"))["items"][-1]
    assert shown["trace_id"] == trace_id
    assert (await call(client, his, "GET", f"/rooms/{room}/working"))["items"][-1]["trace_id"] == trace_id
    assert handed(await trace_of(client, his, shown["trace_id"]))
    direct = (await compose(client, mine, "scout", "Where do we sail?"))["trace_id"]
    assert (await say(client, mine, "scout", "To Oslo.", agent="scout", trace_id=direct))["trace_id"] == direct


async def test_a_message_cant_name_a_trace_of_elsewhere_or_of_another(client: httpx.AsyncClient, world: World) -> None:
    mine, his = world.owner.auth, world.member.auth
    await make_agent(client, mine)
    room, other = await make_room(client, mine, world.member), await make_room(client, mine)
    trace_id = (await compose(client, mine, room, "Where do we sail?"))["trace_id"]
    await say(client, mine, other, "To Bergen.", agent="scout", trace_id=trace_id, expect=422)
    await say(client, his, room, "To Bergen.", agent="scout", trace_id=trace_id, expect=404)
    await ingest(client, mine)
    _, of_recall = await recall(client, mine)
    await say(client, mine, room, "To Bergen.", agent="scout", trace_id=of_recall, expect=422)
    await say(client, mine, room, "To Bergen.", trace_id="trc_short", expect=422)
    assert (await call(client, mine, "GET", f"/rooms/{room}/messages"))["items"] == []


# ---------------------------------------------------------------------------------------------------------------- lists


async def test_traces_are_listed_by_kind_space_and_time_without_their_texts(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    await ingest(client, auth)
    _, first = await recall(client, auth)
    body = {"scope_id": "team", "question": "Where does Bob live?"}
    _, second = await sent(client, auth, "POST", "/ask", json=body)
    lines = await listed(client, auth)
    assert [line["id"] for line in lines] == [second, first]
    assert lines[1]["question"] == "When does the ferry leave?"
    assert "pier" not in str(lines)
    assert [line["id"] for line in await listed(client, auth, kind="ask")] == [second]
    assert len(await listed(client, auth, space="scope:team")) == 2
    assert [line["id"] for line in await listed(client, auth, to=lines[0]["at"])] == [first]
    assert [line["id"] for line in await listed(client, auth, **{"from": lines[0]["at"]})] == [second]
    page = await call(client, auth, "GET", "/traces", params={"limit": 1})
    rest = await call(client, auth, "GET", "/traces", params={"limit": 1, "cursor": page["next_cursor"]})
    assert [page["items"][0]["id"], rest["items"][0]["id"]] == [second, first]
    await call(client, auth, "GET", "/traces", params={"space": "scope:none"}, expect=404)
    await call(client, auth, "GET", "/traces", params={"space": "nonsense"}, expect=422)
    await call(client, auth, "GET", "/traces", params={"kind": "nonsense"}, expect=422)


async def test_lists_have_names_and_are_searched_by_the_words_of_the_question(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    await ingest(client, auth)
    _, recalled = await recall(client, auth)
    await make_agent(client, auth)
    room = await make_room(client, auth)
    said = await say(client, auth, room, "Where does the schooner lie?")
    composed = await compose(client, auth, room, "Where does the schooner lie?")
    reply = await say(client, auth, room, "At pier 3.", agent="scout", trace_id=composed["trace_id"])
    prompt, line = await listed(client, auth)
    assert line["id"] == recalled
    assert (line["place"], line["person"]) == ("team", world.owner.user.name)
    assert line["found"] >= line["used"] > 0
    assert prompt["question"] == "Where does the schooner lie?"
    places = (await call(client, auth, "GET", "/traces/places"))["places"]
    assert [(one["space"], one["traces"]) for one in places] == [(room, 1), ("scope:team", 1)]
    trace = await trace_of(client, auth, prompt["id"])
    assert (trace["answer"]["message_id"], trace["answer"]["text"]) == (reply["id"], "At pier 3.")
    assert trace["names"]["scout"]
    assert [one["id"] for one in await listed(client, auth, q="SCHOONER")] == [prompt["id"]]
    assert await listed(client, auth, q="galleon") == []
    mine = await listed(client, auth, space=room, user_id=world.owner.user.id)
    assert [one["id"] for one in mine] == [prompt["id"]]
    await call(client, auth, "DELETE", f"/rooms/{room}/messages/{said['id']}", expect=204)
    assert await listed(client, auth, q="schooner") == []
    assert (await listed(client, auth))[0]["question"] is None


async def test_candidates_say_who_spoke_and_when_and_the_pieces_have_tokens_that_add_up(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    await ingest(client, auth)
    _, recalled = await recall(client, auth)
    trace = await trace_of(client, auth, recalled)
    assert all(one["what"] == "message" and one["said_by"] and one["said_at"] for one in trace["candidates"])
    assert sum(piece["tokens"] for piece in trace["handed_out"]) == trace["tokens"]


# ---------------------------------------------------------------------------------------------------- kept for a while


@pytest.fixture
async def without(services: Services) -> AsyncGenerator[httpx.AsyncClient]:
    """A server that keeps none."""
    async with http(make_app(replace(services, settings=replace(services.settings, trace_days=0)))) as client:
        yield client


async def test_none_are_kept_where_none_are_wanted(without: httpx.AsyncClient, world: World) -> None:
    await ingest(without, world.owner.auth)
    message = {"speaker": "bob", "text": "When does the ferry leave?"}
    body = {"scope_id": "team", "message": message}
    answer = await without.post("/v1/recall", json=body, headers=world.owner.auth)
    assert "x-keepstone-trace" not in answer.headers
    assert answer.json()["trace_id"] is None
    assert await listed(without, world.owner.auth) == []


async def test_old_traces_are_purged_and_so_are_those_that_quote_what_is(
    services: Services, client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    await ingest(client, auth)
    _, old = await recall(client, auth)
    _, young = await recall(client, auth)
    workspace = await make_workspace(client, auth)
    gone = await keep(client, auth, workspace, "The ferry leaves at nine.")
    _, quoting = await sent(client, auth, "GET", f"/workspaces/{workspace}/search", params={"q": "ferry"})
    await call(client, auth, "DELETE", f"/workspaces/{workspace}/memories/{gone['id']}", expect=204)
    assert len(await listed(client, auth)) == 3
    await rows(database, "UPDATE traces SET at = now() - interval '15 days' WHERE id = %s RETURNING 1", [old])
    await rows(
        database, "UPDATE memories SET deleted_at = now() - interval '31 days' WHERE id = %s RETURNING 1", [gone["id"]]
    )
    await tasks.purge_memories(services)
    assert [line["id"] for line in await listed(client, auth)] == [young]
    await trace_of(client, auth, quoting, expect=404)


async def test_traces_are_dropped_and_counted_where_too_many_wait(
    client: httpx.AsyncClient, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_log, "MOST_WAITING", 0)
    await ingest(client, world.owner.auth)
    _, trace_id = await recall(client, world.owner.auth)
    await trace_of(client, world.owner.auth, trace_id, expect=404)
    counted = (await client.get("/metrics")).text
    assert 'keepstone_traces_total{outcome="dropped"} 1.0' in counted


async def test_metrics_say_how_many_are_kept(client: httpx.AsyncClient, world: World) -> None:
    await ingest(client, world.owner.auth)
    _, trace_id = await recall(client, world.owner.auth)
    await trace_of(client, world.owner.auth, trace_id)
    assert 'keepstone_traces_total{outcome="kept"} 1.0' in (await client.get("/metrics")).text


async def test_what_waits_is_written_when_the_server_ends(
    services: Services, client: httpx.AsyncClient, world: World, database: str
) -> None:
    await ingest(client, world.owner.auth)
    _, trace_id = await recall(client, world.owner.auth)
    await services.traces.close()
    assert await rows(database, "SELECT id FROM traces") == [(trace_id,)]


# ----------------------------------------------------------------------------------------------------------- the pieces


def test_a_text_is_cut_where_it_quotes() -> None:
    text = "Before\n- one\n- two\n- one\nafter"
    pieces = cut_up(text, [(["a"], "- one"), (["b"], "- two")])
    assert "".join(piece.text or "" for piece in pieces) == text
    assert [piece.sources for piece in pieces] == [[], ["a"], [], ["b"], [], ["a"], []]


def test_what_overlaps_is_one_piece_and_what_is_nowhere_is_everywhere() -> None:
    pieces = cut_up("one two three", [(["a"], "one two"), (["b"], "two three")])
    assert [(piece.text, piece.sources) for piece in pieces] == [("one two three", ["a", "b"])]
    pieces = cut_up("one two", [(["a"], "one"), (["b"], "missing")])
    assert [(piece.text, piece.sources) for piece in pieces] == [("one", ["a", "b"]), (" two", ["b"])]
