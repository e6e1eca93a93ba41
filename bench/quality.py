"""How well the engine finds things: recall on parts of public benchmarks, with each step taken away in turn.

    python -m bench.quality --models ~/.keepstone/models --json quality.json --markdown quality.md

Offline and in memory: the pure functions of `keepstone.engine` and the embedders, no database. Embeddings are kept
below the system's temporary folder, so that only the first run is slow. What is measured here is the ranking; that the
server does the same is measured through HTTP.
"""

import argparse
import asyncio
import gzip
import hashlib
import json
import math
import os
import re
import statistics
import tempfile
import time as clock
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keepstone.engine import bm25, late, rank, terms, when
from keepstone.engine.language.scripts import latin
from keepstone.engine.language.stopwords import guess
from keepstone.engine.rank import Candidate, Weights
from keepstone.providers.embedder import Embedder, Embedding, Tokens
from keepstone.providers.minilm import MiniLM
from keepstone.providers.use import Use

Json = Any
Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]

SETS = ("locomo", "longmemeval", "qmsum", "xquad")
STEPS = ("maxsim", "bm25", "pooled", "speaker", "time", "neighbour", "session", "length")
# Paragraphs of XQuAD have no speakers, dates or neighbours.
STEPS_OF = {"xquad": ("maxsim", "bm25", "length")}
TOP = 50
CHUNK = 2000


@dataclass(frozen=True)
class Turn:
    """A passage: one turn as it was said."""

    key: Hashable
    speaker: str
    text: str
    session: Hashable
    position: int
    at: datetime | None = None

    @property
    def passage(self) -> str:
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True)
class Question:
    """`turns` are the gold turns where `gold` are sessions."""

    text: str
    gold: frozenset[Hashable]
    category: str
    now: datetime | None = None
    asker: str | None = None
    turns: frozenset[Hashable] = frozenset()


@dataclass(frozen=True)
class Collection:
    """A space and what is asked of it."""

    name: str
    turns: list[Turn]
    questions: list[Question]
    by_session: bool = False


@dataclass(frozen=True)
class Options:
    """A way to rank; what is reported is one line for each."""

    name: str
    method: str = "pipeline"
    without: tuple[str, ...] = ()
    collapse: bool = True
    weights: Callable[[str], Weights] = rank.weights_for


@dataclass
class Space:
    """An index in memory."""

    turns: list[Turn]
    postings: dict[str, list[tuple[int, int]]]
    lengths: Floats
    average: float
    pooled: Vectors
    tokens: list[bytes]
    owner: npt.NDArray[np.int64]
    multilingual: Vectors
    multilingual_owner: npt.NDArray[np.int64]
    latin: list[bool]
    places: dict[tuple[Hashable, int], int] = field(default_factory=dict[tuple[Hashable, int], int])


# ---------------------------------------------------------------------------------------------------- the data


