"""The judge: a small cross-encoder that reads two texts side by side, or one, and says what it thinks of them.

It answers six questions: what a later note does to an earlier one, whether a turn answers a question, whether a later
one answers it instead, whether a sentence is worth keeping, whether a memory is wanted before a turn, and whether it
tells the assistant how to answer.
Probabilities only: what follows from them, and from where on one is sure, is decided by whoever asks. It comes with the
package and is loaded when it is first asked; what runs it is large, and imported then. Owns the reading of texts into
pieces; `training/` makes the weights.
"""

import asyncio
import hashlib
import re
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keepstone.footprint import give_back
from keepstone.providers.windows import well_formed

BUILTIN = Path(__file__).with_name("chat_judge")
GRAPH, TOKENIZER = "judge.onnx", "tokenizer.json"
FIRST, SECOND = 96, 120  # pieces of each text that are read
CHARACTERS = 2_000  # more has more pieces than that
BATCH_TEXTS, BATCH_TOKENS = 16, 512
QUICK = 24  # so few have somebody who waits for them
KNOWN = 10_000  # pairs of which it is remembered what was thought of them
_CLS, _SEP = 101, 102
# Where the graph has which judgement: four of a pair of notes, then one each.
_ANSWERS, _KEEP, _WANTED, _STANDING, _HOLDS = 4, 5, 6, 7, 8
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_LONGEST_WORD = 4


class Relation(NamedTuple):
    """What a later text does to an earlier one, each with its probability; together they are 1."""

    update: float
    duplicate: float
    side_by_side: float
    unrelated: float


