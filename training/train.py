"""The training itself: questions against the turns that answer them and those that only look like it."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from training.arrays import NONE, Prepared
from training.encoder import Encoder, OnDevice, maxsim, signs
from training.mining import Asking, Mined, in_half


@dataclass(frozen=True, slots=True)
class Recipe:
    """`bits`: the share of steps in which turns have one bit a dimension, as the index keeps them. `together`:
    questions of one conversation in a step, so that its other answers are told apart, too.
    """

    rate: float = 5e-5
    epochs: float = 1.5
    questions: int = 128
    passages: int = 8
    together: int = 4
    bits: float = 0.7
    pooled: float = 0.3
    temperature: float = 0.05
    pooled_temperature: float = 0.05
    dropout: float = 0.1
    decay: float = 0.01
    warm_up: float = 0.06
    seed: int = 1


def train(
    model: Encoder, data: Prepared, turns: OnDevice, asking: Asking, mined: Mined, recipe: Recipe,
    report: Callable[[int, int, float], None],
) -> Encoder:  # fmt: skip
    torch.manual_seed(recipe.seed)
    chance = torch.Generator().manual_seed(recipe.seed)
    device = turns.device
    gold = torch.from_numpy(data.gold).to(device)
    talk = torch.from_numpy(data.conversation).to(device)
    steps = max(1, int(recipe.epochs * len(mined.questions) / recipe.questions))
    matrices = [value for value in model.parameters() if value.ndim > 1]
    vectors = [value for value in model.parameters() if value.ndim == 1]
    groups = [{"params": matrices, "weight_decay": recipe.decay}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=recipe.rate, fused=device == "cuda")
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps, recipe.warm_up))
    order = _order(mined, gold, talk, recipe, steps, chance)
    model.train()
    for step in range(steps):
        places = order[step * recipe.questions : (step + 1) * recipe.questions].to(device)
        questions, answers = mined.questions[places], gold[mined.questions[places]]
        passages = torch.cat([answers[:, None], _negatives(mined.negatives[places], recipe.passages - 1)], 1)
        bits = float(torch.rand(1, generator=chance)) < recipe.bits
        loss = _loss(model, asking, turns, questions, passages, talk, recipe, bits=bits)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0 or step == steps - 1:
            report(step, steps, float(loss.detach()))
    model.eval()
    return model


def _rate(step: int, steps: int, warm_up: float) -> float:
    done = step / steps
    return done / warm_up if done < warm_up else 0.5 * (1 + math.cos(math.pi * (done - warm_up) / (1 - warm_up)))


def _order(mined: Mined, gold: Tensor, talk: Tensor, recipe: Recipe, steps: int, chance: torch.Generator) -> Tensor:
    """Places of questions: some of one conversation, then some of another, so often as is needed."""
    conversation = talk[gold[mined.questions]].cpu()
    rounds: list[Tensor] = []
    needed = steps * recipe.questions
    while sum(map(len, rounds)) < needed:
        shuffled = torch.randperm(len(conversation), generator=chance)
        shuffled = shuffled[torch.argsort(conversation[shuffled], stable=True)]
        groups = list(shuffled.split(recipe.together))
        rounds += [groups[number] for number in torch.randperm(len(groups), generator=chance).tolist()]
    return torch.cat(rounds)[:needed]


def _negatives(found: Tensor, count: int) -> Tensor:
    """So many of each row, by chance; the same again where there are fewer."""
    chance = torch.rand(found.shape, device=found.device).masked_fill(found == NONE, -1.0)
    return found.gather(1, chance.topk(count, 1).indices)


def _loss(
    model: Encoder, asking: Asking, turns: OnDevice, questions: Tensor, passages: Tensor, talk: Tensor, recipe: Recipe,
    *, bits: bool,
) -> Tensor:  # fmt: skip
    asked_batch = asking.texts.batch(questions)
    asked, asked_tokens = in_half(model, asked_batch, recipe.dropout)
    weights = asking.weights_of(questions, asked_batch)
    flat = passages.flatten()
    columns, late, pooled = [], [], []
    groups = torch.argsort(turns.size(flat.clamp(min=0))).chunk(4)  # of like length, so that little is padding
    for chosen in groups:
        batch = turns.batch(flat[chosen].clamp(min=0))
        one, tokens = in_half(model, batch, recipe.dropout)
        late.append(maxsim(asked_tokens, weights, signs(tokens) if bits else tokens, batch.own))
        pooled.append(asked @ one.T)
        columns.append(chosen)
    back = torch.argsort(torch.cat(columns))
    late_scores, pooled_scores = torch.cat(late, 1)[:, back], torch.cat(pooled, 1)[:, back]
    answer = torch.arange(len(questions), device=flat.device) * passages.shape[1]
    wrong = flat[None] == NONE
    # What stands beside the answer may answer as well, and so does the answer itself where it comes again.
    own = (flat[None] - flat[answer][:, None]).abs() <= 1
    wrong = wrong | (own & (talk[flat.clamp(min=0)][None] == talk[flat[answer]][:, None]))
    wrong[torch.arange(len(questions), device=flat.device), answer] = False
    loss = functional.cross_entropy((late_scores / recipe.temperature).masked_fill(wrong, -1e4), answer)
    by_pooled = functional.cross_entropy((pooled_scores / recipe.pooled_temperature).masked_fill(wrong, -1e4), answer)
    return loss + recipe.pooled * by_pooled
