"""Mining and training in turn: each round learns from what the encoder of the round before got wrong.

Every round starts from the published weights again. What comes out is the average of the runs of the last two, which
differ in their seed and in one thing each: averages of such runs do better than the best of them on other data.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

import torch

from training.arrays import Prepared
from training.encoder import CONTEXT, Encoder, OnDevice
from training.mining import Asking, Mined, mine
from training.tensors import Arrays, mixed
from training.train import Recipe, train

FIRST = Recipe(temperature=0.05, seed=1)
LAST = Recipe(temperature=0.03, seed=11)
RUNS = (
    LAST,
    replace(LAST, seed=12, rate=3e-5, epochs=2.0),
    replace(LAST, seed=13, together=16),
    replace(LAST, seed=14, dropout=0.0),
    replace(LAST, seed=16, pooled=1.0),
    replace(LAST, seed=22),
)
SHARE = 0.7  # of the trained weights in an encoder that mines
LONGEST_TURN, LONGEST_QUESTION = 160, 64  # word pieces, in training


def train_rounds(
    data: Prepared, start: Arrays, first: Recipe, last: Sequence[Recipe], device: str | None = None
) -> Arrays:
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = True
    turns, alone = (OnDevice(data.turns, device, LONGEST_TURN, context) for context in (CONTEXT, 0))
    asking = Asking(OnDevice(data.questions, device, LONGEST_QUESTION), data.weights)

    def made(weights: Arrays) -> Encoder:
        return Encoder.of(weights).to(device).eval()

    def run(mined: Mined, recipe: Recipe) -> Arrays:
        return train(made(start), data, turns, asking, mined, recipe, _report).arrays()

    # The published encoder was never given a turn before.
    one = run(mine(made(start), data, alone, alone, asking), first)
    two = run(mine(made(mixed(start, one, SHARE)), data, turns, alone, asking), first)
    mined = mine(made(mixed(start, two, SHARE)), data, turns, alone, asking)
    runs = [two, *(run(mined, recipe) for recipe in last)]
    return {name: sum(trained[name] for trained in runs) / len(runs) for name in start}


def _report(step: int, steps: int, loss: float) -> None:
    if step % 200 == 0 or step == steps - 1:
        sys.stdout.write(f"step {step} of {steps}: loss {loss:.3f}\n")
