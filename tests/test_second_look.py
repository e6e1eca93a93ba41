"""The second look: what is found counts by what it means in any language, each for itself, and nothing is an answer."""

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files

import httpx
import pytest

from capsules import CAPSULES, get, keep
from conftest import World, http
from graphs import read, recall, store
from keepstone.app import make_app
from keepstone.engine import floors, second_look
from keepstone.engine.question import Question, embed_question
from keepstone.engine.search import Hit, Matches
from keepstone.model.ids import new_id
from keepstone.providers.judge import Judge
from keepstone.services import Services
from keepstone.surfaces.mcp import conductor

NOTES = {
    "Dachrinne": "Die Dachrinne an der Gartenseite ist undicht, Klempner Brandt kommt am Donnerstag um acht.",
    "Sourdough": "The starter wants rye flour and 26 degrees, so it stands on top of the boiler.",
    "疫苗": "小猫的第二针疫苗定在十月三号，地点是河边的宠物医院。",
    "Boat trailer": "The trailer needs new bearings before July; size 44649 from the shop in Malmö.",
    "Chorprobe": "Die Probe fällt am 4. Mai aus, weil die Aula für das Abitur gebraucht wird.",
    "Loan": "The loan for the bakery runs until 2031, 2.4 percent, paid on the first of each month.",
}


@pytest.fixture
async def client(knowing: Services, services: Services, world: World) -> AsyncGenerator[httpx.AsyncClient]:
    """Of a server that knows what words mean, with notes in three languages as capsules and as nodes."""
    async with http(make_app(knowing)) as opened:
        for title, text in NOTES.items():
            await keep(opened, world.owner.auth, text, title=title)
            await store(opened, world.owner.auth, f"{title}: {text}")
        await read(knowing, services)
        yield opened


ASKED = [
    ("when does the kitten get its vaccination", "疫苗"),
    ("Wann wird die Katze geimpft?", "疫苗"),
    ("面包店的贷款什么时候还清？", "Loan"),
    ("which bearings for the trailer", "Boat trailer"),
    ("warum ist keine Chorprobe", "Chorprobe"),
]


