"""The judge in PyTorch: the encoder's layers read two texts at once, and one linear head for every judgement.

Learned together: each step has some of every kind, and English is mixed with words of other languages, so that what was
learned of one holds in the others.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.encoder import CLS, HIDDEN, PAD, SEP, Layer
from training.judge_arrays import JudgeArrays
from training.judge_examples import BETWEEN, HEADS, NEUTRAL, NO_UPDATE, RELATIONS
from training.tensors import Arrays

FIRST, SECOND = 96, 120  # pieces of each text
LOGITS = len(RELATIONS) + len(HEADS) - 1
COLUMNS = {head: len(RELATIONS) + place for place, head in enumerate(HEADS[1:])}
SOFT = {BETWEEN: 0.8, NEUTRAL: 0.15}


@dataclass(frozen=True, slots=True)
class JudgeRecipe:
    """How many of each a step has: groups of one question that people and that a model asked, then rows."""

    steps: int = 2400
    rate: float = 1e-4
    head_rate: float = 8e-4
    asked: int = 32
    mined: int = 24
    rows: tuple[tuple[str, int], ...] = (("relation", 56), ("keep", 32), ("wanted", 56), ("standing", 6), ("holds", 56))
    switched: float = 0.35
    dropout: float = 0.1
    decay: float = 0.01
    warm_up: float = 0.06
    average: float = 0.998
    seed: int = 1


class JudgeModel(nn.Module):
    def __init__(self, weights: Arrays) -> None:
        super().__init__()
        words = weights["embeddings.word_embeddings.weight"]
        layers = len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})
        self.words = nn.Embedding(len(words), HIDDEN)
        self.places = nn.Embedding(512, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, 1e-12)
        self.layers = nn.ModuleList([Layer() for _ in range(layers)])
        self.head = nn.Linear(2 * HIDDEN, LOGITS)
        places = (
            weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        )
        state = {"words.weight": words, "places.weight": places}
        state |= {f"norm.{part}": weights[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias")}
        state |= {
            f"layers.{name.removeprefix('encoder.layer.')}": value
            for name, value in weights.items()
            if name.startswith("encoder.layer.")
        }
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        self.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in state.items()}, strict=False)

    def forward(self, ids: Tensor, mask: Tensor, dropout: float = 0.0) -> Tensor:
        x = self.norm(self.words(ids) + self.places.weight[: ids.shape[1]])
        x = functional.dropout(x, dropout, dropout > 0)
        for layer in self.layers:
            x = layer(x, mask[:, None, None, :], dropout)
        present = mask[..., None].to(x.dtype)
        mean = (x * present).sum(1) / present.sum(1)
        return self.head(functional.dropout(torch.cat([x[:, 0], mean], 1).float(), dropout, dropout > 0))

    def arrays(self) -> Arrays:
        """Named as `graph.judge_graph` reads them."""
        state: dict[str, NDArray[Any]] = {
            name: value.detach().float().cpu().numpy() for name, value in self.state_dict().items()
        }
        return {
            "embeddings.word_embeddings.weight": state["words.weight"],
            "embeddings.position_embeddings.weight": state["places.weight"],
            "embeddings.token_type_embeddings.weight": np.zeros((2, HIDDEN), np.float32),
            "embeddings.LayerNorm.weight": state["norm.weight"],
            "embeddings.LayerNorm.bias": state["norm.bias"],
            **{f"encoder.layer.{name[7:]}": value for name, value in state.items() if name.startswith("layers.")},
            **{name: value for name, value in state.items() if name.startswith("head.")},
        }


class Reader:
    """The texts on the device, from which batches are put together there."""

    def __init__(self, data: JudgeArrays, device: str) -> None:
        self.device = device
        self.pieces = torch.from_numpy(data.pieces).long().to(device)
        self.starts = torch.from_numpy(data.starts).to(device)
        self.translations = torch.from_numpy(data.translations).long().to(device)
        inside = torch.from_numpy(data.inside).to(device)[self.pieces]
        followed = torch.cat([inside[1:], inside.new_zeros(1)])
        self.whole = ~inside & ~followed & (self.pieces < self.translations.shape[1])

    def batch(self, first: Tensor, second: Tensor, switched: float) -> tuple[Tensor, Tensor]:
        """[CLS] first [SEP] second [SEP]; the second part only where there is one."""
        two, other = second >= 0, second.clamp(min=0)
        lengths = self.starts[first + 1] - self.starts[first]
        left = torch.where(two, lengths.clamp(max=FIRST), lengths.clamp(max=FIRST + SECOND))
        right = torch.where(two, (self.starts[other + 1] - self.starts[other]).clamp(max=SECOND), 0)
        size = 2 + left + torch.where(two, right + 1, 0)
        column = torch.arange(int(size.max()), device=self.device)[None]
        in_left = (column >= 1) & (column <= left[:, None])
        in_right = (column >= left[:, None] + 2) & (column < (left + 2 + right)[:, None]) & two[:, None]
        place = torch.where(
            in_right,
            self.starts[other][:, None] + column - left[:, None] - 2,
            torch.where(in_left, self.starts[first][:, None] + column - 1, 0),
        ).clamp(0, len(self.pieces) - 1)
        ids = torch.where(in_left | in_right, self.pieces[place], PAD)
        if switched:
            ids = self._switch(ids, place, in_left, in_right, switched)
        ids = torch.where(column == 0, CLS, ids)
        ids = torch.where((column == (left + 1)[:, None]) | (column == (size - 1)[:, None]), SEP, ids)
        return ids, column < size[:, None]

    def _switch(self, ids: Tensor, place: Tensor, in_left: Tensor, in_right: Tensor, share: float) -> Tensor:
        """Some of the texts with many of their words in another language: both texts of a row, or one of them."""
        count, device = len(ids), self.device
        language = torch.randint(0, len(self.translations), (count,), device=device)[:, None].expand_as(ids)
        chosen, which = torch.rand(count, device=device) < share, torch.rand(count, device=device)
        left, right = chosen & (which < 0.75), chosen & ((which < 0.5) | (which >= 0.75))
        many = torch.where(torch.rand(count, device=device) < 0.5, 0.9, 0.5)[:, None]
        switched = ((in_left & left[:, None]) | (in_right & right[:, None])) & self.whole[place]
        switched &= torch.rand(ids.shape, device=device) < many
        known = ids.clamp(max=self.translations.shape[1] - 1)
        choice = torch.randint(0, self.translations.shape[2], ids.shape, device=device)
        foreign = self.translations[language, known, choice]
        return torch.where(switched & (foreign >= 0), foreign, ids)

    def read(self, model: JudgeModel, rows: Tensor, dropout: float = 0.0, switched: float = 0.0) -> Tensor:
        """`rows`: numbers of the first and the second text."""
        first, second = rows[:, 0].to(self.device), rows[:, 1].to(self.device)
        size = (self.starts[first + 1] - self.starts[first]) + (second >= 0) * (
            self.starts[second.clamp(min=0) + 1] - self.starts[second.clamp(min=0)]
        )
        made: list[Tensor] = []
        parts = torch.argsort(size).chunk(3 if dropout else max(3, len(rows) // 1000))
        for part in parts:
            ids, mask = self.batch(first[part], second[part], switched)
            with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
                made.append(model(ids, mask, dropout).float())
        return torch.cat(made)[torch.argsort(torch.cat(parts))]


def trained(start: Arrays, data: JudgeArrays, recipe: JudgeRecipe, report: Callable[[int, float], None]) -> Arrays:
    """The weights that come of these."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    return train(JudgeModel(start).to(device), data, device, recipe, report).arrays()


