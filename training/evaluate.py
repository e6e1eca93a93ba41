"""How well an encoder does on the dev sets, in the fusion and by itself."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from training.dev import DevSet, figures, fused
from training.encoder import CONTEXT, Model, OnDevice
from training.mining import Asking, scores

Figures = dict[str, dict[str, float]]


class Exported:
    """The graph that ships, in the place of the encoder that it was made from."""

    def __init__(self, path: Path) -> None:
        from keepstone.providers.session import open_session  # noqa: PLC0415 - not where there is only PyTorch

        self._session: Any = open_session(path)

    def __call__(self, ids: Tensor, mask: Tensor, pooled_mask: Tensor, _: float = 0.0) -> tuple[Tensor, Tensor]:
        given = {"input_ids": ids, "attention_mask": mask.long(), "pooled_mask": pooled_mask.long()}
        pooled, tokens = self._session.run(["pooled", "tokens"], {name: value.numpy() for name, value in given.items()})
        return torch.from_numpy(pooled), torch.from_numpy(tokens)


@torch.no_grad()
def evaluate(model: Model, sets: Sequence[DevSet], device: str = "cpu", context: int = CONTEXT) -> Figures:
    """By set and figure, in per cent; `pooled R@10` is that of the pooled vector alone, `late R@10` of MaxSim."""
    rows: dict[str, list[dict[str, float]]] = {}
    for dev in sets:
        passages = OnDevice(dev.passages, device, 254, context)
        asking = Asking(OnDevice(dev.questions, device, 254), np.concatenate([asked.weights for asked in dev.asked]))
        numbers = torch.arange(len(dev.asked), device=device)
        every = torch.arange(len(dev.passages), device=device)
        late, pooled = (part.double().cpu().numpy() for part in scores(model, asking, numbers, passages, every))
        for number, asked in enumerate(dev.asked):
            row = figures(dev, asked, fused(dev, asked, late[number], pooled[number]))
            for name, values in (("late", late), ("pooled", pooled)):
                ranked = dev.turn[np.argsort(-values[number], kind="stable")]
                alone = figures(dev, asked, np.array(list(dict.fromkeys(ranked.tolist()))))
                row |= {f"{name} {figure}": value for figure, value in alone.items() if figure in ("R@10", "all@5")}
            rows.setdefault(dev.name, []).append(row)
    return {
        name: {figure: round(100 * float(np.mean([row[figure] for row in found])), 2) for figure in found[0]}
        for name, found in rows.items()
    }