async def test_notes_are_found_across_languages_first_and_at_the_default(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    for question, title in ASKED:
        hits = (await get(client, auth, CAPSULES, q=question, mode="hybrid"))["items"]
        assert [hit["title"] for hit in hits[:1]] == [title], question
        (first, *_) = (await recall(client, auth, question, min_relevance=0))["results"]
        assert first["content"].startswith(title), question


@pytest.mark.parametrize("question", ["blood pressure tablets", "Wie heißt die neue Nachbarin?", "足球比赛的比分"])
async def test_what_was_never_noted_is_not_found_unless_everything_is_wanted(
    client: httpx.AsyncClient, world: World, question: str
) -> None:
    auth = world.owner.auth
    for mode in ("semantic", "hybrid"):
        assert (await get(client, auth, CAPSULES, q=question, mode=mode))["items"] == []
        everything = (await get(client, auth, CAPSULES, q=question, mode=mode, min_relevance=0))["items"]
        assert len(everything) == len(NOTES)
        said = [hit["relevance"] for hit in everything]
        assert said == sorted(said, reverse=True)
        assert max(said) < floors.SEARCH
    assert (await recall(client, auth, question))["results"] == []
    assert (await get(client, auth, f"{CAPSULES}/related", text=question))["items"] == []
    refused = await client.get(CAPSULES, headers=auth, params={"q": question, "min_relevance": 2})
    assert refused.status_code == 422


async def test_what_is_asked_for_in_its_own_words_is_certain(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    for title, text in NOTES.items():
        for asked in (text, title, title.upper()):
            (hit, *_) = (await get(client, auth, CAPSULES, q=asked, mode="hybrid"))["items"]
            assert (hit["title"], hit["relevance"]) == (title, second_look.EXACT)
        (node, *_) = (await recall(client, auth, f"{title}: {text}"))["results"]
        assert node["relevance"] >= 0.97


async def test_the_assistant_sees_how_relevant_each_is_and_can_ask_for_more(
    client: httpx.AsyncClient, knowing: Services, world: World
) -> None:
    arguments = {"mode": "search_memory", "query": "which bearings for the trailer", "limit": 20}
    answer = await conductor.ask(knowing, world.owner.principal, arguments, request_id="1")
    first = answer["structuredContent"]["hits"][0]
    assert f"relevance {first['relevance']:.2f}" in answer["content"][0]["text"]
    everything = await conductor.ask(knowing, world.owner.principal, arguments | {"min_relevance": 0}, request_id="2")
    assert len(everything["structuredContent"]["hits"]) == len(NOTES) > len(answer["structuredContent"]["hits"])
    nothing = await conductor.ask(
        knowing, world.owner.principal, arguments | {"query": "足球比赛的比分"}, request_id="3"
    )
    assert "set min_relevance to 0" in nothing["content"][0]["text"]


# ---------------------------------------------------------------------------------------------- without a server


def hit(relevance: float, **why: float) -> Hit:
    return Hit(
        source_kind="memory", source_id=new_id("cap"), speaker=None, at=datetime.now(UTC), session=None, text="A note",
        window="A note", score=relevance, relevance=relevance, why=why,
    )  # fmt: skip


async def test_what_has_no_vector_across_languages_yet_is_as_relevant_as_the_search_says(knowing: Services) -> None:
    wanted = Question(text="tickets", speaker=None, asked_at=datetime.now(UTC))
    asked = await embed_question(knowing, wanted, any_language=True)
    matches = Matches(hits=[hit(0.2, bm25=0.1, multilingual=0.05), hit(0.8, bm25=2.0)], full_match=4.0)
    first, second = second_look.by_meaning(asked, matches).hits
    assert (first, second.source_id) == (matches.hits[1], matches.hits[0].source_id)
    assert second_look.by_meaning(replace(asked, embedded={}), matches) == matches


async def test_what_the_judge_did_not_read_is_not_before_what_it_believes(knowing: Services) -> None:
    wanted = Question(text="A note", speaker=None, asked_at=datetime.now(UTC))
    asked = await embed_question(knowing, wanted)
    many = Matches(hits=[hit(0.6) for _ in range(3 * second_look.LOOKED_AT)])
    looked = await second_look.judged(knowing, asked, many, {})
    assert {one.source_id for one in looked.hits} == {one.source_id for one in many.hits}
    read, unread = looked.hits[: second_look.LOOKED_AT], looked.hits[second_look.LOOKED_AT :]
    assert [one.source_id for one in read] == many.ids[: second_look.LOOKED_AT]
    assert min(one.relevance for one in read) > max(one.relevance for one in unread)
    alone = await second_look.judged(replace(knowing, judge=None), asked, many, {many.ids[4]: ("a note!",)})
    assert (alone.hits[0].source_id, alone.hits[0].relevance) == (many.ids[4], second_look.EXACT)
    assert {one.relevance for one in alone.hits[1:]} == {0.6}


class CountingJudge(Judge):
    """The judge, with what it was given to read."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    async def answers(self, question: str, texts: Sequence[str]) -> list[float]:
        self.texts += texts
        return await super().answers(question, texts)


async def test_the_judge_reads_only_what_its_answer_can_bring_above_the_floor(knowing: Services) -> None:
    asked = await embed_question(knowing, Question(text="which bearings", speaker=None, asked_at=datetime.now(UTC)))
    likely = [replace(hit(0.9 - 0.3 * place), window=text) for place, text in enumerate(list(NOTES.values())[2:5])]
    matches = Matches(hits=[*likely, *(hit(0.02) for _ in range(9))])
    judge = CountingJudge()
    reading = replace(knowing, judge=judge)
    every = await second_look.judged(reading, asked, matches, {})
    assert len(judge.texts) == second_look.LOOKED_AT
    for floor in (floors.RELATED, floors.SEARCH, floors.GRAPH):
        judge.texts = []
        some = await second_look.judged(reading, asked, matches, {}, floor)
        assert judge.texts == [one.window for one in likely]
        assert second_look.above(some, floor) == second_look.above(every, floor) != []
    judge.texts = []
    await second_look.judged(reading, asked, matches, {matches.hits[0].source_id: ("Which bearings?",)}, 0.35)
    assert judge.texts == [one.window for one in likely[1:]]  # what is certain already is not read
    judge.texts = []
    await second_look.judged(reading, asked, Matches(hits=[hit(0.02)] * 4), {}, 0.35)
    assert judge.texts == []
    judge.close()


async def test_nobody_waits_for_many_long_texts(knowing: Services) -> None:
    asked = await embed_question(knowing, Question(text="which bearings", speaker=None, asked_at=datetime.now(UTC)))
    judge = CountingJudge()
    long = [replace(hit(0.6), window=f"{number}. " + "The trailer needs new bearings. " * 20) for number in range(9)]
    looked = await second_look.judged(replace(knowing, judge=judge), asked, Matches(hits=long), {}, floors.SEARCH)
    assert 1 <= len(judge.texts) < second_look.LOOKED_AT
    read = [one.relevance for one in looked.hits if one.window in judge.texts]
    assert max(one.relevance for one in looked.hits if one.window not in judge.texts) <= max(read)
    judge.close()


def test_the_file_has_the_names_that_the_code_reads_and_nothing_that_speaks_for_a_result_is_against_it() -> None:
    stored = json.loads(files("keepstone.engine").joinpath(second_look.FITTED).read_text())
    assert {name: tuple(model["weights"]) for name, model in stored.items()} == {
        "found": second_look.FOUND,
        "judged": second_look.JUDGED,
    }
    assert all(weight >= 0 for model in stored.values() for weight in model["weights"].values())
