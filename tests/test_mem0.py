"""The `mem0ai` package's own client against this server: every call that it has, what each means, and whose it is."""

import asyncio
import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from capsules import rows
from conftest import World, http
from fakes import FakeModel
from keepstone.access import operator, plans, users
from keepstone.app import make_app
from keepstone.engine.quotation import CLOSING, OPENING
from keepstone.jobs.tasks import erase_user, purge_memories
from keepstone.jobs.worker import run_until_empty
from keepstone.memory.entity_search import find
from keepstone.model.entity import Comparison, EntityFilter
from keepstone.model.plan import Plan
from keepstone.providers.embedder import Embedder
from keepstone.providers.embedders import Embedders
from keepstone.services import Services
from live import Guest
from mem0_client import (
    AddMemoryOptions,
    AsyncMemoryClient,
    DeleteAllMemoryOptions,
    GetAllMemoryOptions,
    Mem0,
    MemoryClient,
    SearchMemoryOptions,
    UpdateMemoryOptions,
    connect,
)

ANNA = {"user_id": "anna"}
NOW = datetime.now(UTC)
TEA, TRAIN = "The tea is in the blue tin", "The train to Basel leaves at nine"
NOBODYS = "mem_" + "a" * 24
PAGE = Path(__file__).parent.parent / "docs" / "from-mem0.md"


@pytest.fixture
async def mem0(app: FastAPI, world: World) -> Mem0:
    return await connect(app, world.owner.key)


async def keep(mem0: Mem0, *texts: str, **options: Any) -> list[str]:
    """Word for word; their ids."""
    ids: list[str] = []
    for text in texts:
        (one,) = await mem0.add(text, infer=False, **options)
        ids.append(one["id"])
    return ids


# -------------------------------------------------------------------------------------------------------- the whole way


async def test_every_call_that_people_use_works_as_they_know_it(mem0: Mem0, world: World) -> None:
    assert (mem0.client.org_id, mem0.client.project_id) == (world.owner.principal.account_id, "default")
    assert mem0.client.user_email == "olga@example.org"

    (made,) = await mem0.add(TEA, user_id="anna", infer=False, metadata={"room": "kitchen"})
    assert (made["memory"], made["event"], made["metadata"]) == (TEA, "ADD", {"room": "kitchen"})
    memory_id = made["id"]

    (found,) = await mem0.search("tea tin", filters=ANNA)
    assert (found["id"], found["memory"], found["user_id"]) == (memory_id, TEA, "anna")
    assert 0 < found["score"] <= 1
    one = await mem0.call("get", memory_id)
    assert one == {name: value for name, value in found.items() if name != "score"}
    assert await mem0.call("get_all", filters=ANNA) == {"count": 1, "next": None, "previous": None, "results": [one]}

    changed = await mem0.call("update", memory_id, text="The tea is in the red tin")
    assert (changed["memory"], changed["metadata"]) == ("The tea is in the red tin", {"room": "kitchen"})
    assert changed["updated_at"] > one["updated_at"]
    assert await mem0.found("blue tea", ANNA) == ["The tea is in the red tin"], "it still says tea"
    await mem0.call("delete", memory_id)
    assert await mem0.found("tea", ANNA) == []
    assert (await mem0.fault("get", memory_id))[0] == 404
    history = await mem0.call("history", memory_id)
    assert [(each["event"], each["old_memory"], each["new_memory"]) for each in history] == [
        ("ADD", None, TEA),
        ("UPDATE", TEA, "The tea is in the red tin"),
        ("DELETE", "The tea is in the red tin", None),
    ]
    assert {each["memory_id"] for each in history} == {memory_id}


async def test_whatever_form_messages_have_they_are_kept_word_for_word(mem0: Mem0) -> None:
    forms: list[Any] = [
        TEA,
        {"role": "user", "content": TEA},
        [{"role": "user", "content": TEA}],
        [{"role": "user", "content": [{"type": "text", "text": TEA}]}],
        [{"role": "system", "content": "You are terse."}, {"role": "assistant", "content": TEA, "name": "butler"}],
    ]
    for messages in forms:
        (made,) = await mem0.add(messages, user_id="anna", infer=False)
        assert made["memory"] == TEA
        assert made["actor_id"] == ("butler" if "butler" in json.dumps(messages) else None)


async def test_word_for_word_means_every_message_and_the_same_again_once_more(mem0: Mem0) -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    first, second = await mem0.add(talk, user_id="anna", infer=False), await mem0.add(talk, user_id="anna", infer=False)
    assert [(one["memory"], one["role"], one["event"]) for one in first] == [
        ("Hi", "user", "ADD"),
        ("Hello!", "assistant", "ADD"),
    ]
    assert len({one["id"] for one in first + second}) == 4


async def test_the_last_day_there_is_can_be_a_memorys_last(mem0: Mem0) -> None:
    for day in ("9999-12-31", "9999-12-30"):
        options = AddMemoryOptions(filters={"user_id": day}, infer=False, expiration_date=day)
        (made,) = (await mem0.call("add", TEA, options))["results"]
        assert made["expiration_date"] == day
        assert await mem0.listed({"user_id": day}) == [TEA]


async def test_options_in_their_own_classes_mean_the_same(mem0: Mem0) -> None:
    tomorrow = (NOW + timedelta(days=1)).strftime("%Y-%m-%d")
    options = AddMemoryOptions(filters=ANNA, infer=False, metadata={"a": 1}, expiration_date=tomorrow, timestamp=86400)
    (made,) = (await mem0.call("add", TEA, options))["results"]
    assert (made["user_id"], made["metadata"], made["expiration_date"]) == ("anna", {"a": 1}, tomorrow)
    assert made["created_at"] == "1970-01-02T00:00:00Z"
    wanted = SearchMemoryOptions(filters=ANNA, top_k=1, threshold=0.0, rerank=True, fields=["memory"])
    assert (await mem0.call("search", "tea", wanted))["results"] == [{"id": made["id"], "memory": TEA}]
    listed = await mem0.call("get_all", GetAllMemoryOptions(filters=ANNA, page=1, page_size=1, end_date="1970-01-02"))
    assert [one["id"] for one in listed["results"]] == [made["id"]]
    await mem0.call("update", made["id"], UpdateMemoryOptions(timestamp="2026-01-31T12:00:00Z"))
    assert (await mem0.call("get", made["id"]))["created_at"] == "2026-01-31T12:00:00Z"
    await mem0.call("delete_all", DeleteAllMemoryOptions(filters=ANNA))
    assert await mem0.listed(ANNA) == []


