"""The encoder in PyTorch: BERT's layers as all-MiniLM-L6-v2 has them, and a projection of each token.

Texts come as flat arrays (`reading.Texts`) and are put together on the device, so that nothing waits for the processor.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.arrays import NONE, Texts
from training.tensors import Arrays

HIDDEN, HEADS, INNER = 384, 12, 1536
CLS, SEP, PAD = 101, 102, 0
CONTEXT = 48

# Ids, what is attended to, what the pooled vector is the mean of, dropout → pooled and token vectors.
Model = Callable[..., tuple[Tensor, Tensor]]


class Layer(nn.Module):
    """Named as in the published weights."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.ModuleDict(
            {
                "self": nn.ModuleDict({name: nn.Linear(HIDDEN, HIDDEN) for name in ("query", "key", "value")}),
                "output": nn.ModuleDict({"dense": nn.Linear(HIDDEN, HIDDEN), "LayerNorm": nn.LayerNorm(HIDDEN, 1e-12)}),
            }
        )
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(HIDDEN, INNER)})
        self.output = nn.ModuleDict({"dense": nn.Linear(INNER, HIDDEN), "LayerNorm": nn.LayerNorm(HIDDEN, 1e-12)})

    def forward(self, x: Tensor, mask: Tensor, dropout: float) -> Tensor:
        own, out = self.attention["self"], self.attention["output"]
        query, key, value = (
            own[name](x).unflatten(-1, (HEADS, HIDDEN // HEADS)).transpose(1, 2) for name in ("query", "key", "value")
        )
        seen = functional.scaled_dot_product_attention(query, key, value, mask, dropout).transpose(1, 2).flatten(2)
        x = out["LayerNorm"](x + functional.dropout(out["dense"](seen), dropout, dropout > 0))
        inner = self.output["dense"](functional.gelu(self.intermediate["dense"](x)))
        return self.output["LayerNorm"](x + functional.dropout(inner, dropout, dropout > 0))


class Encoder(nn.Module):
    def __init__(self, layers: int = 6, dimensions: int = 128, vocabulary: int = 30_522) -> None:
        super().__init__()
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(vocabulary, HIDDEN),
                "position_embeddings": nn.Embedding(512, HIDDEN),
                "token_type_embeddings": nn.Embedding(2, HIDDEN),
                "LayerNorm": nn.LayerNorm(HIDDEN, 1e-12),
            }
        )
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList([Layer() for _ in range(layers)])})
        self.projection = nn.Parameter(torch.empty(HIDDEN, dimensions))

    def forward(self, ids: Tensor, mask: Tensor, pooled_mask: Tensor, dropout: float = 0.0) -> tuple[Tensor, Tensor]:
        """Pooled vectors [n, 384] and token vectors [n, t, 128], both of unit length."""
        table = self.embeddings
        places = table["position_embeddings"].weight[: ids.shape[1]] + table["token_type_embeddings"].weight[0]
        x = functional.dropout(table["LayerNorm"](table["word_embeddings"](ids) + places), dropout, dropout > 0)
        wide = mask[:, None, None, :]
        for layer in self.encoder["layer"]:
            x = layer(x, wide, dropout)
        pooled = functional.normalize((x * pooled_mask[..., None]).sum(1).float(), dim=-1)
        return pooled, functional.normalize((x @ self.projection.to(x.dtype)).float(), dim=-1)

    def arrays(self) -> Arrays:
        return {name: value.detach().float().cpu().numpy() for name, value in self.state_dict().items()}

    @classmethod
    def of(cls, weights: Arrays) -> "Encoder":
        layers = len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")})
        words = weights["embeddings.word_embeddings.weight"].shape[0]
        made = cls(layers, weights["projection"].shape[1], words)
        known = made.state_dict()
        made.load_state_dict({name: torch.from_numpy(np.array(weights[name])) for name in known})
        return made


