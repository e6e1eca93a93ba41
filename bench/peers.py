"""mem0ai with `infer=False` and the same weights, measured in a virtual environment of its own.

It is never a dependency: the environment is made below the system's temporary folder. Its embedder is OpenAI's, pointed
at the floor's server; its store is pgvector on a Postgres of Keepstone's; its language model is never called.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from psycopg.conninfo import make_conninfo

from bench import datasets, fill, quality, talk, through
from bench.baseline import FloorServer
from bench.figures import MEDIUM, SMALL, Json, Options, scratch
from bench.floor import Server, running

VERSION = "2.2.1"
NAME = f"mem0ai {VERSION}"
PACKAGES = (f"mem0ai=={VERSION}", "psycopg[binary,pool]")
SIZES = (SMALL, MEDIUM)
ROUNDS = 100
SETTING = (
    f"{NAME} as pip installs it (without spaCy), `infer=False`, the same MiniLM weights over its OpenAI embedder on "
    "loopback, pgvector with HNSW on the same kind of Postgres; called in its own process, not through HTTP."
)


def measure(options: Options) -> Json:
    """Figures, or the reason why there are none."""
    try:
        python = install()
    except (OSError, subprocess.CalledProcessError) as fault:
        return {"name": NAME, "missing": f"{NAME} could not be installed here ({type(fault).__name__})."}
    folder = scratch()
    floor = FloorServer(options.models)
    try:
        with running(options.models) as server:
            task = write_task(server, floor, folder, [size for size in SIZES if size in options.sizes])
            return run(python, task, folder)
    finally:
        floor.stop()
        shutil.rmtree(folder)


def install() -> Path:
    """The environment's Python; the environment is made once."""
    folder = Path(tempfile.gettempdir()) / f"keepstone-bench-{os.getuid()}" / f"mem0ai-{VERSION}"
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install", *PACKAGES]
        subprocess.run(pip, check=True)
        (folder / "done").touch()
    return python


def write_task(server: Server, floor: FloorServer, folder: Path, sizes: list[int]) -> Path:
    """Everything that the other Python needs to know, as files: it has nothing of ours."""
    with psycopg.connect(server.conninfo, autocommit=True) as conn:
        conn.execute("CREATE DATABASE mem0")
    task: dict[str, Any] = {
        "conninfo": make_conninfo(server.conninfo, dbname="mem0"),
        "embeddings": f"{floor.url}/v1",
        "questions": talk.questions(ROUNDS + 10),
        "messages": [f"{turn['speaker']}: {turn['text']}" for turn in talk.transcript(ROUNDS + 10, talk.turns())],
        "limit": through.LIMIT,
        "speed": [write_vectors(floor, folder, size) for size in sizes],
        "quality": [
            {"texts": [turn.passage for turn in each.turns], "questions": [asked.text for asked in each.questions]}
            for each in datasets.locomo()
        ],
    }
    path = folder / "task.json"
    path.write_text(json.dumps(task))
    return path


def write_vectors(floor: FloorServer, folder: Path, size: int) -> dict[str, Any]:
    """Texts with real vectors of fewer texts, moved a little, so that filling takes seconds."""
    turns = talk.turns()
    texts = [f"{turn['speaker']}: {turn['text']}" for turn in talk.transcript(size, turns)]
    client = floor.client()
    real: list[list[float]] = []
    for start in range(0, min(size, len(turns)), 100):
        answer = client.post("/v1/embeddings", {"input": texts[start : start + 100]})
        real += [each["embedding"] for each in answer["data"]]
    client.close()
    vectors = fill.moved(np.array(real, np.float32), np.arange(size) % len(real), np.random.default_rng(talk.SEED))
    path = folder / f"vectors-{size}.json"
    path.write_text(json.dumps({"texts": texts, "vectors": vectors.round(5).tolist()}))
    return {"size": size, "file": str(path)}


def run(python: Path, task: Path, folder: Path) -> Json:
    script = Path(__file__).with_name("mem0_run.py")
    environ = os.environ | {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder), "OPENAI_API_KEY": "never-used"}
    subprocess.run([str(python), str(script), str(task)], check=True, env=environ, stdout=sys.stderr)
    found = json.loads(task.with_suffix(".done.json").read_text())
    rows: list[dict[str, float]] = []
    for collection, answers in zip(datasets.locomo(), found.pop("quality"), strict=True):
        for question, numbers in zip(collection.questions, answers, strict=True):
            rows.append(quality.row_of(collection, [collection.turns[number] for number in numbers], question.gold))
    return {"name": NAME, "speed": found["speed"], "quality": through.mean(rows), "setting": SETTING}