def train(
    model: JudgeModel, data: JudgeArrays, device: str, recipe: JudgeRecipe, report: Callable[[int, float], None]
) -> JudgeModel:
    """The moving average of the weights over the last two thirds of the steps."""
    torch.manual_seed(recipe.seed)
    torch.set_float32_matmul_precision("high")
    reader, rows = Reader(data, device), torch.from_numpy(data.rows)
    weights, learned = torch.from_numpy(data.weights), torch.from_numpy(~data.held_out)
    by_head = {head: ((rows[:, 0] == number) & learned).nonzero()[:, 0] for number, head in enumerate(HEADS)}
    asked, mined = _groups(rows, by_head["answers"], data.mined)
    of_head = list(model.head.parameters())
    others = [value for name, value in model.named_parameters() if not name.startswith("head.")]
    groups = [
        {"params": others, "lr": recipe.rate, "weight_decay": recipe.decay},
        {"params": of_head, "lr": recipe.head_rate, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, fused=device == "cuda")
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, recipe))
    average = {name: value.detach().clone() for name, value in model.named_parameters()}
    model.train()
    for step in range(recipe.steps):
        chosen = torch.cat(
            [
                *(asked[int(place)] for place in torch.randint(0, len(asked), (recipe.asked,))),
                *(mined[int(place)] for place in torch.randint(0, len(mined), (recipe.mined,))),
                *(by_head[head][torch.randint(0, len(by_head[head]), (count,))] for head, count in recipe.rows),
            ]
        )
        logits = reader.read(model, rows[chosen][:, 1:3], recipe.dropout, recipe.switched)
        loss = _loss(logits, rows[chosen].to(device), weights[chosen].to(device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        early = step <= recipe.steps // 3
        for name, value in model.named_parameters():
            average[name].lerp_(value.detach(), 1.0 if early else 1.0 - recipe.average)
        if step % 100 == 0 or step == recipe.steps - 1:
            report(step, float(loss.detach()))
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(average[name])
    return model.eval()


def _rate(step: int, recipe: JudgeRecipe) -> float:
    rising = min(1.0, (step + 1) / (recipe.warm_up * recipe.steps))
    return rising * 0.5 * (1 + math.cos(math.pi * step / recipe.steps))


def _groups(rows: Tensor, numbers: Tensor, mined: int) -> tuple[list[Tensor], list[Tensor]]:
    """Rows of one question each: those that people asked, and those that a model asked."""
    order = numbers[torch.argsort(rows[numbers, 4], stable=True)]
    group = rows[order, 4]
    ends = (group[1:] != group[:-1]).nonzero()[:, 0] + 1
    every = list(torch.tensor_split(order, ends))
    return (
        [part for part in every if int(rows[part[0], 4]) < mined],
        [part for part in every if int(rows[part[0], 4]) >= mined],
    )


def _loss(logits: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    head, target = rows[:, 0], rows[:, 3]
    total = logits.new_zeros(())
    relation = head == HEADS.index("relation")
    labelled = relation & (target < NO_UPDATE)
    if labelled.any():
        wide = logits[labelled][:, : len(RELATIONS)]
        total = total + functional.cross_entropy(wide, target[labelled], label_smoothing=0.05)
    unlabelled = relation & (target == NO_UPDATE)
    if unlabelled.any():
        update = logits[unlabelled][:, : len(RELATIONS)].softmax(1)[:, RELATIONS.index("update")]
        total = total - 0.5 * (1 - update).clamp(min=1e-4).log().mean()
    for name, column in COLUMNS.items():
        chosen = head == HEADS.index(name)
        if chosen.any():
            wanted = target[chosen].float()
            for special, value in SOFT.items():
                wanted = torch.where(target[chosen] == special, value, wanted)
            lost = functional.binary_cross_entropy_with_logits(
                logits[chosen][:, column], wanted * 0.96 + 0.02, reduction="none"
            )
            total = total + (0.3 if name == "standing" else 1.0) * (lost * weights[chosen]).mean()
    return total + 0.5 * _among_others(logits[:, COLUMNS["answers"]], rows)


def _among_others(scores: Tensor, rows: Tensor) -> Tensor:
    """What answers, against all that was said beside it."""
    chosen = rows[:, 0] == HEADS.index("answers")
    scores, right, group = scores[chosen], rows[chosen, 3] == 1, rows[chosen, 4]
    if not right.any():
        return scores.new_zeros(())
    _, place = torch.unique(group, return_inverse=True)
    count = int(place.max()) + 1
    highest = torch.full((count,), -1e4, device=scores.device).scatter_reduce(0, place, scores.detach(), "amax")
    spread = torch.zeros(count, device=scores.device).scatter_add(0, place, (scores - highest[place]).exp())
    return ((spread.log() + highest)[place] - scores)[right].mean()