@dataclass(frozen=True)
class Batch:
    """Texts side by side. `own`: kept pieces of the text itself."""

    ids: Tensor
    mask: Tensor
    own: Tensor
    pooled: Tensor
    places: Tensor  # of each column's piece among the text's own pieces; meaningless where it is none


class OnDevice:
    """Texts on the device, from which batches are put together there."""

    def __init__(self, texts: Texts, device: str, longest: int, context: int = CONTEXT) -> None:
        self.pieces = torch.from_numpy(texts.pieces.astype(np.int32)).to(device)
        self.kept = torch.from_numpy(texts.kept).to(device)
        starts = torch.from_numpy(texts.starts).to(device)
        self.start, self.length = starts[:-1], (starts[1:] - starts[:-1]).clamp(max=longest)
        self.full = starts[1:] - starts[:-1]
        self.before = torch.from_numpy(texts.before).to(device)
        self.context, self.device = context, device

    def size(self, numbers: Tensor) -> Tensor:
        """How many pieces each text takes with what belongs to it."""
        context = self._context(numbers)
        return self.length[numbers] + context + (context > 0) + 2

    def _context(self, numbers: Tensor) -> Tensor:
        before = self.before[numbers]
        return torch.where(before == NONE, 0, self.full[before.clamp(min=0)].clamp(max=self.context))

    def batch(self, numbers: Tensor) -> Batch:
        """[CLS] last pieces of what was said before [SEP] the text [SEP]; the first part only where there is one."""
        context, length = self._context(numbers)[:, None], self.length[numbers][:, None]
        first = torch.where(context > 0, context + 2, 1)
        size = first + length + 1
        column = torch.arange(int(size.max()), device=self.device)[None]
        before = self.before[numbers].clamp(min=0)
        prior = (self.start[before] + self.full[before])[:, None] - context + column - 1
        own = self.start[numbers][:, None] + column - first
        in_prior = (column >= 1) & (column <= context)
        in_own = (column >= first) & (column < first + length)
        last = self.pieces.shape[0] - 1
        ids = torch.where(in_own, self.pieces[own.clamp(0, last)], PAD)
        ids = torch.where(in_prior, self.pieces[prior.clamp(0, last)], ids)
        ids = torch.where(column == 0, CLS, ids)
        ids = torch.where(((column == context + 1) & (context > 0)) | (column == size - 1), SEP, ids)
        mask = column < size
        pooled = mask & ((context == 0) | (column >= first))
        return Batch(ids.long(), mask, in_own & self.kept[own.clamp(0, last)], pooled, column - first)

    def by_size(self, numbers: Tensor, tokens: int) -> Iterator[Tensor]:
        """The numbers' places in groups of like size, of about so many tokens each."""
        order = torch.argsort(self.size(numbers))
        sizes = self.size(numbers)[order].tolist()
        start = 0
        for end in range(1, len(sizes) + 1):
            if end == len(sizes) or (end + 1 - start) * sizes[end] > tokens:
                yield order[start:end]
                start = end


def signs(vectors: Tensor) -> Tensor:
    """One bit a dimension, as the index keeps it, of unit length; the gradient goes through as if it were not."""
    bits = torch.where(vectors > 0, 1.0, -1.0) / vectors.shape[-1] ** 0.5
    return vectors + (bits - vectors).detach()


def maxsim(questions: Tensor, weights: Tensor, passages: Tensor, own: Tensor) -> Tensor:
    """[q, a, d], [q, a], [p, b, d], [p, b] → [q, p]: for each of a question's tokens its best product in a passage,
    in the weighted mean. 0 where there are no tokens.
    """
    count, length, _ = questions.shape
    products = torch.einsum("xd,pbd->xpb", questions.flatten(0, 1), passages)
    best = products.masked_fill(~own[None], -1e4).amax(-1).unflatten(0, (count, length))
    best = torch.where(own.any(-1)[None, None], best, 0.0)
    share = weights / weights.sum(-1, keepdim=True).clamp(min=1e-6)
    return (best * share[..., None]).sum(1)
