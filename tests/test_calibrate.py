"""Relevance as a probability: what holds for any candidates, and what it says of small scopes with the real models."""

import json
import math
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates import Candidate, columns
from conftest import World, http
from keepstone.app import make_app
from keepstone.engine import rank
from keepstone.engine.calibrate import KINDS, QUESTION, RESULT, Terms, relevance, views
from keepstone.engine.rank import MISSING
from keepstone.jobs.worker import run_until_empty
from keepstone.providers.embedder import Embedder
from keepstone.providers.embedders import Embedders
from keepstone.providers.encoder import FORMER
from keepstone.services import Services

similarity = st.one_of(st.just(MISSING), st.floats(-1, 1))
candidate = st.builds(
    Candidate,
    session=st.just("s"),
    position=st.integers(0, 1000),
    chars=st.integers(0, 5000),
    bm25=st.floats(0, 60),
    maxsim=similarity,
    pooled=similarity,
    multilingual=similarity,
    spoken=st.sampled_from([0.0, 1.0]),
    near=st.floats(0, 1),
    latin=st.booleans(),
)
of_person = st.one_of(st.none(), st.floats(-1, 1))
asked = st.builds(Terms, total=st.floats(0, 60), known=st.floats(0, 60), passages=st.integers(1, 10**6))


def judged(
    candidates: list[Candidate], terms: Terms, limit: int, *, person: float | None = None, several: bool = False
) -> tuple[float, list[float]]:
    scores = rank.scores(columns(candidates))
    order = rank.order(scores)[:limit]
    return relevance(columns(candidates), scores, order, terms, person=person, talk=not several, several=several)


@given(st.lists(candidate, min_size=1, max_size=12), asked, of_person, st.integers(1, 12), st.booleans())
def test_relevance_is_a_probability_that_never_rises_down_the_list(
    candidates: list[Candidate], terms: Terms, person: float | None, limit: int, several: bool
) -> None:
    answerable, believed = judged(candidates, terms, limit, person=person, several=several)
    assert len(believed) == min(limit, len(candidates))
    assert 0 <= answerable <= 1
    assert all(0 <= value <= round(answerable, 4) for value in believed)
    assert believed == sorted(believed, reverse=True)


@given(st.lists(candidate, min_size=2, max_size=12), asked, of_person, st.integers(1, 11), st.booleans())
def test_it_does_not_depend_on_how_many_results_were_asked_for(
    candidates: list[Candidate], terms: Terms, person: float | None, limit: int, several: bool
) -> None:
    answerable, believed = judged(candidates, terms, limit, person=person, several=several)
    of_all, everything = judged(candidates, terms, len(candidates), person=person, several=several)
    assert (answerable, believed) == (of_all, everything[:limit])


@given(st.lists(candidate, min_size=1, max_size=12), asked)
def test_where_several_may_answer_none_is_believed_less(candidates: list[Candidate], terms: Terms) -> None:
    scores = rank.scores(columns(candidates))
    order = rank.order(scores)
    answerable, alone = relevance(columns(candidates), scores, order, terms, talk=False)
    same, beside = relevance(columns(candidates), scores, order, terms, talk=False, several=True)
    assert same == answerable
    assert all(one <= other for one, other in zip(alone, beside, strict=True))


@pytest.mark.parametrize(
    "features",
    [
        {"maxsim": 0.7, "pooled": 0.6, "bm25": 2.0},
        {"pooled": 0.65, "bm25": 2.0},
        {"bm25": 2.0},
    ],
)
def test_notes_with_as_strong_evidence_stand_side_by_side_and_the_others_behind(features: dict[str, Any]) -> None:
    found = [Candidate("s", place, 100, **features) for place in range(5)]
    less: dict[str, Any] = {name: value / 4 for name, value in features.items()}
    weak = Candidate("s", 9, 100, **less)
    terms = Terms(total=2.3, known=2.3, passages=50)
    _, believed = judged([*found, weak], terms, 6, several=True)
    assert min(believed[:5]) >= 0.5
    assert believed[5] < 0.2
    scores = rank.scores(columns([*found, weak]))
    _, one_answers = relevance(columns([*found, weak]), scores, rank.order(scores), terms, talk=False)
    assert one_answers[1] < 0.5


def test_nothing_found_is_nothing_answered() -> None:
    assert relevance(columns([]), np.zeros(0), [], Terms(total=1.0, known=0.0, passages=3)) == (0.0, [])


def test_what_a_former_model_found_is_judged_as_it_was_when_it_was_found() -> None:
    seen = columns([Candidate("s", 0, 80, bm25=3.0, maxsim=0.6, pooled=0.5, multilingual=0.4, spoken=0.0, near=0.0)])
    terms, scores = Terms(total=9.0, known=9.0, passages=500), np.array([1.0])
    now = relevance(seen, scores, [0], terms)
    assert relevance(seen, scores, [0], terms, seen_by=["another", "and another"]) == now
    before = relevance(seen, scores, [0], terms, seen_by=["multilingual", FORMER.name])
    assert before != now
    assert before == relevance(seen, scores, [0], terms, talk=False, several=True, seen_by=[FORMER.name])


@pytest.fixture(scope="module", params=["calibration.json", "calibration_minilm.json"])
def stored(request: pytest.FixtureRequest) -> dict[str, Any]:
    return json.loads(files("keepstone.engine").joinpath(request.param).read_text())