# ------------------------------------------------------------------------------------------------- read out of messages


async def test_what_is_worth_keeping_is_read_out_of_a_conversation(mem0: Mem0) -> None:
    talk = [
        {"role": "user", "content": "Hi! I'm a vegetarian and allergic to nuts. Can you suggest a restaurant?"},
        {"role": "assistant", "content": "Of course. I love the Green Fork, and you live near it."},
        {"role": "user", "content": "Great, thanks!"},
    ]
    (made,) = await mem0.add(talk, user_id="anna")
    assert (made["memory"], made["event"]) == ("I'm a vegetarian and allergic to nuts.", "ADD")
    assert made["categories"] == ["preference"]
    assert await mem0.add(talk[2:], user_id="anna") == []


async def test_what_an_assistant_says_is_an_agents_memory_and_no_users(mem0: Mem0) -> None:
    talk = [{"role": "assistant", "content": "I always answer in French."}]
    assert await mem0.add(talk, user_id="anna", agent_id="bot") == []
    (made,) = await mem0.add(talk, agent_id="bot")
    assert (made["memory"], made["role"]) == ("I always answer in French.", "assistant")


async def test_the_same_again_is_known(mem0: Mem0) -> None:
    (first,) = await mem0.add("I prefer dark mode.", user_id="anna", metadata={"app": "editor"})
    (again,) = await mem0.add("i prefer dark mode", user_id="anna")
    assert (again["id"], again["event"], again["memory"]) == (first["id"], "NOOP", "I prefer dark mode.")
    (more,) = await mem0.add("I prefer dark mode.", user_id="anna", metadata={"since": 2026}, categories=["look"])
    assert (more["id"], more["event"]) == (first["id"], "UPDATE"), "what is said of it besides is not lost"
    assert (more["metadata"], more["categories"]) == ({"app": "editor", "since": 2026}, ["preference", "look"])
    (other,) = await mem0.add("I prefer dark mode.", user_id="anna", metadata={"app": "mail"})
    assert (other["event"], other["id"] == first["id"]) == ("ADD", False), "said of something else"
    (hers,) = await mem0.add("I prefer dark mode.", user_id="bea")
    assert hers["event"] == "ADD"


async def test_twenty_who_say_the_same_at_once_are_remembered_once(app: FastAPI, mem0: Mem0, world: World) -> None:
    clients = [await connect(app, world.owner.key) for _ in range(4)]
    made = await asyncio.gather(*(clients[n % 4].add("I prefer dark mode.", user_id="anna") for n in range(20)))
    assert sorted(one["event"] for (one,) in made) == ["ADD"] + ["NOOP"] * 19
    assert (await mem0.call("get_all", filters=ANNA))["count"] == 1


async def test_a_statement_that_is_handed_over_alone_is_kept_whatever_is_read_out_of_it(
    services: Services, mem0: Mem0, world: World
) -> None:
    stated = [
        "Completed marathon", "Vegetarian", "Name: Alice", "Loves coffee", "Anna lives in Berlin", "她住在柏林",
        "Buy milk", "Ate well. " * 60,
    ]  # fmt: skip
    blind = await connect(make_app(replace(services, llm=FakeModel([]))), world.owner.key)
    for client, user in ((mem0, "anna"), (blind, "bea")):
        for text in stated:
            (made,) = await client.add(text, user_id=user)
            assert (made["memory"], made["event"], made["role"]) == (text.strip(), "ADD", "user")
            assert (await client.call("get", made["id"]))["memory"] == text.strip()
            (again,) = await client.add([{"role": "system", "content": "Be brief."}, {"content": text}], user_id=user)
            assert (again["id"], again["event"]) == (made["id"], "NOOP")
    assert await mem0.found("marathon", ANNA, top_k=1) == ["Completed marathon"]


