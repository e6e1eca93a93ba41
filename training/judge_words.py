"""The judge's words: those of the published tokenizer, and frequent ones of other languages, each begun as the mean of
the English words that a multilingual encoder finds nearest. Needs no PyTorch.
"""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keepstone.providers.use import Use

NEAREST, SHARPNESS = 8, 0.06
TRANSLATIONS, ALIKE = 4, 0.55
SWITCHED = ("de", "zh")  # what English is mixed with while it is learned


@dataclass(frozen=True)
class Words:
    """`ids` of the words that are begun anew, from the words `near` them in these shares; and for each language of
    SWITCHED what an English word may be replaced by, -1 for nothing.
    """

    size: int
    ids: NDArray[np.int32]
    near: NDArray[np.int32]
    shares: NDArray[np.float32]
    translations: NDArray[np.int32]


def added_words(listed: Path) -> list[tuple[str, str]]:
    """Word and language, as `words.tsv` has them."""
    rows = (line.split("\t") for line in listed.read_text(encoding="utf-8").splitlines())
    return [(word, language) for word, language in rows]


def extend(tokenizer: dict[str, Any], added: list[tuple[str, str]], models: Path) -> Words:
    """Add the words to the tokenizer's own, in place."""
    vocabulary: dict[str, int] = tokenizer["model"]["vocab"]
    published = len(vocabulary)
    english = [word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 1]
    for word, _ in added:
        vocabulary.setdefault(word, len(vocabulary))
    tokenizer["padding"] = tokenizer["truncation"] = None
    tokenizer["normalizer"]["handle_chinese_chars"] = False  # `providers/judge.py` puts the spaces
    known, new = asyncio.run(_vectors(models, english, [word for word, _ in added]))
    languages = np.array([language for _, language in added])
    for language in set(languages.tolist()):
        new[languages == language] = _centred(new[languages == language])
    alike = new @ _centred(known).T
    nearest = np.argsort(-alike, axis=1)[:, :NEAREST]
    values = np.take_along_axis(alike, nearest, 1)
    shares = np.exp((values - values[:, :1]) / SHARPNESS)
    numbers = np.array([vocabulary[word] for word in english], np.int32)
    ids = np.array([vocabulary[word] for word, _ in added], np.int32)
    return Words(
        len(vocabulary), ids, numbers[nearest], (shares / shares.sum(1, keepdims=True)).astype(np.float32),
        _translations(published, languages, ids, numbers[nearest], values),
    )  # fmt: skip


async def _vectors(models: Path, *lists: list[str]) -> list[NDArray[np.float32]]:
    use = Use(models)
    try:
        return [np.stack([made.pooled for made in await use.embed(words)]) for words in lists]
    finally:
        use.close()


def _centred(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Without what all of them have in common: else a few words are near to everything."""
    apart = vectors - vectors.mean(0)
    return apart / np.linalg.norm(apart, axis=1, keepdims=True)


def _translations(
    published: int, languages: NDArray[Any], ids: NDArray[np.int32], near: NDArray[np.int32], values: NDArray[Any]
) -> NDArray[np.int32]:
    table = np.full((len(SWITCHED), published, TRANSLATIONS), -1, np.int32)
    for number, switched in enumerate(SWITCHED):
        choices: dict[int, list[int]] = {}
        for row in np.flatnonzero(languages == switched):
            for rank in range(2):
                if values[row, rank] > ALIKE:
                    choices.setdefault(int(near[row, rank]), []).append(int(ids[row]))
        for word, chosen in choices.items():
            table[number, word] = [chosen[place % len(chosen)] for place in range(TRANSLATIONS)]
    return table


def write_tokenizer(tokenizer: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
