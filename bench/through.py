"""Quality of what ships: parts of public benchmarks ingested and recalled through HTTP, beside the floor's own."""

import asyncio
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from bench import datasets, quality, talk
from bench.baseline import FLOOR, Floor
from bench.figures import Figure, Options
from bench.floor import Server
from bench.minilm import minilm
from keepstone.providers.encoder import Encoder

LIMIT = 20
FEW = 5  # conversations of LongMemEval: each has some five hundred long turns
SESSIONS = 50  # turns that are asked for where sessions are counted
CHUNK = 1000


def measure(server: Server, options: Options) -> list[Figure]:
    """Means over all questions in per cent, Keepstone's and the floor's."""
    sets = {"LoCoMo": datasets.locomo()}
    if not options.quick:
        sets["LongMemEval_S, a few"] = datasets.longmemeval()[:FEW]
    sets["XQuAD zh"] = [each for each in datasets.xquad() if each.name == "xquad zh → zh"]
    found: list[Figure] = []
    embedder = minilm(options.models)
    for name, collections in sets.items():
        own = mean([row for each in collections for row in keepstone_scores(server, each)])
        theirs = mean([row for each in collections for row in asyncio.run(floors(embedder, each))])
        found += [
            Figure(f"{name} through HTTP, {figure}", own[figure], "%", FLOOR, theirs[figure], key=f"{name}.{figure}")
            for figure in own
            if figure != "R@1"
        ]
    embedder.close()
    return found


def keepstone_scores(server: Server, collection: datasets.Collection) -> list[dict[str, float]]:
    """Ingest one conversation and ask all of its questions: speaker, text, time and id, nothing else."""
    client = server.client()
    rows = rows_of(collection)
    for start in range(0, len(rows), CHUNK):
        chunk = [row for _, row in rows[start : start + CHUNK]]
        client.post("/v1/ingest", {"scope_id": collection.name, "transcript": chunk})
    server.settle()
    turns = {row["id"]: turn for turn, row in rows}
    found: list[dict[str, float]] = []
    for question in collection.questions:
        body = talk.recall_body(
            collection.name,
            question.text,
            speaker=question.asker or "asker",
            ts=question.now.isoformat() if question.now else None,
            limit=SESSIONS if collection.by_session else LIMIT,
        )
        evidence = client.post("/v1/recall", body)["evidence"]
        found.append(quality.row_of(collection, [turns[item["id"]] for item in evidence], question.gold))
    client.close()
    return found


async def floors(embedder: Encoder, collection: datasets.Collection) -> list[dict[str, float]]:
    """The same turns and questions, in process."""
    own = Floor(embedder)
    await own.add([turn.passage for turn in collection.turns])
    limit = SESSIONS if collection.by_session else LIMIT
    return [
        quality.row_of(collection, [collection.turns[n] for n in await own.search(question.text, limit)], question.gold)
        for question in collection.questions
    ]


def rows_of(collection: datasets.Collection) -> list[tuple[datasets.Turn, dict[str, str]]]:
    """Turns with what is sent for them. Paragraphs have no speaker and no time: each stands on a day of its own."""
    day = datetime(2024, 1, 1, tzinfo=UTC)
    return [
        (
            turn,
            {
                "speaker": turn.speaker or "text",
                "text": turn.text,
                "ts": (turn.at or day + timedelta(days=number)).isoformat(),
                "id": f"t{number}",
            },
        )
        for number, turn in enumerate(collection.turns)
        if turn.text.strip()
    ]


def mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: 100 * statistics.fmean(row[name] for row in rows) for name in rows[0]}
