"""Runs in mem0's own environment and imports nothing of ours: reads a task, measures, writes what it found.

python mem0_run.py TASK.json, which writes TASK.done.json
"""

import json
import sys
import time
import uuid
from importlib import import_module
from pathlib import Path
from typing import Any

WARM_UP = 10


def memory(task: dict[str, Any], collection: str, folder: Path) -> Any:
    store = {"connection_string": task["conninfo"], "collection_name": collection, "embedding_model_dims": 384}
    embedder = {"model": "minilm", "api_key": "never-used", "openai_base_url": task["embeddings"]}
    return import_module("mem0").Memory.from_config(
        {
            "vector_store": {"provider": "pgvector", "config": store},
            "embedder": {"provider": "openai", "config": embedder},
            "llm": {"provider": "openai", "config": {"api_key": "never-used", "openai_base_url": task["embeddings"]}},
            "history_db_path": str(folder / f"{collection}.sqlite"),
        }
    )


def add(store: Any, text: str, number: int) -> None:
    store.add([{"role": "user", "content": text}], user_id="bench", metadata={"number": number}, infer=False)


def search(store: Any, text: str, limit: int) -> list[int]:
    found = store.search(text, filters={"user_id": "bench"}, top_k=limit, threshold=0.0)
    return [item["metadata"]["number"] for item in found["results"]]


def median(calls: list[Any]) -> float:
    """Milliseconds, without the first few."""
    seconds: list[float] = []
    for call in calls:
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    kept = sorted(seconds[WARM_UP:])
    return 1000 * kept[(len(kept) - 1) // 2]


def speed(task: dict[str, Any], size: int, file: str, folder: Path) -> dict[str, float]:
    store = memory(task, f"speed_{size}", folder)
    filled = json.loads(Path(file).read_text())
    payloads = [
        {"data": text, "user_id": "bench", "number": number, "text_lemmatized": text, "hash": str(number)}
        for number, text in enumerate(filled["texts"])
    ]
    for start in range(0, size, 500):
        part = slice(start, start + 500)
        vectors = filled["vectors"][part]
        store.vector_store.insert(vectors, payloads[part], [str(uuid.uuid4()) for _ in vectors])
    searching = median([lambda text=text: search(store, text, 10) for text in task["questions"]])
    adding = median([lambda n=n, text=text: add(store, text, size + n) for n, text in enumerate(task["messages"])])
    return {"size": size, "recall": searching, "ingest": adding}


def quality(task: dict[str, Any], number: int, folder: Path) -> list[list[int]]:
    """One conversation: for each question the numbers of the turns that were found."""
    asked = task["quality"][number]
    store = memory(task, f"quality_{number}", folder)
    for place, text in enumerate(asked["texts"]):
        add(store, text, place)
    return [search(store, text, task["limit"]) for text in asked["questions"]]


def main() -> None:
    path = Path(sys.argv[1])
    task = json.loads(path.read_text())
    found = {
        "speed": [speed(task, each["size"], each["file"], path.parent) for each in task["speed"]],
        "quality": [quality(task, number, path.parent) for number in range(len(task["quality"]))],
    }
    path.with_suffix(".done.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