def folder() -> Path:
    return Path(os.environ.get("KEEPSTONE_BENCH_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))


def load(name: str) -> Json:
    return json.loads(gzip.decompress((folder() / name).read_bytes()))


def locomo(*, answerable: bool = True) -> list[Collection]:
    """With the questions that have gold turns, or with those that were made up to have none."""
    found: list[Collection] = []
    for sample in load("locomo_dev.json.gz"):
        turns: list[Turn] = []
        conversation = sample["conversation"]
        for name, said in conversation.items():
            if isinstance(said, list):
                at = datetime.strptime(conversation[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
                turns += [
                    Turn(turn["dia_id"], turn["speaker"], turn["text"], name, position, at)
                    for position, turn in enumerate(said)
                ]
        now = max(turn.at for turn in turns if turn.at)
        known = {turn.key for turn in turns}
        questions = [
            Question(qa["question"], gold, f"category {qa['category']}", now)
            for qa in sample["qa"]
            if qa["category"] != 5
            # A few strings join several ids.
            and (gold := frozenset(re.findall(r"D\d+:\d+", " ".join(qa["evidence"]))) & known)
        ]
        if not answerable:
            questions = [
                Question(qa["question"], frozenset(), "category 5", now) for qa in sample["qa"] if qa["category"] == 5
            ]
        found.append(Collection(f"locomo {sample['sample_id']}", turns, questions))
    return found


def longmemeval(*, answerable: bool = True) -> list[Collection]:
    """With the questions that have gold sessions, or with those that were made up to have none."""
    found: list[Collection] = []
    for entry in load("longmemeval_s_dev.json.gz"):
        if entry["question_id"].endswith("_abs") == answerable:
            continue
        turns: list[Turn] = []
        gold: set[Hashable] = set()
        parts = zip(entry["haystack_session_ids"], entry["haystack_dates"], entry["haystack_sessions"], strict=True)
        for number, (name, date, said) in enumerate(parts):
            # The ids tell which sessions are gold, so they are not used for anything else.
            if name in entry["answer_session_ids"]:
                gold.add(number)
            at = _longmemeval_date(date)
            turns += [
                Turn((number, position), turn["role"], turn["content"], number, position, at)
                for position, turn in enumerate(said)
            ]
        question = Question(
            entry["question"],
            frozenset(gold),
            entry["question_type"],
            _longmemeval_date(entry["question_date"]),
            "user",
            frozenset(
                (number, position)
                for number, said in enumerate(entry["haystack_sessions"])
                for position, turn in enumerate(said)
                if turn.get("has_answer")
            ),
        )
        found.append(Collection(f"longmemeval {entry['question_id']}", turns, [question], by_session=True))
    return found


def _longmemeval_date(text: str) -> datetime:
    return datetime.strptime(re.sub(r" \(\w+\)", "", text), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


def qmsum() -> list[Collection]:
    found: list[Collection] = []
    for number, meeting in enumerate(load("qmsum_dev.json.gz")):
        turns = [
            Turn(position, turn["speaker"], turn["content"], "meeting", position)
            for position, turn in enumerate(meeting["meeting_transcripts"])
        ]
        questions = [
            Question(
                query["query"],
                frozenset(
                    place
                    for first, last in query["relevant_text_span"]
                    for place in range(int(first), min(int(last), len(turns) - 1) + 1)
                ),
                "specific",
            )
            for query in meeting["specific_query_list"]
        ]
        found.append(Collection(f"qmsum {number}", turns, [each for each in questions if each.gold]))
    return found


def xquad() -> list[Collection]:
    data = load("xquad_dev.json.gz")
    found: list[Collection] = []
    for asked, told in (("zh", "zh"), ("zh", "en"), ("de", "de"), ("de", "en"), ("en", "en"), ("en", "zh")):
        # Each paragraph is a session of its own: none has neighbours.
        turns = [Turn(number, "", entry["paragraph"], number, 0) for number, entry in enumerate(data[told])]
        place = {asking["id"]: number for number, entry in enumerate(data[told]) for asking in entry["questions"]}
        questions = [
            Question(asking["question"], frozenset({place[asking["id"]]}), f"{asked} → {told}")
            for entry in data[asked]
            for asking in entry["questions"]
        ]
        found.append(Collection(f"xquad {asked} → {told}", turns, questions))
    return found


LOADERS = {"locomo": locomo, "longmemeval": longmemeval, "qmsum": qmsum, "xquad": xquad}


# ------------------------------------------------------------------------------------------------ the embeddings


def fingerprint(embedder: Embedder) -> bytes:
    """Of what the embedder gives, not of its files: those may change while it runs."""
    [probe] = asyncio.run(_embed(embedder, ["Caroline: I painted the lake in Zürich on 7 May 2023"]))
    vectors = [probe.pooled] if probe.tokens is None else [probe.pooled, probe.tokens.vectors.ravel()]
    return (np.concatenate(vectors).round(2) + 0.0).astype(np.float32).tobytes()


def cache(embedder: Embedder, texts: Sequence[str], kind: str) -> Path:
    digest = hashlib.sha256(f"{embedder.name}\n{kind}\n".encode() + fingerprint(embedder))
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return Path(tempfile.gettempdir()) / f"keepstone-bench-{os.getuid()}" / f"{digest.hexdigest()[:24]}.npz"


def embed(embedder: Embedder, texts: Sequence[str], kind: str) -> list[tuple[Vectors, bytes, Tokens | None]]:
    """Pooled vector, packed tokens (kind "packed") or whole ones ("tokens") of each text."""
    found: list[tuple[Vectors, bytes, Tokens | None]] = []
    for start in range(0, len(texts), CHUNK):
        chunk = texts[start : start + CHUNK]
        path = cache(embedder, chunk, kind)
        if not path.exists():
            begun = clock.perf_counter()
            path.parent.mkdir(mode=0o700, exist_ok=True)
            _save(path, asyncio.run(_embed(embedder, chunk)), kind)
            print(
                f"  embedded {start + len(chunk)} of {len(texts)} in {clock.perf_counter() - begun:.0f} s", flush=True
            )
        found += _load(path, kind)
    return found


async def _embed(embedder: Embedder, texts: Sequence[str]) -> list[Embedding]:
    return await embedder.embed(texts)


def _save(path: Path, embeddings: Sequence[Embedding], kind: str) -> None:
    stored: dict[str, npt.NDArray[Any]] = {"pooled": np.stack([each.pooled for each in embeddings]).astype(np.float16)}
    if kind != "pooled":
        tokens = [each.tokens or Tokens(np.zeros((0, late.DIMENSIONS), np.float32), ()) for each in embeddings]
        stored["counts"] = np.array([len(each.vectors) for each in tokens], dtype=np.int64)
        if kind == "packed":
            stored["packed"] = np.frombuffer(b"".join(late.pack(each.vectors) for each in tokens), dtype=np.uint8)
        else:
            stored["vectors"] = np.concatenate([each.vectors for each in tokens])
            stored["spans"] = np.array([span for each in tokens for span in each.spans], dtype=np.int64).reshape(-1, 2)
    unfinished = path.with_suffix(f".{os.getpid()}.npz")
    np.savez(unfinished, allow_pickle=False, **stored)
    unfinished.rename(path)


def _load(path: Path, kind: str) -> list[tuple[Vectors, bytes, Tokens | None]]:
    with np.load(path) as stored:
        pooled = stored["pooled"].astype(np.float32)
        if kind == "pooled":
            return [(vector, b"", None) for vector in pooled]
        ends = np.cumsum(stored["counts"])
        starts = ends - stored["counts"]
        if kind == "packed":
            whole = stored["packed"].tobytes()
            size = late.TOKEN_BYTES
            pieces = [whole[first * size : last * size] for first, last in zip(starts, ends, strict=True)]
            return [(vector, piece, None) for vector, piece in zip(pooled, pieces, strict=True)]
        vectors, spans = stored["vectors"], stored["spans"]
        return [
            (vector, b"", Tokens(vectors[first:last], tuple((int(a), int(b)) for a, b in spans[first:last])))
            for vector, first, last in zip(pooled, starts, ends, strict=True)
        ]


# ---------------------------------------------------------------------------------------------------- the index


def build(
    collection: Collection,
    english: MiniLM,
    other: Use,
    vectors: dict[str, tuple[Vectors, bytes]],
    others: dict[str, Vectors],
) -> Space:
    postings: dict[str, list[tuple[int, int]]] = {}
    lengths: list[int] = []
    owner: list[int] = []
    pooled: list[Vectors] = []
    tokens: list[bytes] = []
    multilingual: list[Vectors] = []
    multilingual_owner: list[int] = []
    for number, turn in enumerate(collection.turns):
        text = turn.passage if turn.at is None else f"{turn.passage} {when.date_words(turn.at)}"
        counts = Counter(terms.terms(text))
        lengths.append(sum(counts.values()))
        for term, count in counts.items():
            postings.setdefault(term, []).append((number, count))
        for window in windows(english, turn.passage):
            vector, packed = vectors[window]
            owner.append(number)
            pooled.append(vector)
            tokens.append(packed)
        for window in windows(other, turn.passage):
            multilingual_owner.append(number)
            multilingual.append(others[window])
    return Space(
        turns=collection.turns,
        postings=postings,
        lengths=np.array(lengths, dtype=np.float64),
        average=statistics.fmean(lengths),
        pooled=np.stack(pooled),
        tokens=tokens,
        owner=np.array(owner, dtype=np.int64),
        multilingual=np.stack(multilingual),
        multilingual_owner=np.array(multilingual_owner, dtype=np.int64),
        latin=[latin(turn.text) for turn in collection.turns],
        places={(turn.session, turn.position): number for number, turn in enumerate(collection.turns)},
    )


def windows(embedder: Embedder, text: str) -> list[str]:
    # Nothing so short fills a window, and asking the tokenizer takes time.
    return [text] if len(text) < 200 else [text[start:end] for start, end in embedder.cut(text)]


def best_of(values: npt.NDArray[Any], owner: npt.NDArray[np.int64], size: int) -> Floats:
    """Of a turn's windows the best."""
    best = np.full(size, -np.inf)
    np.maximum.at(best, owner, values)
    return best


# --------------------------------------------------------------------------------------------------- the search


@dataclass(frozen=True)
class Asked:
    """A question with all that doesn't depend on the weights."""

    question: Question
    language: str
    bm25: Floats
    pooled: Floats
    multilingual: Floats
    maxsim: Floats
    spoken: Floats
    near: Floats


def ask(space: Space, question: Question, english: tuple[Vectors, Tokens], other: Vectors) -> Asked:
    """The features of every passage. Not only of candidates, since the weights decide which those are."""
    size = len(space.turns)
    asked = Counter(terms.terms(question.text))
    known = [term for term in asked if term in space.postings]
    frequencies = np.zeros((size, len(known)))
    for column, term in enumerate(known):
        numbers, counts = zip(*space.postings[term], strict=True)
        frequencies[list(numbers), column] = counts
    weights = bm25.idf([len(space.postings[term]) for term in known], size) * np.array([asked[term] for term in known])
    pooled, tokens = english
    speakers = {turn.speaker for turn in space.turns if turn.speaker}
    named = rank.named(question.text, speakers, question.asker)
    preferred = when.windows(question.text, question.now) if question.now else []
    at = [turn.at.timestamp() if turn.at else math.nan for turn in space.turns]
    similar = late.maxsim(tokens.vectors, token_weights(space, question.text, tokens), space.tokens)
    return Asked(
        question=question,
        language=guess(question.text),
        bm25=bm25.score(frequencies, space.lengths, weights, space.average),
        pooled=best_of(space.pooled @ pooled, space.owner, size),
        multilingual=best_of(space.multilingual @ other, space.multilingual_owner, size),
        maxsim=best_of(similar, space.owner, size),
        spoken=np.array([float(turn.speaker in named) for turn in space.turns]),
        near=when.timeprox(at, preferred),
    )


def token_weights(space: Space, text: str, tokens: Tokens) -> Floats:
    """The idf in the space of the word that each token is part of."""
    placed = terms.words(text)
    found: list[float] = []
    for start, end in tokens.spans:
        inside = [word.term for word in placed if word.start < end and start < word.end]
        counts = [len(space.postings.get(term, ())) for term in inside]
        found.append(float(bm25.idf(max(counts, default=0), len(space.turns))))
    return np.array(found)


def candidates(space: Space, asked: Asked, weights: Weights) -> list[int]:
    """BM25's best and each vector's best, with the turns before and after them."""
    chosen = {int(number) for number in np.argsort(-asked.bm25, kind="stable")[:TOP] if asked.bm25[number] > 0}
    if weights.maxsim or weights.pooled:
        chosen |= set(np.argsort(-asked.pooled, kind="stable")[:TOP].tolist())
    if weights.multilingual or not all(space.latin):
        chosen |= set(np.argsort(-asked.multilingual, kind="stable")[:TOP].tolist())
    beside = {
        space.places.get((space.turns[number].session, space.turns[number].position + step))
        for number in chosen
        for step in (-1, 1)
    }
    return sorted(chosen | {number for number in beside if number is not None})


def search(space: Space, asked: Asked, options: Options) -> list[int]:
    if options.method == "bm25":
        return rank.order(asked.bm25)
    if options.method == "rrf":
        fused = np.zeros(len(space.turns))
        for values in (asked.bm25, asked.pooled):
            fused[rank.order(values)] += 1.0 / (60.0 + np.arange(len(values)))
        return rank.order(fused)
    weights = options.weights(asked.language)
    chosen = candidates(space, asked, weights)
    found = [
        Candidate(
            session=space.turns[number].session,
            position=space.turns[number].position,
            chars=len(space.turns[number].text),
            bm25=asked.bm25[number],
            maxsim=asked.maxsim[number],
            pooled=asked.pooled[number],
            multilingual=asked.multilingual[number],
            spoken=asked.spoken[number],
            near=asked.near[number],
            latin=space.latin[number],
        )
        for number in chosen
    ]
    ranked = rank.order(rank.scores(found, weights.without(*options.without)))
    if options.collapse:
        first = np.searchsorted(space.owner, chosen)
        ranked = rank.collapse(
            ranked,
            [space.turns[number].text for number in chosen],
            [space.turns[number].speaker for number in chosen],
            # Of a turn of several windows the first says little about the rest.
            np.where(np.bincount(space.owner)[chosen][:, None] == 1, space.pooled[first], 0.0),
        )
    return [chosen[index] for index in ranked]


# --------------------------------------------------------------------------------------------------- the figures


def figures(collection: Collection, found: Sequence[Hashable], gold: frozenset[Hashable]) -> dict[str, float]:
    def recall(k: int) -> float:
        return len(gold.intersection(found[:k])) / len(gold)

    if collection.by_session:
        return {
            "any@5": float(recall(5) > 0),
            "all@5": float(recall(5) == 1),
            "all@10": float(recall(10) == 1),
        }
    gains = sum(1 / math.log2(place + 2) for place, key in enumerate(found[:10]) if key in gold)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
    return {"R@1": recall(1), "R@5": recall(5), "R@10": recall(10), "R@20": recall(20), "NDCG@10": gains / ideal}


def measure(prepared: Sequence[tuple[Collection, Space, list[Asked]]], options: Options) -> dict[str, dict[str, float]]:
    """Means of each figure in per cent, over all questions and by category."""
    rows: dict[str, list[dict[str, float]]] = {}
    for collection, space, questions in prepared:
        for asked in questions:
            ranked = search(space, asked, options)
            keys = [
                space.turns[number].session if collection.by_session else space.turns[number].key for number in ranked
            ]
            row = figures(collection, list(dict.fromkeys(keys)), asked.question.gold)
            rows.setdefault("all", []).append(row)
            rows.setdefault(asked.question.category, []).append(row)
    return {
        category: {"n": len(found)}
        | {name: round(100 * statistics.fmean(row[name] for row in found), 1) for name in found[0]}
        for category, found in sorted(rows.items())
    }


def prepare(name: str, english: MiniLM, other: Use) -> list[tuple[Collection, Space, list[Asked]]]:
    print(name, flush=True)
    return index(LOADERS[name](), english, other)


def index(
    collections: Sequence[Collection], english: MiniLM, other: Use
) -> list[tuple[Collection, Space, list[Asked]]]:
    passages = list(dict.fromkeys(turn.passage for each in collections for turn in each.turns))
    pieces = list(dict.fromkeys(window for passage in passages for window in windows(english, passage)))
    others = list(dict.fromkeys(window for passage in passages for window in windows(other, passage)))
    asked = list(dict.fromkeys(question.text for each in collections for question in each.questions))
    vectors = {
        text: (pooled, packed)
        for text, (pooled, packed, _) in zip(pieces, embed(english, pieces, "packed"), strict=True)
    }
    tokens = {
        text: (pooled, kept) for text, (pooled, _, kept) in zip(asked, embed(english, asked, "tokens"), strict=True)
    }
    multilingual = {
        text: pooled
        for texts in (others, asked)
        for text, (pooled, _, _) in zip(texts, embed(other, texts, "pooled"), strict=True)
    }
    prepared: list[tuple[Collection, Space, list[Asked]]] = []
    for collection in collections:
        space = build(collection, english, other, vectors, multilingual)
        found: list[Asked] = []
        for question in collection.questions:
            pooled, kept = tokens[question.text]
            assert kept is not None
            found.append(ask(space, question, (pooled, kept), multilingual[question.text]))
        prepared.append((collection, space, found))
    return prepared


def variants(steps: Iterable[str]) -> list[Options]:
    return [
        Options("BM25", "bm25"),
        Options("RRF(BM25, MiniLM)", "rrf"),
        Options("pipeline"),
        *(Options(f"without {step}", without=(step,)) for step in steps),
        *((Options("without bm25 and pooled in the score", without=("bm25", "pooled")),) if steps else ()),
        *((Options("without multilingual", without=("multilingual", "foreign")),) if steps else ()),
        *((Options("without collapse", collapse=False),) if steps else ()),
    ]


def markdown(results: dict[str, dict[str, dict[str, dict[str, float]]]]) -> str:
    lines: list[str] = []
    for name, by_option in results.items():
        lines += [f"### {name}", ""]
        for category in next(iter(by_option.values())):
            columns = list(next(iter(by_option.values()))[category])[1:]
            lines += [f"{category} ({next(iter(by_option.values()))[category]['n']} questions)", ""]
            lines += [f"| | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
            for option, rows in by_option.items():
                if category == "all" or not option.startswith("without"):
                    lines.append(f"| {option} | {' | '.join(f'{rows[category][column]:.1f}' for column in columns)} |")
            lines.append("")
    return "\n".join(lines)


def run(sets: Iterable[str], models: Path, ablation: bool = True) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    english, other = MiniLM(models), Use(models)
    try:
        results: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
        for name in sets:
            prepared = prepare(name, english, other)
            steps = STEPS_OF.get(name, STEPS) if ablation else ()
            results[name] = {options.name: measure(prepared, options) for options in variants(steps)}
        return results
    finally:
        english.close()
        other.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True, help="the folder that `keepstone models` fills")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--no-ablation", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    results = run(given.sets, given.models, not given.no_ablation)
    if given.json:
        given.json.write_text(json.dumps({"weights": asdict(rank.ENGLISH), "results": results}, indent=1) + "\n")
    text = markdown(results)
    if given.markdown:
        given.markdown.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