class Judge:
    def __init__(self, folder: Path = BUILTIN, mapped: Path | None = None) -> None:
        """`mapped` is where a graph may be kept that takes less memory."""
        self._folder, self._mapped = folder, mapped
        # What it thought of a pair, by what stands for its pieces: who asks again is answered at once.
        self._known: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()

    async def relations(self, pairs: Sequence[tuple[str, str]], *, awaited: bool = True) -> list[Relation]:
        """Of pairs of an earlier and a later text. What nobody waits for steps back behind everything else."""
        logits = (await self.read(pairs, awaited=awaited))[:, :_ANSWERS]
        odds = np.exp(logits - logits.max(axis=1, keepdims=True)) if len(logits) else logits
        return [Relation(*map(float, row / row.sum())) for row in odds]

    async def answers(self, question: str, texts: Sequence[str]) -> list[float]:
        """Whether each of them answers the question."""
        return _probabilities(await self.read([(question, text) for text in texts]), _ANSWERS)

    async def worth_keeping(self, texts: Sequence[str]) -> list[float]:
        return _probabilities(await self.read([(text, None) for text in texts]), _KEEP)

    async def wanted(self, turn: str, memories: Sequence[str]) -> list[float]:
        """Whether an answer to the turn would be worse without each of them."""
        # Each alone: beside others in a batch the same memory gets another probability, and a turn waits for all.
        return _probabilities(await self.read([(turn, memory) for memory in memories], batch=1), _WANTED)

    async def standing(self, texts: Sequence[str]) -> list[float]:
        """Whether each of them says how the assistant is to answer."""
        return _probabilities(await self.read([(text, None) for text in texts]), _STANDING)

    async def holds(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Of pairs of an earlier and a later text: whether the later one answers the question in its place."""
        return _probabilities(await self.read([(f"{question} | {older}", newer) for older, newer in pairs]), _HOLDS)

    def close(self) -> None:
        for executor in self._executors:
            executor.shutdown(cancel_futures=True)

    async def read(
        self, pairs: Sequence[tuple[str, str | None]], batch: int = BATCH_TEXTS, *, awaited: bool = True
    ) -> NDArray[np.float32]:
        """What the graph says of each: the judgements before they are probabilities."""
        from keepstone.providers.session import by_length, in_batches

        executor = self._executors[0 if awaited and len(pairs) <= QUICK else 1]
        loop = asyncio.get_running_loop()
        rows: list[list[int]] = await loop.run_in_executor(executor, self._pieces, pairs)
        if len(pairs) <= QUICK:
            logits = await self._read_each(rows, executor)
        else:
            batches = list(by_length([len(row) for row in rows], batch, BATCH_TOKENS))
            logits = await in_batches(executor, self._run, rows, batches)
        return np.array(logits, dtype=np.float32).reshape(len(rows), _HOLDS + 1)

    async def _read_each(self, rows: Sequence[list[int]], executor: Any) -> list[NDArray[np.float32]]:
        """One by one, on every processor that they may have. Read together, each would be judged a little
        otherwise in other company, for numbers are rounded by the largest of all; so what is known of one stays true.
        """
        from keepstone.providers.session import in_batches

        keys = [hashlib.blake2b(np.array(row, np.int32).tobytes(), digest_size=16).digest() for row in rows]
        unknown = [number for number, key in enumerate(keys) if key not in self._known]
        made = await in_batches(
            executor, self._run, [rows[number] for number in unknown], [[n] for n in range(len(unknown))]
        )
        judged = {keys[number]: logits for number, logits in zip(unknown, made, strict=True)}
        logits = [judged[key] if key in judged else self._known[key] for key in keys]
        self._known.update(judged)
        for key in keys:
            self._known.move_to_end(key)
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)
        return logits

    def _pieces(self, pairs: Sequence[tuple[str, str | None]]) -> list[list[int]]:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair if text is not None))
        ids = dict(zip(texts, self.pieces_of(texts), strict=True))
        return [
            [_CLS, *ids[first][: FIRST + SECOND], _SEP]
            if second is None
            else [_CLS, *ids[first][:FIRST], _SEP, *ids[second][:SECOND], _SEP]
            for first, second in pairs
        ]

    def pieces_of(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text's word pieces, as it reads them."""
        spaced = [self._spaced(text) for text in texts]
        encoded: list[Any] = self._tokenizer.encode_batch(spaced, add_special_tokens=False)
        return [encoding.ids for encoding in encoded]

    def _spaced(self, text: str) -> str:
        """With spaces between the words of scripts that have none: the longest that is known comes first."""
        return _DENSE.sub(lambda run: f" {' '.join(self._words(run.group()))} ", well_formed(text[:CHARACTERS]))

    def _words(self, run: str) -> list[str]:
        words: list[str] = []
        place = 0
        while place < len(run):
            sizes = range(min(_LONGEST_WORD, len(run) - place), 1, -1)
            size = next((size for size in sizes if run[place : place + size] in self._vocabulary), 1)
            words.append(run[place : place + size])
            place += size
        return words

    def _run(self, rows: Sequence[list[int]]) -> list[NDArray[np.float32]]:
        ids: NDArray[np.int64] = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        return list(self._session.run(["logits"], {"input_ids": ids, "attention_mask": mask})[0])

    @cached_property
    def _executors(self) -> tuple[Any, Any]:
        from keepstone.providers.session import in_background, in_front

        return in_front("judge", threads=2), in_background("judge")

    @property
    def _vocabulary(self) -> dict[str, int]:
        return self._reading[1]

    @property
    def _tokenizer(self) -> Any:
        return self._reading[0]

    @cached_property
    def _reading(self) -> tuple[Any, dict[str, int]]:
        from keepstone.providers.wordpieces import load_tokenizer

        tokenizer = load_tokenizer((self._folder / TOKENIZER).absolute())
        return tokenizer, tokenizer.get_vocab(with_added_tokens=False)

    @property
    def _session(self) -> Any:
        graph = (self._folder / GRAPH).absolute()
        with _OPENING:
            if graph not in _SESSIONS:
                _SESSIONS[graph] = _open(graph, self._mapped)
            return _SESSIONS[graph]


_OPENING = Lock()  # two who ask at once wait for one loading
_SESSIONS: dict[Path, Any] = {}  # once for each process, as the tokenizer: they are never changed


def _open(graph: Path, mapped: Path | None) -> Any:
    from keepstone.providers.mapped import open_mapped

    session = open_mapped(graph, mapped)
    give_back()
    return session


def _probabilities(logits: NDArray[np.float32], judgement: int) -> list[float]:
    if not len(logits):
        return []
    return [float(value) for value in 1.0 / (1.0 + np.exp(-logits[:, judgement].astype(np.float64)))]