async def test_what_one_person_hands_over_is_kept_whole_and_a_talk_is_read(mem0: Mem0) -> None:
    def said(*texts: str, **more: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": text, **more} for text in texts]

    async def kept(messages: Any) -> set[str]:
        return {one["memory"] for one in await mem0.add(messages, user_id=str(messages)[:200])}

    assert await kept("Hi! Name: Alice. I prefer dark mode. Any tips?") == {"Name: Alice.", "I prefer dark mode."}
    assert await kept(said("Name: Alice", "Thanks!", "Buy milk")) == {"Name: Alice", "Buy milk"}
    answered = [*said("Buy milk. I prefer dark mode."), {"role": "assistant", "content": "It is on the list."}]
    assert await kept(answered) == {"I prefer dark mode."}
    assert await kept([*said("Buy milk", name="anna"), *said("I prefer dark mode.", name="ben")]) == {
        "I prefer dark mode."
    }
    assert await kept("My name is Alice. My password is hunter2hunter2.") == {"My name is Alice."}


async def test_what_says_nothing_is_not_kept_and_the_answer_says_why(mem0: Mem0) -> None:
    talk = [{"role": "user", "content": "Buy milk"}, {"role": "assistant", "content": "It is on the list."}]
    for messages in (
        "Thank you!",
        "What is the weather like?",
        "👍",
        [{"role": "assistant", "content": "I'm here."}],
        talk,
    ):
        answer = await mem0.call("add", messages, user_id="anna")
        assert answer["results"] == [], messages
        assert "infer=False" in answer["message"]
    assert "message" not in await mem0.call("add", "Vegetarian", user_id="anna")
    status, message = await mem0.fault("add", "My password is hunter2hunter2", user_id="anna")
    assert (status, "infer=False" in message) == (400, True)
    assert await mem0.listed(ANNA) == ["Vegetarian"]


async def test_a_language_model_reads_when_there_is_one_and_is_done_without_when_it_babbles(
    services: Services, world: World, database: str
) -> None:
    said = "Our deploys happen on Tuesdays, and the weather was lovely."
    entry = {"content": "Deploys happen on Tuesdays.", "category": "fact", "summary": "Deploys"}
    model = FakeModel([entry], tokens_in=3, tokens_out=2)
    mem0 = await connect(make_app(replace(services, llm=model)), world.owner.key)
    (made,) = await mem0.add(said, user_id="anna")
    assert (made["memory"], made["categories"]) == ("Deploys happen on Tuesdays.", ["fact"])
    assert said in model.prompts[0]
    assert await rows(database, "SELECT sum(tokens_in), sum(tokens_out) FROM usage_ledger WHERE action = 'llm'") == [
        (3, 2)
    ]
    model.says = "I am sorry, what?"
    (made,) = await mem0.add("I prefer dark mode.", user_id="anna")
    assert made["memory"] == "I prefer dark mode."


async def test_what_was_recalled_is_not_taken_in_again(mem0: Mem0) -> None:
    quoted = f"{OPENING}\nI prefer light mode.\n{CLOSING}"
    assert await mem0.add(quoted, user_id="anna") == []
    (made,) = await mem0.add(f"{quoted} I prefer dark mode.", user_id="anna", infer=False)
    assert made["memory"] == "I prefer dark mode."
    assert (await mem0.fault("add", quoted, user_id="anna", infer=False))[0] == 400


# ---------------------------------------------------------------------------------------------------------- whose it is


async def test_what_is_kept_for_one_is_found_by_each_of_its_ids_and_by_no_other(mem0: Mem0) -> None:
    await keep(mem0, "tea for anna", user_id="anna")
    await keep(mem0, "tea for anna by bot", user_id="anna", agent_id="bot")
    await keep(mem0, "tea by bot", agent_id="bot", app_id="shop")
    await keep(mem0, "tea for bea", user_id="bea", run_id="r1")
    expected = {
        '{"user_id": "anna"}': {"tea for anna", "tea for anna by bot"},
        '{"agent_id": "bot"}': {"tea for anna by bot", "tea by bot"},
        '{"user_id": "anna", "agent_id": "bot"}': {"tea for anna by bot"},
        '{"AND": [{"user_id": "anna"}, {"NOT": {"agent_id": "bot"}}]}': {"tea for anna"},
        '{"AND": [{"user_id": "anna"}, {"agent_id": null}]}': {"tea for anna"},
        '{"user_id": {"in": ["anna", "bea"]}}': {"tea for anna", "tea for anna by bot", "tea for bea"},
        '{"OR": [{"app_id": "shop"}, {"run_id": "r1"}]}': {"tea by bot", "tea for bea"},
        '{"user_id": "Anna"}': set(),
        '{"user_id": "bot"}': set(),
        '{"run_id": "anna"}': set(),
        '{"user_id": "an%"}': set(),
        '{"user_id": "anna\' OR true --"}': set(),
    }
    for text, wanted in expected.items():
        filters = json.loads(text)
        assert set(await mem0.listed(filters)) == wanted, text
        assert set(await mem0.found("tea", filters, threshold=0.0)) == wanted, text


REFUSED: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("add", [TEA], {"user_id": "*"}),
    ("add", [TEA], {"user_id": ""}),
    ("add", [TEA], {"user_id": " "}),
    ("add", [TEA], {"user_id": "a" * 256}),
    ("add", [TEA], {}),
    ("add", [TEA], {"user_id": "anna", "filters": {"user_id": "bea"}}),
    ("add", [TEA], {"filters": {"user_id": "anna", "room": "kitchen"}}),
    *(
        (call, args, {"filters": filters})
        for call, args in (("search", ["tea"]), ("get_all", []))
        for filters in (
            None, {}, {"user_id": "*"}, {"user_id": ""}, {"user_id": {"in": ["anna", "*"]}}, {"user_id": {"ne": "x"}},
            {"NOT": {"user_id": "x"}}, {"OR": [{"user_id": "anna"}, {"categories": "food"}]}, {"user_id": None},
            {"metadata": {"room": "kitchen"}}, {"AND": []}, {"AND": [{}]}, {"OR": "anna"}, {"userid": "anna"},
            {"user_id": {"contains": "a"}}, {"user_id": {"like": "a"}}, {"user_id": 7},
            {"user_id": "anna", "created_at": {"gte": "soon"}}, {"user_id": "anna", "metadata": "kitchen"},
            {"user_id": "anna", "categories": {"gt": "a"}}, {"user_id": "anna", "created_at": {"in": []}},
        )
    ),
    ("delete_all", [], {}),
    ("delete_all", [], {"user_id": "*"}),
    ("delete_all", [], {"user_id": ""}),
    ("delete_all", [], {"filters": "anna"}),
    ("delete_users", [], {"user_id": "*"}),
]  # fmt: skip


async def test_whoever_does_not_say_whose_it_is_gets_a_word_and_nobodys_memories(mem0: Mem0) -> None:
    await keep(mem0, TEA, user_id="anna")
    for call, args, options in REFUSED:
        status, message = await mem0.fault(call, *args, **options)
        assert (status, message[-1]) == (400, "."), (call, options, message)
        assert "anna" not in message.replace('{"user_id": "anna"}', "")
    assert await mem0.listed(ANNA) == [TEA]


async def test_a_filter_without_bounds_is_refused(mem0: Mem0) -> None:
    deep: Any = ANNA
    for _ in range(12):
        deep = {"AND": [deep]}
    assert (await mem0.fault("search", "tea", filters=deep))[0] == 400
    many = {"AND": [ANNA, *({"metadata": {"a": n}} for n in range(300))]}
    assert (await mem0.fault("search", "tea", filters=many))[0] == 400


async def test_another_key_reaches_nothing_of_it(app: FastAPI, mem0: Mem0, world: World) -> None:
    (mine,) = await keep(mem0, TEA, user_id="anna")
    for key in (world.member.key, world.stranger.key, world.service_key):
        other = await connect(app, key)
        assert await other.listed(ANNA) == []
        assert await other.found("tea", ANNA, threshold=0.0) == []
        assert (await other.call("users"))["results"] == []
        for name in ("get", "history", "delete"):
            assert (await other.fault(name, mine))[0] == 404
        assert (await other.fault("update", mine, text="changed"))[0] == 404
        assert (await other.fault("batch_delete", [{"memory_id": mine}]))[0] == 404
        assert (await other.fault("delete_users", user_id="anna"))[0] == 404
        await other.call("delete_all", user_id="anna")
    assert await mem0.listed(ANNA) == [TEA]


