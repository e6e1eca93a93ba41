"""Texts that millions of passages are made of, read by the real models once.

To embed five million texts takes ten hours on two processors. So a few ten thousand are embedded as the server does it,
and each passage says one of them, with a few made-up words behind it that hardly any other has. Kept below the system's
temporary folder: only the first run is slow.
"""

import asyncio
import json
import os
import random
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench import datasets
from bench.talk import SEED
from keepstone.engine.cutting import spoken
from keepstone.engine.late import pack
from keepstone.providers.embedder import Embedder
from keepstone.providers.encoder import Encoder
from keepstone.providers.manifest import BUILTIN
from keepstone.providers.use import Use

SIZE = 20_000
SHORTEST, LONGEST = 20, 300  # characters: what people say in a turn, and one passage
SPEAKERS = ("Anna", "Ben")
_SYLLABLES = ("ka", "lo", "mi", "ran", "tes", "vu", "do", "pel", "sha", "gri", "no", "bel", "tur", "wi", "zan", "fo")


@dataclass(frozen=True)
class Pool:
    """What is said, and what each model made of it: pooled vectors, and packed tokens where it has any."""

    texts: list[str]
    pooled: dict[str, npt.NDArray[np.float32]]
    tokens: dict[str, list[bytes]]


def vocabulary() -> list[str]:
    """Words that are in no language, 65,536 of them, the same every time."""
    return ["".join(parts) for parts in product(_SYLLABLES, repeat=4)]


def texts(size: int) -> list[str]:
    """So many different ones, out of real chats and meetings; where those end, two sentences of them at a time."""
    said = {
        " ".join(turn.text.split()): None
        for name in ("locomo", "longmemeval", "qmsum")
        for collection in datasets.LOADERS[name]()
        for turn in collection.turns
    }
    chance = random.Random(SEED)
    found = [text for text in said if SHORTEST <= len(text) <= LONGEST]
    chance.shuffle(found)
    sentences = [part for text in said for part in re.split(r"(?<=[.!?])\s+", text) if SHORTEST <= len(part) <= 140]
    more: dict[str, None] = {}
    while len(found) + len(more) < size:
        more[" ".join(chance.choices(sentences, k=2))] = None
    return [*found, *more][:size]


def speaker_of(place: int) -> str:
    """Who says this text of the pool."""
    return SPEAKERS[place % len(SPEAKERS)]


def load(models: Path, size: int = SIZE) -> Pool:
    """From the last run, or made now. `models` has the weights."""
    kept = Path(tempfile.gettempdir()) / f"keepstone-bench-{os.getuid()}"
    kept.mkdir(mode=0o700, exist_ok=True)
    embedders: list[Embedder] = [Encoder(BUILTIN), Use(models)]
    try:
        file = kept / f"pool-{size}-{'-'.join(each.name.replace('/', '_') for each in embedders)}.npz"
        if not file.exists():
            said = texts(size)
            print(f"  embedding {size} texts", flush=True)
            _keep(file, asyncio.run(embedded(said, embedders)))
        return _read(file)
    finally:
        for each in embedders:
            each.close()


async def embedded(said: Sequence[str], embedders: Sequence[Embedder]) -> Pool:
    """As the server embeds a turn with which a session begins."""
    pooled: dict[str, npt.NDArray[np.float32]] = {}
    tokens: dict[str, list[bytes]] = {}
    turns = [spoken(speaker_of(place), text) for place, text in enumerate(said)]
    for embedder in embedders:
        made = [one for at in range(0, len(turns), 256) for one in await embedder.embed(turns[at : at + 256])]
        pooled[embedder.name] = np.stack([one.pooled for one in made]).astype(np.float32)
        packed = [pack(one.tokens.vectors) for one in made if one.tokens is not None]
        if packed:
            tokens[embedder.name] = packed
    return Pool(list(said), pooled, tokens)


def _keep(file: Path, pool: Pool) -> None:
    arrays: dict[str, npt.NDArray[np.generic]] = {"texts": np.frombuffer(json.dumps(pool.texts).encode(), np.uint8)}
    for name, vectors in pool.pooled.items():
        arrays[f"pooled {name}"] = vectors
    for name, packed in pool.tokens.items():
        arrays[f"lengths {name}"] = np.array([len(one) for one in packed])
        arrays[f"tokens {name}"] = np.frombuffer(b"".join(packed), np.uint8)
    half = file.with_suffix(".new.npz")
    np.savez(half, allow_pickle=False, **{key.replace("/", "|"): value for key, value in arrays.items()})
    half.rename(file)


def _read(file: Path) -> Pool:
    with np.load(file) as stored:
        named = {key.replace("|", "/").partition(" ")[::2]: stored[key] for key in stored.files}
    tokens: dict[str, list[bytes]] = {}
    for (what, name), packed in named.items():
        if what == "tokens":
            ends = np.cumsum(named["lengths", name]).tolist()
            whole = packed.tobytes()
            tokens[name] = [whole[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    return Pool(
        json.loads(named["texts", ""].tobytes()),
        {name: vectors for (what, name), vectors in named.items() if what == "pooled"},
        tokens,
    )
