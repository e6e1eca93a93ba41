"""The steps of training that need PyTorch, on tiny data and a CPU: `make train-test`. Skipped where there is none."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from bench.datasets import Collection, Question, Turn  # noqa: E402
from training import dev, graph, prepare, rounds, tensors  # noqa: E402
from training.__main__ import main  # noqa: E402
from training.arrays import NONE, Prepared  # noqa: E402
from training.encoder import Encoder, OnDevice, maxsim, signs  # noqa: E402
from training.evaluate import Exported, evaluate  # noqa: E402
from training.mining import Asking, mine, scores  # noqa: E402
from training.train import Recipe, train  # noqa: E402

from keepstone.engine import late  # noqa: E402
from keepstone.providers import encoder as shipped  # noqa: E402
from keepstone.providers.manifest import Manifest  # noqa: E402
from keepstone.providers.reading import Reader  # noqa: E402
from keepstone.providers.session import open_session  # noqa: E402
from test_training import TALK, TOKENIZER, data, weights  # noqa: E402, F401

TINY = Recipe(questions=2, passages=3, together=1, epochs=20.0, rate=5e-4, dropout=0.0)


@pytest.fixture(name="prepared")
def _prepared(data: Path) -> Prepared:  # noqa: F811
    return prepare.prepare_training(data, TOKENIZER)


def test_texts_are_put_together_as_the_server_reads_them(prepared: Prepared) -> None:
    lines = [f"{speaker}: {text}" for speaker, text, _ in TALK]
    reader = Reader(TOKENIZER.parent, Manifest(name="x", context=48))
    expected = reader.passages(lines, ["", lines[0], lines[1], "", lines[3]])
    batch = OnDevice(prepared.turns, "cpu", 254).batch(torch.arange(len(lines)))
    for row, pieces in enumerate(expected):
        size = len(pieces.ids)
        assert batch.ids[row, :size].tolist() == pieces.ids
        assert batch.mask[row].sum() == size
        assert torch.nonzero(batch.own[row]).flatten().tolist() == pieces.rows
        assert torch.nonzero(batch.pooled[row]).flatten().tolist() == list(range(pieces.own, pieces.attended))


def test_the_graph_computes_what_the_encoder_does(prepared: Prepared, tmp_path: Path) -> None:
    made = weights(layers=2)
    (tmp_path / "exact.onnx").write_bytes(
        graph.float_graph(made, graph.calming(made, graph.PROBES)).SerializeToString()
    )
    batch = OnDevice(prepared.turns, "cpu", 254).batch(torch.arange(5))
    with torch.no_grad():
        pooled, tokens = Encoder.of(made).eval()(batch.ids, batch.mask, batch.pooled)
    session = open_session(tmp_path / "exact.onnx")
    given = {"input_ids": batch.ids, "attention_mask": batch.mask.long(), "pooled_mask": batch.pooled.long()}
    other = session.run(["pooled", "tokens"], {name: value.numpy() for name, value in given.items()})
    assert np.allclose(pooled, other[0], atol=5e-3)
    assert np.allclose(tokens[batch.mask], other[1][batch.mask.numpy()], atol=5e-3)


def test_late_interaction_is_that_of_search() -> None:
    torch.manual_seed(1)
    question, passage = (torch.nn.functional.normalize(torch.randn(1, n, 128), dim=-1) for n in (4, 9))
    weight = torch.rand(1, 4)
    ours = maxsim(question, weight, signs(passage), torch.ones(1, 9, dtype=torch.bool))
    theirs = late.maxsim(question[0].numpy(), weight[0].numpy(), [late.pack(passage[0].numpy())])
    assert float(ours[0, 0]) == pytest.approx(float(theirs[0]), abs=1e-5)


def test_a_negative_is_neither_the_answer_nor_beside_it(prepared: Prepared) -> None:
    turns = OnDevice(prepared.turns, "cpu", 160)
    asking = Asking(OnDevice(prepared.questions, "cpu", 64), prepared.weights)
    mined = mine(Encoder.of(weights()).eval(), prepared, turns, turns, asking, fewest=1)
    for question, negatives in zip(mined.questions.tolist(), mined.negatives.tolist(), strict=True):
        assert all(abs(turn - prepared.gold[question]) > 1 for turn in negatives if turn != NONE)


def test_training_brings_the_answer_nearer(prepared: Prepared) -> None:
    turns = OnDevice(prepared.turns, "cpu", 160)
    asking = Asking(OnDevice(prepared.questions, "cpu", 64), prepared.weights)
    model = Encoder.of(weights()).eval()
    numbers, passages = torch.arange(3), torch.arange(5)
    mined = mine(model, prepared, turns, turns, asking, fewest=0)
    everything = replace(mined, questions=numbers, negatives=torch.tensor([[3, 4], [4, 0], [0, 1]]))
    losses: list[float] = []

    def won() -> int:
        late_scores, _ = scores(model, asking, numbers, turns, passages)
        return int((late_scores.argmax(1) == torch.from_numpy(prepared.gold)).sum())

    train(model, prepared, turns, asking, everything, TINY, lambda _step, _steps, loss: losses.append(loss))
    assert losses[-1] < losses[0] / 2
    assert won() == 3


def test_one_command_goes_from_data_to_a_folder_that_the_server_runs(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    prepared.save(out / "prepared.npz")  # in place of the first step, which fetches the published weights
    (out / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
    tensors.save(weights(), out / "start.safetensors")
    sets = [prepare.dev_set("locomo", _collection(), TOKENIZER)]
    dev.save(sets, out / "dev.pickle.gz")
    monkeypatch.setattr("training.mining.FEWEST", 1)
    monkeypatch.setattr(rounds, "FIRST", replace(TINY, epochs=1.0))
    monkeypatch.setattr(rounds, "RUNS", (replace(TINY, epochs=1.0), replace(TINY, epochs=1.0, seed=2)))
    main(["--out", str(out)])
    found = json.loads((out / "figures.json").read_text())
    assert set(found["dev"][str(found["share"])]) == {"locomo"}
    again = evaluate(Exported(out / "chat_encoder" / "encoder.onnx"), sets)
    assert again == found["dev"][str(found["share"])]

    encoder = shipped.Encoder(out / "chat_encoder")
    [made] = asyncio.run(encoder.embed(["Ann: hello Lisbon"]))
    encoder.close()
    assert made.pooled.shape == (384,)


def _collection():
    turns = [Turn(number, speaker, text, session) for number, (speaker, text, session) in enumerate(TALK)]
    return Collection("made", turns, [Question("Which bicycle did Ann buy?", frozenset({2}), "one")])