async def test_a_service_keys_memories_are_the_accounts_and_with_a_user_that_users(
    app: FastAPI, mem0: Mem0, world: World, client: httpx.AsyncClient
) -> None:
    service = await connect(app, world.service_key)
    await keep(service, TEA, user_id="anna")
    assert service.client.user_email is None
    assert await service.listed(ANNA) == [TEA]
    assert await mem0.listed(ANNA) == []
    named = {**world.service_auth, "X-Keepstone-User": world.owner.user.email}
    body = {"messages": [{"content": TRAIN}], "user_id": "anna", "infer": False}
    assert (await client.post("/v3/memories/add/", headers=named, json=body)).status_code == 200
    assert await mem0.listed(ANNA) == [TRAIN]


async def test_a_wrong_key_is_told_so_when_the_client_is_made(app: FastAPI, world: World) -> None:
    with pytest.raises(ValueError, match="not known, has expired or was revoked"):
        await connect(app, "ck_wrong")


async def test_erasing_a_user_erases_what_was_kept_under_their_key(
    app: FastAPI, services: Services, world: World, database: str
) -> None:
    member = await connect(app, world.member.key)
    await keep(member, TEA, user_id="anna")
    await users.erase_user(services, world.owner.principal, world.member.user.id)
    await erase_user(services, world.member.user.account, world.member.user.id)
    for table in ("memories", "memory_versions", "passages", "terms", "entities"):
        assert await rows(database, f"SELECT * FROM {table}") == [], table


# -------------------------------------------------------------------------------------------------------------- filters


@pytest.fixture
async def shelf(mem0: Mem0) -> Mem0:
    """Three memories of Anna's, and one like them of Bea's."""
    day = int(datetime(2026, 1, 10, 12, tzinfo=UTC).timestamp())
    await keep(mem0, "green tea", metadata={"price": 3, "kind": "Tea", "tags": ["hot", "Green"]}, categories=["drink"],
               timestamp=day, **ANNA)  # fmt: skip
    await keep(mem0, "black coffee", metadata={"price": 4.5, "kind": "Coffee", "from": {"country": "Peru"}},
               categories=["drink", "bitter"], timestamp=day + 86_400, **ANNA)  # fmt: skip
    await keep(mem0, "rye bread", metadata={"price": "cheap"}, categories=["food"], timestamp=day + 2 * 86_400, **ANNA)
    await keep(mem0, "white tea", metadata={"price": 3}, categories=["drink"], timestamp=day, user_id="bea")
    return mem0


TEA_, COFFEE, BREAD = "green tea", "black coffee", "rye bread"


CONDITIONS: list[tuple[dict[str, Any], set[str]]] = [
    ({"metadata": {"price": 3}}, {TEA_}),
    ({"metadata": {"price": {"gte": 3}}}, {TEA_, COFFEE}),
    ({"metadata": {"price": {"gt": 3, "lt": 5}}}, {COFFEE}),
    ({"metadata": {"price": {"lte": 3}}}, {TEA_}),
    ({"metadata": {"price": {"in": [3, "cheap"]}}}, {TEA_, BREAD}),
    ({"metadata": {"price": {"ne": 3}}}, {COFFEE, BREAD}),
    ({"metadata": {"price": "cheap", "kind": "Tea"}}, set()),
    ({"metadata": {"kind": {"contains": "ea"}}}, {TEA_}),
    ({"metadata": {"kind": {"contains": "EA"}}}, set()),
    ({"metadata": {"kind": {"icontains": "EA"}}}, {TEA_}),
    ({"metadata": {"tags": {"contains": "hot"}}}, {TEA_}),
    ({"metadata": {"tags": {"icontains": "green"}}}, {TEA_}),
    ({"metadata": {"tags": ["hot", "Green"]}}, {TEA_}),
    ({"metadata": {"from": {"country": "Peru"}}}, {COFFEE}),
    ({"metadata": {"price": None}}, set()),
    ({"NOT": {"metadata": {"kind": "Tea"}}}, {COFFEE, BREAD}),
    ({"NOT": [{"metadata": {"kind": "Tea"}}, {"categories": "food"}]}, {COFFEE}),
    ({"categories": "drink"}, {TEA_, COFFEE}),
    ({"categories": {"in": ["bitter", "food"]}}, {COFFEE, BREAD}),
    ({"categories": ["bitter", "food"]}, {COFFEE, BREAD}),
    ({"categories": {"contains": "bitter"}}, {COFFEE}),
    ({"categories": {"icontains": "BITT"}}, {COFFEE}),
    ({"categories": {"ne": "drink"}}, {BREAD}),
    ({"keywords": {"contains": "tea"}}, {TEA_}),
    ({"keywords": {"icontains": "RYE"}}, {BREAD}),
    ({"created_at": {"gte": "2026-01-11"}}, {COFFEE, BREAD}),
    ({"created_at": {"gt": "2026-01-11"}}, {BREAD}),
    ({"created_at": {"lte": "2026-01-11"}}, {TEA_, COFFEE}),
    ({"created_at": {"lt": "2026-01-11"}}, {TEA_}),
    ({"created_at": "2026-01-11"}, {COFFEE}),
    ({"created_at": {"ne": "2026-01-11"}}, {TEA_, BREAD}),
    ({"created_at": {"gte": "2026-01-11T12:00:00Z", "lte": "2026-01-11T12:00:00Z"}}, {COFFEE}),
    ({"created_at": {"gt": "2026-01-11T12:00:00"}}, {BREAD}),
    ({"created_at": {"eq": "2026-01-11T13:00:00+01:00"}}, {COFFEE}),
    ({"updated_at": {"lt": "2026-01-01"}}, set()),
    ({"OR": [{"metadata": {"kind": "Tea"}}, {"created_at": {"gte": "2026-01-12"}}]}, {TEA_, BREAD}),
    ({"AND": [{"categories": "drink"}, {"OR": [{"metadata": {"price": 4.5}}]}]}, {COFFEE}),
]