def test_the_file_has_the_names_that_the_code_reads_and_no_others(stored: dict[str, Any]) -> None:
    assert tuple(stored) == KINDS
    for kind in KINDS:
        assert stored[kind].keys() == RESULT.keys() == QUESTION.keys()
        for view, parts in stored[kind].items():
            assert parts.keys() == {"result", "question"}
            for part, names in (("result", RESULT[view]), ("question", QUESTION[view])):
                assert tuple(parts[part]["weights"]) == names
                assert math.isfinite(parts[part]["bias"])
                assert all(map(math.isfinite, parts[part]["weights"].values()))


def test_what_speaks_for_a_result_never_makes_it_less_likely(stored: dict[str, Any]) -> None:
    parts = [part for views in stored.values() for parts in views.values() for part in parts.values()]
    for part in parts:
        for name, weight in part["weights"].items():
            if name not in {"size", "place"}:
                assert weight >= 0, name
        assert part["weights"].get("place", 0) <= 0


def made(**features: Any) -> Candidate:
    return Candidate(session="s", position=0, chars=80, **features)


def test_each_result_is_seen_by_what_can_read_it() -> None:
    english = made(maxsim=0.6, pooled=0.5)
    chinese = made(maxsim=0.6, pooled=0.5, multilingual=0.5, latin=False)
    unread = made(bm25=4.0)
    assert views(columns([english])) == ["late"]
    assert views(columns([chinese])) == ["pooled"]
    assert views(columns([made(pooled=0.5)])) == ["pooled"]
    assert views(columns([unread])) == ["terms"]
    assert views(columns([english, chinese, unread])) == ["late", "pooled", "terms"]


def test_a_better_match_is_believed_more() -> None:
    terms = Terms(total=10.0, known=10.0, passages=500)
    poor = [made(maxsim=0.3, pooled=0.2, bm25=1.0), made(maxsim=0.25, pooled=0.2)]
    good = [made(maxsim=0.7, pooled=0.6, bm25=8.0), made(maxsim=0.25, pooled=0.2)]
    (doubtful, [low, _]), (sure, [high, _]) = judged(poor, terms, 2), judged(good, terms, 2)
    assert low < 0.5 < high
    assert doubtful < sure


def test_what_speaks_of_somebody_else_is_believed_less_and_nothing_is_said_where_nobody_is_named() -> None:
    terms = Terms(total=10.0, known=10.0, passages=500)
    found = [made(maxsim=0.7, pooled=0.6, bm25=8.0), made(maxsim=0.25, pooled=0.2)]
    (unnamed, _), (right, _), (wrong, [first, _]) = (judged(found, terms, 2, person=each) for each in (None, 0.3, -0.3))
    assert unnamed == right > wrong
    assert wrong < 0.5
    assert first < 0.5


TALK = [
    ("Anna", "The doctor told me to stay away from peanuts, my throat swells up."),
    ("Ben", "We adopted a puppy from the shelter on Saturday, she is called Luna."),
    ("Anna", "My train to Porto was cancelled because of the storm."),
    ("Ben", "I started learning the cello, my neighbours are not amused."),
    ("Anna", "Our landlord raised the rent again, now it is 900 euros."),
]
ANSWERED = [
    ("What is the name of Ben's puppy?", 2),
    ("Which foods should Anna stay away from?", 1),
    ("Why was the train to Porto cancelled?", 3),
    ("Which instrument did Ben start learning?", 4),
    ("How high is the rent now?", 5),
]
FOREIGN = [
    "Who won the chess tournament in Reykjavik?",
    "How many satellites did the agency launch last year?",
    "What did the professor say about the thesis?",
    "Which vaccine does the horse still need?",
]


async def best(services: Services, world: World, models: tuple[Embedder, ...], size: int, asked: list[str]) -> Any:
    """The relevance of the first result of each question, of a scope of so many messages."""
    knowing = replace(services, embedders=Embedders(models))
    async with http(make_app(knowing)) as client:
        transcript = [{"speaker": speaker, "text": text} for speaker, text in TALK[:size]]
        body = {"scope_id": "team", "transcript": transcript}
        assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202
        services.embedders.active = models
        await run_until_empty(services)
        services.embedders.active = ()
        found: dict[str, float] = {}
        for question in asked:
            body = {"scope_id": "team", "message": {"speaker": "Dora", "text": question}, "limit": 3}
            answer = (await client.post("/v1/recall", headers=world.owner.auth, json=body)).json()
            assert answer["degraded"] is None
            found[question] = answer["evidence"][0]["relevance"]
        return found


@pytest.mark.parametrize("size", [1, 2, 3, 5])
async def test_in_a_small_scope_what_was_said_is_above_one_half_and_what_was_not_is_below(
    services: Services, world: World, models: tuple[Embedder, ...], size: int
) -> None:
    answered = [question for question, needed in ANSWERED if needed <= size]
    found = await best(services, world, models, size, [*answered, *FOREIGN])
    assert {question for question, value in found.items() if value >= 0.5} == set(answered), found


OF_THE_WRONG = [
    "What is the name of Anna's puppy?",
    "Which foods should Ben stay away from?",
    "Which instrument did Anna start learning?",
]


async def test_a_question_about_the_wrong_person_is_believed_less_than_the_same_about_the_right_one(
    services: Services, world: World, models: tuple[Embedder, ...]
) -> None:
    right = [question for question, _ in ANSWERED if "Ben" in question or "Anna" in question]
    found = await best(services, world, models, 5, [*right, *OF_THE_WRONG])
    about = {
        question.replace("Anna", "").replace("Ben", ""): value for question, value in found.items() if question in right
    }
    assert len(about) == len(OF_THE_WRONG)
    for question in OF_THE_WRONG:
        assert found[question] < 0.5 < about[question.replace("Anna", "").replace("Ben", "")], found
