"""The encoder's training, step by step on tiny data. What needs PyTorch is in training/test_with_torch.py."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from training import dev, graph, prepare, projection, reading, sources, tensors
from training.__main__ import NAME, choose, probes_of
from training.arrays import NONE, Prepared
from training.words import WordIndex

from candidates import Candidate, columns
from keepstone.engine import bm25, rank
from keepstone.engine.terms import terms
from keepstone.providers.encoder import Encoder
from keepstone.providers.manifest import BUILTIN
from keepstone.providers.wordpieces import load_tokenizer

TOKENIZER = BUILTIN / "tokenizer.json"
TALK = [
    ["Ann", "I moved to Lisbon last spring.", 0],
    ["Ben", "How do you like it there?", 0],
    ["Ann", "The trams are lovely, and I bought a blue bicycle.", 0],
    ["Ben", "My sister Clara got a puppy called Rex.", 1],
    ["Ann", "We should walk him together.", 1],
]
WRITTEN = [
    [0, 0, " Ann moved.\nQ1: Where did Ann move last spring?\nQ2: What is it?"],
    [0, 2, "Ann bought something. Q1: Which bicycle did Ann buy? Q2: What did Ben buy in Lisbon?"],
    [0, 3, "A puppy.\nQ1: What is the puppy of Clara called?"],
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "conversations.jsonl.gz").write_bytes(
        gzip.compress(json.dumps({"id": "x", "src": "made", "turns": TALK}).encode())
    )
    (tmp_path / "questions_raw.jsonl.gz").write_bytes(
        gzip.compress("\n".join(json.dumps(line) for line in WRITTEN).encode())
    )
    return tmp_path


def weights(layers: int = 1, seed: int = 1) -> tensors.Arrays:
    """Of an encoder that knows nothing, with the vocabulary of the one that ships."""
    chance = np.random.default_rng(seed)

    def values(*shape: int) -> np.ndarray:
        return chance.normal(0, 0.05, shape).astype(np.float32)

    def linear(name: str, wide: int, out: int) -> tensors.Arrays:
        return {f"{name}.weight": values(out, wide), f"{name}.bias": values(out)}

    def norm(name: str) -> tensors.Arrays:
        return {f"{name}.weight": np.ones(384, np.float32), f"{name}.bias": np.zeros(384, np.float32)}

    made = {
        "embeddings.word_embeddings.weight": values(30_522, 384),
        "embeddings.position_embeddings.weight": values(512, 384),
        "embeddings.token_type_embeddings.weight": values(2, 384),
        "projection": values(384, 128),
    } | norm("embeddings.LayerNorm")
    for number in range(layers):
        at = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            made |= linear(f"{at}.attention.self.{part}", 384, 384)
        made |= linear(f"{at}.attention.output.dense", 384, 384) | norm(f"{at}.attention.output.LayerNorm")
        made |= linear(f"{at}.intermediate.dense", 384, 1536) | linear(f"{at}.output.dense", 1536, 384)
        made |= norm(f"{at}.output.LayerNorm")
    return made


def test_only_questions_that_the_turns_speaker_may_answer_are_left(data: Path) -> None:
    talk = sources.conversations(data)
    assert [(question.turn, question.text) for question in sources.questions(data, talk)] == [
        (0, "Where did Ann move last spring?"),
        (2, "Which bicycle did Ann buy?"),
        (3, "What is the puppy of Clara called?"),
    ]


def test_words_are_scored_as_the_index_does() -> None:
    passages = [terms(f"{speaker}: {text}") for speaker, text, _ in TALK]
    question = "Which blue bicycle did Ann buy?"
    index = WordIndex(passages)
    wanted = terms(question)
    frequencies = np.array([[passage.count(term) for term in wanted] for passage in passages])
    weight = bm25.idf([index.frequencies.get(term, 0) for term in wanted], len(passages))
    lengths = [len(passage) for passage in passages]
    assert index.scores(question) == pytest.approx(
        bm25.score(frequencies, lengths, weight, float(np.mean(lengths))), abs=1e-9
    )


def test_turns_know_what_was_said_before_them_in_their_session(data: Path, tmp_path: Path) -> None:
    prepared = prepare.prepare_training(data, TOKENIZER)
    prepared.save(tmp_path / "prepared.npz")
    stored = Prepared.load(tmp_path / "prepared.npz")
    assert stored.turns.before.tolist() == [NONE, 0, 1, NONE, 3]
    assert stored.gold.tolist() == [0, 2, 3]
    for name in ("pieces", "kept", "starts"):
        assert np.array_equal(getattr(stored.turns, name), getattr(prepared.turns, name))
    # The turn itself and those beside it are no wrong answers.
    assert not set(stored.by_words[1]) & {1, 2, 3}


def test_a_word_that_stands_everywhere_weighs_least(data: Path) -> None:
    prepared = prepare.prepare_training(data, TOKENIZER)
    first = slice(*prepared.questions.starts[:2])
    pieces = dict(zip(prepared.questions.pieces[first].tolist(), prepared.weights[first].tolist(), strict=True))
    ann, spring = (next(reading.read(load_tokenizer(TOKENIZER), [word])).pieces[0] for word in ("ann", "spring"))
    assert 0 < pieces[ann] < pieces[spring]


def test_the_fusion_is_that_of_search() -> None:
    chance = np.random.default_rng(3)
    count = 30
    session = np.sort(chance.integers(0, 4, count))
    found = dev.DevSet(
        name="locomo", passages=reading.flat([]), turn=np.arange(count), session=session,
        chars=chance.integers(20, 900, count).astype(float), questions=reading.flat([]), asked=[], by_session=False,
    )  # fmt: skip
    asked = dev.Asked(
        weights=np.zeros(0, np.float32), bm25=chance.random(count).astype(np.float32),
        spoken=chance.integers(0, 2, count).astype(np.float32), near=chance.random(count).astype(np.float32), gold=[1],
    )  # fmt: skip
    maxsim, pooled = chance.random(count), chance.random(count)
    places = np.arange(count) - np.searchsorted(session, session)
    candidates = [
        Candidate(
            session=int(session[n]), position=int(places[n]), chars=int(found.chars[n]), bm25=float(asked.bm25[n]),
            maxsim=maxsim[n], pooled=pooled[n], spoken=float(asked.spoken[n]), near=float(asked.near[n]),
        )
        for n in range(count)
    ]  # fmt: skip
    assert dev.fused(found, asked, maxsim, pooled).tolist() == rank.order(rank.scores(columns(candidates)))


def test_figures_count_what_was_found() -> None:
    none = reading.flat([])
    found = dev.DevSet("locomo", none, np.arange(3), np.zeros(3, int), np.ones(3), none, [], by_session=False)
    asked = dev.Asked(*(np.zeros(3, np.float32) for _ in range(4)), gold=[0, 2])
    ranked = np.array([2, 1, 0])
    figures = dev.figures(found, asked, ranked)
    assert (figures["R@1"], figures["R@10"]) == (0.5, 1.0)
    assert figures["NDCG@10"] == pytest.approx((1 + 0.5) / (1 + 1 / np.log2(3)))


def test_dev_sets_are_read_back(tmp_path: Path) -> None:
    none = reading.flat([])
    sets = [dev.DevSet("locomo", none, np.arange(3), np.zeros(3, int), np.ones(3), none, [], by_session=False)]
    dev.save(sets, tmp_path / "dev")
    assert dev.load(tmp_path / "dev")[0].turn.tolist() == [0, 1, 2]


def test_the_first_projection_keeps_what_varies() -> None:
    chance = np.random.default_rng(1)
    rows = chance.normal(size=(500, 8)).astype(np.float32) * np.array([9, 7, 5, 1, 0.1, 0.1, 0.1, 0.1], np.float32)
    matrix = projection.fit(rows, 3)
    assert matrix.T @ matrix == pytest.approx(np.eye(3), abs=1e-5)
    assert np.abs(matrix[:3]).max(axis=0) == pytest.approx(np.ones(3), abs=0.1)


def test_weights_are_stored_and_read(tmp_path: Path) -> None:
    stored = {"bert.a": np.array([[1.0, 2.0]], np.float32), "b": np.array([3.0], np.float32)}
    tensors.save(stored, tmp_path / "weights")
    read = tensors.load(tmp_path / "weights")
    assert {name: value.tolist() for name, value in read.items()} == {"a": [[1.0, 2.0]], "b": [3.0]}


def test_the_share_that_does_best_is_mixed() -> None:
    start, trained = {"a": np.zeros(1)}, {"a": np.ones(1)}
    share, figures = choose(
        start, trained, lambda tried: {"locomo": {"R@10": -abs(float(tried["a"][0]) - 0.7), "NDCG@10": 0.0}}
    )
    assert share == 0.7
    assert tensors.mixed(start, trained, share)["a"] == pytest.approx(0.7)
    assert len(figures) > 1


async def test_the_exported_graph_says_what_the_weights_say_and_the_server_runs_it(data: Path, tmp_path: Path) -> None:
    made = weights(layers=2)
    made["encoder.layer.0.attention.output.LayerNorm.weight"][7] = 30.0  # one input far above the others
    probes = probes_of(prepare.prepare_training(data, TOKENIZER))
    assert graph.calming(made, probes)["layer0.inner"].argmax() == 7
    assert graph.export(made, tmp_path / "encoder.onnx", probes) > 0.98
    (tmp_path / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
    (tmp_path / "encoder.json").write_text(json.dumps({"name": "tried", "context": 48}))
    encoder = Encoder(tmp_path)
    try:
        [alone, after] = await encoder.embed(["Ann: I moved to Lisbon."] * 2, ["", "Ben: Where to?"])
    finally:
        encoder.close()
    assert alone.tokens is not None
    assert alone.tokens.vectors.shape[1] == 128
    assert float(alone.pooled @ after.pooled) < 0.9999  # what was said before counts


def test_what_ships_is_what_training_names() -> None:
    assert json.loads((BUILTIN / "encoder.json").read_text())["name"] == NAME