async def test_a_filter_means_the_same_in_a_list_and_in_a_search(shelf: Mem0) -> None:
    for condition, wanted in CONDITIONS:
        filters = {"AND": [ANNA, condition]}
        assert set(await shelf.listed(filters)) == wanted, condition
        found = await shelf.found("green tea black coffee rye bread", filters, threshold=0.0)
        assert (set(found), len(found)) == (wanted, len(wanted)), condition


async def test_a_filter_means_the_same_where_something_is_deleted(shelf: Mem0) -> None:
    filters = {"AND": [ANNA, {"metadata": {"price": {"gte": 3}}}]}
    await shelf.call("delete_all", DeleteAllMemoryOptions(filters=filters))
    assert await shelf.listed(ANNA) == [BREAD]
    assert await shelf.listed({"user_id": "bea"}) == ["white tea"]


async def test_a_filter_that_many_pass_finds_what_one_that_few_pass_does(
    services: Services, world: World, shelf: Mem0
) -> None:
    wanted = EntityFilter(filter=Comparison(field="metadata", operator="eq", value=3, path=("price",)))
    for few in (0, 10):
        found = await find(services, world.owner.principal, "tea", wanted, floor=0.0, few=few)
        assert sorted(one.memory.content for one in found) == ["green tea", "white tea"]


async def test_what_is_said_beside_the_filters_counts_as_well(shelf: Mem0) -> None:
    assert set(await shelf.found("tea coffee", ANNA, categories=["bitter"], threshold=0.0)) == {COFFEE}
    assert set(await shelf.found("tea coffee", ANNA, metadata={"price": 3}, threshold=0.0)) == {TEA_}
    assert set(await shelf.listed(ANNA, start_date="2026-01-11", end_date="2026-01-11")) == {COFFEE}
    assert set(await shelf.listed(ANNA, categories=["food"])) == {BREAD}
    (first,) = await shelf.listed({"AND": [ANNA, {"categories": "food"}]})
    found = (await shelf.call("get_all", filters=ANNA))["results"]
    bread = next(one["id"] for one in found if one["memory"] == first)
    assert await shelf.listed({"AND": [ANNA, {"memory_ids": [bread, NOBODYS]}]}) == [BREAD]


async def test_pages_hold_every_memory_once_and_lead_to_each_other(mem0: Mem0) -> None:
    await keep(mem0, *(f"number {n}" for n in range(7)), **ANNA)
    seen: list[str] = []
    for page in (1, 2, 3):
        answer = await mem0.call("get_all", filters=ANNA, page=page, page_size=3)
        assert answer["count"] == 7
        assert (answer["next"] is None, answer["previous"] is None) == (page == 3, page == 1)
        assert page == 3 or f"page={page + 1}" in answer["next"]
        seen += [one["memory"] for one in answer["results"]]
    assert seen == [f"number {n}" for n in range(6, -1, -1)]
    assert await mem0.listed(ANNA, page=4, page_size=3) == []


async def test_top_k_and_threshold_cut(mem0: Mem0) -> None:
    await keep(mem0, *(f"tea number {n}" for n in range(5)), **ANNA)
    assert len(await mem0.search("tea", filters=ANNA, top_k=2)) == 2
    scores = [one["score"] for one in await mem0.search("tea number 3", filters=ANNA, threshold=0.0)]
    assert scores == sorted(scores, reverse=True)
    middle = (scores[0] + scores[-1]) / 2
    assert len(await mem0.search("tea number 3", filters=ANNA, threshold=middle)) == sum(s >= middle for s in scores)
    assert await mem0.search("tea", filters=ANNA, threshold=1.0) == []


# ------------------------------------------------------------------------------------- expired, immutable, not for here


async def test_what_has_expired_is_found_only_by_who_asks_for_it(services: Services, mem0: Mem0, world: World) -> None:
    today = NOW.strftime("%Y-%m-%d")
    (made,) = await keep(mem0, TEA, expiration_date=today, **ANNA)
    await keep(mem0, "tea that stays", **ANNA)
    assert set(await mem0.listed(ANNA)) == {TEA, "tea that stays"}
    later = await connect(make_app(replace(services, clock=lambda: NOW + timedelta(days=1))), world.owner.key)
    assert await later.listed(ANNA) == ["tea that stays"]
    assert await later.found("tea", ANNA, threshold=0.0) == ["tea that stays"]
    assert set(await later.listed(ANNA, show_expired=True)) == {TEA, "tea that stays"}
    assert set(await later.found("tea", ANNA, threshold=0.0, show_expired=True)) == {TEA, "tea that stays"}
    await later.call("update", made, expiration_date=None)
    assert set(await later.found("tea", ANNA, threshold=0.0)) == {TEA, "tea that stays"}
    assert (await mem0.fault("add", TEA, user_id="anna", expiration_date="soon"))[0] == 422


async def test_what_is_immutable_can_be_deleted_and_not_changed(mem0: Mem0) -> None:
    (made,) = await mem0.add("I live in Berlin.", user_id="anna", immutable=True)
    assert (await mem0.fault("update", made["id"], text="I live in Rome."))[0] == 409
    (again,) = await mem0.add("I live in Berlin.", user_id="anna", metadata={"a": 1})
    assert again["event"] == "ADD", "what is there must not change"
    assert (await mem0.call("get", made["id"]))["metadata"] == {}
    await mem0.call("delete", made["id"])


async def test_what_would_be_lost_without_a_word_is_refused_with_one(mem0: Mem0) -> None:
    options: list[dict[str, Any]] = [
        {"custom_instructions": "Only food"}, {"agent_custom_instructions": "x"}, {"structured_data_schema": {"a": 1}},
        {"custom_categories": [{"food": "what is eaten"}]}, {"includes": "food"}, {"excludes": "names"},
        {"enable_graph": True},
    ]  # fmt: skip
    for option in options:
        status, message = await mem0.fault("add", TEA, user_id="anna", **option)
        assert (status, next(iter(option)) in message) == (400, True), message
    assert await mem0.listed(ANNA) == []


