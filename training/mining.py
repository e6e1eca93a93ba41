"""Which questions are worth learning from, and what they are to be told apart from.

Both are judged by an encoder: the published one in the first round, the one just trained in the second.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from training.arrays import NONE, Prepared
from training.encoder import Batch, Model, OnDevice, maxsim, signs

BY_TOKENS, BY_POOLED = 24, 8  # negatives by each
TOKENS = {"cuda": 60_000, "cpu": 1_024}  # on the device at once
FEWEST = 8  # negatives, or there is too little to learn
DEEPEST = 30  # rank of the answer among the turns of the conversation: below it, it hardly answers
ABOVE = 0.05  # a turn so far above the answer is probably one, too


@dataclass(frozen=True)
class Mined:
    """Numbers of the questions that are left, and for each the numbers of turns that look like its answer and are
    not, NONE where there are fewer.
    """

    questions: Tensor
    negatives: Tensor


@dataclass(frozen=True)
class Encoded:
    pooled: Tensor
    tokens: Tensor
    own: Tensor
    places: Tensor


@torch.no_grad()
def encode(model: Model, texts: OnDevice, numbers: Tensor) -> Iterator[tuple[Tensor, Encoded]]:
    """In groups of like length: places among the numbers, and their vectors."""
    for chosen in texts.by_size(numbers, TOKENS[texts.device]):
        batch = texts.batch(numbers[chosen])
        pooled, tokens = in_half(model, batch)
        yield chosen, Encoded(pooled, tokens, batch.own, batch.places)


def in_half(model: Model, batch: Batch, dropout: float = 0.0) -> tuple[Tensor, Tensor]:
    """With half the digits, on devices that have them."""
    with torch.autocast(batch.ids.device.type, torch.bfloat16, enabled=batch.ids.device.type == "cuda"):
        return model(batch.ids, batch.mask, batch.pooled, dropout)


class Asking:
    """Questions on the device, with the weights of their pieces."""

    def __init__(self, texts: OnDevice, weights: np.ndarray) -> None:
        self.texts, self.weights = texts, torch.from_numpy(weights.astype(np.float32)).to(texts.device)

    def weights_of(self, numbers: Tensor, batch: Batch) -> Tensor:
        at = self.texts.start[numbers][:, None] + batch.places
        return torch.where(batch.own, self.weights[at.clamp(0, len(self.weights) - 1)], 0.0)


@torch.no_grad()
def scores(model: Model, asking: Asking, questions: Tensor, texts: OnDevice, passages: Tensor) -> tuple[Tensor, Tensor]:
    """MaxSim and the pooled product of each question with each passage: [questions, passages] each."""
    batch = asking.texts.batch(questions)
    asked, asked_tokens = in_half(model, batch)
    weights = asking.weights_of(questions, batch)
    late = torch.zeros(len(questions), len(passages), device=texts.device)
    pooled = torch.zeros_like(late)
    for chosen, made in encode(model, texts, passages):
        late[:, chosen] = maxsim(asked_tokens, weights, signs(made.tokens), made.own)
        pooled[:, chosen] = asked @ made.pooled.T
    return late, pooled


@torch.no_grad()
def mine(
    model: Model, data: Prepared, turns: OnDevice, alone: OnDevice, asking: Asking, fewest: int | None = None
) -> Mined:
    """`alone` are the same turns, read without what was said before: by itself, a turn has to answer better than those
    beside it, or the question asks for something else.
    """
    device = turns.device
    order, negatives = [], []
    gold_turns = torch.from_numpy(data.gold).to(device)
    by_words = torch.from_numpy(data.by_words).to(device)
    conversation_of = data.conversation[data.gold]
    for conversation in np.unique(conversation_of):
        start, end = int(data.first[conversation]), int(data.first[conversation + 1])
        numbers = torch.from_numpy(np.flatnonzero(conversation_of == conversation)).to(device)
        passages = torch.arange(start, end, device=device)
        late, pooled = scores(model, asking, numbers, turns, passages)
        gold = gold_turns[numbers] - start
        row = torch.arange(len(numbers), device=device)
        itself, _ = scores(model, asking, numbers, alone, passages)
        beside = torch.stack([gold - 1, gold + 1], 1).clamp(0, end - start - 1)
        answers = itself[row, gold] >= itself[row[:, None], beside].amax(1)
        best = late[row, gold]
        near = (torch.arange(end - start, device=device)[None] - gold[:, None]).abs() <= 1
        far = near | (late > best[:, None] + ABOVE)
        rank = ((late > best[:, None]) & ~near).sum(1)
        kept = answers & (rank <= DEEPEST)
        chosen = torch.cat(
            [
                late.masked_fill(far, -2).topk(min(BY_TOKENS, end - start), 1).indices,
                pooled.masked_fill(far, -2).topk(min(BY_POOLED, end - start), 1).indices,
            ],
            1,
        )
        chosen = torch.where(far.gather(1, chosen), NONE, chosen + start)
        words = by_words[numbers]
        words = torch.where((words == NONE) | far.gather(1, (words - start).clamp(0, end - start - 1)), NONE, words)
        found = torch.full((len(numbers), BY_TOKENS + BY_POOLED + by_words.shape[1]), NONE, device=device)
        found[:, : chosen.shape[1]] = chosen
        found[:, BY_TOKENS + BY_POOLED :] = words
        kept &= (found != NONE).sum(1) >= (FEWEST if fewest is None else fewest)
        order.append(numbers[kept])
        negatives.append(found[kept])
    return Mined(torch.cat(order), torch.cat(negatives))