async def test_what_is_not_understood_is_refused_and_nothing_is_stored(mem0: Mem0) -> None:
    refused: list[tuple[int, dict[str, Any]]] = [
        (422, {"colour": "red"}),
        (422, {"timestamp": "yesterday"}),
        (400, {"timestamp": 1e18}),
        (422, {"metadata": "kitchen"}),
        (422, {"categories": [""]}),
        (404, {"org_id": "acct_" + "x" * 24}),
        (422, {"metadata": {"note": "a" * 65_536}}),
    ]
    for wanted, options in refused:
        assert (await mem0.fault("add", TEA, user_id="anna", **options))[0] == wanted, options
    assert (await mem0.fault("add", "a" * 262_145, user_id="anna", infer=False))[0] == 422
    message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}
    status, told = await mem0.fault("add", [message], user_id="anna")
    assert (status, "image" in told) == (400, True)
    assert await mem0.listed(ANNA) == []


async def test_calls_that_have_no_meaning_here_say_what_to_use(mem0: Mem0) -> None:
    (made,) = await keep(mem0, TEA, **ANNA)
    calls: list[tuple[str, list[Any]]] = [
        ("feedback", [made, "POSITIVE"]), ("create_memory_export", ["{}"]), ("get_memory_export", []),
        ("get_summary", []), ("get_profile", ["anna"]), ("generate_profile", ["anna"]), ("get_profile_settings", []),
        ("update_profile_settings", [True]), ("sample_profiles", []), ("get_profile_job", ["job"]), ("get_project", []),
        ("get_webhooks", ["default"]), ("create_webhook", ["https://example.org", "a", "default", []]),
        ("update_webhook", [1, "a"]), ("delete_webhook", [1]),
    ]  # fmt: skip
    for name, args in calls:
        status, message = await mem0.fault(name, *args)
        assert (status, " here" in message) == (404, True), (name, message)


# ------------------------------------------------------------------------------------------------------ several at once


async def test_a_batch_is_done_whole_or_not_at_all(mem0: Mem0) -> None:
    one, two = [*await keep(mem0, "one", user_id="anna"), *await keep(mem0, "two", user_id="bea")]
    changes = [{"memory_id": one, "text": "first"}, {"memory_id": two, "metadata": {"a": 1}}]
    assert "2" in (await mem0.call("batch_update", changes))["message"]
    assert (await mem0.call("get", one))["memory"] == "first"
    assert (await mem0.call("get", two))["metadata"] == {"a": 1}
    assert await mem0.found("first", ANNA) == ["first"]
    wrong = [{"memory_id": one, "text": "lost"}, {"memory_id": NOBODYS, "text": "x"}]
    assert (await mem0.fault("batch_update", wrong))[0] == 404
    assert (await mem0.fault("batch_delete", [{"memory_id": one}, {"memory_id": NOBODYS}]))[0] == 404
    assert (await mem0.fault("batch_update", [{"memory_id": one, "text": "a"}] * 2))[0] == 400
    assert (await mem0.fault("batch_update", [{"memory_id": one}]))[0] == 400
    assert (await mem0.call("get", one))["memory"] == "first"
    await mem0.call("batch_delete", [{"memory_id": one}, {"memory_id": two}])
    assert await mem0.listed(ANNA) == await mem0.listed({"user_id": "bea"}) == []


async def test_users_are_listed_and_deleted_with_all_that_is_theirs(mem0: Mem0) -> None:
    name = "anna/münchen 100%"
    await keep(mem0, "one", user_id=name)
    await keep(mem0, "two", user_id=name, agent_id="bot")
    await keep(mem0, "three", app_id="shop", run_id="r1")
    answer = await mem0.call("users")
    assert answer["count"] == 4
    assert {(one["type"], one["name"]): one["total_memories"] for one in answer["results"]} == {
        ("user", name): 2, ("agent", "bot"): 1, ("app", "shop"): 1, ("run", "r1"): 1,
    }  # fmt: skip
    await mem0.call("delete_users", user_id=name)
    assert await mem0.listed({"agent_id": "bot"}) == []
    assert {one["name"] for one in (await mem0.call("users"))["results"]} == {"shop", "r1"}
    await mem0.call("reset")
    assert (await mem0.call("users"))["results"] == []
    with pytest.raises(ValueError, match="No entities to delete"):
        await mem0.call("delete_users")


async def test_deleting_all_takes_what_has_all_of_the_ids(mem0: Mem0) -> None:
    await keep(mem0, "one", user_id="anna", agent_id="bot")
    await keep(mem0, "two", user_id="anna")
    await mem0.call("delete_all", user_id="anna", agent_id="bot")
    assert await mem0.listed(ANNA) == ["two"]
    await mem0.call("delete_all", user_id="anna")
    assert await mem0.listed(ANNA) == []


# ----------------------------------------------------------------------------------------------- the trash and after it


async def test_what_was_deleted_can_be_brought_back(mem0: Mem0, client: httpx.AsyncClient, world: World) -> None:
    (made,) = await keep(mem0, TEA, **ANNA)
    await mem0.call("delete_all", user_id="anna")
    auth = world.owner.auth
    trash = await client.post("/v3/memories/trash/", headers=auth, json={"filters": ANNA})
    assert [one["id"] for one in trash.json()["results"]] == [made]
    back = await client.post(f"/v1/memories/{made}/restore/", headers=auth)
    assert (back.status_code, back.json()["memory"]) == (200, TEA)
    assert await mem0.found("tea", ANNA) == [TEA]
    assert (await client.post(f"/v1/memories/{made}/restore/", headers=auth)).status_code == 404
    assert [one["event"] for one in await mem0.call("history", made)] == ["ADD", "DELETE", "ADD"]


async def test_what_is_in_the_trash_has_its_history_and_every_step_a_line(
    mem0: Mem0, client: httpx.AsyncClient, world: World, database: str
) -> None:
    (made,) = await keep(mem0, TEA, **ANNA)
    await mem0.call("update", made, text=TRAIN)
    await mem0.call("delete", made)
    told = await mem0.call("history", made)
    assert [(one["version"], one["event"], one["new_memory"]) for one in told] == [
        (1, "ADD", TEA), (2, "UPDATE", TRAIN), (3, "DELETE", None),
    ]  # fmt: skip
    path = f"/v1/memories/{made}/restore/"
    assert (await client.post(path, headers=world.stranger.auth)).status_code == 404
    assert (await client.post(path, headers=world.owner.auth)).json()["memory"] == TRAIN
    lines = await rows(database, "SELECT action, details::text FROM audit WHERE object_id = %s ORDER BY at", [made])
    assert [action for action, _ in lines] == ["memory.create", "memory.update", "memory.delete", "memory.restore"]
    assert not any(TEA in details or TRAIN in details for _, details in lines)


async def test_an_earlier_version_can_be_gone_back_to_from_the_trash_too(
    mem0: Mem0, client: httpx.AsyncClient, world: World
) -> None:
    (made,) = await keep(mem0, TEA, **ANNA)
    await mem0.call("update", made, text=TRAIN, metadata={"channel": "web"})
    path, auth = f"/v1/memories/{made}/restore/", world.owner.auth
    back = await client.post(path, headers=auth, json={"version": 1})
    assert (back.status_code, back.json()["memory"]) == (200, TEA)
    assert [one["event"] for one in await mem0.call("history", made)] == ["ADD", "UPDATE", "ADD"]
    assert (await mem0.found("tea", ANNA), await mem0.found("train", ANNA)) == ([TEA], [])
    await mem0.call("delete", made)
    back = await client.post(path, headers=auth, json={"version": 2})
    assert (back.json()["memory"], back.json()["metadata"]) == (TRAIN, {"channel": "web"})
    assert (await client.post(path, headers=auth, json={"version": 9})).status_code == 404
    assert (await client.post(path, headers=auth, json={"version": 0})).status_code == 422


async def test_after_thirty_days_nothing_is_left_not_even_the_name(
    services: Services, mem0: Mem0, database: str
) -> None:
    await keep(mem0, TEA, user_id="anna")
    await keep(mem0, TRAIN, user_id="bea")
    await mem0.call("delete_users", user_id="anna")
    await purge_memories(services)
    assert await rows(database, "SELECT user_id FROM entities ORDER BY 1") == [("anna",), ("bea",)]
    await rows(
        database, "UPDATE memories SET deleted_at = now() - interval '31 days' WHERE deleted_at IS NOT NULL RETURNING 1"
    )
    await purge_memories(services)
    assert await rows(database, "SELECT user_id FROM entities") == [("bea",)]
    assert await rows(database, "SELECT content FROM memories") == [(TRAIN,)]
    assert (await mem0.fault("delete_users", user_id="anna"))[0] == 404


async def test_whatever_is_tried_at_once_every_version_is_there_once_and_the_count_is_right(
    app: FastAPI, mem0: Mem0, client: httpx.AsyncClient, world: World, database: str
) -> None:
    (made,) = await keep(mem0, "Version 0", **ANNA)
    auth, path = world.owner.auth, f"/v1/memories/{made}/"
    answers = await asyncio.gather(
        *(client.put(path, headers=auth, json={"text": f"Version {n}"}) for n in range(1, 7)),
        *(client.delete(path, headers=auth) for _ in range(3)),
        *(client.post(f"{path}restore/", headers=auth) for _ in range(3)),
        *(client.delete("/v1/memories/", headers=auth, params=ANNA) for _ in range(2)),
    )
    assert {answer.status_code for answer in answers} <= {200, 404}
    versions = await rows(database, "SELECT version FROM memory_versions ORDER BY version")
    assert versions == [(n + 1,) for n in range(len(versions))]
    alive = (await client.get(path, headers=auth)).status_code == 200
    ((count, passages),) = await rows(database, "SELECT memory_count, passages FROM spaces WHERE kind = 'entity'")
    assert (count, passages) == (alive, alive)


# -------------------------------------------------------------------------------------------------------- what it costs


async def test_a_search_is_one_query_of_the_month(mem0: Mem0, database: str) -> None:
    assert await mem0.search("tea", filters=ANNA) == []
    assert await rows(database, "SELECT count(*) FROM usage_ledger") == [(0,)], "there was nothing to look through"
    await keep(mem0, TEA, **ANNA)
    await mem0.search("tea", filters=ANNA)
    await mem0.search("something else", filters=ANNA)
    assert await rows(database, "SELECT action, sum(queries) FROM usage_ledger GROUP BY 1") == [("memory_recall", 2)]


async def test_the_requests_a_minute_of_a_plan_hold_here_too(services: Services, mem0: Mem0) -> None:
    await plans.put_plan(services, Plan(name="slow", key_per_minute=2, account_per_minute=None))
    await operator.set_allowance(services, "olga@example.org", plan="slow")
    await keep(mem0, TEA, **ANNA)
    await mem0.search("tea", filters=ANNA)
    for name, args, options in (("search", ["tea"], {"filters": ANNA}), ("delete_users", [], ANNA)):
        assert (await mem0.fault(name, *args, **options))[0] == 429


# ----------------------------------------------------------------------------------------------------- found by meaning


@pytest.fixture
async def knowing(services: Services, models: tuple[Embedder, ...], world: World) -> Mem0:
    return await connect(make_app(replace(services, embedders=Embedders(models))), world.owner.key)


async def test_it_is_found_by_what_it_means_at_once(knowing: Mem0) -> None:
    await keep(knowing, "Anna is a vegetarian", "The car is parked behind the station", "Rent is due on the first",
               user_id="anna", agent_id="bot")  # fmt: skip
    found = await knowing.search("What kind of food does she eat?", filters=ANNA, top_k=1)
    assert [one["memory"] for one in found] == ["Anna is a vegetarian"]
    assert await knowing.found("What kind of food does she eat?", {"agent_id": "bot"}, top_k=1) == [
        "Anna is a vegetarian"
    ]
    narrowed = {"AND": [ANNA, {"keywords": {"contains": "due"}}]}
    assert await knowing.found("What has to be paid?", narrowed, threshold=0.0) == ["Rent is due on the first"]


async def test_the_same_in_other_words_is_known_and_what_no_longer_holds_is_updated(knowing: Mem0) -> None:
    (berlin,) = await knowing.add("I live in Berlin.", user_id="anna")
    (munich,) = await knowing.add("I live in Munich now.", user_id="anna")
    assert (munich["id"], munich["event"]) == (berlin["id"], "UPDATE")
    assert (munich["memory"], munich["previous_memory"]) == ("I live in Munich now.", "I live in Berlin.")
    (same,) = await knowing.add("My name is Anna.", user_id="anna")
    (again,) = await knowing.add("I'm called Anna.", user_id="anna")
    assert again["event"] in {"NOOP", "UPDATE"}
    assert again["id"] == same["id"]
    for text in ("I'm allergic to nuts.", "I'm allergic to milk.", "I love football.", "I love basketball."):
        (made,) = await knowing.add(text, user_id="anna")
        assert made["event"] == "ADD", text
    assert len(await knowing.listed(ANNA)) == 6
    assert len(await knowing.call("history", berlin["id"])) == 2
    (late,) = await knowing.add("I live in Rome.", user_id="anna", timestamp=86_400)
    assert late["event"] == "ADD", "told now, but of long ago"


async def test_what_an_update_replaced_holds_again_with_one_call_and_a_caller_chooses(
    knowing: Mem0, services: Services, models: tuple[Embedder, ...], world: World
) -> None:
    (berlin,) = await knowing.add("I live in Berlin.", user_id="anna")
    (munich,) = await knowing.add("I live in Munich now.", user_id="anna")
    path = f"/v1/memories/{berlin['id']}"
    async with http(make_app(replace(services, embedders=Embedders(models)))) as client:
        for _ in range(2):
            back = (await client.post(f"{path}/revive/", headers=world.owner.auth)).json()
            assert (back["id"], back["memory"]) == (berlin["id"], "I live in Berlin.")
            assert sorted(await knowing.listed(ANNA)) == ["I live in Berlin.", "I live in Munich now."]
        assert (await client.post(f"{path}/revive/", headers=world.stranger.auth)).status_code == 404

        async def add(text: str, supersede: Any) -> httpx.Response:
            body = {"messages": [{"role": "user", "content": text}], "user_id": "ben", "supersede": supersede}
            return await client.post("/v3/memories/add/", headers=world.owner.auth, json=body)

        (rome,) = (await add("I live in Rome.", "auto")).json()["results"]
        (bari,) = (await add("I live in Bari now.", "suggest")).json()["results"]
        assert (bari["event"], bari["may_supersede"]) == ("ADD", [rome["id"]])
        (pisa,) = (await add("I live in Pisa now.", "off")).json()["results"]
        assert (pisa["event"], pisa["may_supersede"]) == ("ADD", [])
        (named,) = (await add("I live in Como now.", [rome["id"]])).json()["results"]
        assert (named["id"], named["event"], named["previous_memory"]) == (rome["id"], "UPDATE", "I live in Rome.")
        assert (await add("I live in Asti now.", "perhaps")).status_code == 422
        assert (await add("I live in Asti now.", [munich["id"]])).status_code == 404  # another user's
        assert (await add("I live in Asti now.", [rome["id"], bari["id"]])).status_code == 400
    events = [version["event"] for version in await knowing.call("history", berlin["id"])]
    assert events == ["ADD", "UPDATE", "UPDATE"]


async def test_a_job_reads_what_came_in_great_numbers(
    services: Services, models: tuple[Embedder, ...], knowing: Mem0, database: str
) -> None:
    await knowing.add([{"role": "user", "content": f"note {n}"} for n in range(40)], user_id="anna", infer=False)
    waiting = (
        "SELECT count(*) FROM passages p"
        " WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.account = p.account AND v.passage = p.passage)"
    )
    assert await rows(database, waiting) == [(8,)]
    services.embedders.active = models  # the jobs were registered with services that have none
    await run_until_empty(services)
    services.embedders.active = ()
    assert await rows(database, waiting) == [(0,)]


# -------------------------------------------------------------------------------------------------- over a real network


async def test_both_clients_work_over_the_network(guest: Guest) -> None:
    def blocking() -> str:
        client = MemoryClient(host=guest.url, api_key=guest.key)
        (made,) = client.add(TEA, user_id="wire", infer=False)["results"]
        client.client.close()
        return made["id"]

    memory_id = await asyncio.to_thread(blocking)
    client = await asyncio.to_thread(AsyncMemoryClient, host=guest.url, api_key=guest.key)
    async with client:
        filters = {"user_id": "wire"}
        assert (await client.get(memory_id))["memory"] == TEA
        (found,) = (await client.search("tea", filters=filters))["results"]
        assert found["id"] == memory_id
        assert (await client.get_all(filters=filters, page=1, page_size=10))["count"] == 1
        await client.update(memory_id, text="The tea is gone")
        await client.batch_update([{"memory_id": memory_id, "metadata": {"a": 1}}])
        assert [one["event"] for one in await client.history(memory_id)] == ["ADD", "UPDATE", "UPDATE"]
        (made,) = (await client.add("I prefer dark mode.", user_id="wire"))["results"]
        await client.batch_delete([{"memory_id": made["id"]}])
        assert [one["name"] for one in (await client.users())["results"]] == ["wire"]
        await client.delete(memory_id)
        await client.delete_all(user_id="wire")
        await client.delete_users(user_id="wire")
        assert (await client.users())["results"] == []


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_page_does_what_it_says(guest: Guest, tmp_path: Path) -> None:
    script = "\n".join(blocks()).replace("http://127.0.0.1:8420", guest.url)
    assert script.count("client.") > 12
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={
            **guest.environ,
            "MEM0_API_KEY": guest.key,
            "MEM0_TELEMETRY": "False",
            "MEM0_DIR": str(tmp_path),
            "PYTHONWARNINGS": "ignore",
        },
    )
    assert done.returncode == 0, done.stderr
    promised = re.findall(r"^(?:.*print\(.*\)  )?# → (.*)", script, re.MULTILINE)
    assert done.stdout.splitlines() == promised
